//! Whether two rule sets do the same: on given ads, on ads made from what the rules look at, and the smallest ad on which
//! they differ.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::command::{Attribute, Keyword};
use super::include::IncludeError;
use super::observe::{Failure, Reason, Silent};
use super::program::Transform;
use super::session::Session;
use super::statement::Statement;
use super::turns::Plan;
use crate::classad::{AttrName, ClassAd, Dialect, Expr, references};
use crate::config::reference::{Function, next_reference};
use crate::text::caseless;

/// A rule set and what it sees.
pub struct Side<'a> {
    transforms: &'a [Transform],
    session: RefCell<Session<'a>>,
    plan: Option<Plan>,
}

impl<'a> Side<'a> {
    /// Transforms in order of application, the session that they are applied in, and what the last of them iterates over.
    /// Included files are read once.
    pub fn new(transforms: &'a [Transform], mut session: Session<'a>, plan: Option<Plan>) -> Self {
        session.included = Some(Rc::default());
        session.macros.commit();
        Side { transforms, session: RefCell::new(session), plan }
    }

    /// Applies the rule set to a copy of the ad.
    ///
    /// # Errors
    /// What it does cannot be known, since it depends on a command that is not run.
    pub fn outcome(&self, ad: &ClassAd) -> Result<Outcome, Failure> {
        let session = &mut *self.session.borrow_mut();
        let mut ads = Vec::new();
        let mut failed = None;
        let mut once = |session: &mut Session<'a>| match apply(self.transforms, session, ad) {
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
            Some(Stopped { transform, failure }) => Ok(Outcome::Failed(format!("{transform}: {failure}"))),
        }
    }
}

/// A transform that failed.
struct Stopped {
    transform: BString,
    failure: Failure,
}

