//! Effects of the commands on an ad (`ParseRulesCallback`).

use std::borrow::Cow;

use bstr::{BString, ByteSlice};

use super::attribute_pattern;
use super::command::{CommandAttribute, CommandKeyword, TransformCommand};
use super::observer::{
    NoEffectReason, Observer, ProblemKind, TransformEvent, TransformFailure, TransformProblem,
};
use super::program::{PreparedOperand, ProgramStep};
use super::rules_text::RuleLine;
use super::session::TransformSession;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::Span;
use htc_classad::{ClassAd, Context, Expr, ParseError, Value};

/// Executes the command of a step.
pub(super) fn execute_command(
    session: &mut TransformSession<'_>,
    step: &ProgramStep,
    command: &TransformCommand,
    ad: &mut ClassAd,
    observer: &mut dyn Observer,
) -> Result<(), TransformFailure> {
    let Some(attribute) = &command.attribute else { return Ok(()) };
    let mut buffer = step.memo.take_buffer();
    let filled = step
        .template
        .as_ref()
        .is_some_and(|template| template.fill(&session.macro_scope(Some(ad)), &mut buffer));
    let text = if filled {
        Cow::Borrowed(&buffer[..])
    } else {
        session.expand(&step.line, command.value_at, &command.value, Some(ad), observer)?
    };
    let work =
        ActiveCommand { step, line: &step.line, command, text: &text, reports_steps: observer.wants_steps() };
    match attribute {
        CommandAttribute::Name { name, trailing } => {
            let name = work.attribute_name(name, *trailing, session.quirks, observer);
            apply_to_attribute(session, &work, &name, ad, observer);
        }
        CommandAttribute::Pattern(_) => work.apply_to_matches(ad, observer),
    }
    step.memo.return_buffer(buffer);
    Ok(())
}

/// Executes a command for one attribute.
fn apply_to_attribute(
    session: &mut TransformSession<'_>,
    work: &ActiveCommand<'_>,
    name: &[u8],
    ad: &mut ClassAd,
    observer: &mut dyn Observer,
) {
    let ActiveCommand { line, command, text, .. } = *work;
    match command.keyword {
        CommandKeyword::Name | CommandKeyword::Universe | CommandKeyword::Requirements => {
            work.report_command(name, observer)
        }
        CommandKeyword::Transform => {}
        CommandKeyword::Default | CommandKeyword::Set => {
            work.report_command(name, observer);
            if command.keyword == CommandKeyword::Default {
                if !work.is_missing(name, ad, session.quirks, observer) {
                    work.report_no_effect(NoEffectReason::Present, observer);
                    return;
                }
                if work.reports_steps {
                    let keyword = CommandKeyword::Set;
                    observer.on_event(line, TransformEvent::Command { keyword, attribute: name, text });
                }
            }
            work.set_attribute(name, ad, observer);
        }
        CommandKeyword::EvalSet => {
            work.report_command(name, observer);
            if let Some(value) = work.evaluate_text(session, name, ad, observer) {
                if name.is_empty() {
                    work.report_problem(ProblemKind::NoName(command.keyword), Span::default(), observer);
                } else if work.reports_steps {
                    let printed = value_text(&value);
                    work.insert_attribute(name, Expr::literal(value), ad, observer);
                    let (keyword, text) = (command.keyword, &printed[..]);
                    observer.on_event(line, TransformEvent::Evaluated { keyword, attribute: name, text });
                } else {
                    ad.set(name, value);
                }
            }
        }
        CommandKeyword::EvalMacro => {
            work.report_command(name, observer);
            if let Some(value) = work.evaluate_text(session, name, ad, observer) {
                let text = value_text(&value);
                if work.reports_steps {
                    let (keyword, text) = (command.keyword, &text[..]);
                    observer.on_event(line, TransformEvent::Evaluated { keyword, attribute: name, text });
                }
                session.store_macro(line, name, text, observer);
            }
        }
        CommandKeyword::Delete => work.delete_attribute(name, ad, observer),
        CommandKeyword::Rename => work.rename_attribute(name, text, ad, observer),
        CommandKeyword::Copy => work.copy_attribute(name, text, ad, observer),
    }
}

/// Returns the text of a value: a string without quotes, an ad with one attribute per line (even inside a list), any
/// other value in the old ClassAd syntax (`XFormValueToString`).
fn value_text(value: &Value) -> BString {
    match value {
        Value::Str(text) => text.to_vec().into(),
        value => value.unparse_old_lines(),
    }
}

/// Command that is being executed on one ad.
struct ActiveCommand<'a> {
    step: &'a ProgramStep,
    line: &'a RuleLine,
    command: &'a TransformCommand,
    text: &'a [u8],
    reports_steps: bool,
}

