//! Prefilter for evaluating many constraints on many ads: comparisons of attributes with literals are decided without
//! the evaluator.
//!
//! Constraints of routes, slots and queries are mostly comparisons joined by `&&` and `||`. A [`Prefilter`] looks up
//! each attribute once per ad and decides these constraints from the values. All other constraints need the evaluator.

use bstr::BString;
use rustc_hash::FxHashMap;

use crate::ad::ClassAd;
use crate::eval::computed_value::{ComputedValue, StoredContent};
use crate::eval::logic::{Connective, LogicValue, Truth};
use crate::eval::operators;
use crate::syntax::expr::ExprRepr;
use crate::syntax::name;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{BinaryOp, ExprTree, NO_BASE, Node, NodeId, SpecialName, UnaryOp};
use crate::syntax::{AttrName, Expr};

/// Maximum nesting depth of a constraint that the prefilter decides.
const MAX_DEPTH: usize = 32;

/// Scope of a name in a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameScope {
    Unscoped,
    My,
    Target,
}

/// Role of an ad in the constraints.
///
/// ```
/// use htc_classad::{AdRole, ClassAd, Expr, Prefilter, Truth};
/// let mut prefilter = Prefilter::new();
/// let test = prefilter.add(&Expr::parse("TARGET.Cpus > 1").unwrap());
/// let slot = ClassAd::from([("Cpus", 4)]);
/// assert_eq!(prefilter.truth(test, &prefilter.load(&slot, AdRole::Target)), Some(Truth::True));
/// assert_eq!(prefilter.truth(test, &prefilter.load(&slot, AdRole::My)), Some(Truth::Undefined));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdRole {
    /// The ad is MY, and there is no TARGET.
    My,
    /// The ad is TARGET, and MY is empty.
    Target,
}

/// Constraint or a part of a constraint, prepared for the prefilter.
#[derive(Clone, Debug)]
enum CompiledConstraint {
    Literal(Scalar<BString>),
    Attribute(u32),
    Compare {
        op: BinaryOp,
        attribute: u32,
        literal: Scalar<BString>,
        swapped: bool,
    },
    Not(Box<CompiledConstraint>),
    And(Box<CompiledConstraint>, Box<CompiledConstraint>),
    Or(Box<CompiledConstraint>, Box<CompiledConstraint>),
    /// The evaluator must decide this part.
    NeedsEvaluator,
}

#[derive(Clone, Debug)]
struct AttributeColumn {
    name: AttrName,
    hash: u32,
    scope: NameScope,
}

/// Set of constraints that are prepared for testing many ads.
///
/// ```
/// use htc_classad::{AdRole, ClassAd, Context, Expr, Prefilter, System, Truth};
/// let constraints = ["Cpus > 1", "Owner == \"ana\" || Cpus < 2", "strcat(Owner, 1) == \"bob1\""];
/// let constraints = constraints.map(|text| Expr::parse(text).unwrap());
/// let mut prefilter = Prefilter::new();
/// let tests: Vec<_> = constraints.iter().map(|constraint| prefilter.add(constraint)).collect();
///
/// let ad: ClassAd = "[ Owner = \"bob\"; Cpus = 4 ]".parse().unwrap();
/// let loaded = prefilter.load(&ad, AdRole::My);
/// let holds = |(test, constraint)| match prefilter.truth(test, &loaded) {
///     Some(truth) => truth == Truth::True,
///     // The prefilter leaves calls to the evaluator.
///     None => Context::new(&System).my(&ad).holds(constraint),
/// };
/// let results: Vec<bool> = tests.into_iter().zip(&constraints).map(holds).collect();
/// assert_eq!(results, [true, false, true]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Prefilter {
    columns: Vec<AttributeColumn>,
    tests: Vec<CompiledConstraint>,
    is_scoped: Vec<bool>,
    strict: bool,
}

/// Index of many constraints that begin with `Attribute == "text"` for the same attribute. A constraint whose text
/// differs from the ad's value is false, whatever the rest of the constraint is.
///
/// ```
/// use htc_classad::{AdRole, ClassAd, Expr, Prefilter};
/// let mut prefilter = Prefilter::new();
/// for user in 0..20 {
///     prefilter.add(&Expr::parse(format!("Owner == \"user{user}\" && Cpus > 1")).unwrap());
/// }
/// let guards = prefilter.equality_guards().unwrap();
/// let ad = ClassAd::from([("Owner", "user7")]);
/// let group = guards.group_of(&prefilter.load(&ad, AdRole::My)).unwrap();
/// let left: Vec<usize> = (0..20).filter(|test| !guards.excludes(*test, group)).collect();
/// assert_eq!(left, [7]);
/// ```
#[derive(Clone, Debug)]
pub struct EqualityGuards {
    column: u32,
    /// Number of the text of each constraint, or 0 if the constraint does not begin with a test of the attribute.
    groups: Vec<u32>,
    /// Numbers of the known texts, counted from 1. The texts are in lower case.
    texts: FxHashMap<Box<[u8]>, u32>,
}

