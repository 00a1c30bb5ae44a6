//! Cases that run a program under the name of a condor tool, each in an empty directory.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{Case, Disagreement, Result, Text, Verdict, workers};

/// The tool that recorded a kind of cases.
#[derive(Clone, Copy, Debug)]
struct Tool {
    name: &'static str,
    /// True if messages on standard error are compared too.
    messages: bool,
}

/// Reads a case of `classad_eval`.
pub fn classad_eval(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    read(line, program, Tool { name: "classad_eval", messages: false })
}

/// Reads a case of `condor_q -jobads`.
pub fn output(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    read(line, program, Tool { name: "condor_q", messages: false })
}

/// Reads a case of the tables and analyses of `condor_q -jobads`.
pub fn condor_q(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    read(line, program, Tool { name: "condor_q", messages: false })
}

/// Reads a case of `condor_config_val`.
pub fn config(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    read(line, program, Tool { name: "condor_config_val", messages: true })
}

/// Reads a case of `condor_transform_ads`.
pub fn transform(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    read(line, program, Tool { name: "condor_transform_ads", messages: false })
}

/// Reads a case of `condor_job_router_info`, or of `condor_router_history`, which has a spool.
pub fn router(line: &str, program: &Path) -> Result<Box<dyn Case>> {
    let mut record: Record = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let Some(spool) = record.spool.take() else {
        return read(line, program, Tool { name: "condor_job_router_info", messages: false });
    };
    record.files.0.extend(spool.0.into_iter().map(|(name, text)| (format!("spool/{name}"), text)));
    record.files.0.push(("spool/.keep".to_owned(), Text(Vec::new())));
    record.config = Some(Text(b"SPOOL = @DIR@/spool\nLOCAL_DIR = @DIR@\n".to_vec()));
    if let Some(now) = record.now {
        record.env.0.push(("HTC_NOW".to_owned(), Text(now.to_string().into_bytes())));
    }
    let tool = Tool { name: "condor_router_history", messages: true };
    Ok(Box::new(ProgramCase { record, tool, program: program.with_file_name("htc-router-status") }))
}

fn read(line: &str, program: &Path, tool: Tool) -> Result<Box<dyn Case>> {
    let record: Record = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(Box::new(ProgramCase { record, tool, program: program.to_owned() }))
}

/// A record of a golden file. `@DIR@` is the case's directory, `@PROG@` the name under which the tool was
/// called.
#[derive(Debug, Deserialize)]
struct Record {
    id: String,
    /// Options that the case is about.
    #[serde(default)]
    group: String,
    argv: Vec<Text>,
    #[serde(default)]
    files: Pairs,
    /// Further files with separate fields.
    rules: Option<Text>,
    ads: Option<Text>,
    config: Option<Text>,
    #[serde(default)]
    env: Pairs,
    #[serde(default)]
    stdin: Option<Text>,
    stdout: Text,
    #[serde(default)]
    stderr: Text,
    #[serde(default)]
    status: i32,
    /// Files that the tool wrote.
    #[serde(default)]
    made: Pairs,
    /// The reference crashed: our program must end with a clear message and a status other than 0.
    #[serde(default)]
    crash: bool,
    #[serde(default)]
    check: Check,
    /// Files of the spool directory of `condor_router_history`.
    spool: Option<Pairs>,
    /// Time of the run, in seconds since the epoch.
    now: Option<i64>,
}

/// A check of the output other than equality.
#[derive(Debug, Default, Deserialize)]
struct Check {
    /// Random functions: standard output, trimmed, must be one of these.
    #[serde(default)]
    one_of: Vec<String>,
}

/// An object's members in their order: a later environment variable overrides an earlier one.
#[derive(Debug, Default)]
struct Pairs(Vec<(String, Text)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Pairs;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
            fn visit_unit<E>(self) -> std::result::Result<Pairs, E> {
                Ok(Pairs::default())
            }
        }
        from.deserialize_any(Members)
    }
}

struct ProgramCase {
    record: Record,
    tool: Tool,
    program: PathBuf,
}

/// Directory of a case, and the link through which the program is called.
struct Place {
    directory: tempfile::TempDir,
    /// Keeps the link's directory alive. It differs from the directory of the case, so that the program finds
    /// no files in it.
    links: tempfile::TempDir,
    link: PathBuf,
    program: PathBuf,
    /// Standard input; a file without a name.
    stdin: File,
}

thread_local! {
    /// The directory of this thread's previous case, emptied: creating and removing one takes as long as many
    /// programs.
    static EMPTY: Cell<Option<Place>> = const { Cell::new(None) };
}

