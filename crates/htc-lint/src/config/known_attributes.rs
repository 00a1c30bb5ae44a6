//! Attributes of HTCondor's ads, and their types. An attribute with values of several types has none.

use std::sync::LazyLock;

use htc_base::text::caseless;
use htc_base::text::similar_names::SimilarNames;
use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};

static TABLE_TEXT: &[u8] = include_bytes!("../data/attributes.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("../data/attributes.tsv"))] =
    line_starts(include_bytes!("../data/attributes.tsv"));

static NAMES: LazyLock<SimilarNames<&'static [u8]>> = LazyLock::new(|| {
    SimilarNames::new((0..ROW_STARTS.len()).map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key()))
});

/// Type of all values that HTCondor gives an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeType {
    Number,
    Boolean,
    Text,
}

/// True if HTCondor has an attribute with exactly this name.
pub(super) fn is_exact_attribute(name: &[u8]) -> bool {
    find(name).is_some() || htc_config::supported::find_attribute(name).is_some()
}

fn find(name: &[u8]) -> Option<usize> {
    ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok()
}

/// Returns the names of the attributes of HTCondor's ads, sorted without regard to case.
pub fn attribute_names() -> impl Iterator<Item = &'static str> {
    let names = (0..ROW_STARTS.len()).map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key());
    names.filter_map(|name| std::str::from_utf8(name).ok())
}

/// Returns the type of an attribute in one word (`number`, `bool`, `string`), or `None` if it is unknown or may have
/// several types.
pub fn attribute_type_word(name: &[u8]) -> Option<&'static str> {
    attribute_type(name).map(|kind| match kind {
        AttributeType::Number => "number",
        AttributeType::Boolean => "bool",
        AttributeType::Text => "string",
    })
}

/// Returns the type of an attribute, or `None` if it is unknown or may have several.
pub(super) fn attribute_type(name: &[u8]) -> Option<AttributeType> {
    match table_row(TABLE_TEXT, &ROW_STARTS, find(name)?).field(1) {
        b"number" => Some(AttributeType::Number),
        b"bool" => Some(AttributeType::Boolean),
        b"string" => Some(AttributeType::Text),
        _ => None,
    }
}

/// True if HTCondor has an attribute with this name, or the name belongs to a family of attributes.
pub(crate) fn is_known_attribute(name: &[u8]) -> bool {
    const FAMILIES: [&str; 20] = [
        "Has",
        "Total",
        "Detected",
        "Request",
        "Assigned",
        "Consumption",
        "CUDA",
        "GPUs_",
        "OCL",
        "Recent",
        "Child",
        "Slot",
        "Machine",
        "Last",
        "Cumulative",
        "Avg",
        "Num",
        "Is",
        "Device",
        "TransferPlugin",
    ];
    is_exact_attribute(name)
        || plural_of(name).is_none()
            && FAMILIES.iter().any(|family| {
                name.len() > family.len() + 2
                    && caseless::starts_with(name, family.as_bytes())
                    && nearest_attribute(name).is_none()
            })
}

/// Returns the attribute whose name is this name with an s at the end: TotalCpus for `TotalCpu`.
fn plural_of(name: &[u8]) -> Option<&'static [u8]> {
    const MIN_LENGTH: usize = 7;
    let plural = [name, b"s"].concat();
    let at = find(&plural).filter(|_| name.len() >= MIN_LENGTH && !is_exact_attribute(name))?;
    Some(table_row(TABLE_TEXT, &ROW_STARTS, at).key())
}

