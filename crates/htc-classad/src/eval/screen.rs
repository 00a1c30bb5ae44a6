//! Many constraints against many ads: comparisons of attributes with literals are decided without the evaluator.
//!
//! Constraints of routes, slots and queries are mostly comparisons joined by `&&` and `||`. A [`Screen`] looks each
//! attribute up once per ad and decides such constraints from the values; what needs more is left to the evaluator.

use bstr::BString;
use rustc_hash::FxHashMap;

use crate::ad::ClassAd;
use crate::eval::computed::Computed;
use crate::eval::operators;
use crate::eval::truth::{Connective, Logic, Truth};
use crate::syntax::expr::Repr;
use crate::syntax::name;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{BinaryOp, NO_BASE, Node, NodeId, Special, Tree, UnaryOp};
use crate::syntax::{AttrName, Expr};

/// How deeply nested a constraint may be that is still decided here.
const DEPTH: usize = 32;

/// Where a name of a constraint is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Plain,
    My,
    Target,
}

/// Which ad the loaded one is to the constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// MY; there is no TARGET.
    My,
    /// TARGET; MY is empty.
    Target,
}

/// A constraint or a part of one.
#[derive(Clone, Debug)]
enum Test {
    Literal(Scalar<BString>),
    Attribute(u32),
    Compare {
        op: BinaryOp,
        attribute: u32,
        literal: Scalar<BString>,
        swapped: bool,
    },
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    /// Needs the evaluator.
    Unknown,
}

#[derive(Clone, Debug)]
struct Column {
    name: AttrName,
    hash: u32,
    scope: Scope,
}

/// Constraints made ready for many ads.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    columns: Vec<Column>,
    tests: Vec<Test>,
    scoped: Vec<bool>,
    strict: bool,
}

/// What many constraints begin with: `Attribute == "text"` for one and the same attribute. All of them that name another text
/// than an ad has are false, however they go on.
#[derive(Clone, Debug)]
pub struct Guards {
    column: u32,
    /// The number of the text of each constraint; 0 where it begins with something else.
    groups: Vec<u32>,
    /// The numbers of texts in lower case, from 1.
    texts: FxHashMap<Box<[u8]>, u32>,
}

impl Guards {
    /// The number of an ad's text, for [`Guards::excludes`]; `None` where its attribute is no string.
    pub fn group(&self, loaded: &Loaded<'_>) -> Option<u32> {
        match loaded.0.get(self.column as usize)? {
            Some(Computed::Str(text)) => {
                Some(self.texts.get(text.to_ascii_lowercase().as_slice()).copied().unwrap_or(u32::MAX))
            }
            _ => None,
        }
    }

    /// Whether a constraint is false for all ads of a group.
    pub fn excludes(&self, test: usize, group: u32) -> bool {
        let own = self.groups[test];
        own != 0 && own != group
    }
}

/// The values of one ad that the constraints of a screen look at.
pub struct Loaded<'a>(Vec<Option<Computed<'a>>>);

impl Screen {
    /// An empty screen for constraints in condor mode.
    pub fn new() -> Self {
        Screen::default()
    }

    /// For constraints in this mode.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Adds a constraint; returns its number.
    pub fn add(&mut self, expr: &Expr) -> usize {
        let columns = self.columns.len();
        // In strict mode MY is a name like any other, and plain names are not looked up in the other ad.
        let strict = self.strict;
        let mut scoped = strict;
        let test = match &expr.0 {
            _ if strict => Test::Unknown,
            Repr::Scalar(scalar) => Test::Literal(scalar.clone()),
            Repr::Node(tree, root) => self.compile(tree, *root, 0, &mut scoped),
        };
        if matches!(test, Test::Unknown) {
            self.columns.truncate(columns);
        }
        self.tests.push(test);
        self.scoped.push(scoped);
        self.tests.len() - 1
    }

    /// Whether a constraint names MY or TARGET, so that it may differ with the ad's role.
    pub fn is_scoped(&self, test: usize) -> bool {
        self.scoped[test]
    }

    /// What most of the constraints begin with, if more than a few begin with the same attribute.
    pub fn guards(&self) -> Option<Guards> {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for (column, _) in self.tests.iter().filter_map(guard) {
            if self.columns[column as usize].scope == Scope::Plain {
                *counts.entry(column).or_default() += 1;
            }
        }
        let (column, count) = counts.into_iter().max_by_key(|(column, count)| (*count, u32::MAX - column))?;
        if count < 8 {
            return None;
        }
        let mut texts: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut number = |test| match guard(test) {
            Some((of, text)) if of == column => {
                let next = u32::try_from(texts.len() + 1).unwrap_or(u32::MAX);
                *texts.entry(text.to_ascii_lowercase().into()).or_insert(next)
            }
            _ => 0,
        };
        let groups = self.tests.iter().map(&mut number).collect();
        Some(Guards { column, groups, texts })
    }

