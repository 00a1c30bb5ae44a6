//! Plan for processing a stream, made before the first ad is read.

use std::os::unix::ffi::OsStrExt;

use super::expr_reader::ExprReader;
use super::options::ClassadEvalCli;
use super::{operands, output};
use crate::classad::format::list::ListForm;
use crate::classad::{AttrName, ClassAd, Dialect, Expr};
use crate::cli::common::{Aggregate, AggregateKind, PrintFormat, Problem, ProgramContext, tool_user_maps};
use crate::os::{RealWorld, SharedUserMaps};

/// Operand that is an expression, which is evaluated for each ad.
pub(super) struct OperandExpression {
    pub(super) text: Vec<u8>,
    pub(super) expr: Expr,
}

/// Plan for a stream.
pub(super) struct StreamPlan<'a> {
    pub(super) cli: &'a ClassadEvalCli,
    pub(super) constraint: Option<Expr>,
    pub(super) sort: Vec<Expr>,
    pub(super) count_by: Vec<Expr>,
    /// Aggregates of each group of ads.
    pub(super) aggregates: Vec<Aggregate>,
    /// Expression whose value names the file to which an ad is written (`--split-by`), or `None`.
    pub(super) split_by: Option<Expr>,
    /// Names that are looked up in each ad.
    pub(super) looked_up_names: Vec<AttrName>,
    /// Names that are columns.
    pub(super) column_names: Vec<AttrName>,
    pub(super) assigned: ClassAd,
    pub(super) operands: Vec<OperandExpression>,
    pub(super) target: Option<ClassAd>,
    pub(super) form: Option<ListForm>,
    pub(super) only_form_of_input: bool,
    maps: SharedUserMaps,
}

impl<'a> StreamPlan<'a> {
    pub(super) fn new(
        cli: &'a ClassadEvalCli,
        format: Option<&PrintFormat>,
        dialect: Dialect,
        session: &ProgramContext,
    ) -> anyhow::Result<Self> {
        let reader = ExprReader::with_old_syntax(cli, session);
        let (constraint, sort) = output::parse_condition_and_sort(&reader, format)?;
        let count_by = reader.parse_options("--count-by", &cli.stream.count_by)?;
        let mut aggregates = Vec::new();
        for (kind, words) in [
            (AggregateKind::Sum, &cli.stream.sum),
            (AggregateKind::Average, &cli.stream.avg),
            (AggregateKind::Minimum, &cli.stream.min),
            (AggregateKind::Maximum, &cli.stream.max),
        ] {
            let exprs = reader.parse_options(kind.option(), words)?;
            aggregates.extend(exprs.into_iter().map(|expr| Aggregate { kind, expr }));
        }
        let split_by = match cli.stream.split_by.first() {
            Some(text) => Some(reader.parse_option("--split-by", text)?),
            None => None,
        };
        refuse_rows_without_columns(cli, !aggregates.is_empty())?;
        let mut assigned = ClassAd::new();
        let mut operands = Vec::new();
        for text in &cli.operands {
            if !cli.output.quiet {
                operands::warn_of_file_name(text.as_bytes(), session);
            }
            match operands::parse_whole_ad(text.as_bytes()) {
                Some(ad) => assigned.update(&ad),
                None => operands.push(OperandExpression {
                    text: text.as_bytes().to_vec(),
                    expr: ExprReader { dialect, ..reader }.parse_option("expression", text)?,
                }),
            }
        }
        let target = match cli.context.target_file.last() {
            Some(file) => Some(operands::read_first_ad(file, cli, session)?),
            None => None,
        };
        if let Some(file) = cli.context.my_file.first() {
            return Err(Problem::usage(format!(
                "each ad of the stream is MY, so '{}' cannot be MY as well",
                file.display()
            ))
            .hint("use either --my-file or --ads")
            .into());
        }
        let form = output::output_form(cli);
        let has_columns = !cli.columns.autoformat.is_empty()
            || !cli.columns.format.is_empty()
            || cli.columns.print_format.is_some();
        if form.is_some() && has_columns {
            return Err(Problem::usage("columns and whole ads cannot be printed together")
                .hint("use --attributes A,B to choose attributes of whole ads")
                .into());
        }
        let only_form_of_input = form.is_none()
            && !has_columns
            && operands.is_empty()
            && !cli.question.explain
            && split_by.is_none();
        if (!count_by.is_empty() || !aggregates.is_empty()) && !operands.is_empty() {
            let problem =
                Problem::usage("values cannot be counted and expressions evaluated in the same run");
            return Err(problem.hint("use either --count-by or expressions").into());
        }
        Ok(StreamPlan {
            cli,
            constraint,
            sort,
            count_by,
            aggregates,
            split_by,
            looked_up_names: Vec::new(),
            column_names: Vec::new(),
            assigned,
            operands,
            target,
            form,
            only_form_of_input,
            maps: tool_user_maps(Some(session)),
        })
    }

    /// True if only counts or aggregates of the ads are printed.
    pub(super) fn is_counting(&self) -> bool {
        !self.count_by.is_empty() || !self.aggregates.is_empty()
    }

    /// Returns the world in which expressions are evaluated.
    pub(super) fn world(&self) -> RealWorld {
        self.cli.clock.world().with_shared_user_maps(self.maps.clone())
    }
}

/// Refuses `--csv`, `--tsv` and `--null` if the output has no rows.
fn refuse_rows_without_columns(cli: &ClassadEvalCli, has_aggregates: bool) -> anyhow::Result<()> {
    let Some(option) = cli.rows.given_option() else { return Ok(()) };
    let prints_counts = has_aggregates || !cli.stream.count_by.is_empty();
    let has_columns = !cli.columns.autoformat.is_empty()
        || !cli.columns.format.is_empty()
        || cli.columns.print_format.is_some();
    if has_columns || prints_counts {
        return Ok(());
    }
    let problem = Problem::usage(format!("{option} needs columns"));
    Err(problem.hint("name them with -af: -af Owner JobStatus").into())
}
