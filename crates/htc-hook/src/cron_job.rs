//! Cron jobs as configured: `STARTD_CRON_<NAME>_...`, `SCHEDD_CRON_...`, `BENCHMARKS_...`.
//!
//! Reference: `cron_job_params.cpp`, `cron_param.cpp`, `cron_job_mode.cpp`, `startd_cron_job_params.cpp`.

use bstr::{BString, ByteSlice};

use super::parameter_source::ParameterSource;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::environment::Environment;
use htc_base::text::{arguments, list, number, words};
use htc_classad::Expr;

/// Manager that runs cron jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CronManager {
    /// The startd, on an execution point.
    Startd,
    /// The schedd, on an access point.
    Schedd,
    /// The startd, for benchmarks, which all run on demand.
    Benchmarks,
}

impl CronManager {
    /// Returns the prefix of the parameter names.
    pub fn parameter_prefix(self) -> &'static str {
        match self {
            CronManager::Startd => "STARTD_CRON",
            CronManager::Schedd => "SCHEDD_CRON",
            CronManager::Benchmarks => "BENCHMARKS",
        }
    }

    /// Returns the names of the jobs without duplicates, in the order of the list.
    pub fn job_names(self, parameters: &dyn ParameterSource) -> Vec<BString> {
        let text =
            parameters.get(format!("{}_JOBLIST", self.parameter_prefix()).as_bytes()).unwrap_or_default();
        let mut names: Vec<BString> = Vec::new();
        for name in list::split(&text) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.into());
            }
        }
        names
    }

    /// Returns the maximum load of all running jobs together. The default is 0.1; the manual of STARTD_CRON says 0.2.
    pub fn max_load(self, parameters: &dyn ParameterSource) -> f64 {
        let parameter = format!("{}_MAX_JOB_LOAD", self.parameter_prefix());
        let default = match self {
            CronManager::Startd | CronManager::Schedd => 0.1,
            CronManager::Benchmarks => 1.0,
        };
        parameters
            .get(parameter.as_bytes())
            .and_then(|text| parse_real(&text))
            .unwrap_or(default)
            .clamp(0.01, 1000.0)
    }
}

/// Policy for sending the new values of a cron job to the collector immediately (`STARTD_CRON_AUTOPUBLISH`). Policy
/// expressions see new values immediately in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AutoPublish {
    /// The ad is sent immediately only if the cron job requests it.
    #[default]
    Never,
    /// The ad is sent immediately after each block of output.
    Always,
    /// The ad is sent immediately if any attribute except `<PREFIX>LastUpdate` differs.
    IfChanged,
}

impl CronManager {
    /// Reads AUTOPUBLISH. Like the reference, treats an invalid word as Never; the word is returned for a warning.
    pub fn read_auto_publish(self, parameters: &dyn ParameterSource) -> (AutoPublish, Option<BString>) {
        let Some(text) = parameters.get(format!("{}_AUTOPUBLISH", self.parameter_prefix()).as_bytes()) else {
            return (AutoPublish::Never, None);
        };
        match text.to_ascii_lowercase().as_slice() {
            b"never" | b"false" => (AutoPublish::Never, None),
            b"always" => (AutoPublish::Always, None),
            b"ifchanged" | b"if_changed" | b"ifdifferent" | b"if_different" => (AutoPublish::IfChanged, None),
            _ => (AutoPublish::Never, Some(text)),
        }
    }
}

/// One entry of METRICS, which makes a job a resource monitor and defines how samples of an attribute are aggregated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// True if samples are added (SUM), false if the maximum is kept (PEAK).
    pub is_sum: bool,
    /// Resource that is measured, such as GPUs.
    pub resource: BString,
}

