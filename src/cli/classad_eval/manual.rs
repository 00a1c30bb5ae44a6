//! Texts of the help and the man page.

use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "evaluate, explain, filter and match ClassAds",
    description: &[
        "Operands are processed from left to right. An ad ([A = 1; B = 2]) or an assignment (A = 1) changes the ad \
         in which expressions are evaluated. An expression is evaluated and its value is printed. If the ad is not empty, it is \
         printed before the first value and after each change, unless --quiet comes first. --my-file and \
         --target-file replace the ad (MY) and the other ad of a match (TARGET) for the operands after them.",
        "With --ads, or any other option of the group 'Ads', ads are read from a file or from standard input. The format is detected: \
         'Name = value' lines, with blank lines, *** or -- banners between the ads; JSON; one JSON object per line; \
         new ClassAd syntax ([...]); XML. --constraint selects ads, assignments among the operands change them, and --sort and \
         --limit order and limit them. They are printed in their own format or in another one, as columns (-af, -format), \
         or counted. Without --sort and headings, only one ad at a time is kept in memory.",
        "Expressions of --constraint, --sort, -af and -format are read as the condor tools read them: a \
         backslash in a string is an ordinary character. Operands have the escapes of the new syntax.",
        "--match FILE prints the pairs of ads whose Requirements are both true; --rank prints the best pair first. In columns of \
         pairs, MY is the ad of --ads and TARGET is the ad of FILE. With --explain all pairs are printed, and for each \
         Requirements that is not true, the clause that causes it.",
        "--explain prints the value of each part of an expression, where each name was found, and the reason for the result: \
         the first clause that is not true, a missing attribute, or operands whose types do not fit.",
    ],
    statuses: "0 done, 2 wrong options or expression, 3 no ad can be read; with -e see above",
    examples: &[
        Example::new(
            "Show why a job and a slot match or not",
            "htc-classad-eval -explain -match slot.ad -ads job.ad",
        ),
        Example::new(
            "Print two attributes of the jobs that need a CPU",
            "htc-classad-eval -ads job.ad -constraint 'RequestCpus >= 1' -af Owner RequestCpus",
        ),
        Example::new(
            "Use an expression as a condition in a script",
            "htc-classad-eval -e -my-file slot.ad -target-file job.ad Requirements && echo yes",
        ),
    ],
    verbs: &[],
    environment: &[("TZ", "Time zone for times that name none")],
    files: &[],
    differences: &[
        "Called as classad_eval, this program does what HTCondor's script of that name does, with the same output. Called as condor_q \
         with -jobads FILE, it prints the same output as condor_q for -long, -json, -xml, -attributes, -af and -format, with their \
         constraints, ids and limits. The rest of this section is about htc-classad-eval.",
        "A constraint or column that is not a valid expression is an error (status 2), with a mark at the position; condor_q \
         prints all jobs, or none. Parts of the input that cannot be read are reported with file, line and column \
         and skipped, and the status is 3; with --strict-input the program stops there. A \
         number that does not fit its %d is an error, not another number. If nothing matches, --json prints an empty list.",
        "Where HTCondor's library crashes or never ends, this program gives a result. Attributes of lists that \
         functions return are projected like those of other lists. x = self[\"x\"], and evalInEachContext(x, {self}) within x, \
         evaluate to error. XML with <classads>, or with text in a wrong place, is read without them. \
         JSON and new ads in a list on one line are read. All strings of one evaluation may use 1 GiB.",
        "debug() returns its argument and logs nothing; --explain shows more. userMap() reads the maps of \
         TOOL_CLASSAD_USER_MAP_NAMES.",
    ],
};
