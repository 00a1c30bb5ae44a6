//! The registry of parameters: type, range or scope, and readers of each name and family.
//!
//! The type is that of the call by which the reference's source reads a name (`param_integer`, `param_boolean`,
//! `param_double`, `param()` followed by a parser; also for formatted names such as `MAX_%s_LOG`), or else the type in
//! its own table. Defaults, levels of support and descriptions are found through [`RegisteredParameter`].
//!
//! A row is `NAME<tab>type<tab>range, words or scope<tab>daemons`, sorted by name, ignoring case; in names `*` stands
//! for any text and `#` for a number.

use std::borrow::Cow;
use std::sync::OnceLock;

use htc_base::text::table::{
    compare_key, count_families, count_lines, family_line_numbers, line_starts, matches_family_pattern,
    table_row,
};
use htc_base::text::{caseless, unqualified_name, words};

use crate::defaults;
use crate::descriptions::{self, Description};
use crate::parameter_versions::{self, ParameterVersions};
use crate::supported::{self, SupportEntry};

static TABLE_TEXT: &[u8] = include_bytes!("data/registry.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("data/registry.tsv"))] =
    line_starts(include_bytes!("data/registry.tsv"));
static FAMILIES: [u32; count_families(TABLE_TEXT, &ROW_STARTS)] =
    family_line_numbers(TABLE_TEXT, &ROW_STARTS);

words! {
    /// Type of the value of a parameter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ValueType.name {
        /// Integer of 32 bits: a literal, or an expression without attributes.
        Integer => "int",
        /// Integer of 64 bits.
        Long => "long",
        /// Floating-point number.
        Real => "real",
        /// Truth value: a literal, or an expression without attributes.
        Boolean => "bool",
        /// Truth value. If it begins with t or f, only this letter is significant.
        LenientBoolean => "crufty",
        /// Number of bytes with an optional unit (`parse_int64_bytes`).
        Size => "size",
        /// Size of a log with an optional unit of size or time (`dprintf_parse_log_size`).
        LogSize => "log-size",
        /// Seconds, or a number followed by s, m or h (`CronJobParams::InitPeriod`).
        Period => "period",
        /// One number, or two with `to` between them (`TransferQueueManager::parseThrottleConfig`).
        Throttle => "throttle",
        /// Any text.
        String => "string",
        /// One word, name or path. Quotes would be part of the value.
        Name => "name",
        /// Addresses or names of network interfaces, with `*` for any text (`network_interface_to_ip`).
        Interfaces => "interfaces",
        /// Path of a file or directory.
        Path => "path",
        /// Names or hosts, separated by commas or white space.
        List => "list",
        /// Regular expression.
        Regex => "regex",
        /// Users and hosts of a permission (`IpVerify::fill_table`).
        Permissions => "permissions",
        /// Environment in the language V1 or V2.
        Environment => "environment",
        /// Digits to round off, or a percentage (`SetAttribute`, qmgmt.cpp).
        Rounding => "rounding",
        /// Hosts, each with an optional port.
        Hosts => "hosts",
        /// One of a few words.
        Word => "word",
        /// Any of a few words, each of which may have an exclamation mark before it (`ULogEvent::parse_opts`).
        Words => "words",
        /// Words that may be in double quotes (`delete_quotation_marks`).
        QuotedWords => "quoted-words",
        /// Groups of statistics, each with an optional colon and flags (`generic_stats_ParseConfigString`).
        Statistics => "statistics",
        /// Format of a time as `strftime` reads it.
        TimeFormat => "time-format",
        /// Names of periods with their lengths: `1m:60 1h:3600` (`ParseEMAHorizonConfiguration`).
        Timespans => "timespans",
        /// Mode of a cron job.
        CronMode => "cron-mode",
        /// Debug levels: categories of log messages (`_condor_parse_merge_debug_flags`).
        DebugLevels => "debug",
        /// REQUIRED, PREFERRED, OPTIONAL or NEVER (`SecMan::sec_alpha_to_sec_req`).
        SecurityLevel => "level",
        /// Authentication methods (`SecMan::sec_char_to_auth_method`).
        AuthenticationMethods => "methods",
        /// Encryption methods (`SecMan::getPreferredOldCryptProtocol`).
        CryptoMethods => "crypto",
        /// Numeric ids of a user and a group, separated by a dot.
        Ids => "ids",
        /// Size with a unit, or an expression.
        SizeOrNumber => "size-or-number",
        /// Expression that is used as a condition.
        Condition => "condition",
        /// Expression that gives a number.
        Number => "number",
        /// Expression that gives a string.
        Text => "text",
        /// Expression that gives a string, or a string without quotes that is not an expression.
        PlainOrText => "plain-or-text",
        /// Expression of any type.
        Expression => "expr",
        /// Route of the job router.
        Route => "route",
        /// Transform of jobs.
        Transform => "transform",
        /// Resource shares of a slot type.
        SlotShares => "shares",
    }
}

