//! The names that expressions refer to (reference: classad.cpp, GetExternalReferences and
//! GetInternalReferences).

use crate::ad::{ClassAd, Value};
use crate::eval::Context;
use crate::eval::eval_arena::EvalArena;
use crate::eval::evaluator::{EvalScopes, Evaluator};
use crate::eval::reference_walk::ReferenceWalk;
use crate::eval::scope::{AdRef, AdScope};
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::mentioned_names;

pub use crate::eval::reference_walk::ReferenceSpelling;
pub use crate::syntax::mentioned_names::{
    AttrNames, all_names, can_read_any_attribute, mentioned_attributes, projection,
};

/// The names that an expression needs from elsewhere: those which are not in the context's MY, those of the ad's attributes that
/// it leads to included. `None` where the reference finds no answer either (cycles, selections from what is no ad).
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, references::{self, ReferenceSpelling}};
/// use htc_classad::System;
/// let mut ad = ClassAd::new();
/// ad.insert_line(b"A = B + TARGET.C").unwrap();
/// let world = System;
/// let context = Context::new(&world).my(&ad);
/// let names = references::external(&Expr::parse(b"A > 1").unwrap(), context, ReferenceSpelling::Full).unwrap();
/// assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["B", "TARGET.C"]);
/// ```
pub fn external(expr: &Expr, context: Context<'_>, spelling: ReferenceSpelling) -> Option<AttrNames> {
    collect_references(expr, context, ReferenceWalk::new(false, spelling))
}

/// The attributes of the context's MY that the value of an expression depends on, directly or through others. `None` where the
/// reference finds no answer either.
pub fn internal(expr: &Expr, context: Context<'_>) -> Option<AttrNames> {
    collect_references(expr, context, ReferenceWalk::new(true, ReferenceSpelling::Base))
}

fn collect_references(expr: &Expr, context: Context<'_>, mut walk: ReferenceWalk) -> Option<AttrNames> {
    let ExprRepr::Node(tree, root) = &expr.0 else { return Some(walk.names) };
    let arena = EvalArena::default();
    let none = ClassAd::new();
    let scope = AdScope { ad: AdRef::Own(context.my_ad().unwrap_or(&none)), parent: None, detached: false };
    let mut evaluator = Evaluator::new(context.evaluator_setup(&arena));
    // The reference does not put the expression into the ad: what is written in it stands by itself.
    let at = EvalScopes { current: Some(&scope), written_in: None };
    evaluator.with_fresh_budget(Some(&scope), |evaluator| walk.walk_node(evaluator, tree, *root, at)).ok()?;
    Some(walk.names)
}

/// The literals that an expression holds, lists and ads left out, in the order in which they are written.
pub fn literals(expr: &Expr) -> Vec<Value> {
    if let ExprRepr::Scalar(scalar) = &expr.0 {
        return vec![scalar.as_borrowed().into()];
    }
    let mut literals = Vec::new();
    mentioned_names::any_node(expr, |tree, id, todo| {
        literals.extend(tree.scalar(id).map(Value::from));
        let from = todo.len();
        tree.children(id, todo);
        todo[from..].reverse();
        false
    });
    literals
}
