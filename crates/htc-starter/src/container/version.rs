//! The version of Singularity or Apptainer.

use bstr::{BStr, BString, ByteSlice};

/// What `--version` said: its first line decides how variables are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version(BString);

impl Version {
    /// From what the program wrote.
    pub fn parse(output: &[u8]) -> Self {
        Version(output.lines().next().unwrap_or_default().into())
    }

    /// The line itself.
    pub fn line(&self) -> &BStr {
        self.0.as_bstr()
    }

    pub(super) fn word(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINER" } else { "SINGULARITY" }
    }

    /// What stands in front of variables that get inside.
    pub fn prefix(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINERENV_" } else { "SINGULARITYENV_" }
    }
}
