//! Prediction of the earliest time at which evaluated values can change.
//!
//! The predictor observes evaluations. It computes the slope of each number (one per second for `time()` and counted
//! attributes, otherwise zero). From the slopes of two compared numbers, it computes the earliest time at which the
//! comparison can give another result. If a slope is unknown (`time() % 60`, `formatTime()`, `random()`), that time is
//! the next second.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::{BStr, ByteSlice};

use super::slot_state::{Activity, SlotState};
use htc_classad::{Expr, ExprKind, ExprPart, NameLocation, Observer, Value};

/// Predicted time of a value that never changes.
pub(super) const HOLDS_FOREVER: i64 = i64::MAX;

/// Clock-dependent state of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockContext {
    /// Seconds since the epoch.
    pub now: i64,
    /// True if the idle time of the keyboard grows: false for a slot connected to the keyboard while a user is present.
    pub idle_grows: bool,
    pub state_and_activity: (SlotState, Activity),
    /// True if the run time of the job is counted now.
    pub is_running: bool,
    pub is_suspended: bool,
    /// End of the local day, in epoch seconds.
    pub midnight: i64,
}

impl ClockContext {
    /// True if the seconds of this attribute are currently counted.
    fn is_counting(&self, name: TimeDependence) -> bool {
        match name {
            TimeDependence::Runs => self.is_running,
            TimeDependence::Suspended => self.is_suspended,
            TimeDependence::TimeInState(state, activity) => (state, activity) == self.state_and_activity,
            _ => false,
        }
    }
}

/// Linear model of a value: its slope per second, and its maximum deviation from that line.
#[derive(Clone, Copy, Debug, Default)]
struct LinearValue {
    value: Option<f64>,
    slope: f64,
    error_bound: f64,
}

impl LinearValue {
    fn is_constant(self) -> bool {
        self.slope == 0.0 && self.error_bound == 0.0
    }
}

/// Part of an expression under evaluation. [`PredictorState`] keeps the linear models of all parts in one list, where the models
/// of this part's operands begin at `from`.
#[derive(Clone, Copy)]
struct EvaluationFrame {
    from: usize,
    /// Attribute name that was looked up, and the number of operands evaluated before it.
    name: Option<(TimeDependence, usize)>,
}

/// Dependence of an attribute's value on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeDependence {
    Second,
    Idle,
    Minute,
    Day,
    Runs,
    Suspended,
    Retirement,
    TimeInState(SlotState, Activity),
    Constant,
}

/// Observer of evaluations from [`ChangePredictor::begin`] to [`ChangePredictor::end`].
pub(super) struct ChangePredictor {
    state: Mutex<PredictorState>,
}

/// State of a [`ChangePredictor`].
struct PredictorState {
    moving: Option<ClockContext>,
    until: i64,
    frames: Vec<EvaluationFrame>,
    lines: Vec<LinearValue>,
}

