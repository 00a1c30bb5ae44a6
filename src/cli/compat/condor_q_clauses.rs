//! Clauses of Requirements and how many ads each of them matches, as `condor_q -better-analyze` prints them (reference:
//! expr_analyze.cpp). Its wrong conclusions are part of the output and reproduced.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use super::condor_q_analysis_options::{DETAIL_IF_THEN_ELSE, DETAIL_SHOW_ALL};
use crate::classad::references::{self, ReferenceSpelling};
use crate::classad::{AttrName, ClassAd, Context, Dialect, Expr, ExprKind};
use crate::cli::common::{ColumnFlags, ColumnSpec, PrintMask, Separators};
use crate::world::World;

/// Operator that joins clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logic {
    Not,
    Or,
    And,
    IfThenElse,
}

/// Value of a clause that refers to no other ad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HardValue {
    False,
    True,
    Open,
}

/// Number of matching ads: plain, and drained.
type MatchCounts = [usize; 2];

/// Clause of an expression.
struct Clause {
    expr: Expr,
    logic: Option<Logic>,
    left: Option<usize>,
    right: Option<usize>,
    third: Option<usize>,
    /// Clause to which this one reduces.
    effective: Option<usize>,
    label: String,
    text: String,
    matches: MatchCounts,
    /// Value if the clause refers to no other ad.
    constant: Option<bool>,
    /// True if the value changes with the time.
    is_variable: bool,
    is_irrelevant: bool,
}

impl Clause {
    fn hard_value(&self) -> HardValue {
        match self.constant {
            None => HardValue::Open,
            Some(true) => HardValue::True,
            Some(false) => HardValue::False,
        }
    }

    /// Returns the label of a clause that joins others.
    fn joined_label(&self) -> Option<String> {
        let number = |part: Option<usize>| part.map_or(-1, |part| part as i64);
        let (left, right, third) = (number(self.left), number(self.right), number(self.third));
        match self.logic? {
            Logic::Not => self.left.map(|left| format!(" ! [{left}]")),
            Logic::Or => Some(format!("[{left}] || [{right}]")),
            Logic::And => Some(format!("[{left}] && [{right}]")),
            Logic::IfThenElse => Some(format!("ifThenElse([{left}],[{right}],[{third}])")),
        }
    }

    /// Returns the label, and keeps it.
    fn label(&mut self) -> &str {
        if self.label.is_empty() {
            match self.joined_label() {
                Some(label) => self.label = label,
                None if self.text.is_empty() => return "empty",
                None => return &self.text,
            }
        }
        &self.label
    }
}

/// Clauses of an attribute of an ad.
pub(super) struct Clauses<'a> {
    ad: &'a ClassAd,
    clauses: Vec<Clause>,
    shows_if_then_else: bool,
}

/// Attributes whose values are analyzed in place of references to them.
pub(super) type InlineAttributes = BTreeSet<AttrName>;

/// Position in the tree of an expression.
#[derive(Clone, Copy)]
struct NodeModes<'i> {
    inline: Option<&'i InlineAttributes>,
    /// True if the node is a clause whatever it is.
    must_store: bool,
}

/// Parts of a node: its children and how they are joined.
#[derive(Default)]
struct NodeParts {
    children: [Option<Expr>; 3],
    logic: Option<Logic>,
    stores_children: bool,
    is_stored: bool,
    is_variable: bool,
    label: String,
    /// True if the children are analyzed with attributes inlined.
    ends_inlining: bool,
}

impl<'a> Clauses<'a> {
    /// Finds the clauses of an attribute (`AnalyzeThisSubExpr`).
    pub(super) fn find(
        ad: &'a ClassAd,
        attribute: &str,
        inline: &InlineAttributes,
        details: u32,
    ) -> Option<Self> {
        let expr = ad.get(attribute)?;
        let mut inline = inline.clone();
        inline.remove(&AttrName::from(attribute));
        let shows_if_then_else = details & DETAIL_IF_THEN_ELSE != 0;
        let mut clauses = Clauses { ad, clauses: Vec::new(), shows_if_then_else };
        clauses.walk(&expr, NodeModes { inline: Some(&inline), must_store: true });
        Some(clauses)
    }

