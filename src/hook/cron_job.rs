//! Cron jobs as configured: `STARTD_CRON_<NAME>_...`, `SCHEDD_CRON_...`, `BENCHMARKS_...`.
//!
//! Reference: `cron_job_params.cpp`, `cron_param.cpp`, `cron_job_mode.cpp`, `startd_cron_job_params.cpp`.

use bstr::{BString, ByteSlice};

use super::knobs::Knobs;
use crate::classad::Expr;
use crate::quirks::{Quirk, Quirks};
use crate::text::environment::Environment;
use crate::text::{arguments, list, number};

/// Whose cron jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CronManager {
    /// The execution point's.
    Startd,
    /// The access point's.
    Schedd,
}

impl CronManager {
    /// What the knobs begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            CronManager::Startd => "STARTD_CRON",
            CronManager::Schedd => "SCHEDD_CRON",
        }
    }

    /// The names of the jobs, each once, in the order of the list.
    pub fn names(self, knobs: &dyn Knobs) -> Vec<BString> {
        let text = knobs.get(format!("{}_JOBLIST", self.prefix()).as_bytes()).unwrap_or_default();
        let mut names: Vec<BString> = Vec::new();
        for name in list::split(&text) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.into());
            }
        }
        names
    }

    /// The load that all running jobs together may make. The manual of STARTD_CRON says 0.2, the code 0.1.
    pub fn max_load(self, knobs: &dyn Knobs) -> f64 {
        let knob = format!("{}_MAX_JOB_LOAD", self.prefix());
        knobs.get(knob.as_bytes()).and_then(|text| real(&text)).unwrap_or(0.1).clamp(0.01, 1000.0)
    }
}

/// When a job is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CronMode {
    /// At fixed times, a period apart.
    #[default]
    Periodic,
    /// A period after its last exit.
    WaitForExit,
    /// Once.
    OneShot,
    /// When somebody asks: never, for cron jobs.
    OnDemand,
}

