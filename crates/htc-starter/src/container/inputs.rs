//! Inputs of a container plan, and the evaluation of its expressions.

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

/// Properties of the host that only containers need.
#[derive(Clone, Debug, Default)]
pub struct ContainerHost {
    /// `dir_<pid>`: the scratch directory itself, or its parent with STARTER_NESTED_SCRATCH.
    pub slot_directory: PathBuf,
    /// Account of the job with all its groups, or `None` if the job has no account.
    pub account: Option<ProcessIdentity>,
    /// Numbers of the CPUs that the job is bound to; empty for all CPUs.
    pub processors: Vec<usize>,
    /// Home directory of the account of the daemons.
    pub daemon_home: Option<BString>,
}

/// Inputs of a container plan.
#[derive(Clone, Copy)]
pub struct ContainerInputs<'a> {
    /// Job, slot, settings and scratch directory.
    pub job_inputs: &'a EnvironmentInputs<'a>,
    /// Properties of the host.
    pub host: &'a ContainerHost,
    /// Remarks about settings and attributes that have no usable value.
    pub remarks: &'a SettingRemarks,
}

/// Remarks about settings and attributes that have no usable value but still affect the job. Each remark is reported
/// once, even if the job is planned several times.
#[derive(Debug, Default)]
pub struct SettingRemarks(RefCell<Vec<SettingRemark>>);

/// Remark about one setting or attribute.
#[derive(Clone, Debug)]
pub struct SettingRemark {
    /// Name of the setting, or `None` for an attribute of the job. A slot runner reports a remark about a setting once
    /// for all its starters.
    pub setting: Option<&'static str>,
    /// Text of the remark.
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

    /// Returns the remarks that have not been reported yet.
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

    /// Returns a string attribute of the job (`LookupString`). A value that is not a string is treated as missing, with a
    /// remark.
    pub(super) fn job_string(&self, name: &str) -> Option<BString> {
        match self.job().eval_attr(name) {
            Value::Str(text) => Some(text),
            value => self.remark_unusable_attribute(name, &value, "not a string"),
        }
    }

    /// Returns a boolean attribute of the job (`LookupBool`); numbers are accepted. Any other value is treated as missing, with
    /// a remark.
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
            self.remarks.add_remark(None, format!("{name} = {text} is {what}: it is ignored"));
        }
        None
    }

    /// Adds a remark that a setting has no usable value, with the consequence.
    pub(super) fn add_setting_remark(&self, setting: &'static str, line: String) {
        self.remarks.add_remark(Some(setting), line);
    }

    /// Adds a remark that an attribute of the job has no usable value.
    pub(super) fn add_job_remark(&self, line: String) {
        self.remarks.add_remark(None, line);
    }

    /// Evaluates a text as an expression over slot (MY) and job (TARGET) whose value must be a string
    /// (`param_eval_string`).
    pub(super) fn eval_string(&self, text: &[u8]) -> Option<BString> {
        expression::eval_string(self.job_inputs, text).ok()
    }

    /// Returns a string parameter. Adds a remark with the consequence `lost` if its value is not a string. Adds none if
    /// the value is undefined because slot or job lacks an attribute.
    pub(super) fn string_parameter(&self, parameter: &'static str, lost: &str) -> Option<BString> {
        let setting = self.parameters().setting(parameter)?;
        match expression::eval_string(self.job_inputs, &setting.value) {
            Ok(text) => Some(text),
            Err(StringExprError::Invalid(why)) if !setting.origin.is_default() => {
                let quotes = match setting.value.contains(&b'"') {
                    true => "",
                    false => " (a literal string must be in double quotes)",
                };
                self.add_setting_remark(
                    parameter,
                    format!("{} {why}: {lost}{quotes}", describe_setting(parameter, setting)),
                );
                None
            }
            Err(_) => None,
        }
    }

    /// Returns a parameter that is true or false for this slot and job (`param_boolean` with both ads).
    ///
    /// # Errors
    /// Returns an error if the value is neither true nor false; 25.14 then exits with an exception.
    pub(super) fn boolean_parameter(
        &self,
        parameter: &'static str,
        default: bool,
    ) -> Result<bool, StartFailure> {
        match self.parameters().setting(parameter).filter(|setting| !setting.value.trim().is_empty()) {
            None => Ok(default),
            Some(setting) => expression::eval_boolean(self.job_inputs, parameter, setting, default),
        }
    }

    /// Returns a boolean parameter whose value does not depend on slot or job.
    ///
    /// # Errors
    /// Returns the errors of [`ContainerParameters::boolean`].
    pub(crate) fn plain_boolean_parameter(&self, parameter: &'static str) -> Result<bool, StartFailure> {
        self.parameters().boolean(parameter)
    }

    /// Returns the directories of MOUNT_UNDER_SCRATCH and then of the job's MountUnderScratch. Each comes with the name
    /// of the parameter or attribute.
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
