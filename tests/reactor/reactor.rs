//! Effects of children on the event loop, and of the event loop on children.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bstr::ByteSlice;
use htc_hooks::os::{LeftoverProcess, OutputStream, ReactorEvent, SignalScope, SpawnStage};
use htc_hooks::process::{
    AncestorStamp, ChildSpec, Exit, LeftoverPolicy, ProcessIdentity, SessionMode, Stdio,
};

use crate::children::{is_alive, write_executable};
use crate::sandbox::Sandbox;

struct Ended {
    exit: Exit,
    stdout: String,
    stderr: String,
    cut: bool,
    held: bool,
    taken: usize,
    left: Vec<LeftoverProcess>,
}

fn ended(event: ReactorEvent) -> Ended {
    match event {
        ReactorEvent::Exited { exit, stdout, stderr, stdin, left_behind, .. } => Ended {
            exit,
            stdout: stdout.bytes.to_str_lossy().into_owned(),
            stderr: stderr.bytes.to_str_lossy().into_owned(),
            cut: stdout.is_truncated,
            held: stdout.is_held_open,
            taken: stdin.taken,
            left: left_behind,
        },
        other => panic!("not an end: {other:?}"),
    }
}

fn run(script: &str) -> Ended {
    let mut sandbox = Sandbox::new();
    let spec = sandbox.shell(script);
    ended(sandbox.run(spec))
}

#[test]
fn output_and_status_arrive() {
    let end = run("echo out; echo err >&2; exit 7");
    assert_eq!((end.exit, end.stdout.as_str(), end.stderr.as_str()), (Exit::Code(7), "out\n", "err\n"));
    assert!(end.left.is_empty());
}

#[test]
fn ten_megabytes_of_input_are_echoed() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("cat");
    let bytes: Vec<u8> = (0..10 << 20).map(|index| (index % 251) as u8).collect();
    spec.stdio[0] = Stdio::Bytes(bytes.clone());
    spec.stdio[1] = Stdio::Capture { limit: 20 << 20 };
    let ReactorEvent::Exited { stdout, stdin, .. } = sandbox.run(spec) else { panic!("no end") };
    assert!(stdout.bytes == bytes);
    assert_eq!((stdin.offered, stdin.taken), (bytes.len(), bytes.len()));
}

#[test]
fn a_child_that_ignores_ten_megabytes_of_input_ends_normally() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("exit 0");
    spec.stdio[0] = Stdio::Bytes(vec![b'x'; 10 << 20]);
    let end = ended(sandbox.run(spec));
    assert_eq!(end.exit, Exit::Code(0));
    assert!(end.taken < 10 << 20);
}

#[test]
fn unread_input_is_counted() {
    let mut sandbox = Sandbox::new();
    let mut unread = |script: &str| {
        let mut spec = sandbox.shell(script);
        spec.stdio[0] = Stdio::Bytes(b"one\ntwo\n".to_vec());
        match sandbox.run(spec) {
            ReactorEvent::Exited { stdin, .. } => stdin.unread,
            other => panic!("not an end: {other:?}"),
        }
    };
    assert_eq!(unread("exit 0"), 8);
    assert_eq!(unread("cat"), 0);
    assert_eq!(unread("exec <&-"), 8);
}

#[test]
fn output_is_truncated_at_the_limit_and_the_child_gets_sigpipe() {
    let end = run("exec yes 0123456789");
    assert_eq!(end.exit, Exit::Signal { number: 13, core_dumped: false });
    assert_eq!(end.stdout.len(), 10_240);
    assert!(end.cut);
}

#[test]
fn with_sigpipe_ignored_the_child_gets_a_write_error() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("yes 2>/dev/null; echo after $? >&2; exit 5");
    spec.ignore_sigpipe = true;
    let end = ended(sandbox.run(spec));
    assert_eq!((end.exit, end.stderr.as_str()), (Exit::Code(5), "after 1\n"));
}

#[test]
fn a_gigabyte_passes_in_bounded_memory() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("head -c 1073741824 /dev/zero");
    spec.stdio[1] = Stdio::Stream;
    spec.stdio[2] = Stdio::Null;
    let child = sandbox.spawn(spec);
    let before = peak_kib();
    let mut total = 0;
    loop {
        match sandbox.next() {
            ReactorEvent::Piece { child: from, stream, bytes } => {
                assert_eq!((from, stream), (child, OutputStream::Stdout));
                total += bytes.len();
            }
            event => {
                assert_eq!(ended(event).exit, Exit::Code(0));
                break;
            }
        }
    }
    assert_eq!(total, 1 << 30);
    let grown = peak_kib() - before;
    assert!(grown < 16 * 1024, "peak memory grew by {grown} KiB");
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_child_that_closes_its_pipes_and_continues_is_waited_for() {
    let end = run("echo a; exec 0<&- 1>&- 2>&-; sleep 0.2; exit 9");
    assert_eq!((end.exit, end.stdout.as_str()), (Exit::Code(9), "a\n"));
}

