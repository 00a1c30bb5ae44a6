//! Evaluation of expressions (classad.md 5, 7, 8; reference: exprTree.cpp, attrrefs.cpp, operators.cpp, exprList.cpp).
//!
//! It always ends: operators and references nest as deep as the reference lets them ([`MAX_DEPTH`]), an evaluation
//! takes so many steps ([`MAX_STEPS`]), and where the reference starts afresh without any bound, ours has one of its
//! own ([`MAX_STACK`], [`MAX_TOTAL_STEPS`]).

use std::sync::Arc;

use bstr::ByteSlice;

use super::ad::Slot;
use super::arena::Arena;
use super::computed::{Computed, ComputedList, Evaluated, Failure, Items};
use super::expr::{Expr, Repr};
use super::observer::{Observer, Part, Place};
use super::scope::{AdRef, Bound, MATCH_EXPRESSIONS, Scope, Side, Wanted};
use super::tree::{ABSOLUTE, BinaryOp, NO_BASE, Node, NodeId, Special, Tree, UnaryOp};
use super::{ClassAd, Dialect, functions, operators};
use crate::world::World;

/// Operators and references that may be under way at once.
pub(crate) const MAX_DEPTH: i32 = 400;
/// Nodes that one evaluation may visit.
pub(crate) const MAX_STEPS: i64 = 10_000_000;
/// Nodes that an evaluation and those that it starts afresh may visit together.
const MAX_TOTAL_STEPS: i64 = 4 * MAX_STEPS;
/// Bytes of the machine's stack that one evaluation may use, half of what threads usually have. The reference does not
/// count calls of functions and overflows its stack instead.
const MAX_STACK: usize = 1 << 20;

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    /// The ad that plain names are looked up from.
    pub(crate) current: Option<&'a Scope<'a>>,
    /// The ad that the expression is written in; it differs where a function evaluates an argument in another ad, and
    /// for attributes of a chained parent.
    pub(crate) written: Option<&'a Scope<'a>>,
}

impl<'a> At<'a> {
    pub(crate) fn scope(scope: Option<&'a Scope<'a>>) -> Self {
        At { current: scope, written: scope }
    }
}

/// One evaluation under way.
pub(crate) struct Evaluator<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) arena: &'a Arena<'a>,
    pub(crate) strict: bool,
    /// The two sides of a match.
    left: Option<&'a Scope<'a>>,
    right: Option<&'a Scope<'a>>,
    /// The ad that `evalInEachContext()` evaluates in, and the side that unscoped names of it fall back to.
    each: Option<(&'a Scope<'a>, Option<&'a Scope<'a>>)>,
    root: Option<&'a Scope<'a>>,
    depth: i32,
    steps: i64,
    total_steps: i64,
    /// Attributes whose expressions are under way.
    active: Vec<usize>,
    observer: Option<&'a dyn Observer>,
    /// Where plain names are looked up instead of the current ad, after a function that has left the reference elsewhere.
    strayed: Option<&'a Scope<'a>>,
}

/// What an evaluator needs to know at its start.
pub(crate) struct Setting<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) arena: &'a Arena<'a>,
    pub(crate) strict: bool,
    pub(crate) left: Option<&'a Scope<'a>>,
    pub(crate) right: Option<&'a Scope<'a>>,
    pub(crate) observer: Option<&'a dyn Observer>,
}

/// The ad that both context ads of a match stand in.
pub(crate) static MATCH_SCOPE: Scope<'static> = Scope { ad: AdRef::Match, parent: None };
/// The ad that the left ad of a match stands in.
pub(crate) static LEFT_CONTEXT: Scope<'static> =
    Scope { ad: AdRef::Context(Side::Left), parent: Some(&MATCH_SCOPE) };
/// The ad that the right ad of a match stands in.
pub(crate) static RIGHT_CONTEXT: Scope<'static> =
    Scope { ad: AdRef::Context(Side::Right), parent: Some(&MATCH_SCOPE) };

