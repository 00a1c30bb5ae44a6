//! Whether two routers do the same with a job: the same route, the same copy. The limits of routes are compared as they
//! stand, since one job alone meets none.

mod alike;
mod asked;
mod limits;
mod names;
mod pair;
mod possible;

use bstr::BString;

pub use pair::{Comparison, Met, Side};

use crate::cover::Cover;
use crate::transforms::{same, shrink};
use htc_base::quirks::Quirks;
use htc_base::world::{InMode, World};
use htc_classad::{ClassAd, Truth};
use htc_router::explain::Explainer;
use htc_router::translate::TranslateError;
use htc_router::{Choice, Chooser, Original, Rounds, Route, RouteState, Translator};

/// What a router does with a job.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It leaves the job alone.
    NotRouted,
    /// It submits a copy.
    Copy {
        /// The route.
        route: BString,
        /// Whether the files go through a sandbox.
        sandboxed: bool,
        /// The copy.
        ad: ClassAd,
    },
    /// It edits the job itself: the route and the ad.
    Edited(BString, ClassAd),
    /// It chooses the route and fails: why.
    Failed(BString, TranslateError),
}

/// A job with which the two do not do the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The job.
    pub ad: ClassAd,
    /// What the first does.
    pub left: Outcome,
    /// What the second does.
    pub right: Outcome,
}

impl<'a> Comparison<'a> {
    /// Two routers that have done nothing yet.
    pub fn new(left: Side<'a>, right: Side<'a>, world: &'a dyn World, quirks: Quirks) -> Self {
        let renamed = names::renamed(left.table, right.table);
        let [mut left, mut right] = [left, right];
        [left.order, right.order] = names::orders(left.table, right.table, &renamed);
        let is_config_alike = alike::is_config_alike(left.config, right.config);
        let mut both =
            Comparison { left, right, world, quirks, renamed, is_config_alike, is_frame_alike: false };
        both.is_frame_alike = both.frame_is_alike();
        both
    }
}

