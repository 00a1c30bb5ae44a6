//! The real tool and our program, called in the same directory one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Case, Tool};

/// Time limit of a program.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of comparisons to reduce a difference.
const REDUCTIONS: usize = 600;

pub(super) enum Compared {
    Same,
    /// The reference crashed or did not end.
    Crashed,
    Different,
}

/// Result of a program.
#[derive(PartialEq)]
struct Answer {
    stdout: String,
    stderr: String,
    status: i32,
    /// Files that it wrote, with their contents.
    made: BTreeMap<String, String>,
}

pub(super) struct Sides {
    directory: PathBuf,
    reference: PathBuf,
    ours: PathBuf,
    messages: bool,
}

impl Sides {
    pub(super) fn new(place: &Path, tool: &Tool, reference: &Path) -> Self {
        let (directory, links) = (place.join("case"), place.join("ours"));
        fs::create_dir_all(&directory).unwrap();
        fs::create_dir_all(&links).unwrap();
        let ours = links.join(tool.name);
        symlink(tool.ours, &ours).unwrap();
        Sides { directory, reference: reference.to_owned(), ours, messages: tool.messages }
    }

    fn write(&self, case: &Case) {
        fs::remove_dir_all(&self.directory).unwrap();
        fs::create_dir_all(&self.directory).unwrap();
        for (name, lines) in &case.files {
            let path = self.directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = lines.join("\n") + "\n";
            fs::write(path, text.replace("@DIR@", &self.directory.to_string_lossy())).unwrap();
        }
    }

