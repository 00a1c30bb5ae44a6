//! Reads a scenario in which the starter was run directly: its configuration and its cases.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::super::Result;
use super::super::calls::{Call, Meta};
use super::super::scenario::{self, LayoutEntry};

/// A scenario: the data common to its cases.
pub struct Family {
    pub name: String,
    pub directory: PathBuf,
    pub config: Vec<u8>,
    pub cases: Vec<Case>,
}

/// A case.
pub struct Case {
    pub name: String,
    pub directory: PathBuf,
    /// Arguments and input of the starter, and its recorded end.
    pub run: scenario::Case,
    /// Lines added to the configuration.
    pub config: Vec<u8>,
    pub umask: Option<String>,
    /// Recorded programs in order.
    pub calls: Vec<Call>,
    /// Attributes about the job's end, if the result ad was not recorded.
    pub result: Option<BTreeMap<String, String>>,
    /// The job's final ad in the queue, for a pool.
    pub queue: Option<Queue>,
    /// True if each call has a record in addition to its arguments.
    pub recorded: bool,
    /// iwd/ and state/ afterwards: the whole listing, or the entries added (true) and removed.
    pub after: Option<Vec<LayoutEntry>>,
    pub changes: Option<Vec<(bool, LayoutEntry)>>,
    /// EXECUTE afterwards: empty if nothing was left, only names if no more was recorded.
    pub left: Vec<LayoutEntry>,
    pub left_names: Vec<String>,
    /// Recorded files in iwd/ and state/, by their paths.
    pub files: Vec<(String, Vec<u8>)>,
    /// Events of the starter meanwhile.
    pub events: String,
    /// True if listings are of iwd/ alone, with paths relative to it.
    pub in_iwd: bool,
    /// Number of recorded files that are not compared: logs of shadows in formats other than text.
    pub without_counterpart: usize,
    /// The log that schedd and shadow wrote.
    pub log: Option<Vec<u8>>,
    /// The slot ad that a pool used.
    pub slot_ad: Option<Vec<u8>>,
    /// Instructions for the fake container runtime: the file in state/ and its text.
    pub double: Option<String>,
    /// True if the image is a directory.
    pub image: bool,
    /// DeferralTime relative to the start: `now+3`, or `NOW` for an expression with the epoch.
    deferral: Option<String>,
}

/// The job's final ad in a queue.
pub struct Queue {
    /// Attributes with known values.
    pub known: BTreeMap<String, String>,
    /// Attributes that had this value or were missing: the recording does not list attributes removed from
    /// its first job's ad.
    pub perhaps: BTreeMap<String, String>,
}

impl Family {
    /// Reads a scenario.
    pub fn read(directory: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let list = String::from_utf8_lossy(&read("cases.jsonl")?).into_owned();
        let readme = String::from_utf8_lossy(&read("README.md")?).into_owned();
        let mut cases = Vec::new();
        let mut known = Known::default();
        for line in list.lines() {
            let value: Value = serde_json::from_str(line).map_err(|error| format!("cases.jsonl: {error}"))?;
            let name = value.get("case").and_then(Value::as_str).unwrap_or_default();
            let at = directory.join("cases").join(name);
            cases.push(Case::read(&at, &value, &readme, &mut known)?);
        }
        Ok(Family {
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            directory: directory.to_owned(),
            config: read("condor_config")?,
            cases,
        })
    }

    /// Returns the environment of the starter except for CONDOR_CONFIG.
    pub fn environment(&self) -> [(&'static str, &'static str); 4] {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        [("PATH", path), ("HOME", "/root"), ("LOGNAME", "root"), ("USER", "root")]
    }
}

/// Data that later records refer to.
#[derive(Default)]
pub struct Known {
    argv: Vec<String>,
    environments: HashMap<String, Vec<String>>,
    /// Facts about the first call of each name, and about the very first call.
    metas: HashMap<String, Value>,
}

