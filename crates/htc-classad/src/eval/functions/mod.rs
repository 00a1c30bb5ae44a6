//! Built-in functions of the ClassAd language (fnCall.cpp).
//!
//! A built-in function is a Rust function that is called with a [`FunctionCall`](crate::eval::evaluator::FunctionCall):
//! its unevaluated arguments, the scopes of the call, and the evaluator. The Rust function evaluates the arguments that
//! it needs, in any order, and returns a value. `Err(EvalFailure)` makes the whole evaluation fail
//! (`ExprTree::Evaluate`, exprTree.cpp); few functions do this themselves, but a failure to evaluate an argument is
//! passed on with `?`. Texts, lists and ads that a function makes are stored in the arena of the evaluation by
//! `make_string`, `make_list` and `make_ad`. Each file of this module has one subject and its own table of functions;
//! [`FUNCTIONS_BY_SUBJECT`] collects the tables:
//!
//! ```text
//! pub(super) const FUNCTIONS: &[NamedFunction] = &[("isUndefined", |call| call.test_argument(ComputedValue::is_undefined))];
//! ```

mod conversions;
mod expressions;
mod job_functions;
mod list_items;
mod lists;
mod math;
mod regex_functions;
mod string_lists;
mod strings;
mod substitute;
mod times;
mod types;
mod versions;

use std::sync::LazyLock;

use crate::eval::evaluator::{BuiltinFunction, FunctionTable, NamedFunction};
use crate::syntax::function_names;

/// All functions, grouped by subject.
const FUNCTIONS_BY_SUBJECT: &[&[NamedFunction]] = &[
    conversions::FUNCTIONS,
    expressions::FUNCTIONS,
    job_functions::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    regex_functions::FUNCTIONS,
    string_lists::FUNCTIONS,
    strings::FUNCTIONS,
    times::FUNCTIONS,
    types::FUNCTIONS,
];

static FUNCTIONS_BY_NUMBER: LazyLock<Vec<Option<BuiltinFunction>>> = LazyLock::new(|| {
    let mut functions = vec![None; function_names::FUNCTION_COUNT];
    for (name, function) in FUNCTIONS_BY_SUBJECT.iter().flat_map(|table| table.iter()) {
        if let Some(place) = functions.get_mut(function_names::function_number(name.as_bytes()) as usize) {
            *place = Some(*function);
        }
    }
    functions
});

/// Returns the implementations of all functions, indexed by function number, for an evaluator.
#[inline]
pub(crate) fn function_table() -> FunctionTable {
    &FUNCTIONS_BY_NUMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_function_and_every_function_a_name() {
        assert!((0..function_names::FUNCTION_COUNT).all(|number| function_table()[number].is_some()));
        assert!(function_table().get(function_names::UNKNOWN_FUNCTION as usize).is_none());
        let names: usize = FUNCTIONS_BY_SUBJECT.iter().map(|table| table.len()).sum();
        assert_eq!(names, function_names::FUNCTION_COUNT);
    }
}
