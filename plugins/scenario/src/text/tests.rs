use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn fails(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

/// As `serde_json` would hold it; numbers as floats, and whole ones exactly when they were written as such.
fn to_json(tree: &Tree) -> Value {
    match tree.kind() {
        Kind::Null => Value::Null,
        Kind::Bool(value) => (*value).into(),
        Kind::Number(number) => match number.integer() {
            Some(Integer::Unsigned(value)) => value.into(),
            Some(Integer::Negative(value)) => value.into(),
            None => number.as_f64().into(),
        },
        Kind::Text(text) => text.as_str().into(),
        Kind::List(items) => items.iter().map(to_json).collect(),
        Kind::Object(members) => {
            Value::Object(members.iter().map(|member| (member.key.clone(), to_json(&member.value))).collect())
        }
    }
}

#[test]
fn every_form_of_json5_is_read() {
    let text = r#"
        // a comment
        { /* another */ unquoted: 'and you can quote me on that', 'single': "I can use 'single' here",
          lineBreaks: "Look, Mom! \
No \\n's!", hexadecimal: 0xdecaf, leading: .8675309, trailing: 8675309., positive: +1, e: -1.5E-3,
          $_a1: [null, true, false,], "escapes": '\x41\u00e9\uD83D\uDE00\b\t\n\v\f\r\0\'\"\a\/', \u0061b: 0, ключ: {}, }
    "#;
    let expected = serde_json::json!({
        "unquoted": "and you can quote me on that", "single": "I can use 'single' here",
        "lineBreaks": "Look, Mom! No \\n's!", "hexadecimal": 0xdecaf, "leading": 0.8675309, "trailing": 8675309.0,
        "positive": 1, "e": -0.0015, "$_a1": [null, true, false],
        "escapes": "Aé😀\u{8}\t\n\u{b}\u{c}\r\0'\"a/", "ab": 0, "ключ": {},
    });
    assert_eq!(to_json(&parse(text).unwrap()), expected);
}

#[test]
fn members_keep_the_order_of_the_file() {
    let tree = parse("{ b: 1, a: 2, c: 3 }").unwrap();
    let Kind::Object(members) = tree.kind() else { panic!("{tree:?}") };
    assert_eq!(members.iter().map(|member| member.key.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
}

#[test]
fn keys_and_values_know_their_places_in_characters() {
    let tree = parse("\u{feff}{ 'é': 1,\r\n\tb: [\r  2,\n  'x'] }").unwrap();
    let place = |line, column| Place { line, column };
    let Kind::Object(members) = tree.kind() else { panic!("{tree:?}") };
    assert_eq!((tree.place(), members[0].place, members[0].value.place()), (place(1, 1), place(1, 3), place(1, 8)));
    assert_eq!((members[1].place, members[1].value.place()), (place(2, 2), place(2, 5)));
    let Kind::List(items) = members[1].value.kind() else { panic!("{tree:?}") };
    assert_eq!((items[0].place(), items[1].place()), (place(3, 3), place(4, 3)));
    for value in [&tree, &members[0].value, &members[1].value, &items[0], &items[1]] {
        assert_eq!(tree.find(value.place()), Some(value));
    }
    assert_eq!(tree.find(members[1].place), None);
}

#[test]
fn whole_numbers_are_exact_and_floats_the_nearest() {
    let number = |text: &str| match parse(text).unwrap().kind() {
        Kind::Number(number) => number.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(number("18446744073709551615").integer(), Some(Integer::Unsigned(u64::MAX)));
    assert_eq!(number("-9223372036854775808").integer(), Some(Integer::Negative(i64::MIN)));
    assert_eq!(number("18446744073709551616").integer(), None);
    assert_eq!(number("18446744073709551616").as_f64(), 18446744073709551616.0);
    assert_eq!(number("0xFFFFFFFFFFFFFFFF").integer(), Some(Integer::Unsigned(u64::MAX)));
    assert_eq!(number("1.0").integer(), None);
    assert!(number("-0").as_f64().is_sign_negative() && number("-0").as_f32().is_sign_negative());
    assert_eq!(number("+0.10").text(), "+0.10");
    // Rounded once, not to f64 first: the halfway case would fall to the other side.
    let text = "1.00000017881393432617187499";
    assert_eq!(number(text).as_f32(), text.parse::<f32>().unwrap());
    assert_ne!(number(text).as_f32(), number(text).as_f64() as f32);
}

#[test]
fn errors_say_where_and_what() {
    for (text, error) in [
        ("", "line 1, column 1: the text ends where a value should stand"),
        ("{ a: 1", "line 1, column 7: the text ends where `,` or `}` should stand"),
        ("{ a 1 }", "line 1, column 5: `1` stands where `:` after the key `a` should"),
        ("[1 2]", "line 1, column 4: `2` stands where `,` or `]` should"),
        ("[1]]", "line 1, column 4: `]` stands behind the end; a text is one value"),
        ("[,]", "line 1, column 2: `,` stands where a value should"),
        ("\n  car", "line 2, column 3: `car` is not a value; put a text in quotes"),
        ("[-Infinity]", "line 1, column 3: `Infinity` is not a number to be used here; write a finite one"),
        ("NaN", "line 1, column 1: `NaN` is not a number to be used here; write a finite one"),
        ("1e999", "line 1, column 1: this number is too large for a 64-bit float; write a smaller one"),
        ("0x10000000000000000", "line 1, column 1: this number does not fit into 64 bits; write a smaller one"),
        (
            "'a\nb'",
            "line 1, column 3: a text cannot go on in the next line; close its quotes, or end the line with `\\`",
        ),
        ("[\n 'ab", "line 2, column 2: this text has no end; close it with '"),
        ("1 /* x", "line 1, column 3: this comment has no end; close it with `*/`"),
        ("012", "line 1, column 1: a number cannot begin with a zero that is followed by digits; leave the zero out"),
        ("'\\uD83D'", "line 1, column 2: this is half a character; write both halves of its UTF-16 pair"),
        ("'\\xg'", "line 1, column 2: this escape has to go on with 2 hexadecimal digits"),
        ("{ a: 1,\n  'a': 2 }", "line 2, column 3: the key `a` stands in line 1 already; leave one of the two"),
        ("1.2.3", "line 1, column 4: `.` stands where the end of a number should"),
        ("t\\u0072ue", "line 1, column 1: `t\\u0072ue` is not a value; put a text in quotes"),
    ] {
        assert_eq!(fails(text), error, "{text}");
    }
    assert_eq!(decode(b"{ \xff").unwrap_err().place, Place { line: 1, column: 3 });
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(parse(&nested(MOST_LEVELS)).is_ok());
    assert!(
        fails(&nested(MOST_LEVELS + 1)).starts_with("line 1, column 129: lists and objects are nested more than 128")
    );
    assert!(fails(&"[".repeat(1_000_000)).contains("column 129"));
    assert!(fails(&" ".repeat(MOST_BYTES + 1)).contains("more than 16777216; split it"));
}

/// Documents with what JSON5 allows beyond JSON, and now and then something that it does not.
fn document() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n", "\t/* c */", "// c\n", "\u{a0}", "\u{feff}", "\r\n"]);
    let word = "[a-z$_][a-z0-9$_]{0,3}";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<u64>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<u64>().prop_map(|value| format!("{value:#x}")),
        any::<i32>().prop_map(|value| format!("{}{:#X}", if value < 0 { "-" } else { "+" }, value.unsigned_abs())),
        (-1e30..1e30).prop_map(|value: f64| value.to_string()),
        any::<f64>()
            .prop_filter("JSON5 has them, we refuse them", |value| value.is_finite())
            .prop_map(|v| format!("{v:e}")),
        "[+-]?(0|[1-9][0-9]{0,3})?[.]?[0-9]{0,3}([eE][+-]?[0-9]{1,2})?",
        "'([a-z \"é😀]|\\\\[a-z0-9'\"\n]|\\\\u00[0-9a-f]{2}|\\\\x[0-9a-f]{2}){0,6}'",
        "\"([a-z 'é😀]|\\\\[bfnrtv0]){0,6}\"",
    ];
    (leaf, space).prop_map(|(leaf, space)| format!("{space}{leaf}{space}")).prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..5), any::<bool>()).prop_map(|(items, comma)| {
                let comma = if comma && !items.is_empty() { "," } else { "" };
                format!("[{}{comma}]", items.join(","))
            }),
            (prop::collection::btree_map(word, inner, 0..5), any::<bool>()).prop_map(|(members, quoted)| {
                let quote = if quoted { "'" } else { "" };
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("{quote}{key}{quote}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Whether two trees are the same but for their places and for how numbers are written.
fn same(one: &Tree, other: &Tree) -> bool {
    match (one.kind(), other.kind()) {
        (Kind::Number(one), Kind::Number(other)) => {
            let bits = |number: &Number| (number.as_f64().to_bits(), number.as_f32().to_bits(), number.integer());
            bits(one) == bits(other)
        }
        (Kind::List(one), Kind::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Kind::Object(one), Kind::Object(other)) => {
            let alike = |(one, other): (&Member, &Member)| one.key == other.key && same(&one.value, &other.value);
            one.len() == other.len() && one.iter().zip(other).all(alike)
        }
        (one, other) => one == other,
    }
}

#[test]
fn json_keeps_order_and_digits_and_rewrites_what_json_cannot_say() {
    for (text, json) in [
        ("{ z: 1, a: [true, null,], 'a b': {} }", r#"{"z":1,"a":[true,null],"a b":{}}"#),
        ("[+1.50, .5, -.5e3, 5., +7.E-2, 1e5, -0]", "[1.50,0.5,-0.5e3,5.0,7.0E-2,1e5,-0]"),
        ("[0xff, -0X10, -0x0, 0xFFFFFFFFFFFFFFFF]", "[255,-16,-0,18446744073709551615]"),
        ("[18446744073709551616, 9000000000.000000001]", "[18446744073709551616,9000000000.000000001]"),
        (r#"'a"b\\c\n\u0001\x7f\u2028é'"#, "\"a\\\"b\\\\c\\n\\u0001\u{7f}\u{2028}é\""),
    ] {
        assert_eq!(parse(text).unwrap().to_json(), json);
        assert_eq!(parse(json).unwrap().to_json(), json);
    }
    let deep = format!("{}{}", "[".repeat(MOST_LEVELS), "]".repeat(MOST_LEVELS));
    assert_eq!(parse(&deep).unwrap().to_json(), deep);
}

/// What we refuse and the other reader takes, by the words of our error.
const OURS_ALONE: [&str; 6] = [
    "already; leave one of the two",
    "is not a number to be used here",
    "too large for a 64-bit float",
    "does not fit into 64 bits",
    "nested more than",
    "more than 16777216",
];

fn compare(text: &str) -> Result<(), TestCaseError> {
    let theirs = json5::from_str::<Value>(text);
    match (parse(text), theirs) {
        (Ok(ours), Ok(theirs)) => {
            let ours = to_json(&ours);
            // They lose the sign of `-0`, which equality does not see.
            prop_assert_eq!(ours, theirs, "{}", text);
        }
        (Err(_), Err(_)) => {}
        (Err(ours), Ok(_)) => {
            prop_assert!(OURS_ALONE.iter().any(|known| ours.what.contains(known)), "we refuse {text:?}: {ours}");
        }
        (Ok(ours), Err(theirs)) => prop_assert!(false, "they refuse {text:?}: {theirs}; we read {ours:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn documents_read_as_another_reader_reads_them(text in document()) {
        compare(&text)?;
    }

    #[test]
    fn a_document_and_its_json_read_as_the_same_values(text in document()) {
        if let Ok(tree) = parse(&text) {
            let json = tree.to_json();
            let again = parse(&json).map_err(|error| TestCaseError::fail(format!("{json}: {error}")))?;
            prop_assert!(same(&tree, &again), "{text} became {json}");
            prop_assert_eq!(again.to_json(), json.clone());
            // It is JSON, not only JSON5.
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        }
    }

    #[test]
    fn any_text_is_quoted_so_that_it_reads_back(text: String) {
        let json = Tree::new(Place::START, Kind::Text(text.clone())).to_json();
        prop_assert_eq!(parse(&json).unwrap(), Tree::new(Place::START, Kind::Text(text.clone())));
        prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn mutated_documents_are_refused_where_another_reader_refuses_them(
        text in document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<prop::sample::Index>>()), 1..4),
    ) {
        let pool: Vec<char> = "{}[]:,'\"\\/*+-.eEx019anutINf \n\r\u{2028}é".chars().collect();
        let mut chars: Vec<char> = text.chars().collect();
        for (at, new) in changes {
            if chars.is_empty() {
                break;
            }
            let at = at.index(chars.len());
            match new {
                Some(new) => chars.insert(at, *new.get(&pool)),
                None => drop(chars.remove(at)),
            }
        }
        compare(&chars.into_iter().collect::<String>())?;
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_place_inside_it(text: String) {
        if let Err(error) = parse(&text) {
            prop_assert!(error.place <= end_of(&text));
        }
        compare(&text)?;
    }
}