impl Comparison<'_> {
    /// What one of the two does with a job, all its routes being empty.
    pub fn outcome(&self, side: &Side<'_>, job: &ClassAd) -> Outcome {
        let world = &InMode { world: side.config.world(), strict: side.knobs.strict };
        world.reseed(1);
        // What is asked beside it has the same chance, too.
        self.world.reseed(1);
        let mut states = vec![RouteState::new(world.now().epoch()); side.table.routes.len()];
        let mut chooser = Chooser::new(side.table, side.knobs, None, world);
        let umbrella = match chooser.umbrella_in_order(&states, side.order.iter().copied()) {
            Ok(Some(umbrella)) if side.table.enabled => umbrella,
            _ => return Outcome::NotRouted,
        };
        let rounds = Rounds { states: &mut states, turn: &mut 0 };
        let Choice::Route(at) = chooser.choose(&umbrella, job, rounds) else {
            return Outcome::NotRouted;
        };
        let route = &side.table.routes[at];
        let translator = Translator {
            table: side.table,
            knobs: side.knobs,
            config: Some(side.config),
            world,
            quirks: self.quirks,
        };
        let mut ad = job.clone();
        let watcher = &mut *side.met.borrow_mut();
        let made = if route.edit_job_in_place.truth(job, world) {
            translator.apply(route, &mut ad, watcher).map(|()| Outcome::Edited(route.name.clone(), ad))
        } else {
            let sandboxed = route.job_should_be_sandboxed.truth(job, world);
            // The copy of a claimed job.
            ad.set("Managed", "External");
            ad.set("ManagedManager", side.knobs.name.clone());
            let source = ad.clone();
            let original = Original { ad: &source, key: "0.0", sandboxed };
            translator.copy(route, &original, &mut ad, watcher).map(|()| Outcome::Copy {
                route: route.name.clone(),
                sandboxed,
                ad,
            })
        };
        match made {
            Ok(made) => {
                watcher.chosen.insert(at, None);
                made
            }
            Err(error) => {
                watcher.chosen.entry(at).or_insert_with(|| Some(error.to_string()));
                Outcome::Failed(route.name.clone(), error)
            }
        }
    }

    /// Why a side does not route a job.
    pub fn reason(&self, side: &Side<'_>, job: &ClassAd) -> String {
        let world = &InMode { world: self.world, strict: side.knobs.strict };
        if !side.table.enabled {
            return "it routes no jobs".into();
        }
        let states = vec![RouteState::new(world.now().epoch()); side.table.routes.len()];
        let chooser = &Chooser::new(side.table, side.knobs, None, world);
        let umbrella = match chooser.umbrella_in_order(&states, side.order.iter().copied()) {
            Ok(umbrella) => umbrella,
            Err(error) => return error.to_string(),
        };
        let explainer =
            Explainer { chooser, table: side.table, umbrella: umbrella.as_ref(), states: &states, world };
        let story = explainer.explain(job, usize::MAX);
        let broken = story.routes.iter().find(|route| route.wants == Truth::Error);
        match broken.filter(|_| story.umbrella == Truth::Error && story.left_out.is_none()) {
            Some(broken) => {
                format!("REQUIREMENTS of route {} are an error, which keeps it from all routes", broken.route)
            }
            None => story.reason(),
        }
    }

    /// What is to be said where routes have other names in the second, so that it asks them in another order.
    pub fn reordered(&self) -> Option<String> {
        let is_ordered = self.right.order.is_sorted();
        (!is_ordered).then(|| {
            format!(
                "the order of names is another in {}: a job for which the REQUIREMENTS of one route are an error may get another route \
                 there, or none; that is not compared",
                self.right.name
            )
        })
    }

    /// The difference on this job, if there is one. Two failures of the same route for the same reason are the same.
    pub fn difference(&self, job: &ClassAd) -> Option<Difference> {
        let (left, right) = (self.outcome(&self.left, job), self.outcome(&self.right, job));
        let equal = match (&left, &right) {
            (Outcome::NotRouted, Outcome::NotRouted) => true,
            (
                Outcome::Copy { route: a, sandboxed: in_a, ad: left },
                Outcome::Copy { route: b, sandboxed: in_b, ad: right },
            ) => {
                let name = right.get("RouteName");
                let mut left = left.clone();
                // Names that differ in characters which no knob can have count as one.
                if let Some(name) = name.filter(|_| self.alike(a, b)) {
                    left.insert("RouteName", name);
                }
                self.alike(a, b) && in_a == in_b && same(&left, right)
            }
            (Outcome::Edited(a, left), Outcome::Edited(b, right)) => self.alike(a, b) && same(left, right),
            (Outcome::Failed(a, left), Outcome::Failed(b, right)) => {
                self.alike(a, b)
                    && left.transform() == right.transform()
                    && left.to_string() == right.to_string()
            }
            _ => false,
        };
        (!equal).then(|| Difference { ad: job.clone(), left, right })
    }

    /// The same difference on the smallest job that can be reached.
    pub fn shrink(&self, found: Difference) -> Difference {
        let ad = found.ad.clone();
        // A job that cannot be routed at all says less than one that is routed in two ways.
        let fails = |found: &Difference| {
            matches!((&found.left, &found.right), (Outcome::Failed(..), _) | (_, Outcome::Failed(..)))
        };
        let may_fail = fails(&found);
        let may_be_odd = !possible::is_possible(&ad);
        let is_wanted = |found: &Difference| may_fail || !fails(found);
        shrink(&ad, found, &|ad| {
            if !may_be_odd && !possible::is_possible(ad) {
                return None;
            }
            self.difference(ad).filter(is_wanted)
        })
    }

    /// What both routers ask of a job, to make jobs of: idle ones that nobody manages.
    pub fn cover(&self) -> Cover<'_> {
        let mut base = ClassAd::new();
        for (name, value) in [("ClusterId", 1), ("ProcId", 0), ("JobStatus", 1), ("JobUniverse", 5)] {
            base.set(name, value);
        }
        base.set("Owner", "user");
        let mut cover = Cover::new(base, self.world).only(possible::is_possible);
        [&self.left, &self.right].into_iter().for_each(|side| side.ask(self, &mut cover));
        self.oppose(&mut cover);
        cover
    }

    /// What was evaluated meanwhile, with its macros expanded: more to make jobs of.
    pub fn evaluated(&self, cover: &mut Cover<'_>) {
        for side in [&self.left, &self.right] {
            let met = side.met.borrow();
            let first = side.ways().next().map(|(_, _, within)| within).unwrap_or_default();
            let around = side.table.pre.iter().chain(&side.table.post);
            for transform in around.filter(|_| !self.is_frame_alike) {
                met.seen.conditions(
                    &transform.name,
                    &side.called("transform", &transform.name),
                    &first,
                    cover,
                );
            }
            for (_, route, within) in side.ways().filter(|(_, route, _)| !self.has_alike(route)) {
                met.seen.conditions(&route.name, &side.called("route", &route.name), &within, cover);
            }
        }
    }

    /// What no job was found for, by name: a difference there was not looked for.
    pub fn unreached(&self, cover: &Cover<'_>) -> Vec<String> {
        let mut lines = cover.unreached();
        let is_alike = |route: &Route| self.has_alike(route);
        for side in [&self.left, &self.right] {
            side.unreached((self.is_frame_alike, &is_alike), &mut lines);
        }
        lines.dedup();
        lines
    }
}
