//! Devices, such as GPUs, that a job's own condition on them (RequireGPUs) excludes.

use htc_classad::{AttrName, ClassAd, Context, Expr, ExprKind, Value, explain};

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::clauses::Reference;
use super::comparison_boundary::{boundary, mirrored};
use super::seen_values::{SeenValues, expr_text};

/// Maximum number of different devices that are considered.
const MAX_DEVICES: usize = 64;

/// Prefix of a job's conditions on devices.
const REQUIRE: &str = "Require";

/// Condition of a job on devices of one kind, with the devices of some slots.
pub(super) struct DeviceDemand {
    /// Attribute of the job that has the condition, such as RequireGPUs.
    pub(super) name: AttrName,
    /// The clauses of the condition.
    clauses: Vec<Expr>,
    devices: Vec<ClassAd>,
}

/// Comparison of an attribute of devices with a literal.
struct DeviceComparison {
    attribute: AttrName,
    operator: &'static str,
    literal: Value,
}

impl DeviceComparison {
    fn parse(clause: &Expr) -> Option<Self> {
        let ExprKind::Compare(operator, left, right) = clause.kind() else { return None };
        let (name, operator, literal) = match (left.as_literal(), right.as_literal()) {
            (None, Some(literal)) => (left, operator, literal),
            (Some(literal), None) => (right, mirrored(operator), literal),
            _ => return None,
        };
        Some(DeviceComparison { attribute: Reference::parse(&name)?.name, operator, literal })
    }
}

impl DeviceDemand {
    /// Collects the devices of slots to which a job's condition applies; `name` is the attribute of the job that has the
    /// condition. Returns `None` if there are no devices or no condition.
    pub(super) fn collect(
        analysis: &Analysis<'_>,
        job: usize,
        slots: &BitSet,
        name: &AttrName,
    ) -> Option<Self> {
        let kind = name.as_bytes().get(REQUIRE.len()..)?;
        let condition = analysis.jobs[job].plain.get(name)?;
        let available = Expr::attribute([b"Available", kind].concat());
        let mut devices: Vec<ClassAd> = Vec::new();
        for group in slots.iter() {
            let context = Context::new(analysis.slots.world());
            let context = context.my(analysis.slots.ad(analysis.representatives[group]));
            let Value::List(list) = context.eval(&available) else { continue };
            for device in list.iter() {
                let Value::Ad(device) = context.eval(device) else { continue };
                if devices.len() < MAX_DEVICES && !devices.contains(&device) {
                    devices.push((*device).clone());
                }
            }
        }
        let clauses = explain::conjuncts(&condition);
        (!devices.is_empty()).then_some(DeviceDemand { name: name.clone(), clauses, devices })
    }

    /// Returns the attribute with a condition on devices that a clause counts by `countMatches()`, or `None`.
    pub(super) fn find_name(clause: &Expr) -> Option<AttrName> {
        if let ExprKind::Call(function, arguments) = clause.kind()
            && function.eq_ignore_ascii_case(b"countMatches")
        {
            let name = Reference::parse(arguments.first()?)?.name;
            let start = name.as_bytes().get(..REQUIRE.len())?;
            return start.eq_ignore_ascii_case(REQUIRE.as_bytes()).then_some(name);
        }
        clause.parts().iter().find_map(DeviceDemand::find_name)
    }

    /// Returns the clauses that are true for no device.
    fn unmet(&self, analysis: &Analysis<'_>) -> Vec<usize> {
        let is_met = |clause: &Expr| {
            let holds = |device: &ClassAd| Context::new(analysis.slots.world()).my(device).holds(clause);
            self.devices.iter().any(holds)
        };
        (0..self.clauses.len()).filter(|at| !is_met(&self.clauses[*at])).collect()
    }

    /// Returns what the devices lack: "no GPU has Capability >= 8.0, they have 7.5".
    pub(super) fn phrase(&self, analysis: &Analysis<'_>) -> String {
        let kind = String::from_utf8_lossy(&self.name.as_bytes()[REQUIRE.len()..]).into_owned();
        let device = kind.strip_suffix('s').unwrap_or(&kind);
        let unmet = self.unmet(analysis);
        if unmet.is_empty() {
            return format!("too few {kind} of one slot meet {}", self.name);
        }
        let phrase = |at: &usize| {
            let clause = &self.clauses[*at];
            match DeviceComparison::parse(clause) {
                Some(DeviceComparison { attribute, .. }) => {
                    let mut values = SeenValues::default();
                    for device in &self.devices {
                        let context = Context::new(analysis.slots.world()).my(device);
                        values.add(&context.eval(&Expr::attribute(&attribute)), 1);
                    }
                    format!("no {device} has {}, they have {}", expr_text(clause), values.text())
                }
                None => format!("no {device} has {}", expr_text(clause)),
            }
        };
        unmet.iter().map(phrase).collect::<Vec<_>>().join("; ")
    }

    /// Returns conditions in place of the job's that may be true for some of the devices.
    pub(super) fn weaker_conditions(&self, analysis: &Analysis<'_>) -> Vec<Expr> {
        let unmet = self.unmet(analysis);
        let mut found = Vec::new();
        for wants_largest in [true, false] {
            let mut clauses = self.clauses.clone();
            for &at in &unmet {
                if let Some(clause) = self.weaker_clause(&clauses[at], wants_largest, analysis) {
                    clauses[at] = clause;
                }
            }
            let joined = clauses.iter().map(expr_source).collect::<Vec<_>>().join(" && ");
            found.extend(Expr::parse(joined.as_bytes()).ok().filter(|expr| !found.contains(expr)));
        }
        found
    }

    /// Returns a comparison with the largest or smallest value of the devices for which it is true.
    fn weaker_clause(&self, clause: &Expr, wants_largest: bool, analysis: &Analysis<'_>) -> Option<Expr> {
        let DeviceComparison { attribute, operator, literal } = DeviceComparison::parse(clause)?;
        let value = |device: &ClassAd| {
            let value = Context::new(analysis.slots.world()).my(device).eval(&Expr::attribute(&attribute));
            (!value.is_undefined() && !value.is_error()).then_some(value)
        };
        let mut values: Vec<Value> = self.devices.iter().filter_map(value).collect();
        values.sort_by(|one, other| {
            one.as_real().unwrap_or_default().total_cmp(&other.as_real().unwrap_or_default())
        });
        let value = if wants_largest { values.last() } else { values.first() };
        // `value OPERATOR literal` is true up to the boundary of the mirrored comparison.
        let is_whole = matches!(literal, Value::Int(_));
        let value = boundary(mirrored(operator), value?, is_whole)?;
        let text = format!("{attribute} {operator} {}", Expr::literal(value).unparse());
        Expr::parse(text.as_bytes()).ok()
    }
}

/// Returns the text of an operand of `&&`.
fn expr_source(expr: &Expr) -> String {
    let expr = expr.without_parentheses();
    match expr.kind() {
        ExprKind::Or(..) | ExprKind::Conditional(..) | ExprKind::Other(_) => format!("({})", expr.unparse()),
        _ => expr.unparse().to_string(),
    }
}
