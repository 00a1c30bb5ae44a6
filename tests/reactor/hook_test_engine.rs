//! Runs suites of hook tests without the program: the input is the cases, the output their results.

use htc_hooks::hook_testing::{Interruptible, SuiteSettings, suite_run};
use htc_hooks::hook_testing::{suite, update_suites};
use htc_hooks::os::Reactor;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::hook_environment::ConfigSelection;

use crate::children::{LONG, write_executable};
use crate::sandbox::Sandbox;

const SUITE: &str = "\
[[case]]
name = \"good\"
type = \"prepare\"
hook = \"hook\"
expect = { verdict = \"go-on\", result = [\"A == 1\"] }

[[case]]
name = \"other\"
type = \"prepare\"
hook = \"hook\"
expect = { verdict = \"not-started\", exit = 3 }

[[case]]
name = \"word\"
type = \"exit\"
hook = \"hook\"
words = [\"stop\"]

[[case]]
name = \"cron\"
type = \"schedd-cron\"
hook = \"hook\"
expect = { result = [\"A == 1\"] }
";

#[test]
fn a_suite_is_run_and_updated_without_a_process_of_ours() {
    let sandbox = Sandbox::new();
    // Each run has its own reactor.
    drop(sandbox.reactor);
    let home = sandbox.home.path();
    write_executable(&home.join("hook"), b"#!/bin/sh\ncat >/dev/null\necho 'A = 1'\n");
    let path = home.join("s.toml");
    std::fs::write(&path, SUITE).unwrap();
    let how = SuiteSettings {
        configuration: ConfigSelection { file: None, parameters: Vec::new(), no_env: true },
        quirks: QuirkMode::Manual,
        timeout: Some(LONG),
        parallel: 2,
        strict: false,
    };
    let run = || {
        let advanced = std::cell::Cell::new(0);
        let cases = suite::read_suites(&path, &mut |path| Ok(Box::new(std::fs::File::open(path)?))).unwrap();
        let done =
            suite_run::run_cases(cases, &how, &|| Reactor::new(&[]), &|| advanced.set(advanced.get() + 1));
        let Interruptible::Finished(done) = done.unwrap() else { panic!("interrupted") };
        (done, advanced.get())
    };
    let (done, advanced) = run();
    assert_eq!(advanced, 4);
    let names: Vec<(&str, &[&str])> = done.iter().map(|one| (one.name.as_str(), &one.unmet[..])).collect();
    let none: &[&str] = &[];
    assert_eq!(
        names,
        [("s: good", none), ("s: other", &["verdict", "exit"]), ("s: word", none), ("s: cron", none)]
    );
    assert_eq!(done[2].failures, ["words = [\"stop\"]: expected one of exit, evict, hold, remove"]);

    let mut told = Vec::new();
    update_suites(&done, &mut |line| told.push(line)).unwrap();
    assert_eq!(told, ["updated: s: other", "not updated: s: word: it could not be called"]);
    let (done, _) = run();
    let failed: Vec<&str> =
        done.iter().filter(|one| !one.failures.is_empty()).map(|one| one.name.as_str()).collect();
    assert_eq!(failed, ["s: word"]);
}
