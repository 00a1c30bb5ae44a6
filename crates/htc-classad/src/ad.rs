//! ClassAds: attributes looked up by name, with an optional chained parent.
//!
//! ```
//! use htc_classad::ClassAd;
//! let mut job = ClassAd::new();
//! job.set("Owner", "ana");
//! job.insert("Requirements", "TARGET.Cpus > 1".parse().unwrap());
//! assert_eq!(job["requirements"].to_string(), "TARGET.Cpus > 1");
//! ```

use std::sync::Arc;

use bstr::{BStr, ByteSlice};

use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::name::{self, NameError};
use crate::syntax::scalar::{Scalar, TextRange};
use crate::syntax::tree::{ExprTree, Node, NodeId};
use crate::text::caseless;

mod ad_text;
mod attribute_line;
mod attribute_moves;
mod collection_traits;
mod expr_kind;
mod expr_references;
mod list_traits;
#[cfg(test)]
mod model;
mod name_index;
mod scalar_insert;
pub mod unparse;
mod value;
mod value_conversions;

pub use attribute_line::LineError;
pub(crate) use attribute_line::{LineParts, check_exact_line, cut_at_nul, shift_error, split_line};
pub use collection_traits::{Attributes, IntoAttributes};
pub use expr_kind::ExprKind;
use expr_references::ExprReferences;
use name_index::{INDEX_THRESHOLD, NameIndex};
pub(crate) use value::push_literal;
pub use value::{List, Value};
pub use value_conversions::{ListElement, ValueTypeError};

/// ClassAd: a set of attributes with unevaluated values.
///
/// Names compare case-insensitively and keep the spelling with which they were first inserted. The order of the attributes is
/// never observable, because printing sorts them.
///
/// ```
/// use htc_classad::{ClassAd, Value};
/// let mut ad = ClassAd::new();
/// ad.set("Owner", "ana");
/// ad.insert_line(b"RequestCpus = 2 + 2").unwrap();
/// assert!(ad.contains("OWNER"));
/// assert_eq!(ad.get("requestcpus").unwrap().unparse(), "2 + 2");
/// assert_eq!(ad.literal("owner"), Some(Value::from("ana")));
/// ```
#[derive(Clone, Default)]
pub struct ClassAd {
    /// Names and string literals; the module `ad_text` describes the layout.
    text: Vec<u8>,
    /// Hash of each name. Hashes are stored apart from the entries so that a search touches little memory.
    hashes: Vec<u32>,
    entries: Vec<AttributeEntry>,
    /// Index from hash to entry, or `None` while the ad is small.
    index: Option<Box<NameIndex>>,
    /// Number of bytes of `text` that no entry uses any more.
    unused_text_len: usize,
    parent: Option<Arc<ClassAd>>,
    /// Expressions to which the `Index` trait has returned references.
    references: ExprReferences,
}

#[derive(Clone, Debug)]
struct AttributeEntry {
    start: u32,
    len: u32,
    value: StoredValue,
}

/// Stored value of an attribute: a scalar is stored in the ad itself, any other expression in a tree.
#[derive(Clone, Debug)]
pub(crate) enum StoredValue {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    /// String anywhere in the ad's text.
    Str(TextRange),
    /// String that follows its name in the ad's text, in quotes and with a newline, so that the attribute's line in the long
    /// form is already complete.
    QuotedLine(TextRange),
    Expr(NodeId, Arc<ExprTree>),
}

/// Converts variant by variant. `StoredValue` does not contain a [`Scalar`], because nesting would make the type 50 %
/// larger.
impl From<Scalar<TextRange>> for StoredValue {
    #[inline(always)]
    fn from(scalar: Scalar<TextRange>) -> Self {
        match scalar {
            Scalar::Undefined => StoredValue::Undefined,
            Scalar::Error => StoredValue::Error,
            Scalar::Bool(truth) => StoredValue::Bool(truth),
            Scalar::Int(integer) => StoredValue::Int(integer),
            Scalar::Real(real) => StoredValue::Real(real),
            Scalar::Str(text) => StoredValue::Str(text),
        }
    }
}

impl ClassAd {
    /// Creates an empty ad.
    pub fn new() -> Self {
        ClassAd::default()
    }

