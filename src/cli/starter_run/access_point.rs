//! `--as shadow`: the access point's part for one job, and the helper that moves its files.

use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;

use anyhow::Context;
use bstr::BString;

use super::super::common::{Problem, Session, Status};
use super::session::Run;
use crate::classad::ClassAd;
use crate::config::View;
use crate::hook::Knobs;
use crate::job::{JobStatus, attr};
use crate::os::Reactor;
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::events::EventStream;
use crate::runner::shadow::{self, Play};
use crate::runner::starter::{Opening, Plan, Request, SIGNALS, UserLog, plan, queue_owner};
use crate::runner::transfer::carry;
use crate::shadow::{Setup, Until};
use crate::starter::job_info::JobInfo;
use crate::transfer::Errand;
use crate::world::World;

/// `--as`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum As {
    /// The starter alone, as for fetched work: nothing is transferred
    #[default]
    Fetched,
    /// The local universe under a schedd: exit policy, nothing is transferred
    Local,
    /// Schedd and shadow too: transfer, policy, the job's log
    Shadow,
}

/// `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UntilOption(pub(super) Until);

impl FromStr for UntilOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "done" => Ok(UntilOption(Until::Done)),
            "held" => Ok(UntilOption(Until::Held)),
            number => match number.parse::<u32>() {
                Ok(runs) if runs > 0 => Ok(UntilOption(Until::Runs(runs))),
                _ => Err("give 'done', 'held' or a number of runs above 0".to_owned()),
            },
        }
    }
}

/// The helper: an errand on standard input, what came of it on standard output.
pub(super) fn helper() -> anyhow::Result<Status> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text).context("cannot read what is to be moved")?;
    let errand: Errand = serde_json::from_slice(&text).with_context(|| {
        Problem::usage("--carry is for the starter itself: an errand is read from standard input")
    })?;
    let carried = carry(&errand).context("cannot take on the account that files are moved as")?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&serde_json::to_vec(&carried)?)?;
    stdout.flush()?;
    Ok(Status::Done)
}

/// What a job is played with.
pub(super) struct Ground<'w> {
    pub(super) view: &'w View<'w>,
    pub(super) world: &'w dyn World,
    pub(super) ad: ClassAd,
    pub(super) machine: Option<ClassAd>,
    pub(super) until: Until,
    pub(super) local: bool,
    /// Where a job keeps files for its next run.
    pub(super) spool: Option<&'w Path>,
}

impl Run<'_> {
    /// Plays the job and prints its ad as the queue would have it. `request` makes the request of one run.
    pub(super) fn play<'w>(
        &self,
        ground: Ground<'w>,
        request: &dyn Fn(ClassAd) -> Request<'w>,
        stream: &mut EventStream,
        session: &Session,
    ) -> anyhow::Result<Status> {
        let Ground { view, world, ad, machine, until, local, spool } = ground;
        if local {
            check_local(&ad, world, session)?;
        }
        let first = request(ad.clone());
        let (quirks, environment, skew_us) =
            (first.quirks, first.environment.for_hooks(first.quirks), first.skew_us);
        // Before anything is written: root writes no log and calls no hook for who wrote an ad.
        let owner = queue_owner(&ad, view, &first.slot, quirks).map_err(|refusal| {
            Problem::unreadable(format!("the job is not played: {refusal}"))
                .hint("add a line such as User = \"alice@example.org\" to the ad, or run as that account")
        })?;
        let found = if local { Default::default() } else { shadow::find(&ad, view, world, quirks) };
        if let Some(complaint) = &found.complaint {
            session.warn(complaint);
        }
        let info = queue_info(&ad, world);
        let address = BString::from(format!("<{}:0>", world.machine().ip_address));
        let options =
            view.string("DEFAULT_USERLOG_FORMAT_OPTIONS").ok().flatten().map(|setting| setting.value);
        let log = UserLog::of_queue(&Opening {
            ad: &ad,
            job: &info,
            scratch: Path::new("/"),
            options: options.as_ref().map_or(&b""[..], |options| options),
            address: address.clone(),
            quirks,
            world,
        });
        let int =
            |name: &str, usual: i64| view.int(name).ok().flatten().map_or(usual, |setting| setting.value);
        let host = world.machine().full_host;
        let name = if first.slot.is_empty() { BString::from("slot1") } else { first.slot.clone() };
        let slot = match name.contains(&b'@') {
            true => name,
            false => format!("{name}@{host}").into(),
        };
        let vacate = int("MachineMaxVacateTime", 600).max(0).unsigned_abs();
        let play = Play {
            setup: Setup {
                world,
                quirks,
                knobs: view as &dyn Knobs,
                ad,
                slot,
                host,
                address,
                hook: found.hook,
                until,
                interval: int("PERIODIC_EXPR_INTERVAL", 60),
                local,
            },
            machine,
            log,
            owner,
            environment,
            hook_limit: found.limit,
            vacate: std::time::Duration::from_secs(vacate),
            skew_us,
        };
        let mut reactor = Reactor::new(SIGNALS).context("cannot set up signals and children")?;
        let quiet = self.cli.output.quiet;
        let mut told = Vec::new();
        let mut say = |line: &str| {
            // Each run would say the same again.
            if !quiet && !told.iter().any(|known| known == line) {
                session.warn(line);
                told.push(line.to_owned());
            }
        };
        let mut planner = |ad: ClassAd| -> Result<Plan<'w>, String> {
            plan(request(ad), view).map_err(|error| error.to_string())
        };
        let outcome = shadow::run(play, &mut planner, &mut reactor, stream, &mut say)
            .context("cannot wait for children")?;
        let status = self.played_status(&outcome, quirks);
        if !quiet && !is_over(&outcome.ad) {
            spool.iter().for_each(|spool| tell_kept(spool, session));
        }
        self.print_queue_ad(&outcome.ad).map(|()| status)
    }

    fn played_status(&self, outcome: &shadow::Outcome, quirks: Quirks) -> Status {
        let status =
            crate::classad::Context::new(&crate::classad::System).my(&outcome.ad).int(attr::JOB_STATUS);
        if outcome.last.as_ref().is_some_and(|last| last.timed_out) {
            return Status::TimedOut;
        }
        match (status, outcome.exit) {
            (status, _) if quirks == Quirks::Reference => Status::Tool(shadow_status(status)),
            (Some(JobStatus::COMPLETED), Some(Exit::Code(0))) => Status::Done,
            _ => Status::No,
        }
    }
}

