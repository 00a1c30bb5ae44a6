//! Which jobs are candidates and which route each gets (`GetCandidateJobs`, `ChooseRoute`).

use std::hash::Hasher;

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{Knobs, RouteState, RouteTable};
use htc_base::world::World;
use htc_classad::{
    ClassAd, Context, Dialect, Expr, Guards, Loaded, MatchAd, Role, Screen, Truth, references,
};

/// How many bytes of outcomes are remembered for jobs that look alike.
const MEMORY: usize = 64 << 20;

/// How many jobs are known to have been seen once.
const SEEN: usize = 4 << 20;

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It gets the route of that number.
    Route(usize),
    /// The umbrella constraint leaves it out.
    NotCandidate,
    /// It is a candidate, and no route that accepts jobs wants it.
    NoRoute,
    /// No route accepts jobs any more: no further job need be looked at.
    AllFull,
    /// Who was told of the candidate did not want it looked at.
    Stopped,
}

/// What was seen while a route was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked<'a> {
    /// The job is under the umbrella.
    Candidate,
    /// A route matches: its name.
    Match(&'a [u8]),
}

/// The umbrella constraint of a pass.
#[derive(Clone, Debug)]
pub struct Umbrella {
    /// As text, the way the reference logs it.
    pub text: BString,
    /// Tests of the distinct requirements of routes that accepted jobs when the pass began, in order of route names;
    /// `None` stands for `True`.
    requirements: Vec<Option<usize>>,
    /// Where the parts do not stand for themselves: an ad whose Requirements are the whole text, as the reference asks its
    /// collection.
    whole: Option<ClassAd>,
}

/// The umbrella constraint is no expression: the daemon aborts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Failed to parse umbrella constraint: {0}")]
pub struct UmbrellaError(pub BString);

/// Finds routes for jobs. Requirements are made ready once; states of routes belong to the caller.
pub struct Chooser<'a> {
    table: &'a RouteTable,
    knobs: &'a Knobs,
    world: &'a dyn World,
    /// Of a router that is not root: only its own jobs.
    owner: Option<BString>,
    screen: Screen,
    exprs: Vec<Expr>,
    /// The test of each route's requirements.
    tests: Vec<Option<usize>>,
    /// Tests whose text is an expression, but not between parentheses: a comment up to the end swallows what the umbrella
    /// puts behind it, and what the parser overlooks at the end of a text (`2.5M`) it refuses in the middle.
    open_ended: FxHashSet<usize>,
    /// Tests whose text names Requirements, which under the umbrella is the umbrella itself.
    of_itself: FxHashSet<usize>,
    constraint: Option<usize>,
    /// The constraint is there and is no expression between parentheses.
    constraint_broken: bool,
    sanity: Option<usize>,
    owner_test: Option<usize>,
    scoped: bool,
    /// What most requirements begin with: those of other owners, queues or sites need not be looked at.
    guards: Option<Guards>,
    remembered: FxHashMap<Vec<u8>, Box<[u8]>>,
    /// Jobs that were seen once, by the hash of what they look like: most never come again.
    seen: FxHashSet<u64>,
    key: Vec<u8>,
}

/// The conditions that every candidate fulfils.
fn sanity_text(name: &[u8]) -> Vec<u8> {
    let mut text = b"(target.ProcId >= 0 && target.JobStatus == 1 && (target.StageInStart is undefined || \
        target.StageInFinish isnt undefined) && target.Managed isnt \"ScheddDone\" && target.Managed isnt \
        \"External\" && target.Owner isnt Undefined && target.RoutedBy isnt \""
        .to_vec();
    text.extend_from_slice(name);
    text.extend_from_slice(b"\")");
    text
}

/// The attribute that holds the umbrella while it is looked for jobs.
const REQUIREMENTS: &str = "requirements";

/// An ad that asks for jobs that fulfil an expression.
fn asking(expr: Expr) -> ClassAd {
    let mut ad = ClassAd::new();
    ad.insert(REQUIREMENTS, expr);
    ad
}

fn parenthesized(text: &[u8]) -> Vec<u8> {
    [b"(", text, b")"].concat()
}

/// One job while it is looked at.
struct Row<'j> {
    job: &'j ClassAd,
    my: Loaded<'j>,
    target: Option<Loaded<'j>>,
    /// What is known of its tests.
    outcomes: Box<[u8]>,
}

/// Where the routes stand while jobs are given to them.
#[derive(Debug)]
pub struct Rounds<'s> {
    /// Each route's jobs.
    pub states: &'s mut [RouteState],
    /// How many choices were made so far.
    pub turn: &'s mut u64,
}