fn same(a: Option<&Scope<'_>>, b: &Scope<'_>) -> bool {
    a.is_some_and(|a| std::ptr::eq(std::ptr::from_ref(a).cast::<()>(), std::ptr::from_ref(b).cast::<()>()))
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(setting: Setting<'a>) -> Self {
        Evaluator {
            world: setting.world,
            arena: setting.arena,
            strict: setting.strict,
            left: setting.left,
            right: setting.right,
            each: None,
            root: None,
            depth: MAX_DEPTH,
            steps: MAX_STEPS,
            total_steps: MAX_TOTAL_STEPS,
            active: Vec::new(),
            observer: setting.observer,
            strayed: None,
        }
    }

    /// Evaluates an expression from an ad, with budgets of its own.
    pub(crate) fn top(&mut self, expr: &'a Expr, scope: Option<&'a Scope<'a>>) -> Evaluated<'a> {
        self.fresh(scope, |this| match &expr.0 {
            Repr::Scalar(value) => Ok(Computed::of_scalar(value)),
            Repr::Node(tree, root) => this.eval(tree, *root, At::scope(scope)),
        })
    }

    /// Evaluates an attribute that `scope` itself has, with budgets of its own; `None` where it has not.
    pub(crate) fn attribute(&mut self, scope: &'a Scope<'a>, name: &[u8]) -> Option<Evaluated<'a>> {
        let bound = self.find_here(scope, Wanted::new(name))?;
        Some(self.fresh(Some(scope), |this| this.eval_bound_fresh(bound, scope)))
    }

    /// Runs an evaluation with fresh budgets within this one, as the reference does for `ad["name"]`,
    /// `evalInEachContext()` and `countMatches()`.
    pub(crate) fn fresh<T>(
        &mut self,
        scope: Option<&'a Scope<'a>>,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let root = self.root;
        let (depth, steps) = (self.depth, self.steps);
        let active = std::mem::take(&mut self.active);
        let strayed = self.strayed.take();
        self.root = scope.map(Self::outermost);
        self.depth = MAX_DEPTH;
        self.steps = MAX_STEPS.min(self.total_steps);
        let granted = self.steps;
        let result = self.nested(run);
        self.total_steps -= granted - self.steps.max(0);
        self.root = root;
        self.depth = depth;
        self.steps = steps.min(self.total_steps);
        self.active = active;
        self.strayed = strayed;
        result
    }

    /// The ad that plain names are looked up from.
    pub(crate) fn current(&self, at: At<'a>) -> Option<&'a Scope<'a>> {
        if self.strayed.is_some() { self.strayed } else { at.current }
    }

    /// Some functions of the reference find an attribute and never go back to the ad they came from: what is evaluated
    /// after them, up to the end of the attribute's expression, sees names from there (fnCall.cpp, hasRefs;
    /// compat_classad.cpp, evalInEachContext_func).
    pub(crate) fn stray(&mut self, scope: &'a Scope<'a>) {
        self.strayed = Some(scope);
    }

    /// The ad at which a search for a name ends that is nowhere.
    pub(crate) fn last_searched(&self, start: &'a Scope<'a>) -> &'a Scope<'a> {
        let mut scope = start;
        while !same(self.root, scope)
            && let Some(outer) = scope.parent
        {
            scope = outer;
        }
        scope
    }

    /// Evaluates in another ad and comes back.
    pub(crate) fn elsewhere<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let strayed = self.strayed.take();
        let result = run(self);
        self.strayed = strayed;
        result
    }

    /// Evaluates with the steps and cycles of this evaluation but the root of another ad (the reference's projection).
    fn projected(
        &mut self,
        scope: Option<&'a Scope<'a>>,
        run: impl FnOnce(&mut Self) -> Evaluated<'a>,
    ) -> Evaluated<'a> {
        let root = self.root;
        let strayed = self.strayed;
        self.root = scope.map(Self::outermost);
        let result = run(self);
        self.root = root;
        self.strayed = strayed;
        result
    }

    /// Evaluates in a nested ad as `evalInEachContext()` does: afresh, and within a match with the fallback of the side
    /// that the ad stands in.
    pub(crate) fn within(
        &mut self,
        scope: &'a Scope<'a>,
        run: impl FnOnce(&mut Self) -> Evaluated<'a>,
    ) -> Evaluated<'a> {
        let stands_in = |side: Option<&'a Scope<'a>>| {
            let (Some(side), Some(parent)) = (side, scope.parent) else { return false };
            if same(Some(side), parent) {
                return true;
            }
            // A nested ad of a chained parent stands in that parent.
            let (AdRef::Own(ad), AdRef::Own(wanted)) = (side.ad, parent.ad) else { return false };
            std::iter::successors(Some(ad), |ad| ad.parent().map(|parent| &**parent))
                .any(|ad| std::ptr::eq(ad, wanted))
        };
        let other = match () {
            () if stands_in(self.left) => self.right,
            () if stands_in(self.right) => self.left,
            () => None,
        };
        let before = self.each.replace((scope, other));
        let result = self.fresh(Some(scope), run);
        self.each = before;
        result
    }

    /// The ad that absolute names are looked up from.
    pub(crate) fn root(&self) -> Option<&'a Scope<'a>> {
        self.root
    }

    fn outermost(scope: &'a Scope<'a>) -> &'a Scope<'a> {
        let mut scope = scope;
        while let Some(parent) = scope.parent {
            scope = parent;
        }
        scope
    }

    /// Goes on if there is stack enough.
    pub(crate) fn nested<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.enter()?;
        run(self)
    }

    /// Looks whether there is stack enough. The evaluator stands on the stack itself, where the evaluation began.
    pub(crate) fn enter(&self) -> Result<(), Failure> {
        let here = 0u8;
        let used = std::ptr::from_ref(self).addr().abs_diff(std::ptr::from_ref(&here).addr());
        if used > MAX_STACK { Err(Failure) } else { Ok(()) }
    }

    /// Whether the reference would go no deeper.
    pub(crate) fn is_deepest(&self) -> bool {
        self.depth <= 0
    }

    /// Counts a level of the reference's depth around an evaluation.
    pub(crate) fn deeper<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.depth <= 0 {
            return Err(Failure);
        }
        self.depth -= 1;
        let result = run(self);
        self.depth += 1;
        result
    }

    /// Counts a step of work that is no evaluation of a node.
    pub(crate) fn step(&mut self) -> Result<(), Failure> {
        self.steps -= 1;
        if self.steps < 0 { Err(Failure) } else { Ok(()) }
    }

    /// Evaluates a node. Scalars and names are answered here, all else below.
    pub(crate) fn eval(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Evaluated<'a> {
        self.steps -= 1;
        if self.steps < 0 {
            return Err(Failure);
        }
        if let Some(observer) = self.observer {
            return self.observed(observer, tree, id, at);
        }
        self.eval_node(tree, id, at)
    }

    #[cold]
    fn observed(
        &mut self,
        observer: &'a dyn Observer,
        tree: &'a Arc<Tree>,
        id: NodeId,
        at: At<'a>,
    ) -> Evaluated<'a> {
        let part = Part { tree, id };
        observer.enter(&part);
        let result = self.eval_node(tree, id, at);
        observer.leave(&part, result.ok().map(Computed::to_value).as_ref());
        result
    }

    fn eval_node(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Evaluated<'a> {
        Ok(match tree.node(id) {
            Node::Int(i) => Computed::Int(i),
            Node::Str(text) => Computed::Str(tree.bytes(text)),
            Node::Bool(b) => Computed::Bool(b),
            Node::Real(r) => Computed::Real(r),
            Node::Undefined => Computed::Undefined,
            Node::Error => Computed::Error,
            Node::AbsTime(time) => Computed::AbsTime(tree.times[time as usize]),
            Node::RelTime(seconds) => Computed::Real(seconds),
            Node::Attr { base: NO_BASE, name } => return self.name(Wanted::of(tree, name), at),
            Node::Binary(op, left, right) => return self.binary(tree, op, left, right, at),
            Node::Unary(op, operand) => return self.unary(tree, op, operand, at),
            Node::Call { name, first, count } => {
                return self.call(tree, name, tree.links(first, count), at);
            }
            Node::Attr { base, name } => return self.selection(tree, base, Wanted::of(tree, name), at),
            Node::Ternary { condition, branches } => {
                return self.conditional(tree, condition, tree.links(branches, 2), at);
            }
            Node::List { first, count } => {
                let items = Items::Nodes(tree, tree.links(first, count));
                let list = ComputedList { items, scope: at.written, shared: false };
                Computed::List(self.arena.list(list).ok_or(Failure)?)
            }
            Node::Ad { first, count } => {
                let ad = AdRef::Literal { tree, first, count };
                Computed::Ad(self.arena.scope(Scope { ad, parent: at.written }).ok_or(Failure)?)
            }
        })
    }

    fn unary(&mut self, tree: &'a Arc<Tree>, op: UnaryOp, operand: NodeId, at: At<'a>) -> Evaluated<'a> {
        self.depth -= 1;
        if self.depth < 0 {
            self.depth += 1;
            return Err(Failure);
        }
        let operand = self.eval(tree, operand, at);
        self.depth += 1;
        Ok(operators::unary(op, operand?))
    }

    fn binary(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Evaluated<'a> {
        self.depth -= 1;
        if self.depth < 0 {
            self.depth += 1;
            return Err(Failure);
        }
        let result = self.operate(tree, op, left, right, at);
        self.depth += 1;
        result
    }

    fn operate(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Evaluated<'a> {
        let left = self.eval(tree, left, at)?;
        match op {
            BinaryOp::And => {
                let truth = left.truth();
                match truth {
                    Some(false) => return Ok(Computed::Bool(false)),
                    _ if left.is_error() => return Ok(Computed::Error),
                    _ => {}
                }
                let right = self.eval(tree, right, at)?;
                Ok(conjunction(left, truth, right))
            }
            BinaryOp::Or => {
                let truth = left.truth();
                match truth {
                    Some(true) => return Ok(Computed::Bool(true)),
                    _ if left.is_error() => return Ok(Computed::Error),
                    _ => {}
                }
                let right = self.eval(tree, right, at)?;
                Ok(disjunction(left, truth, right))
            }
            BinaryOp::Elvis => {
                if left.is_undefined() {
                    self.eval(tree, right, at)
                } else {
                    Ok(left)
                }
            }
            BinaryOp::Is => Ok(operators::identical(left, self.eval(tree, right, at)?)),
            BinaryOp::Isnt => Ok(operators::not_identical(left, self.eval(tree, right, at)?)),
            BinaryOp::Subscript => {
                let index = self.eval(tree, right, at)?;
                self.subscript(left, index)
            }
            _ => Ok(operators::binary(op, left, self.eval(tree, right, at)?)),
        }
    }

    fn conditional(
        &mut self,
        tree: &'a Arc<Tree>,
        condition: NodeId,
        branches: &'a [NodeId],
        at: At<'a>,
    ) -> Evaluated<'a> {
        self.depth -= 1;
        let result = if self.depth < 0 {
            Err(Failure)
        } else {
            self.eval(tree, condition, at).and_then(|condition| match condition.truth() {
                Some(truth) => self.eval(tree, branches[usize::from(!truth)], at),
                None if condition.is_undefined() => Ok(Computed::Undefined),
                None if condition.is_error() => Ok(Computed::Error),
                // The reference evaluates both branches here before it finds the condition unusable.
                None => self
                    .eval(tree, branches[0], at)
                    .and_then(|_| self.eval(tree, branches[1], at))
                    .map(|_| Computed::Error),
            })
        };
        self.depth += 1;
        result
    }

    /// `base[index]`.
    pub(crate) fn subscript(&mut self, base: Computed<'a>, index: Computed<'a>) -> Evaluated<'a> {
        match (base, index) {
            (Computed::Error, _) | (_, Computed::Error) => Ok(Computed::Error),
            (Computed::Undefined, _) | (_, Computed::Undefined) => Ok(Computed::Undefined),
            (Computed::List(list), Computed::Int(index)) => {
                // The reference cuts the index to 32 bits.
                match usize::try_from(index as i32) {
                    Ok(at) if at < list.len() => self
                        .deeper(|this| Ok(this.item(list, at).unwrap_or(Computed::Error)))
                        .or(Ok(Computed::Error)),
                    _ => Ok(Computed::Error),
                }
            }
            (Computed::Ad(scope), Computed::Str(name)) => match self.find_here(scope, Wanted::new(name)) {
                Some(bound) => self
                    .fresh(Some(scope), |this| this.eval_bound_fresh(bound, scope))
                    .or(Ok(Computed::Error)),
                None => Ok(Computed::Undefined),
            },
            _ => Ok(Computed::Error),
        }
    }

    /// The value of an element, evaluated in the ad that the list was written in.
    pub(crate) fn item(&mut self, list: &ComputedList<'a>, at: usize) -> Evaluated<'a> {
        match list.items {
            Items::Values(values) => Ok(values[at]),
            Items::Nodes(tree, nodes) => {
                self.elsewhere(|this| this.eval(tree, nodes[at], At::scope(list.scope)))
            }
        }
    }

    /// The value of an element, evaluated where a function is called: most functions do it so, whatever ad the list was
    /// written in (reference: fnCall.cpp, `tree->Evaluate(state, ...)`).
    pub(crate) fn item_here(&mut self, list: &ComputedList<'a>, at: usize, here: At<'a>) -> Evaluated<'a> {
        match list.items {
            Items::Values(values) => Ok(values[at]),
            Items::Nodes(tree, nodes) => {
                let at_here = At { current: here.current, written: list.scope };
                self.eval(tree, nodes[at], at_here)
            }
        }
    }

    /// The binding of a name in an ad itself, the ad of both sides of a match included.
    pub(crate) fn find_here(&self, scope: &'a Scope<'a>, wanted: Wanted<'_>) -> Option<Bound<'a>> {
        match scope.ad {
            AdRef::Match => self.find_in_match(wanted),
            ad => ad.find(wanted),
        }
    }

    #[cold]
    fn find_in_match(&self, wanted: Wanted<'_>) -> Option<Bound<'a>> {
        let is = |name: &str| name.as_bytes().eq_ignore_ascii_case(wanted.bytes);
        if is("LEFT") {
            return self.left.map(Bound::Ad);
        }
        if is("RIGHT") {
            return self.right.map(Bound::Ad);
        }
        if is("lCtx") {
            return Some(Bound::Ad(&LEFT_CONTEXT));
        }
        if is("rCtx") {
            return Some(Bound::Ad(&RIGHT_CONTEXT));
        }
        MATCH_EXPRESSIONS.iter().position(|(name, _)| is(name)).map(Bound::MatchExpression)
    }

    /// Looks a name up from an ad outwards. `Ok(None)` where nothing is bound to it.
    pub(crate) fn look_up(
        &mut self,
        start: &'a Scope<'a>,
        wanted: Wanted<'_>,
    ) -> Result<Option<(Bound<'a>, &'a Scope<'a>)>, Failure> {
        let mut scope = start;
        loop {
            if let Some(bound) = self.find_here(scope, wanted) {
                return Ok(Some((bound, scope)));
            }
            let outer = if same(self.root, scope) { None } else { scope.parent };
            let special = match wanted.special {
                Special::My | Special::CurrentTime if self.strict => Special::None,
                special => special,
            };
            match special {
                Special::None | Special::Target => match outer {
                    Some(outer) => scope = outer,
                    None => return Ok(None),
                },
                Special::SelfAd | Special::My => return Ok(Some((Bound::Ad(scope), scope))),
                Special::Parent => return Ok(outer.map(|outer| (Bound::Ad(outer), scope))),
                Special::Root => {
                    return self.root.map(|root| Some((Bound::Ad(root), scope))).ok_or(Failure);
                }
                Special::CurrentTime => return Ok(Some((Bound::Time, scope))),
            }
        }
    }

    /// The other side of a match, if `scope` is one.
    fn opposite(&self, scope: &Scope<'a>) -> Option<&'a Scope<'a>> {
        if self.strict {
            None
        } else if let Some((each, other)) = self.each
            && same(Some(each), scope)
        {
            other
        } else if same(self.left, scope) {
            self.right
        } else if same(self.right, scope) {
            self.left
        } else {
            None
        }
    }

    /// What a plain name is bound to, seen from the current ad.
    pub(crate) fn resolve(
        &mut self,
        wanted: Wanted<'_>,
        at: At<'a>,
    ) -> Result<Option<(Bound<'a>, &'a Scope<'a>)>, Failure> {
        let Some(current) = self.current(at) else { return Ok(None) };
        match self.look_up(current, wanted)? {
            None => match self.opposite(current) {
                Some(other) => self.look_up(other, wanted),
                None => Ok(None),
            },
            found => Ok(found),
        }
    }

    fn name(&mut self, wanted: Wanted<'_>, at: At<'a>) -> Evaluated<'a> {
        let found = self.resolve(wanted, at)?;
        if let Some(observer) = self.observer {
            observer.found(wanted.bytes.as_bstr(), self.place(found.map(|(_, scope)| scope)));
        }
        match found {
            Some((bound, scope)) => self.eval_bound(bound, scope),
            None => Ok(Computed::Undefined),
        }
    }

    fn place(&self, scope: Option<&'a Scope<'a>>) -> Place {
        match scope {
            None => Place::Nowhere,
            Some(scope) if same(self.left, scope) => Place::My,
            Some(scope) if same(self.right, scope) => Place::Target,
            Some(scope) => match scope.ad {
                AdRef::Match | AdRef::Context(_) => Place::Match,
                _ if self.left.is_none() && scope.parent.is_none() => Place::My,
                _ => Place::Nested,
            },
        }
    }

    /// `.name` and `base.name`.
    fn selection(
        &mut self,
        tree: &'a Arc<Tree>,
        base: NodeId,
        wanted: Wanted<'_>,
        at: At<'a>,
    ) -> Evaluated<'a> {
        if base == ABSOLUTE {
            let root = self.root.ok_or(Failure)?;
            let found = self.look_up(root, wanted)?;
            if let Some(observer) = self.observer {
                observer.found(wanted.bytes.as_bstr(), self.place(found.map(|(_, scope)| scope)));
            }
            return match found {
                Some((bound, scope)) => self.eval_bound(bound, scope),
                None => Ok(Computed::Undefined),
            };
        }
        if self.depth <= 0 {
            return Ok(Computed::Error);
        }
        self.depth -= 1;
        let base = self.eval(tree, base, at);
        self.depth += 1;
        self.select(base?, wanted, at)
    }

    /// The attribute of a value: of an ad, or of each ad in a list.
    pub(crate) fn select(&mut self, base: Computed<'a>, wanted: Wanted<'_>, at: At<'a>) -> Evaluated<'a> {
        match base {
            Computed::Undefined => Ok(Computed::Undefined),
            Computed::Ad(scope) => {
                let found = self.look_up(scope, wanted)?;
                if let Some(observer) = self.observer {
                    observer.found(wanted.bytes.as_bstr(), self.place(found.map(|(_, scope)| scope)));
                }
                match found {
                    Some((bound, scope)) => self.eval_bound(bound, scope),
                    None => Ok(Computed::Undefined),
                }
            }
            Computed::List(list) => self.project(list, wanted, at),
            _ => Ok(Computed::Error),
        }
    }

    /// `list.name`: the list of what `name` is in each element (classad.md 5.10).
    fn project(&mut self, list: &ComputedList<'a>, wanted: Wanted<'_>, at: At<'a>) -> Evaluated<'a> {
        let mut values = Vec::with_capacity(list.len());
        for index in 0..list.len() {
            let current = self.current(at);
            let value = self.projected(current, |this| {
                this.steps -= 1;
                if this.steps < 0 {
                    return Err(Failure);
                }
                if this.depth <= 0 {
                    return Ok(Computed::Error);
                }
                this.nested(|this| {
                    this.depth -= 1;
                    let element = this.item_here(list, index, at);
                    this.depth += 1;
                    this.select(element?, wanted, at)
                })
            })?;
            values.push(self.without_scope(value)?);
        }
        let items = Items::Values(self.arena.items(values).ok_or(Failure)?);
        let list = ComputedList { items, scope: None, shared: false };
        // The list is then evaluated as if it were an attribute's expression.
        if self.depth <= 0 {
            return Err(Failure);
        }
        self.arena.list(list).map(Computed::List).ok_or(Failure)
    }

    /// A value as element of a projected list: a literal, or an ad or list that has lost the ad it was written in.
    fn without_scope(&mut self, value: Computed<'a>) -> Evaluated<'a> {
        Ok(match value {
            Computed::Ad(scope) => {
                Computed::Ad(self.arena.scope(Scope { ad: scope.ad, parent: None }).ok_or(Failure)?)
            }
            Computed::List(list) => {
                let list = ComputedList { scope: None, shared: false, ..*list };
                Computed::List(self.arena.list(list).ok_or(Failure)?)
            }
            other => other.as_literal(),
        })
    }

    /// Evaluates what a name is bound to, in the ad where it was found.
    pub(crate) fn eval_bound(&mut self, bound: Bound<'a>, scope: &'a Scope<'a>) -> Evaluated<'a> {
        if self.depth <= 0 {
            return Err(Failure);
        }
        self.steps -= 1;
        if self.steps < 0 {
            return Err(Failure);
        }
        match bound {
            Bound::Slot { owner, slot } => match slot {
                Slot::Int(i) => Ok(Computed::Int(*i)),
                Slot::Str { start, len } => Ok(Computed::Str(owner.slot_text(*start, *len))),
                Slot::Bool(b) => Ok(Computed::Bool(*b)),
                Slot::Real(r) => Ok(Computed::Real(*r)),
                Slot::Undefined => Ok(Computed::Undefined),
                Slot::Error => Ok(Computed::Error),
                Slot::Expr(root, tree) => {
                    let at = self.written_in(owner, scope, tree)?;
                    self.under_way(std::ptr::from_ref(slot).addr(), tree, *root, at)
                }
            },
            Bound::Node { tree, id, key } => {
                // Ads that share a tree, as copies do, are told apart by the outermost ad.
                let key = key ^ std::ptr::from_ref(Self::outermost(scope)).addr().rotate_left(17);
                self.under_way(key, tree, id, At::scope(Some(scope)))
            }
            Bound::Ad(ad) => Ok(Computed::Ad(ad)),
            Bound::MatchSide(side) => {
                // `.LEFT` or `.RIGHT`, looked up from the match ad.
                if self.depth <= 1 {
                    return Err(Failure);
                }
                self.steps -= 1;
                let ad = if side == Side::Left { self.left } else { self.right };
                Ok(ad.map_or(Computed::Undefined, Computed::Ad))
            }
            Bound::MatchExpression(number) => self.match_expression(number),
            Bound::Time => Ok(Computed::Int(self.world.now().epoch())),
            Bound::Value(value) => Ok(value),
        }
    }

    /// Evaluates what a name is bound to as the start of an evaluation: it is not yet counted as under way.
    pub(crate) fn eval_bound_fresh(&mut self, bound: Bound<'a>, scope: &'a Scope<'a>) -> Evaluated<'a> {
        match bound {
            Bound::Slot { owner, slot: Slot::Expr(root, tree) } => {
                let at = self.written_in(owner, scope, tree)?;
                self.eval(tree, *root, at)
            }
            Bound::Node { tree, id, .. } => self.eval(tree, id, At::scope(Some(scope))),
            other => self.eval_bound(other, scope),
        }
    }

    /// Lists and ads in an attribute of a chained parent are written in that parent.
    fn written_in(
        &mut self,
        owner: &'a ClassAd,
        scope: &'a Scope<'a>,
        tree: &'a Arc<Tree>,
    ) -> Result<At<'a>, Failure> {
        let own = matches!(scope.ad, AdRef::Own(ad) if std::ptr::eq(ad, owner));
        if own || !tree.has_scopes {
            return Ok(At::scope(Some(scope)));
        }
        let written = self.arena.scope(Scope { ad: AdRef::Own(owner), parent: None }).ok_or(Failure)?;
        Ok(At { current: Some(scope), written: Some(written) })
    }

    /// Evaluates an attribute's expression unless it is being evaluated already, which is undefined (classad.md 8.1).
    fn under_way(&mut self, key: usize, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Evaluated<'a> {
        if self.active.contains(&key) {
            return Ok(Computed::Undefined);
        }
        self.active.push(key);
        self.depth -= 1;
        // The step has been counted.
        self.steps += 1;
        let strayed = self.strayed.take();
        let result = self.eval(tree, id, at);
        self.strayed = strayed;
        self.depth += 1;
        self.active.pop();
        result
    }

    #[cold]
    fn match_expression(&mut self, number: usize) -> Evaluated<'a> {
        let text = MATCH_EXPRESSIONS.get(number).ok_or(Failure)?.1;
        let Ok(Expr(Repr::Node(tree, root))) = Expr::parse(text.as_bytes()) else { return Err(Failure) };
        let tree = self.arena.tree(tree).ok_or(Failure)?;
        let key = MATCH_EXPRESSIONS.as_ptr().wrapping_add(number).addr();
        self.under_way(key, tree, root, At::scope(Some(&MATCH_SCOPE)))
    }

    fn call(&mut self, tree: &'a Arc<Tree>, name: u32, arguments: &'a [NodeId], at: At<'a>) -> Evaluated<'a> {
        let Some(function) = functions::implementation(tree.name(name).function) else {
            return Ok(Computed::Error);
        };
        self.nested(|evaluator| {
            function(&mut functions::Call { evaluator, tree, name: tree.name_bytes(name), arguments, at })
        })
    }

    /// The dialect of texts that are parsed on the way.
    pub(crate) fn dialect(&self) -> Dialect {
        Dialect::new_syntax()
            .strict(self.strict)
            .zone_offset(self.world.zone(self.world.now().epoch()).offset)
    }
}

/// `&&` where the left operand did not decide (classad.md 5.6).
pub(crate) fn conjunction<'a>(left: Computed<'a>, truth: Option<bool>, right: Computed<'a>) -> Computed<'a> {
    if truth.is_none() && !left.is_undefined() {
        return Computed::Error;
    }
    match right.truth() {
        Some(right) if truth.is_some() => Computed::Bool(right),
        Some(true) => Computed::Undefined,
        Some(false) => Computed::Bool(false),
        None if right.is_undefined() => Computed::Undefined,
        None => Computed::Error,
    }
}

/// `||` where the left operand did not decide (classad.md 5.7).
pub(crate) fn disjunction<'a>(left: Computed<'a>, truth: Option<bool>, right: Computed<'a>) -> Computed<'a> {
    if truth.is_none() && !left.is_undefined() {
        return Computed::Error;
    }
    match right.truth() {
        Some(right) if truth.is_some() => Computed::Bool(right),
        Some(true) => Computed::Bool(true),
        Some(false) => Computed::Undefined,
        None if right.is_undefined() => Computed::Undefined,
        None => Computed::Error,
    }
}

#[cfg(test)]
mod tests {
    use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
    use crate::os::RealWorld;
    use std::sync::Arc;

    fn ad(text: &str) -> ClassAd {
        ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).expect("a good ad")
    }

    fn give(text: &str, my: &str, target: Option<&str>) -> Option<String> {
        let world = RealWorld::new();
        let my = ad(my);
        let target = target.map(ad);
        let mut context = Context::new(&world).my(&my);
        if let Some(target) = &target {
            context = context.target(target);
        }
        let expr = Expr::parse(text.as_bytes()).expect("a good expression");
        context.try_eval(&expr).map(|value| value.to_string())
    }

    fn gives(text: &str, my: &str, target: Option<&str>, value: &str) {
        assert_eq!(give(text, my, target).as_deref(), Some(value), "{text} in {my} and {target:?}");
    }

    #[test]
    fn logic_has_three_values_and_error() {
        gives("false && error", "[]", None, "false");
        gives("undefined && false", "[]", None, "false");
        gives("undefined || true", "[]", None, "true");
        gives("undefined && 3", "[]", None, "undefined");
        gives("1 || 0", "[]", None, "true");
        gives("\"a\" && true", "[]", None, "error");
    }

    #[test]
    fn names_are_found_where_the_reference_finds_them() {
        let target = Some("[a=2;b=a;c=3]");
        gives("c", "[a=1]", target, "3");
        gives("b", "[a=1]", target, "2");
        gives("MY.c", "[a=1]", target, "undefined");
        gives("TARGET.b", "[a=1]", target, "2");
        gives("other.a", "[a=1]", target, "2");
        gives("LEFT.a + RIGHT.a", "[a=1]", target, "3");
        gives("n.b", "[a=1;n=[b=a]]", None, "1");
        gives("n.c.d", "[a=1;n=[c=[d=parent.a]]]", None, "1");
        gives("MY.a", "[my=[a=9]]", None, "9");
        gives("[q=c].q", "[a=1]", target, "undefined");
    }

    #[test]
    fn cycles_are_undefined() {
        gives("x", "[x=x+1]", None, "undefined");
        gives("a", "[a=b;b=a]", None, "undefined");
        gives("a", "[a=isUndefined(a)]", None, "true");
        gives("a.b", "[a=[b=a.b]]", None, "undefined");
    }

    #[test]
    fn limits_are_those_of_the_reference() {
        let sum = |operators: usize| format!("1{}", "+1".repeat(operators));
        gives(&sum(400), "[]", None, "401");
        assert_eq!(give(&sum(401), "[]", None), None);
        assert_eq!(give(&sum(1_000_000), "[]", None), None);
        let doubling = |levels: usize| {
            let mut text = String::from("[a0=1");
            for level in 1..=levels {
                text += &format!(";a{level}=a{0}+a{0}", level - 1);
            }
            text + "]"
        };
        gives("a18", &doubling(18), None, "262144");
        assert_eq!(give("a23", &doubling(23), None), None);
    }

    #[test]
    fn what_the_reference_overflows_its_stack_on_ends() {
        gives("x", "[x = self[\"x\"]]", None, "error");
        assert_eq!(give("x", "[x = self[\"x\"] + self[\"x\"]]", None), None);
    }

    #[test]
    fn projection_and_subscripts() {
        gives("{[a=1],[a=2],3}.a", "[]", None, "{ 1,2,error }");
        gives("{10,20}[4294967296]", "[]", None, "10");
        gives("{10,20}[2]", "[]", None, "error");
        gives("n[\"a\"]", "[n=[a=b;b=4]]", None, "4");
    }

    #[test]
    fn an_attribute_of_a_chained_parent_sees_the_child() {
        let mut child = ad("[b = 2]");
        child.chain(Some(Arc::new(ad("[a = b + 1; b = 10]"))));
        let world = RealWorld::new();
        assert_eq!(Context::new(&world).my(&child).eval_attr("a"), Value::Int(3));
    }
}
