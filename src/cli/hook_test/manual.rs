//! Texts of the help and the man page.

use super::verb_manuals::VERB_MANUALS;
use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "call one hook as HTCondor would, and show what HTCondor would do with its output",
    description: &[
        "Calls one hook exactly as its caller in HTCondor does: the same bytes on standard input, arguments, environment (nothing \
         from your shell), working directory, file descriptors, umask and session. Then it shows what the startd, starter, shadow or \
         job router would do with the output, with hold code and reason, and the changed attributes. It also reports \
         faults of the hook: lines that are not attributes, attributes that come too \
         late, truncated output, processes left behind, and exit statuses that the caller ignores.",
        "The resulting ad is printed to standard output, everything else to standard error, so hooks can be connected with \
         pipes. Ads come from --ads, from standard input, or are built in (--sample-job, --sample-slot). A hook that is \
         given as a path is called as it is. Without a path, the hook is the one in the configuration, and the keyword is \
         found in the same way as its caller finds it.",
        "Give the job ad as a fetch hook prints it or as the schedd has it; the hook reads what its caller makes of this ad. The \
         startd adds missing requests of a fetched job (RequestCpus, RequestMemory, RequestDisk) and its keyword \
         (HookKeyword). The starter adds OrigCmd, OrigIwd and the full path of Cmd. For update the job is running. For exit it \
         has ended: with status 0, or as the argument says (evict: by a signal, with VacateReason), or as \
         the ad says with ExitCode, or with ExitBySignal and ExitSignal. Usage and times are those of a small job, or those in \
         the ad. --before-job gives update and exit the ad of a job that has not started.",
        "With a configuration, fetch, reply and evict use the slot that it defines on this machine. reply accept and evict of a \
         partitionable slot use the dynamic slot of the job. With --sample-slot, or with the configuration of another machine, they use a \
         built-in slot with START and RANK of the configuration. reply reads the internal ad of \
         the slot, with the policy of the configuration or the default policy. An ad that already contains what a caller adds \
         (JobState, OrigCmd, SUSPEND) is not changed again.",
        "With --config-file, a starter hook is refused if the path of any starter hook is unusable, as in the starter. \
         --user runs the hook as that account. HOME of starter hooks is then the home of that account; LOGNAME, USER, and HOME of \
         the other hooks are those of the daemons.",
        "The exit status is 0 if HTCondor would use the output of the hook; 1 if the job would not start, or would be held, put back in the queue or \
         refused, or if an expectation is not true; 124 if the hook had to be killed.",
        "record runs a hook in a live pool in place of the real one. It passes on arguments, descriptors, signals (SIGPIPE as the daemon \
         left it) and every byte. If the reader of a stream closes it, the stream is closed for the hook as well. \
         The first 8 MiB of each stream are written to files that only the recording account can read; the values of \
         CONDOR_PRIVATE_... are not written. replay --hook compares a new version of the hook with the recording: verdict, reason, hold codes and \
         changed attributes, ignoring the paths of the hook and of the scratch directory. A file that its caller would refuse \
         is a change as well.",
        "run reads suites in TOML. A case has a hook, a type, ads (job, slot, sample_job, sample_slot, set, delete), arguments \
         (words), env, files, and expectations (verdict, reason, code, exit, stdout, stderr, result, findings, within). For the types startd-cron, \
         schedd-cron and benchmark, hook is the program and slot is the ad of the slot or schedd; keyword is the NAME of the job, \
         and prefix, mode, slots and metrics are its parameters. The program is started once, or as often as runs says. The verdict is published, \
         not-for-slot, nothing-published, not-started or still-running; result is about the ad that is sent afterwards. \
         Cases of cron jobs run one at a time, after the others.",
        "queue runs its hooks on fresh copies of the directory of the configuration. Strings in the copy that name that \
         directory are changed to the copy; a hook or link that leads outside is refused. The first round makes one \
         call at a time and observes which files change. This shows where JOB_EXIT records the end of a job, \
         and whether REPLY_FETCH sets a rejected job aside or returns it to the queue. In the second round many slots fetch at \
         the same time; every job that is lost, fetched twice, or ends without a record is a violation. In the third round some \
         calls are killed. A round ends after twenty violations. If you interrupt it, the violations so far are printed.",
    ],
    statuses: "0 the output would be used, 1 it would not, 2 wrong options, 3 bad input, 124 timed out",
    examples: &[
        Example::new(
            "Show what the starter would do with the output of a prepare hook",
            "htc-hook-test prepare hooks/prepare --ads job.ad",
        ),
        Example::new(
            "Show whether a slot would accept the fetched job, and which part of START refuses it",
            "htc-hook-test fetch hooks/fetch --slot-ads slot.ad --set Start=false",
        )
        .ends_with(1),
        Example::new(
            "Print the bytes that JOB_EXIT reads, and how it is called",
            "htc-hook-test exit hooks/prepare evict --sample-job java --show-input",
        ),
        Example::new(
            "Fail if a hook takes more than two seconds or changes the command",
            "htc-hook-test prepare hooks/prepare --ads job.ad --timeout 2 --expect 'Cmd == TARGET.Cmd'",
        ),
    ],
    verbs: VERB_MANUALS,
    environment: &[("TMPDIR", "Directory for the files of a call")],
    files: &[],
    differences: &[
        "Where HTCondor 25.14 contradicts its manual, the results of both are shown. --quirks reference calls \
         hooks exactly as 25.14 does: with nearly all signals blocked, and descriptors 1 and 2 closed if nothing reads them.",
        "Addresses and keys of daemons (CONDOR_INHERIT, CONDOR_PARENT_ID, CONDOR_PRIVATE_INHERIT and similar variables) are not \
         passed, because there are no daemons.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
