//! Picture and HTML page of a simulation.

use std::collections::BTreeMap;

use super::simulate_report::render_summary;
use crate::cli::common::{Painter, StyleChoice};
use crate::picture::{self, LaneStay, MarkKind, SlotLane, StateTransition, TimeAxis};
use crate::simulate::timeline::{COLUMNS, Timeline, TimelineMark};
use crate::simulate::times::format_span;
use crate::simulate::{StateActivity, Summary};
use crate::slot::{Activity, SlotState};
use crate::text::calendar::CivilTime;
use crate::text::count::format_thousands;

/// Returns the timeline as an SVG picture.
pub(super) fn timeline_svg(timeline: &Timeline, rows: &[String], summary: &Summary) -> String {
    let names: Vec<String> = (0..SlotState::ALL.len() * Activity::ALL.len())
        .map(|number| StateActivity::from_index(number).to_string())
        .collect();
    let length = timeline.length as f64 / 1e6;
    let lane = |(at, row): (usize, &crate::simulate::timeline::TimelineRow)| SlotLane {
        name: rows.get(at).map_or("?", String::as_str),
        stays: slot_state_times(row, length, &names),
        marks: row
            .marks
            .iter()
            .map(|(at, mark)| {
                let kind = match mark {
                    TimelineMark::Preempted => MarkKind::Preempted,
                    TimelineMark::Refused => MarkKind::Refused,
                };
                (*at as f64 / 1e6, kind)
            })
            .collect(),
    };
    let lanes = timeline.rows.iter().enumerate().map(lane).collect();
    let start = summary.start;
    let offset = i64::from(crate::classad::Zone::local(start).offset);
    let when = |seconds: f64| {
        let CivilTime { month, day, hour, minute, .. } =
            CivilTime::from_seconds(start + seconds as i64, offset);
        format!("{month:02}-{day:02} {hour:02}:{minute:02}")
    };
    let time_of_day = (start + offset).rem_euclid(86_400) as f64;
    picture::draw_timeline(lanes, &TimeAxis { length, time_of_day, format: &when })
}

fn slot_state_times<'a>(
    row: &crate::simulate::timeline::TimelineRow,
    length: f64,
    names: &'a [String],
) -> Vec<LaneStay<'a>> {
    let name = |number: u8| names.get(usize::from(number)).map_or("", String::as_str);
    if row.columns.is_empty() {
        let stay = |(number, from, to): &(u8, u64, u64)| LaneStay {
            name: name(*number),
            from: *from as f64 / 1e6,
            to: *to as f64 / 1e6,
        };
        return row.stays.iter().map(stay).collect();
    }
    // For a column of the picture, only the share of each state is known, not the order of the states.
    let width = length / COLUMNS as f64;
    let mut columns: Vec<&(u16, u8, f32)> = row.columns.iter().collect();
    columns.sort_by_key(|(column, number, _)| (*column, *number));
    let mut all: Vec<LaneStay<'a>> = Vec::new();
    let (mut at, mut present) = (0.0, u16::MAX);
    for (column, number, seconds) in columns {
        if *column != present {
            (at, present) = (f64::from(*column) * width, *column);
        }
        let to = at + f64::from(*seconds);
        match all.last_mut().filter(|last| last.name == name(*number) && (last.to - at).abs() < width * 0.01)
        {
            Some(last) => last.to = to,
            None => all.push(LaneStay { name: name(*number), from: at, to }),
        }
        at = to;
    }
    all
}

/// Returns an HTML page with timeline, state diagram and summary.
pub(super) fn html_page(timeline: &Timeline, rows: &[String], summary: &Summary) -> String {
    let changes: Vec<StateTransition> = summary
        .transitions
        .iter()
        .map(|it| StateTransition { from: it.from.clone(), to: it.to.clone(), count: it.count })
        .collect();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    for (name, spent) in summary.slot_types.iter().flat_map(|it| &it.states) {
        *seconds.entry(name.clone()).or_default() += spent;
    }
    let pictures = [
        ("Slots over time", timeline_svg(timeline, rows, summary)),
        ("States, with the number of changes between them", picture::draw_state_diagram(&changes, &seconds)),
    ];
    let slots = if summary.slots == 1 { "slot" } else { "slots" };
    let title = format!("{} {slots}, {}", format_thousands(summary.slots), format_span(summary.length));
    picture::render_page(&title, &pictures, &render_summary(summary, Painter::stdout(StyleChoice::Never)))
}
