//! Comparison of two routers: whether they give a job the same route and the same copy. Limits of routes are
//! compared as settings, because a single job does not reach them.

mod comparison;
mod equality;
mod possible_job;
mod route_names;
mod setting_differences;
mod side_conditions;

use bstr::BString;

pub use comparison::{RouterComparison, RouterObservations, RouterSide};

use crate::coverage::ConditionCoverage;
use crate::transform_comparison::{have_same_attributes, shrink_ad};
use htc_base::quirks::QuirkMode;
use htc_base::text::caseless;
use htc_base::world::{FixedModeWorld, World};
use htc_classad::{ClassAd, Truth};
use htc_router::explain::JobExplainer;
use htc_router::translate::TranslateError;
use htc_router::{Route, RouteChoice, RouteChooser, RouteState, RoutingState, SourceJob, Translator};

/// Result of a router for a job.
#[derive(Clone, Debug)]
pub enum RouterOutcome {
    /// The job is not routed.
    NotRouted,
    /// A copy of the job is submitted.
    Copy {
        /// Name of the route.
        route: BString,
        /// True if the files are transferred through a sandbox.
        sandboxed: bool,
        /// Ad of the copy.
        ad: ClassAd,
    },
    /// The job itself is edited. The fields are the route and the resulting ad.
    Edited(BString, ClassAd),
    /// The job gets a route, but its translation fails. The fields are the route and the reason.
    Failed(BString, TranslateError),
}

/// Job that the two routers treat differently.
#[derive(Clone, Debug)]
pub struct RouterDifference {
    /// Ad of the job.
    pub ad: ClassAd,
    /// Outcome in the first router.
    pub left: RouterOutcome,
    /// Outcome in the second router.
    pub right: RouterOutcome,
}

impl<'a> RouterComparison<'a> {
    /// Creates a comparison of two routers. Nothing has been observed yet.
    pub fn new(left: RouterSide<'a>, right: RouterSide<'a>, world: &'a dyn World, quirks: QuirkMode) -> Self {
        let renamed = route_names::find_renamed(left.table, right.table);
        let [mut left, mut right] = [left, right];
        [left.umbrella_order, right.umbrella_order] =
            route_names::routes_in_name_order(left.table, right.table, &renamed);
        let is_config_equal = equality::is_config_equal(left.config, right.config);
        let mut both = RouterComparison {
            left,
            right,
            world,
            quirks,
            renamed_routes: renamed,
            is_config_equal,
            is_frame_equal: false,
        };
        both.is_frame_equal = both.has_equal_frame();
        both
    }
}

