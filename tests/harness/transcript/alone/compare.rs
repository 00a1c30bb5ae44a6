//! Compares the result of a case with its recording.

use std::collections::BTreeMap;
use std::fs;

use super::super::calls::Call;
use super::super::findings::{Findings, attributes};
use super::super::normalise;
use super::super::play::PlayedCase;
use super::super::scenario::LayoutEntry;
use super::case::{Case, Queue};
use super::layout::{Fixture, Listing, Listings, recorded_line};
use super::log;

/// Parts of the names of attributes in a summary of a result ad.
const END_NAME_PARTS: [&str; 4] = ["Exit", "JobState", "JobCoreDumped", "Exception"];
/// The same for an ad in the queue.
const IN_QUEUE: [&str; 7] =
    ["ExitCode", "ExitBySignal", "ExitSignal", "HoldReason", "JobCoreDumped", "JobStatus", "Exception"];

/// Compares status, result ad, calls, files and leftovers.
pub fn compare(
    case: &Case,
    fixture: &Fixture,
    listings: &Listings,
    played: &PlayedCase,
    calls: &[Call],
    findings: &mut Findings<'_>,
) {
    // For pools, the calls of plugins and runtimes are recorded, but not earlier queries of them.
    let expected = |call: &Call| {
        let asks = call.argv.get(1).is_some_and(|word| word == "-classad");
        !case.in_iwd || (!asks && case.calls.iter().any(|then| then.name == call.name))
    };
    let calls: &[Call] = &calls.iter().filter(|call| expected(call)).cloned().collect::<Vec<_>>();
    let place = case.name.as_str();
    if case.run.exit != played.exit {
        let reason = played.stderr.lines().next().unwrap_or_default();
        let ends = |end: String| BTreeMap::from([("status".to_owned(), end)]);
        let ours = format!("{} ({reason})", played.exit);
        findings.maps(place, "exit", &ends(case.run.exit.clone()), &ends(ours));
    }
    // A starter that its recorder killed ran its job forever or not at all; the number of calls is random.
    if case.run.exit.starts_with("still running") {
        return;
    }
    let printed = attributes(&played.stdout);
    match &case.result {
        None => findings.maps(place, "result-ad", &attributes(&case.run.stdout), &printed),
        Some(told) => {
            let tells = |name: &String| match case.in_iwd {
                true => IN_QUEUE.iter().any(|part| name.starts_with(part)) && !name.starts_with("Last"),
                false => END_NAME_PARTS.iter().any(|part| name.contains(part)),
            };
            let plain = |(name, value): (String, String)| (name, log::line(&value));
            let printed = printed.into_iter().filter(|(name, _)| tells(name)).map(plain);
            // For a job that is not done the recording contains only differences from another job, so equal
            // attributes about its end are not listed.
            let is_done = told.get("JobStatus").is_none_or(|status| status == "4");
            let seen = |name: &String| {
                let of_end = name.starts_with("Exit") || name == "JobCoreDumped";
                !case.in_iwd || is_done || !of_end || told.contains_key(name)
            };
            let printed = printed.filter(|(name, _)| seen(name)).collect();
            let told = told.clone().into_iter().map(plain).collect();
            findings.maps(place, "result-ad", &told, &printed);
        }
    }
    if let Some(queue) = &case.queue {
        in_queue(place, queue, &attributes(&played.stdout), findings);
    }
    let kinds = |calls: &[Call]| calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>().join(" ");
    // For pools, calls are recorded only where they matter.
    let recorded = !case.in_iwd || !case.calls.is_empty();
    if recorded && kinds(&case.calls) != kinds(calls) {
        let names = |calls: &[Call]| BTreeMap::from([("names".to_owned(), kinds(calls))]);
        findings.maps(place, "calls", &names(&case.calls), &names(calls));
    }
    for (then, now) in case.calls.iter().zip(calls).filter(|(then, now)| then.name == now.name) {
        let mut then = then.clone();
        let plain = |argv: &[String]| argv.iter().map(|word| normalise::word(word)).collect::<Vec<_>>();
        then.argv = plain(&then.argv);
        let mut now = now.clone();
        now.argv = plain(&now.argv);
        if !case.recorded {
            now.job_ad = None;
        }
        findings.call(&format!("{place} {}", then.label), &then, &now);
    }
    if let Some(then) = &case.log {
        let now = fs::read(fixture.stage.local.join("iwd/log")).unwrap_or_default();
        let events = |text: &[u8]| log::events(&String::from_utf8_lossy(text));
        findings.maps(place, "log", &events(then), &events(&fixture.stage.take_out(&now)));
    }
    files(case, fixture, findings);
    modes(case, listings, findings);
}

