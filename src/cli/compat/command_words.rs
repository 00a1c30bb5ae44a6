//! Option parsing of condor tools (reference: `match_prefix.cpp`). A table lists the options in the order of the tool's
//! source, each with the length of its shortest accepted prefix; the first matching option is used. After two dashes,
//! the whole name is required.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Minimum length of an option name that is typed after one dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimumLength {
    /// This number of letters is required.
    Letters(usize),
    /// The whole name is required.
    All,
}

/// Option of a tool.
#[derive(Clone, Copy, Debug)]
pub struct OptionRule<Id: 'static> {
    /// Identifier of the option in the code.
    pub id: Id,
    /// Full name of the option.
    pub name: &'static str,
    /// Minimum length of the name on the command line.
    pub least: MinimumLength,
    /// True if the name may be followed by `:suffix`.
    pub suffix: bool,
}

/// Returns the rule of an option whose name may be shortened to `least` letters.
pub const fn option_rule<Id: Copy>(
    id: Id,
    name: &'static str,
    letters: usize,
    suffix: bool,
) -> OptionRule<Id> {
    OptionRule { id, name, least: MinimumLength::Letters(letters), suffix }
}

/// Argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord<Id> {
    /// An option of the table; its values are fetched with [`CommandWords::next_value`].
    Option {
        /// Identifier of the option.
        id: Id,
        /// Text after the colon, which may be empty, or `None` if there is no colon.
        suffix: Option<OsString>,
    },
    /// Argument that begins with a dash and matches no rule, as typed.
    Unknown(OsString),
    /// Argument without a dash.
    Operand(OsString),
}

/// Arguments of a command line, read one at a time.
#[derive(Clone, Debug)]
pub struct CommandWords<'a, Id: 'static> {
    rules: &'static [OptionRule<Id>],
    rest: &'a [OsString],
}

impl<'a, Id: Copy> CommandWords<'a, Id> {
    /// Creates the reader of `words`, which are all arguments after the tool's name.
    pub fn new(rules: &'static [OptionRule<Id>], words: &'a [OsString]) -> Self {
        CommandWords { rules, rest: words }
    }

    /// Returns the number of remaining arguments.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Returns true if no arguments remain.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the next argument as the value of an option, even if it begins with a dash.
    pub fn next_value(&mut self) -> Option<&'a OsString> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Returns the next argument as a value, or `None` if it begins with a dash.
    pub fn next_value_without_dash(&mut self) -> Option<&'a OsString> {
        self.rest.first().filter(|word| !word.as_bytes().starts_with(b"-"))?;
        self.next_value()
    }

    /// Returns the next argument as a value, or `None` if it begins with a dash. A single dash is accepted.
    pub fn next_value_or_lone_dash(&mut self) -> Option<&'a OsString> {
        self.rest.first().filter(|word| word.as_bytes() == b"-" || !word.as_bytes().starts_with(b"-"))?;
        self.next_value()
    }

    /// Returns the next argument as a value, or `None` if it is not in `accepted`.
    pub fn next_value_among(&mut self, accepted: &[&str]) -> Option<&'a OsString> {
        self.rest.first().filter(|word| accepted.iter().any(|accepted| word == accepted))?;
        self.next_value()
    }

    fn find_rule(&self, word: &[u8]) -> Option<(&'static OptionRule<Id>, Option<OsString>)> {
        let name = word.strip_prefix(b"-")?;
        let (name, whole) = match name.strip_prefix(b"-") {
            Some(name) => (name, true),
            None => (name, false),
        };
        self.rules.iter().find_map(|rule| {
            let (typed, suffix) = match name.iter().position(|&byte| byte == b':') {
                Some(colon) if rule.suffix => (&name[..colon], Some(&name[colon + 1..])),
                _ => (name, None),
            };
            let least = match rule.least {
                MinimumLength::Letters(letters) if !whole => letters.max(1),
                _ => rule.name.len(),
            };
            let fits = typed.len() >= least && rule.name.as_bytes().starts_with(typed);
            fits.then(|| (rule, suffix.map(|suffix| std::ffi::OsStr::from_bytes(suffix).to_owned())))
        })
    }
}

impl<Id: Copy> Iterator for CommandWords<'_, Id> {
    type Item = CommandWord<Id>;

    fn next(&mut self) -> Option<CommandWord<Id>> {
        let word = self.next_value()?;
        let bytes = word.as_bytes();
        Some(match self.find_rule(bytes) {
            Some((rule, suffix)) => CommandWord::Option { id: rule.id, suffix },
            None if bytes.starts_with(b"-") => CommandWord::Unknown(word.clone()),
            None => CommandWord::Operand(word.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[OptionRule<char>] = &[
        OptionRule { id: 'c', name: "constraint", least: MinimumLength::Letters(3), suffix: false },
        OptionRule { id: 'a', name: "af", least: MinimumLength::Letters(2), suffix: true },
        OptionRule { id: 'd', name: "debug", least: MinimumLength::Letters(1), suffix: true },
        OptionRule { id: 'v', name: "version", least: MinimumLength::All, suffix: false },
    ];

    fn first(word: &str) -> Option<char> {
        let words = [OsString::from(word)];
        match CommandWords::new(RULES, &words).next() {
            Some(CommandWord::Option { id, .. }) => Some(id),
            _ => None,
        }
    }

    #[test]
    fn a_prefix_of_the_minimum_length_is_accepted_after_one_dash() {
        assert_eq!(first("-con"), Some('c'));
        assert_eq!(first("-co"), None);
        assert_eq!(first("-constraintx"), None);
        assert_eq!(first("--con"), None);
        assert_eq!(first("--constraint"), Some('c'));
        assert_eq!(first("-d"), Some('d'));
        assert_eq!(first("-ver"), None);
        assert_eq!(first("-"), None);
        assert_eq!(first("-con:x"), None);
    }

    #[test]
    fn suffixes_and_values_are_returned() {
        let words = ["-af:hV", "Owner", "-debug:", "-x", "y"].map(OsString::from);
        let mut words = CommandWords::new(RULES, &words);
        assert_eq!(words.next(), Some(CommandWord::Option { id: 'a', suffix: Some("hV".into()) }));
        assert_eq!(words.next_value_without_dash(), Some(&OsString::from("Owner")));
        assert_eq!(words.next_value_without_dash(), None);
        assert_eq!(words.next(), Some(CommandWord::Option { id: 'd', suffix: Some("".into()) }));
        assert_eq!(words.next(), Some(CommandWord::Unknown("-x".into())));
        assert_eq!(words.next(), Some(CommandWord::Operand("y".into())));
        assert_eq!(words.next(), None);
    }
}
