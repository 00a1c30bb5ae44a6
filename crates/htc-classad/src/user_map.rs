//! User maps for `userMap()`. Each line of a map has a method, a user and groups, as in the reference's map files
//! (MapFile.cpp, classad_usermap.cpp).
//!
//! ```
//! # #[cfg(feature = "regex")] {
//! use htc_classad::{UserMap, UserMaps};
//! let map = UserMap::parse(b"* alice projA,projB\n* /^(.*)@example\\.org$/i group_\\1\n");
//! let mut maps = UserMaps::for_parameter("TOOL_CLASSAD_USER_MAP_NAMES");
//! maps.insert("Groups", Ok(map));
//! assert_eq!(maps.look_up(b"groups", b"alice").unwrap(), "projA,projB");
//! assert_eq!(maps.look_up(b"groups", b"bob@EXAMPLE.org").unwrap(), "group_bob");
//! assert_eq!(maps.look_up(b"other", b"bob").unwrap_err().to_string(),
//!     "there is no user map 'other': TOOL_CLASSAD_USER_MAP_NAMES does not name it");
//! # }
//! ```

use std::collections::HashMap;
use std::fmt;

use bstr::{BStr, BString, ByteSlice};

use crate::regex::{Regex, RegexOptions, SearchOptions};

/// Reader for `@include` lines of a map. Called with the path in the line; returns the names and contents of
/// the files that the path refers to.
///
/// ```
/// use htc_classad::{IncludeReader, UserMap};
/// let mut map = UserMap::default();
/// let include: IncludeReader<'_> = &mut |path| {
///     Ok(vec![(String::from_utf8_lossy(path).into_owned(), b"* bob projB\n".to_vec())])
/// };
/// map.read("users", b"* ana projA\n@include more\n", false, Some(include));
/// assert_eq!(map.groups("*", "bob").unwrap(), "projB");
/// ```
pub type IncludeReader<'a> = &'a mut dyn FnMut(&[u8]) -> Result<Vec<(String, Vec<u8>)>, String>;

/// User map: the groups of users, read from the text of one map.
///
/// ```
/// use htc_classad::UserMap;
/// let map = UserMap::parse("* ana projA,projB\nfoo\n");
/// assert_eq!(map.groups("*", "ana").unwrap(), "projA,projB");
/// assert_eq!(map.groups("*", "bob"), None);
/// assert_eq!(map.problems().len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct UserMap {
    /// Entries of each method, in the order in which methods and entries were read.
    methods: Vec<(BString, Vec<MapEntries>)>,
    /// Descriptions of invalid lines, one sentence each.
    problems: Vec<String>,
}

/// Consecutive lines of a map whose users have the same form: names, prefixes or a pattern.
#[derive(Debug)]
enum MapEntries {
    /// Groups by full user name. If several lines have the same name, the first applies.
    Exact(HashMap<BString, BString>),
    /// Prefixes of user names with their groups, in descending order of the prefixes.
    Beginnings(Vec<(BString, BString)>),
    /// Regular expression for user names, and the groups.
    Pattern(Regex, BString),
}

/// Maximum number of problems recorded for one map.
const MAX_PROBLEMS: usize = 20;

impl UserMap {
    /// Parses the text of a map that includes no other files; an `@include` line is reported as a problem.
    ///
    /// ```
    /// use htc_classad::UserMap;
    /// let map = UserMap::parse("* ana projA\n");
    /// assert_eq!(map.groups("*", "ana").unwrap(), "projA");
    /// ```
    pub fn parse(text: impl AsRef<[u8]>) -> UserMap {
        let mut map = UserMap::default();
        map.read("map", text.as_ref(), false, Some(&mut |_| Err("not allowed here".to_owned())));
        map
    }

