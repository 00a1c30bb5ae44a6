//! Attributes to which expressions refer (reference: classad.cpp, GetExternalReferences and GetInternalReferences).
//!
//! ```
//! use htc_classad::{Expr, references};
//! let names = references::mentioned_attributes(&Expr::parse("TARGET.Memory > RequestMemory").unwrap());
//! assert!(names.contains(&"memory".into()) && names.contains(&"requestmemory".into()));
//! ```

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

/// Returns the external references of an expression: the names that MY of the context lacks and on which the value
/// depends, directly or through attributes of MY. Returns `None` if the reference implementation fails, because of a
/// cycle or a selection from a value that is not an ad.
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

/// Returns the internal references of an expression: the attributes of MY of the context on which the value depends,
/// directly or indirectly. Returns `None` if the reference implementation fails.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, references};
/// let ad: ClassAd = "[ A = B + 1; B = 2; C = 3 ]".parse().unwrap();
/// let names = references::internal(&Expr::parse("A > X").unwrap(), Context::new(&System).my(&ad)).unwrap();
/// assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["A", "B"]);
/// ```
pub fn internal(expr: &Expr, context: Context<'_>) -> Option<AttrNames> {
    collect_references(expr, context, ReferenceWalk::new(true, ReferenceSpelling::Base))
}

fn collect_references(expr: &Expr, context: Context<'_>, mut walk: ReferenceWalk) -> Option<AttrNames> {
    let ExprRepr::Node(tree, root) = &expr.0 else { return Some(walk.names) };
    let arena = EvalArena::default();
    let none = ClassAd::new();
    let scope = AdScope { ad: AdRef::Own(context.my_ad().unwrap_or(&none)), parent: None, detached: false };
    let mut evaluator = Evaluator::new(context.evaluator_setup(&arena));
    // The reference implementation does not insert the expression into the ad, so lists and ads in the expression have
    // no enclosing ad.
    let at = EvalScopes { current: Some(&scope), written_in: None };
    evaluator.with_fresh_budget(Some(&scope), |evaluator| walk.walk_node(evaluator, tree, *root, at)).ok()?;
    Some(walk.names)
}

/// Returns the literals in an expression in the order in which they are written. Lists and ads are not literals here.
///
/// ```
/// use htc_classad::{Expr, Value, references};
/// let literals = references::literals(&Expr::parse("Owner == \"ana\" && Cpus > 2").unwrap());
/// assert_eq!(literals, [Value::from("ana"), Value::from(2)]);
/// ```
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
