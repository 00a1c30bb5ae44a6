//! Projection of long ads to some of their attributes: all values are checked as the reference checks them, but only
//! the wanted ones are kept.

use crate::ad::{ClassAd, StoredValue};
use crate::ad_io::line_memo::LineMemo;
use crate::ad_io::line_reader::{KeptAttributes, LineOptions, LinesRead};
use crate::syntax::{AttrName, Dialect, Expr, mentioned_names};

/// Wanted attributes of long ads, and the memo of lines seen, for
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
    wanted: Vec<AttrName>,
    memo: LineMemo,
    needs_all: bool,
}

impl Projection {
    /// Creates a projection to the attributes that the expressions refer to, or returns `None` if they may read any
    /// attribute.
    pub fn for_exprs<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Self> {
        let mut skim = Projection::default();
        for expr in exprs {
            skim.add_references_of(expr);
        }
        (!skim.needs_all).then_some(skim)
    }

    /// Adds a wanted attribute.
    pub fn add(&mut self, name: AttrName) {
        if !self.contains(&name) {
            self.memo.set_wanted(name.as_bytes(), self.wanted.len() as u32);
            self.wanted.push(name);
        }
    }

    /// Returns true if the attribute is wanted.
    pub fn contains(&self, name: &AttrName) -> bool {
        self.wanted.contains(name)
    }

    /// Adds all attributes that an expression refers to; returns true if all were wanted already.
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

    /// Returns true if an expression was seen that may read any attribute.
    pub fn needs_all_attributes(&self) -> bool {
        self.needs_all
    }

    /// Reads one ad from a text of whole ads, and adds the wanted attributes to an empty ad. Returns true if that was
    /// complete: values may refer to further attributes, which are wanted from then on.
    pub(super) fn read_ad(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        (dialect, exact): (Dialect, bool),
        ad: &mut ClassAd,
    ) -> (LinesRead, bool) {
        if (self.memo.dialect, self.memo.exact) != (dialect.old(), exact) {
            // The memo of another reader is not valid for this one.
            self.memo = LineMemo::new(dialect, exact);
        }
        self.memo.begin_caller_ad();
        let found = self.memo.read_lines(text, options, KeptAttributes::Names(&self.wanted), ad);
        let mut complete = true;
        for (_, slot) in ad.stored_values() {
            if let StoredValue::Expr(..) = slot {
                complete &= self.add_references_of(&ad.stored_expr(slot));
            }
        }
        (found, complete)
    }
}
