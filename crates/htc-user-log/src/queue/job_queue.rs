//! Ads that a queue log defines: jobs, their clusters, users and the header.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::record::{QueueLogRecord, QueueRecords};
use htc_base::job::JobId;
use htc_classad::{ClassAd, Dialect, Value};

/// Ad of the queue as stored, without the attributes of its cluster.
#[derive(Clone, Debug, Default)]
struct StoredAd {
    /// Attributes of the ad. The ad of a cluster is shared with the job ads chained to it.
    ad: Arc<ClassAd>,
    /// Position of the ad in the order in which ads were created.
    entry_number: u64,
}

/// Ads of a queue by their keys.
#[derive(Clone, Debug, Default)]
pub struct JobQueue {
    ads: FxHashMap<JobId, StoredAd>,
    entry_count: u64,
    /// Dialect of the values.
    pub(super) dialect: Dialect,
}

impl QueueRecords for JobQueue {
    fn apply_record(&mut self, record: QueueLogRecord<'_>) -> Result<(), htc_classad::ParseError> {
        match record {
            QueueLogRecord::New { key, .. } => {
                self.entry_count += 1;
                let stored = StoredAd { ad: Arc::default(), entry_number: self.entry_count };
                self.ads.insert(key, stored);
            }
            QueueLogRecord::Destroy(key) => {
                self.ads.remove(&key);
            }
            QueueLogRecord::Set { key, name, value } => {
                let Some(stored) = self.ads.get_mut(&key) else { return Ok(()) };
                Arc::make_mut(&mut stored.ad).insert_old_syntax(name, value, self.dialect)?;
            }
            QueueLogRecord::Delete { key, name } => {
                // If a job deletes an attribute of its cluster, the attribute is hidden from this job but remains in
                // the cluster.
                let cluster = key.cluster_id();
                let hidden =
                    key.is_job() && self.ads.get(&cluster).is_some_and(|stored| stored.ad.contains(name));
                if let Some(stored) = self.ads.get_mut(&key) {
                    let ad = Arc::make_mut(&mut stored.ad);
                    if hidden { ad.set(name, Value::Undefined) } else { drop(ad.remove(name)) }
                }
            }
            QueueLogRecord::Begin
            | QueueLogRecord::End
            | QueueLogRecord::Header { .. }
            | QueueLogRecord::Marker => {}
        }
        Ok(())
    }
}

impl JobQueue {
    /// Returns the jobs in numerical order, including the attributes of their clusters.
    pub fn into_flattened_jobs(mut self) -> Vec<(JobId, ClassAd)> {
        let ids = self.job_ids();
        let clusters: FxHashMap<JobId, Arc<ClassAd>> = self
            .ads
            .iter()
            .filter(|(id, stored)| !id.is_job() && !stored.ad.is_empty())
            .map(|(id, stored)| (*id, Arc::clone(&stored.ad)))
            .collect();
        let mut job = |id: JobId| {
            let mut ad = Arc::unwrap_or_clone(self.ads.remove(&id)?.ad);
            let Some(cluster) = clusters.get(&id.cluster_id()) else { return Some((id, ad)) };
            ad.chain(Some(Arc::clone(cluster)));
            Some((id, ad.flattened_chain()))
        };
        ids.into_iter().filter_map(&mut job).collect()
    }

    /// Moves a job to the end of the entry order, as the router does in its copy of the queue after it edited a job in
    /// place.
    pub fn move_to_end(&mut self, key: JobId) {
        self.entry_count += 1;
        if let Some(stored) = self.ads.get_mut(&key) {
            stored.entry_number = self.entry_count;
        }
    }

    /// Returns the ad of a job, chained to the ad of its cluster, or `None` if the job is not in the queue.
    pub fn job(&self, key: JobId) -> Option<ClassAd> {
        let stored = self.ads.get(&key)?;
        let mut ad = ClassAd::clone(&stored.ad);
        if let Some(cluster) = self.ads.get(&key.cluster_id()) {
            ad.chain(Some(Arc::clone(&cluster.ad)));
        }
        Some(ad)
    }

    /// Returns the ids of all jobs in numerical order, as `condor_q` lists them.
    pub fn job_ids(&self) -> Vec<JobId> {
        let mut ids: Vec<JobId> = self.ads.keys().copied().filter(|id| id.is_job()).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the ids of all jobs in the order of entry, in which a router processes them.
    pub fn job_ids_in_entry_order(&self) -> Vec<JobId> {
        let ids = self.ads.iter().filter(|(id, _)| id.is_job());
        let order: BTreeMap<u64, JobId> = ids.map(|(id, stored)| (stored.entry_number, *id)).collect();
        order.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueLogReader;

    #[test]
    fn a_job_hides_a_deleted_cluster_attribute_only_from_itself() {
        let mut reader = QueueLogReader::new();
        reader
            .feed(b"101 01.-1 Job Machine\n101 1.0 Job Machine\n101 1.1 Job Machine\n103 01.-1 Note \"n\"\n");
        reader.feed(b"103 1.0 Own 1\n104 1.0 Note\n104 1.0 Own\n");
        let job = |proc| reader.queue().job(JobId::new(1, proc)).map(|ad| ad.flattened_chain());
        assert_eq!(job(0).and_then(|ad| ad.literal("Note")), Some(Value::Undefined));
        assert_eq!(job(0).map(|ad| ad.contains("Own")), Some(false));
        assert_eq!(
            job(1).and_then(|ad| ad.string("Note").map(|text| text.to_string())),
            Some("n".to_owned())
        );
    }
}
