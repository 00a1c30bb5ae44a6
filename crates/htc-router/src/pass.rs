//! One pass of a router over jobs: each gets its route and counts there, until routes or the router are full.

use bstr::BString;

use super::choose::{Choice, Chooser, Rounds, Umbrella, UmbrellaError};
use super::explain::{Explainer, Explanation};
use super::knobs::Knobs;
use super::limits::RouteState;
use super::table::RouteTable;
use htc_base::job::JobStatus;
use htc_base::world::World;
use htc_classad::ClassAd;

/// A pass that has begun.
pub struct Pass<'a> {
    chooser: Chooser<'a>,
    table: &'a RouteTable,
    knobs: &'a Knobs,
    world: &'a dyn World,
    umbrella: Option<Umbrella>,
    states: Vec<RouteState>,
    /// How many choices were made.
    turn: u64,
    /// How many jobs got a route.
    managed: i64,
}

impl<'a> Pass<'a> {
    /// Begins with the routes as they stand. `owner` is the user whose jobs alone are routed, where the router is not root.
    ///
    /// # Errors
    /// The umbrella constraint is no expression.
    pub fn new(
        (table, knobs): (&'a RouteTable, &'a Knobs),
        owner: Option<BString>,
        states: Vec<RouteState>,
        world: &'a dyn World,
    ) -> Result<Self, UmbrellaError> {
        let chooser = Chooser::new(table, knobs, owner, world);
        let umbrella = chooser.umbrella(&states)?.filter(|_| table.enabled);
        Ok(Pass { chooser, table, knobs, world, umbrella, states, turn: 0, managed: 0 })
    }

    /// With jobs that the router manages already.
    #[must_use]
    pub fn with_managed(mut self, managed: i64) -> Self {
        self.managed = managed;
        self
    }

    /// Where the routes stand.
    pub fn states(&self) -> &[RouteState] {
        &self.states
    }

    /// Finds the route of a job.
    pub fn choose(&mut self, job: &ClassAd) -> Choice {
        let full = self.knobs.max_jobs >= 0 && self.managed >= self.knobs.max_jobs;
        let choice = match &self.umbrella {
            Some(_) if full => Choice::Stopped,
            Some(umbrella) => {
                let rounds = Rounds { states: &mut self.states, turn: &mut self.turn };
                self.chooser.choose(umbrella, job, rounds)
            }
            None => Choice::AllFull,
        };
        self.managed += i64::from(matches!(choice, Choice::Route(_)));
        choice
    }

    /// The same for a job that does not count.
    pub fn would_choose(&mut self, job: &ClassAd) -> Choice {
        let before = (self.states.clone(), self.turn, self.managed);
        let choice = self.choose(job);
        (self.states, self.turn, self.managed) = before;
        choice
    }

    /// All routes are full: nothing is a candidate before the next pass.
    pub fn end(&mut self) {
        self.umbrella = None;
    }

    /// Why a job gets its route or none; `states` are those before it counted, and at most `limit` routes are told of.
    pub fn explain(&self, states: &[RouteState], job: &ClassAd, limit: usize) -> Explanation {
        self.explainer(states).explain(job, limit)
    }

    /// Why a job got no route; what its story says is looked up where it has none.
    pub fn reason(&self, choice: Choice, job: &ClassAd, story: Option<&Explanation>) -> String {
        match (choice, story) {
            (Choice::Stopped, _) => {
                format!("the router is full (JOB_ROUTER_MAX_JOBS = {})", self.knobs.max_jobs)
            }
            _ if !self.table.enabled => "routing is disabled".into(),
            (_, Some(story)) => story.reason(),
            (_, None) => self.explainer(&self.states).reason(job),
        }
    }

    fn explainer<'s>(&'s self, states: &'s [RouteState]) -> Explainer<'s> {
        let Pass { chooser, table, umbrella, world, .. } = self;
        Explainer { chooser, table, umbrella: umbrella.as_ref(), states, world: *world }
    }
}

/// As if the job had never been routed (`-ignore-prior-routing`).
pub fn forget_routing(job: &mut ClassAd) {
    for name in ["Managed", "RoutedBy", "StageInStart", "StageInFinish"] {
        job.remove(name);
    }
    job.set("JobStatus", JobStatus::IDLE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;
    use htc_base::quirks::Quirks;
    use htc_config::{Config, LoadOptions, Who};
    use htc_os::RealWorld;

    #[test]
    fn a_full_router_stops_and_says_so() {
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
        let who = Who { subsystem: "JOB_ROUTER".into(), ..Who::default() };
        let (config, _) = Config::load(&world, &who, &options).unwrap();
        let view = config.view(&world);
        let knobs = Knobs::load(&view, &mut |_| {});
        let table = RouteTable::load(
            Reading { view: &view, knobs: &knobs, world: &world, quirks: Quirks::None },
            &mut |_| {},
        );
        let states = vec![RouteState::new(0); table.routes.len()];
        let mut pass = Pass::new((&table, &knobs), None, states, &world).unwrap();
        let mut job = ClassAd::new();
        for (name, value) in [("JobUniverse", 5), ("JobStatus", 1), ("ClusterId", 1), ("ProcId", 0)] {
            job.set(name, value);
        }
        job.set("Owner", "bob");
        let choice = pass.choose(&job);
        assert!(!matches!(choice, Choice::Route(_) | Choice::Stopped), "{choice:?}");
        let reason = pass.reason(choice, &job, None);
        assert!(reason.contains("Owner == \"ana\""), "{reason}");
        job.set("Owner", "ana");
        assert_eq!(pass.choose(&job), Choice::Route(0));
        assert_eq!(pass.states()[0].jobs, 1);
        let choice = pass.choose(&job);
        assert_eq!(choice, Choice::Stopped);
        assert_eq!(pass.reason(choice, &job, None), "the router is full (JOB_ROUTER_MAX_JOBS = 1)");
    }
}
