//! `condor_router_q`: command line and tables of the script with this name. Jobs are read from the queue log that the
//! configuration names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;

use bstr::ByteSlice;

use super::condor_q_options::{CondorQOptions, ParsedOptions};
use super::condor_q_refusal::USAGE as QUEUE_USAGE;
use super::condor_q_report::{JobCounts, ReportSource};
use super::condor_q_source::keeps_ad;
use super::configuration;
use crate::classad::{ClassAd, Context, Dialect, Expr};
use crate::cli::common::{ProgramContext, Status, exit_when_reader_is_gone, stdout};
use crate::cli::router_status::read_configured_queue;
use crate::config::Config;
use crate::job::JobId;
use crate::os::RealWorld;
use crate::runner::configured_world;
use crate::world::World;

const USAGE: &str = "USAGE: condor_router_q [router_q options] [condor_q options]

This is a convenience wrapper around condor_q for viewing
jobs being managed by the condor job router.

router_q options:
  -S             summarize state of jobs on each route
  -R             summarize running jobs on each route
  -I             summarize idle jobs on each route
  -H             summarize held jobs on each route
  -route <name>  show only jobs on specified route
  -idle          show only idle jobs
  -held          show only held jobs
  -constraint X  show jobs matching specified constraint

Usage for condor_q follows:
";

/// Runs the program under the name `condor_router_q`.
pub fn run(words: &[OsString], program: &ProgramContext) -> anyhow::Result<Status> {
    exit_when_reader_is_gone();
    let mut constraint = "RouteName =!= UNDEFINED".to_owned();
    let mut summary = false;
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
    let mut rest = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        let add = match word.as_str() {
            "-S" => String::new(),
            "-R" => " && JobStatus == 2".to_owned(),
            "-I" => " && JobStatus != 2".to_owned(),
            "-H" | "-held" => " && JobStatus == 5".to_owned(),
            "-idle" => " && JobStatus == 1".to_owned(),
            "-constraint" => format!(" && ({})", value()),
            "-route" | "-site" => format!(" && RouteName =?= \"{}\"", value()),
            "-h" | "-help" => {
                stdout().write_all(USAGE.as_bytes())?;
                stdout().write_all(QUEUE_USAGE.as_bytes())?;
                return Ok(Status::Tool(0));
            }
            _ => {
                rest.push(word);
                rest.extend(words);
                break;
            }
        };
        summary |= matches!(word.as_str(), "-S" | "-R" | "-I" | "-H");
        constraint.push_str(&add);
    }
    let world = RealWorld::new();
    let config = match configuration::load("TOOL", &world, program) {
        Ok(config) => config,
        Err(status) => return Ok(status),
    };
    let mut out = Vec::new();
    // Because of the order of redirections in the script, these messages go to standard output.
    for name in ["JOB_ROUTER_SCHEDD2_NAME", "JOB_ROUTER_SCHEDD2_POOL"] {
        if !config.view(&world).is_defined(name) {
            out.extend_from_slice(format!("Not defined: {name}\n").as_bytes());
        }
    }
    if summary {
        return print_summary(&constraint, &config, out, program);
    }
    stdout().write_all(&out)?;
    let words = ["-constraint".to_owned(), constraint].into_iter().chain(rest);
    print_list(&words.map(OsString::from).collect::<Vec<_>>(), &config, program)
}

/// Prints the output of `-S` and similar options. The script ignores all arguments after such an option.
fn print_summary(
    constraint: &str,
    config: &Config,
    mut out: Vec<u8>,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let world = configured_world(RealWorld::new(), config, &mut |_| {});
    match Expr::parse_with(constraint.as_bytes(), Dialect::of_world(&world)) {
        Ok(expr) => {
            // If routed copies have their own queue, the script summarises that queue.
            let jobs = read_configured_queue(config, true, &world, program)?;
            let kept: Vec<&(JobId, ClassAd)> =
                jobs.iter().filter(|(_, ad)| Context::new(&world).my(ad).holds(&expr)).collect();
            summarize(&kept, &world, &mut out);
        }
        Err(_) => program.write_stderr(&format!("Error:  Parse error of: {constraint}\n")),
    }
    stdout().write_all(&out)?;
    Ok(Status::Tool(0))
}

