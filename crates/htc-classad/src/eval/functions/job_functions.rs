//! Functions on arguments, environments and accounts (reference: compat_classad.cpp).

use bstr::ByteSlice;

use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::text::arguments;
use crate::text::environment::Environment;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("argsToList", args_to_list),
    ("listToArgs", list_to_args),
    ("envV1ToV2", env_v1_to_v2),
    ("mergeEnvironment", merge_environment),
    ("userHome", user_home),
    ("userMap", user_map),
];

/// Returns the version of the quoting syntax, 1 or 2, from the second argument. Returns `Ok(None)` if the argument is
/// invalid.
fn quoting_version(call: &mut FunctionCall<'_, '_>) -> Result<Option<i64>, EvalFailure> {
    Ok(match call.argument_count() {
        1 => Some(2),
        2 => match call.eval_argument(1)? {
            // The number is truncated to 32 bits, as in the reference.
            ComputedValue::Int(version) if matches!(version as i32, 1 | 2) => Some(i64::from(version as i32)),
            _ => None,
        },
        _ => None,
    })
}

fn args_to_list<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some(version) = quoting_version(call)? else { return Ok(ComputedValue::Error) };
    let ComputedValue::Str(text) = call.eval_argument(0)? else { return Ok(ComputedValue::Error) };
    let words = match version {
        1 => arguments::parse_v1_raw(text),
        _ => match arguments::parse_v2_raw(text) {
            Ok(words) => words,
            Err(_) => return Ok(ComputedValue::Error),
        },
    };
    let words: Result<Vec<_>, EvalFailure> = words.into_iter().map(|word| call.make_string(word)).collect();
    call.make_list(words?, true)
}

fn list_to_args<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some(version) = quoting_version(call)? else { return Ok(ComputedValue::Error) };
    let ComputedValue::List(list) = call.eval_argument(0)? else { return Ok(ComputedValue::Error) };
    let mut words = Vec::with_capacity(list.len());
    for at in 0..list.len() {
        match call.eval_element(list, at)? {
            ComputedValue::Str(word) => words.push(word),
            _ => return Ok(ComputedValue::Error),
        }
    }
    let text = match version {
        1 => match arguments::join_v1_raw(words) {
            Ok(text) => text,
            Err(_) => return Ok(ComputedValue::Error),
        },
        _ => arguments::join_v2_raw(words),
    };
    call.make_string(text)
}

fn env_v1_to_v2<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let text = match value {
        ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
        ComputedValue::Str(text) => text,
        _ => return Ok(ComputedValue::Error),
    };
    let mut environment = Environment::new();
    match environment.merge_v1(text, None) {
        Ok(()) => call.make_string(environment.to_v2_raw()),
        Err(_) => Ok(ComputedValue::Error),
    }
}

fn merge_environment<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let mut environment = Environment::new();
    for argument in 0..call.argument_count() {
        match call.eval_argument(argument)? {
            ComputedValue::Undefined => {}
            ComputedValue::Str(text) if environment.merge_v2_raw(text).is_ok() => {}
            _ => return Ok(ComputedValue::Error),
        }
    }
    call.make_string(environment.to_v2_raw())
}

/// Implements `userHome()`, which returns the home directory of an account.
fn user_home<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() != 1 && call.argument_count() != 2 {
        return Err(EvalFailure);
    }
    // If an argument cannot be evaluated, the failure is ignored, as in the reference.
    let default: &'a [u8] = match call.eval_argument(1) {
        Ok(ComputedValue::Str(default)) if call.argument_count() == 2 => default,
        _ => b"",
    };
    let owner = call.eval_argument(0).unwrap_or(ComputedValue::Undefined);
    let otherwise = |answer| if default.is_empty() { answer } else { ComputedValue::Str(default) };
    match owner {
        ComputedValue::Str(owner) => match call.world().home(owner) {
            Some(home) => call.make_string(home),
            None => Ok(otherwise(ComputedValue::Undefined)),
        },
        ComputedValue::Undefined => Ok(otherwise(ComputedValue::Undefined)),
        _ => Ok(otherwise(ComputedValue::Error)),
    }
}

/// Implements `userMap()`, which returns the groups of a user from a user map of the configuration: all groups or,
/// with a third argument, the preferred group.
fn user_map<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if !(2..=4).contains(&count) {
        return Ok(ComputedValue::Error);
    }
    let (map, user) = (call.eval_argument(0)?, call.eval_argument(1)?);
    let preferred = if count >= 3 { call.eval_argument(2)? } else { ComputedValue::Undefined };
    let default = if count == 4 { call.eval_argument(3)? } else { ComputedValue::Undefined };
    let (ComputedValue::Str(map), ComputedValue::Str(user)) = (map, user) else {
        return Ok(if map.is_error() || user.is_error() { ComputedValue::Error } else { default });
    };
    let groups = call.world().user_maps().map(|maps| maps.look_up(map, user));
    let Some(Ok(groups)) = groups else { return Ok(default) };
    if count == 2 {
        return call.make_string(groups);
    }
    let wanted = match preferred {
        ComputedValue::Str(wanted) => wanted,
        _ => b"",
    };
    let mut items = groups.split_str(",").map(trim_space).filter(|item| !item.is_empty());
    let first = items.clone().next();
    match items.find(|item| item.eq_ignore_ascii_case(wanted)).or(first) {
        Some(item) => call.make_string(item),
        None => Ok(default),
    }
}

/// Removes white space at both ends of a text, as C's `isspace` defines it.
fn trim_space(text: &[u8]) -> &[u8] {
    text.trim_with(|letter| matches!(letter, ' ' | '\t'..='\r'))
}
