//! Names that a clause looks up in the wrong ad, such as `MY.Memory` of a job instead of `TARGET.Memory`.

use htc_classad::{Context, Expr};

use super::clauses::{Clause, ClauseSide, Reference, ReferenceScope, mentioned_references, replace_part};
use super::side_names::SideNames;

/// Reference of a clause with the scope that was probably intended.
pub(super) struct WrongScope {
    part: Expr,
    correct: Expr,
    name: String,
    /// Scope as written: `MY.`, `TARGET.`, or empty.
    written: &'static str,
    /// Side in whose ad the name is looked up.
    side: ClauseSide,
}

impl WrongScope {
    /// Returns the first reference of a part of a clause that makes it true if it is looked up in the other ad, or
    /// `None`.
    ///
    /// `part` is not true in `context`, in which a condition of `side` is evaluated.
    pub(super) fn find(
        context: &Context<'_>,
        side: ClauseSide,
        part: &Expr,
        has_name: &HasName<'_>,
    ) -> Option<Self> {
        let references = mentioned_references(part);
        let other_side = opposite(side);
        references.iter().find_map(|reference| {
            let (read_side, target) = match reference.scope {
                ReferenceScope::Target => (other_side, "MY"),
                ReferenceScope::My => (side, "TARGET"),
                // Without a scope, an ad's own attribute has precedence. Only authors of jobs overlook this.
                ReferenceScope::Unscoped if side == ClauseSide::Job && has_name(side, reference) => {
                    (side, "TARGET")
                }
                ReferenceScope::Unscoped => return None,
            };
            let intended_side = opposite(read_side);
            // An attribute of the ad itself may be intended, unless it is a job's attribute with the name of one
            // of the slot.
            let may_be_intended = has_name(read_side, reference) && read_side == ClauseSide::Slot;
            let compares_both =
                references.iter().any(|it| it.name == reference.name && it.scope != reference.scope);
            if may_be_intended || compares_both || !has_name(intended_side, reference) {
                return None;
            }
            let written = reference.scope.prefix();
            let name = reference.name.to_string();
            let written_part = reference.to_expr()?;
            let correct = Expr::parse(format!("{target}.{name}").as_bytes()).ok()?;
            let corrected = replace_part(part, &written_part, &correct)?;
            let is_true = context.eval(&corrected).truth() == Some(true);
            is_true.then_some(WrongScope { part: written_part, correct, name, written, side: read_side })
        })
    }

    /// Returns what is wrong: "MY.Memory is the job's; TARGET.Memory is that of the slot".
    pub(super) fn describe(&self, names: SideNames) -> String {
        let WrongScope { correct, name, written, side, .. } = self;
        let word = |side: ClauseSide| match side {
            ClauseSide::Job => names.job,
            ClauseSide::Slot => names.slot,
        };
        let correct = correct.unparse();
        match written.is_empty() {
            true => format!(
                "{name} is the {}'s own attribute; {correct} is that of the {}",
                word(*side),
                word(opposite(*side))
            ),
            false => format!(
                "{written}{name} is read from the {}'s ad; {correct} is that of the {}",
                word(*side),
                word(opposite(*side))
            ),
        }
    }

    /// Returns a clause with the reference corrected.
    pub(super) fn correct(&self, clause: &Clause) -> Option<Expr> {
        replace_part(&clause.expr, &self.part, &self.correct)
    }
}

/// Function that returns true if the ad of a side has an attribute.
pub(super) type HasName<'a> = dyn Fn(ClauseSide, &Reference) -> bool + 'a;

fn opposite(side: ClauseSide) -> ClauseSide {
    match side {
        ClauseSide::Job => ClauseSide::Slot,
        ClauseSide::Slot => ClauseSide::Job,
    }
}
