//! Clauses of Requirements: the conditions that must all be true.

use htc_classad::references::{self, AttrNames};
use htc_classad::{AttrName, ClassAd, Context, Expr, Value, explain};
use serde::Serialize;

use super::name_closure::expression_key;

/// Maximum depth to which names of attributes of the same ad are replaced by their definitions.
const MAX_DEPTH: usize = 8;

/// Side whose Requirements contain a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClauseSide {
    /// The slot.
    Slot,
    /// The job.
    Job,
}

/// Condition that must be true for a match.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) side: ClauseSide,
    /// Attribute whose definition contains the clause.
    pub(super) attribute: String,
    pub(super) expr: Expr,
    pub(super) text: String,
    /// Attributes that the clause compares, without the requests that a claim adds (`_condor_RequestCpus`).
    pub(super) names: AttrNames,
}

/// Condition of jobs that is not part of their ads.
#[derive(Clone, Debug)]
pub struct JobCondition {
    /// Name of the setting that contains the condition.
    pub attribute: String,
    /// Expression that must be true for each job.
    pub expr: Expr,
}

impl Clause {
    /// Creates the clause for a condition that applies to all jobs.
    pub(super) fn of_condition(condition: &JobCondition) -> Self {
        let JobCondition { attribute, expr } = condition.clone();
        let text = expr.unparse_old().to_string();
        let names = references::mentioned_attributes(&expr);
        Clause { side: ClauseSide::Job, attribute, expr, text, names }
    }

    /// Returns true if the clause keeps a job on machines that share its files. Without the clause, the job would run
    /// without its files, so only file transfer helps.
    pub(super) fn needs_file_transfer(&self) -> bool {
        self.side == ClauseSide::Job
            && mentioned_references(&self.expr).iter().any(|reference| reference.name == "FileSystemDomain")
    }
}

/// Function that returns true if evaluating a definition may read its own name again.
pub(super) type CircleTest<'a> = dyn Fn(&AttrName, &Expr) -> bool + 'a;

/// Returns the clauses of an ad's Requirements. Requirements are true if and only if all clauses are. If Requirements
/// are `needed`, an ad without them has a clause that is never true. Names for which `is_circular` returns true are not
/// replaced by their definitions.
pub(super) fn split_requirements(
    ad: &ClassAd,
    side: ClauseSide,
    needed: bool,
    is_circular: &CircleTest<'_>,
) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let requirements = AttrName::from("Requirements");
    match ad.get("Requirements") {
        Some(expr) if is_circular(&requirements, &expr) => {
            add_clause(side, "Requirements", Expr::attribute(b"Requirements"), &mut clauses);
        }
        Some(expr) => {
            let mut collector = ClauseCollector { ad, side, is_circular, path: vec![requirements], clauses };
            collector.collect(&expr);
            clauses = collector.clauses;
        }
        None if needed => add_clause(side, "Requirements", Expr::literal(Value::Undefined), &mut clauses),
        // The name is then found in the other ad, or nowhere.
        None if side == ClauseSide::Slot => {
            add_clause(side, "Requirements", Expr::attribute(b"Requirements"), &mut clauses);
        }
        None => {}
    }
    clauses
}

/// Collection of the clauses of one ad.
struct ClauseCollector<'a> {
    ad: &'a ClassAd,
    side: ClauseSide,
    is_circular: &'a CircleTest<'a>,
    /// Names whose definitions are being read.
    path: Vec<AttrName>,
    clauses: Vec<Clause>,
}

impl ClauseCollector<'_> {
    fn collect(&mut self, expr: &Expr) {
        for clause in explain::conjuncts(expr) {
            let clause = clause.without_parentheses();
            let own_name = own_attribute(&clause);
            let definition = own_name.as_ref().and_then(|name| self.ad.get(name));
            match (own_name, definition) {
                (Some(name), Some(definition)) if self.can_replace_name(&name, &definition) => {
                    self.path.push(name);
                    self.collect(&definition);
                    self.path.pop();
                }
                (own_name, definition) => {
                    let attribute = own_name.filter(|_| definition.is_some());
                    let attribute = attribute.as_ref().or(self.path.last());
                    let attribute = attribute.map(ToString::to_string).unwrap_or_default();
                    add_clause(self.side, &attribute, clause, &mut self.clauses);
                }
            }
        }
    }

    fn can_replace_name(&self, name: &AttrName, definition: &Expr) -> bool {
        self.path.len() < MAX_DEPTH
            && !self.path.contains(name)
            && definition.as_literal().is_none()
            && !(self.is_circular)(name, definition)
    }
}