impl ChangePredictor {
    pub(super) fn new() -> Self {
        let (frames, lines) = (Vec::new(), Vec::new());
        let state = PredictorState { moving: None, until: HOLDS_FOREVER, frames, lines };
        ChangePredictor { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, PredictorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts observing evaluations.
    pub(super) fn begin(&self, moving: ClockContext) {
        let mut state = self.state();
        state.moving = Some(moving);
        state.until = HOLDS_FOREVER;
        state.frames.clear();
        state.lines.clear();
    }

    /// Stops observing, and returns the first second at which an observed value may change.
    pub(super) fn end(&self) -> i64 {
        let mut state = self.state();
        state.moving = None;
        state.until
    }

    pub(super) fn is_active(&self) -> bool {
        self.state().moving.is_some()
    }

    /// Records that something not visible in an expression may change after `seconds` at the earliest.
    pub(super) fn note_change_within(&self, seconds: i64) {
        self.state().note_change_within(seconds);
    }
}

impl PredictorState {
    fn note_change_within(&mut self, seconds: i64) {
        if let Some(moving) = self.moving {
            self.until = self.until.min(moving.now.saturating_add(seconds.max(1)));
        }
    }

    fn unpredictable_value(&mut self, value: Option<f64>) -> LinearValue {
        self.note_change_within(1);
        LinearValue { value, ..LinearValue::default() }
    }

    fn attribute_value(&mut self, name: TimeDependence, value: Option<f64>) -> LinearValue {
        let Some(moving) = self.moving else { return LinearValue::default() };
        let grows =
            |grows: bool| LinearValue { value, slope: if grows { 1.0 } else { 0.0 }, error_bound: 0.0 };
        match name {
            TimeDependence::Constant => grows(false),
            TimeDependence::Second => grows(true),
            TimeDependence::Idle => grows(moving.idle_grows),
            TimeDependence::Minute => {
                self.until = self.until.min(moving.midnight);
                LinearValue { value, slope: 1.0 / 60.0, error_bound: 1.0 }
            }
            TimeDependence::Day => {
                self.until = self.until.min(moving.midnight);
                grows(false)
            }
            TimeDependence::Runs | TimeDependence::Suspended | TimeDependence::TimeInState(..) => {
                grows(moving.is_counting(name))
            }
            TimeDependence::Retirement if moving.is_running => self.unpredictable_value(value),
            TimeDependence::Retirement => grows(false),
        }
    }

    /// Records how long the order of two compared numbers lasts.
    fn note_comparison(&mut self, left: LinearValue, right: LinearValue) {
        let (Some(a), Some(b)) = (left.value, right.value) else {
            // Strings and undefined values do not change. An attribute that is about to appear is handled in `name_found`.
            return;
        };
        let (apart, speed, off) = (a - b, left.slope - right.slope, left.error_bound + right.error_bound);
        if speed == 0.0 && off == 0.0 {
            return;
        }
        let room = apart.abs() - off;
        if room <= 0.0 {
            self.note_change_within(1);
        } else if speed != 0.0 && (apart > 0.0) != (speed > 0.0) {
            let seconds = (room / speed.abs()).ceil();
            self.note_change_within(if seconds < 1e15 { seconds as i64 } else { i64::MAX / 4 });
        } else if speed == 0.0 {
            self.note_change_within(1);
        }
    }

    fn finish_part(
        &mut self,
        part: &ExprPart<'_>,
        frame: EvaluationFrame,
        parts: &[LinearValue],
        value: Option<f64>,
    ) -> LinearValue {
        if let Some((name, before)) = frame.name {
            // A reference to an attribute has the linear model of the attribute's expression.
            return match parts.get(before..).and_then(<[LinearValue]>::last) {
                Some(line) => LinearValue { value, ..*line },
                None => self.attribute_value(name, value),
            };
        }
        if parts.is_empty() {
            return if part.is_literal() {
                LinearValue { value, ..LinearValue::default() }
            } else {
                self.call_value(part, value)
            };
        }
        if parts.iter().all(|part| part.is_constant()) && !part.is_call() {
            return LinearValue { value, ..LinearValue::default() };
        }
        self.operation_value(part, parts, value)
    }

    /// Returns the linear model of a call none of whose arguments were evaluated.
    fn call_value(&mut self, part: &ExprPart<'_>, value: Option<f64>) -> LinearValue {
        match part.expr().kind() {
            ExprKind::Call(name, _) if name.eq_ignore_ascii_case(b"time") => {
                LinearValue { value, slope: 1.0, error_bound: 0.0 }
            }
            ExprKind::Call(..) => self.unpredictable_value(value),
            _ => LinearValue { value, ..LinearValue::default() },
        }
    }

    /// Returns the linear model of an operation on values that change.
    fn operation_value(
        &mut self,
        part: &ExprPart<'_>,
        parts: &[LinearValue],
        value: Option<f64>,
    ) -> LinearValue {
        let still = LinearValue { value, ..LinearValue::default() };
        let expr = part.expr();
        let zero = LinearValue { value: Some(0.0), ..LinearValue::default() };
        match (expr.kind(), parts) {
            (ExprKind::Compare(..), [left, right]) => {
                self.note_comparison(*left, *right);
                still
            }
            (ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Not(_), parts) => {
                for part in parts.iter().filter(|part| !part.is_constant()) {
                    self.note_comparison(*part, zero);
                }
                still
            }
            (ExprKind::Conditional(..), [condition, .., chosen]) => {
                if !condition.is_constant() {
                    self.note_comparison(*condition, zero);
                }
                LinearValue { value, ..*chosen }
            }
            (ExprKind::Call(name, arguments), parts) => {
                self.function_value(name.as_bstr(), arguments.len(), parts, value)
            }
            (_, [one]) if one.value == value => *one,
            (ExprKind::Other(_), [one]) if one.value.map(|v| -v) == value => {
                LinearValue { value, slope: -one.slope, error_bound: one.error_bound }
            }
            (ExprKind::Other(operands), [left, right]) => {
                self.arithmetic_value(&expr, &operands, *left, *right, value)
            }
            _ => self.unpredictable_value(value),
        }
    }

    fn function_value(
        &mut self,
        name: &BStr,
        arguments: usize,
        parts: &[LinearValue],
        value: Option<f64>,
    ) -> LinearValue {
        let is_function = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is_function(b"random")
            || is_function(b"formattime")
            || is_function(b"splittime")
            || is_function(b"debug")
        {
            return self.unpredictable_value(value);
        }
        if is_function(b"time") && arguments == 0 {
            // `(time())`: the part in parentheses has the linear model.
            return match parts.first() {
                Some(part) => LinearValue { value, ..*part },
                None => self.unpredictable_value(value),
            };
        }
        if parts.iter().all(|part| part.is_constant()) {
            return LinearValue { value, ..LinearValue::default() };
        }
        let rounds = [&b"int"[..], b"real", b"floor", b"ceiling", b"round"].into_iter().any(is_function);
        match parts {
            [one] if one.value == value && value.is_some() && (rounds || arguments == 0) => {
                LinearValue { value, slope: one.slope, error_bound: one.error_bound + 1.0 }
            }
            [one] if rounds => LinearValue { value, slope: one.slope, error_bound: one.error_bound + 1.0 },
            _ => self.unpredictable_value(value),
        }
    }

    /// Returns the linear model of a sum, of a difference, or of a product or quotient with a constant.
    fn arithmetic_value(
        &mut self,
        expr: &Expr,
        operands: &[Expr],
        left: LinearValue,
        right: LinearValue,
        value: Option<f64>,
    ) -> LinearValue {
        let text = expr.without_parentheses().unparse();
        let first = operands.first().map(|operand| operand.unparse().len()).unwrap_or(0);
        let sign = text.get(first..).and_then(|rest| rest.trim_start().first().copied());
        let (Some(a), Some(b)) = (left.value, right.value) else {
            return LinearValue { value, ..LinearValue::default() };
        };
        match sign {
            Some(b'+') => LinearValue {
                value,
                slope: left.slope + right.slope,
                error_bound: left.error_bound + right.error_bound,
            },
            Some(b'-') => LinearValue {
                value,
                slope: left.slope - right.slope,
                error_bound: left.error_bound + right.error_bound,
            },
            Some(b'*') if right.is_constant() => {
                LinearValue { value, slope: left.slope * b, error_bound: left.error_bound * b.abs() }
            }
            Some(b'*') if left.is_constant() => {
                LinearValue { value, slope: right.slope * a, error_bound: right.error_bound * a.abs() }
            }
            // Integer division truncates.
            Some(b'/') if right.is_constant() && b != 0.0 => {
                LinearValue { value, slope: left.slope / b, error_bound: left.error_bound / b.abs() + 1.0 }
            }
            _ => self.unpredictable_value(value),
        }
    }
}

/// True if an attribute of that name depends on the clock.
pub(super) fn is_time_dependent(name: &[u8]) -> bool {
    time_dependence(name.as_bstr()) != TimeDependence::Constant
}

/// Attributes that depend on the clock.
const TIME_DEPENDENT_ATTRIBUTES: [(&[u8], TimeDependence); 13] = [
    (b"currenttime", TimeDependence::Second),
    (b"mycurrenttime", TimeDependence::Second),
    (b"monitorselftime", TimeDependence::Second),
    (b"monitorselfage", TimeDependence::Second),
    (b"keyboardidle", TimeDependence::Idle),
    (b"consoleidle", TimeDependence::Idle),
    (b"clockmin", TimeDependence::Minute),
    (b"clockday", TimeDependence::Day),
    (b"totaljobruntime", TimeDependence::Runs),
    (b"totalclaimruntime", TimeDependence::Runs),
    (b"totaljobsuspendtime", TimeDependence::Suspended),
    (b"totalclaimsuspendtime", TimeDependence::Suspended),
    (b"retirementtimeremaining", TimeDependence::Retirement),
];

/// Returns how a slot attribute depends on the clock. Called for every name that is looked up.
fn time_dependence(name: &BStr) -> TimeDependence {
    if let Some((_, known)) =
        TIME_DEPENDENT_ATTRIBUTES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))
    {
        return *known;
    }
    const TOTAL_TIME_PREFIX: &[u8] = b"totaltime";
    match name.get(..TOTAL_TIME_PREFIX.len()) {
        Some(first) if first.eq_ignore_ascii_case(TOTAL_TIME_PREFIX) => {
            parse_time_in_state(&name[TOTAL_TIME_PREFIX.len()..])
        }
        _ => TimeDependence::Constant,
    }
}