/// Compares the whole final ad in the queue.
fn in_queue(place: &str, queue: &Queue, ours: &BTreeMap<String, String>, findings: &mut Findings<'_>) {
    let plain = |values: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        values.iter().map(|(name, value)| (name.clone(), log::line(value))).collect()
    };
    let ours = plain(ours);
    let mut then = plain(&queue.known);
    for (name, value) in plain(&queue.perhaps) {
        match ours.contains_key(&name) {
            true => drop(then.entry(name).or_insert(value)),
            false => findings.counts.values.skipped += usize::from(!then.contains_key(&name)),
        }
    }
    findings.maps(place, "queue-ad", &then, &ours);
}

/// Compares the contents of recorded files; files that existed before are not compared again.
fn files(case: &Case, fixture: &Fixture, findings: &mut Findings<'_>) {
    for (name, then) in &case.files {
        let Ok(now) = fs::read(fixture.stage.local.join(name)) else {
            findings.counts.values.compared += 1;
            findings.differ(&case.name, name, Some("a file".to_owned()), None);
            continue;
        };
        // Some jobs return the machine's name.
        if then.trim_ascii() == b"@HOST@" && fs::read("/etc/hostname").is_ok_and(|own| own == now) {
            findings.counts.values.compared += 1;
            continue;
        }
        let text = |bytes: &[u8]| normalise::file(&String::from_utf8_lossy(bytes));
        let (then, now) = (text(then), text(&fixture.stage.take_out(&now)));
        if then == now {
            findings.counts.values.compared += 1;
            continue;
        }
        let differs = |(then, now): &(&str, &str)| then != now;
        let (left, right) = then.lines().zip(now.lines()).find(differs).unwrap_or_else(|| {
            let at = then.lines().count().min(now.lines().count());
            (then.lines().nth(at).unwrap_or(""), now.lines().nth(at).unwrap_or(""))
        });
        let lines = BTreeMap::from([(name.clone(), left.to_owned())]);
        findings.maps(&case.name, "file", &lines, &BTreeMap::from([(name.clone(), right.to_owned())]));
    }
}

/// Compares modes and owners of the files in iwd/, state/ and EXECUTE afterwards.
fn modes(case: &Case, Listings { before, after }: &Listings, findings: &mut Findings<'_>) {
    let of = |listing: &Listing, top: &[&str]| -> BTreeMap<String, String> {
        let expected = |name: &str| top.iter().any(|top| name.starts_with(&format!("{top}/")));
        listing.iter().filter(|(name, _)| expected(name)).cloned().collect()
    };
    let recorded = |entries: &[LayoutEntry]| -> BTreeMap<String, String> {
        let real = entries.iter().filter(|entry| !entry.path.is_empty() && !entry.path.ends_with(".."));
        real.map(|entry| (normalise::scratch(&entry.path), recorded_line(entry))).collect()
    };
    if let Some(then) = &case.after {
        let (mut then, mut now) = (recorded(then), of(after, &["iwd", "state"]));
        // For pools, the contents of files are compared; additional files depend on the machine.
        if case.in_iwd {
            then.retain(|name, _| now.contains_key(name));
            now.retain(|name, _| then.contains_key(name));
        }
        findings.maps(&case.name, "mode", &then, &now);
    }
    if let Some(changes) = &case.changes {
        // The lines of a difference contain no directory.
        let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        let then: BTreeMap<String, String> = changes
            .iter()
            .filter(|(more, _)| *more)
            .map(|(_, entry)| (base(&entry.path), recorded_line(entry)))
            .collect();
        let known = of(before, &["iwd", "state"]);
        let now = of(after, &["iwd", "state"]);
        let now = now.into_iter().filter(|(name, line)| known.get(name) != Some(line));
        let now: BTreeMap<String, String> = now.map(|(name, line)| (base(&name), line)).collect();
        // A file of which only the size changed is listed as well, but sizes are not compared.
        let same: Vec<String> = then.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        let mut then = then;
        for name in same {
            if known.iter().any(|(path, line)| base(path) == name && Some(line) == then.get(&name)) {
                then.remove(&name);
            }
        }
        findings.maps(&case.name, "mode", &then, &now);
    }
    let then: BTreeMap<String, String> =
        recorded(&case.left).into_iter().filter(|(name, _)| name.starts_with("execute/")).collect();
    let now = of(after, &["execute"]);
    if then.is_empty() && !case.left_names.is_empty() {
        let there = |name: &String| (normalise::scratch(name), "there".to_owned());
        let then = case.left_names.iter().map(there).collect();
        return findings.maps(&case.name, "left", &then, &now.keys().map(there).collect());
    }
    findings.maps(&case.name, "left", &then, &now);
}