    /// Adds the clauses of a node; returns the number of its own clause and whether it changes with the time.
    fn walk(&mut self, expr: &Expr, modes: NodeModes<'_>) -> (Option<usize>, bool) {
        let parts = self.parts_of(expr, modes);
        let inline = modes.inline.filter(|_| !parts.ends_inlining);
        let inner = NodeModes { inline, must_store: parts.stores_children };
        let mut numbers = [None; 3];
        let mut is_variable = parts.is_variable;
        for (number, child) in numbers.iter_mut().zip(&parts.children) {
            if let Some(child) = child {
                let (at, varies) = self.walk(child, inner);
                *number = at;
                is_variable |= varies;
            }
        }
        let [left, right, third] = numbers;
        let is_single =
            parts.children[0].is_some() && parts.children[1].is_none() && parts.children[2].is_none();
        let own = match (parts.is_stored, is_single, left) {
            (true, true, Some(left)) => {
                let is_last = left + 1 == self.clauses.len();
                if let (true, Some(Logic::Not), Some(clause)) =
                    (is_last, parts.logic, self.clauses.last_mut())
                {
                    clause.expr = expr.clone();
                    clause.logic = parts.logic;
                    if !clause.label.is_empty() {
                        clause.label.insert_str(0, "! ");
                    }
                }
                Some(left)
            }
            (true, ..) => {
                self.clauses.push(Clause {
                    expr: expr.clone(),
                    logic: parts.logic,
                    left,
                    right,
                    third,
                    effective: None,
                    label: parts.label,
                    text: String::new(),
                    matches: [0; 2],
                    constant: None,
                    is_variable,
                    is_irrelevant: false,
                });
                Some(self.clauses.len() - 1)
            }
            (false, true, left) => left,
            (false, false, _) => None,
        };
        (own, is_variable)
    }

    fn parts_of(&self, expr: &Expr, modes: NodeModes<'_>) -> NodeParts {
        let inner = expr.without_parentheses();
        let text = expr.unparse();
        let stored = NodeParts { is_stored: modes.must_store, ..NodeParts::default() };
        if inner.unparse() != text {
            return NodeParts {
                children: [Some(inner), None, None],
                stores_children: true,
                ..NodeParts::default()
            };
        }
        let two = |left, right| [Some(left), Some(right), None];
        match expr.kind() {
            ExprKind::Literal(_) => NodeParts { label: text.to_string(), ..stored },
            ExprKind::Reference => self.reference_parts(expr, modes, stored),
            ExprKind::Select(base, _) => NodeParts { children: [Some(base), None, None], ..stored },
            ExprKind::And(left, right) => NodeParts {
                children: two(left, right),
                logic: Some(Logic::And),
                stores_children: true,
                is_stored: true,
                ..stored
            },
            ExprKind::Or(left, right) => NodeParts {
                children: two(left, right),
                logic: Some(Logic::Or),
                stores_children: true,
                is_stored: true,
                ..stored
            },
            ExprKind::Not(operand) => NodeParts {
                children: [Some(operand), None, None],
                logic: Some(Logic::Not),
                stores_children: true,
                is_stored: true,
                ..stored
            },
            ExprKind::Compare(_, left, right) => {
                NodeParts { children: two(left, right), is_stored: true, ..stored }
            }
            ExprKind::Conditional(condition, first, second) => {
                let joined = bstr::concat([
                    condition.unparse().as_slice(),
                    b" ? ",
                    &first.unparse(),
                    b" : ",
                    &second.unparse(),
                ]);
                let children = [Some(condition), Some(first), Some(second)];
                if joined == text.as_slice() {
                    return NodeParts { children, ..stored };
                }
                if self.shows_if_then_else {
                    return NodeParts {
                        children,
                        logic: Some(Logic::IfThenElse),
                        stores_children: true,
                        is_stored: true,
                        label: "ifThenElse()".to_owned(),
                        ..stored
                    };
                }
                NodeParts { label: if modes.must_store { text.to_string() } else { String::new() }, ..stored }
            }
            ExprKind::Call(name, arguments) => NodeParts {
                is_variable: arguments.is_empty() && name.eq_ignore_ascii_case(b"time"),
                label: if modes.must_store { text.to_string() } else { String::new() },
                ..stored
            },
            ExprKind::Other(parts) => other_parts(expr, &text, parts, stored),
        }
    }

