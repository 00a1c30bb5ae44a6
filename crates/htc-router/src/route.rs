//! A route: a transform with some macros that steer the router (`JobRoute::ParseNext`).

use bstr::{BString, ByteSlice};

use super::parameters::{self, RouterParameters};
use super::table_note::{
    NoteSubject, RouteError, condition_error_line, empty_include_line, function_message_text,
    invalid_value_reporter,
};
use htc_base::job::Universe;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::number::real_prefix;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_config::evaluate;
use htc_config::expand;
use htc_config::{ConfigView, MacroSource};
use htc_hook::hook_input;
use htc_transform::scope_reference::find_scope;
use htc_transform::{
    BuiltInMacros, MacroScope, Observer, ProblemKind, RuleLine, Transform, TransformEvent,
    TransformLoadError, TransformProblem, TransformSession,
};

/// A macro of a route that is evaluated in the source job.
#[derive(Clone, Debug, Default)]
pub struct RouteExpr {
    /// The macro's value, expanded; `None` where the route has no such macro.
    pub text: Option<BString>,
    /// Parsed; a text that does not parse counts as absent.
    pub expr: Option<Expr>,
    /// Whether TARGET is the job, too.
    has_target: bool,
}

impl RouteExpr {
    fn new(text: Option<BString>, dialect: Dialect, has_target: bool) -> Self {
        let expr = text.as_ref().and_then(|text| Expr::parse_with(text, dialect.old()).ok());
        RouteExpr { text, expr, has_target }
    }

    /// Its truth in an ad: only truth values and numbers count.
    pub fn is_true(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.evaluate(ad, world).and_then(|value| value.truth()).unwrap_or(false)
    }

    /// Its value in an ad; `None` where there is no expression.
    pub fn evaluate(&self, ad: &ClassAd, world: &dyn World) -> Option<Value> {
        self.expr.as_ref().map(|expr| {
            let context = Context::new(world).my(ad);
            if self.has_target {
                context.target(ad).eval(expr)
            } else {
                context.without_enclosing_ad().eval(expr)
            }
        })
    }
}

/// What routes are read with.
#[derive(Clone, Copy)]
pub struct RouteLoadContext<'a> {
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// The router's parameters.
    pub parameters: &'a RouterParameters,
    /// What is outside.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: QuirkMode,
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
    pub job_failure_test: RouteExpr,
    /// Whether files are spooled.
    pub job_should_be_sandboxed: RouteExpr,
    /// Whether the source itself is changed and no copy made.
    pub edit_job_in_place: RouteExpr,
    /// Whether a proxy of the router's is lent.
    pub use_shared_proxy: RouteExpr,
    /// Which.
    pub shared_proxy: RouteExpr,
    /// Names of tokens; absent: the router's own list.
    pub send_tokens: RouteExpr,
}

/// Tells what is logged while the text of a route is looked at.
struct RouteCheckObserver<'s> {
    report: &'s mut dyn FnMut(NoteSubject, BString),
}

impl Observer for RouteCheckObserver<'_> {
    fn wants_steps(&self) -> bool {
        false
    }

    fn on_event(&mut self, _: &RuleLine, event: TransformEvent<'_>) {
        match event {
            TransformEvent::Problem(TransformProblem { kind: ProblemKind::Function(line), .. }) => {
                let text = function_message_text(&line).to_owned();
                (self.report)(NoteSubject::InvalidValue(text), format!("{line}\n").into());
            }
            TransformEvent::EmptyInclude(name) => {
                (self.report)(NoteSubject::Progress, empty_include_line(name))
            }
            _ => {}
        }
    }
}

/// The macros of a route once its text has run.
struct RouteMacroReader<'a, 's> {
    scope: MacroScope<'a>,
    context: RouteLoadContext<'a>,
    /// Whether its expressions see the job as TARGET, too.
    has_target: bool,
    report: &'s mut dyn FnMut(NoteSubject, BString),
}

impl RouteMacroReader<'_, '_> {
    /// The value, expanded; `None` where there is no such macro.
    fn read_text(&mut self, name: &str) -> Option<BString> {
        let raw = self.scope.raw(name.as_bytes())?.into_owned();
        let say = &mut *self.report;
        let mut report = |message: expand::FunctionFailure| {
            say(NoteSubject::InvalidValue(message.text.to_string()), format!("{message}\n").into());
        };
        expand::expand(&raw, &self.scope, self.context.world, &mut report).ok()
    }

    /// Declared and empty: none, and not the router's own list.
    fn read_send_tokens(&mut self) -> RouteExpr {
        match self.scope.raw(b"SendIDTokens").map(|raw| raw.is_empty()) {
            Some(true) => RouteExpr::new(Some("\"\"".into()), Dialect::of_world(self.context.world), false),
            _ => self.read_expr("SendIDTokens"),
        }
    }

    fn read_grid_resource(&mut self) -> BString {
        match self.read_text("GridResource") {
            Some(text) => strip_quotes(&text),
            None => {
                let text = "JobRouter: Missing or invalid GridResource in job route. Jobs will fail if it's not set in \
                            routed job ad.\n";
                (self.report)(NoteSubject::Progress, text.into());
                BString::default()
            }
        }
    }

    fn read_expr(&mut self, name: &str) -> RouteExpr {
        let text = self.read_text(name);
        let names_target = text.as_ref().is_some_and(|text| find_scope(text, "target").is_some());
        if names_target {
            let here = if self.has_target { "here it is the job" } else { "here, too" };
            let words = format!("{name} names TARGET., which is undefined there in 25.14; {here}");
            (self.report)(NoteSubject::InvalidValue(words), BString::default());
        }
        RouteExpr::new(text, Dialect::of_world(self.context.world), names_target && self.has_target)
    }