/// Returns the attribute that a submit command sets, if a name is that of the command.
pub(super) fn attribute_of_command(name: &[u8]) -> Option<&'static str> {
    const COMMANDS: [(&str, &str); 12] = [
        ("request_cpus", "RequestCpus"),
        ("request_cpu", "RequestCpus"),
        ("request_memory", "RequestMemory"),
        ("request_disk", "RequestDisk"),
        ("request_gpus", "RequestGPUs"),
        ("request_gpu", "RequestGPUs"),
        ("accounting_group", "AcctGroup"),
        ("accounting_group_user", "AcctGroupUser"),
        ("concurrency_limits", "ConcurrencyLimits"),
        ("container_image", "ContainerImage"),
        ("docker_image", "DockerImage"),
        ("max_retries", "JobMaxRetries"),
    ];
    COMMANDS
        .iter()
        .find(|(command, _)| caseless::eq(command.as_bytes(), name))
        .map(|(_, attribute)| *attribute)
}

/// Returns the current name of an attribute that HTCondor renamed in 6.9.3.
pub(super) fn renamed_attribute(name: &[u8]) -> Option<&'static str> {
    const RENAMED: [(&str, &str); 3] = [
        ("VirtualMachineID", "SlotID"),
        ("RemoteVirtualMachineID", "RemoteSlotID"),
        ("TotalVirtualMachines", "TotalSlots"),
    ];
    RENAMED.iter().find(|(old, _)| caseless::eq(old.as_bytes(), name)).map(|(_, new)| *new)
}

/// Returns the known attribute that a name probably misspells.
pub(super) fn nearest_attribute(name: &[u8]) -> Option<&'static [u8]> {
    let letters = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect()
    };
    // Names of four letters are similar to many others: only a misspelling of these three is recognized.
    const SHORT_NAMES: [&[u8]; 3] = [b"Owner", b"State", b"OpSys"];
    let is_slip = |known: &&[u8]| htc_base::text::similar_names::distance(known, name, 1).is_some();
    if name.len() == 4
        && !is_exact_attribute(name)
        && let Some(known) = SHORT_NAMES.into_iter().find(is_slip)
    {
        return Some(known);
    }
    if let Some(known) = nearest_short_name(name) {
        return Some(known);
    }
    if name.len() < 5 || is_exact_attribute(name) {
        return None;
    }
    // A plural, another number or another underscore is not a misspelling.
    let stem = |text: &[u8]| letters(text).strip_suffix(b"s").map_or_else(|| letters(text), <[u8]>::to_vec);
    let accept = |known: &[u8]| {
        known.len() >= 5
            && known[0].eq_ignore_ascii_case(&name[0])
            && stem(known) != stem(name)
            && (name.len() >= 10
                || htc_base::text::similar_names::distance(known, name, 1).is_some()
                || is_transposition(known, name))
    };
    plural_of(name).or_else(|| NAMES.nearest(name, accept).copied()).or_else(|| shortened_name(name))
}

/// Returns the common attribute with a short name that a name certainly misspells: two letters that changed places, a
/// doubled letter, or a missing or additional letter inside. A wrong letter may make another word.
fn nearest_short_name(name: &[u8]) -> Option<&'static [u8]> {
    const NAMES: [&[u8]; 10] =
        [b"User", b"Arch", b"Cpus", b"Disk", b"GPUs", b"Name", b"Rank", b"QDate", b"Memory", b"Start"];
    let is_slip = |known: &&[u8]| {
        let is_inside = |long: &[u8], short: &[u8]| {
            long.len() == short.len() + 1
                && (1..long.len() - 1).any(|at| caseless::eq(&[&long[..at], &long[at + 1..]].concat(), short))
        };
        let is_doubled = || {
            (1..name.len()).any(|at| {
                name[at].eq_ignore_ascii_case(&name[at - 1])
                    && caseless::eq(&[&name[..at], &name[at + 1..]].concat(), known)
            })
        };
        is_transposition(known, name) || is_inside(known, name) || is_doubled()
    };
    let is_candidate = (3..=6).contains(&name.len()) && !is_exact_attribute(name);
    NAMES.into_iter().filter(|_| is_candidate).find(is_slip)
}