    /// Parses the text of a file called `name` and adds its lines to the map. If `beginnings` is true, the users are
    /// prefixes of user names (`CLASSAD_USER_MAP_PREFIX_x`). Included files cannot include other files.
    ///
    /// ```
    /// use htc_classad::UserMap;
    /// let mut map = UserMap::default();
    /// map.read("prefixes", b"* /DC=org/ grid\n", true, None);
    /// assert_eq!(map.groups("*", "/DC=org/CN=ana").unwrap(), "grid");
    /// ```
    pub fn read(
        &mut self,
        name: &str,
        text: &[u8],
        beginnings: bool,
        mut include: Option<IncludeReader<'_>>,
    ) {
        for (index, line) in text.lines_with_terminator().enumerate() {
            let line = MapLine { text: cut_at_nul(line), at: 0 };
            let place = format!("{name}, line {}", index + 1);
            match include.as_mut() {
                Some(include) => self.read_line(line, beginnings, &place, Some(&mut **include)),
                None => self.read_line(line, beginnings, &place, None),
            }
        }
    }

    /// Returns descriptions of the invalid lines, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    fn read_line(
        &mut self,
        mut line: MapLine<'_>,
        beginnings: bool,
        place: &str,
        include: Option<IncludeReader<'_>>,
    ) {
        let Ok((method, _)) = line.next_field(false) else {
            return self.add_problem(place, "it ends with a backslash");
        };
        if method == "@include" {
            return self.read_include(line, place, include);
        }
        if method.is_empty() || method.starts_with(b"#") {
            return;
        }
        let fields = line.next_field(!beginnings).and_then(|user| Ok((user, line.next_field(false)?.0)));
        let Ok(((user, kind), groups)) = fields else {
            return self.add_problem(place, "it ends with a backslash");
        };
        if user.is_empty() || groups.is_empty() {
            return self.add_problem(place, "it needs a method, a user and groups");
        }
        let pattern = match kind {
            FieldKind::Pattern(options) => match Regex::compile(&user, options) {
                Ok(regex) => Some(regex),
                Err(error) => return self.add_problem(place, &error.to_string()),
            },
            FieldKind::Text => None,
        };
        self.add_entry(method, user, groups, pattern, beginnings);
    }

    fn read_include(&mut self, mut line: MapLine<'_>, place: &str, include: Option<IncludeReader<'_>>) {
        let Some(include) = include else {
            return self.add_problem(place, "an included file may not include another");
        };
        let Ok((path, _)) = line.next_field(false) else {
            return self.add_problem(place, "it ends with a backslash");
        };
        if path.is_empty() {
            return self.add_problem(place, "@include needs a file name");
        }
        match include(&path) {
            Ok(files) => files.iter().for_each(|(name, text)| self.read(name, text, false, None)),
            Err(error) => self.add_problem(place, &error),
        }
    }

    fn add_entry(
        &mut self,
        method: BString,
        user: BString,
        groups: BString,
        pattern: Option<Regex>,
        beginnings: bool,
    ) {
        let known = self.methods.iter().position(|(name, _)| name.eq_ignore_ascii_case(&method));
        let at = known.unwrap_or_else(|| {
            self.methods.push((method, Vec::new()));
            self.methods.len() - 1
        });
        let entries = &mut self.methods[at].1;
        match (pattern, entries.last_mut()) {
            (Some(regex), _) => entries.push(MapEntries::Pattern(regex, groups)),
            (None, Some(MapEntries::Beginnings(list))) if beginnings => {
                // As in the reference, the list is in descending order, and equal prefixes are in the order in which
                // they were read.
                let at = list.partition_point(|(other, _)| *other >= user);
                list.insert(at, (user, groups));
            }
            (None, _) if beginnings => entries.push(MapEntries::Beginnings(vec![(user, groups)])),
            (None, Some(MapEntries::Exact(table))) => drop(table.entry(user).or_insert(groups)),
            (None, _) => entries.push(MapEntries::Exact(HashMap::from([(user, groups)]))),
        }
    }

    fn add_problem(&mut self, place: &str, problem: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(format!("{place}: {problem}; the line is skipped"));
        }
    }

    /// Returns the groups of a user, or `None` if the map has no entry for the user. The method is `*` if the caller of
    /// `userMap()` gives none.
    pub fn groups(&self, method: impl AsRef<[u8]>, user: impl AsRef<[u8]>) -> Option<BString> {
        let (method, user) = (method.as_ref(), user.as_ref());
        let (_, entries) = self.methods.iter().find(|(name, _)| name.eq_ignore_ascii_case(method))?;
        entries.iter().find_map(|entry| entry.groups(user))
    }
}