fn add_clause(side: ClauseSide, attribute: &str, expr: Expr, clauses: &mut Vec<Clause>) {
    let is_true = expr.as_literal().as_ref().and_then(Value::truth) == Some(true);
    let text = expr.unparse_old().to_string().trim_start().to_owned();
    let is_same = |other: &Clause| other.text == text && expression_key(&other.expr) == expression_key(&expr);
    if !is_true && !clauses.iter().any(is_same) {
        let mut names = references::mentioned_attributes(&expr);
        names.retain(|name| !name.as_bytes().starts_with(b"_"));
        clauses.push(Clause { side, attribute: attribute.to_owned(), expr, text, names });
    }
}

/// Returns the name if an expression is only the name of an attribute of the same ad: `START` or `MY.START`.
fn own_attribute(expr: &Expr) -> Option<AttrName> {
    if let Some(name) = expr.as_attribute() {
        return Some(name);
    }
    let reference = Reference::parse(expr)?;
    (reference.scope == ReferenceScope::My).then_some(reference.name)
}

/// Returns the context in which a clause of `side` is evaluated for a slot and a job.
pub(super) fn clause_context<'a>(
    context: Context<'a>,
    side: ClauseSide,
    slot: &'a ClassAd,
    job: &'a ClassAd,
) -> Context<'a> {
    match side {
        ClauseSide::Slot => context.my(slot).target(job),
        ClauseSide::Job => context.my(job).target(slot),
    }
}

/// Scope with which a reference is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceScope {
    Unscoped,
    My,
    Target,
}

impl ReferenceScope {
    /// Returns the text of the scope before a name, empty for none.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            ReferenceScope::Unscoped => "",
            ReferenceScope::My => "MY.",
            ReferenceScope::Target => "TARGET.",
        }
    }
}

/// Reference to an attribute: `x`, `MY.x` or `TARGET.x`.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) scope: ReferenceScope,
    pub(super) name: AttrName,
}

impl Reference {
    /// Returns the reference if the expression consists of a reference only.
    pub(super) fn parse(expr: &Expr) -> Option<Self> {
        let expr = expr.without_parentheses();
        if let Some(name) = expr.as_attribute() {
            return Some(Reference { scope: ReferenceScope::Unscoped, name });
        }
        if !expr.is_reference() {
            return None;
        }
        let text = expr.unparse();
        let (scope, name) = text.split_at(text.iter().position(|byte| *byte == b'.')?);
        let scope = match scope.to_ascii_lowercase().as_slice() {
            b"my" | b"self" => ReferenceScope::My,
            b"target" => ReferenceScope::Target,
            _ => return None,
        };
        let name = &name[1..];
        let is_plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        is_plain.then(|| Reference { scope, name: name.into() })
    }

    /// Returns the reference as an expression.
    pub(super) fn to_expr(&self) -> Option<Expr> {
        Expr::parse(format!("{}{}", self.scope.prefix(), self.name).as_bytes()).ok()
    }

    /// Returns the side that defines the attribute, for a clause of `side`; `None` if neither does.
    pub(super) fn defining_side(
        &self,
        side: ClauseSide,
        slot: &ClassAd,
        job: &ClassAd,
    ) -> Option<ClauseSide> {
        let order = match (self.scope, side) {
            (ReferenceScope::My, side) => vec![side],
            (ReferenceScope::Target, ClauseSide::Slot) => vec![ClauseSide::Job],
            (ReferenceScope::Target, ClauseSide::Job) => vec![ClauseSide::Slot],
            (ReferenceScope::Unscoped, ClauseSide::Slot) => vec![ClauseSide::Slot, ClauseSide::Job],
            (ReferenceScope::Unscoped, ClauseSide::Job) => vec![ClauseSide::Job, ClauseSide::Slot],
        };
        let defines_name = |side: &ClauseSide| match side {
            ClauseSide::Slot => slot.contains(&self.name),
            ClauseSide::Job => job.contains(&self.name),
        };
        order.into_iter().find(defines_name)
    }

