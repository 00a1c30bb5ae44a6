//! Options that all verbs share, and those of one call.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, value_parser};

use crate::classad::ClassAd;
use crate::cli::common::{
    AdSelectionOptions, ClockOptions, ConfigOptions, EventsOptions, InputOptions, OptionGroup, OutputOptions,
    QuirksOptions, RowOptions,
};
use crate::hook_testing::Decision;

/// Options of all types and verbs.
#[derive(Args, Debug)]
pub(super) struct SharedOptions {
    #[command(flatten)]
    pub config: ConfigOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub clock: ClockOptions,
    #[command(flatten)]
    pub quirks: QuirksOptions,
    #[command(flatten)]
    pub events: EventsOptions,
}

/// Hook, its ads, and the options of the call.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct HookCallArgs {
    /// Hook to run [default: the one in the configuration]
    #[arg(value_name = "HOOK")]
    pub hook: Option<PathBuf>,
    /// Arguments for the hook: accept/reject (reply), exit/evict/hold/remove (exit)
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub selection: AdSelectionOptions,
    #[command(flatten)]
    pub ads: AdOptions,
    #[command(flatten)]
    pub call: CallOptions,
    #[command(flatten)]
    pub extra: ExtraActionOptions,
    /// True if `--ads` is given: standard input is then read only if `--ads` names it.
    #[arg(skip)]
    pub names_ads: bool,
    /// Ads of `--ads`, or `None` until they have been read.
    #[arg(skip)]
    pub given: Option<Vec<ClassAd>>,
}

impl HookCallArgs {
    /// If the path of the hook is a word of `argument_words`, treats it as an argument of the configured hook. A file
    /// with such a name can be named `./reject`.
    pub(super) fn with_path_as_word(&self, argument_words: Option<&[&str]>) -> HookCallArgs {
        let mut call_args = self.clone();
        if let (Some(argument_words), Some(first)) =
            (argument_words, self.hook.as_ref().and_then(|hook| hook.to_str()))
            && argument_words.contains(&first)
        {
            call_args.hook = None;
            call_args.words.insert(0, first.to_owned());
        }
        call_args
    }

    /// Returns the same call with this ad instead of `--ads`.
    pub(super) fn with_ad(&self, ad: ClassAd) -> HookCallArgs {
        HookCallArgs { given: Some(vec![ad]), ..self.clone() }
    }
}

/// Options for the ads and their changes.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct AdOptions {
    /// The default is a built-in slot, or the slot of the configuration.
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Input)]
    pub slot_ads: Option<PathBuf>,
    /// Read the ad of the routed job from FILE
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub routed_ads: Option<PathBuf>,
    /// Use a built-in job: vanilla, container, docker, gpu, grid, java, ...
    ///
    /// The others are parallel and v1.
    #[arg(long, value_name = "KIND", help_heading = OptionGroup::Input, conflicts_with = "ads")]
    pub sample_job: Option<String>,
    /// Use a built-in slot: static, partitionable, gpu
    #[arg(long, value_name = "KIND", help_heading = OptionGroup::Input, conflicts_with = "slot_ads")]
    pub sample_slot: Option<String>,
    /// Set an attribute of the job (fetch: of the slot); may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = OptionGroup::Input)]
    pub set: Vec<String>,
    /// Delete an attribute of the job (fetch: of the slot); may be repeated
    #[arg(long, value_name = "NAME", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub delete: Vec<String>,
    /// Set an attribute of the slot; may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub set_slot: Vec<String>,
    /// Set an attribute of the routed job; may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub set_routed: Vec<String>,
}

