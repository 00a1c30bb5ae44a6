//! Route: a transform with macros that control the router (`JobRoute::ParseNext`).

use bstr::{BString, ByteSlice};

use super::parameters::{self, RouterParameters};
use super::table_note::{
    InvalidMacro, MacroProblem, NoteSubject, RouteError, condition_error_line, empty_include_line,
    function_message_text, invalid_value_reporter,
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

/// Macro of a route whose value is an expression over the source job.
#[derive(Clone, Debug, Default)]
pub struct RouteExpr {
    /// Expanded value of the macro, or `None` if the route does not have it.
    pub text: Option<BString>,
    /// Parsed value; `None` if the text does not parse.
    pub expr: Option<Expr>,
    /// True if the expression is evaluated with the job as TARGET in addition to MY.
    has_target: bool,
}

impl RouteExpr {
    fn new(text: Option<BString>, dialect: Dialect, has_target: bool) -> Self {
        let expr = text.as_ref().and_then(|text| Expr::parse_with(text, dialect.old()).ok());
        RouteExpr { text, expr, has_target }
    }

    /// Returns true if the value in an ad is true or a nonzero number. Values of other types are treated as false.
    pub fn is_true(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.evaluate(ad, world).and_then(|value| value.truth()).unwrap_or(false)
    }

    /// Returns the value in an ad, or `None` if there is no expression.
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

/// Inputs for reading routes.
#[derive(Clone, Copy)]
pub struct RouteLoadContext<'a> {
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// The router's parameters.
    pub parameters: &'a RouterParameters,
    /// Clock, files and commands outside of this process.
    pub world: &'a dyn World,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Route as read from the configuration.
#[derive(Clone, Debug)]
pub struct Route {
    /// Name in the spelling of `JOB_ROUTER_ROUTE_NAMES`.
    pub name: BString,
    /// Transform that the route applies to the ad.
    pub transform: Transform,
    /// `JobUniverse` of the routed job.
    pub universe: i64,
    /// Maximum number of jobs of the route.
    pub max_jobs: i64,
    /// Maximum number of jobs of the route that are not running; negative for no limit.
    pub max_idle_jobs: i64,
    /// Rate of failed jobs per second above which the route is throttled.
    pub failure_rate_threshold: f64,
    /// GridResource of the routed job, for the grid universe.
    pub grid_resource: BString,
    /// Test that counts a finished job as a failure of the route.
    pub job_failure_test: RouteExpr,
    /// Condition for spooling the job's files.
    pub job_should_be_sandboxed: RouteExpr,
    /// Condition for changing the source job itself instead of making a copy.
    pub edit_job_in_place: RouteExpr,
    /// Condition for lending a proxy of the router to the job.
    pub use_shared_proxy: RouteExpr,
    /// Path of the proxy.
    pub shared_proxy: RouteExpr,
    /// Names of tokens to send; if absent, the router's own list applies.
    pub send_tokens: RouteExpr,
}

/// Observer that passes on what the reference logs while it checks the text of a route.
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

/// Reader of a route's macros. The text of the route must have been executed first.
struct RouteMacroReader<'a, 's> {
    scope: MacroScope<'a>,
    context: RouteLoadContext<'a>,
    /// True if the expressions are evaluated with the job as TARGET in addition to MY.
    has_target: bool,
    report: &'s mut dyn FnMut(NoteSubject, BString),
}

impl RouteMacroReader<'_, '_> {
    /// Returns the expanded value, or `None` if the macro is not defined.
    fn read_text(&mut self, name: &str) -> Option<BString> {
        let raw = self.scope.raw(name.as_bytes())?.into_owned();
        let log = &mut *self.report;
        let mut report = |message: expand::FunctionFailure| {
            log(NoteSubject::InvalidValue(message.text.to_string()), format!("{message}\n").into());
        };
        expand::expand(&raw, &self.scope, self.context.world, &mut report).ok()
    }

    /// Reads SendIDTokens. An empty value means no tokens, not the router's own list.
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
                (self.report)(NoteSubject::MissingGridResource, text.into());
                BString::default()
            }
        }
    }

    fn read_expr(&mut self, name: &'static str) -> RouteExpr {
        let text = self.read_text(name);
        let names_target = text.as_ref().is_some_and(|text| find_scope(text, "target").is_some());
        if names_target {
            let here = if self.has_target { "here it is the job" } else { "here, too" };
            let id = Quirk::RouteTargetUndefined.id();
            let words =
                format!("{name} uses TARGET., which is undefined there in HTCondor 25.14 ({id}); {here}");
            self.report_macro(name, MacroProblem::NamesTarget, words);
        }
        RouteExpr::new(text, Dialect::of_world(self.context.world), names_target && self.has_target)
    }

    /// Reads an integer, limited to 32 bits. Returns the value of `fallback` if the macro is not defined, and reports a
    /// value that is not an integer.
    fn read_int(&mut self, name: &'static str, fallback: impl FnOnce(&mut Self) -> i64) -> i64 {
        let text = self.read_text(name).filter(|text| !text.trim().is_empty());
        let value = text.as_ref().and_then(|text| evaluate::to_integer(text, self.context.world));
        if let Some(value) = value {
            return value.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        }
        let taken = fallback(self);
        if let Some(text) = text {
            let words = format!("{name} '{text}' is not an integer; {taken} is used");
            self.report_macro(name, MacroProblem::NotNumber, words);
        }
        taken
    }

    /// Reads the limit in failures per second. For an invalid value, 25.14 uses the number at its start, or 0 if it
    /// does not start with a number; 0 means no throttle in 25.14. If the quirk is not reproduced, 0 means that a single
    /// failure exceeds the limit, so an invalid value is replaced by the default instead.
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
        let words = format!("FailureRateThreshold '{text}' is not a number; {taken} is used");
        self.report_macro("FailureRateThreshold", MacroProblem::NotNumber, words);
        taken
    }

    fn report_macro(&mut self, name: &'static str, problem: MacroProblem, text: String) {
        let subject = NoteSubject::InvalidMacro(InvalidMacro { name, problem, text });
        (self.report)(subject, BString::default());
    }

    /// Reads a limit of the route, or the router's default parameter if the route has none.
    fn read_limit(&mut self, name: &'static str, parameter: &str, default: i64) -> i64 {
        self.read_int(name, |reader| {
            let report = &mut invalid_value_reporter(reader.report);
            parameters::read_int(reader.context.view, parameter, default, report)
        })
    }
}

