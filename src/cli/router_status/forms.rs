//! The forms that jobs are printed in, other than tables.

use bstr::BString;

use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::Problem;
use crate::world::World;

/// The forms of output that are asked for.
pub(super) struct Forms {
    /// Columns.
    pub(super) af: bool,
    /// Objects.
    pub(super) json: bool,
    /// Whole ads.
    pub(super) long: bool,
}

impl Forms {
    /// Each has one form at a time, and doctor's findings are no ads.
    pub(super) fn check(&self, findings: bool) -> anyhow::Result<()> {
        let problem = |text: &str, hint: &str| Err(Problem::usage(text).hint(hint).into());
        match self {
            Forms { af: true, json: true, .. } => {
                problem("--af and --json cannot be used together", "--af prints values as plain text")
            }
            Forms { af: true, long: true, .. } => {
                problem("--af and --long cannot be used together", "--long prints all attributes")
            }
            Forms { af: true, .. } if findings => {
                problem("doctor has no use for --af", "give --json for its findings as objects")
            }
            Forms { long: true, .. } if findings => {
                problem("doctor has no use for --long", "give --json for its findings as objects")
            }
            _ => Ok(()),
        }
    }
}

/// The expressions that --af names: each word is one, or several with commas between.
pub(super) fn columns(words: &[String]) -> anyhow::Result<Vec<Expr>> {
    let mut columns = Vec::new();
    for word in words {
        if let Ok(expr) = Expr::parse(word.as_bytes()) {
            columns.push(expr);
            continue;
        }
        for part in word.split(',') {
            let expr = Expr::parse(part.as_bytes());
            columns.push(expr.map_err(|error| Problem::usage(format!("--af {part}: {error}")))?);
        }
    }
    Ok(columns)
}

/// The values of expressions on one line, as `-af` prints them.
pub(super) fn attributes(ad: &ClassAd, columns: &[Expr], world: &dyn World) -> Vec<u8> {
    let context = Context::new(world).my(ad);
    let values: Vec<BString> = columns
        .iter()
        .map(|column| {
            let value = context.eval(column);
            value.as_str().map_or_else(|| value.unparse(), BString::from)
        })
        .collect();
    let mut line = bstr::join(" ", values);
    line.push(b'\n');
    line
}
