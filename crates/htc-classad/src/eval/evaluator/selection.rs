//! Evaluation of parts of lists and ads: subscripts, selections, and projections of lists of ads.

use std::sync::Arc;

use bstr::ByteSlice;

use super::{EvalScopes, Evaluator};
use crate::eval::binding::NameLookup;
use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult, ListItems};
use crate::eval::observer::NameLocation;
use crate::eval::scope::{AdRef, AdScope};
use crate::syntax::tree::{ABSOLUTE_BASE, ExprTree, Node, NodeId, SpecialName};

impl<'a> Evaluator<'a> {
    /// Calls `run` with the root of another ad, as the reference does for each element of a projection. Unlike a nested
    /// evaluation, `run` uses the current limits and the current detection of cycles.
    pub(super) fn with_projection_root(
        &mut self,
        scope: Option<&'a AdScope<'a>>,
        run: impl FnOnce(&mut Self) -> EvalResult<'a>,
    ) -> EvalResult<'a> {
        let root = self.root;
        let redirect = self.redirected_scope;
        self.root = scope.map(Self::outermost_scope);
        let result = run(self);
        self.root = root;
        self.redirected_scope = redirect;
        result
    }

    /// Evaluates `base[index]`.
    pub(crate) fn eval_subscript(
        &mut self,
        base: ComputedValue<'a>,
        index: ComputedValue<'a>,
    ) -> EvalResult<'a> {
        match (base, index) {
            (ComputedValue::Error, _) | (_, ComputedValue::Error) => Ok(ComputedValue::Error),
            (ComputedValue::Undefined, _) | (_, ComputedValue::Undefined) => Ok(ComputedValue::Undefined),
            (ComputedValue::List(list), ComputedValue::Int(index)) => {
                // The reference truncates the index to 32 bits.
                match usize::try_from(index as i32) {
                    Ok(at) if at < list.len() => {
                        let item = self.with_deeper_level(|this| {
                            Ok(this.eval_item(list, at).unwrap_or(ComputedValue::Error))
                        });
                        match item {
                            Ok(ad @ ComputedValue::Ad(_)) if list.detached => self.detach_value(ad),
                            item => item.or(Ok(ComputedValue::Error)),
                        }
                    }
                    _ => Ok(ComputedValue::Error),
                }
            }
            (ComputedValue::Ad(scope), ComputedValue::Str(name)) => {
                match self.find_in_scope(scope, NameLookup::new(name)) {
                    Some(bound) => self
                        .with_fresh_budget(Some(scope), |this| this.eval_binding_fresh(bound, scope))
                        .map_or(Ok(ComputedValue::Error), |value| self.detach_value(value)),
                    None => Ok(ComputedValue::Undefined),
                }
            }
            _ => Ok(ComputedValue::Error),
        }
    }

    /// Marks a value as selected from an ad by a string subscript.
    fn detach_value(&mut self, value: ComputedValue<'a>) -> EvalResult<'a> {
        Ok(match value {
            ComputedValue::Ad(scope) => {
                let scope = AdScope { detached: true, ..*scope };
                ComputedValue::Ad(self.arena.add_scope(scope).ok_or(EvalFailure)?)
            }
            ComputedValue::List(list) => {
                let list = ComputedList { detached: true, ..*list };
                ComputedValue::List(self.arena.add_list(list).ok_or(EvalFailure)?)
            }
            other => other,
        })
    }

    /// Evaluates an element of a list in the ad in which the list is written.
    pub(crate) fn eval_item(&mut self, list: &ComputedList<'a>, at: usize) -> EvalResult<'a> {
        match list.items {
            ListItems::Values(values) => Ok(values[at]),
            ListItems::Nodes(tree, nodes) => {
                self.without_redirect(|this| this.eval(tree, nodes[at], EvalScopes::from_scope(list.scope)))
            }
        }
    }

    /// Evaluates an element of a list in the scope of a function call, whichever ad the list is written in. Most
    /// functions do this (reference: fnCall.cpp, `tree->Evaluate(state, ...)`).
    pub(crate) fn eval_item_at_call(
        &mut self,
        list: &ComputedList<'a>,
        at: usize,
        here: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        match list.items {
            ListItems::Values(values) => Ok(values[at]),
            ListItems::Nodes(tree, nodes) => {
                let at_here = EvalScopes { current: here.current, written_in: list.scope };
                self.eval(tree, nodes[at], at_here)
            }
        }
    }

    /// Evaluates `.name` and `base.name`.
    pub(super) fn eval_selection(
        &mut self,
        tree: &'a Arc<ExprTree>,
        base: NodeId,
        wanted: NameLookup<'_>,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        if base == ABSOLUTE_BASE {
            let root = self.root.ok_or(EvalFailure)?;
            let found = self.look_up(root, wanted)?;
            if let Some(observer) = self.observer {
                observer
                    .name_found(wanted.bytes.as_bstr(), self.name_location(found.map(|(_, scope)| scope)));
            }
            return match found {
                Some((bound, scope)) => self.eval_binding(bound, scope),
                None => Ok(ComputedValue::Undefined),
            };
        }
        // Shortcut for `TARGET.name` in a match. The steps are counted as in the reference: one for the base, and two
        // for evaluating `TARGET`.
        if let Node::Name { special: SpecialName::Target, .. } = tree.node(base)
            && self.observer.is_none()
            && self.budget.has_levels(3)
            && let Some(current) = self.current_scope(at)
            && let Some(target) = self.implicit_target(current)
        {
            self.budget.spend_steps(3)?;
            return self.select_attribute(ComputedValue::Ad(target), wanted, at);
        }
        if self.is_at_maximum_depth() {
            return Ok(ComputedValue::Error);
        }
        let base = self.with_deeper_level(|this| this.eval(tree, base, at))?;
        self.select_attribute(base, wanted, at)
    }

    /// Selects an attribute from a value: from an ad, or from each element of a list.
    pub(crate) fn select_attribute(
        &mut self,
        base: ComputedValue<'a>,
        wanted: NameLookup<'_>,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        match base {
            ComputedValue::Undefined => Ok(ComputedValue::Undefined),
            ComputedValue::Ad(scope) if scope.detached && wanted.special != SpecialName::Root => {
                if let Some(observer) = self.observer {
                    observer.name_found(wanted.bytes.as_bstr(), NameLocation::Nowhere);
                }
                Ok(ComputedValue::Undefined)
            }
            ComputedValue::Ad(scope) => {
                if self.observer.is_none()
                    && let AdRef::Own(ad) = scope.ad
                    && let Some(slot) = ad.stored_value(wanted.bytes, wanted.hash)
                {
                    return self.eval_stored_value(ad, slot, scope);
                }
                let found = self.look_up(scope, wanted)?;
                if let Some(observer) = self.observer {
                    observer.name_found(
                        wanted.bytes.as_bstr(),
                        self.name_location(found.map(|(_, scope)| scope)),
                    );
                }
                match found {
                    Some((bound, scope)) => self.eval_binding(bound, scope),
                    None => Ok(ComputedValue::Undefined),
                }
            }
            ComputedValue::List(list) => self.project_list(list, wanted, at),
            _ => Ok(ComputedValue::Error),
        }
    }

    /// Evaluates `list.name`: the list of the values of `name` in the elements of `list`
    /// (`AttributeReference::_Evaluate`, attrrefs.cpp).
    pub(super) fn project_list(
        &mut self,
        list: &ComputedList<'a>,
        wanted: NameLookup<'_>,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        let mut values = Vec::with_capacity(list.len());
        for index in 0..list.len() {
            let current = self.current_scope(at);
            let value = self.with_projection_root(current, |this| {
                this.count_step()?;
                if this.is_at_maximum_depth() {
                    return Ok(ComputedValue::Error);
                }
                this.with_stack_check(|this| {
                    let element = this.with_deeper_level(|this| this.eval_item_at_call(list, index, at))?;
                    this.select_attribute(element, wanted, at)
                })
            })?;
            values.push(self.strip_scope(value)?);
        }
        let items = ListItems::Values(self.arena.add_items(values).ok_or(EvalFailure)?);
        let list = ComputedList { items, scope: None, shared: false, detached: false };
        // The reference evaluates the resulting list like the expression of an attribute, which requires one more
        // level.
        self.budget.check_level()?;
        self.arena.add_list(list).map(ComputedValue::List).ok_or(EvalFailure)
    }

    /// Converts a value to an element of the result of a projection: a literal, or an ad or list without its enclosing
    /// ad.
    fn strip_scope(&mut self, value: ComputedValue<'a>) -> EvalResult<'a> {
        Ok(match value {
            ComputedValue::Ad(scope) => ComputedValue::Ad(
                self.arena
                    .add_scope(AdScope { ad: scope.ad, parent: None, detached: false })
                    .ok_or(EvalFailure)?,
            ),
            ComputedValue::List(list) => {
                let list = ComputedList { scope: None, shared: false, detached: false, ..*list };
                ComputedValue::List(self.arena.add_list(list).ok_or(EvalFailure)?)
            }
            other => other.as_literal(),
        })
    }
}
