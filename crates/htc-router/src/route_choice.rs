//! Candidate jobs and the choice of a route for each (`GetCandidateJobs`, `ChooseRoute`).

use std::hash::Hasher;

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{RouteState, RouteTable, RouterParameters};
use htc_base::world::World;
use htc_classad::{
    AdRole, ClassAd, Context, Dialect, EqualityGuards, Expr, LoadedValues, MatchAd, Prefilter, Truth,
    references,
};

/// Maximum size of all remembered results of requirement tests, in bytes.
const MAX_REMEMBERED_BYTES: usize = 64 << 20;

/// Maximum number of jobs in the set of jobs seen once.
const MAX_SEEN_JOBS: usize = 4 << 20;

/// Result of looking for a route for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteChoice {
    /// The job gets the route with this index.
    Route(usize),
    /// The umbrella constraint does not match the job.
    NotCandidate,
    /// The job is a candidate, but no route that accepts jobs has requirements that are true for it.
    NoRoute,
    /// No route accepts any more jobs, so the remaining jobs need not be checked.
    AllFull,
    /// The event callback stopped the search at the candidate.
    Stopped,
}

/// Event reported while a route is on_event for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceEvent<'a> {
    /// The umbrella constraint matches the job.
    Candidate,
    /// The requirements of the route with this name match the job.
    Match(&'a [u8]),
}

/// Umbrella constraint of one routing pass.
#[derive(Clone, Debug)]
pub struct UmbrellaConstraint {
    /// Text of the constraint, as the reference logs it.
    pub text: BString,
    /// Tests of the distinct requirements of the routes that accepted jobs when the pass began, in order of route
    /// names. `None` represents requirements that are missing or `True`.
    requirement_tests: Vec<Option<usize>>,
    /// Ad whose Requirements are the whole constraint, which is how the reference queries its collection; `None` if the
    /// parts can be evaluated separately.
    whole_ad: Option<ClassAd>,
}

/// Umbrella constraint that is not a valid expression, with its text; the daemon aborts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Failed to parse umbrella constraint: {0}")]
pub struct UmbrellaError(pub BString);

/// Chooser of routes for jobs. Requirements are compiled once; the caller keeps the states of the routes.
pub struct RouteChooser<'a> {
    table: &'a RouteTable,
    parameters: &'a RouterParameters,
    world: &'a dyn World,
    /// The only owner whose jobs are routed, or `None` if the router runs as root and routes jobs of all owners.
    owner: Option<BString>,
    prefilter: Prefilter,
    exprs: Vec<Expr>,
    /// Test of each route's requirements, or `None` if the route has none.
    tests: Vec<Option<usize>>,
    /// Tests whose text is a valid expression by itself, but not between parentheses. There are two causes: a comment
    /// at the end of the text hides the text that the umbrella constraint appends, and the parser ignores some endings
    /// (`2.5M`) at the end of a text but rejects them in the middle.
    open_ended: FxHashSet<usize>,
    /// Tests whose text contains the name Requirements. Inside the umbrella, this name refers to the umbrella
    /// constraint itself.
    self_referencing: FxHashSet<usize>,
    constraint: Option<usize>,
    /// True if the source constraint is set but is not a valid expression between parentheses.
    constraint_broken: bool,
    candidate_test: Option<usize>,
    owner_test: Option<usize>,
    has_scoped_tests: bool,
    /// Equality conditions that most requirements begin with; they exclude routes for other owners, queues or
    /// sites early.
    guards: Option<EqualityGuards>,
    remembered_outcomes: FxHashMap<Vec<u8>, Box<[u8]>>,
    /// Hashes of the jobs that were seen once. Test results are remembered only for jobs that occur a second time,
    /// because most jobs never recur.
    seen_jobs: FxHashSet<u64>,
    outcome_key: Vec<u8>,
}

/// Returns the conditions that every candidate must meet.
fn candidate_condition_text(name: &[u8]) -> Vec<u8> {
    let mut text = b"(target.ProcId >= 0 && target.JobStatus == 1 && (target.StageInStart is undefined || \
        target.StageInFinish isnt undefined) && target.Managed isnt \"ScheddDone\" && target.Managed isnt \
        \"External\" && target.Owner isnt Undefined && target.RoutedBy isnt \""
        .to_vec();
    text.extend_from_slice(name);
    text.extend_from_slice(b"\")");
    text
}

/// Attribute that holds the umbrella constraint during the search for jobs.
const REQUIREMENTS: &str = "requirements";

