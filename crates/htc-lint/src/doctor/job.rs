//! Rehearsal of a job `/bin/true`, as a starter would run it with this configuration: a failure would affect
//! all jobs.

use bstr::BString;

use super::check::DoctorCheck;
use htc_base::process::ProcessIdentity;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{CommandPolicy, Config, LookupContext};
use htc_os::identity;
use htc_runner::hook_environment::{ConfigSelection, DaemonEnvironment};
use htc_runner::starter::{RehearsalScript, RunRequest, TransferHelper, plan, rehearse};
use htc_starter::JobOverrides;
use htc_starter::unsupported::AccessPointRole;

/// Checks that a job would start, by rehearsing its start.
///
/// `account` is the account of HTCondor's daemons, if it differs from the caller's: for root the check needs
/// an account that is not root.
pub fn rehearse_job(
    choice: &ConfigSelection,
    world: &dyn World,
    account: Option<&ProcessIdentity>,
    quirks: QuirkMode,
) -> Option<DoctorCheck> {
    let context = LookupContext { subsystem: "STARTER".into(), local_name: "".into() };
    let (config, _) = Config::load(world, &context, &choice.load_options(CommandPolicy::BOUNDED_RUN)).ok()?;
    let view = config.view(world);
    let uid = account.map_or_else(identity::effective_uid, |identity| identity.uid);
    let account = identity::account_by_uid(uid).map(|account| account.name.to_string());
    let shown = account.clone().unwrap_or_else(|| format!("uid {uid}"));
    // A uid without an account can only run jobs under itself, whatever their Owner is.
    let owner = account.unwrap_or_else(|| "nobody".to_owned());
    let request = RunRequest {
        world,
        quirks,
        environment: DaemonEnvironment::from_program(world, choice),
        ad: rehearsal_job_ad(&owner),
        machine: None,
        overrides: JobOverrides::default(),
        role: AccessPointRole::Absent,
        helper: TransferHelper {
            program: "/proc/self/exe".into(),
            argv: vec![BString::from("htc-starter-run")],
        },
        spool: None,
        log: None,
        shell: None,
        slot: "slot1".into(),
        event_slot: None,
        output_ad: None,
        update_ad: None,
        hook_timeout: None,
        timeout: None,
        orphan_grace: None,
        private_directory: None,
        fallback_execute: std::env::temp_dir(),
        clock_skew_us: 0,
    };
    let planned = match plan(request, &view) {
        Ok(planned) => planned,
        Err(error) => return Some(DoctorCheck::failed("jobs", error.user_message(), "correct it")),
    };
    let rehearsed = rehearse(planned.machine, &planned.context, &RehearsalScript::default(), world);
    let preview = rehearsed.preview;
    let missing =
        || preview.missing.first().map(|program| format!("there is no '{program}' on this machine"));
    let reason = preview.refused.map(|refused| refused.reason).or_else(missing);
    Some(match reason {
        Some(reason) => {
            let found = format!("a job of user {shown} is not started: {reason}");
            DoctorCheck::failed(
                "jobs",
                found,
                "correct the setting that the message names; htc-starter-run --dry-run shows details",
            )
        }
        None => DoctorCheck::passed("jobs", format!("a job of user {shown} would start")),
    })
}

/// Returns the job ad for the rehearsal. It names an image, which SINGULARITY_JOB may require, so that a
/// failure is caused by the configuration alone.
fn rehearsal_job_ad(owner: &str) -> ClassAd {
    let mut ad = ClassAd::new();
    for (name, value) in [
        ("Cmd", "/bin/true"),
        ("Iwd", "/"),
        ("Owner", owner),
        ("User", &format!("{owner}@doctor")),
        ("SingularityImage", "/doctor.sif"),
    ] {
        ad.set(name, value);
    }
    for name in ["ClusterId", "RequestCpus", "RequestMemory", "RequestDisk"] {
        ad.set(name, 1_i64);
    }
    ad.set("ProcId", 0_i64);
    ad.set("JobUniverse", 5_i64);
    ad
}