    /// Returns the result of a program; `None` if it was killed by a signal, failed an assertion or did not end.
    fn ask(&self, program: &Path, case: &Case) -> Option<Answer> {
        self.write(case);
        let place = self.directory.to_string_lossy().into_owned();
        let mut child = Command::new(program)
            .args(case.arguments.iter().map(|word| word.replace("@DIR@", &place)))
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .env("HOME", &self.directory)
            .env("CONDOR_CONFIG", self.directory.join("condor_config"))
            .envs(case.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let received = stdout.recv_timeout(PATIENCE).ok().zip(stderr.recv_timeout(PATIENCE).ok());
        if received.is_none() {
            let _ = child.kill();
        }
        let status = child.wait().unwrap().code();
        let ((stdout, stderr), status) = received.zip(status).filter(|(_, status)| *status != 4)?;
        let shown = |text: &[u8]| {
            String::from_utf8_lossy(text)
                .replace(&place, "@DIR@")
                .replace(&*program.to_string_lossy(), "@PROG@")
        };
        // Help texts are our own.
        let before_usage = |text: String| match text.split_once("sage:") {
            Some((before, _)) => before.trim_end_matches(['u', 'U']).to_owned(),
            None => text,
        };
        Some(Answer {
            stdout: before_usage(hide_time(&shown(&stdout))),
            stderr: before_usage(shown(&stderr)),
            status,
            made: self.made_files(case),
        })
    }

    fn made_files(&self, case: &Case) -> BTreeMap<String, String> {
        let is_new = |name: &str| !case.files.iter().any(|(known, _)| known.split('/').next() == Some(name));
        let entries = fs::read_dir(&self.directory).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let read = |name: String| {
            let text = fs::read(self.directory.join(&name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).replace(&*self.directory.to_string_lossy(), "@DIR@");
            (name, hide_time(&text))
        };
        names.filter(|name| is_new(name)).map(read).collect()
    }

    pub(super) fn compare(&self, case: &Case) -> Compared {
        let Some(reference) = self.ask(&self.reference, case) else { return Compared::Crashed };
        match self.ask(&self.ours, case) {
            Some(mut ours) => {
                if !self.messages {
                    ours.stderr.clone_from(&reference.stderr);
                }
                if ours == reference { Compared::Same } else { Compared::Different }
            }
            None => Compared::Different,
        }
    }

    /// Removes arguments and lines that are not needed for the difference.
    pub(super) fn shrink(&self, mut case: Case) -> Case {
        let mut left = REDUCTIONS;
        let mut differs = |case: &Case| {
            left = left.saturating_sub(1);
            left > 0 && is_complete(case) && matches!(self.compare(case), Compared::Different)
        };
        loop {
            let before =
                case.files.iter().map(|(_, lines)| lines.len()).sum::<usize>() + case.arguments.len();
            for file in 0..case.files.len() {
                let lines = case.files[file].1.clone();
                case.files[file].1 = fewer(lines, &mut |lines| {
                    let mut smaller = case.clone();
                    smaller.files[file].1 = lines.to_vec();
                    differs(&smaller)
                });
            }
            let arguments = case.arguments.clone();
            case.arguments = fewer(arguments, &mut |arguments| {
                differs(&Case { arguments: arguments.to_vec(), ..case.clone() })
            });
            let after = case.files.iter().map(|(_, lines)| lines.len()).sum::<usize>() + case.arguments.len();
            if after == before {
                return case;
            }
        }
    }

    pub(super) fn report(&self, case: &Case, number: u64) -> String {
        let files: Vec<String> =
            case.files.iter().map(|(name, lines)| format!("--- {name}\n{}", lines.join("\n"))).collect();
        let side = |program: &Path| match self.ask(program, case) {
            Some(answer) => {
                let messages = if self.messages { answer.stderr } else { String::new() };
                format!("{}{messages}(status {}, files {:?})", answer.stdout, answer.status, answer.made)
            }
            None => "died by a signal, or did not end".to_owned(),
        };
        let (reference, ours) = (side(&self.reference), side(&self.ours));
        format!(
            "case {number}: {:?} {:?}\n{}\n--- reference\n{}\n--- ours\n{}\n",
            case.arguments,
            case.environment,
            files.join("\n"),
            lines_missing_in(&ours, &reference),
            lines_missing_in(&reference, &ours)
        )
    }
}

/// Returns the text, or if it is long, its lines that the other text does not have.
fn lines_missing_in(other: &str, text: &str) -> String {
    if text.lines().count() + other.lines().count() < 50 {
        return text.to_owned();
    }
    let known: std::collections::HashSet<&str> = other.lines().collect();
    text.lines().filter(|line| !known.contains(line)).take(20).collect::<Vec<_>>().join("\n")
}

/// True if each job has what the reference takes from memory that it has not initialized, or from the clock.
fn is_complete(case: &Case) -> bool {
    case.files.iter().all(|(name, lines)| match name.as_str() {
        "ads" => lines.split(String::is_empty).all(|ad| {
            let has = |name: &str| ad.iter().any(|line| line.starts_with(name));
            let is_analysis = case.files.iter().any(|(name, _)| name == "slots");
            let of_groups = is_analysis || ["AutoClusterId =", "Id ="].into_iter().all(has);
            ad.is_empty() || ["ClusterId =", "ProcId =", "ServerTime ="].into_iter().all(has) && of_groups
        }),
        "condor_config" if case.arguments.iter().any(|word| word.starts_with("-du")) => {
            case.arguments.iter().any(|word| word.contains(['^', '|', '(']) || word == "Nope")
        }
        "pf" => lines.first().is_some_and(|line| line.contains("SELECT")),
        _ => true,
    })
}

/// Removes blocks of items, smaller and smaller ones.
fn fewer(mut items: Vec<String>, differs: &mut dyn FnMut(&[String]) -> bool) -> Vec<String> {
    let mut size = items.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < items.len() {
            let mut rest = items.clone();
            rest.drain(at..(at + size).min(items.len()));
            if differs(&rest) {
                items = rest;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    items
}

/// Reads a pipe to its end in another thread.
fn reader<R: Read + Send + 'static>(pipe: Option<R>) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut text);
        }
        let _ = send.send(text);
    });
    receive
}

/// Hides the time in the title of a table, the numbers of processes, and the parameters of the reference that depend on
/// how it was built.
fn hide_time(text: &str) -> String {
    let mut is_hidden = false;
    let hide = |line: &str| {
        // The comments after a parameter's line show its value, too.
        if is_hidden && line.starts_with(" # ") {
            return String::new();
        }
        is_hidden = false;
        if let Some(at) = line.find(" @ ").filter(|_| line.starts_with("-- ")) {
            return format!("{} @ TIME", &line[..at]);
        }
        let of_the_build =
            ["CONDOR_BUILD_PLATFORM", "HAVE_EXT_", "PYTHON3_", "SEC_DEFAULT_AUTHENTICATION_METHODS ="];
        let of_the_run = ["# condor_config_val $CondorVersion", "PID = ", "PPID = "];
        for start in of_the_build.into_iter().chain(of_the_run) {
            if line.starts_with(start) {
                is_hidden = true;
                return start.to_owned();
            }
        }
        line.to_owned()
    };
    text.split('\n').map(hide).collect::<Vec<_>>().join("\n")
}
