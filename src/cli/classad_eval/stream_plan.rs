//! Plan for a stream, made before its first ad is read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::expr_reader::ExprReader;
use super::options::ClassadEvalCli;
use super::{classad_eval_script, operands, output};
use crate::classad::format::list::ListForm;
use crate::classad::{AttrName, ClassAd, Dialect, Expr};
use crate::cli::common::{GroupKey, Problem, ProgramContext, tool_user_maps};
use crate::os::{RealWorld, SharedUserMaps};

/// Expression among the operands, evaluated for each ad.
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
    /// Names that are looked up in each ad.
    pub(super) looked_up_names: Vec<AttrName>,
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
        dialect: Dialect,
        session: &ProgramContext,
    ) -> anyhow::Result<Self> {
        let old = ExprReader::with_old_syntax(cli, session);
        let mut constraint = old.parse_constraint()?;
        let mut sort = old.parse_options("-sort", &cli.stream.sort)?;
        if let Some(format) = output::read_print_format(cli)? {
            let parse = |what: &str, text: &[u8]| old.parse_option(what, OsStr::from_bytes(text));
            if let Some(condition) = &format.condition {
                let condition = parse("WHERE", condition)?;
                constraint = Some(constraint.map_or(condition.clone(), |before| before.and(&condition)));
            }
            for GroupKey(key) in &format.group_by {
                sort.push(parse("GROUP BY", key)?);
            }
        }
        let count_by = old.parse_options("--count-by", &cli.stream.count_by)?;
        let mut assigned = ClassAd::new();
        let mut operands = Vec::new();
        for text in &cli.operands {
            match classad_eval_script::parse_ad(text.as_bytes()) {
                Some(ad) => assigned.update(&ad),
                None => operands.push(OperandExpression {
                    text: text.as_bytes().to_vec(),
                    expr: ExprReader { dialect, ..old }.parse_option("expression", text)?,
                }),
            }
        }
        let target = match cli.context.target_file.last() {
            Some(file) => Some(operands::read_first_ad(file, cli, session)?),
            None => None,
        };
        if let Some(file) = cli.context.my_file.first() {
            return Err(Problem::usage(format!(
                "each ad of the stream is MY, so '{}' cannot be",
                file.display()
            ))
            .hint("leave --my-file out, or --ads")
            .into());
        }
        let form = output::output_form(cli);
        let has_columns = !cli.columns.autoformat.is_empty()
            || !cli.columns.format.is_empty()
            || cli.columns.print_format.is_some();
        if form.is_some() && has_columns {
            return Err(Problem::usage("columns and whole ads cannot be printed at once")
                .hint("use --attributes A,B to choose attributes of whole ads")
                .into());
        }
        let only_form_of_input =
            form.is_none() && !has_columns && operands.is_empty() && !cli.question.explain;
        if !count_by.is_empty() && !operands.is_empty() {
            let problem = Problem::usage("values are counted, or expressions evaluated for each ad");
            return Err(problem.hint("leave --count-by or the expressions out").into());
        }
        Ok(StreamPlan {
            cli,
            constraint,
            sort,
            count_by,
            looked_up_names: Vec::new(),
            assigned,
            operands,
            target,
            form,
            only_form_of_input,
            maps: tool_user_maps(Some(session)),
        })
    }

    /// Returns the world in which expressions are evaluated.
    pub(super) fn world(&self) -> RealWorld {
        self.cli.clock.world().with_shared_user_maps(self.maps.clone())
    }
}
