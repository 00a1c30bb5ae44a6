//! Table of quirks: cases in which HTCondor 25.14 differs from its manual.
//!
//! By default, the programs follow the manual and report once that a real pool differs; `--quirks reference` reproduces 25.14
//! exactly. Each quirk is decided in one place, in the module to which it applies, and only the code at that place names the
//! variant of the quirk. Code that reports or lists a decision, such as the verdict of `htc-hook-test`, gets the outcome or a
//! [`QuirkDecision`], which contains the quirk. If a variant is used in two places, the quirk has two decisions, and its
//! description covers both.

/// Defines the enum together with its table, so that no quirk lacks a description.
macro_rules! quirks {
    ($($variant:ident, $id:literal, $line:literal, $source:literal;)*) => {
        /// Known deviation of the reference from its manual. The documentation of each variant is its description in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(rustdoc::invalid_html_tags, reason = "the lines are printed to terminals; SLOT<N> in them is not an HTML tag")]
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
            pub fn description(self) -> String {
                format!("in HTCondor 25.14 {} ({})", self.line(), self.id())
            }

            /// Returns the source of the quirk: a source file of the reference or a recorded session.
            pub fn source(self) -> &'static str {
                match self { $(Quirk::$variant => $source,)* }
            }
        }
    };
}

quirks! {
    // Fetching and claims.
    EvictClaimNever, "evict-claim-never",
        "EVICT_CLAIM is never called, however the claim ends", "claim.cpp";
    FetchedPreemptionLost, "fetched-preemption-lost",
        "REPLY_FETCH is called with `accept` for a fetched job of higher rank, but the running job continues and the accepted job is lost", "s07; Resource.cpp";
    FirstFetchLate, "first-fetch-late",
        "a slot first calls FETCH_WORK when UPDATE_INTERVAL (300 s) has passed after the start", "s35; Resource.cpp";
    FetchStopsAfterSpawnFailure, "fetch-stops-after-spawn-failure",
        "a slot never fetches again after its FETCH_WORK hook could not be executed", "s21; StartdHookMgr.cpp";
    FetchDelayStaleActivity, "fetch-delay-stale-activity",
        "after a job has ended, FetchWorkDelay is evaluated with Activity Busy until the next poll", "s17";
    EmptyLeaseKills, "empty-lease-kills",
        "a job is killed when its JobLeaseDuration expires: at once if the value is 0 or negative, and also if nothing can renew the lease",
        "claim.cpp";
    SuspendCommandSticks, "suspend-command-sticks",
        "after condor_suspend, CONTINUE has no effect in that slot, also for later jobs, until condor_continue", "Resource.cpp suspend_claim";
    FetchWhenUnable, "fetch-when-unable",
        "slots continue to fetch while they are preempting, drained or shutting down, although every fetched job is then refused or lost", "s08, s18";
    AcceptBeforeDslot, "accept-before-dslot",
        "REPLY_FETCH is called with `accept` and the id of the old claim before the dynamic slot and the claim exist", "s02; StartdHookMgr.cpp";
    DslotSplitsAgain, "dslot-splits-again",
        "the next job of a dynamic slot runs in a new dynamic slot that is split off the first, in which a job may still be running", "Resource.h can_create_dslot";
    ClaimIdLineUnescaped, "claimid-line-unescaped",
        "double quotes in the ClaimId line of REPLY_FETCH are not escaped, so the line is not valid", "s01, s30a";
    BadAnswerKeepsClaim, "bad-answer-keeps-claim",
        "output of FETCH_WORK with one bad line is dropped without a message, and an idle claim remains", "s12";
    BlankAnswerIsJob, "blank-answer-is-job",
        "output of FETCH_WORK that is only white space is accepted as a job without attributes", "s12";
    AnswerCutAccepted, "answer-cut-accepted",
        "output that was cut at PIPE_BUFFER_MAX is used, including its incomplete last line", "s12b, s14b";
    PidnsExecFailureIsSuccess, "pidns-exec-failure-is-success",
        "a job in a PID namespace whose program cannot be executed ends with exit code 0", "c40 026; vanilla_proc.cpp";
    PidnsEvictedIsZero, "pidns-evicted-is-zero",
        "a job in a PID namespace that is vacated is reported with exit code 0", "c40 025; vanilla_proc.cpp";
    PidnsInitOfLibexec, "pidns-init-of-libexec",
        "USE_PID_NAMESPACES starts jobs through condor_pid_ns_init in LIBEXEC, even if that program does not exist", "vanilla_proc.cpp";
    TrackingWithoutRootFails, "tracking-without-root-fails",
        "USE_GID_PROCESS_TRACKING without root ends the starter", "vanilla_proc.cpp";
    PerJobNamespacesFails, "per-job-namespaces-fails",
        "with PER_JOB_NAMESPACES = false no job starts if MOUNT_UNDER_SCRATCH maps a directory", "daemon_core.cpp";
    DiskUnwatched, "disk-unwatched",
        "STARTD_ENFORCE_DISK_LIMITS has no effect without logical volumes", "c40 044; starter.cpp";
    DedicatedAccountIgnored, "dedicated-account-ignored",
        "DEDICATED_EXECUTE_ACCOUNT_REGEXP is ignored without a shadow", "c40 045; jic_local.cpp";
    NoJobNetworkingFails, "no-job-networking-fails",
        "NO_JOB_NETWORKING without USE_PID_NAMESPACES ends the starter while the job continues", "c40 041; daemon_core.cpp";
    OwnerIgnored, "owner-ignored",
        "if the starter runs as root, the account of a job is OsUser or User; Owner and SLOT<N>_USER are ignored", "s28b; jic_local.cpp";
    EmptyIwdLogInRoot, "empty-iwd-log-in-root",
        "with an empty Iwd the job's log (StarterUserLog) is expected in /, where the job's account may not write", "local_user_log.cpp";
    DslotKeywordNoFallback, "dslot-keyword-no-fallback",
        "a dynamic slot does not use the SLOT<N>_JOB_HOOK_KEYWORD of its parent", "Resource.cpp getHookKeyword";
    RemoteOwnerSticks, "remote-owner-sticks",
        "RemoteOwner of a claim stays the owner of its first job", "claim.cpp loadAccountingInfo";
    StarterRefusalUntold, "starter-refusal-untold",
        "no hook is called for a job that the starter refuses after `accept`", "s28, s28b, s21b";
    UndefinedPolicyFatal, "undefined-policy-fatal",
        "an undefined IS_OWNER or WANT_VACATE ends the execution point", "p55 30; Resource.cpp";
    SlotTypeIsOwnerIgnored, "slot-type-is-owner-ignored",
        "SLOT_TYPE_1_IS_OWNER is ignored; SLOT_TYPE_1_IsOwner works", "p45";
    VmPolicyKnobsDead, "vm-policy-knobs-dead",
        "SUSPEND_VM, PREEMPT_VM and similar parameters are looked up in the slot ad, which never contains them", "Resource.cpp";
    QuickDrainSparesUnmatched, "quick-drain-spares-unmatched",
        "a quick drain gives jobs that no longer match START their full retirement time", "ResState.cpp";
    ShareNotANumber, "share-not-a-number",
        "a share in SLOT_TYPE_<n> that is not a number is read as 0 and raised to the minimum without a message", "s31l";
    SlotTypeUnmade, "slot-type-unmade",
        "no slot is created for a slot type with invalid shares; only the log reports this", "s31k, s31l";
    ExecuteEmptied, "execute-emptied",
        "the startd removes everything in EXECUTE when it starts, including files that are not HTCondor's", "c35c";
    TypeAttrsHideSlotValues, "type-attrs-hide-slot-values",
        "SLOT_TYPE_n_STARTD_ATTRS replaces STARTD_ATTRS when values of SLOTn_x are looked up", "p60";
    RetirementLostAfterDrain, "retirement-lost-after-drain",
        "after a machine with one slot was drained, its jobs no longer have a MaxJobRetirementTime", "p78, p76";
    OfflineBelowZero, "offline-below-zero",
        "if OFFLINE_MACHINE_RESOURCE_x is more than the machine has, no slot is created; a number has no effect for a resource that has ids", "p55 16, 17; p51";
    OfflineOnlyGrows, "offline-only-grows",
        "a reconfiguration can only add offline resources: ids that were offline at the start stay offline", "p53";
    RequireIgnoredStatic, "require-ignored-static",
        "a static slot accepts a job without checking its RequireGPUs against the GPUs of the slot", "Resource.cpp";
    DeviceIndexIsTruth, "device-index-is-truth",
        "`gpus=1:1` selects the first GPU with known properties, not the second: the number after the colon is evaluated as a condition, and any number other than 0 is true for every GPU",
        "ResAttributes.cpp DevIdMatches";
    BenchmarkOnce, "benchmark-once",
        "Benchmarking ends at the next poll while the programs are still running; RunBenchmarks is evaluated again only after another change of activity",
        "p01, p84";
    BenchmarksNotAtStart, "benchmarks-not-at-start",
        "benchmarks run only when RunBenchmarks is true, although the manual says that any value other than False also runs them once after the start",
        "MachAttributes.cpp; Resource.cpp";
    BenchmarksNotAveraged, "benchmarks-not-averaged",
        "the published results of benchmarks are those of the last run, not a weighted average", "startd_bench_job.cpp";
    StartFalseKeepsClaim, "start-false-keeps-claim",
        "a START that becomes false does not end an idle claim, and a matched slot keeps its match; only IS_OWNER moves a slot to Owner state",
        "ResState.cpp eval_policy";
    BackfillDead, "backfill-dead",
        "the released startd refuses BACKFILL_SYSTEM = BOINC, and a startd that runs as root could not start the client", "p10c";
    ResourceConflictStays, "resource-conflict-stays",
        "ResourceConflict of a backfill slot remains after the conflict has ended, and a claimed static slot is counted twice",
        "p48; ResMgr.cpp compute_resource_conflicts";
    ConsumptionDropsRequire, "consumption-drops-require",
        "with a consumption policy, RequireGPUs of a job is ignored", "Resource.cpp create_dslot";
    StartSyntaxSilent, "start-syntax-silent",
        "a START that does not parse becomes `error` without a message, and the slot never matches", "p55 28";
    NumCpusZero, "num-cpus-zero",
        "NUM_CPUS = 0 creates one broken slot that is not visible anywhere, and the startd keeps running", "p55 25";
    TimersWholeSeconds, "timers-whole-seconds",
        "timers are rounded to whole seconds: each fires up to one second early or late, and all timers due in the same second fire together", "s05, s14, s33; timer_manager.cpp";
    FetchDelayLowBits, "fetch-delay-low-bits",
        "only the lower 32 bits of FetchWorkDelay are used: 3,000,000,000 seconds mean no delay", "Resource.cpp evalNextFetchWorkDelay";
    NumSlotsPartitionable, "num-slots-partitionable",
        "NUM_SLOTS alone creates partitionable slots, each with a share of the processors", "slot_builder.cpp initTypes";
    CpuBusyTimeMissing, "cpu-busy-time-missing",
        "no slot ad has CpuBusyTime and CpuIsBusy, so a policy that reads them is undefined", "Resource.cpp publish_evaluated";
    VacatingPastLimit, "vacating-past-limit",
        "a job that takes longer than MachineMaxVacateTime is killed, but its slot stays in Vacating", "Resource.cpp, claim.cpp";
    BusyLeaseRenewed, "busy-lease-renewed",
        "the lease of a claim does not expire while its job runs, even if nothing renews it", "claim.cpp startLeaseTimer";
    FetchedUsageUnseen, "fetched-usage-unseen",
        "the slot ad of a fetched job never has MemoryUsage and ResidentSetSize, because its starter does not report to the startd", "s01 to s22; JICShadow::updateStartd";
    CronConfigValUnread, "cron-config-val-unread",
        "STARTD_CRON_CONFIG_VAL and similar parameters have no effect: cron jobs do not get the variable", "condor_cron_job_mgr.cpp";
    HibernatePause, "hibernate-pause",
        "a sleep state that the machine does not support ends all jobs and stops the execution point for 10 s", "p85; ResMgr.cpp checkHibernate";
    DrainExprDropped, "drain-expr-dropped",
        "condor_drain ignores a -check or -start expression that does not parse, and drains the machine", "p70, p77; drain.cpp";
    DrainStartUseless, "drain-start-useless",
        "during a drain with -start, idle claims end, and no claim is granted near the end of the drain", "p71, p71b; command.cpp, ResState.cpp";
    ForceGracefulDead, "force-graceful-dead",
        "a peaceful shutdown cannot be changed to a graceful one", "p73e; ResState.cpp";
    DrainedSeenLate, "drained-seen-late",
        "the action after a drain is carried out only at the next poll of a drained slot", "ResMgr.cpp";
    SuspendWithoutJob, "suspend-without-job",
        "a claim without a job can be suspended, and becomes Busy without a job when it is continued, until the claim ends", "Resource.cpp suspend_claim";
    UndrainedKeepsActivity, "undrained-keeps-activity",
        "a slot whose drain has ended may be in state Owner with activity Retiring", "ResState.cpp eval_policy";
    StarterUnchecked, "starter-unchecked",
        "a STARTER that does not exist or cannot read the configuration is noticed only when the first job is lost", "Starter.cpp";
    // Processes of hooks.
    HooksSpawnedAsDaemons, "hooks-spawned-as-daemons",
        "hooks start with nearly all signals blocked and SIGPIPE ignored, and get two command sockets and the daemon's session key", "s01; HookClientMgr.cpp spawn";
    ClosedStdio, "closed-stdio",
        "hooks whose output is not read have descriptors 1 and 2 closed; hooks without input also have 0 closed", "s01; HookClientMgr.cpp spawn";
    HookTmpdirAfterJob, "hook-tmpdir-after-job",
        "hooks that run after the start of a job get the job's TMPDIR=/tmp, but not the job's mount on /tmp", "s01; starter.cpp PublishToEnv";
    HookKeywordFallbackBlocked, "hook-keyword-fallback-blocked",
        "a HookKeyword without any hook selects no hooks, not the hooks of the default keyword", "s13, s23b; HookClientMgr.cpp";
    // The starter.
    StarterOwnCommandLine, "starter-own-command-line",
        "-job-input-ad reads only the long form, no ad is printed with -job-output-ad, and the exit statuses are the daemon's", "starter_class.cpp, starter_main.cpp";
    StarterExceptions, "starter-exceptions",
        "invalid settings and job attributes end the starter with an exception when they are first read", "c41; EXCEPT in the starter";
    ExecuteUnchecked, "execute-unchecked",
        "the starter does not use another directory if EXECUTE does not exist", "c41 011, 020";
    LeftUnnoted, "left-unnoted",
        "a starter does not record what it creates, so nothing removes what a killed starter leaves behind", "starter.cpp";
    ScratchMadeAsCondor, "scratch-made-as-condor",
        "a starter that runs as root creates the scratch directory as the condor account", "starter.cpp createTempExecuteDir";
    SuspendSignalsIgnored, "suspend-signals-ignored",
        "SIGTSTP and SIGCONT to the starter do not suspend and continue the job", "c12 007, 008";
    HooksKilledLast, "hooks-killed-last",
        "hooks that are still running when the starter ends are killed after the cleanup, when their directory no longer exists", "starter.cpp, HookClientMgr.cpp";
    ExitHookUnspawnableHangs, "exit-hook-unspawnable-hangs",
        "the starter waits forever for a JOB_EXIT hook that cannot be executed", "s21b";
    PluginNoAdsLoops, "plugin-no-ads-loops",
        "a job is started again forever instead of being held if a transfer plugin writes no new-style ads, whatever its status, or if an output plugin dies", "c32 p05, p06, p07, p09, p23";
    PrepareFailureHangsShadow, "prepare-failure-hangs-shadow",
        "with a shadow, a failed prepare hook leaves the starter hanging until it is killed, without JOB_EXIT", "s23a, s23b";
    ExitReasonAlwaysEvict, "exit-reason-always-evict",
        "JOB_EXIT is called with `evict` after condor_hold and condor_rm", "s23d";
    SlotHoldUnnoticed, "slot-hold-unnoticed",
        "JOB_EXIT is called with `exit` and without a reason for a job that WANT_HOLD holds", "starter.cpp remoteVacateCommand";
    ExceptionDropsExitHook, "exception-drops-exit-hook",
        "after an exception (PreCmd or PostCmd that cannot be executed, a wrapper's error file) JOB_EXIT is killed at once and the outcome is lost", "script_proc.cpp, user_proc.cpp";
    HupMovesHooks, "hup-moves-hooks",
        "after SIGHUP the starter's hooks start in LOG, no longer in the scratch directory", "daemon_core_main.cpp";
    JobAdFileStale, "job-ad-file-stale",
        ".job.ad does not show the changes by PREPARE_JOB", "s14; starter.cpp WriteAdFiles";
    MachineAdEmpty, "machine-ad-empty",
        ".machine.ad is empty for fetched jobs, so there are no thread or GPU variables", "s01";
    SoftKillRemoveSignal, "soft-kill-remove-signal",
        "every soft kill sends RemoveKillSig if the job has it", "c12, c39; os_proc.cpp";
    JavaSystemErrorAsZero, "java-system-error-as-zero",
        "a java job that failed because of the machine, or whose virtual machine was killed, is reported with ExitCode 0", "java_proc.cpp; c23 012, 013";
    MissedDeferralAsSignal, "missed-deferral-as-signal",
        "a missed DeferralTime without a shadow is reported as a death by signal 114", "s32b case 32";
    OutputAdAsCondor, "output-ad-as-condor",
        "a starter that runs as root writes the file of the final ad as the condor account", "s32 cases 08, 08b";
    JsonEscapes, "json-escapes",
        "`\\u00eb` in a JSON string is read as two bytes that are not UTF-8", "jsonSource.cpp, lexer.cpp";
    JobKeywordNoUser, "job-keyword-no-user",
        "-job-keyword reads neither User nor OsUser", "s32 case 14";
    TmpdirUnmounted, "tmpdir-unmounted",
        "TMPDIR is /tmp as soon as MOUNT_UNDER_SCRATCH maps any directory", "c04 045; vanilla_proc.cpp";
    WrapperErrorFileIgnored, "wrapper-error-file-ignored",
        "if the starter runs as root, it does not find the wrapper's error file when the scratch directory has mode 0700", "c09; user_proc.cpp";
    SigtrapHangs, "sigtrap-hangs",
        "the starter waits forever for a job that SIGTRAP kills", "c08 019";
    SuspendedAtExecHangs, "suspended-at-exec-hangs",
        "a soft kill does not reach a job with SuspendJobAtExec", "c12 055, 056";
    StartFailureSilent, "start-failure-silent",
        "a job with bad arguments, environment or wrapper is not started, and no hook is called", "c02, c04, c09, c10";
    CheckpointExitLoops, "checkpoint-exit-loops",
        "without a shadow a checkpoint exit runs the job again at once, forever", "c06 027, c08 046";
    DeferredVacateCrashes, "deferred-vacate-crashes",
        "if a job is vacated while it waits for its DeferralTime and JOB_EXIT is configured, the starter crashes with SIGSEGV and its directory remains", "starter.cpp removeDeferredJobs, allJobsDone";
    LocalCompletionsUncounted, "local-completions-uncounted",
        "NumJobCompletions of a local universe job is not counted, so with max_retries the job runs again forever", "jic_local_schedd.cpp; remoteresource.cpp";
    ExitReasonForSignals, "exit-reason-for-signals",
        "JOB_EXIT gets an ExitReason only for jobs that were killed by a signal", "user_proc.cpp PublishUpdateAd";
    SoftMemoryLimitNone, "soft-memory-limit-none",
        "CGROUP_MEMORY_LIMIT_POLICY = soft sets no memory limit", "vanilla_proc.cpp StartJob";
    SingularityTestRequeues, "singularity-test-requeues",
        "a job whose image fails its test goes back to the queue instead of being held", "singularity.cpp; c20";
    UpdateTimerRounded, "update-timer-rounded",
        "updates are sent at whole seconds of the clock: an interval of 1 s is 2 s in half of all runs", "condor_timeslice.cpp, timer_manager.cpp; s01";
    JobStartedWhileEnding, "job-started-while-ending",
        "if PREPARE_JOB ends while JOB_EXIT runs (after a soft kill), the job is started and then killed", "job_info_communicator.cpp setupCompleted";
    SecondSigtermIgnored, "second-sigterm-ignored",
        "a second SIGTERM to the starter is ignored", "starter.cpp RemoteShutdownGraceful";
    UserlogFormatWordsIgnored, "userlog-format-words-ignored",
        "XML and JSON in DEFAULT_USERLOG_FORMAT_OPTIONS have no effect on user logs", "c33b, c33c, c34";
    ThreadVariablesStop, "thread-variables-stop",
        "if the job sets one of the thread variables, the variables after it are not set", "c36 m03";
    AssignedEnvEdit, "assigned-env-edit",
        "ENVIRONMENT_FOR_Assigned<Res> inserts the whole id after the replacement, not only the part after the match", "c36 m04; starter.cpp";
    NoExecuteCrashes, "no-execute-crashes",
        "the starter crashes with SIGSEGV if EXECUTE is empty", "c41 019";
    JobIdLowBits, "job-id-low-bits",
        "only the lower 32 bits of ClusterId and ProcId are used", "job_info_communicator.cpp";
    MemoryHoldLost, "memory-hold-lost",
        "without a shadow, a job killed for exceeding its memory limit is not held; if the whole machine ran out of memory, the starter exits without calling JOB_EXIT",
        "vanilla_proc.cpp";
    ProcessesUnlimited, "processes-unlimited",
        "a job may create processes without limit, until the machine fails", "vanilla_proc.cpp";
    LimitsSilentlyLost, "limits-silently-lost",
        "jobs run without limits if no control group can be created; only the log reports this", "vanilla_proc.cpp";
    SlotlessUnlimited, "slotless-unlimited",
        "a job without a slot has no limits on memory and processors", "vanilla_proc.cpp";
    GroupsUnfound, "groups-unfound",
        "control groups are used only if version 2, or the controllers memory, cpu,cpuacct and freezer of version 1, are mounted in /sys/fs/cgroup",
        "vanilla_proc.cpp; hasCgroupV2";
    HooklessKeywordSilent, "hookless-keyword-silent",
        "jobs with a keyword that has no hooks run without hooks and without a message", "HookClientMgr.cpp";
    DockerEndUnforced, "docker-end-unforced",
        "the starter waits forever for a container that docker fails to stop", "docker_proc.cpp";
    JobAdUnwrittenRuns, "job-ad-unwritten-runs",
        "the job runs without .job.ad and .machine.ad if there is no space for them", "c41 022";
    UnremovableScratchSilent, "unremovable-scratch-silent",
        "files in the scratch directory that cannot be removed remain there, without a message", "c41 033 to 035";
    Docker255IsSuccess, "docker-255-is-success",
        "a container that exits with 255 is reported with exit code 0", "c21 034; docker_proc.cpp";
    DockerStartHangs, "docker-start-hangs",
        "without a shadow, the starter and the scratch directory stay forever if the pull fails or the container cannot be created after the pull; if the image is for another CPU architecture, the starter exits with an exception", "c21 018, 033, 034, 038, c22 008, 017, 019";
    DockerCreateStatus, "docker-create-status",
        "without a shadow a failed `docker create` is treated as the job's exit with that status", "c21 026";
    DockerFailureIsEviction, "docker-failure-is-eviction",
        "a container that docker could not start is killed once more and treated as an evicted job that ran", "c21; docker_proc.cpp";
    DockerUnknownStays, "docker-unknown-stays",
        "a container is not removed if it is unknown whether it has ended", "docker_proc.cpp";
    DockerEndsSilent, "docker-ends-silent",
        "without a shadow a job that exceeds the memory of its container, or whose container cannot be inspected, ends without a message", "docker_proc.cpp";
    DockerPauseAssumed, "docker-pause-assumed",
        "a container that docker fails to pause is treated as suspended", "docker_proc.cpp Suspend";
    DockerTestFromPath, "docker-test-from-path",
        "the start-up test runs `docker` from PATH, not DOCKER", "c24 012, 013, 018";
    SingularityImageDefault, "singularity-image-default",
        "without SINGULARITY_IMAGE_EXPR and ContainerImage, or if the expression is not a string, the image is the text `SingularityImage`", "c20 011, 015, 029";
    OutsideScratchInside, "outside-scratch-inside",
        "with a target directory and an Iwd elsewhere, _CONDOR_SCRATCH_DIR_OUTSIDE_CONTAINER is the path inside the container", "c20 031; singularity.cpp";
    // Cron jobs.
    CronSlotPrefixMatch, "cron-slot-prefix-match",
        "SlotName or Name of a cron record is a prefix: `slot1` also matches `slot10@...`", "startd_named_classad.cpp";
    CronEnvMissing, "cron-env-missing",
        "cron jobs of the startd do not get STARTD_INTERFACE_VERSION, STARTD_CRON_NAME, STARTD_CONFIG_VAL", "s29; startd_cron_job.cpp";
    CronLastLineLeaks, "cron-last-line-leaks",
        "a last line of a cron job without a newline is joined to the first line of its next run", "cron_job_io.cpp";
    CronDashesAreTag, "cron-dashes-are-tag",
        "the separator `-----` of a cron job sets the tag `----`", "cron_job_io.cpp";
    CronFailedStartFinal, "cron-failed-start-final",
        "a WaitForExit or OneShot cron job is never started again after a failed start", "cron_job.cpp";
    CronBoolFirstLetter, "cron-bool-first-letter",
        "KILL, RECONFIG and RECONFIG_RERUN of a cron job are true only for values that begin with t", "cron_param.cpp";
    CronRerunDoubles, "cron-rerun-doubles",
        "RECONFIG_RERUN starts a second process while the first is still running; the first is then no longer tracked", "cron_job.cpp HandleReconfig";
    CronPeriodStale, "cron-period-stale",
        "after a change of its PERIOD, a Periodic cron job runs once immediately and then at the old times", "p80";
    CronStaleAttributes, "cron-stale-attributes",
        "attributes that a cron job no longer prints stay in the slot ad that policies and REPLY_FETCH see", "ResMgr.h adlist_updated; Resource.cpp";
    // The job router.
    RouterAbortsNoUniverse, "router-aborts-no-universe",
        "output of TRANSLATE_JOB without JobUniverse aborts the router, and again after each restart", "r10, r12";
    TranslateSilenceLoops, "translate-silence-loops",
        "TRANSLATE_JOB that exits with 0 and prints nothing is called again at every poll, forever", "r03";
    TranslateFailureNoBackoff, "translate-failure-no-backoff",
        "a job whose translation fails is released and claimed again two polls later, forever", "r03, r11";
    FinalizeRerouteLost, "finalize-reroute-lost",
        "after a failing JOB_FINALIZE the job leaves the queue as completed instead of being routed again", "r05, r11";
    UpdateFailureFreezes, "update-failure-freezes",
        "if UPDATE_JOB_INFO fails, the status of the routed job is not read, so its end is never noticed", "r04";
    UpdateBadlineRestarts, "update-badline-restarts",
        "a bad line of UPDATE_JOB_INFO removes the routed job and routes it again, forever", "r04, r11";
    UpdateIdRedirects, "update-id-redirects",
        "ClusterId or ProcId in the output of UPDATE_JOB_INFO redirects the changes to another job", "r11";
    CleanupFailureKeepsJob, "cleanup-failure-keeps-job",
        "a failing JOB_CLEANUP is called at each poll forever, and the source job is never released", "r06";
    RouterSignalIsSuccess, "router-signal-is-success",
        "a router hook killed by a signal is treated as if it had exited with 0, and its output is used", "r03, r04, r05, r06";
    RouterRefusedHookSkipped, "router-refused-hook-skipped",
        "a router hook whose path is refused is treated as not configured: the job is routed without it", "JobRouterHookMgr.cpp";
    RouterKeyPrefix, "router-key-prefix",
        "a running hook of job 1.1 blocks the same hook of job 1.10", "JobRouterHookMgr.cpp";
    EditBlankEmptiesJob, "edit-blank-empties-job",
        "with edit in place, blank output makes every attribute of the job undefined", "r12";
    SourceRemovalUnseen, "source-removal-unseen",
        "a source job that is removed before its routed job is submitted stays removed and managed forever", "r03";
    AdoptedCopyUnnamed, "adopted-copy-unnamed",
        "after a restart of the router, a source job never gets the RoutedToJobId of its routed job", "r15; JobRouter.cpp";
    ExecuteEventFormerCopy, "execute-event-former-copy",
        "the execute event of a job that is routed again names its former routed job; the execute event of a job that ends quickly names none", "r04, r07, r08";
    HoldEventUnexplained, "hold-event-unexplained",
        "the event of a periodic hold has neither a reason nor codes", "r07; submit_job.cpp";
    KerberosBesideTokensStale, "kerberos-beside-tokens-stale",
        "the Kerberos cache of a job that also has tokens is never refreshed: both share one timer", "jic_shadow.cpp";
    TokensGoneUnrefreshed, "tokens-gone-unrefreshed",
        "a job without a shadow loses its tokens if they cannot be refreshed", "cred_dir.cpp; jic_local.cpp";
    ProxyCopyLeft, "proxy-copy-left",
        "the copy of the shared proxy stays if a later step fails", "r15";
    ThrottleZeroIsNone, "throttle-zero-is-none",
        "FailureRateThreshold = 0 with failures disables the throttle", "r14";
    OldRoutesRefused, "old-routes-refused",
        "JOB_ROUTER_ENTRIES and routes in brackets, which the manual still describes, are ignored or refused", "JobRouter.cpp";
    OldTransformsIgnored, "old-transforms-ignored",
        "job transforms in brackets, which the manual still describes, are ignored by the schedd", "job_transforms.cpp initAndReconfig";
    RouteTargetUndefined, "route-target-undefined",
        "TARGET. is undefined in JobFailureTest, UseSharedX509UserProxy and other expressions of a route, although examples of the manual use it", "JobRouter.cpp";
    DefaultKeepsUndefined, "default-keeps-undefined",
        "DEFAULT does not change an attribute whose value is `undefined`", "xform_utils.cpp";
    NulInAttributeName, "nul-in-attribute-name",
        "'SET X, 1' sets an attribute whose name is X followed by a NUL byte; printing stops at the NUL byte", "xform_utils.cpp";
}

/// Behaviour to use if reference and manual differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuirkMode {
    /// Follow the manual, with a warning that a real pool differs.
    #[default]
    Manual,
    /// Reproduce 25.14 exactly.
    Reference,
}

/// Decision about a quirk, for code that applies the quirk, reports it or lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuirkDecision {
    /// Quirk to which the decision applies.
    pub quirk: Quirk,
    /// True to reproduce 25.14.
    pub as_reference: bool,
}

impl QuirkMode {
    /// Returns true to reproduce 25.14 for a quirk. Called only at the place where the quirk is decided.
    pub fn reproduces(self, _quirk: Quirk) -> bool {
        self == QuirkMode::Reference
    }

    /// Returns the decision about a quirk, for code that reports the quirk. Called only at the place where the quirk is
    /// decided.
    pub fn decide(self, quirk: Quirk) -> QuirkDecision {
        QuirkDecision { quirk, as_reference: self.reproduces(quirk) }
    }

    /// Returns the other mode, for code that also shows what the other mode would do.
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
