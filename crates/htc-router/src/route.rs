//! A route: a transform with some macros that steer the router (`JobRoute::ParseNext`).

use bstr::{BString, ByteSlice};

use super::knobs::{self, Knobs};
use super::note::{RouteError, Subject, complain, condition_line, empty_include, function_words};
use htc_base::job::Universe;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::text::number::real_prefix;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_config::evaluate;
use htc_config::expand;
use htc_config::{MacroSource, View};
use htc_hook::input;
use htc_transform::scope_use::find_scope;
use htc_transform::{
    BuiltIn, Event, Line, LoadError, Observer, Problem, ProblemKind, Scope, Session, Transform,
};

/// A macro of a route that is evaluated in the source job.
#[derive(Clone, Debug, Default)]
pub struct Steer {
    /// The macro's value, expanded; `None` where the route has no such macro.
    pub text: Option<BString>,
    /// Parsed; a text that does not parse counts as absent.
    pub expr: Option<Expr>,
    /// Whether TARGET is the job, too.
    has_target: bool,
}

impl Steer {
    fn new(text: Option<BString>, dialect: Dialect, has_target: bool) -> Self {
        let expr = text.as_ref().and_then(|text| Expr::parse_with(text, dialect.old()).ok());
        Steer { text, expr, has_target }
    }

    /// Its truth in an ad: only truth values and numbers count.
    pub fn truth(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.value(ad, world).and_then(|value| value.truth()).unwrap_or(false)
    }

    /// Its value in an ad; `None` where there is no expression.
    pub fn value(&self, ad: &ClassAd, world: &dyn World) -> Option<Value> {
        self.expr.as_ref().map(|expr| {
            let context = Context::new(world).my(ad);
            if self.has_target { context.target(ad).eval(expr) } else { context.alone().eval(expr) }
        })
    }
}

/// What routes are read with.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The configuration.
    pub view: &'a View<'a>,
    /// The router's parameters.
    pub knobs: &'a Knobs,
    /// What is outside.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: Quirks,
}

/// A route as it was read.
#[derive(Clone, Debug)]
pub struct Route {
    /// The name, in the spelling of `JOB_ROUTER_ROUTE_NAMES`.
    pub name: BString,
    /// What is done to the ad.
    pub transform: Transform,
    /// `JobUniverse` of the copy.
    pub universe: i64,
    /// How many jobs it may have.
    pub max_jobs: i64,
    /// How many of them may be not running; negative for any number.
    pub max_idle_jobs: i64,
    /// Failures a second above which it is throttled.
    pub failure_rate_threshold: f64,
    /// For the grid universe.
    pub grid_resource: BString,
    /// Whether a finished job counts as a failure of the route.
    pub job_failure_test: Steer,
    /// Whether files are spooled.
    pub job_should_be_sandboxed: Steer,
    /// Whether the source itself is changed and no copy made.
    pub edit_job_in_place: Steer,
    /// Whether a proxy of the router's is lent.
    pub use_shared_proxy: Steer,
    /// Which.
    pub shared_proxy: Steer,
    /// Names of tokens; absent: the router's own list.
    pub send_tokens: Steer,
}

/// Tells what is logged while the text of a route is looked at.
struct Checking<'s> {
    say: &'s mut dyn FnMut(Subject, BString),
}

impl Observer for Checking<'_> {
    fn wants_steps(&self) -> bool {
        false
    }

    fn event(&mut self, _: &Line, event: Event<'_>) {
        match event {
            Event::Problem(Problem { kind: ProblemKind::Function(line), .. }) => {
                let text = function_words(&line).to_owned();
                (self.say)(Subject::Complaint(text), format!("{line}\n").into());
            }
            Event::EmptyInclude(name) => (self.say)(Subject::Progress, empty_include(name)),
            _ => {}
        }
    }
}

/// The macros of a route once its text has run.
struct Reader<'a, 's> {
    scope: Scope<'a>,
    with: Reading<'a>,
    /// Whether its expressions see the job as TARGET, too.
    has_target: bool,
    say: &'s mut dyn FnMut(Subject, BString),
}

impl Reader<'_, '_> {
    /// The value, expanded; `None` where there is no such macro.
    fn text(&mut self, name: &str) -> Option<BString> {
        let raw = self.scope.raw(name.as_bytes())?.into_owned();
        let say = &mut *self.say;
        let mut report = |message: expand::Message| {
            say(Subject::Complaint(message.text.to_string()), format!("{message}\n").into());
        };
        expand::expand(&raw, &self.scope, self.with.world, &mut report).ok()
    }