fn parse_time_in_state(rest: &[u8]) -> TimeDependence {
    for state in SlotState::ALL {
        for activity in Activity::ALL {
            let name = format!("{state}{activity}");
            if name.as_bytes().eq_ignore_ascii_case(rest) {
                return TimeDependence::TimeInState(state, activity);
            }
        }
    }
    TimeDependence::Constant
}

impl Observer for ChangePredictor {
    fn enter(&self, _part: &ExprPart<'_>) {
        let mut state = self.state();
        let from = state.lines.len();
        state.frames.push(EvaluationFrame { from, name: None });
    }

    fn name_found(&self, name: &BStr, place: NameLocation) {
        let mut state = self.state();
        let name = match (place, time_dependence(name)) {
            (NameLocation::Nowhere, name) => {
                // A counted attribute that is missing appears in the ad after the first counted second.
                if state.moving.is_some_and(|moving| moving.is_counting(name)) {
                    state.note_change_within(1);
                }
                TimeDependence::Constant
            }
            (_, name) => name,
        };
        let count = state.lines.len();
        // An attribute that is looked up directly by name has no frame.
        if let Some(frame) = state.frames.last_mut() {
            frame.name = Some((name, count - frame.from));
        }
    }

    fn leave(&self, part: &ExprPart<'_>, value: Option<&Value>) {
        let mut state = self.state();
        let Some(frame) = state.frames.pop() else { return };
        let number = match value {
            Some(Value::Int(number)) => Some(*number as f64),
            Some(Value::Real(number)) => Some(*number),
            Some(Value::Bool(truth)) => Some(f64::from(u8::from(*truth))),
            _ => None,
        };
        let mut lines = std::mem::take(&mut state.lines);
        let from = frame.from;
        let line = state.finish_part(part, frame, lines.get(from..).unwrap_or_default(), number);
        lines.truncate(from);
        if !state.frames.is_empty() {
            lines.push(line);
        } else if !line.is_constant() {
            // The result of the whole expression is a number that changes every second.
            state.note_change_within(1);
        }
        state.lines = lines;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bstr::BString;
    use htc_classad::{ClassAd, Context, EvalWorld, Zone};

    struct At(i64);

    impl EvalWorld for At {
        fn epoch(&self) -> i64 {
            self.0
        }
        fn local_zone(&self, _: i64) -> Zone {
            Zone::utc()
        }
        fn random_bits(&self) -> u64 {
            4
        }
        fn home(&self, _: &[u8]) -> Option<BString> {
            None
        }
    }

    fn ad(now: i64) -> ClassAd {
        let mut ad = ClassAd::new();
        ad.set("MyCurrentTime", now);
        ad.set("KeyboardIdle", now - 900);
        ad.set("JobStart", 950);
        ad.set("ClockMin", now.rem_euclid(86_400) / 60);
        // The attribute counts the seconds after 1000, and is absent before its first second.
        if now > 1000 {
            ad.set("TotalJobRunTime", now - 1000);
        }
        for line in ["Timer = time() - JobStart", "Busy = KeyboardIdle < 300", "Limit = 4"] {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    fn moving(now: i64) -> ClockContext {
        ClockContext {
            now,
            idle_grows: true,
            state_and_activity: (SlotState::Claimed, Activity::Busy),
            is_running: true,
            is_suspended: false,
            midnight: 86_400,
        }
    }

    /// Evaluates each expression every second: its value must not change before the predicted time.
    #[test]
    fn no_value_changes_before_its_time() {
        let texts = [
            ("time() > 1100", Some(1101)),
            ("(time() - JobStart) > 120 && Limit == 4", Some(1071)),
            ("Timer >= 120", Some(1070)),
            ("Busy", Some(1200)),
            ("Busy && Timer < 500", Some(1200)),
            ("Busy ? Timer > 60 : false", Some(1011)),
            ("KeyboardIdle > 15 * 60", Some(1801)),
            ("2 * KeyboardIdle > 700", Some(1251)),
            ("(KeyboardIdle + Timer) >= 400", Some(1125)),
            ("-KeyboardIdle < -400", Some(1301)),
            ("ifThenElse(Limit > 3, MyCurrentTime < 1500, false)", Some(1500)),
            ("int(KeyboardIdle / 60) > 5", None),
            ("KeyboardIdle / 60 >= 5", None),
            ("ClockMin > 20", None),
            ("time() % 60 == 0", None),
            ("KeyboardIdle =?= 400", None),
            ("Nowhere > time()", None),
            ("(TotalJobRunTime > 333) =!= true", Some(1334)),
            ("!(TotalJobRunTime > 333) =?= true", Some(1001)),
            ("TotalTimeOwnerIdle > 5", Some(2000)),
            ("formatTime(time(), \"%M\") == \"17\"", None),
            ("Limit > 3", None),
            ("time() - 1100", None),
            ("!(time() - 1100)", None),
        ];
        for (text, changes) in texts {
            let expr = Expr::parse(text.as_bytes()).unwrap();
            let value = |now: i64| Context::new(&At(now)).my(&ad(now)).eval(&expr);
            let mut now = 1000;
            let mut evaluations = 0;
            let mut first = None;
            while now < 2000 {
                let watch = ChangePredictor::new();
                watch.begin(moving(now));
                let (at, ad) = (At(now), ad(now));
                let observed_value = Context::new(&at).my(&ad).observer(&watch).eval(&expr);
                let until = watch.end();
                evaluations += 1;
                for second in now..until.min(2000) {
                    let truth = value(second);
                    assert_eq!(
                        truth.unparse(),
                        observed_value.unparse(),
                        "{text} at {second}, predicted at {now}"
                    );
                }
                if first.is_none() && until < 2000 && value(until).unparse() != observed_value.unparse() {
                    first = Some(until);
                }
                now = until;
            }
            if let Some(changes) = changes {
                // The predictor finds the change at the right second, with few evaluations.
                assert!(first.is_none_or(|first| first == changes), "{text}: {first:?}");
                assert!(evaluations < 20, "{text}: {evaluations} evaluations");
            }
        }
    }
}
