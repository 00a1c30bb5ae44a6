//! Parameters of the router itself (`JobRouter::config`).

use std::cell::Cell;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::token_spec;
use htc_base::text::list;
use htc_config::{ConfigView, Setting, ValueError};

/// Configuration of the router except routes and transforms.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterParameters {
    /// `JOB_ROUTER_NAME`: the owner of claims and copies. Must not be empty.
    pub name: BString,
    /// `JOB_ROUTER_SOURCE_JOB_CONSTRAINT`, as text.
    pub constraint: Option<BString>,
    /// `JOB_ROUTER_MAX_JOBS`: the limit for all routes together; negative for no limit.
    pub max_jobs: i64,
    /// Value of JOB_ROUTER_ROUND_ROBIN_SELECTION.
    pub round_robin: bool,
    /// `JOB_ROUTER_RELEASE_ON_HOLD`: true if a returned source job is released from a hold that was copied
    /// from its routed job.
    pub release_on_hold: bool,
    /// Value of JOB_ROUTER_POLLING_PERIOD.
    pub polling_period: Duration,
    /// `PERIODIC_EXPR_INTERVAL`: interval between evaluations of the source jobs' periodic expressions; zero
    /// for never.
    pub periodic_interval: Duration,
    /// `MAX_JOB_MIRROR_UPDATE_LAG`: time for which the router allows the queue log to be out of date.
    pub mirror_lag: Duration,
    /// Value of JOB_ROUTER_HOOK_KEYWORD.
    pub hook_keyword: Option<BString>,
    /// `JOB_ROUTER_SEND_ROUTE_IDTOKENS`: names of tokens to send.
    pub send_tokens: BString,
    /// Names and files of the tokens that can be sent; initially all of `JOB_ROUTER_CREATE_IDTOKEN_NAMES`.
    pub tokens: Vec<(BString, BString)>,
    /// `CHIRP_DELAYED_UPDATE_PREFIX`: patterns of attributes that are mirrored.
    pub chirp_prefix: Vec<BString>,
    /// `JOB_ROUTER_SCHEDD1_NAME` and `_POOL`.
    pub source_schedd: (BString, BString),
    /// `JOB_ROUTER_SCHEDD2_NAME` and `_POOL`.
    pub destination_schedd: (BString, BString),
    /// Deprecated parameters that are set: `JOB_ROUTER_DEFAULTS` and the `JOB_ROUTER_ENTRIES` family.
    pub deprecated_parameters: Vec<&'static str>,
    /// `STRICT_CLASSAD_EVALUATION`: true if all expressions of this router are read and evaluated in strict
    /// mode.
    pub strict: bool,
}

/// Deprecated parameters, in the order in which messages name them.
pub const DEPRECATED_PARAMETERS: [&str; 4] =
    ["JOB_ROUTER_DEFAULTS", "JOB_ROUTER_ENTRIES", "JOB_ROUTER_ENTRIES_CMD", "JOB_ROUTER_ENTRIES_FILE"];

/// Time at which the router reads a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterReadTime {
    /// Before the router logs anything.
    AtStart,
    /// Before the routes are read.
    BeforeRoutes,
    /// After the routes are read, if routing is enabled.
    AfterRoutes,
}

/// Invalid value of a parameter, for which the router uses another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterProblem {
    /// Description of the problem and of the value that is used instead.
    pub text: String,
    /// Log line of the reference, with its newline.
    pub log_line: String,
    /// Time at which the router notices the problem.
    pub read_time: ParameterReadTime,
}

/// Reports the messages of configuration functions, such as `$INT()`, in values read since the last call.
fn report_function_messages(view: &ConfigView<'_>, note: &mut dyn FnMut(String, String)) {
    for message in view.take_messages() {
        note(message.text.to_string(), format!("{message}\n"));
    }
}

/// Returns the value of a parameter. `note` is called with a description of each problem and its log line.
pub(super) fn read_text(
    view: &ConfigView<'_>,
    name: &str,
    note: &mut dyn FnMut(String, String),
) -> Option<BString> {
    let value = view.text(name);
    report_function_messages(view, note);
    value
}

/// Returns a value that was read, and reports an error in it. If the value is invalid, returns its replacement as
/// `Err`.
fn read_value<T>(
    view: &ConfigView<'_>,
    read: Result<Option<Setting<T>>, ValueError>,
    default: &str,
    note: &mut dyn FnMut(String, String),
) -> Result<Option<T>, BString> {
    report_function_messages(view, note);
    read.map(|setting| setting.map(|setting| setting.value)).map_err(|error| {
        let error = error.with_default(default);
        note(error.to_string(), format!("{}\n", error.reference_line()));
        error.fallback.clone()
    })
}