    /// Declared and empty: none, and not the router's own list.
    fn send_tokens(&mut self) -> Steer {
        match self.scope.raw(b"SendIDTokens").map(|raw| raw.is_empty()) {
            Some(true) => Steer::new(Some("\"\"".into()), Dialect::of(self.with.world), false),
            _ => self.steer("SendIDTokens"),
        }
    }

    fn grid_resource(&mut self) -> BString {
        match self.text("GridResource") {
            Some(text) => unquoted(&text),
            None => {
                let text = "JobRouter: Missing or invalid GridResource in job route. Jobs will fail if it's not set in \
                            routed job ad.\n";
                (self.say)(Subject::Progress, text.into());
                BString::default()
            }
        }
    }

    fn steer(&mut self, name: &str) -> Steer {
        let text = self.text(name);
        let names_target = text.as_ref().is_some_and(|text| find_scope(text, "target").is_some());
        if names_target {
            let here = if self.has_target { "here it is the job" } else { "here, too" };
            let words = format!("{name} names TARGET., which is undefined there in 25.14; {here}");
            (self.say)(Subject::Complaint(words), BString::default());
        }
        Steer::new(text, Dialect::of(self.with.world), names_target && self.has_target)
    }

    /// An integer, one beyond 32 bits being cut; `None` for what is none.
    fn int(&mut self, name: &str) -> Option<i64> {
        let value = evaluate::to_integer(&self.text(name)?, self.with.world)?;
        Some(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
    }

    /// Failures a second. 25.14 takes of what is no number the part that is one, which may be nothing and then means no throttle;
    /// where 0 means that one failure is too many, the default is the smaller surprise.
    fn threshold(&mut self) -> f64 {
        const DEFAULT: f64 = 0.03;
        let Some(text) = self.text("FailureRateThreshold") else { return DEFAULT };
        if let Some(value) = evaluate::to_real(&text, self.with.world) {
            return value;
        }
        let taken = match self.with.quirks.has(Quirk::ThrottleZeroIsNone) {
            true => real_prefix(&text).map_or(0.0, |(value, _)| value),
            false => DEFAULT,
        };
        let words = format!("FailureRateThreshold '{text}' is no number; {taken} is taken");
        (self.say)(Subject::Complaint(words), BString::default());
        taken
    }

    /// A limit: the route's, or that of the router.
    fn limit(&mut self, name: &str, knob: &str, default: i64) -> i64 {
        let own = self.int(name);
        own.unwrap_or_else(|| knobs::noted_int(self.with.view, knob, default, &mut complain(self.say)))
    }
}

impl Route {
    /// The proxy file that it lends to the copy of a job; none if it lends none or names none.
    pub fn lent_proxy(&self, source: &ClassAd, world: &dyn World) -> Option<BString> {
        if !self.use_shared_proxy.truth(source, world) {
            return None;
        }
        match self.shared_proxy.value(source, world) {
            Some(Value::Str(file)) => Some(file),
            _ => None,
        }
    }

