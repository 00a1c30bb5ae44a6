//! Recordings without events: parameters set by a template (`config/`), and slots created from a
//! configuration of resources (`cases/NAME/slots`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use htc_hooks::classad::format::long;
use htc_hooks::slot::{ExecutionPoint, StartdEvent};
use htc_hooks::time::ClockReading;

use super::super::findings::Difference;
use super::super::{Outcome, Result};
use super::ads;
use super::fixture::Fixture;

/// Parameters with a random number, or with the number of processors of the recorded machine.
const RANDOM_PARAMETERS: [&str; 2] = ["PERIODIC_CHECKPOINT", "CpusUsage"];

/// Returns true if a directory contains such a recording.
pub fn is_one(directory: &Path) -> bool {
    !directory.join("events.jsonl").exists()
        && (directory.join("config").is_dir()
            || cases(directory).iter().any(|case| case.join("slots").exists()))
}

/// Computes everything and compares it.
pub fn fill(directory: &Path, outcome: &mut Outcome) -> Result<()> {
    let base = read(&directory.join("condor_config"))?;
    for path in entries(&directory.join("config")) {
        template(&base, &path, outcome)?;
    }
    for case in cases(directory) {
        let fixture =
            Fixture::of(&format!("{base}\n{}", read(&case.join("config"))?), &directory.join("scripts"))?;
        slots(&fixture, &case, outcome)?;
    }
    Ok(())
}

/// Compares the parameters that a template sets. The lines after `#   ` were added to the configuration; the
/// following lines are the output of condor_config_val.
fn template(base: &str, path: &Path, outcome: &mut Outcome) -> Result<()> {
    let text = read(path)?;
    let added: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let fixture = Fixture::of(&format!("{base}\n{}\n", added.join("\n")), Path::new(""))?;
    let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let refused =
        text.lines().any(|line| line.starts_with("Config source Error") || line.starts_with("ERROR"));
    let loaded = fixture.config();
    outcome.counts.values.compared += 1;
    if loaded.is_err() != refused {
        let word = |refused: bool| Some(if refused { "refused" } else { "taken" }.to_owned());
        outcome.differences.push(Difference {
            place: place.clone(),
            what: "configuration".to_owned(),
            recorded: word(refused),
            ours: loaded.as_ref().err().cloned().or(word(false)),
        });
    }
    let Ok(config) = loaded else { return Ok(()) };
    let view = config.view(&*fixture.world);
    for (name, recorded) in
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "))
    {
        if refused {
            break;
        }
        let ours =
            view.string(name).ok().flatten().map(|setting| setting.value.to_string().trim().to_owned());
        if RANDOM_PARAMETERS.contains(&name) {
            outcome.counts.values.skipped += 1;
            continue;
        }
        outcome.counts.values.compared += 1;
        if ours.as_deref() != Some(recorded) {
            outcome.differences.push(Difference {
                place: place.clone(),
                what: name.to_owned(),
                recorded: Some(recorded.to_owned()),
                ours,
            });
        }
    }
    Ok(())
}

/// Compares the slots shown by `condor_status -direct`, or the fact that no startd answered.
fn slots(fixture: &Fixture, case: &Path, outcome: &mut Outcome) -> Result<()> {
    let place = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let recorded = ads::parse(&read(&case.join("slots"))?);
    let ended = !read(&case.join("exit"))?.starts_with("still running");
    outcome.counts.values.compared += 1;
    let settings = fixture.settings();
    let mut differ = |what: &str, recorded: Option<String>, ours: Option<String>| {
        let what = what.to_owned();
        outcome.differences.push(Difference { place: place.clone(), what, recorded, ours });
    };
    let settings = match settings {
        Ok(settings) => settings,
        Err(_) if ended => return Ok(()),
        Err(reason) => {
            differ("configuration", Some("taken".to_owned()), Some(reason));
            return Ok(());
        }
    };
    let now = ClockReading::from_epoch(1_795_221_063);
    let mut machine = ExecutionPoint::new(settings, fixture.world.clone(), now);
    drop(machine.step(now, StartdEvent::Start));
    // Without slots our program ends, while a startd continues.
    if machine.is_finished() != ended && machine.slots().next().is_some() {
        let word = |ended: bool| Some(if ended { "ended" } else { "still running" }.to_owned());
        differ("daemon", word(ended), word(!ended));
    }
    if ended {
        return Ok(());
    }
    let keys: Vec<_> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
    let mut ours = BTreeMap::new();
    for (key, id) in keys {
        if let Some(ad) = machine.sent_ad(key) {
            let text = fixture.take_out(&String::from_utf8_lossy(&long::print(&ad)));
            ours.insert(id, ads::attributes_of(&text));
        }
    }
    if recorded.keys().ne(ours.keys()) {
        let names =
            |ads: &BTreeMap<String, ads::Attributes>| Some(ads.keys().cloned().collect::<Vec<_>>().join(" "));
        differ("slots", names(&recorded), names(&ours));
    }
    let mut compared = 0;
    for (slot, then) in &recorded {
        let Some(now) = ours.get(slot) else { continue };
        for (name, value) in then.iter().filter(|(name, _)| !ads::is_without_counterpart(name)) {
            compared += 1;
            if now.get(name) != Some(value) {
                differ(&format!("{slot} {name}"), Some(value.clone()), now.get(name).cloned());
            }
        }
    }
    outcome.counts.values.compared += compared;
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn cases(directory: &Path) -> Vec<PathBuf> {
    entries(&directory.join("cases"))
}
