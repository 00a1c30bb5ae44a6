//! A recorded scenario: configuration, behaviours, files before the start, the recorder's actions, and calls.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Result;
use super::calls::{Call, Meta};
use super::handed_out;
use super::subject::Subject;

/// A scenario directory.
pub struct Scenario {
    pub directory: PathBuf,
    pub layout: Vec<LayoutEntry>,
    pub calls: Vec<Call>,
    pub actions: Vec<Action>,
    pub cases: Vec<Case>,
    pub timeline: String,
    /// The slot of the jobs that a schedd sent.
    pub machine_ad: Option<Vec<u8>>,
    /// Length of the recording in seconds.
    pub seconds: f64,
}

/// A file or directory that existed before the start.
#[derive(Clone, Debug)]
pub struct LayoutEntry {
    pub path: String,
    pub kind: char,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub link: Option<String>,
}

/// An action of the recorder on the daemons.
#[derive(Clone, Debug)]
pub struct Action {
    pub at: f64,
    pub what: String,
}

/// A direct run of the starter.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// Start time, in seconds since the start of the recording.
    pub start: f64,
    pub argv: Vec<String>,
    pub stdin: Vec<u8>,
    pub stdout: Vec<u8>,
    pub exit: String,
    /// Signals sent to it: seconds since its start, and the name; or a command to a starter that listens at
    /// control/socket: `ask` with its arguments.
    pub signals: Vec<(f64, String)>,
    /// The program that was running when the first signal came; the replay waits for it, because this machine
    /// may be slower.
    pub awaited: Option<String>,
    /// The log of a job that a schedd sent.
    pub log: Option<String>,
    /// Variables in addition to the usual ones.
    pub environment: Vec<(String, String)>,
}

impl Scenario {
    /// Reads a scenario; a directory without a configuration is an error.
    pub fn read(directory: &Path) -> Result<Self> {
        let timeline = text(&directory.join("timeline.txt"))?;
        let actions: Vec<Action> = timeline
            .lines()
            .filter_map(|line| {
                let (at, rest) = line.trim_start().strip_prefix('+')?.split_once(' ')?;
                let what = rest.trim_start().strip_prefix("harness")?.trim_start();
                Some(Action { at: at.parse().ok()?, what: what.to_owned() })
            })
            .collect();
        let seconds = actions.last().map_or(30.0, |action| action.at);
        let mut scenario = Scenario {
            // Without a listing, the files are known only from the configuration.
            layout: layout(&text(&directory.join("layout.txt")).unwrap_or_default()),
            calls: calls(&directory.join("hooks"))?,
            cases: cases(&directory.join("cases"), &actions)?,
            directory: directory.to_owned(),
            actions,
            timeline,
            machine_ad: None,
            seconds,
        };
        if handed_out::is_one(&scenario) {
            handed_out::read(&mut scenario);
        }
        Ok(scenario)
    }

    /// Returns the time of the execution point's first state change, in seconds since the start of the
    /// recording.
    pub fn begun(&self) -> f64 {
        let line =
            self.timeline.lines().find(|line| line.contains(" startd ") && line.contains("Changing state"));
        let at = line.and_then(|line| line.trim_start().strip_prefix('+')?.split(' ').next()?.parse().ok());
        at.unwrap_or(1.25)
    }

    /// Returns the title.
    pub fn title(&self) -> String {
        Subject::of(&self.directory).title().to_owned()
    }

    /// Returns the reason why the scenario cannot be replayed with the two runners, if any.
    pub fn not_ours(&self) -> Option<String> {
        let edits = self.actions.iter().map(|action| action.what.as_str());
        let mut edits = edits.filter(|what| what.starts_with("condor_config: "));
        if edits.any(|what| super::edits::added(&self.title(), what).is_none()) {
            return Some(
                "its configuration was edited while it ran; the edits are not in the recording".to_owned(),
            );
        }
        None
    }

    /// Returns the ordinary account of the daemons, or `None` if they ran as root: the owner of LOCAL_DIR.
    pub fn daemon_uid(&self) -> Option<u32> {
        let top = self.layout.iter().find(|entry| entry.path.is_empty())?;
        (top.uid != 0).then_some(top.uid)
    }

