//! Names that no ad has: misspelled names, and texts without quotes.

use htc_base::text::similar_names::nearest;
use htc_classad::{ClassAd, Context, Expr};

use super::clauses::{Reference, ReferenceScope, replace_part};

/// Reference that neither ad defines, with what was probably meant.
pub(super) struct MistakenName {
    part: Expr,
    correct: Expr,
    mistake: NameMistake,
}

/// Kind of a mistake in a name.
enum NameMistake {
    Misspelled,
    Unquoted,
}

impl MistakenName {
    /// Returns the name in one of the ads that is similar to that of a reference, or `None`.
    pub(super) fn find_misspelled<'a>(
        reference: &Reference,
        ads: impl Iterator<Item = &'a ClassAd>,
    ) -> Option<Self> {
        let names: Vec<String> =
            ads.flat_map(ClassAd::names).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let wanted = reference.name.to_string().to_ascii_lowercase();
        let near = nearest(&wanted, lower.iter().map(String::as_str))?;
        let near = names.iter().find(|name| name.eq_ignore_ascii_case(near))?;
        let part = reference.to_expr()?;
        let correct = Expr::parse(format!("{}{near}", reference.scope.prefix()).as_bytes()).ok()?;
        Some(MistakenName { part, correct, mistake: NameMistake::Misspelled })
    }

    /// Returns the text in place of a reference that makes a part of a clause true, or `None`.
    pub(super) fn find_unquoted(context: &Context<'_>, part: &Expr, reference: &Reference) -> Option<Self> {
        if reference.scope != ReferenceScope::Unscoped {
            return None;
        }
        let name = reference.to_expr()?;
        let correct = Expr::literal(reference.name.to_string());
        let corrected = replace_part(part, &name, &correct)?;
        let is_true = context.eval(&corrected).truth() == Some(true);
        is_true.then_some(MistakenName { part: name, correct, mistake: NameMistake::Unquoted })
    }

    /// Returns what is wrong: "did you mean Memory instead of Memroy?".
    pub(super) fn describe(&self) -> String {
        let (part, correct) = (self.part.unparse(), self.correct.unparse());
        match self.mistake {
            NameMistake::Misspelled => format!("did you mean {correct} instead of {part}?"),
            NameMistake::Unquoted => {
                format!("{part} is read as an attribute; a string must be quoted: {correct}")
            }
        }
    }

    /// Returns a clause with the name corrected.
    pub(super) fn correct(&self, clause: &Expr) -> Option<Expr> {
        replace_part(clause, &self.part, &self.correct)
    }
}
