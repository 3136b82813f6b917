//! Which keys a key expression selects, by trying everything.

/// Whether `key` is in the set that `expression` names.
pub fn matches(expression: &str, key: &str) -> bool {
    // Most keys are told apart by what stands in front of the first wild card.
    let Some(star) = expression.find('*') else { return expression == key };
    let literal = expression[..star].rfind('/').unwrap_or(0);
    if !key.starts_with(&expression[..literal]) {
        return false;
    }
    let expression: Vec<&str> = expression.split('/').collect();
    let key: Vec<&str> = key.split('/').collect();
    chunks(&expression, &key)
}

fn chunks(expression: &[&str], key: &[&str]) -> bool {
    match (expression, key) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            chunks(rest, key) || key.split_first().is_some_and(|(first, key)| open(first) && chunks(expression, key))
        }
        ([wanted, rest @ ..], [first, key @ ..]) => {
            let chunk = match *wanted {
                "*" => open(first),
                wanted => wanted == *first || (open(first) && open(wanted) && letters(wanted, first)),
            };
            chunk && chunks(rest, key)
        }
        _ => false,
    }
}

/// No wild card stands for a chunk that begins with `@`.
fn open(chunk: &str) -> bool {
    !chunk.starts_with('@')
}

fn letters(wanted: &str, given: &str) -> bool {
    match wanted.strip_prefix("$*") {
        Some(rest) => (0..=given.len()).any(|at| given.is_char_boundary(at) && letters(rest, &given[at..])),
        None => match (wanted.chars().next(), given.chars().next()) {
            (None, None) => true,
            (Some(a), Some(b)) if a == b => letters(&wanted[a.len_utf8()..], &given[b.len_utf8()..]),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn the_matcher_knows_the_four_wild_cards() {
        for (expression, key, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/*/c", "a/b/c", true),
            ("a/*/c", "a/c", false),
            ("a/*", "a/b/c", false),
            ("a/**", "a", true),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("**/z", "a/b", false),
            ("a/b$*", "a/b", true),
            ("a/$*b", "a/abab", true),
            ("a/b$*d", "a/bcd", true),
            ("a/b$*d", "a/bcde", false),
            ("a/b$*", "a/c/b", false),
            ("**", "a/@b", false),
            ("a/@b", "a/@b", true),
            ("a/@b/**", "a/@b/c", true),
            ("a/$*b", "a/@b", false),
        ] {
            assert_eq!(matches(expression, key), expected, "{expression} {key}");
        }
    }
}