impl ValueType {
    /// Returns true if a value is a ClassAd expression that is evaluated in ads.
    pub fn is_expression(self) -> bool {
        matches!(
            self,
            ValueType::Condition
                | ValueType::Number
                | ValueType::Text
                | ValueType::PlainOrText
                | ValueType::Expression
        )
    }
}

words! {
    /// Ads in which an expression is evaluated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ExpressionScope.name {
        /// MY is a slot, TARGET the job that it runs or may run.
        Slot => "slot",
        /// MY is a slot, TARGET a job, in the negotiator.
        Match => "match",
        /// MY is a job, TARGET a slot.
        JobAndSlot => "job-slot",
        /// MY is a job.
        Job => "job",
        /// MY is the schedd's own ad, TARGET a job.
        Schedd => "schedd",
        /// MY is a job; the other ads are a slot and an owner record.
        MatchInSchedd => "match-schedd",
        /// MY is the schedd's own ad, TARGET a job that is submitted.
        Submit => "submit",
        /// MY is a slot.
        Machine => "machine",
        /// MY is the ad of a daemon.
        Daemon => "daemon",
        /// MY is the ad of a submitter.
        Submitter => "submitter",
        /// MY is an accounting group.
        Group => "group",
        /// MY is another kind of ad.
        Other => "any",
    }
}

impl ExpressionScope {
    /// Returns true if MY is the ad of a slot.
    pub fn has_my_slot(self) -> bool {
        matches!(self, ExpressionScope::Slot | ExpressionScope::Match | ExpressionScope::Machine)
    }

    /// Returns true if one of the ads is a job.
    pub fn has_job(self) -> bool {
        !matches!(
            self,
            ExpressionScope::Machine
                | ExpressionScope::Daemon
                | ExpressionScope::Submitter
                | ExpressionScope::Group
                | ExpressionScope::Other
        )
    }

    /// Returns true if MY is the ad of a job.
    pub fn has_my_job(self) -> bool {
        matches!(self, ExpressionScope::Job | ExpressionScope::JobAndSlot | ExpressionScope::MatchInSchedd)
    }

    /// Returns true if there is only MY, so that TARGET is always undefined.
    pub fn has_no_target(self) -> bool {
        matches!(
            self,
            ExpressionScope::Job
                | ExpressionScope::Machine
                | ExpressionScope::Daemon
                | ExpressionScope::Submitter
                | ExpressionScope::Group
        )
    }
}

/// One row of the registry, found for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredParameter {
    /// The name, or the pattern of a family.
    pub name: &'static str,
    /// Type of its value.
    pub value_type: ValueType,
    /// Range of a number as the reference writes it, words of a choice, or the scope of an expression.
    details: &'static str,
    /// Daemons that read the parameter, separated by commas, or `all`.
    pub daemons: &'static str,
}

impl RegisteredParameter {
    /// Returns true if the row is of a family of names.
    pub fn is_family(&self) -> bool {
        self.name.contains(['*', '#'])
    }

    /// Returns true if a family starts with a part that the site chooses, so that a macro of a site may look like a
    /// member of the family.
    pub fn has_open_prefix(&self) -> bool {
        self.name.starts_with('*')
    }

    /// Returns the scope of an expression, or `None` if the value is not an expression.
    pub fn scope(&self) -> Option<ExpressionScope> {
        let is_expression = self.value_type.is_expression() || self.value_type == ValueType::SizeOrNumber;
        is_expression.then(|| {
            ExpressionScope::ALL
                .iter()
                .copied()
                .find(|scope| scope.name() == self.details)
                .unwrap_or(ExpressionScope::Other)
        })
    }

