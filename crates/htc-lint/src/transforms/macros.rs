//! Mistakes with macros: read but never defined, defined but never read, and text that only looks like a reference.

use crate::transforms::old_statement::split_old_statement;
use bstr::{BString, ByteSlice};
use htc_config::lint_rule::LintRule;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::transforms::finding::TransformFinding;
use htc_base::text::Span;
use htc_base::text::caseless;
use htc_base::text::similar_names::nearest;
use htc_classad::{AttrName, Dialect, Expr};
use htc_config::MacroSource;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_transform::PLATFORM_NAMES;
use htc_transform::RuleLine;
use htc_transform::Transform;
use htc_transform::{AssignmentOperator, ConfigDirective, TransformStatement, statement};
use htc_transform::{CommandAttribute, CommandKeyword};

/// A use or definition of a macro, with its position.
struct MacroOccurrence {
    name: BString,
    line: RuleLine,
    at: Span,
    /// Number of the statement; it gives the order of definitions and uses.
    order: usize,
    has_default: bool,
    plain: bool,
    /// True for a definition that is certainly executed and does not use an earlier definition.
    replaces: bool,
}

impl MacroOccurrence {
    /// Creates a warning about this place.
    fn warning_here(&self, rule: LintRule, message: String, fix: String) -> TransformFinding {
        warning(rule, &self.line, self.at, message, fix)
    }

    /// Creates a warning about the macro itself.
    fn warning_about_macro(&self, rule: LintRule, message: String, fix: String) -> TransformFinding {
        TransformFinding { macro_name: Some(self.name.clone()), ..self.warning_here(rule, message, fix) }
    }
}

fn warning(rule: LintRule, line: &RuleLine, at: Span, message: String, fix: String) -> TransformFinding {
    let line = line.clone();
    TransformFinding {
        rule,
        line,
        at,
        message,
        other_line: None,
        fix,
        replacement: None,
        macro_name: None,
        inside_if: false,
    }
}

/// Definitions and uses of all macros of a transform.
#[derive(Default)]
pub(super) struct MacroUses {
    /// Syntax of expressions.
    dialect: Dialect,
    defined: Vec<MacroOccurrence>,
    read: Vec<MacroOccurrence>,
    doubtful_references: Vec<TransformFinding>,
    /// Names tested by an `if defined`.
    defined_tests: FxHashSet<AttrName>,
    /// Attributes that are set to expressions other than literals, and the line that sets each.
    expressions: FxHashMap<AttrName, u32>,
    includes: bool,
}

/// Maximum number of doubtful references reported for one transform.
const MAX_DOUBTFUL_REFERENCES: usize = 100;

