//! Evaluation of expressions (reference: exprTree.cpp, attrrefs.cpp, operators.cpp, exprList.cpp).
//!
//! It always ends: what it may still do is counted by a [`Budget`], and what it may use of the stack is bounded
//! ([`MAX_STACK`]).

mod active;
mod budget;
mod call;
mod logic;
mod lookup;
mod select;

use std::sync::{Arc, LazyLock};

use bstr::ByteSlice;

use crate::ad::ClassAd;
use crate::ad::Slot;
use crate::eval::arena::Arena;
use crate::eval::binding::{Bound, Wanted};
use crate::eval::computed::{Computed, ComputedList, Evaluated, Failure, Items};
use crate::eval::observer::{Observer, Part};
use crate::eval::operators;
use crate::eval::scope::{AdRef, MATCH_EXPRESSIONS, Scope, Side};
use crate::outside::{Mode, Outside};
use crate::syntax::Dialect;
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::tree::{Node, NodeId, Special, Tree, UnaryOp};

use active::Active;
use budget::Budget;
pub(crate) use call::{Call, Entry, Function, Functions};

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
    pub(crate) world: &'a dyn Outside,
    pub(crate) arena: &'a Arena<'a>,
    pub(crate) mode: Mode,
    functions: Functions,
    /// The two sides of a match.
    left: Option<&'a Scope<'a>>,
    right: Option<&'a Scope<'a>>,
    /// The ad that `evalInEachContext()` evaluates in, and the side that unscoped names of it fall back to.
    each: Option<(&'a Scope<'a>, Option<&'a Scope<'a>>)>,
    root: Option<&'a Scope<'a>>,
    budget: Budget,
    /// Attributes whose expressions are under way.
    active: Active,
    observer: Option<&'a dyn Observer>,
    /// Where plain names are looked up instead of the current ad, after a function that has left the reference elsewhere.
    strayed: Option<&'a Scope<'a>>,
    /// Whether the left and the right ad lack an attribute named `target`, once that is known.
    plain_targets: [Option<bool>; 2],
}

/// What an evaluator needs to know at its start.
pub(crate) struct Setting<'a> {
    pub(crate) world: &'a dyn Outside,
    pub(crate) arena: &'a Arena<'a>,
    pub(crate) mode: Mode,
    pub(crate) functions: Functions,
    pub(crate) left: Option<&'a Scope<'a>>,
    pub(crate) right: Option<&'a Scope<'a>>,
    pub(crate) observer: Option<&'a dyn Observer>,
}

/// The ad that both context ads of a match stand in.
pub(crate) static MATCH_SCOPE: Scope<'static> = Scope { ad: AdRef::Match, parent: None, detached: false };
/// The ad that the left ad of a match stands in.
pub(crate) static LEFT_CONTEXT: Scope<'static> =
    Scope { ad: AdRef::Context(Side::Left), parent: Some(&MATCH_SCOPE), detached: false };
/// The ad that the right ad of a match stands in.
pub(crate) static RIGHT_CONTEXT: Scope<'static> =
    Scope { ad: AdRef::Context(Side::Right), parent: Some(&MATCH_SCOPE), detached: false };

/// [`MATCH_EXPRESSIONS`], parsed.
static MATCH_PARSED: LazyLock<Vec<Expr>> = LazyLock::new(|| {
    MATCH_EXPRESSIONS.iter().filter_map(|(_, text)| Expr::parse(text.as_bytes()).ok()).collect()
});

