//! A value with where it comes from.

use std::fmt;

use bstr::BString;

/// Place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOrigin {
    /// The parameter's name as it was found, prefix included (`STARTD.START`, `SLOT_TYPE_1_START`).
    pub name: BString,
    /// The file, command or `<Default>`, `<Detected>`, `<Environment>`, `<Over>`.
    pub source: BString,
    /// The line as the reference counts.
    pub line: Option<u32>,
    /// The template behind it: `CATEGORY:NAME+K`.
    pub template: Option<BString>,
}

impl SettingOrigin {
    /// Returns true if no source set the value.
    pub fn is_default(&self) -> bool {
        self.source == "<Default>"
    }

    /// The place for whoever is to look there; what options of a program set came by its command line.
    pub fn describe(&self) -> String {
        self.to_string().replace("<Over>", "command line")
    }
}

/// `FILE, line N, use CATEGORY:NAME+K`, as the reference writes it.
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

/// A value with its story.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: SettingOrigin,
    /// The text before expansion.
    pub raw: BString,
}

impl<T> Setting<T> {
    /// The same setting with another value.
    pub fn map_value<U>(self, then: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: then(self.value), origin: self.origin, raw: self.raw }
    }
}
