//! Ads made from conditions: such that each part of each condition is true in one and not in another, while the rest of the
//! condition lets it decide, with values at, below and above what they are compared with.
//!
//! Two rule sets that differ in a condition are told apart by such ads, where ads of chance are not: a text that a pattern
//! matches, a time an hour ago, a number between 4000 and 4001. What could not be reached is known by name, so that "no difference"
//! is never said of conditions that were not tried.
//!
//! `spoken` is what rules name, `seen` what was met while they ran, `goal` is what is wanted of expressions, `leaves` are their parts,
//! `pool`, `values`, `pattern` and `joined` are what attributes are tried with, `solve` finds ads.

mod goal;
mod joined;
mod leaves;
mod pattern;
mod pool;
mod seen;
mod solve;
mod spoken;
mod values;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

pub use goal::{Goal, Want};
pub use seen::Seen;
pub use spoken::spoken_of;

use self::leaves::Leaves;
use self::pool::{Own, Pool};
use self::solve::{Effort, Solved, Solver, give};
use self::values::Trial;
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr, format};

/// An expression that decides something, or in which something is decided.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What it is called in messages, such as `route A: REQUIREMENTS`.
    pub name: String,
    /// The expression. It sees one ad.
    pub expr: Expr,
    /// Whether it is a condition itself, and not a value with conditions in it.
    pub is_condition: bool,
    /// What must hold for it to be asked at all.
    pub within: Vec<Goal>,
    /// Whether both sides are known to ask the same and to go on in the same way: then it need not be reached.
    pub is_alike: bool,
}

/// Attributes that something looks at without comparing them.
#[derive(Clone, Debug)]
pub struct Names {
    /// The attributes.
    pub names: BTreeSet<AttrName>,
    /// What must hold for it to be asked at all.
    pub within: Vec<Goal>,
    /// Whether both sides are known to do the same with them.
    pub is_alike: bool,
}

/// What one side asks of a job and the other does not: jobs that meet the first all, and of the second one.
#[derive(Clone, Debug)]
pub struct Opposed {
    /// What it is called in messages.
    pub name: String,
    /// All of these.
    pub all: Vec<Goal>,
    /// One of these.
    pub one: Vec<Goal>,
}

/// Conditions, and which of their parts have been true and not true so far.
pub struct Cover<'a> {
    world: &'a dyn World,
    base: ClassAd,
    /// Which ads can be: no others are tried.
    possible: fn(&ClassAd) -> bool,
    conditions: Vec<Tested>,
    names: Vec<Names>,
    opposed: Vec<Opposed>,
    /// How many of both, and of what is opposed, have been tried.
    done: (usize, usize, usize),
    /// What is opposed where there were too many ways to try.
    given_up: Vec<String>,
    /// So many evaluations were spent on finding ads.
    spent: usize,
    pool: Pool,
    /// Hashes of the ads, so that nothing is done twice.
    known: FxHashSet<u64>,
    /// Conditions by the hash of what they are.
    by_text: FxHashMap<u64, usize>,
    /// Some of the ads, for those made by chance.
    kept: Vec<ClassAd>,
}

/// A condition with what was seen of it.
struct Tested {
    condition: Condition,
    leaves: Leaves,
    /// The values that each part has for its attributes.
    own: Vec<Own>,
    /// Of the whole and then of each part: whether it was true, and whether it was not.
    seen: Vec<[bool; 2]>,
    /// Whether both sides ask it: then what others compare its attributes with is of no account.
    is_shared: bool,
}

/// With so many values of other conditions the parts of one condition are tried together, for each attribute.
const MOST_TRIALS: usize = 10_000;
/// With so many parts of conditions in all, those that are the same on both sides are tried too: what is different may have an
/// effect there that reading does not show. With more it would take minutes.
const MOST_ALIKE: usize = 200;
/// So many ads are kept for chance to change.
const MOST_KEPT: usize = 400;

