//! Parts of lists and ads: subscripts, selections, and projections of lists of ads.

use std::sync::Arc;

use bstr::ByteSlice;

use super::{At, Evaluator};
use crate::eval::binding::Wanted;
use crate::eval::computed::{Computed, ComputedList, Evaluated, Failure, Items};
use crate::eval::observer::Place;
use crate::eval::scope::{AdRef, Scope};
use crate::syntax::tree::{ABSOLUTE, Node, NodeId, Special, Tree};

impl<'a> Evaluator<'a> {
    /// Evaluates with the steps and cycles of this evaluation but the root of another ad (the reference's projection).
    pub(super) fn projected(
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

    /// `base[index]`.
    pub(crate) fn subscript(&mut self, base: Computed<'a>, index: Computed<'a>) -> Evaluated<'a> {
        match (base, index) {
            (Computed::Error, _) | (_, Computed::Error) => Ok(Computed::Error),
            (Computed::Undefined, _) | (_, Computed::Undefined) => Ok(Computed::Undefined),
            (Computed::List(list), Computed::Int(index)) => {
                // The reference cuts the index to 32 bits.
                match usize::try_from(index as i32) {
                    Ok(at) if at < list.len() => {
                        let item = self.deeper(|this| Ok(this.item(list, at).unwrap_or(Computed::Error)));
                        match item {
                            Ok(ad @ Computed::Ad(_)) if list.detached => self.detached(ad),
                            item => item.or(Ok(Computed::Error)),
                        }
                    }
                    _ => Ok(Computed::Error),
                }
            }
            (Computed::Ad(scope), Computed::Str(name)) => match self.find_here(scope, Wanted::new(name)) {
                Some(bound) => self
                    .fresh(Some(scope), |this| this.eval_bound_fresh(bound, scope))
                    .map_or(Ok(Computed::Error), |value| self.detached(value)),
                None => Ok(Computed::Undefined),
            },
            _ => Ok(Computed::Error),
        }
    }

    /// A value that was taken out of an ad by a string subscript.
    fn detached(&mut self, value: Computed<'a>) -> Evaluated<'a> {
        Ok(match value {
            Computed::Ad(scope) => {
                let scope = Scope { detached: true, ..*scope };
                Computed::Ad(self.arena.scope(scope).ok_or(Failure)?)
            }
            Computed::List(list) => {
                let list = ComputedList { detached: true, ..*list };
                Computed::List(self.arena.list(list).ok_or(Failure)?)
            }
            other => other,
        })
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

    /// `.name` and `base.name`.
    pub(super) fn selection(
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
        // `TARGET.name` of a match in one go: the steps are those of the reference, one for the base and two for what
        // TARGET is.
        if let Node::Name { special: Special::Target, .. } = tree.node(base)
            && self.observer.is_none()
            && self.budget.has_levels(3)
            && let Some(current) = self.current(at)
            && let Some(target) = self.plain_target(current)
        {
            self.budget.step(3)?;
            return self.select(Computed::Ad(target), wanted, at);
        }
        if self.is_deepest() {
            return Ok(Computed::Error);
        }
        let base = self.deeper(|this| this.eval(tree, base, at))?;
        self.select(base, wanted, at)
    }

    /// The attribute of a value: of an ad, or of each ad in a list.
    pub(crate) fn select(&mut self, base: Computed<'a>, wanted: Wanted<'_>, at: At<'a>) -> Evaluated<'a> {
        match base {
            Computed::Undefined => Ok(Computed::Undefined),
            Computed::Ad(scope) if scope.detached && wanted.special != Special::Root => {
                if let Some(observer) = self.observer {
                    observer.found(wanted.bytes.as_bstr(), Place::Nowhere);
                }
                Ok(Computed::Undefined)
            }
            Computed::Ad(scope) => {
                if self.observer.is_none()
                    && let AdRef::Own(ad) = scope.ad
                    && let Some(slot) = ad.slot(wanted.bytes, wanted.hash)
                {
                    return self.eval_slot(ad, slot, scope);
                }
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

    /// `list.name`: the list of what `name` is in each element (`AttributeReference::_Evaluate`, attrrefs.cpp).
    pub(super) fn project(
        &mut self,
        list: &ComputedList<'a>,
        wanted: Wanted<'_>,
        at: At<'a>,
    ) -> Evaluated<'a> {
        let mut values = Vec::with_capacity(list.len());
        for index in 0..list.len() {
            let current = self.current(at);
            let value = self.projected(current, |this| {
                this.step()?;
                if this.is_deepest() {
                    return Ok(Computed::Error);
                }
                this.nested(|this| {
                    let element = this.deeper(|this| this.item_here(list, index, at))?;
                    this.select(element, wanted, at)
                })
            })?;
            values.push(self.without_scope(value)?);
        }
        let items = Items::Values(self.arena.items(values).ok_or(Failure)?);
        let list = ComputedList { items, scope: None, shared: false, detached: false };
        // The list is then evaluated as if it were an attribute's expression.
        self.budget.level()?;
        self.arena.list(list).map(Computed::List).ok_or(Failure)
    }

    /// A value as element of a projected list: a literal, or an ad or list that has lost the ad it was written in.
    fn without_scope(&mut self, value: Computed<'a>) -> Evaluated<'a> {
        Ok(match value {
            Computed::Ad(scope) => Computed::Ad(
                self.arena.scope(Scope { ad: scope.ad, parent: None, detached: false }).ok_or(Failure)?,
            ),
            Computed::List(list) => {
                let list = ComputedList { scope: None, shared: false, detached: false, ..*list };
                Computed::List(self.arena.list(list).ok_or(Failure)?)
            }
            other => other.as_literal(),
        })
    }
}
