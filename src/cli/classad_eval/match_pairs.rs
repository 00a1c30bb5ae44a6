//! `--match`: matches two streams of ads symmetrically, with ranks, and explains why two ads do not match.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use clap::ArgMatches;
use serde_json::json;

use super::ads;
use super::match_explanation::{LeftAds, explain_pairs};
use super::options::ClassadEvalCli;
use super::{expr_reader, output};
use crate::classad::explain;
use crate::classad::{ClassAd, Context, Expr, MatchAd, Value};
use crate::cli::common::{
    JsonLineWriter, Painter, PrintMask, Problem, ProgramContext, RenderedRow, Status, compare_in_reverse,
    compare_sort_keys, open_stdio_pipe, stdin_twice_problem, tool_user_maps, write_to_stdout,
};
use crate::os::RealWorld;
use crate::why::matching::{AdPool, Analysis, JobGrouper, PairHints};

/// Pair of ads, and whether they match.
struct AdPair<'a> {
    left: &'a ClassAd,
    right: &'a ClassAd,
    left_name: &'a str,
    right_name: &'a str,
    matches: bool,
    rank: f64,
}

/// Matches the ads of `--ads` with those of a file.
///
/// # Errors
/// Returns an error if an expression is invalid, an input cannot be read or standard output cannot be
/// written.
pub(super) fn run(
    cli: &ClassadEvalCli,
    matches: &ArgMatches,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let world = cli.clock.world().with_shared_user_maps(tool_user_maps(Some(session)));
    let dialect = expr_reader::expression_dialect(cli);
    let Some(file) = &cli.stream.r#match else { return Ok(Status::Done) };
    if file == Path::new("-") && cli.input.reads_stdin() {
        return Err(stdin_twice_problem("--ads", "--match").into());
    }
    if let (Some(option), true) = (cli.rows.given_option(), cli.stream.count) {
        return Err(Problem::usage(format!("{option} and --count cannot be used together")).into());
    }
    let mut others = Vec::new();
    let mut stream = ads::open_ad_file(file.as_os_str(), cli, dialect, session)?;
    while let Some(record) = stream.next()? {
        let name = ad_name(&record.ad, others.len() + 1, &world);
        others.push((record.ad, name));
    }
    let format = output::read_print_format(cli)?;
    let old = expr_reader::ExprReader::with_old_syntax(cli, session);
    let (constraint, sort) = output::parse_condition_and_sort(&old, format.as_ref())?;
    let (input, out) = open_stdio_pipe();
    let mut input = Some(input);
    let paths = cli.input.paths();
    let mut mask = output::parse_columns(cli, format, matches, session)?;
    if cli.rows.form().is_some() {
        mask.remove_layout();
    }
    let are_values = (mask.is_empty() || cli.question.explain) && !cli.stream.count;
    let out = JsonLineWriter::new(out, cli.output.json && are_values);
    if cli.stream.count && constraint.is_none() && !cli.context.strict && cli.stream.limit.is_none() {
        return count_matches(cli, session, others, &world);
    }
    let mut report = PairReport { cli, world: &world, mask, sort, rows: Vec::new(), count: 0, out };
    let has_summary = cli.stream.can_be_summarised(cli, constraint.is_some());
    let mut lefts = LeftAds::new(&paths, input.take(), cli, session)?;
    let mut first = Vec::new();
    if has_summary {
        first = lefts.take(cli.stream.ads_for_pairs(cli, others.len()))?;
        if !lefts.is_finished() {
            return explain_pairs(cli, first, &mut lefts, others, &world);
        }
    }
    report.begin()?;
    let mut matcher =
        PairMatcher { cli, world: &world, constraint, others, any_match: false, all_match: true };
    let mut number = 0;
    let mut lacks_requirements = matcher.others.iter().any(|(ad, _)| !ad.contains("Requirements"));
    let mut first = first.into_iter();
    while let Some(ad) = first.next().map_or_else(|| lefts.next(), |ad| Ok(Some(ad)))? {
        number += 1;
        lacks_requirements |= !ad.contains("Requirements");
        let name = ad_name(&ad, number, &world);
        for pair in matcher.find_pairs(&ad, &name) {
            if report.is_limit_reached() {
                break;
            }
            report.add_pair(&pair)?;
        }
    }
    report.end()?;
    warn_of_missing_requirements(lacks_requirements, cli, session);
    let is_no = match (cli.question.exit_status, cli.question.explain) {
        (true, _) => !matcher.any_match,
        (false, true) => !matcher.all_match,
        (false, false) => false,
    };
    Ok(if is_no { Status::No } else { Status::Done })
}

