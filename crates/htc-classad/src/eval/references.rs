//! The names that expressions refer to (reference: classad.cpp, GetExternalReferences and
//! GetInternalReferences).

use crate::ad::{ClassAd, Value};
use crate::eval::Context;
use crate::eval::arena::Arena;
use crate::eval::evaluator::{At, Evaluator};
use crate::eval::scope::{AdRef, Scope};
use crate::eval::walk::Walk;
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::mentions;

pub use crate::eval::walk::Spelling;
pub use crate::syntax::mentions::{Names, every, is_open, of, projection};

/// The names that an expression needs from elsewhere: those which are not in the context's MY, those of the ad's attributes that
/// it leads to included. `None` where the reference finds no answer either (cycles, selections from what is no ad).
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, references::{self, Spelling}};
/// use htc_classad::System;
/// let mut ad = ClassAd::new();
/// ad.insert_line(b"A = B + TARGET.C").unwrap();
/// let world = System;
/// let context = Context::new(&world).my(&ad);
/// let names = references::external(&Expr::parse(b"A > 1").unwrap(), context, Spelling::Full).unwrap();
/// assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["B", "TARGET.C"]);
/// ```
pub fn external(expr: &Expr, context: Context<'_>, spelling: Spelling) -> Option<Names> {
    collect(expr, context, Walk::new(false, spelling))
}

/// The attributes of the context's MY that the value of an expression depends on, directly or through others. `None` where the
/// reference finds no answer either.
pub fn internal(expr: &Expr, context: Context<'_>) -> Option<Names> {
    collect(expr, context, Walk::new(true, Spelling::Base))
}

fn collect(expr: &Expr, context: Context<'_>, mut walk: Walk) -> Option<Names> {
    let Repr::Node(tree, root) = &expr.0 else { return Some(walk.names) };
    let arena = Arena::default();
    let none = ClassAd::new();
    let scope = Scope { ad: AdRef::Own(context.my_ad().unwrap_or(&none)), parent: None, detached: false };
    let mut evaluator = Evaluator::new(context.setting(&arena));
    // The reference does not put the expression into the ad: what is written in it stands by itself.
    let at = At { current: Some(&scope), written: None };
    evaluator.fresh(Some(&scope), |evaluator| walk.node(evaluator, tree, *root, at)).ok()?;
    Some(walk.names)
}

/// The literals that an expression holds, lists and ads left out, in the order in which they are written.
pub fn literals(expr: &Expr) -> Vec<Value> {
    if let Repr::Scalar(scalar) = &expr.0 {
        return vec![scalar.look().into()];
    }
    let mut literals = Vec::new();
    mentions::any(expr, |tree, id, todo| {
        literals.extend(tree.scalar(id).map(Value::from));
        let from = todo.len();
        tree.children(id, todo);
        todo[from..].reverse();
        false
    });
    literals
}
