//! Reading a whole configuration, and the result.

use std::collections::BTreeSet;
use std::fmt;

use bstr::BString;

use crate::config_error::ConfigError;
use crate::config_view::ConfigView;
use crate::load_options::LoadOptions;
use crate::loader::{Loader, SkippedDefinition, UnreadSource};
use crate::macro_set::{LookupContext, MacroSet};
use htc_base::world::World;

/// Something that was said while a configuration was read and did not stop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadWarning {
    /// The reference's words where it has any.
    pub text: BString,
}

impl fmt::Display for LoadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Config {
    /// All definitions.
    pub set: MacroSet,
    /// For whom it was read; statements may depend on it.
    pub context: LookupContext,
    /// The root file, if there was one.
    pub root: Option<BString>,
    /// The other files and commands in the order in which `-config` lists them.
    pub local_sources: Vec<BString>,
    /// Definitions that conditions left out, if texts are kept.
    pub skipped: Vec<SkippedDefinition>,
    /// Sources that it names and that were not read, if reading goes on behind them.
    pub unread_sources: Vec<UnreadSource>,
}

/// What came of an attempt: as much of the configuration as could be read, all that was said, and why it stopped.
#[derive(Debug)]
pub struct LoadAttempt {
    /// The configuration as far as it came.
    pub config: Config,
    /// Warnings, in order.
    pub warnings: Vec<LoadWarning>,
    /// Errors that would have stopped it if it had not continued after errors.
    pub skipped_errors: Vec<ConfigError>,
    /// The error that stopped it.
    pub error: Option<ConfigError>,
}

impl Config {
    /// Reads all sources in the reference's order (`real_config`, condor_config.cpp). [`Config::is_strict`] says in which mode
    /// ClassAds are to be read and evaluated with it. What the reference says several times, since it looks several times, is
    /// one warning.
    ///
    /// # Errors
    /// A source that cannot be read, or a statement that is wrong: the error carries the reference's words, the place
    /// and a hint.
    pub fn load(
        world: &dyn World,
        who: &LookupContext,
        options: &LoadOptions,
    ) -> Result<(Config, Vec<LoadWarning>), ConfigError> {
        let LoadAttempt { config, warnings, error, .. } = Config::load_partially(world, who, options);
        match error {
            Some(error) => Err(error),
            None => {
                let mut said = BTreeSet::new();
                let is_new = |warning: &LoadWarning| said.insert(warning.text.clone());
                Ok((config, warnings.into_iter().filter(is_new).collect()))
            }
        }
    }

    /// As [`Config::load`], for those who want what was read before an error, too.
    pub fn load_partially(world: &dyn World, who: &LookupContext, options: &LoadOptions) -> LoadAttempt {
        let mut loader = Loader::new(world, who, options);
        let result = loader.read_all_sources();
        let Loader {
            set,
            context: who,
            messages,
            root,
            local_sources,
            skipped,
            unread_sources: not_read,
            skipped_errors: stops,
            ..
        } = loader;
        let config = Config { set, context: who, root, local_sources, skipped, unread_sources: not_read };
        let warnings = messages.iter().filter(|said| !said.is_error);
        let warnings: Vec<LoadWarning> =
            warnings.map(|said| LoadWarning { text: said.text.clone() }).collect();
        let error = result.err().map(|failure| ConfigError {
            warnings: messages.iter().take_while(|said| !said.is_error).count(),
            lines: messages.into_iter().map(|said| said.text).collect(),
            place: failure.place,
            hint: failure.hint,
            status: failure.status,
        });
        LoadAttempt { config, warnings, skipped_errors: stops, error }
    }

    /// Whether ClassAds are read and evaluated in strict mode with it (STRICT_CLASSAD_EVALUATION). Its own values are, whatever the
    /// mode of the world in which they are looked at.
    pub fn is_strict(&self) -> bool {
        self.set.strict
    }

    /// The values as the subsystem for which it was read sees them. What expansion asks of the outside (time, chance,
    /// environment, facts of the machine) comes from `world`.
    pub fn view<'a>(&'a self, world: &'a dyn World) -> ConfigView<'a> {
        ConfigView::new(&self.set, self.context.clone(), world)
    }

    /// The values as a slot sees them: settings of the slot (`SLOT1_NAME`) go before those of its type
    /// (`SLOT_TYPE_1_NAME`), these before the plain ones.
    pub fn view_for_slot<'a>(&'a self, slot_type: Option<u32>, world: &'a dyn World) -> ConfigView<'a> {
        self.view(world).for_slot(slot_type)
    }
}
