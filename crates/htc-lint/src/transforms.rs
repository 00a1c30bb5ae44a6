//! Finds mistakes in a transform without running it, in particular those that 25.14 ignores without a
//! message.

mod attribute_references;
mod commands;
mod conditions;
mod expression_meaning;
mod finding;
mod iteration;
mod macros;
mod old_statement;
mod requirements;
mod self_reference;
mod value_scopes;

use htc_config::lint_rule::{LintRule, LintSeverity};
use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

pub(crate) use crate::transforms::attribute_references::attributes_set_by;
use crate::transforms::conditions::ConstantConditions;
use crate::transforms::finding::TransformLinter;
pub use crate::transforms::finding::{TransformFinding, TransformRunner};
use crate::transforms::macros::{MacroUses, route_setting};
use crate::transforms::old_statement::split_old_statement;
use htc_base::text::Span;
use htc_base::text::caseless;
use htc_base::text::space::trim;
use htc_base::world::World;
use htc_classad::{Dialect, Expr};
use htc_config::{MacroSource, condition};
use htc_transform::CommandKeyword;
use htc_transform::RuleLine;
use htc_transform::Transform;
pub(crate) use htc_transform::scope_reference::find_scope;
use htc_transform::{AssignmentOperator, ConfigDirective, MacroAssignment, TransformStatement, statement};
use htc_transform::{BuiltInMacros, MacroScope, MacroTable};

/// Finds only the mistakes that make a transform fail or a statement ineffective: errors, and warnings about an invalid
/// expression, pattern or new name.
pub fn find_ineffective_statements(
    transform: &Transform,
    runner: TransformRunner,
    world: &dyn World,
) -> Vec<TransformFinding> {
    let mut lint = TransformLinter {
        runner,
        world,
        findings: Vec::new(),
        unread_sets: BTreeMap::new(),
        set_references: BTreeMap::new(),
        inside_if: false,
    };
    lint.lint_statements(transform);
    lint.findings.retain(|finding| {
        finding.rule.severity() == LintSeverity::Error
            || matches!(finding.rule, LintRule::Expression | LintRule::Regex | LintRule::NewName)
    });
    lint.findings
}

/// Finds all mistakes in a transform.
pub fn lint(
    transform: &Transform,
    runner: TransformRunner,
    config_macros: Option<&dyn MacroSource>,
    world: &dyn World,
) -> Vec<TransformFinding> {
    let mut lint = TransformLinter {
        runner,
        world,
        findings: Vec::new(),
        unread_sets: BTreeMap::new(),
        set_references: BTreeMap::new(),
        inside_if: false,
    };
    lint.lint_requirements(transform);
    lint.lint_universe(transform);
    lint.lint_statements(transform);
    if !lint.has_stopped() {
        lint.lint_attribute_references(transform);
        lint.lint_iteration(transform);
        lint.lint_end(transform);
        let uses = MacroUses::collect(transform, Dialect::of_world(world));
        lint.findings.extend(uses.findings(config_macros));
    }
    lint.findings.sort_by_key(|finding| (finding.line.number, finding.at, finding.rule));
    lint.findings.dedup();
    lint.findings
}

/// Macros of a route whose values are expressions.
const ROUTE_EXPRESSIONS: [&str; 6] = [
    "JobFailureTest",
    "JobShouldBeSandboxed",
    "EditJobInPlace",
    "UseSharedX509UserProxy",
    "SharedX509UserProxy",
    "SendIDTokens",
];