    fn reference_parts(&self, expr: &Expr, modes: NodeModes<'_>, stored: NodeParts) -> NodeParts {
        let Some(name) = expr.as_attribute() else { return stored };
        let is_variable = name.as_bytes().eq_ignore_ascii_case(b"CurrentTime");
        let inlined =
            modes.inline.filter(|inline| inline.contains(&name)).and_then(|_| self.ad.get(name.as_bytes()));
        NodeParts { children: [inlined, None, None], is_variable, ends_inlining: true, ..stored }
    }

    /// Appends one line per clause (`PrintNumberedExprTreeClauses`).
    pub(super) fn print_numbered(&self, out: &mut Vec<u8>) {
        for (number, clause) in self.clauses.iter().enumerate() {
            let text = clause.joined_label().unwrap_or_else(|| match clause.left {
                None => clause.expr.unparse().to_string(),
                Some(left) => format!("[{left}] {}", clause.expr.unparse()),
            });
            out.extend_from_slice(format!("    {} : {text}\n", step_label(number, 4)).as_bytes());
        }
    }
}

/// Parts of arithmetic, subscripts, lists and ads. `MY.A ?: literal` is not a clause of its own.
fn other_parts(expr: &Expr, text: &[u8], parts: Vec<Expr>, stored: NodeParts) -> NodeParts {
    if expr.as_list().is_some() || text.starts_with(b"[") {
        return stored;
    }
    let mut parts = parts.into_iter();
    NodeParts { children: [parts.next(), parts.next(), parts.next()], ..stored }
}

fn step_label(number: usize, width: usize) -> String {
    let mut label = format!("[{number}]      ");
    label.truncate(width + 2);
    label
}

/// Columns of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchColumns {
    /// One count; what is counted.
    Plain(&'static str),
    /// Counts of slots, and of slots if they were drained.
    Drained,
}

impl MatchColumns {
    fn heading(self) -> String {
        match self {
            MatchColumns::Plain(what) => format!("       {what:>5}s\nStep   Matched  Condition\n----- --------- ---------\n"),
            MatchColumns::Drained => "         Slots      If    \nStep   Matched   Drained  Condition\n----- --------- --------- ---------\n"
                .to_owned(),
        }
    }

    fn count(self, matches: MatchCounts) -> usize {
        match self {
            MatchColumns::Plain(_) => matches[0],
            MatchColumns::Drained => matches[0] + matches[1],
        }
    }

    fn print(self, matches: MatchCounts) -> String {
        match self {
            MatchColumns::Plain(_) => format!("{:9}", matches[0]),
            MatchColumns::Drained => format!("{:9} {:9}", matches[0], matches[1]),
        }
    }
}

/// Ads that clauses are evaluated against.
pub(super) struct MatchTargets<'t> {
    /// The ads; those with a parent are drained.
    pub(super) ads: Vec<&'t ClassAd>,
    /// Columns of the counts.
    pub(super) columns: MatchColumns,
    /// Bits of detail.
    pub(super) details: u32,
}

