//! Finds `$(NAME:default)`, `$ENV(...)` and `$FUNC(...)` in a text (`config.cpp`, `next_config_macro`).

use crate::statement::is_name_byte;

/// Function that a reference calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacroFunction {
    /// `$(NAME)` or `$(NAME:default)`
    Plain,
    /// `$ENV(NAME)`
    Env,
    /// `$RANDOM_CHOICE(a,b)`
    RandomChoice,
    /// `$RANDOM_INTEGER(min,max,step)`
    RandomInteger,
    /// `$CHOICE(index,list)`
    Choice,
    /// `$SUBSTR(name,start,length)`
    Substr,
    /// `$INT(name,format)`
    Int,
    /// `$REAL(name,format)`
    Real,
    /// `$STRING(name,format)`
    String,
    /// `$EVAL(expression)`
    Eval,
    /// `$BASENAME(path,suffix)`
    Basename,
    /// `$DIRNAME(path)`
    Dirname,
    /// `$Fpnxdqabfwu(path)`
    Filename,
}

impl MacroFunction {
    /// Returns true if the first argument is the name of a parameter, or text in its place.
    pub fn takes_parameter_name(self) -> bool {
        match self {
            MacroFunction::Substr
            | MacroFunction::Int
            | MacroFunction::Real
            | MacroFunction::String
            | MacroFunction::Basename
            | MacroFunction::Dirname
            | MacroFunction::Filename => true,
            MacroFunction::Plain
            | MacroFunction::Env
            | MacroFunction::RandomChoice
            | MacroFunction::RandomInteger
            | MacroFunction::Choice
            | MacroFunction::Eval => false,
        }
    }
}

/// Functions by name; the names are upper case only.
const FUNCTIONS: [(&[u8], MacroFunction); 11] = [
    (b"ENV", MacroFunction::Env),
    (b"RANDOM_CHOICE", MacroFunction::RandomChoice),
    (b"RANDOM_INTEGER", MacroFunction::RandomInteger),
    (b"CHOICE", MacroFunction::Choice),
    (b"SUBSTR", MacroFunction::Substr),
    (b"INT", MacroFunction::Int),
    (b"REAL", MacroFunction::Real),
    (b"STRING", MacroFunction::String),
    (b"EVAL", MacroFunction::Eval),
    (b"BASENAME", MacroFunction::Basename),
    (b"DIRNAME", MacroFunction::Dirname),
];

/// Returns the function called `name`, without its dollar, or `None` if there is no such function.
pub fn find_function(name: &[u8]) -> Option<MacroFunction> {
    match name.split_first() {
        None => Some(MacroFunction::Plain),
        Some((b'F', flags)) if flags.iter().all(|flag| b"pnxdqabfwu".contains(&(flag | 0x20))) => {
            Some(MacroFunction::Filename)
        }
        _ => FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, function)| function),
    }
}

/// A reference within a text. Offsets are those in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacroReference {
    /// Function of the reference.
    pub function: MacroFunction,
    /// Offset of the dollar.
    pub dollar: usize,
    /// Offset of the first byte after the opening parenthesis.
    pub body: usize,
    /// Offset of the first byte after the colon that introduces a default.
    ///
    /// For functions other than `$(` and `$ENV(`, this is the offset in the previous candidate for a reference, as
    /// in HTCondor, whose text mode uses it.
    pub default: Option<usize>,
    /// Offset of the byte after the closing parenthesis.
    pub end: usize,
}

impl MacroReference {
    /// Returns the text between the parentheses.
    pub fn body<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.body..self.end - 1]
    }

    /// Returns the name and default of a `$(NAME:default)` or `$ENV(NAME:default)`.
    pub fn name_and_default<'a>(&self, text: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        let body = self.body(text);
        match memchr::memchr(b':', body) {
            Some(colon) => (&body[..colon], Some(&body[colon + 1..])),
            None => (body, None),
        }
    }
}

/// Characters that a default may contain in addition to those of names.
const DEFAULT_VALUE_BYTES: &[u8] = b"$ ,\\:";

/// Returns the first reference at or after `from` that `wanted` accepts by function and body.
///
/// `first_dollar` is set to the offset of the first `$` found: a later change of the text after it may turn
/// it into a reference.
pub fn next_reference(
    text: &[u8],
    from: usize,
    first_dollar: &mut Option<usize>,
    mut wanted: impl FnMut(MacroFunction, &[u8]) -> bool,
) -> Option<MacroReference> {
    let mut at = from;
    let mut after_colon = 0;
    loop {
        let dollar = at + memchr::memchr(b'$', text.get(at..)?)?;
        first_dollar.get_or_insert(dollar);
        let mut open = dollar + 1;
        if text.get(open) == Some(&b'$') {
            open += 1;
        }
        while text.get(open).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_') {
            open += 1;
        }
        at = open;
        if text.get(open) != Some(&b'(') {
            continue;
        }
        let Some(function) = find_function(&text[dollar + 1..open]) else {
            continue;
        };
        let body = open + 1;
        let close = match function {
            MacroFunction::Plain | MacroFunction::Env => {
                after_colon = 0;
                body_end(text, body, &mut after_colon)
            }
            _ => memchr::memchr(b')', &text[body..]).map(|length| body + length),
        };
        let Some(close) = close else {
            at = body;
            continue;
        };
        if !wanted(function, &text[body..close]) {
            at = close;
            continue;
        }
        let default = (after_colon > 0).then_some(body + after_colon);
        return Some(MacroReference { function, dollar, body, default, end: close + 1 });
    }
}