/// Options for the call of the hook.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CallOptions {
    /// Use the hook of this keyword [default: the one its caller would use]
    #[arg(long, value_name = "WORD")]
    pub keyword: Option<String>,
    /// Use the parameters of this slot: slot2, slot1_3 or 2 [default: slot1]
    #[arg(
        long,
        value_name = "SLOT",
        default_value = "slot1",
        hide_default_value = true,
        value_parser = parse_slot,
        hide_short_help = true
    )]
    pub slot: String,
    /// Use the parameters of this slot type (SLOT_TYPE_<N>_...)
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub slot_type: Option<u32>,
    /// Use the route of this name
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub route: Option<String>,
    /// Set TargetUniverse of the route
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub target_universe: Option<i64>,
    /// Set GridResource of the route
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub grid_resource: Option<String>,
    /// Act as a route with EditJobInPlace
    #[arg(long, hide_short_help = true)]
    pub edit_in_place: bool,
    /// Treat the job as one of a schedd, not as a fetched job
    ///
    /// A failure of the hook then holds the job or puts it back in the queue.
    #[arg(long)]
    pub shadow: bool,
    /// For update and exit: use the ad of a job that has not started
    #[arg(long, hide_short_help = true)]
    pub before_job: bool,
    /// Use the hook protocol of the 7.1 manual [default: present]
    #[arg(long, value_name = "7.1", value_parser = ["7.1", "present"], hide_possible_values = true, hide_short_help = true)]
    pub protocol: Option<String>,
    /// Pass this claim id to the hook
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub claim_id: Option<String>,
    /// Set a variable of the hook's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Put DIR at the start of the hook's PATH; may be repeated
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub path_prepend: Vec<PathBuf>,
    /// Run the hook as this account (needs root)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub user: Option<String>,
    /// Run the hook even if its caller would refuse the path
    #[arg(long, hide_short_help = true)]
    pub ignore_path_check: bool,
}

/// Options for additional actions.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ExtraActionOptions {
    /// Print what the hook would read, and run nothing
    #[arg(long, short = 'i')]
    pub show_input: bool,
    /// Fail unless EXPR is true (MY = result, TARGET = input)
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
    /// Exit with 0 only if this is the verdict (go-on, held, ...)
    #[arg(long, value_name = "WORD", value_parser = parse_verdict)]
    pub expect_verdict: Option<String>,
    /// Exit with status 1 for warnings, too
    #[arg(long, hide_short_help = true, conflicts_with_all = ["time", "fuzz"])]
    pub strict: bool,
    /// Keep arguments, environment, input and output of each call in DIR
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub keep: Option<PathBuf>,
    /// Call the hook N times and compare the outputs
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Call the hook again in another directory and environment, and compare
    #[arg(long, hide_short_help = true)]
    pub probe: bool,
    /// Call the hook N times and print how long it took
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
          conflicts_with_all = ["expect", "expect_verdict", "keep", "repeat", "probe", "fuzz"])]
    pub time: Option<u32>,
    /// Call the hook with N random changes of the ad
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
          conflicts_with_all = ["expect", "expect_verdict", "keep", "repeat", "probe"])]
    pub fuzz: Option<u32>,
    /// Prints the table of verdicts of several ads to standard output instead of the ads.
    #[arg(long, help_heading = OptionGroup::Output, hide_short_help = true)]
    pub summary: bool,
    #[command(flatten)]
    pub rows: RowOptions,
    /// Makes N calls at the same time if there are several ads.
    #[arg(long, short = 'j', value_name = "N", help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub threads: Option<NonZero<usize>>,
    /// Also print how keyword and path were found
    #[arg(long)]
    pub explain: bool,
}

/// Parses the name of a verdict.
pub(super) fn parse_verdict(text: &str) -> Result<String, String> {
    Decision::check_word(text).map(|()| text.to_owned())
}

/// Parses the value of `--slot`. A number alone stands for a slot with the default name prefix.
fn parse_slot(text: &str) -> Result<String, String> {
    let is_name = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("slot"));
    let numbers = if is_name { &text[4..] } else { text };
    let is_number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u32>().is_ok_and(|n| n > 0);
    let parts: Vec<&str> = numbers.split('_').collect();
    if parts.len() > 2 || !parts.into_iter().all(is_number) {
        return Err("expected a slot such as slot2, slot1_3 or 2".to_owned());
    }
    Ok(text.to_owned())
}
