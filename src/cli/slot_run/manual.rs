//! Texts of the man page.

use super::verb_manuals::VERB_MANUALS;
use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "run the slots of an execution point: fetch jobs through hook scripts and run them",
    description: &[
        "Creates the slots that a configuration describes, and runs them as condor_startd does. Whenever FetchWorkDelay allows, a slot \
         calls KEYWORD_HOOK_FETCH_WORK for a job. START, the resources of the slot and RANK decide whether it accepts the job. \
         KEYWORD_HOOK_REPLY_FETCH is called with 'accept' or 'reject'. The slot is then claimed, and one starter runs the job. \
         The claim is used again for the next job. When there is no more work, the claim is released and \
         KEYWORD_HOOK_EVICT_CLAIM is called.",
        "The keyword of a slot is SLOT<N>_JOB_HOOK_KEYWORD, or STARTD_JOB_HOOK_KEYWORD if that is not set. The same \
         configuration and scripts work on a real execution point. No daemon is needed, and nothing listens on the network.",
        "The cron jobs of STARTD_CRON_JOBLIST run as on a real execution point. The attributes that they print become part of the \
         ads of their slots, so policies and hooks can use them.",
        "htc-starter-run runs the jobs, or the program in STARTER if a configuration file or the environment sets it. As root, \
         the hooks of the slot run as CONDOR_IDS, or as the account condor; jobs run as their OsUser, User or \
         Owner, never as root. Without root, everything runs as the caller.",
        "Each event is printed as one line on standard error, and with --events as one JSON object per line. \
         The keys are time, event, slot, state, activity, hook, cron, pid, job, verdict, exit and reason; keys that do not apply are \
         missing. SIGTERM and SIGINT stop the program gracefully: jobs get their retirement and vacate time. A second signal, or \
         SIGQUIT, stops it at once. SIGHUP makes it read the configuration again.",
        "A running htc-slot-run accepts requests on a control socket: run 'htc-slot-run VERB [SLOT]' with the same configuration, \
         or with the same --control SOCKET. Requests of an administrator are status, vacate, suspend, continue, drain, \
         undrain, reconfig and off. The other requests are those of a negotiator, a schedd and a shadow, for jobs that no hook fetches: \
         match, claim (prints the claimed slot; for a partitionable slot, the name of the new dynamic slot), activate (runs a job), \
         alive, hold (evicts the job and reports it as held), deactivate and release-claim.",
        "A refused request prints the reason. It ends with 1 if the state of the slot does not allow it, with 2 if the request is wrong, \
         and with 3 if the ad cannot be read or the file has more than one. A claim that has to wait until another claim \
         ends prints a message. Without alive messages an idle claim ends after ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED.",
        "The socket has mode 0600 in a directory that only its owner can write. It accepts requests from root and from the account of the slots. As root, \
         the job of a claim runs as the account that its ad names. Otherwise all jobs run as the caller, and root cannot claim slots \
         for itself.",
        "explain shows which slots would accept a job and why the others refuse it. It also checks RequireGPUs, and whether the dynamic slot of a \
         partitionable slot would accept the claim. simulate runs a scenario (htc-scenario(5)) on a virtual clock and prints \
         a summary: --events prints each event, --svg and --html write pictures, --why explains a job or a slot, and --compare runs the \
         scenario with a second configuration and exits with 1 if jobs have different results. --dry-run prints the slots and exits with 1 if one \
         is invalid. With --json these verbs print one array, with --jsonl one object per line.",
        "doctor checks what this configuration needs on this machine: slots, accounts, hooks, cron jobs, the starter, \
         EXECUTE, LOG, control groups, namespaces, volumes, GPUs, containers, the clock, and a test job (/bin/true) as the starter would run it. \
         It also lists settings that have no effect here. Each line starts with 'ok', 'note' or 'fails' and says what was \
         checked, the result, and what to do. The exit status is 1 if something will fail. doctor creates and removes a directory in EXECUTE and a \
         control group; it runs no hook.",
    ],
    statuses: "0 done, 1 a job failed or the answer is no, 2 wrong options, 3 bad input, 99 stays down",
    examples: &[
        Example::new(
            "Fetch and run jobs until no slot has more work",
            "htc-slot-run --config-file slots.conf --once --quiet",
        ),
        Example::new(
            "Show why no slot accepts a job",
            "htc-slot-run explain --config-file slots.conf --ads big.ad",
        )
        .ends_with(1),
        Example::new(
            "Simulate the effect of a policy on a job",
            "htc-slot-run simulate --config-file slots.conf keyboard.toml",
        ),
    ],
    verbs: VERB_MANUALS,
    environment: &[
        ("CONDOR_IDS", "UID.GID: account of the slots' own hooks when started as root"),
        ("TMPDIR", "Directory for the private directory of a run"),
    ],
    files: &[
        ("$(EXECUTE)/dir_<pid>", "Scratch directory of a job; removed when the job ends"),
        (
            "$(LOG)/htc-slot-run/control",
            "Control socket, unless --control names another; with --local-name NAME the directory is htc-slot-run.NAME",
        ),
        (
            "$(LOG)/htc-slot-run/journal",
            "Journal of running jobs and hooks, written before each step. After a kill, the next run ends and removes what is left, \
             releases accepted jobs through EVICT_CLAIM, and reports hooks with an unknown end as unknown, with their input in \
             unknown.*.ad beside the journal. Only one run at a time can use it.",
        ),
        ("$(LOG)", "Working directory of the slots' hooks; no log files are written"),
    ],
    differences: &[
        "There is no schedd and no collector. Jobs come from fetch hooks, or from the verbs claim and activate. DAEMON_LIST, the command port and \
         security settings have no effect. At the start, this program prints the settings that a pool would use and this program ignores, \
         with their effect in a pool, and the number of settings of other daemons; 'htc-config-dump lint --here' lists both.",
        "Where HTCondor 25.14 contradicts its manual, this program follows the manual, and prints the name of the difference \
         once. --quirks reference imitates 25.14. Examples: EVICT_CLAIM is called once for each released claim \
         (evict-claim-never); a job of higher rank replaces the running job (fetched-preemption-lost); \
         the first fetch happens at once (first-fetch-late); a fetch hook that cannot be executed is tried again \
         (fetch-stops-after-spawn-failure).",
        "Some behaviour is surprising, but the same in HTCondor: the exit status of FETCH_WORK is ignored, only its output counts; the \
         Requirements of a fetched job are not evaluated; a job that is fetched for a partitionable slot needs RequestCpus, \
         RequestMemory and RequestDisk.",
        "If a cron job prints more than 4 MiB without a line that starts with '-', the rest is lost. simulate runs no cron jobs.",
        "EVICT_CLAIM is also called for a fetched job whose starter was killed, before the claim takes its next job. HTCondor \
         calls no hook in this case. If this program is killed, the next run ends its starters and does not adopt them; a starter of HTCondor that loses its \
         startd ends its job as well.",
        "A partitionable slot is never claimed as a whole. A claim creates one dynamic slot; if its ad asks for \
         more (_condor_CLAIM_PARTITIONABLE_SLOT, _condor_NUM_DYNAMIC_SLOTS), a message says so.",
        "HIBERNATE suspends the machine only with --allow-hibernate. If the network adapter cannot wake the machine, \
         it stays awake unless HIBERNATION_OVERRIDE_WOL is True. Offline ads, OFFLINE_EXPIRE_ADS_AFTER and condor_rooster need a pool.",
        "A hook that never ends keeps its slot from fetching, as in HTCondor. A message reports it every minute; \
         --hook-timeout kills the hook.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