#[test]
fn a_grandchild_that_holds_stdout_is_killed_and_reported() {
    let end = run("sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; echo $!; exit 3");
    assert_eq!(end.exit, Exit::Code(3));
    let pid: i32 = end.stdout.trim().parse().unwrap();
    assert_eq!(end.left.len(), 1);
    assert_eq!((end.left[0].pid, end.left[0].command.as_bstr()), (pid, "sleep".into()));
    assert!(end.left[0].holds_stdout && end.left[0].holds_stderr && end.left[0].killed);
    assert!(!is_alive(pid));
    assert!(!end.held, "its death closed the pipe");
}

#[test]
fn a_grandchild_is_reported_with_its_last_program() {
    // The shell ends before its child has opened or executed anything.
    for _ in 0..20 {
        let end = run("sleep 1000 >/dev/null 2>&1 & exit 0");
        assert_eq!(end.left.len(), 1);
        assert_eq!(end.left[0].command.as_bstr(), "sleep");
        assert!(!end.left[0].holds_stdout && !end.left[0].holds_stderr && end.left[0].killed);
    }
    // A process that never executes a program is not waited for.
    let end = run("(while :; do read x; done) <&- & exit 0");
    assert_eq!(end.left.len(), 1);
    assert!(end.left[0].command != "sleep" && end.left[0].killed);
}

#[test]
fn a_kept_grandchild_lives_until_the_family_is_killed_and_is_not_waited_for() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("sleep 1000 & echo $!");
    spec.leftover_policy = LeftoverPolicy::Keep;
    let child = sandbox.spawn(spec);
    let end = ended(sandbox.next());
    let pid: i32 = end.stdout.trim().parse().unwrap();
    assert!(end.held && !end.left[0].killed && is_alive(pid));
    sandbox.reactor.send_signal(child, 9, SignalScope::Family);
    sandbox.reactor.kill_all(crate::children::LONG);
    assert!(!is_alive(pid));
}

#[test]
fn nothing_is_left_when_the_reactor_is_dropped() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("sleep 1000 & echo $!; exec sleep 1000");
    spec.stdio[1] = Stdio::Stream;
    spec.stdio[2] = Stdio::Null;
    let child = sandbox.spawn(spec);
    let ReactorEvent::Piece { bytes, .. } = sandbox.next() else { panic!("no line") };
    let grandchild: i32 = bytes.to_str().unwrap().trim().parse().unwrap();
    let pid = sandbox.reactor.pid(child).unwrap();
    assert!(is_alive(grandchild) && is_alive(pid));
    drop(sandbox);
    assert!(!is_alive(grandchild) && !is_alive(pid));
}

#[test]
fn a_daemon_that_forks_twice_into_its_own_session_is_found_by_its_marker() {
    let mut sandbox = Sandbox::new();
    // The pipe of the inner cat shows that setsid has happened before the child ends.
    let mut spec = sandbox.shell(
        "(setsid sh -c 'echo $$; exec sleep 1000' 2>&1 >&3 &) 3>daemon; while [ ! -s daemon ]; do :; done",
    );
    spec.ancestor_stamp = Some(AncestorStamp { time: 1, random: 2 });
    let other = sandbox.shell("exec sleep 1000");
    let bystander = sandbox.spawn(other);
    let end = ended(sandbox.run(spec));
    let pid: i32 = std::fs::read_to_string(sandbox.path("daemon")).unwrap().trim().parse().unwrap();
    assert_eq!(end.left.iter().map(|left| left.pid).collect::<Vec<_>>(), [pid]);
    assert!(!is_alive(pid));
    assert!(is_alive(sandbox.reactor.pid(bystander).unwrap()));
}

#[test]
fn a_daemon_without_marks_is_found_if_only_our_child_can_be_its_parent() {
    let mut sandbox = Sandbox::new();
    let spec =
        sandbox.shell("(env -i setsid /bin/sh -c 'echo $$; exec sleep 1000' >daemon 2>&1 &); while [ ! -s daemon ]; do :; done");
    let end = ended(sandbox.run(spec));
    let pid: i32 = std::fs::read_to_string(sandbox.path("daemon")).unwrap().trim().parse().unwrap();
    assert_eq!(end.left.len(), 1);
    assert!(!is_alive(pid));
}

