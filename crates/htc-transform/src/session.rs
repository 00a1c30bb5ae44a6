//! What passes from one transform to the next: macros, and what is expanded with them (`TransformClassAd`).

use std::borrow::Cow;
use std::rc::Rc;

use bstr::BString;

use super::include::Included;
use super::macros::{BuiltIn, Macros, Scope};
use super::observe::{Event, Failure, Observer, Problem, ProblemKind, Reason};
use super::program::Transform;
use super::rules::Line;
use htc_base::quirks::Quirks;
use htc_base::text::Span;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::expand;
use htc_config::{CommandPolicy, MacroSource};

/// Applies transforms; keeps the macros that pass from one to the next.
pub struct Session<'w> {
    /// What is outside.
    pub world: &'w dyn World,
    /// The configuration that `$(NAME)` falls back to.
    pub knobs: Option<&'w dyn MacroSource>,
    /// The macros: set ones before the first ad with [`Macros::set`], go back between ads with [`Macros::rewind`].
    pub macros: Macros,
    /// The names that are defined by themselves.
    pub built_in: BuiltIn,
    /// Whether to do as 25.14 does where that is plainly not what was meant.
    pub quirks: Quirks,
    /// Whether commands that `include` and TRANSFORM name are run; the reference runs them.
    pub commands: CommandPolicy,
    /// Where what `include` gives is remembered; the reference reads it again for every ad.
    pub included: Option<Rc<Included>>,
    /// Why an `include ifexist` was passed over: the reference tells it with the next failure that has no reason of its own.
    pub stale_reason: String,
}

impl<'w> Session<'w> {
    /// A session without macros.
    pub fn new(world: &'w dyn World, knobs: Option<&'w dyn MacroSource>) -> Self {
        let quirks = Quirks::default();
        let commands = CommandPolicy::BOUNDED;
        let (macros, built_in) = (Macros::default(), BuiltIn::Basic);
        let (included, stale_reason) = (None, String::new());
        Session { world, knobs, macros, built_in, quirks, commands, included, stale_reason }
    }

    /// Whether the transform's REQUIREMENTS let it be applied to this ad: evaluated in the ad without TARGET, as a text that
    /// stands in no ad; boolean and number count by their truth, anything else does not apply.
    pub fn matches(&self, transform: &Transform, ad: &ClassAd) -> bool {
        let Some(requirements) = &transform.envelope.requirements else { return true };
        // An evaluation that is given up lets it apply (`MacroStreamXFormSource::matches`).
        let value = Context::new(self.world).my(ad).alone().try_eval(&requirements.expr);
        value.is_none_or(|value| value.truth() == Some(true))
    }

    /// Expands a text as a command's value would be, with no ad: for arguments of TRANSFORM.
    pub fn expand_alone(
        &self,
        line: &Line,
        text: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<BString, Failure> {
        let empty = Macros::default();
        let scope = Scope { macros: &empty, built_in: &self.built_in, ad: None, knobs: None };
        self.expand_in(&scope, (line, 0), text, observer).map(|text| text.into_owned().into())
    }

    pub(super) fn scope<'a>(&'a self, ad: Option<&'a ClassAd>) -> Scope<'a> {
        Scope { macros: &self.macros, built_in: &self.built_in, ad, knobs: self.knobs }
    }

    /// Expands the value of a command, at its place in a line.
    pub(super) fn expand<'t>(
        &self,
        at: (&Line, usize),
        text: &'t [u8],
        ad: Option<&ClassAd>,
        observer: &mut dyn Observer,
    ) -> Result<Cow<'t, [u8]>, Failure> {
        self.expand_in(&self.scope(ad), at, text, observer)
    }

    /// Expands macros; a text without `$` is returned as it is.
    fn expand_in<'t>(
        &self,
        scope: &Scope<'_>,
        (line, at): (&Line, usize),
        text: &'t [u8],
        observer: &mut dyn Observer,
    ) -> Result<Cow<'t, [u8]>, Failure> {
        if memchr::memchr(b'$', text).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let mut report = |message: expand::Message| function_problem(observer, line, &message);
        match expand::expand(text, scope, self.world, &mut report) {
            Ok(expanded) => Ok(Cow::Owned(expanded.into())),
            Err(error) => {
                Err(Failure::new(line, (at, at + text.len()), Reason::Expansion(error.to_string())))
            }
        }
    }

    /// Stores a macro.
    pub(super) fn store(&mut self, line: &Line, name: &[u8], value: BString, observer: &mut dyn Observer) {
        if observer.wants_steps() {
            observer.event(line, Event::Assigned { name, value: &value });
        }
        self.macros.set(name, value);
    }
}

/// Tells of a function that failed.
pub(super) fn function_problem(observer: &mut dyn Observer, line: &Line, message: &expand::Message) {
    let kind = ProblemKind::Function(message.to_string());
    let problem = Problem { kind, text: line.text.clone(), at: Span::default(), in_line: None };
    observer.event(line, Event::Problem(problem));
}
