//! Correspondence between the routes of two routers: `convert` renames routes whose names are not valid in
//! parameter names.

use bstr::BString;

use super::comparison::RouterComparison;
use htc_base::text::caseless;
use htc_router::{Route, RouteTable};

impl RouterComparison<'_> {
    /// Returns true if a route of the first router and one of the second are the same according to their
    /// names.
    pub(super) fn is_same_route_name(&self, left: &[u8], right: &[u8]) -> bool {
        are_names_equal(left, right)
            || self.renamed_routes.iter().any(|(from, to)| from == left && to == right)
    }
}

/// Returns the indexes of the routes of both routers in the order of their names; routes of the second are
/// ordered by their names in the first.
pub(super) fn routes_in_name_order(
    left: &RouteTable,
    right: &RouteTable,
    renamed: &[(BString, BString)],
) -> [Vec<usize>; 2] {
    let name_in_left = |name: &BString| {
        let known = renamed.iter().find(|(_, to)| to == name).map(|(from, _)| from);
        let equal_name =
            || left.routes.iter().map(|route| &route.name).find(|other| are_names_equal(other, name));
        known.or_else(equal_name).unwrap_or(name).to_ascii_lowercase()
    };
    let mut order: Vec<usize> = (0..right.routes.len()).collect();
    order.sort_by_key(|&at| name_in_left(&right.routes[at].name));
    [(0..left.routes.len()).collect(), order]
}

/// Pairs, in order, the routes without a counterpart of the same name, if one of the two names is not valid
/// in a parameter name and the other is one that `convert` generates.
pub(super) fn find_renamed(left: &RouteTable, right: &RouteTable) -> Vec<(BString, BString)> {
    let unpaired_names = |table: &RouteTable, other: &RouteTable| {
        let names = table.routes_in_order().map(|(_, route)| route.name.clone());
        let is_unpaired =
            |name: &BString| !other.routes.iter().any(|route: &Route| are_names_equal(&route.name, name));
        names
            .filter(is_unpaired)
            .filter(|name| is_numbered_route_name(name) || !is_valid_parameter_name(name))
            .collect::<Vec<_>>()
    };
    let pairs = unpaired_names(left, right).into_iter().zip(unpaired_names(right, left));
    pairs.filter(|(left, right)| is_numbered_route_name(left) != is_numbered_route_name(right)).collect()
}

/// Returns true if two names are equal apart from the characters that the conversion has to replace.
fn are_names_equal(left: &[u8], right: &[u8]) -> bool {
    let plain = |byte: &u8| if byte.is_ascii_alphanumeric() { *byte } else { b'_' };
    left.len() == right.len() && left.iter().map(plain).eq(right.iter().map(plain))
}

/// Returns true if a name contains a character that is valid in a parameter name.
fn is_valid_parameter_name(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_alphanumeric)
}

/// Returns true if a name has the form `route2`.
fn is_numbered_route_name(name: &[u8]) -> bool {
    let digits = name.get(5..).unwrap_or_default();
    caseless::starts_with(name, b"route") && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
