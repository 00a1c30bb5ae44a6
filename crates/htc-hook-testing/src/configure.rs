//! What a configuration says of a call: the hook and its keyword, the slot and its policy, the route. Options win.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::ad_changes::AdChanges;
use super::call_setup::CallSetup;
use super::caller::{caller_environment, default_config, default_settings};
use htc_base::text::arguments::ArgumentError;
use htc_config::{CommandPolicy, Config, ConfigError, ConfigView, LookupContext};
use htc_hook::{HookType, path_check};
use htc_os::RealWorld;
use htc_router as router;
use htc_router::{RouteLoadContext, RouteTable};
use htc_runner::configured_world;
use htc_runner::hook_environment::ConfigSelection;
use htc_slot::ConfigureError;
use htc_starter::StarterSettings;

/// Where the slot's ad comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotAdSource {
    /// It is built in: the slot of the configuration stands in its place, where that makes one.
    #[default]
    BuiltIn,
    /// It is a built-in one of a kind that was asked for; the policy is that of the configuration.
    Sample,
    /// It was given, and stays as it is.
    FromUser,
}

/// How a call is made, as far as somebody has said so.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Which configuration is read.
    pub configuration: ConfigSelection,
    /// The hook; else the one that the configuration names.
    pub hook: Option<PathBuf>,
    /// Whether its arguments are given; else the configuration may name some.
    pub has_arguments: bool,
    /// The keyword; else the one that the caller finds.
    pub keyword: Option<String>,
    /// Name of the slot.
    pub slot: String,
    /// Its type, for `SLOT_TYPE_<N>` knobs.
    pub slot_type: Option<u32>,
    /// Where its ad comes from.
    pub slot_ad: SlotAdSource,
    /// Name of a route of the configuration.
    pub route: Option<String>,
    /// TargetUniverse instead of that of the route.
    pub target_universe: Option<i64>,
    /// GridResource instead of that of the route.
    pub grid_resource: Option<String>,
    /// Whether the hook runs although its caller would refuse the path.
    pub ignore_path_check: bool,
    /// What is changed in the ads.
    pub changes: AdChanges,
}

/// Why a configuration does not lead to a call.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It cannot be read.
    #[error("cannot read the configuration")]
    Config(#[source] ConfigError),
    /// The table of defaults cannot be used on this machine.
    #[error(transparent)]
    Defaults(ConfigError),
    /// The policy of the slot does not parse.
    #[error(transparent)]
    Policy(#[from] ConfigureError),
    /// The caller finds no keyword.
    #[error("the {caller} has no keyword, so that it calls no hooks{tried}")]
    NoKeyword {
        /// Who calls.
        caller: &'static str,
        /// Where it looked, each on a line of its own.
        tried: String,
    },
    /// The configuration names no such hook.
    #[error("{knob} is not set: no such hook is called")]
    NotSet {
        /// The knob that would name it.
        knob: BString,
        /// A knob that was probably meant to.
        misnamed: Option<String>,
    },
    /// The arguments that the configuration gives do not parse.
    #[error("{knob}: {error}")]
    Arguments {
        /// Where they stand.
        knob: BString,
        /// What is wrong with them.
        error: ArgumentError,
    },
    /// There is no such slot.
    #[error("the configuration makes no slot '{name}' on this machine")]
    NoSlot {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There is no such route.
    #[error("the configuration has no route '{name}' that can be used{why}")]
    NoRoute {
        /// Its name.
        name: String,
        /// What is wrong with others, each on a line of its own.
        why: String,
        /// Those that there are.
        known: Vec<String>,
    },
}

impl SetupError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SetupError::NoKeyword { .. } => Some("--keyword WORD uses one all the same".to_owned()),
            SetupError::NotSet { misnamed, .. } => misnamed.clone(),
            SetupError::NoSlot { known, .. } => Some(format!("its slots are: {}", known.join(", "))),
            SetupError::NoRoute { known, .. } if known.is_empty() => {
                Some("it has none that can be used".to_owned())
            }
            SetupError::NoRoute { known, .. } => Some(format!("its routes are: {}", known.join(", "))),
            _ => None,
        }
    }
}

impl CallSetup {
    /// Reads the configuration where one is wanted, and finds the hook. `warn` gets what is to be said of the configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or does not lead to a call.
    pub fn configure(&mut self, options: &CallOptions, warn: &mut dyn FnMut(&str)) -> Result<(), SetupError> {
        let choice = &options.configuration;
        self.daemon = caller_environment(&*self.world, choice, self.quirks);
        if options.hook.is_none() || choice.file.is_some() || !choice.parameters.is_empty() {
            self.apply_configuration(options, warn)?;
        } else {
            self.apply_defaults(options)?;
        }
        if let Some(path) = &options.hook {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.path = path.as_os_str().as_bytes().into();
            let refusal =
                path_check::check_path(&*self.world, &self.path).err().map(|error| error.to_string());
            self.refusal = refusal.or(self.refusal.take());
        }
        if options.ignore_path_check {
            self.refusal = None;
        }
        Ok(())
    }

