//! `htc-config-dump lsp`: the language server on standard input and output.

mod event_loop;
mod framing;

use std::path::PathBuf;

use clap::Args;

use crate::cli::common::{Problem, ProgramContext, Status};
use crate::cli::lint::{parse_rule, parse_version};
use crate::config::lint_rule::LintRule;
use crate::config::target_version::TargetVersion;
use crate::config::{LoadOptions, LookupContext};
use crate::lsp::{Server, ServerSettings};
use crate::world::World;

/// Options of the verb `lsp`.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct LspOptions {
    /// Report only these rules (comma-separated) [default: all]
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = parse_rule)]
    pub(super) select: Vec<LintRule>,
    /// Do not report these rules (comma-separated)
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = parse_rule)]
    pub(super) ignore: Vec<LintRule>,
    /// Check for HTCondor 24.0, 25.0 or 25.14 [default: 25.14]
    #[arg(long = "for", value_name = "VERSION", value_parser = parse_version)]
    pub(super) version: Option<TargetVersion>,
    /// Treat macros that occur in FILE (a script or submit file) as used
    ///
    /// The option may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(super) used_by: Vec<PathBuf>,
}

/// Runs the language server until the editor ends it or closes the connection.
///
/// # Errors
/// Fails if standard input does not follow the Language Server Protocol, or if an answer cannot be written.
pub(super) fn run(
    options: &LspOptions,
    load: LoadOptions,
    context: LookupContext,
    redact: bool,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let settings = ServerSettings {
        load,
        context,
        version: options.version.unwrap_or_default(),
        select: options.select.clone(),
        ignore: options.ignore.clone(),
        used_by: options.used_by.clone(),
        redact,
    };
    // The editor opens the text of a template as a file. The files are removed when the server ends.
    let templates = tempfile::Builder::new().prefix("htc-templates-").tempdir();
    let templates = templates.map_err(|error| {
        Problem::unreadable("cannot create a directory for the contents of templates").caused_by(error)
    })?;
    let mut server = Server::new(settings, env!("HTC_VERSION"), Some(templates.path().to_owned()));
    event_loop::run(&mut server, world, program)
}