fn apply(transforms: &[Transform], session: &mut Session<'_>, ad: &ClassAd) -> Result<ClassAd, Stopped> {
    let mut ad = ad.clone();
    for transform in transforms {
        if session.matches(transform, &ad) {
            session
                .apply(transform, &mut ad, &mut Silent)
                .map_err(|failure| Stopped { transform: transform.name.clone(), failure })?;
        }
    }
    Ok(ad)
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
    /// A transform failed.
    Failed(String),
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

impl Comparison<'_> {
    /// How many turns the two make of each ad, where that is not the same number.
    pub fn turns(&self) -> Option<(u64, u64)> {
        let turns = |side: &Side<'_>| side.plan.as_ref().map_or(1, Plan::turns);
        let (left, right) = (turns(&self.left), turns(&self.right));
        (left != right).then_some((left, right))
    }

    /// The difference on this ad, if there is one. Two failures are the same.
    ///
    /// # Errors
    /// As with [`Side::outcome`].
    pub fn difference(&self, ad: &ClassAd) -> Result<Option<Difference>, Failure> {
        let (left, right) = (self.left.outcome(ad)?, self.right.outcome(ad)?);
        let equal = match (&left, &right) {
            (Outcome::Ads(left), Outcome::Ads(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
            }
            (Outcome::Failed(_), Outcome::Failed(_)) => true,
            _ => false,
        };
        Ok((!equal).then(|| Difference { ad: ad.clone(), left, right }))
    }

    /// A difference on the smallest ad that can be reached by leaving out attributes and simplifying values.
    pub fn shrink(&self, found: Difference) -> Difference {
        let ad = found.ad.clone();
        shrink(&ad, found, &|ad| self.difference(ad).ok().flatten())
    }

    /// Makes ads out of what both rule sets look at, each different; `seeds` are changed as well.
    pub fn generate(&self, seeds: &[ClassAd], count: usize, seed: u64) -> impl Iterator<Item = ClassAd> {
        let mut words = Vocabulary::default();
        self.left
            .transforms
            .iter()
            .chain(self.right.transforms)
            .for_each(|transform| words.collect(transform));
        let (empty, mut random) = (ClassAd::new(), Random(seed | 1));
        (0..count).map(move |_| words.ad(&empty, seeds, &mut random))
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

/// Names of attributes and texts of values that rules speak of: what ads to try them on are made of.
#[derive(Default)]
pub struct Vocabulary {
    names: BTreeSet<BString>,
    values: BTreeSet<BString>,
}

impl Vocabulary {
    /// An ad of these words: `base`, or one of `seeds` two times of three, with some attributes changed or gone.
    pub fn ad(&self, base: &ClassAd, seeds: &[ClassAd], random: &mut Random) -> ClassAd {
        let names: Vec<&BString> = self.names.iter().collect();
        let values: Vec<Expr> = self.values.iter().filter_map(|text| Expr::parse(text).ok()).collect();
        let mut ad = match seeds.len() {
            0 => base.clone(),
            length if random.below(3) > 0 => seeds[random.below(length)].clone(),
            _ => base.clone(),
        };
        if !names.is_empty() {
            for _ in 0..=random.below(names.len().min(12) + 1) {
                let name = names[random.below(names.len())];
                if random.below(4) == 0 || values.is_empty() {
                    ad.remove(name);
                } else {
                    ad.insert(name, values[random.below(values.len())].clone());
                }
            }
        }
        ad
    }

    /// Takes in what a transform speaks of.
    pub fn collect(&mut self, transform: &Transform) {
        for text in ["0", "1", "-1", "2.5", "\"\"", "\"a\"", "true", "false", "undefined", "{ 1,2 }"] {
            self.values.insert(text.into());
        }
        if let Some(requirements) = &transform.envelope.requirements {
            self.expression(&requirements.expr);
        }
        for (line, statement) in transform.statements() {
            self.macros(&line.text);
            match statement {
                Statement::Command(Ok(command)) => {
                    match &command.attribute {
                        Some(Attribute::Name { name, .. }) if command.keyword != Keyword::EvalMacro => {
                            self.name(name);
                        }
                        Some(Attribute::Pattern(pattern)) => self.pattern(&pattern.regex),
                        _ => {}
                    }
                    if matches!(command.keyword, Keyword::Copy | Keyword::Rename) {
                        self.name(&command.value);
                    } else if let Ok((expr, _)) = Expr::parse_prefix(&command.value, Dialect::new_syntax()) {
                        self.expression(&expr);
                    }
                }
                Statement::Condition => {
                    let condition = line.text.splitn_str(2, b" ").nth(1).unwrap_or_default();
                    if let Ok((expr, _)) = Expr::parse_prefix(condition, Dialect::new_syntax()) {
                        self.expression(&expr);
                    }
                }
                Statement::Assign(assignment) => {
                    if let Ok(expr) = Expr::parse(&assignment.value) {
                        self.expression(&expr);
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes in the names and values of an expression.
    pub fn expression(&mut self, expr: &Expr) {
        for name in references::of(expr) {
            self.name(name.as_bytes());
        }
        for literal in references::literals(expr) {
            let text = literal.unparse();
            if let Some(number) = text.to_str().ok().and_then(|text| text.parse::<i64>().ok()) {
                self.values.insert(number.saturating_add(1).to_string().into());
                self.values.insert(number.saturating_sub(1).to_string().into());
            }
            self.values.insert(text);
        }
    }

    fn macros(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
            at = found.dollar + 2;
            if found.function == Function::Plain {
                let name = found.name_and_default(text).0;
                if caseless::starts_with(name, b"MY.") {
                    self.name(&name[3..]);
                }
            }
        }
    }

    fn name(&mut self, name: &[u8]) {
        let name = name.split(|&b| b == b'.').next_back().unwrap_or_default();
        if super::pattern::is_attribute_name(name)
            && !self.names.iter().any(|known| caseless::eq(known, name))
        {
            self.names.insert(name.into());
        }
    }

    /// Names that a pattern may match: its runs of letters, alone and with something around.
    fn pattern(&mut self, regex: &[u8]) {
        for run in regex.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).filter(|run| !run.is_empty()) {
            self.name(run);
            self.name(&[run, b"X1"].concat());
            self.name(&[b"Y", run].concat());
        }
        self.name(b"Z");
    }
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