impl Clauses<'_> {
    /// Counts the matches of each clause and returns the table of those that matter (`AnalyzeRequirementsForEachTarget`).
    pub(super) fn print_matches(mut self, targets: &MatchTargets<'_>, world: &dyn World) -> Vec<u8> {
        self.find_constants(world);
        self.propagate_constants();
        self.propagate_effective();
        self.count_matches(targets, world);
        self.print_table(targets)
    }

    fn find_constants(&mut self, world: &dyn World) {
        for clause in &mut self.clauses {
            let text = clause.expr.unparse();
            let context = Context::new(world).my(self.ad);
            let parsed = Expr::parse_with(&text, Dialect::old_syntax());
            let names =
                parsed.ok().and_then(|expr| references::external(&expr, context, ReferenceSpelling::Full));
            clause.text = text.to_string();
            if names.is_none_or(|names| names.is_empty()) {
                clause.constant = Some(context.eval(&clause.expr).truth() == Some(true));
            }
        }
    }

    /// Follows constant values upward (`AnalyzePropagateConstants`).
    fn propagate_constants(&mut self) {
        for at in 0..self.clauses.len() {
            let Some(logic) = self.clauses[at].logic else { continue };
            let part = |number: Option<usize>| match number.map(|number| &self.clauses[number]) {
                Some(part) if part.constant.is_some() => (part.hard_value(), part.is_variable),
                _ => (HardValue::Open, false),
            };
            let clause = &self.clauses[at];
            let (left, right, third) = (clause.left, clause.right, clause.third);
            let values = [part(left), part(right), part(third)];
            let outcome = match logic {
                Logic::Not => PropagationResult::default(),
                Logic::Or => propagate_or(&values, left, right),
                Logic::And => propagate_and(&values, left, right),
                Logic::IfThenElse => self.propagate_conditional(&values, right, third),
            };
            let label = propagation_label(logic, [left, right, third], &values);
            let clause = &mut self.clauses[at];
            if logic == Logic::Not {
                if clause.label.is_empty() && clause.left.is_some() {
                    clause.label = label;
                }
                continue;
            }
            clause.label = label;
            if let Some((value, is_variable)) = outcome.constant {
                (clause.constant, clause.is_variable) = (Some(value), is_variable);
            }
            self.apply(at, outcome);
        }
    }

    fn propagate_conditional(
        &self,
        values: &[(HardValue, bool); 3],
        right: Option<usize>,
        third: Option<usize>,
    ) -> PropagationResult {
        let (condition, is_soft) = values[0];
        let (taken, other) = match condition {
            HardValue::Open => return PropagationResult::default(),
            HardValue::True => (right, third),
            HardValue::False => (third, right),
        };
        let constant = taken.and_then(|taken| self.clauses[taken].constant);
        PropagationResult {
            constant: constant.map(|value| (value, is_soft)),
            effective: taken,
            irrelevant: other,
            is_soft,
        }
    }

    fn apply(&mut self, at: usize, outcome: PropagationResult) {
        let (mut irrelevant, mut is_soft) = (outcome.irrelevant, outcome.is_soft);
        if let Some(effective) = outcome.effective {
            if irrelevant.is_none() {
                if self.clauses[at].left == Some(effective) {
                    irrelevant = self.clauses[at].right;
                }
                if self.clauses[at].right == Some(effective) {
                    irrelevant = self.clauses[at].left;
                }
                is_soft |= self.clauses[at].is_variable;
            }
            self.clauses[at].effective = Some(self.follow(effective));
        }
        if let (Some(irrelevant), false) = (irrelevant, is_soft) {
            self.mark_irrelevant(irrelevant);
        }
    }

    /// Returns the clause to which another one reduces in the end.
    fn follow(&self, mut at: usize) -> usize {
        while let Some(next) = self.clauses[at].effective {
            at = next;
        }
        at
    }

    fn mark_irrelevant(&mut self, at: usize) {
        self.clauses[at].is_irrelevant = true;
        let clause = &self.clauses[at];
        for part in [clause.left, clause.right, clause.third].into_iter().flatten() {
            self.mark_irrelevant(part);
        }
    }

    fn propagate_effective(&mut self) {
        for at in 0..self.clauses.len() {
            let of = |part: Option<usize>| part.and_then(|part| self.clauses[part].effective);
            let clause = &self.clauses[at];
            let [left, right, third] = [clause.left, clause.right, clause.third].map(of);
            let clause = &mut self.clauses[at];
            if left.is_some() || right.is_some() || third.is_some() {
                clause.left = left.or(clause.left);
                clause.right = right.or(clause.right);
                clause.third = third.or(clause.third);
                clause.label.clear();
            }
        }
    }

    fn count_matches(&mut self, targets: &MatchTargets<'_>, world: &dyn World) {
        for at in 0..self.clauses.len() {
            let clause = &self.clauses[at];
            if clause.effective.is_some() || clause.is_irrelevant || clause.constant.is_some() {
                continue;
            }
            let parts = clause.left.zip(clause.right).zip(clause.logic);
            if let Some(((left, right), logic)) = parts {
                self.short_circuit(at, (left, right), logic, targets);
            }
            let expr = self.clauses[at].expr.clone();
            let mut matches = [0; 2];
            for target in &targets.ads {
                let context = Context::new(world).my(self.ad).target(target);
                if context.eval(&expr).truth() == Some(true) {
                    let is_drained = targets.columns == MatchColumns::Drained && target.parent().is_some();
                    matches[usize::from(is_drained)] += 1;
                }
            }
            self.clauses[at].matches = matches;
            if let Some(((left, right), logic)) = parts {
                self.find_dominant(at, (left, right), logic, targets.columns);
            }
        }
    }

    /// Prunes a clause of which one part decides alone.
    fn short_circuit(
        &mut self,
        at: usize,
        (left, right): (usize, usize),
        logic: Logic,
        targets: &MatchTargets<'_>,
    ) {
        let count = |part: usize| targets.columns.count(self.clauses[part].matches);
        let (of_left, of_right, all) = (count(left), count(right), targets.ads.len());
        let (effective, pruned) = match logic {
            Logic::And if of_left == 0 => (Some(left), None),
            Logic::And if of_right == 0 => (Some(right), None),
            Logic::Or if of_left == all => (Some(left), Some(right)),
            Logic::Or if of_right == all => (Some(right), Some(left)),
            Logic::Or if of_left == 0 && of_right != 0 => (Some(right), Some(left)),
            Logic::Or if of_left != 0 && of_right == 0 => (Some(left), Some(right)),
            _ => (None, None),
        };
        if let Some(pruned) = pruned {
            self.mark_irrelevant(pruned);
        }
        self.reduce(at, (left, right), effective, false);
    }

    /// Prunes the part of a clause that refuses less than the other.
    fn find_dominant(
        &mut self,
        at: usize,
        (left, right): (usize, usize),
        logic: Logic,
        columns: MatchColumns,
    ) {
        let count = |part: usize| columns.count(self.clauses[part].matches);
        let (of_left, of_right, own) = (count(left), count(right), count(at));
        let effective = match logic {
            Logic::And if of_left == own => Some((left, right, of_right)),
            Logic::And if of_right == own => Some((right, left, of_left)),
            _ => None,
        };
        if let Some((_, other, of_other)) = effective
            && of_other > own
        {
            self.clauses[other].is_irrelevant = true;
        }
        self.reduce(at, (left, right), effective.map(|(part, ..)| part), true);
    }

    fn reduce(&mut self, at: usize, (left, right): (usize, usize), to: Option<usize>, clears: bool) {
        if let Some(to) = to {
            self.clauses[at].effective = Some(self.follow(to));
            if clears {
                self.clauses[at].label.clear();
            }
            return;
        }
        let (of_left, of_right) = (self.clauses[left].effective, self.clauses[right].effective);
        let clause = &mut self.clauses[at];
        if let Some(of_left) = of_left {
            clause.left = Some(of_left);
            clause.label.clear();
        }
        if let Some(of_right) = of_right {
            clause.right = Some(of_right);
            clause.label.clear();
        }
    }

    fn print_table(&mut self, targets: &MatchTargets<'_>) -> Vec<u8> {
        let shows_all = targets.details & DETAIL_SHOW_ALL != 0;
        let mut out = Vec::new();
        for line in targets.columns.heading().lines() {
            let indent = if shows_all { "   " } else { "" };
            out.extend_from_slice(format!("{indent}{line}\n").as_bytes());
        }
        for (number, clause) in self.clauses.iter_mut().enumerate() {
            let is_skipped = clause.effective.is_some() || clause.is_irrelevant;
            if is_skipped && !shows_all {
                continue;
            }
            let prefix = match (shows_all, is_skipped) {
                (false, _) => "",
                (true, true) => "   ",
                (true, false) => " * ",
            };
            let count = match (clause.constant, clause.is_variable) {
                (Some(true), false) => format!("{:>9}", "always"),
                (Some(false), false) => format!("{:>9}", "never"),
                (Some(true), true) => format!("{:>9}", "now"),
                (Some(false), true) => format!("{:>9}", "not now"),
                (None, _) => targets.columns.print(clause.matches),
            };
            let step = step_label(number, 3);
            let label = clause.label();
            out.extend_from_slice(format!("{prefix}{step} {count}  {label}\n").as_bytes());
        }
        out
    }
}

