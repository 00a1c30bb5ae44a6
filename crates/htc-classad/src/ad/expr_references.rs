//! Expressions to which an ad has returned references.
//!
//! An ad stores scalars in a compact form and not as expressions. [`Index`](std::ops::Index) must return a reference
//! to an expression, so the ad creates the expression and keeps it here.

use std::sync::OnceLock;

use crate::syntax::Expr;

/// List of the expressions that an ad keeps, with the attribute of each. A copy of an ad starts with an empty list.
#[derive(Default)]
pub(super) struct ExprReferences {
    first: OnceLock<Box<ExprReference>>,
}

struct ExprReference {
    /// Offset of the attribute's name in the ad's text, which identifies the attribute as long as the ad does not
    /// change.
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
    /// Returns a reference to a kept copy of `expr`, the expression of the attribute whose name starts at offset
    /// `start` of the ad's text.
    pub(super) fn get_or_add(&self, start: u32, expr: Expr) -> &Expr {
        let mut place = &self.first;
        loop {
            let made = || Box::new(ExprReference { start, expr: expr.clone(), next: OnceLock::new() });
            let reference = place.get_or_init(made);
            // The attribute may have changed since the expression was added.
            if reference.start == start && reference.expr.is_same_object(&expr) {
                return &reference.expr;
            }
            place = &reference.next;
        }
    }
}
