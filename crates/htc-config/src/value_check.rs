//! Checks of an expanded value against the type that the registry gives its parameter.

mod debug_levels;
mod environment;
mod hosts;
mod statistics;
mod times;

use std::ops::Range;

use bstr::ByteSlice;
use htc_base::text::number::{integer_prefix, real_prefix};
use htc_base::text::{caseless, similar_names};
use htc_base::world::World;
use htc_classad::regex::{Regex, RegexOptions};

use self::debug_levels::DEBUG_LEVELS;
use self::hosts::{has_bad_network, has_bad_port, is_impossible_interface, is_permission, is_port};
use self::statistics::is_statistics_group;
use self::times::{is_period, is_throttle, is_timespan};
use crate::evaluate::{self, NumberResult};
use crate::registry::{RegisteredParameter, ValueType};

/// Reason why a value is not valid for its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueFault {
    /// The value is not an integer or an integer expression.
    NotInteger,
    /// An integer that does not fit 32 bits.
    OutOfBounds,
    /// The value is not a number or a numeric expression.
    NotNumber,
    /// A number below the smallest value.
    TooLow(f64),
    /// A number above the largest value.
    TooHigh(f64),
    /// The value is not a boolean or a boolean expression.
    NotBoolean,
    /// The value is not a size.
    NotSize,
    /// The value is not the size of a log.
    NotLogSize,
    /// A time in place of a size.
    TimeNotSize,
    /// The value is not a period of a cron job.
    NotPeriod,
    /// The value is not a load or a range of loads.
    NotThrottle,
    /// Unknown word, with the most similar valid one.
    UnknownWord(Option<&'static str>),
    /// Unknown debug level, with the most similar valid one.
    UnknownDebugLevel(Option<&'static str>),
    /// Unknown authentication method, with the most similar valid one.
    UnknownMethod(Option<&'static str>),
    /// Unknown encryption method, with the most similar valid one.
    UnknownCrypto(Option<&'static str>),
    /// Unknown security level.
    UnknownLevel,
    /// Misspelled security level, with the level that its first letter selects.
    MisspelledLevel(&'static str),
    /// The value is not a pair of numeric ids.
    NotIds,
    /// A port of a host that is not a number from 0 to 65535.
    NotPort,
    /// Item of a list of hosts that is only a port, because there is a blank instead of the colon.
    LonePort,
    /// Entry of a permission that is neither a host nor a user.
    NotPermission,
    /// An item does not consist of a name, a colon and a number of seconds.
    NotTimespan,
    /// The text after the colon of a debug level is not a number.
    NotVerbosity,
    /// The value is not a valid regular expression.
    NotRegex,
    /// An address or network that no host has.
    NotNetwork,
    /// A network with a mask where addresses or names of interfaces belong.
    NotInterface,
    /// Quotes that are not closed, or text after them.
    UnbalancedQuotes,
    /// Variables separated by blanks in the V1 syntax, which requires semicolons.
    UnquotedEnvironment,
    /// A semicolon in the name of a host.
    Semicolon,
    /// A URL in place of a host.
    Url,
    /// The value is neither a number of digits nor a percentage.
    NotRounding,
    /// Not a group of statistics with flags, and a similar group.
    NotStatistics(Option<&'static str>),
    /// The format of a time has no conversion, so that each time is the same text.
    NotTimeFormat,
}

/// Invalid part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultyPart {
    /// Reason why the part is not valid.
    pub fault: ValueFault,
    /// Part of the expanded value.
    pub span: Range<usize>,
}

/// Authentication methods (`SecMan::sec_char_to_auth_method`).
const AUTHENTICATION_METHODS: [&str; 15] = [
    "SSL",
    "NTSSPI",
    "PASSWORD",
    "TOKENS",
    "TOKEN",
    "IDTOKENS",
    "IDTOKEN",
    "SCITOKENS",
    "SCITOKEN",
    "FS",
    "FS_REMOTE",
    "KERBEROS",
    "CLAIMTOBE",
    "MUNGE",
    "ANONYMOUS",
];

/// Encryption methods.
const CRYPTO_METHODS: [&str; 4] = ["AES", "BLOWFISH", "3DES", "TRIPLEDES"];

/// Security levels. Only the first letter is significant.
const SECURITY_LEVELS: [&str; 8] =
    ["REQUIRED", "YES", "TRUE", "PREFERRED", "OPTIONAL", "FALSE", "NEVER", "NO"];

/// Modes of cron jobs (`CronJobModeTable::Find`).
const CRON_MODES: [&str; 4] = ["Periodic", "WaitForExit", "OneShot", "OnDemand"];

/// Returns the faults of an expanded value; none for types that are checked elsewhere. An empty value is treated as if
/// the parameter were not set.
pub fn check_value(parameter: &RegisteredParameter, value: &[u8], world: &dyn World) -> Vec<FaultyPart> {
    let text = value.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let start = value.find(text).unwrap_or(0);
    let whole = |fault: Option<ValueFault>| {
        fault.map(|fault| FaultyPart { fault, span: start..start + text.len() }).into_iter().collect()
    };
    match parameter.value_type {
        ValueType::Integer => whole(check_integer(parameter, text, world)),
        ValueType::Long => whole(check_long(parameter, text, world)),
        ValueType::Real => whole(check_real(parameter, text, world)),
        ValueType::Boolean => whole(check_boolean(parameter, text, world)),
        ValueType::LenientBoolean => {
            let is_lenient = matches!(text[0].to_ascii_lowercase(), b't' | b'f');
            whole(if is_lenient { None } else { check_boolean(parameter, text, world) })
        }
        ValueType::Size => whole((!is_size(text)).then_some(ValueFault::NotSize)),
        ValueType::LogSize => whole(check_log_size(parameter, text)),
        ValueType::Period => whole((!is_period(text)).then_some(ValueFault::NotPeriod)),
        ValueType::Throttle => whole((!is_throttle(text)).then_some(ValueFault::NotThrottle)),
        ValueType::Word => {
            let is_known = parameter.words().any(|word| caseless::eq(word.as_bytes(), text));
            whole((!is_known).then(|| ValueFault::UnknownWord(nearest(text, parameter.words()))))
        }
        ValueType::Words => check_words(value, |word| {
            let word = word.strip_prefix(b"!").unwrap_or(word);
            let is_known = parameter.words().any(|known| caseless::eq(known.as_bytes(), word));
            (!is_known).then(|| ValueFault::UnknownWord(nearest(word, parameter.words())))
        }),
        ValueType::QuotedWords => check_words(value, |word| {
            let word = word.trim_with(|c| c == '"');
            let is_known =
                word.is_empty() || parameter.words().any(|known| caseless::eq(known.as_bytes(), word));
            (!is_known).then(|| ValueFault::UnknownWord(nearest(word, parameter.words())))
        }),
        ValueType::Statistics => check_words(value, |word| {
            let group = word.split(|byte| *byte == b':').next().unwrap_or_default();
            (!is_statistics_group(word, parameter))
                .then(|| ValueFault::NotStatistics(nearest(group, parameter.words())))
        }),
        ValueType::TimeFormat => whole((!text.contains(&b'%')).then_some(ValueFault::NotTimeFormat)),
        ValueType::Timespans => {
            check_words(value, |word| (!is_timespan(word)).then_some(ValueFault::NotTimespan))
        }
        ValueType::CronMode => {
            let known = CRON_MODES.into_iter().any(|mode| caseless::eq(mode.as_bytes(), text));
            whole((!known).then(|| ValueFault::UnknownWord(nearest(text, CRON_MODES))))
        }
        ValueType::DebugLevels => check_debug_levels(value),
        ValueType::SecurityLevel => whole(check_security_level(text)),
        ValueType::AuthenticationMethods => check_words(value, |word| {
            check_word_in_list(word, &AUTHENTICATION_METHODS, ValueFault::UnknownMethod)
        }),
        ValueType::CryptoMethods => {
            check_words(value, |word| check_word_in_list(word, &CRYPTO_METHODS, ValueFault::UnknownCrypto))
        }
        ValueType::Hosts => check_words(value, |word| match word.contains(&b';') {
            true => Some(ValueFault::Semicolon),
            false if word.contains_str("://") => Some(ValueFault::Url),
            false if is_port(word) => Some(ValueFault::LonePort),
            false => has_bad_port(word).then_some(ValueFault::NotPort),
        }),
        ValueType::Ids => whole((!is_pair_of_ids(text)).then_some(ValueFault::NotIds)),
        ValueType::Regex => {
            let compiles = |text: &[u8]| Regex::compile(text, RegexOptions::default()).is_ok();
            // Without the feature `regex`, no pattern compiles.
            let is_valid = compiles(text) || !compiles(b"a");
            whole((!is_valid).then_some(ValueFault::NotRegex))
        }
        ValueType::Interfaces => {
            check_words(value, |word| is_impossible_interface(word).then_some(ValueFault::NotInterface))
        }
        ValueType::Permissions => check_words(value, |word| match word.contains_str("://") {
            true => Some(ValueFault::Url),
            false if !is_permission(word) => Some(ValueFault::NotPermission),
            false => has_bad_network(word).then_some(ValueFault::NotNetwork),
        }),
        ValueType::Environment => whole(check_environment(text)),
        ValueType::Rounding => whole((!is_rounding(text, world)).then_some(ValueFault::NotRounding)),
        _ => Vec::new(),
    }
}

/// Returns the words that values of a parameter may be or contain, as an editor offers them; none if its values are not
/// made of known words.
pub fn known_words(parameter: &RegisteredParameter) -> Vec<&'static str> {
    match parameter.value_type {
        ValueType::Boolean | ValueType::LenientBoolean => {
            ["True", "False"].into_iter().chain(parameter.words()).collect()
        }
        ValueType::Word | ValueType::Words | ValueType::QuotedWords | ValueType::Statistics => {
            parameter.words().collect()
        }
        ValueType::CronMode => CRON_MODES.to_vec(),
        ValueType::DebugLevels => DEBUG_LEVELS.to_vec(),
        ValueType::SecurityLevel => vec!["REQUIRED", "PREFERRED", "OPTIONAL", "NEVER"],
        ValueType::AuthenticationMethods => AUTHENTICATION_METHODS.to_vec(),
        ValueType::CryptoMethods => CRYPTO_METHODS.to_vec(),
        _ => Vec::new(),
    }
}

fn nearest<'a>(text: &[u8], words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    similar_names::nearest(text, words.into_iter().map(str::as_bytes))
        .and_then(|near| std::str::from_utf8(near).ok())
}

fn check_range(parameter: &RegisteredParameter, value: f64) -> Option<ValueFault> {
    match parameter.range() {
        (Some(min), _) if value < min => Some(ValueFault::TooLow(min)),
        (_, Some(max)) if value > max => Some(ValueFault::TooHigh(max)),
        _ => None,
    }
}

fn check_integer(parameter: &RegisteredParameter, text: &[u8], world: &dyn World) -> Option<ValueFault> {
    match evaluate::parse_integer(text, world) {
        NumberResult::Value(value) if i32::try_from(value).is_err() => Some(ValueFault::OutOfBounds),
        NumberResult::Value(value) => check_range(parameter, value as f64),
        NumberResult::Unparsable | NumberResult::NotNumber => Some(ValueFault::NotInteger),
    }
}

fn check_long(parameter: &RegisteredParameter, text: &[u8], world: &dyn World) -> Option<ValueFault> {
    match evaluate::parse_integer(text, world) {
        NumberResult::Value(value) => check_range(parameter, value as f64),
        NumberResult::Unparsable | NumberResult::NotNumber => Some(ValueFault::NotInteger),
    }
}

fn check_real(parameter: &RegisteredParameter, text: &[u8], world: &dyn World) -> Option<ValueFault> {
    match evaluate::parse_real(text, world) {
        NumberResult::Value(value) => check_range(parameter, value),
        NumberResult::Unparsable | NumberResult::NotNumber => Some(ValueFault::NotNumber),
    }
}

fn check_boolean(parameter: &RegisteredParameter, text: &[u8], world: &dyn World) -> Option<ValueFault> {
    let is_word = parameter.words().any(|word| caseless::eq(word.as_bytes(), text));
    (!is_word && evaluate::to_boolean(text, world).is_none()).then_some(ValueFault::NotBoolean)
}

/// Returns true if `parse_int64_bytes` reads the whole text: a number and K, M, G, T or P, with an optional B or iB.
pub fn is_size(text: &[u8]) -> bool {
    let Some((_, end)) = real_prefix(text) else { return false };
    let unit = text[end..].trim_start();
    let Some((first, rest)) = unit.split_first() else { return true };
    let is_unit = b"KMGTP".contains(&first.to_ascii_uppercase());
    let ends = |rest: &[u8]| [&b""[..], b"b", b"ib"].iter().any(|end| caseless::eq(end, rest));
    is_unit && ends(rest) || first.eq_ignore_ascii_case(&b'b') && rest.is_empty()
}

/// Checks the size of a log in the way `dprintf_parse_log_size` reads it. Only the first letters of a unit are
/// significant.
fn check_log_size(parameter: &RegisteredParameter, text: &[u8]) -> Option<ValueFault> {
    let Some((value, end)) = integer_prefix(text) else { return Some(ValueFault::NotLogSize) };
    let unit = text[end..].trim_start().to_ascii_uppercase();
    let letters = unit.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if value < 0 || letters < unit.len() {
        return Some(ValueFault::NotLogSize);
    }
    let is_time = match &unit[..] {
        [] | [b'B' | b'K' | b'G' | b'T', ..] | [b'M'] | [b'M', b'B', ..] => false,
        [b'M', b'I', third, ..] => *third != b'B',
        [b'S' | b'H' | b'D' | b'W', ..] | [b'M', b'I'] => true,
        _ => return Some(ValueFault::NotLogSize),
    };
    (is_time && parameter.name.eq_ignore_ascii_case("MAX_DEFAULT_LOG")).then_some(ValueFault::TimeNotSize)
}

/// Returns true for two numbers separated by a dot, which are the ids of a user and a group.
fn is_pair_of_ids(text: &[u8]) -> bool {
    let Some(point) = text.find_byte(b'.') else { return false };
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    is_number(&text[..point]) && is_number(&text[point + 1..])
}

fn check_environment(text: &[u8]) -> Option<ValueFault> {
    match environment::has_closed_quotes(text) {
        false => Some(ValueFault::UnbalancedQuotes),
        true => environment::has_blank_separators(text).then_some(ValueFault::UnquotedEnvironment),
    }
}

/// Returns true for a percentage up to 1000, or a number from 0 to 9.
fn is_rounding(text: &[u8], world: &dyn World) -> bool {
    if text.contains(&b'%') {
        let number = real_prefix(text).filter(|(_, end)| &text[*end..] == b"%");
        return number.is_some_and(|(percent, _)| (0.0..=1000.0).contains(&percent));
    }
    matches!(evaluate::parse_integer(text, world), NumberResult::Value(0..=9))
}

fn check_security_level(text: &[u8]) -> Option<ValueFault> {
    if SECURITY_LEVELS.iter().any(|level| caseless::eq(level.as_bytes(), text)) {
        return None;
    }
    Some(match text[0].to_ascii_uppercase() {
        b'R' | b'Y' | b'T' => ValueFault::MisspelledLevel("REQUIRED"),
        b'P' => ValueFault::MisspelledLevel("PREFERRED"),
        b'O' => ValueFault::MisspelledLevel("OPTIONAL"),
        b'F' | b'N' => ValueFault::MisspelledLevel("NEVER"),
        _ => ValueFault::UnknownLevel,
    })
}

/// Checks that a word is in a list; `fault` gets the most similar word of the list, if there is one.
fn check_word_in_list(
    word: &[u8],
    known: &[&'static str],
    fault: fn(Option<&'static str>) -> ValueFault,
) -> Option<ValueFault> {
    let is_known = known.iter().any(|known| caseless::eq(known.as_bytes(), word));
    (!is_known).then(|| fault(nearest(word, known.iter().copied())))
}

/// Checks each word of a list.
fn check_words(value: &[u8], check: impl Fn(&[u8]) -> Option<ValueFault>) -> Vec<FaultyPart> {
    split_words(value, b", \t\r\n")
        .filter_map(|span| Some(FaultyPart { fault: check(&value[span.clone()])?, span }))
        .collect()
}

/// Checks each category, with its sign and its verbosity.
fn check_debug_levels(value: &[u8]) -> Vec<FaultyPart> {
    let check = |span: Range<usize>| {
        // The sign and the verbosity are not parts of the name.
        let signs = value[span.clone()].iter().take_while(|sign| matches!(sign, b'-' | b'+')).count();
        let start = span.start + signs;
        let end = value[start..span.end].find_byte(b':').map_or(span.end, |colon| start + colon);
        if let Some(fault) =
            check_word_in_list(&value[start..end], &DEBUG_LEVELS, ValueFault::UnknownDebugLevel)
        {
            return Some(FaultyPart { fault, span: start..end });
        }
        let verbosity = value[end..span.end].strip_prefix(b":")?;
        let is_number = verbosity.iter().all(u8::is_ascii_digit) && !verbosity.is_empty();
        (!is_number).then_some(FaultyPart { fault: ValueFault::NotVerbosity, span: end + 1..span.end })
    };
    split_words(value, b"|, \t\r\n").filter_map(check).collect()
}

/// Returns the places of the words of a list.
fn split_words<'v>(value: &'v [u8], separators: &'static [u8]) -> impl Iterator<Item = Range<usize>> + 'v {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += value[at..].iter().take_while(|byte| separators.contains(byte)).count();
        let length = value[at..].iter().take_while(|byte| !separators.contains(byte)).count();
        let span = at..at + length;
        at = span.end;
        (length > 0).then_some(span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::find;
    use htc_os::RealWorld;

    fn faults(name: &str, value: &str) -> Vec<ValueFault> {
        let parameter = find(name.as_bytes()).unwrap();
        check_value(&parameter, value.as_bytes(), &RealWorld::new())
            .into_iter()
            .map(|part| part.fault)
            .collect()
    }

    /// Values as `htcondor2.param` of 25.14.1 takes them.
    #[test]
    fn numbers_are_literals_or_expressions_without_attributes() {
        for good in
            ["10", " 10 ", "10 * 60", "true", "3.7", "1e2", "int(5.5)", "ifThenElse(true, 1, 2)", "-0"]
        {
            assert_eq!(faults("MEMORY", good), [], "{good}");
        }
        for bad in
            ["16GB", "12x", "four", "5 m", "1h", "\"5\"", "0x10", "10;", "10,", "Cpus * 2", "$x", "1 2"]
        {
            assert_eq!(faults("MEMORY", bad), [ValueFault::NotInteger], "{bad}");
        }
        assert_eq!(faults("MEMORY", "-5"), [ValueFault::TooLow(0.0)]);
        assert_eq!(faults("MEMORY", "99999999999"), [ValueFault::OutOfBounds]);
        assert_eq!(faults("COLLECTOR_PORT", "70000"), [ValueFault::TooHigh(65535.0)]);
        assert_eq!(faults("GROUP_QUOTA_DYNAMIC_a", "1.5"), [ValueFault::TooHigh(1.0)]);
        assert_eq!(faults("GROUP_QUOTA_a", "ten"), [ValueFault::NotNumber]);
        assert_eq!(faults("GROUP_QUOTA_a", "1e2"), []);
    }

    #[test]
    fn booleans_are_words_numbers_or_expressions() {
        for good in ["true", "FALSE", "1", "0", "2 > 1", "5", "!true"] {
            assert_eq!(faults("USE_PROCD", good), [], "{good}");
        }
        for bad in ["yes", "no", "on", "ture", "True.", "t", "Foo && Bar", "\"true\""] {
            assert_eq!(faults("USE_PROCD", bad), [ValueFault::NotBoolean], "{bad}");
        }
        assert_eq!(faults("ENABLE_IPV6", "AUTO"), []);
        assert_eq!(faults("ENABLE_IPV6", "maybe"), [ValueFault::NotBoolean]);
    }

    #[test]
    fn units_are_allowed_if_the_reader_supports_them() {
        for good in ["10 Mb", "1000", "2G", "5 GiB", "7d", "1 week", "100MB"] {
            assert_eq!(faults("MAX_STARTD_LOG", good), [], "{good}");
        }
        for bad in ["100Megs", "ten", "-5", "10 #"] {
            assert_eq!(faults("MAX_STARTD_LOG", bad), [ValueFault::NotLogSize], "{bad}");
        }
        assert_eq!(faults("MAX_DEFAULT_LOG", "7d"), [ValueFault::TimeNotSize]);
        assert_eq!(faults("STARTD_CRON_A_PERIOD", "5m"), []);
        assert_eq!(faults("STARTD_CRON_A_PERIOD", "5 min"), [ValueFault::NotPeriod]);
        assert_eq!(faults("STARTD_CRON_A_PERIOD", "5d"), [ValueFault::NotPeriod]);
        assert_eq!(faults("FILE_TRANSFER_DISK_LOAD_THROTTLE", "1.5 to 2"), []);
        assert_eq!(faults("FILE_TRANSFER_DISK_LOAD_THROTTLE", "2 to 1"), [ValueFault::NotThrottle]);
        assert_eq!(faults("DATA_REUSE_BYTES", "10GB"), []);
        assert_eq!(faults("DATA_REUSE_BYTES", "10 apples"), [ValueFault::NotSize]);
    }

    #[test]
    fn networks_regexes_and_quotes_are_checked() {
        for good in [
            "*",
            "*.example.org",
            "10.0.0.0/8",
            "192.168.*",
            "192.168.1.7/255.255.255.0",
            "condor@example.org/*.example.org",
            "*/10.0.0.1",
            "[2001:db8::]/32",
            "3.example.org",
            "root@10.0.0.1",
        ] {
            assert_eq!(faults("ALLOW_WRITE", good), [], "{good}");
        }
        for bad in ["10.0.0.0/33", "192.168.1.*.*", "10.0.0.300", "2001:db8::/129"] {
            assert_eq!(faults("ALLOW_READ", bad), [ValueFault::NotNetwork], "{bad}");
        }
        for good in
            ["+netgroup", "condor@x.org/10.0.0.0/8", "*/10.0.0.0/255.255.0.0", "*/*", "<10.0.0.1:9618>"]
        {
            assert_eq!(faults("ALLOW_READ", good), [], "{good}");
        }
        for bad in [
            "&&",
            "//",
            "condor@x.org\\*.x.org",
            "!*.x.org",
            "user:",
            "a@b@c",
            "root@*/*/cm",
            "10.0.0.0/255.255.255",
        ] {
            assert_eq!(faults("ALLOW_READ", bad), [ValueFault::NotPermission], "{bad}");
        }
        assert_eq!(faults("DEDICATED_EXECUTE_ACCOUNT_REGEXP", "slot[0-9"), [ValueFault::NotRegex]);
        assert_eq!(faults("DEDICATED_EXECUTE_ACCOUNT_REGEXP", "slot[0-9]+"), []);
        assert_eq!(faults("COLLECTOR_HOST", "cm.example.org 9618"), [ValueFault::LonePort]);
        for good in ["10.20.*", "10.0.0.1", "eth0", "*", "eth0,ens3", "::1", "2001:db8:*"] {
            assert_eq!(faults("NETWORK_INTERFACE", good), [], "{good}");
        }
        for bad in ["10.0.0.0/8", "192.168.1", "10.0.0.300", "10.0.0.0.1"] {
            assert_eq!(faults("NETWORK_INTERFACE", bad), [ValueFault::NotInterface], "{bad}");
        }
        for good in ["\"A=1 B='x y'\"", "A=1;B=2", "\"A=\"\"x\"\"\"", "A='x"] {
            assert_eq!(faults("STARTER_JOB_ENVIRONMENT", good), [], "{good}");
        }
        for bad in ["A=1 B=2", "PATH=/bin OMP_NUM_THREADS=1"] {
            assert_eq!(faults("STARTER_JOB_ENVIRONMENT", bad), [ValueFault::UnquotedEnvironment], "{bad}");
        }
        assert_eq!(faults("STARTER_JOB_ENVIRONMENT", "A=1 2"), []);
        for bad in ["\"A=1 B='x\"", "\"A=1", "\"A=1\" B=2", "\"A=\"1\"\""] {
            assert_eq!(faults("STARTER_JOB_ENVIRONMENT", bad), [ValueFault::UnbalancedQuotes], "{bad}");
        }
        for good in ["25%", "2", "0"] {
            assert_eq!(faults("SCHEDD_ROUND_ATTR_Memory", good), [], "{good}");
        }
        for bad in ["10 percent", "12", "25 %", "2000%"] {
            assert_eq!(faults("SCHEDD_ROUND_ATTR_Memory", bad), [ValueFault::NotRounding], "{bad}");
        }
    }

    #[test]
    fn words_of_lists_and_choices_are_checked() {
        let levels = |value| faults("STARTD_DEBUG", value);
        assert_eq!(levels("D_FULLDEBUG D_COMMAND:2, -D_PID|D_NETWORK"), []);
        assert_eq!(levels("D_FULLDEGUB"), [ValueFault::UnknownDebugLevel(Some("D_FULLDEBUG"))]);
        let place = |value: &str| {
            let parameter = find(b"STARTD_DEBUG").unwrap();
            check_value(&parameter, value.as_bytes(), &RealWorld::new()).remove(0).span
        };
        assert_eq!((place("D_PID -D_COMMAD:1"), place("-D_SUBSECOND")), (7..15, 1..12));
        let methods = |value| faults("SEC_DEFAULT_AUTHENTICATION_METHODS", value);
        assert_eq!(methods("FS, IDTOKENS ssl"), []);
        assert_eq!(methods("FS, IDTOKNS"), [ValueFault::UnknownMethod(Some("IDTOKENS"))]);
        assert_eq!(faults("SEC_CLIENT_ENCRYPTION", "required"), []);
        assert_eq!(faults("SEC_CLIENT_ENCRYPTION", "REQURED"), [ValueFault::MisspelledLevel("REQUIRED")]);
        assert_eq!(faults("SEC_CLIENT_ENCRYPTION", "maybe"), [ValueFault::UnknownLevel]);
        assert_eq!(faults("CONDOR_IDS", "condor.condor"), [ValueFault::NotIds]);
        assert_eq!(faults("CONDOR_IDS", "64.64"), []);
        for good in [
            "cm:9618",
            "a.example.org, b.example.org:9618",
            "<10.0.0.1:9618?sock=x>",
            "cm:0",
            "::1",
            "[::1]:9618",
            "cm:9618?sock=collector",
        ] {
            assert_eq!(faults("COLLECTOR_HOST", good), [], "{good}");
        }
        for bad in ["cm:port", "cm:9618:", "cm:96180", "cm:", ":96180", ":9618:"] {
            assert_eq!(faults("COLLECTOR_HOST", bad), [ValueFault::NotPort], "{bad}");
        }
        assert_eq!(faults("STARTD_CRON_A_MODE", "Peroidic"), [ValueFault::UnknownWord(Some("Periodic"))]);
        assert_eq!(faults("DEFRAG_DRAINING_SCHEDULE", "slow"), [ValueFault::UnknownWord(None)]);
    }
}
