//! `condor_router_history`: command line, output and exit statuses of the script with this name.
//!
//! In some cases the script ends with a traceback: equal hours, a site without completed jobs, missing attributes. In
//! these cases, this program prints the table that the script would have printed.

use std::ffi::OsString;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use crate::cli::common::{ProgramContext, Status, exit_when_reader_is_gone, stdout};
use crate::config::{Config, LoadOptions, LookupContext};
use crate::os::RealWorld;
use crate::queue::{HistoryReader, HistoryRecord};
use crate::text::calendar::CivilTime;
use crate::world::World;

const USAGE: &str = "
USAGE: condor_router_history [OPTIONS]
 --show_records             (show individual records in addition to summary)
 --show_iwd                 (when showing records, include working directory)
 --age=<days>               (how many days ago end time should be)
 --days=<days>              (how many days report should cover)
 --start=\"YYYY-MM-DD HH:MM\" (date of start time of report)
";

const SECONDS_PER_DAY: f64 = 86_400.0;
const RULER: &str = "-------------------------------------------------------";

/// Letters that the report prints for JobStatus 0 to 6.
const STATUS_LETTERS: &[u8] = b"UIRXCHE";

struct RouterHistoryOptions {
    show_records: bool,
    show_iwd: bool,
    age: f64,
    days: f64,
}

/// Runs the program under the name `condor_router_history`.
pub fn run(words: &[OsString], program: &ProgramContext) -> anyhow::Result<Status> {
    exit_when_reader_is_gone();
    let options = match parse_options(words) {
        Ok(Some(options)) => options,
        Ok(None) => {
            program.write_stderr(USAGE);
            return Ok(Status::Tool(0));
        }
        Err(error) => {
            program.write_stderr(&format!("Command line argument error: {error}\n{USAGE}"));
            return Ok(Status::Tool(1));
        }
    };
    let world = RealWorld::new();
    let context = LookupContext { subsystem: "TOOL".into(), ..LookupContext::default() };
    let spool = Config::load(&world, &context, &LoadOptions::default())
        .ok()
        .and_then(|(config, _)| config.view(&world).text("SPOOL"));
    let Some(spool) = spool else {
        program.write_stderr("Cannot find spool directory with 'condor_config_val SPOOL'\n");
        return Ok(Status::Tool(1));
    };
    let now = match world.env("HTC_NOW".as_ref()).and_then(|text| text.to_str()?.parse().ok()) {
        Some(now) => now,
        None => world.now().epoch_seconds_f64(),
    };
    let end = now - options.age * SECONDS_PER_DAY;
    let start = end - options.days * SECONDS_PER_DAY;
    let (out, failed) = make_report(&options, &spool, start, end, &world);
    stdout().write_all(&out)?;
    if failed > 0 {
        program.write_stderr(&format!(
            "condor_router_history: {failed} records without a usable CompletionDate or JobStatus left out\n"
        ));
    }
    Ok(Status::Tool(0))
}

