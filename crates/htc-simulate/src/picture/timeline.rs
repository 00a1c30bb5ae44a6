//! Timeline picture of slots: one lane per slot, or one row for a bundle of slots.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::palette::{COLOURS, colour, escape_markup};

/// Stay of a slot in one state.
#[derive(Clone, Copy, Debug)]
pub struct LaneStay<'a> {
    /// State and activity, as `State/Activity`.
    pub name: &'a str,
    /// Start of the stay in seconds since the start of the simulation.
    pub from: f64,
    /// End of the stay in seconds since the start of the simulation.
    pub to: f64,
}

/// Kind of a mark in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A job was preempted.
    Preempted,
    /// A job was refused, or a hook returned no valid output.
    Refused,
}

impl MarkKind {
    /// Returns the text for the legend.
    fn legend_text(self) -> &'static str {
        match self {
            MarkKind::Preempted => "A job was vacated.",
            MarkKind::Refused => "A job was rejected, or a hook printed an invalid job.",
        }
    }
}

/// Lane of one slot.
#[derive(Clone, Debug, Default)]
pub struct SlotLane<'a> {
    /// Name of the slot.
    pub name: &'a str,
    /// Stays of the slot in states, ordered by time.
    pub stays: Vec<LaneStay<'a>>,
    /// Marks with their times, in seconds since the start of the simulation.
    pub marks: Vec<(f64, MarkKind)>,
}

/// Several slots that are drawn in one row.
#[derive(Clone, Debug)]
pub struct LaneBundle<'a> {
    /// Names of the first and the last slot.
    pub names: (&'a str, &'a str),
    /// Lanes of the bundled slots.
    pub lanes: Vec<SlotLane<'a>>,
}

const LEFT_MARGIN: f64 = 150.0;
const TIMELINE_WIDTH: f64 = 1050.0;
/// Maximum number of rows; if there are more lanes, several share a row.
const MAX_ROWS: usize = 60;
const COLUMNS: usize = 525;
/// Width in pixels in which all marks of one kind in a bundle are drawn as one.
const MARK_WIDTH: f64 = 7.0;
/// Maximum label length in characters.
const MAX_LABEL_CHARS: usize = 20;

/// Time axis of a timeline.
pub struct TimeAxis<'a> {
    /// Length of the axis in seconds.
    pub length: f64,
    /// Time of day at the start, in seconds since local midnight.
    pub time_of_day: f64,
    /// Function that formats a time given in seconds since the start.
    pub format: &'a dyn Fn(f64) -> String,
}

impl std::fmt::Debug for TimeAxis<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "TimeAxis({} s from {} s after midnight)", self.length, self.time_of_day)
    }
}

impl TimeAxis<'_> {
    /// Possible intervals between ticks, in seconds. Each divides an hour, a day or a week, or is a number of whole
    /// weeks.
    const INTERVALS: [f64; 20] = [
        1.0,
        2.0,
        5.0,
        10.0,
        15.0,
        30.0,
        60.0,
        120.0,
        300.0,
        600.0,
        900.0,
        1800.0,
        3600.0,
        7200.0,
        3.0 * 3600.0,
        6.0 * 3600.0,
        12.0 * 3600.0,
        86_400.0,
        2.0 * 86_400.0,
        7.0 * 86_400.0,
    ];

    /// Returns the times of the ticks: at most nine, at full hours, at midnight, or at equal parts of an hour.
    pub(super) fn ticks(&self) -> Vec<f64> {
        const MAX_TICKS: f64 = 8.0;
        let fits = |interval: &f64| self.length / interval <= MAX_TICKS;
        let weeks = (self.length / MAX_TICKS / (7.0 * 86_400.0)).ceil().max(1.0) * 7.0 * 86_400.0;
        let interval = Self::INTERVALS.into_iter().find(fits).unwrap_or(weeks);
        let first = (interval - self.time_of_day.rem_euclid(interval)) % interval;
        std::iter::successors(Some(first), |at| Some(at + interval))
            .take_while(|at| *at <= self.length)
            .collect()
    }
}

