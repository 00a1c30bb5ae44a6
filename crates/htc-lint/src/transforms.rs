//! Finding mistakes in a transform without running it: what 25.14 would do in silence.

mod commands;
mod conditions;
mod finding;
mod macros;
mod requirements;

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use crate::transforms::conditions::Conditions;
use crate::transforms::finding::Lint;
pub use crate::transforms::finding::{Finding, Runner, Severity};
use crate::transforms::macros::Uses;
use htc_base::text::caseless;
use htc_base::text::space::trim;
use htc_base::world::World;
use htc_classad::{Dialect, Expr};
use htc_config::{MacroSource, condition};
use htc_transform::Keyword;
use htc_transform::Line;
use htc_transform::Transform;
pub(crate) use htc_transform::scope_use::find_scope;
use htc_transform::{Assignment, Directive, Statement, statement};
use htc_transform::{BuiltIn, Macros, Scope};

/// Looks only for statements that cannot do anything: those that make a transform fail, and as warnings those with an
/// expression, a pattern or a new name that is none.
pub fn without_effect(transform: &Transform, runner: Runner, world: &dyn World) -> Vec<Finding> {
    let mut lint = Lint { runner, world, findings: Vec::new(), written: BTreeMap::new(), inside_if: false };
    lint.statements(transform);
    lint.findings.retain(|finding| {
        finding.severity == Severity::Error || matches!(finding.rule, "expression" | "regex" | "new-name")
    });
    lint.findings
}

/// Looks through a transform.
pub fn lint(
    transform: &Transform,
    runner: Runner,
    knobs: Option<&dyn MacroSource>,
    world: &dyn World,
) -> Vec<Finding> {
    let mut lint = Lint { runner, world, findings: Vec::new(), written: BTreeMap::new(), inside_if: false };
    lint.requirements(transform);
    lint.statements(transform);
    let uses = Uses::collect(transform, Dialect::of(world));
    lint.findings.extend(uses.findings(knobs));
    lint.findings.sort_by_key(|finding| (finding.line.number, finding.at, finding.rule));
    lint.findings.dedup();
    lint.findings
}

/// Macros of a route that are expressions.
const STEERS: [&str; 6] = [
    "JobFailureTest",
    "JobShouldBeSandboxed",
    "EditJobInPlace",
    "UseSharedX509UserProxy",
    "SharedX509UserProxy",
    "SendIDTokens",
];

