//! Until when the values that were looked at hold: what the evaluator has read, and how it moves with the clock.
//!
//! An observer of the one evaluator there is. Each number carries how fast it grows (a second a second for `time()` and what is
//! counted in the ads, nothing for all else); a comparison of two numbers tells when it can turn out differently at the
//! earliest. Where that cannot be known (`time() % 60`, `formatTime()`, `random()`), it is the next second.

use std::cell::{Cell, RefCell};

use bstr::{BStr, ByteSlice};

use super::state::{Activity, State};
use htc_classad::{Expr, Observer, Part, Place, Shape, Value};

/// Holds for ever.
pub(super) const ALWAYS: i64 = i64::MAX;

/// How things are that move with the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    /// Seconds since the epoch.
    pub now: i64,
    /// Whether the idle time of the keyboard grows, for slots that are connected and those that are not.
    pub idle_grows: bool,
    pub pair: (State, Activity),
    /// Whether time of the job's run, or of its suspension, is counted.
    pub runs: bool,
    pub is_suspended: bool,
    /// When the local day ends.
    pub midnight: i64,
}

impl Moving {
    /// Whether seconds of that name are being counted now.
    fn counts(&self, name: Name) -> bool {
        match name {
            Name::Runs => self.runs,
            Name::Suspended => self.is_suspended,
            Name::Stay(state, activity) => (state, activity) == self.pair,
            _ => false,
        }
    }
}

/// A value, how fast it grows, and by how much it may be off that line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    value: Option<f64>,
    slope: f64,
    off: f64,
}

impl Line {
    fn is_still(self) -> bool {
        self.slope == 0.0 && self.off == 0.0
    }
}

/// A part that is being evaluated. The lines of its parts stand in one list for all: from here on they are its own.
#[derive(Clone, Copy)]
struct Frame {
    from: usize,
    /// A name that was looked up, and how many parts there were then.
    name: Option<(Name, usize)>,
}

/// Names that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Second,
    Idle,
    Minute,
    Day,
    Runs,
    Suspended,
    Retirement,
    Stay(State, Activity),
    Still,
}

