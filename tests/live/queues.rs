//! Runs the example of each queue in `examples/queues`, and tests its hooks and its `queue` command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Results of the example's four jobs, whatever the queue.
pub(super) const TABLE: [&str; 4] = [
    "1         done           1  exited with status 0",
    "2         failed         1  exited with status 3",
    "3         failed         1  died by signal 15",
    "4         failed         3  refused 3 times",
];

pub(super) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/queues")
}

/// Returns the directory of the built programs; `None` with a message if they or the queue's requirements are
/// missing.
pub(super) fn programs(needs: &[&str]) -> Option<PathBuf> {
    let (Some(slot), Some(_), Some(_)) = (
        option_env!("CARGO_BIN_EXE_htc-slot-run"),
        option_env!("CARGO_BIN_EXE_htc-starter-run"),
        option_env!("CARGO_BIN_EXE_htc-hook-test"),
    ) else {
        println!("skipped: the runners are not built");
        return None;
    };
    if *needs == POSTGRES && !has_account() {
        println!("skipped: PostgreSQL runs only under an id that has an account");
        return None;
    }
    for program in needs {
        let found =
            Command::new("/bin/sh").args(["-c", &format!("command -v {program} || ls {program}")]).output();
        if !found.is_ok_and(|output| output.status.success()) {
            println!("skipped: no {program}");
            return None;
        }
    }
    Path::new(slot).parent().map(Path::to_owned)
}

/// Returns true if the id that runs the tests has an account, which the servers of PostgreSQL and Slurm require.
pub(super) fn has_account() -> bool {
    nix::unistd::User::from_uid(nix::unistd::geteuid()).is_ok_and(|user| user.is_some())
}

/// Returns a directory for copies to which the account nobody has access.
pub(super) fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).unwrap();
    place
}

pub(super) fn all_output(output: &Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{stdout}{stderr}", output.status)
}

/// Runs a command that must succeed, and returns its standard output.
pub(super) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", all_output(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A queue in a separate directory; its server is stopped when it is dropped.
pub(super) struct Queue {
    pub(super) kind: &'static str,
    pub(super) place: tempfile::TempDir,
}

impl Queue {
    pub(super) fn new(kind: &'static str) -> Self {
        let place = place();
        run(Command::new(examples().join("run")).args([kind, "--prepare"]).arg(place.path()));
        Queue { kind, place }
    }

    /// Runs `queue WORDS` as the account of the hooks.
    pub(super) fn command(&self, words: &[&str]) -> Output {
        let mut command = as_hooks(&self.place.path().join("queue"));
        command.args(words).output().unwrap()
    }

    /// Runs a hook with a text on its standard input; returns its output.
    pub(super) fn hook(&self, name: &str, words: &[&str], text: &[u8]) -> Vec<u8> {
        let input = self.place.path().join("stdin");
        std::fs::write(&input, text).unwrap();
        let mut command = as_hooks(&self.place.path().join("hooks").join(name));
        let output = command.args(words).stdin(std::fs::File::open(input).unwrap()).output().unwrap();
        assert!(output.status.success(), "{name}: {}", all_output(&output));
        output.stdout
    }

