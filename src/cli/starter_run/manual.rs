//! Texts of the help and the man page.

use super::super::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "run one job with all its hooks, as starter, schedd and shadow do",
    description: &[
        "Reads a job ad, makes a scratch directory with .job.ad and .machine.ad in it, calls UPDATE_JOB_INFO and \
         PREPARE_JOB, runs the job, calls UPDATE_JOB_INFO while it runs and when it has ended, calls JOB_EXIT, removes \
         the scratch directory, and prints the job ad with its outcome merged in. Everything else is told on standard \
         error, one line an event; --events gives the same as JSON lines.",
        "The hooks are those of the keyword STARTER_JOB_HOOK_KEYWORD, else of the job's HookKeyword, else of \
         STARTER_DEFAULT_JOB_HOOK_KEYWORD: <KEYWORD>_HOOK_PREPARE_JOB (arguments in <KEYWORD>_HOOK_PREPARE_JOB_ARGS), \
         <KEYWORD>_HOOK_UPDATE_JOB_INFO and <KEYWORD>_HOOK_JOB_EXIT (at most <KEYWORD>_HOOK_JOB_EXIT_TIMEOUT seconds). \
         What PREPARE_JOB prints becomes part of the job; HookStatusCode in it decides before the exit status.",
        "As root hooks and job run as OsUser, else User up to its '@', else Owner, else SLOT<N>_USER, never as root. \
         Otherwise everything runs as the caller, whatever the ad says.",
        "Signals: SIGTERM and SIGINT end the job with its KillSig, a second one or SIGQUIT at once; SIGUSR1 removes it \
         (RemoveKillSig); SIGTSTP and SIGCONT suspend and continue it. In every case JOB_EXIT is called and nothing is \
         left behind: no process, no scratch directory. As root, of a job that names no account of this machine, JOB_EXIT is \
         called as CONDOR_IDS, else as the account condor, else as nobody, which is said. (Daemons of HTCondor end at once as root \
         without CONDOR_IDS and condor, and their starter calls no hook for a job that it refuses.)",
        "Jobs in containers: WantDocker, or WantContainer with WantDockerImage where the slot has HasDocker, is run by DOCKER; \
         WantSIF, WantSandboxImage, WantDockerImage, SINGULARITY_JOB and USE_DEFAULT_CONTAINER by SINGULARITY (Singularity or \
         Apptainer). Hooks run before the container and outside of it. The container is paused, signalled and removed with the \
         job. A runtime that is not there is told, and the job is not run outside of it.",
        "--as shadow plays schedd and shadow too. SHADOW_PREPARE_JOB is called, then files go into the scratch directory and back as \
         ShouldTransferFiles, TransferInput, TransferOutput, TransferOutputRemaps, PreserveRelativePaths, TransferCheckpoint, \
         FailureFiles, ManifestDesired, OutputDirectory, OutputDestination and the limits MaxTransferInputMB and MaxTransferOutputMB \
         say, by FILETRANSFER_PLUGINS and the job's TransferPlugins where they are URLs; PREPARE_JOB_BEFORE_TRANSFER comes before that. \
         Periodic and exit policy, durations and SYSTEM_PERIODIC_* hold, remove, send back or repeat the job; UserLog gets the \
         events of 25.14; printed is the ad as the queue would have it. --until runs a job again: until it is done (held jobs are \
         released by PeriodicRelease), until it is held, or so many times. What a job leaves is read as the job's account and \
         written as the account of its User, never as root and never as who merely owns Iwd; modes are kept but for set-id bits; \
         plugins run as the job's account.",
        "--log names the job's log, whatever its ad says. EVENT_LOG, the log of all jobs, is written beside it as by 25.14: a head, \
         EVENT_LOG_FORMAT_OPTIONS, rotation (EVENT_LOG_MAX_SIZE, EVENT_LOG_MAX_ROTATIONS, EVENT_LOG_ROTATION_LOCK), EVENT_LOG_LOCKING, \
         EVENT_LOG_JOB_AD_INFORMATION_ATTRS; ENABLE_USERLOG_LOCKING and ENABLE_USERLOG_FSYNC are the same for the job's own.",
        "--interactive runs $SHELL in the job's place, at this terminal: in the scratch directory, with the job's account, environment and \
         limits, hooks before and after it. Its exit code is the job's. The ad is given with --ads FILE.",
        "What fails at the end for a moment only is tried again: JOB_EXIT for which there is no process, output whose helper could not work, \
         five times, one second apart; the scratch directory three times. An ad that cannot be printed is kept for --clean. With --as \
         local it is printed again every LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY seconds, LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES times.",
        "--as local plays a schedd for a job of the local universe: the same policy, no transfer.",
        "--dry-run runs nothing and shows what would be: hooks in order, every call of a container's runtime, command line, \
         environment, mounts, limits, account; --json gives the same as one object, --explain the attribute or knob behind \
         each word and what was looked at and not used. Status 0: it would be started in a pool that is configured so; 1: it \
         would be refused or held, with the reason. A program that is not on this machine is a line, not a status. Images are \
         taken for absent, hooks are assumed to succeed and to print nothing, and the version of Singularity is that of \
         SingularityVersion in --slot-ads.",
        "Without EXECUTE in a configuration the scratch directory is made in $TMPDIR or /tmp. Called as condor_starter \
         it takes that daemon's command line and gives its exit statuses.",
    ],
    examples: &[
        Example {
            what: "run a job; its ad with ExitCode and all the rest is printed",
            line: "htc-starter-run --quiet --ads run.ad",
            status: 0,
        },
        Example {
            what: "what would be called and run",
            line: "htc-starter-run --dry-run < run.ad",
            status: 0,
        },
        Example {
            what: "the same, with what led to each word, mount and limit",
            line: "htc-starter-run --dry-run --explain --ads run.ad",
            status: 0,
        },
    ],
    environment: &[
        ("_HTC_STARTER_OPTIONS", "options put before those of the command line; set by htc-slot-run"),
        (
            "_HTC_STARTER_DIR",
            "private directory that htc-slot-run made for this starter (machine.ad, control)",
        ),
        ("TMPDIR", "where scratch directories are made when no configuration sets EXECUTE"),
    ],
    files: &[
        ("EXECUTE/dir_<pid>/scratch", "the job's scratch directory, removed at the end"),
        (".job.ad, .machine.ad", "in the scratch directory: the job's ad and the slot's"),
        ("core.<cluster>.<proc>", "in Iwd: a core file of the job"),
    ],
    differences: &[
        "Without --as shadow nothing is transferred: the files of a job lie where its ad says. Universes 5 \
         (vanilla), 10 (java, with CondorJavaWrapper.class of HTCondor on its class path) and 12 (local) are run. \
         Other settings and attributes that a pool would act upon and this program does not, such as WantIOProxy, are told once, and the job runs; \
         'htc-config-dump lint --here' lists them. \
         Jobs with a tool beside them (ToolDaemonCmd) are not started. STARTER_REMOTE_CMD and -gridshell do nothing or are refused. Jobs that need \
         tokens (OAuthServicesNeeded) get those of SEC_CREDENTIAL_DIRECTORY_OAUTH, in a directory open to the job alone, anew every SEC_CREDENTIAL_REFRESH seconds; \
         where they lack a played shadow holds the job, and a starter alone refuses it. With SendCredential and --as shadow the cache that a credmon has made in \
         SEC_CREDENTIAL_DIRECTORY_KRB is laid beside the job's files; no credmon is asked to make one. SHADOW_PREPARE_JOB has both below SPOOL as long as it runs; a file beside them, locked until then, tells --clean whose they are. A hold, remove or \
         vacate ends that hook at once; a pool's shadow has no starter then that it could end, and goes on with it.",
        "DockerSendCredentials: docker's configuration lies beside the job's directory, not in /tmp. condor_ssh_to_job has no socket in containers. \
         Logical volumes (LVM_VOLUME_GROUP_NAME) are made, and encrypted where ENCRYPT_EXECUTE_DIRECTORY or EncryptExecuteDirectory asks for that, by the commands of \
         25.14's source, of which there is no recording. LVM_BACKING_FILE, where it is set, has a volume group made of that file, which the first starter keeps as long as it runs \
         (a startd keeps its own); a file that is there already, which a startd would overwrite, is left alone. Where that fails, or neither is set, the job's directory is a file system in a file, or is watched, and is not encrypted.",
        "With --as shadow files are copied, not sent: addresses in messages have port 0, a set-id bit is not kept, a device \
         counts as an empty file, holes stay holes. Output of a job that fails to be uploaded by a plugin without ads holds it, where 25.14 \
         runs it again for ever. Files of an evicted job (ON_EXIT_OR_EVICT) are kept for its next run of the same --until. A URL \
         whose plugin nobody has sends the job back. CheckpointDestination, StreamIn and SpoolOnEvict are told.",
        "Exit status 1 means that the job did not exit with 0; condor_starter ends with 0 then. With --quirks reference, \
         and under the name condor_starter, statuses are the reference's: 0 whatever became of the job, 1 when it could \
         not be taken on, 4 when a job wrapper failed.",
        "A number or truth value of the configuration that is none is told before anything happens, status 3. HTCondor 25.14 \
         ends by an exception when it comes to read it, some after the job has been started; --quirks reference does so too.",
        "The last UPDATE_JOB_INFO may run on for a second when everything else is done. A job's processes are killed before \
         their children; HTCondor kills children first, so that a shell may end with a status of its own meanwhile.",
        "SIGINT and SIGALRM end the job softly; condor_starter dies of them and leaves job and directory to the startd. \
         Relative names after --job-output-ad and --job-update-ad lie in the working directory, not in the scratch \
         directory, which is removed.",
        "Kept as in HTCondor: Iwd, In, Out and Err that PREPARE_JOB prints have no effect on the run; what it prints \
         behind a line that is no attribute is not read; UPDATE_JOB_INFO is also called before PREPARE_JOB and at the \
         end, and nobody waits for it; ExitReason is there for signals only; variables that the starter sets win over \
         those of the job's Environment.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