    /// Looks up what the constraints need.
    pub fn load<'a>(&self, ad: &'a ClassAd, role: Role) -> Loaded<'a> {
        Loaded(self.columns.iter().map(|column| value_of(ad, column, role)).collect())
    }

    /// Appends what tells ads apart for these constraints; false when an attribute's value has to be evaluated.
    pub fn key(&self, loaded: &Loaded<'_>, out: &mut Vec<u8>) -> bool {
        for value in &loaded.0 {
            match value {
                Some(Computed::Undefined) => out.push(0),
                Some(Computed::Error) => out.push(1),
                Some(Computed::Bool(b)) => out.extend([2, u8::from(*b)]),
                Some(Computed::Int(i)) => {
                    out.push(3);
                    out.extend_from_slice(&i.to_le_bytes());
                }
                Some(Computed::Real(r)) => {
                    out.push(4);
                    out.extend_from_slice(&r.to_bits().to_le_bytes());
                }
                Some(Computed::Str(text)) => {
                    out.push(5);
                    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    out.extend_from_slice(text);
                }
                _ => return false,
            }
        }
        true
    }

    /// The outcome of a constraint; `None` when only the evaluator can tell.
    pub fn truth(&self, test: usize, loaded: &Loaded<'_>) -> Option<Truth> {
        decide(&self.tests[test], loaded).map(|value| Truth::from(Logic::of(&Ok(value))))
    }

    fn column(&mut self, name: &[u8], scope: Scope) -> u32 {
        let hash = name::hash(name);
        let same = |column: &Column| {
            column.hash == hash && column.scope == scope && column.name.as_bytes().eq_ignore_ascii_case(name)
        };
        let at = self.columns.iter().position(same).unwrap_or_else(|| {
            self.columns.push(Column { name: name.into(), hash, scope });
            self.columns.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// An attribute: `name`, `MY.name` or `TARGET.name`.
    fn attribute(&mut self, tree: &Tree, id: NodeId, scoped: &mut bool) -> Option<u32> {
        let (base, name) = tree.reference(id)?;
        let scope = match base {
            NO_BASE if tree.name(name).special == Special::None => Scope::Plain,
            NO_BASE => return None,
            base => match tree.nodes.get(base as usize)? {
                Node::Name { special, .. } => match special {
                    Special::My => Scope::My,
                    Special::Target => Scope::Target,
                    _ => return None,
                },
                _ => return None,
            },
        };
        *scoped |= scope != Scope::Plain;
        Some(self.column(tree.name_bytes(name), scope))
    }

    fn compile(&mut self, tree: &Tree, id: NodeId, depth: usize, scoped: &mut bool) -> Test {
        if depth > DEPTH {
            return Test::Unknown;
        }
        match tree.node(id) {
            Node::Unary(UnaryOp::Parentheses, inner) => self.compile(tree, inner, depth + 1, scoped),
            Node::Unary(UnaryOp::Not, inner) => match self.compile(tree, inner, depth + 1, scoped) {
                Test::Unknown => Test::Unknown,
                test => Test::Not(Box::new(test)),
            },
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                let left = Box::new(self.compile(tree, left, depth + 1, scoped));
                let right = Box::new(self.compile(tree, right, depth + 1, scoped));
                match (&*left, &*right) {
                    (Test::Unknown, _) => Test::Unknown,
                    _ if op == BinaryOp::And => Test::And(left, right),
                    _ => Test::Or(left, right),
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
                    (self.attribute(tree, left, scoped), literal(tree, right))
                {
                    return Test::Compare { op, attribute, literal, swapped: false };
                }
                match (literal(tree, left), self.attribute(tree, right, scoped)) {
                    (Some(literal), Some(attribute)) => {
                        Test::Compare { op, attribute, literal, swapped: true }
                    }
                    _ => Test::Unknown,
                }
            }
            Node::Name { .. } | Node::Attr { .. } => {
                self.attribute(tree, id, scoped).map_or(Test::Unknown, Test::Attribute)
            }
            _ => literal(tree, id).map_or(Test::Unknown, Test::Literal),
        }
    }
}

/// The `Attribute == "text"` that a constraint begins with.
fn guard(test: &Test) -> Option<(u32, &[u8])> {
    match test {
        Test::And(left, _) => guard(left),
        Test::Compare { op: BinaryOp::Equal, attribute, literal: Scalar::Str(text), .. } => {
            Some((*attribute, text))
        }
        _ => None,
    }
}

/// What is compared without the evaluator.
fn literal(tree: &Tree, id: NodeId) -> Option<Scalar<BString>> {
    tree.scalar(id).map(Scalar::to_owned)
}

fn value_of<'a>(ad: &'a ClassAd, column: &Column, role: Role) -> Option<Computed<'a>> {
    let absent = match role {
        Role::My => Scope::Target,
        Role::Target => Scope::My,
    };
    if column.scope == absent {
        return Some(Computed::Undefined);
    }
    let mut ad = ad;
    loop {
        if let Some(value) = ad.computed(column.name.as_bytes(), column.hash) {
            return value;
        }
        match ad.parent() {
            Some(parent) => ad = parent,
            None => return Some(Computed::Undefined),
        }
    }
}

