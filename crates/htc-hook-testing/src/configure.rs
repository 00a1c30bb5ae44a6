//! Setup of a call from a configuration: the hook and its keyword, the slot and its policy, and the route. Options on
//! the command line override the configuration.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::ad_changes::AdChanges;
use super::call_setup::CallSetup;
use super::caller::{caller_environment, default_config, default_settings};
use htc_base::text::arguments::ArgumentError;
use htc_base::text::similar_names;
use htc_base::world::World as _;
use htc_config::{CommandPolicy, Config, ConfigError, ConfigView, LookupContext};
use htc_hook::{HookType, path_check};
use htc_os::RealWorld;
use htc_router as router;
use htc_router::table_note::NoteSubject;
use htc_router::{Route, RouteChoice, RouteLoadContext, RouteTable, RoutingPass};
use htc_runner::configured_world;
use htc_runner::hook_environment::ConfigSelection;
use htc_slot::ConfigureError;
use htc_starter::StarterSettings;

/// Source of the slot ad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotAdSource {
    /// Built-in ad, which is replaced by the slot ad of the configuration if the configuration has slots.
    #[default]
    BuiltIn,
    /// Built-in ad of a kind that the user selected, with the policy of the configuration.
    Sample,
    /// Ad given by the user, which is used unchanged.
    FromUser,
}

/// Options of a call that override the configuration.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Configuration to read.
    pub configuration: ConfigSelection,
    /// Path of the hook, or `None` to use the configured path.
    pub hook: Option<PathBuf>,
    /// True if the user gave arguments for the hook, which replace the configured arguments.
    pub has_arguments: bool,
    /// Hook keyword, or `None` to find the keyword as the caller does.
    pub keyword: Option<String>,
    /// Name of the slot for which the hook is called.
    pub slot: String,
    /// Number of the slot type, for `SLOT_TYPE_<N>` parameters.
    pub slot_type: Option<u32>,
    /// Source of the slot ad.
    pub slot_ad: SlotAdSource,
    /// Name of a configured route, or `None` to use the route that the router chooses for the job.
    pub route: Option<String>,
    /// TargetUniverse that replaces that of the route, or `None` to keep it.
    pub target_universe: Option<i64>,
    /// GridResource that replaces that of the route, or `None` to keep it.
    pub grid_resource: Option<String>,
    /// True to run the hook even if its caller would refuse the path.
    pub ignore_path_check: bool,
    /// Changes to the ads of the call.
    pub changes: AdChanges,
}

