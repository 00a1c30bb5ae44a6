//! A recording of the job router: configuration, hook calls, queue log, and the router's own log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use htc_hooks::job::JobId;
use htc_hooks::process::Exit;

use super::super::Result;
use super::events::{self, UserLogEvent};
use super::second;
use super::units::{self, Kind, Unit};

/// A hook call, from the table in README.md and the directory of the call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number and name.
    pub label: String,
    /// Name of the recorder, which is the last part of the configured path.
    pub hook: String,
    /// The source job, if known.
    pub source: Option<JobId>,
    /// True if the job was read from the call's own standard input.
    pub is_certain: bool,
    /// Start time, in seconds since the epoch.
    pub start: f64,
    /// Duration, or `None` if it never ended.
    pub lasted: Option<f64>,
    /// Exit of the hook.
    pub exit: Exit,
    /// Its standard input, if recorded.
    pub stdin: Option<String>,
    /// Its output, if recorded.
    pub stdout: Option<Vec<u8>>,
    /// Length of its output.
    pub printed: usize,
}

/// A message of the router about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobMessage {
    /// Key of the source job.
    pub source: String,
    /// The message.
    pub text: String,
}

/// The recording.
pub struct Recording {
    /// `condor_config`, with placeholders.
    pub config: String,
    /// The queue log.
    pub units: Vec<Unit>,
    /// True if copies go to another queue, whose log is reconstructed.
    pub has_second: bool,
    /// Calls in order of start.
    pub calls: Vec<Call>,
    /// True if the table does not list all calls.
    pub has_more_calls: bool,
    /// Behaviour of hooks by name of the recorder.
    pub behaviours: Vec<(String, String)>,
    /// Start times of the daemon, in seconds since the epoch.
    pub lives: Vec<f64>,
    /// Times of its polls, in seconds since the epoch.
    pub polls: Vec<f64>,
    /// Sizes of the queue log: seconds since the epoch, and bytes; empty if they were not recorded.
    pub sizes: Vec<(f64, u64)>,
    /// Times at which it evaluated periodic expressions, in seconds since the epoch; empty if they can only
    /// be inferred.
    pub periodic: Vec<f64>,
    /// Its messages about jobs.
    pub messages: Vec<JobMessage>,
    /// Events in the user logs of source jobs.
    pub events: Vec<UserLogEvent>,
    /// True if its log was cut.
    pub is_log_cut: bool,
    /// The last second that is completely recorded.
    pub end: f64,
    /// The second in which it was stopped.
    pub stopped: f64,
}

/// Maximum duration of one poll, in seconds.
const MAX_POLL_SECONDS: f64 = 1.5;
/// Maximum number of recorded log lines; a log of this length was cut.
const LOG_LINES: usize = 260;

/// Reads the text of a file in a recording.
pub fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns true if this directory is a recording of the router.
pub fn is_one(directory: &Path) -> bool {
    directory.join("JobRouterLog.extract").exists() && directory.join("job_queue.log").exists()
}