impl CronMode {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            CronMode::Periodic => "Periodic",
            CronMode::WaitForExit => "WaitForExit",
            CronMode::OneShot => "OneShot",
            CronMode::OnDemand => "OnDemand",
        }
    }

    /// The mode of that name, whatever its case.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [CronMode::Periodic, CronMode::WaitForExit, CronMode::OneShot, CronMode::OnDemand]
            .into_iter()
            .find(|mode| mode.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// One job.
#[derive(Clone, Debug)]
pub struct CronJob {
    /// Its name: `argv[0]`, and the name of its ad.
    pub name: BString,
    /// EXECUTABLE. None of the tests on paths of hooks is made.
    pub executable: BString,
    /// ARGS as words.
    pub arguments: Vec<BString>,
    /// ENV.
    pub environment: Environment,
    /// CWD; empty for that of the daemon.
    pub directory: BString,
    /// PREFIX, put in front of every line.
    pub prefix: BString,
    /// MODE.
    pub mode: CronMode,
    /// PERIOD in seconds.
    pub period: i64,
    /// KILL: a run that is still there at its next time is ended.
    pub kill: bool,
    /// RECONFIG: SIGHUP at reconfig.
    pub reconfig: bool,
    /// RECONFIG_RERUN: run again at reconfig.
    pub rerun: bool,
    /// JOB_LOAD.
    pub load: f64,
    /// SLOTS: numbers of the slots it is for; empty for all.
    pub slots: Vec<i64>,
    /// CONDITION, evaluated in the daemon's ad before each start.
    pub condition: Option<Expr>,
    /// Odd things in its configuration.
    pub warnings: Vec<String>,
}

/// Why a job is skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{knob}: {problem}; the job is skipped")]
pub struct CronSkipped {
    /// The knob.
    pub knob: String,
    /// What is wrong with it.
    pub problem: String,
}

fn real(text: &[u8]) -> Option<f64> {
    number::real_prefix(text.trim()).map(|(value, _)| value)
}

impl CronJob {
    /// A job of this name that runs a program, with the defaults.
    pub fn new(name: &[u8], executable: &[u8]) -> Self {
        CronJob {
            name: name.into(),
            executable: executable.into(),
            arguments: Vec::new(),
            environment: Environment::new(),
            directory: BString::default(),
            prefix: BString::default(),
            mode: CronMode::Periodic,
            period: 0,
            kill: false,
            reconfig: false,
            rerun: false,
            load: 0.01,
            slots: Vec::new(),
            condition: None,
            warnings: Vec::new(),
        }
    }

    /// Reads a job from the configuration.
    ///
    /// # Errors
    /// Why the manager skips it.
    pub fn read(
        manager: CronManager,
        name: &[u8],
        knobs: &dyn Knobs,
        quirks: Quirks,
    ) -> Result<Self, CronSkipped> {
        let knob = |item: &str| format!("{}_{}_{item}", manager.prefix(), name.as_bstr());
        let get = |item: &str| knobs.get(knob(item).as_bytes());
        let skip =
            |item: &str, problem: &str| Err(CronSkipped { knob: knob(item), problem: problem.to_owned() });
        let Some(executable) = get("EXECUTABLE") else { return skip("EXECUTABLE", "it is not set") };
        let mut job = CronJob::new(name, &executable);
        if let Some(mode) = get("MODE") {
            match CronMode::from_name(&mode) {
                Some(mode) => job.mode = mode,
                None => {
                    let known = "use Periodic, WaitForExit, OneShot or OnDemand";
                    return skip("MODE", &format!("'{mode}' is no mode; {known}"));
                }
            }
        }
        let period = get("PERIOD");
        match (job.mode, &period) {
            (CronMode::OneShot | CronMode::OnDemand, None) => {}
            (CronMode::OneShot | CronMode::OnDemand, Some(_)) => {
                job.warnings.push(format!("{} is ignored for {}", knob("PERIOD"), job.mode.name()));
            }
            (_, None) => return skip("PERIOD", &format!("{} needs a period", job.mode.name())),
            (mode, Some(text)) => match parse_period(text) {
                Ok(seconds) => {
                    job.period = seconds;
                    if mode == CronMode::Periodic && seconds == 0 {
                        return skip("PERIOD", "Periodic needs a period above 0");
                    }
                }
                Err(problem) => return skip("PERIOD", &problem),
            },
        }
        if let Some(text) = get("ARGS") {
            match arguments::parse_v1_raw_or_v2_quoted(&text) {
                Ok(words) => job.arguments = words,
                Err(error) => return skip("ARGS", &error.to_string()),
            }
        }
        if let Some(text) = get("ENV")
            && let Err(error) = job.environment.merge_v1_raw_or_v2_quoted(&text)
        {
            return skip("ENV", &error.to_string());
        }
        job.directory = get("CWD").unwrap_or_default();
        job.prefix = get("PREFIX").unwrap_or_default();
        for (item, place) in
            [("KILL", &mut job.kill), ("RECONFIG", &mut job.reconfig), ("RECONFIG_RERUN", &mut job.rerun)]
        {
            let Some(text) = get(item) else { continue };
            let first = matches!(text.first(), Some(b't' | b'T'));
            let meant = matches!(text.to_ascii_lowercase().as_slice(), b"true" | b"t" | b"yes" | b"y" | b"1");
            if meant != first {
                let quirk = Quirk::CronBoolFirstLetter;
                job.warnings.push(format!(
                    "{} = {text}: 25.14 takes it for {first} ({})",
                    knob(item),
                    quirk.id()
                ));
            }
            *place = if quirks.has(Quirk::CronBoolFirstLetter) { first } else { meant };
        }
        if let Some(load) = get("JOB_LOAD") {
            job.load = real(&load).unwrap_or(0.01).clamp(0.0, 100.0);
        }
        if let Some(text) = get("SLOTS").filter(|_| manager == CronManager::Startd) {
            for item in list::split(&text) {
                match number::integer_prefix(item) {
                    Some((slot, _)) if item.first().is_some_and(u8::is_ascii_digit) => job.slots.push(slot),
                    _ => {
                        let item = item.as_bstr();
                        job.warnings
                            .push(format!("{} holds '{item}', so that it is for all slots", knob("SLOTS")));
                        job.slots.clear();
                        break;
                    }
                }
            }
        }
        if let Some(text) = get("CONDITION") {
            match Expr::parse(&text) {
                Ok(expr) => job.condition = Some(expr),
                Err(error) => return skip("CONDITION", &error.to_string()),
            }
        }
        Ok(job)
    }
}

/// A number with an optional letter: S, M, H in either case; text behind it is ignored.
fn parse_period(text: &[u8]) -> Result<i64, String> {
    let (value, used) =
        number::integer_prefix(text).ok_or_else(|| format!("'{}' is no period", text.as_bstr()))?;
    match text.get(used).map(u8::to_ascii_uppercase) {
        None | Some(b'S') => Ok(value),
        Some(b'M') => Ok(value.saturating_mul(60)),
        Some(b'H') => Ok(value.saturating_mul(3600)),
        Some(other) => Err(format!("'{}' is no unit of time; use S, M or H", char::from(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)], quirks: Quirks) -> Result<CronJob, CronSkipped> {
        let knobs = |name: &[u8]| {
            let name = name.to_str().ok()?.strip_prefix("STARTD_CRON_X_")?;
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| BString::from(*value))
        };
        CronJob::read(CronManager::Startd, b"X", &knobs, quirks)
    }

    #[test]
    fn periods_have_units_and_only_some_modes_need_one() {
        let period =
            |text| read(&[("EXECUTABLE", "/x"), ("PERIOD", text)], Quirks::None).map(|job| job.period);
        assert_eq!(period("2m"), Ok(120));
        assert_eq!(period("1H junk"), Ok(3600));
        assert!(period("5d").is_err() && period("0").is_err());
        let once = read(&[("EXECUTABLE", "/x"), ("MODE", "oneshot"), ("PERIOD", "9")], Quirks::None).unwrap();
        assert_eq!((once.mode, once.period, once.warnings.len()), (CronMode::OneShot, 0, 1));
        assert_eq!(read(&[], Quirks::None).unwrap_err().knob, "STARTD_CRON_X_EXECUTABLE");
    }

    #[test]
    fn booleans_are_as_odd_as_the_reference_only_when_asked() {
        let settings = [("EXECUTABLE", "/x"), ("PERIOD", "1"), ("KILL", "yes"), ("SLOTS", "1, 2")];
        assert!(read(&settings, Quirks::None).unwrap().kill);
        let job = read(&settings, Quirks::Reference).unwrap();
        assert!(!job.kill && job.slots == [1, 2] && job.warnings.len() == 1);
        let all = [("EXECUTABLE", "/x"), ("PERIOD", "1"), ("SLOTS", "1 two")];
        assert!(read(&all, Quirks::None).unwrap().slots.is_empty());
    }
}
