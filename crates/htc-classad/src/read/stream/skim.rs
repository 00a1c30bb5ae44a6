//! Long ads read for a few of their attributes: all values are checked as the reference checks them, but only those
//! that were asked for are kept.

use crate::ad::{ClassAd, Slot};
use crate::read::lines::{Found, Keep, LineOptions};
use crate::read::memo::Memo;
use crate::syntax::{AttrName, Dialect, Expr, mentions};

/// Which attributes of long ads are wanted, and what is remembered of lines seen: for [`AdReader::next_part`](super::AdReader::next_part).
///
/// ```
/// use htc_classad::stream::{AdReader, AdRecord, Skim};
/// use htc_classad::{Context, Expr, System};
/// let text = b"Owner = \"ana\"\nCpus = 2\nMemory = 7\n\nOwner = \"bob\"\n";
/// let wanted = Expr::parse(b"Cpus > 1").unwrap();
/// let mut skim = Skim::of([&wanted]).expect("it looks at what it names, and at nothing else");
/// let mut reader = AdReader::new(&text[..], None);
/// let mut record = AdRecord::default();
/// assert!(reader.next_part(&mut skim, &mut record).unwrap());
/// assert!(Context::new(&System).my(&record.ad).holds(&wanted));
/// assert!(!record.ad.contains("Memory") && reader.whole().contains("Memory"));
/// ```
#[derive(Debug, Default)]
pub struct Skim {
    wanted: Vec<AttrName>,
    memo: Memo,
    open: bool,
}

impl Skim {
    /// Wants what these expressions refer to; none where they may look at anything.
    pub fn of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Self> {
        let mut skim = Skim::default();
        for expr in exprs {
            skim.follow(expr);
        }
        (!skim.open).then_some(skim)
    }

    /// Wants one more.
    pub fn want(&mut self, name: AttrName) {
        if !self.wants(&name) {
            self.memo.want(name.as_bytes(), self.wanted.len() as u32);
            self.wanted.push(name);
        }
    }

    /// Whether the attribute is wanted.
    pub fn wants(&self, name: &AttrName) -> bool {
        self.wanted.contains(name)
    }

    /// Wants all that an expression refers to; whether that was wanted already.
    fn follow(&mut self, expr: &Expr) -> bool {
        let mut known = !self.open;
        if mentions::is_open(expr) {
            self.open = true;
            known = false;
        }
        for name in mentions::every(expr) {
            if !self.wants(&name) {
                known = false;
                self.want(name);
            }
        }
        known
    }

    /// Whether an expression was met that may look at any attribute at all.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Reads one ad from a text that holds whole ads only, and puts what is wanted of it into an empty one. Tells whether that is all
    /// that is wanted: values may refer to more, which is known from then on.
    pub(super) fn part(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        (dialect, exact): (Dialect, bool),
        ad: &mut ClassAd,
    ) -> (Found, bool) {
        if (self.memo.dialect, self.memo.exact) != (dialect.old(), exact) {
            // What was good for another reader need not be so for this one.
            self.memo = Memo::new(dialect, exact);
        }
        self.memo.turn();
        let found = self.memo.read(text, options, Keep::Names(&self.wanted), ad);
        let mut complete = true;
        for (_, slot) in ad.slots() {
            if let Slot::Expr(..) = slot {
                complete &= self.follow(&ad.slot_expr(slot));
            }
        }
        (found, complete)
    }
}