/// Returns an ad whose Requirements are the expression.
fn ad_with_requirements(expr: Expr) -> ClassAd {
    let mut ad = ClassAd::new();
    ad.insert(REQUIREMENTS, expr);
    ad
}

fn parenthesize(text: &[u8]) -> Vec<u8> {
    [b"(", text, b")"].concat()
}

/// One job during its evaluation.
struct JobEvaluation<'j> {
    job: &'j ClassAd,
    my: LoadedValues<'j>,
    target: Option<LoadedValues<'j>>,
    /// Known results of the tests, two per test (job as MY, job as TARGET); 0 if the test has not been evaluated yet.
    outcomes: Box<[u8]>,
}

/// Mutable state of the routes while jobs are assigned to them.
#[derive(Debug)]
pub struct RoutingState<'s> {
    /// Number of jobs and throttling of each route.
    pub route_states: &'s mut [RouteState],
    /// Number of choices made so far, from which round-robin selection derives the next route.
    pub choices_made: &'s mut u64,
}

impl<'a> RouteChooser<'a> {
    /// Records a test whose text names Requirements. Searches the text as well as the expression, because `eval()` may
    /// contain the name as a string.
    fn note_self_reference(&mut self, text: &[u8], test: usize) {
        let expr = &self.exprs[test];
        if text.to_ascii_lowercase().contains_str(REQUIREMENTS)
            && (references::can_read_any_attribute(expr)
                || references::all_names(expr).contains(&REQUIREMENTS.into()))
        {
            self.self_referencing.insert(test);
        }
    }

    /// Compiles the requirements of a table. `owner` is the only owner whose jobs are routed; `None` if the router runs
    /// as root.
    pub fn new(
        table: &'a RouteTable,
        knobs: &'a RouterParameters,
        owner: Option<BString>,
        world: &'a dyn World,
    ) -> Self {
        let mut chooser = RouteChooser {
            table,
            parameters: knobs,
            world,
            owner,
            prefilter: Prefilter::new().strict(world.language_mode().strict),
            exprs: Vec::new(),
            tests: Vec::new(),
            open_ended: FxHashSet::default(),
            self_referencing: FxHashSet::default(),
            constraint: None,
            constraint_broken: false,
            candidate_test: None,
            owner_test: None,
            has_scoped_tests: false,
            guards: None,
            remembered_outcomes: FxHashMap::default(),
            seen_jobs: FxHashSet::default(),
            outcome_key: Vec::new(),
        };
        let mut known: FxHashMap<&[u8], usize> = FxHashMap::default();
        for route in &table.routes {
            let test = route.requirements().map(|expr| {
                *known.entry(route.requirements_text()).or_insert_with(|| chooser.add_test(expr.clone()))
            });
            chooser.tests.push(test);
        }
        for (text, test) in known {
            chooser.note_self_reference(text, test);
            if Expr::parse_with(&parenthesize(text), Dialect::of_world(world)).is_err() {
                chooser.open_ended.insert(test);
            }
        }
        if let Some(text) = &knobs.constraint {
            match (
                Expr::parse_with(text, Dialect::of_world(world)),
                Expr::parse_with(&parenthesize(text), Dialect::of_world(world)),
            ) {
                (Ok(expr), Ok(_)) => {
                    let test = chooser.add_test(expr);
                    chooser.note_self_reference(text, test);
                    chooser.constraint = Some(test);
                }
                _ => chooser.constraint_broken = true,
            }
        }
        chooser.candidate_test =
            Expr::parse(&candidate_condition_text(&knobs.name)).ok().map(|expr| chooser.add_test(expr));
        chooser.owner_test = chooser
            .owner_condition_text()
            .and_then(|text| Expr::parse_with(&text, Dialect::of_world(world)).ok())
            .map(|expr| chooser.add_test(expr));
        chooser.guards = chooser.prefilter.equality_guards();
        chooser.has_scoped_tests = (0..chooser.exprs.len()).any(|test| chooser.prefilter.is_scoped(test));
        chooser
    }

    fn add_test(&mut self, expr: Expr) -> usize {
        let test = self.prefilter.add(&expr);
        self.exprs.push(expr);
        test
    }

    fn owner_condition_text(&self) -> Option<Vec<u8>> {
        let owner = self.owner.as_ref()?;
        Some([b"(target.Owner == \"", owner.as_slice(), b"\")"].concat())
    }

