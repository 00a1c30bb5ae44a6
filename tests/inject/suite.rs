//! Workload: a suite of hook tests.

use std::fs;
use std::path::Path;

use crate::strace::{self, CommandLine, FaultedRun};
use crate::workload::{Workload, judge_leftovers, judge_program, make_directories};

/// Suite with three cases.
pub(crate) struct Suite;

const SUITE: &str = r##"
[[case]]
name = "prepare"
type = "prepare"
sample_job = "vanilla"
files = { "hook" = "#!/bin/sh\necho 'HookStatusCode = 190'\n" }
hook = "${DIR}/hook"
shadow = true
expect = { verdict = "held", subcode = 190 }

[[case]]
name = "fetch"
type = "fetch"
files = { "hook" = "#!/bin/sh\ncat >/dev/null\necho 'Cmd = \"/bin/true\"'\necho 'ClusterId = 1'\n" }
hook = "${DIR}/hook"
expect = { result = ["ClusterId == 1"] }

[[case]]
name = "exit"
type = "exit"
sample_job = "vanilla"
files = { "hook" = "#!/bin/sh\ncat >\"$1\"\n" }
hook = "${DIR}/hook"
words = ["exit"]
"##;
const PASSED: &str = "3 cases passed, 0 failed, 0 skipped";

impl Workload for Suite {
    fn name(&self) -> &'static str {
        "suite"
    }

    fn prepare(&self, home: &Path) {
        make_directories(home, &[], &["tmp"]);
        fs::write(home.join("suite.toml"), SUITE).unwrap();
    }

    fn command(&self, home: &Path, quiet: bool) -> CommandLine {
        let line =
            CommandLine::new(env!("CARGO_BIN_EXE_htc-hook-test"), ["run", "suite.toml", "--tap"], home)
                .variable("CONDOR_CONFIG", "ONLY_ENV");
        if quiet { line.word("--threads").word("1") } else { line }
    }

    fn judge(&self, home: &Path, run: &FaultedRun, quiet: bool) -> Vec<String> {
        let mut violations = judge_program(run, false);
        let has_passed = run.stdout.contains(PASSED) || run.stderr.contains(PASSED);
        let printed = run.stdout.lines().filter(|line| line.starts_with("ok ")).count();
        if run.code() == 0 && !(has_passed || printed == 3) {
            violations.push(format!("status 0 without its report: {}{}", run.stdout, run.stderr));
        }
        if run.code() != 0
            && run.stderr.trim().is_empty()
            && !run.stdout.contains("not ok")
            && run.code() <= 128
        {
            violations.push(format!("status {} without a message", run.code()));
        }
        // A program that was killed cannot remove its temporary directory.
        let emptied: &[&str] = if run.code() > 128 { &[] } else { &["tmp"] };
        let next = strace::run(&self.command(home, quiet), home);
        if next.code() != 0 {
            violations.push(format!("next start: status {}: {}{}", next.code(), next.stdout, next.stderr));
        }
        violations.extend(judge_leftovers(home, emptied));
        violations
    }
}