    /// For whom the configuration is read.
    fn config_subject(&self) -> LookupContext {
        LookupContext { subsystem: self.case.hook.caller().subsystem().into(), local_name: "".into() }
    }

    fn apply_configuration(
        &mut self,
        options: &CallOptions,
        warn: &mut dyn FnMut(&str),
    ) -> Result<(), SetupError> {
        let hook = self.case.hook;
        let load = options.configuration.load_options(CommandPolicy::BOUNDED_RUN);
        let (config, warnings) =
            Config::load(&*self.world, &self.config_subject(), &load).map_err(SetupError::Config)?;
        for warning in warnings {
            warn(warning.text.to_str_lossy().trim());
        }
        let world = Rc::new(configured_world(RealWorld::clone(&self.world), &config, warn));
        self.world = Rc::clone(&world);
        let view = config.view_for_slot(options.slot_type, &*world);
        if let Ok(settings) = StarterSettings::read(&view, Some(&self.case.slot), &*world) {
            self.settings = settings;
        }
        self.load_slot_policy(&config, options)?;
        let reads_slot = hook == HookType::FetchWork || self.reads_slot_policy();
        let is_made = options.slot_ad == SlotAdSource::BuiltIn
            && reads_slot
            && self.use_configured_slot(&config, options, warn)?;
        if options.slot_ad != SlotAdSource::FromUser && !is_made {
            self.apply_slot_policy(&config, options)?;
        }
        self.look_up_hook(&view, options)?;
        if let (HookType::TranslateJob, Some(name)) = (hook, &options.route) {
            self.apply_route(&view, name, options)?;
        }
        let limit = view.int("PIPE_BUFFER_MAX").ok().flatten();
        if let Some(limit) = limit.and_then(|setting| usize::try_from(setting.value).ok()) {
            self.case.output_limit = limit;
        }
        Ok(())
    }

    /// Without a configuration the table of defaults says what slot and starter are like.
    fn apply_defaults(&mut self, options: &CallOptions) -> Result<(), SetupError> {
        if let Some(keyword) = &options.keyword {
            self.case.keyword = keyword.as_str().into();
        }
        self.settings = default_settings();
        if self.reads_slot_policy() {
            let config = default_config(self.config_subject()).map_err(SetupError::Defaults)?;
            self.load_slot_policy(&config, options)?;
        }
        Ok(())
    }

