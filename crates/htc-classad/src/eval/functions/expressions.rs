//! Functions on expressions instead of values (reference: fnCall.cpp, compat_classad.cpp).

use crate::ad::unparse::{self, UnparseForm};
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult, ListItems};
use crate::eval::evaluator::EvalScopes;
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::eval::reference_walk;
use crate::eval::scope::{AdRef, AdScope};
use crate::regex::{RegexOptions, SearchOptions};
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{ABSOLUTE_BASE, NO_BASE};
use crate::text::caseless;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("eval", eval),
    ("unparse", unparse),
    ("unresolved", unresolved),
    ("debug", |call| Ok(call.eval_arguments()?.map_or(ComputedValue::Error, |[value]| value))),
    ("evalInEachContext", eval_in_each_context),
    ("countMatches", count_matches),
];

fn eval<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let Some(text) = value.to_text() else { return Ok(ComputedValue::Error) };
    let scope = call.evaluator.current_scope(call.at);
    call.evaluator.with_deeper_level(|evaluator| {
        let Ok(expr) = Expr::parse_with(&text, evaluator.dialect()) else { return Ok(ComputedValue::Error) };
        match expr.0 {
            ExprRepr::Scalar(Scalar::Str(text)) => {
                evaluator.arena.add_text(text.into()).map(ComputedValue::Str).ok_or(EvalFailure)
            }
            ExprRepr::Scalar(scalar) => Ok(scalar.map(|_| &b""[..]).into()),
            ExprRepr::Node(tree, root) => {
                let tree = evaluator.arena.add_tree(tree).ok_or(EvalFailure)?;
                evaluator.eval(tree, root, EvalScopes::from_scope(scope))
            }
        }
    })
}

/// Returns the expression of the attribute that the argument names, in the pretty form. The name is looked up as text
/// in the current ad.
fn unparse<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() != 1 || call.argument_reference(0).is_none() {
        return Ok(ComputedValue::Error);
    }
    let mut name = Vec::new();
    unparse::push_node(call.tree, call.arguments[0], UnparseForm::New, &mut name);
    let mut text = Vec::new();
    if let Some(AdScope { ad: ad @ (AdRef::Own(_) | AdRef::Literal { .. }), .. }) =
        call.evaluator.current_scope(call.at)
    {
        match ad.find(NameLookup::new(&name)) {
            Some(Binding::Attribute { owner, slot }) => {
                unparse::push_stored_value(owner, slot, UnparseForm::Pretty, &mut text)
            }
            Some(Binding::NestedAttribute { tree, id, .. }) => {
                unparse::push_node(tree, id, UnparseForm::Pretty, &mut text)
            }
            _ => {}
        }
    }
    call.make_string(text)
}

/// Returns the external references of the expression of an attribute. With a pattern as second argument, returns true
/// if a reference matches the pattern (reference: `hasRefs`).
fn unresolved<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if !matches!(call.argument_count(), 1 | 2) || call.argument_reference(0).is_none() {
        return Ok(ComputedValue::Error);
    }
    let Some((bound, scope)) = dereference(call, 0)? else { return Ok(ComputedValue::Undefined) };
    let pattern = match call.argument_count() {
        1 => None,
        _ => match call.eval_argument(1)? {
            ComputedValue::Str(pattern) => match call.regexes().get(pattern, RegexOptions::CASELESS) {
                Some(regex) => Some(regex),
                None => return Ok(ComputedValue::Error),
            },
            _ => return Err(EvalFailure),
        },
    };
    // If the references cannot be determined, the list is empty.
    let names = reference_walk::external_references_of(call.evaluator, bound, scope).unwrap_or_default();
    let names = names.iter().map(|name| {
        let name = name.as_bytes();
        if caseless::starts_with(name, b"target.") { &name[7..] } else { name }
    });
    match pattern {
        None => call.make_string(names.collect::<Vec<_>>().join(&b',')),
        Some(regex) => {
            let search = SearchOptions { start: 0, anchored_not_empty: false, not_empty: true };
            let found = |name: &[u8]| matches!(regex.captures(name, search), Ok(Some(_)));
            Ok(ComputedValue::Bool(names.into_iter().any(found)))
        }
    }
}

/// Expression that is evaluated in each ad: the argument as written, or the expression to which a reference is bound.
#[derive(Clone, Copy)]
enum ContextOperand<'a> {
    Argument,
    Bound(Binding<'a>),
}

