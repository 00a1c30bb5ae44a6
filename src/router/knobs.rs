//! The router's own parameters (`JobRouter::config`).

use std::time::Duration;

use bstr::BString;

use super::token;
use crate::config::View;
use crate::text::list;

/// What the router reads from its configuration beside routes and transforms.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobs {
    /// `JOB_ROUTER_NAME`: who owns claims and copies. Must not be empty.
    pub name: BString,
    /// `JOB_ROUTER_SOURCE_JOB_CONSTRAINT`, as text.
    pub constraint: Option<BString>,
    /// `JOB_ROUTER_MAX_JOBS`: over all routes; negative for no limit.
    pub max_jobs: i64,
    /// `JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE`.
    pub default_max_jobs: i64,
    /// `JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE`.
    pub default_max_idle_jobs: i64,
    /// `JOB_ROUTER_ROUND_ROBIN_SELECTION`.
    pub round_robin: bool,
    /// `JOB_ROUTER_RELEASE_ON_HOLD`: whether a source given back is freed of a hold that came from its copy.
    pub release_on_hold: bool,
    /// `JOB_ROUTER_POLLING_PERIOD`.
    pub polling_period: Duration,
    /// `PERIODIC_EXPR_INTERVAL`: how often periodic expressions of sources are looked at; zero for never.
    pub periodic_interval: Duration,
    /// `MAX_JOB_MIRROR_UPDATE_LAG`: how long to believe that the queue log lags.
    pub mirror_lag: Duration,
    /// `JOB_ROUTER_HOOK_KEYWORD`.
    pub hook_keyword: Option<BString>,
    /// `JOB_ROUTER_SEND_ROUTE_IDTOKENS`: names of tokens.
    pub send_tokens: BString,
    /// Files of the tokens that can be sent, by name: at first all of `JOB_ROUTER_CREATE_IDTOKEN_NAMES`.
    pub tokens: Vec<(BString, BString)>,
    /// `CHIRP_DELAYED_UPDATE_PREFIX`: attributes that are mirrored by pattern.
    pub chirp_prefix: Vec<BString>,
    /// `JOB_ROUTER_SCHEDD1_NAME` and `_POOL`.
    pub source_schedd: (BString, BString),
    /// `JOB_ROUTER_SCHEDD2_NAME` and `_POOL`.
    pub destination_schedd: (BString, BString),
    /// Which of the old parameters are set: `JOB_ROUTER_DEFAULTS` and the `JOB_ROUTER_ENTRIES` family.
    pub deprecated: Vec<&'static str>,
}

/// The old parameters, in the order in which the tool names them.
pub const DEPRECATED: [&str; 4] =
    ["JOB_ROUTER_DEFAULTS", "JOB_ROUTER_ENTRIES", "JOB_ROUTER_ENTRIES_CMD", "JOB_ROUTER_ENTRIES_FILE"];

/// The value of a parameter, as `param()` gives it: undefined and unreadable are the same to the router.
pub(super) fn text(view: &View<'_>, name: &str) -> Option<BString> {
    view.string(name).ok().flatten().map(|setting| setting.value)
}

impl Knobs {
    /// Reads them. A number that is none is replaced by its default, with a message.
    pub fn load(view: &View<'_>, note: &mut dyn FnMut(String)) -> Self {
        let mut int = |name: &str, default: i64| match view.int(name) {
            Ok(setting) => setting.map_or(default, |setting| setting.value),
            Err(error) => {
                note(error.to_string());
                default
            }
        };
        let max_jobs = int("JOB_ROUTER_MAX_JOBS", -1);
        let default_max_jobs = int("JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE", 100);
        let default_max_idle_jobs = int("JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE", 50);
        let mut seconds =
            |name: &str, default: i64| Duration::from_secs(int(name, default).try_into().unwrap_or(0));
        let polling_period = seconds("JOB_ROUTER_POLLING_PERIOD", 10);
        let periodic_interval = seconds("PERIODIC_EXPR_INTERVAL", 60);
        let mirror_lag = seconds("MAX_JOB_MIRROR_UPDATE_LAG", 600);
        let boolean = |name: &str, default: bool| {
            view.boolean(name).ok().flatten().map_or(default, |setting| setting.value)
        };
        let chirp = text(view, "CHIRP_DELAYED_UPDATE_PREFIX").unwrap_or_else(|| "Chirp*".into());
        let or_empty = |name: &str| text(view, name).unwrap_or_default();
        Knobs {
            name: or_empty("JOB_ROUTER_NAME"),
            constraint: text(view, "JOB_ROUTER_SOURCE_JOB_CONSTRAINT"),
            max_jobs,
            default_max_jobs,
            default_max_idle_jobs,
            round_robin: boolean("JOB_ROUTER_ROUND_ROBIN_SELECTION", false),
            release_on_hold: boolean("JOB_ROUTER_RELEASE_ON_HOLD", true),
            polling_period,
            periodic_interval,
            mirror_lag,
            hook_keyword: text(view, "JOB_ROUTER_HOOK_KEYWORD"),
            send_tokens: or_empty("JOB_ROUTER_SEND_ROUTE_IDTOKENS"),
            tokens: token::orders(view, &mut |_| {})
                .into_iter()
                .map(|order| (order.name, order.file))
                .collect(),
            chirp_prefix: list::split(&chirp).map(Into::into).collect(),
            source_schedd: (or_empty("JOB_ROUTER_SCHEDD1_NAME"), or_empty("JOB_ROUTER_SCHEDD1_POOL")),
            destination_schedd: (or_empty("JOB_ROUTER_SCHEDD2_NAME"), or_empty("JOB_ROUTER_SCHEDD2_POOL")),
            deprecated: DEPRECATED.into_iter().filter(|name| view.is_defined(name)).collect(),
        }
    }

    /// How the destination is called: `local schedd`, `schedd NAME at pool POOL`.
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