/// Prints the number of pairs that match. Pairs whose ads have the same values of all referenced attributes are evaluated once.
fn count_matches(
    cli: &ClassadEvalCli,
    session: &ProgramContext,
    others: Vec<(ClassAd, String)>,
    world: &RealWorld,
) -> anyhow::Result<Status> {
    let lacks_requirements = Cell::new(others.iter().any(|(ad, _)| !ad.contains("Requirements")));
    let pool = AdPool::new(others.into_iter().map(|(ad, name)| (name, ad)).collect(), world).symmetric();
    let paths = cli.input.paths();
    let mut lefts = LeftAds::new(&paths, None, cli, session)?;
    let mut count = 0;
    loop {
        let mut jobs = JobGrouper::new(&pool);
        let note = |ad: &ClassAd, _| {
            // This function is called only for some of several equal ads.
            lacks_requirements.set(lacks_requirements.get() || !ad.contains("Requirements"));
            String::new()
        };
        let has_more = lefts.group(&mut jobs, &note, false)?;
        count += Analysis::new(&pool, jobs).match_count();
        if !has_more {
            break;
        }
    }
    write_to_stdout(format!("{count}\n"))?;
    warn_of_missing_requirements(lacks_requirements.get(), cli, session);
    Ok(if cli.question.exit_status && count == 0 { Status::No } else { Status::Done })
}

/// Warns that ads without Requirements match nothing, which is easy to miss because no match is reported for them.
fn warn_of_missing_requirements(lacks_requirements: bool, cli: &ClassadEvalCli, session: &ProgramContext) {
    if lacks_requirements && !cli.output.quiet && !cli.question.explain {
        session.warn("some ads have no Requirements, and an ad without them matches nothing");
    }
}

/// Finder of the matches of a given ad.
struct PairMatcher<'a> {
    cli: &'a ClassadEvalCli,
    world: &'a RealWorld,
    /// Expression that must be true in both ads, or `None`.
    constraint: Option<Expr>,
    others: Vec<(ClassAd, String)>,
    /// True if any two ads have matched.
    any_match: bool,
    /// True if each ad so far has matched at least one other.
    all_match: bool,
}

impl PairMatcher<'_> {
    /// Returns the pairs of an ad: with `--explain` all pairs, otherwise those that match. They are sorted by rank if ranks are
    /// used.
    fn find_pairs<'p>(&'p mut self, left: &'p ClassAd, left_name: &'p str) -> Vec<AdPair<'p>> {
        let ClassadEvalCli { stream, question, context, .. } = self.cli;
        let mut pairs: Vec<AdPair<'_>> = Vec::new();
        let mut has_match = false;
        for (right, right_name) in &self.others {
            let context_of_both = Context::new(self.world).my(left).target(right).strict(context.strict);
            if self.constraint.as_ref().is_some_and(|constraint| !context_of_both.holds(constraint)) {
                continue;
            }
            let pair = MatchAd::new(self.world, left, right).strict(context.strict);
            let matches = pair.symmetric();
            has_match |= matches;
            if matches || question.explain {
                let rank = if stream.rank { pair.left_rank().unwrap_or(0.0) } else { 0.0 };
                pairs.push(AdPair { left, right, left_name, right_name, matches, rank });
            }
        }
        self.any_match |= has_match;
        self.all_match &= has_match;
        if stream.rank {
            pairs.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        }
        pairs
    }
}

/// Columns of the rows of `--explain`. In JSON, the same values are nested.
const EXPLAINED_PAIR_COLUMNS: [&str; 7] =
    ["match", "left", "left_requirements", "left_why", "right", "right_requirements", "right_why"];

