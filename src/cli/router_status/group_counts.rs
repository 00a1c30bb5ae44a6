//! `--count-by`, `--sum` and similar options: prints the number of routed jobs for each value of an expression.

use super::options::RoutedJobOptions;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{
    AdFormat, Aggregate, AggregateKind, CountForm, Problem, ProgramContext, ValueCounts, parse_expressions,
};
use crate::world::World;
use std::io::IsTerminal;

/// Expressions by which jobs are grouped and counted, and the aggregates of each group.
pub(super) struct GroupCounts {
    by: Vec<Expr>,
    aggregates: Vec<Aggregate>,
}

impl GroupCounts {
    /// Returns the requested counts, or `None` if no option requests them.
    ///
    /// # Errors
    /// Returns an error for an invalid expression, or for an option that cannot be combined with counts.
    pub(super) fn from_options(common: &RoutedJobOptions) -> anyhow::Result<Option<Self>> {
        let by = parse_expressions("--count-by", &common.count_by)?;
        let mut aggregates = Vec::new();
        for (kind, texts) in [
            (AggregateKind::Sum, &common.sum),
            (AggregateKind::Average, &common.avg),
            (AggregateKind::Minimum, &common.min),
            (AggregateKind::Maximum, &common.max),
        ] {
            let exprs = parse_expressions(kind.option(), texts)?;
            aggregates.extend(exprs.into_iter().map(|expr| Aggregate { kind, expr }));
        }
        if by.is_empty() && aggregates.is_empty() {
            return Ok(None);
        }
        let option = if by.is_empty() { "--sum, --avg, --min and --max" } else { "--count-by" };
        let others = [
            ("--by", common.by.is_some()),
            ("--af", !common.af.is_empty()),
            ("--sort", !common.sort.is_empty()),
            ("--openmetrics", common.openmetrics.is_some()),
        ];
        if let Some((other, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Problem::usage(format!("{option} cannot be used with {other}")).into());
        }
        Ok(Some(GroupCounts { by, aggregates }))
    }

    /// Returns the expressions by which jobs are counted, and those in the aggregates.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.by.iter().chain(self.aggregates.iter().map(|aggregate| &aggregate.expr))
    }

    /// Groups these ads, and formats the counts.
    ///
    /// # Errors
    /// Returns an error if a group cannot be formatted.
    pub(super) fn render<'a>(
        &self,
        ads: impl IntoIterator<Item = &'a ClassAd>,
        common: &RoutedJobOptions,
        world: &dyn World,
        session: &ProgramContext,
    ) -> anyhow::Result<Vec<u8>> {
        let mut counts = ValueCounts::default();
        for ad in ads {
            counts.add_ad(&self.by, &self.aggregates, &Context::new(world).my(ad));
        }
        let warning_text = counts.left_out_warning(&self.aggregates);
        if let (Some(warning), false) = (warning_text, common.output.quiet) {
            session.warn(&warning);
        }
        let list = common.output.ad_format().map(|format| match format {
            AdFormat::Long => ListForm::Long,
            AdFormat::Json => ListForm::Json,
            AdFormat::Jsonl => ListForm::JsonLines,
        });
        let form = CountForm {
            rows: common.rows,
            undefined: None,
            has_heading: !common.output.quiet && std::io::stdout().is_terminal(),
            limit: common.limit.unwrap_or(usize::MAX),
            list: list.map(|form| ListWriter::new(form, AttributeOrder::Sorted).brackets_when_empty(true)),
        };
        let mut text = Vec::new();
        counts.print(form, &self.by, &self.aggregates, &mut text)?;
        Ok(text)
    }
}
