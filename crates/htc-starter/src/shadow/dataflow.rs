//! Jobs that are skipped because all of their output is newer than all of their input (SkipIfDataflow).
//!
//! Reference: `startShadow` of `shadow_v61_main.cpp`, `FileTransfer::IsDataflowJob`.

use bstr::{BString, ByteSlice};

use super::state_machine::{Shadow, ShadowAction, ShadowPhase};
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::text::list;
use htc_base::time::ClockReading;
use htc_user_log::EventBody;

/// Modification time of a file, in seconds and nanoseconds.
type ModificationTime = (i64, i64);

impl Shadow<'_> {
    /// Completes the job without running it if its output is up to date. Returns true if the job was completed.
    pub(super) fn skip_if_up_to_date(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) -> bool {
        if self.setup.local || self.job_context().boolean("SkipIfDataflow") != Some(true) {
            return false;
        }
        let skipped = self.is_output_up_to_date() == Some(true);
        self.ad.set("DataflowJobSkipped", skipped);
        if !skipped {
            return false;
        }
        self.phase = ShadowPhase::Running;
        self.ad.set("ExitCode", 0i64);
        // condor_submit sets ExitBySignal to false as well.
        self.ad.set("ExitBySignal", false);
        Self::log(EventBody::DataflowSkipped(BString::default()), out);
        self.apply_exit_policy(now, Exit::Code(0), out);
        true
    }

    /// Returns true if the last run of the job was skipped.
    pub(super) fn was_skipped(&self) -> bool {
        self.job_context().boolean("DataflowJobSkipped") == Some(true)
    }

    /// Returns true if the oldest output file is newer than the newest input file, or `None` if a required file is
    /// missing.
    fn is_output_up_to_date(&self) -> Option<bool> {
        let listed = |name: &str| self.job_string(name).unwrap_or_default();
        let (input, output) = (listed("TransferInput"), listed("TransferOutput"));
        let input = list::split_by(&input, b",").filter(|name| name.find(b"://").is_none());
        let mut input_times: Vec<ModificationTime> =
            input.filter_map(|name| self.modification_time(name)).collect();
        input_times.push(self.modification_time(&self.job_string(attr::CMD)?)?);
        let stdin = self.job_string("In").filter(|name| !name.is_empty() && name != "/dev/null");
        if let Some(stdin) = stdin {
            input_times.push(self.modification_time(&stdin)?);
        }
        let output_times: Option<Vec<ModificationTime>> =
            list::split_by(&output, b",").map(|name| self.modification_time(name)).collect();
        Some(output_times?.into_iter().min()? > input_times.into_iter().max()?)
    }

    /// Returns the modification time of a file. A relative name is resolved in Iwd.
    fn modification_time(&self, name: &[u8]) -> Option<ModificationTime> {
        let directory = self.job_string(attr::IWD).unwrap_or_default();
        let path = directory.to_path_lossy().join(name.to_path_lossy());
        self.setup.world.stat(&path).ok().map(|status| (status.modified, status.modified_nanos))
    }
}
