//! What a plan is made from, and how its expressions are asked.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::choice::no_truth_value;
use super::knobs::ContainerKnobs;
use super::plan::CommandLine;
use crate::classad::{Context, Dialect, Expr};
use crate::process::Identity;
use crate::starter::ending::is_true;
use crate::starter::environment::Publication;
use crate::starter::failure::StartFailure;

/// What only containers need to know of where they run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `dir_<pid>`, in which the scratch directory lies, or which it is.
    pub slot_directory: PathBuf,
    /// The job's account with all its groups; `None`: nobody to run as.
    pub account: Option<Identity>,
    /// Processors that the job is bound to; empty for all.
    pub processors: Vec<usize>,
    /// Home of the account that daemons run as.
    pub daemon_home: Option<BString>,
}

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Job, slot, settings, scratch directory.
    pub about: &'a Publication<'a>,
    /// Where it runs.
    pub place: &'a Surroundings,
}

impl<'a> Inputs<'a> {
    pub(super) fn knobs(&self) -> &'a ContainerKnobs {
        &self.about.settings.containers
    }

    pub(super) fn scratch(&self) -> &'a BStr {
        self.about.scratch.as_os_str().as_bytes().as_bstr()
    }

    pub(super) fn slot_directory(&self) -> &'a BStr {
        self.place.slot_directory.as_os_str().as_bytes().as_bstr()
    }

    pub(super) fn job(&self) -> Context<'a> {
        Context::new(self.about.world).my(self.about.ad)
    }

    pub(super) fn machine(&self) -> Context<'a> {
        Context::new(self.about.world).my(self.about.machine)
    }

    /// Whether the machine that an image is made for does not matter.
    ///
    /// # Errors
    /// As [`no_truth_value`].
    pub fn skips_architecture(&self) -> Result<bool, StartFailure> {
        self.truth("DOCKER_SKIP_IMAGE_ARCH_CHECK", false)
    }

    /// A text as an expression over slot (MY) and job (TARGET) that has to give a string (`param_eval_string`).
    pub fn string_of(&self, text: &[u8]) -> Option<BString> {
        let (expression, _) = Expr::parse_prefix(text, Dialect::of(self.about.world)).ok()?;
        let context = Context::new(self.about.world).my(self.about.machine).target(self.about.ad);
        context.eval(&expression).as_str().map(BString::from)
    }

    /// A knob that is true or false for this slot and job (`param_boolean` with both ads).
    ///
    /// # Errors
    /// A value that is neither ends 25.14 by an exception.
    pub(super) fn truth(&self, knob: &'static str, default: bool) -> Result<bool, StartFailure> {
        match self.knobs().text(knob).filter(|text| !text.trim().is_empty()) {
            None => Ok(default),
            Some(text) => is_true(text, self.about.machine, self.about.ad, self.about.world)
                .ok_or_else(|| no_truth_value(knob, text, default)),
        }
    }

    /// The same, where the choice is an option of the command line.
    pub(super) fn option(
        &self,
        knob: &'static str,
        default: bool,
        words: &[&str],
        line: &mut CommandLine,
    ) -> Result<(), StartFailure> {
        match self.truth(knob, default)? {
            true => line.add(words.iter().copied(), knob),
            false => line.pass(knob, "is false"),
        }
        Ok(())
    }

    /// MOUNT_UNDER_SCRATCH and the job's own MountUnderScratch, in this order: the directory, and what named it.
    pub(super) fn under_scratch(&self) -> Vec<(BString, &'static str)> {
        let setting = self.about.settings.mount_under_scratch.trim();
        let evaluated = Expr::parse_prefix(setting, Dialect::of(self.about.world))
            .ok()
            .and_then(|(expression, _)| self.job().eval(&expression).as_str().map(BString::from));
        let of_knob = evaluated.unwrap_or_else(|| BString::from(setting));
        let of_job = self.job().string("MountUnderScratch").unwrap_or_default();
        let all = [(of_knob, "MOUNT_UNDER_SCRATCH"), (of_job, "MountUnderScratch")];
        let each = |(list, from): &(BString, &'static str)| {
            crate::text::list::split(list).map(|name| (BString::from(name), *from)).collect::<Vec<_>>()
        };
        all.iter().flat_map(each).collect()
    }
}
