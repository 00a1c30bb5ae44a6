//! Implementations of standard traits for ads.

use std::fmt;
use std::ops::Index;

use bstr::BStr;

use super::{ClassAd, Value};
use crate::syntax::{Expr, name};

/// Creates an ad from names and values. If names are equal, the last value and the first spelling are used.
///
/// ```
/// use htc_classad::ClassAd;
/// let ad: ClassAd = [("Cpus", 4), ("Memory", 2048)].into_iter().collect();
/// assert_eq!(ad.to_string(), "[ Cpus = 4; Memory = 2048 ]");
/// ```
impl<N: AsRef<[u8]>, V: Into<Value>> FromIterator<(N, V)> for ClassAd {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(attributes: I) -> Self {
        let mut ad = ClassAd::new();
        ad.extend(attributes);
        ad
    }
}

impl<N: AsRef<[u8]>, V: Into<Value>, const COUNT: usize> From<[(N, V); COUNT]> for ClassAd {
    fn from(attributes: [(N, V); COUNT]) -> Self {
        attributes.into_iter().collect()
    }
}

/// Sets names to values, as [`ClassAd::set`] does.
impl<N: AsRef<[u8]>, V: Into<Value>> Extend<(N, V)> for ClassAd {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, attributes: I) {
        for (name, value) in attributes {
            self.set(name, value);
        }
    }
}

/// Iterator over the own attributes of an ad, in no particular order; see [`ClassAd::iter`].
///
/// ```
/// use htc_classad::ClassAd;
/// let ad = ClassAd::from([("Cpus", 4), ("Memory", 2048)]);
/// let large = ad.iter().filter(|(_, expr)| expr.as_literal().is_some_and(|value| value.as_int() > Some(100)));
/// assert_eq!(large.map(|(name, _)| name.to_string()).collect::<Vec<_>>(), ["Memory"]);
/// assert_eq!(ad.iter().len(), 2);
/// ```
#[derive(Clone)]
pub struct Attributes<'a> {
    ad: &'a ClassAd,
    indexes: std::ops::Range<usize>,
}

impl ClassAd {
    /// Returns the ad's own attributes, in no particular order.
    pub fn iter(&self) -> Attributes<'_> {
        Attributes { ad: self, indexes: 0..self.len() }
    }

    /// Returns a reference to the expression of one of the ad's own attributes. The ad then keeps this expression.
    fn expr_reference(&self, name: &[u8]) -> Option<&Expr> {
        let at = self.find(name, name::hash(name))?;
        let entry = &self.entries[at];
        Some(self.references.get_or_add(entry.start, self.stored_expr(&entry.value)))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a BStr, Expr);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.ad.stored_value_at(self.indexes.next()?);
        Some((name.into(), self.ad.stored_expr(value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indexes.size_hint()
    }
}

impl ExactSizeIterator for Attributes<'_> {}

impl fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// Iterates over the ad's own attributes, in no particular order.
///
/// ```
/// use htc_classad::ClassAd;
/// let ad = ClassAd::from([("Cpus", 4), ("Memory", 2048)]);
/// let mut lines: Vec<String> = Vec::new();
/// for (name, expr) in &ad {
///     lines.push(format!("{name} = {expr}"));
/// }
/// lines.sort();
/// assert_eq!(lines, ["Cpus = 4", "Memory = 2048"]);
/// ```
impl<'a> IntoIterator for &'a ClassAd {
    type Item = (&'a BStr, Expr);
    type IntoIter = Attributes<'a>;

    fn into_iter(self) -> Attributes<'a> {
        self.iter()
    }
}

/// Iterator over the own attributes of an ad, sorted by name, which consumes the ad.
///
/// ```
/// use htc_classad::ClassAd;
/// let ad = ClassAd::from([("Memory", 2048), ("Cpus", 4)]);
/// let names: Vec<String> = ad.into_iter().map(|(name, _)| name.to_string()).collect();
/// assert_eq!(names, ["Cpus", "Memory"]);
/// ```
#[derive(Debug)]
pub struct IntoAttributes(std::vec::IntoIter<(bstr::BString, Expr)>);

impl Iterator for IntoAttributes {
    type Item = (bstr::BString, Expr);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoAttributes {}

/// Iterates over the ad's own attributes, sorted by name, and consumes the ad.
impl IntoIterator for ClassAd {
    type Item = (bstr::BString, Expr);
    type IntoIter = IntoAttributes;

    fn into_iter(self) -> IntoAttributes {
        let all: Vec<_> = self.sorted().into_iter().map(|(name, expr)| (name.to_owned(), expr)).collect();
        IntoAttributes(all.into_iter())
    }
}

/// Returns the expression of an attribute, from the ad itself or else from its chained parent.
///
/// [`ClassAd::get`] returns an `Option` instead, and does not use the memory that the ad needs to return a
/// reference.
///
/// ```
/// use htc_classad::ClassAd;
/// let ad: ClassAd = "[ Cpus = 4; Memory = Cpus * 1024 ]".parse()?;
/// assert_eq!(ad["memory"].to_string(), "Cpus * 1024");
/// # Ok::<(), htc_classad::stream::AdError>(())
/// ```
///
/// # Panics
/// Panics if neither the ad nor its chained parent has the attribute.
impl<N: AsRef<[u8]> + ?Sized> Index<&N> for ClassAd {
    type Output = Expr;

    #[track_caller]
    fn index(&self, name: &N) -> &Expr {
        let name = name.as_ref();
        let owners = std::iter::successors(Some(self), |ad| ad.parent().map(AsRef::as_ref));
        let found = { owners }.find_map(|ad| ad.expr_reference(name));
        match found {
            Some(expr) => expr,
            None => missing(name),
        }
    }
}

#[cold]
#[track_caller]
fn missing(name: &[u8]) -> ! {
    panic!("the ad has no attribute '{}'", BStr::new(name))
}

/// Prints names and expressions, sorted by name: `{"Cpus": 4, "Owner": "ana"}`.
impl fmt::Debug for ClassAd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.sorted().iter().map(|(name, expr)| (name, expr))).finish()
    }
}

