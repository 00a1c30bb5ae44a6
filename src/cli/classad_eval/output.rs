//! Output of ads and values: formats, projections, columns.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use clap::ArgMatches;

use super::expr_reader::ExprReader;
use super::operands;
use super::options::ClassadEvalCli;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::stream::AdForm;
use crate::classad::{AttrName, Expr};
use crate::cli::common::{AdFormat, Aggregation, GroupKey, PrintFormat, PrintMask, Problem, ProgramContext};
use crate::os::read_at_most;
use crate::text::caret::Caret;

/// Returns the requested output format, or `None` if no option selects one.
pub(super) fn output_form(cli: &ClassadEvalCli) -> Option<ListForm> {
    match cli.output.ad_format() {
        Some(AdFormat::Long) => Some(ListForm::Long),
        Some(AdFormat::Json) => Some(ListForm::Json),
        Some(AdFormat::Jsonl) => Some(ListForm::JsonLines),
        None if cli.columns.xml => Some(ListForm::Xml),
        None if cli.columns.new => Some(ListForm::New),
        None => None,
    }
}

/// Creates a writer of a list of ads, with the requested projection.
pub(super) fn list_writer(cli: &ClassadEvalCli, form: ListForm) -> ListWriter {
    let writer = ListWriter::new(form, AttributeOrder::Sorted)
        .brackets_when_empty(true)
        .detect_misread(!cli.output.quiet);
    let names = projected_attributes(cli);
    if names.is_empty() { writer } else { writer.only(names) }
}

/// Returns the names of `--attributes`.
pub(super) fn projected_attributes(cli: &ClassadEvalCli) -> Vec<AttrName> {
    let lists = cli.columns.attributes.iter();
    lists.flat_map(|list| crate::text::list::split(list.as_bytes()).map(AttrName::from)).collect()
}

/// Returns the positions and values of all -autoformat (true) and -format (false) options, in their order on the
/// command line.
fn column_groups(matches: &ArgMatches) -> Vec<(usize, bool, Vec<&OsString>)> {
    let mut groups: Vec<(usize, bool, Vec<&OsString>)> = Vec::new();
    for (id, is_auto) in [("autoformat", true), ("format", false)] {
        let mut indices = matches.indices_of(id).into_iter().flatten();
        for group in matches.get_occurrences::<OsString>(id).into_iter().flatten() {
            let words: Vec<&OsString> = group.collect();
            let place = indices.nth(words.len().saturating_sub(1)).unwrap_or(usize::MAX);
            groups.push((place, is_auto, words));
        }
    }
    groups.sort_by_key(|(place, ..)| *place);
    groups
}

/// Parses the columns of `-af` and `-format` in the order in which the user typed them, after those of the print format. Warns
/// about a column that is the name of a file.
pub(super) fn parse_columns(
    cli: &ClassadEvalCli,
    format: Option<PrintFormat>,
    matches: &ArgMatches,
    session: &ProgramContext,
) -> anyhow::Result<PrintMask> {
    let mut mask = match format {
        Some(format) => {
            let mut mask = format.mask;
            if !format.head_foot.header {
                mask.clear_headings();
            }
            mask
        }
        None => PrintMask::default(),
    };
    if let Some(text) = &cli.columns.undefined {
        mask.set_undefined(text.as_bytes());
    }
    for (_, is_auto, words) in column_groups(matches) {
        let mut words = words.into_iter().map(|word| word.as_bytes());
        let result = if is_auto {
            let mut words = words.inspect(|word| operands::warn_of_file_name(word, session)).peekable();
            let letters = words.next_if(|word| word.starts_with(b":")).unwrap_or_default();
            if words.peek().is_none() {
                return Err(Problem::usage("-autoformat has no expression")
                    .hint("write the attributes after it: -af:h Owner JobStatus")
                    .into());
            }
            mask.add_autoformat(letters, words)
        } else {
            let (format, attribute) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            mask.add_format(format, attribute)
        };
        result.map_err(|bad| {
            Problem::usage(bad.error.to_string()).at(&Caret {
                source: if is_auto { "-af" } else { "-format" },
                text: &bad.text,
                span: bad.error.span,
            })
        })?;
    }
    if mask.has_second_conversion() {
        return Err(Problem::usage("the format of -format has two conversions but only one value")
            .hint("use a separate -format for each value")
            .into());
    }
    if let Some(unknown) = mask.unknown_conversion() {
        let text = String::from_utf8_lossy(unknown);
        return Err(Problem::usage(format!(
            "'{text}' of a -format is not a valid conversion: no value would be printed"
        ))
        .hint("%v prints any value, %s text, %d integers, %f reals; %% is a percent sign")
        .into());
    }
    mask.refuse_truncation();
    Ok(mask)
}

/// Maximum size of a print format in bytes.
const MAX_PRINT_FORMAT_BYTES: u64 = 64 << 20;

/// Reads the file of `-print-format`, or returns `None` if the option is not given. The file may be a pipe, so it must be read
/// only once.
pub(super) fn read_print_format(cli: &ClassadEvalCli) -> anyhow::Result<Option<PrintFormat>> {
    let Some(path) = &cli.columns.print_format else { return Ok(None) };
    let name = path.display();
    let text = File::open(path)
        .and_then(|file| read_at_most(file, MAX_PRINT_FORMAT_BYTES))
        .map_err(|error| Problem::unreadable(format!("{name}: {error}")))?;
    let refuse = |what: &str, hint: &str| Problem::usage(format!("{name}: {what}")).hint(hint.to_owned());
    let Some(format) = PrintFormat::parse(PrintFormat::file_lines(&text), PrintMask::default()) else {
        return Err(
            refuse("there is no SELECT before the columns", "begin the file with a line SELECT").into()
        );
    };
    if !format.messages.is_empty() {
        return Err(refuse(format.messages.trim_end(), "correct the line").into());
    }
    if format.aggregation != Aggregation::None {
        let hint = "use --unique for equal rows, or condor_q -print-format";
        return Err(refuse("UNIQUE and FROM AUTOCLUSTER are not supported", hint).into());
    }
    if format.head_foot.summary {
        let hint = "write SUMMARY NONE; condor_q -print-format prints summaries";
        return Err(refuse("a summary is not supported", hint).into());
    }
    Ok(Some(format))
}

/// Returns the condition and the sort keys of the options and of the print format.
pub(super) fn parse_condition_and_sort(
    reader: &ExprReader<'_>,
    format: Option<&PrintFormat>,
) -> anyhow::Result<(Option<Expr>, Vec<Expr>)> {
    let mut condition = reader.parse_constraint()?;
    let mut sort = reader.parse_options("--sort", &reader.cli.stream.sort)?;
    if let Some(format) = format {
        let parse = |what: &str, text: &[u8]| reader.parse_option(what, OsStr::from_bytes(text));
        if let Some(of_format) = &format.condition {
            let of_format = parse("WHERE", of_format)?;
            condition = Some(condition.map_or(of_format.clone(), |before| before.and(&of_format)));
        }
        for GroupKey(key) in &format.group_by {
            sort.push(parse("GROUP BY", key)?);
        }
    }
    Ok((condition, sort))
}

/// Returns the output format that corresponds to the format of the input.
pub(super) fn list_form_of_input(form: AdForm) -> ListForm {
    match form {
        AdForm::Long => ListForm::Long,
        AdForm::Json => ListForm::Json,
        AdForm::JsonLines => ListForm::JsonLines,
        AdForm::New => ListForm::New,
        AdForm::NewLines => ListForm::NewLines,
        AdForm::Xml => ListForm::Xml,
    }
}
