//! Recorded calls: one directory per call, with `meta.json` and the raw bytes of `env`, `stdin`, `stdout` and
//! `stderr`.
//!
//! Two formats can be read. The format of this program and of recorded execution points has a `meta.json` with hook,
//! argv and exit. The format of recorded job routers has `argv.json`, `env.json` and `exit`. A record may refer to an
//! earlier record for equal keys (`otherwise_like`), and its input may be stored as the difference from an earlier
//! input (`stdin.diff`).

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice, ByteVec};
use serde_json::{Map, Value, json};

use super::call::{CallEnding, CallOutcome};
use super::case::{Case, CaseRoute};
use htc_base::process::Exit;
use htc_hook::HookType;
use htc_runner::events::describe_exit;

/// Recorded hook call.
#[derive(Clone, Debug, Default)]
pub struct CallRecord {
    /// For a record that was read, the name of its directory; for a record to be written, the name of the hook.
    pub name: String,
    /// Hook type, or `None` if it is unknown.
    pub hook: Option<HookType>,
    /// Path and arguments of the hook.
    pub argv: Vec<BString>,
    /// Environment of the hook as `NAME=value`.
    pub env: Vec<BString>,
    /// Standard input of the hook; empty if it is unknown.
    pub stdin: Vec<u8>,
    /// True if the whole standard input is known.
    pub has_input: bool,
    /// Standard output of the hook.
    pub stdout: Vec<u8>,
    /// True if the whole standard output is known.
    pub has_output: bool,
    /// Standard error of the hook.
    pub stderr: Vec<u8>,
    /// Exit status, or `None` if the hook did not end or its status is unknown.
    pub exit: Option<Exit>,
    /// Reason why the hook was refused or could not be started, or `None` if it was started.
    pub never_began: Option<CallEnding>,
    /// Duration of the call in seconds.
    pub seconds: f64,
    /// Name of the parent process, such as condor_startd, or `None` if it is unknown.
    pub parent: Option<String>,
    /// Hook keyword, or `None` if it is not recorded.
    pub keyword: Option<BString>,
    /// True if the starter had a shadow, or `None` if that is not recorded.
    pub with_shadow: Option<bool>,
    /// Route, or `None` if it is not recorded.
    pub route: Option<CaseRoute>,
    /// Start time of the call in seconds since the epoch, or `None` for a record that was read.
    pub began: Option<f64>,
    /// Facts about the process ([`describe_process`](super::describe_process)); empty for a record that was read.
    pub facts: serde_json::Map<String, Value>,
}

impl CallRecord {
    /// Adds the inputs of the case that are not part of the hook's standard input.
    pub fn add_case(&mut self, case: &Case) {
        self.keyword = (!case.keyword.is_empty()).then(|| case.keyword.clone());
        self.with_shadow = Some(case.with_shadow);
        self.route = (case.hook == HookType::TranslateJob).then(|| case.route.clone());
    }

    /// Adds the outcome of the call.
    pub fn add_outcome(&mut self, outcome: &CallOutcome) {
        self.has_input = true;
        self.has_output = true;
        self.seconds = outcome.took.as_secs_f64();
        match &outcome.ending {
            CallEnding::Ran(ended) => {
                self.exit = ended.exit;
                self.stdout = ended.stdout.clone();
                self.stderr = ended.stderr.clone();
            }
            other => self.never_began = Some(other.clone()),
        }
    }

