//! Groups of jobs that no slot can distinguish.

use htc_classad::{AttrName, ClassAd, Expr};
use rustc_hash::{FxHashMap, FxHashSet};

use super::name_closure::{NameGraph, ReadNames, close, definitions_key, definitions_read, push_expr_key};
use super::slot_set::SlotSet;

/// Attributes that decide about a match without being mentioned in Requirements.
const DIRECTLY_READ: [&str; 5] =
    ["Requirements", "RequestCpus", "RequestMemory", "RequestDisk", "PartitionableSlot"];

/// Jobs with equal definitions of everything that is read.
#[derive(Clone, Debug)]
pub(super) struct RawGroup {
    pub(super) ad: ClassAd,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) count: usize,
}

/// Grouping of jobs, one after the other: only the first job of each group is kept.
///
/// The key of a job consists of its definitions of all names that the conditions of slots, its own Requirements or the
/// conditions of earlier jobs read. It contains all that evaluations of this job can read, so that equal keys are
/// exact.
pub struct JobGrouper<'s> {
    pub(super) slots: &'s dyn SlotSet,
    names: Vec<AttrName>,
    known: FxHashSet<Vec<u8>>,
    pub(super) slot_graph: NameGraph,
    /// Expressions of jobs whose names are in the list.
    seen_texts: FxHashSet<Vec<u8>>,
    reads_any: bool,
    index: FxHashMap<Vec<u8>, usize>,
    groups: Vec<RawGroup>,
    key: Vec<u8>,
}

impl<'s> JobGrouper<'s> {
    /// Creates an empty grouping for these slots.
    pub fn new(slots: &'s dyn SlotSet) -> Self {
        let mut grouper = JobGrouper {
            slots,
            names: Vec::new(),
            known: FxHashSet::default(),
            slot_graph: NameGraph::new(),
            seen_texts: FxHashSet::default(),
            reads_any: false,
            index: FxHashMap::default(),
            groups: Vec::new(),
            key: Vec::new(),
        };
        let mut read = ReadNames { names: DIRECTLY_READ.map(AttrName::from).into(), reads_any: false };
        slots.hidden_expressions().iter().for_each(|expr| read.add_expr(expr));
        grouper.add_read(read);
        grouper
    }

    /// Adds a job; the name is printed for its group if it is the first.
    pub fn add(&mut self, name: String, job: ClassAd) {
        self.add_request_names(&job);
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let mut at = 0;
        // The list may grow while the job is read.
        while at < self.names.len() && !self.reads_any {
            if let Some(expr) = job.get(&self.names[at]) {
                key.extend_from_slice(&(at as u32).to_le_bytes());
                let from = key.len();
                push_expr_key(&expr, &mut key);
                if expr.as_literal().is_none() && !self.seen_texts.contains(&key[from..]) {
                    self.seen_texts.insert(key[from..].to_vec());
                    self.add_read(ReadNames::of_expr(&expr));
                }
            }
            at += 1;
        }
        if self.reads_any {
            key = definitions_key(&job, &ReadNames { reads_any: true, ..ReadNames::default() });
        }
        match self.index.get(&key) {
            Some(&group) => {
                let group = &mut self.groups[group];
                group.count += 1;
                group.last = name;
            }
            None => {
                self.index.insert(key.clone(), self.groups.len());
                self.groups.push(RawGroup { ad: job, last: name.clone(), first: name, count: 1 });
            }
        }
        self.key = key;
    }

    /// Adds the names of requests, which are read for every kind of resource.
    fn add_request_names(&mut self, job: &ClassAd) {
        let is_request = |name: &[u8]| {
            name.len() > 7
                && (name[..7].eq_ignore_ascii_case(b"Request") || name[..7].eq_ignore_ascii_case(b"Require"))
        };
        for name in job.names() {
            if is_request(name) && !self.known.contains(name.to_ascii_lowercase().as_slice()) {
                let mut read = ReadNames::default();
                // RequireGPUs is evaluated for the elements of AvailableGPUs, RequestGPUs for the slot.
                let available = [&b"Available"[..], &name[7..]].concat();
                read.names.extend([name.into(), available.as_slice().into(), "MachineResources".into()]);
                self.add_read(read);
            }
        }
    }

