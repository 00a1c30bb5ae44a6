//! Whether two rule sets do the same: on given ads, on ads made from what the rules look at, and the smallest ad on which
//! they differ.

use std::cell::RefCell;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::cover::{Condition, Cover, Goal, Names, Opposed, Seen, Want, spoken_of};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr};
use htc_transform::IncludeError;
use htc_transform::Plan;
use htc_transform::Session;
use htc_transform::Transform;
use htc_transform::observe::{Failure, Reason};

/// A rule set and what it sees.
pub struct Side<'a> {
    transforms: &'a [Transform],
    session: RefCell<Session<'a>>,
    plan: Option<Plan>,
    seen: RefCell<Seen>,
}

impl<'a> Side<'a> {
    /// Transforms in order of application, the session that they are applied in, and what the last of them iterates over.
    /// Included files are read once.
    pub fn new(transforms: &'a [Transform], mut session: Session<'a>, plan: Option<Plan>) -> Self {
        session.included = Some(Rc::default());
        session.macros.commit();
        Side { transforms, session: RefCell::new(session), plan, seen: RefCell::default() }
    }

    /// Applies the rule set to a copy of the ad.
    ///
    /// # Errors
    /// What it does cannot be known, since it depends on a command that is not run.
    pub fn outcome(&self, ad: &ClassAd) -> Result<Outcome, Failure> {
        let session = &mut *self.session.borrow_mut();
        let mut ads = Vec::new();
        let mut failed = None;
        session.world.reseed(1);
        let mut once = |session: &mut Session<'a>| match self.apply(session, ad) {
            Ok(ad) => {
                ads.push(ad);
                ads.len() < MOST_TURNS
            }
            Err(stopped) => {
                failed = Some(stopped);
                false
            }
        };
        match &self.plan {
            Some(plan) => session.each_turn(plan, |session| once(session)),
            None => {
                let start = session.macros.mark();
                once(session);
                session.macros.rewind(start);
            }
        }
        match failed {
            None => Ok(Outcome::Ads(ads)),
            Some(Stopped { failure, .. })
                if matches!(failure.reason, Reason::Include(IncludeError::Refused { .. })) =>
            {
                Err(failure)
            }
            Some(Stopped { transform, failure }) => Ok(Outcome::Failed(transform, failure.to_string())),
        }
    }

    fn apply(&self, session: &mut Session<'a>, ad: &ClassAd) -> Result<ClassAd, Stopped> {
        let mut ad = ad.clone();
        let seen = &mut *self.seen.borrow_mut();
        for transform in self.transforms {
            if session.matches(transform, &ad) {
                session
                    .apply(transform, &mut ad, seen.begins(&transform.name))
                    .map_err(|failure| Stopped { transform: transform.name.clone(), failure })?;
            }
        }
        Ok(ad)
    }
}

/// A transform that failed.
struct Stopped {
    transform: BString,
    failure: Failure,
}

/// Two rule sets.
pub struct Comparison<'a> {
    /// The first.
    pub left: Side<'a>,
    /// The second.
    pub right: Side<'a>,
}

/// What a rule set makes of an ad.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An ad for each turn: one unless the rules iterate.
    Ads(Vec<ClassAd>),
    /// A transform failed: which, and why.
    Failed(BString, String),
}

/// An ad on which the two differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The ad.
    pub ad: ClassAd,
    /// What the first makes of it.
    pub left: Outcome,
    /// What the second makes of it.
    pub right: Outcome,
}

/// Of a rule set that iterates so many turns are looked at for each ad.
const MOST_TURNS: usize = 1000;

impl<'a> Comparison<'a> {
    /// How many turns the two make of each ad, where that is not the same number.
    pub fn turns(&self) -> Option<(u64, u64)> {
        let turns = |side: &Side<'_>| side.plan.as_ref().map_or(1, Plan::turns);
        let (left, right) = (turns(&self.left), turns(&self.right));
        (left != right).then_some((left, right))
    }

    /// Whether the two are one, apart from where they stand and what they are called.
    pub fn is_alike(&self) -> bool {
        let mut both = self.left.transforms.iter().zip(self.right.transforms);
        self.left.transforms.len() == self.right.transforms.len()
            && both.all(|(left, right)| left.has_same_requirements(right) && left.has_same_statements(right))
    }

