//! Names that decide to which group a job belongs.

use htc_classad::{AttrName, ClassAd, Expr};
use rustc_hash::FxHashSet;

use super::name_closure::{NameGraph, ReadNames, definitions_key, definitions_read, push_expr_key};
use super::slot_set::SlotSet;

/// Attributes that decide about a match without being mentioned in Requirements.
const DIRECTLY_READ: [&str; 5] =
    ["Requirements", "RequestCpus", "RequestMemory", "RequestDisk", "PartitionableSlot"];

/// Prefixes of attributes that are read for every kind of resource.
pub(super) const REQUEST_PREFIXES: [&str; 2] = ["Request", "Require"];

/// Names that are read by the conditions of slots and of the jobs that were added so far. The list only grows.
///
/// The key of a job consists of its definitions of these names. It contains everything that evaluations of this job
/// can read, so that jobs with equal keys cannot be distinguished.
pub(super) struct KeyNames<'s> {
    slot_ads: Vec<&'s ClassAd>,
    /// Names that are read from every job, whatever its Requirements are.
    pub(super) of_every_job: ReadNames,
    pub(super) names: Vec<AttrName>,
    known: FxHashSet<Vec<u8>>,
    pub(super) slot_graph: NameGraph,
    /// Expressions of jobs from which all names have been added to the list.
    known_expressions: FxHashSet<Vec<u8>>,
    /// True if an expression may read attributes that it does not name.
    pub(super) reads_any: bool,
}

impl<'s> KeyNames<'s> {
    pub(super) fn new(slots: &'s dyn SlotSet) -> Self {
        let of_every_job = names_of_every_job(slots);
        let mut names = KeyNames {
            slot_ads: (0..slots.len()).map(|slot| slots.ad(slot)).collect(),
            of_every_job: of_every_job.clone(),
            names: Vec::new(),
            known: FxHashSet::default(),
            slot_graph: NameGraph::new(),
            known_expressions: FxHashSet::default(),
            reads_any: false,
        };
        names.add_read(of_every_job);
        names
    }

    /// Writes the key of a job, and adds the names that the job reads to the list.
    pub(super) fn write_key(&mut self, job: &ClassAd, key: &mut Vec<u8>) {
        self.add_request_names(job);
        key.clear();
        let mut at = 0;
        // The list may grow while the job is read.
        while at < self.names.len() && !self.reads_any {
            if let Some(expr) = job.get(&self.names[at]) {
                key.extend_from_slice(&(at as u32).to_le_bytes());
                let start = key.len();
                if !push_expr_key(&expr, key) && !self.known_expressions.contains(&key[start..]) {
                    self.known_expressions.insert(key[start..].to_vec());
                    self.add_read(ReadNames::of_expr(&expr));
                }
            }
            at += 1;
        }
        if self.reads_any {
            *key = definitions_key(job, &ReadNames { reads_any: true, ..ReadNames::default() });
        }
    }

    /// Adds the names that are read because of each Request attribute of the job.
    fn add_request_names(&mut self, job: &ClassAd) {
        for name in job.names().filter(|name| is_request(name)) {
            if !self.known.contains(name.to_ascii_lowercase().as_slice()) {
                let mut read = ReadNames::default();
                add_request(name, &mut read);
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
            let read = definitions_read(&name, self.slot_ads.iter().copied());
            self.reads_any |= read.reads_any;
            pending.extend(read.names.iter().cloned());
            self.slot_graph.insert(name.clone(), read);
            self.names.push(name);
        }
    }

    /// Returns the definitions of a job that are not literals, with the numbers of their names.
    pub(super) fn expressions(&self, job: &ClassAd) -> Vec<(usize, Expr)> {
        let definition = |(at, name): (usize, &AttrName)| job.get(name).map(|expr| (at, expr));
        let definitions = self.names.iter().enumerate().filter_map(definition);
        definitions.filter(|(_, expr)| expr.as_literal().is_none()).collect()
    }
}

/// Returns the names that are read from every job, whatever its Requirements are.
fn names_of_every_job(slots: &dyn SlotSet) -> ReadNames {
    let mut read = ReadNames { names: DIRECTLY_READ.map(AttrName::from).into(), reads_any: false };
    slots.hidden_expressions().iter().for_each(|expr| read.add_expr(expr));
    read
}

/// True if a name is that of a request, such as RequestGPUs or RequireGPUs.
pub(super) fn is_request(name: &[u8]) -> bool {
    let begins = |prefix: &str| name[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes());
    name.len() > 7 && REQUEST_PREFIXES.iter().any(|prefix| begins(prefix))
}

/// Adds the names that are read because of a request: RequireGPUs is evaluated for the elements of AvailableGPUs,
/// RequestGPUs for the slot.
pub(super) fn add_request(name: &[u8], read: &mut ReadNames) {
    let available = [&b"Available"[..], &name[7..]].concat();
    read.names.extend([name.into(), available.as_slice().into(), "MachineResources".into()]);
}
