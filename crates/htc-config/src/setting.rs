//! A value with its origin.

use std::fmt;

use bstr::BString;

/// Place that sets a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOrigin {
    /// The parameter's name as it was found, with its prefix (`STARTD.START`, `SLOT_TYPE_1_START`).
    pub name: BString,
    /// The file or command, or `<Default>`, `<Detected>`, `<Environment>`, `<Over>`.
    pub source: BString,
    /// The line number that the reference reports, or `None` in sources without lines.
    pub line: Option<u32>,
    /// The template that sets it: `CATEGORY:NAME+K`.
    pub template: Option<BString>,
}

impl SettingOrigin {
    /// Returns true if no source set the value.
    pub fn is_default(&self) -> bool {
        self.source == "<Default>"
    }

    /// Describes the place for users: `<Over>` is the command line.
    pub fn describe(&self) -> String {
        self.to_string().replace("<Over>", "command line")
    }
}

/// Prints `FILE, line N, use CATEGORY:NAME+K`, as the reference does.
impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(template) = &self.template {
            write!(f, ", use {template}")?;
        }
        Ok(())
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// Expanded and converted value.
    pub value: T,
    /// Place that sets the value.
    pub origin: SettingOrigin,
    /// The text before expansion.
    pub raw: BString,
}

impl<T> Setting<T> {
    /// Returns the same setting with another value.
    pub fn map_value<U>(self, then: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: then(self.value), origin: self.origin, raw: self.raw }
    }
}
