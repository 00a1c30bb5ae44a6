//! Calls: what a function is, and what it is handed.

use std::sync::Arc;

use super::{At, Evaluator};
use crate::ad::ClassAd;
use crate::eval::computed::{Computed, ComputedList, Evaluated, Failure, Items};
use crate::eval::scope::{AdRef, Scope};
use crate::outside::Outside;
use crate::regex;
use crate::syntax::tree::{NodeId, Tree};

/// What a function is.
pub(crate) type Function = for<'e, 'a> fn(&mut Call<'e, 'a>) -> Evaluated<'a>;

/// A function under its name; case does not matter. Aliases are entries of their own.
pub(crate) type Entry = (&'static str, Function);

/// The functions by their numbers. The evaluator is given them, as they stand above it.
pub(crate) type Functions = &'static [Option<Function>];

/// A call under way.
pub(crate) struct Call<'e, 'a> {
    /// The evaluation that the call is part of.
    pub(crate) evaluator: &'e mut Evaluator<'a>,
    /// Where the arguments' nodes stand.
    pub(crate) tree: &'a Arc<Tree>,
    /// The arguments, not evaluated.
    pub(crate) arguments: &'a [NodeId],
    /// The ad that names in the arguments are looked up from.
    pub(crate) at: At<'a>,
}

impl<'a> Call<'_, 'a> {
    /// How many arguments there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// Evaluates an argument; one that is not there is undefined.
    #[inline]
    pub(crate) fn value(&mut self, argument: usize) -> Evaluated<'a> {
        match self.arguments.get(argument) {
            Some(id) => self.evaluator.eval(self.tree, *id, self.at),
            None => Ok(Computed::Undefined),
        }
    }

    /// Evaluates an argument one level of the reference's depth further down (`strcat`, `join`, `eval`).
    pub(crate) fn value_deeper(&mut self, argument: usize) -> Evaluated<'a> {
        let Some(id) = self.arguments.get(argument) else { return Ok(Computed::Undefined) };
        let (tree, at) = (self.tree, self.at);
        self.evaluator.deeper(|evaluator| evaluator.eval(tree, *id, at))
    }

    /// All arguments, if there are as many as this; `Ok(None)` for another number of them, nothing being evaluated.
    pub(crate) fn values<const N: usize>(&mut self) -> Result<Option<[Computed<'a>; N]>, Failure> {
        if self.count() != N {
            return Ok(None);
        }
        let mut values = [Computed::Undefined; N];
        for (at, value) in values.iter_mut().enumerate() {
            *value = self.value(at)?;
        }
        Ok(Some(values))
    }

    /// The base and the name of an argument that is a reference.
    pub(crate) fn reference(&self, argument: usize) -> Option<(NodeId, NodeId)> {
        self.tree.reference(*self.arguments.get(argument)?)
    }

    /// Evaluates an element of a list where the function is called, as most functions do it, whatever ad the list was
    /// written in.
    pub(crate) fn element(&mut self, list: &ComputedList<'a>, element: usize) -> Evaluated<'a> {
        self.evaluator.item_here(list, element, self.at)
    }

    /// The same one level of the reference's depth further down (`join`).
    pub(crate) fn element_deeper(&mut self, list: &ComputedList<'a>, element: usize) -> Evaluated<'a> {
        let at = self.at;
        self.evaluator.deeper(|evaluator| evaluator.item_here(list, element, at))
    }

    /// A string made by the function.
    pub(crate) fn text(&self, text: impl Into<Vec<u8>>) -> Evaluated<'a> {
        self.evaluator.arena.text(text.into()).map(Computed::Str).ok_or(Failure)
    }

    /// A list made by the function. `shared` is the hidden flavour (value.h): true for `split`, `splitUserName`,
    /// `splitSlotName`, `argsToList`, `evalInEachContext`.
    pub(crate) fn list(&self, values: Vec<Computed<'a>>, shared: bool) -> Evaluated<'a> {
        let arena = self.evaluator.arena;
        let values = values.into_iter().map(Computed::as_literal).collect();
        let items = Items::Values(arena.items(values).ok_or(Failure)?);
        arena
            .list(ComputedList { items, scope: None, shared, detached: false })
            .map(Computed::List)
            .ok_or(Failure)
    }

    /// An ad made by the function. It stands in no other ad.
    pub(crate) fn ad(&self, ad: ClassAd) -> Evaluated<'a> {
        let arena = self.evaluator.arena;
        let ad = AdRef::Own(arena.ad(ad).ok_or(Failure)?);
        arena.scope(Scope { ad, parent: None, detached: false }).map(Computed::Ad).ok_or(Failure)
    }

    /// The value of an attribute of an ad that a function was given, evaluated in that ad. `Ok(None)` where the ad itself
    /// has no such attribute.
    pub(crate) fn attribute(
        &mut self,
        ad: &'a Scope<'a>,
        name: &[u8],
    ) -> Result<Option<Computed<'a>>, Failure> {
        self.evaluator.attribute(ad, name).transpose()
    }

    /// The world outside: clock, zone, randomness, accounts.
    pub(crate) fn world(&self) -> &'a dyn Outside {
        self.evaluator.world
    }

    /// The regular expressions that calls of this expression have used, compiled.
    pub(crate) fn regexes(&self) -> &'a regex::Cache {
        self.tree.regexes()
    }

    /// A test of the one argument's value; another number of arguments is an error.
    pub(crate) fn test(&mut self, test: impl FnOnce(Computed<'a>) -> bool) -> Evaluated<'a> {
        Ok(match self.values()? {
            Some([value]) => Computed::Bool(test(value)),
            None => Computed::Error,
        })
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn call(
        &mut self,
        tree: &'a Arc<Tree>,
        name: NodeId,
        arguments: &'a [NodeId],
        at: At<'a>,
    ) -> Evaluated<'a> {
        let Some(function) = self.function(tree, name) else { return Ok(Computed::Error) };
        self.nested(|evaluator| function(&mut Call { evaluator, tree, arguments, at }))
    }

    /// The function that the name of a call means, if there is one.
    #[inline]
    pub(crate) fn function(&self, tree: &Tree, name: NodeId) -> Option<Function> {
        self.functions.get(tree.name(name).function as usize).copied().flatten()
    }
}
