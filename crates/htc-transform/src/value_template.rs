//! Values that consist of text and plain references `$(NAME)`, which most values with macros do. Each value is split
//! once, so that its references need not be searched for again for each ad.

use bstr::BString;

use super::macros::MacroScope;
use htc_config::MacroSource;
use htc_config::macro_reference::{MacroFunction, next_reference};

/// Value of a command, split at its references.
#[derive(Clone, Debug)]
pub(super) struct ValueTemplate {
    /// Pieces of the value: text, and the name of the reference after the text.
    pieces: Vec<(BString, BString)>,
    /// Text after the last reference.
    rest: BString,
}

impl ValueTemplate {
    /// Splits a value. Returns `None` if it contains functions, defaults or further dollar signs, or no
    /// reference at all.
    pub(super) fn compile(value: &[u8]) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while memchr::memchr(b'$', &value[at..]).is_some() {
            let found = next_reference(value, at, &mut None, |_, _| true)?;
            let (name, default) = found.name_and_default(value);
            let text = value.get(at..found.dollar)?;
            let plain = found.function == MacroFunction::Plain && default.is_none() && !name.is_empty();
            if !plain || text.contains(&b'$') || name.contains(&b'$') || name.eq_ignore_ascii_case(b"DOLLAR")
            {
                return None;
            }
            pieces.push((text.into(), name.into()));
            at = found.end;
        }
        (!pieces.is_empty()).then(|| ValueTemplate { pieces, rest: value[at..].into() })
    }

    /// Writes the value to `text` with its references replaced. Returns false if the value of a reference contains
    /// further references.
    pub(super) fn fill(&self, scope: &MacroScope<'_>, text: &mut Vec<u8>) -> bool {
        text.clear();
        for (before, name) in &self.pieces {
            text.extend_from_slice(before);
            if let Some(value) = scope.raw(name) {
                if memchr::memchr(b'$', &value).is_some() {
                    return false;
                }
                text.extend_from_slice(&value);
            }
        }
        text.extend_from_slice(&self.rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::macros::{BuiltInMacros, MacroTable};
    use super::*;

    #[test]
    fn only_plain_references_make_a_template() {
        for text in
            ["a", "$(A:x)", "$INT(A)", "$$(A)", "$ $(A)", "$(A$(B))", "$(DOLLAR)", "x$(A)$", "$()", "$( A )"]
        {
            assert!(ValueTemplate::compile(text.as_bytes()).is_none(), "{text}");
        }
        let mut macros = MacroTable::default();
        macros.set(b"A", "1");
        let template = ValueTemplate::compile(b"<$(a)$(none)>").unwrap();
        let fill = |macros: &MacroTable| {
            let mut text = b"before".to_vec();
            let scope = MacroScope { macros, built_in: &BuiltInMacros::Basic, ad: None, config: None };
            template.fill(&scope, &mut text).then_some(text)
        };
        assert_eq!(fill(&macros).as_deref(), Some(&b"<1>"[..]));
        macros.set(b"A", "$(B)");
        assert_eq!(fill(&macros), None);
    }
}
