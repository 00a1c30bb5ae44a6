//! `--match`: the symmetric match of two streams, with rank, or the reason why there is none.

use std::io::Write;
use std::path::Path;

use clap::ArgMatches;
use serde_json::json;

use super::ads::{self, Ads};
use super::options::Cli;
use super::results::compare_keys;
use super::stream::name_of;
use super::{ask, explanation, output};
use crate::classad::explain;
use crate::classad::{ClassAd, Context, Dialect, Expr, MatchAd, Value};
use crate::cli::common::{JsonRows, Painter, Problem, Row, Session, Status, pipe_ends};
use crate::os::RealWorld;

/// One pair of ads.
struct Pair<'a> {
    left: &'a ClassAd,
    right: &'a ClassAd,
    left_name: String,
    right_name: &'a str,
    matches: bool,
    rank: f64,
}

/// Matches the ads of `--ads` with those of a file.
///
/// # Errors
/// Bad expressions, input that cannot be read, and those of standard output.
pub(super) fn run(cli: &Cli, matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let dialect = ask::dialect(cli);
    let Some(file) = &cli.stream.r#match else { return Ok(Status::Done) };
    if file == Path::new("-") && cli.input.ads == Path::new("-") {
        return Err(Problem::usage("--ads and --match both read standard input")
            .hint("name a file for one of them")
            .into());
    }
    let mut others = Vec::new();
    let mut stream = ads::open(file.as_os_str(), cli, dialect, session)?;
    while let Some(record) = stream.next()? {
        let name = name_of(&record.ad, others.len() + 1, &world);
        others.push((record.ad, name));
    }
    let old = Dialect::old_syntax().strict(cli.context.strict);
    let constraint = ask::constraint(old, cli, session)?;
    let (input, out) = pipe_ends();
    let (read, name) = cli.input.open(input, session)?;
    let mut ads = Ads::new(read, name, cli, dialect, session);
    let mut mask = output::columns(cli, matches)?;
    let are_values = (mask.is_empty() || cli.question.explain) && !cli.stream.count;
    let mut out = JsonRows::new(out, cli.output.json && are_values);
    let mut rows: Vec<(Vec<Value>, Row)> = Vec::new();
    let mut number = 0;
    let mut any = false;
    let mut count = 0u64;
    let limit = cli.stream.limit.unwrap_or(u64::MAX);
    let sort: anyhow::Result<Vec<Expr>> =
        cli.stream.sort.iter().map(|text| ask::expression("-sort", text, old, cli, session)).collect();
    let sort = sort?;
    while let Some(record) = ads.next()? {
        number += 1;
        let left = &record.ad;
        let left_name = name_of(left, number, &world);
        let mut pairs: Vec<Pair<'_>> = Vec::new();
        for (right, right_name) in &others {
            let both = Context::new(&world).my(left).target(right).strict(cli.context.strict);
            if constraint.as_ref().is_some_and(|constraint| !both.holds(constraint)) {
                continue;
            }
            let pair = MatchAd::new(&world, left, right).strict(cli.context.strict);
            let matched = pair.symmetric();
            any |= matched;
            if matched || cli.question.explain {
                let rank = if cli.stream.rank { pair.left_rank().unwrap_or(0.0) } else { 0.0 };
                let left_name = left_name.clone();
                pairs.push(Pair { left, right, left_name, right_name, matches: matched, rank });
            }
        }
        if cli.stream.rank {
            pairs.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        }
        for pair in pairs {
            if count >= limit {
                break;
            }
            count += 1;
            if cli.stream.count {
                continue;
            }
            let context = Context::new(&world).my(pair.left).target(pair.right).strict(cli.context.strict);
            if cli.question.explain {
                explain(&pair, cli, &world, &mut out)?;
            } else if mask.is_empty() {
                print(&pair, cli, &mut out)?;
            } else {
                let row = mask.render(pair.left, &context);
                if mask.has_headings() || !sort.is_empty() {
                    rows.push((sort.iter().map(|key| context.eval(key)).collect(), row));
                } else {
                    let mut text = Vec::new();
                    mask.display(&row, &world, &mut text);
                    out.write_all(&text)?;
                }
            }
        }
    }
    if cli.stream.count {
        writeln!(out, "{count}")?;
    } else if mask.has_headings() || !rows.is_empty() {
        rows.sort_by(|a, b| compare_keys(&a.0, &b.0));
        let mut text = Vec::new();
        if mask.has_headings() {
            mask.display_headings(&mut text);
        }
        for (_, row) in &rows {
            mask.display(row, &world, &mut text);
        }
        out.write_all(&text)?;
    }
    out.end()?;
    Ok(if cli.question.exit_status && !any { Status::No } else { Status::Done })
}

fn rank_text(rank: f64) -> String {
    Value::Real(rank).unparse_old().to_string()
}

fn print(pair: &Pair<'_>, cli: &Cli, out: &mut impl Write) -> std::io::Result<()> {
    if cli.output.json || cli.output.jsonl {
        let mut line = json!({ "ad": pair.left_name, "match": pair.right_name });
        if cli.stream.rank {
            line["rank"] = json!(pair.rank);
        }
        return writeln!(out, "{line}");
    }
    write!(out, "{}\t{}", pair.left_name, pair.right_name)?;
    if cli.stream.rank {
        write!(out, "\t{}", rank_text(pair.rank))?;
    }
    writeln!(out)
}

/// Both Requirements, and for each that does not hold the clause that is to blame.
fn explain(pair: &Pair<'_>, cli: &Cli, world: &RealWorld, out: &mut impl Write) -> anyhow::Result<()> {
    let both = [(&pair.left_name[..], pair.left, pair.right), (pair.right_name, pair.right, pair.left)];
    let sides: Vec<(&str, String, Option<String>)> = both
        .into_iter()
        .map(|(name, my, target)| {
            let context = Context::new(world).my(my).target(target).strict(cli.context.strict);
            let Some(expr) = my.get("Requirements") else {
                let why = "it has no Requirements, and without them nothing matches".to_owned();
                return (name, "undefined".to_owned(), Some(why));
            };
            let step = explain::trace(&context, &expr);
            let holds = step.value.as_ref().and_then(Value::truth) == Some(true);
            let value =
                step.value.as_ref().map_or("a failure".to_owned(), |value| value.unparse_old().to_string());
            let why = if holds { None } else { explanation::why(&context, &expr, &step) };
            (name, value, why)
        })
        .collect();
    if cli.output.json || cli.output.jsonl {
        let side = |(name, value, why): &(&str, String, Option<String>)| json!({ "ad": name, "requirements": value, "why": why });
        let line = json!({
            "match": pair.matches, "left": side(&sides[0]), "right": side(&sides[1]),
        });
        writeln!(out, "{line}")?;
        return Ok(());
    }
    let painter = Painter::stdout(cli.output.color);
    let verdict =
        if pair.matches { painter.good("match").to_string() } else { painter.bad("no match").to_string() };
    writeln!(out, "{} and {}: {verdict}", pair.left_name, pair.right_name)?;
    for (name, value, why) in sides {
        writeln!(out, "  Requirements of {name}: {value}")?;
        if let Some(why) = why {
            writeln!(out, "    {} {why}", painter.bold("why:"))?;
        }
    }
    Ok(())
}
