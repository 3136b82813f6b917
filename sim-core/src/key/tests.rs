use proptest::prelude::*;

use super::*;

fn expression(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

fn matches(expr: &str, key: &str) -> bool {
    expression(expr).matches(&Key::new(key).unwrap())
}

fn ego() -> ActorPath {
    ActorPath::new("ego").unwrap()
}

#[test]
fn one_star_stands_for_exactly_one_chunk() {
    assert!(matches("a/*/c", "a/b/c"));
    assert!(matches("*", "a"));
    assert!(!matches("a/*/c", "a/c"));
    assert!(!matches("a/*/c", "a/b/b/c"));
    assert!(!matches("a/*", "a"));
    assert!(!matches("*", "a/b"));
}

#[test]
fn two_stars_stand_for_any_number_of_chunks() {
    for key in ["a", "a/b", "a/b/c"] {
        assert!(matches("a/**", key), "{key}");
        assert!(matches("**", key), "{key}");
    }
    for key in ["a/c", "a/b/c", "a/b/b/c", "a/c/c"] {
        assert!(matches("a/**/c", key), "{key}");
    }
    assert!(!matches("a/**/c", "a/b"));
    assert!(!matches("a/**", "b/a"));
    assert!(matches("a/*/**", "a/b"));
    assert!(!matches("a/*/**", "a"));
}

#[test]
fn dollar_star_stands_for_any_characters_inside_a_chunk() {
    for key in ["ab", "abc", "a-b"] {
        assert!(matches("a$*", key), "{key}");
        assert!(matches("$*b$*", key), "{key}");
    }
    assert!(matches("a$*c", "ac"));
    assert!(matches("a$*c", "abbc"));
    assert!(!matches("a$*c", "acb"));
    assert!(!matches("a$*", "a/b"));
    assert!(!matches("a$*/c", "ab/b/c"));
}

#[test]
fn a_chunk_that_begins_with_an_at_sign_is_matched_by_itself_only() {
    assert!(matches("@a", "@a"));
    assert!(matches("@a/**", "@a/b"));
    assert!(matches("x/@a/*", "x/@a/b"));
    for expr in ["*", "**", "@$*", "$*a", "@b"] {
        assert!(!matches(expr, "@a"), "{expr}");
    }
    for expr in ["**", "a/**", "a/*/c", "a/**/c", "a/@$*/c", "*/*/*"] {
        assert!(!matches(expr, "a/@b/c"), "{expr}");
    }
    // Only at the beginning of a chunk does the sign mean anything.
    assert!(matches("a/*", "a/b@c"));
    assert!(matches("b$*", "b@c"));
}

#[test]
fn sets_intersect_and_include() {
    assert!(expression("a/*").intersects(&expression("*/b")));
    assert!(!expression("a/**").intersects(&expression("b/**")));
    assert!(expression("a/**").includes(&expression("a/*/c")));
    assert!(!expression("a/*").includes(&expression("a/**")));
    assert!(expression("a/b").includes(&expression("a/b")));
    assert!(!expression("**").includes(&expression("@a")));
}

#[test]
fn a_text_that_is_not_canonical_is_refused_with_what_to_write() {
    for (text, canonical) in [
        ("a/**/*", "a/*/**"),
        ("**/**", "**"),
        ("**/*/**/*/b", "*/*/**/b"),
        ("a/$*", "a/*"),
        ("a/$*$*", "a/*"),
        ("a$*$*b", "a$*b"),
        ("a$*$*", "a$*"),
        ("a$*$*$*$*/**/**", "a$*/**"),
    ] {
        let expected = KeyError::NotCanonical { text: text.to_owned(), canonical: canonical.to_owned() };
        assert_eq!(KeyExpr::new(text), Err(expected));
    }
}

#[test]
fn a_text_that_is_no_expression_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "empty"),
        ("/", "empty"),
        ("/a", "empty"),
        ("a/", "empty"),
        ("a//b", "empty"),
        ("a#", "`#`"),
        ("a?b", "`?`"),
        ("a*", "`*`"),
        ("*a", "`*`"),
        ("***", "`*`"),
        ("a/**b", "`*`"),
        ("a$", "`$`"),
        ("$a", "`$`"),
        ("$$*", "`$`"),
    ] {
        let error = KeyExpr::new(text).unwrap_err();
        assert!(matches!(&error, KeyError::Invalid { text: named, .. } if named == text), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_key_has_no_wild_cards() {
    for text in ["*", "**", "a/*", "a$*"] {
        assert_eq!(Key::new(text), Err(KeyError::Wild { text: text.to_owned() }));
        assert!(expression(text).is_wild());
        assert_eq!(expression(text).as_key(), None);
    }
    assert!(!expression("a/@b").is_wild());
    assert_eq!(expression("a/b").as_key(), Some(Key::new("a/b").unwrap()));
}

#[test]
fn the_key_of_an_actor_comes_apart_again() {
    let path = ActorPath::new("ego/radar").unwrap();
    let key = Key::of("highway", &path, "objects").unwrap();
    assert_eq!(key.as_str(), "chaconne/highway/actor/ego/radar/objects");
    assert_eq!((key.world(), key.actor(), key.signal()), (Some("highway"), Some("ego/radar"), Some("objects")));
    for other in ["a", "chaconne/w/conductor/x", "chaconne/w/actor/ego", "chaconne/w/actor/é/x", "x/w/actor/ego/x"] {
        let key = Key::new(other).unwrap();
        assert_eq!((key.world(), key.actor(), key.signal()), (None, None, None), "{other}");
    }
}

#[test]
fn names_of_worlds_and_signals_are_one_segment() {
    for wrong in ["", "a/b", "*", "a b", "@a"] {
        assert!(matches!(Key::of(wrong, &ego(), "pose"), Err(KeyError::Segment { part: "world", .. })));
        assert!(matches!(Key::of("w", &ego(), wrong), Err(KeyError::Segment { part: "signal", .. })));
    }
}

#[test]
fn a_text_without_the_root_is_relative_to_the_actor() {
    let resolve = |text| KeyExpr::resolve(text, "w", &ego()).unwrap();
    assert_eq!(resolve("pose").as_str(), "chaconne/w/actor/ego/pose");
    assert_eq!(resolve("radar/**").as_str(), "chaconne/w/actor/ego/radar/**");
    assert_eq!(resolve("chaconne").as_str(), "chaconne/w/actor/ego/chaconne");
    assert_eq!(resolve("chaconne/*/actor/**").as_str(), "chaconne/*/actor/**");
    let key = Key::resolve("radar/objects", "w", &ego()).unwrap();
    assert_eq!((key.actor(), key.signal()), (Some("ego/radar"), Some("objects")));
    assert_eq!(Key::resolve("chaconne/v/conductor/tick", "w", &ego()).unwrap().as_str(), "chaconne/v/conductor/tick");
}

#[test]
fn a_text_that_does_not_resolve_is_named_as_it_was_given() {
    let error = KeyExpr::resolve("**/*", "w", &ego()).unwrap_err();
    assert_eq!(error.to_string(), "`**/*` is not the canonical form of this key expression: write `*/**`");
    let error = Key::resolve("pose/*", "w", &ego()).unwrap_err();
    assert_eq!(error, KeyError::Wild { text: "pose/*".to_owned() });
    assert!(matches!(Key::resolve("p@se", "w", &ego()), Err(KeyError::Segment { part: "signal", .. })));
    assert!(matches!(KeyExpr::resolve("pose", "*", &ego()), Err(KeyError::Segment { part: "world", .. })));
}

#[test]
fn order_and_equality_are_those_of_the_text() {
    let mut keys = ["b", "a/b", "a-b", "a", "B"].map(|text| Key::new(text).unwrap());
    keys.sort();
    assert_eq!(keys.map(|key| key.to_string()), ["B", "a", "a-b", "a/b", "b"]);
}

#[test]
fn json_is_a_checked_string() {
    let key = Key::of("w", &ego(), "pose").unwrap();
    assert_eq!(serde_json::to_string(&key).unwrap(), "\"chaconne/w/actor/ego/pose\"");
    assert_eq!(serde_json::from_str::<Key>("\"chaconne/w/actor/ego/pose\"").unwrap(), key);
    assert!(serde_json::from_str::<Key>("\"a/*\"").is_err());
    assert_eq!(serde_json::from_str::<KeyExpr>("\"a/*\"").unwrap(), expression("a/*"));
    assert!(serde_json::from_str::<KeyExpr>("\"**/*\"").unwrap_err().to_string().contains("write `*/**`"));
}

/// The rules of the module's documentation, written down in the plainest way.
fn reference(expr: &[&str], key: &[&str]) -> bool {
    match (expr, key) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            reference(rest, key)
                || matches!(key, [chunk, after @ ..] if !chunk.starts_with('@') && reference(expr, after))
        }
        ([pattern, rest @ ..], [chunk, after @ ..]) => {
            let verbatim = pattern.starts_with('@') || chunk.starts_with('@');
            let same = if verbatim { pattern == chunk } else { *pattern == "*" || glob(pattern, chunk) };
            same && reference(rest, after)
        }
        _ => false,
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once("$*") {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && glob(after, &rest[at..]))),
    }
}

