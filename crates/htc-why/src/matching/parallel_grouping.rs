//! Grouping of jobs by several threads. Each reads only the attributes that separate groups, until it finds a job whose
//! group is new.
//!
//! A thread's own keys are cheaper than those of [`KeyNames`]: expressions are replaced by numbers. A job is counted by
//! such a key only if all its expressions are known, so that all names that it can read are part of the key.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use htc_classad::{AttrName, ClassAd, Expr, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::counted_group::{CountedGroup, JobPlace};
use super::grouping::JobGrouper;
use super::key_names::{KeyNames, REQUEST_PREFIXES, is_request};
use super::name_closure::expression_key;

/// Maximum number of expressions of one attribute that are compared before a map is searched.
const RECENT_EXPRESSIONS: usize = 4;

/// Maximum number of expressions for which one thread keeps numbers. Jobs with other expressions are added to the
/// shared grouping one by one.
const MAX_EXPRESSIONS: usize = 1 << 16;

/// Grouping of jobs that several threads share.
pub struct ThreadedJobGrouper<'g, 's> {
    grouper: Mutex<&'g mut JobGrouper<'s>>,
    labels: &'static [&'static str],
    counters: Mutex<Vec<CounterState>>,
    /// Sum of the numbers of groups of all threads.
    group_count: AtomicUsize,
}

impl<'g, 's> ThreadedJobGrouper<'g, 's> {
    /// Creates a grouping to which several threads can add jobs. `labels` are the attributes from which the names of
    /// jobs are made.
    pub fn new(grouper: &'g mut JobGrouper<'s>, labels: &'static [&'static str]) -> Self {
        let group_count = AtomicUsize::new(grouper.group_count());
        ThreadedJobGrouper { grouper: Mutex::new(grouper), labels, counters: Mutex::default(), group_count }
    }

    /// Returns the number of groups so far; those of different threads may be the same.
    pub fn group_count(&self) -> usize {
        self.group_count.load(Ordering::Relaxed)
    }

    /// Creates a counter for one thread.
    pub fn counter(&self) -> JobCounter<'_, 'g, 's> {
        let mut state = CounterState::default();
        self.lock_names(|names| state.update_names(names, self.labels));
        JobCounter { shared: self, state }
    }

    /// Adds the groups of all counters to the grouping. `batch_starts` has the number of jobs before each batch, and as
    /// its last element the number of all jobs; `name` returns the name of a job from its ad and its number, counted
    /// from 1.
    pub fn finish(self, batch_starts: &[u64], name: &dyn Fn(&ClassAd, u64) -> String) {
        let counters = self.counters.into_inner().unwrap_or_else(PoisonError::into_inner);
        let grouper = self.grouper.into_inner().unwrap_or_else(PoisonError::into_inner);
        let groups = counters.into_iter().flat_map(|counter| counter.groups).collect();
        grouper.add_counted(groups, batch_starts, name);
    }

    fn lock_names<T>(&self, action: impl FnOnce(&mut KeyNames<'s>) -> T) -> T {
        let mut grouper = self.grouper.lock().unwrap_or_else(PoisonError::into_inner);
        action(&mut grouper.names)
    }
}

/// Counter of the jobs that one thread reads. Its counts are kept when it is dropped.
pub struct JobCounter<'c, 'g, 's> {
    shared: &'c ThreadedJobGrouper<'g, 's>,
    state: CounterState,
}

impl Drop for JobCounter<'_, '_, '_> {
    fn drop(&mut self) {
        let state = std::mem::take(&mut self.state);
        self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    }
}

impl JobCounter<'_, '_, '_> {
    /// Prefixes of attributes that are read from each job in addition to [`JobCounter::names`].
    pub const PREFIXES: [&'static str; 2] = REQUEST_PREFIXES;

    /// Returns the number of attributes that have to be read from each job.
    pub fn name_count(&self) -> usize {
        self.state.names.len() + self.state.other_labels.len()
    }

    /// Returns the attributes that have to be read from each job, or `None` if all attributes have to be read. The
    /// list only grows: when jobs are added, and when other threads add jobs and [`JobCounter::update_names`] is
    /// called.
    pub fn names(&self) -> Option<impl Iterator<Item = &AttrName>> {
        (!self.state.reads_any).then(|| self.state.names.iter().chain(&self.state.other_labels))
    }

    /// Adds the names that other threads have found.
    pub fn update_names(&mut self) {
        let labels = self.shared.labels;
        self.shared.lock_names(|names| self.state.update_names(names, labels));
    }

    /// Counts a job if its group is known, and exchanges its ad for another that may be overwritten. At least the
    /// attributes of [`JobCounter::names`] must have been read. Returns false if the whole job has to be added.
    pub fn count(&mut self, job: &mut ClassAd, place: JobPlace) -> bool {
        let state = &mut self.state;
        let Some(found) = state.write_own_key(job) else { return false };
        if found + state.other_labels.iter().filter(|name| job.contains(name)).count() != job.len()
            || !state.has_plain_labels(job, self.shared.labels)
        {
            return false;
        }
        let Some(&group) = state.index.get(&state.own_key) else { return false };
        let group = &mut state.groups[group];
        group.count += 1;
        group.last = place;
        std::mem::swap(group.last_label.get_or_insert_default(), job);
        true
    }

    /// Adds a whole job. Returns true if its group was new to this thread.
    pub fn add(&mut self, mut job: ClassAd, place: JobPlace) -> bool {
        let state = &mut self.state;
        let knows_requests = job.names().filter(|name| is_request(name)).all(|name| state.is_known(name));
        if knows_requests
            && state.write_own_key(&job).is_some()
            && let Some(&group) = state.index.get(&state.own_key)
        {
            let group = &mut state.groups[group];
            (group.count, group.last) = (group.count + 1, place);
            group.last_label = Some(job);
            return false;
        }
        let mut key = Vec::new();
        let labels = self.shared.labels;
        self.shared.lock_names(|names| {
            names.write_key(&job, &mut key);
            state.update_names(names, labels);
        });
        state.learn_expressions(&job);
        let next = state.groups.len();
        // Keys of one thread may be missing because it does not keep all expressions.
        let at = *state.by_key.entry(key.clone()).or_insert(next);
        if state.write_own_key(&job).is_some() {
            state.index.insert(state.own_key.clone(), at);
        }
        if at < next {
            let group = &mut state.groups[at];
            (group.count, group.last) = (group.count + 1, place);
            group.last_label = Some(std::mem::take(&mut job));
            return false;
        }
        self.shared.group_count.fetch_add(1, Ordering::Relaxed);
        state.groups.push(CountedGroup {
            key,
            ad: job,
            first: place,
            last: place,
            last_label: None,
            count: 1,
        });
        true
    }
}