/// Report about the pairs.
struct PairReport<'a, W: Write> {
    cli: &'a ClassadEvalCli,
    world: &'a RealWorld,
    mask: PrintMask,
    sort: Vec<Expr>,
    /// Rows with their sort keys, kept until they can be sorted or the column widths are known.
    rows: Vec<(Vec<Value>, RenderedRow)>,
    count: u64,
    out: JsonLineWriter<W>,
}

impl<W: Write> PairReport<'_, W> {
    /// Prints the header of separated rows.
    fn begin(&mut self) -> std::io::Result<()> {
        let Some(form) = self.cli.rows.report_form().filter(|_| !self.cli.stream.count) else {
            return Ok(());
        };
        let names: &[&str] = match (self.cli.question.explain, self.cli.stream.rank) {
            (true, _) => &EXPLAINED_PAIR_COLUMNS,
            (false, true) => &["ad", "match", "rank"],
            (false, false) => &["ad", "match"],
        };
        let mut text = Vec::new();
        if self.mask.is_empty() || self.cli.question.explain {
            form.push_header(names, &mut text);
        } else {
            form.push_header(self.mask.column_names(), &mut text);
        }
        self.out.write_all(&text)
    }

    /// Appends a row of columns in the requested form.
    fn push_row(&mut self, row: &RenderedRow, text: &mut Vec<u8>) {
        if let Some(form) = self.cli.rows.form() {
            return form.push_row(self.mask.cell_texts(row, self.world), text);
        }
        self.mask.display(row, self.world, text);
        if self.cli.rows.null {
            text.pop_if(|last| *last == b'\n');
            text.push(0);
        }
    }

    /// Returns true if no further pair is printed. Pairs are sorted before the limit is applied.
    fn is_limit_reached(&self) -> bool {
        let stream = &self.cli.stream;
        let is_sorted = !self.sort.is_empty() && !stream.count;
        !is_sorted && stream.limit.is_some_and(|limit| self.count >= limit)
    }

    fn add_pair(&mut self, pair: &AdPair<'_>) -> anyhow::Result<()> {
        let cli = self.cli;
        self.count += 1;
        if cli.stream.count {
            return Ok(());
        }
        if cli.question.explain {
            return explain(pair, cli, self.world, &mut self.out);
        }
        if self.mask.is_empty() {
            return Ok(print(pair, cli, &mut self.out)?);
        }
        let context = Context::new(self.world).my(pair.left).target(pair.right).strict(cli.context.strict);
        let row = self.mask.render(pair.left, &context);
        if self.mask.needs_all_rows() || !self.sort.is_empty() {
            self.rows.push((self.sort.iter().map(|key| context.eval(key)).collect(), row));
        } else {
            let mut text = Vec::new();
            self.push_row(&row, &mut text);
            self.out.write_all(&text)?;
        }
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        if self.cli.stream.count {
            writeln!(self.out, "{}", self.count)?;
        } else if self.mask.has_headings() || !self.rows.is_empty() {
            let compare = if self.cli.stream.reverse { compare_in_reverse } else { compare_sort_keys };
            self.rows.sort_by(|a, b| compare(&a.0, &b.0));
            let limit = self.cli.stream.limit.and_then(|limit| usize::try_from(limit).ok());
            self.rows.truncate(limit.unwrap_or(usize::MAX));
            let mut text = Vec::new();
            if self.mask.has_headings() {
                self.mask.display_headings(&mut text);
            }
            for (_, row) in std::mem::take(&mut self.rows) {
                self.push_row(&row, &mut text);
            }
            self.out.write_all(&text)?;
        }
        self.out.end()
    }
}

fn rank_text(rank: f64) -> String {
    Value::Real(rank).unparse_old().to_string()
}

