//! The parameters that are compiled into HTCondor: type, default value, range.
//!
//! The table is never copied into a macro set; a parameter that no file sets is looked up here
//! (`param_default_lookup`, param_info.cpp). Some defaults apply to one subsystem only and take precedence
//! over a plain setting.

use std::borrow::Cow;
use std::fmt;

use htc_base::text::table::{
    TableRow, compare_key, count_lines, field_ends, line_starts, table_row, unescape,
};
use htc_base::text::{caseless, words};

static TABLE_TEXT: &[u8] = include_bytes!("data/defaults.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("data/defaults.tsv"))] =
    line_starts(include_bytes!("data/defaults.tsv"));
// Offsets in the table at which the first three fields of each row end: name, type and default.
static NAME_ENDS: [u32; ROW_STARTS.len()] = field_ends(include_bytes!("data/defaults.tsv"), 0);
static TYPE_ENDS: [u32; ROW_STARTS.len()] = field_ends(include_bytes!("data/defaults.tsv"), 1);
static DEFAULT_ENDS: [u32; ROW_STARTS.len()] = field_ends(include_bytes!("data/defaults.tsv"), 2);
static SUBSYSTEM_TEXT: &[u8] = include_bytes!("data/subsystem-defaults.tsv");
static SUBSYSTEM_STARTS: [u32; count_lines(include_bytes!("data/subsystem-defaults.tsv"))] =
    line_starts(include_bytes!("data/subsystem-defaults.tsv"));

words! {
    /// Types of parameters in the table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ParameterType.name {
        /// Any text.
        String => "STRING",
        /// A 32-bit integer.
        Int => "INT",
        /// A 64-bit integer.
        Long => "LONG",
        /// A boolean.
        Bool => "BOOL",
        /// A floating-point number.
        Double => "DOUBLE",
        /// A path of a file or directory.
        Path => "PATH",
    }
}

/// An entry of the table of defaults.
#[derive(Clone, Copy)]
pub struct Parameter {
    index: u32,
    subsystem: bool,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameter({})", bstr::BStr::new(self.name()))
    }
}

impl Parameter {
    fn row(self) -> TableRow {
        match self.subsystem {
            true => table_row(SUBSYSTEM_TEXT, &SUBSYSTEM_STARTS, self.index()),
            false => table_row(TABLE_TEXT, &ROW_STARTS, self.index()),
        }
    }

    /// Returns the name in the table's spelling, without a subsystem.
    pub fn name(self) -> &'static [u8] {
        if !self.subsystem {
            return &TABLE_TEXT[ROW_STARTS[self.index()] as usize..NAME_ENDS[self.index()] as usize];
        }
        let key = self.row().key();
        memchr::memchr(b'.', key).map_or(key, |dot| &key[dot + 1..])
    }

    /// Returns the subsystem to which the entry applies, in upper case.
    pub fn subsystem(self) -> Option<&'static [u8]> {
        if !self.subsystem {
            return None;
        }
        let key = self.row().key();
        memchr::memchr(b'.', key).map(|dot| &key[..dot])
    }

    /// Returns the index of the entry in its table; entries of a subsystem have their own table.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the type of the value.
    pub fn parameter_type(self) -> ParameterType {
        match self.row().field(1) {
            b"int" => ParameterType::Int,
            b"long" => ParameterType::Long,
            b"bool" => ParameterType::Bool,
            b"double" => ParameterType::Double,
            b"path" => ParameterType::Path,
            _ => ParameterType::String,
        }
    }

    /// Returns the raw text of the default, or an empty string if the parameter has no default.
    pub fn default(self) -> Cow<'static, [u8]> {
        if self.subsystem {
            return unescape(self.row().field(2));
        }
        let place = TYPE_ENDS[self.index()] as usize + 1..DEFAULT_ENDS[self.index()] as usize;
        // A row may end with its type.
        unescape(TABLE_TEXT.get(place).unwrap_or_default())
    }

    /// Returns the minimum and maximum as the table writes them.
    pub fn range(self) -> Option<(&'static [u8], &'static [u8])> {
        let range = self.row().field(3);
        let comma = memchr::memchr(b',', range)?;
        Some((&range[..comma], &range[comma + 1..]))
    }

    /// Returns the raw text of the default, or `None` if the parameter has no default, which `condor_config_val`
    /// distinguishes from an empty default.
    pub fn explicit_default(self) -> Option<Cow<'static, [u8]>> {
        Some(self.default()).filter(|default| !default.is_empty() || self.has_flag("empty"))
    }

    /// Returns true if the entry has `flag` in the table: `const`, `never`, `restart`, `expr`, `expert` and
    /// so on.
    pub fn has_flag(self, flag: &str) -> bool {
        self.row().field(4).split(|&byte| byte == b',').any(|word| word == flag.as_bytes())
    }

    /// Returns the parts of HTCondor that read the parameter, as the table lists them.
    pub fn readers(self) -> &'static [u8] {
        self.row().field(5)
    }
}

/// Returns the general entry at an index of the table.
fn by_index(index: usize) -> Parameter {
    Parameter { index: index as u32, subsystem: false }
}