/// Result of constant parts for the clause that joins them.
#[derive(Default)]
struct PropagationResult {
    constant: Option<(bool, bool)>,
    effective: Option<usize>,
    irrelevant: Option<usize>,
    is_soft: bool,
}

fn propagate_or(
    values: &[(HardValue, bool); 3],
    left: Option<usize>,
    right: Option<usize>,
) -> PropagationResult {
    let [(of_left, soft_left), (of_right, soft_right), _] = *values;
    let is_set = |value: HardValue| value != HardValue::False;
    match (of_left, of_right) {
        (HardValue::True, _) => PropagationResult {
            constant: Some((true, soft_left && soft_right)),
            effective: left,
            irrelevant: right,
            is_soft: soft_left && (is_set(of_right) || soft_right),
        },
        (_, HardValue::True) => PropagationResult {
            constant: Some((true, soft_left && soft_right)),
            effective: right,
            irrelevant: left,
            is_soft: soft_right && (is_set(of_left) || soft_left),
        },
        (HardValue::False, HardValue::False) => PropagationResult {
            constant: Some((false, soft_left || soft_right)),
            ..PropagationResult::default()
        },
        (HardValue::False, _) => {
            PropagationResult { constant: None, effective: right, irrelevant: left, is_soft: soft_left }
        }
        (_, HardValue::False) => {
            PropagationResult { constant: None, effective: left, irrelevant: right, is_soft: soft_right }
        }
        _ => PropagationResult::default(),
    }
}

