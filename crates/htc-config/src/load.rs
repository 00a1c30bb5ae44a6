//! Reads a whole configuration.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use crate::config_error::ConfigError;
use crate::config_view::ConfigView;
use crate::load_options::LoadOptions;
use crate::load_warning::LoadWarning;
use crate::loader::{Loader, SkippedDefinition, UnreadSource};
use crate::macro_definition::LookupContext;
use crate::macro_set::MacroSet;
use htc_base::world::World;

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Config {
    /// Definitions from all sources.
    pub set: MacroSet,
    /// The daemon for which the configuration was read; statements may depend on it.
    pub context: LookupContext,
    /// The root file, if there was one.
    pub root: Option<BString>,
    /// The other files and commands, in the order in which `-config` lists them.
    pub local_sources: Vec<BString>,
    /// Definitions inside a false `if`; empty unless [`LoadOptions::keep_texts`] is set.
    pub skipped: Vec<SkippedDefinition>,
    /// Sources that were not read; empty unless [`LoadOptions::continue_after_errors`] is set.
    pub unread_sources: Vec<UnreadSource>,
}

/// Result of reading a configuration: everything that could be read, all messages, and the error that stopped
/// it.
#[derive(Debug)]
pub struct LoadAttempt {
    /// The configuration up to the error, if there is one.
    pub config: Config,
    /// Warnings in the order in which they were found.
    pub warnings: Vec<LoadWarning>,
    /// Errors after which reading continued.
    pub skipped_errors: Vec<ConfigError>,
    /// Invalid statements in branches that are not taken here, if texts are kept: daemons stop at them on machines
    /// where the branch is taken.
    pub branch_errors: Vec<ConfigError>,
    /// Error that stopped the reading.
    pub error: Option<ConfigError>,
}

impl Config {
    /// Reads all sources in the reference's order (`real_config`, condor_config.cpp). [`Config::is_strict`]
    /// says in which mode ClassAds must be read and evaluated with this configuration. A warning that the
    /// reference prints several times, since it checks several times, is returned once.
    ///
    /// # Errors
    /// A source cannot be read, or a statement is invalid. The error contains the reference's message, the
    /// place and a hint.
    pub fn load(
        world: &dyn World,
        context: &LookupContext,
        options: &LoadOptions,
    ) -> Result<(Config, Vec<LoadWarning>), ConfigError> {
        let LoadAttempt { config, warnings, error, .. } = Config::load_partially(world, context, options);
        match error {
            Some(error) => Err(error),
            None => {
                let mut texts = BTreeSet::new();
                let is_new = |warning: &LoadWarning| texts.insert(warning.text.clone());
                Ok((config, warnings.into_iter().filter(is_new).collect()))
            }
        }
    }

    /// Does the same as [`Config::load`], but also returns the part of the configuration that was read before
    /// an error.
    pub fn load_partially(world: &dyn World, context: &LookupContext, options: &LoadOptions) -> LoadAttempt {
        let mut loader = Loader::new(world, context, options);
        let result = loader.read_all_sources();
        let Loader {
            set,
            context,
            messages,
            root,
            local_sources,
            skipped,
            unread_sources,
            skipped_errors,
            branch_errors,
            ..
        } = loader;
        let config = Config { set, context, root, local_sources, skipped, unread_sources };
        let warnings = messages.iter().filter(|message| !message.is_error);
        let warnings: Vec<LoadWarning> = warnings
            .map(|message| LoadWarning { text: message.text.clone(), subject: message.subject.clone() })
            .collect();
        let error = result.err().map(|failure| ConfigError {
            warnings: messages.iter().take_while(|message| !message.is_error).count(),
            lines: messages.into_iter().map(|message| message.text).collect(),
            place: failure.place,
            hint: failure.hint,
            status: failure.status,
            is_config_missing: failure.is_config_missing,
            is_endif_missing: failure.is_endif_missing,
        });
        LoadAttempt { config, warnings, skipped_errors, branch_errors, error }
    }

    /// Returns a copy of the configuration in which definitions of branches that are not taken here are in effect, with
    /// these definitions. Of each name, definition number `round` (from 0) is chosen. Returns `None` if no name has so
    /// many of them.
    pub fn with_skipped_definitions(&self, round: usize) -> Option<(Config, Vec<&SkippedDefinition>)> {
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let is_of_round = |skipped: &&SkippedDefinition| {
            let count = counts.entry(skipped.name.to_ascii_lowercase()).or_default();
            *count += 1;
            *count == round + 1
        };
        let checkable = self.skipped.iter().filter(|skipped| skipped.is_checkable());
        let chosen: Vec<&SkippedDefinition> = checkable.filter(is_of_round).collect();
        if chosen.is_empty() {
            return None;
        }
        let mut set = self.set.clone();
        for skipped in &chosen {
            set.insert(&skipped.name, skipped.value.clone(), skipped.place);
        }
        let skipped = Vec::new();
        let local_sources = self.local_sources.clone();
        let (context, root) = (self.context.clone(), self.root.clone());
        let unread_sources = self.unread_sources.clone();
        Some((Config { set, context, root, local_sources, skipped, unread_sources }, chosen))
    }

    /// Returns true if ClassAds are read and evaluated in strict mode with this configuration
    /// (STRICT_CLASSAD_EVALUATION). The configuration's own values always are evaluated in its own mode,
    /// whatever the mode of the world.
    pub fn is_strict(&self) -> bool {
        self.set.strict
    }

    /// Returns the values as the subsystem for which the configuration was read sees them. The time, random
    /// numbers, the environment and properties of the machine come from `world`.
    pub fn view<'a>(&'a self, world: &'a dyn World) -> ConfigView<'a> {
        ConfigView::new(&self.set, self.context.clone(), world)
    }

    /// Returns the values as a slot sees them: settings of the slot (`SLOT1_NAME`) take precedence over those
    /// of its type (`SLOT_TYPE_1_NAME`), and these over plain ones.
    pub fn view_for_slot<'a>(&'a self, slot_type: Option<u32>, world: &'a dyn World) -> ConfigView<'a> {
        self.view(world).for_slot(slot_type)
    }
}
