//! The forms that jobs are printed in.

use std::borrow::Cow;

use bstr::BString;

use super::options::RoutedJobOptions;
use crate::classad::format::long;
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{OutputOptions, Painter, Problem};
use crate::world::World;

/// The form that is asked for.
pub(super) enum StatusOutputForm {
    Table(Painter),
    /// Objects of JSON.
    Objects(OutputOptions),
    /// The values of these expressions.
    Columns(Vec<Expr>),
    /// Whole ads.
    Ads,
}

/// What is printed in any form.
pub(super) trait Renderable {
    fn to_ad(&self) -> Cow<'_, ClassAd>;
    fn to_object(&self) -> serde_json::Value;
}

impl StatusOutputForm {
    /// Each has one form at a time, and doctor's findings are no ads.
    pub(super) fn from_options(common: &RoutedJobOptions, findings: bool) -> anyhow::Result<Self> {
        let problem = |text: &str, hint: &str| Err(Problem::usage(text).hint(hint).into());
        let objects = "give --json for its findings as objects";
        match (!common.af.is_empty(), common.output.wants_json(), common.output.long) {
            (true, true, _) => {
                problem("--af and --json cannot be used together", "--af prints values as plain text")
            }
            (true, _, true) => {
                problem("--af and --long cannot be used together", "--long prints all attributes")
            }
            (true, ..) if findings => problem("doctor has no use for --af", objects),
            (_, _, true) if findings => problem("doctor has no use for --long", objects),
            (true, ..) => Ok(StatusOutputForm::Columns(parse_columns(&common.af)?)),
            (_, true, _) => Ok(StatusOutputForm::Objects(common.output)),
            (_, _, true) => Ok(StatusOutputForm::Ads),
            _ => Ok(StatusOutputForm::Table(Painter::stdout(common.output.color))),
        }
    }

    /// All of them in this form; `table` makes a table of them.
    pub(super) fn render<T: Renderable>(
        &self,
        all: &[T],
        world: &dyn World,
        table: impl FnOnce(Painter) -> String,
    ) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            StatusOutputForm::Table(painter) => table(*painter).into_bytes(),
            StatusOutputForm::Objects(output) => {
                let objects: Vec<serde_json::Value> = all.iter().map(Renderable::to_object).collect();
                output.render_json(&objects)?.unwrap_or_default().into_bytes()
            }
            StatusOutputForm::Columns(columns) => {
                all.iter().flat_map(|it| render_columns(&it.to_ad(), columns, world)).collect()
            }
            StatusOutputForm::Ads => {
                all.iter().flat_map(|it| [long::print(&it.to_ad()), b"\n".to_vec()].concat()).collect()
            }
        })
    }
}

/// The expressions that --af names: each word is one, or several with commas between.
fn parse_columns(words: &[String]) -> anyhow::Result<Vec<Expr>> {
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
fn render_columns(ad: &ClassAd, columns: &[Expr], world: &dyn World) -> Vec<u8> {
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
