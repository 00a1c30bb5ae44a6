//! Texts of the man page.

use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "run the slots of an execution point: fetch jobs through hook scripts and run them",
    description: &[
        "Makes the slots that a configuration describes, and does with each what condor_startd does: asks \
         KEYWORD_HOOK_FETCH_WORK for a job whenever FetchWorkDelay allows, decides by START, the slot's resources and \
         RANK, tells KEYWORD_HOOK_REPLY_FETCH 'accept' or 'reject', claims the slot, starts one starter for the job, \
         reuses the claim for the next job, and gives it up when there is no more work, which \
         KEYWORD_HOOK_EVICT_CLAIM is told.",
        "The keyword of a slot is SLOT<N>_JOB_HOOK_KEYWORD, else STARTD_JOB_HOOK_KEYWORD. The same configuration and \
         the same scripts work on a real execution point. No daemon is needed and nothing listens on the network.",
        "The cron jobs of STARTD_CRON_JOBLIST run as on a real execution point, and what they print is in the ads of the \
         slots they aim it at, for policy and for hooks.",
        "Jobs are run by htc-starter-run, or by the program that STARTER names where a configuration file or the \
         environment sets it. As root the slot's hooks run as CONDOR_IDS, else as the account condor, and jobs as \
         their OsUser, User or Owner, never as root. Without root everything runs as the caller.",
        "Everything that happens is told as one line on standard error, and with --events as one JSON object a line: \
         time, event, slot, state, activity, hook, cron, pid, job, verdict, exit, reason; keys that do not apply are left \
         out. SIGTERM or SIGINT ends gracefully (jobs have their retirement and vacate time), a second one or SIGQUIT \
         at once, SIGHUP reads the configuration again.",
        "A running execution point takes requests at a socket: 'htc-slot-run VERB [SLOT]' with the same configuration, or with \
         the same --control SOCKET. As an administrator: status, vacate (--fast), suspend, continue, drain (--quick, --fast, \
         --resume, --reason), undrain, reconfig, off (--fast, --peaceful). As a negotiator, a schedd and a shadow, for jobs that no hook \
         fetches: match, claim (--ads FILE, --lease, --schedd; prints the slot that is claimed, which is a new one where a \
         partitionable slot is split), activate (--ads FILE: the job is run), alive, suspend, continue, hold (--reason: the job leaves \
         and is told so), deactivate (--fast), release-claim (--waiting). A request that is refused ends with 2 and the reason, an ad that cannot \
         be read or that is not the only one of its file with 3. A claim that has to wait for the end of another says so. \
         Without alive an idle claim ends after ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED.",
        "The socket is 0600 in a directory that nobody else can write, and answers root and the account of the slots alone. As root \
         a claimed job runs as the account that its ad names; else all jobs run as the caller, and root cannot claim for itself.",
        "The verb ads prints the slot ads, explain says which slots would \
         take a job and why the others would not (RequireGPUs, and what the dynamic slot of a partitionable one would say to a claim, \
         are tried as well), simulate plays a scenario (htc-scenario(5)) and prints what came of it on \
         one screen (--events: line by line; --svg, --html: pictures; --why: what became of a job or decided about a slot; \
         --compare FILE: the same with another configuration, exit status 1 where jobs fare differently), and --dry-run shows the slots and \
         ends with 1 where one is broken. With --json these write one array, with --jsonl one object a line.",
        "The verb doctor looks at everything that a run of this configuration needs on this machine - slots, accounts, hooks, \
         cron jobs, the starter, EXECUTE, LOG, control groups, namespaces, volumes, GPUs, containers, the clock, a job of /bin/true as \
         the starter would run it, and what of the configuration does nothing here - and writes a line for each: 'ok', 'note' or 'fails', what it is about, what was found, what to do. \
         It ends with 1 where something will fail. It makes and removes a directory in EXECUTE and a control group, and \
         runs no hook.",
    ],
    examples: &[
        Example {
            what: "fetch and run jobs until no slot has more work",
            line: "htc-slot-run --config-file slots.conf --once --quiet",
            status: 0,
        },
        Example {
            what: "why would no slot take this job?",
            line: "htc-slot-run explain --config-file slots.conf --ads big.ad",
            status: 1,
        },
        Example {
            what: "what a policy would do to a job, on a clock moved by hand",
            line: "htc-slot-run simulate --config-file slots.conf keyboard.toml",
            status: 0,
        },
    ],
    environment: &[
        ("CONDOR_IDS", "UID.GID: the account of the slots' own hooks when started as root"),
        ("TMPDIR", "where a private directory of the run is made"),
    ],
    files: &[
        ("$(EXECUTE)/dir_<pid>", "the scratch directory of a job; gone when the job is"),
        (
            "$(LOG)/htc-slot-run/control",
            "the socket for requests, where --control names no other; with --local-name NAME in htc-slot-run.NAME",
        ),
        (
            "$(LOG)/htc-slot-run/journal",
            "what is under way, written before it is done: after a kill the next run ends and cleans what is left, gives accepted jobs \
             back through EVICT_CLAIM, and tells of hooks whose end nobody saw as unknown, with unknown.*.ad beside it; one run at a \
             time",
        ),
        ("$(LOG)", "the working directory of the slots' hooks; no log files are written"),
    ],
    differences: &[
        "There is no schedd and no collector: jobs come from fetch hooks, or by the verbs claim and activate. DAEMON_LIST, the command port and \
         security settings have no effect. Settings that a pool would act upon and this program does not are named when it \
         begins, with what a pool would do, and those of other daemons are counted; 'htc-config-dump lint --here' lists both.",
        "Where HTCondor 25.14 does not keep what its manual promises, this program does, and says so once on standard \
         error with the name of the difference; --quirks reference does exactly as 25.14. Among them: EVICT_CLAIM is \
         called once for each claim given up (evict-claim-never); a job of higher rank takes the place of the running \
         one (fetched-preemption-lost); the first fetch comes at once (first-fetch-late); a fetch hook that cannot be \
         executed is tried again (fetch-stops-after-spawn-failure).",
        "Odd, but the same as in HTCondor: the exit status of FETCH_WORK is ignored, only what it prints counts; the \
         Requirements of a fetched job are not evaluated; a job fetched for a partitionable slot needs RequestCpus, \
         RequestMemory and RequestDisk.",
        "A block of more than 4 MiB that a cron job prints without a line of '-' loses what is beyond. simulate runs no cron \
         jobs.",
        "EVICT_CLAIM is also called for a fetched job whose starter was killed, before its claim takes the next job: in HTCondor nobody \
         is told of it. After a kill of this program its starters are ended, not adopted: a starter of HTCondor that loses its \
         startd ends its job as well.",
        "A partitionable slot is never claimed as a whole: a claim takes one dynamic slot of it, and is told so where its ad wants \
         more (_condor_CLAIM_PARTITIONABLE_SLOT, _condor_NUM_DYNAMIC_SLOTS).",
        "HIBERNATE puts the machine to sleep only with --allow-hibernate. Where its network adapter cannot wake it \
         it stays awake without HIBERNATION_OVERRIDE_WOL = True. Offline ads, OFFLINE_EXPIRE_ADS_AFTER and condor_rooster are a pool's.",
        "A hook that never ends keeps its slot from fetching, as in HTCondor. That is told each minute, and \
         --hook-timeout ends it.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