impl Case {
    /// Reads a case from its directory and its entry in the list.
    pub fn read(at: &Path, value: &Value, readme: &str, known: &mut Known) -> Result<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("case").unwrap_or_default();
        let optional = |file: &str| fs::read(at.join(file)).ok();
        if let Some(argv) = optional("argv.json") {
            known.argv = json(&argv, at)?;
        }
        let standard =
            ["@RELEASE_DIR@/sbin/condor_starter", "-f", "-job-input-ad", "-", "-job-output-ad", "-"];
        let own_argv = at.join("argv.json").is_file();
        let argv = match own_argv {
            true => known.argv.clone(),
            false => standard.iter().map(|word| (*word).to_owned()).collect(),
        };
        let events = String::from_utf8_lossy(&optional("events").unwrap_or_default()).into_owned();
        let sent = |line: &str| {
            let (at, signal) = line.strip_suffix(" to the starter")?.split_once(' ')?;
            Some((at.parse().ok()?, signal.to_owned()))
        };
        let (calls, recorded) = calls(at, value, known)?;
        let mut run = scenario::Case {
            log: None,
            name: name.clone(),
            start: 0.0,
            argv,
            stdin: optional("stdin").unwrap_or_default(),
            stdout: optional("stdout").unwrap_or_default(),
            exit: String::from_utf8_lossy(&optional("exit").unwrap_or_default()).trim().to_owned(),
            signals: events.lines().filter_map(sent).collect(),
            awaited: None,
            // A line without a value means that a variable is not set, as it is not here.
            environment: String::from_utf8_lossy(&optional("env.extra").unwrap_or_default())
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        };
        // The job itself, rather than a hook or the runtime that starts it.
        let job = calls.iter().find(|call| call.is_job() && call.name != "docker");
        run.awaited = job.filter(|_| !run.signals.is_empty()).map(|call| call.name.clone());
        let listing =
            |file: &str| optional(file).map(|bytes| scenario::layout(&String::from_utf8_lossy(&bytes)));
        let changes = optional("ls.diff").map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let entry = |line: &str| scenario::layout(line).into_iter().next();
            let side = |line: &str| match (line.strip_prefix('+'), line.strip_prefix('-')) {
                (Some(more), _) => Some((true, entry(more)?)),
                (None, Some(less)) => Some((false, entry(less)?)),
                (None, None) => None,
            };
            text.lines().filter_map(side).collect()
        });
        let mut files = Vec::new();
        for top in ["iwd", "state"] {
            collect(&at.join(top), top, &mut files);
        }
        let told = value.get("result").and_then(Value::as_object).into_iter().flatten();
        let told = told.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Case {
            without_counterpart: 0,
            result: (!at.join("stdout").exists()).then(|| told.collect()),
            run,
            config: optional("config").unwrap_or_default(),
            umask: text("umask"),
            calls,
            recorded,
            after: listing("ls.after"),
            changes,
            left: listing("left").unwrap_or_default(),
            left_names: String::from_utf8_lossy(&optional("left").unwrap_or_default())
                .lines()
                .filter(|line| line.starts_with("execute/") && !line.ends_with(':'))
                .map(str::to_owned)
                .collect(),
            files,
            events,
            double: double(&name, readme),
            image: row(&name, readme).is_some_and(|row| row.contains("double: img.dir")),
            deferral: deferral(&name, readme),
            directory: at.to_owned(),
            in_iwd: false,
            queue: None,
            log: None,
            slot_ad: None,
            name,
        })
    }

    /// Sets DeferralTime relative to the start, from its distance to the time in the attribute `name`.
    pub fn set_deferral_after(&mut self, name: &str) {
        let ad = String::from_utf8_lossy(&self.run.stdin).into_owned();
        let number = |name: &str| {
            let line = ad.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.and_then(|value| value.parse::<i64>().ok())
        };
        if let (Some(deferral), Some(from)) = (number("DeferralTime"), number(name)) {
            self.deferral = Some(format!("now+{}", deferral - from).replace("+-", "-"));
        }
    }

    /// Returns the arguments and input with which the starter is run now.
    pub fn run_now(&self) -> scenario::Case {
        let stdin = match &self.deferral {
            Some(word) => in_time(&self.run.stdin, word),
            None => self.run.stdin.clone(),
        };
        scenario::Case { stdin, ..self.run.clone() }
    }

    /// Returns true if the runtime is Singularity.
    pub fn is_singularity(&self) -> bool {
        self.calls.iter().any(|call| call.name == "singularity")
    }

    /// Returns the listing of iwd/ and state/ before the case, if they were not empty.
    pub fn before(&self) -> Option<Vec<LayoutEntry>> {
        let text = fs::read_to_string(self.directory.join("ls.before")).ok()?;
        let mut entries = scenario::layout(&text);
        for entry in entries.iter_mut().filter(|_| self.in_iwd) {
            entry.path = format!("iwd/{}", entry.path.trim_start_matches("./"));
        }
        Some(entries)
    }
}

/// Key of the very first call among the first calls of each name.
const FIRST: &str = "";

fn json(bytes: &[u8], at: &Path) -> Result<Vec<String>> {
    serde_json::from_slice(bytes).map_err(|error| format!("{}: {error}", at.display()))
}