    /// Creates an empty ad with capacity for `attributes` attributes and `bytes` bytes of text. Used with the size of the
    /// previous ad of a stream, because the ads of a stream are usually similar.
    pub(crate) fn sized_as(attributes: usize, bytes: usize) -> Self {
        ClassAd {
            text: Vec::with_capacity(bytes),
            hashes: Vec::with_capacity(attributes),
            entries: Vec::with_capacity(attributes),
            ..ClassAd::default()
        }
    }

    /// Creates an empty ad with the capacity that is usually needed for an ad read from a text of `bytes` bytes.
    pub(crate) fn sized_for_text(bytes: usize) -> Self {
        ClassAd::sized_as((bytes / 32).min(256), (bytes - bytes / 4).min(1 << 16))
    }

    /// Returns the number of attributes of the ad itself, and the number of bytes of its text.
    pub(crate) fn content_size(&self) -> (usize, usize) {
        (self.entries.len(), self.text.len())
    }

    #[inline]
    fn find(&self, wanted: &[u8], hash: u32) -> Option<usize> {
        let same = |at: usize| self.hashes[at] == hash && caseless::eq(self.name_at(at), wanted);
        if let Some(index) = &self.index {
            return index.candidates(hash).find(|at| same(*at));
        }
        // Eight hashes at a time are compared without an early exit, which the compiler turns into two vector comparisons.
        let mut base = 0;
        let mut chunks = self.hashes.chunks_exact(8);
        for chunk in &mut chunks {
            if chunk.iter().fold(false, |any, other| any | (*other == hash))
                && let Some(at) = (base..base + 8).find(|at| same(*at))
            {
                return Some(at);
            }
            base += 8;
        }
        let mut rest = chunks.remainder().iter();
        while let Some(before) = rest.position(|other| *other == hash) {
            base += before;
            if same(base) {
                return Some(base);
            }
            base += 1;
        }
        None
    }

    /// Returns the value of an attribute, given the hash of its name.
    #[inline]
    pub(crate) fn stored_value(&self, wanted: &[u8], hash: u32) -> Option<&StoredValue> {
        self.find(wanted, hash).map(|at| &self.entries[at].value)
    }

    /// Returns the value of an attribute as a scalar, or `None` if it is an expression.
    #[inline]
    pub(crate) fn stored_scalar(&self, slot: &StoredValue) -> Option<Scalar<&[u8]>> {
        Some(match slot {
            StoredValue::Undefined => Scalar::Undefined,
            StoredValue::Error => Scalar::Error,
            StoredValue::Bool(truth) => Scalar::Bool(*truth),
            StoredValue::Int(integer) => Scalar::Int(*integer),
            StoredValue::Real(real) => Scalar::Real(*real),
            StoredValue::Str(text) | StoredValue::QuotedLine(text) => Scalar::Str(text.slice(&self.text)),
            StoredValue::Expr(..) => return None,
        })
    }

    pub(crate) fn stored_expr(&self, slot: &StoredValue) -> Expr {
        match slot {
            StoredValue::Expr(root, tree) => Expr(ExprRepr::Node(Arc::clone(tree), *root)),
            _ => Expr::from_scalar(self.stored_scalar(slot).unwrap_or_default()),
        }
    }