/// A `$$(NAME:default)` or `$$([expression])` within a text, which is replaced by values of the slot with
/// which a job is matched; the fields are offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DollarDollarReference {
    /// Offset of the first dollar.
    pub dollar: usize,
    /// Offset of the first byte after the opening parenthesis.
    pub body: usize,
    /// Offset of the byte after the closing parenthesis.
    pub end: usize,
}

impl DollarDollarReference {
    /// Returns the text between the parentheses.
    pub fn body<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.body..self.end - 1]
    }
}

/// Returns the first `$$(...)` at or after `from` (`next_dollardollar_macro`).
pub fn next_dollar_dollar(text: &[u8], from: usize) -> Option<DollarDollarReference> {
    let mut at = from;
    loop {
        let dollar = at + memchr::memchr(b'$', text.get(at..)?)?;
        let name = dollar + 1 + usize::from(text.get(dollar + 1) == Some(&b'$'));
        let length = text[name..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        at = name + length;
        if text.get(at) != Some(&b'(') || at - dollar != 2 || text[dollar + 1] != b'$' {
            continue;
        }
        let body = at + 1;
        let close = match text.get(body) {
            Some(b'[') => memchr::memmem::find(&text[body..], b"])").map(|length| body + length + 1),
            _ => body_end(text, body, &mut 0),
        };
        match close {
            Some(close) => return Some(DollarDollarReference { dollar, body, end: close + 1 }),
            None => at = body,
        }
    }
}

/// Returns the offset of the parenthesis that closes a body with a name and an optional default, or `None` if the body
/// contains a character that is not allowed. `after_colon` is set to the offset of the default in the body.
fn body_end(text: &[u8], body: usize, after_colon: &mut usize) -> Option<usize> {
    let mut at = body;
    loop {
        let byte = *text.get(at)?;
        if byte == b')' {
            return Some(at);
        }
        at += 1;
        if byte == b':' && *after_colon == 0 {
            *after_colon = at - body;
            continue;
        }
        if *after_colon > 0 {
            if byte == b'(' {
                if let Some(close) = memchr::memchr(b')', &text[at..]) {
                    at += close + 1;
                    continue;
                }
            } else if DEFAULT_VALUE_BYTES.contains(&byte) {
                continue;
            }
        }
        if !is_name_byte(byte) {
            return None;
        }
    }
}

/// Returns true for `$(DOLLAR)`.
pub(crate) fn is_dollar_reference(function: MacroFunction, body: &[u8]) -> bool {
    function == MacroFunction::Plain && body.eq_ignore_ascii_case(b"DOLLAR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_references_are_two_dollars_and_a_name_or_expression() {
        let find_all = |text: &str| {
            let mut references = Vec::new();
            let mut at = 0;
            while let Some(reference) = next_dollar_dollar(text.as_bytes(), at) {
                references.push(text[reference.dollar..reference.end].to_owned());
                at = reference.end;
            }
            references
        };
        assert_eq!(
            find_all("a $$(Arch:x y) $(B) $$([ \"(\" ]) $$X(C) $$$(D)"),
            ["$$(Arch:x y)", "$$([ \"(\" ])"]
        );
        assert_eq!(find_all("$$(A B) $$(C $$([x) $$(D)"), ["$$(D)"]);
        assert_eq!(find_all("$$() $$(A.B)"), ["$$()", "$$(A.B)"]);
    }

    fn find_all(text: &str) -> Vec<(MacroFunction, String)> {
        let mut references = Vec::new();
        let mut at = 0;
        while let Some(r) = next_reference(text.as_bytes(), at, &mut None, |_, _| true) {
            references.push((r.function, text[r.dollar..r.end].to_owned()));
            at = r.end;
        }
        references
    }

    #[test]
    fn references_are_distinguished_from_similar_text() {
        assert_eq!(
            find_all("a$(B)c$(D:x y)"),
            [(MacroFunction::Plain, "$(B)".into()), (MacroFunction::Plain, "$(D:x y)".into())]
        );
        assert!(find_all("$(X:-1) $A $(A B) $( A ) $env(A) $FOO(x) $$(X) $(A").is_empty());
        assert_eq!(find_all("$$([$(N)])"), [(MacroFunction::Plain, "$(N)".into())]);
        assert_eq!(find_all("$$$(A)"), [(MacroFunction::Plain, "$(A)".into())]);
        assert_eq!(find_all("$(X:(a) b)"), [(MacroFunction::Plain, "$(X:(a) b)".into())]);
        assert_eq!(
            find_all("$FqP(x)$INT((1))"),
            [(MacroFunction::Filename, "$FqP(x)".into()), (MacroFunction::Int, "$INT((1)".into())]
        );
        assert_eq!(find_all("$($(A))"), [(MacroFunction::Plain, "$(A)".into())]);
    }
}