    /// What the hook is told of a route of the configuration.
    fn apply_route(
        &mut self,
        view: &ConfigView<'_>,
        name: &str,
        options: &CallOptions,
    ) -> Result<(), SetupError> {
        let knobs = router::RouterParameters::load(view, &mut |_| {});
        let mut notes = Vec::new();
        let table = RouteTable::load(
            RouteLoadContext { view, parameters: &knobs, world: &*self.world, quirks: self.quirks },
            &mut |note| {
                notes.push(note.text.trim().as_bstr().to_string());
            },
        );
        let Some(route) = table.index_of(name.as_bytes()).and_then(|at| table.routes.get(at)) else {
            // A configuration of hooks alone: the options say what the route is.
            if table.routes.is_empty() && options.target_universe.is_some() {
                return Ok(());
            }
            return Err(SetupError::NoRoute {
                name: name.to_owned(),
                why: notes.iter().map(|note| format!("\n  {note}")).collect(),
                known: table.routes.iter().map(|route| route.name.to_string()).collect(),
            });
        };
        let of_case = &mut self.case.route;
        of_case.name = route.name.clone();
        of_case.universe = options.target_universe.unwrap_or(route.universe);
        if options.grid_resource.is_none() {
            of_case.grid_resource = route.grid_resource.clone();
        }
        of_case.edit_in_place |= route.edit_job_in_place.is_true(&self.case.job, &*self.world);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use htc_base::quirks::QuirkMode;
    use htc_starter::hooks;

    fn choice(knobs: &[(&str, &str)]) -> ConfigSelection {
        let knobs = knobs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ConfigSelection { file: Some("/dev/null".into()), parameters: knobs, no_env: true }
    }

    fn options() -> CallOptions {
        CallOptions { slot: "slot1".to_owned(), ..CallOptions::default() }
    }

    /// A call of a hook as these knobs make it, and what was said of them.
    fn configured(
        hook: HookType,
        knobs: &[(&str, &str)],
        options: &CallOptions,
    ) -> (CallSetup, Result<(), SetupError>) {
        let world = Rc::new(RealWorld::new());
        let mut setup = CallSetup::without_hook(world, Case::new(hook), QuirkMode::Manual);
        let options = CallOptions { configuration: choice(knobs), ..options.clone() };
        let done = setup.configure(&options, &mut |_| {});
        (setup, done)
    }

    #[test]
    fn the_hook_is_the_one_that_the_slot_would_call() {
        let knobs = [
            ("SLOT1_JOB_HOOK_KEYWORD", "ONE"),
            ("ONE_HOOK_FETCH_WORK", "/bin/true"),
            ("ONE_HOOK_FETCH_WORK_TIMEOUT", "5"),
        ];
        let (setup, done) = configured(HookType::FetchWork, &knobs, &options());
        done.unwrap();
        assert_eq!((setup.path, setup.case.keyword, setup.refusal), ("/bin/true".into(), "ONE".into(), None));
        assert_eq!(
            setup.ignored_settings,
            [
                "ONE_HOOK_FETCH_WORK_TIMEOUT is set, but nobody reads it: this hook is waited for without limit"
            ]
        );
    }

    #[test]
    fn a_caller_without_keyword_says_where_it_looked() {
        let (_, done) = configured(HookType::FetchWork, &[], &options());
        let error = done.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the startd has no keyword, so that it calls no hooks\n  "), "{text}");
        assert_eq!(error.hint().as_deref(), Some("--keyword WORD uses one all the same"));
    }

    #[test]
    fn a_knob_that_nobody_reads_is_named() {
        let options = CallOptions { keyword: Some("K".to_owned()), ..options() };
        let (_, done) = configured(HookType::FetchWork, &[("K_HOOK_FETCH_JOB", "/bin/true")], &options);
        let error = done.unwrap_err();
        assert_eq!(error.to_string(), "K_HOOK_FETCH_WORK is not set: no such hook is called");
        assert!(error.hint().unwrap().starts_with("K_HOOK_FETCH_JOB is set, but nobody reads it"));
    }

    #[test]
    fn one_bad_path_refuses_the_job_whichever_hook_is_tried() {
        let knobs = [("K_HOOK_PREPARE_JOB", "/bin/true"), ("K_HOOK_UPDATE_JOB_INFO", "/no/such/hook")];
        let options = CallOptions { keyword: Some("K".to_owned()), ..options() };
        let (setup, done) = configured(HookType::PrepareJob, &knobs, &options);
        done.unwrap();
        let config = default_config(setup.config_subject()).unwrap();
        assert!(hooks::find_hooks_of_keyword(b"K", &config.view(&*setup.world), &*setup.world).1.is_none());
        assert!(setup.refusal.unwrap().contains("/no/such/hook"));
    }

    #[test]
    fn a_route_gives_its_words_unless_options_do() {
        let knobs = [
            ("JOB_ROUTER_ROUTE_NAMES", "far"),
            ("JOB_ROUTER_ROUTE_far", "UNIVERSE grid\nGridResource = \"batch slurm\"\nREQUIREMENTS true\n"),
            ("K_HOOK_TRANSLATE_JOB", "/bin/true"),
        ];
        let named = |route: &str| CallOptions {
            keyword: Some("K".to_owned()),
            route: Some(route.to_owned()),
            ..options()
        };
        let (_, done) = configured(HookType::TranslateJob, &knobs, &named("near"));
        let error = done.unwrap_err();
        assert!(error.to_string().starts_with("the configuration has no route 'near' that can be used"));
        let own = CallOptions { target_universe: Some(5), ..named("far") };
        let (setup, done) = configured(HookType::TranslateJob, &knobs, &own);
        match done {
            Ok(()) => {
                let route = setup.case.route;
                assert_eq!((route.name, route.universe), ("far".into(), 5));
                assert_eq!(route.grid_resource, "batch slurm");
            }
            Err(error) => panic!("{error}; {:?}", error.hint()),
        }
    }

    #[test]
    fn a_fetch_hook_reads_the_slot_that_the_configuration_makes() {
        let knobs = [
            ("STARTD_JOB_HOOK_KEYWORD", "K"),
            ("K_HOOK_FETCH_WORK", "/bin/true"),
            ("START", "Owner == \"alice\""),
            ("SLOT_TYPE_1", "cpus=1"),
            ("NUM_SLOTS_TYPE_1", "1"),
            ("STARTD_ATTRS", "Site"),
            ("Site", "\"here\""),
        ];
        let (setup, done) = configured(HookType::FetchWork, &knobs, &options());
        done.unwrap();
        assert_eq!(setup.case.slot.string("Site"), Some("here".into()));
        // What was given stays as it is.
        let given = CallOptions { slot_ad: SlotAdSource::FromUser, ..options() };
        let (setup, done) = configured(HookType::FetchWork, &knobs, &given);
        done.unwrap();
        assert!(!setup.case.slot.contains("Site"));
    }
}
