//! Runs the quickstart of the README and checks the table that a new user sees.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by it")]

use std::path::Path;
use std::process::Command;

/// The constant part of the table; the slot that ran a job, and so its keyword, differs from run to run.
const TABLE: [&str; 4] = [
    "1-succeeds    done      exited with status 0",
    "2-exits-3     failed    exited with status 3",
    "3-dies        failed    died by signal 15",
    "4-too-big     failed    refused by START: RequestMemory = 65536",
];

#[test]
fn the_quickstart_fetches_four_jobs_and_reports_their_outcome() {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-starter-run"))
    else {
        println!("skipped: the runners are not built");
        return;
    };
    let programs = Path::new(slot).parent().unwrap();
    let place = tempfile::tempdir().unwrap();
    // Root runs the jobs as nobody, who needs access to the directory.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).unwrap();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/run"))
        .env("HTC_PROGRAMS", programs)
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    let (table, message) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{table}{message}", output.status);
    for line in TABLE {
        assert!(table.lines().any(|printed| printed.starts_with(line)), "no {line:?} in\n{table}{message}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the copy is left behind");
}

/// A job that can never be started here does not keep the runner busy forever.
#[test]
fn a_job_that_is_always_evicted_fails_after_ten_evictions() {
    let place = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let queue = place.path().join("queue");
    for directory in ["new", "claimed", "failed"] {
        std::fs::create_dir_all(queue.join(directory)).unwrap();
    }
    let copied = Command::new("cp").arg("-R").arg(example.join("hooks")).arg(place.path()).status().unwrap();
    assert!(copied.success());
    std::fs::write(queue.join("new/a.ad"), "Cmd = \"/bin/true\"\n").unwrap();
    for evictions in 1..=10 {
        std::fs::rename(queue.join("new/a.ad"), queue.join("claimed/a.ad")).unwrap();
        let ad = std::fs::File::open(queue.join("claimed/a.ad")).unwrap();
        let named =
            format!("(cat; echo 'QueueName = \"a\"') | '{}/hooks/job_exit' evict", place.path().display());
        let ended = Command::new("sh").args(["-c", &named]).stdin(ad).status().unwrap();
        assert!(ended.success());
        assert_eq!(queue.join("failed/a.ad").exists(), evictions == 10, "{evictions} evictions");
    }
    let table = Command::new(example.join("run")).arg("--results").arg(place.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&table.stdout).contains("a             failed    evicted 10 times"));
}

/// Returns the output of `examples/programs` and what it makes cargo build, using a fake `cargo` that only
/// prints its arguments.
fn programs(words: &[&str], target: Option<&str>) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let (cargo, asked) = (place.path().join("cargo"), place.path().join("asked"));
    std::fs::write(&cargo, format!("#!/bin/sh\necho \"$PWD: $*\" >> '{}'\n", asked.display())).unwrap();
    std::fs::set_permissions(&cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/programs"));
    command.args(words).env_remove("HTC_PROGRAMS").env_remove("CARGO_TARGET_DIR");
    command.env("PATH", format!("{}:/usr/bin:/bin", place.path().display()));
    command.envs(target.map(|target| ("CARGO_TARGET_DIR", target)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8_lossy(&output.stdout).into_owned(), std::fs::read_to_string(asked).unwrap())
}

/// With `examples/quickstart/run 2> events` at a terminal, the build is shown on the terminal.
#[test]
fn a_build_is_shown_on_the_terminal_even_if_standard_error_is_redirected() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::write(at("cargo"), "#!/bin/sh\necho \"Compiling $*\" >&2\n").unwrap();
    std::fs::set_permissions(at("cargo"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let call = format!(
        "'{}/examples/programs' htc-slot-run 2> '{}'",
        env!("CARGO_MANIFEST_DIR"),
        at("events").display()
    );
    let output = Command::new("script")
        .args(["-qec", &call, "/dev/null"])
        .env_remove("HTC_PROGRAMS")
        .env("CARGO_TARGET_DIR", at("target"))
        .env("PATH", format!("{}:/usr/bin:/bin", place.path().display()))
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(output) = output else {
        println!("skipped: no script");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("compiling, which takes") && shown.contains("Compiling build --bin"), "{shown}");
    assert_eq!(std::fs::read_to_string(at("events")).unwrap(), "");
    // Without a terminal one line is printed, to standard error.
    let output = Command::new("setsid")
        .args(["-w", "sh", "-c", &call])
        .env_remove("HTC_PROGRAMS")
        .env("CARGO_TARGET_DIR", at("target"))
        .env("PATH", format!("{}:/usr/bin:/bin", place.path().display()))
        .output()
        .unwrap();
    assert!(output.status.success());
    let events = std::fs::read_to_string(at("events")).unwrap();
    assert_eq!(
        events,
        "programs: compiling, which takes about two minutes\nCompiling build --quiet --bin htc-slot-run\n"
    );
}

#[test]
fn examples_find_the_programs_where_cargo_builds_them() {
    let root = env!("CARGO_MANIFEST_DIR");
    for (words, target, printed, asked) in [
        (&[][..], None, format!("{root}/target/debug\n"), "build --quiet --bins"),
        (
            &["htc-slot-run", "htc-config-dump"],
            Some("/t"),
            "/t/debug\n".to_owned(),
            "build --quiet --bin htc-slot-run --bin htc-config-dump",
        ),
        (&["--release"], Some("other"), format!("{root}/other/release\n"), "build --quiet --release --bins"),
    ] {
        assert_eq!(programs(words, target), (printed, format!("{root}: {asked}\n")), "{words:?}");
    }
}

#[test]
fn every_example_finds_the_programs_through_one_script() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for script in [
        "quickstart/run",
        "queues/run",
        "queues/hosts",
        "workflow/run",
        "workflow/soak",
        "pool/run",
        "slurm/router/run",
        "slurm/pilot/run",
    ] {
        let text = std::fs::read_to_string(examples.join(script)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("HTC_PROGRAMS=$(\"$here/")).unwrap();
        let path = examples.join(script).parent().unwrap().join(line.split('"').next().unwrap());
        assert_eq!(path.canonicalize().unwrap(), examples.join("programs"), "{script}");
        assert!(!text.contains("/debug") && !text.contains("/release"), "{script}");
    }
}

#[test]
fn an_image_is_chosen_only_by_a_string() {
    let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/containers/pick-image");
    for (value, image, complaint) in [
        ("\"debian\"", "WantDocker = true\nDockerImage = \"debian\"\n", ""),
        ("5", "", "pick-image: WantSoftware = 5: the value is not a string, so no image is selected\n"),
    ] {
        let line = format!("WantSoftware = {value}");
        let output =
            Command::new("sh").args(["-c", "echo \"$1\" | \"$0\""]).arg(&hook).arg(line).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), image);
        assert_eq!(String::from_utf8_lossy(&output.stderr), complaint);
    }
}