impl Metric {
    /// Parses `SUM:<resource>` or `PEAK:<resource>`. The word before the colon only has to begin with `SUM` or `PEAK`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (kind, rest) = text.split_once_str(":")?;
        let resource = rest.split(|&byte| byte == b':').next().unwrap_or_default().into();
        let begins = |word: &[u8]| kind.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
        let is_sum = begins(b"SUM");
        (is_sum || begins(b"PEAK")).then_some(Metric { is_sum, resource })
    }

    /// Returns the attribute that the job prints: `Uptime<resource>Seconds` or `Uptime<resource>PeakUsage`.
    pub fn attribute(&self) -> BString {
        let suffix = if self.is_sum { "Seconds" } else { "PeakUsage" };
        BString::from(format!("Uptime{}{suffix}", self.resource))
    }

    /// Returns the metric that an attribute name belongs to, split as in `splitAttributeName`, or `None`.
    pub fn from_attribute(name: &[u8]) -> Option<Self> {
        let rest = name.strip_prefix(b"Uptime")?;
        let sum = rest.strip_suffix(b"Seconds").map(|resource| (true, resource));
        let (is_sum, resource) = match sum {
            Some(sum) => sum,
            None => (false, rest.strip_suffix(b"PeakUsage")?),
        };
        Some(Metric { is_sum, resource: resource.into() })
    }
}

words! {
    /// Schedule of a cron job.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum CronMode.name {
        /// The job runs once per period.
        #[default]
        Periodic => "Periodic",
        /// The job runs one period after its last exit.
        WaitForExit => "WaitForExit",
        /// The job runs once.
        OneShot => "OneShot",
        /// The job runs only on request. Only benchmarks are requested, so cron jobs in this mode never run.
        OnDemand => "OnDemand",
    }
}

impl CronMode {
    /// Returns the mode with this name, ignoring case, or `None`.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// Configuration of one cron job.
#[derive(Clone, Debug, Default)]
pub struct CronJob {
    /// Name of the job: `argv[0]`, and the name of its ad.
    pub name: BString,
    /// EXECUTABLE. It is not subject to the path checks of hooks.
    pub executable: BString,
    /// ARGS, split into arguments.
    pub arguments: Vec<BString>,
    /// Value of ENV.
    pub environment: Environment,
    /// CWD; empty for the directory of the daemon.
    pub directory: BString,
    /// PREFIX, added to the attribute names in the output.
    pub prefix: BString,
    /// Value of MODE.
    pub mode: CronMode,
    /// PERIOD in seconds.
    pub period: i64,
    /// KILL: true to kill a run that has not ended when the next run is due.
    pub kill: bool,
    /// RECONFIG: true to send SIGHUP to the running job at a reconfiguration.
    pub reconfig: bool,
    /// RECONFIG_RERUN: true to run the job again at a reconfiguration.
    pub rerun: bool,
    /// Value of JOB_LOAD.
    pub load: f64,
    /// SLOTS: numbers of the slots that get the output; empty for all slots.
    pub slots: Vec<i64>,
    /// CONDITION, evaluated in the daemon's ad before each start.
    pub condition: Option<Expr>,
    /// METRICS; if the list is not empty, the job is a resource monitor.
    pub metrics: Vec<Metric>,
    /// CONFIG_VAL_PROG, passed in the environment.
    pub config_val: BString,
    /// Value of `<MANAGER>_CONFIG_VAL`, such as STARTD_CRON_CONFIG_VAL. The job gets it in an environment variable with
    /// the parameter's name. 25.14 does not read the parameter.
    pub manager_config_val: BString,
    /// Warnings about the configuration.
    pub warnings: Vec<String>,
}

/// Reason why a cron job is skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{knob}: {problem}; the job is skipped")]
pub struct CronJobError {
    /// Name of the parameter that causes the error.
    pub knob: String,
    /// Problem with the parameter's value.
    pub problem: String,
}

fn parse_real(text: &[u8]) -> Option<f64> {
    number::real_prefix(text.trim()).map(|(value, _)| value)
}

impl CronJob {
    /// Creates a job that runs a program, with the defaults for all other settings.
    pub fn new(name: &[u8], executable: &[u8]) -> Self {
        CronJob { name: name.into(), executable: executable.into(), load: 0.01, ..CronJob::default() }
    }