impl RouterComparison<'_> {
    /// Returns the result of one of the routers for a job, with no other jobs on its routes.
    pub fn outcome_for(&self, side: &RouterSide<'_>, job: &ClassAd) -> RouterOutcome {
        let world = &FixedModeWorld { world: side.config.world(), strict: side.parameters.strict };
        world.reseed(1);
        // The comparison's own world gets the same random numbers.
        self.world.reseed(1);
        let mut states = vec![RouteState::new(world.now().epoch()); side.table.routes.len()];
        let mut chooser = RouteChooser::new(side.table, side.parameters, None, world);
        let umbrella = match chooser.build_umbrella_in_order(&states, side.umbrella_order.iter().copied()) {
            Ok(Some(umbrella)) if side.table.enabled => umbrella,
            _ => return RouterOutcome::NotRouted,
        };
        let rounds = RoutingState { route_states: &mut states, choices_made: &mut 0 };
        let RouteChoice::Route(at) = chooser.choose(&umbrella, job, rounds) else {
            return RouterOutcome::NotRouted;
        };
        let route = &side.table.routes[at];
        let translator = Translator {
            table: side.table,
            parameters: side.parameters,
            config: Some(side.config),
            world,
            quirks: self.quirks,
        };
        let mut ad = job.clone();
        let watcher = &mut *side.observations.borrow_mut();
        let outcome = if route.edit_job_in_place.is_true(job, world) {
            translator
                .apply_transforms(route, &mut ad, watcher)
                .map(|()| RouterOutcome::Edited(route.name.clone(), ad))
        } else {
            let sandboxed = route.job_should_be_sandboxed.is_true(job, world);
            // The router copies a job after it has claimed it.
            ad.set("Managed", "External");
            ad.set("ManagedManager", side.parameters.name.clone());
            let source = ad.clone();
            let original = SourceJob { ad: &source, id: "0.0", is_sandboxed: sandboxed };
            translator.make_copy(route, &original, &mut ad, watcher).map(|()| RouterOutcome::Copy {
                route: route.name.clone(),
                sandboxed,
                ad,
            })
        };
        match outcome {
            Ok(outcome) => {
                watcher.chosen_routes.insert(at, None);
                outcome
            }
            Err(error) => {
                watcher.chosen_routes.entry(at).or_insert_with(|| Some(error.to_string()));
                RouterOutcome::Failed(route.name.clone(), error)
            }
        }
    }

    /// Returns why a router does not route a job.
    pub fn unrouted_reason(&self, side: &RouterSide<'_>, job: &ClassAd) -> String {
        let world = &FixedModeWorld { world: self.world, strict: side.parameters.strict };
        if !side.table.enabled {
            return "it routes no jobs".into();
        }
        let states = vec![RouteState::new(world.now().epoch()); side.table.routes.len()];
        let chooser = &RouteChooser::new(side.table, side.parameters, None, world);
        let umbrella = match chooser.build_umbrella_in_order(&states, side.umbrella_order.iter().copied()) {
            Ok(umbrella) => umbrella,
            Err(error) => return error.to_string(),
        };
        let explainer = JobExplainer {
            chooser,
            table: side.table,
            umbrella: umbrella.as_ref(),
            route_states: &states,
            world,
        };
        let story = explainer.explain(job, usize::MAX);
        let broken = story.routes.iter().find(|route| route.matches == Truth::Error);
        match broken.filter(|_| story.umbrella == Truth::Error && story.excluded_by.is_none()) {
            Some(broken) => {
                format!("REQUIREMENTS of route {} are an error, so the job gets no route", broken.route)
            }
            None => story.reason(),
        }
    }

    /// Returns a warning if the second router evaluates its routes in another order because their names
    /// differ, or `None`.
    pub fn order_warning(&self) -> Option<String> {
        let is_ordered = self.right.umbrella_order.is_sorted();
        (!is_ordered).then(|| {
            format!(
                "the order of names differs in {}: a job for which the REQUIREMENTS of one route are an error may get another route \
                 there, or none; this is not compared",
                self.right.name
            )
        })
    }

    /// Describes the routes that are compared although their names differ, so that RouteName differs in every job
    /// routed by them, one per line.
    pub fn describe_renamed_routes(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for route in &self.left.table.routes {
            let renamed = self.right.table.routes.iter().find(|other| {
                self.is_same_route_name(&route.name, &other.name) && !caseless::eq(&route.name, &other.name)
            });
            lines.extend(renamed.map(|other| {
                format!(
                    "RouteName of routed jobs differs: '{}' in {} is '{}' in {}; this is not counted as a difference",
                    route.name, self.left.name, other.name, self.right.name
                )
            }));
        }
        lines
    }

    /// Returns the difference between the routers for this job, or `None`. Two failures of the same route for
    /// the same reason are equal.
    pub fn find_difference(&self, job: &ClassAd) -> Option<RouterDifference> {
        let (left, right) = (self.outcome_for(&self.left, job), self.outcome_for(&self.right, job));
        let equal = match (&left, &right) {
            (RouterOutcome::NotRouted, RouterOutcome::NotRouted) => true,
            (
                RouterOutcome::Copy { route: a, sandboxed: in_a, ad: left },
                RouterOutcome::Copy { route: b, sandboxed: in_b, ad: right },
            ) => {
                let name = right.get("RouteName");
                let mut left = left.clone();
                // Names that differ only in characters that are invalid in parameter names are treated as equal.
                if let Some(name) = name.filter(|_| self.is_same_route_name(a, b)) {
                    left.insert("RouteName", name);
                }
                self.is_same_route_name(a, b) && in_a == in_b && have_same_attributes(&left, right)
            }
            (RouterOutcome::Edited(a, left), RouterOutcome::Edited(b, right)) => {
                self.is_same_route_name(a, b) && have_same_attributes(left, right)
            }
            (RouterOutcome::Failed(a, left), RouterOutcome::Failed(b, right)) => {
                self.is_same_route_name(a, b)
                    && left.failed_transform() == right.failed_transform()
                    && left.to_string() == right.to_string()
            }
            _ => false,
        };
        (!equal).then(|| RouterDifference { ad: job.clone(), left, right })
    }

    /// Returns the same difference for the smallest job found.
    pub fn shrink_difference(&self, difference: RouterDifference) -> RouterDifference {
        let ad = difference.ad.clone();
        // A job whose translation fails is less informative than one that is routed in two ways.
        let fails = |difference: &RouterDifference| {
            matches!(
                (&difference.left, &difference.right),
                (RouterOutcome::Failed(..), _) | (_, RouterOutcome::Failed(..))
            )
        };
        let may_fail = fails(&difference);
        let may_be_impossible = !possible_job::is_possible_job(&ad);
        let is_wanted = |difference: &RouterDifference| may_fail || !fails(difference);
        shrink_ad(&ad, difference, &|ad| {
            if !may_be_impossible && !possible_job::is_possible_job(ad) {
                return None;
            }
            self.find_difference(ad).filter(is_wanted)
        })
    }

    /// Collects everything that both routers evaluate for a job. Jobs that are generated from it are idle and
    /// unmanaged.
    pub fn build_coverage(&self) -> ConditionCoverage<'_> {
        let mut base = ClassAd::new();
        for (name, value) in [("ClusterId", 1), ("ProcId", 0), ("JobStatus", 1), ("JobUniverse", 5)] {
            base.set(name, value);
        }
        base.set("Owner", "user");
        let mut coverage =
            ConditionCoverage::new(base, self.world).with_ad_test(possible_job::is_possible_job);
        [&self.left, &self.right].into_iter().for_each(|side| side.add_conditions_to(self, &mut coverage));
        self.add_opposed_goals(&mut coverage);
        coverage
    }

    /// Adds the conditions that were evaluated in the meantime, with their macros expanded.
    pub fn add_evaluated_conditions(&self, coverage: &mut ConditionCoverage<'_>) {
        for side in [&self.left, &self.right] {
            let observations = side.observations.borrow();
            let first =
                side.reachable_routes().next().map(|(_, _, preconditions)| preconditions).unwrap_or_default();
            let transforms = side.table.pre_transforms.iter().chain(&side.table.post_transforms);
            for transform in transforms.filter(|_| !self.is_frame_equal) {
                observations.transform_observations.add_conditions_to(
                    &transform.name,
                    &side.qualified_name("transform", &transform.name),
                    &first,
                    coverage,
                );
            }
            for (_, route, preconditions) in
                side.reachable_routes().filter(|(_, route, _)| !self.has_equal_effect(route))
            {
                observations.transform_observations.add_conditions_to(
                    &route.name,
                    &side.qualified_name("route", &route.name),
                    &preconditions,
                    coverage,
                );
            }
        }
    }

    /// Returns descriptions of the parts for which no job was found: differences in them were not searched
    /// for.
    pub fn unreached_parts(&self, coverage: &ConditionCoverage<'_>) -> Vec<String> {
        let mut lines = coverage.unreached_parts();
        let is_equal = |route: &Route| self.has_equal_effect(route);
        for side in [&self.left, &self.right] {
            side.add_unreached(self.is_frame_equal, &is_equal, &mut lines);
        }
        lines.dedup();
        lines
    }
}