    /// Adds names, and all that can be reached from them through definitions of slots.
    fn add_read(&mut self, read: ReadNames) {
        self.reads_any |= read.reads_any;
        let mut pending: Vec<AttrName> = read.names.into_iter().collect();
        while let Some(name) = pending.pop() {
            if !self.known.insert(name.as_bytes().to_ascii_lowercase()) {
                continue;
            }
            let ads = (0..self.slots.len()).map(|slot| self.slots.ad(slot));
            let read = definitions_read(&name, ads);
            self.reads_any |= read.reads_any;
            pending.extend(read.names.iter().cloned());
            self.slot_graph.insert(name.clone(), read);
            self.names.push(name);
        }
    }

    /// Returns the groups. Names that only other jobs read no longer separate groups.
    pub(super) fn finish(mut self) -> (Vec<RawGroup>, NameGraph) {
        let groups = std::mem::take(&mut self.groups);
        let start = self.starting_names(&groups);
        let mut index: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        let mut merged: Vec<RawGroup> = Vec::new();
        // What is read depends on expressions alone, which most jobs have in common.
        let mut closures: FxHashMap<Vec<u8>, ReadNames> = FxHashMap::default();
        for group in groups {
            let own = self.expressions(&group.ad);
            let mut key = Vec::new();
            own.iter().for_each(|(at, expr)| {
                key.extend_from_slice(&(*at as u32).to_le_bytes());
                push_expr_key(expr, &mut key);
            });
            let closure = || {
                let graph = own.iter().map(|(at, expr)| (self.names[*at].clone(), ReadNames::of_expr(expr)));
                close(start.clone(), [&self.slot_graph, &graph.collect()])
            };
            let read = closures.entry(key).or_insert_with(closure);
            let mut key = Vec::new();
            read.names.iter().for_each(|name| {
                key.extend(name.as_bytes().to_ascii_lowercase());
                key.push(0);
            });
            key.extend(definitions_key(&group.ad, read));
            match index.get(&key) {
                Some(&at) => {
                    let into: &mut RawGroup = &mut merged[at];
                    into.count += group.count;
                    into.last = group.last;
                }
                None => {
                    index.insert(key, merged.len());
                    merged.push(group);
                }
            }
        }
        (merged, self.slot_graph)
    }

    /// Returns the definitions of a job that are not literals, with the numbers of their names.
    fn expressions(&self, job: &ClassAd) -> Vec<(usize, Expr)> {
        let definition = |(at, name): (usize, &AttrName)| job.get(name).map(|expr| (at, expr));
        let definitions = self.names.iter().enumerate().filter_map(definition);
        definitions.filter(|(_, expr)| expr.as_literal().is_none()).collect()
    }

    /// Returns the names that are read of every job.
    fn starting_names(&self, groups: &[RawGroup]) -> ReadNames {
        let mut read = ReadNames { names: DIRECTLY_READ.map(AttrName::from).into(), reads_any: false };
        self.slots.hidden_expressions().iter().for_each(|expr| read.add_expr(expr));
        let requests = groups.iter().flat_map(|group| group.ad.names()).filter(|name| {
            name.len() > 7
                && (name[..7].eq_ignore_ascii_case(b"Request") || name[..7].eq_ignore_ascii_case(b"Require"))
        });
        for name in requests {
            let name: AttrName = name.into();
            if !read.names.contains(&name) {
                read.names.insert([&b"Available"[..], &name.as_bytes()[7..]].concat().as_slice().into());
                read.names.insert("MachineResources".into());
                read.names.insert(name);
            }
        }
        read
    }
}
