//! Functions that take expressions rather than values (reference: fnCall.cpp, compat_classad.cpp).

use crate::ad::unparse::{self, Form};
use crate::eval::binding::{Bound, Wanted};
use crate::eval::computed::{Computed, ComputedList, Evaluated, Failure, Items};
use crate::eval::evaluator::At;
use crate::eval::evaluator::{Call, Entry};
use crate::eval::scope::{AdRef, Scope};
use crate::eval::walk;
use crate::regex::{Options, Search};
use crate::syntax::Expr;
use crate::syntax::expr::Repr;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{ABSOLUTE, NO_BASE};
use crate::text::caseless;

pub(super) const TABLE: &[Entry] = &[
    ("eval", eval),
    ("unparse", unparse),
    ("unresolved", unresolved),
    ("debug", |call| Ok(call.values()?.map_or(Computed::Error, |[value]| value))),
    ("evalInEachContext", eval_in_each_context),
    ("countMatches", count_matches),
];

fn eval<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let Some(text) = value.to_text() else { return Ok(Computed::Error) };
    let scope = call.evaluator.current(call.at);
    call.evaluator.deeper(|evaluator| {
        let Ok(expr) = Expr::parse_with(&text, evaluator.dialect()) else { return Ok(Computed::Error) };
        match expr.0 {
            Repr::Scalar(Scalar::Str(text)) => {
                evaluator.arena.text(text.into()).map(Computed::Str).ok_or(Failure)
            }
            Repr::Scalar(scalar) => Ok(scalar.map(|_| &b""[..]).into()),
            Repr::Node(tree, root) => {
                let tree = evaluator.arena.tree(tree).ok_or(Failure)?;
                evaluator.eval(tree, root, At::scope(scope))
            }
        }
    })
}

/// The pretty form of the expression that a name of the current ad is bound to; the name is looked up as text.
fn unparse<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() != 1 || call.reference(0).is_none() {
        return Ok(Computed::Error);
    }
    let mut name = Vec::new();
    unparse::node(call.tree, call.arguments[0], Form::New, &mut name);
    let mut text = Vec::new();
    if let Some(Scope { ad: ad @ (AdRef::Own(_) | AdRef::Literal { .. }), .. }) =
        call.evaluator.current(call.at)
    {
        match ad.find(Wanted::new(&name)) {
            Some(Bound::Slot { owner, slot }) => unparse::slot(owner, slot, Form::Pretty, &mut text),
            Some(Bound::Node { tree, id, .. }) => unparse::node(tree, id, Form::Pretty, &mut text),
            _ => {}
        }
    }
    call.text(text)
}

/// The names that what an attribute is bound to needs from elsewhere, or whether a pattern matches one of them
/// (reference: `hasRefs`).
fn unresolved<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if !matches!(call.count(), 1 | 2) || call.reference(0).is_none() {
        return Ok(Computed::Error);
    }
    let Some((bound, scope)) = dereference(call, 0)? else { return Ok(Computed::Undefined) };
    let pattern = match call.count() {
        1 => None,
        _ => match call.value(1)? {
            Computed::Str(pattern) => match call.regexes().get(pattern, Options::CASELESS) {
                Some(regex) => Some(regex),
                None => return Ok(Computed::Error),
            },
            _ => return Err(Failure),
        },
    };
    // References that cannot be told are none.
    let names = walk::external_of(call.evaluator, bound, scope).unwrap_or_default();
    let names = names.iter().map(|name| {
        let name = name.as_bytes();
        if caseless::starts_with(name, b"target.") { &name[7..] } else { name }
    });
    match pattern {
        None => call.text(names.collect::<Vec<_>>().join(&b',')),
        Some(regex) => {
            let search = Search { start: 0, anchored_not_empty: false, not_empty: true };
            let found = |name: &[u8]| matches!(regex.captures(name, search), Ok(Some(_)));
            Ok(Computed::Bool(names.into_iter().any(found)))
        }
    }
}

/// What is evaluated in each ad: the argument as it stands, or what it is bound to.
#[derive(Clone, Copy)]
enum Operand<'a> {
    Argument,
    Bound(Bound<'a>),
}

