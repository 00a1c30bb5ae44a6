//! Call of a built-in function: the type of the implementation, and access to the arguments.

use std::sync::Arc;

use super::{EvalScopes, Evaluator};
use crate::ad::ClassAd;
use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult, ListItems};
use crate::eval::scope::{AdRef, AdScope};
use crate::eval_world::EvalWorld;
use crate::regex;
use crate::syntax::tree::{ExprTree, NodeId};

/// Implementation of a built-in function.
pub(crate) type BuiltinFunction = for<'e, 'a> fn(&mut FunctionCall<'e, 'a>) -> EvalResult<'a>;

/// Built-in function with its name, which is case-insensitive. Each alias is a separate entry.
pub(crate) type NamedFunction = (&'static str, BuiltinFunction);

/// Implementations of all functions, by function number. The table is passed to the evaluator because the functions are
/// in a higher layer.
pub(crate) type FunctionTable = &'static [Option<BuiltinFunction>];

/// Call of a function.
pub(crate) struct FunctionCall<'e, 'a> {
    /// Evaluation in which the function is called.
    pub(crate) evaluator: &'e mut Evaluator<'a>,
    /// Tree that contains the nodes of the arguments.
    pub(crate) tree: &'a Arc<ExprTree>,
    /// Nodes of the arguments, which have not been evaluated.
    pub(crate) arguments: &'a [NodeId],
    /// Scopes in which the arguments are evaluated.
    pub(crate) at: EvalScopes<'a>,
}

impl<'a> FunctionCall<'_, 'a> {
    /// Returns the number of arguments.
    #[inline]
    pub(crate) fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// Evaluates an argument. The value is undefined if the argument is missing.
    #[inline]
    pub(crate) fn eval_argument(&mut self, argument: usize) -> EvalResult<'a> {
        match self.arguments.get(argument) {
            Some(id) => self.evaluator.eval(self.tree, *id, self.at),
            None => Ok(ComputedValue::Undefined),
        }
    }

    /// Evaluates an argument at a depth increased by one level, as the reference does for `strcat`, `join` and `eval`.
    pub(crate) fn eval_argument_one_level_deeper(&mut self, argument: usize) -> EvalResult<'a> {
        let Some(id) = self.arguments.get(argument) else { return Ok(ComputedValue::Undefined) };
        let (tree, at) = (self.tree, self.at);
        self.evaluator.with_deeper_level(|evaluator| evaluator.eval(tree, *id, at))
    }

    /// Evaluates all arguments if there are exactly `N` of them. Otherwise returns `Ok(None)` and evaluates nothing.
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

    /// Returns the base and the name of an argument if it is a reference, or else `None`.
    pub(crate) fn argument_reference(&self, argument: usize) -> Option<(NodeId, NodeId)> {
        self.tree.as_reference(*self.arguments.get(argument)?)
    }

    /// Evaluates an element of a list in the scope of the call. Most functions do this, whichever ad the list is
    /// written in.
    pub(crate) fn eval_element(&mut self, list: &ComputedList<'a>, element: usize) -> EvalResult<'a> {
        self.evaluator.eval_item_at_call(list, element, self.at)
    }

    /// Evaluates an element of a list at a depth increased by one level, as the reference does for `join`.
    pub(crate) fn eval_element_one_level_deeper(
        &mut self,
        list: &ComputedList<'a>,
        element: usize,
    ) -> EvalResult<'a> {
        let at = self.at;
        self.evaluator.with_deeper_level(|evaluator| evaluator.eval_item_at_call(list, element, at))
    }

    /// Creates a string result.
    pub(crate) fn make_string(&self, text: impl Into<Vec<u8>>) -> EvalResult<'a> {
        self.evaluator.arena.add_text(text.into()).map(ComputedValue::Str).ok_or(EvalFailure)
    }

    /// Creates a list result. `shared` is the flag of shared lists in the reference (value.h), which is true for
    /// `split`, `splitUserName`, `splitSlotName`, `argsToList` and `evalInEachContext`.
    pub(crate) fn make_list(&self, values: Vec<ComputedValue<'a>>, shared: bool) -> EvalResult<'a> {
        let arena = self.evaluator.arena;
        let values = values.into_iter().map(ComputedValue::as_literal).collect();
        let items = ListItems::Values(arena.add_items(values).ok_or(EvalFailure)?);
        arena
            .add_list(ComputedList { items, scope: None, shared, detached: false })
            .map(ComputedValue::List)
            .ok_or(EvalFailure)
    }

    /// Creates an ad result that has no enclosing ad.
    pub(crate) fn make_ad(&self, ad: ClassAd) -> EvalResult<'a> {
        let arena = self.evaluator.arena;
        let ad = AdRef::Own(arena.add_ad(ad).ok_or(EvalFailure)?);
        arena
            .add_scope(AdScope { ad, parent: None, detached: false })
            .map(ComputedValue::Ad)
            .ok_or(EvalFailure)
    }

    /// Evaluates an attribute of an ad that was passed to the function, within that ad. Returns `Ok(None)` if the ad
    /// itself does not have the attribute.
    pub(crate) fn eval_attribute_of(
        &mut self,
        ad: &'a AdScope<'a>,
        name: &[u8],
    ) -> Result<Option<ComputedValue<'a>>, EvalFailure> {
        self.evaluator.eval_attribute(ad, name).transpose()
    }

    /// Returns the world of the evaluation.
    pub(crate) fn world(&self) -> &'a dyn EvalWorld {
        self.evaluator.world
    }

    /// Returns the cache of compiled regular expressions that belongs to the expression with the call.
    pub(crate) fn regexes(&self) -> &'a regex::RegexCache {
        self.tree.regexes()
    }

    /// Returns the result of `test` for the value of the only argument. Any other number of arguments is an error.
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

    /// Returns the implementation of the function that a call names, or `None` if the function does not exist.
    #[inline]
    pub(crate) fn find_function(&self, tree: &ExprTree, name: NodeId) -> Option<BuiltinFunction> {
        self.functions.get(tree.name_info(name).function as usize).copied().flatten()
    }
}