/// What a shadow ends with (`exit.h`).
fn shadow_status(status: Option<i64>) -> u8 {
    match status {
        Some(JobStatus::COMPLETED) => 100,
        Some(JobStatus::HELD) => 112,
        Some(JobStatus::REMOVED) => 113,
        _ => 107,
    }
}

/// A schedd runs nothing else itself than jobs of the local universe (`JICLocalSchedd::initJobInfo`), and mails their users.
fn check_local(ad: &ClassAd, world: &dyn World, session: &Session) -> anyhow::Result<()> {
    const LOCAL: i64 = 12;
    let int = |name: &str| crate::classad::Context::new(world).my(ad).int(name);
    match int(attr::JOB_UNIVERSE) {
        Some(LOCAL) => {}
        Some(other) => {
            let message =
                format!("JobUniverse is {other}: a schedd itself runs jobs of the local universe (12) only");
            return Err(Problem::unreadable(message).hint("use --as shadow").into());
        }
        None => {
            let message =
                "the job ad has no JobUniverse: a schedd itself runs jobs of the local universe (12) only";
            return Err(Problem::unreadable(message).into());
        }
    }
    if int("JobNotification").is_some_and(|when| when != 0) {
        session.warn("JobNotification is not done here: the schedd of a pool would mail the job's user");
    }
    Ok(())
}

/// The job as its log knows it.
fn queue_info(ad: &ClassAd, world: &dyn World) -> JobInfo {
    let context = || crate::classad::Context::new(world).my(ad);
    JobInfo {
        cluster: context().int(attr::CLUSTER_ID).unwrap_or(1),
        proc: context().int(attr::PROC_ID).unwrap_or(0),
        subproc: 0,
        iwd: context().string(attr::IWD).unwrap_or_else(|| "/".into()),
        files: [None, None, None],
        overrides: [None, None, None],
        transfers: false,
    }
}

/// Whether the queue has no more to do with the job: what it kept is removed then.
fn is_over(ad: &ClassAd) -> bool {
    let status = crate::classad::Context::new(&crate::classad::System).my(ad).int(attr::JOB_STATUS);
    matches!(status, Some(JobStatus::COMPLETED | JobStatus::REMOVED))
}

/// What the last run left for one that does not come goes with the directory that keeps it.
fn tell_kept(spool: &Path, session: &Session) {
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| format!("{:?}", entry.file_name())).collect();
    if names.is_empty() {
        return;
    }
    names.sort();
    let count = names.len();
    let shown = names[..count.min(5)].join(", ");
    let more = if count > 5 { ", ..." } else { "" };
    session.warn(&format!(
        "what the job kept for its next run is removed with this program's end ({shown}{more}: {count} at the top); a \
         schedd keeps it in SPOOL; --until done or --until N runs the job again from there"
    ));
}