impl EqualityGuards {
    /// Returns the group of an ad, for [`EqualityGuards::excludes`]: the number of the text that its attribute has.
    /// Returns `None` if the attribute is not a string.
    pub fn group_of(&self, loaded: &LoadedValues<'_>) -> Option<u32> {
        match loaded.0.get(self.column as usize)? {
            Some(ComputedValue::Str(text)) => {
                Some(self.texts.get(text.to_ascii_lowercase().as_slice()).copied().unwrap_or(u32::MAX))
            }
            _ => None,
        }
    }

    /// Returns true if a constraint is false for all ads of a group.
    pub fn excludes(&self, test: usize, group: u32) -> bool {
        let own = self.groups[test];
        own != 0 && own != group
    }
}

/// Values of those attributes of one ad that the constraints use.
///
/// ```
/// use htc_classad::{AdRole, ClassAd, Expr, LoadedValues, Prefilter, Truth};
/// let mut prefilter = Prefilter::new();
/// let test = prefilter.add(&Expr::parse("Cpus > 1").unwrap());
/// let ad = ClassAd::from([("Cpus", 4)]);
/// // One load serves all constraints.
/// let loaded: LoadedValues<'_> = prefilter.load(&ad, AdRole::My);
/// assert_eq!(prefilter.truth(test, &loaded), Some(Truth::True));
/// ```
pub struct LoadedValues<'a>(Vec<Option<ComputedValue<'a>>>);

impl Prefilter {
    /// Creates an empty prefilter, with strict mode off.
    ///
    /// ```
    /// use htc_classad::{AdRole, ClassAd, Expr, Prefilter, Truth};
    /// let mut prefilter = Prefilter::new();
    /// let always = prefilter.add(&Expr::parse("true").unwrap());
    /// assert_eq!(prefilter.truth(always, &prefilter.load(&ClassAd::new(), AdRole::My)), Some(Truth::True));
    /// ```
    pub fn new() -> Self {
        Prefilter::default()
    }

    /// Turns strict mode on or off for the constraints that are added later.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Adds a constraint and returns its number, for [`Prefilter::truth`].
    pub fn add(&mut self, expr: &Expr) -> usize {
        let columns = self.columns.len();
        // In strict mode, MY is an ordinary name, and plain names are not looked up in the other ad.
        let strict = self.strict;
        let mut scoped = strict;
        let test = match &expr.0 {
            _ if strict => CompiledConstraint::NeedsEvaluator,
            ExprRepr::Scalar(scalar) => CompiledConstraint::Literal(scalar.clone()),
            ExprRepr::Node(tree, root) => self.compile_constraint(tree, *root, 0, &mut scoped),
        };
        if matches!(test, CompiledConstraint::NeedsEvaluator) {
            self.columns.truncate(columns);
        }
        self.tests.push(test);
        self.is_scoped.push(scoped);
        self.tests.len() - 1
    }

    /// Returns true if a constraint uses MY or TARGET, so that its value may depend on the role of the ad.
    ///
    /// ```
    /// use htc_classad::{Expr, Prefilter};
    /// let mut prefilter = Prefilter::new();
    /// let (plain, scoped) = ("Cpus > 1", "TARGET.Cpus > 1");
    /// let [plain, scoped] = [plain, scoped].map(|text| prefilter.add(&Expr::parse(text).unwrap()));
    /// assert!(!prefilter.is_scoped(plain) && prefilter.is_scoped(scoped));
    /// ```
    pub fn is_scoped(&self, test: usize) -> bool {
        self.is_scoped[test]
    }

