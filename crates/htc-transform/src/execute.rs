//! What the commands do to an ad (`ParseRulesCallback`).

use std::borrow::Cow;

use bstr::{BString, ByteSlice};

use super::command::{Attribute, Command, Keyword};
use super::observe::{Event, Failure, Idle, Observer, Problem, ProblemKind};
use super::pattern;
use super::program::{Ready, Step};
use super::rules::Line;
use super::session::Session;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::text::Span;
use htc_classad::{ClassAd, Context, Expr, ParseError, Value};

/// Runs the command of a step.
pub(super) fn command(
    session: &mut Session<'_>,
    (step, command): (&Step, &Command),
    ad: &mut ClassAd,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    let Some(attribute) = &command.attribute else { return Ok(()) };
    let mut buffer = step.memo.buffer();
    let filled =
        step.template.as_ref().is_some_and(|template| template.fill(&session.scope(Some(ad)), &mut buffer));
    let text = if filled {
        Cow::Borrowed(&buffer[..])
    } else {
        session.expand((&step.line, command.value_at), &command.value, Some(ad), observer)?
    };
    let work = Work { step, line: &step.line, command, text: &text, steps: observer.wants_steps() };
    match attribute {
        Attribute::Name { name, trailing } => {
            let name = work.name(name, *trailing, session.quirks, observer);
            carry_out(session, &work, &name, ad, observer);
        }
        Attribute::Pattern(_) => work.each_match(ad, observer),
    }
    step.memo.give_back(buffer);
    Ok(())
}

/// Runs a command for one attribute.
fn carry_out(
    session: &mut Session<'_>,
    work: &Work<'_>,
    name: &[u8],
    ad: &mut ClassAd,
    observer: &mut dyn Observer,
) {
    let Work { line, command, text, .. } = *work;
    match command.keyword {
        Keyword::Name | Keyword::Universe | Keyword::Requirements => work.announce(name, observer),
        Keyword::Transform => {}
        Keyword::Default | Keyword::Set => {
            work.announce(name, observer);
            if command.keyword == Keyword::Default {
                if !work.is_missing(name, ad, session.quirks, observer) {
                    work.idle(Idle::Present, observer);
                    return;
                }
                if work.steps {
                    let keyword = Keyword::Set;
                    observer.event(line, Event::Command { keyword, attribute: name, text });
                }
            }
            work.set(name, ad, observer);
        }
        Keyword::EvalSet => {
            work.announce(name, observer);
            if let Some(value) = work.evaluate(session, name, ad, observer) {
                if name.is_empty() {
                    work.problem(ProblemKind::NoName(command.keyword), Span::default(), observer);
                } else if work.steps {
                    let printed = value_text(&value);
                    work.insert(name, Expr::literal(value), ad, observer);
                    let (keyword, text) = (command.keyword, &printed[..]);
                    observer.event(line, Event::Evaluated { keyword, attribute: name, text });
                } else {
                    ad.set(name, value);
                }
            }
        }
        Keyword::EvalMacro => {
            work.announce(name, observer);
            if let Some(value) = work.evaluate(session, name, ad, observer) {
                let text = value_text(&value);
                if work.steps {
                    let (keyword, text) = (command.keyword, &text[..]);
                    observer.event(line, Event::Evaluated { keyword, attribute: name, text });
                }
                session.store(line, name, text, observer);
            }
        }
        Keyword::Delete => work.delete(name, ad, observer),
        Keyword::Rename => work.rename(name, text, ad, observer),
        Keyword::Copy => work.copy(name, text, ad, observer),
    }
}

/// The text of a value: a string without quotes, an ad as lines, anything else as it prints (`XFormValueToString`).
fn value_text(value: &Value) -> BString {
    match value {
        Value::Str(text) => text.to_vec().into(),
        Value::Ad(ad) => {
            let mut text = Vec::new();
            for (at, (name, expr)) in ad.in_ad_order().into_iter().enumerate() {
                if at > 0 {
                    text.push(b'\n');
                }
                let name = Expr::attribute(name).unparse_old();
                text.extend_from_slice(&[&name[..], b" = ", &expr.unparse_old()[..]].concat());
            }
            text.push(b'\n');
            text.into()
        }
        value => value.unparse_old(),
    }
}

/// A command that is being carried out.
struct Work<'a> {
    step: &'a Step,
    line: &'a Line,
    command: &'a Command,
    text: &'a [u8],
    steps: bool,
}

