//! Counts of look-ups (`config.cpp`, `lookup_macro`), printed by `-verbose:use`, `-used` and `-stats`.
//!
//! A look-up is counted at the entry that it finds, and not at all if it finds none. A look-up that reads a parameter,
//! or that expands a reference in its value, is counted as a use and as a reference. A look-up while sources are read,
//! or for `-macro` and `-check-if`, is counted only as a reference. A macro set counts look-ups only on request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::BString;
use rustc_hash::FxHashMap;

use crate::defaults::{self, Parameter};

/// Purpose of a look-up, which determines how it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupPurpose {
    /// A look-up for output, which is not counted.
    Uncounted,
    /// A look-up while sources are read.
    #[default]
    Source,
    /// A look-up of a parameter by a program.
    Parameter,
}

/// The counts of one entry. They have 16 bits as in the reference, and wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryUses {
    /// Number of look-ups as a parameter ([`LookupPurpose::Parameter`]).
    pub parameter_reads: i16,
    /// Number of look-ups for any counted purpose.
    pub all_reads: i16,
}

impl EntryUses {
    /// Returns true if the parameter was read.
    pub fn is_used(self) -> bool {
        i32::from(self.parameter_reads) + i32::from(self.all_reads) > 0
    }

    fn count(&mut self, purpose: LookupPurpose) {
        if purpose == LookupPurpose::Parameter {
            self.parameter_reads = self.parameter_reads.wrapping_add(1);
        }
        self.all_reads = self.all_reads.wrapping_add(1);
    }
}

/// Prints `uses / references`, or only the uses if there are no references.
impl std::fmt::Display for EntryUses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.all_reads {
            0 => write!(f, "{}", self.parameter_reads),
            references => write!(f, "{} / {references}", self.parameter_reads),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct UseCountTables {
    purpose: LookupPurpose,
    /// Counts of parameters that sources set and of detected ones, by name in lower case.
    table: FxHashMap<BString, EntryUses>,
    /// Counts of the table of defaults, by index; a use of the default of a subsystem is counted as a use of the
    /// general default.
    defaults: FxHashMap<usize, EntryUses>,
}

/// The counts of a macro set.
#[derive(Debug, Default)]
pub(crate) struct UseCounts(Mutex<UseCountTables>);

impl Clone for UseCounts {
    fn clone(&self) -> Self {
        UseCounts(Mutex::new(self.lock().clone()))
    }
}

/// Name or parameter whose uses are counted.
pub(crate) enum CountKey {
    /// A name that sources set or that was detected, in lower case.
    Name(BString),
    /// Index of the general parameter in the table of defaults.
    Default(usize),
}

impl CountKey {
    /// Returns the key of a name.
    pub(crate) fn for_name(name: &[u8]) -> Self {
        CountKey::Name(name.to_ascii_lowercase().into())
    }

    /// Returns the key of a parameter of the table: that of its general entry.
    pub(crate) fn for_parameter(parameter: Parameter) -> Option<Self> {
        let general = match parameter.subsystem() {
            None => Some(parameter),
            Some(_) => defaults::find(parameter.name()),
        };
        general.map(|general| CountKey::Default(general.index()))
    }
}

impl UseCounts {
    fn lock(&self) -> MutexGuard<'_, UseCountTables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a look-up.
    pub(crate) fn count(&self, key: Option<CountKey>) {
        let mut counts = self.lock();
        let purpose = counts.purpose;
        if purpose == LookupPurpose::Uncounted {
            return;
        }
        match key {
            Some(CountKey::Name(name)) => counts.table.entry(name).or_default().count(purpose),
            Some(CountKey::Default(index)) => counts.defaults.entry(index).or_default().count(purpose),
            None => {}
        }
    }

    /// Returns the counts of an entry.
    pub(crate) fn uses_of(&self, key: Option<CountKey>) -> EntryUses {
        let counts = self.lock();
        let uses = match key {
            Some(CountKey::Name(name)) => counts.table.get(&name),
            Some(CountKey::Default(index)) => counts.defaults.get(&index),
            None => None,
        };
        uses.copied().unwrap_or_default()
    }

    /// Restores the counts of an entry.
    pub(crate) fn restore(&self, key: Option<CountKey>, uses: EntryUses) {
        let mut counts = self.lock();
        match key {
            Some(CountKey::Name(name)) => counts.table.insert(name, uses),
            Some(CountKey::Default(index)) => counts.defaults.insert(index, uses),
            None => None,
        };
    }

    /// Returns the number of entries that have uses, and of those that have references.
    pub(crate) fn totals(&self) -> (usize, usize) {
        let counts = self.lock();
        let all = || counts.table.values().chain(counts.defaults.values());
        (all().filter(|one| one.parameter_reads != 0).count(), all().filter(|one| one.all_reads != 0).count())
    }

    /// Counts look-ups as `purpose` until the guard is dropped.
    pub(crate) fn set_purpose(&self, purpose: LookupPurpose) -> LookupPurposeGuard<'_> {
        let previous = std::mem::replace(&mut self.lock().purpose, purpose);
        LookupPurposeGuard { counts: self, previous }
    }
}

/// Restores the previous purpose of look-ups when dropped.
#[must_use = "look-ups are counted only during its lifetime"]
pub struct LookupPurposeGuard<'a> {
    counts: &'a UseCounts,
    previous: LookupPurpose,
}

impl Drop for LookupPurposeGuard<'_> {
    fn drop(&mut self) {
        self.counts.lock().purpose = self.previous;
    }
}
