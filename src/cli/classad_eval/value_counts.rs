//! `--count-by`: the number of ads with each value.

use std::io::Write;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::options::ClassadEvalCli;
use super::output;
use crate::classad::{AttrName, ClassAd, Context, Expr, Value};

/// Counts of values, or of combinations of values if several expressions were given.
#[derive(Debug, Default)]
pub(super) struct ValueCounts {
    rows: FxHashMap<BString, (Vec<Value>, u64)>,
}

impl ValueCounts {
    /// Counts an ad.
    pub(super) fn add_ad(&mut self, by: &[Expr], context: &Context<'_>) {
        let values: Vec<Value> = by.iter().map(|expr| context.eval(expr)).collect();
        let mut key = BString::default();
        for value in &values {
            key.extend_from_slice(&value.unparse());
            key.push(0);
        }
        self.rows.entry(key).or_insert((values, 0)).1 += 1;
    }

    /// Prints the values by falling frequency, equally frequent ones in the order of their texts. Returns the
    /// number of lines.
    pub(super) fn print(
        self,
        cli: &ClassadEvalCli,
        by: &[Expr],
        out: &mut impl Write,
    ) -> anyhow::Result<u64> {
        let mut rows: Vec<(BString, (Vec<Value>, u64))> = self.rows.into_iter().collect();
        rows.sort_by(|(one, (_, few)), (other, (_, many))| many.cmp(few).then_with(|| one.cmp(other)));
        let limit = cli.stream.limit.and_then(|limit| usize::try_from(limit).ok());
        rows.truncate(limit.unwrap_or(usize::MAX));
        let lines = rows.len() as u64;
        match output::output_form(cli) {
            None => {
                let width = rows.first().map_or(0, |(_, (_, count))| count.to_string().len());
                for (_, (values, count)) in &rows {
                    write!(out, "{count:>width$}")?;
                    for value in values {
                        out.write_all(b" ")?;
                        out.write_all(&format_value(value, cli))?;
                    }
                    out.write_all(b"\n")?;
                }
            }
            Some(form) => {
                let mut writer = output::list_writer(cli, form);
                for (_, (values, count)) in rows {
                    let mut ad = ClassAd::new();
                    ad.set("Count", i64::try_from(count).unwrap_or(i64::MAX));
                    for ((number, expr), value) in (1..).zip(by).zip(values) {
                        ad.insert(column_name(expr, number), Expr::literal(value));
                    }
                    writer.write(&ad, out)?;
                }
                writer.finish(out)?;
            }
        }
        Ok(lines)
    }
}

/// Returns the name of a column: the attribute's name if the expression is a single attribute.
fn column_name(expr: &Expr, number: usize) -> AttrName {
    let text = expr.unparse();
    let is_name = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !text.first().is_none_or(u8::is_ascii_digit);
    if is_name { AttrName::from(&text[..]) } else { AttrName::from(format!("Value{number}").as_bytes()) }
}

fn format_value(value: &Value, cli: &ClassadEvalCli) -> BString {
    use std::os::unix::ffi::OsStrExt;
    match (value, &cli.columns.undefined) {
        (Value::Undefined, Some(text)) => text.as_bytes().into(),
        (value, _) => match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.unparse(),
        },
    }
}
