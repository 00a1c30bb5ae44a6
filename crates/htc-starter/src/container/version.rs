//! Version of Singularity or Apptainer.

use bstr::{BStr, BString, ByteSlice};

/// First line of the output of `--version`. The version determines the names of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeVersion(BString);

impl RuntimeVersion {
    /// Parses the output of `--version`.
    pub fn parse(output: &[u8]) -> Self {
        RuntimeVersion(output.lines().next().unwrap_or_default().into())
    }

    /// Returns the first line of the output.
    pub fn first_line(&self) -> &BStr {
        self.0.as_bstr()
    }

    pub(super) fn product_name(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINER" } else { "SINGULARITY" }
    }

    /// Returns the prefix of the environment variables that the runtime passes into the container.
    pub fn variable_prefix(&self) -> &'static str {
        if self.0.contains_str("apptainer") { "APPTAINERENV_" } else { "SINGULARITYENV_" }
    }
}
