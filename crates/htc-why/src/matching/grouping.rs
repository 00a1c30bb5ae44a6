//! Groups of jobs that are equivalent for every slot.

use htc_classad::{AttrName, ClassAd};
use rustc_hash::{FxHashMap, FxHashSet};

use super::counted_group::{CountedGroup, JobPlace};
use super::key_names::{KeyNames, add_request, is_request};
use super::name_closure::{NameGraph, ReadNames, close, definitions_key, push_expr_key};
use super::slot_set::SlotSet;

/// Jobs with equal definitions of all names that are read.
#[derive(Clone, Debug)]
pub(super) struct RawGroup {
    pub(super) ad: ClassAd,
    pub(super) first: String,
    pub(super) last: String,
    /// Number of the last job.
    pub(super) last_number: u64,
    pub(super) count: usize,
}

/// Grouping of jobs, one after the other or by several threads: only the first job of each group is kept.
pub struct JobGrouper<'s> {
    pub(super) names: KeyNames<'s>,
    index: FxHashMap<Vec<u8>, usize>,
    groups: Vec<RawGroup>,
    /// Number of jobs.
    job_count: u64,
    key: Vec<u8>,
}

impl<'s> JobGrouper<'s> {
    /// Creates an empty grouping for these slots.
    pub fn new(slots: &'s dyn SlotSet) -> Self {
        JobGrouper {
            names: KeyNames::new(slots),
            index: FxHashMap::default(),
            groups: Vec::new(),
            job_count: 0,
            key: Vec::new(),
        }
    }

    /// Adds a job. Its name is printed if it is the first or the last job of its group.
    pub fn add(&mut self, name: String, job: ClassAd) {
        let mut key = std::mem::take(&mut self.key);
        self.names.write_key(&job, &mut key);
        let last_number = self.job_count;
        self.job_count += 1;
        match self.index.get(&key) {
            Some(&group) => {
                let group = &mut self.groups[group];
                group.count += 1;
                (group.last, group.last_number) = (name, last_number);
            }
            None => {
                self.index.insert(key.clone(), self.groups.len());
                self.groups.push(RawGroup {
                    ad: job,
                    last: name.clone(),
                    first: name,
                    last_number,
                    count: 1,
                });
            }
        }
        self.key = key;
    }

    /// Returns the number of jobs.
    pub fn job_count(&self) -> u64 {
        self.job_count
    }

    /// Returns the number of groups so far; some of them may turn out to be the same.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Adds groups that threads have counted, whose jobs follow all that were added before. `batch_starts` has the
    /// number of jobs before each batch, and the number of all jobs as its last element. `name` returns the name of a
    /// job from its ad and its number, counted from 1 over all jobs.
    pub(super) fn add_counted(
        &mut self,
        mut counted: Vec<CountedGroup>,
        batch_starts: &[u64],
        name: &dyn Fn(&ClassAd, u64) -> String,
    ) {
        let before = self.job_count;
        let number = |place: JobPlace| before + batch_starts[place.batch as usize] + place.index;
        // The first job of a group is the one that a single thread would keep.
        counted.sort_by_key(|group| number(group.first));
        for CountedGroup { key, ad, first, last, last_label, count } in counted {
            let next = self.groups.len();
            let at = *self.index.entry(key).or_insert(next);
            let last_number = number(last);
            let last = || name(last_label.as_ref().unwrap_or(&ad), last_number + 1);
            if at == next {
                let (first, last) = (name(&ad, number(first) + 1), last());
                self.groups.push(RawGroup { first, last, last_number, count, ad });
                continue;
            }
            let group = &mut self.groups[at];
            group.count += count;
            if group.last_number < last_number {
                (group.last, group.last_number) = (last(), last_number);
            }
        }
        self.job_count += batch_starts.last().copied().unwrap_or(0);
    }

    /// Returns the groups. Groups that differ only in names that no job of either group reads are merged.
    pub(super) fn finish(mut self) -> (Vec<RawGroup>, NameGraph) {
        let groups = std::mem::take(&mut self.groups);
        let start = self.names_read_from_all(&groups);
        let mut index: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        let mut merged: Vec<RawGroup> = Vec::new();
        // The names that are read depend only on expressions, and most jobs have the same expressions.
        let mut closures: FxHashMap<Vec<u8>, (Vec<u8>, ReadNames)> = FxHashMap::default();
        let (mut expressions_key, mut key) = (Vec::new(), Vec::new());
        for group in groups {
            let expressions = self.names.expressions(&group.ad);
            expressions_key.clear();
            expressions.iter().for_each(|(at, expr)| {
                expressions_key.extend_from_slice(&(*at as u32).to_le_bytes());
                push_expr_key(expr, &mut expressions_key);
            });
            if !closures.contains_key(&expressions_key) {
                let names = &self.names.names;
                let graph =
                    expressions.iter().map(|(at, expr)| (names[*at].clone(), ReadNames::of_expr(expr)));
                let read = close(start.clone(), [&self.names.slot_graph, &graph.collect()]);
                closures.insert(expressions_key.clone(), (names_key(&read), read));
            }
            key.clear();
            if let Some((names, read)) = closures.get(&expressions_key) {
                key.extend_from_slice(names);
                key.extend(definitions_key(&group.ad, read));
            }
            match index.get(&key) {
                Some(&at) => {
                    let target: &mut RawGroup = &mut merged[at];
                    target.count += group.count;
                    if target.last_number < group.last_number {
                        (target.last, target.last_number) = (group.last, group.last_number);
                    }
                }
                None => {
                    index.insert(key.clone(), merged.len());
                    merged.push(group);
                }
            }
        }
        (merged, self.names.slot_graph)
    }

    /// Returns the names that are read from every job.
    fn names_read_from_all(&self, groups: &[RawGroup]) -> ReadNames {
        let mut read = self.names.of_every_job.clone();
        let mut checked_names: FxHashSet<&[u8]> = FxHashSet::default();
        for name in groups.iter().flat_map(|group| group.ad.names()).filter(|name| is_request(name)) {
            if checked_names.insert(name) && !read.names.contains(&AttrName::from(name)) {
                add_request(name, &mut read);
            }
        }
        read
    }
}

/// Returns a key of a set of names.
fn names_key(read: &ReadNames) -> Vec<u8> {
    let mut key = Vec::new();
    for name in &read.names {
        key.extend(name.as_bytes().to_ascii_lowercase());
        key.push(0);
    }
    key
}
