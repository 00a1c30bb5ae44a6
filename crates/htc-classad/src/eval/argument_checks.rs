//! Reasons why a function call is an error: a wrong number of arguments, or an invalid pattern.

use crate::ad::Value;
use crate::regex::{Regex, RegexOptions};
use crate::text::plural::counted;

/// Minimum and maximum number of arguments of each function, by its name in lower case. Functions that accept any
/// number of arguments are not in the table.
const ARGUMENT_COUNTS: &[(&[&str], usize, usize)] = &[
    (&["currenttime", "daytime", "time", "timezoneoffset"], 0, 0),
    (&["abstime", "formattime"], 0, 2),
    (&["reltime"], 0, 1),
    (&["random"], 0, 1),
    (
        &[
            "avg",
            "bool",
            "ceil",
            "ceiling",
            "debug",
            "envv1tov2",
            "eval",
            "floor",
            "getdayofmonth",
            "getdayofweek",
            "getdayofyear",
            "getdays",
            "gethours",
            "getminutes",
            "getmonth",
            "getseconds",
            "getyear",
            "int",
            "interval",
            "isabstime",
            "isboolean",
            "isclassad",
            "iserror",
            "isinteger",
            "islist",
            "isreal",
            "isreltime",
            "isstring",
            "isundefined",
            "max",
            "min",
            "real",
            "round",
            "size",
            "splittime",
            "splitslotname",
            "splitusername",
            "string",
            "sum",
            "tolower",
            "toupper",
            "unparse",
        ],
        1,
        1,
    ),
    (
        &[
            "argstolist",
            "listtoargs",
            "split",
            "stringlistavg",
            "stringlistmax",
            "stringlistmin",
            "stringlistsize",
            "stringlistsum",
            "unresolved",
            "userhome",
        ],
        1,
        2,
    ),
    (
        &[
            "countmatches",
            "evalineachcontext",
            "identicalmember",
            "member",
            "pow",
            "quantize",
            "strcmp",
            "stricmp",
            "versioncmp",
            "versioneq",
            "versionge",
            "versiongt",
            "versionle",
            "versionlt",
        ],
        2,
        2,
    ),
    (
        &[
            "regexp",
            "stringlistimember",
            "stringlistisubsetmatch",
            "stringlistmember",
            "stringlistsubsetmatch",
            "stringlistsintersect",
            "substr",
        ],
        2,
        3,
    ),
    (&["stringlist_regexpmember", "regexpmember", "usermap"], 2, 4),
    (&["allcompare", "anycompare", "ifthenelse", "version_in_range"], 3, 3),
    (&["regexps", "replace", "replaceall"], 3, 4),
];

/// Names, in lower case, of the functions whose first argument is a regular expression.
const PATTERN_FUNCTIONS: &[&str] =
    &["regexp", "regexpmember", "regexps", "replace", "replaceall", "stringlist_regexpmember"];

/// Returns the reason why a call of the function `name` with `count` arguments is an error, or `None` if the number
/// of arguments and the pattern are valid. `first` is the value of the first argument, if known.
///
/// ```
/// use htc_classad::eval::argument_error;
/// assert!(argument_error(b"strcat", 2, None).is_none());
/// assert!(argument_error(b"size", 2, None).unwrap().contains("size"));
/// ```
pub fn argument_error(name: &[u8], count: usize, first: Option<&Value>) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let is = |known: &&str| known.as_bytes() == lower;
    let shown = String::from_utf8_lossy(name);
    if let Some((_, least, most)) = ARGUMENT_COUNTS.iter().find(|(names, ..)| names.iter().any(&is))
        && !(*least..=*most).contains(&count)
    {
        let wanted = match (*least, *most) {
            (0, 0) => "no argument".to_owned(),
            (0, most) => format!("at most {}", counted(most, "argument")),
            (least, most) if least == most => counted(least, "argument"),
            (least, most) => format!("{least} to {}", counted(most, "argument")),
        };
        return Some(format!("{shown}() needs {wanted}, but got {count}"));
    }
    if PATTERN_FUNCTIONS.iter().any(is)
        && let Some(Value::Str(pattern)) = first
        && let Err(error) = Regex::compile(pattern, RegexOptions::NONE)
    {
        return Some(format!("the pattern \"{pattern}\" of {shown}() cannot be used: {error}"));
    }
    None
}