/// Draws the timeline. If there are more lanes than rows, lanes are bundled.
pub fn draw_timeline(lanes: Vec<SlotLane<'_>>, axis: &TimeAxis<'_>) -> String {
    let length = axis.length;
    let legend = Legend::of(&lanes);
    let per_row = lanes.len().div_ceil(MAX_ROWS).max(1);
    let row = if lanes.len() <= 12 {
        26.0
    } else if lanes.len() <= 40 {
        16.0
    } else {
        12.0
    };
    let rows = lanes.len().div_ceil(per_row);
    let height = 40.0 + rows as f64 * row + 26.0 + LEGEND_LINE * legend.lines() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {height}\" width=\"{0}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{height}\" fill=\"#fff\"/>\n",
        LEFT_MARGIN + TIMELINE_WIDTH + 50.0
    );
    draw_axis(&mut out, (rows as f64).mul_add(row, 34.0), axis);
    let mut lanes = lanes;
    for at in 0..rows {
        let rest = lanes.split_off(per_row.min(lanes.len()));
        let of_row = std::mem::replace(&mut lanes, rest);
        let y = 34.0 + at as f64 * row;
        let (Some(first), Some(last)) = (of_row.first(), of_row.last()) else { continue };
        // The label is shortened before it is escaped, so that no character reference is cut.
        let label = escape_markup(&row_label(first.name, last.name));
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}<title>{} to {}</title></text>",
            LEFT_MARGIN - 6.0,
            y + row * 0.7,
            label,
            escape_markup(first.name),
            escape_markup(last.name)
        );
        if per_row == 1 {
            draw_lane(&mut out, first, y, row, length);
        } else {
            draw_bundle(
                &mut out,
                &LaneBundle { names: (first.name, last.name), lanes: of_row.clone() },
                y,
                row,
                length,
            );
        }
    }
    legend.draw(&mut out, 34.0 + rows as f64 * row + 30.0, per_row);
    out.push_str("</svg>\n");
    out
}

/// Returns the label of a row: the name of its slot, or as much of the first and last name of a bundle as fits.
fn row_label(first: &str, last: &str) -> String {
    let both = first.len().saturating_add(last.len()) < MAX_LABEL_CHARS;
    match first == last {
        true => shorten_label(first),
        false if both => format!("{first} - {last}"),
        false => shorten_label(first) + " ...",
    }
}

fn shorten_label(label: &str) -> String {
    if label.chars().count() <= MAX_LABEL_CHARS {
        label.to_owned()
    } else {
        label.chars().take(MAX_LABEL_CHARS - 2).chain("..".chars()).collect()
    }
}

fn draw_axis(out: &mut String, bottom: f64, axis: &TimeAxis<'_>) {
    for at in axis.ticks() {
        let x = LEFT_MARGIN + TIMELINE_WIDTH * at / axis.length;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" y1=\"28\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ccc\"/>\
             <text x=\"{x:.1}\" y=\"20\" text-anchor=\"middle\" fill=\"#444\">{}</text>",
            escape_markup(&(axis.format)(at))
        );
    }
}

/// Draws one lane with a rectangle for each stay, at least 0.6 pixels wide.
fn draw_lane(out: &mut String, lane: &SlotLane<'_>, y: f64, row: f64, length: f64) {
    let x = |at: f64| LEFT_MARGIN + TIMELINE_WIDTH * at / length;
    for stay in &lane.stays {
        let (_, fill) = colour(stay.name);
        let width = (x(stay.to) - x(stay.from)).max(0.6);
        let _ = writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{fill}\"><title>{} {}</title></rect>",
            x(stay.from),
            y + 1.0,
            row - 2.0,
            escape_markup(lane.name),
            escape_markup(stay.name)
        );
    }
    draw_marks(out, lane, y, row, length);
}

/// Returns the colour of a mark, and its vertical position in a row.
fn mark_style(kind: MarkKind, y: f64, row: f64) -> (&'static str, f64) {
    match kind {
        MarkKind::Preempted => ("#b00020", y),
        MarkKind::Refused => ("#e08e00", y + row - 4.0),
    }
}

fn draw_marks(out: &mut String, lane: &SlotLane<'_>, y: f64, row: f64, length: f64) {
    for (at, kind) in &lane.marks {
        let x = LEFT_MARGIN + TIMELINE_WIDTH * at / length;
        let (fill, top) = mark_style(*kind, y, row);
        let _ = writeln!(
            out,
            "<path d=\"M {x:.1} {:.1} l -3 -5 h 6 z\" fill=\"{fill}\" stroke=\"#fff\" stroke-width=\"0.5\"/>",
            top + 5.0
        );
    }
}