    /// Adds the entries of METRICS. Skips invalid entries with a warning.
    pub fn read_metrics(&mut self, text: &[u8]) {
        for item in list::split(text) {
            match Metric::parse(item) {
                Some(metric) => self.metrics.push(metric),
                None => {
                    let item = item.as_bstr();
                    self.warnings
                        .push(format!("METRICS: '{item}' is ignored; write SUM:<name> or PEAK:<name>"));
                }
            }
        }
    }

    /// Reads a job from the configuration of its manager.
    ///
    /// # Errors
    /// Returns the reason why the manager skips the job.
    pub fn read(
        manager: CronManager,
        name: &[u8],
        parameters: &dyn ParameterSource,
        quirks: QuirkMode,
    ) -> Result<Self, CronJobError> {
        let own = CronJobParameters { manager, name, parameters };
        let Some(executable) = own.get("EXECUTABLE") else {
            return Err(own.skip_error("EXECUTABLE", "it is not set"));
        };
        let mut job = CronJob::new(name, &executable);
        job.read_schedule(&own)?;
        job.read_invocation(&own)?;
        job.read_switches(&own, quirks);
        if let Some(load) = own.get("JOB_LOAD") {
            job.load = parse_real(&load).unwrap_or(job.load).clamp(0.0, 100.0);
        }
        if manager != CronManager::Schedd {
            job.read_slots(&own);
            job.read_metrics(&own.get("METRICS").unwrap_or_default());
        }
        job.config_val = own.get("CONFIG_VAL_PROG").unwrap_or_default();
        job.read_manager_config_val(manager, parameters, quirks);
        if let Some(text) = own.get("CONDITION") {
            let condition =
                Expr::parse(&text).map_err(|error| own.skip_error("CONDITION", &error.to_string()))?;
            job.condition = Some(condition);
        }
        Ok(job)
    }

    /// Reads `<MANAGER>_CONFIG_VAL`, which the manual documents and 25.14 ignores.
    fn read_manager_config_val(
        &mut self,
        manager: CronManager,
        parameters: &dyn ParameterSource,
        quirks: QuirkMode,
    ) {
        let parameter = format!("{}_CONFIG_VAL", manager.parameter_prefix());
        let Some(value) = parameters.get(parameter.as_bytes()).filter(|value| !value.is_empty()) else {
            return;
        };
        let quirk = Quirk::CronConfigValUnread;
        if !quirks.reproduces(quirk) {
            self.manager_config_val = value;
            self.warnings.push(format!("{parameter} is passed to cron jobs; {}", quirk.description()));
        }
    }

    /// Reads MODE and PERIOD.
    fn read_schedule(&mut self, own: &CronJobParameters<'_>) -> Result<(), CronJobError> {
        let is_benchmark = own.manager == CronManager::Benchmarks;
        if is_benchmark {
            (self.mode, self.load) = (CronMode::OnDemand, 1.0);
        }
        if let Some(mode) = own.get("MODE") {
            self.mode = CronMode::from_name(&mode).ok_or_else(|| {
                let known = "use Periodic, WaitForExit, OneShot or OnDemand";
                own.skip_error("MODE", &format!("'{mode}' is not a valid mode; {known}"))
            })?;
        }
        match (self.mode, own.get("PERIOD")) {
            (CronMode::OneShot | CronMode::OnDemand, None) => {}
            (CronMode::OneShot | CronMode::OnDemand, Some(_)) => {
                self.warnings.push(format!(
                    "{} is ignored for {}",
                    own.parameter_name("PERIOD"),
                    self.mode.name()
                ));
            }
            (mode, None) => return Err(own.skip_error("PERIOD", &format!("{} needs a period", mode.name()))),
            (mode, Some(text)) => {
                self.period = parse_period(&text).map_err(|problem| own.skip_error("PERIOD", &problem))?;
                if self.period < 0 {
                    return Err(own.skip_error("PERIOD", &format!("'{text}' is below 0")));
                }
                if mode == CronMode::Periodic && self.period == 0 {
                    return Err(own.skip_error("PERIOD", "Periodic needs a period above 0"));
                }
            }
        }
        if is_benchmark && self.mode != CronMode::OnDemand {
            return Err(own.skip_error(
                "MODE",
                "the mode of a benchmark must be OnDemand, because benchmarks run on demand",
            ));
        }
        Ok(())
    }