/// Watches evaluations from [`Watch::begin`] to [`Watch::end`].
pub(super) struct Watch {
    moving: Cell<Option<Moving>>,
    until: Cell<i64>,
    frames: RefCell<Vec<Frame>>,
    lines: RefCell<Vec<Line>>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Watch {
            moving: Cell::new(None),
            until: Cell::new(ALWAYS),
            frames: RefCell::new(Vec::new()),
            lines: RefCell::new(Vec::new()),
        }
    }

    /// What is evaluated from now on counts.
    pub(super) fn begin(&self, moving: Moving) {
        self.moving.set(Some(moving));
        self.until.set(ALWAYS);
        self.frames.borrow_mut().clear();
        self.lines.borrow_mut().clear();
    }

    /// The second from which on something may be different.
    pub(super) fn end(&self) -> i64 {
        self.moving.set(None);
        self.until.get()
    }

    pub(super) fn is_on(&self) -> bool {
        self.moving.get().is_some()
    }

    /// Something that no expression says changes in so many seconds.
    pub(super) fn within(&self, seconds: i64) {
        if let Some(moving) = self.moving.get() {
            let at = moving.now.saturating_add(seconds.max(1));
            self.until.set(self.until.get().min(at));
        }
    }

    fn unknown(&self, value: Option<f64>) -> Line {
        self.within(1);
        Line { value, ..Line::default() }
    }

    fn line_of(&self, name: Name, value: Option<f64>) -> Line {
        let Some(moving) = self.moving.get() else { return Line::default() };
        let grows = |grows: bool| Line { value, slope: if grows { 1.0 } else { 0.0 }, off: 0.0 };
        let day = |line: Line| {
            self.until.set(self.until.get().min(moving.midnight));
            line
        };
        match name {
            Name::Still => grows(false),
            Name::Second => grows(true),
            Name::Idle => grows(moving.idle_grows),
            Name::Minute => day(Line { value, slope: 1.0 / 60.0, off: 1.0 }),
            Name::Day => day(grows(false)),
            Name::Runs | Name::Suspended | Name::Stay(..) => grows(moving.counts(name)),
            Name::Retirement if moving.runs => self.unknown(value),
            Name::Retirement => grows(false),
        }
    }

    /// Two numbers are compared: until when their order holds.
    fn compared(&self, left: Line, right: Line) {
        let (Some(a), Some(b)) = (left.value, right.value) else {
            // Words and undefined values stay what they are, but not beside something that moves into being.
            return;
        };
        let (apart, speed, off) = (a - b, left.slope - right.slope, left.off + right.off);
        if speed == 0.0 && off == 0.0 {
            return;
        }
        let room = apart.abs() - off;
        if room <= 0.0 {
            self.within(1);
        } else if speed != 0.0 && (apart > 0.0) != (speed > 0.0) {
            let seconds = (room / speed.abs()).ceil();
            self.within(if seconds < 1e15 { seconds as i64 } else { i64::MAX / 4 });
        } else if speed == 0.0 {
            self.within(1);
        }
    }

    fn close(&self, part: &Part<'_>, frame: Frame, parts: &[Line], value: Option<f64>) -> Line {
        if let Some((name, before)) = frame.name {
            // A name of an expression has the line of the expression.
            return match parts.get(before..).and_then(<[Line]>::last) {
                Some(line) => Line { value, ..*line },
                None => self.line_of(name, value),
            };
        }
        if parts.is_empty() {
            return if part.is_literal() {
                Line { value, ..Line::default() }
            } else {
                self.call(part, value)
            };
        }
        if parts.iter().all(|part| part.is_still()) && !part.is_call() {
            return Line { value, ..Line::default() };
        }
        self.moved(part, parts, value)
    }

    /// A call without arguments that were evaluated.
    fn call(&self, part: &Part<'_>, value: Option<f64>) -> Line {
        match part.expr().shape() {
            Shape::Call(name, _) if name.eq_ignore_ascii_case(b"time") => {
                Line { value, slope: 1.0, off: 0.0 }
            }
            Shape::Call(..) => self.unknown(value),
            _ => Line { value, ..Line::default() },
        }
    }

    /// An operation on something that moves.
    fn moved(&self, part: &Part<'_>, parts: &[Line], value: Option<f64>) -> Line {
        let still = Line { value, ..Line::default() };
        let expr = part.expr();
        let zero = Line { value: Some(0.0), ..Line::default() };
        match (expr.shape(), parts) {
            (Shape::Compare(..), [left, right]) => {
                self.compared(*left, *right);
                still
            }
            (Shape::And(..) | Shape::Or(..) | Shape::Not(_), parts) => {
                parts.iter().filter(|part| !part.is_still()).for_each(|part| self.compared(*part, zero));
                still
            }
            (Shape::Choice(..), [condition, .., chosen]) => {
                if !condition.is_still() {
                    self.compared(*condition, zero);
                }
                Line { value, ..*chosen }
            }
            // Parentheses, or a sign.
            (Shape::Call(name, arguments), parts) => {
                self.called(name.as_bstr(), arguments.len(), parts, value)
            }
            (_, [one]) if one.value == value => *one,
            (Shape::Other(_), [one]) if one.value.map(|v| -v) == value => {
                Line { value, slope: -one.slope, off: one.off }
            }
            (Shape::Other(operands), [left, right]) => self.sum(&expr, &operands, (*left, *right), value),
            _ => self.unknown(value),
        }
    }

    fn called(&self, name: &BStr, arguments: usize, parts: &[Line], value: Option<f64>) -> Line {
        let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is(b"random") || is(b"formattime") || is(b"splittime") || is(b"debug") {
            return self.unknown(value);
        }
        if is(b"time") && arguments == 0 {
            // In parentheses.
            return parts.first().map_or_else(|| self.unknown(value), |part| Line { value, ..*part });
        }
        if parts.iter().all(|part| part.is_still()) {
            return Line { value, ..Line::default() };
        }
        let rounds = [&b"int"[..], b"real", b"floor", b"ceiling", b"round"].into_iter().any(is);
        match parts {
            [one] if one.value == value && value.is_some() && (rounds || arguments == 0) => {
                Line { value, slope: one.slope, off: one.off + 1.0 }
            }
            [one] if rounds => Line { value, slope: one.slope, off: one.off + 1.0 },
            _ => self.unknown(value),
        }
    }

    /// Sums, differences, and products with what stands still.
    fn sum(&self, expr: &Expr, operands: &[Expr], (left, right): (Line, Line), value: Option<f64>) -> Line {
        let text = expr.without_parentheses().unparse();
        let first = operands.first().map(|operand| operand.unparse().len()).unwrap_or(0);
        let sign = text.get(first..).and_then(|rest| rest.trim_start().first().copied());
        let (Some(a), Some(b)) = (left.value, right.value) else { return Line { value, ..Line::default() } };
        match sign {
            Some(b'+') => Line { value, slope: left.slope + right.slope, off: left.off + right.off },
            Some(b'-') => Line { value, slope: left.slope - right.slope, off: left.off + right.off },
            Some(b'*') if right.is_still() => Line { value, slope: left.slope * b, off: left.off * b.abs() },
            Some(b'*') if left.is_still() => Line { value, slope: right.slope * a, off: right.off * a.abs() },
            // Of whole numbers the rest is cut off.
            Some(b'/') if right.is_still() && b != 0.0 => {
                Line { value, slope: left.slope / b, off: left.off / b.abs() + 1.0 }
            }
            _ => self.unknown(value),
        }
    }
}