    /// Writes the record to a new directory `NNN-NAME-PID` below `directory`, where `NNN` is the next free number.
    /// Several processes may write records at the same time. Only this account can read the record, because ads and
    /// environments contain secrets such as claim ids. The values of `CONDOR_PRIVATE_...` are not written.
    ///
    /// # Errors
    /// Returns errors of the file system.
    pub fn write_below(&self, directory: &Path) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let taken = fs::read_dir(directory)?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.split('-').next()?.parse::<u32>().ok())
            .max();
        let mut number = taken.map_or(1, |number| number + 1);
        let place = loop {
            let place = directory.join(format!("{number:03}-{}-{}", self.name, std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&place) {
                Ok(()) => break place,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        let write = |name: &str, bytes: &[u8]| {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o600).open(place.join(name))?.write_all(bytes)
        };
        let env: Vec<BString> = self.env.iter().map(redact_secret).collect();
        write("env", &bstr::join("\n", &env))?;
        write("stdin", &self.stdin)?;
        write("stdout", &self.stdout)?;
        write("stderr", &self.stderr)?;
        write("meta.json", format!("{:#}\n", self.metadata()).as_bytes())?;
        Ok(place)
    }

    fn metadata(&self) -> Value {
        let argv: Vec<String> = self.argv.iter().map(|word| word.to_str_lossy().into_owned()).collect();
        let never_began = match &self.never_began {
            Some(CallEnding::NotStarted { reason, interpreter, .. }) => {
                json!({ "not_started": reason, "interpreter": interpreter })
            }
            Some(CallEnding::Refused { reason }) => json!({ "refused": reason }),
            Some(CallEnding::Ran(_)) | None => Value::Null,
        };
        let route = self.route.as_ref().map(|route| {
            json!({
                "name": route.name.to_str_lossy(),
                "grid_resource": route.grid_resource.to_str_lossy(),
                "universe": route.universe,
                "edit_in_place": route.edit_in_place,
            })
        });
        let mut all = json!({
            "hook": self.name,
            "keyword": self.keyword.as_ref().map(|keyword| keyword.to_str_lossy()),
            "with_shadow": self.with_shadow,
            "route": route,
            "never_began": never_began,
            "type": self.hook.map(HookType::word),
            "argv": argv,
            "exit": self.exit.map(describe_exit),
            "pid": std::process::id(),
            "stdin_bytes": self.stdin.len(),
            "stdout_forwarded": self.stdout.len(),
            "stderr_forwarded": self.stderr.len(),
            "seconds": self.seconds,
        });
        if let Value::Object(all) = &mut all {
            all.extend(self.facts.clone());
            all.extend(self.parent.iter().map(|parent| ("parent".to_owned(), json!(parent))));
            if let Some(began) = self.began {
                all.insert("start_s".to_owned(), json!(began));
                all.insert("end_s".to_owned(), json!(began + self.seconds));
            }
        }
        all
    }
}

/// Reads all records of hooks in a directory, sorted by name. Records of jobs are skipped.
///
/// # Errors
/// The directory or a record's `meta.json` cannot be read, or a record has an invalid duration.
pub fn read_records(directory: &Path) -> io::Result<Vec<CallRecord>> {
    let hooks = directory.join("hooks");
    let directory = if hooks.is_dir() { hooks } else { directory.to_owned() };
    let mut names: Vec<String> = fs::read_dir(&directory)?
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut reader = RecordReader::default();
    let mut records = Vec::new();
    for name in names {
        if let Some(record) = reader.read_record(&directory.join(&name), &name)? {
            records.push(record);
        }
    }
    Ok(records)
}

/// Reader of records; keeps the records that were read, because later records may refer to them.
#[derive(Default)]
struct RecordReader {
    metas: HashMap<u64, Map<String, Value>>,
    inputs: HashMap<String, Vec<u8>>,
}

