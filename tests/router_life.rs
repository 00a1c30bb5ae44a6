//! Tests of the life of routed jobs: in a directory of job ads with a router that is killed and restarted,
//! and over time.

#![allow(clippy::unwrap_used, reason = "a test helper that cannot go on says so by panicking")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use htc_hooks::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{RouteLoadContext, RouteTable, Router, RouterParameters};
use htc_hooks::runner::hook_environment::{ConfigSelection, DaemonEnvironment};
use htc_hooks::runner::router::{RouterOptions, StopConditions, run};
use htc_hooks::simulate::router::{RouterSimulation, RouterSnapshot, simulate};
use htc_hooks::simulate::{JobFiles, Scenario, SkippedAd, Workload};
use htc_hooks::time::ClockReading;
use htc_hooks::world::World;

const ROUTE: &str = "JOB_ROUTER_NAME = jobrouter\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\n\
    JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n  SET Routed true\n@r\n";

fn config(directory: &Path, text: &str) -> Config {
    let file = directory.join("config");
    fs::write(&file, text).unwrap();
    let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
    let options = LoadOptions {
        file: Some(file),
        environment: false,
        commands: CommandPolicy::BOUNDED_RUN,
        ..LoadOptions::default()
    };
    Config::load(&RealWorld::new(), &who, &options).unwrap().0
}

fn router(config: &Config, now: ClockReading) -> Router {
    let world = RealWorld::new();
    let view = config.view(&world);
    let knobs = RouterParameters::load(&view, &mut |complaint| panic!("{}", complaint.text));
    let table = RouteTable::load(
        RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks: QuirkMode::Manual },
        &mut |_| {},
    );
    Router::new(knobs, table, QuirkMode::Manual, now)
}

/// Runs one poll of a router that has just been started.
fn poll(queue: &Path, config: &Config) -> Vec<String> {
    let world = RealWorld::new();
    let lines = RefCell::new(Vec::new());
    let options = RouterOptions {
        view: &config.view(&world),
        world: &world,
        environment: DaemonEnvironment::from_program(&world, &ConfigSelection::default()),
        quirks: QuirkMode::Manual,
        hook_limit: None,
        copies_directory: None,
        submit_command: None,
        stop_conditions: StopConditions { once: true, idle_limit: None },
        log: &|text| lines.borrow_mut().push(text.to_owned()),
    };
    run(queue, router(config, world.now()), &options).unwrap();
    lines.into_inner()
}

/// Returns the owner of the jobs: root writes to user logs with the owner's rights, so the owner must exist.
fn owner(place: &Path) -> &'static str {
    use std::os::unix::fs::PermissionsExt;
    if !htc_hooks::os::identity::can_switch_account() {
        return "ana";
    }
    for path in [place, &place.join("queue")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    "nobody"
}

fn source(queue: &Path, id: u32) {
    let (iwd, owner) = (queue.display(), owner(queue.parent().unwrap()));
    let ad = format!(
        "Owner = \"{owner}\"\nJobStatus = 1\nJobUniverse = 5\nWantRoute = true\nIwd = \"{iwd}\"\nUserLog = \"{id}.log\"\n"
    );
    fs::write(queue.join(format!("{id}.0.ad")), ad).unwrap();
}

