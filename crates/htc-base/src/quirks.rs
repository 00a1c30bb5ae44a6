//! Table of quirks: cases in which HTCondor 25.14 differs from its manual.
//!
//! By default, the programs follow the manual and report once that a real pool differs; `--quirks reference` reproduces 25.14
//! exactly. A quirk is decided in one place, in the module to which it applies, and only that place uses its variant. Code that
//! reports a decision or lists it (the verdict of `htc-hook-test`) gets the outcome, or a [`QuirkDecision`] with the quirk. A
//! variant used in two places has two decisions: its description covers both.

/// Defines the enum together with its table, so that no quirk lacks a description.
macro_rules! quirks {
    ($($variant:ident, $id:literal, $line:literal, $source:literal;)*) => {
        /// Known deviation of the reference from its manual. The documentation of each variant is its description in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(rustdoc::invalid_html_tags, reason = "the lines are for terminals: SLOT<N> is no tag")]
        pub enum Quirk {
            $(#[doc = $line] $variant,)*
        }

        impl Quirk {
            /// All quirks, in table order.
            pub const ALL: &[Quirk] = &[$(Quirk::$variant),*];

            /// Returns the stable name used in messages and man pages.
            pub fn id(self) -> &'static str {
                match self { $(Quirk::$variant => $id,)* }
            }

            /// Returns what a real pool does, in one line.
            pub fn line(self) -> &'static str {
                match self { $(Quirk::$variant => $line,)* }
            }

            /// Returns the description used in messages.
            pub fn told(self) -> String {
                format!("in HTCondor 25.14 {} ({})", self.line(), self.id())
            }

            /// Returns where it was found: the reference's source file or a recorded session.
            pub fn source(self) -> &'static str {
                match self { $(Quirk::$variant => $source,)* }
            }
        }
    };
}

