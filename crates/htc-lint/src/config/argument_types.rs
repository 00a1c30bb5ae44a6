//! Types that the functions of the ClassAd language accept as arguments; any other type is an error.
//!
//! Measured with the library of 25.14: each argument of a valid call was replaced by values of each type. Undefined is
//! left out, because most functions are then undefined. A string that contains a number is treated as a string.

use bstr::{BString, ByteSlice};
use htc_classad::{Expr, Value};

use super::expression_parts::quoted_literal;
use super::type_set::TypeSet;

const NUMBER: TypeSet = TypeSet::NUMBER;
const TEXT: TypeSet = TypeSet::TEXT;
const LIST: TypeSet = TypeSet::LIST;
const ANY: TypeSet = TypeSet::ANY;
/// Set of times and ads, which share one flag.
const TIME: TypeSet = TypeSet::OTHER;
/// Set of numbers, truth values and strings: the types of elements of a list.
const ITEM: TypeSet = TypeSet::NUMBER.or(TypeSet::BOOLEAN).or(TypeSet::TEXT);

/// Functions, by their names in lower case, with the types of their arguments. Further arguments have the type of the
/// last one listed.
const ARGUMENT_TYPES: &[(&[&str], &[TypeSet])] = &[
    (&["avg", "max", "min", "sum"], &[LIST]),
    (&["anycompare", "allcompare"], &[TEXT, LIST, ANY]),
    (&["argstolist"], &[TEXT, NUMBER]),
    (&["listtoargs"], &[LIST, NUMBER]),
    (&["bool", "ceil", "ceiling", "floor", "round", "interval"], &[ITEM]),
    (&["pow"], &[ITEM]),
    (&["quantize"], &[ITEM, ITEM.or(LIST)]),
    (&["envv1tov2", "mergeenvironment"], &[TEXT]),
    (&["evalineachcontext"], &[ANY, LIST]),
    (&["countmatches"], &[ANY, LIST.or(TypeSet::OTHER)]),
    (&["formattime"], &[NUMBER.or(TIME), TEXT]),
    (&["abstime"], &[NUMBER.or(TEXT), NUMBER]),
    (&["reltime"], &[NUMBER.or(TEXT)]),
    (&["random"], &[NUMBER]),
    (&["identicalmember", "member"], &[ITEM, LIST]),
    (&["ifthenelse"], &[NUMBER.or(TypeSet::BOOLEAN), ANY]),
    (&["regexp", "regexps", "replace", "replaceall"], &[TEXT]),
    (&["regexpmember"], &[TEXT, LIST, TEXT]),
    (&["size"], &[TEXT.or(LIST).or(TypeSet::OTHER)]),
    (&["split", "splitslotname", "splitusername"], &[TEXT]),
    (&["splittime"], &[NUMBER.or(TIME)]),
    (
        &["getdayofmonth", "getdayofweek", "getdayofyear", "getdays", "gethours", "getminutes", "getmonth"],
        &[TIME],
    ),
    (&["getseconds", "getyear"], &[TIME]),
    (&["stringlistavg", "stringlistmax", "stringlistmin", "stringlistsize", "stringlistsum"], &[TEXT]),
    (&["stringlistmember", "stringlistimember", "stringlist_regexpmember"], &[TEXT]),
    (&["stringlistsubsetmatch", "stringlistisubsetmatch", "stringlistsintersect"], &[TEXT]),
    (&["substr"], &[TEXT, NUMBER]),
];

/// Functions of lists whose counterparts for strings are `stringListSum` and the like.
const ARITHMETIC: [&[u8]; 4] = [b"avg", b"max", b"min", b"sum"];

/// Returns the first argument whose type makes the call an error, as a message with a correction.
pub(super) fn check_argument_types(
    name: &BString,
    arguments: &[Expr],
    sets: &[TypeSet],
) -> Option<(String, Option<String>)> {
    let lower = name.to_ascii_lowercase();
    let is_called = |names: &[&str]| names.iter().any(|known| known.as_bytes() == lower);
    let (_, accepted) = ARGUMENT_TYPES.iter().find(|(names, _)| is_called(names))?;
    let wrong = sets.iter().enumerate().find_map(|(at, set)| {
        let wanted = *accepted.get(at).or(accepted.last())?;
        set.excludes(wanted).then_some((at, *set, wanted))
    });
    let (at, set, wanted) = wrong?;
    let problem =
        format!("argument {} of {name}() must be {}, not {}", at + 1, wanted.describe(), set.describe());
    Some((problem, suggest_call(&lower, at, arguments, wanted)))
}

/// Returns the correction of a call whose argument number `at`, counted from 0, has the wrong type.
fn suggest_call(function: &[u8], at: usize, arguments: &[Expr], wanted: TypeSet) -> Option<String> {
    let argument = &arguments[at];
    let is_list = argument.without_parentheses().as_list().is_some();
    let text = quoted_literal(argument);
    if at == 1 && is_list {
        let instead = match function {
            b"stringlistmember" | b"stringlistimember" => Some("member"),
            b"stringlist_regexpmember" | b"regexp" => Some("regexpMember"),
            _ => None,
        };
        if let Some(instead) = instead {
            return Some(format!("use {instead}(), or write the list as a string: \"a,b\""));
        }
    }
    match (text, argument.without_parentheses().as_literal()) {
        (Some(_), _) if at == 1 && matches!(function, b"member" | b"identicalmember") => {
            Some("use stringListMember(), or write the list in braces: {\"a\", \"b\"}".to_owned())
        }
        (Some(text), _) if wanted == TypeSet::NUMBER && text.trim().parse::<f64>().is_ok() => {
            Some(format!("write {text} without quotes"))
        }
        (Some(text), _) if text.contains(',') && ARITHMETIC.contains(&function) => {
            let function = function.to_str_lossy();
            Some(format!("use stringList{}{}()", function[..1].to_uppercase(), &function[1..]))
        }
        (Some(text), _) if wanted == LIST => Some(format!("write {{\"{text}\"}}")),
        (None, Some(Value::Int(number))) if wanted == TEXT => Some(format!("write \"{number}\"")),
        (None, Some(_)) if wanted == LIST => Some(format!("write {{{}}}", argument.unparse().as_bstr())),
        (None, None) if wanted == TEXT && argument.is_reference() => {
            Some(format!("write string({})", argument.unparse().as_bstr()))
        }
        _ => {
            let kinds = wanted.describe();
            let first = kinds.split(" or ").next().unwrap_or_default().to_owned();
            Some(format!("write {first} as argument {}", at + 1))
        }
    }
}