    /// Reads a route from the unexpanded value of `JOB_ROUTER_ROUTE_<name>`. `say` is told what the reference logs
    /// meanwhile, such as the route's text in its normal form.
    ///
    /// # Errors
    /// Why it is no route.
    pub fn load(
        name: &[u8],
        text: &[u8],
        with: Reading<'_>,
        say: &mut dyn FnMut(Subject, BString),
    ) -> Result<Route, RouteError> {
        let Reading { view, knobs, world, quirks } = with;
        if text.trim().len() < 2 {
            return Err(RouteError::TooShort);
        }
        let transform = Transform::from_knob(&name.to_str_lossy(), text, Dialect::of(world)).map_err(
            |LoadError::Requirements { text, .. }| {
                RouteError::Invalid(format!("invalid REQUIREMENTS : {text}").into())
            },
        )?;
        let mut session = Session::new(world, Some(view));
        session.quirks = quirks;
        check(name, &transform, &mut session, say)?;
        let scope = Scope { macros: &session.macros, built_in: &BuiltIn::Basic, ad: None, knobs: Some(view) };
        let has_target = !quirks.has(Quirk::RouteTargetUndefined);
        let mut reader = Reader { scope, with, has_target, say };
        // In the reference's order, for the messages.
        let job_failure_test = reader.steer("JobFailureTest");
        let job_should_be_sandboxed = reader.steer("JobShouldBeSandboxed");
        let edit_job_in_place = reader.steer("EditJobInPlace");
        let use_shared_proxy = reader.steer("UseSharedX509UserProxy");
        let shared_proxy = reader.steer("SharedX509UserProxy");
        let send_tokens = reader.send_tokens();
        let max_jobs = reader.limit("MaxJobs", "JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE", 100);
        let max_idle_jobs = reader.limit("MaxIdleJobs", "JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE", 50);
        let failure_rate_threshold = reader.threshold();
        let universe = match transform.envelope.universe {
            Some(universe) if universe != 0 => universe,
            _ => reader.int("TargetUniverse").unwrap_or(Universe::Grid.number()),
        };
        let grid_resource =
            if universe == Universe::Grid.number() { reader.grid_resource() } else { BString::default() };
        if transform.envelope.requirements.is_none() && knobs.constraint.is_none() {
            return Err(RouteError::NoRequirements);
        }
        Ok(Route {
            name: name.into(),
            universe,
            max_jobs,
            max_idle_jobs,
            failure_rate_threshold,
            grid_resource,
            job_failure_test,
            job_should_be_sandboxed,
            edit_job_in_place,
            use_shared_proxy,
            shared_proxy,
            send_tokens,
            transform,
        })
    }

    /// The text of its REQUIREMENTS; empty for none.
    pub fn requirements_text(&self) -> &[u8] {
        self.transform.envelope.requirements.as_ref().map_or(b"", |requirements| &requirements.text)
    }

    /// The parsed REQUIREMENTS.
    pub fn requirements(&self) -> Option<&Expr> {
        self.transform.envelope.requirements.as_ref().map(|requirements| &requirements.expr)
    }

    /// What TRANSLATE_JOB is told of it: `[ Name = "R1"; TargetUniverse = 7 ]`.
    pub fn description(&self) -> BString {
        input::route_line(&self.name, &self.grid_resource, self.universe)
    }
}

/// Runs the text of a route without a job, which leaves its macros in the session.
fn check(
    name: &[u8],
    transform: &Transform,
    session: &mut Session<'_>,
    say: &mut dyn FnMut(Subject, BString),
) -> Result<(), RouteError> {
    let mut normal = [b"JobRouter: route ", name, b" converted to :\n"].concat();
    formatted(transform, None, &mut normal);
    say(Subject::Progress, normal.into());
    if transform.is_empty() {
        say(Subject::Progress, empty_include(b"<Local>"));
    }
    let Some(failure) = session.check(transform, &mut Checking { say }).failure else { return Ok(()) };
    if let Some(line) = condition_line(&failure) {
        say(Subject::Error, line);
    }
    Err(RouteError::Failed { text: failure.to_string().into(), reference: failure.reference_text().into() })
}

/// The text without the quotes around it.
fn unquoted(text: &[u8]) -> BString {
    let text = text.trim();
    match text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inner) => inner.into(),
        None => text.into(),
    }
}

/// Name, universe, requirements and lines of a transform, each line after a tab (`getFormattedText`).
pub fn formatted(transform: &Transform, universe: Option<i64>, out: &mut Vec<u8>) {
    let mut line = |keyword: &[u8], text: &[u8]| {
        out.push(b'\t');
        out.extend_from_slice(keyword);
        out.extend_from_slice(text);
        out.push(b'\n');
    };
    line(b"NAME ", &transform.name);
    let universe = universe.or(transform.envelope.universe).filter(|&universe| universe != 0);
    if let Some(universe) = universe {
        line(b"UNIVERSE ", &universe_name(universe));
    }
    if let Some(requirements) = &transform.envelope.requirements {
        line(b"REQUIREMENTS ", &requirements.text);
    }
    if let Some(comment) = &transform.comment {
        line(b"", comment);
    }
    for statement in transform.lines() {
        line(b"", &statement.text);
    }
}

/// A universe in capitals, `UNKNOWN` for numbers without a name (`CondorUniverseName`).
fn universe_name(universe: i64) -> BString {
    Universe::from_number(universe).map_or("UNKNOWN".into(), |universe| universe.name().to_uppercase().into())
}
