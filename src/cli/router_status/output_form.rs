//! Output formats of jobs.

use std::borrow::Cow;

use bstr::BString;

use super::options::RoutedJobOptions;
use crate::classad::format::long;
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{OutputOptions, Painter, Problem, RowForm, render_objects};
use crate::world::World;

/// Requested output format.
pub(super) enum StatusOutputForm {
    Table(Painter),
    /// JSON objects, one array or one object per line.
    Objects(OutputOptions),
    /// Values of these expressions as text. True if each row ends with NUL instead of a newline.
    Columns(Vec<Expr>, bool),
    /// Separated rows with the values of these expressions or, if the list is empty, with the columns of the table.
    Rows(RowForm, Vec<Expr>),
    /// Whole ads.
    Ads,
}

/// Item that can be printed in any format.
pub(super) trait Renderable {
    fn to_ad(&self) -> Cow<'_, ClassAd>;
    fn to_object(&self) -> serde_json::Value;
}

impl StatusOutputForm {
    /// Returns the requested format. Fails if several formats are requested, or if `doctor` is asked for ads, because
    /// its findings are not ads.
    pub(super) fn from_options(common: &RoutedJobOptions, findings: bool) -> anyhow::Result<Self> {
        let problem = |text: &str, hint: &str| Err(Problem::usage(text).hint(hint).into());
        let objects = "use --json to get its findings as objects";
        let has_other_form = common.output.wants_json()
            || common.output.long
            || common.by.is_some()
            || !common.af.is_empty()
            || common.rows.null
            || common.rows.form().is_some();
        let has_order = !common.sort.is_empty() || common.limit.is_some();
        if common.openmetrics.is_some() && (has_other_form || has_order) {
            return problem("--openmetrics is a separate output format", "remove the other output options");
        }
        match (!common.af.is_empty(), common.output.wants_json(), common.output.long) {
            (true, true, _) => {
                problem("--af and --json cannot be used together", "--af prints values as plain text")
            }
            (true, _, true) => {
                problem("--af and --long cannot be used together", "--long prints all attributes")
            }
            (true, ..) if findings => problem("--af has no effect in 'doctor' without --by", objects),
            (_, _, true) if findings => problem("--long has no effect in 'doctor' without --by", objects),
            _ if common.rows.form().is_some() => {
                let form = common.rows.form().unwrap_or(RowForm::Csv);
                Ok(StatusOutputForm::Rows(form, parse_columns(&common.af)?))
            }
            (true, ..) => Ok(StatusOutputForm::Columns(parse_columns(&common.af)?, common.rows.null)),
            _ if common.rows.null => Ok(StatusOutputForm::Rows(RowForm::Null, Vec::new())),
            (_, true, _) => Ok(StatusOutputForm::Objects(common.output)),
            (_, _, true) => Ok(StatusOutputForm::Ads),
            _ => Ok(StatusOutputForm::Table(Painter::stdout(common.output.color))),
        }
    }

    /// Formats all items. `keys` are the first columns of separated rows; `table` formats the items as a table.
    pub(super) fn render<T: Renderable>(
        &self,
        all: &[T],
        keys: &[&str],
        world: &dyn World,
        table: impl FnOnce(Painter) -> String,
    ) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            StatusOutputForm::Table(painter) => table(*painter).into_bytes(),
            StatusOutputForm::Objects(output) => {
                let objects: Vec<serde_json::Value> = all.iter().map(Renderable::to_object).collect();
                output.render_json(&objects)?.unwrap_or_default().into_bytes()
            }
            StatusOutputForm::Rows(form, columns) if columns.is_empty() => {
                let objects: Vec<serde_json::Value> = all.iter().map(Renderable::to_object).collect();
                render_objects(*form, &objects, keys)?
            }
            StatusOutputForm::Columns(..) | StatusOutputForm::Rows(..) | StatusOutputForm::Ads => {
                let mut text = Vec::new();
                self.push_header(&mut text);
                all.iter().for_each(|it| self.push_item(&it.to_ad(), world, &mut text));
                text
            }
        })
    }

    /// Returns the expressions of the columns.
    pub(super) fn columns(&self) -> &[Expr] {
        match self {
            StatusOutputForm::Columns(columns, _) | StatusOutputForm::Rows(_, columns) => columns,
            _ => &[],
        }
    }

    /// True if each ad is printed independently of the others.
    pub(super) fn is_stream(&self) -> bool {
        match self {
            StatusOutputForm::Columns(..) | StatusOutputForm::Ads => true,
            StatusOutputForm::Rows(_, columns) => !columns.is_empty(),
            StatusOutputForm::Table(_) | StatusOutputForm::Objects(_) => false,
        }
    }

    /// Appends the header of separated rows.
    pub(super) fn push_header(&self, text: &mut Vec<u8>) {
        if let StatusOutputForm::Rows(form, columns) = self {
            form.push_header(columns.iter().map(Expr::unparse), text);
        }
    }

    /// Appends an ad, in a format that prints each ad independently of the others.
    pub(super) fn push_item(&self, ad: &ClassAd, world: &dyn World, text: &mut Vec<u8>) {
        match self {
            StatusOutputForm::Columns(columns, ends_with_nul) => {
                for (number, value) in column_values(ad, columns, world).iter().enumerate() {
                    if number > 0 {
                        text.push(b' ');
                    }
                    text.extend_from_slice(value);
                }
                text.push(if *ends_with_nul { 0 } else { b'\n' });
            }
            StatusOutputForm::Rows(form, columns) => form.push_row(column_values(ad, columns, world), text),
            StatusOutputForm::Ads => {
                text.extend_from_slice(&long::print(ad));
                text.push(b'\n');
            }
            StatusOutputForm::Table(_) | StatusOutputForm::Objects(_) => {}
        }
    }
}

/// Parses the expressions of --af. Each word is one expression, or several separated by commas.
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

/// Returns the values of expressions, as `-af` prints them.
fn column_values(ad: &ClassAd, columns: &[Expr], world: &dyn World) -> Vec<BString> {
    let context = Context::new(world).my(ad);
    let text = |column: &Expr| {
        let value = context.eval(column);
        value.as_str().map_or_else(|| value.unparse(), BString::from)
    };
    columns.iter().map(text).collect()
}