/// Draws the marks of a bundle. Marks of one kind that would overlap are drawn as one mark with their number.
fn draw_bundle_marks(out: &mut String, bundle: &LaneBundle<'_>, y: f64, row: f64, length: f64) {
    for kind in [MarkKind::Preempted, MarkKind::Refused] {
        let what = kind.legend_text();
        let all = bundle.lanes.iter().flat_map(|lane| &lane.marks).filter(|(_, it)| *it == kind);
        let places: Vec<u32> =
            all.map(|(at, _)| (TIMELINE_WIDTH * at / length / MARK_WIDTH) as u32).collect();
        let apart: BTreeSet<u32> = places.iter().copied().collect();
        if apart.is_empty() {
            continue;
        }
        let (fill, top) = mark_style(kind, y, row);
        let mut path = String::new();
        for at in apart {
            let x = LEFT_MARGIN + (f64::from(at) + 0.5) * MARK_WIDTH;
            let _ = write!(path, "M{x:.1} {:.1}l-3-5h6z", top + 5.0);
        }
        let (first, last) = bundle.names;
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"{fill}\" stroke=\"#fff\" stroke-width=\"0.5\"><title>{} to {}: {what} Number of times: {}</title></path>",
            escape_markup(first),
            escape_markup(last),
            places.len()
        );
    }
}

/// Draws the lanes of a bundle in one row. In each column, the height of a state's colour is the state's share of the
/// slots' time.
fn draw_bundle(out: &mut String, bundle: &LaneBundle<'_>, y: f64, row: f64, length: f64) {
    let mut grid = vec![[0.0f64; COLOURS.len()]; COLUMNS];
    let width = length / COLUMNS as f64;
    for stay in bundle.lanes.iter().flat_map(|lane| &lane.stays) {
        let (number, _) = colour(stay.name);
        let first = (stay.from / width) as usize;
        let last = ((stay.to / width) as usize).min(COLUMNS - 1);
        for (column, shares) in grid.iter_mut().enumerate().take(last + 1).skip(first) {
            let (from, to) = (column as f64 * width, (column + 1) as f64 * width);
            shares[number] += (stay.to.min(to) - stay.from.max(from)).max(0.0);
        }
    }
    let whole = width * bundle.lanes.len() as f64;
    let step = TIMELINE_WIDTH / COLUMNS as f64;
    for (number, (_, fill, _)) in COLOURS.iter().enumerate().take(COLOURS.len() - 1) {
        // One SVG path per colour keeps the picture of a thousand slots small.
        let mut path = String::new();
        for (column, shares) in grid.iter().enumerate() {
            if shares[number] <= 0.0 {
                continue;
            }
            let below: f64 = shares[..number].iter().sum();
            let top = y + 1.0 + (row - 2.0) * (below / whole).min(1.0);
            let high = ((row - 2.0) * shares[number] / whole).min(row - 2.0);
            let x = LEFT_MARGIN + column as f64 * step;
            let _ = write!(path, "M{x:.1} {top:.2}h{step:.1}v{high:.2}h-{step:.1}z");
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path d=\"{path}\" fill=\"{fill}\"/>");
        }
    }
    draw_bundle_marks(out, bundle, y, row, length);
}

/// Height in pixels of a line of the legend.
const LEGEND_LINE: f64 = 20.0;

/// Number of entries in a line of the legend.
const LEGEND_COLUMNS: usize = 5;

/// Legend with the states and marks that occur in the timeline.
struct Legend {
    /// Colour and meaning of each state.
    states: Vec<(&'static str, &'static str)>,
    /// Kinds of marks that occur.
    marks: Vec<MarkKind>,
}