/// Returns all parameters in order of their names, without the entries of single subsystems.
pub fn all() -> impl DoubleEndedIterator<Item = Parameter> + ExactSizeIterator {
    (0..ROW_STARTS.len()).map(by_index)
}

/// Returns the general entries whose names begin with `prefix`, in order.
pub fn with_prefix(prefix: &[u8]) -> impl Iterator<Item = Parameter> {
    let first = ROW_STARTS.partition_point(|&start| compare_key(TABLE_TEXT, start, prefix).is_lt());
    (first..ROW_STARTS.len())
        .map(by_index)
        .take_while(move |parameter| caseless::starts_with(parameter.name(), prefix))
}

/// Returns the entry for `name` that applies to all subsystems.
pub fn find(name: &[u8]) -> Option<Parameter> {
    ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok().map(by_index)
}

/// Returns the table's entry for the requested name, else for the name that was found, with or without its
/// prefix.
pub(crate) fn find_requested_or_found(found: &[u8], requested: &[u8]) -> Option<Parameter> {
    find(requested).or_else(|| find(found)).or_else(|| {
        let dot = memchr::memchr(b'.', found)?;
        find(&found[dot + 1..])
    })
}

/// The entries of one subsystem, searched once for look-ups of many names.
#[derive(Clone, Debug)]
pub struct SubsystemDefaults(std::ops::Range<usize>);

impl SubsystemDefaults {
    /// Returns the defaults of a subsystem, ignoring case. Only the part before its first dot is used.
    pub fn for_subsystem(subsystem: &[u8]) -> Self {
        let subsystem = &subsystem[..memchr::memchr(b'.', subsystem).unwrap_or(subsystem.len())];
        let order = |start: &u32| {
            let key = &SUBSYSTEM_TEXT[*start as usize..];
            let dot = memchr::memchr(b'.', key).unwrap_or(key.len());
            caseless::cmp(&key[..dot], subsystem)
        };
        let first = SUBSYSTEM_STARTS.partition_point(|start| order(start).is_lt());
        let count = SUBSYSTEM_STARTS[first..].partition_point(|start| order(start).is_eq());
        SubsystemDefaults(first..first + count)
    }

    /// Returns the subsystem's entry for `name`.
    pub fn find(&self, name: &[u8]) -> Option<Parameter> {
        let found = SUBSYSTEM_STARTS[self.0.clone()].binary_search_by(|&start| {
            let key = &SUBSYSTEM_TEXT[start as usize..];
            let dot = memchr::memchr(b'.', key).unwrap_or(key.len());
            compare_key(SUBSYSTEM_TEXT, start + dot as u32 + 1, name)
        });
        let index = self.0.start + found.ok()?;
        Some(Parameter { index: index as u32, subsystem: true })
    }
}

/// Returns the names of the parameters that have a default for one subsystem.
pub fn subsystem_names() -> impl Iterator<Item = &'static [u8]> {
    (0..SUBSYSTEM_STARTS.len()).map(|index| Parameter { index: index as u32, subsystem: true }.name())
}

/// Returns the entry for `name` in the table of one subsystem. Only the part of `subsystem` before its first dot is
/// used.
pub fn find_in_subsystem(subsystem: &[u8], name: &[u8]) -> Option<Parameter> {
    SubsystemDefaults::for_subsystem(subsystem).find(name)
}

/// Returns the entry for `name` without any context: `P.Y` is Y of subsystem P if there is such an entry,
/// else the general entry (`find_macro_def_item`, config.cpp).
pub fn find_qualified(name: &[u8]) -> Option<Parameter> {
    let of_subsystem = memchr::memchr(b'.', name)
        .and_then(|dot| find_in_subsystem(&name[..dot], name.get(dot + 1..).unwrap_or_default()));
    of_subsystem.or_else(|| find(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_the_binary_search() {
        let names: Vec<_> = all().map(|p| p.name().to_ascii_lowercase()).collect();
        assert!(names.is_sorted());
        assert!(names.len() > 1_100);
        for index in 0..SUBSYSTEM_STARTS.len() {
            let key = table_row(SUBSYSTEM_TEXT, &SUBSYSTEM_STARTS, index).key();
            assert!(find_qualified(key).is_some_and(|p| p.subsystem), "{:?}", bstr::BStr::new(key));
        }
    }

    #[test]
    fn names_compare_case_insensitively_and_escapes_are_resolved() {
        assert_eq!(find(b"startd_Debug").map(|p| p.name()), Some(&b"STARTD_DEBUG"[..]));
        assert!(find(b"NO_SUCH_KNOB").is_none());
        let regexp = find(b"LOCAL_CONFIG_DIR_EXCLUDE_REGEXP").unwrap().default();
        assert!(regexp.starts_with(br"^((\..*)|(.*\.pl)"), "{:?}", bstr::BStr::new(&regexp));
        assert_eq!(find(b"COLLECTOR_PORT").unwrap().range(), Some((&b"0"[..], &b"65535"[..])));
    }

    #[test]
    fn a_subsystem_has_its_own_defaults() {
        let entry = find_in_subsystem(b"master.x", b"pid_snapshot_interval").unwrap();
        assert_eq!(entry.default().as_ref(), b"60");
        assert_eq!(entry.subsystem(), Some(&b"MASTER"[..]));
    }
}