#[test]
fn a_fork_bomb_is_killed_completely() {
    let end = run("i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; echo started");
    assert_eq!(end.stdout, "started\n");
    assert_eq!(end.left.len(), 200);
    assert!(end.left.iter().all(|left| left.killed && !is_alive(left.pid)));
}

#[test]
fn a_family_that_ignores_sigterm_is_killed_by_sigkill() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("trap '' TERM; (echo ready; while :; do sleep 1000; done) & wait");
    spec.stdio[1] = Stdio::Stream;
    let child = sandbox.spawn(spec);
    assert!(matches!(sandbox.next(), ReactorEvent::Piece { .. }));
    sandbox.reactor.send_signal(child, 15, SignalScope::Process);
    let now = htc_hooks::os::clock::monotonic_now();
    let timeout = sandbox.reactor.next_event(Some(now.plus(std::time::Duration::from_millis(30)))).unwrap();
    assert_eq!(timeout, ReactorEvent::Timeout);
    sandbox.reactor.send_signal(child, 9, SignalScope::Family);
    assert_eq!(ended(sandbox.next()).exit, Exit::Signal { number: 9, core_dumped: false });
}

#[test]
fn a_stopped_child_has_not_ended_and_can_be_killed() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("echo stopping; kill -STOP $$; echo never");
    spec.stdio[1] = Stdio::Stream;
    let child = sandbox.spawn(spec);
    assert!(matches!(sandbox.next(), ReactorEvent::Piece { .. }));
    let pid = sandbox.reactor.pid(child).unwrap();
    while htc_hooks::os::process_table::read_process(pid).unwrap().state != b'T' {
        std::thread::yield_now();
    }
    sandbox.reactor.send_signal(child, 9, SignalScope::Family);
    assert_eq!(ended(sandbox.next()).exit, Exit::Signal { number: 9, core_dumped: false });
}

#[test]
fn a_child_that_kills_itself_ends_by_that_signal() {
    assert!(matches!(run("kill -SEGV $$").exit, Exit::Signal { number: 11, .. }));
    assert_eq!(run("kill -KILL $$").exit, Exit::Signal { number: 9, core_dumped: false });
}

#[test]
fn failing_to_execute_and_exiting_with_127_are_different() {
    assert_eq!(run("exit 127").exit, Exit::Code(127));
    let mut sandbox = Sandbox::new();
    let error = sandbox.reactor.spawn(ChildSpec::new(sandbox.path("missing"))).unwrap_err();
    assert_eq!((error.stage, error.errno()), (SpawnStage::Execute, 2));
    assert_eq!(error.interpreter, None);
}

#[test]
fn each_reason_for_a_failed_exec_is_reported() {
    let mut sandbox = Sandbox::new();
    let mut error = |name: &str, text: &[u8], mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = sandbox.path(name);
        write_executable(&path, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        sandbox.reactor.spawn(ChildSpec::new(path)).unwrap_err()
    };
    let missing = error("interpreter", b"#!/no/such/shell -x\n", 0o755);
    assert_eq!(missing.interpreter.unwrap(), "/no/such/shell");
    let crlf = error("crlf", b"#!/bin/sh\r\necho\r\n", 0o755);
    assert_eq!(crlf.interpreter.unwrap(), "/bin/sh\r");
    assert_eq!(error("empty", b"", 0o755).errno(), 8);
    assert_eq!(error("text", b"echo\n", 0o755).errno(), 8);
    assert_eq!(error("mode", b"#!/bin/sh\n", 0o644).errno(), 13);
    let home = sandbox.home.path().to_owned();
    assert_eq!(sandbox.reactor.spawn(ChildSpec::new(home)).unwrap_err().errno(), 13);
}

#[test]
fn a_file_open_for_writing_is_busy() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.script("busy", "#!/bin/sh\n");
    // Binaries are refused like text: the kernel checks the file before its first line.
    let writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(sandbox.reactor.spawn(ChildSpec::new(&path)).unwrap_err().errno(), 26);
    drop(writer);
}

#[test]
fn a_nul_byte_in_an_argument_is_refused_before_anything_is_created() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("true");
    spec.argv.push(b"a\0b".into());
    assert_eq!(sandbox.reactor.spawn(spec).unwrap_err().stage, SpawnStage::NulByte);
}

