//! Text that looks like a reference or a function of the macro language, but is never expanded.

use bstr::{BStr, ByteSlice};
use htc_base::text::similar_names;
use htc_base::text::space::trim;
use htc_config::Advice;
use htc_config::macro_reference::{self, MacroFunction, next_reference};
use htc_config::statement::is_name_byte;

/// Part of a value that looks like a reference but is not a valid one.
pub(super) struct InvalidReference {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) cause: String,
    pub(super) fix: Advice,
}

/// Returns the parts of a value that look like references but are not valid.
pub(super) fn find_invalid_references(raw: &[u8]) -> Vec<InvalidReference> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(more) = memchr::memchr(b'$', &raw[at..]) {
        let dollar = at + more;
        at = dollar + 1;
        if raw.get(at) == Some(&b'$') {
            // `$$(...)` is for matched jobs; a third dollar starts a new reference.
            at += usize::from(raw.get(at + 1) != Some(&b'$'));
            continue;
        }
        let letters = raw[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if raw.get(at + letters) != Some(&b'(') {
            continue;
        }
        found.extend(check_reference(raw, dollar, at + letters + 1));
    }
    found
}

/// Checks text that looks like a reference. `dollar` is the position of its dollar sign, `body` the position after its
/// parenthesis.
fn check_reference(raw: &[u8], dollar: usize, body: usize) -> Option<InvalidReference> {
    let name = &raw[dollar + 1..body - 1];
    let end = memchr::memchr(b')', &raw[body..]).map_or(raw.len(), |close| body + close + 1);
    let invalid = |cause: &str, fix: String| InvalidReference {
        start: dollar,
        end,
        cause: cause.to_owned(),
        fix: fix.into(),
    };
    match macro_reference::find_function(name) {
        None => {
            let (cause, fix) = check_unknown_function(name);
            Some(InvalidReference { start: dollar, end, cause, fix })
        }
        Some(MacroFunction::Plain | MacroFunction::Env) => {
            let next = next_reference(raw, dollar, &mut None, |_, _| true);
            let is_expanded =
                next.is_some_and(|next| next.dollar == dollar) || is_completed_by_inner(raw, body, end);
            (!is_expanded).then(|| check_plain_reference(raw, dollar, body, end))
        }
        Some(MacroFunction::RandomChoice | MacroFunction::Choice) => None,
        Some(_) => {
            let inside = &raw[body..end.saturating_sub(1).max(body)];
            let fix =
                "write the name of a parameter as the argument, and define the parameter as this argument";
            let cause = "references in the argument of a function are not expanded";
            inside.contains_str("$(").then(|| invalid(cause, fix.to_owned()))
        }
    }
}

/// Returns true if an outer reference becomes valid when the references inside it are expanded.
fn is_completed_by_inner(raw: &[u8], body: usize, end: usize) -> bool {
    let inside = &raw[body..end.max(body)];
    let name = inside.split(|&b| b == b':').next().unwrap_or_default();
    inside.contains(&b'$')
        && inside.contains(&b')')
        && name.iter().all(|&b| is_name_byte(b) || b"$()".contains(&b))
}

fn check_plain_reference(raw: &[u8], dollar: usize, body: usize, end: usize) -> InvalidReference {
    if memchr::memchr(b')', &raw[body..]).is_none() {
        let cause = "its parenthesis is not closed".to_owned();
        return InvalidReference {
            start: dollar,
            end: raw.len(),
            cause,
            fix: "write the closing parenthesis".into(),
        };
    }
    let inside = &raw[body..end - 1];
    let (name, default) = match memchr::memchr(b':', inside) {
        Some(colon) => (&inside[..colon], Some(&inside[colon + 1..])),
        None => (inside, None),
    };
    let shown = |byte: u8| match byte {
        b' ' => "a blank".to_owned(),
        b'\t' => "a tab".to_owned(),
        b'\n' => "the end of the line".to_owned(),
        other => format!("'{}'", char::from(other)),
    };
    let bad = name.iter().copied().find(|&b| !is_name_byte(b));
    let Some(bad) = bad else {
        let bad = default
            .unwrap_or_default()
            .iter()
            .copied()
            .find(|&b| !is_name_byte(b) && !b"$ ,\\:(".contains(&b))
            .unwrap_or(b' ');
        return InvalidReference {
            start: dollar,
            end,
            cause: format!("a default cannot contain {}", shown(bad)),
            fix: "set a parameter to the default: $(NAME:$(DEFAULT_OF_NAME))".into(),
        };
    };
    let trimmed = trim(name);
    let is_name = !trimmed.is_empty() && trimmed.iter().all(|&b| is_name_byte(b));
    let fix = if is_name {
        Advice::Write(format!("$({})", BStr::new(trimmed)).into())
    } else if inside.iter().any(|b| b"=<>!&|+*".contains(b)) {
        format!("write ({}), without the dollar sign", BStr::new(inside)).into()
    } else {
        "write a name of letters, digits, '_', '.' and '/'".into()
    };
    InvalidReference { start: dollar, end, cause: format!("a name cannot contain {}", shown(bad)), fix }
}