#[inline]
fn same(a: Option<&Scope<'_>>, b: &Scope<'_>) -> bool {
    a.is_some_and(|a| std::ptr::eq(std::ptr::from_ref(a).cast::<()>(), std::ptr::from_ref(b).cast::<()>()))
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(setting: Setting<'a>) -> Self {
        Evaluator {
            world: setting.world,
            arena: setting.arena,
            mode: setting.mode,
            functions: setting.functions,
            left: setting.left,
            right: setting.right,
            each: None,
            root: None,
            budget: Budget::new(),
            active: Active::default(),
            observer: setting.observer,
            strayed: None,
            plain_targets: [None; 2],
        }
    }

    /// Evaluates an expression from an ad, with budgets of its own.
    pub(crate) fn top(&mut self, expr: &'a Expr, at: At<'a>) -> Evaluated<'a> {
        self.fresh(at.current, |this| match &expr.0 {
            Repr::Scalar(scalar) => Ok(scalar.look().into()),
            Repr::Node(tree, root) => this.eval(tree, *root, at),
        })
    }

    /// A result as it leaves the evaluation: the ad of both sides of a match, which is only answered for, is made.
    pub(crate) fn finished(&self, value: Computed<'a>) -> Computed<'a> {
        let Computed::Ad(Scope { ad: AdRef::Match, .. }) = value else { return value };
        let mut ad = crate::eval::scope::match_ad();
        for (name, side) in [("LEFT", self.left), ("RIGHT", self.right)] {
            if let Some(side) = side {
                ad.set(name, side.to_ad());
            }
        }
        let made = self.arena.ad(ad).map(|ad| Scope { ad: AdRef::Own(ad), parent: None, detached: false });
        made.and_then(|scope| self.arena.scope(scope)).map_or(value, Computed::Ad)
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
        let outer = self.budget.begin_fresh()?;
        let root = std::mem::replace(&mut self.root, scope.map(Self::outermost));
        let active = self.active.begin();
        let strayed = self.strayed.take();
        let result = self.nested(run);
        self.root = root;
        self.active.end(active);
        self.strayed = strayed;
        self.budget.end_fresh(&outer);
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
    #[inline]
    pub(crate) fn nested<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.enter()?;
        run(self)
    }

    /// Looks whether there is stack enough. The evaluator stands on the stack itself, where the evaluation began.
    #[inline]
    pub(crate) fn enter(&self) -> Result<(), Failure> {
        let here = 0u8;
        let used = std::ptr::from_ref(self).addr().abs_diff(std::ptr::from_ref(&here).addr());
        if used > MAX_STACK { Err(Failure) } else { Ok(()) }
    }

    /// Whether the reference would go no deeper.
    pub(crate) fn is_deepest(&self) -> bool {
        !self.budget.has_levels(1)
    }

    /// Counts a level of the reference's depth around an evaluation.
    #[inline]
    pub(crate) fn deeper<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.budget.level()?;
        self.budget.sink();
        let result = run(self);
        self.budget.rise();
        result
    }

    /// Counts a step of work that is no evaluation of a node.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<(), Failure> {
        self.budget.step(1)
    }

    /// Evaluates a node. Scalars and names are answered here, all else below.
    #[inline]
    pub(crate) fn eval(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Evaluated<'a> {
        self.step()?;
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
            Node::Name { text, hash, special, .. } => {
                return self.name(Wanted { bytes: tree.bytes(text), hash, special }, at);
            }
            Node::Binary(op, left, right) => return self.binary(tree, op, (left, right), at),
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
                let list = ComputedList { items, scope: at.written, shared: false, detached: false };
                Computed::List(self.arena.list(list).ok_or(Failure)?)
            }
            Node::Ad { first, count } => {
                let ad = AdRef::Literal { tree, first, count };
                Computed::Ad(
                    self.arena.scope(Scope { ad, parent: at.written, detached: false }).ok_or(Failure)?,
                )
            }
        })
    }

    fn unary(&mut self, tree: &'a Arc<Tree>, op: UnaryOp, operand: NodeId, at: At<'a>) -> Evaluated<'a> {
        let operand = self.deeper(|this| this.eval(tree, operand, at));
        match (op, &operand) {
            (UnaryOp::Parentheses, _) | (_, Err(_)) => operand,
            (_, Ok(operand)) => Ok(operators::unary(op, *operand)),
        }
    }

    fn conditional(
        &mut self,
        tree: &'a Arc<Tree>,
        condition: NodeId,
        branches: &'a [NodeId],
        at: At<'a>,
    ) -> Evaluated<'a> {
        self.deeper(|this| {
            let condition = this.eval(tree, condition, at)?;
            match condition.truth() {
                Some(truth) => this.eval(tree, branches[usize::from(!truth)], at),
                None if condition.is_undefined() => Ok(Computed::Undefined),
                None if condition.is_error() => Ok(Computed::Error),
                // The reference evaluates both branches here before it finds the condition unusable.
                None => {
                    this.eval(tree, branches[0], at)?;
                    this.eval(tree, branches[1], at)?;
                    Ok(Computed::Error)
                }
            }
        })
    }

    #[inline]
    fn name(&mut self, wanted: Wanted<'_>, at: At<'a>) -> Evaluated<'a> {
        if self.observer.is_none()
            && let Some(current) = self.current(at)
        {
            if wanted.special == Special::Target
                && self.budget.has_levels(2)
                && let Some(target) = self.plain_target(current)
            {
                // As below, in the three steps of the reference: TARGET, `.RIGHT`, the ad.
                return self.budget.step(2).map(|()| Computed::Ad(target));
            }
            if let AdRef::Own(ad) = current.ad
                && let Some(slot) = ad.slot(wanted.bytes, wanted.hash)
            {
                return self.eval_slot(ad, slot, current);
            }
        }
        let found = self.resolve(wanted, at)?;
        if let Some(observer) = self.observer {
            observer.found(wanted.bytes.as_bstr(), self.place(found.map(|(_, scope)| scope)));
        }
        match found {
            Some((bound, scope)) => self.eval_bound(bound, scope),
            None => Ok(Computed::Undefined),
        }
    }

    /// The value of an attribute that an ad itself has.
    #[inline]
    fn eval_slot(&mut self, owner: &'a ClassAd, slot: &'a Slot, scope: &'a Scope<'a>) -> Evaluated<'a> {
        self.budget.level()?;
        self.step()?;
        match slot {
            Slot::Expr(root, tree) => {
                let at = self.written_in(owner, scope, tree)?;
                self.under_way(std::ptr::from_ref(slot).addr(), tree, *root, at)
            }
            plain => owner.scalar(plain).map(Computed::from).ok_or(Failure),
        }
    }

    /// Evaluates what a name is bound to, in the ad where it was found.
    #[inline]
    pub(crate) fn eval_bound(&mut self, bound: Bound<'a>, scope: &'a Scope<'a>) -> Evaluated<'a> {
        if let Bound::Slot { owner, slot } = bound {
            return self.eval_slot(owner, slot, scope);
        }
        self.budget.level()?;
        self.step()?;
        match bound {
            Bound::Slot { .. } => Err(Failure),
            Bound::Node { tree, id, key } => {
                // Ads that share a tree, as copies do, are told apart by the outermost ad.
                let key = key ^ std::ptr::from_ref(Self::outermost(scope)).addr().rotate_left(17);
                self.under_way(key, tree, id, At::scope(Some(scope)))
            }
            Bound::Ad(ad) => Ok(Computed::Ad(ad)),
            Bound::MatchSide(side) => {
                // `.LEFT` or `.RIGHT`, looked up from the match ad.
                if !self.budget.has_levels(2) {
                    return Err(Failure);
                }
                self.step()?;
                let ad = if side == Side::Left { self.left } else { self.right };
                Ok(ad.map_or(Computed::Undefined, Computed::Ad))
            }
            Bound::MatchExpression(number) => self.match_expression(number),
            Bound::Time => Ok(Computed::Int(self.world.epoch())),
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
        let written = self
            .arena
            .scope(Scope { ad: AdRef::Own(owner), parent: None, detached: false })
            .ok_or(Failure)?;
        Ok(At { current: Some(scope), written: Some(written) })
    }

    /// Evaluates an attribute's expression unless it is being evaluated already, which is undefined (`ExprTree::Evaluate`, exprTree.cpp).
    fn under_way(&mut self, key: usize, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Evaluated<'a> {
        if self.active.contains(key) {
            if let Some(observer) = self.observer {
                observer.circular();
            }
            return Ok(Computed::Undefined);
        }
        self.active.push(key);
        self.budget.sink();
        // The step has been counted.
        self.budget.unstep();
        let strayed = self.strayed.take();
        let result = self.eval(tree, id, at);
        self.strayed = strayed;
        self.budget.rise();
        self.active.pop();
        result
    }

    fn match_expression(&mut self, number: usize) -> Evaluated<'a> {
        let Some(Expr(Repr::Node(tree, root))) = MATCH_PARSED.get(number) else { return Err(Failure) };
        let root = *root;
        let key = MATCH_EXPRESSIONS.as_ptr().wrapping_add(number).addr();
        self.under_way(key, tree, root, At::scope(Some(&MATCH_SCOPE)))
    }

    /// The dialect of texts that are parsed on the way.
    pub(crate) fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(self.mode)
    }
}
