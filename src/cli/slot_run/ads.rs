//! The slots as they would be: their ads, or a table of them.

use anyhow::Context;

use super::Cli;
use super::load::{self, Loaded};
use crate::classad::format::long;
use crate::cli::common::{Column, Painter, Problem, Session, Status, pipe_ends, table as render};
use crate::os::clock;
use crate::runner::slot::Measure;
use crate::slot::{Event, ExecutionPoint, SlotKey};
use std::io::Write;

/// An execution point that has begun, without hooks: nothing is run.
pub(super) fn at_rest(loaded: Loaded) -> ExecutionPoint {
    let Loaded { mut settings, world, .. } = loaded;
    for slot in &mut settings.slots {
        slot.hooks = None;
    }
    let now = clock::now();
    let mut machine = ExecutionPoint::new(settings, world, now);
    if let Some(measured) = Measure::new(Vec::new()).take() {
        machine.step(now, Event::Measured(Box::new(measured)));
    }
    machine.step(now, Event::Start);
    machine.step(now, Event::Refresh);
    machine
}

/// The slots that were named; all of them without names.
pub(super) fn chosen(machine: &ExecutionPoint, names: &[String]) -> anyhow::Result<Vec<SlotKey>> {
    let all: Vec<(SlotKey, String)> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
    if let Some(missing) = names.iter().find(|name| !all.iter().any(|(_, id)| id.eq_ignore_ascii_case(name)))
    {
        let ids: Vec<&str> = all.iter().map(|(_, id)| id.as_str()).collect();
        return Err(Problem::usage(format!("there is no slot '{missing}'"))
            .hint(format!("the slots are {}", ids.join(", ")))
            .into());
    }
    let wanted = |id: &str| names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(id));
    Ok(all.into_iter().filter(|(_, id)| wanted(id)).map(|(key, _)| key).collect())
}

/// Prints the ads, an empty line between them.
pub(super) fn print(cli: &Cli, session: &Session, names: &[String]) -> anyhow::Result<Status> {
    let loaded = load::load(cli)?;
    load::warn(session, &loaded.warnings);
    let machine = at_rest(loaded);
    let (_, mut output) = pipe_ends();
    for (index, key) in chosen(&machine, names)?.into_iter().enumerate() {
        let Some(ad) = machine.sent_ad(key) else { continue };
        if index > 0 {
            output.write_all(b"\n").context("standard output")?;
        }
        output.write_all(&long::print(&ad)).context("standard output")?;
    }
    output.flush().context("standard output")?;
    Ok(Status::Done)
}

/// `--dry-run`: one line a slot.
pub(super) fn table(cli: &Cli, session: &Session) -> anyhow::Result<Status> {
    let loaded = load::load(cli)?;
    load::warn(session, &loaded.warnings);
    let columns = [
        Column::left("SLOT"),
        Column::left("TYPE"),
        Column::right("CPUS"),
        Column::right("MEMORY"),
        Column::right("DISK"),
        Column::left("KEYWORD"),
        Column::left("FETCH_WORK"),
        Column::left("NOTE"),
    ];
    let rows: Vec<Vec<String>> = loaded
        .settings
        .slots
        .iter()
        .map(|slot| {
            let hooks = slot.hooks.as_ref();
            let cpus = slot.amounts.cpus;
            vec![
                slot.id.clone(),
                slot.kind.name().to_owned(),
                if cpus.fract() == 0.0 { format!("{cpus:.0}") } else { format!("{cpus:.2}") },
                slot.amounts.memory.to_string(),
                slot.amounts.disk.to_string(),
                hooks.map_or_else(String::new, |hooks| hooks.keyword.clone()),
                hooks
                    .and_then(|hooks| hooks.fetch.as_ref())
                    .map_or_else(|| "none".to_owned(), |path| path.display().to_string()),
                slot.broken.as_ref().map_or_else(String::new, |broken| format!("broken: {}", broken.reason)),
            ]
        })
        .collect();
    let (_, mut output) = pipe_ends();
    output
        .write_all(render(&columns, rows, Painter::stdout(cli.output.color)).as_bytes())
        .context("standard output")?;
    output.flush().context("standard output")?;
    Ok(Status::Done)
}
