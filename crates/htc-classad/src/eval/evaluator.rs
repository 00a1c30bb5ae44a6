//! Evaluation of expressions (reference: exprTree.cpp, attrrefs.cpp, operators.cpp, exprList.cpp).
//!
//! Evaluation always ends: an [`EvalBudget`] limits the steps and the depth, and [`MAX_STACK`] limits the use of the
//! stack.

mod active_attributes;
mod budget;
mod function_call;
mod logical_operators;
mod name_lookup;
mod selection;

use std::sync::{Arc, LazyLock};

use bstr::ByteSlice;

use crate::ad::ClassAd;
use crate::ad::StoredValue;
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult, ListItems};
use crate::eval::eval_arena::EvalArena;
use crate::eval::observer::{ExprPart, Observer};
use crate::eval::operators;
use crate::eval::scope::{AdRef, AdScope, MATCH_EXPRESSIONS, MatchSide};
use crate::eval_world::{EvalWorld, LanguageMode};
use crate::syntax::Dialect;
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{ExprTree, Node, NodeId, SpecialName, UnaryOp};

use active_attributes::ActiveAttributes;
use budget::EvalBudget;
pub(crate) use function_call::{BuiltinFunction, FunctionCall, FunctionTable, NamedFunction};
use logical_operators::OperandPair;

/// Maximum size in bytes of the stack that one evaluation may use, half of the usual stack of a thread. The reference
/// does not count nested function calls and overflows its stack instead.
const MAX_STACK: usize = 1 << 20;

/// Ads in which an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct EvalScopes<'a> {
    /// Ad in which plain names are looked up.
    pub(crate) current: Option<&'a AdScope<'a>>,
    /// Ad in which the expression is written. It differs from `current` for an attribute of a chained parent, and if a
    /// function evaluates an argument in another ad.
    pub(crate) written_in: Option<&'a AdScope<'a>>,
}

impl<'a> EvalScopes<'a> {
    pub(crate) fn from_scope(scope: Option<&'a AdScope<'a>>) -> Self {
        EvalScopes { current: scope, written_in: scope }
    }
}

/// State of one evaluation.
pub(crate) struct Evaluator<'a> {
    pub(crate) world: &'a dyn EvalWorld,
    pub(crate) arena: &'a EvalArena<'a>,
    pub(crate) mode: LanguageMode,
    functions: FunctionTable,
    /// Left ad of a match, or `None` if the evaluation is not a match.
    left: Option<&'a AdScope<'a>>,
    right: Option<&'a AdScope<'a>>,
    /// During `evalInEachContext()`: the ad in which the function evaluates, and the side of the match in which names
    /// are looked up that this ad lacks. Otherwise `None`.
    each_context: Option<(&'a AdScope<'a>, Option<&'a AdScope<'a>>)>,
    root: Option<&'a AdScope<'a>>,
    budget: EvalBudget,
    /// Attributes whose expressions are being evaluated at the moment.
    active_attributes: ActiveAttributes,
    observer: Option<&'a dyn Observer>,
    /// Ad in which plain names are looked up instead of the current ad, or `None`. Set by functions that do not restore
    /// the current ad in the reference.
    redirected_scope: Option<&'a AdScope<'a>>,
    /// For the left and the right ad: true if the ad lacks an attribute called `target`, or `None` if this has not been
    /// checked yet.
    implicit_targets: [Option<bool>; 2],
}

/// Initial settings of an evaluator.
pub(crate) struct EvaluatorSetup<'a> {
    pub(crate) world: &'a dyn EvalWorld,
    pub(crate) arena: &'a EvalArena<'a>,
    pub(crate) mode: LanguageMode,
    pub(crate) functions: FunctionTable,
    pub(crate) left: Option<&'a AdScope<'a>>,
    pub(crate) right: Option<&'a AdScope<'a>>,
    pub(crate) observer: Option<&'a dyn Observer>,
}

/// Scope of the match ad, which contains both context ads.
pub(crate) static MATCH_SCOPE: AdScope<'static> = AdScope { ad: AdRef::Match, parent: None, detached: false };
/// Scope of the context ad that contains the left ad of a match.
pub(crate) static LEFT_CONTEXT: AdScope<'static> =
    AdScope { ad: AdRef::Context(MatchSide::Left), parent: Some(&MATCH_SCOPE), detached: false };