/// Reads the calls of a case: their arguments, and if recorded their environment and facts.
fn calls(at: &Path, value: &Value, known: &mut Known) -> Result<(Vec<Call>, bool)> {
    let listed = value.get("calls").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut calls = Vec::new();
    let mut recorded = false;
    for (number, call) in (1..).zip(&listed) {
        // Only names were recorded if the arguments were irrelevant.
        let name = call.get(0).or(Some(call)).and_then(Value::as_str).unwrap_or_default().to_owned();
        let nth = calls.iter().filter(|call: &&Call| call.name == name).count();
        let file = |what: &str| fs::read(at.join(format!("rec/{number:02}-{name}.{what}"))).ok();
        let words = call.get(1).and_then(Value::as_array).into_iter().flatten();
        let argv = match file("argv.json") {
            Some(bytes) => json(&bytes, at)?,
            None => words.filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        if let Some(bytes) = file("env") {
            let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
            known.environments.entry(name.clone()).or_insert_with(|| Vec::clone(&lines));
            known.environments.entry(format!("{nth} {name}")).or_insert(lines);
        }
        let env = match (file("env"), file("env.diff")) {
            (Some(bytes), _) => Some(bytes),
            (None, Some(diff)) => {
                // A runtime is called several times, with different environments.
                let own = known.environments.get(&format!("{nth} {name}"));
                own.or_else(|| known.environments.get(&name)).map(|first| patched(first, &diff))
            }
            (None, None) => None,
        };
        let mut meta = Meta::new();
        if let Some(bytes) = file("meta.json") {
            let mut own: Value =
                serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", at.display()))?;
            let like_first = own.get("otherwise_like").is_some();
            // The first call of that name, else the very first call.
            let first = known.metas.get(&name).or(known.metas.get(FIRST)).cloned();
            if let (Some(Value::Object(first)), Some(own), true) = (first, own.as_object_mut(), like_first) {
                for (key, value) in first {
                    own.entry(key).or_insert(value);
                }
            }
            for of in [&name, FIRST] {
                known.metas.entry(of.to_owned()).or_insert_with(|| own.clone());
            }
            meta = scenario::facts(&own);
        }
        recorded |= env.is_some() || !meta.is_empty();
        calls.push(Call {
            label: format!("{number:02}-{name}"),
            start: f64::from(number),
            end: None,
            pid: 0,
            ppid: 0,
            argv,
            exit: None,
            env: env.map(|bytes| scenario::environment(&bytes)),
            stdin: file("stdin"),
            stdout: Vec::new(),
            job_ad: file("job.ad"),
            machine_ad: None,
            meta,
            name,
        });
    }
    Ok((calls, recorded))
}

/// Applies a difference to the first environment of that name.
fn patched(first: &[String], diff: &[u8]) -> Vec<u8> {
    let diff = String::from_utf8_lossy(diff).into_owned();
    let less: Vec<&str> = diff.lines().filter_map(|line| line.strip_prefix('-')).collect();
    let name = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    // Values that contain a pid or a scratch directory are listed without them.
    let gone = |line: &String| less.iter().any(|gone| name(gone) == name(line));
    let mut lines: Vec<String> = first.iter().filter(|line| !gone(line)).cloned().collect();
    lines.extend(diff.lines().filter_map(|line| line.strip_prefix('+')).map(str::to_owned));
    lines.join("\n").into_bytes()
}

/// Returns a row of the table of cases.
fn row<'r>(name: &str, readme: &'r str) -> Option<&'r str> {
    readme.lines().find(|line| line.starts_with(&format!("| {name} |")))
}

/// Returns the instructions for the fake runtime from the table of cases.
fn double(name: &str, readme: &str) -> Option<String> {
    // The instructions are the JSON object in the row.
    let row = row(name, readme)?;
    let text = &row[row.find("{\"")?..];
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok().filter(Value::is_object)?;
    Some(value.to_string())
}

/// Returns DeferralTime relative to the start from the table of cases.
fn deferral(name: &str, readme: &str) -> Option<String> {
    let word = row(name, readme)?.split("DeferralTime = ").nth(1)?.split([' ', ';', '|']).next()?;
    word.to_lowercase().starts_with("now").then(|| word.to_owned())
}

/// Returns an ad whose DeferralTime has the same distance from the current time as in the recording. Waits
/// for the beginning of a second, so that the starter begins in that second.
fn in_time(ad: &[u8], word: &str) -> Vec<u8> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(1010 - u64::from(since.subsec_millis())));
    let now = i64::try_from(since.as_secs() + 1).unwrap_or(0);
    let mut out = Vec::new();
    for line in ad.split_inclusive(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"DeferralTime = ") else {
            out.extend_from_slice(line);
            continue;
        };
        match word.strip_prefix("now").and_then(|offset| offset.parse::<i64>().ok()) {
            Some(offset) => out.extend(format!("DeferralTime = {}\n", now + offset).bytes()),
            None => {
                let at = rest.iter().position(|byte| *byte == b' ').unwrap_or(0);
                out.extend(format!("DeferralTime = {now}").bytes());
                out.extend_from_slice(&rest[at..]);
            }
        }
    }
    out
}

pub fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, files);
        } else if let Ok(bytes) = fs::read(entry.path()) {
            files.push((name, bytes));
        }
    }
}