impl<'a> Chooser<'a> {
    /// Notes a test whose text names Requirements. In what `eval()` is given the name may stand as text.
    fn note_itself(&mut self, text: &[u8], test: usize) {
        let expr = &self.exprs[test];
        if text.to_ascii_lowercase().contains_str(REQUIREMENTS)
            && (references::is_open(expr) || references::every(expr).contains(&REQUIREMENTS.into()))
        {
            self.of_itself.insert(test);
        }
    }

    /// Makes a table's requirements ready. `owner` is the user whose jobs alone are routed, where the router is not
    /// root.
    pub fn new(
        table: &'a RouteTable,
        knobs: &'a Knobs,
        owner: Option<BString>,
        world: &'a dyn World,
    ) -> Self {
        let mut chooser = Chooser {
            table,
            knobs,
            world,
            owner,
            screen: Screen::new().strict(world.mode().strict),
            exprs: Vec::new(),
            tests: Vec::new(),
            open_ended: FxHashSet::default(),
            of_itself: FxHashSet::default(),
            constraint: None,
            constraint_broken: false,
            sanity: None,
            owner_test: None,
            scoped: false,
            guards: None,
            remembered: FxHashMap::default(),
            seen: FxHashSet::default(),
            key: Vec::new(),
        };
        let mut known: FxHashMap<&[u8], usize> = FxHashMap::default();
        for route in &table.routes {
            let test = route.requirements().map(|expr| {
                *known.entry(route.requirements_text()).or_insert_with(|| chooser.add(expr.clone()))
            });
            chooser.tests.push(test);
        }
        for (text, test) in known {
            chooser.note_itself(text, test);
            if Expr::parse_with(&parenthesized(text), Dialect::of(world)).is_err() {
                chooser.open_ended.insert(test);
            }
        }
        if let Some(text) = &knobs.constraint {
            match (
                Expr::parse_with(text, Dialect::of(world)),
                Expr::parse_with(&parenthesized(text), Dialect::of(world)),
            ) {
                (Ok(expr), Ok(_)) => {
                    let test = chooser.add(expr);
                    chooser.note_itself(text, test);
                    chooser.constraint = Some(test);
                }
                _ => chooser.constraint_broken = true,
            }
        }
        chooser.sanity = Expr::parse(&sanity_text(&knobs.name)).ok().map(|expr| chooser.add(expr));
        chooser.owner_test = chooser
            .owner_text()
            .and_then(|text| Expr::parse_with(&text, Dialect::of(world)).ok())
            .map(|expr| chooser.add(expr));
        chooser.guards = chooser.screen.guards();
        chooser.scoped = (0..chooser.exprs.len()).any(|test| chooser.screen.is_scoped(test));
        chooser
    }

    fn add(&mut self, expr: Expr) -> usize {
        let test = self.screen.add(&expr);
        self.exprs.push(expr);
        test
    }

    fn owner_text(&self) -> Option<Vec<u8>> {
        let owner = self.owner.as_ref()?;
        Some([b"(target.Owner == \"", owner.as_slice(), b"\")"].concat())
    }

    /// The umbrella constraint over the routes that accept jobs now; `None` if there are none.
    ///
    /// # Errors
    /// The text is no expression.
    pub fn umbrella(&self, states: &[RouteState]) -> Result<Option<Umbrella>, UmbrellaError> {
        self.umbrella_in_order(states, 0..self.table.routes.len())
    }