/// Scope of the context ad that contains the right ad of a match.
pub(crate) static RIGHT_CONTEXT: AdScope<'static> =
    AdScope { ad: AdRef::Context(MatchSide::Right), parent: Some(&MATCH_SCOPE), detached: false };

/// Parsed expressions of [`MATCH_EXPRESSIONS`].
static PARSED_MATCH_EXPRESSIONS: LazyLock<Vec<Expr>> = LazyLock::new(|| {
    MATCH_EXPRESSIONS.iter().filter_map(|(_, text)| Expr::parse(text.as_bytes()).ok()).collect()
});

#[inline]
fn is_same_scope(a: Option<&AdScope<'_>>, b: &AdScope<'_>) -> bool {
    a.is_some_and(|a| std::ptr::eq(std::ptr::from_ref(a).cast::<()>(), std::ptr::from_ref(b).cast::<()>()))
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(setting: EvaluatorSetup<'a>) -> Self {
        Evaluator {
            world: setting.world,
            arena: setting.arena,
            mode: setting.mode,
            functions: setting.functions,
            left: setting.left,
            right: setting.right,
            each_context: None,
            root: None,
            budget: EvalBudget::new(),
            active_attributes: ActiveAttributes::default(),
            observer: setting.observer,
            redirected_scope: None,
            implicit_targets: [None; 2],
        }
    }

    /// Evaluates an expression in an ad, with new limits on steps and depth.
    pub(crate) fn eval_top(&mut self, expr: &'a Expr, at: EvalScopes<'a>) -> EvalResult<'a> {
        self.with_fresh_budget(at.current, |this| match &expr.0 {
            ExprRepr::Scalar(scalar) => Ok(scalar.as_borrowed().into()),
            ExprRepr::Node(tree, root) => this.eval(tree, *root, at),
        })
    }

    /// Converts a result so that it can leave the evaluation: if it is the match ad, which exists only virtually during
    /// an evaluation, a real ad is built.
    pub(crate) fn finish_value(&self, value: ComputedValue<'a>) -> ComputedValue<'a> {
        let ComputedValue::Ad(AdScope { ad: AdRef::Match, .. }) = value else { return value };
        let mut ad = crate::eval::scope::match_ad();
        for (name, side) in [("LEFT", self.left), ("RIGHT", self.right)] {
            if let Some(side) = side {
                ad.set(name, side.to_ad());
            }
        }
        let made =
            self.arena.add_ad(ad).map(|ad| AdScope { ad: AdRef::Own(ad), parent: None, detached: false });
        made.and_then(|scope| self.arena.add_scope(scope)).map_or(value, ComputedValue::Ad)
    }

    /// Evaluates an attribute of `scope` with new limits on steps and depth. Returns `None` if `scope` lacks the
    /// attribute; enclosing ads are not searched.
    pub(crate) fn eval_attribute(&mut self, scope: &'a AdScope<'a>, name: &[u8]) -> Option<EvalResult<'a>> {
        let bound = self.find_in_scope(scope, NameLookup::new(name))?;
        Some(self.with_fresh_budget(Some(scope), |this| this.eval_binding_fresh(bound, scope)))
    }

    /// Runs an evaluation with new limits on steps and depth: the evaluation of a whole expression, or a nested
    /// evaluation for `ad["name"]`, `evalInEachContext()` or `countMatches()`, for which the reference also starts new
    /// limits.
    pub(crate) fn with_fresh_budget<T>(
        &mut self,
        scope: Option<&'a AdScope<'a>>,
        run: impl FnOnce(&mut Self) -> Result<T, EvalFailure>,
    ) -> Result<T, EvalFailure> {
        let outer = self.budget.begin_nested_evaluation()?;
        let root = std::mem::replace(&mut self.root, scope.map(Self::outermost_scope));
        let active = self.active_attributes.begin_evaluation();
        let redirect = self.redirected_scope.take();
        let result = self.with_stack_check(run);
        self.root = root;
        self.active_attributes.end_evaluation(active);
        self.redirected_scope = redirect;
        self.budget.end_nested_evaluation(&outer);
        result
    }

    /// Returns the ad in which names of the form `.name` are looked up.
    pub(crate) fn root_scope(&self) -> Option<&'a AdScope<'a>> {
        self.root
    }

    fn outermost_scope(scope: &'a AdScope<'a>) -> &'a AdScope<'a> {
        let mut scope = scope;
        while let Some(parent) = scope.parent {
            scope = parent;
        }
        scope
    }

    /// Calls `run` if enough stack is left, or fails.
    #[inline]
    pub(crate) fn with_stack_check<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, EvalFailure>,
    ) -> Result<T, EvalFailure> {
        self.check_stack()?;
        run(self)
    }

    /// Fails if not enough stack is left. The evaluator itself is on the stack at the point where the evaluation began,
    /// so its address shows how much has been used.
    #[inline]
    pub(crate) fn check_stack(&self) -> Result<(), EvalFailure> {
        let stack_marker = 0u8;
        let used = std::ptr::from_ref(self).addr().abs_diff(std::ptr::from_ref(&stack_marker).addr());
        if used > MAX_STACK { Err(EvalFailure) } else { Ok(()) }
    }

    /// Returns true if the maximum depth of the reference is reached.
    pub(crate) fn is_at_maximum_depth(&self) -> bool {
        !self.budget.has_levels(1)
    }

    /// Calls `run` with the depth increased by one level, or fails if the maximum depth is reached.
    #[inline]
    pub(crate) fn with_deeper_level<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, EvalFailure>,
    ) -> Result<T, EvalFailure> {
        self.budget.check_level()?;
        self.budget.enter_level();
        let result = run(self);
        self.budget.leave_level();
        result
    }

    /// Counts one step of the evaluation. Fails if the maximum number of steps is reached.
    #[inline]
    pub(crate) fn count_step(&mut self) -> Result<(), EvalFailure> {
        self.budget.spend_steps(1)
    }

    /// Evaluates a node, which counts as one step, and reports the step to the observer, if any.
    #[inline]
    pub(crate) fn eval(&mut self, tree: &'a Arc<ExprTree>, id: NodeId, at: EvalScopes<'a>) -> EvalResult<'a> {
        self.count_step()?;
        if let Some(observer) = self.observer {
            return self.eval_observed(observer, tree, id, at);
        }
        self.eval_node(tree, id, at)
    }

    #[cold]
    fn eval_observed(
        &mut self,
        observer: &'a dyn Observer,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        let part = ExprPart { tree, id };
        observer.enter(&part);
        let result = self.eval_node(tree, id, at);
        observer.leave(&part, result.ok().map(ComputedValue::to_value).as_ref());
        result
    }

    fn eval_node(&mut self, tree: &'a Arc<ExprTree>, id: NodeId, at: EvalScopes<'a>) -> EvalResult<'a> {
        Ok(match tree.node(id) {
            Node::Int(i) => ComputedValue::Int(i),
            Node::Str(text) => ComputedValue::Str(tree.text_bytes(text)),
            Node::Bool(b) => ComputedValue::Bool(b),
            Node::Real(r) => ComputedValue::Real(r),
            Node::Undefined => ComputedValue::Undefined,
            Node::Error => ComputedValue::Error,
            Node::AbsTime(time) => ComputedValue::AbsTime(tree.times[time as usize]),
            Node::RelTime(seconds) => ComputedValue::Real(seconds),
            Node::Name { text, hash, special, .. } => {
                return self.eval_name(NameLookup { bytes: tree.text_bytes(text), hash, special }, at);
            }
            Node::Binary(op, left, right) => {
                return self.eval_binary(tree, op, OperandPair { left, right }, at);
            }
            Node::Unary(op, operand) => return self.eval_unary(tree, op, operand, at),
            Node::Call { name, first, count } => {
                return self.eval_call(tree, name, tree.links(first, count), at);
            }
            Node::Attr { base, name } => {
                return self.eval_selection(tree, base, NameLookup::from_tree(tree, name), at);
            }
            Node::Ternary { condition, branches } => {
                return self.eval_conditional(tree, condition, tree.links(branches, 2), at);
            }
            Node::List { first, count } => {
                let items = ListItems::Nodes(tree, tree.links(first, count));
                let list = ComputedList { items, scope: at.written_in, shared: false, detached: false };
                ComputedValue::List(self.arena.add_list(list).ok_or(EvalFailure)?)
            }
            Node::Ad { first, count } => {
                let ad = AdRef::Literal { tree, first, count };
                ComputedValue::Ad(
                    self.arena
                        .add_scope(AdScope { ad, parent: at.written_in, detached: false })
                        .ok_or(EvalFailure)?,
                )
            }
        })
    }

    fn eval_unary(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: UnaryOp,
        operand: NodeId,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        let operand = self.with_deeper_level(|this| this.eval(tree, operand, at));
        match (op, &operand) {
            (UnaryOp::Parentheses, _) | (_, Err(_)) => operand,
            (_, Ok(operand)) => Ok(operators::apply_unary(op, *operand)),
        }
    }

    fn eval_conditional(
        &mut self,
        tree: &'a Arc<ExprTree>,
        condition: NodeId,
        branches: &'a [NodeId],
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        self.with_deeper_level(|this| {
            let condition = this.eval(tree, condition, at)?;
            match condition.truth() {
                Some(truth) => this.eval(tree, branches[usize::from(!truth)], at),
                None if condition.is_undefined() => Ok(ComputedValue::Undefined),
                None if condition.is_error() => Ok(ComputedValue::Error),
                // The reference evaluates both branches before it finds that the condition has no truth value.
                None => {
                    this.eval(tree, branches[0], at)?;
                    this.eval(tree, branches[1], at)?;
                    Ok(ComputedValue::Error)
                }
            }
        })
    }

    #[inline]
    fn eval_name(&mut self, wanted: NameLookup<'_>, at: EvalScopes<'a>) -> EvalResult<'a> {
        if self.observer.is_none()
            && let Some(current) = self.current_scope(at)
        {
            if wanted.special == SpecialName::Target
                && self.budget.has_levels(2)
                && let Some(target) = self.implicit_target(current)
            {
                // This shortcut counts the same steps as the general case: one more for `.RIGHT` and one more for the
                // ad.
                return self.budget.spend_steps(2).map(|()| ComputedValue::Ad(target));
            }
            if let AdRef::Own(ad) = current.ad
                && let Some(slot) = ad.stored_value(wanted.bytes, wanted.hash)
            {
                return self.eval_stored_value(ad, slot, current);
            }
        }
        let found = self.resolve_name(wanted, at)?;
        if let Some(observer) = self.observer {
            observer.name_found(wanted.bytes.as_bstr(), self.name_location(found.map(|(_, scope)| scope)));
        }
        match found {
            Some((bound, scope)) => self.eval_binding(bound, scope),
            None => Ok(ComputedValue::Undefined),
        }
    }

    /// Evaluates the stored value of an attribute. `owner` is the ad that has the attribute: the ad of `scope` or a
    /// chained parent.
    #[inline]
    fn eval_stored_value(
        &mut self,
        owner: &'a ClassAd,
        slot: &'a StoredValue,
        scope: &'a AdScope<'a>,
    ) -> EvalResult<'a> {
        self.budget.check_level()?;
        self.count_step()?;
        match slot {
            StoredValue::Expr(root, tree) => {
                let at = self.scopes_of_owner(owner, scope, tree)?;
                self.eval_unless_active(std::ptr::from_ref(slot).addr(), tree, *root, at)
            }
            plain => owner.stored_scalar(plain).map(ComputedValue::from).ok_or(EvalFailure),
        }
    }

    /// Evaluates the object to which a name is bound; `scope` is the ad in which the name was found.
    #[inline]
    pub(crate) fn eval_binding(&mut self, bound: Binding<'a>, scope: &'a AdScope<'a>) -> EvalResult<'a> {
        if let Binding::Attribute { owner, slot } = bound {
            return self.eval_stored_value(owner, slot, scope);
        }
        self.budget.check_level()?;
        self.count_step()?;
        match bound {
            Binding::Attribute { .. } => Err(EvalFailure),
            Binding::NestedAttribute { tree, id, key } => {
                // Copies of an ad share their trees, so that the key of an attribute also depends on the outermost ad.
                let key = key ^ std::ptr::from_ref(Self::outermost_scope(scope)).addr().rotate_left(17);
                self.eval_unless_active(key, tree, id, EvalScopes::from_scope(Some(scope)))
            }
            Binding::Ad(ad) => Ok(ComputedValue::Ad(ad)),
            Binding::MatchSide(side) => {
                // The reference evaluates `.LEFT` or `.RIGHT` here, in the match ad.
                if !self.budget.has_levels(2) {
                    return Err(EvalFailure);
                }
                self.count_step()?;
                let ad = if side == MatchSide::Left { self.left } else { self.right };
                Ok(ad.map_or(ComputedValue::Undefined, ComputedValue::Ad))
            }
            Binding::MatchExpression(number) => self.eval_match_expression(number),
            Binding::CurrentTime => Ok(ComputedValue::Int(self.world.epoch())),
            Binding::Value(value) => Ok(value),
        }
    }

    /// Evaluates the object to which a name is bound without marking an attribute as being evaluated, as the reference
    /// does at the start of an evaluation.
    pub(crate) fn eval_binding_fresh(
        &mut self,
        bound: Binding<'a>,
        scope: &'a AdScope<'a>,
    ) -> EvalResult<'a> {
        match bound {
            Binding::Attribute { owner, slot: StoredValue::Expr(root, tree) } => {
                let at = self.scopes_of_owner(owner, scope, tree)?;
                self.eval(tree, *root, at)
            }
            Binding::NestedAttribute { tree, id, .. } => {
                self.eval(tree, id, EvalScopes::from_scope(Some(scope)))
            }
            other => self.eval_binding(other, scope),
        }
    }

    /// Returns the scopes for the expression of an attribute. If the attribute belongs to a chained parent, lists and
    /// ads in the expression are treated as if they were written in that parent.
    fn scopes_of_owner(
        &mut self,
        owner: &'a ClassAd,
        scope: &'a AdScope<'a>,
        tree: &'a Arc<ExprTree>,
    ) -> Result<EvalScopes<'a>, EvalFailure> {
        let own = matches!(scope.ad, AdRef::Own(ad) if std::ptr::eq(ad, owner));
        if own || !tree.has_scopes {
            return Ok(EvalScopes::from_scope(Some(scope)));
        }
        let written = self
            .arena
            .add_scope(AdScope { ad: AdRef::Own(owner), parent: None, detached: false })
            .ok_or(EvalFailure)?;
        Ok(EvalScopes { current: Some(scope), written_in: Some(written) })
    }

    /// Evaluates the expression of an attribute. The result is undefined if the same attribute is already being
    /// evaluated (`ExprTree::Evaluate`, exprTree.cpp).
    fn eval_unless_active(
        &mut self,
        key: usize,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        if self.active_attributes.contains(key) {
            if let Some(observer) = self.observer {
                observer.circular_reference();
            }
            return Ok(ComputedValue::Undefined);
        }
        self.active_attributes.push(key);
        self.budget.enter_level();
        // The caller has already counted the step that `eval` will count.
        self.budget.refund_step();
        let redirect = self.redirected_scope.take();
        let result = self.eval(tree, id, at);
        self.redirected_scope = redirect;
        self.budget.leave_level();
        self.active_attributes.pop();
        result
    }

    fn eval_match_expression(&mut self, number: usize) -> EvalResult<'a> {
        let Some(Expr(ExprRepr::Node(tree, root))) = PARSED_MATCH_EXPRESSIONS.get(number) else {
            return Err(EvalFailure);
        };
        let root = *root;
        let key = MATCH_EXPRESSIONS.as_ptr().wrapping_add(number).addr();
        self.eval_unless_active(key, tree, root, EvalScopes::from_scope(Some(&MATCH_SCOPE)))
    }

    /// Returns the dialect for texts that are parsed during the evaluation, such as the argument of `eval()`.
    pub(crate) fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(self.mode)
    }
}
