//! Points in time and durations that are confused: `QDate > 3600` for `time() - QDate > 3600`.

use htc_base::world::World;
use htc_classad::{Expr, ExprKind};
use htc_config::lint_rule::LintRule;

use super::attribute_facts::{AttributeUnit, find_facts};
use super::comparison_problem::ComparisonProblem;
use super::constants::constant_number;
use super::expression_parts::{reference_name, shorten};

/// Kind of a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeKind {
    /// The current time.
    Now,
    /// Point in the past.
    Past,
    /// Point in time that may be in the future.
    Point,
    /// Time since a point in the past.
    Age,
    /// The negative of an age.
    NegativeAge,
    /// Other duration.
    Duration,
}

impl TimeKind {
    fn is_point(self) -> bool {
        matches!(self, TimeKind::Now | TimeKind::Past | TimeKind::Point)
    }
}

/// Number of seconds since 1970 below which a number is a duration, not a point in time: in March 1973.
const FIRST_POINT: f64 = 1e8;

/// Reports comparisons of a point in time with a duration, and of a negative age with a positive number.
pub(super) fn check_time_kinds(
    comparisons: &[Expr],
    world: &dyn World,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Vec<ComparisonProblem> {
    comparisons.iter().filter_map(|whole| check_comparison(whole, world, is_site)).collect()
}

fn check_comparison(
    whole: &Expr,
    world: &dyn World,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Option<ComparisonProblem> {
    let ExprKind::Compare(operator, left, right) = whole.kind() else { return None };
    if !matches!(operator, "<" | "<=" | ">" | ">=") {
        return None;
    }
    let kind = |expr: &Expr| time_kind(expr, is_site, 0);
    let (part, found, number, is_above) = match (kind(&left), kind(&right)) {
        (Some(found), None) => (&left, found, constant_number(&right, world)?, operator.starts_with('>')),
        (None, Some(found)) => (&right, found, constant_number(&left, world)?, operator.starts_with('<')),
        _ => return None,
    };
    let shown = shorten(part);
    let (message, fix) = match found {
        // A comparison with 0 or 1 tests whether the time is set.
        found if found.is_point() && number > 1.0 && number < FIRST_POINT => {
            let message = format!(
                "{shown} is a time in seconds since 1970, not a duration: `{}` is always {is_above}",
                shorten(whole)
            );
            let fix = match found {
                TimeKind::Past => Some(format!("write time() - {shown} for the time since then")),
                TimeKind::Point => Some(format!("write {shown} - time() for the time until then")),
                _ => None,
            };
            (message, fix)
        }
        TimeKind::NegativeAge if number > 0.0 => {
            let message = format!("{shown} is never positive: `{}` is always {}", shorten(whole), !is_above);
            (message, Some("subtract the earlier time from the later one".to_owned()))
        }
        _ => return None,
    };
    Some(ComparisonProblem::new(LintRule::UnitMismatch, whole, message, fix))
}

fn time_kind(expr: &Expr, is_site: &dyn Fn(&[u8]) -> bool, depth: usize) -> Option<TimeKind> {
    const MAX_DEPTH: usize = 10;
    if depth > MAX_DEPTH {
        return None;
    }
    match expr.kind() {
        ExprKind::Call(name, arguments) => {
            (name.eq_ignore_ascii_case(b"time") && arguments.is_empty()).then_some(TimeKind::Now)
        }
        ExprKind::Reference => {
            let name = reference_name(expr).filter(|name| !is_site(name))?;
            match find_facts(&name)?.unit? {
                AttributeUnit::Epoch if name.to_ascii_lowercase().ends_with(b"currenttime") => {
                    Some(TimeKind::Now)
                }
                AttributeUnit::Epoch => Some(TimeKind::Past),
                AttributeUnit::Expiry => Some(TimeKind::Point),
                AttributeUnit::Seconds => Some(TimeKind::Duration),
                _ => None,
            }
        }
        ExprKind::Other(parts) => {
            let [left, right] = &parts[..] else { return None };
            let kind = |part: &Expr| time_kind(part, is_site, depth + 1);
            match (expr.operator()?, kind(left), kind(right)) {
                ("-", Some(TimeKind::Now), Some(TimeKind::Past)) => Some(TimeKind::Age),
                ("-", Some(TimeKind::Past), Some(TimeKind::Now)) => Some(TimeKind::NegativeAge),
                ("-", Some(point), Some(TimeKind::Duration)) if point.is_point() => Some(TimeKind::Point),
                _ => None,
            }
        }
        _ => None,
    }
}