/// Returns the object to which an argument is bound if the argument is a reference, or `None` if it is not or its name
/// is not found. The evaluation then continues in the ad where the search ended.
fn dereference<'a>(
    call: &mut FunctionCall<'_, 'a>,
    argument: usize,
) -> Result<Option<(Binding<'a>, &'a AdScope<'a>)>, EvalFailure> {
    let Some((base, name)) = call.argument_reference(argument) else { return Ok(None) };
    let wanted = NameLookup::from_tree(call.tree, name);
    let start = match base {
        NO_BASE => call.evaluator.current_scope(call.at),
        ABSOLUTE_BASE => call.evaluator.root_scope(),
        base => match call.evaluator.eval(call.tree, base, call.at)? {
            ComputedValue::Ad(scope) => Some(scope),
            // A selection from a list has its value at once, and does not refer to another ad.
            list @ ComputedValue::List(_) => {
                let value = call.evaluator.select_attribute(list, wanted, call.at)?;
                return Ok(call.at.current.map(|current| (Binding::Value(value), current)));
            }
            _ => None,
        },
    };
    let Some(start) = start else { return Ok(None) };
    let found = match base {
        NO_BASE => call.evaluator.resolve_name(wanted, call.at)?,
        _ => call.evaluator.look_up(start, wanted)?,
    };
    let end = found.map_or_else(|| call.evaluator.last_searched_scope(start), |(_, scope)| scope);
    call.evaluator.redirect_lookups(end);
    Ok(found)
}

/// Returns the list of ads. If the argument is not a list, returns the value of the whole function call as `Err`.
fn context_list<'a>(call: &mut FunctionCall<'_, 'a>) -> Result<&'a ComputedList<'a>, ComputedValue<'a>> {
    match call.eval_argument(1) {
        Ok(ComputedValue::List(list)) => Ok(list),
        Ok(ComputedValue::Undefined) => Err(ComputedValue::Undefined),
        _ => Err(ComputedValue::Error),
    }
}

fn context_operand<'a>(call: &mut FunctionCall<'_, 'a>) -> ContextOperand<'a> {
    match dereference(call, 0) {
        Ok(Some((bound, _))) => ContextOperand::Bound(bound),
        _ => ContextOperand::Argument,
    }
}

/// Evaluates the operand in one element of the list, with new limits on steps and depth. If the evaluation fails, the
/// value is error.
fn eval_in_context<'a>(
    call: &mut FunctionCall<'_, 'a>,
    operand: ContextOperand<'a>,
    list: &ComputedList<'a>,
    element: usize,
) -> ComputedValue<'a> {
    let scope = match call.eval_element(list, element) {
        Ok(ComputedValue::Ad(scope)) => scope,
        Ok(ComputedValue::Undefined) => return ComputedValue::Undefined,
        _ => return ComputedValue::Error,
    };
    let (tree, id, written) = (call.tree, call.arguments[0], call.at.written_in);
    call.evaluator
        .eval_in_nested_ad(scope, |evaluator| match operand {
            ContextOperand::Argument => {
                evaluator.eval(tree, id, EvalScopes { current: Some(scope), written_in: written })
            }
            ContextOperand::Bound(bound) => evaluator.eval_binding_fresh(bound, scope),
        })
        .unwrap_or(ComputedValue::Error)
}

fn eval_in_each_context<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() != 2 {
        return Ok(ComputedValue::Error);
    }
    let operand = context_operand(call);
    let list = match context_list(call) {
        Ok(list) => list,
        Err(answer) => return Ok(answer),
    };
    let mut values = Vec::with_capacity(list.len());
    for element in 0..list.len() {
        let value = eval_in_context(call, operand, list, element);
        // Lists and ads are copied, so that they have no enclosing ads.
        values.push(match value {
            ComputedValue::Ad(scope) => call
                .evaluator
                .arena
                .add_scope(AdScope { ad: scope.ad, parent: None, detached: false })
                .map(ComputedValue::Ad)
                .ok_or(EvalFailure)?,
            ComputedValue::List(list) => {
                let copy = ComputedList { scope: None, shared: false, detached: false, ..*list };
                call.evaluator.arena.add_list(copy).map(ComputedValue::List).ok_or(EvalFailure)?
            }
            value => value.as_literal(),
        });
    }
    let items = ListItems::Values(call.evaluator.arena.add_items(values).ok_or(EvalFailure)?);
    let list = ComputedList { items, scope: None, shared: true, detached: false };
    call.evaluator.arena.add_list(list).map(ComputedValue::List).ok_or(EvalFailure)
}

fn count_matches<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() != 2 {
        return Ok(ComputedValue::Error);
    }
    let operand = context_operand(call);
    let list = match context_list(call) {
        Ok(list) => list,
        Err(ComputedValue::Undefined) => return Ok(ComputedValue::Int(0)),
        Err(answer) => return Ok(answer),
    };
    let mut count = 0;
    for element in 0..list.len() {
        if eval_in_context(call, operand, list, element).truth() == Some(true) {
            count += 1;
        }
    }
    Ok(ComputedValue::Int(count))
}
