//! Verdicts of `htc-hook-test queue`, called in this process.

use std::path::Path;

use htc_hooks::config::LoadOptions;
use htc_hooks::hook_testing::DEFAULT_TIMEOUT;
use htc_hooks::hook_testing::queue_test::{QueueError, QueueTest, QueueTestReport, TestRound};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::hook_environment::ConfigSelection;

use crate::queue_of_files::{BY_RENAME, queue};
use crate::sandbox::Sandbox;

const LIST_PRINT_REMOVE: &str = "for file in new/*; do\n [ -e \"$file\" ] || exit 0\n cat \"$file\"\n \
    sleep 0.02\n rm -f \"$file\"\n exit 0\ndone";

/// Returns the same verdict without the program, as a user of the library gets it.
fn proved(home: &Path, fill: Option<&str>) -> Result<QueueTestReport, QueueError> {
    let mut sandbox = Sandbox::new();
    let world = RealWorld::new();
    let round = TestRound {
        name: "at once",
        slots: 8,
        kill: 0,
        reject: 20,
        evict: 20,
        one_at_a_time: false,
        jobs: Some(40),
    };
    let test = QueueTest {
        config_file: home.join("condor_config"),
        load: LoadOptions { environment: false, user_file: false, ..LoadOptions::default() },
        choice: ConfigSelection::default(),
        in_place: false,
        copy_time: None,
        rounds: vec![TestRound { name: "one at a time", slots: 1, one_at_a_time: true, ..round }, round],
        fill: fill.map(str::to_owned),
        id: None,
        keyword: None,
        patience: DEFAULT_TIMEOUT,
        quirks: QuirkMode::Manual,
        seed: 3,
        world: &world,
    };
    test.run_rounds(&mut sandbox.reactor)
}

#[test]
fn a_queue_with_a_race_between_print_and_remove_is_detected() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), LIST_PRINT_REMOVE);
    let proof = proved(home.path(), None).unwrap();
    assert!(!proof.is_passed() && !proof.no_exit);
    let violations: Vec<&String> = proof.rounds.iter().flat_map(|round| &round.violations).collect();
    assert!(violations.iter().any(|one| one.contains("handed out twice")), "{violations:?}");
}

#[test]
fn a_queue_is_refilled_for_each_round_and_a_failed_command_ends_the_test() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    std::fs::remove_dir_all(home.path().join("queue/new")).unwrap();
    let fill = "mkdir queue/new; n=0; while [ $n -lt $JOBS ]; do printf 'ClusterId = %s\\nProcId = 0\\nCmd = \"/bin/true\"\\n' \
        $n >queue/new/$n; n=$((n+1)); done; sleep 600 &";
    let proof = proved(home.path(), Some(fill)).unwrap();
    assert!(proof.is_passed(), "{proof:?}");
    assert_eq!(proof.rounds.last().map(|round| (round.jobs, round.finished)), Some((40, 40)));
    let error = proved(home.path(), Some("exit 3")).unwrap_err();
    assert_eq!(error.to_string(), "--fill ended with exit status: 3");
}