fn propagate_and(
    values: &[(HardValue, bool); 3],
    left: Option<usize>,
    right: Option<usize>,
) -> PropagationResult {
    let [(of_left, soft_left), (of_right, soft_right), _] = *values;
    let either = soft_left || soft_right;
    match (of_left, of_right) {
        (HardValue::False, _) => PropagationResult {
            constant: Some((false, either)),
            effective: left,
            irrelevant: right,
            is_soft: soft_left,
        },
        (_, HardValue::False) => PropagationResult {
            constant: Some((false, either)),
            effective: right,
            irrelevant: left,
            is_soft: soft_right,
        },
        (HardValue::True, HardValue::True) => {
            PropagationResult { constant: Some((true, either)), ..PropagationResult::default() }
        }
        (HardValue::True, _) => PropagationResult { effective: right, ..PropagationResult::default() },
        (_, HardValue::True) => PropagationResult { effective: left, ..PropagationResult::default() },
        _ => PropagationResult::default(),
    }
}

fn propagation_label(logic: Logic, parts: [Option<usize>; 3], values: &[(HardValue, bool); 3]) -> String {
    let part = |at: usize| {
        let number = parts[at].map_or(-1, |number| number as i64);
        let letter = match values[at] {
            (HardValue::False, false) => "F",
            (HardValue::True, false) => "T",
            (HardValue::Open, false) => "",
            (HardValue::False, true) => "f",
            (HardValue::True, true) => "t",
            (HardValue::Open, true) => "s",
        };
        format!("[{number}]{letter}")
    };
    match logic {
        Logic::Not => format!(" ! {}", part(0)),
        Logic::Or => format!("{} || {}", part(0), part(1)),
        Logic::And => format!("{} && {}", part(0), part(1)),
        Logic::IfThenElse => format!("ifThenElse({}, {}, {})", part(0), part(1), part(2)),
    }
}