/// Whether an attribute of that name moves with the clock.
pub(super) fn moves(name: &[u8]) -> bool {
    name_of(name.as_bstr()) != Name::Still
}

/// Names that move, with what they are to the clock.
const MOVING: [(&[u8], Name); 13] = [
    (b"currenttime", Name::Second),
    (b"mycurrenttime", Name::Second),
    (b"monitorselftime", Name::Second),
    (b"monitorselfage", Name::Second),
    (b"keyboardidle", Name::Idle),
    (b"consoleidle", Name::Idle),
    (b"clockmin", Name::Minute),
    (b"clockday", Name::Day),
    (b"totaljobruntime", Name::Runs),
    (b"totalclaimruntime", Name::Runs),
    (b"totaljobsuspendtime", Name::Suspended),
    (b"totalclaimsuspendtime", Name::Suspended),
    (b"retirementtimeremaining", Name::Retirement),
];

/// What a name of a slot's ad is to the clock. Asked of every name that is looked up.
fn name_of(name: &BStr) -> Name {
    if let Some((_, known)) = MOVING.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
        return *known;
    }
    const TOTAL: &[u8] = b"totaltime";
    match name.get(..TOTAL.len()) {
        Some(first) if first.eq_ignore_ascii_case(TOTAL) => stay(&name[TOTAL.len()..]),
        _ => Name::Still,
    }
}

fn stay(rest: &[u8]) -> Name {
    for state in State::ALL {
        for activity in Activity::ALL {
            let name = format!("{state}{activity}");
            if name.as_bytes().eq_ignore_ascii_case(rest) {
                return Name::Stay(state, activity);
            }
        }
    }
    Name::Still
}

impl Observer for Watch {
    fn enter(&self, _part: &Part<'_>) {
        self.frames.borrow_mut().push(Frame { from: self.lines.borrow().len(), name: None });
    }

    fn found(&self, name: &BStr, place: Place) {
        let name = match (place, name_of(name)) {
            (Place::Nowhere, name) => {
                // What is counted stands in the ad from its first second on.
                if self.moving.get().is_some_and(|moving| moving.counts(name)) {
                    self.within(1);
                }
                Name::Still
            }
            (_, name) => name,
        };
        let mut frames = self.frames.borrow_mut();
        match frames.last_mut() {
            Some(frame) => frame.name = Some((name, self.lines.borrow().len() - frame.from)),
            // An attribute that is asked for by its name.
            None => drop(frames),
        }
    }

    fn leave(&self, part: &Part<'_>, value: Option<&Value>) {
        let Some(frame) = self.frames.borrow_mut().pop() else { return };
        let number = match value {
            Some(Value::Int(number)) => Some(*number as f64),
            Some(Value::Real(number)) => Some(*number),
            Some(Value::Bool(truth)) => Some(f64::from(u8::from(*truth))),
            _ => None,
        };
        let mut lines = self.lines.borrow_mut();
        let line = self.close(part, frame, lines.get(frame.from..).unwrap_or_default(), number);
        lines.truncate(frame.from);
        if !self.frames.borrow().is_empty() {
            lines.push(line);
        } else if !line.is_still() {
            // The answer itself moves: it is another in a second.
            self.within(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bstr::BString;
    use htc_classad::{ClassAd, Context, Outside, Zone};

    struct At(i64);

    impl Outside for At {
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
        // Counted from 1000 on, and not there before the first second of it.
        if now > 1000 {
            ad.set("TotalJobRunTime", now - 1000);
        }
        for line in ["Timer = time() - JobStart", "Busy = KeyboardIdle < 300", "Limit = 4"] {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    fn moving(now: i64) -> Moving {
        Moving {
            now,
            idle_grows: true,
            pair: (State::Claimed, Activity::Busy),
            runs: true,
            is_suspended: false,
            midnight: 86_400,
        }
    }

    /// What the watch promises is looked at in every second: the value is the same before, whatever comes then.
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
            let mut looks = 0;
            let mut first = None;
            while now < 2000 {
                let watch = Watch::new();
                watch.begin(moving(now));
                let (at, ad) = (At(now), ad(now));
                let seen = Context::new(&at).my(&ad).observer(&watch).eval(&expr);
                let until = watch.end();
                looks += 1;
                for second in now..until.min(2000) {
                    let truth = value(second);
                    assert_eq!(truth.unparse(), seen.unparse(), "{text} at {second}, looked at {now}");
                }
                if first.is_none() && until < 2000 && value(until).unparse() != seen.unparse() {
                    first = Some(until);
                }
                now = until;
            }
            if let Some(changes) = changes {
                // Seen in time, and with few looks.
                assert!(first.is_none_or(|first| first == changes), "{text}: {first:?}");
                assert!(looks < 20, "{text}: {looks} looks");
            }
        }
    }
}