impl MacroUses {
    pub(super) fn collect(transform: &Transform, dialect: Dialect) -> Self {
        let mut uses = MacroUses { dialect, ..MacroUses::default() };
        let mut block: Option<BString> = None;
        let mut depth: usize = 0;
        if let Some(iteration) = &transform.envelope.iteration {
            uses.record_iteration_variables(&iteration.line, &iteration.arguments);
        }
        for (order, (line, statement)) in transform.statements().enumerate() {
            if let Some(tag) = &block {
                if statement::is_block_end(&line.text, tag) {
                    block = None;
                } else {
                    uses.scan_line(line, 0, None);
                }
                continue;
            }
            match &statement {
                TransformStatement::Assign(assignment) => {
                    let at = Span::new(0, assignment.name.len());
                    let replaces =
                        depth == 0 && !matches!(assignment.operator, AssignmentOperator::Append(..));
                    uses.record_definition(&assignment.name, line, at, order, replaces);
                    uses.scan_range(line, 0, assignment.name.len(), Some(order));
                    if assignment.operator == AssignmentOperator::Block {
                        block = Some(assignment.value.clone());
                    } else {
                        uses.scan_line(line, assignment.value_at, None);
                    }
                }
                TransformStatement::Command(Ok(command)) => {
                    if let (CommandKeyword::EvalMacro, Some(CommandAttribute::Name { name, .. })) =
                        (command.keyword, &command.attribute)
                    {
                        let at = Span::new(command.attribute_at, command.attribute_at + name.len());
                        uses.record_definition(name, line, at, order, depth == 0);
                    }
                    uses.scan_line(line, command.value_at, Some(order));
                    if let Some(CommandAttribute::Name { name, .. }) = &command.attribute {
                        uses.record_expression(command.keyword, name, &command.value, line.number);
                    }
                }
                TransformStatement::Condition => {
                    let text = line.text.strip_prefix(b":").unwrap_or(&line.text);
                    match htc_transform::iterate::split_words(text).next().unwrap_or_default() {
                        word if word.eq_ignore_ascii_case(b"if") => depth += 1,
                        word if word.eq_ignore_ascii_case(b"endif") => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    uses.record_defined_test(&line.text);
                    uses.scan_line(line, 0, Some(order));
                }
                TransformStatement::Directive(directive) => {
                    uses.includes |= matches!(directive, ConfigDirective::Include { .. });
                    uses.scan_line(line, 0, Some(order));
                }
                _ => {}
            }
        }
        uses
    }

    /// Records whether an attribute is set to an expression that is not a literal, if the keyword determines
    /// this.
    fn record_expression(&mut self, keyword: CommandKeyword, name: &[u8], value: &[u8], line: u32) {
        let literal = match keyword {
            CommandKeyword::Set if !value.contains(&b'$') => {
                Expr::parse_with(value, self.dialect.old()).is_ok_and(|expr| expr.as_literal().is_some())
            }
            CommandKeyword::Set
            | CommandKeyword::EvalSet
            | CommandKeyword::Delete
            | CommandKeyword::Rename => true,
            _ => return,
        };
        if literal {
            self.expressions.remove(&AttrName::from(name));
        } else {
            self.expressions.insert(name.into(), line);
        }
    }

    fn record_definition(&mut self, name: &[u8], line: &RuleLine, at: Span, order: usize, replaces: bool) {
        let bare = if caseless::starts_with(name, b"XFORM.") { &name[6..] } else { name };
        let (name, line) = (bare.into(), line.clone());
        self.defined.push(MacroOccurrence {
            name,
            line,
            at,
            order,
            has_default: false,
            plain: true,
            replaces,
        });
    }

    /// Records the variables of TRANSFORM, which are treated as defined before all statements.
    fn record_iteration_variables(&mut self, line: &RuleLine, arguments: &[u8]) {
        if let Ok(parsed) = htc_transform::iterate::parse_arguments(arguments, |_| Some(1)) {
            for name in parsed.variables {
                self.defined_tests.insert(name[..].into());
                let line = line.clone();
                self.defined.push(MacroOccurrence {
                    name,
                    line,
                    at: Span::default(),
                    order: 0,
                    has_default: true,
                    plain: true,
                    replaces: false,
                });
            }
        }
    }

    fn record_defined_test(&mut self, text: &[u8]) {
        let mut words = htc_transform::iterate::split_words(text)
            .skip_while(|word| !word.eq_ignore_ascii_case(b"defined"));
        if let (Some(_), Some(name)) = (words.next(), words.next()) {
            self.defined_tests.insert(name.into());
        }
    }

    fn scan_line(&mut self, line: &RuleLine, from: usize, order: Option<usize>) {
        self.scan_range(line, from, line.text.len(), order);
    }

    /// Finds the references in a text. `order` is the number of the line if its references are expanded when
    /// the line is reached; `None` if they are expanded when the macro is used.
    fn scan_range(&mut self, line: &RuleLine, from: usize, to: usize, order: Option<usize>) {
        let text = &line.text[..to];
        let mut at = from;
        // Of equal references only the first is recorded: a line may contain a million of them.
        let mut recorded: FxHashSet<(AttrName, bool)> = FxHashSet::default();
        while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
            let place = Span::new(found.dollar, found.end);
            let body = found.body(text);
            let (name, default) = match found.function {
                MacroFunction::Env | MacroFunction::Eval => {
                    at = found.body;
                    self.check_function(line, found.function, body, place);
                    continue;
                }
                MacroFunction::Plain => found.name_and_default(text),
                _ => {
                    self.check_function(line, found.function, body, place);
                    (body.split(|&b| b == b',').next().unwrap_or_default(), None)
                }
            };
            let plain = found.function == MacroFunction::Plain;
            let has_default = default.is_some_and(|default| !default.is_empty());
            let order = order.unwrap_or(usize::MAX);
            let name = BString::from(name.trim());
            if recorded.insert((name[..].into(), has_default)) {
                let line = line.clone();
                self.read.push(MacroOccurrence {
                    name,
                    line,
                    at: place,
                    order,
                    has_default,
                    plain,
                    replaces: false,
                });
            }
            at = if plain { found.dollar + 2 } else { found.end };
        }
        self.check_invalid_references(line, from, to);
    }