/// Prints what condor_q prints with these words, reading the queue log.
fn print_list(words: &[OsString], config: &Config, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let mut options = match CondorQOptions::from_words(words, program)? {
        ParsedOptions::Report(options) => options,
        ParsedOptions::Finished(status) => return Ok(status),
    };
    if let Some(status) = options.finish(Some(config), &world, program)? {
        return Ok(status);
    }
    // The queue of the source jobs is listed, unless the user names the schedd of the routed copies.
    let copies = match &options.schedd {
        None => false,
        Some(name) => {
            let second = config.view(&world).string("JOB_ROUTER_SCHEDD2_NAME").ok().flatten();
            let is_second = second.is_some_and(|second| second.value == *name);
            if !is_second {
                let name = name.to_str_lossy();
                program.warn(&format!(
                    "schedd {name} is not queried: this is the queue log of the configuration"
                ));
            }
            is_second
        }
    };
    let Ok(constraint) = options.constraint_or_error(program) else { return Ok(Status::Tool(1)) };
    let mut jobs = read_configured_queue(config, copies, &world, program)?;
    let now = options.long.is_none().then(|| world.now().epoch());
    for (id, ad) in &mut jobs {
        // A schedd adds ServerTime to ads that are printed as a table.
        if let Some(now) = now.filter(|_| !ad.contains("ServerTime")) {
            ad.set("ServerTime", now);
        }
        // A truncated log may lack these attributes, which every job has.
        ad.set("ClusterId", i64::from(id.cluster));
        ad.set("ProcId", i64::from(id.proc));
    }
    let kept: Vec<&(JobId, ClassAd)> =
        jobs.iter().filter(|(_, ad)| keeps_ad(constraint.as_ref(), ad, &world)).collect();
    let mut all_users = JobCounts::default();
    jobs.iter().for_each(|(_, ad)| all_users.add(ad, &Context::new(&world).my(ad)));
    let view = config.view(&world);
    let name = view.text("SCHEDD_NAME").or_else(|| view.text("FULL_HOSTNAME")).unwrap_or_default();
    let source =
        ReportSource { label: format!("Schedd: {name} : <job_queue.log>"), all_users: Some(all_users) };
    let mut out = Vec::new();
    let status = options.print_queue(kept.iter().map(|(_, ad)| ad), &source, &world, &mut out, program)?;
    stdout().write_all(&out)?;
    Ok(status)
}

/// Appends the summary that the script produces with awk, sort and uniq.
fn summarize(jobs: &[&(JobId, ClassAd)], world: &dyn World, out: &mut Vec<u8>) {
    out.extend_from_slice(b"   JOBS ST Route                GridResource\n");
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for (_, ad) in jobs {
        let context = Context::new(world).my(ad);
        let text = |name: &str| context.string(name).unwrap_or_default();
        let status = context.int("JobStatus").unwrap_or(0).to_string();
        let line = [status.as_bytes(), b",", &text("RouteName"), b",", &text("GridResource")].concat();
        // As in the script, a line is split at every comma, even at commas in names and resources.
        let mut fields = line.split_str(",");
        let status = fields.next().unwrap_or_default();
        let letter = match status {
            b"0" => b"U",
            b"1" => b"I",
            b"2" => b"R",
            b"3" => b"X",
            b"4" => b"C",
            b"5" => b"H",
            b"6" => b"E",
            other => other,
        };
        let (route, resource) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let mut row = Vec::new();
        push_padded(&mut row, letter, 2, true);
        row.push(b' ');
        push_padded(&mut row, route, 20, false);
        row.push(b' ');
        row.extend_from_slice(resource);
        *counts.entry(row).or_default() += 1;
    }
    let mut rows: Vec<Vec<u8>> =
        counts.into_iter().map(|(row, count)| [format!("{count:7} ").as_bytes(), &row].concat()).collect();
    // As with `sort -k 3`: by the text from the third field on, including leading blanks, then by the whole line.
    rows.sort_by(|a, b| third_field(a).cmp(third_field(b)).then_with(|| a.cmp(b)));
    for row in rows {
        out.extend_from_slice(&row);
        out.push(b'\n');
    }
}

fn third_field(line: &[u8]) -> &[u8] {
    let mut at = 0;
    for _ in 0..2 {
        at += line[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        at += line[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    }
    &line[at..]
}

fn push_padded(out: &mut Vec<u8>, text: &[u8], width: usize, right: bool) {
    let blanks = width.saturating_sub(text.len());
    if right {
        out.resize(out.len() + blanks, b' ');
    }
    out.extend_from_slice(text);
    if !right {
        out.resize(out.len() + blanks, b' ');
    }
}