    /// Returns the expression of an attribute, from the ad itself or else from its chained parent.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<Expr> {
        let name = name.as_ref();
        let hash = name::hash(name);
        match self.stored_value(name, hash) {
            Some(slot) => Some(self.stored_expr(slot)),
            None => self.parent.as_ref()?.get(name),
        }
    }

    /// Returns the expression of an attribute of this ad itself, ignoring its chained parent.
    pub fn get_own(&self, name: impl AsRef<[u8]>) -> Option<Expr> {
        let name = name.as_ref();
        self.stored_value(name, name::hash(name)).map(|slot| self.stored_expr(slot))
    }

    /// Returns the value of an attribute without evaluating anything, or `None` if the attribute is not a literal.
    pub fn literal(&self, name: impl AsRef<[u8]>) -> Option<Value> {
        self.get(name)?.as_literal()
    }

    /// Returns the text of an attribute without evaluating or copying anything, or `None` if the attribute is not a string
    /// literal.
    pub fn string(&self, name: impl AsRef<[u8]>) -> Option<&BStr> {
        let name = name.as_ref();
        match self.stored_value(name, name::hash(name)) {
            Some(slot) => match self.stored_scalar(slot) {
                Some(Scalar::Str(text)) => Some(text.as_bstr()),
                _ => None,
            },
            None => self.parent.as_ref()?.string(name),
        }
    }

    /// Returns true if the ad or its chained parent has the attribute.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        self.stored_value(name, name::hash(name)).is_some()
            || self.parent.as_ref().is_some_and(|parent| parent.contains(name))
    }

    /// Sets an attribute to an expression. If the attribute exists, its value is replaced and the spelling of its name is kept.
    ///
    /// A name that is empty or has a NUL byte is accepted, as in 25.14, although no syntax of ads can represent it;
    /// [`ClassAd::try_insert`] rejects such names.
    pub fn insert(&mut self, name: impl AsRef<[u8]>, value: Expr) {
        self.put_expr(name.as_ref(), value);
    }

    /// Sets an attribute to a value. If the attribute exists, its value is replaced and the spelling of its name is kept.
    ///
    /// ```
    /// # use htc_classad::ClassAd;
    /// let mut ad = ClassAd::new();
    /// ad.set("Owner", "ana");
    /// ad.set("Sizes", vec![1, 2]);
    /// ad.set("Limit", None::<u32>);
    /// assert_eq!(ad.to_string(), r#"[ Limit = undefined; Owner = "ana"; Sizes = { 1,2 } ]"#);
    /// ```
    ///
    /// A name that is empty or has a NUL byte is accepted, although no syntax of ads can represent it. Use
    /// [`ClassAd::try_set`], which rejects such names, for names that come from outside the program.
    pub fn set(&mut self, name: impl AsRef<[u8]>, value: impl Into<Value>) {
        self.put_literal(name.as_ref(), value.into());
    }

    /// Sets an attribute to an expression as [`ClassAd::insert`] does.
    ///
    /// # Errors
    /// Fails if the name is empty or has a NUL byte; the ad is then unchanged.
    ///
    /// ```
    /// # use htc_classad::{ClassAd, Expr};
    /// let mut ad = ClassAd::new();
    /// ad.try_insert("Memory", Expr::parse("Cpus * 1024")?)?;
    /// assert!(ad.try_insert("", Expr::parse("1")?).is_err());
    /// assert_eq!(ad.to_string(), "[ Memory = Cpus * 1024 ]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_insert(&mut self, name: impl AsRef<[u8]>, value: Expr) -> Result<(), NameError> {
        name::check(name.as_ref())?;
        self.put_expr(name.as_ref(), value);
        Ok(())
    }

    /// Sets an attribute to a value as [`ClassAd::set`] does.
    ///
    /// # Errors
    /// Fails if the name is empty or has a NUL byte; the ad is then unchanged.
    ///
    /// ```
    /// # use htc_classad::ClassAd;
    /// let mut ad = ClassAd::new();
    /// for (name, value) in [("Owner", "ana"), ("", "bob")] {
    ///     if let Err(error) = ad.try_set(name, value) {
    ///         assert_eq!(error.to_string(), "an attribute has an empty name");
    ///     }
    /// }
    /// assert_eq!(ad.len(), 1);
    /// ```
    pub fn try_set(&mut self, name: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<(), NameError> {
        name::check(name.as_ref())?;
        self.put_literal(name.as_ref(), value.into());
        Ok(())
    }

    /// Sets an attribute to an expression. The caller has checked the name.
    pub(crate) fn put_expr(&mut self, name: &[u8], value: Expr) {
        match value.0 {
            ExprRepr::Scalar(scalar) => self.put_scalar(name, None, scalar.as_borrowed()),
            ExprRepr::Node(tree, root) => self.put_value(name, StoredValue::Expr(root, tree)),
        }
    }

    fn put_literal(&mut self, name: &[u8], value: Value) {
        match Scalar::from_value(&value) {
            Some(scalar) => self.put_scalar(name, None, scalar),
            None => self.put_expr(name, Expr::literal(value)),
        }
    }

    #[inline]
    fn put_value(&mut self, wanted: &[u8], value: StoredValue) {
        let hash = name::hash(wanted);
        if let Some(at) = self.find(wanted, hash) {
            self.replace_value(at, value);
            return;
        }
        self.put_new(wanted, hash, value);
    }

    /// Sets an attribute. If `new` is given, it is the hash of the name, and the ad must not have the attribute yet.
    #[inline]
    pub(crate) fn put_with_optional_hash(&mut self, name: &[u8], new: Option<u32>, value: StoredValue) {
        match new {
            Some(hash) => self.put_new(name, hash, value),
            None => self.put_value(name, value),
        }
    }

    /// Adds an attribute that the ad does not have yet.
    pub(crate) fn put_new(&mut self, wanted: &[u8], hash: u32, value: StoredValue) {
        // A string value refers to the ad's text, which compacting would move.
        if !matches!(value, StoredValue::Str(_)) {
            self.compact_if_needed();
        }
        let start = self.push_name(wanted);
        self.add_entry(AttributeEntry { start, len: wanted.len() as u32, value }, hash);
    }

    /// Adds an entry whose name and string are already in the ad's text. The entry is built directly in its final place:
    /// copying it would read the entry in wider pieces than it was written in, which stalls the processor for longer than the
    /// rest of this function takes.
    #[inline(always)]
    fn add_entry(&mut self, entry: AttributeEntry, hash: u32) {
        self.hashes.push(hash);
        self.entries.push(entry);
        if self.index.is_some() || self.entries.len() > INDEX_THRESHOLD {
            self.add_to_index(hash);
        }
    }

    /// Adds the last entry to the index, or builds the index if it is missing.
    #[cold]
    fn add_to_index(&mut self, hash: u32) {
        let count = self.entries.len();
        match &mut self.index {
            Some(index) if count * 2 <= index.slots.len() => index.insert(hash, count as u32 - 1),
            _ => self.index = Some(Box::new(NameIndex::build(&self.hashes))),
        }
    }

    /// Removes an attribute and returns its expression. If the chained parent also has the attribute, the ad gets the attribute
    /// with the value `undefined`, which hides the parent's, as in the reference (`ClassAd::Delete`).
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Option<Expr> {
        let name = name.as_ref();
        let removed = self.find(name, name::hash(name)).map(|at| {
            let expr = self.stored_expr(&self.entries[at].value);
            self.remove_entry(at);
            expr
        });
        if self.parent.as_ref().is_some_and(|parent| parent.contains(name)) {
            self.set(name, Value::Undefined);
        }
        removed
    }

    /// Removes all attributes and the chained parent.
    pub fn clear(&mut self) {
        self.text.clear();
        self.hashes.clear();
        self.entries.clear();
        self.index = None;
        self.unused_text_len = 0;
        self.parent = None;
        self.references = ExprReferences::default();
    }

    /// Returns the number of attributes of the ad itself.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the ad itself has no attributes.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the names of the ad's own attributes, in no particular order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &BStr> + '_ {
        (0..self.entries.len()).map(|at| self.name_at(at).as_bstr())
    }

    pub(crate) fn stored_values(&self) -> impl ExactSizeIterator<Item = (&[u8], &StoredValue)> + '_ {
        (0..self.entries.len()).map(|at| self.stored_value_at(at))
    }

    /// Returns the name and the value of the attribute at an index.
    pub(crate) fn stored_value_at(&self, at: usize) -> (&[u8], &StoredValue) {
        (self.name_at(at), &self.entries[at].value)
    }

    /// Returns the ad's own attributes sorted bytewise by name, upper case first. This is the order of the "job ad print" of
    /// hooks.
    pub fn sorted(&self) -> Vec<(&BStr, Expr)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// Returns the ad's own attributes sorted by length of name, then case-insensitively. This is the order in which ads are
    /// printed in new syntax.
    pub fn in_ad_order(&self) -> Vec<(&BStr, Expr)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by(|a, b| name::ad_order(a.0, b.0));
        all
    }

    /// Copies all own attributes of another ad, ignoring that ad's chained parent.
    pub fn update(&mut self, other: &ClassAd) {
        self.copy_from(other, |_, _| true);
    }

    /// Copies those own attributes of another ad that `wanted` accepts. `wanted` is called with this ad, including the
    /// attributes copied so far, and with a name.
    fn copy_from(&mut self, other: &ClassAd, wanted: impl Fn(&ClassAd, &[u8]) -> bool) {
        for (name, slot) in other.stored_values() {
            if !wanted(self, name) {
                continue;
            }
            match other.stored_scalar(slot) {
                Some(scalar) => self.put_scalar(name, None, scalar),
                None => self.put_value(name, slot.clone()),
            }
        }
    }

    /// Sets or removes the chained parent, which provides the attributes that this ad lacks.
    pub fn chain(&mut self, parent: Option<Arc<ClassAd>>) {
        self.parent = parent;
    }

    /// Returns the chained parent, or `None` for an ad without one.
    #[inline]
    pub fn parent(&self) -> Option<&Arc<ClassAd>> {
        self.parent.as_ref()
    }

    /// Returns a copy of the ad that also has the attributes of its chained parents. If several of these ads have an attribute,
    /// value and spelling come from the nearest.
    #[must_use]
    pub fn flattened_chain(&self) -> ClassAd {
        let mut all = self.clone();
        while let Some(parent) = all.parent.take() {
            all.copy_from(&parent, |ad, name| ad.find(name, name::hash(name)).is_none());
            all.parent.clone_from(&parent.parent);
        }
        all
    }

    /// Creates an ad from the node of an ad in a tree.
    pub(crate) fn from_node(tree: &Arc<ExprTree>, id: NodeId) -> ClassAd {
        match tree.node(id) {
            Node::Ad { first, count } => ClassAd::from_fields(tree, first, count),
            _ => ClassAd::new(),
        }
    }

    /// Creates an ad from `count` fields of a tree, starting at field `first`.
    pub(crate) fn from_fields(tree: &Arc<ExprTree>, first: u32, count: u32) -> ClassAd {
        let mut ad = ClassAd::new();
        for field in tree.fields(first, count) {
            ad.put_expr(tree.name_bytes(field.name), Expr::from_tree(tree, field.node));
        }
        ad
    }
}

