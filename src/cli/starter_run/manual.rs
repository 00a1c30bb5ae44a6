//! Texts of the help and the man page.

use super::super::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "run one job with all its hooks, as the starter, shadow and schedd do",
    description: &[
        "Reads a job ad and creates a scratch directory with .job.ad and .machine.ad. Then it calls UPDATE_JOB_INFO and \
         PREPARE_JOB, runs the job, calls UPDATE_JOB_INFO while the job runs and when it has ended, calls JOB_EXIT, removes \
         the scratch directory, and prints the job ad with the results of the run. Every event is printed on standard \
         error as one line; --events writes events as JSON lines.",
        "The hook keyword is STARTER_JOB_HOOK_KEYWORD, or HookKeyword of the job, or \
         STARTER_DEFAULT_JOB_HOOK_KEYWORD. The hooks are <KEYWORD>_HOOK_PREPARE_JOB (arguments in <KEYWORD>_HOOK_PREPARE_JOB_ARGS), \
         <KEYWORD>_HOOK_UPDATE_JOB_INFO and <KEYWORD>_HOOK_JOB_EXIT (at most <KEYWORD>_HOOK_JOB_EXIT_TIMEOUT seconds). \
         The output of PREPARE_JOB becomes part of the job ad; HookStatusCode in it takes precedence over the exit status.",
        "As root, hooks and the job run as OsUser, or User up to its '@', or Owner, or SLOT<N>_USER, never as root. \
         Otherwise everything runs as the caller, whatever the ad says.",
        "SIGTERM and SIGINT end the job with its KillSig; a second signal, or SIGQUIT, kills it. SIGUSR1 removes the job \
         (RemoveKillSig). SIGTSTP suspends it and SIGCONT continues it. In every case JOB_EXIT is called, and no process and no scratch \
         directory is left. As root, if the job names no account of this machine, JOB_EXIT is \
         called as CONDOR_IDS, or as the account condor, or as nobody, and a message says so. (Daemons of HTCondor that are started as \
         root without CONDOR_IDS and condor exit at once, and their starter calls no hook for a job that it refuses.)",
        "Jobs in containers: a job with WantDocker, or with WantContainer and WantDockerImage in a slot that has HasDocker, is run by DOCKER. \
         WantSIF, WantSandboxImage, WantDockerImage, SINGULARITY_JOB and USE_DEFAULT_CONTAINER select SINGULARITY (Singularity or \
         Apptainer). Hooks run before the container and outside of it. The container is paused, signalled and removed with the \
         job. If the runtime is missing, the job is not run, and a message says why.",
        "With --as shadow this program also acts as shadow and schedd. SHADOW_PREPARE_JOB is called, then \
         PREPARE_JOB_BEFORE_TRANSFER, then the input files are copied to the scratch directory. Output files are copied back. \
         The attributes are ShouldTransferFiles, TransferInput, TransferOutput, TransferOutputRemaps, PreserveRelativePaths, TransferCheckpoint, \
         FailureFiles, ManifestDesired, OutputDirectory, OutputDestination, MaxTransferInputMB and MaxTransferOutputMB; \
         URLs use FILETRANSFER_PLUGINS and TransferPlugins of the job. \
         Periodic and exit policies, allowed durations and SYSTEM_PERIODIC_* hold, remove, requeue or repeat the job. UserLog gets the \
         events of 25.14. The printed ad is the ad that the queue would have.",
        "--until runs a job again: until it is done (PeriodicRelease releases held jobs), until it is held, or N times. \
         Output files are read as the account of the job and \
         written as the account of its User, never as root and never as the owner of Iwd. File modes are kept without set-id bits. \
         File transfer plugins run as the account of the job.",
        "--log names the event log of the job and overrides UserLog. EVENT_LOG, the event log of all jobs, is written as 25.14 writes it: header, \
         EVENT_LOG_FORMAT_OPTIONS, rotation (EVENT_LOG_MAX_SIZE, EVENT_LOG_MAX_ROTATIONS, EVENT_LOG_ROTATION_LOCK), EVENT_LOG_LOCKING and \
         EVENT_LOG_JOB_AD_INFORMATION_ATTRS. ENABLE_USERLOG_LOCKING and ENABLE_USERLOG_FSYNC apply to the log of the job.",
        "--interactive runs $SHELL on this terminal instead of the job, in the scratch directory, with the account, environment and \
         limits of the job, and with its hooks. The exit code of the shell is that of the job. The ad must be given with --ads FILE.",
        "Steps at the end that fail for a moment are tried again: JOB_EXIT that cannot be started, and output whose helper process fails, \
         five times, one second apart; removal of the scratch directory three times. If the ad cannot be printed, it is kept for --clean. With --as \
         local it is printed again every LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY seconds, LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES times.",
        "With --as local this program acts as the schedd of a local universe job: the same policies, without file transfer.",
        "--dry-run runs nothing. It prints the hooks in order, every call of a container runtime, the command line, the \
         environment, mounts, limits and the account. --json prints this as one object. --explain adds the attribute or parameter that causes \
         each part, and what was read and not used. The exit status is 0 if the job would start in a pool with this configuration, and 1 if it \
         would be refused or held, with the reason. If a program does not exist on this machine, a line says so and the status does not change. It is assumed \
         that no image exists yet, that hooks succeed and print nothing, and that the version of Singularity is \
         SingularityVersion in --slot-ads.",
        "If the configuration does not set EXECUTE, the scratch directory is created in $TMPDIR or /tmp. Called as condor_starter, \
         this program accepts the command line of that daemon and returns its exit statuses.",
    ],
    statuses: "0 the job exited with 0, 1 it did not, 2 wrong options, 3 bad input, 124 timed out",
    examples: &[
        Example::new(
            "Run a job and print its ad with ExitCode and usage",
            "htc-starter-run --quiet --ads run.ad",
        ),
        Example::new(
            "Print what would run, and what caused each argument, mount and limit",
            "htc-starter-run --dry-run --explain --ads run.ad",
        ),
        Example::new(
            "Print what would run for an ad on standard input",
            "htc-starter-run --dry-run < run.ad",
        ),
    ],
    verbs: &[],
    environment: &[
        ("_HTC_STARTER_OPTIONS", "Options before those of the command line; set by htc-slot-run"),
        (
            "_HTC_STARTER_DIR",
            "Private directory that htc-slot-run creates for this starter (machine.ad, control)",
        ),
        ("TMPDIR", "Directory for scratch directories if the configuration does not set EXECUTE"),
    ],
    files: &[
        ("EXECUTE/dir_<pid>/scratch", "Scratch directory of the job; removed at the end"),
        (".job.ad, .machine.ad", "Job ad and slot ad, in the scratch directory"),
        ("core.<cluster>.<proc>", "Core file of the job, in Iwd"),
    ],
    differences: &[
        "Without --as shadow no files are transferred: the files of a job are where its ad says. Universes 5 \
         (vanilla), 10 (java, with HTCondor's CondorJavaWrapper.class on its class path) and 12 (local) are supported. \
         Settings and attributes that a pool would use and this program ignores, such as WantIOProxy, are reported once, and the job runs; \
         'htc-config-dump lint --here' lists them. Jobs with a second program beside them (ToolDaemonCmd) are not started. STARTER_REMOTE_CMD \
         and -gridshell have no effect or are refused.",
        "Jobs that need OAuth tokens (OAuthServicesNeeded) get those of SEC_CREDENTIAL_DIRECTORY_OAUTH, in a directory that only the job can read, \
         refreshed every SEC_CREDENTIAL_REFRESH seconds. If tokens are missing, --as shadow holds the job; otherwise the job is refused. \
         With SendCredential and --as shadow, the Kerberos cache that a credmon has written to \
         SEC_CREDENTIAL_DIRECTORY_KRB is copied to the job's directory; no credmon is asked to create one. SHADOW_PREPARE_JOB has \
         both below SPOOL while it runs; a locked file beside them tells --clean that they are in use. A hold, removal or \
         vacate ends this hook at once; the shadow of a pool has no starter at this point that it could end, and waits for the hook.",
        "DockerSendCredentials: the configuration of docker is beside the job's directory, not in /tmp. condor_ssh_to_job has no socket in containers. \
         Logical volumes (LVM_VOLUME_GROUP_NAME) are created, and encrypted if ENCRYPT_EXECUTE_DIRECTORY or EncryptExecuteDirectory requires it, with the commands in \
         the source of 25.14; there is no recording of them. If LVM_BACKING_FILE is set, a volume group is created in that file, and the first \
         starter keeps it as long as it runs (a startd keeps its own). An existing file, which a startd would overwrite, is not changed. If this fails, or neither is set, \
         the job's directory is a file system in a file, or its size is checked, and it is not encrypted.",
        "With --as shadow files are copied, not sent: addresses in messages have port 0, set-id bits are not kept, a device \
         counts as an empty file, and sparse files stay sparse. If a plugin without ads fails to upload the output, the job is held; 25.14 \
         runs it again forever. Files of an evicted job (ON_EXIT_OR_EVICT) are kept for the next run of the same --until. If no \
         plugin supports a URL, the job goes back to the queue. CheckpointDestination, StreamIn and SpoolOnEvict are reported as unsupported.",
        "Exit status 1 means that the job did not exit with 0; condor_starter returns 0 in this case. With --quirks reference, \
         and under the name condor_starter, the statuses are the reference's: 0 for every job that ran, 1 if it could \
         not be started, 4 if a job wrapper failed.",
        "A parameter that must be a number or a boolean and has another value is reported before the job starts, with status 3. HTCondor 25.14 \
         aborts when it reads the parameter, in some cases after the job has started; --quirks reference does the same.",
        "The last UPDATE_JOB_INFO may run for one more second after everything else has ended. A process of the job is killed before \
         its children; HTCondor kills children first, so a shell may exit with its own status in between.",
        "SIGINT and SIGALRM end the job gracefully; condor_starter dies from them and leaves the job and its directory to the startd. \
         Relative names after --job-output-ad and --job-update-ad are relative to the working directory, not to the scratch \
         directory, which is removed.",
        "As in HTCondor: Iwd, In, Out and Err in the output of PREPARE_JOB have no effect; the output \
         after a line that is not an attribute is ignored; UPDATE_JOB_INFO is also called before PREPARE_JOB and at the \
         end, and nothing waits for it; ExitReason is set only for signals; environment variables that the starter sets override \
         those in the job's Environment.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