/// Prints the ad in new syntax on one line; `{:#}` prints each attribute on its own line.
impl fmt::Display for ClassAd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let pretty = Expr::literal(self).unparse_pretty();
            return fmt::Display::fmt(BStr::new(pretty.trim_ascii()), f);
        }
        fmt::Display::fmt(&self.unparse(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn references_into_an_ad_follow_its_changes() {
        let mut ad = ClassAd::from([("A", 1), ("B", 2)]);
        for number in 0..1000 {
            ad.set("A", number);
            let (first, second, again) = (&ad["A"], &ad["b"], &ad["a"]);
            assert_eq!((first.to_string(), second.to_string()), (number.to_string(), "2".to_owned()));
            assert!(std::ptr::eq(first, again));
        }
        ad.rename("B", "C");
        ad.set("B", "text");
        assert_eq!((ad["b"].to_string(), ad["c"].to_string()), ("\"text\"".to_owned(), "2".to_owned()));
        let mut child = ClassAd::new();
        child.chain(Some(Arc::new(ad)));
        assert_eq!(child["c"].to_string(), "2");
        assert!(std::panic::catch_unwind(|| child["none"].to_string()).is_err());
    }

    #[test]
    fn an_ad_is_equal_after_it_is_rebuilt_from_its_attributes() {
        let ad: ClassAd = "[ b = a + 1; a = 1; c = \"x\" ]".parse().unwrap();
        let mut same = ClassAd::new();
        ad.clone().into_iter().for_each(|(name, expr)| same.insert(name, expr));
        assert_eq!(same, ad);
        assert_eq!((&ad).into_iter().len(), 3);
        assert_eq!(format!("{ad:?}"), r#"{"a": 1, "b": a + 1, "c": "x"}"#);
        assert_eq!(format!("{ad}"), "[ a = 1; b = a + 1; c = \"x\" ]");
        assert_eq!(format!("{ad:#}").lines().count(), 5);
    }

    #[test]
    fn impossible_names_are_refused_by_readers_and_checked_setters() {
        for name in ["", "a\0b"] {
            let mut ad = ClassAd::new();
            assert!(ad.try_set(name, 1).is_err() && ad.try_insert(name, Expr::literal(1)).is_err());
            assert!(ad.insert_old_syntax(name, "1", Default::default()).is_err());
            ad.set("A", 1);
            assert!(!ad.rename("A", name) && !ad.copy_within("A", name));
            assert_eq!(ad.to_string(), "[ A = 1 ]");
        }
        assert!("[ '' = 1 ]".parse::<ClassAd>().is_err());
        assert!(crate::format::json::parse(r#"{"": 1}"#, crate::Dialect::json()).is_err());
    }
}
