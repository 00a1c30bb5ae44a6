//! Queues whose servers, hooks or hosts fail.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::queues::{
    HTTP, POSTGRES, Queue, SQLITE, TABLE, all_output, as_hooks, examples, is_root, place, programs, run,
};

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
    assert!(output.status.success(), "{}", all_output(&output));
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
fn a_remote_service_can_be_a_queue() {
    let Some(programs) = programs(&HTTP) else { return };
    let (queue, there) = (Queue::new("http"), place());
    let url = std::fs::read_to_string(queue.place.path().join("store/url")).unwrap();
    let example = |words: &[&str]| {
        let mut command = Command::new(examples().join("run"));
        command.args(words).env("QUEUE_URL", url.trim()).env("HTC_PROGRAMS", &programs).output().unwrap()
    };
    let prepared = example(&["http", "--prepare", there.path().to_str().unwrap()]);
    assert!(prepared.status.success(), "{}", all_output(&prepared));
    let job = examples().join("jobs/true.ad");
    run(as_hooks(&there.path().join("queue")).arg("submit").arg(&job));
    assert_eq!(queue.list().lines().count(), 2, "{}", queue.list());
    assert_eq!(example(&["http"]).status.code(), Some(2));
    assert_eq!(example(&["postgres"]).status.code(), Some(2), "it is no URL of a database");
}

/// A database elsewhere is used as configured, and nothing of the example stays in it; other tables are
/// unchanged.
#[test]
fn a_remote_database_can_be_a_queue() {
    let Some(programs) = programs(&POSTGRES) else { return };
    let queue = Queue::new("postgres");
    let url = std::fs::read_to_string(queue.place.path().join("store/url")).unwrap();
    let example = || {
        let mut command = Command::new(examples().join("run"));
        command.arg("postgres").env("QUEUE_URL", url.trim()).env("HTC_PROGRAMS", &programs).output().unwrap()
    };
    let others = example();
    assert!(!others.status.success(), "{}", all_output(&others));
    assert_eq!(queue.list().lines().count(), 1, "{}", queue.list());
    assert!(queue.command(&["drop"]).status.success());
    for _ in 0..2 {
        let output = example();
        let text = all_output(&output);
        assert!(output.status.success() && TABLE.iter().all(|line| text.contains(line)), "{text}");
    }
    assert!(!queue.command(&["list"]).status.success(), "the tables are gone");
}

/// Checks that the end of a job is reported even if the server is unavailable for a moment.
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
    let mut stderr = BufReader::new(hook.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    server("start");
    assert!(hook.wait().unwrap().success());
    drop(stderr);
    assert!(queue.list().contains("\n1         done "), "{}", queue.list());
}

#[test]
fn the_end_of_a_job_is_reported_to_a_service_after_an_outage() {
    end_without_server("http", &HTTP);
}

#[test]
fn the_end_of_a_job_is_reported_to_a_database_after_an_outage() {
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
    assert!(output.status.success(), "{}", all_output(&output));
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
    assert!(all_output(&server("start")).contains("it is already running"));
    for word in ["stop", "stop", "start"] {
        let output = server(word);
        assert!(output.status.success(), "{word}: {}", all_output(&output));
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
    let kept = printed.lines().find_map(|line| line.strip_prefix("the output of the jobs is in ")).unwrap();
    assert_eq!(std::fs::read_to_string(Path::new(kept).join("00000001.out")).unwrap(), "hello\n");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    let refused = call(&["--jobs=3"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", all_output(&refused));
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
fn hosts_requires_numbers_and_a_recipient_for_lost_jobs() {
    for words in [&["--runners=0"][..], &["--runners=x"], &["--jobs="], &["--lose", "--runners=1"]] {
        let output = Command::new(examples().join("hosts")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stderr.starts_with(b"hosts: "), "{words:?}");
    }
}

#[test]
fn jobs_of_a_lost_host_are_returned() {
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
    let (output, fewer) = std::thread::scope(|scope| {
        let fewer = scope.spawn(|| hosts("--slots=4", "--jobs=3"));
        (hosts("--slots=2", "--jobs=8"), fewer.join().unwrap())
    });
    assert!(output.contains("lease lost: 2"), "{output}");
    assert!(!output.contains("late end"), "{output}");
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
