//! Names and literals that occur in an expression, without regard to the ads in which it is evaluated.

use std::collections::BTreeSet;

use crate::syntax::AttrName;
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{ABSOLUTE_BASE, ExprTree, NO_BASE, Node, NodeId, SpecialName};

/// Sorted set of attribute names, compared case-insensitively.
///
/// ```
/// use htc_classad::{Expr, references};
/// let names: references::AttrNames = references::mentioned_attributes(&Expr::parse("B > a && A < 3").unwrap());
/// assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["A", "B"]);
/// ```
pub type AttrNames = BTreeSet<AttrName>;

/// Calls `is` for the nodes of an expression until it returns true. Returns true if a call returned true. `is`
/// appends those parts of its node that are to be visited as well.
pub(crate) fn any_node(expr: &Expr, mut is: impl FnMut(&ExprTree, NodeId, &mut Vec<NodeId>) -> bool) -> bool {
    let ExprRepr::Node(tree, root) = &expr.0 else { return false };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        if is(tree, id, &mut todo) {
            return true;
        }
    }
    false
}

/// Collects names from the nodes of an expression. `part` adds names and appends those parts of its node that are to
/// be visited.
fn collect_names(
    expr: &Expr,
    mut part: impl FnMut(&ExprTree, NodeId, &mut Vec<NodeId>, &mut AttrNames),
) -> AttrNames {
    let mut names = AttrNames::new();
    any_node(expr, |tree, id, todo| {
        part(tree, id, todo, &mut names);
        false
    });
    names
}

/// Returns true if a base is only a scope: `MY`, `TARGET` or `self`.
fn is_scope(tree: &ExprTree, base: NodeId) -> bool {
    let scopes = [SpecialName::My, SpecialName::Target, SpecialName::SelfAd];
    matches!(tree.as_reference(base), Some((NO_BASE, name)) if scopes.contains(&tree.name_info(name).special))
}

/// Returns the attributes that an expression mentions, regardless of the ad in which they would be found. `MY.x`,
/// `TARGET.x` and `x` all mention `x`; `a.x` with any other base mentions `a`.
///
/// ```
/// use htc_classad::{Expr, references};
/// let expr = Expr::parse(b"TARGET.Memory > RequestMemory && Machine.Cpus > 1").unwrap();
/// let names: Vec<_> = references::mentioned_attributes(&expr).iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["Machine", "Memory", "RequestMemory"]);
/// ```
pub fn mentioned_attributes(expr: &Expr) -> AttrNames {
    collect_names(expr, |tree, id, todo, names| match tree.as_reference(id) {
        Some((NO_BASE | ABSOLUTE_BASE, name)) => {
            if matches!(tree.name_info(name).special, SpecialName::None | SpecialName::CurrentTime) {
                names.insert(tree.name_bytes(name).into());
            }
        }
        Some((base, name)) if is_scope(tree, base) => {
            names.insert(tree.name_bytes(name).into());
        }
        Some((base, _)) => todo.push(base),
        None => tree.children(id, todo),
    })
}

/// Returns every name in an expression, including the names of selections: `a.x` may find `x` in the ads that enclose
/// `a`.
///
/// ```
/// use htc_classad::{Expr, references};
/// let names = references::all_names(&Expr::parse("TARGET.Machine == Host").unwrap());
/// assert!(names.contains(&"machine".into()) && names.contains(&"Host".into()));
/// ```
pub fn all_names(expr: &Expr) -> AttrNames {
    collect_names(expr, |tree, id, todo, names| {
        if let Some((_, name)) = tree.as_reference(id) {
            names.insert(tree.name_bytes(name).into());
        }
        tree.children(id, todo);
    })
}

/// Returns true if an expression may read attributes whose names do not occur in it: by `eval()`, or by using an ad
/// as a whole, as in `MY["x"]` and `size(self)`.
///
/// ```
/// use htc_classad::{Expr, references};
/// let can = |text: &str| references::can_read_any_attribute(&Expr::parse(text).unwrap());
/// assert!(can("eval(Text)") && !can("size(Text)"));
/// ```
pub fn can_read_any_attribute(expr: &Expr) -> bool {
    any_node(expr, |tree, id, todo| {
        match (tree.as_reference(id), tree.node(id)) {
            (Some((NO_BASE | ABSOLUTE_BASE, name)), _) => {
                let is_ad = |word: &[u8]| tree.name_bytes(name).eq_ignore_ascii_case(word);
                return [&b"my"[..], b"self", b"parent", b"root", b"toplevel"].into_iter().any(is_ad);
            }
            (Some((base, _)), _) if is_scope(tree, base) => {}
            (Some((base, _)), _) => todo.push(base),
            (None, Node::Call { name, .. }) if tree.name_bytes(name).eq_ignore_ascii_case(b"eval") => {
                return true;
            }
            (None, _) => tree.children(id, todo),
        }
        false
    })
}

/// Returns the attributes that the HTCondor tools request in order to evaluate an expression (reference:
/// `GetAttrsAndScopes`). For `a.x` these are `a` and `x`; for longer selections, the attributes for the base.
///
/// ```
/// use htc_classad::{Expr, references};
/// let names = references::projection(&Expr::parse("MY.Cpus + Limits.Max").unwrap());
/// assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Cpus", "Limits", "Max", "MY"]);
/// ```
pub fn projection(expr: &Expr) -> AttrNames {
    collect_names(expr, |tree, id, todo, names| match tree.as_reference(id) {
        Some((NO_BASE | ABSOLUTE_BASE, name)) => {
            names.insert(tree.name_bytes(name).into());
        }
        Some((base, name)) => match tree.as_reference(base) {
            Some((NO_BASE | ABSOLUTE_BASE, scope)) => {
                names.extend([name, scope].map(|name| tree.name_bytes(name).into()));
            }
            _ => todo.push(base),
        },
        None => tree.children(id, todo),
    })
}