/// Parses the command line as Python's getopt does; returns `None` if help is requested.
fn parse_options(words: &[OsString]) -> Result<Option<RouterHistoryOptions>, String> {
    const LONG_OPTIONS: [(&str, bool); 6] = [
        ("help", false),
        ("show_records", false),
        ("days", true),
        ("age", true),
        ("start", true),
        ("show_iwd", false),
    ];
    let mut options = RouterHistoryOptions { show_records: false, show_iwd: false, age: 0.0, days: 1.0 };
    let mut rest = words.iter().map(|word| word.to_string_lossy().into_owned());
    // All arguments are parsed before the first option takes effect.
    let mut given_options: Vec<(&str, String)> = Vec::new();
    while let Some(word) = rest.next() {
        if word == "--" || word == "-" || !word.starts_with('-') {
            break;
        }
        let Some(long) = word.strip_prefix("--") else {
            match word.as_bytes().get(1..).unwrap_or_default().iter().find(|&&byte| byte != b'h') {
                None => given_options.push(("help", String::new())),
                Some(&byte) => {
                    return Err(format!("option -{} not recognized\n", char::from(byte)).trim_end().into());
                }
            }
            continue;
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let matching: Vec<_> = LONG_OPTIONS.iter().filter(|(full, _)| full.starts_with(name)).collect();
        let exact = LONG_OPTIONS.iter().find(|(full, _)| *full == name);
        let (full, takes_value) = match (exact, matching.as_slice()) {
            (Some(exact), _) => *exact,
            (None, []) => return Err(format!("option --{name} not recognized")),
            (None, [one]) => **one,
            (None, _) => return Err(format!("option --{name} not a unique prefix")),
        };
        let value = match (takes_value, value) {
            (true, Some(value)) => value,
            (true, None) => rest.next().ok_or_else(|| format!("option --{full} requires argument"))?,
            (false, Some(_)) => return Err(format!("option --{full} must not have an argument")),
            (false, None) => String::new(),
        };
        given_options.push((full, value));
    }
    for (name, value) in given_options {
        match name {
            "help" => return Ok(None),
            "age" => options.age = parse_real(&value)?,
            "days" => options.days = parse_real(&value)?,
            "start" => return Err(start_error(&value)),
            "show_records" => options.show_records = true,
            _ => options.show_iwd = true,
        }
    }
    Ok(Some(options))
}

fn parse_real(text: &str) -> Result<f64, String> {
    parse_float(text).ok_or_else(|| format!("could not convert string to float: '{text}'"))
}

/// Returns the text as Python's `int()` reads a number: without surrounding white space, and with `_` permitted between two
/// digits. Returns `None` if it is not a number.
fn python_number(text: &str) -> Option<String> {
    let text = text.trim();
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'_') {
        if at == 0 || !digit(bytes.get(at - 1)) || !digit(bytes.get(at + 1)) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

fn parse_float(text: &str) -> Option<f64> {
    python_number(text)?.parse().ok()
}

/// Returns the message about `--start`. The script fails for every value, but its message depends on the value.
fn start_error(text: &str) -> String {
    let number =
        |text: &str, widths: std::ops::RangeInclusive<usize>, range: std::ops::RangeInclusive<u32>| {
            widths.contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && text.parse().is_ok_and(|value| range.contains(&value))
        };
    let good = (|| {
        let (date, time) = text.split_once(' ')?;
        let mut date = date.splitn(3, '-');
        let (year, month, day) = (date.next()?, date.next()?, date.next()?);
        let (hour, minute) = time.trim_start().split_once(':')?;
        let good = number(year, 4..=4, 1..=9999)
            && number(month, 1..=2, 1..=12)
            && number(day, 1..=2, 1..=31)
            && number(hour, 1..=2, 0..=23)
            && number(minute, 1..=2, 0..=59);
        good.then_some(())
    })();
    match good {
        Some(()) => "Tuple or struct_time argument required".into(),
        None => format!("time data '{text}' does not match format '%Y-%m-%d %H:%M'"),
    }
}

/// Formats a time to the minute, in local time.
fn format_minutes(seconds: f64, world: &dyn World) -> String {
    let seconds = seconds.floor() as i64;
    let CivilTime { year, month, day, hour, minute, .. } =
        CivilTime::from_seconds(seconds, i64::from(world.zone(seconds).offset));
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// Totals of one site: hours, and number of jobs by status.
#[derive(Default)]
struct SiteTotals {
    name: BString,
    hours: f64,
    completed: u64,
    others: u64,
}

fn history_files(spool: &BString, start: f64, world: &dyn World) -> Vec<PathBuf> {
    let directory = spool.to_path_lossy().into_owned();
    let mut names = world.list_dir(&directory).unwrap_or_default();
    names.retain(|name| name.as_encoded_bytes().starts_with(b"history"));
    // The script reads the files in directory order, which is arbitrary.
    names.sort();
    let paths = names.into_iter().map(|name| directory.join(name));
    paths.filter(|path| world.stat(path).is_ok_and(|file| file.modified as f64 >= start.floor())).collect()
}

/// Reads the records of all files. A later record of a job replaces the earlier one, at the position of the earlier one.
fn read_records(spool: &BString, start: f64, world: &dyn World) -> Vec<RoutedJobRecord> {
    let mut records: Vec<RoutedJobRecord> = Vec::new();
    let mut places: FxHashMap<BString, usize> = FxHashMap::default();
    for path in history_files(spool, start, world) {
        let Ok(file) = std::fs::File::open(&path) else { continue };
        let lines =
            BufReader::with_capacity(256 << 10, LineEndNormaliser { inner: file, after_return: false });
        for record in HistoryReader::new(lines).map_while(Result::ok) {
            let Some(record) = RoutedJobRecord::from_history(&record) else { continue };
            match places.get(&record.id) {
                Some(&at) => records[at] = record,
                None => {
                    places.insert(record.id.clone(), records.len());
                    records.push(record);
                }
            }
        }
    }
    records
}

/// Returns the report about jobs that completed between `start` and `end`, and the number of records that could not be counted.
fn make_report(
    options: &RouterHistoryOptions,
    spool: &BString,
    start: f64,
    end: f64,
    world: &dyn World,
) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let heading = format!(
        "Routed job history from {} to {}\n\n",
        format_minutes(start, world),
        format_minutes(end, world)
    );
    out.extend_from_slice(heading.as_bytes());
    if options.show_records {
        out.extend_from_slice(b"JobID Status Site Runtime ");
        out.extend_from_slice(if options.show_iwd { b"IWD \n" } else { b"\n" });
    }
    let mut sites: Vec<SiteTotals> = Vec::new();
    let mut by_name: FxHashMap<BString, usize> = FxHashMap::default();
    let mut failed = 0;
    for record in read_records(spool, start, world) {
        let Some(site) = record.route else { continue };
        let (Some(completed), Some(status)) = (record.completed, record.status) else {
            failed += 1;
            continue;
        };
        if completed < start || completed > end {
            continue;
        }
        let letter = char::from(status_letter(status).unwrap_or(b'?'));
        // Python rounds halves to the even number.
        let seconds = record.wall.round_ties_even();
        let at = *by_name.entry(site.clone()).or_insert_with(|| {
            sites.push(SiteTotals { name: site.clone(), ..SiteTotals::default() });
            sites.len() - 1
        });
        let sum = &mut sites[at];
        if letter == 'C' {
            sum.hours += seconds / 3600.0;
            sum.completed += 1;
        } else {
            sum.others += 1;
        }
        if options.show_records {
            out.extend_from_slice(format!("{} {letter} {site} {seconds:.0} ", record.id).as_bytes());
            if options.show_iwd {
                out.extend_from_slice(&record.iwd);
                out.push(b' ');
            }
            out.push(b'\n');
        }
    }
    if !options.show_records {
        write_summary(&mut sites, &mut out);
    }
    (out, failed)
}

/// Reader that converts `\r` and `\r\n` to `\n`, as Python does when it reads a text file.
struct LineEndNormaliser<R> {
    inner: R,
    /// True if the last byte was `\r`, so that a following `\n` is skipped.
    after_return: bool,
}

impl<R: Read> Read for LineEndNormaliser<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.inner.read(buffer)?;
            let mut kept = 0;
            for at in 0..length {
                let byte = buffer[at];
                let belongs = byte == b'\n' && std::mem::take(&mut self.after_return);
                if !belongs {
                    self.after_return = byte == b'\r';
                    buffer[kept] = if self.after_return { b'\n' } else { byte };
                    kept += 1;
                }
            }
            if kept > 0 || length == 0 {
                return Ok(kept);
            }
        }
    }
}