    /// Returns the environment in which the daemons were started, as far as a startd hook shows it.
    pub fn daemon_environment(&self) -> Vec<(String, String)> {
        let recorded = self.calls.iter().find_map(|call| call.env.as_ref().filter(|_| !call.is_job()));
        let expected = ["HOME", "LOGNAME", "PATH", "USER"];
        let mut environment: Vec<(String, String)> = recorded
            .into_iter()
            .flatten()
            .filter(|(name, _)| expected.contains(&name.as_str()))
            .cloned()
            .collect();
        // A starter hook shows the home directory of the job's account, not that of the daemon.
        let of_startd =
            self.calls.first().is_some_and(|call| call.kind() == "FETCH_WORK" && call.env.is_some());
        if !of_startd {
            environment.retain(|(name, _)| name != "HOME");
            environment.push(("HOME".to_owned(), "/root".to_owned()));
        }
        if !environment.iter().any(|(name, _)| name == "PATH") {
            let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
            environment.push(("PATH".to_owned(), path.to_owned()));
        }
        environment
    }
}

pub fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses `ls -lAnR` without times.
pub fn layout(text: &str) -> Vec<LayoutEntry> {
    let mut directory = String::new();
    let mut entries = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|_| !line.starts_with(['-', 'd', 'l'])) {
            directory = format!("{name}/");
            continue;
        }
        let Some(kind) = line.chars().next().filter(|kind| "-dlps".contains(*kind)) else { continue };
        let mut fields = line.split_whitespace();
        let mode = fields.next().map_or(0o755, mode_of);
        let mut number = || fields.next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let (_links, uid, gid, size) = (number(), number(), number(), number());
        let rest = name_in(line).to_owned();
        let (name, link) = match rest.split_once(" -> ") {
            Some((name, link)) => (name.to_owned(), Some(link.to_owned())),
            None => (rest, None),
        };
        let path = if name == "." { String::new() } else { format!("{directory}{name}") };
        entries.push(LayoutEntry { path, kind, mode, uid: uid as u32, gid: gid as u32, size, link });
    }
    entries
}

/// Returns the name in a line of `ls -lAn` without times, including blanks at its ends; two blanks precede
/// it.
fn name_in(line: &str) -> &str {
    const COLUMNS: usize = 5;
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_start_matches(' ').trim_start_matches(|c: char| !c.is_whitespace());
    }
    rest.strip_prefix("  ").unwrap_or(rest.trim_start())
}

fn mode_of(text: &str) -> u32 {
    let mut mode = 0;
    for (index, letter) in text.bytes().skip(1).take(9).enumerate() {
        let bit = 0o400 >> index;
        match letter {
            b'-' => {}
            b's' => mode |= bit | if index == 2 { 0o4000 } else { 0o2000 },
            b'S' => mode |= if index == 2 { 0o4000 } else { 0o2000 },
            b't' => mode |= bit | 0o1000,
            b'T' => mode |= 0o1000,
            _ => mode |= bit,
        }
    }
    mode
}