quirks! {
    // Fetching and claims.
    EvictClaimNever, "evict-claim-never",
        "EVICT_CLAIM is never called, whatever ends the claim", "claim.cpp";
    FetchedPreemptionLost, "fetched-preemption-lost",
        "a fetched job of higher rank is told `accept`, the running job goes on, the accepted one is lost", "s07; Resource.cpp";
    FirstFetchLate, "first-fetch-late",
        "a slot fetches first UPDATE_INTERVAL (300 s) after the start", "s35; Resource.cpp";
    FetchStopsAfterSpawnFailure, "fetch-stops-after-spawn-failure",
        "after a FETCH_WORK hook that cannot be executed the slot never fetches again", "s21; StartdHookMgr.cpp";
    FetchDelayStaleActivity, "fetch-delay-stale-activity",
        "after a job FetchWorkDelay still sees Activity Busy until the next poll", "s17";
    EmptyLeaseKills, "empty-lease-kills",
        "a job is killed when its JobLeaseDuration is over: at once if that is 0 or negative, and if it says that nobody renews it",
        "claim.cpp";
    SuspendCommandSticks, "suspend-command-sticks",
        "after condor_suspend CONTINUE does not count in that slot, for later jobs either, until a condor_continue", "Resource.cpp suspend_claim";
    FetchWhenUnable, "fetch-when-unable",
        "fetching goes on while preempting, drained and ending, where every job is refused or lost", "s08, s18";
    AcceptBeforeDslot, "accept-before-dslot",
        "`accept` is told, with the id of the claim about to go, before slot and claim are made", "s02; StartdHookMgr.cpp";
    DslotSplitsAgain, "dslot-splits-again",
        "the next job of a dynamic slot runs in a new one carved out of it, beside the job that may still run there", "Resource.h can_create_dslot";
    ClaimIdLineUnescaped, "claimid-line-unescaped",
        "double quotes in the ClaimId line of REPLY_FETCH are not escaped: it is no ad line", "s01, s30a";
    BadAnswerKeepsClaim, "bad-answer-keeps-claim",
        "an answer of FETCH_WORK with one bad line is dropped without a word, an idle claim stays", "s12";
    BlankAnswerIsJob, "blank-answer-is-job",
        "an answer of FETCH_WORK that is only white space is accepted as a job without attributes", "s12";
    AnswerCutAccepted, "answer-cut-accepted",
        "an answer cut at PIPE_BUFFER_MAX counts, its cut last line too", "s12b, s14b";
    PidnsExecFailureIsSuccess, "pidns-exec-failure-is-success",
        "a job in a PID namespace whose program cannot be executed ends with exit code 0", "c40 026; vanilla_proc.cpp";
    PidnsEvictedIsZero, "pidns-evicted-is-zero",
        "a job in a PID namespace whose end was asked for is said to have ended with exit code 0", "c40 025; vanilla_proc.cpp";
    PidnsInitOfLibexec, "pidns-init-of-libexec",
        "USE_PID_NAMESPACES starts jobs through condor_pid_ns_init of LIBEXEC, whether it is there or not", "vanilla_proc.cpp";
    TrackingWithoutRootFails, "tracking-without-root-fails",
        "USE_GID_PROCESS_TRACKING without root ends the starter", "vanilla_proc.cpp";
    PerJobNamespacesFails, "per-job-namespaces-fails",
        "PER_JOB_NAMESPACES = false keeps jobs from being started wherever MOUNT_UNDER_SCRATCH maps anything", "daemon_core.cpp";
    DiskUnwatched, "disk-unwatched",
        "STARTD_ENFORCE_DISK_LIMITS limits nothing where there are no logical volumes", "c40 044; starter.cpp";
    DedicatedAccountIgnored, "dedicated-account-ignored",
        "without a shadow DEDICATED_EXECUTE_ACCOUNT_REGEXP is not looked at", "c40 045; jic_local.cpp";
    NoJobNetworkingFails, "no-job-networking-fails",
        "NO_JOB_NETWORKING without USE_PID_NAMESPACES ends the starter while the job runs on", "c40 041; daemon_core.cpp";
    OwnerIgnored, "owner-ignored",
        "as root the account is OsUser or User; Owner and SLOT<N>_USER are not looked at", "s28b; jic_local.cpp";
    EmptyIwdLogInRoot, "empty-iwd-log-in-root",
        "with an empty Iwd the job's log (StarterUserLog) is looked for in /, where its account may not write", "local_user_log.cpp";
    DslotKeywordNoFallback, "dslot-keyword-no-fallback",
        "a dynamic slot does not use its parent's SLOT<N>_JOB_HOOK_KEYWORD", "Resource.cpp getHookKeyword";
    RemoteOwnerSticks, "remote-owner-sticks",
        "RemoteOwner of a claim stays that of its first job", "claim.cpp loadAccountingInfo";
    StarterRefusalUntold, "starter-refusal-untold",
        "a job that the starter refuses after `accept` ends without any hook", "s28, s28b, s21b";
    UndefinedPolicyFatal, "undefined-policy-fatal",
        "an undefined IS_OWNER or WANT_VACATE ends the execution point", "p55 30; Resource.cpp";
    SlotTypeIsOwnerIgnored, "slot-type-is-owner-ignored",
        "SLOT_TYPE_1_IS_OWNER is ignored, SLOT_TYPE_1_IsOwner works", "p45";
    VmPolicyKnobsDead, "vm-policy-knobs-dead",
        "SUSPEND_VM, PREEMPT_VM and the like are looked up in the slot ad but never put there", "Resource.cpp";
    QuickDrainSparesUnmatched, "quick-drain-spares-unmatched",
        "a quick drain lets jobs that no longer match START use up their retirement", "ResState.cpp";
    ShareNotANumber, "share-not-a-number",
        "a share in SLOT_TYPE_<n> that is no number is 0, raised to the least, without a word", "s31l";
    SlotTypeUnmade, "slot-type-unmade",
        "a slot type whose shares cannot be read makes no slot; only the log says so", "s31k, s31l";
    ExecuteEmptied, "execute-emptied",
        "a starting startd removes everything in EXECUTE, what is not HTCondor's too", "c35c";
    TypeAttrsHideSlotValues, "type-attrs-hide-slot-values",
        "SLOT_TYPE_n_STARTD_ATTRS takes the place of STARTD_ATTRS when SLOTn_x values are looked up", "p60";
    RetirementLostAfterDrain, "retirement-lost-after-drain",
        "after the drain of a machine with one slot jobs have no MaxJobRetirementTime any more", "p78, p76";
    OfflineBelowZero, "offline-below-zero",
        "more off line than there is makes no slot at all; a number does nothing for a resource with ids", "p55 16, 17; p51";
    OfflineOnlyGrows, "offline-only-grows",
        "a reconfiguration only adds to what OFFLINE_MACHINE_RESOURCE_X takes off: ids off line at the start never come back", "p53";
    RequireIgnoredStatic, "require-ignored-static",
        "a slot that does not split takes a job whatever its RequireGPUs says of the slot's cards", "Resource.cpp";
    DeviceIndexIsTruth, "device-index-is-truth",
        "`gpus=1:1` takes the first card of which properties are known, not the second: a number that is not 0 is true for each",
        "ResAttributes.cpp DevIdMatches";
    BenchmarkOnce, "benchmark-once",
        "Benchmarking is left at the next look while the programs run; RunBenchmarks counts again after another change of activity",
        "p01, p84";
    BackfillDead, "backfill-dead",
        "the startd as it is delivered refuses BACKFILL_SYSTEM = BOINC, and as root the client never starts", "p10c";
    ResourceConflictStays, "resource-conflict-stays",
        "ResourceConflict of a backfill slot stays when nothing is short any more; a claimed static slot counts twice",
        "p48; ResMgr.cpp compute_resource_conflicts";
    ConsumptionDropsRequire, "consumption-drops-require",
        "with a consumption policy RequireGPUs of a job is not looked at", "Resource.cpp create_dslot";
    StartSyntaxSilent, "start-syntax-silent",
        "a START that does not parse becomes `error` without a message: the slot never matches", "p55 28";
    NumCpusZero, "num-cpus-zero",
        "NUM_CPUS = 0 makes one broken slot that nobody sees; the startd goes on", "p55 25";
    TimersWholeSeconds, "timers-whole-seconds",
        "timers end with their second: up to a second early or late, all of a second together", "s05, s14, s33; timer_manager.cpp";
    FetchDelayLowBits, "fetch-delay-low-bits",
        "of FetchWorkDelay the lower 32 bits count: 3,000,000,000 seconds are none", "Resource.cpp evalNextFetchWorkDelay";
    NumSlotsPartitionable, "num-slots-partitionable",
        "NUM_SLOTS alone makes partitionable slots, each with a part of the processors", "slot_builder.cpp initTypes";
    CpuBusyTimeMissing, "cpu-busy-time-missing",
        "CpuBusyTime and CpuIsBusy are in no slot ad, so that a policy that reads them is undefined", "Resource.cpp publish_evaluated";
    VacatingPastLimit, "vacating-past-limit",
        "a job that takes longer than MachineMaxVacateTime is killed, but its slot stays in Vacating", "Resource.cpp, claim.cpp";
    BusyLeaseRenewed, "busy-lease-renewed",
        "the lease of a claim does not end while its job runs, though nobody renews it", "claim.cpp startLeaseTimer";
    FetchedUsageUnseen, "fetched-usage-unseen",
        "the slot ad of a fetched job never has MemoryUsage and ResidentSetSize: its starter does not report to the startd", "s01 to s22; JICShadow::updateStartd";
    CronConfigValUnread, "cron-config-val-unread",
        "STARTD_CRON_CONFIG_VAL and its sisters are not read: cron jobs do not get them", "condor_cron_job_mgr.cpp";
    HibernatePause, "hibernate-pause",
        "a sleep state that the machine has not ends all jobs and stops the execution point for 10 s", "p85; ResMgr.cpp checkHibernate";
    DrainExprDropped, "drain-expr-dropped",
        "condor_drain drops a -check or -start that it cannot read, and drains all the same", "p70, p77; drain.cpp";
    DrainStartUseless, "drain-start-useless",
        "with -start a claim that is idle ends, and none is granted near the end of a drain", "p71, p71b; command.cpp, ResState.cpp";
    ForceGracefulDead, "force-graceful-dead",
        "an end that was peaceful at first and is to be graceful goes on peacefully", "p73e; ResState.cpp";
    DrainedSeenLate, "drained-seen-late",
        "what is to follow a drain follows when a drained slot is looked at next", "ResMgr.cpp";
    SuspendWithoutJob, "suspend-without-job",
        "a claim that runs no job is suspended all the same, and Busy without one when it is continued: only its end helps", "Resource.cpp suspend_claim";
    UndrainedKeepsActivity, "undrained-keeps-activity",
        "a slot that is no longer draining may be Owner with activity Retiring", "ResState.cpp eval_policy";
    StarterUnchecked, "starter-unchecked",
        "that STARTER is not there, or cannot read the configuration, shows in the first job, which is lost", "Starter.cpp";
    // Hooks as processes.
    HooksSpawnedAsDaemons, "hooks-spawned-as-daemons",
        "hooks get nearly all signals blocked, SIGPIPE ignored, two command sockets and the daemon's session key", "s01; HookClientMgr.cpp spawn";
    ClosedStdio, "closed-stdio",
        "hooks whose output is not read have descriptors 1 and 2 closed, without input 0 too", "s01; HookClientMgr.cpp spawn";
    HookTmpdirAfterJob, "hook-tmpdir-after-job",
        "hooks after the start of a job get its TMPDIR=/tmp without the mount", "s01; starter.cpp PublishToEnv";
    HookKeywordFallbackBlocked, "hook-keyword-fallback-blocked",
        "a HookKeyword without any hook gives no hooks rather than those of the default keyword", "s13, s23b; HookClientMgr.cpp";
    // The starter.
    StarterOwnCommandLine, "starter-own-command-line",
        "-job-input-ad takes the long form only, no ad is printed beside -job-output-ad, and the exit statuses are the daemon's", "starter_class.cpp, starter_main.cpp";
    StarterExceptions, "starter-exceptions",
        "settings and job attributes that are of no use end the starter by an exception where they are first read", "c41; EXCEPT in the starter";
    ExecuteUnchecked, "execute-unchecked",
        "an EXECUTE that is not there is no reason to use another directory", "c41 011, 020";
    LeftUnnoted, "left-unnoted",
        "a starter notes nowhere what it makes: what a killed one leaves behind, nobody removes", "starter.cpp";
    ScratchMadeAsCondor, "scratch-made-as-condor",
        "as root the scratch directory is made as the condor account", "starter.cpp createTempExecuteDir";
    SuspendSignalsIgnored, "suspend-signals-ignored",
        "SIGTSTP and SIGCONT do not suspend and continue the job", "c12 007, 008";
    HooksKilledLast, "hooks-killed-last",
        "hooks that still run when the starter ends are killed behind the clean-up, without their directory", "starter.cpp, HookClientMgr.cpp";
    ExitHookUnspawnableHangs, "exit-hook-unspawnable-hangs",
        "a JOB_EXIT hook that cannot be executed keeps the starter for ever", "s21b";
    PluginNoAdsLoops, "plugin-no-ads-loops",
        "a transfer plugin that writes no new-style ads makes no hold, whatever its status, and of output whatever ends it: the job is started again for ever", "c32 p05, p06, p07, p09, p23";
    PrepareFailureHangsShadow, "prepare-failure-hangs-shadow",
        "with a shadow a failed prepare hook leaves the starter hanging until it is killed, without JOB_EXIT", "s23a, s23b";
    ExitReasonAlwaysEvict, "exit-reason-always-evict",
        "JOB_EXIT gets `evict` for condor_hold and condor_rm", "s23d";
    SlotHoldUnnoticed, "slot-hold-unnoticed",
        "JOB_EXIT gets `exit` and no reason for a job that WANT_HOLD holds", "starter.cpp remoteVacateCommand";
    ExceptionDropsExitHook, "exception-drops-exit-hook",
        "after an exception (PreCmd or PostCmd that cannot be executed, wrapper's error file) JOB_EXIT is killed at once, the outcome lost", "script_proc.cpp, user_proc.cpp";
    HupMovesHooks, "hup-moves-hooks",
        "after SIGHUP the starter's hooks start in LOG, no longer in the scratch directory", "daemon_core_main.cpp";
    JobAdFileStale, "job-ad-file-stale",
        ".job.ad does not show what PREPARE_JOB changed", "s14; starter.cpp WriteAdFiles";
    MachineAdEmpty, "machine-ad-empty",
        ".machine.ad is empty for fetched jobs: no thread or GPU variables", "s01";
    SoftKillRemoveSignal, "soft-kill-remove-signal",
        "a soft kill for any reason sends RemoveKillSig where the job has it", "c12, c39; os_proc.cpp";
    JavaSystemErrorAsZero, "java-system-error-as-zero",
        "a java job that failed by a fault of the machine, or whose virtual machine was killed, is reported with ExitCode 0", "java_proc.cpp; c23 012, 013";
    MissedDeferralAsSignal, "missed-deferral-as-signal",
        "a missed DeferralTime without a shadow is reported as a death by signal 114", "s32b case 32";
    OutputAdAsCondor, "output-ad-as-condor",
        "as root the result ad's file is written as the condor account", "s32 cases 08, 08b";
    JobKeywordNoUser, "job-keyword-no-user",
        "-job-keyword reads neither User nor OsUser", "s32 case 14";
    TmpdirUnmounted, "tmpdir-unmounted",
        "TMPDIR is /tmp as soon as MOUNT_UNDER_SCRATCH maps any directory", "c04 045; vanilla_proc.cpp";
    WrapperErrorFileIgnored, "wrapper-error-file-ignored",
        "as root what a wrapper writes to its error file is not found in a 0700 scratch directory", "c09; user_proc.cpp";
    SigtrapHangs, "sigtrap-hangs",
        "a job that dies of SIGTRAP is waited for for ever", "c08 019";
    SuspendedAtExecHangs, "suspended-at-exec-hangs",
        "a soft kill does not get through to a job with SuspendJobAtExec", "c12 055, 056";
    StartFailureSilent, "start-failure-silent",
        "bad arguments, environment or wrapper: not started, and nobody is told", "c02, c04, c09, c10";
    CheckpointExitLoops, "checkpoint-exit-loops",
        "without a shadow a checkpoint exit runs the job again at once, for ever", "c06 027, c08 046";
    DeferredVacateCrashes, "deferred-vacate-crashes",
        "a job that is to end while it waits for its DeferralTime: with JOB_EXIT the starter dies of SIGSEGV, its directory stays", "starter.cpp removeDeferredJobs, allJobsDone";
    LocalCompletionsUncounted, "local-completions-uncounted",
        "NumJobCompletions of a job of the local universe is not counted: with max_retries it is run again for ever", "jic_local_schedd.cpp; remoteresource.cpp";
    ExitReasonForSignals, "exit-reason-for-signals",
        "JOB_EXIT has an ExitReason for jobs that died of a signal only", "user_proc.cpp PublishUpdateAd";
    SoftMemoryLimitNone, "soft-memory-limit-none",
        "CGROUP_MEMORY_LIMIT_POLICY = soft sets no limit of memory", "vanilla_proc.cpp StartJob";
    SingularityTestRequeues, "singularity-test-requeues",
        "a job whose image fails its test goes back into the queue; it is not held", "singularity.cpp; c20";
    UpdateTimerRounded, "update-timer-rounded",
        "updates come at whole seconds of the clock: an interval of 1 s is 2 s in half of all runs", "condor_timeslice.cpp, timer_manager.cpp; s01";
    JobStartedWhileEnding, "job-started-while-ending",
        "when PREPARE_JOB ends while JOB_EXIT runs (a soft end was asked for) the job is started all the same, and killed", "job_info_communicator.cpp setupCompleted";
    SecondSigtermIgnored, "second-sigterm-ignored",
        "a second SIGTERM to the starter is ignored", "starter.cpp RemoteShutdownGraceful";
    UserlogFormatWordsIgnored, "userlog-format-words-ignored",
        "XML and JSON in DEFAULT_USERLOG_FORMAT_OPTIONS do nothing for user logs", "c33b, c33c, c34";
    ThreadVariablesStop, "thread-variables-stop",
        "after a thread variable that the job has set the following ones stay unset", "c36 m03";
    AssignedEnvEdit, "assigned-env-edit",
        "ENVIRONMENT_FOR_Assigned<Res> puts the replacement in front of the whole id", "c36 m04; starter.cpp";
    NoExecuteCrashes, "no-execute-crashes",
        "an EXECUTE that is set to nothing: the starter dies of SIGSEGV", "c41 019";
    JobIdLowBits, "job-id-low-bits",
        "of ClusterId and ProcId the lower 32 bits count", "job_info_communicator.cpp";
    MemoryHoldLost, "memory-hold-lost",
        "without a shadow a job killed for its memory is not held; where the machine had no more, its starter ends without JOB_EXIT",
        "vanilla_proc.cpp";
    ProcessesUnlimited, "processes-unlimited",
        "a job may make processes without end: its machine goes along", "vanilla_proc.cpp";
    LimitsSilentlyLost, "limits-silently-lost",
        "where no control group can be made jobs run without limits; only the log says so", "vanilla_proc.cpp";
    SlotlessUnlimited, "slotless-unlimited",
        "a job without a slot has no limits of memory and processors", "vanilla_proc.cpp";
    GroupsUnfound, "groups-unfound",
        "control groups are used only where version 2, or memory, cpu,cpuacct and freezer of version 1, stand in /sys/fs/cgroup",
        "vanilla_proc.cpp; hasCgroupV2";
    HooklessKeywordSilent, "hookless-keyword-silent",
        "a keyword that no hook belongs to runs its jobs without hooks, and nobody is told", "HookClientMgr.cpp";
    DockerEndUnforced, "docker-end-unforced",
        "a container that docker does not end is waited for, however often its end is asked for", "docker_proc.cpp";
    JobAdUnwrittenRuns, "job-ad-unwritten-runs",
        "without space for .job.ad and .machine.ad the job runs without them", "c41 022";
    UnremovableScratchSilent, "unremovable-scratch-silent",
        "what cannot be removed of the scratch directory stays, and nobody is told", "c41 033 to 035";
    Docker255IsSuccess, "docker-255-is-success",
        "a container that exits with 255 is reported as exit code 0", "c21 034; docker_proc.cpp";
    DockerStartHangs, "docker-start-hangs",
        "without a shadow a failed pull, or a container that cannot be made after one, leaves starter and scratch directory for ever; a foreign architecture ends it by an exception", "c21 018, 033, 034, 038, c22 008, 017, 019";
    DockerCreateStatus, "docker-create-status",
        "without a shadow a failed `docker create` counts as the job's exit with its status", "c21 026";
    DockerFailureIsEviction, "docker-failure-is-eviction",
        "a container that docker could not start is killed once more and counts as an evicted job that ran", "c21; docker_proc.cpp";
    DockerUnknownStays, "docker-unknown-stays",
        "a container that is not known to have ended is not removed", "docker_proc.cpp";
    DockerEndsSilent, "docker-ends-silent",
        "without a shadow a job over the memory of its container, or one that cannot be inspected, ends without a word", "docker_proc.cpp";
    DockerPauseAssumed, "docker-pause-assumed",
        "a container that docker does not pause counts as suspended all the same", "docker_proc.cpp Suspend";
    DockerTestFromPath, "docker-test-from-path",
        "the start-up test runs `docker` from PATH, not DOCKER", "c24 012, 013, 018";
    SingularityImageDefault, "singularity-image-default",
        "without SINGULARITY_IMAGE_EXPR and ContainerImage the image is the text `SingularityImage`; so is an expression that gives no string", "c20 011, 015, 029";
    OutsideScratchInside, "outside-scratch-inside",
        "with a target directory and Iwd elsewhere _CONDOR_SCRATCH_DIR_OUTSIDE_CONTAINER is the path inside", "c20 031; singularity.cpp";
    // Cron jobs.
    CronSlotPrefixMatch, "cron-slot-prefix-match",
        "SlotName or Name of a cron record is a prefix: `slot1` hits `slot10@...`", "startd_named_classad.cpp";
    CronEnvMissing, "cron-env-missing",
        "cron jobs of the startd do not get STARTD_INTERFACE_VERSION, STARTD_CRON_NAME, STARTD_CONFIG_VAL", "s29; startd_cron_job.cpp";
    CronLastLineLeaks, "cron-last-line-leaks",
        "a last line of a cron job without newline is glued to the first line of its next run", "cron_job_io.cpp";
    CronDashesAreTag, "cron-dashes-are-tag",
        "`-----` as separator of a cron job makes a tag `----`", "cron_job_io.cpp";
    CronFailedStartFinal, "cron-failed-start-final",
        "a failed start of a WaitForExit or OneShot cron job is its last", "cron_job.cpp";
    CronBoolFirstLetter, "cron-bool-first-letter",
        "KILL, RECONFIG, RECONFIG_RERUN of a cron job are true only for values that begin with t", "cron_param.cpp";
    CronRerunDoubles, "cron-rerun-doubles",
        "RECONFIG_RERUN starts a second process beside a running one, which is lost track of", "cron_job.cpp HandleReconfig";
    CronPeriodStale, "cron-period-stale",
        "a new PERIOD of a Periodic cron job at reconfig: one run at once, then the old times go on", "p80";
    CronStaleAttributes, "cron-stale-attributes",
        "what a cron job prints no more stays in the slot's own ad, which policy and REPLY_FETCH see", "ResMgr.h adlist_updated; Resource.cpp";
    // The job router.
    RouterAbortsNoUniverse, "router-aborts-no-universe",
        "an answer of TRANSLATE_JOB without JobUniverse ends the router, again and again", "r10, r12";
    TranslateSilenceLoops, "translate-silence-loops",
        "TRANSLATE_JOB that exits 0 without output is called again at every poll for ever", "r03";
    TranslateFailureNoBackoff, "translate-failure-no-backoff",
        "a failed translation is given back and taken again two polls later, for ever", "r03, r11";
    FinalizeRerouteLost, "finalize-reroute-lost",
        "after a failing JOB_FINALIZE the job leaves as completed instead of being routed again", "r05, r11";
    UpdateFailureFreezes, "update-failure-freezes",
        "a failing UPDATE_JOB_INFO keeps the routed job's status from being looked at: it never ends", "r04";
    UpdateBadlineRestarts, "update-badline-restarts",
        "a bad line of UPDATE_JOB_INFO removes the routed job and routes it anew, for ever", "r04, r11";
    UpdateIdRedirects, "update-id-redirects",
        "ClusterId or ProcId printed by UPDATE_JOB_INFO redirects the write to another job", "r11";
    CleanupFailureKeepsJob, "cleanup-failure-keeps-job",
        "a failing JOB_CLEANUP is called at each poll for ever, the source job is never released", "r06";
    RouterSignalIsSuccess, "router-signal-is-success",
        "a router hook killed by a signal counts as exit 0, its output is used", "r03, r04, r05, r06";
    RouterRefusedHookSkipped, "router-refused-hook-skipped",
        "a router hook whose path is refused counts as not configured: the job is routed without it", "JobRouterHookMgr.cpp";
    RouterKeyPrefix, "router-key-prefix",
        "a running hook of job 1.1 blocks the same hook of job 1.10", "JobRouterHookMgr.cpp";
    EditBlankEmptiesJob, "edit-blank-empties-job",
        "edit in place and a blank answer: every attribute of the job becomes undefined", "r12";
    SourceRemovalUnseen, "source-removal-unseen",
        "a source job removed before its copy is submitted stays removed and managed for ever", "r03";
    AdoptedCopyUnnamed, "adopted-copy-unnamed",
        "a source whose copy is taken up after a restart is never told RoutedToJobId", "r15; JobRouter.cpp";
    ExecuteEventFormerCopy, "execute-event-former-copy",
        "the execute event of a job that is routed again names its former copy, a quick one's none", "r04, r07, r08";
    HoldEventUnexplained, "hold-event-unexplained",
        "the event of a periodic hold has neither its reason nor its codes", "r07; submit_job.cpp";
    KerberosBesideTokensStale, "kerberos-beside-tokens-stale",
        "the Kerberos cache of a job that has tokens too is never brought anew: one timer stands for both", "jic_shadow.cpp";
    TokensGoneUnrefreshed, "tokens-gone-unrefreshed",
        "a job without a shadow loses the tokens that it has when they cannot be brought anew", "cred_dir.cpp; jic_local.cpp";
    ProxyCopyLeft, "proxy-copy-left",
        "the copied shared proxy stays behind when a later step fails", "r15";
    ThrottleZeroIsNone, "throttle-zero-is-none",
        "FailureRateThreshold = 0 with failures switches the throttle off", "r14";
    OldRoutesRefused, "old-routes-refused",
        "JOB_ROUTER_ENTRIES and routes in brackets, which the manual still teaches, are ignored or refused", "JobRouter.cpp";
    OldTransformsIgnored, "old-transforms-ignored",
        "job transforms in brackets, which the manual still shows, are ignored by the schedd", "job_transforms.cpp initAndReconfig";
    RouteTargetUndefined, "route-target-undefined",
        "TARGET. is undefined in JobFailureTest, UseSharedX509UserProxy and the other expressions of a route, although the manual's examples use it", "JobRouter.cpp";
    DefaultKeepsUndefined, "default-keeps-undefined",
        "DEFAULT leaves an attribute that is `undefined` as it is", "xform_utils.cpp";
    NulInAttributeName, "nul-in-attribute-name",
        "'SET X, 1' names the attribute X and a NUL byte, where printing stops", "xform_utils.cpp";
}

