//! Whether two routers do the same with a job: the same route, the same copy. The limits of routes are compared as they
//! stand, since one job alone meets none.

use bstr::{BString, ByteSlice};

use super::translate::Unwatched;
use super::{Choice, Chooser, Knobs, Route, RouteState, RouteTable, Translator};
use crate::classad::{ClassAd, Expr, mode};
use crate::config::{MacroSource, expand};
use crate::hook::HookType;
use crate::quirks::Quirks;
use crate::text::caseless;
use crate::transform::compare::{Random, Vocabulary, same, shrink};
use crate::world::World;

/// A router that is compared.
pub struct Side<'a> {
    /// Its routes and transforms.
    pub table: &'a RouteTable,
    /// Its parameters.
    pub knobs: &'a Knobs,
    /// Its configuration.
    pub config: &'a dyn MacroSource,
}

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
    Failed(BString, String),
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

/// Two routers.
pub struct Comparison<'a> {
    /// The first.
    pub left: Side<'a>,
    /// The second.
    pub right: Side<'a>,
    /// What is outside.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: Quirks,
}

impl Comparison<'_> {
    /// What one of the two does with a job, all its routes being empty.
    pub fn outcome(&self, side: &Side<'_>, job: &ClassAd) -> Outcome {
        mode::set_strict(side.knobs.strict);
        let mut states = vec![RouteState::new(self.world.now().epoch()); side.table.routes.len()];
        let mut chooser = Chooser::new(side.table, side.knobs, None, self.world);
        let umbrella = match chooser.umbrella(&states) {
            Ok(Some(umbrella)) if side.table.enabled => umbrella,
            _ => return Outcome::NotRouted,
        };
        let Choice::Route(at) = chooser.choose(&umbrella, job, &mut states, &mut 0) else {
            return Outcome::NotRouted;
        };
        let route = &side.table.routes[at];
        let translator = Translator {
            table: side.table,
            knobs: side.knobs,
            config: Some(side.config),
            world: self.world,
            quirks: self.quirks,
        };
        let mut ad = job.clone();
        let watcher = &mut Unwatched::default();
        let made = if route.edit_job_in_place.truth(job, self.world) {
            translator.apply(route, &mut ad, watcher).map(|()| Outcome::Edited(route.name.clone(), ad))
        } else {
            let sandboxed = route.job_should_be_sandboxed.truth(job, self.world);
            // The copy of a claimed job.
            ad.set("Managed", "External");
            ad.set("ManagedManager", side.knobs.name.clone());
            let source = ad.clone();
            translator.copy(route, &source, "0.0", sandboxed, &mut ad, watcher).map(|()| Outcome::Copy {
                route: route.name.clone(),
                sandboxed,
                ad,
            })
        };
        made.unwrap_or_else(|error| {
            Outcome::Failed(route.name.clone(), error.reference_text("", route.name.as_bstr()))
        })
    }

    /// The difference on this job, if there is one. Two failures of the same route are the same.
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
                if let Some(name) = name.filter(|_| alike(a, b)) {
                    left.insert("RouteName", name);
                }
                alike(a, b) && in_a == in_b && same(&left, right)
            }
            (Outcome::Edited(a, left), Outcome::Edited(b, right)) => alike(a, b) && same(left, right),
            (Outcome::Failed(a, _), Outcome::Failed(b, _)) => alike(a, b),
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
        shrink(&ad, found, &|ad| self.difference(ad).filter(|found| may_fail || !fails(found)))
    }

    /// Makes jobs out of what both routers look at: idle ones that nobody manages, and `seeds`, with changes.
    pub fn generate(
        &self,
        seeds: &[ClassAd],
        count: usize,
        seed: u64,
    ) -> impl Iterator<Item = ClassAd> + use<> {
        let mut words = Vocabulary::default();
        for side in [&self.left, &self.right] {
            let transforms = side.table.pre.iter().chain(&side.table.post);
            transforms.for_each(|transform| words.collect(transform));
            for route in &side.table.routes {
                words.collect(&route.transform);
                let steers = [
                    &route.edit_job_in_place,
                    &route.job_should_be_sandboxed,
                    &route.use_shared_proxy,
                    &route.shared_proxy,
                    &route.send_tokens,
                ];
                steers.iter().filter_map(|steer| steer.expr.as_ref()).for_each(|expr| words.expression(expr));
            }
            let constraint = side.knobs.constraint.as_ref().and_then(|text| Expr::parse(text).ok());
            constraint.iter().for_each(|expr| words.expression(expr));
        }
        let mut base = ClassAd::new();
        for (name, value) in [("ClusterId", 1), ("ProcId", 0), ("JobStatus", 1), ("JobUniverse", 5)] {
            base.set(name, value);
        }
        base.set("Owner", "user");
        let (seeds, mut random) = (seeds.to_vec(), Random(seed | 1));
        (0..count).map(move |_| words.ad(&base, &seeds, &mut random))
    }

    /// What differs beside the making of copies: limits of routes of the same name, routes that only one of the two has, limits,
    /// hooks and queues of the routers. One line each.
    pub fn limits(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let find = |side: &Side<'_>, name: &BString| {
            side.table.routes.iter().find(|route| alike(&route.name, name)).cloned()
        };
        for route in &self.left.table.routes {
            match find(&self.right, &route.name) {
                Some(other) => limits(route, &other, &mut lines),
                None => lines.push(format!("route {}: only the first has it", route.name)),
            }
        }
        for route in &self.right.table.routes {
            if find(&self.left, &route.name).is_none() {
                lines.push(format!("route {}: only the second has it", route.name));
            }
        }
        let (left, right) = (self.left.knobs, self.right.knobs);
        if left.max_jobs != right.max_jobs {
            lines.push(format!("JOB_ROUTER_MAX_JOBS: {} and {}", left.max_jobs, right.max_jobs));
        }
        if left.round_robin != right.round_robin {
            let (left, right) = (left.round_robin, right.round_robin);
            lines.push(format!("JOB_ROUTER_ROUND_ROBIN_SELECTION: {left} and {right}"));
        }
        self.surroundings(&mut lines);
        lines
    }

    /// What the two do beside choosing routes and making copies: where copies go, what hooks there are, who is given back how.
    fn surroundings(&self, lines: &mut Vec<String>) {
        let mut line = |what: &str, left: String, right: String| {
            if left != right {
                lines.push(format!("{what}: {left} and {right}"));
            }
        };
        let (left, right) = (self.left.knobs, self.right.knobs);
        let shown = |text: Option<&[u8]>| match text {
            None | Some(b"") => "(none)".to_owned(),
            Some(text) => text.to_str_lossy().into_owned(),
        };
        let schedd = |(name, pool): &(BString, BString)| [shown(Some(name)), shown(Some(pool))];
        for (number, left, right) in [
            (1, schedd(&left.source_schedd), schedd(&right.source_schedd)),
            (2, schedd(&left.destination_schedd), schedd(&right.destination_schedd)),
        ] {
            for ((what, left), right) in ["NAME", "POOL"].into_iter().zip(left).zip(right) {
                line(&format!("JOB_ROUTER_SCHEDD{number}_{what}"), left, right);
            }
        }
        let release = (left.release_on_hold, right.release_on_hold);
        line("JOB_ROUTER_RELEASE_ON_HOLD", release.0.to_string(), release.1.to_string());
        let keyword = |knobs: &Knobs| shown(knobs.hook_keyword.as_ref().map(|keyword| keyword.as_slice()));
        let one = match (&left.hook_keyword, &right.hook_keyword) {
            (Some(left), Some(right)) => caseless::eq(left, right),
            (left, right) => left == right,
        };
        if !one {
            line("JOB_ROUTER_HOOK_KEYWORD", keyword(left), keyword(right));
        }
        if let Some(keyword) = left.hook_keyword.as_ref().filter(|_| one) {
            let hooks = [
                HookType::TranslateJob,
                HookType::RouterUpdateJobInfo,
                HookType::JobFinalize,
                HookType::JobCleanup,
            ];
            let knobs = hooks.map(|hook| hook.knob(keyword)).into_iter();
            for knob in knobs.chain([[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat().into()]) {
                let value = |side: &Side<'_>| {
                    let raw = side.config.raw(&knob)?.into_owned();
                    let value = expand::expand_value(&knob, &raw, side.config, self.world, &mut |_| {});
                    Some(value.unwrap_or_else(|_| raw.into()))
                };
                let value = |side: &Side<'_>| shown(value(side).as_ref().map(|value| value.as_slice()));
                line(&knob.to_str_lossy(), value(&self.left), value(&self.right));
            }
        }
    }
}

/// Whether two names of routes are one, apart from the characters that a conversion has to replace.
fn alike(left: &[u8], right: &[u8]) -> bool {
    let plain = |byte: &u8| if byte.is_ascii_alphanumeric() { *byte } else { b'_' };
    left.len() == right.len() && left.iter().map(plain).eq(right.iter().map(plain))
}

fn limits(left: &Route, right: &Route, lines: &mut Vec<String>) {
    let name = &left.name;
    let mut line = |what: &str, a: String, b: String| {
        if a != b {
            lines.push(format!("route {name}: {what} {a} and {b}"));
        }
    };
    line("MaxJobs", left.max_jobs.to_string(), right.max_jobs.to_string());
    line("MaxIdleJobs", left.max_idle_jobs.to_string(), right.max_idle_jobs.to_string());
    let thresholds = (left.failure_rate_threshold, right.failure_rate_threshold);
    line("FailureRateThreshold", thresholds.0.to_string(), thresholds.1.to_string());
    let test = |route: &Route| {
        let text = route.job_failure_test.expr.as_ref().map(|expr| expr.unparse().to_string());
        text.unwrap_or_else(|| "(none)".to_owned())
    };
    line("JobFailureTest", test(left), test(right));
}