    /// Returns the words of a choice, or the words that a truth value may have in addition to true and false.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let has_words = matches!(
            self.value_type,
            ValueType::Word
                | ValueType::Words
                | ValueType::QuotedWords
                | ValueType::Statistics
                | ValueType::Boolean
        );
        self.details.split(',').filter(move |word| has_words && !word.is_empty())
    }

    /// Returns the smallest and largest value of a number; `None` for a side without limit.
    pub fn range(&self) -> (Option<f64>, Option<f64>) {
        let is_number = matches!(self.value_type, ValueType::Integer | ValueType::Long | ValueType::Real);
        let mut limits = self.details.split(',').map(|limit| limit.parse().ok());
        match is_number {
            true => (limits.next().flatten(), limits.next().flatten()),
            false => (None, None),
        }
    }

    /// Returns true if `daemon` reads the parameter.
    pub fn is_read_by(&self, daemon: &str) -> bool {
        self.daemons.split(',').any(|reader| reader == "all" || reader.eq_ignore_ascii_case(daemon))
    }
}

/// Returns the row of a name: its own, or else that of the longest pattern that it matches. A prefix up to the last dot
/// is ignored, and so is a prefix for a slot or slot type (`SLOT_TYPE_1_START`, `SLOT2_1_PREEMPT`).
pub fn find(name: &[u8]) -> Option<RegisteredParameter> {
    let name = unqualified_name(name);
    let bare = strip_slot_prefix(name);
    let own = find_exact_row(name);
    if bare.len() == name.len() {
        return own.or_else(|| find_family(name));
    }
    own.or_else(|| find_exact_row(bare)).or_else(|| find_family(name))
}

/// Returns the default value of a name, or `None` if it has none.
pub fn default_value(name: &[u8]) -> Option<Cow<'static, [u8]>> {
    defaults::find_qualified(name)?.explicit_default()
}

/// Returns the level of support of a name, or `None` if nothing reads it.
pub fn support(name: &[u8]) -> Option<SupportEntry> {
    supported::find_parameter(name)
}

/// Returns the versions of HTCondor that read a name, or `None` if all do, or none.
pub fn versions(name: &[u8]) -> Option<ParameterVersions> {
    parameter_versions::find(name)
}

/// Returns the description of a name.
pub fn description(name: &[u8]) -> Option<Description> {
    descriptions::find_description(name)
}

/// Returns all rows in the order of their names.
pub fn all() -> impl ExactSizeIterator<Item = RegisteredParameter> {
    (0..ROW_STARTS.len()).map(parse_row)
}

/// Longest name that is compared with the patterns of families.
const MAX_NAME_LENGTH: usize = 512;

fn find_exact_row(name: &[u8]) -> Option<RegisteredParameter> {
    if name.len() > MAX_NAME_LENGTH {
        return None;
    }
    ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok().map(parse_row)
}

fn find_family(name: &[u8]) -> Option<RegisteredParameter> {
    if name.len() > MAX_NAME_LENGTH {
        return None;
    }
    let may_match = |family: &usize| FAMILY_ENDS[*family].may_match(name);
    let matching = FamilyGroups::of_name(name).filter(may_match);
    let matching = matching.map(|family| FAMILIES[family] as usize);
    let key = |index: &usize| table_row(TABLE_TEXT, &ROW_STARTS, *index).key();
    matching
        .filter(|index| matches_family_pattern(key(index), name))
        .max_by_key(|index| (key(index).first() != Some(&b'*'), key(index).len(), *index))
        .map(parse_row)
}

/// Literal text at both ends of a pattern. Comparing it with a name is fast and excludes most names.
#[derive(Clone, Copy)]
struct PatternEnds {
    start: usize,
    head: usize,
    tail_start: usize,
    end: usize,
}