    /// Reports each `$(` that looks like a reference but is not one.
    fn check_invalid_references(&mut self, line: &RuleLine, from: usize, to: usize) {
        let text = &line.text[..to];
        let mut at = from;
        while let Some(dollar) = text.get(at..).and_then(|rest| rest.find(b"$(")).map(|offset| at + offset)
            && self.doubtful_references.len() < MAX_DOUBTFUL_REFERENCES
        {
            at = dollar + 2;
            if dollar > 0 && text[dollar - 1] == b'$' {
                continue;
            }
            let mut seen = None;
            let is_reference =
                next_reference(text, dollar, &mut seen, |_, _| true).is_some_and(|r| r.dollar == dollar);
            if is_reference {
                continue;
            }
            let Some(close) = memchr::memchr(b')', &text[dollar..]).map(|offset| dollar + offset + 1) else {
                let message = "there is no ')' after this, so it remains in the text unchanged";
                self.report_doubtful(
                    LintRule::Reference,
                    line,
                    Span::new(dollar, to),
                    message,
                    "add the closing ')'".into(),
                );
                continue;
            };
            let body = &text[dollar + 2..close - 1];
            let (message, fix) = if body.iter().any(|&b| b == b' ' || b == b'\t') && !body.contains(&b':') {
                (
                    "this is not a reference, because it has spaces inside; it remains in the text unchanged",
                    format!("write $({})", body.trim().as_bstr()),
                )
            } else if body.contains(&b':') {
                (
                    "this is not a reference, because its default has a character that is not allowed there; it remains in the text unchanged",
                    "only letters, digits, '_', '.', '/', '$', ',', '\\', ':' and spaces are allowed in a default; put it into a separate macro".into(),
                )
            } else {
                (
                    "this is not a reference, because its name has a character that is not allowed; it remains in the text unchanged",
                    "use letters, digits, '_', '.' and '/'".into(),
                )
            };
            self.report_doubtful(LintRule::Reference, line, Span::new(dollar, close), message, fix);
        }
    }

    fn check_function(&mut self, line: &RuleLine, function: MacroFunction, body: &[u8], at: Span) {
        if body.contains(&b'(') {
            let message = "the body of a function ends at the first ')', so this is cut short";
            let fix = "set a macro to the inner text, and use its name here";
            self.report_doubtful(LintRule::FunctionBody, line, at, message, fix.into());
        } else if matches!(function, MacroFunction::Int | MacroFunction::Real | MacroFunction::String)
            && caseless::starts_with(body.trim(), b"MY.")
        {
            let name = body.split(|b| b",:".contains(b)).next().unwrap_or_default().trim().as_bstr();
            // Attributes that the ad already has are mostly plain numbers or strings, so only the ones set
            // here are checked.
            if let Some(set) = self.expressions.get(&AttrName::from(&name[3..])) {
                let message = format!(
                    "line {set} sets {name} to an expression, and this function does not evaluate it"
                );
                let fix = format!("use $EVAL({name}), or set the macro with EVALMACRO");
                self.report_doubtful(LintRule::FunctionAd, line, at, &message, fix);
            }
        }
    }

