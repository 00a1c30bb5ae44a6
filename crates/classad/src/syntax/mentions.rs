//! The names and literals that stand in an expression, whatever ads it is evaluated in.

use std::collections::BTreeSet;

use crate::syntax::expr::{self, Expr, Repr};
use crate::syntax::tree::{ABSOLUTE, NO_BASE, Node, Special};
use crate::syntax::{AttrName, Value};

/// Names of attributes: without case, sorted.
pub type Names = BTreeSet<AttrName>;

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
    let mut names = Names::new();
    let Repr::Node(tree, root) = &expr.0 else { return names };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        match tree.reference(id) {
            Some((NO_BASE | ABSOLUTE, name)) => {
                if matches!(tree.name(name).special, Special::None | Special::CurrentTime) {
                    names.insert(tree.name_bytes(name).into());
                }
            }
            Some((base, name)) => match tree.reference(base) {
                Some((NO_BASE, scope))
                    if matches!(
                        tree.name(scope).special,
                        Special::My | Special::Target | Special::SelfAd
                    ) =>
                {
                    names.insert(tree.name_bytes(name).into());
                }
                _ => todo.push(base),
            },
            None => tree.children(id, &mut todo),
        }
    }
    names
}

/// Every name in an expression, wherever it stands: a selection from an ad may find its name in the ads around.
pub fn every(expr: &Expr) -> Names {
    let mut names = Names::new();
    let Repr::Node(tree, root) = &expr.0 else { return names };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        if let Some((_, name)) = tree.reference(id) {
            names.insert(tree.name_bytes(name).into());
        }
        tree.children(id, &mut todo);
    }
    names
}

/// Whether an expression may look at attributes that it does not name: through `eval()`, or through an ad as a whole, as
/// in `MY["x"]` and `size(self)`.
pub fn is_open(expr: &Expr) -> bool {
    let Repr::Node(tree, root) = &expr.0 else { return false };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        match tree.reference(id) {
            Some((NO_BASE | ABSOLUTE, name)) => {
                let is_ad = |word: &[u8]| tree.name_bytes(name).eq_ignore_ascii_case(word);
                if [&b"my"[..], b"self", b"parent", b"root", b"toplevel"].into_iter().any(is_ad) {
                    return true;
                }
            }
            Some((base, _)) => match tree.reference(base) {
                Some((NO_BASE, scope))
                    if matches!(
                        tree.name(scope).special,
                        Special::My | Special::Target | Special::SelfAd
                    ) => {}
                _ => todo.push(base),
            },
            None => match tree.node(id) {
                Node::Call { name, .. } if tree.name_bytes(name).eq_ignore_ascii_case(b"eval") => {
                    return true;
                }
                _ => tree.children(id, &mut todo),
            },
        }
    }
    false
}

/// The attributes that the condor tools fetch for an expression (reference: `GetAttrsAndScopes`): of `a.x` both names, of
/// longer selections those of their base.
pub fn projection(expr: &Expr) -> Names {
    let mut names = Names::new();
    let Repr::Node(tree, root) = &expr.0 else { return names };
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        match tree.reference(id) {
            Some((NO_BASE | ABSOLUTE, name)) => {
                names.insert(tree.name_bytes(name).into());
            }
            Some((base, name)) => match tree.reference(base) {
                Some((NO_BASE | ABSOLUTE, scope)) => {
                    names.insert(tree.name_bytes(name).into());
                    names.insert(tree.name_bytes(scope).into());
                }
                _ => todo.push(base),
            },
            None => tree.children(id, &mut todo),
        }
    }
    names
}

/// The literals that an expression holds, lists and ads left out, in the order in which they are written.
pub fn literals(expr: &Expr) -> Vec<Value> {
    match &expr.0 {
        Repr::Scalar(value) => vec![value.clone()],
        Repr::Node(tree, root) => {
            let mut literals = Vec::new();
            let mut todo = vec![*root];
            while let Some(id) = todo.pop() {
                literals.extend(expr::scalar(tree, id));
                let from = todo.len();
                tree.children(id, &mut todo);
                todo[from..].reverse();
            }
            literals
        }
    }
}