impl Route {
    /// Returns the proxy file that the route lends to a routed job, or `None` if the route lends no proxy or names no
    /// file.
    pub fn lent_proxy(&self, source: &ClassAd, world: &dyn World) -> Option<BString> {
        if !self.use_shared_proxy.is_true(source, world) {
            return None;
        }
        match self.shared_proxy.evaluate(source, world) {
            Some(Value::Str(file)) => Some(file),
            _ => None,
        }
    }

    /// Reads a route from the unexpanded value of `JOB_ROUTER_ROUTE_<name>`. `log` is called with each line that the
    /// reference logs, such as the route's text in its normal form.
    ///
    /// # Errors
    /// The reason why the text is not a valid route.
    pub fn load(
        name: &[u8],
        text: &[u8],
        context: RouteLoadContext<'_>,
        log: &mut dyn FnMut(NoteSubject, BString),
    ) -> Result<Route, RouteError> {
        let RouteLoadContext { view, parameters: knobs, world, quirks } = context;
        if text.trim().len() < 2 {
            return Err(RouteError::TooShort);
        }
        let transform = Transform::from_parameter(&name.to_str_lossy(), text, Dialect::of_world(world))
            .map_err(|TransformLoadError::Requirements { text, .. }| {
                RouteError::InvalidRequirements(format!("invalid REQUIREMENTS : {text}").into())
            })?;
        let mut session = TransformSession::new(world, Some(view));
        session.quirks = quirks;
        check_route_text(name, &transform, &mut session, log)?;
        let scope = MacroScope {
            macros: &session.macros,
            built_in: &BuiltInMacros::Basic,
            ad: None,
            config: Some(view),
        };
        let has_target = !quirks.reproduces(Quirk::RouteTargetUndefined);
        let mut reader = RouteMacroReader { scope, context, has_target, report: log };
        // The macros are read in the reference's order, because it determines the order of messages.
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
            _ => reader.read_int("TargetUniverse", |_| Universe::Grid.number()),
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

    /// Returns the text of the REQUIREMENTS, empty if the route has none.
    pub fn requirements_text(&self) -> &[u8] {
        self.transform.envelope.requirements.as_ref().map_or(b"", |requirements| &requirements.text)
    }

    /// Returns the parsed REQUIREMENTS, or `None` if the route has none.
    pub fn requirements(&self) -> Option<&Expr> {
        self.transform.envelope.requirements.as_ref().map(|requirements| &requirements.expr)
    }

    /// Returns the description that TRANSLATE_JOB reads: `[ Name = "R1"; TargetUniverse = 7 ]`.
    pub fn description(&self) -> BString {
        hook_input::format_route(&self.name, &self.grid_resource, self.universe)
    }
}

/// Executes the text of a route without a job, so that the macros of the route are set in the session.
fn check_route_text(
    name: &[u8],
    transform: &Transform,
    session: &mut TransformSession<'_>,
    log: &mut dyn FnMut(NoteSubject, BString),
) -> Result<(), RouteError> {
    let mut normal = [b"JobRouter: route ", name, b" converted to :\n"].concat();
    format_transform(transform, None, &mut normal);
    log(NoteSubject::Progress, normal.into());
    if transform.is_empty() {
        log(NoteSubject::Progress, empty_include_line(b"<Local>"));
    }
    let Some(failure) = session.check_commands(transform, &mut RouteCheckObserver { report: log }).failure
    else {
        return Ok(());
    };
    if let Some(line) = condition_error_line(&failure) {
        log(NoteSubject::Error, line);
    }
    Err(RouteError::InvalidStatement {
        text: failure.to_string().into(),
        reference: failure.reference_text().into(),
    })
}

/// Removes surrounding whitespace and quotes.
fn strip_quotes(text: &[u8]) -> BString {
    let text = text.trim();
    match text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inner) => inner.into(),
        None => text.into(),
    }
}

/// Appends name, universe, requirements and lines of a transform, each on a line after a tab
/// (`getFormattedText`).
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

/// Returns the name of a universe in capitals, or `UNKNOWN` for an unknown number (`CondorUniverseName`).
fn universe_name(universe: i64) -> BString {
    Universe::from_number(universe).map_or("UNKNOWN".into(), |universe| universe.name().to_uppercase().into())
}
