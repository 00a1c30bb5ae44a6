//! A simulation as a picture and as a page.

use std::collections::BTreeMap;

use super::simulate_report::report;
use crate::cli::common::{Painter, When};
use crate::picture::{self, Change, Lane, MarkKind, Stay};
use crate::simulate::summary::{Summary, pair_name};
use crate::simulate::timeline::{COLUMNS, Mark, Timeline, pair};
use crate::simulate::times::written;
use crate::slot::{Activity, State};
use crate::text::calendar::Civil;
use crate::text::count::thousands;

/// The timeline alone.
pub(super) fn svg(timeline: &Timeline, rows: &[String], summary: &Summary) -> String {
    let names: Vec<String> =
        (0..State::ALL.len() * Activity::ALL.len()).map(|number| pair_name(pair(number))).collect();
    let length = timeline.length as f64 / 1e6;
    let lane = |(at, row): (usize, &crate::simulate::timeline::Row)| Lane {
        name: rows.get(at).map_or("?", String::as_str),
        stays: stays(row, length, &names),
        marks: row
            .marks
            .iter()
            .map(|(at, mark)| {
                let kind = match mark {
                    Mark::Preempted => MarkKind::Preempted,
                    Mark::Refused => MarkKind::Refused,
                };
                (*at as f64 / 1e6, kind)
            })
            .collect(),
    };
    let lanes = timeline.rows.iter().enumerate().map(lane).collect();
    let start = summary.start;
    let offset = i64::from(crate::classad::Zone::local(start).offset);
    let when = |seconds: f64| {
        let Civil { month, day, hour, minute, .. } = Civil::at(start + seconds as i64, offset);
        format!("{month:02}-{day:02} {hour:02}:{minute:02}")
    };
    picture::timeline(lanes, length, &when)
}

fn stays<'a>(row: &crate::simulate::timeline::Row, length: f64, names: &'a [String]) -> Vec<Stay<'a>> {
    let name = |number: u8| names.get(usize::from(number)).map_or("", String::as_str);
    if row.columns.is_empty() {
        let stay = |(number, from, to): &(u8, u64, u64)| Stay {
            name: name(*number),
            from: *from as f64 / 1e6,
            to: *to as f64 / 1e6,
        };
        return row.stays.iter().map(stay).collect();
    }
    // Within a column only the shares are known.
    let width = length / COLUMNS as f64;
    let mut columns: Vec<&(u16, u8, f32)> = row.columns.iter().collect();
    columns.sort_by_key(|(column, number, _)| (*column, *number));
    let mut all: Vec<Stay<'a>> = Vec::new();
    let (mut at, mut present) = (0.0, u16::MAX);
    for (column, number, seconds) in columns {
        if *column != present {
            (at, present) = (f64::from(*column) * width, *column);
        }
        let to = at + f64::from(*seconds);
        match all.last_mut().filter(|last| last.name == name(*number) && (last.to - at).abs() < width * 0.01)
        {
            Some(last) => last.to = to,
            None => all.push(Stay { name: name(*number), from: at, to }),
        }
        at = to;
    }
    all
}

/// Timeline, diagram of states, summary.
pub(super) fn page(timeline: &Timeline, rows: &[String], summary: &Summary) -> String {
    let changes: Vec<Change> = summary
        .transitions
        .iter()
        .map(|it| Change { from: it.from.clone(), to: it.to.clone(), count: it.count })
        .collect();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    for (name, spent) in summary.slot_types.iter().flat_map(|it| &it.states) {
        *seconds.entry(name.clone()).or_default() += spent;
    }
    let pictures = [
        ("Slots over time", svg(timeline, rows, summary)),
        ("States, and how often slots went from one to another", picture::diagram(&changes, &seconds)),
    ];
    let slots = if summary.slots == 1 { "slot" } else { "slots" };
    let title = format!("{} {slots}, {}", thousands(summary.slots), written(summary.length));
    picture::html(&title, &pictures, &report(summary, Painter::stdout(When::Never)))
}