    fn report_doubtful(&mut self, rule: LintRule, line: &RuleLine, at: Span, message: &str, fix: String) {
        self.doubtful_references.push(warning(rule, line, at, message.to_owned(), fix));
    }

    /// Returns all findings.
    pub(super) fn findings(mut self, config_macros: Option<&dyn MacroSource>) -> Vec<TransformFinding> {
        let mut findings = std::mem::take(&mut self.doubtful_references);
        let mut by_name: FxHashMap<AttrName, Vec<&MacroOccurrence>> = FxHashMap::default();
        for defined in &self.defined {
            by_name.entry(defined.name[..].into()).or_default().push(defined);
        }
        findings.extend(self.find_undefined(&by_name, config_macros));
        // If a name is computed or another file is included, any macro may be read.
        let indirect =
            self.includes || self.read.iter().any(|read| read.name.contains(&b'$') || read.name.is_empty());
        if !indirect {
            findings.extend(self.find_overwritten(&by_name));
            findings.extend(self.find_unused());
        }
        findings
    }

    fn is_tested_with_defined(&self, name: &[u8]) -> bool {
        self.defined_tests.contains(&AttrName::from(name))
    }

    /// Finds names that are read before they have a value.
    fn find_undefined(
        &self,
        by_name: &FxHashMap<AttrName, Vec<&MacroOccurrence>>,
        config_macros: Option<&dyn MacroSource>,
    ) -> Vec<TransformFinding> {
        let mut findings = Vec::new();
        for read in self.read.iter().filter(|read| read.plain && !read.has_default && !self.includes) {
            let name = &read.name;
            if name.is_empty()
                || is_predefined(name)
                || self.is_tested_with_defined(name)
                || name.contains(&b'$')
            {
                continue;
            }
            let all = by_name.get(&AttrName::from(&name[..])).map_or(&[][..], Vec::as_slice);
            if all.iter().any(|defined| defined.order < read.order)
                || config_macros.is_some_and(|config_macros| config_macros.raw(name).is_some())
            {
                continue;
            }
            let (message, fix) = match all.first() {
                Some(later) => (
                    format!("{name} is empty here: it gets its value only on line {}", later.line.number),
                    "move the assignment up".to_owned(),
                ),
                None => {
                    let near = nearest(
                        name,
                        by_name.keys().take(MAX_DOUBTFUL_REFERENCES).map(|name| name.as_bytes()),
                    );
                    let fix = match near.map(<[u8]>::as_bstr) {
                        Some(near) => format!("did you mean $({near})?"),
                        None => format!(
                            "define it, give a default with $({name}:text), or write $(MY.{name}) for the ad's attribute"
                        ),
                    };
                    (format!("{name} is never defined, so this expands to nothing"), fix)
                }
            };
            findings.push(read.warning_about_macro(LintRule::Undefined, message, fix));
        }
        findings
    }

    /// Finds assignments whose value is replaced before anything reads it.
    fn find_overwritten(
        &self,
        by_name: &FxHashMap<AttrName, Vec<&MacroOccurrence>>,
    ) -> Vec<TransformFinding> {
        let mut findings = Vec::new();
        // The statements that read each name, in order. A reference in the value of a macro may be expanded at any
        // time.
        let mut orders: FxHashMap<AttrName, Vec<usize>> = FxHashMap::default();
        for read in &self.read {
            orders.entry(strip_xform_prefix(&read.name)).or_default().push(read.order);
        }
        orders.values_mut().for_each(|orders| orders.sort_unstable());
        for all in by_name.values() {
            for (before, after) in all.iter().zip(all.iter().skip(1)) {
                let name = &before.name;
                let is_overwritten = before.replaces && after.replaces && before.order < after.order;
                let read = orders.get(&AttrName::from(&name[..])).is_some_and(|orders| {
                    let next = orders.partition_point(|&order| order < before.order);
                    orders.last() == Some(&usize::MAX)
                        || orders.get(next).is_some_and(|&order| order <= after.order)
                });
                if !is_overwritten || read || self.is_tested_with_defined(name) || name.contains(&b'$') {
                    continue;
                }
                let number = after.line.number;
                let message = format!(
                    "dead statement: {name} is given another value on line {number} before it is read"
                );
                findings.push(before.warning_here(
                    LintRule::Dead,
                    message,
                    "remove one of the two".to_owned(),
                ));
            }
        }
        findings
    }