/// The ends of the patterns of all families.
static FAMILY_ENDS: [PatternEnds; FAMILIES.len()] = {
    let mut ends = [PatternEnds { start: 0, head: 0, tail_start: 0, end: 0 }; FAMILIES.len()];
    let mut at = 0;
    while at < FAMILIES.len() {
        let start = ROW_STARTS[FAMILIES[at] as usize] as usize;
        let (mut head, mut end, mut tail_start) = (usize::MAX, start, start);
        while TABLE_TEXT[end] != b'\t' {
            if matches!(TABLE_TEXT[end], b'*' | b'#') {
                if head == usize::MAX {
                    head = end - start;
                }
                tail_start = end + 1;
            }
            end += 1;
        }
        ends[at] = PatternEnds { start, head, tail_start, end };
        at += 1;
    }
    ends
};

/// Index of families by the first or last byte of their patterns, in lower case. Only few families share this
/// byte with a name.
struct FamilyGroups {
    by_last: Vec<Vec<u16>>,
    /// Families with a pattern that ends in a wildcard.
    by_first: Vec<Vec<u16>>,
    /// Families with wildcards at both ends.
    any: Vec<u16>,
}

impl FamilyGroups {
    fn get() -> &'static FamilyGroups {
        static GROUPS: OnceLock<FamilyGroups> = OnceLock::new();
        GROUPS.get_or_init(|| {
            let empty = || vec![Vec::new(); 256];
            let mut groups = FamilyGroups { by_last: empty(), by_first: empty(), any: Vec::new() };
            for (family, ends) in (0..).zip(&FAMILY_ENDS) {
                let (head, tail) = ends.literals();
                let key = |byte: &u8| usize::from(byte.to_ascii_lowercase());
                match (head.first(), tail.last()) {
                    (_, Some(last)) => groups.by_last[key(last)].push(family),
                    (Some(first), None) => groups.by_first[key(first)].push(family),
                    (None, None) => groups.any.push(family),
                }
            }
            groups
        })
    }

    /// Returns the indices of the families that a name may belong to.
    fn of_name(name: &[u8]) -> impl Iterator<Item = usize> {
        let group = |groups: &'static [Vec<u16>], byte: Option<&u8>| -> &'static [u16] {
            byte.map_or(&[], |byte| &groups[usize::from(byte.to_ascii_lowercase())])
        };
        let groups = FamilyGroups::get();
        let found = group(&groups.by_last, name.last()).iter().chain(group(&groups.by_first, name.first()));
        found.chain(&groups.any).map(|family| usize::from(*family))
    }
}

impl PatternEnds {
    /// Returns the text before the first and after the last wildcard.
    fn literals(&self) -> (&'static [u8], &'static [u8]) {
        (&TABLE_TEXT[self.start..self.start + self.head], &TABLE_TEXT[self.tail_start..self.end])
    }

    /// Returns true if a name begins and ends with the literal text of the pattern.
    fn may_match(&self, name: &[u8]) -> bool {
        let tail = &TABLE_TEXT[self.tail_start..self.end];
        // The last byte is compared first because it excludes most families.
        name.len() > self.head + tail.len()
            && tail.last().is_none_or(|last| last.eq_ignore_ascii_case(&name[name.len() - 1]))
            && name[name.len() - tail.len()..].eq_ignore_ascii_case(tail)
            && name[..self.head].eq_ignore_ascii_case(&TABLE_TEXT[self.start..self.start + self.head])
    }
}

fn parse_row(index: usize) -> RegisteredParameter {
    let row = table_row(TABLE_TEXT, &ROW_STARTS, index);
    let field = |number| std::str::from_utf8(row.field(number)).unwrap_or_default();
    let value_type =
        ValueType::ALL.iter().copied().find(|kind| kind.name() == field(1)).unwrap_or(ValueType::String);
    RegisteredParameter { name: field(0), value_type, details: field(2), daemons: field(3) }
}

