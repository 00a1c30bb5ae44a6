//! Groups of jobs that one of several threads has counted.

use htc_classad::ClassAd;

/// Place of a job in a stream that is read in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobPlace {
    /// Number of the batch, counted from 0.
    pub batch: u64,
    /// Number of the job within its batch, counted from 0.
    pub index: u64,
}

/// Group of jobs that one thread has counted.
#[derive(Debug)]
pub(super) struct CountedGroup {
    /// Key of the job's definitions.
    pub(super) key: Vec<u8>,
    /// Ad of the first job.
    pub(super) ad: ClassAd,
    pub(super) first: JobPlace,
    pub(super) last: JobPlace,
    /// Attributes of the last job from which its name is made; `None` if it is the first.
    pub(super) last_label: Option<ClassAd>,
    pub(super) count: usize,
}