/// Values of a history record that the report needs.
struct RoutedJobRecord {
    id: BString,
    route: Option<BString>,
    completed: Option<f64>,
    status: Option<i64>,
    wall: f64,
    iwd: BString,
}

impl RoutedJobRecord {
    /// Reads the values of a history record; returns `None` for a record without job ids.
    fn from_history(record: &HistoryRecord) -> Option<RoutedJobRecord> {
        let raw = |name: &str| record.raw_value(name.as_bytes()).filter(|text| !text.is_empty());
        let number = |name: &str| raw(name).and_then(|text| parse_float(text.to_str().ok()?));
        let id = [raw("ClusterId")?.as_bytes(), b".", raw("ProcId")?].concat();
        let route = raw("RouteName").or_else(|| raw("RoutedFromRoute"));
        let iwd = raw("SUBMIT_Iwd").unwrap_or_default();
        let unquoted = iwd.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        Some(RoutedJobRecord {
            id: id.into(),
            route: route.map(|text| text.replace("\"", "").into()),
            completed: number("CompletionDate"),
            status: raw("JobStatus").and_then(|text| python_number(text.to_str().ok()?)?.parse().ok()),
            wall: number("RemoteWallClockTime").unwrap_or(0.0),
            iwd: unquoted.unwrap_or(iwd).into(),
        })
    }
}