    /// Reads ARGS, ENV, CWD and PREFIX.
    fn read_invocation(&mut self, own: &CronJobParameters<'_>) -> Result<(), CronJobError> {
        if let Some(text) = own.get("ARGS") {
            self.arguments = arguments::parse_v1_raw_or_v2_quoted(&text)
                .map_err(|error| own.skip_error("ARGS", &error.to_string()))?;
        }
        if let Some(text) = own.get("ENV") {
            let merged = self.environment.merge_v1_raw_or_v2_quoted(&text);
            merged.map_err(|error| own.skip_error("ENV", &error.to_string()))?;
        }
        self.directory = own.get("CWD").unwrap_or_default();
        self.prefix = own.get("PREFIX").unwrap_or_default();
        Ok(())
    }

    /// Reads KILL, RECONFIG and RECONFIG_RERUN. The reference compares only the first letter of their values.
    fn read_switches(&mut self, own: &CronJobParameters<'_>, quirks: QuirkMode) {
        let switches =
            [("KILL", &mut self.kill), ("RECONFIG", &mut self.reconfig), ("RECONFIG_RERUN", &mut self.rerun)];
        for (item, place) in switches {
            let Some(text) = own.get(item) else { continue };
            let first = matches!(text.first(), Some(b't' | b'T'));
            let documented =
                matches!(text.to_ascii_lowercase().as_slice(), b"true" | b"t" | b"yes" | b"y" | b"1");
            let by_letter = quirks.decide(Quirk::CronBoolFirstLetter);
            if documented != first {
                let quirk = by_letter.quirk.id();
                let parameter = own.parameter_name(item);
                self.warnings
                    .push(format!("{parameter} = {text}: HTCondor 25.14 reads it as {first} ({quirk})"));
            }
            *place = if by_letter.as_reference { first } else { documented };
        }
    }

    /// Reads SLOTS. If an entry is not a number, all slots get the output.
    fn read_slots(&mut self, own: &CronJobParameters<'_>) {
        let text = own.get("SLOTS").unwrap_or_default();
        for item in list::split(&text) {
            match number::integer_prefix(item) {
                Some((slot, _)) if item.first().is_some_and(u8::is_ascii_digit) => self.slots.push(slot),
                _ => {
                    let (parameter, item) = (own.parameter_name("SLOTS"), item.as_bstr());
                    self.warnings.push(format!("{parameter} contains '{item}', so it applies to all slots"));
                    self.slots.clear();
                    break;
                }
            }
        }
    }
}

/// Access to the parameters of one cron job.
struct CronJobParameters<'a> {
    manager: CronManager,
    name: &'a [u8],
    parameters: &'a dyn ParameterSource,
}

impl CronJobParameters<'_> {
    fn parameter_name(&self, item: &str) -> String {
        format!("{}_{}_{item}", self.manager.parameter_prefix(), self.name.as_bstr())
    }

    fn get(&self, item: &str) -> Option<BString> {
        self.parameters.get(self.parameter_name(item).as_bytes())
    }

    /// Returns the error that makes the manager skip the job.
    fn skip_error(&self, item: &str, problem: &str) -> CronJobError {
        CronJobError { knob: self.parameter_name(item), problem: problem.to_owned() }
    }
}

