//! Runs the example of each queue in `examples/queues`, and tests its contract and its command.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Results of the example's four jobs, whatever the queue.
const TABLE: [&str; 4] = [
    "1         done           1  exited with status 0",
    "2         failed         1  exited with status 3",
    "3         failed         1  died by signal 15",
    "4         failed         3  refused 3 times",
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/queues")
}

/// The directory of the built programs; `None` with a message if they or the queue's requirements are
/// missing.
fn programs(needs: &[&str]) -> Option<PathBuf> {
    let (Some(slot), Some(_), Some(_)) = (
        option_env!("CARGO_BIN_EXE_htc-slot-run"),
        option_env!("CARGO_BIN_EXE_htc-starter-run"),
        option_env!("CARGO_BIN_EXE_htc-hook-test"),
    ) else {
        println!("skipped: the runners are not built");
        return None;
    };
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

/// A directory for copies to which the account nobody has access.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).unwrap();
    place
}

fn told(output: &Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{stdout}{stderr}", output.status)
}

/// Runs a command that must succeed, and returns its standard output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A queue in a separate directory; its server is stopped when it is dropped.
struct Queue {
    kind: &'static str,
    place: tempfile::TempDir,
}

impl Queue {
    fn new(kind: &'static str) -> Self {
        let place = place();
        run(Command::new(examples().join("run")).args([kind, "--prepare"]).arg(place.path()));
        Queue { kind, place }
    }

    /// Runs `queue WORDS` as the account of the hooks.
    fn command(&self, words: &[&str]) -> Output {
        let mut command = as_hooks(&self.place.path().join("queue"));
        command.args(words).output().unwrap()
    }

    /// Runs a hook with a text on its standard input; returns its output.
    fn hook(&self, name: &str, words: &[&str], text: &[u8]) -> Vec<u8> {
        let input = self.place.path().join("stdin");
        std::fs::write(&input, text).unwrap();
        let mut command = as_hooks(&self.place.path().join("hooks").join(name));
        let output = command.args(words).stdin(std::fs::File::open(input).unwrap()).output().unwrap();
        assert!(output.status.success(), "{name}: {}", told(&output));
        output.stdout
    }

