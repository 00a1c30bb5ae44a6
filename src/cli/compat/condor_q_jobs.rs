//! Jobs that condor_q prints, in the order of their ids.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::condor_q_rows::packed_id;

use crate::classad::{ClassAd, Context};
use crate::world::World;

/// Jobs of a file by job ID. If two jobs have the same ID, only the first is kept. The key of a job without ClusterId
/// contains the number of the job in the file.
#[derive(Default)]
pub(super) struct JobsById {
    pub(super) by_id: BTreeMap<(i64, i32), ClassAd>,
    number: i32,
    /// Attribute that is the id instead of cluster and process.
    attribute: Option<&'static str>,
}

impl JobsById {
    pub(super) fn new(attribute: Option<&'static str>) -> Self {
        JobsById { attribute, ..JobsById::default() }
    }

    /// Returns the key of the next ad.
    pub(super) fn next_key(&mut self, ad: &ClassAd, world: &dyn World) -> (i64, i32) {
        let context = Context::new(world).my(ad);
        let number = self.number;
        self.number += 1;
        if let Some(attribute) = self.attribute {
            let id = context.int(attribute);
            return (id.unwrap_or(packed_id(i32::MAX, number)), 0);
        }
        let (cluster, mut process) = match (context.int("ClusterId"), context.int("JobSetId")) {
            (Some(cluster), _) => (cluster as i32, number),
            (None, Some(set)) => (0, set as i32),
            (None, None) => (i32::MAX, number),
        };
        if let Some(proc) = context.int("ProcId") {
            process = proc as i32;
        }
        let file_number = if cluster == i32::MAX { number } else { 0 };
        (packed_id(cluster, process), file_number)
    }

    /// Adds an ad. Returns false if there is already an ad with the same key.
    pub(super) fn add(&mut self, ad: ClassAd, world: &dyn World) -> bool {
        let key = self.next_key(&ad, world);
        match self.by_id.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(ad);
                true
            }
            Entry::Occupied(_) => false,
        }
    }
}
