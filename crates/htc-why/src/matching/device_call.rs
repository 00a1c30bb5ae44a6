//! Calls in Requirements that evaluate a job's condition on devices.

use htc_classad::{AttrName, Context, Expr, ExprKind, Value};

use super::clauses::Reference;

/// Prefix of a job's conditions on devices.
pub(super) const REQUIRE: &str = "Require";

/// Call that evaluates a condition on devices: `countMatches(MY.RequireGPUs, TARGET.AvailableGPUs)`.
#[derive(Clone, Debug)]
pub(super) struct DeviceCall {
    /// Attribute of the job that has the condition.
    pub(super) name: AttrName,
    /// Condition on each device.
    pub(super) condition: Expr,
    /// List of the devices.
    pub(super) list: Expr,
    /// The whole call.
    pub(super) expr: Expr,
}

impl DeviceCall {
    /// Returns the first call in an expression that evaluates a condition on devices, or `None`.
    pub(super) fn find(expr: &Expr) -> Option<Self> {
        if let ExprKind::Call(function, arguments) = expr.kind()
            && [&b"countMatches"[..], b"evalInEachContext"].iter().any(|it| function.eq_ignore_ascii_case(it))
            && let [condition, list] = &arguments[..]
        {
            let name = Reference::parse(condition)?.name;
            let start = name.as_bytes().get(..REQUIRE.len())?;
            let (condition, list, expr) = (condition.clone(), list.clone(), expr.clone());
            return start.eq_ignore_ascii_case(REQUIRE.as_bytes()).then_some(DeviceCall {
                name,
                condition,
                list,
                expr,
            });
        }
        expr.parts().iter().find_map(DeviceCall::find)
    }

    /// Returns the values of the condition for each device of a list.
    pub(super) fn values(&self, context: &Context<'_>, list: &Expr) -> Vec<Value> {
        let text = format!("evalInEachContext({}, {})", self.condition.unparse(), list.unparse());
        match Expr::parse(text.as_bytes()).map(|expr| context.eval(&expr)) {
            Ok(Value::List(list)) => list.iter().map(|item| context.eval(item)).collect(),
            _ => Vec::new(),
        }
    }
}
