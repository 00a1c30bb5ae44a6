//! Clauses of Requirements and how many ads each of them matches, as `condor_q -better-analyze` prints them (reference:
//! expr_analyze.cpp). Wrong conclusions of the reference are part of its output, so they are reproduced.

mod constants;

use std::collections::BTreeSet;

use super::condor_q_analysis_options::{
    DETAIL_ALWAYS_UNPARSE, DETAIL_IF_THEN_ELSE, DETAIL_ONE_HEADING_LINE, DETAIL_SHOW_ALL,
    DETAIL_SMART_UNPARSE,
};
use super::condor_q_line_breaks::append_wrapped;
use crate::classad::{AttrName, ClassAd, Context, Expr, ExprKind};
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
enum ConstantValue {
    False,
    True,
    Open,
}

/// Number of matching ads, and number of matching ads that describe a drained slot.
type MatchCounts = [usize; 2];

/// Clause of an expression.
struct Clause {
    expr: Expr,
    logic: Option<Logic>,
    left: Option<usize>,
    right: Option<usize>,
    third: Option<usize>,
    /// Index of the clause that this one simplifies to, or `None` if it cannot be simplified.
    effective: Option<usize>,
    label: String,
    text: String,
    matches: MatchCounts,
    /// Value of the clause, or `None` if the clause refers to another ad.
    constant: Option<bool>,
    /// True if the value changes with the time.
    is_variable: bool,
    is_irrelevant: bool,
}

impl Clause {
    fn constant_value(&self) -> ConstantValue {
        match self.constant {
            None => ConstantValue::Open,
            Some(true) => ConstantValue::True,
            Some(false) => ConstantValue::False,
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

    /// Returns the label, which is stored when it is first needed.
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

impl Clause {
    /// True if a clause that joins others is printed with its expression.
    fn shows_expression(&self, number: usize, details: u32) -> bool {
        let follows_parts = number >= 2 && self.left == Some(number - 2) && self.right == Some(number - 1);
        self.logic.is_some()
            && (details & DETAIL_ALWAYS_UNPARSE != 0 || details & DETAIL_SMART_UNPARSE != 0 && !follows_parts)
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
    /// True if the node is a clause regardless of its kind.
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

    /// Adds the clauses of a node. Returns the number of the node's own clause, or `None` if it has none, and true if
    /// the value of the node changes with the time.
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
                        label: if modes.must_store { text.to_string() } else { "ifThenElse()".to_owned() },
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

/// Returns the parts of arithmetic, subscripts, lists and ads. `MY.A ?: literal` is not a clause of its own.
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
    /// One count, with the name of the counted ads.
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
    /// The slot ads; an ad with a parent describes the slot as drained.
    pub(super) ads: Vec<&'t ClassAd>,
    /// Columns of the counts.
    pub(super) columns: MatchColumns,
    /// Bits of detail.
    pub(super) details: u32,
    /// Width of lines.
    pub(super) width: usize,
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

    fn count_matches(&mut self, targets: &MatchTargets<'_>, world: &dyn World) {
        for at in 0..self.clauses.len() {
            let clause = &self.clauses[at];
            if clause.effective.is_some() || clause.is_irrelevant || clause.constant.is_some() {
                continue;
            }
            let parts = clause.left.zip(clause.right).zip(clause.logic);
            if let Some(((left, right), logic)) = parts {
                self.short_circuit(at, left, right, logic, targets);
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
                self.find_dominant(at, left, right, logic, targets.columns);
            }
        }
    }

    /// Prunes a clause if one of its parts alone decides its value.
    fn short_circuit(
        &mut self,
        at: usize,
        left: usize,
        right: usize,
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
        self.reduce(at, left, right, effective, false);
    }

    /// Prunes the part of a clause that refuses fewer ads than the other part.
    fn find_dominant(&mut self, at: usize, left: usize, right: usize, logic: Logic, columns: MatchColumns) {
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
        self.reduce(at, left, right, effective.map(|(part, ..)| part), true);
    }

    fn reduce(&mut self, at: usize, left: usize, right: usize, to: Option<usize>, clears: bool) {
        if let Some(to) = to {
            self.clauses[at].effective = Some(self.final_clause(to));
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
        let skipped = usize::from(targets.details & DETAIL_ONE_HEADING_LINE != 0);
        for line in targets.columns.heading().lines().skip(skipped) {
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
            let mut line = format!("{} {count}  {}", step_label(number, 3), clause.label()).into_bytes();
            if clause.constant.is_none() && clause.shows_expression(number, targets.details) {
                line.extend_from_slice(b" ( ");
                let mut text = Vec::new();
                append_wrapped(&clause.expr, &mut text, line.len(), targets.width);
                line.extend(text);
                line.extend_from_slice(b" )");
            }
            out.extend_from_slice(prefix.as_bytes());
            out.extend(line);
            out.push(b'\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::RealWorld;
    use bstr::ByteSlice;

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
        let targets =
            MatchTargets { ads: vec![&slot], columns: MatchColumns::Plain("Slot"), details: 0, width: 80 };
        let table = clauses.print_matches(&targets, &RealWorld::new());
        assert!(table.starts_with(b"        Slots\nStep   Matched  Condition\n----- --------- ---------\n"));
    }
}