fn edit(queue: &Path, job: &str, from: &str, to: &str) {
    let file = queue.join(format!("{job}.ad"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{job} has no '{from}':\n{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

fn jobs(queue: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(queue)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".0.ad").map(str::to_owned))
        .collect();
    names.sort();
    names
}

#[test]
fn a_router_restarted_for_each_poll_ends_every_job_once() {
    let place = tempfile::tempdir().unwrap();
    let queue = place.path().join("queue");
    fs::create_dir(&queue).unwrap();
    let config = config(place.path(), ROUTE);
    (1..=4).for_each(|id| source(&queue, id));
    poll(&queue, &config);
    assert_eq!(jobs(&queue), ["1", "2", "3", "4", "5", "6", "7", "8"]);
    let copy = fs::read_to_string(queue.join("5.0.ad")).unwrap();
    for line in [
        "RoutedFromJobId = \"1.0\"",
        "RoutedBy = \"jobrouter\"",
        "Routed = true",
        "LeaveJobInQueue = JobStatus == 4",
    ] {
        assert!(copy.contains(line), "no {line} in\n{copy}");
    }
    // No job is routed a second time.
    let again = poll(&queue, &config);
    assert!(
        again.iter().all(|line| line.contains("adopted orphaned job") || line.contains("updated job status"))
    );
    edit(&queue, "5.0", "JobStatus = 1\n", "JobStatus = 4\nExitCode = 3\nExitBySignal = false\n");
    edit(&queue, "6.0", "JobStatus = 1\n", "JobStatus = 5\nHoldReason = \"far\"\nHoldReasonCode = 7\n");
    edit(&queue, "3.0", "JobStatus = 1\n", "JobStatus = 3\n");
    fs::remove_file(queue.join("8.0.ad")).unwrap();
    poll(&queue, &config);
    // Job 1 has finished, 2 is held together with its copy, 3 and its copy are gone, 4 was returned.
    assert_eq!(jobs(&queue), ["2", "4", "6"]);
    let held = fs::read_to_string(queue.join("2.0.ad")).unwrap();
    for line in
        ["JobStatus = 5", "HoldReason = \"far\"", "HoldCopiedFromTargetJob = true", "RoutedToJobId = \"6.0\""]
    {
        assert!(held.contains(line), "no {line} in\n{held}");
    }
    let log = fs::read_to_string(queue.join("1.log")).unwrap();
    assert!(log.starts_with("005 (001.000.000) ") && log.contains("(return value 3)"), "{log}");
    assert!(fs::read_to_string(queue.join("3.log")).unwrap().contains("Job was aborted."));
    let history = fs::read_to_string(queue.join("history")).unwrap();
    assert_eq!(history.matches("\n*** ").count(), 4, "{history}");
    // The returned job is routed again, with an id that was never used before.
    poll(&queue, &config);
    assert_eq!(jobs(&queue), ["2", "4", "6", "9"]);
}

#[test]
fn limits_hold_over_time_and_failures_slow_a_route_down() {
    let place = tempfile::tempdir().unwrap();
    let text = ROUTE.replace("  SET Routed true\n", "  MaxJobs = 10\n  MaxIdleJobs = 4\n");
    let config = config(place.path(), &text);
    let world = RealWorld::new();
    let scenario = |fail: u32| -> Scenario {
        Scenario::parse(&format!(
            "start = '@0'\nduration = 3000\n[[jobs]]\ncount = 400\nad = \"WantRoute = true\"\nwait = 20\nrun = 60\nfail = {fail}\n"
        ))
        .unwrap()
    };
    let play = |fail: u32| -> Vec<RouterSnapshot> {
        let mut points = Vec::new();
        let router = router(&config, ClockReading::from_epoch(0));
        let note = &mut |point: &RouterSnapshot| points.push(point.clone());
        let (scenario, view) = (scenario(fail), config.view(&world));
        let open = &mut |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let files = JobFiles { open, on_skipped: &mut |_: &str, _: SkippedAd<'_>| {} };
        let jobs = Workload::new(&scenario, 0, None, &world, files).unwrap();
        let course = RouterSimulation { scenario: &scenario, jobs, start: 0, view: &view, world: &world };
        let totals = simulate(course, router, note, &mut |_, _| {}).unwrap();
        // The totals match the points.
        let last = points.last().unwrap();
        assert_eq!((totals.arrived, totals.waiting), (400, last.waiting as u64));
        assert_eq!((totals.finished, totals.failed), (last.finished as u64, last.failed as u64));
        assert_eq!(totals.routes[0].most, points.iter().map(|point| point.routes[0].jobs).max().unwrap());
        assert!(totals.routes[0].routed >= totals.finished + totals.failed, "{totals:?}");
        points
    };
    let well = play(0);
    for point in &well {
        let route = &point.routes[0];
        assert!(route.jobs <= 10 && route.throttle == 0.0, "{point:?}");
    }
    assert!(well.last().is_some_and(|point| point.finished > 100), "{:?}", well.last());
    let badly = play(100);
    assert!(badly.iter().any(|point| point.routes[0].throttle > 0.0));
    assert_eq!(badly.last().map(|point| point.finished), Some(0));
}

/// Returns the routed jobs of a directory that are still running, with their files.
fn copies(queue: &Path) -> Vec<(String, String)> {
    let names =
        fs::read_dir(queue).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let ads = names.filter(|name| name.ends_with(".ad") && !name.starts_with('.')).filter_map(|name| {
        let text = fs::read_to_string(queue.join(&name)).ok()?;
        text.contains("\nRoutedFromJobId = ").then_some((name, text))
    });
    ads.collect()
}

/// Kills a router at pseudorandom times, restarts it, and ends copies now and then, until all source jobs are
/// done. Each must then have been routed and have left exactly once.
fn trial(seed: u64, program: &str) {
    const SOURCES: u32 = 12;
    let place = tempfile::tempdir().unwrap();
    let queue = place.path().join("queue");
    fs::create_dir(&queue).unwrap();
    let file = place.path().join("config");
    fs::write(&file, format!("{ROUTE}JOB_ROUTER_POLLING_PERIOD = 1\n")).unwrap();
    (1..=SOURCES).for_each(|id| source(&queue, id));
    let mut state = seed;
    let mut chance = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut runs = 0;
    while !jobs(&queue).is_empty() {
        runs += 1;
        let left = || -> String {
            let names = jobs(&queue).into_iter().map(|job| format!("{job}.0.ad"));
            names.map(|name| fs::read_to_string(queue.join(&name)).unwrap_or_default()).collect()
        };
        assert!(runs < 400, "seed {seed}: these are left:\n{}", left());
        let mut router = std::process::Command::new(program)
            .args(["run", "--once", "--no-env", "--config-file"])
            .arg(&file)
            .arg("--queue")
            .arg(&queue)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Most routers are killed, some end by themselves.
        if chance(5) > 0 {
            std::thread::sleep(std::time::Duration::from_micros(chance(60_000)));
            let _ = router.kill();
        }
        let _ = router.wait();
        for (name, text) in copies(&queue) {
            if chance(3) == 0 && text.contains("JobStatus = 1\n") {
                let ended =
                    text.replace("JobStatus = 1\n", "JobStatus = 4\nExitCode = 0\nExitBySignal = false\n");
                fs::write(queue.join(format!(".far-{name}")), ended).unwrap();
                fs::rename(queue.join(format!(".far-{name}")), queue.join(&name)).unwrap();
            }
        }
    }
    let history = fs::read_to_string(queue.join("history")).unwrap();
    for id in 1..=SOURCES {
        let left = history.matches(&format!("*** Offset = -1 ClusterId = {id} ProcId = 0 ")).count();
        assert_eq!(left, 1, "seed {seed}: source {id} left {left} times");
        let routed = history.matches(&format!("RoutedFromJobId = \"{id}.0\"\n")).count();
        assert_eq!(routed, 1, "seed {seed}: source {id} was routed {routed} times");
    }
}

#[test]
fn a_router_killed_at_any_moment_routes_every_job_once() {
    let Some(program) = option_env!("CARGO_BIN_EXE_htc-router-translate") else {
        println!("skipped: htc-router-translate is not built");
        return;
    };
    let trials = std::env::var("HTC_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    (1..=trials).for_each(|seed| trial(seed, program));
}

#[test]
fn attributes_of_states_and_holds_are_kept_as_by_a_schedd() {
    let place = tempfile::tempdir().unwrap();
    let queue = place.path().join("queue");
    fs::create_dir(&queue).unwrap();
    let config = config(place.path(), ROUTE);
    source(&queue, 1);
    poll(&queue, &config);
    edit(&queue, "2.0", "JobStatus = 1\n", "JobStatus = 2\n");
    poll(&queue, &config);
    let ad = || fs::read_to_string(queue.join("1.0.ad")).unwrap();
    assert!(ad().contains("JobStatus = 2\n") && ad().contains("LastJobStatus = 1\n"), "{}", ad());
    edit(&queue, "2.0", "JobStatus = 2\n", "JobStatus = 5\nHoldReason = \"h\"\nHoldReasonCode = 1\n");
    poll(&queue, &config);
    for line in ["LastJobStatus = 2\n", "NumHolds = 1\n", "NumHoldsByReason = [ UserRequest = 1 ]\n"] {
        assert!(ad().contains(line), "no {line} in {}", ad());
    }
    edit(&queue, "2.0", "JobStatus = 5\n", "JobStatus = 2\n");
    poll(&queue, &config);
    edit(&queue, "2.0", "JobStatus = 2\n", "JobStatus = 5\n");
    edit(&queue, "2.0", "HoldReasonCode = 1\n", "HoldReasonCode = 12\n");
    poll(&queue, &config);
    assert!(ad().contains("NumHolds = 2\n"), "{}", ad());
    for reason in ["UserRequest = 1", "TransferOutputError = 1"] {
        assert!(ad().contains(reason), "{}", ad());
    }
    // The job is returned although its routed job no longer exists, and is idle again.
    fs::remove_file(queue.join("2.0.ad")).unwrap();
    poll(&queue, &config);
    assert!(ad().contains("LastJobStatus = 5\n"), "{}", ad());
}

#[test]
fn an_invalid_threshold_is_reported_and_does_not_close_the_route() {
    let place = tempfile::tempdir().unwrap();
    let config =
        config(place.path(), &ROUTE.replace("  SET Routed", "  FailureRateThreshold = 1_000\n  SET Routed"));
    let world = RealWorld::new();
    let view = config.view(&world);
    let knobs = RouterParameters::load(&view, &mut |_| {});
    for (quirks, expected) in [(QuirkMode::Manual, 0.03), (QuirkMode::Reference, 1.0)] {
        let mut told = Vec::new();
        let table = RouteTable::load(
            RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks },
            &mut |note| told.push(format!("{:?}", note.subject)),
        );
        assert_eq!(table.routes[0].failure_rate_threshold, expected);
        assert!(
            told.iter().any(|line| line.contains("FailureRateThreshold '1_000' is not a number")),
            "{told:?}"
        );
    }
}
