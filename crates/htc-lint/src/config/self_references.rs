//! Attributes whose values refer to themselves.

use htc_base::text::{caseless, unqualified_name};
use htc_classad::Expr;
use htc_config::registry::{self, ExpressionScope, RegisteredParameter};

use super::expression_parts::{for_each_part, reference_name, reference_scope};

/// Returns the first reference to itself in the value of a parameter that is published as an attribute with the same
/// name.
pub(super) fn find_self_reference(
    name: &[u8],
    parameter: Option<&RegisteredParameter>,
    expr: &Expr,
) -> Option<Expr> {
    let bare = registry::strip_slot_prefix(unqualified_name(name));
    // A name that is not a parameter is an advertised attribute.
    let is_attribute = parameter
        .is_none_or(|parameter| parameter.scope() == Some(ExpressionScope::Slot) && !parameter.is_family());
    if !is_attribute || expr.without_parentheses().is_reference() {
        return None;
    }
    let mut found = None;
    for_each_part(expr, &mut |part| {
        let is_itself = reference_name(part).is_some_and(|name| caseless::eq(&name, bare));
        if is_itself && found.is_none() && !reference_scope(part).eq_ignore_ascii_case(b"TARGET") {
            found = Some(part.clone());
        }
    });
    found
}
