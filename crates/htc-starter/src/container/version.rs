//! The version of Singularity or Apptainer.

use bstr::{BStr, BString, ByteSlice};

/// What `--version` said: its first line decides how variables are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeVersion(BString);

impl RuntimeVersion {
    /// From what the program wrote.
    pub fn parse(output: &[u8]) -> Self {
        RuntimeVersion(output.lines().next().unwrap_or_default().into())
    }

    /// The line itself.
    pub fn first_line(&self) -> &BStr {
        self.0.as_bstr()
    }

    pub(super) fn product_name(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINER" } else { "SINGULARITY" }
    }

    /// What stands in front of variables that get inside.
    pub fn variable_prefix(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINERENV_" } else { "SINGULARITYENV_" }
    }
}