    /// Finds names that nothing reads.
    fn find_unused(&self) -> Vec<TransformFinding> {
        let read: FxHashSet<AttrName> = self.read.iter().map(|read| strip_xform_prefix(&read.name)).collect();
        let may_be_intended = |name: &[u8]| {
            name.contains(&b'$') || name.contains(&b'.') || matches!(name.first(), Some(b'+' | b'-'))
        };
        let is_read = |name: &[u8]| self.is_tested_with_defined(name) || read.contains(&AttrName::from(name));
        let mut findings = Vec::new();
        for defined in &self.defined {
            let name = &defined.name;
            if may_be_intended(name)
                || is_read(name)
                || is_route_macro(name)
                || CommandKeyword::parse(name).is_some()
                || split_old_statement(name).is_some()
            {
                continue;
            }
            let message = format!("{name} is set and never read");
            let fix = match nearest(name, ROUTE_MACROS) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("remove it, or write 'SET {name} ...' if you want to set an attribute"),
            };
            findings.push(defined.warning_about_macro(LintRule::Unused, message, fix));
        }
        findings
    }
}

/// Returns a name without its optional `XFORM.` prefix.
fn strip_xform_prefix(name: &[u8]) -> AttrName {
    AttrName::from(if caseless::starts_with(name, b"XFORM.") { &name[6..] } else { name })
}

/// Returns true for names that need no definition.
fn is_predefined(name: &[u8]) -> bool {
    let built_in = ["IsLinux", "IsWindows", "Iterating", "IsClusterAd", "LateMaterialization"];
    let per_item = ["Step", "Row", "ItemIndex", "XFormId", "RulesFile", "DOLLAR"];
    let is = |list: &[&str]| list.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    is(&built_in) || is(&per_item) || is(&PLATFORM_NAMES) || caseless::starts_with(name, b"MY.")
}

/// Macros that the job router itself reads from a route.
const ROUTE_MACROS: [&str; 16] = [
    "GridResource",
    "MaxJobs",
    "MaxIdleJobs",
    "FailureRateThreshold",
    "JobFailureTest",
    "JobShouldBeSandboxed",
    "EditJobInPlace",
    "OverrideRoutingEntry",
    "UseSharedX509UserProxy",
    "SharedX509UserProxy",
    "TargetUniverse",
    "SendIDTokens",
    "Name",
    "Requirements",
    "Universe",
    "UserSchedd",
];

/// Returns true for macros that the job router itself reads from a route.
fn is_route_macro(name: &[u8]) -> bool {
    // A rules file may define whole transforms for -jobtransforms and -jobroute.
    const TRANSFORM_PREFIXES: [&[u8]; 2] = [b"JOB_TRANSFORM_", b"JOB_ROUTER_"];
    ROUTE_MACROS.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        || TRANSFORM_PREFIXES.iter().any(|prefix| caseless::starts_with(name, prefix))
}

/// Settings of a route that are macros and never attributes of the job.
const ROUTE_SETTINGS: [&str; 9] = [
    "MaxJobs",
    "MaxIdleJobs",
    "FailureRateThreshold",
    "JobFailureTest",
    "JobShouldBeSandboxed",
    "EditJobInPlace",
    "OverrideRoutingEntry",
    "UseSharedX509UserProxy",
    "SendIDTokens",
];

/// Returns the setting of a route that has this name or a similar one.
pub(super) fn route_setting(name: &[u8]) -> Option<&'static str> {
    nearest(name, ROUTE_SETTINGS)
}