    /// An integer, one beyond 32 bits being cut; `None` for what is none.
    fn read_int(&mut self, name: &str) -> Option<i64> {
        let value = evaluate::to_integer(&self.read_text(name)?, self.context.world)?;
        Some(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
    }

    /// Failures a second. 25.14 takes of what is no number the part that is one, which may be nothing and then means no throttle;
    /// where 0 means that one failure is too many, the default is the smaller surprise.
    fn read_failure_threshold(&mut self) -> f64 {
        const DEFAULT: f64 = 0.03;
        let Some(text) = self.read_text("FailureRateThreshold") else { return DEFAULT };
        if let Some(value) = evaluate::to_real(&text, self.context.world) {
            return value;
        }
        let taken = match self.context.quirks.reproduces(Quirk::ThrottleZeroIsNone) {
            true => real_prefix(&text).map_or(0.0, |(value, _)| value),
            false => DEFAULT,
        };
        let words = format!("FailureRateThreshold '{text}' is no number; {taken} is taken");
        (self.report)(NoteSubject::InvalidValue(words), BString::default());
        taken
    }

    /// A limit: the route's, or that of the router.
    fn read_limit(&mut self, name: &str, knob: &str, default: i64) -> i64 {
        let own = self.read_int(name);
        own.unwrap_or_else(|| {
            parameters::read_int(self.context.view, knob, default, &mut invalid_value_reporter(self.report))
        })
    }
}

impl Route {
    /// The proxy file that it lends to the copy of a job; none if it lends none or names none.
    pub fn lent_proxy(&self, source: &ClassAd, world: &dyn World) -> Option<BString> {
        if !self.use_shared_proxy.is_true(source, world) {
            return None;
        }
        match self.shared_proxy.evaluate(source, world) {
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
        with: RouteLoadContext<'_>,
        say: &mut dyn FnMut(NoteSubject, BString),
    ) -> Result<Route, RouteError> {
        let RouteLoadContext { view, parameters: knobs, world, quirks } = with;
        if text.trim().len() < 2 {
            return Err(RouteError::TooShort);
        }
        let transform = Transform::from_parameter(&name.to_str_lossy(), text, Dialect::of_world(world))
            .map_err(|TransformLoadError::Requirements { text, .. }| {
                RouteError::InvalidRequirements(format!("invalid REQUIREMENTS : {text}").into())
            })?;
        let mut session = TransformSession::new(world, Some(view));
        session.quirks = quirks;
        check_route_text(name, &transform, &mut session, say)?;
        let scope = MacroScope {
            macros: &session.macros,
            built_in: &BuiltInMacros::Basic,
            ad: None,
            config: Some(view),
        };
        let has_target = !quirks.reproduces(Quirk::RouteTargetUndefined);
        let mut reader = RouteMacroReader { scope, context: with, has_target, report: say };
        // In the reference's order, for the messages.
        let job_failure_test = reader.read_expr("JobFailureTest");
        let job_should_be_sandboxed = reader.read_expr("JobShouldBeSandboxed");
        let edit_job_in_place = reader.read_expr("EditJobInPlace");
        let use_shared_proxy = reader.read_expr("UseSharedX509UserProxy");
        let shared_proxy = reader.read_expr("SharedX509UserProxy");
        let send_tokens = reader.read_send_tokens();
        let max_jobs = reader.read_limit("MaxJobs", "JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE", 100);
        let max_idle_jobs =
            reader.read_limit("MaxIdleJobs", "JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE", 50);
        let failure_rate_threshold = reader.read_failure_threshold();
        let universe = match transform.envelope.universe {
            Some(universe) if universe != 0 => universe,
            _ => reader.read_int("TargetUniverse").unwrap_or(Universe::Grid.number()),
        };
        let grid_resource = if universe == Universe::Grid.number() {
            reader.read_grid_resource()
        } else {
            BString::default()
        };
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
        hook_input::format_route(&self.name, &self.grid_resource, self.universe)
    }
}

/// Runs the text of a route without a job, which leaves its macros in the session.
fn check_route_text(
    name: &[u8],
    transform: &Transform,
    session: &mut TransformSession<'_>,
    say: &mut dyn FnMut(NoteSubject, BString),
) -> Result<(), RouteError> {
    let mut normal = [b"JobRouter: route ", name, b" converted to :\n"].concat();
    format_transform(transform, None, &mut normal);
    say(NoteSubject::Progress, normal.into());
    if transform.is_empty() {
        say(NoteSubject::Progress, empty_include_line(b"<Local>"));
    }
    let Some(failure) = session.check_commands(transform, &mut RouteCheckObserver { report: say }).failure
    else {
        return Ok(());
    };
    if let Some(line) = condition_error_line(&failure) {
        say(NoteSubject::Error, line);
    }
    Err(RouteError::InvalidStatement {
        text: failure.to_string().into(),
        reference: failure.reference_text().into(),
    })
}

/// The text without the quotes around it.
fn strip_quotes(text: &[u8]) -> BString {
    let text = text.trim();
    match text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inner) => inner.into(),
        None => text.into(),
    }
}

/// Name, universe, requirements and lines of a transform, each line after a tab (`getFormattedText`).
pub fn format_transform(transform: &Transform, universe: Option<i64>, out: &mut Vec<u8>) {
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
