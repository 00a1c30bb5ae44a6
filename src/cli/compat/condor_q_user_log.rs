//! Jobs as a job's event log shows them (`condor_q -userlog`; userlog_to_classads.cpp).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::ffi::OsStrExt;

use bstr::BStr;

use crate::classad::{ClassAd, Context};
use crate::text::calendar::CivilTime;
use crate::user_log::{
    CpuTime, EventBody, EventKind, EventReader, EventTime, JobEvent, JobTermination, TerminatedEvent,
};
use crate::world::World;

/// Values of JobStatus.
const IDLE: i64 = 1;
const RUNNING: i64 = 2;
const REMOVED: i64 = 3;
const COMPLETED: i64 = 4;
const HELD: i64 = 5;
const SUSPENDED: i64 = 7;

/// Attributes of a JobAdInformation event that describe the event, not the job.
const OWN_EVENT_ATTRIBUTES: [&str; 7] = [
    "MyType",
    "Cluster",
    "Proc",
    "Subproc",
    "EventTypeNumber",
    "TriggerEventTypeNumber",
    "TriggerEventTypeName",
];

/// Job that an event log shows.
struct LoggedJob {
    ad: ClassAd,
    last_event: JobEvent,
}

/// Reader of the jobs of one log.
struct LoggedJobs<'a> {
    path: &'a OsStr,
    /// Jobs and whole clusters to read; if empty, all jobs are read.
    ids: &'a [(i32, Option<i32>)],
    world: &'a dyn World,
    jobs: BTreeMap<(i32, i32, i32), LoggedJob>,
}

/// Reads the jobs of an event log in the order of their IDs. The first text that is not an event ends the log, as in the reference.
///
/// # Errors
/// Fails if the log cannot be opened.
pub(super) fn read_logged_jobs(
    path: &OsStr,
    ids: &[(i32, Option<i32>)],
    world: &dyn World,
) -> io::Result<Vec<ClassAd>> {
    let mut jobs = LoggedJobs { path, ids, world, jobs: BTreeMap::new() };
    let events = EventReader::new(BufReader::new(File::open(path)?));
    events.map_while(Result::ok).for_each(|event| jobs.add(event));
    Ok(jobs.jobs.into_values().map(|job| job.ad).collect())
}

impl LoggedJobs<'_> {
    fn add(&mut self, event: JobEvent) {
        let id = (event.cluster, event.proc, event.subproc);
        if let EventBody::Submit { host, .. } = &event.body {
            let is_wanted = |(cluster, process): &(i32, Option<i32>)| {
                *cluster == event.cluster && process.is_none_or(|process| process == event.proc)
            };
            if self.ids.is_empty() || self.ids.iter().any(is_wanted) {
                let ad = self.submitted(&event, host.as_ref());
                self.jobs.insert(id, LoggedJob { ad, last_event: event });
            }
            return;
        }
        let time = self.epoch(&event.time);
        // Events of jobs whose submission is not in the log are ignored.
        if let Some(job) = self.jobs.get_mut(&id) {
            apply_event(job, &event, time, self.world);
            job.last_event = event;
        }
    }

    /// Returns the ad of a job that has just been submitted, with guessed values for attributes that the log does not
    /// contain.
    fn submitted(&self, event: &JobEvent, host: &BStr) -> ClassAd {
        let time = self.epoch(&event.time);
        let mut ad = ClassAd::new();
        ad.set("MyType", "Job");
        ad.set("TargetType", "Machine");
        ad.set("ClusterId", i64::from(event.cluster));
        ad.set("ProcId", i64::from(event.proc));
        ad.set("UserLog", self.path.as_bytes());
        ad.set("QDate", time);
        ad.set("EnteredCurrentStatus", time);
        let id = format!("localhost#{}.{}#{time}", event.cluster, event.proc);
        ad.set("GlobalJobId", id.as_str());
        ad.set("ServerTime", self.world.now().epoch());
        ad.set("SubmitHost", host);
        ad.set("JobStatus", IDLE);
        ad.set("LastJobStatus", 0);
        let account = self.world.account_by_uid(self.world.effective_uid());
        match account {
            Some(account) => ad.set("Owner", account.name),
            None => ad.set("Owner", "???"),
        }
        ad.set("JobPrio", 0);
        ad.set("ImageSize", 0);
        ad.set("Cmd", "???");
        for name in
            ["LastSuspensionTime", "CompletionDate", "NumJobStarts", "TotalSuspensions", "NumSystemHolds"]
        {
            ad.set(name, 0);
        }
        for name in ["LocalUserCpu", "RemoteUserCpu", "LocalSysCpu", "RemoteSysCpu", "RemoteWallClockTime"] {
            ad.set(name, 0.0);
        }
        ad
    }

    /// Returns the time of an event in seconds since the epoch. A local time is in the time zone of this process.
    fn epoch(&self, time: &EventTime) -> i64 {
        let zone = |seconds: i64| i64::from(self.world.zone(seconds).offset);
        let now = self.world.now().epoch();
        let civil = CivilTime {
            year: time.year.map_or_else(|| CivilTime::from_seconds(now, zone(now)).year, i64::from),
            month: time.month.into(),
            day: time.day.into(),
            hour: time.hour.into(),
            minute: time.minute.into(),
            second: time.second.into(),
        };
        let seconds = civil.to_seconds();
        match time.utc {
            true => seconds,
            // The offset of the zone depends on the time, which is known only with the offset. So the offset at a first
            // estimate of the time is used.
            false => seconds - zone(seconds - zone(seconds)),
        }
    }
}