    /// True if the attribute could be one of the job, for a clause of `side`.
    pub(super) fn may_be_of_job(&self, side: ClauseSide) -> bool {
        match self.scope {
            ReferenceScope::Unscoped => true,
            ReferenceScope::My => side == ClauseSide::Job,
            ReferenceScope::Target => side == ClauseSide::Slot,
        }
    }

    /// True if the attribute could be one of the slot, for a clause of `side`.
    pub(super) fn may_be_of_slot(&self, side: ClauseSide) -> bool {
        match self.scope {
            ReferenceScope::Unscoped => true,
            ReferenceScope::My => side == ClauseSide::Slot,
            ReferenceScope::Target => side == ClauseSide::Job,
        }
    }
}

/// Maximum depth to which an expression is searched for references.
const MAX_PART_DEPTH: usize = 40;

/// Returns the references in an expression, each once, in their order.
pub(super) fn mentioned_references(expr: &Expr) -> Vec<Reference> {
    let mut references = Vec::new();
    add_references(expr, MAX_PART_DEPTH, &mut references);
    references
}

fn add_references(expr: &Expr, depth: usize, references: &mut Vec<Reference>) {
    if let Some(reference) = Reference::parse(expr) {
        let is_same = |known: &Reference| known.name == reference.name && known.scope == reference.scope;
        if !references.iter().any(is_same) {
            references.push(reference);
        }
    } else if depth > 0 {
        expr.parts().iter().for_each(|part| add_references(part, depth - 1, references));
    }
}

/// Returns an expression with one of its parts replaced, or `None` if that is not possible. The part is
/// searched for by its text, and its first occurrence is replaced.
pub(super) fn replace_part(whole: &Expr, part: &Expr, replacement: &Expr) -> Option<Expr> {
    let (whole, part) = (whole.unparse().to_string(), part.unparse().to_string());
    let is_word =
        |byte: Option<u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.'));
    let at = whole.match_indices(&part).map(|(at, _)| at).find(|at| {
        let before = at.checked_sub(1).and_then(|before| whole.as_bytes().get(before).copied());
        !is_word(before) && !is_word(whole.as_bytes().get(at + part.len()).copied())
    })?;
    let text = format!("{}{}{}", &whole[..at], replacement.unparse(), &whole[at + part.len()..]);
    Expr::parse(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::{ClauseSide, split_requirements};
    use htc_classad::{AttrName, ClassAd, Dialect, Expr};

    #[test]
    fn names_in_the_ad_itself_are_replaced_by_their_definitions() {
        let ad = "[ A = 1; Start = A > 0 && (TARGET.B || C); Limits = MY.Limits && true; Off = false;
                    Requirements = START && (MY.Limits && Off) && A > 0 && true ]";
        let ad = ClassAd::parse_new(ad.as_bytes(), Dialect::new_syntax()).unwrap();
        let clauses = split_requirements(&ad, ClauseSide::Slot, false, &|_, _| false);
        let clauses: Vec<_> = clauses.iter().map(|clause| (&*clause.attribute, &*clause.text)).collect();
        assert_eq!(
            clauses,
            [("START", "A > 0"), ("START", "TARGET.B || C"), ("Limits", "MY.Limits"), ("Off", "Off")]
        );
        assert!(split_requirements(&ClassAd::new(), ClauseSide::Job, false, &|_, _| false).is_empty());
        assert_eq!(
            split_requirements(&ClassAd::new(), ClauseSide::Slot, false, &|_, _| false)[0].text,
            "Requirements"
        );
    }

    #[test]
    fn names_in_a_cycle_are_not_replaced() {
        let ad = "[ Small = Big || A; Big = !Small; Requirements = Small && B ]";
        let ad = ClassAd::parse_new(ad.as_bytes(), Dialect::new_syntax()).unwrap();
        let is_circular = |name: &AttrName, _: &Expr| *name == "Small";
        let clauses = split_requirements(&ad, ClauseSide::Slot, false, &is_circular);
        let clauses: Vec<_> = clauses.iter().map(|clause| (&*clause.attribute, &*clause.text)).collect();
        assert_eq!(clauses, [("Small", "Small"), ("Requirements", "B")]);
    }
}
