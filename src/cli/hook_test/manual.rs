//! Texts of the man page.

use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "call one hook as HTCondor would, and tell what would become of the answer",
    description: &[
        "Calls one hook exactly as its real caller does: the bytes of standard input, arguments, environment (nothing \
         of your shell), working directory, descriptors, umask, session. Then it tells what startd, starter, shadow or \
         job router would do with the answer, in its own words, with hold code and reason, as a difference of \
         attributes, and what is wrong with the hook besides: lines that are no attributes, attributes that come too \
         late, output that is cut, processes left behind, statuses nobody looks at.",
        "The resulting ad goes to standard output, everything else to standard error, so that hooks pipe into each \
         other. The ads come from --ads, from standard input, or are built in (--sample-job, --sample-slot). Hooks \
         given by path are called as they are; without a path the configuration names the hook, and the keyword is \
         looked up as its caller does.",
        "A job is given as a fetch hook prints it or a schedd has it, and the hook reads what its caller makes of that. The \
         startd adds what a fetched job does not ask for (RequestCpus, RequestMemory, RequestDisk) and its keyword \
         (HookKeyword); the starter adds OrigCmd, OrigIwd and the full path of Cmd. For update the job runs, for exit it \
         has ended: by itself with status 0, or as the word asks for (evict: by a signal, with VacateReason), or as \
         ExitCode or ExitBySignal and ExitSignal of the given ad say; usage and times are those of a small job, or what \
         the ad says. --before-job gives both the ad of a job that has not been started. With a \
         configuration fetch, reply and evict get the slot that it makes on this machine, reply accept and evict of a \
         partitionable one the dynamic slot made for the job; --sample-slot and a configuration of other machines take a \
         built-in slot, which has START and RANK of the configuration. reply reads the internal ad of \
         the slot, with the policy of the configuration or of the defaults. An ad that has been through a caller already \
         (JobState, OrigCmd, SUSPEND are in it) is not changed again.",
        "With --config-file a starter's hook is refused, as the starter does it, when the path of any of its hooks cannot be \
         used. --user runs the hook as that account: HOME of starter hooks is its home, while LOGNAME, USER, and HOME of \
         the others, are those of the daemons.",
        "The status is 0 when the hook has done what it is for, 1 when the job would not be started, be held, be given \
         back or be refused, or an expectation fails, and 124 when it had to be killed.",
        "record stands between a live daemon and its hook: arguments, descriptors, signals (SIGPIPE as the daemon left \
         it) and every byte are handed on as they come, and a stream that nobody reads any more is closed for the hook, \
         too. The first 8 MiB of each stream are kept in files that only the recording account can read, the values of \
         CONDOR_PRIVATE_... not at all. replay --hook judges a new version against that: verdict, reason, hold codes and \
         changed attributes, paths of the hook and of the scratch directory aside; a file that its caller would refuse \
         is a change as well.",
        "A case of run names in TOML hook, type, ads (job, slot, sample_job, sample_slot, set, delete), words, env, files and \
         what is expected (verdict, reason, code, exit, stdout, stderr, result, findings, within). Of the types startd-cron, \
         schedd-cron and benchmark hook is the program and slot the ad of the slot or the schedd; keyword is the job's NAME, and \
         prefix, mode, slots, metrics are its knobs; it is started once, or runs times. The verdict is published, \
         not-for-slot, nothing-published, not-started or still-running, result is about the ad that is sent afterwards. \
         These cases run one by one, behind the others.",
        "queue drives its hooks on fresh copies of the directory of the configuration. Texts in the copy that name that \
         directory name the copy instead; a hook or a link that leads elsewhere is refused. The first round makes one \
         call at a time and looks at the files that it changes: this shows where JOB_EXIT takes the end of a job down, \
         and whether REPLY_FETCH puts a rejected job aside or is to give it back. The second has many slots fetch at \
         once, and nothing excuses a job that is lost, comes twice, or is done and has no record; in the third some \
         calls are killed in the middle. A round ends after twenty violations; an interrupt tells what was found so \
         far.",
    ],
    examples: &[
        Example {
            what: "what would the starter do with the answer of a prepare hook?",
            line: "htc-hook-test prepare hooks/prepare --ads job.ad",
            status: 0,
        },
        Example {
            what: "would the slot take the job of a fetch hook? Which part of START says no?",
            line: "htc-hook-test fetch hooks/fetch --slot-ads slot.ad --set Start=false",
            status: 1,
        },
        Example {
            what: "the bytes that JOB_EXIT reads, and how it is called",
            line: "htc-hook-test exit hooks/prepare evict --sample-job java --show-input",
            status: 0,
        },
        Example {
            what: "a hook must answer within two seconds and leave the command alone",
            line: "htc-hook-test prepare hooks/prepare --ads job.ad --timeout 2 --expect 'Cmd == TARGET.Cmd'",
            status: 0,
        },
    ],
    environment: &[("TMPDIR", "where the directories of a call are made")],
    files: &[],
    differences: &[
        "Where HTCondor 25.14 does not keep what its manual promises, both answers are shown; --quirks reference calls \
         hooks exactly as 25.14 does: nearly all signals blocked, descriptors 1 and 2 closed where nobody reads them.",
        "Addresses and keys of daemons (CONDOR_INHERIT, CONDOR_PARENT_ID, CONDOR_PRIVATE_INHERIT and the like) are not \
         passed, since there are no daemons.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