fn apply_event(job: &mut LoggedJob, event: &JobEvent, time: i64, world: &dyn World) {
    let ad = &mut job.ad;
    match &event.body {
        EventBody::Execute { host, .. } => {
            enter_status(ad, RUNNING, time);
            ad.set("JobCurrentStartDate", time);
            count_up(ad, "NumJobStarts", world);
            ad.set("StartdIpAddr", host.clone());
            ad.set("RemoteHost", host.clone());
        }
        EventBody::Terminated(event) => apply_termination(ad, event, time, world),
        EventBody::Suspended(_) => {
            enter_status(ad, SUSPENDED, time);
            ad.set("LastSuspensionTime", time);
            count_up(ad, "TotalSuspensions", world);
        }
        EventBody::Unsuspended => enter_status(ad, RUNNING, time),
        EventBody::Evicted(event) => {
            enter_status(ad, IDLE, time);
            ad.set("LastVacateTime", time);
            ad.set("LastVacateReason", event.reason.clone());
        }
        EventBody::ReconnectFailed { reason, .. } => {
            enter_status(ad, IDLE, time);
            ad.set("LastVacateTime", time);
            set_text(ad, "LastVacateReason", reason.as_ref());
        }
        EventBody::Held { reason, code, subcode } => {
            let was_idle = Context::new(world).my(ad).int("JobStatus") == Some(IDLE);
            enter_status(ad, HELD, time);
            if !was_idle {
                ad.set("LastVacateTime", time);
                set_text(ad, "LastVacateReason", reason.as_ref());
            }
            ad.set("HoldReason", reason.clone());
            ad.set("HoldReasonCode", i64::from(*code));
            ad.set("HoldReasonSubCode", i64::from(*subcode));
            if *code != 1 {
                count_up(ad, "NumSystemHolds", world);
            }
        }
        EventBody::Released(reason) => {
            enter_status(ad, IDLE, time);
            set_text(ad, "ReleaseReason", reason.as_ref());
        }
        EventBody::Aborted(reason) => {
            enter_status(ad, REMOVED, time);
            set_text(ad, "RemoveReason", reason.as_ref());
        }
        EventBody::ImageSize { size, resident, proportional, .. } => {
            ad.set("ImageSize", *size);
            ad.set("ResidentSetSize", resident.unwrap_or(0));
            ad.set("ProportionalSetSize", proportional.unwrap_or(-1));
        }
        EventBody::JobAdInformation(_) => add_information(ad, event, &job.last_event),
        EventBody::Other { number, .. } if *number == EventKind::ShadowException.number() => {
            enter_status(ad, IDLE, time);
            let message = event.to_ad().string("Message").unwrap_or_default().to_owned();
            ad.set("LastVacateReason", message);
        }
        _ => {}
    }
}

fn apply_termination(ad: &mut ClassAd, event: &TerminatedEvent, time: i64, world: &dyn World) {
    enter_status(ad, COMPLETED, time);
    if let Some(host) = ad.remove("RemoteHost") {
        ad.insert("LastRemoteHost", host);
    }
    ad.set("CompletionDate", time);
    match event.termination {
        JobTermination::Exited(code) => {
            ad.set("ExitBySignal", false);
            ad.set("ExitCode", i64::from(code));
        }
        JobTermination::Signalled(signal, _) => {
            ad.set("ExitBySignal", true);
            ad.set("ExitSignal", i64::from(signal));
        }
    }
    let mut set_times = |prefix: &str, local: CpuTime, remote: CpuTime| {
        let times = [
            ("LocalUserCpu", local.user),
            ("RemoteUserCpu", remote.user),
            ("LocalSysCpu", local.system),
            ("RemoteSysCpu", remote.system),
        ];
        times.iter().for_each(|(name, seconds)| ad.set(format!("{prefix}{name}"), *seconds as f64));
    };
    set_times("Last", event.run.local, event.run.remote);
    set_times("", event.total.local, event.total.remote);
    if let Some(start) = Context::new(world).my(ad).int("JobCurrentStartDate") {
        ad.set("LastRemoteWallClockTime", (time - start) as f64);
    }
    let context = Context::new(world).my(ad);
    let clocks = context.real("RemoteWallClockTime").zip(context.real("LastRemoteWallClockTime"));
    if let Some((before, last)) = clocks {
        ad.set("RemoteWallClockTime", before + last);
    }
}

/// Adds the job attributes of a JobAdInformation event. Attributes that the previous event also has are left out.
fn add_information(ad: &mut ClassAd, event: &JobEvent, previous: &JobEvent) {
    let mut information = event.to_ad();
    let previous_ad = previous.to_ad();
    let event_attributes = OWN_EVENT_ATTRIBUTES.iter().map(|name| name.as_bytes());
    for name in previous_ad.names().chain(event_attributes.map(BStr::new)) {
        information.discard(name);
    }
    ad.update(&information);
}

/// Changes the status, and stores the previous one.
fn enter_status(ad: &mut ClassAd, status: i64, time: i64) {
    if let Some(before) = ad.remove("JobStatus") {
        ad.insert("LastJobStatus", before);
    }
    ad.set("JobStatus", status);
    ad.set("EnteredCurrentStatus", time);
}

fn count_up(ad: &mut ClassAd, name: &str, world: &dyn World) {
    let count = Context::new(world).my(ad).int(name).unwrap_or(0);
    ad.set(name, count + 1);
}

fn set_text(ad: &mut ClassAd, name: &str, text: &BStr) {
    if !text.is_empty() {
        ad.set(name, text);
    }
}
