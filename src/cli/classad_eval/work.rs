//! All that is known of the work on a stream before its first ad.

use std::os::unix::ffi::OsStrExt;

use super::ask::Asked;
use super::options::Cli;
use super::{operands, output, tool};
use crate::classad::format::list::ListForm;
use crate::classad::{AttrName, ClassAd, Dialect, Expr};
use crate::cli::common::{Problem, Session, maps_of_tool};
use crate::os::{RealWorld, SharedMaps};

/// What is done with the expressions among the operands, for each ad.
pub(super) struct Operand {
    pub(super) text: Vec<u8>,
    pub(super) expr: Expr,
}

/// All that is known before the first ad.
pub(super) struct Work<'a> {
    pub(super) cli: &'a Cli,
    pub(super) constraint: Option<Expr>,
    pub(super) sort: Vec<Expr>,
    pub(super) count_by: Vec<Expr>,
    /// Names that are looked up in each ad.
    pub(super) asked: Vec<AttrName>,
    pub(super) assigned: ClassAd,
    pub(super) operands: Vec<Operand>,
    pub(super) target: Option<ClassAd>,
    pub(super) form: Option<ListForm>,
    pub(super) only_form_of_input: bool,
    maps: SharedMaps,
}

impl<'a> Work<'a> {
    pub(super) fn new(cli: &'a Cli, dialect: Dialect, session: &Session) -> anyhow::Result<Self> {
        let old = Asked::old(cli, session);
        let constraint = old.constraint()?;
        let sort = old.expressions("-sort", &cli.stream.sort);
        let count_by = old.expressions("--count-by", &cli.stream.count_by)?;
        let mut assigned = ClassAd::new();
        let mut operands = Vec::new();
        for text in &cli.operands {
            match tool::make_ad(text.as_bytes()) {
                Some(ad) => assigned.update(&ad),
                None => operands.push(Operand {
                    text: text.as_bytes().to_vec(),
                    expr: Asked { dialect, ..old }.expression("expression", text)?,
                }),
            }
        }
        let target = match cli.context.target_file.last() {
            Some(file) => Some(operands::first_ad(file, cli, session)?),
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
        let form = output::form(cli);
        let has_columns = !cli.columns.autoformat.is_empty() || !cli.columns.format.is_empty();
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
        let (sort, asked) = (sort?, Vec::new());
        Ok(Work {
            cli,
            constraint,
            sort,
            count_by,
            asked,
            assigned,
            operands,
            target,
            form,
            only_form_of_input,
            maps: maps_of_tool(Some(session)),
        })
    }

    /// The world that expressions are evaluated in.
    pub(super) fn world(&self) -> RealWorld {
        self.cli.clock.world().with_maps(self.maps.clone())
    }
}
