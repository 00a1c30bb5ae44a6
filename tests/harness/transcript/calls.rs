//! A call of a hook or a job, recorded or replayed, and the grouping of calls.

use std::collections::BTreeMap;

/// Facts about a call by name: descriptors, identity, limits.
pub type Meta = BTreeMap<String, String>;

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name in messages: the name of its record.
    pub label: String,
    /// Name of the hook's file, such as FARM_HOOK_FETCH_WORK, or of the job.
    pub name: String,
    pub start: f64,
    /// End time, known only for recorded calls.
    pub end: Option<f64>,
    pub pid: i64,
    pub ppid: i64,
    pub argv: Vec<String>,
    pub exit: Option<String>,
    pub env: Option<Vec<(String, String)>>,
    pub stdin: Option<Vec<u8>>,
    pub stdout: Vec<u8>,
    pub job_ad: Option<Vec<u8>>,
    pub machine_ad: Option<Vec<u8>>,
    pub meta: Meta,
}

impl Call {
    /// Returns true for a job.
    pub fn is_job(&self) -> bool {
        !self.name.contains("_HOOK_") && self.argv.first().is_some_and(|path| path.contains("/job.d/"))
    }

    /// Returns true for a cron job.
    pub fn is_cron(&self) -> bool {
        self.name.starts_with("CRON_")
    }

    /// Returns the type of hook (`FETCH_WORK`), `CRON` or `job`.
    pub fn kind(&self) -> String {
        if self.is_job() {
            return "job".to_owned();
        }
        if self.is_cron() {
            return "CRON".to_owned();
        }
        let name = self.name.rsplit("_HOOK_").next().unwrap_or(&self.name);
        // A hook with another file name (bad paths) is recognized by its input and arguments.
        if name != self.name {
            return name.to_owned();
        }
        match self.argv.get(1).map(String::as_str) {
            Some("accept" | "reject") => "REPLY_FETCH".to_owned(),
            Some("exit" | "evict" | "remove" | "hold") => "JOB_EXIT".to_owned(),
            _ if self.slot().is_some() => "FETCH_WORK".to_owned(),
            _ => "other".to_owned(),
        }
    }

    /// Returns the slot for which a startd hook was called.
    pub fn slot(&self) -> Option<String> {
        let stdin = self.stdin.as_deref()?;
        value(stdin, "Name")
            .filter(|_| value(stdin, "SlotID").is_some())
            .map(|name| name.trim_matches('"').split('@').next().unwrap_or_default().to_owned())
    }

    /// Returns the job of the call, as `cluster.proc`: from its output (fetch), its input, or its `.job.ad`.
    pub fn job(&self) -> Option<String> {
        let text = match self.kind().as_str() {
            "FETCH_WORK" => Some(self.stdout.as_slice()),
            "job" => self.job_ad.as_deref(),
            _ => self.stdin.as_deref(),
        }?;
        let cluster = value(text, "ClusterId")?;
        Some(format!("{cluster}.{}", value(text, "ProcId").unwrap_or_else(|| "?".to_owned())))
    }
}

/// Returns the text of an attribute in long form; the last line for a name is effective.
pub fn value(ad: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(ad);
    text.lines()
        .filter_map(|line| line.split_once('='))
        .rfind(|(left, _)| left.trim().eq_ignore_ascii_case(name))
        .map(|(_, right)| right.trim().to_owned())
}

/// Calls for one job, in order of start.
pub struct JobCalls<'a> {
    pub job: String,
    /// Calls that the caller waits for, and jobs.
    pub main: Vec<&'a Call>,
    /// Calls that the caller does not wait for.
    pub updates: Vec<&'a Call>,
}

impl JobCalls<'_> {
    /// Returns true for the runs of a cron job.
    pub fn is_cron(&self) -> bool {
        self.main.first().is_some_and(|call| call.is_cron())
    }
}

/// Groups calls by job. Runs of a cron job are grouped under its name. Fetches without a result belong to no
/// group and are returned separately.
///
/// With `cases` (name and start, in order) the groups are cases instead of jobs: each run of a starter is one
/// group.
pub fn by_job<'a>(calls: &'a [Call], cases: &[(String, f64)]) -> (Vec<JobCalls<'a>>, Vec<&'a Call>) {
    let mut groups: Vec<JobCalls<'a>> = Vec::new();
    let mut idle = Vec::new();
    let mut by_starter: BTreeMap<i64, String> = BTreeMap::new();
    for call in calls {
        if let Some(job) = call.job()
            && !matches!(call.kind().as_str(), "FETCH_WORK" | "REPLY_FETCH" | "CRON")
        {
            by_starter.entry(call.ppid).or_insert(job);
        }
    }
    for call in calls {
        let kind = call.kind();
        if kind == "FETCH_WORK" && call.stdout.iter().all(u8::is_ascii_whitespace) {
            idle.push(call);
            continue;
        }
        let case = cases.iter().rev().find(|(_, start)| *start <= call.start).map(|(name, _)| name.clone());
        let cron = call.is_cron().then(|| call.name.clone());
        let known = case
            .or(cron)
            .or_else(|| call.job())
            .or_else(|| by_starter.get(&call.ppid).cloned().filter(|_| kind != "FETCH_WORK"));
        let job = known.or_else(|| {
            // A record without its ad belongs to the latest fetch that has no such call yet; updates are
            // frequent.
            let lacks = |group: &&JobCalls<'a>| group.main.iter().all(|other| other.kind() != kind);
            let latest = match kind.as_str() {
                "job" | "REPLY_FETCH" | "PREPARE_JOB" | "JOB_EXIT" => groups.iter().rev().find(lacks),
                "UPDATE_JOB_INFO" => groups.last(),
                _ => None,
            };
            latest.map(|group| group.job.clone())
        });
        let job = job.unwrap_or_else(|| "?".to_owned());
        let index = match groups.iter().position(|group| group.job == job) {
            Some(index) => index,
            None => {
                groups.push(JobCalls { job, main: Vec::new(), updates: Vec::new() });
                groups.len() - 1
            }
        };
        let group = &mut groups[index];
        if kind == "UPDATE_JOB_INFO" { group.updates.push(call) } else { group.main.push(call) }
    }
    (groups, idle)
}
