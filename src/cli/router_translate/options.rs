//! Options that several verbs share.

use clap::Args;

use super::ad_pipeline::InputFiles;
use crate::cli::common::{ClockOptions, ConfigOptions, OutputOptions, QuirksOptions};

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