/// Reason why no call can be set up from a configuration.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The configuration cannot be read.
    #[error("cannot read the configuration")]
    Config(#[source] ConfigError),
    /// The parameter defaults cannot be used on this machine.
    #[error(transparent)]
    Defaults(ConfigError),
    /// The policy of the slot cannot be parsed.
    #[error(transparent)]
    Policy(#[from] ConfigureError),
    /// The caller finds no hook keyword.
    #[error("the {caller} has no keyword, so it calls no hooks{tried}")]
    NoKeyword {
        /// Daemon that calls the hook.
        caller: &'static str,
        /// Places where the keyword was searched for, one per line.
        tried: String,
    },
    /// The hook is not configured.
    #[error("{knob} is not set, so no such hook is called{tried}")]
    NotSet {
        /// Parameter that would name the hook.
        knob: BString,
        /// Hook keyword of the caller.
        keyword: BString,
        /// Steps that found the keyword, one per line.
        tried: String,
        /// Hint about a parameter that is set and was probably meant to name the hook, or `None`.
        misnamed: Option<String>,
    },
    /// The configured arguments cannot be parsed.
    #[error("{knob}: {error}")]
    Arguments {
        /// Parameter that contains the arguments.
        knob: BString,
        /// Parse error.
        error: ArgumentError,
    },
    /// No slot has this name.
    #[error("the configuration defines no slot '{name}' on this machine")]
    NoSlot {
        /// Name of the slot.
        name: String,
        /// Names of the existing slots.
        known: Vec<String>,
    },
    /// No usable route has this name.
    #[error("the configuration has no usable route '{name}'{why}")]
    NoRoute {
        /// Name of the route.
        name: String,
        /// Errors of the routes, one per line.
        why: String,
        /// Names of the usable routes.
        known: Vec<String>,
    },
}

impl SetupError {
    /// Adds a hint if a keyword with a similar name has this hook.
    fn with_similar_keyword(mut self, view: &ConfigView<'_>, hook: HookType) -> Self {
        if let SetupError::NotSet { keyword, misnamed: misnamed @ None, .. } = &mut self {
            let ending = format!("_HOOK_{}", hook.name());
            let keywords = view.names().filter_map(|name| {
                let (keyword, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
                end.eq_ignore_ascii_case(ending.as_bytes()).then(|| keyword.to_str().ok())?
            });
            let found = similar_names::nearest(keyword.as_slice(), keywords);
            *misnamed =
                found.map(|similar| format!("did you mean the keyword {similar}? {similar}{ending} is set"));
        }
        self
    }

    /// Returns a hint on how to fix the error, or `None`.
    pub fn hint(&self) -> Option<String> {
        match self {
            SetupError::NoKeyword { .. } => Some("select a keyword with --keyword WORD".to_owned()),
            SetupError::NotSet { misnamed, .. } => misnamed.clone(),
            SetupError::NoSlot { known, .. } => Some(format!("the slots are: {}", known.join(", "))),
            SetupError::NoRoute { known, .. } if known.is_empty() => {
                Some("it has no usable route".to_owned())
            }
            SetupError::NoRoute { known, .. } => Some(format!("the routes are: {}", known.join(", "))),
            _ => None,
        }
    }
}

/// Maximum number of errors of routes that are shown with an unknown route.
const MAX_ROUTE_NOTES: usize = 5;

impl CallSetup {
    /// Reads the configuration if one is needed, and finds the hook. Calls `warn` with each warning about the
    /// configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or no call can be set up from it.
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

    /// Returns the subsystem whose view of the configuration is read.
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
        self.look_up_hook(&view, options).map_err(|error| error.with_similar_keyword(&view, hook))?;
        if hook == HookType::TranslateJob {
            self.apply_route(&view, options)?;
        }
        let limit = view.int("PIPE_BUFFER_MAX").ok().flatten();
        if let Some(limit) = limit.and_then(|setting| usize::try_from(setting.value).ok()) {
            self.case.output_limit = limit;
        }
        Ok(())
    }

    /// Uses the default values of parameters for slot and starter if no configuration is read.
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

    /// Sets the route of the case from the configuration: the route with the given name, otherwise the one that the router chooses
    /// for the job.
    fn apply_route(&mut self, view: &ConfigView<'_>, options: &CallOptions) -> Result<(), SetupError> {
        let parameters = router::RouterParameters::load(view, &mut |_| {});
        let mut notes = Vec::new();
        let table = RouteTable::load(
            RouteLoadContext { view, parameters: &parameters, world: &*self.world, quirks: self.quirks },
            &mut |note| {
                // The router also logs each route that it loads.
                if matches!(note.subject, NoteSubject::RouteRefused(..) | NoteSubject::RouteNotFound(_)) {
                    notes.push(note.text.trim().as_bstr().to_string());
                }
            },
        );
        let Some(name) = &options.route else {
            self.use_chosen_route(&table, &parameters, options);
            return Ok(());
        };
        let Some(route) = table.index_of(name.as_bytes()).and_then(|at| table.routes.get(at)) else {
            // The configuration has hooks but no routes, so the options describe the route.
            if table.routes.is_empty() && options.target_universe.is_some() {
                return Ok(());
            }
            return Err(SetupError::NoRoute {
                name: name.to_owned(),
                why: notes.iter().take(MAX_ROUTE_NOTES).map(|note| format!("\n  {note}")).collect(),
                known: table.routes.iter().map(|route| route.name.to_string()).collect(),
            });
        };
        self.use_route(route, options);
        Ok(())
    }

    /// Uses the route that the router chooses for the job, and notes the choice. Options that describe a route replace it.
    fn use_chosen_route(
        &mut self,
        table: &RouteTable,
        parameters: &router::RouterParameters,
        options: &CallOptions,
    ) {
        if table.routes.is_empty() || options.target_universe.is_some() || options.grid_resource.is_some() {
            return;
        }
        let world = Rc::clone(&self.world);
        let states = table.states_from_queue(None, world.now().epoch(), &*world);
        let Ok(mut pass) = RoutingPass::new(table, parameters, None, states, &*world) else { return };
        let mut job = self.case.job.clone();
        router::forget_routing(&mut job);
        let note = match pass.choose(&job) {
            RouteChoice::Route(at) => {
                self.use_route(&table.routes[at], options);
                format!(
                    "using the route '{}', which the router chooses for this job (see --route)",
                    self.case.route.name
                )
            }
            choice => format!(
                "the router has no route for this job ({}): using the built-in route '{}' (see --route)",
                pass.unrouted_reason(choice, &job, None),
                self.case.route.name
            ),
        };
        self.route_note = Some(note);
    }

    fn use_route(&mut self, route: &Route, options: &CallOptions) {
        let of_case = &mut self.case.route;
        of_case.name = route.name.clone();
        of_case.universe = options.target_universe.unwrap_or(route.universe);
        if options.grid_resource.is_none() {
            of_case.grid_resource = route.grid_resource.clone();
        }
        of_case.edit_in_place |= route.edit_job_in_place.is_true(&self.case.job, &*self.world);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use htc_base::quirks::QuirkMode;
    use htc_starter::hooks;

    fn choice(parameters: &[(&str, &str)]) -> ConfigSelection {
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ConfigSelection { file: Some("/dev/null".into()), parameters, no_env: true }
    }

    fn options() -> CallOptions {
        CallOptions { slot: "slot1".to_owned(), ..CallOptions::default() }
    }

    /// Returns a call configured with the given parameters, and the result of `configure`.
    fn configured(
        hook: HookType,
        parameters: &[(&str, &str)],
        options: &CallOptions,
    ) -> (CallSetup, Result<(), SetupError>) {
        let world = Rc::new(RealWorld::new());
        let mut setup = CallSetup::without_hook(world, Case::new(hook), QuirkMode::Manual);
        let options = CallOptions { configuration: choice(parameters), ..options.clone() };
        let result = setup.configure(&options, &mut |_| {});
        (setup, result)
    }

    #[test]
    fn the_hook_is_the_one_that_the_slot_would_call() {
        let parameters = [
            ("SLOT1_JOB_HOOK_KEYWORD", "ONE"),
            ("ONE_HOOK_FETCH_WORK", "/bin/true"),
            ("ONE_HOOK_FETCH_WORK_TIMEOUT", "5"),
        ];
        let (setup, result) = configured(HookType::FetchWork, &parameters, &options());
        result.unwrap();
        assert_eq!((setup.path, setup.case.keyword, setup.refusal), ("/bin/true".into(), "ONE".into(), None));
        assert_eq!(
            setup.ignored_settings,
            [
                "ONE_HOOK_FETCH_WORK_TIMEOUT is set, but nothing reads it: the caller waits for this hook without a limit"
            ]
        );
    }

    #[test]
    fn a_missing_keyword_is_reported_with_the_searched_places() {
        let (_, result) = configured(HookType::FetchWork, &[], &options());
        let error = result.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the startd has no keyword, so it calls no hooks\n  "), "{text}");
        assert_eq!(error.hint().as_deref(), Some("select a keyword with --keyword WORD"));
    }

    #[test]
    fn a_parameter_that_nothing_reads_is_named() {
        let options = CallOptions { keyword: Some("K".to_owned()), ..options() };
        let (_, result) = configured(HookType::FetchWork, &[("K_HOOK_FETCH_JOB", "/bin/true")], &options);
        let error = result.unwrap_err();
        assert!(error.to_string().starts_with("K_HOOK_FETCH_WORK is not set, so no such hook is called"));
        assert!(error.hint().unwrap().starts_with("K_HOOK_FETCH_JOB is set, but nothing reads it"));
    }

    #[test]
    fn one_bad_path_refuses_the_job_for_every_hook() {
        let parameters = [("K_HOOK_PREPARE_JOB", "/bin/true"), ("K_HOOK_UPDATE_JOB_INFO", "/no/such/hook")];
        let options = CallOptions { keyword: Some("K".to_owned()), ..options() };
        let (setup, result) = configured(HookType::PrepareJob, &parameters, &options);
        result.unwrap();
        let config = default_config(setup.config_subject()).unwrap();
        assert!(hooks::find_hooks_of_keyword(b"K", &config.view(&*setup.world), &*setup.world).1.is_none());
        assert!(setup.refusal.unwrap().contains("/no/such/hook"));
    }

    #[test]
    fn options_override_the_settings_of_a_route() {
        let parameters = [
            ("JOB_ROUTER_ROUTE_NAMES", "far"),
            ("JOB_ROUTER_ROUTE_far", "UNIVERSE grid\nGridResource = \"batch slurm\"\nREQUIREMENTS true\n"),
            ("K_HOOK_TRANSLATE_JOB", "/bin/true"),
        ];
        let named = |route: &str| CallOptions {
            keyword: Some("K".to_owned()),
            route: Some(route.to_owned()),
            ..options()
        };
        let (_, result) = configured(HookType::TranslateJob, &parameters, &named("near"));
        let error = result.unwrap_err();
        assert!(error.to_string().starts_with("the configuration has no usable route 'near'"));
        let own = CallOptions { target_universe: Some(5), ..named("far") };
        let (setup, result) = configured(HookType::TranslateJob, &parameters, &own);
        match result {
            Ok(()) => {
                let route = setup.case.route;
                assert_eq!((route.name, route.universe), ("far".into(), 5));
                assert_eq!(route.grid_resource, "batch slurm");
            }
            Err(error) => panic!("{error}; {:?}", error.hint()),
        }
    }

    #[test]
    fn a_fetch_hook_reads_the_configured_slot() {
        let parameters = [
            ("STARTD_JOB_HOOK_KEYWORD", "K"),
            ("K_HOOK_FETCH_WORK", "/bin/true"),
            ("START", "Owner == \"alice\""),
            ("SLOT_TYPE_1", "cpus=1"),
            ("NUM_SLOTS_TYPE_1", "1"),
            ("STARTD_ATTRS", "Site"),
            ("Site", "\"here\""),
        ];
        let (setup, result) = configured(HookType::FetchWork, &parameters, &options());
        result.unwrap();
        assert_eq!(setup.case.slot.string("Site"), Some("here".into()));
        // If the user gives the slot ad, it is used unchanged.
        let with_user_ad = CallOptions { slot_ad: SlotAdSource::FromUser, ..options() };
        let (setup, result) = configured(HookType::FetchWork, &parameters, &with_user_ad);
        result.unwrap();
        assert!(!setup.case.slot.contains("Site"));
    }
}