/// Behaviour to use where reference and manual differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuirkMode {
    /// Follow the manual, with a warning that a real pool differs.
    #[default]
    Manual,
    /// Reproduce 25.14 exactly.
    Reference,
}

/// Decision about a quirk, for code that applies, reports or lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuirkDecision {
    /// The quirk.
    pub quirk: Quirk,
    /// True to reproduce 25.14.
    pub as_reference: bool,
}

impl QuirkMode {
    /// True to reproduce 25.14 for `quirk`. Called only where the quirk is decided.
    pub fn reproduces(self, _quirk: Quirk) -> bool {
        self == QuirkMode::Reference
    }

    /// Returns the decision about a quirk, for code that reports it. Called only where the quirk is decided.
    pub fn decide(self, quirk: Quirk) -> QuirkDecision {
        QuirkDecision { quirk, as_reference: self.reproduces(quirk) }
    }

    /// Returns the other mode, whose outcome is shown in addition to the requested one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            QuirkMode::Manual => QuirkMode::Reference,
            QuirkMode::Reference => QuirkMode::Manual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_spelled_like_options() {
        let mut ids: Vec<_> = Quirk::ALL.iter().map(|quirk| quirk.id()).collect();
        assert!(
            ids.iter()
                .all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        );
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Quirk::ALL.len());
    }
}