/// Compares two ads by their own attributes and expressions. Names are case-insensitive; chained parents are ignored.
impl PartialEq for ClassAd {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().all(|(name, expr)| other.get_own(name).is_some_and(|theirs| theirs == expr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_and_the_first_spelling_of_a_name_are_kept() {
        let mut ad = ClassAd::new();
        ad.insert_line(b"  Foo = 1").unwrap();
        ad.insert_line(b"FOO = \"x\"").unwrap();
        assert_eq!(ad.len(), 1);
        assert_eq!(ad.names().next().unwrap(), "Foo");
        assert_eq!(ad.string("foo").unwrap(), "x");
    }

    #[test]
    fn thousands_of_attributes_are_found_after_removals() {
        let mut ad = ClassAd::new();
        for i in 0..3000 {
            ad.set(format!("Name{i}"), i);
        }
        for i in (0..3000).step_by(3) {
            assert!(ad.remove(format!("nAME{i}")).is_some());
        }
        for i in 0..3000 {
            assert_eq!(ad.contains(format!("NAME{i}")), i % 3 != 0, "{i}");
        }
    }

    #[test]
    fn memory_of_replaced_strings_is_reclaimed() {
        let mut ad = ClassAd::new();
        for i in 0..100_000 {
            ad.set("A", format!("some longer text {i}"));
        }
        assert!(ad.text.len() < 20_000);
        assert_eq!(ad.string("a").unwrap(), "some longer text 99999");
        for i in 0..100_000 {
            ad.remove("A");
            ad.set("A", i);
            ad.remove("B");
            ad.set("B", "some text");
        }
        assert!(ad.text.len() < 40_000);
        // The attributes are as small as possible, so that most of the text is separators.
        for _ in 0..100_000 {
            ad.remove("A");
            ad.set("A", 1);
            ad.rename(b"A", b"C");
            ad.set("A", "");
            ad.rename(b"C", b"A");
        }
        assert!(ad.text.len() < 40_000);
    }

    #[test]
    fn removal_hides_the_attribute_of_the_chained_parent() {
        let mut base = ClassAd::new();
        base.set("A", 1);
        let mut ad = ClassAd::new();
        ad.chain(Some(Arc::new(base)));
        assert!(ad.contains("a"));
        assert!(ad.remove("a").is_none());
        assert_eq!(ad.literal("a"), Some(Value::Undefined));
    }

    #[test]
    fn invalid_lines_have_a_reason() {
        let mut ad = ClassAd::new();
        assert_eq!(ad.insert_line(b"junk"), Err(LineError::NoEquals));
        assert_eq!(ad.insert_line(b" = 3"), Err(LineError::NoName));
        assert!(matches!(ad.insert_line(b"A = "), Err(LineError::Value(_))));
        assert!(ad.insert_line(b"A B = 1 )( junk").is_ok());
        assert!(ad.is_empty() || ad.contains("a b"));
    }
}
