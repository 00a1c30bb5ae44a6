//! Expressions that must hold of what came of a call.

use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, ParseError};

/// An expression that must hold.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// As it was written.
    pub text: String,
    /// What it says.
    pub expr: Expr,
}

impl Expectation {
    /// Reads one.
    ///
    /// # Errors
    /// It is no expression.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Expectation { text: text.to_owned(), expr: Expr::parse(text.as_bytes())? })
    }
}

/// Those that are not true of a result, with their values; TARGET is the ad that went in.
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
