//! Finding what is wrong in a configuration and what the daemons pass over in silence.
//!
//! Every rule must be right nearly always: a warning that people learn to skip is worse than none. What only may be
//! wrong (a name that some script may read) is left alone or told with its reason.

mod brackets;
mod families;
mod known;
mod lists;
mod names;
mod place;
mod references;
mod removed;
mod scripts;
mod source_index;
pub mod usage;
mod values;

use crate::classad::Dialect;
use std::cell::OnceCell;

use bstr::BString;
use rustc_hash::{FxHashMap, FxHashSet};

pub use brackets::{Unbalanced, unbalanced};
pub use families::Unread;
pub use known::{Known, Standing};
pub use place::Spot;
use source_index::SourceIndex;

use crate::config::macro_set::{Definition, Entry, SourceId};
use crate::config::{Config, View};
use crate::text::bare_name;
use crate::text::similar::Names;
use crate::world::World;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable name of the rule that found it.
    pub rule: &'static str,
    /// Where it stands; `None` for what stands in no file.
    pub spot: Option<Spot>,
    /// The parameter it is about.
    pub name: BString,
    /// What is wrong, in lower case without a stop.
    pub message: String,
    /// What to do.
    pub fix: Option<String>,
}

/// What the rules see.
pub struct Subject<'a> {
    /// The configuration; its texts were kept.
    pub config: &'a Config,
    /// Its values.
    pub view: View<'a>,
    /// Everything outside.
    pub world: &'a dyn World,
    /// Which names mean something.
    pub known: Known,
    own: OnceCell<Names<&'a [u8]>>,
    ends: OnceCell<FxHashSet<Vec<u8>>>,
    referenced: OnceCell<FxHashSet<Vec<u8>>>,
    mentioned: OnceCell<FxHashMap<Vec<u8>, BString>>,
    sources: Vec<OnceCell<SourceIndex>>,
}

impl<'a> Subject<'a> {
    /// Prepares a configuration for the rules.
    pub fn new(config: &'a Config, world: &'a dyn World) -> Self {
        let view = config.view(world);
        let known = Known::new(config, &view);
        let sources = config.set.sources().iter().map(|_| OnceCell::new()).collect();
        Subject {
            config,
            view,
            world,
            known,
            own: OnceCell::new(),
            ends: OnceCell::new(),
            referenced: OnceCell::new(),
            mentioned: OnceCell::new(),
            sources,
        }
    }

    /// How expressions in its values are read.
    pub fn dialect(&self) -> Dialect {
        Dialect::of(self.world).strict(self.config.is_strict())
    }

    /// The names that the configuration sets.
    fn own_names(&self) -> &Names<&'a [u8]> {
        self.own.get_or_init(|| Names::new(self.config.set.entries().map(|entry| &entry.name[..])))
    }

    /// The names that something refers to, in lower case.
    fn referenced(&self) -> &FxHashSet<Vec<u8>> {
        self.referenced.get_or_init(|| usage::referenced(self))
    }

    /// The script, submit file or template that mentions a name.
    fn mentioned(&self, name: &[u8]) -> Option<&BString> {
        self.mentioned.get_or_init(|| scripts::mentioned(self)).get(&name.to_ascii_lowercase())
    }

    /// Whether a name is set at least with some prefix and a dot before it.
    fn is_set_somewhere(&self, name: &[u8]) -> bool {
        let ends = self.ends.get_or_init(|| {
            let last = |name: &BString| bare_name(name).to_ascii_lowercase();
            self.config.set.entries().map(|entry| last(&entry.name)).collect()
        });
        ends.contains(&name.to_ascii_lowercase())
    }

    /// Where the lines and conditions of a source begin; `None` if it has no text.
    fn source_index(&self, source: SourceId) -> Option<&SourceIndex> {
        let text = self.config.set.source(source).text.as_deref()?;
        let cell = self.sources.get(source.number() as usize)?;
        Some(cell.get_or_init(|| SourceIndex::new(text)))
    }

    /// The entries that a person wrote: of files, commands and overlays, not detected, not of templates alone.
    pub fn written(&self) -> impl Iterator<Item = &'a Entry> {
        self.config.set.entries().filter(|entry| entry.current.is_written())
    }

    /// A finding about a part of a definition's raw value, or about all of it.
    pub fn finding(
        &self,
        rule: &'static str,
        definition: &Definition,
        part: Option<(usize, usize)>,
        message: impl Into<String>,
        fix: impl Into<Option<String>>,
    ) -> Finding {
        Finding {
            rule,
            spot: place::spot(self, definition, part),
            name: definition.name.clone(),
            message: shortened(message.into()),
            fix: fix.into(),
        }
    }
}

/// A message that people can read, whatever names and values it holds.
fn shortened(message: String) -> String {
    const LONGEST: usize = 2000;
    if message.len() <= LONGEST {
        return message;
    }
    let at = |limit: usize| (0..=limit).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    format!("{}...{}", &message[..at(LONGEST / 2)], &message[at(message.len() - LONGEST / 2)..])
}

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    references::lint(subject, &mut findings);
    names::lint(subject, &mut findings);
    values::lint(subject, &mut findings);
    lists::lint(subject, &mut findings);
    sort(&mut findings);
    findings
}

/// Findings in the order in which people read: by file as read, line and column.
pub fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| {
            finding.spot.as_ref().map(|spot| (spot.source.number(), spot.line, spot.span.start))
        };
        (key(a), a.rule, &a.name).cmp(&(key(b), b.rule, &b.name))
    });
    findings.dedup();
}