/// Parses a number with an optional unit S, M or H in either case, and returns seconds. Ignores text after the unit.
fn parse_period(text: &[u8]) -> Result<i64, String> {
    let (value, used) =
        number::integer_prefix(text).ok_or_else(|| format!("'{}' is not a valid period", text.as_bstr()))?;
    match text.get(used).map(u8::to_ascii_uppercase) {
        None | Some(b'S') => Ok(value),
        Some(b'M') => Ok(value.saturating_mul(60)),
        Some(b'H') => Ok(value.saturating_mul(3600)),
        Some(other) => Err(format!("'{}' is not a unit of time; use S, M or H", char::from(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)], quirks: QuirkMode) -> Result<CronJob, CronJobError> {
        let parameters = |name: &[u8]| {
            let name = name.to_str().ok()?.strip_prefix("STARTD_CRON_X_")?;
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| BString::from(*value))
        };
        CronJob::read(CronManager::Startd, b"X", &parameters, quirks)
    }

    #[test]
    fn periods_have_units_and_only_some_modes_need_one() {
        let period =
            |text| read(&[("EXECUTABLE", "/x"), ("PERIOD", text)], QuirkMode::Manual).map(|job| job.period);
        assert_eq!(period("2m"), Ok(120));
        assert_eq!(period("1H junk"), Ok(3600));
        assert!(period("5d").is_err() && period("0").is_err());
        assert_eq!(
            period("-5").unwrap_err().to_string(),
            "STARTD_CRON_X_PERIOD: '-5' is below 0; the job is skipped"
        );
        let waits = |text| {
            read(&[("EXECUTABLE", "/x"), ("MODE", "WaitForExit"), ("PERIOD", text)], QuirkMode::Manual)
                .map(|job| job.period)
        };
        assert!(waits("-1m").is_err() && waits("0") == Ok(0));
        let once =
            read(&[("EXECUTABLE", "/x"), ("MODE", "oneshot"), ("PERIOD", "9")], QuirkMode::Manual).unwrap();
        assert_eq!((once.mode, once.period, once.warnings.len()), (CronMode::OneShot, 0, 1));
        assert_eq!(read(&[], QuirkMode::Manual).unwrap_err().knob, "STARTD_CRON_X_EXECUTABLE");
    }

    #[test]
    fn metrics_name_the_aggregated_attributes() {
        let settings =
            [("EXECUTABLE", "/x"), ("PERIOD", "1"), ("METRICS", "sum:GPUs, PeakOf:GPUsMemory, MIN:X Y")];
        let job = read(&settings, QuirkMode::Manual).unwrap();
        let names: Vec<_> = job.metrics.iter().map(Metric::attribute).collect();
        assert_eq!(names, ["UptimeGPUsSeconds", "UptimeGPUsMemoryPeakUsage"]);
        assert_eq!(job.warnings.len(), 2);
        for metric in &job.metrics {
            assert_eq!(Metric::from_attribute(&metric.attribute()).as_ref(), Some(metric));
        }
        assert_eq!(Metric::from_attribute(b"UptimeSecondsX"), None);
    }

    #[test]
    fn booleans_are_read_as_in_25_14_only_with_its_quirk() {
        let settings = [("EXECUTABLE", "/x"), ("PERIOD", "1"), ("KILL", "yes"), ("SLOTS", "1, 2")];
        assert!(read(&settings, QuirkMode::Manual).unwrap().kill);
        let job = read(&settings, QuirkMode::Reference).unwrap();
        assert!(!job.kill && job.slots == [1, 2] && job.warnings.len() == 1);
        let all = [("EXECUTABLE", "/x"), ("PERIOD", "1"), ("SLOTS", "1 two")];
        assert!(read(&all, QuirkMode::Manual).unwrap().slots.is_empty());
    }
}
