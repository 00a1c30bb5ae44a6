//! Arguments, environments and accounts (reference: compat_classad.cpp).

use bstr::ByteSlice;

use crate::eval::computed::{Computed, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::text::arguments;
use crate::text::environment::Environment;

pub(super) const TABLE: &[Entry] = &[
    ("argsToList", args_to_list),
    ("listToArgs", list_to_args),
    ("envV1ToV2", env_v1_to_v2),
    ("mergeEnvironment", merge_environment),
    ("userHome", user_home),
    ("userMap", user_map),
];

/// The quoting language, 1 or 2, that the second argument names. `Ok(None)`: an error.
fn version(call: &mut Call<'_, '_>) -> Result<Option<i64>, Failure> {
    Ok(match call.count() {
        1 => Some(2),
        2 => match call.value(1)? {
            // Cut to 32 bits, as the reference takes it.
            Computed::Int(version) if matches!(version as i32, 1 | 2) => Some(i64::from(version as i32)),
            _ => None,
        },
        _ => None,
    })
}

fn args_to_list<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some(version) = version(call)? else { return Ok(Computed::Error) };
    let Computed::Str(text) = call.value(0)? else { return Ok(Computed::Error) };
    let words = match version {
        1 => arguments::parse_v1_raw(text),
        _ => match arguments::parse_v2_raw(text) {
            Ok(words) => words,
            Err(_) => return Ok(Computed::Error),
        },
    };
    let words: Result<Vec<_>, Failure> = words.into_iter().map(|word| call.text(word)).collect();
    call.list(words?, true)
}

fn list_to_args<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some(version) = version(call)? else { return Ok(Computed::Error) };
    let Computed::List(list) = call.value(0)? else { return Ok(Computed::Error) };
    let mut words = Vec::with_capacity(list.len());
    for at in 0..list.len() {
        match call.element(list, at)? {
            Computed::Str(word) => words.push(word),
            _ => return Ok(Computed::Error),
        }
    }
    let text = match version {
        1 => match arguments::join_v1_raw(words) {
            Ok(text) => text,
            Err(_) => return Ok(Computed::Error),
        },
        _ => arguments::join_v2_raw(words),
    };
    call.text(text)
}

fn env_v1_to_v2<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let text = match value {
        Computed::Undefined => return Ok(Computed::Undefined),
        Computed::Str(text) => text,
        _ => return Ok(Computed::Error),
    };
    let mut environment = Environment::new();
    match environment.merge_v1(text, None) {
        Ok(()) => call.text(environment.to_v2_raw()),
        Err(_) => Ok(Computed::Error),
    }
}

fn merge_environment<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let mut environment = Environment::new();
    for argument in 0..call.count() {
        match call.value(argument)? {
            Computed::Undefined => {}
            Computed::Str(text) if environment.merge_v2_raw(text).is_ok() => {}
            _ => return Ok(Computed::Error),
        }
    }
    call.text(environment.to_v2_raw())
}

/// The home directory of an account.
fn user_home<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() != 1 && call.count() != 2 {
        return Err(Failure);
    }
    // Failures of the arguments are passed over, as in the reference.
    let default: &'a [u8] = match call.value(1) {
        Ok(Computed::Str(default)) if call.count() == 2 => default,
        _ => b"",
    };
    let owner = call.value(0).unwrap_or(Computed::Undefined);
    let otherwise = |answer| if default.is_empty() { answer } else { Computed::Str(default) };
    match owner {
        Computed::Str(owner) => match call.world().home(owner) {
            Some(home) => call.text(home),
            None => Ok(otherwise(Computed::Undefined)),
        },
        Computed::Undefined => Ok(otherwise(Computed::Undefined)),
        _ => Ok(otherwise(Computed::Error)),
    }
}

/// The groups of a user by a map of the configuration: all of them, or with a third argument the one that is preferred.
fn user_map<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if !(2..=4).contains(&count) {
        return Ok(Computed::Error);
    }
    let (map, user) = (call.value(0)?, call.value(1)?);
    let preferred = if count >= 3 { call.value(2)? } else { Computed::Undefined };
    let default = if count == 4 { call.value(3)? } else { Computed::Undefined };
    let (Computed::Str(map), Computed::Str(user)) = (map, user) else {
        return Ok(if map.is_error() || user.is_error() { Computed::Error } else { default });
    };
    let groups = call.world().user_maps().map(|maps| maps.look_up(map, user));
    let Some(Ok(groups)) = groups else { return Ok(default) };
    if count == 2 {
        return call.text(groups);
    }
    let wanted = match preferred {
        Computed::Str(wanted) => wanted,
        _ => b"",
    };
    let mut items = groups.split_str(",").map(trim_space).filter(|item| !item.is_empty());
    let first = items.clone().next();
    match items.find(|item| item.eq_ignore_ascii_case(wanted)).or(first) {
        Some(item) => call.text(item),
        None => Ok(default),
    }
}

/// Without the white space of C at either end.
fn trim_space(text: &[u8]) -> &[u8] {
    text.trim_with(|letter| matches!(letter, ' ' | '\t'..='\r'))
}
