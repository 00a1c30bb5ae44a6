//! Options that all verbs share, and those of one call.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, value_parser};

use crate::classad::ClassAd;
use crate::cli::common::{
    ClockOptions, ConfigOptions, EventsOptions, InputOptions, OutputOptions, QuirksOptions,
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
    /// The hook; without it the one that the configuration names
    #[arg(value_name = "HOOK")]
    pub hook: Option<PathBuf>,
    /// Words behind the path: accept or reject, exit or evict, arguments of a prepare hook
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub ads: AdOptions,
    #[command(flatten)]
    pub call: CallOptions,
    #[command(flatten)]
    pub also: ExtraActionOptions,
    /// True if `--ads` is given, so that standard input is read if it names it, whatever it is.
    #[arg(skip)]
    pub names_ads: bool,
    /// Ads of `--ads`, once they have been read.
    #[arg(skip)]
    pub given: Option<Vec<ClassAd>>,
}

impl HookCallArgs {
    /// Interprets a single word as the hook's argument, if it is one of the words that the hook may get; the
    /// hook is then the configured one. A file with that name can be given as `./reject`.
    pub(super) fn with_path_as_word(&self, told: Option<&[&str]>) -> HookCallArgs {
        let mut one = self.clone();
        if let (Some(told), Some(first)) = (told, self.hook.as_ref().and_then(|hook| hook.to_str()))
            && told.contains(&first)
        {
            one.hook = None;
            one.words.insert(0, first.to_owned());
        }
        one
    }

    /// Returns the same call for this ad.
    pub(super) fn with_ad(&self, ad: ClassAd) -> HookCallArgs {
        HookCallArgs { given: Some(vec![ad]), ..self.clone() }
    }
}

/// Options for the ads and their changes.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct AdOptions {
    /// Read the slot's ad from FILE
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub slot_ads: Option<PathBuf>,
    /// Read the routed job's ad from FILE
    #[arg(long, value_name = "FILE", help_heading = "Input", hide_short_help = true)]
    pub routed_ads: Option<PathBuf>,
    /// Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1
    #[arg(long, value_name = "KIND", help_heading = "Input")]
    pub sample_job: Option<String>,
    /// Use a built-in slot: static, partitionable, gpu
    #[arg(long, value_name = "KIND", help_heading = "Input")]
    pub sample_slot: Option<String>,
    /// Set an attribute of the job (of the slot, for fetch); may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = "Input")]
    pub set: Vec<String>,
    /// Remove an attribute of the job (of the slot, for fetch); may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub delete: Vec<String>,
    /// Set an attribute of the slot; may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = "Input", hide_short_help = true)]
    pub set_slot: Vec<String>,
    /// Set an attribute of the routed job; may be repeated
    #[arg(long, value_name = "NAME=EXPR", help_heading = "Input", hide_short_help = true)]
    pub set_routed: Vec<String>,
}

