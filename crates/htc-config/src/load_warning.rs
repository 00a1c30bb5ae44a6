//! Warnings that do not stop the reading of a configuration.

use std::fmt;

use bstr::BString;

use crate::config_error::ErrorLocation;

/// Subject of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadWarningSubject {
    /// `NAME : value`, the obsolete form of an assignment; the place is that of the colon.
    Colon(Box<ErrorLocation>),
    /// Parameter whose value daemons reject.
    Parameter(BString),
    /// Network addresses of the machine on which the configuration is read.
    ThisMachine,
    /// Anything else: `warning :` statements, functions that fail.
    Other,
}

/// Message that was printed while a configuration was read, without stopping the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadWarning {
    /// The reference's message, if it has one.
    pub text: BString,
    /// Subject of the warning.
    pub subject: LoadWarningSubject,
}

impl fmt::Display for LoadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}
