//! What a plan is made from, and how its expressions are asked.

use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::knobs::ContainerKnobs;
use crate::environment::Publication;
use crate::expression::{self, NoString, shown};
use crate::failure::StartFailure;
use htc_base::process::Identity;
use htc_classad::{Context, Dialect, Expr, Value};

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
    /// What is to be said of settings and attributes that are of no use.
    pub remarks: &'a Remarks,
}

/// What is said of settings and attributes that are of no use and change the job all the same: each once, however often the job is
/// planned.
#[derive(Debug, Default)]
pub struct Remarks(RefCell<Vec<Remark>>);

/// One of them.
#[derive(Clone, Debug)]
pub struct Remark {
    /// The setting, where it is one: of that all starters of a slot runner tell once between them.
    pub setting: Option<&'static str>,
    /// The line.
    pub line: String,
    told: bool,
}

impl Remarks {
    fn add(&self, setting: Option<&'static str>, line: String) {
        let mut all = self.0.borrow_mut();
        if all.iter().all(|known| known.line != line) {
            all.push(Remark { setting, line, told: false });
        }
    }

    /// Those that have not been told yet.
    pub fn news(&self) -> Vec<Remark> {
        let mut all = self.0.borrow_mut();
        let news: Vec<Remark> = all.iter().filter(|one| !one.told).cloned().collect();
        all.iter_mut().for_each(|one| one.told = true);
        news
    }
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
        self.about.in_job()
    }

    pub(super) fn machine(&self) -> Context<'a> {
        self.about.in_slot()
    }

    /// A string of the job (`LookupString`). What is there and no string counts as missing, and that is told.
    pub(super) fn job_string(&self, name: &str) -> Option<BString> {
        match self.job().eval_attr(name) {
            Value::Str(text) => Some(text),
            value => self.no_attribute(name, &value, "no string"),
        }
    }

    /// A truth value of the job (`LookupBool`); numbers count. What is there and neither counts as missing, and that is told.
    pub(super) fn job_truth(&self, name: &str) -> bool {
        match self.job().boolean(name) {
            Some(truth) => truth,
            None => {
                let nothing: Option<bool> =
                    self.no_attribute(name, &self.job().eval_attr(name), "neither true nor false");
                nothing.unwrap_or(false)
            }
        }
    }

    fn no_attribute<T>(&self, name: &str, value: &Value, what: &str) -> Option<T> {
        if !matches!(value, Value::Undefined) {
            let text = self.about.ad.get(name).map(|text| text.unparse()).unwrap_or_default();
            self.remarks.add(None, format!("{name} = {text} is {what}: it does not count"));
        }
        None
    }

    /// Says that a setting is of no use, and what comes of that.
    pub(super) fn remark(&self, setting: &'static str, line: String) {
        self.remarks.add(Some(setting), line);
    }

    /// Says that an attribute of the job is of no use.
    pub(super) fn remark_of_job(&self, line: String) {
        self.remarks.add(None, line);
    }

    /// A text as an expression over slot (MY) and job (TARGET) that has to give a string (`param_eval_string`).
    pub(super) fn string_of(&self, text: &[u8]) -> Option<BString> {
        expression::string(self.about, text).ok()
    }

    /// A knob of this kind. Of one that gives none, though it asks neither slot nor job for what they may not have, is said that
    /// and `lost`, which comes of it.
    pub(super) fn string(&self, knob: &'static str, lost: &str) -> Option<BString> {
        let setting = self.knobs().setting(knob)?;
        match expression::string(self.about, &setting.value) {
            Ok(text) => Some(text),
            Err(NoString::AtAll(why)) if !setting.origin.is_default() => {
                let quotes = match setting.value.contains(&b'"') {
                    true => "",
                    false => " (a text of its own stands in double quotes)",
                };
                self.remark(knob, format!("{} {why}: {lost}{quotes}", shown(knob, setting)));
                None
            }
            Err(_) => None,
        }
    }

    /// A knob that is true or false for this slot and job (`param_boolean` with both ads).
    ///
    /// # Errors
    /// A value that is neither ends 25.14 by an exception.
    pub(super) fn truth(&self, knob: &'static str, default: bool) -> Result<bool, StartFailure> {
        match self.knobs().setting(knob).filter(|setting| !setting.value.trim().is_empty()) {
            None => Ok(default),
            Some(setting) => expression::truth(self.about, knob, setting, default),
        }
    }

    /// A truth value that knows neither slot nor job.
    ///
    /// # Errors
    /// As for [`Inputs::truth`].
    pub(crate) fn flag(&self, knob: &'static str) -> Result<bool, StartFailure> {
        self.knobs().flag(knob)
    }

    /// MOUNT_UNDER_SCRATCH and the job's own MountUnderScratch, in this order: the directory, and what named it.
    pub(super) fn under_scratch(&self) -> Vec<(BString, &'static str)> {
        let setting = self.about.settings.mount_under_scratch.trim();
        let evaluated = Expr::parse_prefix(setting, Dialect::of(self.about.world))
            .ok()
            .and_then(|(expression, _)| self.job().eval(&expression).as_str().map(BString::from));
        let of_knob = evaluated.unwrap_or_else(|| BString::from(setting));
        let of_job = self.job_string("MountUnderScratch").unwrap_or_default();
        let all = [(of_knob, "MOUNT_UNDER_SCRATCH"), (of_job, "MountUnderScratch")];
        let each = |(list, from): &(BString, &'static str)| {
            htc_base::text::list::split(list).map(|name| (BString::from(name), *from)).collect::<Vec<_>>()
        };
        all.iter().flat_map(each).collect()
    }
}
