//! Texts of the man page.

use crate::cli::common::{Example, Manual};

pub(super) const MANUAL: Manual = Manual {
    about: "evaluate, explain, filter and match ClassAds",
    description: &[
        "Operands are worked off from left to right. An ad ([A = 1; B = 2]) or an assignment (A = 1) changes the ad \
         that expressions are evaluated in; an expression is evaluated and its value printed. The ad, if \
         there is anything in it, is printed before the first value and again after each change, unless --quiet stands \
         before. --my-file and \
         --target-file replace the ad and the other ad of a match for the operands behind them.",
        "With --ads, or with any option of a stream, ads are read from a file or standard input in any form: \
         Name = value lines with blank lines, *** or -- banners between the ads, JSON, one JSON object a line, the \
         new form, XML. The form is found out by itself. Ads are kept by --constraint, changed by assignments among \
         the operands, sorted, limited, and printed in the form they came in or in another, as columns (-af, -format), \
         or by their number. Without --sort and headings nothing but the current ad is kept in memory.",
        "Expressions of --constraint, --sort, -af and -format are read as the condor tools read theirs, so that a \
         backslash in a string is an ordinary byte; operands have the escapes of the new syntax.",
        "--match FILE prints the pairs of ads whose Requirements both hold; --rank puts the best first. In columns of \
         pairs MY is the ad of --ads and TARGET that of FILE. With --explain all pairs are shown, and for each \
         Requirements that does not hold the clause that is to blame.",
        "--explain shows every part of an expression with its value, where each name was found, and why the value is \
         what it is: the first clause that is not true, the name that is not there, the types that do not go together.",
    ],
    examples: &[
        Example {
            what: "a policy as a condition: does this slot take this job?",
            line: "htc-classad-eval -e -my-file slot.ad -target-file job.ad Requirements && echo yes",
            status: 0,
        },
        Example { what: "why not?", line: "htc-classad-eval -explain -match slot.ad -ads job.ad", status: 0 },
        Example {
            what: "two columns of the jobs that ask for much",
            line: "htc-classad-eval -ads job.ad -constraint 'RequestCpus >= 1' -af Owner RequestCpus",
            status: 0,
        },
    ],
    environment: &[("TZ", "the local zone of times without one")],
    files: &[],
    differences: &[
        "Called as classad_eval it does what HTCondor's script of that name does, to the byte. Called as condor_q with -jobads FILE \
         it prints what the queue tool prints for -long, -json, -xml, -attributes, -af and -format with their \
         constraints, ids and limits, to the byte; tables, -print-format, -group-by, -autocluster and analyses are refused \
         (status 1). What follows is about its own name.",
        "A constraint or column that is no expression is an error (status 2) with a caret under the place; condor_q \
         prints all jobs, or nothing. Parts of the input that cannot be read are reported with file, line and column \
         and skipped, or fatal with --strict-input; input of which nothing can be read is an error (status 3). A \
         number that does not fit its %d is an error, not another number. No match with --json is an empty list.",
        "Where HTCondor's library crashes or never ends, this program gives a result: attributes of lists that \
         functions made are projected as those of any list; x = self[\"x\"] and evalInEachContext(x, {self}) within x \
         fail (the value is error); XML with <classads> or text where it does not belong is read without them; \
         JSON and new ads in a list on one line are read. Texts made by one evaluation may take 1 GiB together.",
        "debug() returns its argument and logs nothing: --explain shows more. userMap() asks the maps of \
         TOOL_CLASSAD_USER_MAP_NAMES.",
    ],
};
