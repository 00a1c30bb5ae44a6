//! The names and literals that stand in an expression, whatever ads it is evaluated in.

use std::collections::BTreeSet;

use crate::syntax::AttrName;
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::tree::{ABSOLUTE, NO_BASE, Node, NodeId, Special, Tree};

/// Names of attributes: without case, sorted.
pub type Names = BTreeSet<AttrName>;

/// Meets the parts of an expression until one of them is what is looked for, and tells whether one was. `is` also says which
/// parts are met behind the one that it is shown.
pub(crate) fn any(expr: &Expr, mut is: impl FnMut(&Tree, NodeId, &mut Vec<NodeId>) -> bool) -> bool {
    let Repr::Node(tree, root) = &expr.0 else { return false };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        if is(tree, id, &mut todo) {
            return true;
        }
    }
    false
}

/// Collects what the parts of an expression give.
fn collect(expr: &Expr, mut part: impl FnMut(&Tree, NodeId, &mut Vec<NodeId>, &mut Names)) -> Names {
    let mut names = Names::new();
    any(expr, |tree, id, todo| {
        part(tree, id, todo, &mut names);
        false
    });
    names
}

/// Whether a base says in which ad a name is looked up: `MY`, `TARGET`, `self`.
fn is_scope(tree: &Tree, base: NodeId) -> bool {
    let scopes = [Special::My, Special::Target, Special::SelfAd];
    matches!(tree.reference(base), Some((NO_BASE, name)) if scopes.contains(&tree.name(name).special))
}

/// The attributes that an expression mentions, whatever ad they would be found in. `MY.x`, `TARGET.x` and `x` all
/// mention `x`; of any other `a.x` it is `a` that counts.
///
/// ```
/// use htc_classad::{Expr, references};
/// let expr = Expr::parse(b"TARGET.Memory > RequestMemory && Machine.Cpus > 1").unwrap();
/// let names: Vec<_> = references::of(&expr).iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["Machine", "Memory", "RequestMemory"]);
/// ```
pub fn of(expr: &Expr) -> Names {
    collect(expr, |tree, id, todo, names| match tree.reference(id) {
        Some((NO_BASE | ABSOLUTE, name)) => {
            if matches!(tree.name(name).special, Special::None | Special::CurrentTime) {
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

/// Every name in an expression, wherever it stands: a selection from an ad may find its name in the ads around.
pub fn every(expr: &Expr) -> Names {
    collect(expr, |tree, id, todo, names| {
        if let Some((_, name)) = tree.reference(id) {
            names.insert(tree.name_bytes(name).into());
        }
        tree.children(id, todo);
    })
}

/// Whether an expression may look at attributes that it does not name: through `eval()`, or through an ad as a whole, as
/// in `MY["x"]` and `size(self)`.
pub fn is_open(expr: &Expr) -> bool {
    any(expr, |tree, id, todo| {
        match (tree.reference(id), tree.node(id)) {
            (Some((NO_BASE | ABSOLUTE, name)), _) => {
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

/// The attributes that the condor tools fetch for an expression (reference: `GetAttrsAndScopes`): of `a.x` both names, of
/// longer selections those of their base.
pub fn projection(expr: &Expr) -> Names {
    collect(expr, |tree, id, todo, names| match tree.reference(id) {
        Some((NO_BASE | ABSOLUTE, name)) => {
            names.insert(tree.name_bytes(name).into());
        }
        Some((base, name)) => match tree.reference(base) {
            Some((NO_BASE | ABSOLUTE, scope)) => {
                names.extend([name, scope].map(|name| tree.name_bytes(name).into()));
            }
            _ => todo.push(base),
        },
        None => tree.children(id, todo),
    })
}