#[test]
fn environment_descriptors_mask_umask_and_groups_are_exactly_as_specified() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("env | sort; ls /proc/self/fd | tr '\\n' ' '; umask; ps -o pid=,pgid=,sid= -p $$ | tr -s ' '; echo $$");
    spec.env.push("B=2".into());
    spec.umask = 0o027;
    spec.session = SessionMode::NewSession;
    let end = ended(sandbox.run(spec));
    let lines: Vec<&str> = end.stdout.lines().collect();
    assert!(lines.contains(&"B=2") && !end.stdout.contains("HOME="), "{}", end.stdout);
    assert!(end.stdout.contains("0 1 2 3 0027"), "{}", end.stdout);
    let pid = lines.last().unwrap();
    assert!(end.stdout.contains(&format!("{pid} {pid} {pid}")), "{}", end.stdout);
}

#[test]
fn only_the_wanted_signals_are_blocked_or_ignored() {
    let mut sandbox = Sandbox::new();
    let mut spec = ChildSpec::new("/bin/grep");
    spec.argv = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"].map(Into::into).to_vec();
    spec.stdio[1] = Stdio::Capture { limit: 1000 };
    spec.blocked_signals = vec![15];
    spec.ignore_sigpipe = true;
    let text = ended(sandbox.run(spec)).stdout;
    let mask = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        // Signals 32 and 33 are reserved by the C library.
        u64::from_str_radix(line[name.len()..].trim(), 16).unwrap() & !(3 << 31)
    };
    assert_eq!((mask("SigBlk:"), mask("SigIgn:")), (1 << 14, 1 << 12));
}

#[test]
fn closed_descriptors_are_closed() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox
        .shell("for f in 0 1 2; do [ -e /proc/self/fd/$f ] && printf $f >> open; done; echo x >> done");
    spec.stdio = [Stdio::Closed, Stdio::Closed, Stdio::Closed];
    sandbox.run(spec);
    // printf's redirection uses a free descriptor, so only descriptors that were open before count.
    assert!(sandbox.path("done").exists());
    assert!(!sandbox.path("open").exists());
}

#[test]
fn the_ancestor_marker_follows_older_ones_and_has_the_childs_pid() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("tr '\\0' '\\n' < /proc/self/environ; echo $$");
    spec.env.insert(0, "_CONDOR_ANCESTOR_1=2:3:4".into());
    spec.ancestor_stamp = Some(AncestorStamp { time: 1700000000, random: 77 });
    let end = ended(sandbox.run(spec));
    let lines: Vec<&str> = end.stdout.lines().collect();
    let pid = lines.last().unwrap();
    let own = std::process::id();
    assert!(lines.contains(&"_CONDOR_ANCESTOR_1=2:3:4"));
    assert!(
        lines.contains(&format!("_CONDOR_ANCESTOR_{own}={pid}:1700000000:77").as_str()),
        "{}",
        end.stdout
    );
}

#[test]
fn a_child_runs_under_another_account_with_its_groups() {
    if !htc_hooks::os::identity::can_switch_account() {
        println!("skipped: changing the account needs root");
        return;
    }
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("id -u; id -g; id -G");
    std::fs::set_permissions(sandbox.home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    spec.identity = Some(ProcessIdentity { uid: 4711, gid: 4712, groups: vec![4712, 4713] });
    assert_eq!(ended(sandbox.run(spec)).stdout, "4711\n4712\n4712 4713\n");
}

#[test]
fn output_files_are_opened_by_the_child_and_a_fifo_blocks_nothing() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("echo out; echo err >&2");
    let file = sandbox.path("log");
    spec.stdio[1] = Stdio::File { path: file.clone(), write: true, truncate: true, append: false };
    spec.stdio[2] = Stdio::Stdout;
    sandbox.run(spec);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "out\nerr\n");
    let fifo = sandbox.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut spec = sandbox.shell("echo out");
    spec.stdio[1] = Stdio::File { path: fifo.clone(), write: true, truncate: false, append: false };
    let soon = || htc_hooks::os::clock::monotonic_now().plus(std::time::Duration::from_millis(200));
    // The child waits for a reader; we do not wait.
    sandbox.spawn(spec.clone());
    assert_eq!(sandbox.reactor.next_event(Some(soon())).unwrap(), ReactorEvent::Timeout);
    assert_eq!(fs::read_to_string(&fifo).unwrap(), "out\n");
    assert_eq!(ended(sandbox.next()).exit, Exit::Code(0));
    let child = sandbox.spawn(spec);
    assert_eq!(sandbox.reactor.next_event(Some(soon())).unwrap(), ReactorEvent::Timeout);
    sandbox.reactor.send_signal(child, nix::libc::SIGTERM, SignalScope::Process);
    assert_eq!(ended(sandbox.next()).exit, Exit::Signal { number: 15, core_dumped: false });
}

