//! Jobs that `condor_q` prints while it reads them. Its lists are in the order of the ids, so all ads have to be kept
//! in memory, unless the file itself is in this order. Such a file is read twice: first to find the ids, then to print
//! the ads.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use super::condor_q_jobs::JobsById;
use super::condor_q_options::CondorQOptions;
use super::condor_q_source::{AdSource, keeps_ad, open_ads};
use crate::classad::format::list::ListWriter;
use crate::classad::stream::Projection;
use crate::classad::{ClassAd, Expr};
use crate::cli::common::ProgramContext;
use crate::world::World;

/// Attributes from which ids are made.
const ID_ATTRIBUTES: [&str; 3] = ["ClusterId", "ProcId", "JobSetId"];

/// Jobs of a file in the order of their ids.
pub(super) struct SortedJobs {
    source: AdSource,
    /// For each ad of the file, true if the constraint keeps it.
    kept: Vec<bool>,
}

impl SortedJobs {
    /// Reads the ids of a file's jobs. Returns `None` if the ids are not in ascending order, if the file cannot be read
    /// twice, or if the constraint may need any attribute.
    pub(super) fn find(
        file: &OsStr,
        options: &CondorQOptions,
        constraint: Option<&Expr>,
        world: &dyn World,
        session: &ProgramContext,
    ) -> Option<SortedJobs> {
        let path = Path::new(file);
        if file == "-" || !path.is_file() {
            return None;
        }
        let mut projection = Projection::for_exprs(constraint)?;
        ID_ATTRIBUTES.into_iter().for_each(|name| projection.add(name.into()));
        let mut source = AdSource::of_jobs(open_ads(file, session)?, options.form, Some(projection));
        let mut jobs = JobsById::default();
        let (mut kept, mut last, mut ad) = (Vec::new(), None, ClassAd::new());
        while source.read_next(&mut ad) {
            let is_kept = keeps_ad(constraint, &ad, world);
            kept.push(is_kept);
            if is_kept {
                let key = Some(jobs.next_key(&ad, world));
                if last >= key {
                    return None;
                }
                last = key;
            }
        }
        last?;
        let source = AdSource::of_jobs(open_ads(file, session)?, options.form, None);
        Some(SortedJobs { source, kept })
    }

    /// Writes the jobs.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub(super) fn write(mut self, mut writer: ListWriter, out: &mut dyn Write) -> io::Result<()> {
        let mut ad = ClassAd::new();
        for is_kept in self.kept {
            if !self.source.read_next(&mut ad) {
                break;
            }
            if is_kept {
                writer.write(&ad, out)?;
            }
            self.source.reuse(&mut ad);
        }
        writer.finish(out)
    }
}