/// Options for the call of the hook.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CallOptions {
    /// Look the hook up under this keyword instead of the caller's
    #[arg(long, value_name = "WORD", help_heading = "Call")]
    pub keyword: Option<String>,
    /// Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number
    #[arg(
        long,
        value_name = "SLOT",
        default_value = "slot1",
        hide_default_value = true,
        value_parser = parse_slot,
        help_heading = "Call",
        hide_short_help = true
    )]
    pub slot: String,
    /// Type of the slot, for `SLOT_TYPE_<N>` knobs
    #[arg(long, value_name = "N", help_heading = "Call", hide_short_help = true)]
    pub slot_type: Option<u32>,
    /// Name of the route
    #[arg(long, value_name = "NAME", help_heading = "Call", hide_short_help = true)]
    pub route: Option<String>,
    /// TargetUniverse of the route
    #[arg(long, value_name = "N", help_heading = "Call", hide_short_help = true)]
    pub target_universe: Option<i64>,
    /// GridResource of the route
    #[arg(long, value_name = "TEXT", help_heading = "Call", hide_short_help = true)]
    pub grid_resource: Option<String>,
    /// The route edits the job in place
    #[arg(long, help_heading = "Call", hide_short_help = true)]
    pub edit_in_place: bool,
    /// The job comes from a schedd, not from a fetch hook: failures hold it or send it back
    #[arg(long, help_heading = "Call")]
    pub shadow: bool,
    /// For update and exit: the job has not been started, so that its ad tells nothing of a run
    #[arg(long, help_heading = "Call", hide_short_help = true)]
    pub before_job: bool,
    /// Speak the protocol of the 7.1 manual
    #[arg(long, value_name = "7.1", value_parser = ["7.1", "present"], hide_possible_values = true,
          help_heading = "Call", hide_short_help = true)]
    pub protocol: Option<String>,
    /// Id of the claim
    #[arg(long, value_name = "ID", help_heading = "Call", hide_short_help = true)]
    pub claim_id: Option<String>,
    /// Set a variable of the hook's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Call")]
    pub env: Vec<String>,
    /// Put a directory in front of the hook's PATH; may be repeated
    #[arg(long, value_name = "DIR", help_heading = "Call")]
    pub path_prepend: Vec<PathBuf>,
    /// Run the hook as this account (needs root)
    #[arg(long, value_name = "NAME", help_heading = "Call")]
    pub user: Option<String>,
    /// Run the hook although its caller would refuse the path
    #[arg(long, help_heading = "Call", hide_short_help = true)]
    pub ignore_path_check: bool,
}

/// Options for additional actions.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ExtraActionOptions {
    /// Print what the hook would get and run nothing
    #[arg(long, short = 'i', help_heading = "Behaviour")]
    pub show_input: bool,
    /// Must be true of the result (MY) and what went in (TARGET); may be repeated
    #[arg(long, value_name = "EXPR", help_heading = "Behaviour")]
    pub expect: Vec<String>,
    /// The verdict must be this word, such as go-on or held; it is then a success
    #[arg(long, value_name = "WORD", help_heading = "Behaviour", value_parser = parse_verdict)]
    pub expect_verdict: Option<String>,
    /// Keep argv, env, stdin, stdout, stderr and meta of each call below DIR
    #[arg(long, value_name = "DIR", help_heading = "Behaviour")]
    pub keep: Option<PathBuf>,
    /// Call it N times and compare the answers
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Behaviour")]
    pub repeat: Option<u32>,
    /// Call it again in another directory, with another HOME and with your own environment, and compare
    #[arg(long, help_heading = "Behaviour")]
    pub probe: bool,
    /// Call it N times and print a table of how long it took
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Behaviour",
          conflicts_with_all = ["expect", "expect_verdict", "keep", "repeat", "probe", "fuzz"])]
    pub time: Option<u32>,
    /// Change the ad at random N times; --seed repeats it
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Behaviour",
          conflicts_with_all = ["expect", "expect_verdict", "keep", "repeat", "probe"])]
    pub fuzz: Option<u32>,
    /// For several ads, print the table of verdicts to standard output instead of the ads
    #[arg(long, help_heading = "Output")]
    pub summary: bool,
    /// Of many ads, make N calls side by side
    #[arg(long, short = 'j', value_name = "N", help_heading = "Behaviour", hide_short_help = true)]
    pub threads: Option<NonZero<usize>>,
    /// Take the first N ads only
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), help_heading = "Input",
          hide_short_help = true)]
    pub limit: Option<u64>,
    /// Tell how keyword and path were found
    #[arg(long, help_heading = "Behaviour")]
    pub explain: bool,
}

/// Parses the word of a verdict.
pub(super) fn parse_verdict(text: &str) -> Result<String, String> {
    Decision::check_word(text).map(|()| text.to_owned())
}

/// Parses the value of `--slot`; a number alone means a slot with the default name prefix.
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