    pub(super) fn list(&self) -> String {
        String::from_utf8(self.command(&["list"]).stdout).unwrap()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let stopped =
            Command::new(examples().join("run")).args([self.kind, "--stop"]).arg(self.place.path()).status();
        assert!(stopped.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Returns a program that runs as the account of the hooks.
pub(super) fn as_hooks(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--clear-groups", "--regid", "nogroup", "--"]).arg(program);
    command
}

pub(super) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Checks that the example of a kind prints the table, and leaves nothing behind.
pub(super) fn example(kind: &str, needs: &[&str]) {
    let Some(programs) = programs(needs) else { return };
    let place = place();
    let mut command = Command::new(examples().join("run"));
    let table = run(command.arg(kind).env("HTC_PROGRAMS", programs).env("TMPDIR", place.path()));
    for line in TABLE {
        assert!(table.lines().any(|printed| printed == line), "no {line:?} in\n{table}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the copy is left behind");
}

/// Tests many slots in parallel, and calls that are killed.
fn contract(kind: &'static str, needs: &[&str], words: &[&str]) {
    let Some(programs) = programs(needs) else { return };
    let queue = Queue::new(kind);
    let job = examples().join("jobs/true.ad");
    let mut command = Command::new(programs.join("htc-hook-test"));
    command.arg("queue").arg("--config-file").arg(queue.place.path().join("condor_config"));
    command.args(["--slots", "16", "--jobs", "40", "--fill"]);
    command.arg(format!("./queue submit --copies=$JOBS {}", job.display())).args(words);
    let output = command.output().unwrap();
    let text = all_output(&output);
    assert!(output.status.success() && text.contains("every job is handed out and recorded once"), "{text}");
}

/// Tests submit, cancel, retry and list.
fn commands(kind: &'static str, needs: &[&str]) {
    if programs(needs).is_none() {
        return;
    }
    let queue = Queue::new(kind);
    let job = examples().join("jobs/true.ad");
    let ended = |words: &[&str]| queue.command(words).status.code();
    assert_eq!(ended(&["submit", job.to_str().unwrap(), "--copies=3"]), Some(0));
    assert_eq!(ended(&["cancel", "2"]), Some(0));
    assert_ne!(ended(&["retry", "3"]), Some(0), "a new job has not ended");
    assert_eq!(ended(&["cancel", "x; DROP TABLE job"]), Some(2));
    assert_eq!(ended(&["submit", "/no/such/file"]), Some(3));
    assert_eq!(ended(&["dance"]), Some(2));
    let states = |list: &str| -> Vec<String> {
        let mut rows: Vec<_> = list
            .lines()
            .skip(1)
            .map(|row| row.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(states(&queue.list()), ["1 new", "2 cancelled", "3 new"]);
    assert_eq!(ended(&["retry", "2"]), Some(0));
    assert_eq!(states(&queue.list()), ["1 new", "2 new", "3 new"]);
}

/// Checks that a job which is cancelled while it runs has not ended, and that its bytes are returned
/// unchanged.
pub(super) fn ends(kind: &'static str, needs: &[&str]) {
    if programs(needs).is_none() {
        return;
    }
    let queue = Queue::new(kind);
    let file = queue.place.path().join("latin1.ads");
    std::fs::write(
        &file,
        b"Cmd = \"/bin/true\"\nNote = \"caf\xe9\"\n \t\r\nCmd = \"/bin/true\"\nOut = \"mine\"\n",
    )
    .unwrap();
    assert!(queue.command(&["submit", file.to_str().unwrap()]).status.success());
    let fetched = || queue.hook("fetch_work", &[], b"Name = \"slot1@here\"\nActivity = \"Idle\"\n");
    let one = fetched();
    assert!(one.windows(4).any(|bytes| bytes == b"caf\xe9"));
    assert_eq!(queue.command(&["cancel", "1"]).status.code(), Some(0));
    assert_ne!(queue.command(&["retry", "1"]).status.code(), Some(0), "it runs");
    queue.hook("job_exit", &["exit"], &[&one[..], b"ExitCode = 0\nExitBySignal = false\n"].concat());
    assert_eq!(queue.command(&["retry", "1"]).status.code(), Some(0));
    let two = String::from_utf8_lossy(&fetched()).into_owned();
    assert!(two.contains("ClusterId = 1\n") && two.contains("QueueAttempt = 2"), "{two}");
    let three = String::from_utf8_lossy(&fetched()).into_owned();
    assert!(three.contains("Out = \"mine\"") && !three.contains("2.out"), "{three}");
}

/// Checks that invalid jobs are refused with a message.
fn refusals(kind: &'static str, needs: &[&str]) {
    if programs(needs).is_none() {
        return;
    }
    let queue = Queue::new(kind);
    let empty = queue.place.path().join("empty.ad");
    std::fs::write(&empty, "").unwrap();
    let (empty, job) = (empty.to_str().unwrap(), examples().join("jobs/true.ad"));
    let job = job.to_str().unwrap();
    for words in [
        &["submit"][..],
        &["submit", empty],
        &["submit", "/etc/passwd"],
        &["submit", "/tmp"],
        &["submit", "--copies=0", job],
        &["submit", "--copies=", job],
        &["cancel"],
        &["retry"],
        &["cancel", "99999999999999999999"],
    ] {
        let output = queue.command(words);
        assert!(
            matches!(output.status.code(), Some(1..=3)) && !output.stderr.is_empty(),
            "{words:?}: {}",
            all_output(&output)
        );
        assert!(!all_output(&output).contains("Traceback"), "{words:?}: {}", all_output(&output));
    }
    assert_eq!(queue.list().lines().count(), 1);
}

/// Uses all seven programs in one pipeline.
fn workflow(kind: &str, needs: &[&str]) {
    let Some(programs) = programs(needs) else { return };
    let place = place();
    let blank = place.path().join("a directory");
    std::fs::create_dir(&blank).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(examples().join("../workflow/run")).arg(kind);
    let told = run(command.env("HTC_PROGRAMS", programs).env("TMPDIR", &blank));
    for line in [
        "11.0\tSmall",
        "1         done           1  exited with status 0",
        "2         failed         1  exited with status 7",
        "Small     1     0    0     0     1      0",
        "12.0 Large 7",
    ] {
        assert!(told.lines().any(|printed| printed == line), "no {line:?} in\n{told}");
    }
    assert_eq!(std::fs::read_dir(&blank).unwrap().count(), 0, "something is left behind");
}

#[test]
fn the_whole_workflow_runs_over_each_queue() {
    workflow("spool", &["flock"]);
    workflow("sqlite", &SQLITE);
    workflow("postgres", &POSTGRES);
    workflow("http", &HTTP);
}

pub(super) const POSTGRES: [&str; 2] = ["psql", "/usr/lib/postgresql/*/bin/initdb"];

pub(super) const HTTP: [&str; 2] = ["/usr/bin/python3", "curl"];

pub(super) const SQLITE: [&str; 1] = ["/usr/bin/python3"];

const IN_PLACE: [&str; 3] = ["--in-place", "--kill", "5"];

#[test]
fn the_spool_runs_its_example() {
    example("spool", &["flock"]);
}

#[test]
fn the_spool_keeps_the_contract() {
    contract("spool", &["flock"], &[]);
}

#[test]
fn the_spool_handles_its_commands() {
    commands("spool", &["flock"]);
}

#[test]
fn the_spool_records_the_end_of_a_job() {
    ends("spool", &["flock"]);
}

#[test]
fn the_spool_rejects_invalid_jobs() {
    refusals("spool", &["flock"]);
}

#[test]
fn sqlite_runs_its_example() {
    example("sqlite", &SQLITE);
}

#[test]
fn sqlite_keeps_the_contract() {
    contract("sqlite", &SQLITE, &[]);
}

#[test]
fn sqlite_handles_its_commands() {
    commands("sqlite", &SQLITE);
}

#[test]
fn sqlite_records_the_end_of_a_job() {
    ends("sqlite", &SQLITE);
}

#[test]
fn sqlite_rejects_invalid_jobs() {
    refusals("sqlite", &SQLITE);
}

#[test]
fn postgres_runs_its_example() {
    example("postgres", &POSTGRES);
}

#[test]
fn postgres_keeps_the_contract() {
    contract("postgres", &POSTGRES, &IN_PLACE);
}

#[test]
fn postgres_handles_its_commands() {
    commands("postgres", &POSTGRES);
}

#[test]
fn postgres_records_the_end_of_a_job() {
    ends("postgres", &POSTGRES);
}

#[test]
fn postgres_rejects_invalid_jobs() {
    refusals("postgres", &POSTGRES);
}

#[test]
fn the_web_service_runs_its_example() {
    example("http", &HTTP);
}

#[test]
fn the_web_service_keeps_the_contract() {
    contract("http", &HTTP, &IN_PLACE);
}

#[test]
fn the_web_service_handles_its_commands() {
    commands("http", &HTTP);
}

#[test]
fn the_web_service_records_the_end_of_a_job() {
    ends("http", &HTTP);
}

#[test]
fn the_web_service_rejects_invalid_jobs() {
    refusals("http", &HTTP);
}

/// Requests from a page in a browser are refused, and a second server does not start.
#[test]
fn the_web_service_serves_no_pages_and_runs_once() {
    if programs(&HTTP).is_none() {
        return;
    }
    let queue = Queue::new("http");
    let url = std::fs::read_to_string(queue.place.path().join("store/url")).unwrap();
    for header in ["Origin: http://elsewhere.example", "Host: elsewhere.example"] {
        let submit = format!("{}/submit", url.trim());
        let output =
            Command::new("curl").args(["-sS", "-H", header, "-d", "Cmd = \"x\"", &submit]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "requests from pages are refused\n");
    }
    assert_eq!(queue.list().lines().count(), 1);
    let again = as_hooks(&queue.place.path().join("server")).arg("start").output().unwrap();
    assert!(all_output(&again).contains("it is already running"), "{}", all_output(&again));
}
