//! Comparisons that fail only because they distinguish upper and lower case.

use htc_classad::{Context, Expr, ExprKind, Value};

use super::clauses::replace_part;

/// Maximum depth to which an expression is searched.
const MAX_DEPTH: usize = 8;

/// Returns a hint that an expression is not true only because a comparison distinguishes upper and lower case, or
/// `None`.
pub fn letter_case_hint(context: &Context<'_>, expr: &Expr) -> Option<String> {
    CaseSensitivePart::find(context, expr).map(|part| part.describe(context))
}

/// Comparison that distinguishes upper and lower case, with the one that does not.
pub(super) struct CaseSensitivePart {
    /// The comparison that distinguishes them.
    part: Expr,
    /// The same comparison without regard to case.
    caseless: Expr,
    /// Name of the operator or function, and of the one that ignores case.
    names: [&'static str; 2],
}

impl CaseSensitivePart {
    /// Returns the first comparison in an expression whose value is different without regard to case.
    pub(super) fn find(context: &Context<'_>, expr: &Expr) -> Option<Self> {
        CaseSensitivePart::find_within(context, expr, MAX_DEPTH)
    }

    fn find_within(context: &Context<'_>, expr: &Expr, depth: usize) -> Option<Self> {
        let found_part = CaseSensitivePart::parse(expr).filter(|found| found.is_decided_by_case(context));
        if found_part.is_some() || depth == 0 {
            return found_part;
        }
        expr.parts().iter().find_map(|part| CaseSensitivePart::find_within(context, part, depth - 1))
    }

    fn parse(expr: &Expr) -> Option<Self> {
        let (text, names) = match expr.kind() {
            ExprKind::Compare(operator @ ("=?=" | "=!="), left, right) => {
                let caseless = if operator == "=?=" { "==" } else { "!=" };
                (format!("{} {caseless} {}", left.unparse(), right.unparse()), [operator, caseless])
            }
            ExprKind::Call(function, arguments) => {
                let texts: Vec<String> = arguments.iter().map(|it| it.unparse().to_string()).collect();
                let is_function = |name: &str| function.eq_ignore_ascii_case(name.as_bytes());
                if is_function("stringListMember") {
                    (
                        format!("stringListIMember({})", texts.join(", ")),
                        ["stringListMember()", "stringListIMember()"],
                    )
                } else if is_function("regexp") && texts.len() == 2 {
                    (format!("regexp({}, \"i\")", texts.join(", ")), ["regexp()", "regexp(..., \"i\")"])
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        let caseless = Expr::parse(text.as_bytes()).ok()?;
        Some(CaseSensitivePart { part: expr.without_parentheses(), caseless, names })
    }

    /// True if both values are booleans that differ. `=?=` and `==` also differ for undefined values and for numbers of
    /// different types, which have nothing to do with case.
    fn is_decided_by_case(&self, context: &Context<'_>) -> bool {
        if let ExprKind::Compare(_, left, right) = self.part.kind() {
            let are_texts = [left, right].iter().all(|it| matches!(context.eval(it), Value::Str(_)));
            if !are_texts {
                return false;
            }
        }
        match (context.eval(&self.part), context.eval(&self.caseless)) {
            (Value::Bool(one), Value::Bool(other)) => one != other,
            _ => false,
        }
    }

    /// Returns what is wrong: "=?= compares case-sensitively; == would be true".
    pub(super) fn describe(&self, context: &Context<'_>) -> String {
        let [name, caseless] = self.names;
        let value = context.eval(&self.caseless).truth() == Some(true);
        format!("{name} compares case-sensitively; {caseless} would be {value}")
    }

    /// Returns a clause with the comparison that ignores case in place of this one.
    pub(super) fn correct(&self, clause: &Expr) -> Option<Expr> {
        replace_part(clause, &self.part, &self.caseless)
    }
}
