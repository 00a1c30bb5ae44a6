//! Request about a configuration, independent of the command-line syntax. It has the options that `htc-config-dump` and
//! `condor_config_val` have in common.

use bstr::BString;

use crate::config::CommandPolicy;
use crate::config::defaults::ParameterType;
use crate::config::write_config::RowFilter;

/// Name or template on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedName {
    /// Name of a parameter or, with `-dump`, a regular expression.
    Name(BString),
    /// Argument of `use`: `CATEGORY` or `CATEGORY:NAME(arguments)`.
    Template(BString),
}

impl RequestedName {
    /// Returns the text as the tool stores it: `^` is added before a template.
    pub(super) fn text(&self) -> BString {
        match self {
            RequestedName::Name(name) => name.clone(),
            RequestedName::Template(text) => [b"^", &text[..]].concat().into(),
        }
    }
}

/// Request of one call, with all its options.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct ConfigRequest {
    /// Names, regular expressions and templates.
    pub(super) requested: Vec<RequestedName>,
    /// Subsystem for which the configuration is read.
    pub(super) subsystem: BString,
    /// Local name for which the configuration is read.
    pub(super) local_name: BString,
    /// `-root-config` or `--config-file`: file to read as the main configuration.
    pub(super) root: Option<BString>,
    /// True if the root file was given by `--config-file`: its path is then used unchanged, and it must not be a directory.
    pub(super) own_root: bool,
    /// True if passwords and other secrets are masked.
    pub(super) redact: bool,
    /// True if `_CONDOR_*` environment variables are used.
    pub(super) environment: bool,
    /// Settings that override all others.
    pub(super) overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Policy for commands in the configuration.
    pub(super) commands: CommandPolicy,
    /// `-raw`: prints values before expansion.
    pub(super) raw: bool,
    /// `-default`: prints defaults.
    pub(super) default: bool,
    /// `-verbose`: prints location, raw value and default as well.
    pub(super) verbose: bool,
    /// `-verbose:use`: prints use counts.
    pub(super) use_counts: bool,
    /// `-verbose:strings`: prints the statistics of strings.
    pub(super) strings: bool,
    /// `-verbose:both`: prints settings and defaults.
    pub(super) both: bool,
    /// `-verbose:type`: prints types.
    pub(super) types: bool,
    /// `-verbose:int` and similar options: prints parameters of this type only.
    pub(super) as_type: Option<ParameterType>,
    /// `-info`: prints the properties of parameters.
    pub(super) info: bool,
    /// `-dump`: prints all parameters.
    pub(super) dump: bool,
    /// `-expanded`: prints expanded values.
    pub(super) expanded: bool,
    /// `-trace`: prints changes of values while files are read.
    pub(super) trace: bool,
    /// True if `--trace` prints the changes of all names. `-trace` of the tool prints none if no name is given.
    pub(super) trace_all: bool,
    /// `-stats`: prints statistics.
    pub(super) stats: bool,
    /// `-stats:keep`: keeps settings that equal their default.
    pub(super) keep_defaults: bool,
    /// True if headings go to standard output instead of standard error.
    pub(super) native_headings: bool,
    /// `-macro`: expands a text. `Some(true)` for `-macro:path`.
    pub(super) expand_text: Option<bool>,
    /// `Some(true)` for `-used`, `Some(false)` for `-unused`.
    pub(super) used: Option<bool>,
    /// File of `-writeconfig`, or `-` for `-summary`, and the selection of rows.
    pub(super) write: Option<(BString, RowFilter)>,
    /// `-config`: prints the files that were read.
    pub(super) sources: bool,
    /// `-reconfig FILE`: file that is read after the configuration.
    pub(super) reconfig: Option<BString>,
    /// `-check-if CONDITION`: evaluates a condition.
    pub(super) check_if: Option<BString>,
}

impl ConfigRequest {
    /// Creates an empty request for the configuration that tools read.
    pub(super) fn new() -> Self {
        ConfigRequest {
            subsystem: "TOOL".into(),
            environment: true,
            commands: CommandPolicy::BOUNDED_RUN,
            ..ConfigRequest::default()
        }
    }

    /// Returns true if the output includes the number of times that each parameter was used.
    pub(super) fn counts_uses(&self) -> bool {
        self.use_counts || self.used.is_some() || self.both || self.stats
    }
}