#[test]
fn the_resource_usage_of_a_family_is_measured() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("sleep 1000 & echo ready; wait");
    spec.stdio[1] = Stdio::Stream;
    let child = sandbox.spawn(spec);
    assert!(matches!(sandbox.next(), ReactorEvent::Piece { .. }));
    let usage = sandbox.reactor.family_usage(child).unwrap();
    assert_eq!(usage.pids.len(), 2);
    assert!(usage.resident_kib > 0 && usage.image_kib >= usage.resident_kib);
}

#[test]
fn a_drained_pipe_has_the_last_output_of_a_grandchild() {
    let mut sandbox = Sandbox::new();
    let mut spec = sandbox.shell("(while [ ! -e go ]; do :; done; echo late) & exit 0");
    spec.leftover_policy = LeftoverPolicy::Keep;
    spec.drain_timeout = crate::children::LONG;
    sandbox.spawn(spec);
    let soon = htc_hooks::os::clock::monotonic_now().plus(std::time::Duration::from_millis(20));
    assert_eq!(sandbox.reactor.next_event(Some(soon)).unwrap(), ReactorEvent::Timeout);
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(ended(sandbox.next()).stdout, "late\n");
}

#[test]
fn many_children_at_once_are_each_reported_once() {
    let mut sandbox = Sandbox::new();
    let script = sandbox.script("many", "#!/bin/sh\nread line; echo \"$line\"; exit ${line#*.}\n");
    let mut expected = std::collections::BTreeMap::new();
    for number in 0..100u8 {
        let mut spec = ChildSpec::new(&script);
        spec.stdio =
            [Stdio::Bytes(format!("n.{number}\n").into()), Stdio::Capture { limit: 100 }, Stdio::Null];
        expected.insert(sandbox.spawn(spec), number);
    }
    while !expected.is_empty() {
        let ReactorEvent::Exited { child, exit, stdout, .. } = sandbox.next() else { panic!("not an end") };
        let number = expected.remove(&child).unwrap();
        assert_eq!(exit, Exit::Code(number));
        assert_eq!(stdout.bytes, format!("n.{number}\n").into_bytes());
    }
}

#[test]
fn a_directory_is_mounted_only_if_the_account_can_reach_it() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let mut sandbox = Sandbox::new();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(sandbox.home.path(), 0o755);
    for name in ["open", "closed", "closed/inner", "target"] {
        fs::create_dir(sandbox.path(name)).unwrap();
        fs::write(sandbox.path(name).join("file"), name).unwrap();
    }
    // A file in a closed directory may itself be readable by everybody.
    mode(&sandbox.path("closed"), 0o700);
    std::os::unix::fs::symlink(sandbox.path("closed/inner"), sandbox.path("link")).unwrap();
    let mut bound = |source: &str| {
        let mut spec = sandbox.shell(&format!("cat {}/file", sandbox.path("target").display()));
        spec.identity = Some(ProcessIdentity { uid: 65534, gid: 65534, groups: vec![65534] });
        spec.mounts = vec![(sandbox.path(source), sandbox.path("target"))];
        sandbox.reactor.spawn(spec).map_err(|error| error.errno())
    };
    assert_eq!(bound("link"), Err(nix::errno::Errno::EACCES as i32));
    let child = bound("open").unwrap();
    let event = sandbox.reactor.next_event(Some(Sandbox::deadline())).unwrap();
    let ReactorEvent::Exited { child: ended, stdout, .. } = event else { panic!("{event:?}") };
    assert_eq!((ended, stdout.bytes.as_slice()), (child, &b"open"[..]));
}

#[test]
fn no_process_with_our_marker_outlives_the_reactor() {
    let mut sandbox = Sandbox::new();
    // With a separate session and another value in the marker, no child claims the process.
    let own = std::process::id();
    let script = format!(
        "_CONDOR_ANCESTOR_{own}=1:2:3 setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 600' & \
         while [ ! -e pid ]; do sleep 0.01; done"
    );
    // With two other children, a process without a marker belongs to the only remaining one.
    for _ in 0..2 {
        let mut other = sandbox.shell("exec sleep 600");
        other.session = SessionMode::NewSession;
        sandbox.spawn(other);
    }
    let mut spec = sandbox.shell(&script);
    spec.session = SessionMode::NewSession;
    sandbox.spawn(spec);
    ended(sandbox.next());
    let pid: i32 = std::fs::read_to_string(sandbox.path("pid")).unwrap().trim().parse().unwrap();
    assert!(is_alive(pid), "it was known to be the child's");
    sandbox.reactor.kill_all(crate::children::LONG);
    assert!(!is_alive(pid));
}