impl MapEntries {
    fn groups(&self, user: &[u8]) -> Option<BString> {
        match self {
            MapEntries::Exact(table) => {
                let groups = table.get(BStr::new(user))?;
                Some(substitute_groups(groups, &|number| (number == 0).then_some(user)))
            }
            MapEntries::Beginnings(list) => {
                let (begin, groups) = list.iter().find(|(begin, _)| user.starts_with(begin))?;
                Some(substitute_groups(groups, &|number| (number == 0).then_some(begin.as_slice())))
            }
            MapEntries::Pattern(regex, groups) => {
                let captures = regex.captures(user, SearchOptions::default()).ok()??;
                let group = |number: usize| {
                    let range = captures.group(number).unwrap_or(0..0);
                    (number < captures.len()).then(|| &user[range])
                };
                Some(substitute_groups(groups, &group))
            }
        }
    }
}

/// Replaces `\0` to `\9` in a text by the capture groups of a match.
fn substitute_groups<'u>(pattern: &[u8], group: &dyn Fn(usize) -> Option<&'u [u8]>) -> BString {
    let mut output = BString::default();
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        at += 1;
        if byte != b'\\' {
            output.push(byte);
            continue;
        }
        let Some(&next) = pattern.get(at) else { break };
        at += 1;
        match next.is_ascii_digit().then(|| group(usize::from(next - b'0'))).flatten() {
            Some(text) => output.extend_from_slice(text),
            None => output.extend_from_slice(&[b'\\', next]),
        }
    }
    output
}

/// Returns a text up to its first NUL byte, because the reference ends the text there.
fn cut_at_nul(text: &[u8]) -> &[u8] {
    &text[..text.find_byte(0).unwrap_or(text.len())]
}

/// Line of a map with the offset of the next field.
struct MapLine<'a> {
    text: &'a [u8],
    at: usize,
}

enum FieldKind {
    Text,
    Pattern(RegexOptions),
}

/// Error for a field that ends with a backslash as the last byte of the line. The reference aborts on such a line.
struct TrailingBackslash;

impl MapLine<'_> {
    fn peek_byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads the next field of the line (`MapFile::ParseField`): a word, a quoted text, or, if `patterns` is true, a
    /// pattern between slashes.
    fn next_field(&mut self, patterns: bool) -> Result<(BString, FieldKind), TrailingBackslash> {
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n');
        while self.peek_byte().is_some_and(is_blank) {
            self.at += 1;
        }
        let mut field = BString::default();
        let end = match self.peek_byte() {
            Some(quote @ b'"') => quote,
            Some(slash @ b'/') if patterns => slash,
            _ => {
                while let Some(byte) = self.peek_byte().filter(|byte| !is_blank(*byte)) {
                    field.push(byte);
                    self.at += 1;
                }
                return Ok((field, FieldKind::Text));
            }
        };
        self.at += 1;
        let mut options = RegexOptions::NONE;
        while let Some(byte) = self.peek_byte() {
            self.at += 1;
            if byte == end {
                if end == b'/' {
                    options = self.pattern_options();
                }
                break;
            }
            if byte != b'\\' {
                field.push(byte);
                continue;
            }
            let Some(next) = self.peek_byte() else { return Err(TrailingBackslash) };
            self.at += 1;
            if next == end || next == b'\\' {
                field.push(next);
            } else {
                field.extend_from_slice(&[b'\\', next]);
            }
        }
        Ok((field, if end == b'/' { FieldKind::Pattern(options) } else { FieldKind::Text }))
    }

    /// Reads the option letters after a pattern: `i` for case-insensitive matching, `U` for ungreedy quantifiers.
    fn pattern_options(&mut self) -> RegexOptions {
        let mut options = RegexOptions::NONE;
        loop {
            options = match self.peek_byte() {
                Some(b'i') => options.union(RegexOptions::CASELESS),
                Some(b'U') => options.union(RegexOptions::UNGREEDY),
                _ => return options,
            };
            self.at += 1;
        }
    }
}