impl ActiveCommand<'_> {
    /// Returns the name of the attribute. In 25.14 a `,` or `=` after the name becomes a NUL byte instead of being
    /// removed.
    fn attribute_name<'n>(
        &self,
        name: &'n BString,
        trailing: Option<u8>,
        quirks: QuirkMode,
        observer: &mut dyn Observer,
    ) -> Cow<'n, [u8]> {
        let Some(character) = trailing else { return Cow::Borrowed(name) };
        if quirks.reproduces(Quirk::NulInAttributeName) {
            return Cow::Owned([name, &b"\0"[..]].concat());
        }
        let kind = ProblemKind::Trailing { attribute: name.clone(), character: char::from(character) };
        self.report_problem(kind, Span::default(), observer);
        Cow::Borrowed(name)
    }

    /// Returns true if DEFAULT sets an attribute: the attribute is missing, or its value is `undefined`, which 25.14
    /// does not replace.
    fn is_missing(&self, name: &[u8], ad: &ClassAd, quirks: QuirkMode, observer: &mut dyn Observer) -> bool {
        let Some(expr) = ad.get(name) else { return true };
        if expr.as_literal() != Some(Value::Undefined) || quirks.reproduces(Quirk::DefaultKeepsUndefined) {
            return false;
        }
        self.report_problem(ProblemKind::DefaultOfUndefined(name.into()), Span::default(), observer);
        true
    }

    fn report_command(&self, attribute: &[u8], observer: &mut dyn Observer) {
        if self.reports_steps {
            let (keyword, text) = (self.command.keyword, self.text);
            observer.on_event(self.line, TransformEvent::Command { keyword, attribute, text });
        }
    }

    fn report_no_effect(&self, reason: NoEffectReason, observer: &mut dyn Observer) {
        if self.reports_steps {
            observer.on_event(self.line, TransformEvent::NoEffect(reason));
        }
    }

    fn report_problem(&self, kind: ProblemKind, at: Span, observer: &mut dyn Observer) {
        let plain = self.text == self.command.value.as_bytes();
        let offset = self.command.value_at;
        let in_line = plain.then(|| Span::new(offset + at.start as usize, offset + at.end as usize));
        let problem = TransformProblem { kind, text: self.text.into(), at, in_line };
        observer.on_event(self.line, TransformEvent::Problem(problem));
    }

    /// Reports a problem with the command's pattern, at the position of the pattern.
    fn report_pattern_problem(&self, observer: &mut dyn Observer, kind: impl FnOnce(BString) -> ProblemKind) {
        let Some(CommandAttribute::Pattern(pattern)) = &self.command.attribute else { return };
        let start = self.command.attribute_at;
        let in_line = Some(Span::new(start, start + pattern.regex.len() + 2));
        let kind = kind(pattern.regex.clone());
        let problem = TransformProblem { kind, text: self.text.into(), at: Span::default(), in_line };
        observer.on_event(self.line, TransformEvent::Problem(problem));
    }

    fn set_attribute(&self, name: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        let step = self.step;
        let parsed = match &step.operand {
            PreparedOperand::Expression(parsed) => parsed.clone(),
            _ => match Expr::from_plain_old_text(self.text) {
                Some(literal) => Ok(literal),
                None => step.memo.parse_cached(self.text, |text| Expr::parse_with(text, step.dialect.old())),
            },
        };
        match parsed {
            Err(error) => self.report_invalid_expression(name, &error, observer),
            Ok(_) if name.is_empty() => {
                self.report_problem(ProblemKind::NoName(self.command.keyword), Span::default(), observer);
            }
            Ok(expr) => self.insert_attribute(name, expr, ad, observer),
        }
    }

    fn report_invalid_expression(&self, name: &[u8], error: &ParseError, observer: &mut dyn Observer) {
        let (keyword, attribute, reason) = (self.command.keyword, name.into(), error.to_string());
        let kind = match keyword {
            CommandKeyword::EvalSet | CommandKeyword::EvalMacro => {
                ProblemKind::Evaluate { keyword, attribute, reason }
            }
            _ => ProblemKind::Expression { keyword, attribute, reason },
        };
        self.report_problem(kind, error.span, observer);
    }

    fn insert_attribute(&self, name: &[u8], expr: Expr, ad: &mut ClassAd, observer: &mut dyn Observer) {
        if self.reports_steps {
            let old = ad.get(name);
            ad.insert(name, expr);
            let new = ad.get(name);
            observer.on_event(
                self.line,
                TransformEvent::Changed { attribute: name, old: old.as_ref(), new: new.as_ref() },
            );
        } else {
            ad.insert(name, expr);
        }
    }

    /// Evaluates the text as an expression in the ad. Text after the expression is ignored.
    fn evaluate_text(
        &self,
        session: &TransformSession<'_>,
        name: &[u8],
        ad: &ClassAd,
        observer: &mut dyn Observer,
    ) -> Option<Value> {
        let step = self.step;
        let parsed;
        let parsed = match &step.operand {
            PreparedOperand::Expression(parsed) => parsed,
            _ => {
                parsed = step.memo.parse_cached(self.text, |text| {
                    Expr::parse_prefix(text, step.dialect).map(|(expr, _)| expr)
                });
                &parsed
            }
        };
        match parsed {
            Err(error) => {
                self.report_invalid_expression(name, error, observer);
                None
            }
            Ok(expr) => {
                let value = Context::new(session.world).my(ad).without_enclosing_ad().eval(expr);
                if let Some(word) = undefined_or_error(&value)
                    && observer.wants_undefined_reason(self.line)
                {
                    let reason = htc_classad::explain::why_undefined(expr, ad, session.world);
                    let (keyword, attribute) = (self.command.keyword, name.into());
                    let kind = ProblemKind::Undefined { keyword, attribute, value: word, reason };
                    self.report_problem(kind, Span::new(0, self.text.len()), observer);
                }
                Some(value)
            }
        }
    }

    fn delete_attribute(&self, name: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        if !self.reports_steps {
            ad.discard(name);
            return;
        }
        self.report_command(name, observer);
        match ad.remove(name) {
            None => self.report_no_effect(NoEffectReason::Absent, observer),
            Some(old) => {
                let changed = TransformEvent::Changed { attribute: name, old: Some(&old), new: None };
                observer.on_event(self.line, changed);
            }
        }
    }

    fn rename_attribute(&self, name: &[u8], new: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        self.report_new_name(name, new, observer);
        if !self.check_new_name(name, new, observer) {
            return;
        }
        if !self.reports_steps {
            ad.rename(name, new);
            return;
        }
        match ad.remove(name) {
            None => self.report_no_effect(NoEffectReason::Absent, observer),
            Some(expr) => {
                let changed = TransformEvent::Changed { attribute: name, old: Some(&expr), new: None };
                observer.on_event(self.line, changed);
                self.insert_attribute(new, expr, ad, observer);
            }
        }
    }

    fn copy_attribute(&self, name: &[u8], new: &[u8], ad: &mut ClassAd, observer: &mut dyn Observer) {
        self.report_new_name(name, new, observer);
        if !self.check_new_name(name, new, observer) {
            return;
        }
        if !self.reports_steps {
            ad.copy_within(name, new);
            return;
        }
        match ad.get(name) {
            None => self.report_no_effect(NoEffectReason::Absent, observer),
            Some(expr) => self.insert_attribute(new, expr, ad, observer),
        }
    }

    fn report_new_name(&self, attribute: &[u8], text: &[u8], observer: &mut dyn Observer) {
        if self.reports_steps {
            let keyword = self.command.keyword;
            observer.on_event(self.line, TransformEvent::Command { keyword, attribute, text });
        }
    }

    fn check_new_name(&self, attribute: &[u8], new: &[u8], observer: &mut dyn Observer) -> bool {
        let valid = attribute_pattern::is_attribute_name(new);
        if !valid {
            let (keyword, attribute) = (self.command.keyword, attribute.into());
            let kind = ProblemKind::NewName { keyword, attribute, new: new.into() };
            self.report_problem(kind, Span::new(0, self.text.len()), observer);
        }
        valid
    }

    /// Executes the command for each matching attribute.
    fn apply_to_matches(&self, ad: &mut ClassAd, observer: &mut dyn Observer) {
        let regex = match &self.step.operand {
            PreparedOperand::Pattern(Ok(regex)) => regex,
            PreparedOperand::Pattern(Err(error)) => {
                let (reason, code) = (error.to_string(), error.code);
                self.report_pattern_problem(observer, |pattern| ProblemKind::Pattern {
                    pattern,
                    reason,
                    code,
                });
                return;
            }
            _ => return,
        };
        let template = if self.command.keyword == CommandKeyword::Delete { &b""[..] } else { self.text };
        let mut was_aborted = false;
        let matches =
            attribute_pattern::matching_attributes(ad, regex, template, &self.step.memo, |name, error| {
                was_aborted = true;
                self.report_pattern_problem(observer, |pattern| ProblemKind::MatchLimit {
                    pattern,
                    attribute: name.into(),
                    code: error.code,
                });
            });
        if matches.is_empty() && !was_aborted {
            self.report_no_effect(NoEffectReason::NoMatch, observer);
        }
        for (name, new) in matches.iter() {
            match self.command.keyword {
                CommandKeyword::Delete => self.delete_attribute(name, ad, observer),
                CommandKeyword::Rename => self.rename_attribute(name, new, ad, observer),
                _ => self.copy_attribute(name, new, ad, observer),
            }
        }
    }
}

fn undefined_or_error(value: &Value) -> Option<&'static str> {
    match value {
        Value::Undefined => Some("undefined"),
        Value::Error => Some("error"),
        _ => None,
    }
}