impl<'a> Cover<'a> {
    /// Nothing yet; ads will be made of `base` and are evaluated in `world`.
    pub fn new(base: ClassAd, world: &'a dyn World) -> Self {
        Cover {
            world,
            kept: vec![base.clone()],
            base,
            possible: |_| true,
            conditions: Vec::new(),
            names: Vec::new(),
            opposed: Vec::new(),
            done: (0, 0, 0),
            given_up: Vec::new(),
            spent: 0,
            pool: Pool::default(),
            known: FxHashSet::default(),
            by_text: FxHashMap::default(),
        }
    }

    /// Tries only ads that can be.
    #[must_use]
    pub fn only(mut self, possible: fn(&ClassAd) -> bool) -> Self {
        self.possible = possible;
        self
    }

    /// Takes in a condition, once.
    pub fn condition(&mut self, condition: Condition) {
        let text = format!("{} {}", condition.expr, shown(&condition.within));
        if let Some(at) = self.by_text.get(&hash(text.as_bytes())) {
            self.conditions[*at].is_shared = true;
            return;
        }
        self.by_text.insert(hash(text.as_bytes()), self.conditions.len());
        let leaves = Leaves::of(&condition.expr, condition.is_condition);
        let own = leaves.found.iter().map(|leaf| self.pool.part(&leaf.goal, self.world)).collect();
        let seen = vec![[false; 2]; leaves.found.len() + 1];
        self.conditions.push(Tested { condition, leaves, own, seen, is_shared: false });
    }

    /// Takes in attributes that are only looked at, once.
    pub fn names(&mut self, names: Names) {
        let text = format!("{:?} {}", names.names, shown(&names.within));
        if self.known.insert(hash(text.as_bytes())) {
            names.names.iter().for_each(|name| self.pool.name(name));
            self.names.push(names);
        }
    }

    /// Takes in what one side asks and the other does not.
    pub fn opposed(&mut self, opposed: Opposed) {
        self.opposed.push(opposed);
    }

    /// Hands an ad for each part of each condition taken in since the last call to `try_out`, until that says that it is enough.
    fn each(&mut self, try_out: &mut dyn FnMut(&ClassAd) -> bool) {
        while self.done.2 < self.opposed.len() {
            let ads = self.oppose(self.done.2);
            self.done.2 += 1;
            if !self.hand_on(&ads, try_out) {
                return;
            }
        }
        let leaves_out = self.leaves_out_alike();
        while self.done.0 < self.conditions.len() {
            let at = self.done.0;
            self.done.0 += 1;
            if leaves_out && self.conditions[at].condition.is_alike {
                continue;
            }
            for leaf in 0..self.conditions[at].leaves.found.len() {
                let ads = self.decide(at, leaf);
                if !self.hand_on(&ads, try_out) {
                    return;
                }
            }
        }
        while self.done.1 < self.names.len() {
            let at = self.done.1;
            self.done.1 += 1;
            if leaves_out && self.names[at].is_alike {
                continue;
            }
            let ads = self.sweep(at);
            if !self.hand_on(&ads, try_out) {
                return;
            }
        }
    }

    /// Whether there is so much to try that what both sides have in common is left out.
    fn leaves_out_alike(&self) -> bool {
        self.conditions.iter().map(|tested| tested.leaves.found.len()).sum::<usize>() > MOST_ALIKE
    }