impl Place {
    /// Returns an empty directory in which the program has that name.
    fn take(program: &Path, tool: &str) -> std::io::Result<Self> {
        let mut place = match EMPTY.take() {
            Some(place) => place,
            None => Self {
                directory: tempfile::tempdir()?,
                links: tempfile::tempdir()?,
                link: PathBuf::new(),
                program: PathBuf::new(),
                stdin: tempfile::tempfile()?,
            },
        };
        if place.program != program || !place.link.ends_with(tool) {
            if place.link.is_symlink() {
                fs::remove_file(&place.link)?;
            }
            place.link = place.links.path().join(tool);
            symlink(program.canonicalize()?, &place.link)?;
            place.program = program.to_owned();
        }
        Ok(place)
    }

    /// Returns the directory for the next case. One that cannot be emptied, or is still in use, is not used
    /// again.
    fn give_back(self) -> std::io::Result<()> {
        for entry in fs::read_dir(self.directory.path())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        self.stdin.set_len(0)?;
        EMPTY.set(Some(self));
        Ok(())
    }

    fn insert(&self, text: &[u8]) -> Vec<u8> {
        let text = replace(text, b"@DIR@", self.directory.path().as_os_str().as_encoded_bytes());
        replace(&text, b"@PROG@", self.link.as_os_str().as_encoded_bytes())
    }