    /// Returns the guards for the attribute that most constraints test first by `Attribute == "text"`, or `None` if
    /// fewer than 8 constraints do so.
    pub fn equality_guards(&self) -> Option<EqualityGuards> {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for (column, _) in self.tests.iter().filter_map(leading_equality) {
            if self.columns[column as usize].scope == NameScope::Unscoped {
                *counts.entry(column).or_default() += 1;
            }
        }
        let (column, count) = counts.into_iter().max_by_key(|(column, count)| (*count, u32::MAX - column))?;
        if count < 8 {
            return None;
        }
        let mut texts: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut number = |test| match leading_equality(test) {
            Some((of, text)) if of == column => {
                let next = u32::try_from(texts.len() + 1).unwrap_or(u32::MAX);
                *texts.entry(text.to_ascii_lowercase().into()).or_insert(next)
            }
            _ => 0,
        };
        let groups = self.tests.iter().map(&mut number).collect();
        Some(EqualityGuards { column, groups, texts })
    }

    /// Looks up the attributes of an ad that the constraints use.
    pub fn load<'a>(&self, ad: &'a ClassAd, role: AdRole) -> LoadedValues<'a> {
        LoadedValues(self.columns.iter().map(|column| attribute_value(ad, column, role)).collect())
    }

    /// Appends a key to `out` that is equal for all ads with the same values of the attributes used by the
    /// constraints. Returns false if an attribute must be evaluated.
    ///
    /// ```
    /// use htc_classad::{AdRole, ClassAd, Expr, Prefilter};
    /// let mut prefilter = Prefilter::new();
    /// prefilter.add(&Expr::parse("Cpus > 1").unwrap());
    /// let key = |ad: ClassAd| {
    ///     let mut key = Vec::new();
    ///     assert!(prefilter.push_key(&prefilter.load(&ad, AdRole::My), &mut key));
    ///     key
    /// };
    /// // The constraint does not depend on the owner, so the ads have the same key.
    /// let bobs: ClassAd = "[ Cpus = 4; Owner = \"bob\" ]".parse().unwrap();
    /// assert_eq!(key(bobs), key(ClassAd::from([("Cpus", 4)])));
    /// ```
    pub fn push_key(&self, loaded: &LoadedValues<'_>, out: &mut Vec<u8>) -> bool {
        for value in &loaded.0 {
            match value {
                Some(ComputedValue::Undefined) => out.push(0),
                Some(ComputedValue::Error) => out.push(1),
                Some(ComputedValue::Bool(b)) => out.extend([2, u8::from(*b)]),
                Some(ComputedValue::Int(i)) => {
                    out.push(3);
                    out.extend_from_slice(&i.to_le_bytes());
                }
                Some(ComputedValue::Real(r)) => {
                    out.push(4);
                    out.extend_from_slice(&r.to_bits().to_le_bytes());
                }
                Some(ComputedValue::Str(text)) => {
                    out.push(5);
                    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    out.extend_from_slice(text);
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns the truth of a constraint, or `None` if the evaluator must decide it.
    pub fn truth(&self, test: usize, loaded: &LoadedValues<'_>) -> Option<Truth> {
        decide_constraint(&self.tests[test], loaded)
            .map(|value| Truth::from(LogicValue::from_result(&Ok(value))))
    }

    fn column_index(&mut self, name: &[u8], scope: NameScope) -> u32 {
        let hash = name::hash(name);
        let same = |column: &AttributeColumn| {
            column.hash == hash && column.scope == scope && column.name.as_bytes().eq_ignore_ascii_case(name)
        };
        let at = self.columns.iter().position(same).unwrap_or_else(|| {
            self.columns.push(AttributeColumn { name: name.into(), hash, scope });
            self.columns.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the index of the column for an attribute: `name`, `MY.name` or `TARGET.name`.
    fn attribute_column(&mut self, tree: &ExprTree, id: NodeId, scoped: &mut bool) -> Option<u32> {
        let (base, name) = tree.as_reference(id)?;
        let scope = match base {
            NO_BASE if tree.name_info(name).special == SpecialName::None => NameScope::Unscoped,
            NO_BASE => return None,
            base => match tree.nodes.get(base as usize)? {
                Node::Name { special, .. } => match special {
                    SpecialName::My => NameScope::My,
                    SpecialName::Target => NameScope::Target,
                    _ => return None,
                },
                _ => return None,
            },
        };
        *scoped |= scope != NameScope::Unscoped;
        Some(self.column_index(tree.name_bytes(name), scope))
    }

    fn compile_constraint(
        &mut self,
        tree: &ExprTree,
        id: NodeId,
        depth: usize,
        scoped: &mut bool,
    ) -> CompiledConstraint {
        if depth > MAX_DEPTH {
            return CompiledConstraint::NeedsEvaluator;
        }
        match tree.node(id) {
            Node::Unary(UnaryOp::Parentheses, inner) => {
                self.compile_constraint(tree, inner, depth + 1, scoped)
            }
            Node::Unary(UnaryOp::Not, inner) => match self.compile_constraint(tree, inner, depth + 1, scoped)
            {
                CompiledConstraint::NeedsEvaluator => CompiledConstraint::NeedsEvaluator,
                test => CompiledConstraint::Not(Box::new(test)),
            },
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                let left = Box::new(self.compile_constraint(tree, left, depth + 1, scoped));
                let right = Box::new(self.compile_constraint(tree, right, depth + 1, scoped));
                match (&*left, &*right) {
                    (CompiledConstraint::NeedsEvaluator, _) => CompiledConstraint::NeedsEvaluator,
                    _ if op == BinaryOp::And => CompiledConstraint::And(left, right),
                    _ => CompiledConstraint::Or(left, right),
                }
            }
            Node::Binary(
                op @ (BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Is
                | BinaryOp::Isnt),
                left,
                right,
            ) => {
                if let (Some(attribute), Some(literal)) =
                    (self.attribute_column(tree, left, scoped), literal_scalar(tree, right))
                {
                    return CompiledConstraint::Compare { op, attribute, literal, swapped: false };
                }
                match (literal_scalar(tree, left), self.attribute_column(tree, right, scoped)) {
                    (Some(literal), Some(attribute)) => {
                        CompiledConstraint::Compare { op, attribute, literal, swapped: true }
                    }
                    _ => CompiledConstraint::NeedsEvaluator,
                }
            }
            Node::Name { .. } | Node::Attr { .. } => self
                .attribute_column(tree, id, scoped)
                .map_or(CompiledConstraint::NeedsEvaluator, CompiledConstraint::Attribute),
            _ => literal_scalar(tree, id)
                .map_or(CompiledConstraint::NeedsEvaluator, CompiledConstraint::Literal),
        }
    }
}

/// Returns the attribute column and the text if a constraint begins with `Attribute == "text"`.
fn leading_equality(test: &CompiledConstraint) -> Option<(u32, &[u8])> {
    match test {
        CompiledConstraint::And(left, _) => leading_equality(left),
        CompiledConstraint::Compare {
            op: BinaryOp::Equal, attribute, literal: Scalar::Str(text), ..
        } => Some((*attribute, text)),
        _ => None,
    }
}

/// Returns the literal at a node if the prefilter can compare with it, or else `None`.
fn literal_scalar(tree: &ExprTree, id: NodeId) -> Option<Scalar<BString>> {
    tree.scalar(id).map(Scalar::to_owned)
}

fn attribute_value<'a>(ad: &'a ClassAd, column: &AttributeColumn, role: AdRole) -> Option<ComputedValue<'a>> {
    let absent = match role {
        AdRole::My => NameScope::Target,
        AdRole::Target => NameScope::My,
    };
    if column.scope == absent {
        return Some(ComputedValue::Undefined);
    }
    let mut ad = ad;
    loop {
        match ad.stored_content(column.name.as_bytes(), column.hash) {
            Some(StoredContent::Literal(value)) => return Some(value),
            Some(StoredContent::Expression) => return None,
            None => {}
        }
        match ad.parent() {
            Some(parent) => ad = parent,
            None => return Some(ComputedValue::Undefined),
        }
    }
}

fn decide_constraint<'a>(
    test: &'a CompiledConstraint,
    loaded: &LoadedValues<'a>,
) -> Option<ComputedValue<'a>> {
    match test {
        CompiledConstraint::Literal(literal) => Some(literal.as_borrowed().into()),
        CompiledConstraint::Attribute(at) => loaded.0[*at as usize],
        CompiledConstraint::Compare { op, attribute, literal, swapped } => {
            let value = loaded.0[*attribute as usize]?;
            let literal = ComputedValue::from(literal.as_borrowed());
            let (left, right) = if *swapped { (literal, value) } else { (value, literal) };
            Some(match op {
                BinaryOp::Is => operators::identical(left, right),
                BinaryOp::Isnt => operators::not_identical(left, right),
                op => operators::apply_binary(*op, left, right),
            })
        }
        CompiledConstraint::Not(inner) => {
            Some(operators::apply_unary(UnaryOp::Not, decide_constraint(inner, loaded)?))
        }
        CompiledConstraint::And(left, right) => decide_connective(Connective::And, left, right, loaded),
        CompiledConstraint::Or(left, right) => decide_connective(Connective::Or, left, right, loaded),
        CompiledConstraint::NeedsEvaluator => None,
    }
}

fn decide_connective<'a>(
    connective: Connective,
    left: &'a CompiledConstraint,
    right: &'a CompiledConstraint,
    loaded: &LoadedValues<'a>,
) -> Option<ComputedValue<'a>> {
    let left = LogicValue::from_result(&Ok(decide_constraint(left, loaded)?));
    let result = if connective.is_settled_by(left) {
        left
    } else {
        connective.combine(left, LogicValue::from_result(&Ok(decide_constraint(right, loaded)?)))
    };
    result.into_computed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Context;
    use crate::eval_world::System;

    #[test]
    fn the_prefilter_agrees_with_the_evaluator() {
        let values =
            ["1", "0", "2.5", "\"a\"", "\"A\"", "\"\"", "true", "false", "undefined", "error", "1 + 1", "B"];
        let names = ["A", "b", "MY.A", "TARGET.A", "target.C"];
        let literals = ["1", "0", "2.5", "\"a\"", "true", "undefined", "error"];
        let mut exprs: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        for op in ["==", "!=", "<", "<=", ">", ">=", "=?=", "=!=", "is", "isnt"] {
            for name in names {
                for literal in literals {
                    exprs.push(format!("{name} {op} {literal}"));
                    exprs.push(format!("{literal} {op} ({name})"));
                }
            }
        }
        let parts: Vec<String> = exprs.iter().step_by(7).cloned().collect();
        for left in parts.iter().step_by(3) {
            for right in &parts {
                exprs.push(format!("{left} && ({right})"));
                exprs.push(format!("!({left}) || {right} || b"));
            }
        }
        let world = System;
        let mut prefilter = Prefilter::new();
        let parsed: Vec<Expr> = exprs.iter().map(|text| Expr::parse(text.as_bytes()).unwrap()).collect();
        parsed.iter().for_each(|expr| {
            prefilter.add(expr);
        });
        let (empty, mut decided) = (ClassAd::new(), 0);
        for value in values {
            let mut ad = ClassAd::new();
            ad.insert_line(format!("A = {value}").as_bytes()).unwrap();
            ad.insert_line(b"B = true").unwrap();
            for role in [AdRole::My, AdRole::Target] {
                let loaded = prefilter.load(&ad, role);
                let context = match role {
                    AdRole::My => Context::new(&world).my(&ad),
                    AdRole::Target => Context::new(&world).my(&empty).target(&ad),
                };
                for (at, expr) in parsed.iter().enumerate() {
                    if let Some(truth) = prefilter.truth(at, &loaded) {
                        decided += 1;
                        assert_eq!(
                            truth,
                            Truth::of_value(&context.eval(expr)),
                            "{} with A = {value}, {role:?}",
                            exprs[at]
                        );
                    }
                }
            }
        }
        assert!(decided > 50_000, "the screen decides too little to be of use: {decided}");
    }

    #[test]
    fn constraints_that_begin_with_another_text_are_excluded_and_false() {
        let mut prefilter = Prefilter::new();
        let texts: Vec<String> = (0..12)
            .map(|number| format!("Owner == \"User{number}\" && Memory > {number}"))
            .chain(["Memory > 3 && Owner == \"x\"".into(), "TARGET.Owner == \"x\"".into(), "true".into()])
            .collect();
        texts.iter().for_each(|text| {
            prefilter.add(&Expr::parse(text.as_bytes()).unwrap());
        });
        let guards = prefilter.equality_guards().unwrap();
        for owner in ["\"user7\"", "\"nobody\"", "7", "undefined", "error"] {
            let mut ad = ClassAd::new();
            ad.insert("Owner", Expr::parse(owner.as_bytes()).unwrap());
            ad.set("Memory", 100);
            let loaded = prefilter.load(&ad, AdRole::My);
            let group = guards.group_of(&loaded);
            assert_eq!(group.is_some(), owner.starts_with('"'), "{owner}");
            for (test, text) in texts.iter().enumerate() {
                if group.is_some_and(|group| guards.excludes(test, group)) {
                    assert_eq!(prefilter.truth(test, &loaded), Some(Truth::False), "{owner}: {text}");
                    assert!(test < 12 && (owner != "\"user7\"" || test != 7), "{owner}: {text}");
                }
            }
        }
        // Guards are not used if only a few constraints test the same attribute.
        let mut few = Prefilter::new();
        few.add(&Expr::parse(b"Owner == \"a\"").unwrap());
        assert!(few.equality_guards().is_none());
    }
}
