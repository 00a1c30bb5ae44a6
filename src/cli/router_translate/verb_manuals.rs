//! Exit statuses and examples of the verbs, for their help and their man pages.

use crate::cli::common::{Example, VerbManual};

const HOOK_STATUSES: &str =
    "0 all hooks succeeded, 1 a hook failed, 2 wrong options, 3 bad input, 124 timed out";

pub(super) const VERB_MANUALS: &[VerbManual] = &[
    VerbManual {
        verb: "transform",
        statuses: "0 done, 1 a statement failed, 2 wrong options, 3 bad rules or ads",
        examples: &[
            Example::new(
                "Apply a rules file to the ads of a file",
                "htc-router-translate transform --rules rules.xfm jobs.ads",
            ),
            Example::new(
                "Print the changes of each ad",
                "htc-router-translate transform --rules rules.xfm --diff jobs.ads",
            ),
        ],
    },
    VerbManual {
        verb: "lint",
        statuses: "0 no findings, 1 findings, 2 wrong options, 3 bad rules or configuration",
        examples: &[
            Example::new("Check a rules file", "htc-router-translate lint --rules rules.xfm"),
            Example::new("Check the routes of a router", "htc-router-translate lint router.config"),
        ],
    },
    VerbManual {
        verb: "compare",
        statuses: "0 same, 1 different, 2 wrong options, 3 bad input, 4 not all conditions could be tested",
        examples: &[
            Example::new(
                "Compare a converted router with the old one",
                "htc-router-translate compare old-router.config new-router.config --ads router.ads",
            ),
            Example::new("Compare two rules files", "htc-router-translate compare rules.xfm other.xfm")
                .ends_with(1),
        ],
    },
    VerbManual {
        verb: "match",
        statuses: "0 every job gets a route, 1 some job gets none, 2 wrong options, 3 bad input",
        examples: &[
            Example::new(
                "Show which route each job gets, and why",
                "htc-router-translate match --explain --config-file router.config router.ads",
            )
            .ends_with(1),
            Example::new(
                "Count the jobs of each route, and the reasons",
                "htc-router-translate match --summary --config-file router.config router.ads",
            )
            .ends_with(1),
        ],
    },
    VerbManual {
        verb: "route",
        statuses: "0 every job is routed, 1 some job is not, 2 wrong options, 3 bad input",
        examples: &[
            Example::new(
                "Print the ads that the router would submit",
                "htc-router-translate route --config-file router.config router.ads",
            )
            .ends_with(1),
            Example::new(
                "Apply one route to every job",
                "htc-router-translate route --route Small --config-file router.config router.ads",
            ),
        ],
    },
    VerbManual {
        verb: "translate",
        statuses: HOOK_STATUSES,
        examples: &[
            Example::new(
                "Call TRANSLATE_JOB with the route Small",
                "htc-router-translate translate --config-file router-hooks.config --route Small source.ad",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-router-translate translate --config-file router-hooks.config --dry-run source.ad",
            ),
        ],
    },
    VerbManual {
        verb: "update",
        statuses: HOOK_STATUSES,
        examples: &[
            Example::new(
                "Call UPDATE_JOB_INFO for a routed job",
                "htc-router-translate update --config-file router-hooks.config source.ad",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-router-translate update --config-file router-hooks.config --dry-run source.ad",
            ),
        ],
    },
    VerbManual {
        verb: "finalize",
        statuses: HOOK_STATUSES,
        examples: &[
            Example::new(
                "Call JOB_FINALIZE for a source job and its routed job",
                "htc-router-translate finalize --config-file router-hooks.config pair.ads",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-router-translate finalize --config-file router-hooks.config --dry-run pair.ads",
            ),
        ],
    },
    VerbManual {
        verb: "cleanup",
        statuses: HOOK_STATUSES,
        examples: &[
            Example::new(
                "Call JOB_CLEANUP for a routed job",
                "htc-router-translate cleanup --config-file router-hooks.config source.ad",
            ),
            Example::new(
                "Print what the hook would read",
                "htc-router-translate cleanup --config-file router-hooks.config --dry-run source.ad",
            ),
        ],
    },
    VerbManual {
        verb: "finish",
        statuses: "0 done, 1 an ad has no counterpart, 2 wrong options, 3 bad input",
        examples: &[
            Example::new(
                "Update a source job from its routed job",
                "htc-router-translate finish --config-file router.config pair.ads",
            ),
            Example::new(
                "Print the result as JSON",
                "htc-router-translate finish --config-file router.config --json pair.ads",
            ),
        ],
    },
    VerbManual {
        verb: "run",
        statuses: "0 stopped, 1 jobs were not routed, 2 wrong options, 3 bad configuration, 124 timed out",
        examples: &[
            Example::new(
                "Poll once, route the jobs in queue.d, and stop",
                "htc-router-translate run --config-file router.config --queue queue.d --once",
            ),
            Example::new(
                "Poll every two seconds, and stop after three seconds",
                "htc-router-translate run --config-file router.config --queue queue.d --period 2 --timeout 3",
            )
            .ends_with(124),
        ],
    },
    VerbManual {
        verb: "simulate",
        statuses: "0 done, 2 wrong options, 3 bad scenario or configuration",
        examples: &[
            Example::new(
                "Simulate the jobs of a scenario",
                "htc-router-translate simulate --config-file router.config routes.toml",
            ),
            Example::new(
                "Write a picture of it",
                "htc-router-translate simulate --config-file router.config --svg routes.svg routes.toml",
            ),
        ],
    },
    VerbManual {
        verb: "convert",
        statuses: "0 all routes converted, 1 a route was not, 2 wrong options, 3 bad configuration",
        examples: &[
            Example::new(
                "Convert routes of the old syntax",
                "htc-router-translate convert --config-file old-router.config",
            ),
            Example::new(
                "Print the result for each route as JSON",
                "htc-router-translate convert --config-file old-router.config --json",
            ),
        ],
    },
];
