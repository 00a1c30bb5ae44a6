//! Exit statuses and examples of the verbs, for their help and their man pages.

use crate::cli::common::{Example, VerbManual};

const CALL_STATUSES: &str =
    "0 the output would be used, 1 it would not, 2 wrong options, 3 bad input, 124 timed out";
const CRON_STATUSES: &str = "0 done, 1 a job failed or --expect is not true, 2 wrong options, 3 bad input";
const RECORD: &str = "htc-hook-test record --into calls -- hooks/prepare < job.ad";

/// Returns the texts of a verb that calls one hook.
const fn call(verb: &'static str, examples: &'static [Example]) -> VerbManual {
    VerbManual { verb, statuses: CALL_STATUSES, examples }
}

pub(super) const VERB_MANUALS: &[VerbManual] = &[
    call(
        "fetch",
        &[
            Example::new(
                "Show whether a slot would accept the fetched job",
                "htc-hook-test fetch hooks/fetch --slot-ads slot.ad",
            ),
            Example::new(
                "Change START, and show which part refuses the job",
                "htc-hook-test fetch hooks/fetch --slot-ads slot.ad --set Start=false",
            )
            .ends_with(1),
        ],
    ),
    call(
        "reply",
        &[
            Example::new(
                "Call the hook for an accepted job",
                "htc-hook-test reply hooks/reply accept --ads job.ad",
            ),
            Example::new("Call it for a rejected job", "htc-hook-test reply hooks/reply reject --ads job.ad"),
        ],
    ),
    call(
        "evict",
        &[
            Example::new(
                "Call the hook for a built-in job and slot",
                "htc-hook-test evict hooks/reply --sample-job vanilla",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-hook-test evict hooks/reply --ads job.ad --show-input",
            ),
        ],
    ),
    call(
        "prepare-before-transfer",
        &[
            Example::new(
                "Show the changes of the job ad",
                "htc-hook-test prepare-before-transfer hooks/prepare --ads job.ad",
            ),
            Example::new(
                "Treat the job as one of a schedd",
                "htc-hook-test prepare-before-transfer hooks/prepare --shadow --sample-job vanilla",
            ),
        ],
    ),
    call(
        "prepare",
        &[
            Example::new(
                "Show what the starter would do with the output",
                "htc-hook-test prepare hooks/prepare --ads job.ad",
            ),
            Example::new(
                "Fail if the hook takes more than two seconds or changes Cmd",
                "htc-hook-test prepare hooks/prepare --ads job.ad --timeout 2 --expect 'Cmd == TARGET.Cmd'",
            ),
        ],
    ),
    call(
        "update",
        &[
            Example::new(
                "Call the hook for a running job",
                "htc-hook-test update hooks/update --sample-job vanilla",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-hook-test update hooks/update --ads job.ad --show-input",
            ),
        ],
    ),
    call(
        "exit",
        &[
            Example::new(
                "Call the hook for an evicted job",
                "htc-hook-test exit hooks/exit evict --ads job.ad",
            ),
            Example::new(
                "Print what the hook reads after the job exited with 3",
                "htc-hook-test exit hooks/exit exit --sample-job vanilla --set ExitCode=3 --show-input",
            ),
        ],
    ),
    call(
        "shadow-prepare",
        &[
            Example::new(
                "Show what the shadow would do with the output",
                "htc-hook-test shadow-prepare hooks/prepare --sample-job vanilla",
            ),
            Example::new(
                "Call the hook with 20 random changes of the ad",
                "htc-hook-test shadow-prepare hooks/prepare --sample-job vanilla --fuzz 20 --seed 1",
            ),
        ],
    ),
    call(
        "translate",
        &[
            Example::new(
                "Show the routed job that the hook prints",
                "htc-hook-test translate hooks/translate --sample-job grid --route Large",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-hook-test translate hooks/translate --sample-job grid --route Large --show-input",
            ),
        ],
    ),
    call(
        "router-update",
        &[
            Example::new(
                "Show the changes of the routed job",
                "htc-hook-test router-update hooks/prepare --sample-job grid",
            ),
            Example::new(
                "Measure the hook with five calls",
                "htc-hook-test router-update hooks/prepare --sample-job grid --time 5",
            ),
        ],
    ),
    call(
        "finalize",
        &[
            Example::new(
                "Show the changes of the source job",
                "htc-hook-test finalize hooks/prepare --sample-job grid",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-hook-test finalize hooks/prepare --sample-job grid --show-input",
            ),
        ],
    ),
    call(
        "cleanup",
        &[
            Example::new(
                "Call the hook for a removed job",
                "htc-hook-test cleanup hooks/update --sample-job grid",
            ),
            Example::new(
                "Call it twice and compare",
                "htc-hook-test cleanup hooks/update --sample-job grid --repeat 2",
            ),
        ],
    ),
    VerbManual {
        verb: "startd-cron",
        statuses: CRON_STATUSES,
        examples: &[
            Example::new("Show what a program publishes", "htc-hook-test startd-cron hooks/quota"),
            Example::new(
                "Fail unless the slot ad gets the attribute",
                "htc-hook-test startd-cron hooks/quota --expect 'ScratchQuotaMb > 1000'",
            ),
        ],
    },
    VerbManual {
        verb: "schedd-cron",
        statuses: CRON_STATUSES,
        examples: &[
            Example::new("Show what a program publishes", "htc-hook-test schedd-cron hooks/quota"),
            Example::new(
                "Print how it would be called",
                "htc-hook-test schedd-cron hooks/quota --show-input",
            ),
        ],
    },
    VerbManual {
        verb: "benchmark",
        statuses: CRON_STATUSES,
        examples: &[
            Example::new("Show what a program publishes", "htc-hook-test benchmark hooks/quota"),
            Example::new("Print how it would be called", "htc-hook-test benchmark hooks/quota --show-input"),
        ],
    },
    VerbManual {
        verb: "run",
        statuses: "0 all cases passed, 1 a case failed, 2 wrong options, 3 bad suite",
        examples: &[
            Example::new("Run the cases of a suite", "htc-hook-test run prepare.toml"),
            Example::new(
                "Write a report for a CI service",
                "htc-hook-test run prepare.toml --junit report.xml",
            ),
        ],
    },
    VerbManual {
        verb: "init",
        statuses: "0 done, 2 wrong options or unknown type",
        examples: &[
            Example::new("Write a first suite for a hook", "htc-hook-test init hooks/prepare > first.toml"),
            Example::new(
                "Name the type of a cron job",
                "htc-hook-test init hooks/quota --type startd-cron > quota.toml",
            ),
        ],
    },
    VerbManual {
        verb: "record",
        statuses: "that of the hook; 126 not executable, 127 not found",
        examples: &[
            Example::new("Run a hook and keep the call in calls/", RECORD),
            Example::new(
                "Name the type of the hook",
                "htc-hook-test record --into calls --type exit -- hooks/exit evict < job.ad",
            ),
        ],
    },
    VerbManual {
        verb: "replay",
        statuses: "0 same results, 1 a call changes or fails, 2 wrong options, 3 bad input",
        examples: &[
            Example::new("Judge recorded calls", "htc-hook-test replay calls").after(&[RECORD]),
            Example::new(
                "Repeat them with a new version of the hook",
                "htc-hook-test replay calls --hook hooks/update",
            )
            .ends_with(1)
            .after(&[RECORD]),
        ],
    },
    VerbManual {
        verb: "queue",
        statuses: "0 no job lost or run twice, 1 violations, 2 wrong options, 3 bad configuration",
        examples: &[
            Example::new(
                "Check the queue of a configuration with 20 jobs",
                "htc-hook-test queue --config-file queue/condor_config --jobs 20 --fill ./fill",
            ),
            Example::new(
                "Use four slots, and evict half of the jobs once",
                "htc-hook-test queue --config-file queue/condor_config --jobs 20 --fill ./fill --slots 4 --evict 50",
            ),
        ],
    },
];