impl RecordReader {
    fn read_record(&mut self, path: &Path, name: &str) -> io::Result<Option<CallRecord>> {
        let meta = path.join("meta.json");
        if !["meta.json", "argv.json", "exit"].iter().any(|file| path.join(file).exists()) {
            return Ok(None);
        }
        let mut meta = if meta.exists() { read_json_object(&meta)? } else { Map::new() };
        let number: u64 = name.split('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        if let Some(base) = meta.get("otherwise_like").and_then(Value::as_u64)
            && let Some(base) = self.metas.get(&base)
        {
            for (key, value) in base.clone() {
                meta.entry(key).or_insert(value);
            }
        }
        self.metas.insert(number, meta.clone());
        let optional = |file: &str| fs::read(path.join(file)).ok();
        let argv = match (meta.get("argv"), optional("argv.json")) {
            (Some(argv), _) => json_strings(argv),
            (None, Some(text)) => json_strings(&serde_json::from_slice(&text).map_err(io::Error::from)?),
            (None, None) => Vec::new(),
        };
        let stdin = self.read_input(path);
        if let Some(stdin) = &stdin {
            self.inputs.insert(name.to_owned(), stdin.clone());
        }
        let exit_text = match meta.get("exit") {
            Some(exit) => exit.as_str().map(str::to_owned),
            None => optional("exit").map(|text| text.to_str_lossy().into_owned()),
        };
        let RecordedProgram::Hook(hook) = recorded_program(&meta, name, &argv) else { return Ok(None) };
        let number = |key: &str| meta.get(key).and_then(Value::as_f64);
        let text = |key: &str| meta.get(key).and_then(Value::as_str);
        let seconds = match (number("start_s"), number("end_s")) {
            (Some(start), Some(end)) => end - start,
            _ => number("seconds").or_else(|| parse_duration(exit_text.as_deref()?)).unwrap_or(0.0),
        };
        if Duration::try_from_secs_f64(seconds.max(0.0)).is_err() {
            let message = format!("{}: {seconds:e} seconds is not a valid duration", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let stdout = optional("stdout").unwrap_or_default();
        Ok(Some(CallRecord {
            name: name.to_owned(),
            hook,
            argv,
            env: optional("env").map(parse_environment).unwrap_or_default(),
            has_input: stdin.is_some(),
            stdin: stdin.unwrap_or_default(),
            has_output: is_complete(&stdout),
            stdout,
            stderr: optional("stderr").unwrap_or_default(),
            exit: exit_text.as_deref().and_then(parse_exit),
            seconds,
            parent: text("parent").map(str::to_owned),
            keyword: text("keyword").map(BString::from),
            with_shadow: meta.get("with_shadow").and_then(Value::as_bool),
            route: meta.get("route").and_then(parse_route),
            never_began: meta.get("never_began").and_then(parse_start_failure),
            began: None,
            facts: serde_json::Map::new(),
        }))
    }

    /// Reads the input of a record, which may be stored as a difference. Returns `None` if the input was shortened by
    /// the recorder or is missing.
    fn read_input(&self, path: &Path) -> Option<Vec<u8>> {
        if let Ok(bytes) = fs::read(path.join("stdin")) {
            return is_complete(&bytes).then_some(bytes);
        }
        let diff = fs::read(path.join("stdin.diff")).ok()?;
        let first = diff.lines().next()?;
        let base = first.strip_prefix(b"--- ../")?.split_str("/").next()?.to_str().ok()?;
        apply_diff(self.inputs.get(base)?, &diff)
    }
}

/// Returns true if the recorder has not shortened a stored text.
fn is_complete(text: &[u8]) -> bool {
    !text.contains_str("\n@@ shortened") && !text.contains_str("\n@@ cut here")
}

/// Applies a unified diff to `base`. Returns `None` if the diff does not match.
fn apply_diff(base: &[u8], diff: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = base.lines().collect();
    let mut out: Vec<&[u8]> = Vec::new();
    let mut at = 0;
    for line in diff.lines().skip(2) {
        match line.first() {
            Some(b'@') => {
                let old = line.strip_prefix(b"@@ -")?.split_str(" ").next()?.to_str().ok()?;
                let (start, count) = old.split_once(',').unwrap_or((old, "1"));
                let start: usize = start.parse().ok()?;
                // If a hunk removes no line, its start is the number of the line before it.
                let from = if count == "0" { start } else { start.saturating_sub(1) }.min(lines.len());
                out.extend(lines.get(at..from).unwrap_or_default());
                at = at.max(from);
            }
            Some(b'+') => out.push(&line[1..]),
            Some(b'-') => {
                if lines.get(at) != Some(&&line[1..]) {
                    return None;
                }
                at += 1;
            }
            Some(b' ') => {
                out.extend(lines.get(at));
                at += 1;
            }
            _ => {}
        }
    }
    out.extend(lines.get(at..).unwrap_or_default());
    let mut text = bstr::join("\n", out);
    text.push(b'\n');
    Some(text)
}

fn read_json_object(path: &Path) -> io::Result<Map<String, Value>> {
    let text = fs::read(path)?;
    match serde_json::from_slice(&text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{}: no object", path.display()))),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))),
    }
}

fn json_strings(list: &Value) -> Vec<BString> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(BString::from).collect()
}

/// Replaces the value of a variable if it contains keys and addresses that a daemon passes to its child processes.
fn redact_secret(entry: &BString) -> BString {
    match entry.split_once_str("=") {
        Some((name, _)) if name.starts_with(b"CONDOR_PRIVATE_") => [name, b"=(not kept)"].concat().into(),
        _ => entry.clone(),
    }
}

/// Parses the reason why a hook was not started, in the form written by [`CallRecord::write_below`].
fn parse_start_failure(stored: &Value) -> Option<CallEnding> {
    let text = |key: &str| stored.get(key).and_then(Value::as_str).map(str::to_owned);
    let not_started = text("not_started");
    not_started
        .map(|reason| CallEnding::NotStarted { reason, interpreter: text("interpreter"), errno: None })
        .or_else(|| Some(CallEnding::Refused { reason: text("refused")? }))
}

/// Parses the route of a call, in the form written by [`CallRecord::write_below`].
fn parse_route(stored: &Value) -> Option<CaseRoute> {
    let text = |key: &str| stored.get(key).and_then(Value::as_str).map(BString::from);
    Some(CaseRoute {
        name: text("name")?,
        grid_resource: text("grid_resource").unwrap_or_default(),
        universe: stored.get("universe").and_then(Value::as_i64)?,
        edit_in_place: stored.get("edit_in_place").and_then(Value::as_bool).unwrap_or_default(),
    })
}

/// Parses `NAME=value` lines; a line without a name belongs to the value before it.
fn parse_environment(bytes: Vec<u8>) -> Vec<BString> {
    let mut out: Vec<BString> = Vec::new();
    for line in bytes.lines() {
        let begins =
            line.split_once_str("=").is_some_and(|(name, _)| !name.is_empty() && !name.contains(&b' '));
        match out.last_mut() {
            Some(last) if !begins => {
                last.push_byte(b'\n');
                last.push_str(line);
            }
            _ => out.push(line.into()),
        }
    }
    out
}

/// Parses an exit status such as `exited 3`, `signalled 9` or `signal 9 after 0.03 s`.
fn parse_exit(text: &str) -> Option<Exit> {
    let mut words = text.split_whitespace();
    let (word, number) = (words.next()?, words.next()?);
    match word {
        "exited" => Some(Exit::Code(number.parse().ok()?)),
        "signalled" | "signal" => Some(Exit::Signal { number: number.parse().ok()?, core_dumped: false }),
        _ => None,
    }
}

/// Returns the duration in seconds from a text such as `exited 0 after 0.12 s`, or `None`.
fn parse_duration(text: &str) -> Option<f64> {
    text.split_once(" after ")?.1.split_whitespace().next()?.parse().ok()
}

/// Words in the names of router hooks, each with the hook type that it indicates.
const ROUTER_HOOK_WORDS: [(&str, HookType); 5] = [
    ("TRANSLATE", HookType::TranslateJob),
    ("UPDATE_JOB_INFO", HookType::RouterUpdateJobInfo),
    ("FINALIZE", HookType::JobFinalize),
    ("JOB_EXIT", HookType::JobFinalize),
    ("CLEANUP", HookType::JobCleanup),
];

/// Program that a record is about.
enum RecordedProgram {
    /// A hook, with its type if that is known.
    Hook(Option<HookType>),
    /// A job.
    Job,
}

/// Returns the program that a record is about.
fn recorded_program(meta: &Map<String, Value>, name: &str, argv: &[BString]) -> RecordedProgram {
    if let Some(stored) = meta.get("type") {
        let stored = stored.as_str().map(|word| HookType::from_name(word.as_bytes()));
        let file = argv.first().and_then(|path| path.rsplit_str("/").next()).unwrap_or_default();
        return RecordedProgram::Hook(stored.unwrap_or_else(|| HookType::guess_from_file_name(file)));
    }
    let hook = meta.get("hook").and_then(Value::as_str).unwrap_or(name);
    if argv.first().is_some_and(|path| path.contains_str("/job.d/")) && !hook.contains("_HOOK_") {
        return RecordedProgram::Job;
    }
    if let Some((_, kind)) = hook.rsplit_once("_HOOK_") {
        return RecordedProgram::Hook(HookType::from_name(kind.as_bytes()));
    }
    let file = argv.first().and_then(|path| path.rsplit_str("/").next()?.to_str().ok()).unwrap_or_default();
    let router =
        |text: &str| ROUTER_HOOK_WORDS.iter().find(|(word, _)| text.contains(word)).map(|(_, hook)| *hook);
    let by_word = || match argv.get(1).map(|word| word.as_slice()) {
        Some(b"accept" | b"reject") => Some(HookType::ReplyFetch),
        Some(b"exit" | b"evict" | b"remove" | b"hold") => Some(HookType::JobExit),
        _ => None,
    };
    RecordedProgram::Hook(router(file).or_else(|| router(hook)).or_else(by_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let record = CallRecord {
            name: "PREPARE_JOB".into(),
            hook: Some(HookType::PrepareJob),
            argv: vec!["/h".into(), "two words".into()],
            env: vec!["A=1\nrest".into(), "CONDOR_PRIVATE_INHERIT=SessionKey:secret".into()],
            stdin: b"A = 1\n".to_vec(),
            stdout: b"\xff".to_vec(),
            exit: Some(Exit::Signal { number: 9, core_dumped: false }),
            seconds: 0.25,
            ..CallRecord::default()
        };
        record.write_below(home.path()).unwrap();
        let place = record.write_below(home.path()).unwrap();
        for path in ["", "env", "stdin", "meta.json"].map(|name| place.join(name)) {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
        }
        assert_eq!(
            fs::read_to_string(place.join("env")).unwrap(),
            "A=1\nrest\nCONDOR_PRIVATE_INHERIT=(not kept)"
        );
        let read = read_records(home.path()).unwrap();
        assert_eq!(read.len(), 2);
        let again = &read[1];
        assert!(again.name.starts_with("002-PREPARE_JOB-"));
        assert_eq!((again.hook, &again.argv, &again.env[..1]), (record.hook, &record.argv, &record.env[..1]));
        assert_eq!((&again.stdin, &again.stdout, again.exit), (&record.stdin, &record.stdout, record.exit));
    }

    #[test]
    fn exits_in_both_dialects_are_parsed() {
        assert_eq!(parse_exit("exited 3"), Some(Exit::Code(3)));
        assert_eq!(parse_exit("signal 9 after 0.03 s"), Some(Exit::Signal { number: 9, core_dumped: false }));
        assert_eq!(parse_duration("exited 0 after 0.12 s"), Some(0.12));
    }
}