    /// Builds the umbrella constraint over the routes that accept jobs now, or returns `None` if no route does.
    ///
    /// # Errors
    /// The text is not a valid expression.
    pub fn build_umbrella(&self, states: &[RouteState]) -> Result<Option<UmbrellaConstraint>, UmbrellaError> {
        self.build_umbrella_in_order(states, 0..self.table.routes.len())
    }

    /// Builds the umbrella constraint like [`RouteChooser::build_umbrella`], but with the routes in the given
    /// order. The order decides the result if the requirements of a route evaluate to an error.
    pub fn build_umbrella_in_order(
        &self,
        states: &[RouteState],
        order: impl Iterator<Item = usize>,
    ) -> Result<Option<UmbrellaConstraint>, UmbrellaError> {
        let mut requirements: Vec<Option<usize>> = Vec::new();
        let mut is_included = vec![false; self.exprs.len() + 1];
        let mut routes = Vec::new();
        for (at, route) in order.map(|at| (at, &self.table.routes[at])) {
            if states[at].full_reason(route).is_some() {
                continue;
            }
            // `True` and missing requirements have the same text, which the umbrella contains only once.
            let test = self.tests[at];
            let place = test.unwrap_or(self.exprs.len());
            let text = route.requirements_text();
            let again =
                text.is_empty() && requirements.iter().flatten().any(|&test| self.is_literally_true(test));
            if is_included[place] || again {
                continue;
            }
            is_included[place] = true;
            if test.is_some_and(|test| self.is_literally_true(test)) && is_included[self.exprs.len()] {
                continue;
            }
            requirements.push(test);
            if !routes.is_empty() {
                routes.extend_from_slice(b" || ");
            }
            routes.push(b'(');
            routes.extend_from_slice(if text.is_empty() { b"True" } else { text });
            routes.push(b')');
        }
        if requirements.is_empty() {
            return Ok(None);
        }
        let mut text = Vec::new();
        if let Some(constraint) = &self.parameters.constraint {
            text.extend_from_slice(&[b"(", constraint.as_slice(), b") && "].concat());
        }
        text.extend_from_slice(b"( ");
        text.extend_from_slice(&routes);
        text.extend_from_slice(b" ) && ");
        text.extend_from_slice(&candidate_condition_text(&self.parameters.name));
        if let Some(owner) = self.owner_condition_text() {
            text.extend_from_slice(b" && ");
            text.extend_from_slice(&owner);
        }
        let mut used = requirements.iter().flatten().chain(&self.constraint);
        let in_parts = !self.constraint_broken
            && !used.any(|test| self.open_ended.contains(test) || self.self_referencing.contains(test))
            && self.candidate_test.is_some()
            && self.owner.is_some() == self.owner_test.is_some();
        let whole = match in_parts {
            true => None,
            false => {
                let expr = Expr::parse_with(&text, Dialect::of_world(self.world))
                    .map_err(|_| UmbrellaError(text.clone().into()))?;
                Some(ad_with_requirements(expr))
            }
        };
        Ok(Some(UmbrellaConstraint { text: text.into(), requirement_tests: requirements, whole_ad: whole }))
    }

    fn is_literally_true(&self, test: usize) -> bool {
        let same = |at: &usize| self.tests[*at] == Some(test);
        (0..self.tests.len())
            .find(same)
            .is_some_and(|at| self.table.routes[at].requirements_text() == b"True")
    }

    /// Finds a route for a job and adds the job to the counts of the route.
    pub fn choose(
        &mut self,
        umbrella: &UmbrellaConstraint,
        job: &ClassAd,
        rounds: RoutingState<'_>,
    ) -> RouteChoice {
        self.choose_with_events(umbrella, job, rounds, &mut |_| true)
    }

