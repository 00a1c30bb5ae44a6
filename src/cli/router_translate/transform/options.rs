//! Options of `transform`.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::classad::stream::AdForm;
use crate::cli::common::{
    AdSelectionOptions, ClockOptions, ConfigOptions, OptionGroup, OutputOptions, Problem, ProgramContext,
    QuirksOptions,
};
use crate::cli::router_translate::rules::RulesOptions;
use crate::config::{Config, ConfigView, MacroSource};
use crate::os::{RealWorld, SharedUserMaps, find_overwritten_input};
use crate::runner::configured_world;
use crate::transform::TransformSession;

/// Options for the ads, their transforms and the output.
#[derive(Args, Debug)]
pub(in crate::cli::router_translate) struct TransformArguments {
    #[command(flatten)]
    pub(super) rules: RulesOptions,
    /// Set a macro, as NAME=VALUE of condor_transform_ads does; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = crate::cli::common::parse_assignment)]
    pub(super) macros: Vec<(String, String)>,
    /// Read ads from FILE; may be repeated; '-' is standard input
    #[arg(long, visible_alias = "in", value_name = "FILE", help_heading = OptionGroup::Input)]
    pub(super) ads: Vec<PathBuf>,
    /// Input format: long, json, jsonl, xml, new, newl [default: detected]
    #[arg(long, value_name = "FORM", value_parser = crate::cli::common::parse_form, hide_short_help = true)]
    pub(in crate::cli::router_translate) from: Option<AdForm>,
    #[command(flatten)]
    pub(super) selection: AdSelectionOptions,
    /// Stop at the first malformed ad [default: report it and continue]
    #[arg(long, help_heading = OptionGroup::Input, hide_short_help = true)]
    pub(in crate::cli::router_translate) strict_input: bool,
    /// Write the ads to FILE [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Print what each statement did to each ad to standard error
    #[arg(long)]
    pub(super) trace: bool,
    /// Print the changes of each ad to standard error
    #[arg(long)]
    pub(super) diff: bool,
    /// Number of threads [default: number of CPUs]
    #[arg(long, short = 'j', value_name = "N", hide_short_help = true)]
    pub(super) threads: Option<NonZero<usize>>,
    /// Write XML
    #[arg(long, conflicts_with_all = ["json", "jsonl", "long", "new"], hide_short_help = true)]
    pub(super) xml: bool,
    /// Write ads in brackets
    #[arg(long, conflicts_with_all = ["json", "jsonl", "long"], hide_short_help = true)]
    pub(super) new: bool,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) clock: ClockOptions,
    #[command(flatten)]
    pub(in crate::cli::router_translate) quirks: QuirksOptions,
    /// Ad files, read after those of --ads
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

impl TransformArguments {
    /// Returns the world with the clock that the options request, and the evaluation mode and user maps of the
    /// configuration.
    pub(super) fn make_world(&self, config: Option<&Config>, program: &ProgramContext) -> RealWorld {
        match config {
            Some(config) => configured_world(self.clock.world(), config, &mut |text| program.warn(text)),
            None => self.clock.world(),
        }
    }

    /// Returns a world with the same settings for another thread. The threads share the user maps.
    pub(super) fn make_thread_world(&self, config: Option<&Config>, maps: SharedUserMaps) -> RealWorld {
        self.clock.world().with_strict_mode(config.is_some_and(Config::is_strict)).with_shared_user_maps(maps)
    }

    /// Creates the session in which transforms are applied.
    pub(super) fn new_session<'w>(
        &self,
        world: &'w RealWorld,
        view: Option<&'w ConfigView<'w>>,
    ) -> TransformSession<'w> {
        let mut session = TransformSession::new(world, view.map(|view| view as &dyn MacroSource));
        session.quirks = self.quirks.quirks;
        session.commands = self.rules.command_policy();
        for (name, value) in &self.macros {
            session.macros.set(name.as_bytes(), value.as_str());
        }
        session.macros.commit();
        session
    }

    /// Returns the files of ads.
    pub(super) fn input_files(&self) -> Vec<&Path> {
        let mut inputs: Vec<&Path> = self.ads.iter().chain(&self.files).map(PathBuf::as_path).collect();
        if inputs.is_empty() {
            inputs.push(Path::new("-"));
        }
        inputs
    }

    /// Refuses an output file that is also an input.
    pub(super) fn refuse_overwriting_inputs(&self) -> Result<(), Problem> {
        let inputs = self.input_files();
        inputs
            .into_iter()
            .chain(self.rules.rules.iter().map(PathBuf::as_path))
            .try_for_each(|path| self.refuse_overwriting(path))
    }

    /// Refuses an output file that is the file `input`.
    pub(super) fn refuse_overwriting(&self, input: &Path) -> Result<(), Problem> {
        let Some(out) = &self.out else { return Ok(()) };
        match find_overwritten_input(out, [input]) {
            None => Ok(()),
            Some(input) => {
                let input =
                    if input.as_os_str() == "-" { "<stdin>".into() } else { input.display().to_string() };
                let message = format!("--out '{}' would overwrite the input '{input}'", out.display());
                Err(Problem::usage(message).hint("write to another file and rename it afterwards"))
            }
        }
    }
}
