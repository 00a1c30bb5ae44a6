//! Options that several verbs share.

use std::path::Path;

use clap::Args;

use super::ad_pipeline::InputFiles;
use crate::cli::common::{
    ClockOptions, ConfigOptions, OutputOptions, Problem, QuirksOptions, stdin_twice_problem,
};

/// Options of verbs that pass ads through the router.
#[derive(Args, Debug)]
pub(super) struct RouterVerbOptions {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) inputs: InputFiles,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) clock: ClockOptions,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
}

impl RouterVerbOptions {
    /// Refuses a configuration from standard input if ads are read from standard input because no file of ads is named.
    ///
    /// # Errors
    /// Returns an error if both the configuration and ads are read from standard input.
    pub(super) fn refuse_stdin_twice(&self) -> Result<(), Problem> {
        let is_stdin = |path: &Path| path == Path::new("-");
        let reads_config = self.config.config_file.as_deref().is_some_and(is_stdin);
        match reads_config && self.inputs.paths().iter().any(|path| is_stdin(path)) {
            true => Err(stdin_twice_problem("--config-file", "--ads")),
            false => Ok(()),
        }
    }
}