/// Reads hooks/NNN-NAME-PID in order, and resolves references of a record to an earlier one.
fn calls(directory: &Path) -> Result<Vec<Call>> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut metas: HashMap<u64, Value> = HashMap::new();
    let mut inputs: HashMap<String, Vec<u8>> = HashMap::new();
    let mut calls = Vec::new();
    for name in names {
        let record = directory.join(&name);
        let number: u64 = name.split('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let mut meta: Value = serde_json::from_str(&text(&record.join("meta.json"))?)
            .map_err(|error| format!("{}/meta.json: {error}", record.display()))?;
        if let Some(base) = meta.get("otherwise_like").and_then(Value::as_u64)
            && let Some(base) = metas.get(&base).and_then(Value::as_object).cloned()
            && let Some(own) = meta.as_object_mut()
        {
            for (key, value) in base {
                own.entry(key).or_insert(value);
            }
        }
        metas.insert(number, meta.clone());
        let stdin = stdin_of(&record, &inputs)?;
        if let Some(stdin) = &stdin {
            inputs.insert(name.clone(), stdin.clone());
        }
        let optional = |file: &str| fs::read(record.join(file)).ok();
        calls.push(Call {
            label: name.clone(),
            name: meta.get("hook").and_then(Value::as_str).unwrap_or_default().to_owned(),
            start: meta.get("start_s").and_then(Value::as_f64).unwrap_or(0.0),
            end: meta.get("end_s").and_then(Value::as_f64),
            pid: meta.get("pid").and_then(Value::as_i64).unwrap_or(0),
            ppid: meta.get("ppid").and_then(Value::as_i64).unwrap_or(0),
            argv: strings(&meta, "argv"),
            exit: meta.get("exit").and_then(Value::as_str).map(str::to_owned),
            env: optional("env").map(|bytes| environment(&bytes)),
            stdout: optional("stdout").unwrap_or_default(),
            job_ad: optional("job.ad"),
            machine_ad: optional("machine.ad"),
            meta: facts(&meta),
            stdin,
        });
    }
    Ok(calls)
}

fn stdin_of(record: &Path, inputs: &HashMap<String, Vec<u8>>) -> Result<Option<Vec<u8>>> {
    if let Ok(bytes) = fs::read(record.join("stdin")) {
        let cut = bytes.windows(5).any(|window| window == b"\n@@ s" || window == b"\n@@ c");
        return Ok((!cut).then_some(bytes));
    }
    let Ok(diff) = fs::read(record.join("stdin.diff")) else { return Ok(None) };
    let diff = String::from_utf8_lossy(&diff).into_owned();
    let base = diff
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("--- ../"))
        .and_then(|line| line.split('/').next())
        .and_then(|base| inputs.get(base));
    let Some(base) = base else { return Ok(None) };
    apply(&String::from_utf8_lossy(base), &diff)
        .map(|text| Some(text.into_bytes()))
        .map_err(|reason| format!("{}/stdin.diff: {reason}", record.display()))
}

/// Applies a unified diff, with or without lines of context.
fn apply(base: &str, diff: &str) -> Result<String> {
    let lines: Vec<&str> = base.lines().collect();
    let mut out: Vec<&str> = Vec::new();
    let mut at = 0;
    for line in diff.lines().skip(2) {
        if let Some(range) = line.strip_prefix("@@ -") {
            let old = range.split(' ').next().unwrap_or_default();
            let (start, count) = old.split_once(',').unwrap_or((old, "1"));
            let start: usize = start.parse().map_err(|_| format!("bad hunk {line:?}"))?;
            // A hunk that removes nothing names the line before it.
            let from = if count == "0" { start } else { start.saturating_sub(1) };
            let from = from.min(lines.len());
            if from > at {
                out.extend(&lines[at..from]);
                at = from;
            }
        } else if let Some(added) = line.strip_prefix('+') {
            out.push(added);
        } else if let Some(removed) = line.strip_prefix('-') {
            if lines.get(at) != Some(&removed) {
                return Err(format!("line {} is not {removed:?}", at + 1));
            }
            at += 1;
        } else if line.starts_with(' ') {
            out.extend(lines.get(at));
            at += 1;
        }
    }
    out.extend(&lines[at.min(lines.len())..]);
    Ok(out.join("\n") + "\n")
}

/// Parses `NAME=value` lines; a line without a name and `=` continues the value before.
pub fn environment(bytes: &[u8]) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        match line.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                out.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                if let Some(last) = out.last_mut() {
                    last.1 += "\n";
                    last.1 += line;
                }
            }
        }
    }
    out
}