impl Work<'_> {
    /// The attribute's name. The `,` or `=` behind it should be dropped, but 25.14 writes a NUL byte in its place.
    fn name<'n>(
        &self,
        name: &'n BString,
        trailing: Option<u8>,
        quirks: Quirks,
        observer: &mut dyn Observer,
    ) -> Cow<'n, [u8]> {
        let Some(character) = trailing else { return Cow::Borrowed(name) };
        if quirks.has(Quirk::NulInAttributeName) {
            return Cow::Owned([name, &b"\0"[..]].concat());
        }
        let kind = ProblemKind::Trailing { attribute: name.clone(), character: char::from(character) };
        self.problem(kind, Span::default(), observer);
        Cow::Borrowed(name)
    }

    /// Whether DEFAULT gives an attribute its value: if it is missing, or is `undefined`, which 25.14 leaves.
    fn is_missing(&self, name: &[u8], ad: &ClassAd, quirks: Quirks, observer: &mut dyn Observer) -> bool {
        let Some(expr) = ad.get(name) else { return true };
        if expr.as_literal() != Some(Value::Undefined) || quirks.has(Quirk::DefaultKeepsUndefined) {
            return false;
        }
        self.problem(ProblemKind::DefaultOfUndefined(name.into()), Span::default(), observer);
        true
    }

    fn announce(&self, attribute: &[u8], observer: &mut dyn Observer) {
        if self.steps {
            let (keyword, text) = (self.command.keyword, self.text);
            observer.event(self.line, Event::Command { keyword, attribute, text });
        }
    }

    fn idle(&self, idle: Idle, observer: &mut dyn Observer) {
        if self.steps {
            observer.event(self.line, Event::Nothing(idle));
        }
    }

    fn problem(&self, kind: ProblemKind, at: Span, observer: &mut dyn Observer) {
        let plain = self.text == self.command.value.as_bytes();
        let offset = self.command.value_at;
        let in_line = plain.then(|| (offset + at.start as usize, offset + at.end as usize));
        let problem = Problem { kind, text: self.text.into(), at, in_line };
        observer.event(self.line, Event::Problem(problem));
    }

    /// A problem with the command's pattern, placed there.
    fn problem_of_pattern(&self, observer: &mut dyn Observer, kind: impl FnOnce(BString) -> ProblemKind) {
        let Some(Attribute::Pattern(pattern)) = &self.command.attribute else { return };
        let start = self.command.attribute_at;
        let in_line = Some((start, start + pattern.regex.len() + 2));
        let kind = kind(pattern.regex.clone());
        let problem = Problem { kind, text: self.text.into(), at: Span::default(), in_line };
        observer.event(self.line, Event::Problem(problem));
    }

    fn set(&self, name: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        let step = self.step;
        let parsed = match &step.ready {
            Ready::Expression(parsed) => parsed.clone(),
            _ => match Expr::plain_old(self.text) {
                Some(literal) => Ok(literal),
                None => step.memo.parse(self.text, |text| Expr::parse_with(text, step.dialect.old())),
            },
        };
        match parsed {
            Err(error) => self.invalid(name, &error, observer),
            Ok(_) if name.is_empty() => {
                self.problem(ProblemKind::NoName(self.command.keyword), Span::default(), observer);
            }
            Ok(expr) => self.insert(name, expr, ad, observer),
        }
    }

    fn invalid(&self, name: &[u8], error: &ParseError, observer: &mut dyn Observer) {
        let (keyword, attribute, reason) = (self.command.keyword, name.into(), error.to_string());
        let kind = match keyword {
            Keyword::EvalSet | Keyword::EvalMacro => ProblemKind::Evaluate { keyword, attribute, reason },
            _ => ProblemKind::Expression { keyword, attribute, reason },
        };
        self.problem(kind, error.span, observer);
    }

    fn insert(&self, name: &[u8], expr: Expr, ad: &mut ClassAd, observer: &mut dyn Observer) {
        if self.steps {
            let old = ad.get(name);
            ad.insert(name, expr);
            let new = ad.get(name);
            observer
                .event(self.line, Event::Changed { attribute: name, old: old.as_ref(), new: new.as_ref() });
        } else {
            ad.insert(name, expr);
        }
    }

    /// Evaluates the text in the ad; reads as far as it parses.
    fn evaluate(
        &self,
        session: &Session<'_>,
        name: &[u8],
        ad: &ClassAd,
        observer: &mut dyn Observer,
    ) -> Option<Value> {
        let step = self.step;
        let parsed;
        let parsed = match &step.ready {
            Ready::Expression(parsed) => parsed,
            _ => {
                parsed = step
                    .memo
                    .parse(self.text, |text| Expr::parse_prefix(text, step.dialect).map(|(expr, _)| expr));
                &parsed
            }
        };
        match parsed {
            Err(error) => {
                self.invalid(name, error, observer);
                None
            }
            Ok(expr) => {
                let value = Context::new(session.world).my(ad).alone().eval(expr);
                if let Some(word) = unusable(&value)
                    && observer.wants_reason(self.line)
                {
                    let reason = htc_classad::explain::why_undefined(expr, ad, session.world);
                    let (keyword, attribute) = (self.command.keyword, name.into());
                    let kind = ProblemKind::Undefined { keyword, attribute, value: word, reason };
                    self.problem(kind, Span::new(0, self.text.len()), observer);
                }
                Some(value)
            }
        }
    }

    fn delete(&self, name: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        if !self.steps {
            ad.discard(name);
            return;
        }
        self.announce(name, observer);
        match ad.remove(name) {
            None => self.idle(Idle::Absent, observer),
            Some(old) => {
                let changed = Event::Changed { attribute: name, old: Some(&old), new: None };
                observer.event(self.line, changed);
            }
        }
    }

    fn rename(&self, name: &[u8], new: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        self.announce_new(name, new, observer);
        if !self.is_name(name, new, observer) {
            return;
        }
        if !self.steps {
            ad.rename(name, new);
            return;
        }
        match ad.remove(name) {
            None => self.idle(Idle::Absent, observer),
            Some(expr) => {
                let changed = Event::Changed { attribute: name, old: Some(&expr), new: None };
                observer.event(self.line, changed);
                self.insert(new, expr, ad, observer);
            }
        }
    }

    fn copy(&self, name: &[u8], new: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        self.announce_new(name, new, observer);
        if !self.is_name(name, new, observer) {
            return;
        }
        if !self.steps {
            ad.copy_within(name, new);
            return;
        }
        match ad.get(name) {
            None => self.idle(Idle::Absent, observer),
            Some(expr) => self.insert(new, expr, ad, observer),
        }
    }

    fn announce_new(&self, attribute: &[u8], text: &[u8], observer: &mut dyn Observer) {
        if self.steps {
            let keyword = self.command.keyword;
            observer.event(self.line, Event::Command { keyword, attribute, text });
        }
    }

    fn is_name(&self, attribute: &[u8], new: &[u8], observer: &mut dyn Observer) -> bool {
        let valid = pattern::is_attribute_name(new);
        if !valid {
            let (keyword, attribute) = (self.command.keyword, attribute.into());
            let kind = ProblemKind::NewName { keyword, attribute, new: new.into() };
            self.problem(kind, Span::new(0, self.text.len()), observer);
        }
        valid
    }

    /// Does the command for each attribute that matches.
    fn each_match(&self, ad: &mut ClassAd, observer: &mut dyn Observer) {
        let regex = match &self.step.ready {
            Ready::Pattern(Ok(regex)) => regex,
            Ready::Pattern(Err(error)) => {
                let (reason, code) = (error.to_string(), error.code);
                self.problem_of_pattern(observer, |pattern| ProblemKind::Pattern { pattern, reason, code });
                return;
            }
            _ => return,
        };
        let template = if self.command.keyword == Keyword::Delete { &b""[..] } else { self.text };
        let mut given_up = false;
        let matches = pattern::matching(ad, regex, template, &self.step.memo, |name, error| {
            given_up = true;
            self.problem_of_pattern(observer, |pattern| ProblemKind::MatchLimit {
                pattern,
                attribute: name.into(),
                code: error.code,
            });
        });
        if matches.is_empty() && !given_up {
            self.idle(Idle::NoMatch, observer);
        }
        for (name, new) in matches.iter() {
            match self.command.keyword {
                Keyword::Delete => self.delete(name, ad, observer),
                Keyword::Rename => self.rename(name, new, ad, observer),
                _ => self.copy(name, new, ad, observer),
            }
        }
    }
}

fn unusable(value: &Value) -> Option<&'static str> {
    match value {
        Value::Undefined => Some("undefined"),
        Value::Error => Some("error"),
        _ => None,
    }
}
