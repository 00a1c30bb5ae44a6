//! Names that no ad has: misspelled names, and strings without quotes.

use htc_base::text::similar_names::nearest;
use htc_classad::{ClassAd, Context, Expr, ExprKind, Value};
use htc_config::supported::find_attribute;

use super::clauses::{Reference, ReferenceScope, mentioned_references, replace_part};

/// Reference that neither ad defines, with its probable correction.
pub(super) struct MistakenName {
    part: Expr,
    correct: Expr,
    mistake: NameMistake,
}

/// Kind of a mistake in a name.
enum NameMistake {
    Misspelled,
    /// The name is right, and an ad has a similar name that HTCondor does not know.
    MisspelledInAd,
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
        // A name that HTCondor knows is not a misspelling of another one.
        let is_known = is_known_attribute(&wanted);
        let similar = lower.iter().map(String::as_str).filter(|name| !is_known || !is_known_attribute(name));
        let nearest_name = nearest(&wanted, similar)?;
        let nearest_name = names.iter().find(|name| name.eq_ignore_ascii_case(nearest_name))?;
        let part = reference.to_expr()?;
        let correct = Expr::parse(format!("{}{nearest_name}", reference.scope.prefix()).as_bytes()).ok()?;
        let mistake = if is_known { NameMistake::MisspelledInAd } else { NameMistake::Misspelled };
        Some(MistakenName { part, correct, mistake })
    }

    /// Returns the text in place of a reference that makes a part of a clause true, or `None`.
    pub(super) fn find_unquoted(context: &Context<'_>, part: &Expr, reference: &Reference) -> Option<Self> {
        if reference.scope != ReferenceScope::Unscoped {
            return None;
        }
        let name = reference.to_expr()?;
        if !may_be_string(part, &name) {
            return None;
        }
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
            NameMistake::MisspelledInAd => format!("{correct} is set; did you mean {part}?"),
            NameMistake::Unquoted => {
                format!("{part} is read as an attribute; a string must be quoted: {correct}")
            }
        }
    }

    /// Returns a clause with the name corrected.
    pub(super) fn correct(&self, clause: &Expr) -> Option<Expr> {
        if matches!(self.mistake, NameMistake::MisspelledInAd) {
            return None;
        }
        replace_part(clause, &self.part, &self.correct)
    }
}

/// Returns true if a name may be a string without quotes: each comparison or call that reads it also reads another
/// attribute. A string that is compared with a literal, or tested by isUndefined(), would make the condition a
/// constant.
fn may_be_string(expr: &Expr, name: &Expr) -> bool {
    let reads_name = |part: &Expr| part.without_parentheses() == name.without_parentheses();
    match expr.kind() {
        ExprKind::Compare("=?=" | "=!=", left, right)
            if [&left, &right].iter().any(|side| matches!(side.as_literal(), Some(Value::Undefined))) =>
        {
            !reads(expr, name)
        }
        ExprKind::Compare(..) | ExprKind::Call(..) | ExprKind::Conditional(..) => {
            let has_name = expr.parts().iter().any(|part| operand_reads(part, &reads_name));
            let other = |reference: &Reference| reference.to_expr().is_none_or(|it| !reads_name(&it));
            (!has_name || mentioned_references(expr).iter().any(other))
                && expr.parts().iter().all(|part| may_be_string(part, name))
        }
        _ if expr.operator() == Some("?:") && expr.parts().first().is_some_and(reads_name) => false,
        _ => expr.parts().iter().all(|part| may_be_string(part, name)),
    }
}

/// True if an operand is the name, or a list that contains it.
fn operand_reads(operand: &Expr, reads_name: &impl Fn(&Expr) -> bool) -> bool {
    let is_plain = matches!(operand.kind(), ExprKind::Other(_)) && operand.operator().is_none();
    reads_name(operand) || is_plain && operand.parts().iter().any(|part| operand_reads(part, reads_name))
}

fn reads(expr: &Expr, name: &Expr) -> bool {
    expr.without_parentheses() == name.without_parentheses()
        || expr.parts().iter().any(|part| reads(part, name))
}

/// Returns true if HTCondor knows an attribute: it reads it, or the name is made of a resource and a prefix.
fn is_known_attribute(name: &str) -> bool {
    const PREFIXES: [&str; 8] =
        ["TotalSlot", "Total", "Request", "Detected", "Available", "Assigned", "Child", ""];
    const RESOURCES: [&str; 5] = ["Cpus", "Memory", "Disk", "GPUs", "Swap"];
    let is_of_resource = PREFIXES.iter().any(|prefix| {
        let start = name.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix));
        start.is_some_and(|_| {
            RESOURCES.iter().any(|resource| name[prefix.len()..].eq_ignore_ascii_case(resource))
        })
    });
    is_of_resource || find_attribute(name.as_bytes()).is_some()
}
