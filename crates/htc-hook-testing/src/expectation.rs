//! Expressions that must be true for the result of a call.

use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, ParseError};

/// Expression that must be true for the result of a call.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Text of the expression as the user wrote it.
    pub text: String,
    /// Parsed expression.
    pub expr: Expr,
}

impl Expectation {
    /// Parses an expectation.
    ///
    /// # Errors
    /// The text is not a valid expression.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Expectation { text: text.to_owned(), expr: Expr::parse(text.as_bytes())? })
    }
}

/// Returns the expectations that are not true, each with its value. MY is `result`, and TARGET is `subject`, the
/// input ad.
pub fn unmet_expectations(
    expectations: &[Expectation],
    result: &ClassAd,
    subject: &ClassAd,
    world: &dyn World,
) -> Vec<String> {
    let context = Context::new(world).my(result).target(subject);
    expectations
        .iter()
        .filter_map(|Expectation { text, expr }| {
            let value = context.eval(expr);
            (value.truth() != Some(true)).then(|| format!("{text}: it is {}", value.unparse()))
        })
        .collect()
}