/// Groups of jobs that one thread has counted so far.
#[derive(Default)]
struct CounterState {
    names: Vec<AttrName>,
    known_names: FxHashSet<Vec<u8>>,
    reads_any: bool,
    /// Attributes from which names of jobs are made and that are not in `names`.
    other_labels: Vec<AttrName>,
    /// Known expressions of each name, the most recent first.
    recent: Vec<Vec<(Expr, u32)>>,
    expressions: FxHashMap<Vec<u8>, u32>,
    own_key: Vec<u8>,
    /// Groups by the thread's own keys.
    index: FxHashMap<Vec<u8>, usize>,
    by_key: FxHashMap<Vec<u8>, usize>,
    groups: Vec<CountedGroup>,
}

impl CounterState {
    fn is_known(&self, name: &[u8]) -> bool {
        self.known_names.contains(name.to_ascii_lowercase().as_slice())
    }

    fn update_names(&mut self, names: &KeyNames<'_>, labels: &[&str]) {
        self.reads_any = names.reads_any;
        if self.names.len() < names.names.len() || self.other_labels.is_empty() {
            let new = &names.names[self.names.len()..];
            self.known_names.extend(new.iter().map(|name| name.as_bytes().to_ascii_lowercase()));
            self.names.extend_from_slice(new);
            self.recent.resize_with(self.names.len(), Vec::new);
            let others = labels.iter().map(|label| AttrName::from(*label));
            self.other_labels = others.filter(|label| !self.is_known(label.as_bytes())).collect();
        }
    }

    /// True if the attributes from which the name of a job is made are literals: labels that are not literals may
    /// read further attributes.
    fn has_plain_labels(&self, job: &ClassAd, labels: &[&str]) -> bool {
        labels.iter().all(|label| job.get(label).is_none_or(|expr| expr.as_literal().is_some()))
    }

    /// Writes the thread's own key of a job; returns the number of names that it has, or `None` if an expression is not
    /// known.
    fn write_own_key(&mut self, job: &ClassAd) -> Option<usize> {
        if self.reads_any {
            return None;
        }
        self.own_key.clear();
        let mut found = 0;
        for (at, name) in self.names.iter().enumerate() {
            let Some(expr) = job.get(name) else { continue };
            found += 1;
            self.own_key.extend_from_slice(&(at as u32).to_le_bytes());
            match expr.as_literal() {
                Some(value) => push_literal(&value, &mut self.own_key),
                None => {
                    let number = find_expression(&mut self.recent[at], &self.expressions, expr)?;
                    self.own_key.push(b'e');
                    self.own_key.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
        Some(found)
    }

    /// Gives numbers to those expressions of a job whose names are in the list.
    fn learn_expressions(&mut self, job: &ClassAd) {
        if self.reads_any || self.expressions.len() >= MAX_EXPRESSIONS {
            return;
        }
        for name in &self.names {
            let Some(expr) = job.get(name).filter(|expr| expr.as_literal().is_none()) else { continue };
            let next = self.expressions.len() as u32;
            self.expressions.entry(expression_key(&expr)).or_insert(next);
        }
    }
}

/// Returns the number of an expression, or `None` if it is not known.
fn find_expression(
    recent: &mut Vec<(Expr, u32)>,
    known: &FxHashMap<Vec<u8>, u32>,
    expr: Expr,
) -> Option<u32> {
    // Expressions that were read from the same text share their tree. `==` would treat close real numbers as equal.
    if let Some(at) = recent.iter().position(|(other, _)| other.is_same_object(&expr)) {
        return Some(recent[at].1);
    }
    let number = *known.get(&expression_key(&expr))?;
    recent.truncate(RECENT_EXPRESSIONS - 1);
    recent.insert(0, (expr, number));
    Some(number)
}

/// Appends a literal to a key; equal keys mean equal literals.
fn push_literal(value: &Value, key: &mut Vec<u8>) {
    let text = |kind: u8, text: &[u8], key: &mut Vec<u8>| {
        key.push(kind);
        key.extend_from_slice(&(text.len() as u64).to_le_bytes());
        key.extend_from_slice(text);
    };
    match value {
        Value::Int(number) => {
            key.push(b'i');
            key.extend_from_slice(&number.to_le_bytes());
        }
        Value::Real(real) => {
            key.push(b'r');
            key.extend_from_slice(&real.to_bits().to_le_bytes());
        }
        Value::Str(string) => text(b's', string, key),
        other => text(b'l', &other.unparse(), key),
    }
}