/// Appends an expression and breaks all of the text after `&&` and `||` where it is wider than a width
/// (`PrettyPrintExprTree`).
pub(super) fn append_wrapped(expr: &Expr, out: &mut Vec<u8>, indent: usize, width: usize) {
    out.extend_from_slice(&expr.unparse());
    let mut indent = indent as i64;
    let mut indent_at_break = indent;
    let (mut at, mut last_break, mut line_start) = (0, 0, 0);
    let mut position = indent;
    let mut was_operator = false;
    let mut previous = 0;
    while at < out.len() {
        let byte = out[at];
        let is_operator = matches!(byte, b'&' | b'|') && previous == byte;
        match byte {
            _ if is_operator => {}
            b'(' => indent += 2,
            b')' => indent -= 2,
            _ => {}
        }
        if position >= width as i64 && last_break != line_start {
            out[last_break] = b'\n';
            line_start = last_break + 1;
            last_break = line_start;
            position = 0;
            if let Ok(blanks @ 1..) = usize::try_from(indent_at_break) {
                out.splice(line_start..line_start, std::iter::repeat_n(b' ', blanks));
                at += blanks;
                position = (at - line_start) as i64;
            }
            indent_at_break = indent;
        }
        if was_operator {
            last_break = at;
            indent_at_break = indent;
        }
        previous = byte;
        at += 1;
        position += 1;
        was_operator = is_operator;
    }
}