/// What a reference is bound to, seen from where it stands; none where nothing is. The evaluation goes on from the ad
/// where the search ended.
fn dereference<'a>(
    call: &mut Call<'_, 'a>,
    argument: usize,
) -> Result<Option<(Bound<'a>, &'a Scope<'a>)>, Failure> {
    let Some((base, name)) = call.reference(argument) else { return Ok(None) };
    let wanted = Wanted::of(call.tree, name);
    let start = match base {
        NO_BASE => call.evaluator.current(call.at),
        ABSOLUTE => call.evaluator.root(),
        base => match call.evaluator.eval(call.tree, base, call.at)? {
            Computed::Ad(scope) => Some(scope),
            // What is selected from a list is found already, and in no other ad.
            list @ Computed::List(_) => {
                let value = call.evaluator.select(list, wanted, call.at)?;
                return Ok(call.at.current.map(|current| (Bound::Value(value), current)));
            }
            _ => None,
        },
    };
    let Some(start) = start else { return Ok(None) };
    let found = match base {
        NO_BASE => call.evaluator.resolve(wanted, call.at)?,
        _ => call.evaluator.look_up(start, wanted)?,
    };
    let end = found.map_or_else(|| call.evaluator.last_searched(start), |(_, scope)| scope);
    call.evaluator.stray(end);
    Ok(found)
}

/// The list of ads; or the answer where there is none.
fn contexts<'a>(call: &mut Call<'_, 'a>) -> Result<&'a ComputedList<'a>, Computed<'a>> {
    match call.value(1) {
        Ok(Computed::List(list)) => Ok(list),
        Ok(Computed::Undefined) => Err(Computed::Undefined),
        _ => Err(Computed::Error),
    }
}

fn operand<'a>(call: &mut Call<'_, 'a>) -> Operand<'a> {
    match dereference(call, 0) {
        Ok(Some((bound, _))) => Operand::Bound(bound),
        _ => Operand::Argument,
    }
}

/// Evaluates the operand in one element of the list, with budgets of its own. A failure is an error.
fn in_context<'a>(
    call: &mut Call<'_, 'a>,
    operand: Operand<'a>,
    list: &ComputedList<'a>,
    element: usize,
) -> Computed<'a> {
    let scope = match call.element(list, element) {
        Ok(Computed::Ad(scope)) => scope,
        Ok(Computed::Undefined) => return Computed::Undefined,
        _ => return Computed::Error,
    };
    let (tree, id, written) = (call.tree, call.arguments[0], call.at.written);
    call.evaluator
        .within(scope, |evaluator| match operand {
            Operand::Argument => evaluator.eval(tree, id, At { current: Some(scope), written }),
            Operand::Bound(bound) => evaluator.eval_bound_fresh(bound, scope),
        })
        .unwrap_or(Computed::Error)
}

fn eval_in_each_context<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() != 2 {
        return Ok(Computed::Error);
    }
    let operand = operand(call);
    let list = match contexts(call) {
        Ok(list) => list,
        Err(answer) => return Ok(answer),
    };
    let mut values = Vec::with_capacity(list.len());
    for element in 0..list.len() {
        let value = in_context(call, operand, list, element);
        // Lists and ads are copied out of the ad they stand in.
        values.push(match value {
            Computed::Ad(scope) => call
                .evaluator
                .arena
                .scope(Scope { ad: scope.ad, parent: None, detached: false })
                .map(Computed::Ad)
                .ok_or(Failure)?,
            Computed::List(list) => {
                let copy = ComputedList { scope: None, shared: false, detached: false, ..*list };
                call.evaluator.arena.list(copy).map(Computed::List).ok_or(Failure)?
            }
            value => value.as_literal(),
        });
    }
    let items = Items::Values(call.evaluator.arena.items(values).ok_or(Failure)?);
    let list = ComputedList { items, scope: None, shared: true, detached: false };
    call.evaluator.arena.list(list).map(Computed::List).ok_or(Failure)
}

fn count_matches<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() != 2 {
        return Ok(Computed::Error);
    }
    let operand = operand(call);
    let list = match contexts(call) {
        Ok(list) => list,
        Err(Computed::Undefined) => return Ok(Computed::Int(0)),
        Err(answer) => return Ok(answer),
    };
    let mut count = 0;
    for element in 0..list.len() {
        if in_context(call, operand, list, element).truth() == Some(true) {
            count += 1;
        }
    }
    Ok(Computed::Int(count))
}
