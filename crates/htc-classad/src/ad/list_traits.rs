//! Implementations of standard traits for lists.

use std::fmt;
use std::ops::Index;

use super::unparse;
use super::value::{List, Value};
use crate::syntax::Expr;

impl<T: Into<Value>> FromIterator<T> for List {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        List::new(items.into_iter().map(|item| Expr::literal(item.into())).collect::<Vec<_>>())
    }
}

impl Index<usize> for List {
    type Output = Expr;

    fn index(&self, at: usize) -> &Expr {
        &self.items()[at]
    }
}

impl<'l> IntoIterator for &'l List {
    type Item = &'l Expr;
    type IntoIter = std::slice::Iter<'l, Expr>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Compares two lists by the structure of their elements.
impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.items() == other.items()
    }
}

/// Prints the elements: `[1, "x", a + b]`.
impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

/// Prints the list in new syntax.
impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = unparse::unparse_value(&Value::List(self.clone()), unparse::UnparseForm::New);
        fmt::Display::fmt(&text, f)
    }
}