    fn list(&self) -> String {
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

/// A program that runs as the account of the hooks.
fn as_hooks(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--clear-groups", "--regid", "nogroup", "--"]).arg(program);
    command
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Checks that the example of a kind prints the table, and leaves nothing behind.
fn example(kind: &str, needs: &[&str]) {
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
    let text = told(&output);
    assert!(output.status.success() && text.contains("the queue's contract holds"), "{text}");
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

/// A job that was cancelled while it runs has not ended; its bytes are returned unchanged.
fn ends(kind: &'static str, needs: &[&str]) {
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

/// Invalid jobs are refused with a message.
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
            told(&output)
        );
        assert!(!told(&output).contains("Traceback"), "{words:?}: {}", told(&output));
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

const POSTGRES: [&str; 2] = ["psql", "/usr/lib/postgresql/*/bin/initdb"];
const HTTP: [&str; 2] = ["/usr/bin/python3", "curl"];
const SQLITE: [&str; 1] = ["/usr/bin/python3"];
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
fn the_spool_obeys_its_command() {
    commands("spool", &["flock"]);
}

#[test]
fn the_spool_knows_when_a_job_has_ended() {
    ends("spool", &["flock"]);
}

#[test]
fn the_spool_takes_no_rubbish() {
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
fn sqlite_obeys_its_command() {
    commands("sqlite", &SQLITE);
}

#[test]
fn sqlite_knows_when_a_job_has_ended() {
    ends("sqlite", &SQLITE);
}

#[test]
fn sqlite_takes_no_rubbish() {
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
fn postgres_obeys_its_command() {
    commands("postgres", &POSTGRES);
}

#[test]
fn postgres_knows_when_a_job_has_ended() {
    ends("postgres", &POSTGRES);
}

#[test]
fn postgres_takes_no_rubbish() {
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
fn the_web_service_obeys_its_command() {
    commands("http", &HTTP);
}

#[test]
fn the_web_service_knows_when_a_job_has_ended() {
    ends("http", &HTTP);
}

#[test]
fn the_web_service_takes_no_rubbish() {
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
        assert_eq!(String::from_utf8_lossy(&output.stdout), "pages are not served\n");
    }
    assert_eq!(queue.list().lines().count(), 1);
    let again = as_hooks(&queue.place.path().join("server")).arg("start").output().unwrap();
    assert!(told(&again).contains("it runs already"), "{}", told(&again));
}

/// Leftovers of killed hooks in the spool do not count as jobs, and a job that was cancelled before its host
/// was lost does not run again.
#[test]
fn the_spool_survives_killed_hooks() {
    if programs(&["flock"]).is_none() {
        return;
    }
    let queue = Queue::new("spool");
    let job = examples().join("jobs/true.ad");
    assert!(queue.command(&["submit", job.to_str().unwrap(), "--copies=2"]).status.success());
    let fetched = || {
        let ad = queue.hook("fetch_work", &[], b"Name = \"slot1@here\"\nActivity = \"Idle\"\n");
        String::from_utf8(ad).unwrap()
    };
    assert!(fetched().contains("ClusterId = 1\n"));
    // FETCH_WORK was killed between its two moves, JOB_EXIT while it read.
    let claimed = queue.place.path().join("store/claimed");
    let (taken, end) = (claimed.join("00000001.ad.4711"), claimed.join(".end.4712"));
    std::fs::rename(claimed.join("00000001.ad"), &taken).unwrap();
    std::fs::write(&end, "QueueName").unwrap();
    assert!(queue.list().contains("\n1         claimed "), "{}", queue.list());
    assert_eq!(queue.command(&["cancel", "1"]).status.code(), Some(0));
    run(Command::new("touch").args(["-t", "202001010000"]).args([&taken, &end]));
    assert!(fetched().contains("ClusterId = 2\n"));
    assert_eq!(fetched(), "");
    assert!(queue.list().contains("\n1         cancelled "), "{}", queue.list());
    assert_eq!(queue.list().lines().count(), 3, "{}", queue.list());
    assert!(!end.exists());
}

/// Root's actions on the store of an SQLite queue are performed as its owner: nothing in it becomes owned by
/// root, and files that only root can read are accepted.
#[test]
fn root_is_the_owner_of_an_sqlite_queue() {
    if programs(&SQLITE).is_none() || !is_root() {
        println!("skipped: only root is somebody else than the account of the hooks");
        return;
    }
    let queue = Queue::new("sqlite");
    let secret = queue.place.path().join("secret.ad");
    std::fs::write(&secret, "Cmd = \"/bin/true\"\n").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let by_root =
        |words: &[&str]| Command::new(queue.place.path().join("queue")).args(words).output().unwrap();
    let output = by_root(&["submit", secret.to_str().unwrap(), "--copies=2"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(by_root(&["cancel", "2"]).status.success());
    assert_eq!(queue.list().lines().count(), 3, "{}", queue.list());
    let store = queue.place.path().join("store");
    let of_root = run(Command::new("find").arg(&store).args(["-user", "root"]));
    assert_eq!(of_root, "");
    // A link to a file of root is not followed for writing.
    let database = store.join("queue.db");
    let victim = queue.place.path().join("victim.db");
    assert!(database.exists());
    std::fs::rename(&database, &victim).unwrap();
    run(Command::new("chown").arg("root:root").arg(&victim));
    std::os::unix::fs::symlink(&victim, &database).unwrap();
    assert!(!by_root(&["submit", secret.to_str().unwrap()]).status.success());
}

/// A running service can be used as a queue from another directory; the example does not run if the service
/// has other jobs.
#[test]
fn a_service_elsewhere_is_a_queue_too() {
    let Some(programs) = programs(&HTTP) else { return };
    let (queue, there) = (Queue::new("http"), place());
    let url = std::fs::read_to_string(queue.place.path().join("store/url")).unwrap();
    let example = |words: &[&str]| {
        let mut command = Command::new(examples().join("run"));
        command.args(words).env("QUEUE_URL", url.trim()).env("HTC_PROGRAMS", &programs).output().unwrap()
    };
    let prepared = example(&["http", "--prepare", there.path().to_str().unwrap()]);
    assert!(prepared.status.success(), "{}", told(&prepared));
    let job = examples().join("jobs/true.ad");
    run(as_hooks(&there.path().join("queue")).arg("submit").arg(&job));
    assert_eq!(queue.list().lines().count(), 2, "{}", queue.list());
    assert_eq!(example(&["http"]).status.code(), Some(2));
    assert_eq!(example(&["postgres"]).status.code(), Some(2), "it is no URL of a database");
}

/// A database elsewhere is used as configured, and nothing of the example stays in it; other tables are
/// unchanged.
#[test]
fn a_database_elsewhere_is_a_queue_too() {
    let Some(programs) = programs(&POSTGRES) else { return };
    let queue = Queue::new("postgres");
    let url = std::fs::read_to_string(queue.place.path().join("store/url")).unwrap();
    let example = || {
        let mut command = Command::new(examples().join("run"));
        command.arg("postgres").env("QUEUE_URL", url.trim()).env("HTC_PROGRAMS", &programs).output().unwrap()
    };
    let others = example();
    assert!(!others.status.success(), "{}", told(&others));
    assert_eq!(queue.list().lines().count(), 1, "{}", queue.list());
    assert!(queue.command(&["drop"]).status.success());
    for _ in 0..2 {
        let output = example();
        let text = told(&output);
        assert!(output.status.success() && TABLE.iter().all(|line| text.contains(line)), "{text}");
    }
    assert!(!queue.command(&["list"]).status.success(), "the tables are gone");
}

/// The end of a job is reported even if the server is unavailable for a moment.
fn end_without_server(kind: &'static str, needs: &[&str]) {
    if programs(needs).is_none() {
        return;
    }
    let queue = Queue::new(kind);
    let server = |word: &str| run(as_hooks(&queue.place.path().join("server")).arg(word));
    let job = examples().join("jobs/true.ad");
    assert!(queue.command(&["submit", job.to_str().unwrap()]).status.success());
    let ad = queue.hook("fetch_work", &[], b"Name = \"slot1@here\"\nActivity = \"Idle\"\n");
    let ended = queue.place.path().join("ended.ad");
    std::fs::write(&ended, [&ad[..], b"ExitCode = 0\nExitBySignal = false\n"].concat()).unwrap();
    server("stop");
    let mut hook = as_hooks(&queue.place.path().join("hooks/job_exit"));
    hook.arg("exit").stdin(std::fs::File::open(ended).unwrap()).stderr(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    // The hook prints a message after its first attempt.
    let mut said = BufReader::new(hook.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    server("start");
    assert!(hook.wait().unwrap().success());
    drop(said);
    assert!(queue.list().contains("\n1         done "), "{}", queue.list());
}

#[test]
fn the_end_of_a_job_is_told_to_a_service_that_was_away() {
    end_without_server("http", &HTTP);
}

#[test]
fn the_end_of_a_job_is_told_to_a_database_that_was_away() {
    end_without_server("postgres", &POSTGRES);
}

/// Root submits jobs as the account of the queue, because a job may have planted links in the queue's
/// directory.
#[test]
fn root_follows_no_link_in_the_spool() {
    if programs(&["flock"]).is_none() || !is_root() {
        println!("skipped: only root is somebody else than the account of the hooks");
        return;
    }
    let queue = Queue::new("spool");
    let (store, victim) = (queue.place.path().join("store"), queue.place.path().join("victim"));
    std::fs::write(&victim, "root's own").unwrap();
    for name in ["last", "lock"] {
        let _ = std::fs::remove_file(store.join(name));
        std::os::unix::fs::symlink(&victim, store.join(name)).unwrap();
    }
    let job = examples().join("jobs/true.ad");
    let by_root =
        |words: &[&str]| Command::new(queue.place.path().join("queue")).args(words).output().unwrap();
    assert!(!by_root(&["submit", job.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "root's own");
    std::fs::remove_file(store.join("last")).unwrap();
    std::fs::remove_file(store.join("lock")).unwrap();
    let secret = queue.place.path().join("secret.ad");
    std::fs::write(&secret, "Cmd = \"/bin/true\"\n").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let output = by_root(&["submit", secret.to_str().unwrap(), "--copies=2"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(by_root(&["cancel", "2"]).status.success());
    assert_eq!(by_root(&["submit"]).status.code(), Some(2));
    let made = std::fs::metadata(store.join("new/00000001.ad")).unwrap();
    assert_ne!(std::os::unix::fs::MetadataExt::uid(&made), 0);
    assert_eq!(queue.list().lines().count(), 3, "{}", queue.list());
}

/// A server that was stopped, or whose machine was, starts again with its jobs; it does not start twice.
#[test]
fn postgres_starts_again() {
    if programs(&POSTGRES).is_none() {
        return;
    }
    let queue = Queue::new("postgres");
    let server = |word: &str| as_hooks(&queue.place.path().join("server")).arg(word).output().unwrap();
    let job = examples().join("jobs/true.ad");
    assert!(queue.command(&["submit", job.to_str().unwrap()]).status.success());
    assert!(told(&server("start")).contains("it runs already"));
    for word in ["stop", "stop", "start"] {
        let output = server(word);
        assert!(output.status.success(), "{word}: {}", told(&output));
    }
    assert_eq!(queue.list().lines().count(), 2, "{}", queue.list());
}

/// The output of a file's jobs is kept, and its location is printed; a file together with --jobs is refused.
#[test]
fn the_output_of_own_jobs_is_kept() {
    let Some(programs) = programs(&["flock"]) else { return };
    let place = place();
    let file = place.path().join("x=1.ads");
    std::fs::write(
        &file,
        "Owner = \"demo\"\r\nOsUser = \"nobody\"\r\nCmd = \"/bin/echo\"\r\nArguments = \"hello\"\r\n",
    )
    .unwrap();
    let call = |words: &[&str]| {
        let mut command = Command::new(examples().join("run"));
        command
            .arg("spool")
            .args(words)
            .arg(&file)
            .env("HTC_PROGRAMS", &programs)
            .env("TMPDIR", place.path());
        command
    };
    let printed = run(&mut call(&[]));
    let kept =
        printed.lines().find_map(|line| line.strip_prefix("What the jobs have written is in ")).unwrap();
    assert_eq!(std::fs::read_to_string(Path::new(kept).join("00000001.out")).unwrap(), "hello\n");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    let refused = call(&["--jobs=3"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
}

/// Ending `run` with a signal ends its runner and the jobs, and nothing is left behind.
#[test]
fn a_signal_ends_the_runner_too() {
    let Some(programs) = programs(&["flock"]) else { return };
    let place = place();
    let file = place.path().join("sleep.ads");
    let job = "Owner = \"demo\"\nOsUser = \"nobody\"\nCmd = \"/bin/sleep\"\nArguments = \"600\"\n";
    std::fs::write(&file, job).unwrap();
    let mut command = Command::new(examples().join("run"));
    command.arg("spool").arg(&file).env("HTC_PROGRAMS", programs).env("TMPDIR", place.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with(": started")));
    run(Command::new("kill").args(["-TERM", &child.id().to_string()]));
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn hosts_wants_numbers_and_somebody_for_lost_jobs() {
    for words in [&["--runners=0"][..], &["--runners=x"], &["--jobs="], &["--lose", "--runners=1"]] {
        let output = Command::new(examples().join("hosts")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stderr.starts_with(b"hosts: "), "{words:?}");
    }
}

#[test]
fn a_lost_host_gives_its_jobs_back() {
    let Some(programs) = programs(&POSTGRES) else { return };
    let allowed = if is_root() { "unshare -nmpf true" } else { "unshare -Unmpf true" };
    if !Command::new("/bin/sh").args(["-c", allowed]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no namespaces for this account");
        return;
    }
    let place = place();
    let hosts = |slots: &str, jobs: &str| {
        let mut command = Command::new(examples().join("hosts"));
        command.args(["--runners=2", slots, jobs, "--lose"]);
        run(command.env("HTC_PROGRAMS", &programs).env("TMPDIR", place.path()))
    };
    // Both wait for leases to expire, so they run in parallel. The second does not wait for more jobs than
    // there are.
    let (told, fewer) = std::thread::scope(|scope| {
        let fewer = scope.spawn(|| hosts("--slots=4", "--jobs=3"));
        (hosts("--slots=2", "--jobs=8"), fewer.join().unwrap())
    });
    assert!(told.contains("lease lost: 2"), "{told}");
    assert!(!told.contains("late end"), "{told}");
    assert!(fewer.contains("host1 is lost with "), "{fewer}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left behind");
    // The state files of the lost host's starters are removed.
    let ours = place.path().to_str().unwrap();
    for entry in std::fs::read_dir("/run/htc-hooks").into_iter().flatten().flatten() {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        let path = entry.path();
        assert!(!String::from_utf8_lossy(&text).contains(ours), "'{}' is left behind", path.display());
    }
    // The control groups of its jobs are removed too.
    let name = ours.replace('/', "_");
    let directories = |path: &std::path::Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    for hierarchy in directories("/sys/fs/cgroup".as_ref()) {
        let left = directories(&hierarchy.path().join("htcondor"));
        let left = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
        assert_eq!(left.filter(|one| one.starts_with(&name)).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