/// Returns the seconds since the epoch that a recorder stored, one per line; empty if it stored none.
fn noted(directory: &Path, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(directory.join(name)).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Returns the sizes of the queue log with their times, if they were recorded.
fn sizes(directory: &Path) -> Vec<(f64, u64)> {
    let text = fs::read_to_string(directory.join("sizes.txt")).unwrap_or_default();
    let pair = |line: &str| {
        let (at, size) = line.split_once(' ')?;
        Some((at.parse().ok()?, size.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// Returns the value of a line `name = value`.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
}

fn id_in(text: &str) -> Option<JobId> {
    let part = |name| attribute(text, name)?.trim().parse().ok();
    Some(JobId::new(part("ClusterId")?, part("ProcId")?))
}

impl Recording {
    /// Returns the size of the queue log at a time, if known.
    pub fn size_at(&self, at: f64) -> Option<u64> {
        let after = self.sizes.partition_point(|(since, _)| *since <= at);
        (!self.sizes.is_empty()).then(|| after.checked_sub(1).map_or(0, |last| self.sizes[last].1))
    }

    /// Reads a directory. `extra` is the number of additional polls in long times without traces.
    pub fn read(directory: &Path, extra: i32) -> Result<Self> {
        let mut config = read(&directory.join("condor_config"))?;
        let name = config
            .lines()
            .find_map(|line| line.strip_prefix("JOB_ROUTER_NAME")?.trim_start().strip_prefix('='))
            .map_or("jobrouter", str::trim)
            .to_owned();
        let log = read(&directory.join("JobRouterLog.extract"))?;
        let readme = read(&directory.join("README.md"))?;
        let timeline = read(&directory.join("timeline.txt"))?;
        let period = config
            .lines()
            .find_map(|line| line.strip_prefix("JOB_ROUTER_POLLING_PERIOD = ")?.trim().parse().ok())
            .unwrap_or(10.0);
        let mut calls = Vec::new();
        let mut has_more_calls = false;
        for row in readme.lines().filter(|line| line.starts_with('|')) {
            has_more_calls |= row.contains("more calls of kinds shown");
            calls.extend(call(directory, row));
        }
        calls.sort_by(|a: &Call, b: &Call| a.start.total_cmp(&b.start));
        let answers =
            calls.iter().filter(|call| call.hook.contains("UPDATE")).filter_map(|call| call.stdout.as_ref());
        let mut answered = BTreeSet::from(["lastjobstatus".to_owned()]);
        for answer in answers {
            let text = String::from_utf8_lossy(answer).into_owned();
            answered
                .extend(text.lines().filter_map(|line| Some(line.split_once('=')?.0.trim().to_lowercase())));
        }
        let mut units = units::cut(&read(&directory.join("job_queue.log"))?, &name, &answered);
        let lines = timed(&log);
        let zero = match noted(directory, "zero.txt").first() {
            Some(zero) => *zero,
            None => zero_of(&lines, &calls, &timeline, &units),
        };
        let has_second = second::merge(directory, &name, &answered, zero, &mut units)?;
        for call in &mut calls {
            call.start += zero;
        }
        // The recorder stored the end times of its own commands.
        let commands = timeline.lines().filter(|line| {
            ["* condor_rm", "* condor_hold", "* condor_release"].iter().any(|word| line.contains(word))
        });
        let by_hand = || units.iter().enumerate().filter(|(_, unit)| unit.by_hand).map(|(at, _)| at);
        let hands: Vec<usize> = by_hand().collect();
        if hands.len() == commands.clone().count() {
            for (at, line) in hands.into_iter().zip(commands) {
                if let Some(seconds) = seconds_of(line) {
                    units[at].after = units[at].after.max(zero + seconds - 0.1);
                    units[at].before = units[at].before.min(zero + seconds + 0.2);
                }
            }
        }
        // A claim is followed by its submission as soon as the translate hook has ended.
        for claim in 0..units.len() {
            let Some((source, Kind::Claim)) = units[claim].router else { continue };
            let next = units[claim + 1..]
                .iter()
                .find(|unit| unit.router.is_some_and(|(id, kind)| id == source && !kind.is_of_copy()));
            let Some(next) = next.filter(|unit| matches!(unit.router, Some((_, Kind::Submit(_))))) else {
                continue;
            };
            let slow = calls.iter().filter(|call| call.source == Some(source)).filter_map(|call| call.lasted);
            let begun = next.stamp.unwrap_or(0.0) - slow.fold(0.0, f64::max) - 0.5;
            units[claim].after = units[claim].after.max(begun);
        }
        let mut after = 0.0_f64;
        for unit in &mut units {
            after = after.max(unit.after);
            unit.after = after;
        }
        // If sizes of the log were recorded, they give the time of each entry; a poll takes a while on a
        // loaded machine.
        let grown = sizes(directory);
        for unit in units.iter_mut().filter(|_| !grown.is_empty()) {
            if let Some((at, _)) = grown.iter().find(|(_, size)| *size >= unit.end) {
                (unit.after, unit.before) = (at - MAX_POLL_SECONDS, at + 0.05);
            }
        }
        let known = timeline.lines().map_while(|line| match line {
            // The following lines are omitted.
            "... (the same goes on)" => None,
            line => Some(line),
        });
        let known: Vec<&str> = known.collect();
        // Of a configuration that was changed, only the last state is recorded; the earlier token settings
        // are in the log.
        let reconfig = known.iter().find(|line| line.contains("* condor_reconfig"));
        if reconfig.is_some()
            && let Some(names) =
                lines.iter().find_map(|(_, text)| text.strip_prefix("JobRouter::refreshIDTokens - "))
        {
            config.push_str(&format!("JOB_ROUTER_CREATE_IDTOKEN_NAMES = {names}\n"));
        }
        let stopping = known.iter().find(|line| line.contains("* stopping"));
        let last = reconfig.or(stopping).or(known.last()).and_then(|line| seconds_of(line)).unwrap_or(0.0);
        let is_part = reconfig.is_some() || known.len() < timeline.lines().count();
        let end = zero + last;
        if is_part {
            // Later events are not compared.
            units.retain(|unit| unit.after <= end);
            calls.retain(|call| call.start <= end);
        }
        let lives: Vec<f64> =
            lines.iter().filter(|(_, text)| text.starts_with("main_init")).map(|(at, _)| *at).collect();
        let ends: Vec<f64> =
            lines.iter().filter(|(_, text)| text.starts_with("ERROR \"")).map(|(at, _)| *at).collect();
        let mut polls = Vec::new();
        for (number, &begun) in lives.iter().enumerate() {
            let next = lives.get(number + 1).copied().unwrap_or(f64::INFINITY);
            let died = ends.iter().copied().find(|at| *at >= begun && *at < next).unwrap_or(f64::INFINITY);
            // Before the schedd's log existed, or before the first job, its polls found nothing.
            let first = lines.iter().find(|(at, text)| {
                *at >= begun && (text.contains("Found candidate") || text.contains("orphan"))
            });
            let first = first.map_or(begun, |(at, _)| *at);
            // If more of the log was recorded, each poll shows in it, because it logs the routing table.
            let more = read(&directory.join("throttle.extract")).unwrap_or_default();
            let tables: Vec<f64> = timed(&more).iter().map(|(at, _)| at + 0.5).collect();
            let claims: Vec<f64> = match tables.is_empty() {
                false => tables,
                true => timeline
                    .lines()
                    .filter(|line| line.contains("M=External") && !line.contains("to="))
                    .filter_map(|line| Some(zero + seconds_of(line)? - 0.4))
                    .collect(),
            };
            let looks = polls_of(begun, died.min(end - 0.2), period, &calls, &lines, &claims, extra);
            polls.extend(looks.into_iter().filter(|at| *at >= first - 0.1));
            for (second, _) in timed(&more) {
                // A logged poll occurred in that second.
                let near = polls
                    .iter_mut()
                    .min_by(|a, b| (**a - second - 0.5).abs().total_cmp(&(**b - second - 0.5).abs()));
                if let Some(near) = near.filter(|at| (**at - second - 0.5).abs() < 0.5 * period) {
                    *near = near.clamp(second + 0.05, second + 0.95);
                }
            }
        }
        // Some recorders stored the times of the log in milliseconds.
        let looked = noted(directory, "polls.txt");
        if !looked.is_empty() {
            polls = looked.into_iter().filter(|at| *at <= end - 0.2).collect();
        }
        let mut behaviours = Vec::new();
        if let Ok(entries) = fs::read_dir(directory.join("behave")) {
            for entry in entries.flatten() {
                behaviours.push((entry.file_name().to_string_lossy().into_owned(), read(&entry.path())?));
            }
        }
        for call in &calls {
            if behaviours.iter().all(|(name, _)| *name != call.hook) {
                behaviours.push((call.hook.clone(), "#!/bin/sh\ncat >/dev/null\n".to_owned()));
            }
        }
        Ok(Recording {
            config,
            units,
            has_second,
            calls,
            has_more_calls,
            behaviours,
            lives,
            polls,
            sizes: sizes(directory),
            periodic: noted(directory, "periodic.txt"),
            messages: job_messages(&log),
            events: events::recorded(directory),
            stopped: timeline
                .lines()
                .find(|line| line.contains("* stopping"))
                .and_then(seconds_of)
                .map_or(end, |seconds| zero + seconds),
            is_log_cut: is_part
                || (log.lines().count() >= LOG_LINES && !directory.join("JobRouterLog.full").exists()),
            end,
        })
    }
}

/// Returns the recorder's clock at the beginning of a line of its timeline.
pub fn seconds_of(line: &str) -> Option<f64> {
    line.split_whitespace().next()?.parse().ok()
}

/// Parses one row of the table of calls.
fn call(directory: &Path, row: &str) -> Option<Call> {
    let columns: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, number, start, hook, job, _, printed, end, ..] = columns.as_slice() else { return None };
    let start = start.parse().ok()?;
    let number = number.trim_matches(['(', ')']);
    let folder = directory.join("hooks").join(format!("{number}-{hook}"));
    let stdin = fs::read(folder.join("stdin")).ok().map(|text| String::from_utf8_lossy(&text).into_owned());
    let stdout = fs::read(folder.join("stdout")).ok();
    let told = job.split_whitespace().collect::<Vec<_>>();
    let told = match told.as_slice() {
        [_, "from", source, ..] => JobId::parse_key(source.as_bytes()),
        [first, ..] => JobId::parse_key(first.as_bytes()),
        [] => None,
    };
    // Jobs with several procs share a row's number, so the call's own input is more reliable.
    let own = stdin.as_deref().and_then(|text| {
        let from = attribute(text, "RoutedFromJobId").map(|from| from.trim_matches('"'));
        let two = text.contains("\n------\n");
        match from {
            Some(from) if !two => JobId::parse_key(from.as_bytes()),
            _ => id_in(text),
        }
    });
    let mut words = end.split_whitespace();
    let (exit, lasted) = match (words.next(), words.next().and_then(|word| word.parse::<i32>().ok())) {
        (Some("exited"), Some(code)) => (Exit::Code(u8::try_from(code).unwrap_or(255)), true),
        (Some("signal"), Some(number)) => (Exit::Signal { number, core_dumped: false }, true),
        _ => (Exit::Code(0), false),
    };
    let seconds =
        end.split(" after ").nth(1).and_then(|text| text.trim_end_matches(" s").trim().parse().ok());
    Some(Call {
        label: format!("{number}-{hook}"),
        hook: (*hook).to_owned(),
        source: own.or(told),
        is_certain: own.is_some(),
        start,
        lasted: lasted.then_some(seconds.unwrap_or(0.01)),
        exit,
        stdin,
        stdout,
        printed: printed.parse().unwrap_or(0),
    })
}

/// Returns the lines of a daemon's log with their times in seconds since the epoch.
pub fn timed(log: &str) -> Vec<(f64, &str)> {
    log.lines()
        .filter_map(|line| {
            let (stamp, text) = line.split_at_checked(18)?;
            let number = |range: std::ops::Range<usize>| stamp.get(range)?.parse::<i64>().ok();
            let (month, day, year) = (number(0..2)?, number(3..5)?, number(6..8)? + 2000);
            let (hour, minute, second) = (number(9..11)?, number(12..14)?, number(15..17)?);
            Some((seconds_of_civil([year, month, day], [hour, minute, second]), text))
        })
        .collect()
}

/// Returns the seconds since the epoch of a date and a time of day in UTC.
pub fn seconds_of_civil([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> f64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (((days * 24 + hour) * 60 + minute) * 60) as f64 + second as f64
}

/// Returns the time at which the recorder's clock was zero, in seconds since the epoch: the value that agrees
/// best with all timestamps.
fn zero_of(lines: &[(f64, &str)], calls: &[Call], timeline: &str, units: &[Unit]) -> f64 {
    let named = |line: &&(f64, &str), call: &Call| {
        line.1.starts_with("Hook ") && line.1.ends_with(&format!("/{}", call.hook))
    };
    let first =
        calls.first().and_then(|call| Some((call.start, lines.iter().find(|line| named(line, call))?.0)));
    let first = first.or_else(|| {
        // Without hooks, the first submission is used, whose end the recorder stored.
        let unit = units.iter().find(|unit| unit.sets.contains_key("globaljobid"))?;
        let second = unit.sets.get("qdate")?.1.as_deref()?.parse::<f64>().ok()?;
        let line = timeline.lines().find(|line| line.contains("* submit"))?;
        Some((seconds_of(line)?, second))
    });
    let Some((relative, second)) = first else { return lines.first().map_or(0.0, |(at, _)| *at) };
    // The fraction of the second for which most calls start in a second in which the daemon logged a call.
    let last = lines.last().map_or(0.0, |(at, _)| *at);
    let fits = |zero: f64| {
        let covered = calls.iter().filter(|call| zero + call.start < last);
        let hits = covered.filter(|call| {
            let at = (zero + call.start).floor();
            lines.iter().any(|line| line.0 == at && named(&line, call))
        });
        hits.count()
    };
    let grid: Vec<(usize, f64)> = (-2..53)
        .map(|step| second - relative + f64::from(step) * 0.02)
        .map(|zero| (fits(zero), zero))
        .collect();
    let most = grid.iter().map(|(hits, _)| *hits).max().unwrap_or(0);
    let best: Vec<f64> = grid.iter().filter(|(hits, _)| *hits == most).map(|(_, zero)| *zero).collect();
    best.get(best.len() / 2).copied().unwrap_or(second - relative)
}

/// Returns the poll times of a daemon that ran from `begun` to `end`. Each hook starts during a poll, and the
/// other polls are evenly spaced in between; without hooks, the evenly spaced sequence that explains most
/// seconds of the log.
fn polls_of(
    begun: f64,
    end: f64,
    period: f64,
    calls: &[Call],
    lines: &[(f64, &str)],
    claims: &[f64],
    extra: i32,
) -> Vec<f64> {
    let mut anchors: Vec<f64> = Vec::new();
    let mut called: Vec<(&String, Option<JobId>)> = Vec::new();
    for call in calls.iter().filter(|call| call.start >= begun && call.start <= end + 1.0) {
        // Starting many hooks takes a while, but none is called twice for a job in one poll.
        let since = anchors.last().map_or(f64::INFINITY, |last| call.start - last);
        let again = called.contains(&(&call.hook, call.source)) && (call.is_certain || since > 0.4 * period);
        if since > 0.75 * period || (since > 0.3 && again) {
            anchors.push(call.start);
            called.clear();
        }
        called.push((&call.hook, call.source));
    }
    let seconds: Vec<f64> = lines
        .iter()
        .filter(|(at, text)| {
            *at > begun
                && *at <= end
                && (text.contains("claimed job")
                    || text.contains("updated job status")
                    || text.contains("Found candidate"))
        })
        .map(|(at, _)| *at)
        .collect();
    let step = match (anchors.first(), anchors.last()) {
        (Some(first), Some(last)) if last - first > 3.0 * period => {
            let rounds = ((last - first) / (period * 1.017)).round();
            (last - first) / rounds
        }
        _ => period * 1.017,
    };
    if anchors.is_empty() {
        let Some(first) = seconds.first() else { return even(begun + 0.3, end, step) };
        let mut best = (0, *first, step);
        for tenth in 0..20 {
            for stretch in 0..11 {
                let (start, step) =
                    (first + f64::from(tenth) / 20.0, period * (1.0 + f64::from(stretch) * 0.004));
                let hits = seconds.iter().filter(|second| {
                    let round = ((*second - start) / step).ceil().max(0.0);
                    let at = start + round * step;
                    at < *second + 1.0
                });
                let hits = hits.count();
                if hits > best.0 {
                    best = (hits, start, step);
                }
            }
        }
        anchors.push(best.1 + 0.02);
        return spread(begun, end, best.2, &anchors, extra);
    }
    // After the last listed call, claims of jobs show some of the polls.
    for claim in claims.iter().filter(|at| **at < end) {
        if anchors.last().is_some_and(|last| claim - last > 15.0 * period) {
            anchors.push(*claim);
        }
    }
    spread(begun, end, step, &anchors, extra)
}

fn even(from: f64, to: f64, step: f64) -> Vec<f64> {
    if to < from {
        return Vec::new();
    }
    let rounds = ((to - from) / step).max(0.0) as u32;
    (0..=rounds).map(|round| from + f64::from(round) * step).collect()
}

/// Returns the anchors, with polls between, before and after them.
fn spread(begun: f64, end: f64, step: f64, anchors: &[f64], extra: i32) -> Vec<f64> {
    let mut polls = Vec::new();
    let (Some(&first), Some(&last)) = (anchors.first(), anchors.last()) else { return polls };
    let mut at = first - step;
    while at > begun - 0.3 {
        polls.push(at.max(begun + 0.01));
        at -= step;
    }
    polls.reverse();
    for pair in anchors.windows(2) {
        let rounds = ((pair[1] - pair[0]) / step).round();
        let rounds = if rounds > 50.0 { rounds + f64::from(extra) } else { rounds };
        let rounds = rounds.max(1.0) as u32;
        polls.extend(
            (0..rounds).map(|round| pair[0] + (pair[1] - pair[0]) * f64::from(round) / f64::from(rounds)),
        );
    }
    polls.push(last);
    polls.extend(even(last + step, end, step));
    polls
}

/// Returns the router's messages about jobs that both programs print, in order.
pub fn job_messages(log: &str) -> Vec<JobMessage> {
    log.lines().filter_map(|line| job_message(line.get(18..)?)).collect()
}

/// Returns the message in a log line of a router, if it is one that is compared.
pub fn job_message(text: &str) -> Option<JobMessage> {
    let rest = text.strip_prefix("JobRouter ").or_else(|| text.strip_prefix("Job Router "))?;
    let rest = rest.strip_prefix("failure ").unwrap_or(rest).strip_prefix('(')?;
    let (description, text) = rest.split_once("): ")?;
    let source = description.split(',').next()?.strip_prefix("src=")?.to_owned();
    let compared = [
        "claimed job",
        "submitted job",
        "updated job status",
        "updated routed job status",
        "found target job finished",
        "finalized job",
        "yielded job",
        "Cleaned up and removed",
        "dest job was removed!",
        "found src job",
        "failed to find src ad",
        "adopted orphaned",
        "found orphan",
        "Done editing job",
        "failed to submit job",
        "Failed to edit job",
        "JobFailureTest is true",
    ];
    let one =
        compared.iter().find(|start| text.starts_with(**start) && !text.contains("has not yet appeared"))?;
    // The text after a failure depends on the program that refused.
    let text = if one.starts_with("failed") { (*one).to_owned() } else { text.to_owned() };
    Some(JobMessage { source, text })
}
