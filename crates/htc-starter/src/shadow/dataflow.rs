//! A job that is not run because its output is newer than all that it is made from (SkipIfDataflow).
//!
//! Reference: `startShadow` of `shadow_v61_main.cpp`, `FileTransfer::IsDataflowJob`.

use bstr::{BString, ByteSlice};

use super::machine::{Action, Phase, Shadow};
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::text::list;
use htc_base::time::Now;
use htc_user_log::Body;

/// When a file was changed, in seconds and nanoseconds.
type Changed = (i64, i64);

impl Shadow<'_> {
    /// Whether the job is skipped; it is done then.
    pub(super) fn skipped(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        if self.setup.local || self.context().boolean("SkipIfDataflow") != Some(true) {
            return false;
        }
        let skipped = self.is_dataflow() == Some(true);
        self.ad.set("DataflowJobSkipped", skipped);
        if !skipped {
            return false;
        }
        self.phase = Phase::Running;
        self.ad.set("ExitCode", 0i64);
        // As condor_submit makes it.
        self.ad.set("ExitBySignal", false);
        Self::log(Body::DataflowSkipped(BString::default()), out);
        self.leave(now, Exit::Code(0), out);
        true
    }

    /// Whether the last run was none.
    pub(super) fn is_skipped(&self) -> bool {
        self.context().boolean("DataflowJobSkipped") == Some(true)
    }

    /// Whether the oldest output is newer than the newest input. `None`: something that has to be there is not.
    fn is_dataflow(&self) -> Option<bool> {
        let listed = |name: &str| self.string(name).unwrap_or_default();
        let (input, output) = (listed("TransferInput"), listed("TransferOutput"));
        let input = list::split_by(&input, b",").filter(|name| name.find(b"://").is_none());
        let mut from: Vec<Changed> = input.filter_map(|name| self.changed(name)).collect();
        from.push(self.changed(&self.string(attr::CMD)?)?);
        let stdin = self.string("In").filter(|name| !name.is_empty() && name != "/dev/null");
        if let Some(stdin) = stdin {
            from.push(self.changed(&stdin)?);
        }
        let made: Option<Vec<Changed>> =
            list::split_by(&output, b",").map(|name| self.changed(name)).collect();
        Some(made?.into_iter().min()? > from.into_iter().max()?)
    }

    /// When a file was changed that lies in Iwd or has a whole name.
    fn changed(&self, name: &[u8]) -> Option<Changed> {
        let directory = self.string(attr::IWD).unwrap_or_default();
        let path = directory.to_path_lossy().join(name.to_path_lossy());
        self.setup.world.stat(&path).ok().map(|status| (status.modified, status.modified_nanos))
    }
}