    fn remove(&self, text: &[u8]) -> Vec<u8> {
        let text = replace(text, self.directory.path().as_os_str().as_encoded_bytes(), b"@DIR@");
        replace(&text, self.link.as_os_str().as_encoded_bytes(), b"@PROG@")
    }
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    bstr::ByteSlice::replace(text, from, to)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn os(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

impl Case for ProgramCase {
    fn id(&self) -> &str {
        &self.record.id
    }

    fn group(&self) -> &str {
        &self.record.group
    }

    fn check(&self) -> Verdict {
        let input = self.record.argv.iter().map(Text::shown).collect::<Vec<_>>().join(" ");
        let answered = Place::take(&self.program, self.tool.name)
            .and_then(|place| Ok((self.answer(&place)?, place)))
            .map_err(|error| error.to_string());
        let (what, expected, got, stderr) = match answered {
            Ok((Some(output), place)) => {
                let differs = self.compare(&output, &place);
                let stderr = shown(&place.remove(&output.stderr));
                // If it cannot be emptied, it is dropped, and the next case gets a new one.
                let _ = place.give_back();
                match differs {
                    None => return Verdict::Passed,
                    Some((what, expected, got)) => (what, expected, got, stderr),
                }
            }
            Ok((None, _)) => ("hangs".to_owned(), self.record.stdout.shown(), String::new(), String::new()),
            Err(error) => ("cannot be run".to_owned(), String::new(), error, String::new()),
        };
        Verdict::Failed(Disagreement {
            what,
            input: format!("{} {input}", self.tool.name),
            expected,
            got,
            stderr,
        })
    }
}

impl ProgramCase {
    /// Creates the files and runs the program; `None` if it did not end in time.
    fn answer(&self, place: &Place) -> std::io::Result<Option<Output>> {
        let home = place.directory.path();
        let record = &self.record;
        let mut files: Vec<(&str, &Text)> =
            record.files.0.iter().map(|(name, text)| (name.as_str(), text)).collect();
        let fields = [
            ("rules", &record.rules),
            ("ads", &record.ads),
            ("jobs", &record.ads),
            ("condor_config", &record.config),
        ];
        for (name, text) in fields {
            if let Some(text) = text
                && !files.iter().any(|(known, _)| *known == name)
            {
                files.push((name, text));
            }
        }
        // condor_q needs a configuration to start.
        let minimal = Text(b"LOG = .\nLOCAL_DIR = .\nCONDOR_HOST = 127.0.0.1\n".to_vec());
        if self.tool.name == "condor_q" && !files.iter().any(|(name, _)| *name == "condor_config") {
            files.push(("condor_config", &minimal));
        }
        for (name, text) in &files {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap_or(home))?;
            fs::write(&path, place.insert(&text.0))?;
            if text.0.starts_with(b"#!") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            }
        }
        let mut environment = vec![
            ("PATH".to_owned(), b"/usr/bin:/bin".to_vec()),
            ("TZ".to_owned(), b"UTC".to_vec()),
            ("HOME".to_owned(), b"@DIR@".to_vec()),
            ("LANG".to_owned(), b"C.UTF-8".to_vec()),
        ];
        if files.iter().any(|(name, _)| *name == "condor_config") {
            environment.push(("CONDOR_CONFIG".to_owned(), b"@DIR@/condor_config".to_vec()));
        }
        for (name, value) in &record.env.0 {
            match environment.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => old.clone_from(&value.0),
                None => environment.push((name.clone(), value.0.clone())),
            }
        }
        let environment: Vec<(String, OsString)> =
            environment.into_iter().map(|(name, value)| (name, os(place.insert(&value)))).collect();
        // The order of a case's variables matters, and the standard library sorts them: env(1) keeps the
        // order.
        let mut command = if record.env.0.is_sorted_by_key(|(name, _)| name.as_bytes()) {
            let mut command = Command::new(&place.link);
            command.env_clear().envs(environment);
            command
        } else {
            let mut command = Command::new("/usr/bin/env");
            command.arg("-i");
            for (name, value) in environment {
                command.arg(os([name.as_bytes(), b"=", value.as_encoded_bytes()].concat()));
            }
            command.arg(&place.link);
            command
        };
        command.args(record.argv.iter().map(|word| os(place.insert(&word.0))));
        command.current_dir(home).stdin(self.stdin(place)?).stdout(Stdio::piped()).stderr(Stdio::piped());
        run(command)
    }

    fn stdin(&self, place: &Place) -> std::io::Result<Stdio> {
        let mut file = &place.stdin;
        file.rewind()?;
        if let Some(text) = &self.record.stdin {
            file.write_all(&place.insert(&text.0))?;
            file.rewind()?;
        }
        Ok(file.try_clone()?.into())
    }

    /// Returns the first difference, and both results.
    fn compare(&self, output: &Output, place: &Place) -> Option<(String, String, String)> {
        let record = &self.record;
        let stdout = place.remove(&output.stdout);
        let stderr = place.remove(&output.stderr);
        let status = output.status.to_string();
        if output.status.code().is_none() || shown(&stderr).contains("panicked") {
            return Some(("crashed".to_owned(), record.stdout.shown(), status));
        }
        if record.crash && self.tool.name == "condor_router_history" {
            // The reference's script ends with a traceback instead of a table; our program prints the table.
            let table = output.status.success() && stdout.starts_with(b"Routed job history from ");
            return (!table).then(|| ("the reference crashed".to_owned(), "a table".to_owned(), status));
        }
        if record.crash || record.stderr.0.starts_with(b"@TRACEBACK@") {
            let clear = output.status.code() != Some(0) && !stderr.is_empty();
            let expected = "a message and a status that is not 0".to_owned();
            return (!clear).then(|| ("the reference crashed".to_owned(), expected, status));
        }
        // The records of condor_q have TIME in place of the time in its tables.
        let stdout = if record.group.is_empty() { stdout } else { hide_time(&stdout) };
        let printed = shown(&stdout);
        let one_of = &record.check.one_of;
        let same = if !one_of.is_empty() {
            one_of.iter().any(|one| one.trim() == printed.trim())
        } else {
            // The help text is our own.
            stdout == record.stdout.0 || record.stdout.shown().contains("sage:")
        };
        if !same {
            return Some(("stdout".to_owned(), record.stdout.shown(), printed));
        }
        if output.status.code() != Some(record.status) {
            return Some(("status".to_owned(), format!("exit status: {}", record.status), status));
        }
        if self.tool.messages && before_help(&stderr) != before_help(&record.stderr.0) {
            return Some(("stderr".to_owned(), record.stderr.shown(), shown(&stderr)));
        }
        for (name, text) in &record.made.0 {
            let made = fs::read(place.directory.path().join(name)).map(|made| place.remove(&made));
            if made.as_ref().ok() != Some(&text.0) {
                let got = made.map_or_else(|error| error.to_string(), |made| shown(&made));
                return Some((format!("file {name}"), text.shown(), got));
            }
        }
        None
    }
}

/// Replaces the time in the lines that say where a table is from.
fn hide_time(text: &[u8]) -> Vec<u8> {
    const TIME: &[u8] = b" @ 00/00/00 00:00:00";
    let is_time = |end: &[u8]| {
        end.iter()
            .zip(TIME)
            .all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form })
    };
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let at = body.len().saturating_sub(TIME.len());
        if body.starts_with(b"-- ") && body.len() > TIME.len() && is_time(&body[at..]) {
            out.extend_from_slice(&body[..at]);
            out.extend_from_slice(b" @ TIME\n");
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}

/// Returns the messages up to the word that begins a help text, which is our own.
fn before_help(messages: &[u8]) -> &[u8] {
    let word = b"Usage: ";
    match messages.windows(word.len()).position(|part| part == word) {
        Some(at) => &messages[..at + word.len()],
        None => messages,
    }
}

/// Runs a program to its end, or kills it at the time limit and returns `None`.
fn run(mut command: Command) -> std::io::Result<Option<Output>> {
    let child = command.spawn()?;
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(workers::LIMIT) {
        Ok(output) => output.map(Some),
        Err(_) => {
            let _ = kill(pid, Signal::SIGKILL);
            Ok(None)
        }
    }
}