    fn solver(&self) -> Solver<'_> {
        Solver { world: self.world, pool: &self.pool, spent: Cell::new(self.spent) }
    }

    fn hand_on(&mut self, ads: &[ClassAd], try_out: &mut dyn FnMut(&ClassAd) -> bool) -> bool {
        ads.iter().all(|ad| {
            if !(self.possible)(ad) || !self.known.insert(hash(&format::long::print(ad))) {
                return true;
            }
            if self.kept.len() < MOST_KEPT {
                self.kept.push(ad.clone());
            }
            self.tried(ad);
            try_out(ad)
        })
    }

    /// Takes note of what an ad makes of the conditions.
    pub fn tried(&mut self, ad: &ClassAd) {
        for Tested { condition, leaves, seen, .. } in &mut self.conditions {
            let exprs =
                std::iter::once(&condition.expr).chain(leaves.found.iter().map(|leaf| &leaf.goal.expr));
            for (expr, seen) in exprs.zip(seen).filter(|(_, seen)| **seen != [true; 2]) {
                let is_true = goal::value(expr, ad, self.world).truth() == Some(true);
                seen[usize::from(!is_true)] = true;
            }
        }
    }

    /// Ads in which one part of a condition decides: it is true and not true, and its attributes have each of their values.
    fn decide(&mut self, condition: usize, at: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let Tested { condition, leaves, own, is_shared, .. } = &self.conditions[condition];
        let leaf = &leaves.found[at];
        let around = [&condition.within[..], &leaf.beside].concat();
        let with = |want| {
            let wanted = [Goal { want, ..leaf.goal.clone() }];
            // Where the rest cannot be had, the part alone is better than nothing.
            [&around[..], &leaf.beside, &[]].into_iter().find_map(|beside| {
                solver.solve(&[beside, &wanted].concat(), &self.base, (&[], Effort::Usual)).ad()
            })
        };
        let mut ads: Vec<ClassAd> = [Want::TRUE, Want::NOT_TRUE].into_iter().filter_map(with).collect();
        let found = ads.clone();
        for (name, own) in own[at].iter() {
            let own = own.plain.iter().chain(&own.near);
            let trials: Vec<&Trial> = if *is_shared {
                own.collect()
            } else {
                // All conditions together may speak of very many values: each part takes its share of them.
                let pool = self.pool.of(name);
                let step = (pool.count() * leaves.found.len()).div_ceil(MOST_TRIALS).max(1);
                own.chain(self.pool.of(name).skip(at % step).step_by(step)).collect()
            };
            ads.extend(found.iter().flat_map(|ad| each_value(&solver, &around, ad, (name, &trials))));
        }
        self.spent = solver.spent.take();
        ads
    }

    /// Ads with a value of each kind for each attribute.
    fn sweep(&mut self, names: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let Names { names, within, .. } = &self.names[names];
        let Some(ad) = solver.solve(within, &self.base, (&[], Effort::Usual)).ad() else { return Vec::new() };
        let trials = values::any_kind();
        let trials: Vec<&Trial> = trials.iter().collect();
        let swept = names.iter().flat_map(|name| each_value(&solver, within, &ad, (name, &trials)));
        let ads = std::iter::once(ad.clone()).chain(swept).collect();
        self.spent = solver.spent.take();
        ads
    }

    /// Ads with which one side does what the other does not.
    fn oppose(&mut self, at: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let Opposed { name, all, one } = &self.opposed[at];
        let mut ads = Vec::new();
        let mut gave_up = false;
        for goal in one {
            match solver.solve(
                &[&all[..], std::slice::from_ref(goal)].concat(),
                &self.base,
                (&[], Effort::Thorough),
            ) {
                Solved::Ad(ad) => ads.push(ad),
                Solved::None => {}
                Solved::GaveUp => gave_up = true,
            }
        }
        let given_up = gave_up.then(|| name.clone());
        self.spent = solver.spent.take();
        self.given_up.extend(given_up);
        ads
    }

    /// Tries the ads of all conditions, and then `chance` ads made by chance, until `try_out` says that it is enough. `evaluated` takes
    /// in what was met meanwhile: of expressions behind a condition that is the next round.
    pub fn search(
        &mut self,
        (seeds, chance): (&[ClassAd], usize),
        random: &mut Random,
        try_out: &mut dyn FnMut(&ClassAd) -> bool,
        evaluated: &dyn Fn(&mut Cover<'_>),
    ) {
        const ROUNDS: usize = 3;
        let mut go_on = true;
        for _ in 0..ROUNDS {
            self.each(&mut |ad| {
                go_on = go_on && try_out(ad);
                go_on
            });
            evaluated(self);
        }
        for _ in 0..chance {
            if !go_on {
                return;
            }
            let ad = self.chance(seeds, &mut |end| random.below(end));
            if !(self.possible)(&ad) {
                continue;
            }
            self.tried(&ad);
            go_on = try_out(&ad);
        }
    }

    /// An ad made by chance: one that was tried, or of `seeds`, with up to four attributes of other values.
    fn chance(&self, seeds: &[ClassAd], below: &mut dyn FnMut(usize) -> usize) -> ClassAd {
        let from = if !seeds.is_empty() && below(3) > 0 { seeds } else { &self.kept };
        let mut ad = from[below(from.len())].clone();
        let names: Vec<&AttrName> = self.pool.names().collect();
        for _ in 0..names.len().min(below(4) + 1) {
            let name = names[below(names.len())];
            let trials: Vec<&Trial> = self.pool.of(name).collect();
            give(&mut ad, name, trials[below(trials.len())]);
        }
        ad
    }

    /// What was never true, or never anything but true, by name: then a difference there was not looked for.
    pub fn unreached(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Tested { condition, leaves, seen, .. } in &self.conditions {
            if condition.is_alike {
                continue;
            }
            let name = &condition.name;
            let mut line = |part: String, seen: &[bool; 2]| {
                let missing = match seen {
                    [true, true] => return true,
                    [false, true] => "true",
                    [true, false] => "anything but true",
                    [false, false] => "asked",
                };
                lines.push(format!("{name}: {part}no job was found for which it is {missing}"));
                false
            };
            let parts = leaves.found.iter().zip(&seen[1..]).filter(|(leaf, _)| leaf.is_condition);
            let all =
                parts.fold(true, |all, (leaf, seen)| line(format!("`{}`: ", leaf.goal.expr), seen) && all);
            if all && condition.is_condition && !leaves.found.is_empty() {
                line(String::new(), &seen[0]);
            }
            if leaves.is_cut {
                lines.push(format!("{name}: it has more parts than are looked at"));
            }
        }
        lines.extend(
            self.given_up.iter().map(|name| format!("{name}: there are too many ways to try them all")),
        );
        lines
    }

    /// How many conditions there are that are not the same for every ad.
    pub fn conditions(&self) -> usize {
        self.conditions.iter().filter(|tested| !tested.leaves.found.is_empty()).count()
    }

    /// How many of them were not tried, since they are the same on both sides and there are very many.
    pub fn left_out(&self) -> usize {
        let alike = self.conditions.iter().filter(|tested| tested.condition.is_alike);
        if self.leaves_out_alike() {
            alike.filter(|tested| !tested.leaves.found.is_empty()).count()
        } else {
            0
        }
    }
}

/// The ad with each value of an attribute, the goals being met where they can be.
fn each_value(
    solver: &Solver<'_>,
    goals: &[Goal],
    ad: &ClassAd,
    (name, trials): (&AttrName, &[&Trial]),
) -> Vec<ClassAd> {
    let with = |trial| {
        let mut ad = ad.clone();
        give(&mut ad, name, trial);
        if solver.met(goals, &ad) {
            Some(ad)
        } else {
            solver.solve(goals, &ad, (&[name], Effort::Quick)).ad()
        }
    };
    trials.iter().copied().filter_map(with).collect()
}

/// Goals as a text that tells them from others.
fn shown(goals: &[Goal]) -> String {
    goals.iter().map(|goal| format!("{:?} {}\n", goal.want, goal.expr)).collect()
}

/// A small generator of numbers (xorshift64*): the same seed gives the same ads.
pub struct Random(pub u64);

impl Random {
    /// A number below `end`, 0 for an `end` of 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(high).unwrap_or_default() % end.max(1)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}