    /// Finds a route like [`RouteChooser::choose`]. `on_event` is called with each event; if it returns false
    /// for a candidate, the search stops.
    pub fn choose_with_events(
        &mut self,
        umbrella: &UmbrellaConstraint,
        job: &ClassAd,
        rounds: RoutingState<'_>,
        on_event: &mut dyn FnMut(ChoiceEvent<'_>) -> bool,
    ) -> RouteChoice {
        let mut row = JobEvaluation {
            job,
            my: self.prefilter.load(job, AdRole::My),
            target: self.has_scoped_tests.then(|| self.prefilter.load(job, AdRole::Target)),
            outcomes: Box::default(),
        };
        row.outcomes = self.recall_outcomes(&row);
        let choice = self.choose_for_job(umbrella, &mut row, rounds, on_event);
        self.remember_outcomes(row.outcomes);
        choice
    }

    /// Returns the test results remembered for an earlier job with the same values, or an empty table of results.
    fn recall_outcomes(&mut self, row: &JobEvaluation<'_>) -> Box<[u8]> {
        self.outcome_key.clear();
        let complete = self.prefilter.push_key(&row.my, &mut self.outcome_key)
            && row
                .target
                .as_ref()
                .is_none_or(|target| self.prefilter.push_key(target, &mut self.outcome_key));
        if !complete {
            self.outcome_key.clear();
        }
        let known = if self.outcome_key.is_empty() {
            None
        } else {
            self.remembered_outcomes.remove(&self.outcome_key)
        };
        known.unwrap_or_else(|| vec![0; self.exprs.len() * 2].into())
    }

    fn remember_outcomes(&mut self, outcomes: Box<[u8]>) {
        if self.outcome_key.is_empty() {
            return;
        }
        let mut hasher = FxHasher::default();
        hasher.write(&self.outcome_key);
        if self.seen_jobs.len() > MAX_SEEN_JOBS {
            self.seen_jobs.clear();
        }
        if self.seen_jobs.insert(hasher.finish()) {
            return;
        }
        if self.remembered_outcomes.len() * (outcomes.len() + self.outcome_key.len() + 64)
            > MAX_REMEMBERED_BYTES
        {
            self.remembered_outcomes.clear();
        }
        self.remembered_outcomes.insert(std::mem::take(&mut self.outcome_key), outcomes);
    }

    /// Evaluates a test with the job in the given role.
    fn evaluate_test(&self, test: usize, role: AdRole, row: &mut JobEvaluation<'_>) -> Truth {
        let scoped = self.prefilter.is_scoped(test);
        let place = test * 2 + usize::from(scoped && role == AdRole::Target);
        match row.outcomes[place] {
            1 => return Truth::True,
            2 => return Truth::False,
            3 => return Truth::Undefined,
            4 => return Truth::Error,
            _ => {}
        }
        let loaded = match (&row.target, role) {
            (Some(target), AdRole::Target) => target,
            _ => &row.my,
        };
        if let Some(truth) = self.prefilter.truth(test, loaded) {
            row.outcomes[place] = truth as u8 + 1;
            return truth;
        }
        match role {
            AdRole::My => self.evaluate_as_my(test, row.job),
            AdRole::Target => self.evaluate_as_target(test, row.job),
        }
    }

    fn choose_for_job(
        &self,
        umbrella: &UmbrellaConstraint,
        row: &mut JobEvaluation<'_>,
        RoutingState { route_states: states, choices_made: turn }: RoutingState<'_>,
        on_event: &mut dyn FnMut(ChoiceEvent<'_>) -> bool,
    ) -> RouteChoice {
        if self.evaluate_umbrella(umbrella, row) != Truth::True {
            return RouteChoice::NotCandidate;
        }
        if !on_event(ChoiceEvent::Candidate) {
            return RouteChoice::Stopped;
        }
        let mut matches = Vec::new();
        let group = self.guard_group(row);
        for (at, route) in self.table.routes_in_order() {
            if self.tests[at].is_some_and(|test| self.is_excluded_by_guard(test, group))
                || states[at].full_reason(route).is_some()
            {
                continue;
            }
            let wants = match self.tests[at] {
                None => true,
                Some(test) => self.evaluate_test(test, AdRole::My, row) == Truth::True,
            };
            if wants {
                matches.push(at);
                on_event(ChoiceEvent::Match(&route.name));
                if !self.parameters.round_robin {
                    break;
                }
            }
        }
        if matches.is_empty() {
            let all_full =
                self.table.routes_in_order().all(|(at, route)| states[at].full_reason(route).is_some());
            return if all_full { RouteChoice::AllFull } else { RouteChoice::NoRoute };
        }
        let chosen = matches[(*turn % matches.len() as u64) as usize];
        *turn += 1;
        states[chosen].add_routed_job();
        RouteChoice::Route(chosen)
    }

    fn guard_group(&self, row: &JobEvaluation<'_>) -> Option<u32> {
        self.guards.as_ref()?.group_of(&row.my)
    }

    /// Returns true if a test begins with an equality condition that is false for the job.
    fn is_excluded_by_guard(&self, test: usize, group: Option<u32>) -> bool {
        self.guards.as_ref().zip(group).is_some_and(|(guards, group)| guards.excludes(test, group))
    }

    /// Evaluates the umbrella constraint for a job.
    fn evaluate_umbrella(&self, umbrella: &UmbrellaConstraint, row: &mut JobEvaluation<'_>) -> Truth {
        if let Some(whole) = &umbrella.whole_ad {
            return Truth::of_value(&MatchAd::new(self.world, whole, row.job).left_requirements());
        }
        let group = self.guard_group(row);
        let mut test = |test: Option<usize>| match test {
            None => Truth::True,
            Some(test) => self.evaluate_test(test, AdRole::Target, row),
        };
        let mut under = test(self.constraint);
        if matches!(under, Truth::False | Truth::Error) {
            return under;
        }
        let mut wanted = Truth::False;
        for requirement in &umbrella.requirement_tests {
            // A false alternative does not change the result of `||`, so the test need not be evaluated.
            if requirement.is_some_and(|test| self.is_excluded_by_guard(test, group)) {
                continue;
            }
            wanted = wanted.or(|| test(*requirement));
            if matches!(wanted, Truth::True | Truth::Error) {
                break;
            }
        }
        under = under.and(|| wanted);
        under = under.and(|| test(self.candidate_test));
        under.and(|| test(self.owner_test))
    }

    /// Evaluates a route's requirements for a job, twice: inside the umbrella, where the job is TARGET, and
    /// in the route's own test, where the job is MY.
    pub fn evaluate_requirements(&self, route: usize, job: &ClassAd) -> (Truth, Truth) {
        let Some(test) = self.tests[route] else { return (Truth::True, Truth::True) };
        (self.evaluate_as_target(test, job), self.evaluate_as_my(test, job))
    }

    /// Evaluates a test with the job as MY, as an expression outside any ad. Treats an aborted evaluation as true
    /// (`MacroStreamXFormSource::matches`).
    fn evaluate_as_my(&self, test: usize, job: &ClassAd) -> Truth {
        let value = Context::new(self.world).my(job).without_enclosing_ad().try_eval(&self.exprs[test]);
        value.map_or(Truth::True, |value| Truth::of_value(&value))
    }

    /// Evaluates a test with the job as TARGET, as part of the umbrella.
    fn evaluate_as_target(&self, test: usize, job: &ClassAd) -> Truth {
        let expr = &self.exprs[test];
        if self.self_referencing.contains(&test) {
            return Truth::of_value(
                &MatchAd::new(self.world, &ad_with_requirements(expr.clone()), job).left_requirements(),
            );
        }
        Truth::of_value(&Context::new(self.world).my(&ClassAd::new()).target(job).eval(expr))
    }

    /// Evaluates the parts of the umbrella separately for a job, for an explanation.
    pub fn evaluate_umbrella_parts(&self, umbrella: &UmbrellaConstraint, job: &ClassAd) -> UmbrellaOutcomes {
        let part = |test: Option<usize>| test.map(|test| self.evaluate_as_target(test, job));
        let mut row = JobEvaluation {
            job,
            my: self.prefilter.load(job, AdRole::My),
            target: Some(self.prefilter.load(job, AdRole::Target)),
            outcomes: vec![0; self.exprs.len() * 2].into(),
        };
        UmbrellaOutcomes {
            umbrella: self.evaluate_umbrella(umbrella, &mut row),
            constraint: part(self.constraint),
            candidate_condition: part(self.candidate_test),
            owner: part(self.owner_test),
        }
    }

    /// Returns the parsed source constraint.
    pub fn constraint(&self) -> Option<&Expr> {
        self.constraint.map(|test| &self.exprs[test])
    }

    /// Returns the parsed conditions that every candidate must meet.
    pub fn candidate_condition(&self) -> Option<&Expr> {
        self.candidate_test.map(|test| &self.exprs[test])
    }

    /// Returns the only owner whose jobs are routed, or `None` if the router runs as root.
    pub fn owner(&self) -> Option<&bstr::BStr> {
        self.owner.as_ref().map(|owner| owner.as_bstr())
    }
}

/// Results of the umbrella constraint and of its parts for one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UmbrellaOutcomes {
    /// Result of the whole umbrella constraint.
    pub umbrella: Truth,
    /// Result of the source constraint, or `None` if no constraint is set.
    pub constraint: Option<Truth>,
    /// Result of the conditions that every candidate must meet.
    pub candidate_condition: Option<Truth>,
    /// Result of the owner test, or `None` if jobs of all owners are routed.
    pub owner: Option<Truth>,
}
