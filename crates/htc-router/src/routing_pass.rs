//! Routing pass over jobs: each job gets a route and is counted in that route, until all routes or the router are full.

use bstr::BString;

use super::explain::{JobExplainer, JobExplanation};
use super::limits::RouteState;
use super::parameters::RouterParameters;
use super::route_choice::{RouteChoice, RouteChooser, RoutingState, UmbrellaConstraint, UmbrellaError};
use super::route_table::RouteTable;
use htc_base::job::JobStatus;
use htc_base::world::World;
use htc_classad::ClassAd;

/// Routing pass in progress.
pub struct RoutingPass<'a> {
    chooser: RouteChooser<'a>,
    table: &'a RouteTable,
    parameters: &'a RouterParameters,
    world: &'a dyn World,
    umbrella: Option<UmbrellaConstraint>,
    route_states: Vec<RouteState>,
    /// Number of choices made so far.
    choices_made: u64,
    /// Number of jobs that have a route, including those that the router already managed.
    managed: i64,
}

impl<'a> RoutingPass<'a> {
    /// Starts a pass with the current states of the routes. `owner` is the only owner whose jobs are routed; `None` if
    /// the router runs as root.
    ///
    /// # Errors
    /// The umbrella constraint is not a valid expression.
    pub fn new(
        table: &'a RouteTable,
        knobs: &'a RouterParameters,
        owner: Option<BString>,
        states: Vec<RouteState>,
        world: &'a dyn World,
    ) -> Result<Self, UmbrellaError> {
        let chooser = RouteChooser::new(table, knobs, owner, world);
        let umbrella = chooser.build_umbrella(&states)?.filter(|_| table.enabled);
        Ok(RoutingPass {
            chooser,
            table,
            parameters: knobs,
            world,
            umbrella,
            route_states: states,
            choices_made: 0,
            managed: 0,
        })
    }

    /// Sets the number of jobs that the router already manages.
    #[must_use]
    pub fn with_managed_jobs(mut self, managed: i64) -> Self {
        self.managed = managed;
        self
    }

    /// Returns the states of the routes.
    pub fn route_states(&self) -> &[RouteState] {
        &self.route_states
    }

    /// Chooses the route of a job.
    pub fn choose(&mut self, job: &ClassAd) -> RouteChoice {
        let full = self.parameters.max_jobs >= 0 && self.managed >= self.parameters.max_jobs;
        let choice = match &self.umbrella {
            Some(_) if full => RouteChoice::Stopped,
            Some(umbrella) => {
                let rounds = RoutingState {
                    route_states: &mut self.route_states,
                    choices_made: &mut self.choices_made,
                };
                self.chooser.choose(umbrella, job, rounds)
            }
            None => RouteChoice::AllFull,
        };
        self.managed += i64::from(matches!(choice, RouteChoice::Route(_)));
        choice
    }

    /// Chooses the route of a job without adding the job to any count.
    pub fn choose_without_counting(&mut self, job: &ClassAd) -> RouteChoice {
        let before = (self.route_states.clone(), self.choices_made, self.managed);
        let choice = self.choose(job);
        (self.route_states, self.choices_made, self.managed) = before;
        choice
    }

    /// Marks all routes as full, so that no job is a candidate before the next pass.
    pub fn mark_all_full(&mut self) {
        self.umbrella = None;
    }

    /// Explains why a job gets a route or none. `states` are the states of the routes before the job was counted; at
    /// most `limit` routes are reported.
    pub fn explain(&self, states: &[RouteState], job: &ClassAd, limit: usize) -> JobExplanation {
        self.explainer(states).explain(job, limit)
    }

    /// Returns the reason why a job got no route, taken from `explanation` if it is given.
    pub fn unrouted_reason(
        &self,
        choice: RouteChoice,
        job: &ClassAd,
        explanation: Option<&JobExplanation>,
    ) -> String {
        match (choice, explanation) {
            (RouteChoice::Stopped, _) => {
                format!("the router is full (JOB_ROUTER_MAX_JOBS = {})", self.parameters.max_jobs)
            }
            _ if !self.table.enabled => "routing is disabled".into(),
            (_, Some(explanation)) => explanation.reason(),
            (_, None) => self.explainer(&self.route_states).untraced_reason(job),
        }
    }

    fn explainer<'s>(&'s self, states: &'s [RouteState]) -> JobExplainer<'s> {
        let RoutingPass { chooser, table, umbrella, world, .. } = self;
        JobExplainer { chooser, table, umbrella: umbrella.as_ref(), route_states: states, world: *world }
    }
}

/// Removes all attributes of an earlier routing from a job (`-ignore-prior-routing`).
pub fn forget_routing(job: &mut ClassAd) {
    for name in ["Managed", "RoutedBy", "StageInStart", "StageInFinish"] {
        job.remove(name);
    }
    job.set("JobStatus", JobStatus::IDLE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RouteLoadContext;
    use htc_base::quirks::QuirkMode;
    use htc_config::{Config, LoadOptions, LookupContext};
    use htc_os::RealWorld;

    #[test]
    fn a_full_router_stops_with_a_reason() {
        let overlay = [
            ("JOB_ROUTER_ROUTE_NAMES", "near"),
            ("JOB_ROUTER_ROUTE_near", "UNIVERSE vanilla\nREQUIREMENTS Owner == \"ana\"\n"),
            ("JOB_ROUTER_MAX_JOBS", "1"),
        ];
        let options = LoadOptions {
            file: Some("/dev/null".into()),
            environment: false,
            local_files: false,
            user_file: false,
            overlay: overlay.map(|(name, value)| (name.into(), value.into())).to_vec(),
            ..LoadOptions::default()
        };
        let world = RealWorld::new();
        let context = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let (config, _) = Config::load(&world, &context, &options).unwrap();
        let view = config.view(&world);
        let knobs = RouterParameters::load(&view, &mut |_| {});
        let table = RouteTable::load(
            RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks: QuirkMode::Manual },
            &mut |_| {},
        );
        let states = vec![RouteState::new(0); table.routes.len()];
        let mut pass = RoutingPass::new(&table, &knobs, None, states, &world).unwrap();
        let mut job = ClassAd::new();
        for (name, value) in [("JobUniverse", 5), ("JobStatus", 1), ("ClusterId", 1), ("ProcId", 0)] {
            job.set(name, value);
        }
        job.set("Owner", "bob");
        let choice = pass.choose(&job);
        assert!(!matches!(choice, RouteChoice::Route(_) | RouteChoice::Stopped), "{choice:?}");
        let reason = pass.unrouted_reason(choice, &job, None);
        assert!(reason.contains("Owner == \"ana\""), "{reason}");
        job.set("Owner", "ana");
        assert_eq!(pass.choose(&job), RouteChoice::Route(0));
        assert_eq!(pass.route_states()[0].jobs, 1);
        let choice = pass.choose(&job);
        assert_eq!(choice, RouteChoice::Stopped);
        assert_eq!(pass.unrouted_reason(choice, &job, None), "the router is full (JOB_ROUTER_MAX_JOBS = 1)");
    }
}