    /// The difference on this ad, if there is one. Two failures for the same reason are the same.
    ///
    /// # Errors
    /// As with [`Side::outcome`].
    pub fn difference(&self, ad: &ClassAd) -> Result<Option<Difference>, Failure> {
        let (left, right) = (self.left.outcome(ad)?, self.right.outcome(ad)?);
        let equal = match (&left, &right) {
            (Outcome::Ads(left), Outcome::Ads(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
            }
            (Outcome::Failed(_, left), Outcome::Failed(_, right)) => left == right,
            _ => false,
        };
        Ok((!equal).then(|| Difference { ad: ad.clone(), left, right }))
    }

    /// A difference on the smallest ad that can be reached by leaving out attributes and simplifying values.
    pub fn shrink(&self, found: Difference) -> Difference {
        let ad = found.ad.clone();
        shrink(&ad, found, &|ad| self.difference(ad).ok().flatten())
    }

    /// What both rule sets ask of an ad, to make ads of. `names` are what they are called in messages.
    pub fn cover(&self, names: [&str; 2], world: &'a dyn World) -> Cover<'a> {
        let mut cover = Cover::new(ClassAd::new(), world);
        for (side, name) in [&self.left, &self.right].into_iter().zip(names) {
            for transform in side.transforms {
                let requirements = transform.envelope.requirements.as_ref();
                if let Some(requirements) = requirements {
                    cover.condition(Condition {
                        name: format!("{name}: REQUIREMENTS"),
                        expr: requirements.expr.clone(),
                        is_condition: true,
                        within: Vec::new(),
                        is_alike: false,
                    });
                }
                let within = requirements.map(|requirements| Goal::new(&requirements.expr, Want::TRUE));
                let within = Vec::from_iter(within);
                cover.names(Names { names: spoken_of(transform), within, is_alike: false });
            }
        }
        let [left, right] = [&self.left, &self.right].map(|side| side.transforms.iter());
        for (left, right) in left.zip(right) {
            let [Some(left), Some(right)] = [left, right].map(|it| it.envelope.requirements.as_ref()) else {
                continue;
            };
            let [left, right] = [left, right].map(|it| Goal::new(&it.expr, Want::TRUE));
            if !left.is_same(&right) {
                let oppose = |name: &str, one: &Goal, other: &Goal| Opposed {
                    name: format!("{name}: ads that match here alone"),
                    all: vec![one.clone()],
                    one: vec![other.contrary()],
                };
                cover.opposed(oppose(names[0], &left, &right));
                cover.opposed(oppose(names[1], &right, &left));
            }
        }
        cover
    }

    /// What was evaluated meanwhile, with its macros expanded: more to make ads of.
    pub fn evaluated(&self, names: [&str; 2], cover: &mut Cover<'_>) {
        for (side, name) in [&self.left, &self.right].into_iter().zip(names) {
            for transform in side.transforms {
                let requirements = transform.envelope.requirements.as_ref();
                let within = requirements.map(|requirements| Goal::new(&requirements.expr, Want::TRUE));
                side.seen.borrow().conditions(&transform.name, name, &Vec::from_iter(within), cover);
            }
        }
    }

    /// Conditions of `if` that were never true, or never false, by name.
    pub fn unreached(&self, names: [&str; 2]) -> Vec<String> {
        let sides = [&self.left, &self.right].into_iter().zip(names);
        sides.flat_map(|(side, name)| side.seen.borrow().unreached(name, &|_| false)).collect()
    }
}

/// The smallest ad that can be reached from `ad` by leaving out attributes and simplifying values, and on which `find`
/// still finds something; with what it found there.
pub fn shrink<D>(ad: &ClassAd, mut found: D, find: &dyn Fn(&ClassAd) -> Option<D>) -> D {
    let mut ad = ad.clone();
    loop {
        let names: Vec<AttrName> = ad.names().map(|name| name.as_bytes().into()).collect();
        let smaller = names.iter().find_map(|name| {
            let mut ad = ad.clone();
            ad.remove(name.as_bytes());
            find(&ad).map(|found| (ad, found))
        });
        let next = smaller.or_else(|| {
            names.iter().find_map(|name| {
                let now = ad.get(name.as_bytes())?.unparse();
                [&b"0"[..], b"1", b"\"\"", b"\"a\"", b"true"]
                    .iter()
                    .take_while(|text| now != ***text)
                    .find_map(|text| {
                        let mut ad = ad.clone();
                        ad.insert(name.as_bytes(), Expr::parse(text).ok()?);
                        find(&ad).map(|found| (ad, found))
                    })
            })
        });
        match next {
            Some(next) => (ad, found) = next,
            None => return found,
        }
    }
}

/// Whether two ads have the same attributes; the spelling of names does not count.
pub fn same(left: &ClassAd, right: &ClassAd) -> bool {
    left.len() == right.len()
        && left.iter().all(|(name, expr)| {
            right.get(name.as_bytes()).is_some_and(|other| other.unparse() == expr.unparse())
        })
}