impl Legend {
    fn of(lanes: &[SlotLane<'_>]) -> Legend {
        let used: BTreeSet<usize> =
            lanes.iter().flat_map(|lane| &lane.stays).map(|stay| colour(stay.name).0).collect();
        let has_mark = |kind: &MarkKind| lanes.iter().flat_map(|lane| &lane.marks).any(|(_, it)| it == kind);
        Legend {
            states: used.into_iter().map(|number| (COLOURS[number].1, COLOURS[number].2)).collect(),
            marks: [MarkKind::Preempted, MarkKind::Refused].into_iter().filter(has_mark).collect(),
        }
    }

    /// Returns the number of lines of the legend: those for states, and one for marks and bundles.
    fn lines(&self) -> usize {
        self.states.len().div_ceil(LEGEND_COLUMNS) + 1
    }

    fn draw(&self, out: &mut String, top: f64, per_row: usize) {
        let step = TIMELINE_WIDTH / LEGEND_COLUMNS as f64;
        for (number, (fill, meaning)) in self.states.iter().enumerate() {
            let x = LEFT_MARGIN + (number % LEGEND_COLUMNS) as f64 * step;
            let y = top + (number / LEGEND_COLUMNS) as f64 * LEGEND_LINE;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{fill}\" stroke=\"#999\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{meaning}</text>",
                y - 10.0,
                x + 16.0,
            );
        }
        let y = top + (self.lines() - 1) as f64 * LEGEND_LINE + 2.0;
        let mut x = LEFT_MARGIN;
        for kind in &self.marks {
            let ((fill, _), meaning) = (mark_style(*kind, 0.0, 0.0), kind.legend_text());
            let _ = writeln!(
                out,
                "<path d=\"M {:.1} {y:.1} l -3 -5 h 6 z\" fill=\"{fill}\"/><text x=\"{:.1}\" y=\"{y:.1}\">{meaning}</text>",
                x + 6.0,
                x + 16.0
            );
            x += step + if *kind == MarkKind::Refused { step } else { 0.0 };
        }
        if per_row > 1 {
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\">Each row shows {per_row} slots: the height of a colour is the share of \
                 slots in that state.</text>"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if every `&` in the picture begins a complete character reference.
    fn is_well_formed(picture: &str) -> bool {
        picture.split('&').skip(1).all(|rest| {
            let entity = rest.split(';').next().unwrap_or("");
            ["lt", "gt", "amp", "quot", "#39"].contains(&entity)
        })
    }

    fn axis(length: f64) -> TimeAxis<'static> {
        TimeAxis { length, time_of_day: 0.0, format: &|_| String::new() }
    }

    #[test]
    fn ticks_are_at_midnight_and_at_full_hours() {
        let hour = 3600.0;
        let ticks = |length: f64, time_of_day: f64| TimeAxis { length, time_of_day, ..axis(1.0) }.ticks();
        // A week from 08:00 contains seven midnights.
        let midnights: Vec<f64> = (0..7).map(|day| (16.0 + 24.0 * f64::from(day)) * hour).collect();
        assert_eq!(ticks(7.0 * 24.0 * hour, 8.0 * hour), midnights);
        // Four hours from 08:20 would have nine ticks if there were a tick every half hour.
        assert_eq!(
            ticks(4.0 * hour, 8.0 * hour + 1200.0),
            [10.0, 40.0, 70.0, 100.0, 130.0, 160.0, 190.0, 220.0].map(|minutes| minutes * 60.0)
        );
        for length in [1.0, 10.0, 61.0, 3601.0, 90_000.0, 3e6, 4e8] {
            assert!((1..=9).contains(&ticks(length, 5.0).len()), "{length}: {:?}", ticks(length, 5.0));
        }
    }

    #[test]
    fn any_name_gives_a_valid_picture() {
        let huge = "x".repeat(10 << 20);
        for name in
            ["<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<", "<script>alert(1)</script>", "a\0b", "\"'&&&&", "", &huge]
        {
            let stays = vec![LaneStay { name: "Claimed/Busy", from: 0.0, to: 5.0 }];
            let lane = SlotLane { name, stays, marks: vec![(1.0, MarkKind::Preempted)] };
            let picture = draw_timeline(vec![lane], &axis(10.0));
            assert!(is_well_formed(&picture), "{name:.40}");
            assert!(!picture.contains("<script") && !picture.contains('\0') && picture.len() < 20_000);
        }
    }

    #[test]
    fn many_slots_are_bundled_and_few_are_not() {
        let lanes = |count: usize| {
            let stay = |to| vec![LaneStay { name: "Claimed/Busy", from: 0.0, to }];
            (0..count)
                .map(|at| SlotLane { name: "slot", stays: stay(at as f64 + 1.0), marks: Vec::new() })
                .collect()
        };
        let names = |picture: &str| picture.matches("text-anchor=\"end\"").count();
        assert_eq!(names(&draw_timeline(lanes(10), &axis(1000.0))), 10);
        let large = draw_timeline(lanes(1000), &axis(1000.0));
        assert!((50..=MAX_ROWS).contains(&names(&large)), "{}", names(&large));
        assert!(large.len() < 4 << 20, "{}", large.len());
    }

    #[test]
    fn a_bundle_shows_coinciding_marks_of_its_slots_once() {
        let lanes = |marks: usize| -> Vec<SlotLane<'_>> {
            let marks = |lane: usize| match lane {
                0 => (0..marks).map(|at| (500.0 + at as f64 / 1000.0, MarkKind::Preempted)).collect(),
                1 => vec![(900.0, MarkKind::Preempted), (100.0, MarkKind::Refused)],
                _ => Vec::new(),
            };
            (0..600).map(|at| SlotLane { name: "slot", stays: Vec::new(), marks: marks(at) }).collect()
        };
        let drawn = |picture: &str| picture.matches("l-3-5h6z").count();
        let picture = draw_timeline(lanes(1), &axis(1000.0));
        assert_eq!(drawn(&picture), 3);
        assert!(picture.contains("slot to slot: A job was vacated. Number of times: 2"));
        let crowded = draw_timeline(lanes(2000), &axis(1000.0));
        assert_eq!(drawn(&crowded), 3);
        assert!(crowded.contains("A job was vacated. Number of times: 2001"));
    }
}