/// Returns a name without a prefix for a slot or slot type.
pub fn strip_slot_prefix(name: &[u8]) -> &[u8] {
    let Some(rest) = caseless::strip_prefix(name, b"SLOT") else { return name };
    let of_type = caseless::strip_prefix(rest, b"_TYPE_");
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = of_type.unwrap_or(rest);
    let first = digits(rest);
    if first == 0 {
        return name;
    }
    rest = &rest[first..];
    let dynamic = rest.strip_prefix(b"_").filter(|rest| of_type.is_none() && digits(rest) > 0);
    if let Some(dynamic) = dynamic {
        rest = &dynamic[digits(dynamic)..];
    }
    match rest.strip_prefix(b"_") {
        Some(rest) if !rest.is_empty() => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<ValueType> {
        find(name.as_bytes()).map(|found| found.value_type)
    }

    #[test]
    fn rows_are_sorted_and_of_a_known_type_and_scope() {
        let names: Vec<_> = all().map(|row| row.name.to_ascii_lowercase()).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        assert!(names.len() > 1_700);
        for index in 0..ROW_STARTS.len() {
            let row = table_row(TABLE_TEXT, &ROW_STARTS, index);
            let shown = String::from_utf8_lossy(row.key());
            let word = std::str::from_utf8(row.field(1)).unwrap();
            assert!(ValueType::ALL.iter().any(|kind| kind.name() == word), "{shown}: {word}");
            let parameter = parse_row(index);
            if parameter.value_type.is_expression() {
                let scope = parameter.scope().unwrap();
                assert_eq!(scope.name(), parameter.details, "{shown}");
            }
            assert!(!parameter.daemons.is_empty(), "{shown}");
        }
    }

    #[test]
    fn names_of_the_defaults_table_are_registered() {
        for parameter in defaults::all() {
            assert!(find_exact_row(parameter.name()).is_some(), "{parameter:?}");
        }
    }

    #[test]
    fn a_name_has_its_own_type_or_that_of_its_family() {
        assert_eq!(kind("memory"), Some(ValueType::Integer));
        assert_eq!(kind("STARTD.MEMORY"), Some(ValueType::Integer));
        assert_eq!(kind("SLOT_TYPE_2_START"), Some(ValueType::Condition));
        assert_eq!(kind("SLOT1_2_PREEMPT"), Some(ValueType::Condition));
        assert_eq!(kind("SLOT_TYPE_2_PARTITIONABLE"), Some(ValueType::Boolean));
        assert_eq!(kind("SLOT_TYPE_2"), Some(ValueType::SlotShares));
        assert_eq!(kind("NUM_SLOTS_TYPE_3"), Some(ValueType::Integer));
        assert_eq!(kind("STARTD_CRON_GPU_PERIOD"), Some(ValueType::Period));
        assert_eq!(kind("GROUP_QUOTA_group_a"), Some(ValueType::Real));
        assert_eq!(find(b"GROUP_QUOTA_DYNAMIC_a").unwrap().range(), (Some(0.0), Some(1.0)));
        assert_eq!(kind("MAX_NUM_STARTD_LOG"), Some(ValueType::Integer));
        assert_eq!(kind("MAX_STARTD_LOG"), Some(ValueType::LogSize));
        assert_eq!(kind("MAX_HISTORY_LOG"), Some(ValueType::Long));
        assert_eq!(kind("SYSTEM_PERIODIC_HOLD_x"), Some(ValueType::Condition));
        assert_eq!(kind("SYSTEM_PERIODIC_HOLD_x_REASON"), Some(ValueType::Text));
        assert_eq!(kind("FARM_HOOK_FETCH_WORK_TIMEOUT"), Some(ValueType::Integer));
        assert_eq!(kind("SEC_CLIENT_AUTHENTICATION"), Some(ValueType::SecurityLevel));
        assert_eq!(kind("MY_HOUSE"), None);
        assert_eq!(find(b"START").unwrap().scope(), Some(ExpressionScope::Slot));
        assert_eq!(find(b"ENABLE_IPV6").unwrap().words().collect::<Vec<_>>(), ["auto"]);
    }

    #[test]
    fn slot_and_slot_type_prefixes_of_a_name_are_ignored() {
        for (name, bare) in [
            ("SLOT1_START", "START"),
            ("SLOT1_2_START", "START"),
            ("SLOT_TYPE_11_START", "START"),
            ("SLOT_TYPE_1", "SLOT_TYPE_1"),
            ("SLOT_WEIGHT", "SLOT_WEIGHT"),
        ] {
            assert_eq!(strip_slot_prefix(name.as_bytes()), bare.as_bytes(), "{name}");
        }
    }
}
