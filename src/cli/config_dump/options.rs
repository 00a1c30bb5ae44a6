//! Command line of the program.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bstr::BString;
use clap::{Args, Parser, Subcommand};

use super::config_request::{ConfigRequest, RequestedName};
use crate::cli::common::{ConfigOptions, OutputOptions, TimeLimitOptions};
use crate::cli::lint::LintOptions;
use crate::config::redact;
use crate::config::write_config::RowFilter;
use crate::config::{CommandPolicy, LoadOptions, LookupContext};

/// Command line.
#[derive(Parser, Debug)]
#[command(args_conflicts_with_subcommands = false, subcommand_precedence_over_arg = true)]
pub(super) struct ConfigDumpCli {
    /// Parameters to print; with --dump regular expressions, with --macro texts
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<OsString>,
    #[command(subcommand)]
    pub(super) verb: Option<ConfigDumpVerb>,
    #[command(flatten)]
    pub(super) show: ShowOptions,
    #[command(flatten)]
    pub(super) who: SubsystemOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) limit: TimeLimitOptions,
}

/// Task other than showing values.
#[derive(Subcommand, Debug)]
pub(super) enum ConfigDumpVerb {
    /// Find mistakes that HTCondor passes over in silence (exit status 1 if there are any, 4 if there is none but not
    /// all could be looked at)
    Lint {
        /// Files that are the configuration, in order, with the files and directories that they name; --exec runs the
        /// commands that they name, too
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Check the ad of a fetched job instead of the configuration
        #[arg(long = "ads", value_name = "FILE")]
        job_ad: Option<PathBuf>,
        /// Say instead what is set that these programs do not do, and what a pool would do with it (exit status 1 if
        /// there is anything)
        #[arg(long)]
        here: bool,
        /// List all rules with their severity
        #[arg(long)]
        rules: bool,
        #[command(flatten)]
        lint: LintOptions,
    },
    /// Tell which effective values differ between two configurations, for which daemons, and where they come from (exit
    /// status 1 if any do)
    Compare {
        /// The configuration before
        #[arg(value_name = "BEFORE")]
        before: PathBuf,
        /// The configuration after
        #[arg(value_name = "AFTER")]
        after: PathBuf,
    },
    /// Print the statements of a template, or the templates of a category
    Use {
        /// CATEGORY, or CATEGORY:NAME with arguments in parentheses
        #[arg(value_name = "TEMPLATE", required = true)]
        templates: Vec<OsString>,
    },
}

/// Options for what is shown and how.
#[derive(Args, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct ShowOptions {
    /// Print all parameters, defaults too, or those whose names match
    #[arg(long, help_heading = "What to show")]
    pub(super) dump: bool,
    /// Print values before expansion
    #[arg(long, help_heading = "What to show")]
    pub(super) raw: bool,
    /// Print expanded values, also with --dump and use
    #[arg(long, global = true, hide_short_help = true, help_heading = "What to show")]
    pub(super) expanded: bool,
    /// Print compiled-in defaults
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) default: bool,
    /// Print location, raw value and default, too
    #[arg(long, short = 'v', global = true, help_heading = "What to show")]
    pub(super) verbose: bool,
    /// Tell the story of each value: definitions, conditions, steps of its expansion
    #[arg(long, help_heading = "What to show")]
    pub(super) why: bool,
    /// List the hooks of every slot, starter, shadow and router
    #[arg(long, help_heading = "What to show")]
    pub(super) hooks: bool,
    /// Print only what files changed, by file
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) summary: bool,
    /// Print the files that were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) sources: bool,
    /// Print each change of the values while files were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) trace: bool,
    /// Expand the words as texts
    #[arg(long = "macro", hide_short_help = true, help_heading = "What to show")]
    pub(super) expand: bool,
    /// Say whether CONDITION holds in an 'if' (exit status 1 if not)
    #[arg(long, value_name = "CONDITION", hide_short_help = true, help_heading = "What to show")]
    pub(super) check_if: Option<OsString>,
    /// Mask passwords and other secrets
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) redact: bool,
}

/// Options for the daemon whose configuration is read.
#[derive(Args, Debug)]
pub(super) struct SubsystemOptions {
    /// Read as this daemon
    #[arg(long, value_name = "NAME", default_value = "TOOL", global = true, help_heading = "Configuration")]
    pub(super) subsystem: OsString,
    /// Use the settings of this local name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        global = true,
        help_heading = "Configuration"
    )]
    pub(super) local_name: OsString,
    /// Run the commands that the configuration names
    #[arg(long, global = true, hide_short_help = true, help_heading = "Configuration")]
    pub(super) exec: bool,
}

impl ConfigDumpCli {
    pub(super) fn load_options(&self) -> LoadOptions {
        let commands = if self.who.exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Refused };
        LoadOptions { keep_texts: true, keep_defaults: true, ..self.config.load_options(commands) }
    }

    pub(super) fn who(&self) -> LookupContext {
        LookupContext {
            subsystem: self.who.subsystem.as_bytes().into(),
            local_name: self.who.local_name.as_bytes().into(),
        }
    }

    /// Returns the part of the request that the tool also supports.
    pub(super) fn request(&self) -> ConfigRequest {
        let options = self.load_options();
        let asked = match &self.verb {
            Some(ConfigDumpVerb::Use { templates }) => {
                templates.iter().map(|text| RequestedName::Template(text.as_bytes().into())).collect()
            }
            Some(ConfigDumpVerb::Lint { .. } | ConfigDumpVerb::Compare { .. }) => Vec::new(),
            None => {
                let text = |name: &OsString| match self.show.redact && self.show.expand {
                    true => redact::mask_value(b"", name.as_bytes()).into_owned().into(),
                    false => BString::from(name.as_bytes()),
                };
                self.names.iter().map(|name| RequestedName::Name(text(name))).collect()
            }
        };
        let asked_none = asked.is_empty();
        ConfigRequest {
            requested: asked,
            own_root: true,
            // Conditions are evaluated with the real values; the answer shows none.
            redact: self.show.redact && self.show.check_if.is_none(),
            subsystem: self.who.subsystem.as_bytes().into(),
            local_name: self.who.local_name.as_bytes().into(),
            root: options.file.map(|file: PathBuf| file.into_os_string().into_vec().into()),
            environment: options.environment,
            overlay: options.overlay,
            commands: options.commands,
            raw: self.show.raw,
            default: self.show.default,
            verbose: self.show.verbose,
            keep_defaults: self.show.verbose,
            dump: self.show.dump,
            expanded: self.show.expanded,
            trace: self.show.trace,
            trace_all: self.show.trace && asked_none,
            expand_text: self.show.expand.then_some(false),
            write: self.show.summary.then(|| ("-".into(), RowFilter::for_summary())),
            sources: self.show.sources,
            check_if: self.show.check_if.as_ref().map(|text| text.as_bytes().into()),
            ..ConfigRequest::new()
        }
    }
}