fn decide<'a>(test: &'a Test, loaded: &Loaded<'a>) -> Option<Computed<'a>> {
    match test {
        Test::Literal(literal) => Some(literal.look().into()),
        Test::Attribute(at) => loaded.0[*at as usize],
        Test::Compare { op, attribute, literal, swapped } => {
            let value = loaded.0[*attribute as usize]?;
            let literal = Computed::from(literal.look());
            let (left, right) = if *swapped { (literal, value) } else { (value, literal) };
            Some(match op {
                BinaryOp::Is => operators::identical(left, right),
                BinaryOp::Isnt => operators::not_identical(left, right),
                op => operators::binary(*op, left, right),
            })
        }
        Test::Not(inner) => Some(operators::unary(UnaryOp::Not, decide(inner, loaded)?)),
        Test::And(left, right) => connected(Connective::And, left, right, loaded),
        Test::Or(left, right) => connected(Connective::Or, left, right, loaded),
        Test::Unknown => None,
    }
}

fn connected<'a>(
    connective: Connective,
    left: &'a Test,
    right: &'a Test,
    loaded: &Loaded<'a>,
) -> Option<Computed<'a>> {
    let left = Logic::of(&Ok(decide(left, loaded)?));
    let result = if connective.is_settled_by(left) {
        left
    } else {
        connective.join(left, Logic::of(&Ok(decide(right, loaded)?)))
    };
    result.into_computed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Context;
    use crate::outside::System;

    #[test]
    fn the_screen_says_what_the_evaluator_says() {
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
        let mut screen = Screen::new();
        let parsed: Vec<Expr> = exprs.iter().map(|text| Expr::parse(text.as_bytes()).unwrap()).collect();
        parsed.iter().for_each(|expr| {
            screen.add(expr);
        });
        let (empty, mut decided) = (ClassAd::new(), 0);
        for value in values {
            let mut ad = ClassAd::new();
            ad.insert_line(format!("A = {value}").as_bytes()).unwrap();
            ad.insert_line(b"B = true").unwrap();
            for role in [Role::My, Role::Target] {
                let loaded = screen.load(&ad, role);
                let context = match role {
                    Role::My => Context::new(&world).my(&ad),
                    Role::Target => Context::new(&world).my(&empty).target(&ad),
                };
                for (at, expr) in parsed.iter().enumerate() {
                    if let Some(truth) = screen.truth(at, &loaded) {
                        decided += 1;
                        assert_eq!(
                            truth,
                            Truth::of(&context.eval(expr)),
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
        let mut screen = Screen::new();
        let texts: Vec<String> = (0..12)
            .map(|number| format!("Owner == \"User{number}\" && Memory > {number}"))
            .chain(["Memory > 3 && Owner == \"x\"".into(), "TARGET.Owner == \"x\"".into(), "true".into()])
            .collect();
        texts.iter().for_each(|text| {
            screen.add(&Expr::parse(text.as_bytes()).unwrap());
        });
        let guards = screen.guards().unwrap();
        for owner in ["\"user7\"", "\"nobody\"", "7", "undefined", "error"] {
            let mut ad = ClassAd::new();
            ad.insert("Owner", Expr::parse(owner.as_bytes()).unwrap());
            ad.set("Memory", 100);
            let loaded = screen.load(&ad, Role::My);
            let group = guards.group(&loaded);
            assert_eq!(group.is_some(), owner.starts_with('"'), "{owner}");
            for (test, text) in texts.iter().enumerate() {
                if group.is_some_and(|group| guards.excludes(test, group)) {
                    assert_eq!(screen.truth(test, &loaded), Some(Truth::False), "{owner}: {text}");
                    assert!(test < 12 && (owner != "\"user7\"" || test != 7), "{owner}: {text}");
                }
            }
        }
        // Few of a kind are not worth it.
        let mut few = Screen::new();
        few.add(&Expr::parse(b"Owner == \"a\"").unwrap());
        assert!(few.guards().is_none());
    }
}
