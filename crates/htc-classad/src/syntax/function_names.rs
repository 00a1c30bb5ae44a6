//! Names of the ClassAd functions. Parsing and printing use the names but not the implementations.

use std::sync::LazyLock;

use crate::syntax::name;

/// Names of functions as spelled in the manual, sorted bytewise. The index of a name is the number of the
/// function.
const FUNCTION_NAMES: &[&str] = &[
    "absTime",
    "allCompare",
    "anyCompare",
    "argsToList",
    "avg",
    "bool",
    "ceil",
    "ceiling",
    "countMatches",
    "currentTime",
    "dayTime",
    "debug",
    "envV1ToV2",
    "eval",
    "evalInEachContext",
    "floor",
    "formatTime",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getDays",
    "getHours",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "getYear",
    "identicalMember",
    "ifThenElse",
    "int",
    "interval",
    "isAbstime",
    "isBoolean",
    "isClassAd",
    "isError",
    "isInteger",
    "isList",
    "isReal",
    "isReltime",
    "isString",
    "isUndefined",
    "join",
    "listToArgs",
    "max",
    "member",
    "mergeEnvironment",
    "min",
    "pow",
    "quantize",
    "random",
    "real",
    "regexp",
    "regexpMember",
    "regexps",
    "relTime",
    "replace",
    "replaceAll",
    "round",
    "size",
    "split",
    "splitSlotName",
    "splitTime",
    "splitUserName",
    "strcat",
    "strcmp",
    "stricmp",
    "string",
    "stringListAvg",
    "stringListIMember",
    "stringListISubsetMatch",
    "stringListMax",
    "stringListMember",
    "stringListMin",
    "stringListSize",
    "stringListSubsetMatch",
    "stringListSum",
    "stringList_regexpMember",
    "stringListsIntersect",
    "substr",
    "sum",
    "time",
    "timeZoneOffset",
    "toLower",
    "toUpper",
    "unparse",
    "unresolved",
    "userHome",
    "userMap",
    "versionEQ",
    "versionGE",
    "versionGT",
    "versionLE",
    "versionLT",
    "version_in_range",
    "versioncmp",
];

/// Function number of a name that is not a function.
pub(crate) const UNKNOWN_FUNCTION: u16 = u16::MAX;

/// Number of functions.
pub(crate) const FUNCTION_COUNT: usize = FUNCTION_NAMES.len();

/// Hash table of function numbers with open addressing by the hash of the name; at most a quarter of the
/// slots are used.
static HASH_TABLE: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let mut places = vec![UNKNOWN_FUNCTION; (FUNCTION_NAMES.len() * 4).next_power_of_two()];
    let mask = places.len() - 1;
    for (number, name) in FUNCTION_NAMES.iter().enumerate() {
        let mut at = name::hash(name.as_bytes()) as usize & mask;
        while places[at] != UNKNOWN_FUNCTION {
            at = (at + 1) & mask;
        }
        places[at] = number as u16;
    }
    places
});

/// Returns the number of the function with this name, ignoring case, or [`UNKNOWN_FUNCTION`].
pub(crate) fn function_number(name: &[u8]) -> u16 {
    function_number_hashed(name, name::hash(name))
}

/// Returns the number of the function with this name, like `function_number`, given the hash of the name.
pub(crate) fn function_number_hashed(name: &[u8], hash: u32) -> u16 {
    let places = &*HASH_TABLE;
    let mask = places.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        match places[at] {
            UNKNOWN_FUNCTION => return UNKNOWN_FUNCTION,
            number if FUNCTION_NAMES[number as usize].as_bytes().eq_ignore_ascii_case(name) => return number,
            _ => at = (at + 1) & mask,
        }
    }
}

/// Returns the names of all functions as spelled in the manual, sorted.
///
/// ```
/// use htc_classad::function_names;
/// assert!(function_names().contains(&"stringListMember"));
/// ```
pub fn function_names() -> Vec<&'static str> {
    FUNCTION_NAMES.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_any_case() {
        assert!(FUNCTION_NAMES.is_sorted());
        for (at, name) in FUNCTION_NAMES.iter().enumerate() {
            assert_eq!(function_number(name.to_uppercase().as_bytes()), at as u16, "{name}");
        }
        assert_eq!(function_number(b"nosuch"), UNKNOWN_FUNCTION);
    }
}