fn strings(meta: &Value, key: &str) -> Vec<String> {
    let list = meta.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the facts about a call that are compared individually.
pub fn facts(meta: &Value) -> Meta {
    let mut facts = Meta::new();
    for key in ["umask", "cwd", "pgid", "sid", "rlimit_core", "rlimit_stack", "rlimit_as", "rlimit_cpu"] {
        if let Some(value) = meta.get(key) {
            facts.insert(key.to_owned(), plain(value));
        }
    }
    for key in ["uid", "gid", "groups", "SigBlk", "SigIgn"] {
        if let Some(value) = meta.get(key) {
            facts.insert(key.to_owned(), plain(value));
        }
    }
    for fd in meta.get("fds").and_then(Value::as_array).into_iter().flatten() {
        let (Some(number), Some(target)) = (fd.get("fd").and_then(Value::as_u64), fd.get("target")) else {
            continue;
        };
        if number <= 2 {
            let flags = fd.get("flags").map(plain).unwrap_or_default();
            facts.insert(format!("fd {number}"), format!("{flags} {}", plain(target)));
        }
    }
    for number in 0..=2 {
        facts.entry(format!("fd {number}")).or_insert("closed".to_owned());
    }
    facts
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the name of the job's program if the recording has calls of it.
fn recorded_job_program(job: &[u8], cases: &Path) -> Option<String> {
    let job = String::from_utf8_lossy(job);
    let path = job.lines().find_map(|line| line.strip_prefix("Cmd = \"")?.strip_suffix('"'))?;
    let name = path.rsplit('/').next()?.to_owned();
    let calls = fs::read_dir(cases.parent()?.join("hooks")).ok()?;
    let is_called =
        calls.flatten().any(|call| call.file_name().to_string_lossy().contains(&format!("-{name}-")));
    is_called.then_some(name)
}

fn cases(directory: &Path, actions: &[Action]) -> Result<Vec<Case>> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let order =
        |name: &str| actions.iter().position(|action| action.what.starts_with(&format!("case {name}:")));
    names.sort_by_key(|name| order(name).unwrap_or(usize::MAX));
    let mut cases = Vec::new();
    for name in names {
        let path = directory.join(&name);
        let argv = text(&path.join("argv.json"))?;
        let argv: Vec<String> =
            serde_json::from_str(&argv).map_err(|error| format!("{}/argv.json: {error}", path.display()))?;
        let start = order(&name).and_then(|index| actions.get(index)).map_or(0.0, |action| action.at);
        let lead = format!("case {name}: SIG");
        let signals: Vec<(f64, String)> = actions
            .iter()
            .filter_map(|action| {
                let signal = action.what.strip_prefix(&lead)?.split(' ').next()?;
                Some((action.at - start, format!("SIG{signal}")))
            })
            .collect();
        let stdin = fs::read(path.join("stdin")).unwrap_or_default();
        // A signal sent while the recorded job ran is sent to a running job here too, however late it starts.
        let awaited = recorded_job_program(&stdin, directory).filter(|_| !signals.is_empty());
        cases.push(Case {
            argv,
            stdin,
            stdout: fs::read(path.join("stdout")).unwrap_or_default(),
            exit: text(&path.join("exit"))?.trim().to_owned(),
            environment: fs::read_to_string(path.join("env.extra"))
                .unwrap_or_default()
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            signals,
            awaited,
            log: None,
            start,
            name,
        });
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_without_context_is_applied_where_it_says() {
        let base = "a\nb\nc\n";
        let diff = "--- x\n+++ y\n@@ -0,0 +1 @@\n+first\n@@ -2 +3 @@\n-b\n+B\n@@ -3,0 +5 @@\n+last\n";
        assert_eq!(apply(base, diff).unwrap(), "first\na\nB\nc\nlast\n");
    }

    #[test]
    fn a_layout_line_gives_mode_owner_and_link() {
        let entries = layout("hook.d:\n-rwxrwsr-t 1 64 65 23  a b\nlrwxrwxrwx 1 0 0 5  l -> to\n");
        assert_eq!((entries[0].path.as_str(), entries[0].mode, entries[0].gid), ("hook.d/a b", 0o3775, 65));
        assert_eq!(entries[1].link.as_deref(), Some("to"));
    }

    #[test]
    fn names_that_are_blanks_keep_them() {
        let entries = layout("-rw-r--r-- 1 1501 1501   10  \t\n-rw-r--r-- 1 1501 1501   69   \n");
        assert_eq!([entries[0].path.as_str(), entries[1].path.as_str()], ["\t", " "]);
    }
}