    /// As [`Chooser::umbrella`], with the routes in another order than that of their names: it decides where one's
    /// requirements are an error.
    pub fn umbrella_in_order(
        &self,
        states: &[RouteState],
        order: impl Iterator<Item = usize>,
    ) -> Result<Option<Umbrella>, UmbrellaError> {
        let mut requirements: Vec<Option<usize>> = Vec::new();
        let mut seen = vec![false; self.exprs.len() + 1];
        let mut routes = Vec::new();
        for (at, route) in order.map(|at| (at, &self.table.routes[at])) {
            if states[at].full(route).is_some() {
                continue;
            }
            // `True` as a requirement and no requirement are one text.
            let test = self.tests[at];
            let place = test.unwrap_or(self.exprs.len());
            let text = route.requirements_text();
            let again = text.is_empty() && requirements.iter().flatten().any(|&test| self.is_true_text(test));
            if seen[place] || again {
                continue;
            }
            seen[place] = true;
            if test.is_some_and(|test| self.is_true_text(test)) && seen[self.exprs.len()] {
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
        if let Some(constraint) = &self.knobs.constraint {
            text.extend_from_slice(&[b"(", constraint.as_slice(), b") && "].concat());
        }
        text.extend_from_slice(b"( ");
        text.extend_from_slice(&routes);
        text.extend_from_slice(b" ) && ");
        text.extend_from_slice(&sanity_text(&self.knobs.name));
        if let Some(owner) = self.owner_text() {
            text.extend_from_slice(b" && ");
            text.extend_from_slice(&owner);
        }
        let mut used = requirements.iter().flatten().chain(&self.constraint);
        let in_parts = !self.constraint_broken
            && !used.any(|test| self.open_ended.contains(test) || self.of_itself.contains(test))
            && self.sanity.is_some()
            && self.owner.is_some() == self.owner_test.is_some();
        let whole = match in_parts {
            true => None,
            false => {
                let expr = Expr::parse_with(&text, Dialect::of(self.world))
                    .map_err(|_| UmbrellaError(text.clone().into()))?;
                Some(asking(expr))
            }
        };
        Ok(Some(Umbrella { text: text.into(), requirements, whole }))
    }

    fn is_true_text(&self, test: usize) -> bool {
        let same = |at: &usize| self.tests[*at] == Some(test);
        (0..self.tests.len())
            .find(same)
            .is_some_and(|at| self.table.routes[at].requirements_text() == b"True")
    }

    /// Finds a route for a job and counts the job there.
    pub fn choose(&mut self, umbrella: &Umbrella, job: &ClassAd, rounds: Rounds<'_>) -> Choice {
        self.choose_logged(umbrella, job, rounds, &mut |_| true)
    }

    /// As [`Chooser::choose`]; `looked` is told what is seen and may stop the search at a candidate.
    pub fn choose_logged(
        &mut self,
        umbrella: &Umbrella,
        job: &ClassAd,
        rounds: Rounds<'_>,
        looked: &mut dyn FnMut(Looked<'_>) -> bool,
    ) -> Choice {
        let mut row = Row {
            job,
            my: self.screen.load(job, Role::My),
            target: self.scoped.then(|| self.screen.load(job, Role::Target)),
            outcomes: Box::default(),
        };
        row.outcomes = self.recall(&row);
        let choice = self.choose_row(umbrella, &mut row, rounds, looked);
        self.remember(row.outcomes);
        choice
    }

    /// The outcomes known from a job that looks the same.
    fn recall(&mut self, row: &Row<'_>) -> Box<[u8]> {
        self.key.clear();
        let complete = self.screen.key(&row.my, &mut self.key)
            && row.target.as_ref().is_none_or(|target| self.screen.key(target, &mut self.key));
        if !complete {
            self.key.clear();
        }
        let known = if self.key.is_empty() { None } else { self.remembered.remove(&self.key) };
        known.unwrap_or_else(|| vec![0; self.exprs.len() * 2].into())
    }

    fn remember(&mut self, outcomes: Box<[u8]>) {
        if self.key.is_empty() {
            return;
        }
        let mut hasher = FxHasher::default();
        hasher.write(&self.key);
        if self.seen.len() > SEEN {
            self.seen.clear();
        }
        if self.seen.insert(hasher.finish()) {
            return;
        }
        if self.remembered.len() * (outcomes.len() + self.key.len() + 64) > MEMORY {
            self.remembered.clear();
        }
        self.remembered.insert(std::mem::take(&mut self.key), outcomes);
    }

    /// The outcome of a test with the job in a role.
    fn truth(&self, test: usize, role: Role, row: &mut Row<'_>) -> Truth {
        let scoped = self.screen.is_scoped(test);
        let place = test * 2 + usize::from(scoped && role == Role::Target);
        match row.outcomes[place] {
            1 => return Truth::True,
            2 => return Truth::False,
            3 => return Truth::Undefined,
            4 => return Truth::Error,
            _ => {}
        }
        let loaded = match (&row.target, role) {
            (Some(target), Role::Target) => target,
            _ => &row.my,
        };
        if let Some(truth) = self.screen.truth(test, loaded) {
            row.outcomes[place] = truth as u8 + 1;
            return truth;
        }
        match role {
            Role::My => self.own_test(test, row.job),
            Role::Target => self.as_target(test, row.job),
        }
    }

    fn choose_row(
        &self,
        umbrella: &Umbrella,
        row: &mut Row<'_>,
        Rounds { states, turn }: Rounds<'_>,
        looked: &mut dyn FnMut(Looked<'_>) -> bool,
    ) -> Choice {
        if self.under(umbrella, row) != Truth::True {
            return Choice::NotCandidate;
        }
        if !looked(Looked::Candidate) {
            return Choice::Stopped;
        }
        let mut matches = Vec::new();
        let group = self.group(row);
        for (at, route) in self.table.in_order() {
            if self.tests[at].is_some_and(|test| self.is_excluded(test, group))
                || states[at].full(route).is_some()
            {
                continue;
            }
            let wants = match self.tests[at] {
                None => true,
                Some(test) => self.truth(test, Role::My, row) == Truth::True,
            };
            if wants {
                matches.push(at);
                looked(Looked::Match(&route.name));
                if !self.knobs.round_robin {
                    break;
                }
            }
        }
        if matches.is_empty() {
            let all_full = self.table.in_order().all(|(at, route)| states[at].full(route).is_some());
            return if all_full { Choice::AllFull } else { Choice::NoRoute };
        }
        let chosen = matches[(*turn % matches.len() as u64) as usize];
        *turn += 1;
        states[chosen].chosen();
        Choice::Route(chosen)
    }

    fn group(&self, row: &Row<'_>) -> Option<u32> {
        self.guards.as_ref()?.group(&row.my)
    }

    /// Whether a test begins with a condition that is false for the job.
    fn is_excluded(&self, test: usize, group: Option<u32>) -> bool {
        self.guards.as_ref().zip(group).is_some_and(|(guards, group)| guards.excludes(test, group))
    }

    /// Whether a job is under the umbrella.
    fn under(&self, umbrella: &Umbrella, row: &mut Row<'_>) -> Truth {
        if let Some(whole) = &umbrella.whole {
            return Truth::of(&MatchAd::new(self.world, whole, row.job).left_requirements());
        }
        let group = self.group(row);
        let mut test = |test: Option<usize>| match test {
            None => Truth::True,
            Some(test) => self.truth(test, Role::Target, row),
        };
        let mut under = test(self.constraint);
        if matches!(under, Truth::False | Truth::Error) {
            return under;
        }
        let mut wanted = Truth::False;
        for requirement in &umbrella.requirements {
            // What is false changes nothing.
            if requirement.is_some_and(|test| self.is_excluded(test, group)) {
                continue;
            }
            wanted = wanted.or(|| test(*requirement));
            if matches!(wanted, Truth::True | Truth::Error) {
                break;
            }
        }
        under = under.and(|| wanted);
        under = under.and(|| test(self.sanity));
        under.and(|| test(self.owner_test))
    }

    /// A route's requirements for a job: under the umbrella, where the job is TARGET, and in the route's own test, where it
    /// is MY.
    pub fn wants(&self, route: usize, job: &ClassAd) -> (Truth, Truth) {
        let Some(test) = self.tests[route] else { return (Truth::True, Truth::True) };
        (self.as_target(test, job), self.own_test(test, job))
    }

    /// A test where the job is MY: a text that stands in no ad. An evaluation that is given up counts as true
    /// (`MacroStreamXFormSource::matches`).
    fn own_test(&self, test: usize, job: &ClassAd) -> Truth {
        let value = Context::new(self.world).my(job).alone().try_eval(&self.exprs[test]);
        value.map_or(Truth::True, |value| Truth::of(&value))
    }

    /// A test as a part of the umbrella.
    fn as_target(&self, test: usize, job: &ClassAd) -> Truth {
        let expr = &self.exprs[test];
        if self.of_itself.contains(&test) {
            return Truth::of(&MatchAd::new(self.world, &asking(expr.clone()), job).left_requirements());
        }
        Truth::of(&Context::new(self.world).my(&ClassAd::new()).target(job).eval(expr))
    }

    /// The truth of the umbrella's parts for a job: what an explanation is made from.
    pub fn story(&self, umbrella: &Umbrella, job: &ClassAd) -> Story {
        let part = |test: Option<usize>| test.map(|test| self.as_target(test, job));
        let mut row = Row {
            job,
            my: self.screen.load(job, Role::My),
            target: Some(self.screen.load(job, Role::Target)),
            outcomes: vec![0; self.exprs.len() * 2].into(),
        };
        Story {
            umbrella: self.under(umbrella, &mut row),
            constraint: part(self.constraint),
            sanity: part(self.sanity),
            owner: part(self.owner_test),
        }
    }

    /// The parsed source constraint.
    pub fn constraint(&self) -> Option<&Expr> {
        self.constraint.map(|test| &self.exprs[test])
    }

    /// The parsed conditions that every candidate fulfils.
    pub fn sanity(&self) -> Option<&Expr> {
        self.sanity.map(|test| &self.exprs[test])
    }

    /// The owner whose jobs alone are routed.
    pub fn owner(&self) -> Option<&bstr::BStr> {
        self.owner.as_ref().map(|owner| owner.as_bstr())
    }
}

/// The outcomes of all tests for one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Of the umbrella as a whole.
    pub umbrella: Truth,
    /// Of the source constraint; `None` where there is none.
    pub constraint: Option<Truth>,
    /// Of the conditions that every candidate fulfils.
    pub sanity: Option<Truth>,
    /// Of the owner's name.
    pub owner: Option<Truth>,
}