/// Reads an integer as the router does: an invalid value is replaced by the default, and one out of range by
/// the nearest valid value.
pub(super) fn read_int(
    view: &ConfigView<'_>,
    name: &str,
    default: i64,
    note: &mut dyn FnMut(String, String),
) -> i64 {
    match read_value(view, view.int(name), &default.to_string(), note) {
        Ok(value) => value.unwrap_or(default),
        Err(taken) => taken.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(default),
    }
}

impl RouterParameters {
    /// Reads the parameters in the order of `JobRouter::config`.
    pub fn load(view: &ConfigView<'_>, complain: &mut dyn FnMut(ParameterProblem)) -> Self {
        view.take_messages();
        let when = Cell::new(ParameterReadTime::AtStart);
        let note =
            &mut |text, line| complain(ParameterProblem { text, log_line: line, read_time: when.get() });
        read_text(view, "JOB_ROUTER_HOOK_KEYWORD", note);
        when.set(ParameterReadTime::BeforeRoutes);
        let hook_keyword = read_text(view, "JOB_ROUTER_HOOK_KEYWORD", note);
        read_int(view, "JOB_ROUTER_IDTOKEN_REFRESH", 0, note);
        read_int(view, "JOB_ROUTER_ENTRIES_REFRESH", 0, note);
        let constraint = read_text(view, "JOB_ROUTER_SOURCE_JOB_CONSTRAINT", note);
        when.set(ParameterReadTime::AfterRoutes);
        let boolean = |name: &str, default: bool, note: &mut dyn FnMut(String, String)| {
            let shown = if default { "True" } else { "False" };
            match read_value(view, view.boolean(name), shown, note) {
                Ok(value) => value.unwrap_or(default),
                Err(taken) => taken == "true",
            }
        };
        let seconds = |name: &str, default: i64, note: &mut dyn FnMut(String, String)| {
            Duration::from_secs(read_int(view, name, default, note).try_into().unwrap_or(0))
        };
        let release_on_hold = boolean("JOB_ROUTER_RELEASE_ON_HOLD", true, note);
        let round_robin = boolean("JOB_ROUTER_ROUND_ROBIN_SELECTION", false, note);
        let max_jobs = read_int(view, "JOB_ROUTER_MAX_JOBS", -1, note);
        let mirror_lag = seconds("MAX_JOB_MIRROR_UPDATE_LAG", 600, note);
        let periodic_interval = seconds("PERIODIC_EXPR_INTERVAL", 60, note);
        read_int(view, "MAX_PERIODIC_EXPR_INTERVAL", 1200, note);
        let timeslice = view.real_in_range("PERIODIC_EXPR_TIMESLICE", Some((0.0, 1.0)));
        let _ = read_value(view, timeslice, "0.01", note);
        let polling_period = seconds("JOB_ROUTER_POLLING_PERIOD", 10, note);
        let mut or_empty = |name: &str| read_text(view, name, note).unwrap_or_default();
        let name = or_empty("JOB_ROUTER_NAME");
        let destination_schedd = (or_empty("JOB_ROUTER_SCHEDD2_NAME"), or_empty("JOB_ROUTER_SCHEDD2_POOL"));
        let source_schedd = (or_empty("JOB_ROUTER_SCHEDD1_NAME"), or_empty("JOB_ROUTER_SCHEDD1_POOL"));
        // The router reads the following parameters only when it needs them.
        let chirp = view.text("CHIRP_DELAYED_UPDATE_PREFIX").unwrap_or_else(|| "Chirp*".into());
        let send_tokens = view.text("JOB_ROUTER_SEND_ROUTE_IDTOKENS").unwrap_or_default();
        let tokens =
            token_spec::read_token_specs(view, &mut |_| {}).into_iter().map(|order| (order.name, order.file));
        let tokens = tokens.collect();
        let strict = boolean("STRICT_CLASSAD_EVALUATION", false, &mut |_, _| {});
        view.take_messages();
        RouterParameters {
            name,
            constraint,
            max_jobs,
            round_robin,
            release_on_hold,
            polling_period,
            periodic_interval,
            mirror_lag,
            hook_keyword,
            send_tokens,
            tokens,
            chirp_prefix: list::split(&chirp).map(Into::into).collect(),
            source_schedd,
            destination_schedd,
            deprecated_parameters: DEPRECATED_PARAMETERS
                .into_iter()
                .filter(|name| view.is_defined(name))
                .collect(),
            strict,
        }
    }

    /// Returns the name of the destination in messages: `local schedd`, `schedd NAME at pool POOL`.
    pub fn destination_label(&self) -> BString {
        let (name, pool) = &self.destination_schedd;
        let mut label = match name.as_slice() {
            b"" => BString::from("local schedd"),
            name => [b"schedd ", name].concat().into(),
        };
        if !pool.is_empty() {
            label.extend_from_slice(b" at pool ");
            label.extend_from_slice(pool);
        }
        label
    }
}
