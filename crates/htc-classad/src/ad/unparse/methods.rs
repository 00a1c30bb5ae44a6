//! Methods and standard traits that print expressions, values and ads.

use std::fmt;

use bstr::BString;

use super::{UnparseForm, push_ad, push_expr, unparse_pretty_expr, unparse_value};
use crate::ad::{ClassAd, Value};
use crate::syntax::expr::Expr;

impl Expr {
    /// Returns the expression in new syntax.
    pub fn unparse(&self) -> BString {
        let mut out = Vec::new();
        push_expr(self, UnparseForm::New, &mut out);
        out.into()
    }

    /// Returns the expression in old syntax, as it appears after `=` in a long ad.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let expr = Expr::parse(r#"Path == "C:\\new""#).unwrap();
    /// assert_eq!(expr.unparse(), r#"Path == "C:\\new""#);
    /// assert_eq!(expr.unparse_old(), r#"Path == "C:\new""#);
    /// ```
    pub fn unparse_old(&self) -> BString {
        let mut out = Vec::new();
        push_expr(self, UnparseForm::Old, &mut out);
        out.into()
    }

    /// Returns the expression in new syntax with each attribute and element of nested ads and lists on its own line
    /// (`PrettyPrint`, sink.cpp).
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let expr = Expr::parse("[ a = 1; b = { 2, 3 } ]").unwrap();
    /// assert!(expr.unparse_pretty().lines().count() > 4);
    /// # use bstr::ByteSlice;
    /// ```
    pub fn unparse_pretty(&self) -> BString {
        unparse_pretty_expr(self)
    }

    /// Returns the expression in new syntax with parentheses around every operation, to make precedence visible.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let expr = Expr::parse("A || B && C").unwrap();
    /// assert_eq!(expr.unparse_parenthesised(), "(A || (B && C))");
    /// ```
    pub fn unparse_parenthesised(&self) -> BString {
        let mut out = Vec::new();
        push_expr(self, UnparseForm::Parenthesised, &mut out);
        out.into()
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.unparse(), f)
    }
}

/// Prints the expression in new syntax.
impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.unparse(), f)
    }
}

impl Value {
    /// Returns the value in new syntax, as `classad_eval` prints it.
    pub fn unparse(&self) -> BString {
        unparse_value(self, UnparseForm::New)
    }

    /// Returns the value in old syntax, as it appears after `=` in a long ad.
    pub fn unparse_old(&self) -> BString {
        unparse_value(self, UnparseForm::Old)
    }

    /// Returns the value in old syntax, with each ad as lines without brackets, even in lists and below operators
    /// (`ClassAdUnParser` after `SetOldClassAd(true)`).
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!(Value::from("ana").unparse_old_lines(), "\"ana\"");
    /// ```
    pub fn unparse_old_lines(&self) -> BString {
        unparse_value(self, UnparseForm::OldLines)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.unparse(), f)
    }
}

impl ClassAd {
    /// Returns the ad in new syntax on one line.
    pub fn unparse(&self) -> BString {
        let mut out = Vec::new();
        push_ad(self, UnparseForm::New, &mut out);
        out.into()
    }
}

impl From<&ClassAd> for BString {
    fn from(ad: &ClassAd) -> Self {
        ad.unparse()
    }
}
