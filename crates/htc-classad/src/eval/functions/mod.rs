//! The functions of the language (fnCall.cpp).
//!
//! A function is a Rust function that is handed a [`Call`](crate::eval::evaluator::Call): its arguments not yet evaluated, the place they stand in,
//! and the evaluator. It evaluates what it needs, in the order it wants, and gives a value; `Err(Failure)` means that
//! the whole evaluation fails (`ExprTree::Evaluate`, exprTree.cpp), which few functions do. An argument's failure is passed on with `?`.
//! Texts, lists and ads that a function makes are given to the evaluation's arena: `Call::text`, `Call::list`,
//! `Call::ad`. Each file of this room has one subject and a table of its own, which [`TABLES`] collects:
//!
//! ```text
//! pub(super) const TABLE: &[Entry] = &[("isUndefined", |call| call.test(|value| value.is_undefined()))];
//! ```

mod conversions;
mod expressions;
mod jobs;
mod lists;
mod math;
mod patterns;
mod string_lists;
mod strings;
mod substitute;
mod times;
mod tokens;
mod types;
mod versions;

use std::sync::LazyLock;

use crate::eval::evaluator::{Entry, Function, Functions};
use crate::syntax::function_names;

/// All functions by subject.
const TABLES: &[&[Entry]] = &[
    conversions::TABLE,
    expressions::TABLE,
    jobs::TABLE,
    lists::TABLE,
    math::TABLE,
    patterns::TABLE,
    string_lists::TABLE,
    strings::TABLE,
    times::TABLE,
    types::TABLE,
];

static BY_NUMBER: LazyLock<Vec<Option<Function>>> = LazyLock::new(|| {
    let mut functions = vec![None; function_names::COUNT];
    for (name, function) in TABLES.iter().flat_map(|table| table.iter()) {
        if let Some(place) = functions.get_mut(function_names::number(name.as_bytes()) as usize) {
            *place = Some(*function);
        }
    }
    functions
});

/// What each function does, by its number: what an evaluator is given.
#[inline]
pub(crate) fn all() -> Functions {
    &BY_NUMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_function_and_every_function_a_name() {
        assert!((0..function_names::COUNT).all(|number| all()[number].is_some()));
        assert!(all().get(function_names::UNKNOWN as usize).is_none());
        let names: usize = TABLES.iter().map(|table| table.len()).sum();
        assert_eq!(names, function_names::COUNT);
    }
}
