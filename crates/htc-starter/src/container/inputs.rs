//! What a plan is made from, and how its expressions are asked.

use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::parameters::ContainerParameters;
use crate::environment::EnvironmentInputs;
use crate::expression::{self, StringExprError, describe_setting};
use crate::start_failure::StartFailure;
use htc_base::process::ProcessIdentity;
use htc_classad::{Context, Dialect, Expr, Value};

/// What only containers need to know of where they run.
#[derive(Clone, Debug, Default)]
pub struct ContainerHost {
    /// `dir_<pid>`, in which the scratch directory lies, or which it is.
    pub slot_directory: PathBuf,
    /// The job's account with all its groups; `None`: nobody to run as.
    pub account: Option<ProcessIdentity>,
    /// Processors that the job is bound to; empty for all.
    pub processors: Vec<usize>,
    /// Home of the account that daemons run as.
    pub daemon_home: Option<BString>,
}

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub struct ContainerInputs<'a> {
    /// Job, slot, settings, scratch directory.
    pub job_inputs: &'a EnvironmentInputs<'a>,
    /// Where it runs.
    pub host: &'a ContainerHost,
    /// What is to be said of settings and attributes that are of no use.
    pub remarks: &'a SettingRemarks,
}

/// What is said of settings and attributes that are of no use and change the job all the same: each once, however often the job is
/// planned.
#[derive(Debug, Default)]
pub struct SettingRemarks(RefCell<Vec<SettingRemark>>);

/// One of them.
#[derive(Clone, Debug)]
pub struct SettingRemark {
    /// The setting, where it is one: of that all starters of a slot runner tell once between them.
    pub setting: Option<&'static str>,
    /// The line.
    pub line: String,
    reported: bool,
}

impl SettingRemarks {
    fn add_remark(&self, setting: Option<&'static str>, line: String) {
        let mut all = self.0.borrow_mut();
        if all.iter().all(|known| known.line != line) {
            all.push(SettingRemark { setting, line, reported: false });
        }
    }

    /// Those that have not been told yet.
    pub fn take_new(&self) -> Vec<SettingRemark> {
        let mut all = self.0.borrow_mut();
        let news: Vec<SettingRemark> = all.iter().filter(|one| !one.reported).cloned().collect();
        all.iter_mut().for_each(|one| one.reported = true);
        news
    }
}

impl<'a> ContainerInputs<'a> {
    pub(super) fn parameters(&self) -> &'a ContainerParameters {
        &self.job_inputs.settings.containers
    }

    pub(super) fn scratch(&self) -> &'a BStr {
        self.job_inputs.scratch.as_os_str().as_bytes().as_bstr()
    }

    pub(super) fn slot_directory(&self) -> &'a BStr {
        self.host.slot_directory.as_os_str().as_bytes().as_bstr()
    }

    pub(super) fn job(&self) -> Context<'a> {
        self.job_inputs.job_context()
    }

    pub(super) fn machine(&self) -> Context<'a> {
        self.job_inputs.slot_context()
    }

    /// A string of the job (`LookupString`). What is there and no string counts as missing, and that is told.
    pub(super) fn job_string(&self, name: &str) -> Option<BString> {
        match self.job().eval_attr(name) {
            Value::Str(text) => Some(text),
            value => self.remark_unusable_attribute(name, &value, "no string"),
        }
    }

    /// A truth value of the job (`LookupBool`); numbers count. What is there and neither counts as missing, and that is told.
    pub(super) fn job_boolean(&self, name: &str) -> bool {
        match self.job().boolean(name) {
            Some(truth) => truth,
            None => {
                let nothing: Option<bool> = self.remark_unusable_attribute(
                    name,
                    &self.job().eval_attr(name),
                    "neither true nor false",
                );
                nothing.unwrap_or(false)
            }
        }
    }

    fn remark_unusable_attribute<T>(&self, name: &str, value: &Value, what: &str) -> Option<T> {
        if !matches!(value, Value::Undefined) {
            let text = self.job_inputs.ad.get(name).map(|text| text.unparse()).unwrap_or_default();
            self.remarks.add_remark(None, format!("{name} = {text} is {what}: it does not count"));
        }
        None
    }

    /// Says that a setting is of no use, and what comes of that.
    pub(super) fn add_setting_remark(&self, setting: &'static str, line: String) {
        self.remarks.add_remark(Some(setting), line);
    }

    /// Says that an attribute of the job is of no use.
    pub(super) fn add_job_remark(&self, line: String) {
        self.remarks.add_remark(None, line);
    }

    /// A text as an expression over slot (MY) and job (TARGET) that has to give a string (`param_eval_string`).
    pub(super) fn eval_string(&self, text: &[u8]) -> Option<BString> {
        expression::eval_string(self.job_inputs, text).ok()
    }

    /// A knob of this kind. Of one that gives none, though it asks neither slot nor job for what they may not have, is said that
    /// and `lost`, which comes of it.
    pub(super) fn string_parameter(&self, knob: &'static str, lost: &str) -> Option<BString> {
        let setting = self.parameters().setting(knob)?;
        match expression::eval_string(self.job_inputs, &setting.value) {
            Ok(text) => Some(text),
            Err(StringExprError::Invalid(why)) if !setting.origin.is_default() => {
                let quotes = match setting.value.contains(&b'"') {
                    true => "",
                    false => " (a text of its own stands in double quotes)",
                };
                self.add_setting_remark(
                    knob,
                    format!("{} {why}: {lost}{quotes}", describe_setting(knob, setting)),
                );
                None
            }
            Err(_) => None,
        }
    }

    /// A knob that is true or false for this slot and job (`param_boolean` with both ads).
    ///
    /// # Errors
    /// A value that is neither ends 25.14 by an exception.
    pub(super) fn boolean_parameter(&self, knob: &'static str, default: bool) -> Result<bool, StartFailure> {
        match self.parameters().setting(knob).filter(|setting| !setting.value.trim().is_empty()) {
            None => Ok(default),
            Some(setting) => expression::eval_boolean(self.job_inputs, knob, setting, default),
        }
    }

    /// A truth value that knows neither slot nor job.
    ///
    /// # Errors
    /// As for [`ContainerInputs::truth`].
    pub(crate) fn plain_boolean_parameter(&self, knob: &'static str) -> Result<bool, StartFailure> {
        self.parameters().boolean(knob)
    }

    /// MOUNT_UNDER_SCRATCH and the job's own MountUnderScratch, in this order: the directory, and what named it.
    pub(super) fn mount_under_scratch(&self) -> Vec<(BString, &'static str)> {
        let setting = self.job_inputs.settings.mount_under_scratch.trim();
        let evaluated = Expr::parse_prefix(setting, Dialect::of_world(self.job_inputs.world))
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