impl Lint<'_> {
    fn statements(&mut self, transform: &Transform) {
        let mut conditions = Conditions::default();
        let mut block: Option<(BString, Line)> = None;
        let mut after_error: Option<Line> = None;
        for (line, statement) in transform.statements() {
            if let Some((tag, _)) = &block {
                if statement::ends_block(&line.text, tag) {
                    block = None;
                }
                continue;
            }
            let whole = (0, line.text.len());
            self.inside_if = conditions.depth() > 0;
            if let Some(stop) = &after_error
                && conditions.depth() == 0
            {
                let message = format!("never reached, 'error' on line {} ends the transform", stop.number);
                self.warn("dead", (line, whole), message, "remove it");
                continue;
            }
            if !matches!(statement, Statement::Condition) && conditions.is_dead() {
                self.warn(
                    "dead",
                    (line, whole),
                    "never executed, its condition is constant",
                    "remove it or correct the condition",
                );
                continue;
            }
            match statement {
                Statement::Nothing => {}
                Statement::Condition => {
                    self.written.clear();
                    self.condition(line, &mut conditions);
                }
                Statement::Assign(assignment) => {
                    if assignment.append == statement::Append::Block {
                        block = Some((assignment.value.clone(), line.clone()));
                    }
                    self.assignment(line, &assignment);
                }
                Statement::Directive(directive) => {
                    if matches!(directive, Directive::Error(_)) && conditions.depth() == 0 {
                        after_error = Some(line.clone());
                    }
                    self.directive(line, &directive);
                }
                Statement::Command(Err(error)) => self.not_a_command(line, &error),
                Statement::Command(Ok(command)) => self.command(line, &command, conditions.depth()),
            }
        }
        self.inside_if = false;
        if let Some((tag, line)) = block {
            let end = line.text.len();
            self.fails(
                "block",
                (&line, (0, end)),
                "the value that begins here has no end, the transform fails",
                format!("end it with a line '@{tag}'"),
            );
        }
        if let Some(line) = conditions.open() {
            let end = line.text.len();
            self.fails("if", (&line, (0, end)), "this if has no endif", "add a line 'endif'");
        }
    }

    fn condition(&mut self, line: &Line, conditions: &mut Conditions) {
        let whole = (0, line.text.len());
        if let Some(message) = conditions.line(line) {
            self.fails("if", (line, whole), message, "each if needs one endif, else comes last");
        }
        let text = line.text.strip_prefix(b":").unwrap_or(&line.text);
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        if !matches!(text[..word_end].to_ascii_lowercase().as_slice(), b"if" | b"elif") {
            if text[..word_end].eq_ignore_ascii_case(b"else")
                && caseless::starts_with(trim(&text[word_end..]), b"if")
            {
                let message = "'else if' is a plain else, the condition is ignored";
                self.warn("else-if", (line, whole), message, "write 'elif'");
            }
            return;
        }
        let condition = trim(&text[word_end..]);
        if let Some((reason, hint)) = self.no_condition(condition) {
            let message = format!("{reason}, the transform fails");
            self.fails("if", (line, whole), message, hint);
            return;
        }
        if condition.iter().any(|b| b"=<>&|".contains(b)) && !caseless::starts_with(condition, b"version") {
            let message = "when this is false 25.14 does not take the else branch, the transform fails";
            self.warn(
                "complex-if",
                (line, whole),
                message,
                format!("write 'EVALMACRO v ({}) =?= true' before and 'if $(v)' here", condition.as_bstr()),
            );
        }
    }

    /// Why a text without macros is no condition, and what to do; operators have a rule of their own.
    fn no_condition(&self, condition: &[u8]) -> Option<(String, String)> {
        if condition.contains(&b'$') {
            return None;
        }
        let (macros, built_in) = (Macros::default(), BuiltIn::Basic);
        let nothing = Scope { macros: &macros, built_in: &built_in, ad: None, knobs: None };
        let error = condition::test(condition, &nothing, self.world, &mut |_| {}).err()?;
        if error == condition::ConditionError::Complex {
            return None;
        }
        let hint = error.hint(condition).unwrap_or_else(|| {
            "conditions are 'defined NAME', 'version >= 25.0', true, false, numbers, and macros for them"
                .into()
        });
        Some((error.to_string(), hint))
    }

    fn assignment(&mut self, line: &Line, assignment: &Assignment) {
        let name_end = assignment.name.len();
        let is = |word: &str| assignment.name.eq_ignore_ascii_case(word.as_bytes());
        if let Some(word) = ["REQUIREMENTS", "UNIVERSE", "NAME", "TRANSFORM"].iter().find(|word| is(word))
            && !(self.runner == Runner::Router && is("UNIVERSE"))
        {
            let message = format!("this defines a macro called {word}, it is not the statement {word}");
            let fix = format!("remove the '=': {word} {}", assignment.value);
            self.warn("statement-assigned", (line, (0, name_end)), message, fix);
        } else if Keyword::parse(&assignment.name).is_some() {
            let message = format!("this defines a macro called {}, no attribute is touched", assignment.name);
            let fix = format!(
                "write '{} ATTRIBUTE {}'",
                assignment.name.to_uppercase().as_bstr(),
                assignment.value
            );
            self.warn("statement-assigned", (line, (0, name_end)), message, fix);
        }
        if self.runner == Runner::Router && STEERS.iter().any(|steer| is(steer)) {
            self.steer(line, assignment);
        }
        let plain = !assignment.name.contains(&b'$');
        let signed = matches!(assignment.name.first(), Some(b'+' | b'-'));
        if signed {
            let message = format!(
                "this sets no attribute, it hides {} from $(MY.{})",
                &assignment.name[1..].as_bstr(),
                &assignment.name[1..].as_bstr()
            );
            let fix = format!("write 'SET {} {}'", assignment.name[1..].as_bstr(), assignment.value);
            self.warn("plus-attribute", (line, (0, name_end)), message, fix);
        } else if plain && !statement::is_macro_name(&assignment.name) {
            let message = format!("'{}' is not a valid macro name, the transform fails", assignment.name);
            let fix = if assignment.name.ends_with(b"+") {
                "put a blank before '+='"
            } else {
                "use letters, digits, '_', '.' and '/'"
            };
            self.fails("macro-name", (line, (0, name_end)), message, fix);
        }
    }

    /// An expression that the router evaluates in the source job alone (`JobRoute::EvalSharedX509UserProxy` and its like).
    fn steer(&mut self, line: &Line, assignment: &Assignment) {
        let (name, text, at) = (&assignment.name, &assignment.value, assignment.value_at);
        if let Some(offset) = find_scope(text, "target") {
            let message = format!("TARGET. is undefined in {name}, which sees the source job alone");
            let place = (at + offset, at + offset + "target.".len());
            let fix = "write the attribute's name without 'TARGET.', or with 'MY.'";
            self.warn("scope", (line, place), message, fix);
        }
        if !text.contains(&b'$')
            && !text.is_empty()
            && let Err(error) = Expr::parse_with(text, Dialect::of(self.world).old())
        {
            let message = format!("{name} is no expression and counts as absent: {error}");
            let place = (
                at + error.span.start as usize,
                at + (error.span.end as usize).max(error.span.start as usize + 1),
            );
            self.warn("expression", (line, place), message, "correct the expression");
        }
    }

    fn directive(&mut self, line: &Line, directive: &Directive) {
        let whole = (0, line.text.len());
        match directive {
            Directive::Use { .. } => self.fails(
                "use",
                (line, whole),
                "'use' always fails in a transform",
                "put the statements of the template here",
            ),
            Directive::Include { .. } if self.runner != Runner::Tool => self.warn(
                "include",
                (line, whole),
                "the file is read again for every job, relative to the daemon's directory",
                "include it in the configuration, outside the transform",
            ),
            _ => {}
        }
    }
}