/// All user maps of a configuration.
///
/// ```
/// use htc_classad::{UserMap, UserMaps};
/// let mut maps = UserMaps::for_parameter("SCHEDD_CLASSAD_USER_MAP_NAMES");
/// maps.insert("Groups", Ok(UserMap::parse("* ana projA\n")));
/// maps.insert("Sites", Err("no such file".into()));
/// assert_eq!(maps.look_up("groups", "ana").unwrap(), "projA");
/// assert_eq!(maps.problems(), ["user map 'Sites' was not loaded: no such file"]);
/// ```
#[derive(Debug, Default)]
pub struct UserMaps {
    /// Configuration parameter that names the maps, or an empty string if no configuration was read.
    parameter: String,
    /// Name of each map, and the map or the reason why it could not be loaded.
    maps: Vec<(BString, Result<UserMap, String>)>,
}

/// Reason why no groups were found for a user.
///
/// ```
/// use htc_classad::{UserMap, UserMapError, UserMaps};
/// let mut maps = UserMaps::for_parameter("SCHEDD_CLASSAD_USER_MAP_NAMES");
/// maps.insert("Groups", Ok(UserMap::parse("* ana projA\n")));
/// let error = maps.look_up("Groups", "bob").unwrap_err();
/// assert_eq!(error, UserMapError::NoUser("Groups".into(), "bob".into()));
/// assert_eq!(error.to_string(), "the user map 'Groups' has no entry for 'bob'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserMapError {
    /// No configuration was read.
    NoConfiguration,
    /// The configuration does not name the map. Contains the parameter that lists the maps, and the name of the map.
    NoMap(String, BString),
    /// The map could not be read. Contains the name of the map and the reason.
    Unreadable(BString, String),
    /// The map has no entry for the user. Contains the name of the map and the user.
    NoUser(BString, BString),
}

impl fmt::Display for UserMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserMapError::NoConfiguration => f.write_str("there are no user maps: no configuration was read"),
            UserMapError::NoMap(setting, map) => {
                write!(f, "there is no user map '{map}': {setting} does not name it")
            }
            UserMapError::Unreadable(map, why) => write!(f, "the user map '{map}' was not loaded: {why}"),
            UserMapError::NoUser(map, user) => write!(f, "the user map '{map}' has no entry for '{user}'"),
        }
    }
}

impl UserMaps {
    /// Creates an empty set of maps for a configuration whose parameter `setting` names the maps.
    ///
    /// ```
    /// use htc_classad::UserMaps;
    /// let maps = UserMaps::for_parameter("SCHEDD_CLASSAD_USER_MAP_NAMES");
    /// let error = maps.look_up("Groups", "ana").unwrap_err();
    /// assert_eq!(error.to_string(), "there is no user map 'Groups': SCHEDD_CLASSAD_USER_MAP_NAMES does not name it");
    /// ```
    pub fn for_parameter(setting: impl Into<String>) -> UserMaps {
        UserMaps { parameter: setting.into(), maps: Vec::new() }
    }

