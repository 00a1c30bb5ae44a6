//! Request about a configuration, independent of its syntax: the options that `htc-config-dump` shares with
//! the tool that it imitates.

use bstr::BString;

use crate::config::CommandPolicy;
use crate::config::defaults::ParameterType;
use crate::config::write_config::RowFilter;

/// Operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedName {
    /// A parameter, or with `-dump` a regular expression.
    Name(BString),
    /// The word after `use`: `CATEGORY` or `CATEGORY:NAME(arguments)`.
    Template(BString),
}

impl RequestedName {
    /// Returns the text as the tool stores it: a template is preceded by `^`.
    pub(super) fn text(&self) -> BString {
        match self {
            RequestedName::Name(name) => name.clone(),
            RequestedName::Template(text) => [b"^", &text[..]].concat().into(),
        }
    }
}

/// All requests of one call.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct ConfigRequest {
    /// Names, regular expressions and templates.
    pub(super) requested: Vec<RequestedName>,
    /// Subsystem for which the configuration is read.
    pub(super) subsystem: BString,
    /// Local name for which the configuration is read.
    pub(super) local_name: BString,
    /// `-root-config`, `--config-file`.
    pub(super) root: Option<BString>,
    /// True if the root file is given by this program's own option: its path is used unchanged, and it may
    /// not be a directory.
    pub(super) own_root: bool,
    /// True if secrets are masked.
    pub(super) redact: bool,
    /// True if settings of the environment are used.
    pub(super) environment: bool,
    /// Settings that override all others.
    pub(super) overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Policy for commands in the configuration.
    pub(super) commands: CommandPolicy,
    /// `-raw`
    pub(super) raw: bool,
    /// `-default`
    pub(super) default: bool,
    /// `-verbose`
    pub(super) verbose: bool,
    /// `-verbose:use`
    pub(super) use_counts: bool,
    /// `-verbose:strings`
    pub(super) strings: bool,
    /// `-verbose:both`
    pub(super) both: bool,
    /// `-verbose:type`
    pub(super) types: bool,
    /// `-verbose:int` and so on
    pub(super) as_type: Option<ParameterType>,
    /// `-info`
    pub(super) info: bool,
    /// `-dump`
    pub(super) dump: bool,
    /// `-expanded`
    pub(super) expanded: bool,
    /// `-trace`
    pub(super) trace: bool,
    /// True if `--trace` prints the changes of all names; the tool's own `-trace` prints none without names.
    pub(super) trace_all: bool,
    /// `-stats`
    pub(super) stats: bool,
    /// `-stats:keep`
    pub(super) keep_defaults: bool,
    /// True if headings are written to standard output.
    pub(super) native_headings: bool,
    /// `-macro`; true for `-macro:path`
    pub(super) expand_text: Option<bool>,
    /// `-used`, `-unused`
    pub(super) used: Option<bool>,
    /// `-writeconfig FILE`, or `-` for `-summary`
    pub(super) write: Option<(BString, RowFilter)>,
    /// `-config`
    pub(super) sources: bool,
    /// `-reconfig FILE`
    pub(super) reconfig: Option<BString>,
    /// `-check-if CONDITION`
    pub(super) check_if: Option<BString>,
}

impl ConfigRequest {
    /// Creates an empty request for the configuration of tools.
    pub(super) fn new() -> Self {
        ConfigRequest {
            subsystem: "TOOL".into(),
            environment: true,
            commands: CommandPolicy::BOUNDED_RUN,
            ..ConfigRequest::default()
        }
    }

    /// Returns true if the output includes the number of lookups.
    pub(super) fn counts_uses(&self) -> bool {
        self.use_counts || self.used.is_some() || self.both || self.stats
    }
}