/// Returns the expression over ClockDay or ClockMin that corresponds to a name from another batch system: `ClockDay`
/// for `DayOfWeek`.
pub(super) fn clock_attribute(name: &[u8]) -> Option<&'static str> {
    const NAMES: [(&str, &str); 9] = [
        ("Hour", "ClockMin / 60"),
        ("Minute", "ClockMin % 60"),
        ("Day", "ClockDay"),
        ("DayOfWeek", "ClockDay"),
        ("WeekDay", "ClockDay"),
        ("TimeOfDay", "ClockMin"),
        ("MinuteOfDay", "ClockMin"),
        ("HourOfDay", "ClockMin / 60"),
        ("ClockHour", "ClockMin / 60"),
    ];
    NAMES.iter().find(|(known, _)| caseless::eq(known.as_bytes(), name)).map(|(_, expression)| *expression)
}

/// Returns the attribute whose name differs from this name only in its last word, which one of the two names
/// abbreviates: `RemoteUserPriority`, `RequestMem`.
fn shortened_name(name: &[u8]) -> Option<&'static [u8]> {
    const WORDS: [(&str, &str); 8] = [
        ("priority", "prio"),
        ("memory", "mem"),
        ("average", "avg"),
        ("number", "num"),
        ("maximum", "max"),
        ("requirements", "reqs"),
        ("argument", "arg"),
        ("status", "state"),
    ];
    let lower = name.to_ascii_lowercase();
    let replaced = WORDS.iter().flat_map(|(long, short)| [(long, short), (short, long)]);
    replaced
        .filter(|(from, _)| lower.ends_with(from.as_bytes()) && lower.len() > from.len() + 3)
        .find_map(|(from, to)| find(&[&lower[..lower.len() - from.len()], to.as_bytes()].concat()))
        .map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key())
}

/// True if two names differ by two neighbouring letters that changed places.
fn is_transposition(a: &[u8], b: &[u8]) -> bool {
    let same = |at: usize| a[at].eq_ignore_ascii_case(&b[at]);
    if a.len() != b.len() {
        return false;
    }
    let Some(first) = (0..a.len()).find(|&at| !same(at)) else { return false };
    first + 1 < a.len()
        && a[first].eq_ignore_ascii_case(&b[first + 1])
        && a[first + 1].eq_ignore_ascii_case(&b[first])
        && (first + 2..a.len()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let names: Vec<_> = (0..ROW_STARTS.len())
            .map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key().to_ascii_lowercase())
            .collect();
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn only_misspelled_attributes_have_a_suggestion() {
        let near = |name: &str| nearest_attribute(name.as_bytes()).map(|near| String::from_utf8_lossy(near));
        assert_eq!(near("KeybordIdle").as_deref(), Some("KeyboardIdle"));
        assert_eq!(near("JobSatus").as_deref(), Some("JobStatus"));
        assert_eq!(near("Onwer").as_deref(), Some("Owner"));
        assert_eq!(near("Ower").as_deref(), Some("Owner"));
        for (wrong, right) in [("Acrh", "Arch"), ("Cppus", "Cpus"), ("Dsk", "Disk"), ("Usre", "User")] {
            assert_eq!(near(wrong).as_deref(), Some(right), "{wrong}");
        }
        for own in ["Rack", "Users", "Dusk", "Used", "Ranks", "GPU", "Cpu"] {
            assert_eq!(near(own), None, "{own}");
        }
        assert_eq!(near("TotalCpu").as_deref(), Some("TotalCpus"));
        assert_eq!(attribute_of_command(b"Request_Memory"), Some("RequestMemory"));
        assert!(!is_known_attribute(b"NumJobStart"));
        for own in
            ["IsCmsJob", "ProjectNames", "catalogs", "Rack", "WantHugePages", "JobStatus", "Slot1_Memory"]
        {
            assert_eq!(near(own), None, "{own}");
        }
        assert_eq!(attribute_type(b"jobstatus"), Some(AttributeType::Number));
        assert_eq!(attribute_type(b"Owner"), Some(AttributeType::Text));
        assert!(is_known_attribute(b"HasMatlab") && !is_known_attribute(b"Pizza"));
    }
}