fn texts(chunk: &'static str, most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::string::string_regex(chunk).unwrap(), 1..=most).prop_map(|chunks| chunks.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn matching_is_as_documented(expr in texts("\\*{1,2}|@?[ab]?(\\$\\*)?[ab]", 5), key in texts("@?[ab]{1,2}", 5)) {
        let (Ok(expr), Ok(key)) = (KeyExpr::new(&expr), Key::new(&key)) else { return Ok(()) };
        let expected = reference(
            &expr.as_str().split('/').collect::<Vec<_>>(),
            &key.as_str().split('/').collect::<Vec<_>>(),
        );
        prop_assert_eq!(expr.matches(&key), expected, "{} {}", expr, key);
        let single = KeyExpr::from(key.clone());
        prop_assert_eq!(expr.intersects(&single), expected);
        prop_assert_eq!(expr.includes(&single), expected);
    }

    #[test]
    fn no_text_makes_the_parser_panic_and_every_advice_can_be_followed(text in "[a@/$*#é]{0,12}") {
        match KeyExpr::new(&text) {
            Ok(expr) => prop_assert_eq!(expr.as_str(), text),
            Err(error) => {
                prop_assert!(!error.to_string().contains(".rs"), "{}", error);
                match error {
                    KeyError::NotCanonical { canonical, .. } => {
                        let followed = KeyExpr::new(&canonical).unwrap();
                            prop_assert_eq!(followed.as_str(), canonical);
                    }
                    error => prop_assert!(!error.to_string().contains("see the rules"), "{}", error),
                }
            }
        }
    }
}