    /// Adds a map, or the reason why the map could not be loaded, and replaces a map of the same name.
    pub fn insert(&mut self, name: impl Into<BString>, map: Result<UserMap, String>) {
        let name = name.into();
        self.maps.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        self.maps.push((name, map));
    }

    /// Returns descriptions of the invalid lines of all maps and of the maps that could not be loaded, one sentence
    /// each.
    pub fn problems(&self) -> Vec<String> {
        let describe = |(name, map): &(BString, Result<UserMap, String>)| match map {
            Ok(map) => map.problems.iter().map(|problem| format!("user map '{name}': {problem}")).collect(),
            Err(why) => vec![format!("user map '{name}' was not loaded: {why}")],
        };
        self.maps.iter().flat_map(describe).collect::<Vec<String>>()
    }

    /// Returns the groups of a user as written in the map. If `map` has the form `map.method`, the part after the dot
    /// is the method, or else the method is `*`.
    ///
    /// # Errors
    /// Returns the reason why the user has no groups.
    pub fn look_up(&self, map: impl AsRef<[u8]>, user: impl AsRef<[u8]>) -> Result<BString, UserMapError> {
        let (map, user) = (cut_at_nul(map.as_ref()), cut_at_nul(user.as_ref()));
        let (name, method) = map.split_once_str(".").unwrap_or((map, b"*"));
        if self.parameter.is_empty() {
            return Err(UserMapError::NoConfiguration);
        }
        match self.maps.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            None => Err(UserMapError::NoMap(self.parameter.clone(), name.into())),
            Some((_, Err(why))) => Err(UserMapError::Unreadable(name.into(), why.clone())),
            Some((_, Ok(map))) => {
                map.groups(method, user).ok_or_else(|| UserMapError::NoUser(name.into(), user.into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UserMap, UserMaps};

    fn groups(text: &str, user: &str) -> Option<String> {
        UserMap::parse(text.as_bytes()).groups(b"*", user.as_bytes()).map(|groups| groups.to_string())
    }

    #[test]
    #[cfg(feature = "regex")]
    fn the_first_matching_line_is_used() {
        assert_eq!(groups("* a x\n* a y\n* /./ z\n* b w\n", "a").as_deref(), Some("x"));
        assert_eq!(groups("* a x\n* /./ z\n* b w\n", "b").as_deref(), Some("z"));
        assert_eq!(groups("# * a x\nclaimtobe a x\n", "a"), None);
    }

    #[test]
    #[cfg(feature = "regex")]
    fn groups_of_a_match_are_inserted() {
        assert_eq!(groups(r"* /^(.)(.)?(x)?/ \2\1\3\9\0\", "ab").as_deref(), Some(r"ba\3\9ab"));
        assert_eq!(groups(r"* /^(q)?(.)/ [\1\2]", "ab").as_deref(), Some("[a]"));
        assert_eq!(groups(r#"* "x y" "a \"b\" \0 \1""#, "x y").as_deref(), Some(r#"a "b" x y \1"#));
    }

    #[test]
    fn prefixes_are_tried_from_the_longest() {
        let mut map = UserMap::default();
        map.read("m", b"* /a x\n* /a/b y\n* /a/b z\n", true, None);
        let groups = |user: &[u8]| map.groups(b"*", user).map(|groups| groups.to_string());
        assert_eq!(groups(b"/a/b/c").as_deref(), Some("y"));
        assert_eq!(groups(b"/a/c").as_deref(), Some("x"));
        assert_eq!(groups(b"b"), None);
    }

    #[test]
    fn unusable_lines_are_reported() {
        let map = UserMap::parse(b"* /(/ x\nfoo\n@include y\n* a \"b\\");
        assert_eq!(map.problems().len(), 4, "{:?}", map.problems());
    }

    #[test]
    fn no_user_maps_exist_without_a_configuration() {
        let why = UserMaps::default().look_up(b"m", b"u").unwrap_err();
        assert_eq!(why.to_string(), "there are no user maps: no configuration was read");
    }
}
