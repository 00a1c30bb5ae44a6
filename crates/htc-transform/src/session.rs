//! State passed from one transform to the next: macros, and their expansion (`TransformClassAd`).

use std::borrow::Cow;
use std::rc::Rc;

use bstr::BString;

use super::include::IncludeCache;
use super::macros::{BuiltInMacros, MacroScope, MacroTable};
use super::observer::{
    FailureReason, Observer, ProblemKind, TransformEvent, TransformFailure, TransformProblem,
};
use super::program::Transform;
use super::rules_text::RuleLine;
use htc_base::quirks::QuirkMode;
use htc_base::text::Span;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Truth, Value};
use htc_config::expand;
use htc_config::{CommandPolicy, MacroSource};

/// Session in which transforms are applied; keeps the macros that each transform passes to the next.
pub struct TransformSession<'w> {
    /// Interface to the outside: clock, files, commands.
    pub world: &'w dyn World,
    /// Configuration that `$(NAME)` falls back to.
    pub config: Option<&'w dyn MacroSource>,
    /// Macros. Define some before the first ad with [`MacroTable::set`], and reset them between ads with
    /// [`MacroTable::rewind`].
    pub macros: MacroTable,
    /// Predefined macros, such as `$(Step)`.
    pub built_in: BuiltInMacros,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Policy for commands in `include` and TRANSFORM; the reference runs them.
    pub commands: CommandPolicy,
    /// Cache for included texts, or `None` to read them again for every ad like the reference.
    pub include_cache: Option<Rc<IncludeCache>>,
    /// Reason why an `include ifexist` was skipped: the reference reports this reason with the next failure that has no
    /// reason of its own.
    pub stale_reason: String,
}

impl<'w> TransformSession<'w> {
    /// Creates a session without macros.
    pub fn new(world: &'w dyn World, config: Option<&'w dyn MacroSource>) -> Self {
        let quirks = QuirkMode::default();
        let commands = CommandPolicy::BOUNDED_RUN;
        let (macros, built_in) = (MacroTable::default(), BuiltInMacros::Basic);
        let (included, stale_reason) = (None, String::new());
        TransformSession {
            world,
            config,
            macros,
            built_in,
            quirks,
            commands,
            include_cache: included,
            stale_reason,
        }
    }

    /// Returns true if the ad meets the transform's REQUIREMENTS. They are evaluated with the ad as MY, without TARGET,
    /// as an expression outside any ad. They are met only if their value is `true` or a nonzero number.
    pub fn meets_requirements(&self, transform: &Transform, ad: &ClassAd) -> bool {
        self.evaluate_requirements(transform, ad) == Truth::True
    }

    /// Returns the truth value of the transform's REQUIREMENTS, as [`TransformSession::meets_requirements`] evaluates them.
    pub fn evaluate_requirements(&self, transform: &Transform, ad: &ClassAd) -> Truth {
        let Some(requirements) = &transform.envelope.requirements else { return Truth::True };
        // After an aborted evaluation, the requirements are treated as met (`MacroStreamXFormSource::matches`).
        let value = Context::new(self.world).my(ad).without_enclosing_ad().try_eval(&requirements.expr);
        match value {
            None => Truth::True,
            Some(Value::Error) => Truth::Error,
            Some(value) if value.truth() == Some(true) => Truth::True,
            Some(_) => Truth::False,
        }
    }

    /// Expands the arguments of TRANSFORM in the same way as the value of a command, but without an ad.
    pub fn expand_without_ad(
        &self,
        line: &RuleLine,
        text: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<BString, TransformFailure> {
        let empty = MacroTable::default();
        let scope = MacroScope { macros: &empty, built_in: &self.built_in, ad: None, config: None };
        self.expand_in_scope(&scope, line, 0, text, observer).map(|text| text.into_owned().into())
    }

    pub(super) fn macro_scope<'a>(&'a self, ad: Option<&'a ClassAd>) -> MacroScope<'a> {
        MacroScope { macros: &self.macros, built_in: &self.built_in, ad, config: self.config }
    }

    /// Expands the value of a command at its position in a line.
    pub(super) fn expand<'t>(
        &self,
        line: &RuleLine,
        at: usize,
        text: &'t [u8],
        ad: Option<&ClassAd>,
        observer: &mut dyn Observer,
    ) -> Result<Cow<'t, [u8]>, TransformFailure> {
        self.expand_in_scope(&self.macro_scope(ad), line, at, text, observer)
    }

    /// Expands macros; a text without `$` is returned unchanged.
    fn expand_in_scope<'t>(
        &self,
        scope: &MacroScope<'_>,
        line: &RuleLine,
        at: usize,
        text: &'t [u8],
        observer: &mut dyn Observer,
    ) -> Result<Cow<'t, [u8]>, TransformFailure> {
        if memchr::memchr(b'$', text).is_none() {
            return Ok(Cow::Borrowed(text));
        }
        let mut report = |message: expand::FunctionFailure| report_function_problem(observer, line, &message);
        match expand::expand(text, scope, self.world, &mut report) {
            Ok(expanded) => Ok(Cow::Owned(expanded.into())),
            Err(error) => Err(TransformFailure::new(
                line,
                Span::new(at, at + text.len()),
                FailureReason::Expansion(error.to_string()),
            )),
        }
    }

    /// Stores a macro and reports it.
    pub(super) fn store_macro(
        &mut self,
        line: &RuleLine,
        name: &[u8],
        value: BString,
        observer: &mut dyn Observer,
    ) {
        if observer.wants_steps() {
            observer.on_event(line, TransformEvent::Assigned { name, value: &value });
        }
        self.macros.set(name, value);
    }
}

/// Reports the failure of a macro function.
pub(super) fn report_function_problem(
    observer: &mut dyn Observer,
    line: &RuleLine,
    message: &expand::FunctionFailure,
) {
    let kind = ProblemKind::Function(message.to_string());
    let problem = TransformProblem { kind, text: line.text.clone(), at: Span::default(), in_line: None };
    observer.on_event(line, TransformEvent::Problem(problem));
}
