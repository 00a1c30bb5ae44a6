//! Command line of `htc-config-dump`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bstr::BString;
use clap::{Args, Parser, Subcommand};

use super::config_request::{ConfigRequest, RequestedName};
use super::lsp::LspOptions;
use crate::cli::common::{
    ConfigOptions, OptionGroup, OutputOptions, RowOptions, RowOrderOptions, TimeLimitOptions,
};
use crate::cli::lint::LintOptions;
use crate::config::redact;
use crate::config::write_config::RowFilter;
use crate::config::{CommandPolicy, LoadOptions, LookupContext};

/// Command line.
#[derive(Parser, Debug)]
#[command(
    args_conflicts_with_subcommands = false,
    subcommand_precedence_over_arg = true,
    subcommand_value_name = "VERB"
)]
pub(super) struct ConfigDumpCli {
    /// Parameters to print; with --dump: patterns; with --macro: text
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
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) limit: TimeLimitOptions,
}

/// Task other than showing values.
#[derive(Subcommand, Debug)]
pub(super) enum ConfigDumpVerb {
    /// Find mistakes that HTCondor does not report
    Lint {
        /// Configuration files, in order [default: CONDOR_CONFIG or /etc/condor]
        ///
        /// The files and directories that they name are read as well; commands only with --exec. FILEs are checked as a part of
        /// a configuration if each of them is in a directory whose name ends in '.d', has a name that begins with two digits, or ends
        /// in '.include' or '.inc', and none sets DAEMON_LIST, LOCAL_CONFIG_DIR or LOCAL_CONFIG_FILE. What other files may set or
        /// use is then not reported as missing or unused. If each of several FILEs sets LOCAL_CONFIG_DIR or LOCAL_CONFIG_FILE, each is
        /// a configuration of its own.
        ///
        /// FILEs may be for another machine: hooks that are not on this machine are not reported, and a file that they name but that
        /// is missing is a warning. '--config-file FILE' in place of FILE checks the configuration for this machine, where both are errors.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Check the job ad in FILE instead of a configuration
        #[arg(long = "ads", value_name = "FILE")]
        job_ad: Option<PathBuf>,
        /// List settings that these programs ignore, with their effect in a pool
        #[arg(long)]
        here: bool,
        /// List all rules with their severity
        #[arg(long)]
        rules: bool,
        #[command(flatten)]
        lint: LintOptions,
    },
    /// Compare the effective values of two configurations
    Compare {
        /// First configuration
        #[arg(value_name = "BEFORE")]
        before: PathBuf,
        /// Second configuration
        #[arg(value_name = "AFTER")]
        after: PathBuf,
        #[command(flatten)]
        rows: RowOptions,
        #[command(flatten)]
        order: RowOrderOptions,
    },
    /// Print the statements of a template, or the templates of a category
    Use {
        /// CATEGORY, or CATEGORY:NAME with its arguments in parentheses [default: list the categories]
        #[arg(value_name = "TEMPLATE")]
        templates: Vec<OsString>,
    },
    /// Serve an editor with the Language Server Protocol
    ///
    /// The texts in the editor replace the files on disk.
    Lsp {
        #[command(flatten)]
        lsp: LspOptions,
    },
}

/// Options that select what is printed, and in which form.
#[derive(Args, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct ShowOptions {
    /// Print all parameters, including defaults, or those whose names match
    #[arg(long, help_heading = OptionGroup::Show)]
    pub(super) dump: bool,
    /// Print values before expansion
    #[arg(long, help_heading = OptionGroup::Show)]
    pub(super) raw: bool,
    /// Print expanded values (with --dump and use)
    #[arg(long, global = true, hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) expanded: bool,
    /// Print the compiled-in defaults
    #[arg(long, hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) default: bool,
    /// Print location, raw value and default as well
    #[arg(long, short = 'v', global = true, help_heading = OptionGroup::Show)]
    pub(super) verbose: bool,
    /// Show where each value comes from: definitions, conditions, expansion
    #[arg(long, help_heading = OptionGroup::Show)]
    pub(super) why: bool,
    /// List the hooks of every slot, starter, shadow and router
    #[arg(long, help_heading = OptionGroup::Show)]
    pub(super) hooks: bool,
    /// Prints only what each file changed.
    #[arg(long, hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) summary: bool,
    /// Print the files that were read
    #[arg(long, hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) sources: bool,
    /// Print each change of the values while files are read
    #[arg(long, hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) trace: bool,
    /// Expand $(...) in the arguments
    #[arg(long = "macro", hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) expand: bool,
    /// Evaluate CONDITION as 'if' does, and exit with 1 if it is false
    #[arg(long, value_name = "CONDITION", hide_short_help = true, help_heading = OptionGroup::Show)]
    pub(super) check_if: Option<OsString>,
    /// Mask passwords and other secrets
    #[arg(long, global = true, help_heading = OptionGroup::Output)]
    pub(super) redact: bool,
}

/// Options for the daemon whose configuration is read.
#[derive(Args, Debug)]
pub(super) struct SubsystemOptions {
    /// Read the configuration as this daemon does
    #[arg(long, value_name = "NAME", default_value = "TOOL", global = true, help_heading = OptionGroup::Configuration)]
    pub(super) subsystem: OsString,
    /// Use the settings of this local name [default: none]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        global = true,
        help_heading = OptionGroup::Configuration
    )]
    pub(super) local_name: OsString,
    /// Run commands whose output is part of the configuration [default: refuse]
    #[arg(long, global = true, hide_short_help = true, help_heading = OptionGroup::Configuration)]
    pub(super) exec: bool,
}

impl ConfigDumpCli {
    pub(super) fn load_options(&self) -> LoadOptions {
        let commands = if self.who.exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Refused };
        LoadOptions { keep_texts: true, keep_defaults: true, ..self.config.load_options(commands) }
    }

    pub(super) fn lookup_context(&self) -> LookupContext {
        LookupContext {
            subsystem: self.who.subsystem.as_bytes().into(),
            local_name: self.who.local_name.as_bytes().into(),
        }
    }

    /// Returns the part of the request that `condor_config_val` also supports.
    pub(super) fn request(&self) -> ConfigRequest {
        let options = self.load_options();
        let requested = match &self.verb {
            Some(ConfigDumpVerb::Use { templates }) => {
                templates.iter().map(|text| RequestedName::Template(text.as_bytes().into())).collect()
            }
            Some(
                ConfigDumpVerb::Lint { .. } | ConfigDumpVerb::Compare { .. } | ConfigDumpVerb::Lsp { .. },
            ) => Vec::new(),
            None => {
                let text = |name: &OsString| match self.show.redact && self.show.expand {
                    true => redact::mask_value(b"", name.as_bytes()).into_owned().into(),
                    false => BString::from(name.as_bytes()),
                };
                self.names.iter().map(|name| RequestedName::Name(text(name))).collect()
            }
        };
        let requests_all = requested.is_empty();
        ConfigRequest {
            requested,
            own_root: true,
            // Conditions are evaluated with the real values, because the output contains none of them.
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
            native_headings: true,
            dump: self.show.dump,
            expanded: self.show.expanded,
            trace: self.show.trace,
            trace_all: self.show.trace && requests_all,
            expand_text: self.show.expand.then_some(false),
            write: self.show.summary.then(|| ("-".into(), RowFilter::for_summary())),
            sources: self.show.sources,
            check_if: self.show.check_if.as_ref().map(|text| text.as_bytes().into()),
            ..ConfigRequest::new()
        }
    }
}