impl TransformLinter<'_> {
    fn lint_statements(&mut self, transform: &Transform) {
        let mut conditions = ConstantConditions::default();
        let mut block: Option<(BString, RuleLine)> = None;
        let mut after_error: Option<RuleLine> = None;
        for (line, statement) in transform.statements() {
            if let Some((tag, _)) = &block {
                if statement::is_block_end(&line.text, tag) {
                    block = None;
                }
                continue;
            }
            if self.is_full(line) {
                return;
            }
            let whole = Span::new(0, line.text.len());
            self.inside_if = conditions.depth() > 0;
            if let Some(stop) = &after_error
                && conditions.depth() == 0
            {
                let message = "this line is never reached: the transform ends at the 'error'";
                let number = stop.number;
                self.report(LintRule::Dead, line, whole, message, "remove it");
                self.set_other_line(number);
                continue;
            }
            if !matches!(statement, TransformStatement::Condition) && conditions.is_unreachable() {
                self.report(
                    LintRule::Dead,
                    line,
                    whole,
                    "this block is never executed: its condition is constant",
                    "remove it or correct the condition",
                );
                continue;
            }
            match statement {
                TransformStatement::Blank => {}
                TransformStatement::Condition => {
                    self.unread_sets.clear();
                    self.lint_condition(line, &mut conditions);
                }
                TransformStatement::Assign(assignment) => {
                    if assignment.operator == statement::AssignmentOperator::Block {
                        block = Some((assignment.value.clone(), line.clone()));
                    }
                    self.lint_assignment(line, &assignment);
                }
                TransformStatement::Directive(directive) => {
                    if matches!(directive, ConfigDirective::Error(_)) && conditions.depth() == 0 {
                        after_error = Some(line.clone());
                    }
                    self.lint_directive(line, &directive);
                }
                TransformStatement::Command(Err(error)) => self.report_not_a_command(line, &error),
                TransformStatement::Command(Ok(command)) => {
                    self.lint_command(line, &command, conditions.depth())
                }
            }
        }
        self.inside_if = false;
        if let Some((tag, line)) = block {
            let end = line.text.len();
            self.report(
                LintRule::Block,
                &line,
                Span::new(0, end),
                "the value that begins here has no end, so the transform fails",
                format!("end it with a line '@{tag}'"),
            );
        }
        if let Some(line) = conditions.outermost_if() {
            let end = line.text.len();
            self.report(LintRule::If, &line, Span::new(0, end), "this if has no endif", "add a line 'endif'");
        }
    }

    fn lint_condition(&mut self, line: &RuleLine, conditions: &mut ConstantConditions) {
        let whole = Span::new(0, line.text.len());
        if let Some(message) = conditions.follow_line(line) {
            self.report(
                LintRule::If,
                line,
                whole,
                message,
                "write one endif for each if, and else as the last branch",
            );
        }
        let text = line.text.strip_prefix(b":").unwrap_or(&line.text);
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        if !matches!(text[..word_end].to_ascii_lowercase().as_slice(), b"if" | b"elif") {
            if text[..word_end].eq_ignore_ascii_case(b"else")
                && caseless::starts_with(trim(&text[word_end..]), b"if")
            {
                let message = "'else if' is a plain else: the condition is ignored";
                self.report(LintRule::ElseIf, line, whole, message, "write 'elif'");
            }
            return;
        }
        let condition = trim(&text[word_end..]);
        if let Some((reason, hint)) = self.explain_invalid_condition(condition) {
            let message = format!("{reason}, so the transform fails");
            self.report(LintRule::If, line, whole, message, hint);
            return;
        }
        if condition.iter().any(|b| b"=<>&|".contains(b)) && !caseless::starts_with(condition, b"version") {
            let message =
                "if this is false, HTCondor 25.14 does not take the else branch, and the transform fails";
            self.report(
                LintRule::ComplexIf,
                line,
                whole,
                message,
                format!("write 'EVALMACRO v ({}) =?= true' before and 'if $(v)' here", condition.as_bstr()),
            );
        }
    }

    /// Returns the reason why a text without macros is not a valid condition, and a hint. Another rule reports
    /// operators.
    fn explain_invalid_condition(&self, condition: &[u8]) -> Option<(String, String)> {
        if condition.contains(&b'$') {
            return None;
        }
        let (macros, built_in) = (MacroTable::default(), BuiltInMacros::Basic);
        let nothing = MacroScope { macros: &macros, built_in: &built_in, ad: None, config: None };
        let error = condition::test_condition(condition, &nothing, self.world, &mut |_| {}).err()?;
        if error == condition::ConditionError::Complex {
            return None;
        }
        let hint = error.correction_hint(condition).unwrap_or_else(|| {
            "write 'defined NAME', 'version >= 25.0', true, false, a number, or a macro with one of them"
                .into()
        });
        Some((error.to_string(), hint))
    }

    fn lint_assignment(&mut self, line: &RuleLine, assignment: &MacroAssignment) {
        let name_end = assignment.name.len();
        let is = |word: &str| assignment.name.eq_ignore_ascii_case(word.as_bytes());
        if let Some(word) = ["REQUIREMENTS", "UNIVERSE", "NAME", "TRANSFORM"].iter().find(|word| is(word))
            && !(self.runner == TransformRunner::Router && is("UNIVERSE"))
        {
            let message = format!("this defines a macro called {word}; it is not the statement {word}");
            let fix = format!("remove the '=': {word} {}", assignment.value);
            self.report(LintRule::StatementAssigned, line, Span::new(0, name_end), message, fix);
        } else if CommandKeyword::parse(&assignment.name).is_some() {
            let message = format!("this defines a macro called {}; no attribute changes", assignment.name);
            let fix = format!(
                "write '{} ATTRIBUTE {}'",
                assignment.name.to_uppercase().as_bstr(),
                assignment.value
            );
            self.report(LintRule::StatementAssigned, line, Span::new(0, name_end), message, fix);
        }
        if self.runner == TransformRunner::Router && ROUTE_EXPRESSIONS.iter().any(|known| is(known)) {
            self.lint_route_expression(line, assignment);
        }
        if self.lint_old_statement(line, assignment) {
            return;
        }
        if self.runner == TransformRunner::Router && is("GridResource") {
            let place = Span::new(assignment.value_at, line.text.len());
            let text = assignment.value.trim_with(|c| c == '"').to_owned();
            self.lint_grid_resource(line, place, &text);
        }
        let plain = !assignment.name.contains(&b'$');
        let scope = ["MY.", "TARGET."]
            .into_iter()
            .find(|scope| caseless::starts_with(&assignment.name, scope.as_bytes()));
        if let Some(scope) = scope {
            let attribute = assignment.name[scope.len()..].as_bstr();
            let message = format!("this defines a macro called {}; no attribute changes", assignment.name);
            let fix = format!("write 'SET {attribute} {}'", assignment.value);
            self.report(LintRule::PlusAttribute, line, Span::new(0, name_end), message, fix);
            return;
        }
        let signed = matches!(assignment.name.first(), Some(b'+' | b'-'));
        if signed {
            let message = format!(
                "this sets no attribute; it hides {} from $(MY.{})",
                &assignment.name[1..].as_bstr(),
                &assignment.name[1..].as_bstr()
            );
            let fix = format!("write 'SET {} {}'", assignment.name[1..].as_bstr(), assignment.value);
            self.report(LintRule::PlusAttribute, line, Span::new(0, name_end), message, fix);
        } else if plain && !statement::is_macro_name(&assignment.name) {
            let message = format!("'{}' is not a valid macro name, so the transform fails", assignment.name);
            let fix = if assignment.name.ends_with(b"+") {
                "write a space before '+='"
            } else {
                "use letters, digits, '_', '.' and '/'"
            };
            self.report(LintRule::MacroName, line, Span::new(0, name_end), message, fix);
        }
    }

    /// Reports a statement of the old route syntax (`set_NAME = value`); returns true if it is one.
    fn lint_old_statement(&mut self, line: &RuleLine, assignment: &MacroAssignment) -> bool {
        let name = &assignment.name;
        let Some((keyword, attribute)) = split_old_statement(name) else { return false };
        let reference = [b"$(", &name[..]].concat();
        if assignment.operator != AssignmentOperator::Replace
            || caseless::contains(&line.source.text, &reference)
        {
            return false;
        }
        if let Some(setting) = route_setting(attribute)
            && self.runner == TransformRunner::Router
            && matches!(keyword, CommandKeyword::Set | CommandKeyword::EvalSet)
        {
            let correct = format!("{setting} = ");
            let message =
                format!("{name} = defines a macro that nothing reads; the setting of the route is {setting}");
            let fix = format!("write '{correct}{}'", assignment.value);
            self.report(LintRule::OldStatement, line, Span::new(0, assignment.value_at), message, fix);
            self.correct_last(correct);
            return true;
        }
        let keyword_name = keyword.name();
        let value = assignment.value.trim_with(|c| c == '"').as_bstr();
        // The value of a SET is kept unchanged; those of other statements are rewritten.
        let (end, correct) = match keyword {
            CommandKeyword::Set | CommandKeyword::EvalSet => {
                (assignment.value_at, format!("{keyword_name} {attribute} "))
            }
            CommandKeyword::Copy => (line.text.len(), format!("{keyword_name} {attribute} {value}")),
            _ => (line.text.len(), format!("{keyword_name} {attribute}")),
        };
        let message = format!("{name} = is a statement of the old route syntax; here it defines a macro");
        let fix = match keyword {
            CommandKeyword::Set | CommandKeyword::EvalSet => {
                format!("write '{keyword_name} {attribute} {}'", assignment.value)
            }
            _ => format!("write '{correct}'"),
        };
        self.report(LintRule::OldStatement, line, Span::new(0, end), message, fix);
        self.correct_last(correct);
        true
    }

    /// Checks an expression that the router evaluates with only the source job (for example
    /// `JobRoute::EvalSharedX509UserProxy`).
    fn lint_route_expression(&mut self, line: &RuleLine, assignment: &MacroAssignment) {
        let (name, text, at) = (&assignment.name, &assignment.value, assignment.value_at);
        for scope in ["TARGET", "other"] {
            let Some(offset) = find_scope(text, scope) else { continue };
            let message =
                format!("{scope}. is undefined in {name}, which is evaluated with only the source job");
            let place = Span::new(at + offset, at + offset + scope.len() + 1);
            let fix = format!("write the attribute's name without '{scope}.', or with 'MY.'");
            self.report(LintRule::Scope, line, place, message, fix);
        }
        if text.contains(&b'$') || text.is_empty() {
            return;
        }
        match Expr::parse_with(text, Dialect::of_world(self.world).old()) {
            Ok(expr) => self.lint_job_expression(line, Span::new(at, at + text.len()), &expr),
            Err(error) => {
                let message = format!("{name} is not a valid expression and is ignored: {error}");
                let place = Span::new(
                    at + error.span.start as usize,
                    at + (error.span.end as usize).max(error.span.start as usize + 1),
                );
                self.report(LintRule::Expression, line, place, message, "correct the expression");
            }
        }
    }

    fn lint_directive(&mut self, line: &RuleLine, directive: &ConfigDirective) {
        let whole = Span::new(0, line.text.len());
        match directive {
            ConfigDirective::Use { .. } => self.report(
                LintRule::Use,
                line,
                whole,
                "'use' always fails in a transform",
                "write the statements of the template here",
            ),
            ConfigDirective::Include { .. } if self.runner != TransformRunner::Tool => self.report(
                LintRule::Include,
                line,
                whole,
                "the file is read again for every job, relative to the daemon's working directory",
                "include it in the configuration, outside the transform",
            ),
            _ => {}
        }
    }
}
