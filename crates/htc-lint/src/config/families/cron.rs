//! `STARTD_CRON_<JOB>_X`, `SCHEDD_CRON_<JOB>_X`, `BENCHMARKS_<JOB>_X`.

use bstr::{BStr, BString, ByteSlice};

use crate::config::parameters::items;
use crate::config::standing::{Standing, Unread};
use htc_base::text::{caseless, similar};
use htc_config::View;

/// What is asked of a manager of cron jobs (`cron_job_mgr.cpp`, `DoConfig`; `cron_job.cpp`; `startd_cron_job_mgr.cpp`).
const OF_MANAGER: [&str; 6] =
    ["JOBLIST", "CONFIG_VAL", "MAX_JOB_LOAD", "LOG_NON_ZERO_EXIT", "AUTOPUBLISH", "NAME"];

/// What is asked of each job (`cron_job_params.cpp`, `Initialize`; `classad_cron_job.cpp`;
/// `startd_cron_job_params.cpp`).
const OF_JOB: [&str; 15] = [
    "PREFIX",
    "EXECUTABLE",
    "PERIOD",
    "MODE",
    "RECONFIG",
    "RECONFIG_RERUN",
    "KILL",
    "ARGS",
    "ENV",
    "CWD",
    "JOB_LOAD",
    "CONDITION",
    "CONFIG_VAL_PROG",
    "SLOTS",
    "METRICS",
];

/// The jobs of one manager.
pub(super) struct Jobs {
    base: &'static str,
    names: Vec<BString>,
}

/// The jobs that the configuration lists.
pub(super) fn jobs(view: &View<'_>) -> Vec<Jobs> {
    ["STARTD_CRON", "SCHEDD_CRON", "BENCHMARKS"]
        .into_iter()
        .map(|base| Jobs { base, names: items(view, &format!("{base}_JOBLIST")) })
        .collect()
}

/// What a name is among those of cron jobs; `is_set` says whether the configuration sets a name.
pub(super) fn standing(name: &[u8], all: &[Jobs], is_set: &dyn Fn(&str) -> bool) -> Option<Standing> {
    all.iter().find_map(|jobs| {
        let rest = caseless::strip_prefix(name, jobs.base.as_bytes())?.strip_prefix(b"_")?;
        of_manager(jobs, rest, is_set)
    })
}

fn of_manager(jobs: &Jobs, rest: &[u8], is_set: &dyn Fn(&str) -> bool) -> Option<Standing> {
    let base = jobs.base;
    let is_of_manager = OF_MANAGER.iter().any(|known| caseless::eq(known.as_bytes(), rest));
    let listed = |job: &[u8]| jobs.names.iter().any(|name| caseless::eq(name, job));
    let job_of = |known: &str| {
        let job = rest.len().checked_sub(known.len() + 1).map(|end| &rest[..end])?;
        (!job.is_empty() && rest[job.len()] == b'_' && caseless::ends_with(rest, known.as_bytes()))
            .then_some(job)
    };
    // RECONFIG_RERUN ends as a job RECONFIG's own RERUN would: one reading that is right is enough.
    let parts: Vec<&[u8]> = OF_JOB.iter().filter_map(|known| job_of(known)).collect();
    if is_of_manager || parts.iter().any(|job| listed(job)) {
        return Some(Standing::Read);
    }
    if let Some(near) = similar::nearest(rest, OF_MANAGER.iter().map(|known| known.as_bytes())) {
        let why = format!("{base} has no {}", BStr::new(rest));
        return Unread::standing(why, format!("did you mean {base}_{}?", BStr::new(near)));
    }
    if let Some(job) = parts.first() {
        // A whole job that no list names is told once, at its executable.
        if is_set(&format!("{base}_{}_EXECUTABLE", job.to_str_lossy())) {
            return Some(Standing::Read);
        }
        let why = format!("{base}_JOBLIST lists no job {}", BStr::new(job));
        let near = similar::nearest(job, jobs.names.iter().map(|name| &name[..]));
        return Unread::standing(
            why,
            match near {
                Some(near) => {
                    format!("did you mean {base}_{}{}?", BStr::new(near), BStr::new(&rest[job.len()..]))
                }
                None => format!("add {} to {base}_JOBLIST", BStr::new(job)),
            },
        );
    }
    slip(jobs, rest)
}

/// What was meant by a name that is none of a job's.
fn slip(jobs: &Jobs, rest: &[u8]) -> Option<Standing> {
    let base = jobs.base;
    let known = || OF_JOB.iter().map(|known| known.as_bytes());
    let mut longest = jobs.names.iter().filter(|job| {
        caseless::starts_with(rest, job) && rest.get(job.len()) == Some(&b'_') && rest.len() > job.len() + 1
    });
    if let Some(job) = longest.by_ref().max_by_key(|job| job.len()) {
        let knob = &rest[job.len() + 1..];
        let why = format!("a cron job has no {}", BStr::new(knob));
        return Unread::standing(
            why,
            match similar::nearest(knob, known()) {
                Some(near) => format!("did you mean {base}_{job}_{}?", BStr::new(near)),
                None => format!("what a job has: {}", OF_JOB.join(", ")),
            },
        );
    }
    let underscores = rest.iter().enumerate().filter(|&(at, &byte)| byte == b'_' && at > 0).map(|(at, _)| at);
    let near = underscores.filter_map(|at| Some((at, similar::nearest(&rest[at + 1..], known())?))).next()?;
    let (job, knob) = (BStr::new(&rest[..near.0]), BStr::new(&rest[near.0 + 1..]));
    let why = format!("a cron job has no {knob}");
    Unread::standing(why, format!("did you mean {base}_{job}_{}?", BStr::new(near.1)))
}
