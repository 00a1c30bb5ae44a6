//! Exit statuses and examples of the verbs, for their help and their man pages.

use crate::cli::common::{Example, VerbManual};

/// Exit statuses of the verbs that send a request.
const REQUEST_STATUSES: &str = "0 done, 1 refused, 2 wrong options, 3 no htc-slot-run answers or bad input";

const CLAIM: &str = "htc-slot-run claim --config-file slots.conf --ads sleep.ad slot1";
const ACTIVATE: &str = "htc-slot-run activate --config-file slots.conf --ads sleep.ad slot1";
const SUSPEND: &str = "htc-slot-run suspend --config-file slots.conf slot1";
const DRAIN: &str = "htc-slot-run drain --config-file slots.conf";

pub(super) const VERB_MANUALS: &[VerbManual] = &[
    VerbManual {
        verb: "run",
        statuses: "0 stopped, 1 a job failed, 2 wrong options, 3 bad configuration, 99 stays down",
        examples: &[
            Example::new(
                "Run jobs until no slot has more work",
                "htc-slot-run run --config-file slots.conf --once --quiet",
            ),
            Example::new(
                "Print the slots that the configuration defines, and run nothing",
                "htc-slot-run run --config-file slots.conf --dry-run",
            ),
        ],
    },
    VerbManual {
        verb: "ads",
        statuses: "0 done, 2 wrong options or no such slot, 3 bad configuration",
        examples: &[
            Example::new("Print the ads of all slots", "htc-slot-run ads --config-file slots.conf"),
            Example::new(
                "Print the ad of one slot as JSON",
                "htc-slot-run ads --config-file slots.conf --json slot1",
            ),
        ],
    },
    VerbManual {
        verb: "simulate",
        statuses: "0 done, 1 jobs have different results (--compare), 2 wrong options, 3 bad input",
        examples: &[
            Example::new(
                "Simulate a scenario and print a summary",
                "htc-slot-run simulate --config-file slots.conf keyboard.toml",
            ),
            Example::new("Write an example scenario", "htc-slot-run simulate --init first.toml"),
        ],
    },
    VerbManual {
        verb: "doctor",
        statuses: "0 everything works, 1 something will fail, 2 wrong options, 3 bad configuration",
        examples: &[
            Example::new(
                "Check slots, hooks, accounts and directories",
                "htc-slot-run doctor --config-file slots.conf || test $? = 1",
            ),
            Example::new(
                "Print the checks as JSON",
                "htc-slot-run doctor --config-file slots.conf --json || test $? = 1",
            ),
        ],
    },
    VerbManual {
        verb: "explain",
        statuses: "0 every job is accepted, 1 a job is not, 2 wrong options, 3 bad input",
        examples: &[
            Example::new(
                "Show why no slot accepts a job",
                "htc-slot-run explain --config-file slots.conf --ads big.ad",
            )
            .ends_with(1),
            Example::new(
                "Count the reasons why the slots of a pool refuse jobs",
                "htc-slot-run explain --slot-ads slot.ad --ads jobs.ads --summary",
            )
            .ends_with(1),
        ],
    },
    VerbManual {
        verb: "status",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Show all slots", "htc-slot-run status --config-file slots.conf").with_slots(&[]),
            Example::new(
                "Show one slot as JSON",
                "htc-slot-run status --config-file slots.conf --json slot1",
            )
            .with_slots(&[]),
        ],
    },
    VerbManual {
        verb: "match",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Match slot1", "htc-slot-run match --config-file slots.conf slot1").with_slots(&[]),
            Example::new(
                "Use another control socket",
                "htc-slot-run match --control htc-slot-run/control slot1",
            )
            .with_slots(&[]),
        ],
    },
    VerbManual {
        verb: "claim",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Claim slot1 for the job in sleep.ad", CLAIM).with_slots(&[]),
            Example::new(
                "Let the claim end after ten minutes without a job or an alive message",
                "htc-slot-run claim --config-file slots.conf --ads sleep.ad --lease 600 slot1",
            )
            .with_slots(&[]),
        ],
    },
    VerbManual {
        verb: "activate",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Run a job in the claimed slot1", ACTIVATE).with_slots(&[CLAIM]),
            Example::new(
                "Read the job ad from standard input",
                "htc-slot-run activate --config-file slots.conf slot1 < sleep.ad",
            )
            .with_slots(&[CLAIM]),
        ],
    },
    VerbManual {
        verb: "alive",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Renew the claim of slot1", "htc-slot-run alive --config-file slots.conf slot1")
                .with_slots(&[CLAIM]),
            Example::new(
                "Renew it through another control socket",
                "htc-slot-run alive --control htc-slot-run/control slot1",
            )
            .with_slots(&[CLAIM]),
        ],
    },
    VerbManual {
        verb: "hold",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new(
                "Evict the job in slot1 and report it as held",
                "htc-slot-run hold --config-file slots.conf slot1",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
            Example::new(
                "Give a HoldReason",
                "htc-slot-run hold --config-file slots.conf --reason 'wrong input' slot1",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
        ],
    },
    VerbManual {
        verb: "suspend",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Suspend the job of slot1", SUSPEND).with_slots(&[CLAIM, ACTIVATE]),
            Example::new("Suspend all jobs", "htc-slot-run suspend --config-file slots.conf")
                .with_slots(&[CLAIM, ACTIVATE]),
        ],
    },
    VerbManual {
        verb: "continue",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Continue the job of slot1", "htc-slot-run continue --config-file slots.conf slot1")
                .with_slots(&[CLAIM, ACTIVATE, SUSPEND]),
            Example::new("Continue all jobs", "htc-slot-run continue --config-file slots.conf")
                .with_slots(&[CLAIM, ACTIVATE, SUSPEND]),
        ],
    },
    VerbManual {
        verb: "vacate",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new(
                "Vacate all jobs, with their vacate time",
                "htc-slot-run vacate --config-file slots.conf",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
            Example::new(
                "Kill the job of slot1",
                "htc-slot-run vacate --config-file slots.conf --fast slot1",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
        ],
    },
    VerbManual {
        verb: "deactivate",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new(
                "End the job of slot1 and keep the claim",
                "htc-slot-run deactivate --config-file slots.conf slot1",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
            Example::new(
                "Kill the job at once",
                "htc-slot-run deactivate --config-file slots.conf --fast slot1",
            )
            .with_slots(&[CLAIM, ACTIVATE]),
        ],
    },
    VerbManual {
        verb: "release-claim",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new(
                "Release the claim of slot1",
                "htc-slot-run release-claim --config-file slots.conf slot1",
            )
            .with_slots(&[CLAIM]),
            Example::new(
                "Release it through another control socket",
                "htc-slot-run release-claim --control htc-slot-run/control slot1",
            )
            .with_slots(&[CLAIM]),
        ],
    },
    VerbManual {
        verb: "drain",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Drain all slots and print the id of the drain", DRAIN).with_slots(&[]),
            Example::new(
                "Drain without retirement and accept jobs again afterwards",
                "htc-slot-run drain --config-file slots.conf --quick --resume-on-completion",
            )
            .with_slots(&[]),
        ],
    },
    VerbManual {
        verb: "undrain",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Cancel the drain", "htc-slot-run undrain --config-file slots.conf")
                .with_slots(&[DRAIN]),
            Example::new(
                "Cancel the drain with the id that drain printed",
                "htc-slot-run undrain --config-file slots.conf --request-id 1",
            )
            .with_slots(&[DRAIN]),
        ],
    },
    VerbManual {
        verb: "off",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new(
                "Stop, and grant jobs their retirement and vacate time",
                "htc-slot-run off --config-file slots.conf",
            )
            .with_slots(&[]),
            Example::new(
                "Stop when all jobs have ended",
                "htc-slot-run off --config-file slots.conf --peaceful",
            )
            .with_slots(&[]),
        ],
    },
    VerbManual {
        verb: "reconfig",
        statuses: REQUEST_STATUSES,
        examples: &[
            Example::new("Reread the configuration", "htc-slot-run reconfig --config-file slots.conf")
                .with_slots(&[]),
            Example::new("Use the control socket", "htc-slot-run reconfig --control htc-slot-run/control")
                .with_slots(&[]),
        ],
    },
];