/// Returns the letter for a JobStatus, or `None`. Like Python, counts a negative index from the end.
fn status_letter(status: i64) -> Option<u8> {
    let at = if status < 0 { status.checked_add_unsigned(STATUS_LETTERS.len() as u64)? } else { status };
    STATUS_LETTERS.get(usize::try_from(at).ok()?).copied()
}

fn write_summary(sites: &mut [SiteTotals], out: &mut Vec<u8>) {
    // Sites are sorted by hours of completed jobs, most hours first. The script fails for equal hours; here they are sorted by
    // name.
    sites.sort_by(|a, b| b.hours.total_cmp(&a.hours).then_with(|| a.name.cmp(&b.name)));
    write_row(out, b"Site", ["Hours", "Jobs", "   Runs"]);
    write_row(out, b"", ["", "Completed", "Aborted"]);
    out.extend_from_slice(format!("{RULER}\n").as_bytes());
    let mut total = SiteTotals { name: "TOTAL".into(), ..SiteTotals::default() };
    for site in &*sites {
        total.hours += site.hours;
        total.completed += site.completed;
        total.others += site.others;
        site.write_totals(out);
    }
    out.extend_from_slice(format!("{RULER}\n").as_bytes());
    total.write_totals(out);
}

impl SiteTotals {
    fn write_totals(&self, out: &mut Vec<u8>) {
        write_row(
            out,
            &self.name,
            [&round_hours(self.hours), &self.completed.to_string(), &self.others.to_string()],
        );
    }
}

fn write_row(out: &mut Vec<u8>, name: &[u8], [hours, jobs, runs]: [&str; 3]) {
    out.extend_from_slice(name);
    out.resize(out.len() + 15usize.saturating_sub(name.to_str_lossy().chars().count()), b' ');
    out.extend_from_slice(format!(" {hours:>5} {jobs:>7} {runs:>5}\n").as_bytes());
}

/// Formats hours as Python's `int(round())` does: halves are rounded to the even number, and zero has no minus sign.
fn round_hours(hours: f64) -> String {
    format!("{:.0}", hours.round_ties_even() + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_rounded_as_python_rounds() {
        let shown = [-0.001, -0.5, 0.5, 1.5, 2.5, -1.6].map(round_hours);
        assert_eq!(shown, ["0", "0", "0", "2", "2", "-2"]);
    }

    #[test]
    fn a_lone_carriage_return_ends_a_line() {
        let inner = (&b"a\rb\r"[..]).chain(&b"\n"[..]).chain(&b"\nc\r\nd\r\r\n"[..]).chain(&b"e"[..]);
        let mut text = String::new();
        LineEndNormaliser { inner, after_return: false }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb\n\nc\nd\n\ne");
    }
}