/// Returns the attributes of other ads that an expression reads, without their scope (`TrimReferenceNames`).
fn external_names(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Option<BTreeSet<AttrName>> {
    let names = references::external(expr, Context::new(world).my(ad), ReferenceSpelling::Full)?;
    let trim = |name: &AttrName| {
        let text = name.as_bytes();
        let scopes: [&[u8]; 5] = [b"target.", b"other.", b".left.", b".right.", b"."];
        let scope = scopes
            .into_iter()
            .find(|scope| text.get(..scope.len()).is_some_and(|start| start.eq_ignore_ascii_case(scope)));
        let rest = &text[scope.map_or(0, <[u8]>::len)..];
        AttrName::from(&rest[..rest.find_byteset(b".[").unwrap_or(rest.len())])
    };
    Some(names.iter().map(trim).collect())
}

fn internal_names(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Option<BTreeSet<AttrName>> {
    let names = references::internal(expr, Context::new(world).my(ad))?;
    let trim = |name: &AttrName| {
        let text = name.as_bytes();
        let rest = text.strip_prefix(b".").unwrap_or(text);
        AttrName::from(&rest[..rest.find_byteset(b".[").unwrap_or(rest.len())])
    };
    Some(names.iter().map(trim).collect())
}

/// Writes lines of attributes.
struct AttributeLines {
    mask: PrintMask,
}

impl AttributeLines {
    fn new() -> Self {
        let mut mask = PrintMask::default();
        mask.separators =
            Separators { suffix: b"\n".to_vec(), row_suffix: b"\n".to_vec(), ..Separators::default() };
        AttributeLines { mask }
    }

    fn add(&mut self, label: &str, name: &[u8]) {
        let flags = ColumnFlags::default();
        let spec = ColumnSpec { expr: name, format: Some(label.as_bytes()), flags, ..ColumnSpec::default() };
        // A name that is not an expression prints nothing but the label.
        let _ = self.mask.add_column(&spec);
    }

    /// Appends the lines; false if there is none.
    fn print(mut self, context: &Context<'_>, ad: &ClassAd, world: &dyn World, out: &mut Vec<u8>) -> bool {
        if self.mask.is_empty() {
            return false;
        }
        let row = self.mask.render(ad, context);
        self.mask.display(&row, world, out);
        true
    }
}

/// Appends the ad's own attributes that an attribute reads, and returns the names it reads in other ads
/// (`AddReferencedAttribsToBuffer`).
pub(super) fn append_own_attributes(
    ad: &ClassAd,
    attribute: &str,
    hidden: &InlineAttributes,
    is_raw: bool,
    world: &dyn World,
    out: &mut Vec<u8>,
) -> BTreeSet<AttrName> {
    let expr = Expr::attribute(attribute.as_bytes());
    let (Some(mut others), Some(own)) = (external_names(&expr, ad, world), internal_names(&expr, ad, world))
    else {
        return BTreeSet::new();
    };
    if own.is_empty() && others.is_empty() {
        return others;
    }
    if others.contains(&AttrName::from("AvailableGPUs")) {
        others.insert(AttrName::from("GPUs"));
    }
    let mut lines = AttributeLines::new();
    for name in own.iter().filter(|name| !hidden.contains(*name)) {
        let unit = match name.as_bytes() {
            b"RequestDisk" => " (kb)",
            b"RequestMemory" => " (mb)",
            _ => "",
        };
        let letter = if is_raw { 'r' } else { 'V' };
        lines.add(&format!("    {name} = %{letter}{unit}"), name.as_bytes());
    }
    lines.print(&Context::new(world).my(ad), ad, world, out);
    others
}

/// Appends the attributes of the other ad; returns its name, or `None` if there is none (`AddTargetAttribsToBuffer`).
pub(super) fn append_target_attributes(
    names: &BTreeSet<AttrName>,
    ad: &ClassAd,
    target: &ClassAd,
    world: &dyn World,
    out: &mut Vec<u8>,
) -> Option<BString> {
    let mut lines = AttributeLines::new();
    for name in names {
        let Some(expr) = target.get(name.as_bytes()) else { continue };
        let unit = match name.as_bytes() {
            b"Disk" => " (kb)",
            b"Memory" => " (mb)",
            _ => "",
        };
        lines.add(&format!("    TARGET.{name} = %V{unit}"), name.as_bytes());
        let items = expr.as_list().unwrap_or_default();
        for item in items.iter().filter_map(Expr::as_attribute) {
            if target.contains(item.as_bytes()) {
                lines.add(&format!("       {item} = %V"), item.as_bytes());
            }
        }
    }
    if !lines.print(&Context::new(world).my(ad).target(target), ad, world, out) {
        return None;
    }
    let context = Context::new(world).my(target);
    Some(context.string("Name").unwrap_or_else(|| match context.int("ClusterId") {
        Some(cluster) => {
            format!("Job {}.{}", cluster as i32, context.int("ProcId").unwrap_or(0) as i32).into()
        }
        None => "Target".into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::RealWorld;

    #[test]
    fn a_long_condition_is_broken_after_its_operators() {
        let expr = Expr::parse(b"Aaaa == 1 && (Bbbb == 2 || Cccc == 3) && Dddd == 4").unwrap();
        let mut text = b"x ".to_vec();
        append_wrapped(&expr, &mut text, 4, 24);
        assert_eq!(
            text.to_str_lossy(),
            "x Aaaa == 1 &&\n    (Bbbb == 2 ||\n      Cccc == 3) &&\n    Dddd == 4"
        );
    }

    #[test]
    fn clauses_are_numbered_in_the_order_of_evaluation() {
        let mut ad = ClassAd::new();
        ad.insert_line(b"Requirements = (A == 1) && !(B || C) && D").unwrap();
        let clauses = Clauses::find(&ad, "Requirements", &InlineAttributes::new(), 0).unwrap();
        let mut text = Vec::new();
        clauses.print_numbered(&mut text);
        assert!(
            text.to_str_lossy().starts_with("    [0]    : A == 1\n    [1]    : B\n    [2]    : C\n"),
            "{}",
            text.to_str_lossy()
        );
        let slot = ClassAd::new();
        let targets = MatchTargets { ads: vec![&slot], columns: MatchColumns::Plain("Slot"), details: 0 };
        let table = clauses.print_matches(&targets, &RealWorld::new());
        assert!(table.starts_with(b"        Slots\nStep   Matched  Condition\n----- --------- ---------\n"));
    }
}
