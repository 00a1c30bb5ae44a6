//! Texts of the help and the man page.

use super::verb_manuals::VERB_MANUALS;
use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "route and transform job ads as the job router does, and show why",
    description: &[
        "transform applies transforms to ads: those of rules files, of JOB_TRANSFORM_<name> and of JOB_ROUTER_ROUTE_<name>. \
         It prints one ad for each ad that it reads, in constant memory. A transform whose REQUIREMENTS are not true does not change the \
         ad. --trace prints what each statement did, --diff prints the changes of each ad.",
        "match and route do what the job router would do with the same configuration: candidates, choice, limits, \
         translate hook, transforms. --explain prints for each job which routes matched and why others did not. run is the router itself, for a \
         directory of job ads. Routes of the old syntax (JOB_ROUTER_ENTRIES) are read with a warning.",
        "run copies the files of sandboxed jobs (JobShouldBeSandboxed) to DIR/spool, as their owner if it is allowed to, and copies \
         the output back to Iwd of the source job; with --submit, the command has to do this. A shared proxy is copied for the \
         submission, and the copy is removed afterwards. If \
         JOB_ROUTER_IDTOKEN_REFRESH is positive, the tokens of JOB_ROUTER_CREATE_IDTOKEN_* are created as 25.14 creates them, at the start and \
         every JOB_ROUTER_IDTOKEN_REFRESH seconds. They are signed with SEC_TOKEN_POOL_SIGNING_KEY_FILE or a key of SEC_PASSWORD_DIRECTORY, which other accounts must not be \
         able to read. If no token is created, its file must exist (condor_token_create creates it); otherwise the jobs that need it are released \
         to the queue.",
        "compare generates ads from the conditions of both sides. Each part of each condition is true in one ad and false in another, while the \
         other parts let it decide. Strings match the patterns, numbers and times are at, below and above the values that they are compared with, and \
         other attributes are given or random. It also prints which routes each side loads. Exit status 0: no difference was found, and every \
         condition was tested with both outcomes, true and false. 1: they differ; the smallest ad that shows it is printed. 4: no difference was found, but some conditions \
         could not be made true or false; they are listed.",
        "convert prints routes that the router loads. Where 25.14's own conversion would write a line that it refuses ('queue = x', strings with \
         several lines), EVALMACRO sets the macro. An error in an old route is reported with its place, and the next route is read. If \
         JOB_ROUTER_ROUTE_NAMES is set together with JOB_ROUTER_ENTRIES, the routes that it names and nothing else defines are converted.",
        "With JOB_ROUTER_SCHEDD2_*, routed jobs go to a second queue. '--copies DIR2' is its directory. Routed jobs get cluster numbers \
         of that queue, and its other jobs are not changed. A source job and its routed job may then have the same number.",
        "transform, lint and compare run commands in rules ('include command', TRANSFORM from 'prog |') only with --exec. \
         --out refuses to overwrite a file that is read (exit status 2), and keeps the old content until the new content is \
         complete. The exit status is 1 if a statement failed for some ad, for example because of an invalid expression.",
        "Called as condor_job_router_info or condor_transform_ads, this program has the options, output and exit statuses of that tool.",
    ],
    statuses: "0 done, 1 no (see the verb), 2 wrong options, 3 bad input, 4 undecided, 124 timed out",
    examples: &[
        Example::new(
            "Show which route each job gets, and why others get none",
            "htc-router-translate match --explain --config-file router.config router.ads",
        )
        .ends_with(1),
        Example::new("Find mistakes in rules", "htc-router-translate lint --rules rules.xfm"),
        Example::new(
            "Apply a rules file to the ads of a file",
            "htc-router-translate transform --rules rules.xfm jobs.ads",
        ),
        Example::new(
            "Print what each statement did",
            "htc-router-translate transform --rules rules.xfm --trace jobs.ads",
        ),
        Example::new(
            "Print the ads that the router would submit",
            "htc-router-translate route --config-file router.config router.ads",
        )
        .ends_with(1),
        Example::new(
            "Convert routes of the old syntax",
            "htc-router-translate convert --config-file old-router.config",
        ),
        Example::new(
            "Check that a converted configuration routes as the old one",
            "htc-router-translate compare old-router.config new-router.config --ads router.ads",
        ),
        Example::new(
            "Show whether two rule sets differ",
            "htc-router-translate compare rules.xfm other.xfm --ads jobs.ads",
        )
        .ends_with(1),
    ],
    verbs: VERB_MANUALS,
    environment: &[],
    files: &[
        ("DIR/CLUSTER.PROC.ad", "run: a job of the queue"),
        ("DIR/history", "run: jobs that have left the queue"),
        (
            "DIR/.submitting.CLUSTER.PROC",
            "run: a job that the command of --submit may have submitted: the command timed out, was killed by a signal, or \
             printed no id. The job stays claimed and is not changed. Find its routed job, then remove the file.",
        ),
    ],
    differences: &[
        "A false expression after 'if' (if A == 1) fails the transform, as in HTCondor 25.14, although the manual \
         promises the else branch; lint reports it.",
        "25.14 turns the ',' or '=' in 'SET X, 1' or 'SET X= 1' into a NUL byte of the attribute name and ends its \
         output there. Here the character is dropped with a warning; --quirks reference keeps the NUL.",
        "25.14 treats a rules file as configuration if none of its commands is reached without an ad; it ignores the file, and \
         crashes if nothing else is left. transform uses the file; condor_transform_ads prints that no transform is \
         left and exits with 3.",
        "25.14 empties a file that is both -out and an input before it reads it: ads, rules, included rules, items. \
         condor_transform_ads refuses this with status 1, transform with 2. An existing -out file is kept if no file of ads can be \
         opened.",
        "condor_transform_ads exits with 1 after success and with 0 if there was no ad, as 25.14 does; transform \
         exits with 0, or with 1 after a failed transform or statement. After a failure 25.14 reads no more ads; transform \
         continues with the next one.",
        "debug() logs nothing: condor_job_router_info -diagnostic:match lacks the lines 'Classad debug: ...', \
         which show the duration of each step.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