fn print(pair: &AdPair<'_>, cli: &ClassadEvalCli, out: &mut impl Write) -> std::io::Result<()> {
    if cli.output.wants_json() {
        let mut line = json!({ "ad": pair.left_name, "match": pair.right_name });
        if cli.stream.rank {
            line["rank"] = json!(pair.rank);
        }
        return writeln!(out, "{line}");
    }
    if let Some(form) = cli.rows.report_form() {
        let rank = cli.stream.rank.then(|| rank_text(pair.rank));
        let cells = [pair.left_name, pair.right_name].into_iter().chain(rank.as_deref());
        let mut text = Vec::new();
        form.push_row(cells, &mut text);
        return out.write_all(&text);
    }
    write!(out, "{}\t{}", pair.left_name, pair.right_name)?;
    if cli.stream.rank {
        write!(out, "\t{}", rank_text(pair.rank))?;
    }
    writeln!(out)
}

/// Prints the Requirements of both ads, and for each that is not true the clause that fails.
fn explain(
    pair: &AdPair<'_>,
    cli: &ClassadEvalCli,
    world: &RealWorld,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let views = [(pair.left_name, pair.left, pair.right), (pair.right_name, pair.right, pair.left)];
    let sides: Vec<(&str, String, Option<String>)> = views
        .into_iter()
        .map(|(name, my, target)| {
            let context = Context::new(world).my(my).target(target).strict(cli.context.strict);
            let Some(expr) = my.get("Requirements") else {
                let reason = "it has no Requirements, and an ad without them matches nothing".to_owned();
                return (name, "undefined".to_owned(), Some(reason));
            };
            let step = explain::trace(&context, &expr);
            let holds = step.value.as_ref().and_then(Value::truth) == Some(true);
            let value =
                step.value.as_ref().map_or("a failure".to_owned(), |value| value.unparse_old().to_string());
            let reason = if holds { None } else { explain::cause_of_value(&context, &expr, &step) };
            (name, value, reason)
        })
        .collect();
    if cli.output.wants_json() {
        let side = |(name, value, reason): &(&str, String, Option<String>)| json!({ "ad": name, "requirements": value, "why": reason });
        let line = json!({
            "match": pair.matches, "left": side(&sides[0]), "right": side(&sides[1]),
        });
        writeln!(out, "{line}")?;
        return Ok(());
    }
    if let Some(form) = cli.rows.report_form() {
        let matches = pair.matches.to_string();
        let cells = sides
            .iter()
            .flat_map(|(name, value, reason)| [*name, value.as_str(), reason.as_deref().unwrap_or_default()]);
        let mut text = Vec::new();
        form.push_row(std::iter::once(matches.as_str()).chain(cells), &mut text);
        return Ok(out.write_all(&text)?);
    }
    let painter = Painter::stdout(cli.output.color);
    let verdict =
        if pair.matches { painter.good("match").to_string() } else { painter.bad("no match").to_string() };
    writeln!(out, "{} and {}: {verdict}", pair.left_name, pair.right_name)?;
    for (name, value, reason) in sides {
        writeln!(out, "  Requirements of {name}: {value}")?;
        if let Some(reason) = reason {
            writeln!(out, "    {} {reason}", painter.bold("why:"))?;
        }
    }
    if !pair.matches && !cli.context.strict {
        for hint in hints_of_pair(pair, world) {
            writeln!(out, "  {} {hint}", painter.bold("hint:"))?;
        }
    }
    Ok(())
}

/// Returns the name of an ad for messages.
fn ad_name(ad: &ClassAd, number: usize, world: &RealWorld) -> String {
    let context = Context::new(world).my(ad);
    if let Some(name) = context.string("Name") {
        return name.to_string();
    }
    match (context.int("ClusterId"), context.int("ProcId")) {
        (Some(cluster), Some(process)) => format!("job {cluster}.{process}"),
        _ => format!("ad {number}"),
    }
}

/// Returns hints about the clauses of both Requirements that are not true.
fn hints_of_pair(pair: &AdPair<'_>, world: &RealWorld) -> Vec<String> {
    let right = vec![(pair.right_name.to_owned(), pair.right.clone())];
    let pool = AdPool::new(right, world).symmetric();
    PairHints::new(&pool, std::slice::from_ref(pair.left)).hints_for_pair(0, 0)
}