/// Functions of the macro language besides `$F`.
const FUNCTION_NAMES: [&str; 11] = [
    "BASENAME",
    "CHOICE",
    "DIRNAME",
    "ENV",
    "EVAL",
    "INT",
    "RANDOM_CHOICE",
    "RANDOM_INTEGER",
    "REAL",
    "STRING",
    "SUBSTR",
];

/// Returns the reason why an unknown function is not expanded, and the correction.
fn check_unknown_function(name: &[u8]) -> (String, Advice) {
    let shown = BStr::new(name);
    let upper_case = name.to_ascii_uppercase();
    if FUNCTION_NAMES.iter().any(|known| known.as_bytes() == upper_case) {
        let fix = format!("write ${}(...)", BStr::new(&upper_case)).into();
        return ("names of functions are written in upper case".to_owned(), fix);
    }
    const MAX_FLAGS: usize = 4;
    let flags = &name[1..];
    let is_flag = |flag: &u8| b"pnxdqabfwu".contains(&(flag | 0x20));
    let is_filename = name[0].eq_ignore_ascii_case(&b'F') && flags.len() <= MAX_FLAGS;
    if is_filename && flags.iter().all(is_flag) {
        let fix = format!("write $F{}(...)", BStr::new(flags)).into();
        return ("names of functions are written in upper case".to_owned(), fix);
    }
    if let Some(near) = similar_names::nearest(name, FUNCTION_NAMES.iter().map(|known| known.as_bytes())) {
        let fix = Advice::DidYouMean(format!("${}(...)", BStr::new(near)).into());
        return (format!("there is no function ${shown}"), fix);
    }
    match flags.iter().copied().find(|flag| !is_flag(flag)).filter(|_| is_filename) {
        Some(bad) => {
            let cause = format!("'{}' is not a flag of $F", char::from(bad));
            (cause, "use only the flags p, n, x, d, q, a, b, f, w and u after $F".into())
        }
        None => {
            let fix = format!("write $({shown}) for the value of a parameter, or remove the dollar sign");
            (format!("there is no function ${shown}"), fix.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid_texts(raw: &str) -> Vec<String> {
        find_invalid_references(raw.as_bytes())
            .into_iter()
            .map(|invalid| format!("{}|{}", &raw[invalid.start..invalid.end], invalid.cause))
            .collect()
    }

    #[test]
    fn references_that_never_expand_are_found() {
        assert_eq!(
            invalid_texts("$(JobStatus != 3) && x"),
            ["$(JobStatus != 3)|a name cannot contain a blank"]
        );
        assert_eq!(invalid_texts("$( x )"), ["$( x )|a name cannot contain a blank"]);
        assert_eq!(invalid_texts("$(X:-1)"), ["$(X:-1)|a default cannot contain '-'"]);
        assert_eq!(invalid_texts("a $(X"), ["$(X|its parenthesis is not closed"]);
        assert_eq!(invalid_texts("$env(HOME)"), ["$env(HOME)|names of functions are written in upper case"]);
        assert_eq!(invalid_texts("$INT($(N)+1)").len(), 1);
        assert_eq!(
            invalid_texts("$fn(EXECUTE)"),
            ["$fn(EXECUTE)|names of functions are written in upper case"]
        );
        assert_eq!(invalid_texts("$Fm(EXECUTE)"), ["$Fm(EXECUTE)|'m' is not a flag of $F"]);
        assert_eq!(invalid_texts("$FOO(x)"), ["$FOO(x)|'O' is not a flag of $F"]);
        assert_eq!(invalid_texts("$BASENAM(x)"), ["$BASENAM(x)|there is no function $BASENAM"]);
        assert_eq!(invalid_texts("$HOSTNAME(x)"), ["$HOSTNAME(x)|there is no function $HOSTNAME"]);
        assert!(invalid_texts("$F(X) $Fpn(X) $FPNX(X) $Fqa(X) $INT(X) $$FOO(x)").is_empty());
        assert!(
            invalid_texts("$(X) $(X:a b) $$(X Y) $$([ a + $(N) ]) $ENV(A) $($(LN)) $(A$(B)) $1 $x")
                .is_empty()
        );
        assert!(invalid_texts("$(A:$(B:$(C)))").is_empty());
    }
}
