//! Projection of long ads to some of their attributes: all values are checked as the reference checks them, but only
//! wanted attributes are kept.

use crate::ad::{ClassAd, StoredValue};
use crate::ad_io::line_memo::LineMemo;
use crate::ad_io::line_reader::{AdLinesResult, KeptAttributes, LineOptions, WantedNames};
use crate::syntax::{AttrName, Dialect, Expr, mentioned_names};

/// Wanted attributes of long ads, and the memo of known lines, for
/// [`AdReader::next_projected`](super::AdReader::next_projected).
///
/// ```
/// use htc_classad::stream::{AdReader, AdRecord, Projection};
/// use htc_classad::{Context, Expr, System};
/// let text = b"Owner = \"ana\"\nCpus = 2\nMemory = 7\n\nOwner = \"bob\"\n";
/// let wanted = Expr::parse(b"Cpus > 1").unwrap();
/// let mut skim = Projection::for_exprs([&wanted]).expect("it looks at what it names, and at nothing else");
/// let mut reader = AdReader::new(&text[..], None);
/// let mut record = AdRecord::default();
/// assert!(reader.next_projected(&mut skim, &mut record).unwrap());
/// assert!(Context::new(&System).my(&record.ad).holds(&wanted));
/// assert!(!record.ad.contains("Memory") && reader.whole_ad().contains("Memory"));
/// ```
#[derive(Debug, Default)]
pub struct Projection {
    wanted: WantedNames,
    memo: LineMemo,
    needs_all: bool,
    /// True if the attributes to which values refer do not become wanted.
    is_fixed: bool,
}

impl Projection {
    /// Creates a projection to the attributes to which the expressions refer. Returns `None` if an expression may
    /// read any attribute.
    ///
    /// ```
    /// use htc_classad::{Expr, stream::Projection};
    /// let wanted = Expr::parse("Cpus > 1 && Owner == \"ana\"").unwrap();
    /// let projection = Projection::for_exprs([&wanted]).unwrap();
    /// assert!(projection.contains(&"owner".into()) && !projection.contains(&"Memory".into()));
    /// assert!(Projection::for_exprs([&Expr::parse("eval(Text)").unwrap()]).is_none());
    /// ```
    pub fn for_exprs<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Self> {
        let mut projection = Projection::default();
        for expr in exprs {
            projection.add_references_of(expr);
        }
        (!projection.needs_all).then_some(projection)
    }

    /// Creates a projection to the attributes whose names begin with one of the prefixes, and to the names passed to
    /// [`Projection::add`]. The attributes to which values refer do not become wanted.
    ///
    /// ```
    /// use htc_classad::stream::{AdReader, AdRecord, Projection};
    /// let text = b"RequestCpus = Cpus\nCpus = 2\nMemory = 7\n";
    /// let mut skim = Projection::with_prefixes(["request"]);
    /// skim.add("Memory".into());
    /// let mut record = AdRecord::default();
    /// assert!(AdReader::new(&text[..], None).next_projected(&mut skim, &mut record).unwrap());
    /// assert_eq!(record.ad.to_string(), "[ Memory = 7; RequestCpus = Cpus ]");
    /// ```
    pub fn with_prefixes<N: Into<AttrName>>(prefixes: impl IntoIterator<Item = N>) -> Self {
        let prefixes = prefixes.into_iter().map(Into::into).collect();
        Projection {
            wanted: WantedNames { names: Vec::new(), prefixes },
            is_fixed: true,
            ..Projection::default()
        }
    }

    /// Adds a wanted attribute.
    ///
    /// ```
    /// use htc_classad::stream::Projection;
    /// let mut projection = Projection::default();
    /// projection.add("Cpus".into());
    /// assert!(projection.contains(&"cpus".into()) && !projection.needs_all_attributes());
    /// assert_eq!(projection.names().len(), 1);
    /// ```
    pub fn add(&mut self, name: AttrName) {
        if !self.contains(&name) {
            self.memo.set_wanted(name.as_bytes(), self.wanted.names.len() as u32);
            self.wanted.names.push(name);
        }
    }

    /// Returns true if an attribute is wanted.
    pub fn contains(&self, name: &AttrName) -> bool {
        self.wanted.names.contains(name)
    }

    /// Returns the names of the wanted attributes.
    pub fn names(&self) -> &[AttrName] {
        &self.wanted.names
    }

    /// Marks all attributes to which an expression refers as wanted. Returns true if all of them were already wanted.
    fn add_references_of(&mut self, expr: &Expr) -> bool {
        let mut known = !self.needs_all;
        if mentioned_names::can_read_any_attribute(expr) {
            self.needs_all = true;
            known = false;
        }
        for name in mentioned_names::all_names(expr) {
            if !self.contains(&name) {
                known = false;
                self.add(name);
            }
        }
        known
    }

    /// Returns true if an expression in a value or a constraint may read any attribute, so that ads must be read
    /// completely.
    pub fn needs_all_attributes(&self) -> bool {
        self.needs_all
    }

    /// Reads one ad from a text of complete ads and adds the wanted attributes to `ad`, which must be empty. Returns
    /// false if a value refers to an attribute that was not wanted before; the ad must then be read again, because it
    /// may lack that attribute.
    pub(super) fn read_ad(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        dialect: Dialect,
        exact: bool,
        ad: &mut ClassAd,
    ) -> (AdLinesResult, bool) {
        if (self.memo.dialect, self.memo.exact) != (dialect.old(), exact) {
            // A memo for another dialect is not valid for this reader.
            self.memo = LineMemo::new(dialect, exact);
        }
        self.memo.begin_caller_ad();
        let found = self.memo.read_lines(text, options, KeptAttributes::Wanted(&self.wanted), ad);
        let mut complete = true;
        if self.is_fixed {
            return (found, complete);
        }
        for (_, slot) in ad.stored_values() {
            if let StoredValue::Expr(..) = slot {
                complete &= self.add_references_of(&ad.stored_expr(slot));
            }
        }
        (found, complete)
    }
}
