//! Calls: what a function is, and what it is handed.

use std::sync::Arc;

use super::{EvalScopes, Evaluator};
use crate::ad::ClassAd;
use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult, ListItems};
use crate::eval::scope::{AdRef, AdScope};
use crate::eval_world::EvalWorld;
use crate::regex;
use crate::syntax::tree::{ExprTree, NodeId};

/// What a function is.
pub(crate) type BuiltinFunction = for<'e, 'a> fn(&mut FunctionCall<'e, 'a>) -> EvalResult<'a>;

/// A function under its name; case does not matter. Aliases are entries of their own.
pub(crate) type NamedFunction = (&'static str, BuiltinFunction);

/// The functions by their numbers. The evaluator is given them, as they stand above it.
pub(crate) type FunctionTable = &'static [Option<BuiltinFunction>];

/// A call under way.
pub(crate) struct FunctionCall<'e, 'a> {
    /// The evaluation that the call is part of.
    pub(crate) evaluator: &'e mut Evaluator<'a>,
    /// Where the arguments' nodes stand.
    pub(crate) tree: &'a Arc<ExprTree>,
    /// The arguments, not evaluated.
    pub(crate) arguments: &'a [NodeId],
    /// The ad that names in the arguments are looked up from.
    pub(crate) at: EvalScopes<'a>,
}

impl<'a> FunctionCall<'_, 'a> {
    /// How many arguments there are.
    #[inline]
    pub(crate) fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// Evaluates an argument; one that is not there is undefined.
    #[inline]
    pub(crate) fn eval_argument(&mut self, argument: usize) -> EvalResult<'a> {
        match self.arguments.get(argument) {
            Some(id) => self.evaluator.eval(self.tree, *id, self.at),
            None => Ok(ComputedValue::Undefined),
        }
    }

    /// Evaluates an argument one level of the reference's depth further down (`strcat`, `join`, `eval`).
    pub(crate) fn eval_argument_deeper(&mut self, argument: usize) -> EvalResult<'a> {
        let Some(id) = self.arguments.get(argument) else { return Ok(ComputedValue::Undefined) };
        let (tree, at) = (self.tree, self.at);
        self.evaluator.with_deeper_level(|evaluator| evaluator.eval(tree, *id, at))
    }

    /// All arguments, if there are as many as this; `Ok(None)` for another number of them, nothing being evaluated.
    pub(crate) fn eval_arguments<const N: usize>(
        &mut self,
    ) -> Result<Option<[ComputedValue<'a>; N]>, EvalFailure> {
        if self.argument_count() != N {
            return Ok(None);
        }
        let mut values = [ComputedValue::Undefined; N];
        for (at, value) in values.iter_mut().enumerate() {
            *value = self.eval_argument(at)?;
        }
        Ok(Some(values))
    }

    /// The base and the name of an argument that is a reference.
    pub(crate) fn argument_reference(&self, argument: usize) -> Option<(NodeId, NodeId)> {
        self.tree.as_reference(*self.arguments.get(argument)?)
    }

    /// Evaluates an element of a list where the function is called, as most functions do it, whatever ad the list was
    /// written in.
    pub(crate) fn eval_element(&mut self, list: &ComputedList<'a>, element: usize) -> EvalResult<'a> {
        self.evaluator.eval_item_at_call(list, element, self.at)
    }

    /// The same one level of the reference's depth further down (`join`).
    pub(crate) fn eval_element_deeper(&mut self, list: &ComputedList<'a>, element: usize) -> EvalResult<'a> {
        let at = self.at;
        self.evaluator.with_deeper_level(|evaluator| evaluator.eval_item_at_call(list, element, at))
    }

    /// A string made by the function.
    pub(crate) fn make_string(&self, text: impl Into<Vec<u8>>) -> EvalResult<'a> {
        self.evaluator.arena.add_text(text.into()).map(ComputedValue::Str).ok_or(EvalFailure)
    }

    /// A list made by the function. `shared` is the hidden flavour (value.h): true for `split`, `splitUserName`,
    /// `splitSlotName`, `argsToList`, `evalInEachContext`.
    pub(crate) fn make_list(&self, values: Vec<ComputedValue<'a>>, shared: bool) -> EvalResult<'a> {
        let arena = self.evaluator.arena;
        let values = values.into_iter().map(ComputedValue::as_literal).collect();
        let items = ListItems::Values(arena.add_items(values).ok_or(EvalFailure)?);
        arena
            .add_list(ComputedList { items, scope: None, shared, detached: false })
            .map(ComputedValue::List)
            .ok_or(EvalFailure)
    }

    /// An ad made by the function. It stands in no other ad.
    pub(crate) fn make_ad(&self, ad: ClassAd) -> EvalResult<'a> {
        let arena = self.evaluator.arena;
        let ad = AdRef::Own(arena.add_ad(ad).ok_or(EvalFailure)?);
        arena
            .add_scope(AdScope { ad, parent: None, detached: false })
            .map(ComputedValue::Ad)
            .ok_or(EvalFailure)
    }

    /// The value of an attribute of an ad that a function was given, evaluated in that ad. `Ok(None)` where the ad itself
    /// has no such attribute.
    pub(crate) fn eval_attribute_of(
        &mut self,
        ad: &'a AdScope<'a>,
        name: &[u8],
    ) -> Result<Option<ComputedValue<'a>>, EvalFailure> {
        self.evaluator.eval_attribute(ad, name).transpose()
    }

    /// The world outside: clock, zone, randomness, accounts.
    pub(crate) fn world(&self) -> &'a dyn EvalWorld {
        self.evaluator.world
    }

    /// The regular expressions that calls of this expression have used, compiled.
    pub(crate) fn regexes(&self) -> &'a regex::RegexCache {
        self.tree.regexes()
    }

    /// A test of the one argument's value; another number of arguments is an error.
    pub(crate) fn test_argument(&mut self, test: impl FnOnce(ComputedValue<'a>) -> bool) -> EvalResult<'a> {
        Ok(match self.eval_arguments()? {
            Some([value]) => ComputedValue::Bool(test(value)),
            None => ComputedValue::Error,
        })
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn eval_call(
        &mut self,
        tree: &'a Arc<ExprTree>,
        name: NodeId,
        arguments: &'a [NodeId],
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        let Some(function) = self.find_function(tree, name) else { return Ok(ComputedValue::Error) };
        self.with_stack_check(|evaluator| function(&mut FunctionCall { evaluator, tree, arguments, at }))
    }

    /// The function that the name of a call means, if there is one.
    #[inline]
    pub(crate) fn find_function(&self, tree: &ExprTree, name: NodeId) -> Option<BuiltinFunction> {
        self.functions.get(tree.name_info(name).function as usize).copied().flatten()
    }
}
