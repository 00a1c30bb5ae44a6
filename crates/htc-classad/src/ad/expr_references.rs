//! Expressions that an ad lends by reference.
//!
//! An ad stores scalars compactly and not as expressions, so [`Index`](std::ops::Index), which must return a reference,
//! makes the expression and keeps it here.

use std::sync::OnceLock;

use crate::syntax::Expr;

/// Expressions by the index of their attributes. A copy of an ad begins without any.
#[derive(Default)]
pub(super) struct ExprReferences {
    first: OnceLock<Box<ExprReference>>,
}

struct ExprReference {
    /// The offset of the attribute's name in the ad's text, which identifies it until the ad changes.
    start: u32,
    expr: Expr,
    next: OnceLock<Box<ExprReference>>,
}

impl Clone for ExprReferences {
    fn clone(&self) -> Self {
        ExprReferences::default()
    }
}

impl Drop for ExprReferences {
    /// Drops the expressions one after the other, so that a long chain does not recurse.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut reference) = next {
            next = reference.next.take();
        }
    }
}

impl ExprReferences {
    /// Returns a reference to the expression of the attribute whose name starts at an offset of the ad's text.
    pub(super) fn get_or_add(&self, start: u32, expr: Expr) -> &Expr {
        let mut place = &self.first;
        loop {
            let made = || Box::new(ExprReference { start, expr: expr.clone(), next: OnceLock::new() });
            let reference = place.get_or_init(made);
            // The attribute may have changed since.
            if reference.start == start && reference.expr.is_same_object(&expr) {
                return &reference.expr;
            }
            place = &reference.next;
        }
    }
}
