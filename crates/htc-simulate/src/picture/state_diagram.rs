//! State diagram: the states of slots, and the transitions between them with their counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::palette::{colour, escape_markup};

/// Transition with its count.
#[derive(Clone, Debug)]
pub struct StateTransition {
    /// `State/Activity` before.
    pub from: String,
    /// `State/Activity` after.
    pub to: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Column and row of each state; states that did not occur are not drawn.
const STATE_POSITIONS: [(&str, f64, f64); 16] = [
    ("Owner/Idle", 0.0, 0.0),
    ("Unclaimed/Idle", 0.0, 1.3),
    ("Unclaimed/Benchmarking", 0.0, 2.6),
    ("Matched/Idle", 1.0, 0.0),
    ("Claimed/Idle", 1.0, 1.3),
    ("Claimed/Busy", 2.0, 1.3),
    ("Claimed/Suspended", 2.0, 2.6),
    ("Claimed/Retiring", 3.0, 1.3),
    ("Claimed/Cleaning", 1.0, 2.6),
    ("Preempting/Vacating", 3.0, 0.0),
    ("Preempting/Killing", 2.0, 0.0),
    ("Backfill/Idle", 0.0, 3.9),
    ("Backfill/Busy", 1.0, 3.9),
    ("Backfill/Killing", 2.0, 3.9),
    ("Drained/Retiring", 3.0, 2.6),
    ("Drained/Idle", 3.0, 3.9),
];

const BOX_SIZE: (f64, f64) = (190.0, 44.0);

fn state_position(name: &str, others: &mut BTreeMap<String, (f64, f64)>) -> (f64, f64) {
    let known = STATE_POSITIONS.iter().find(|(it, ..)| *it == name).map(|(_, x, y)| (*x, *y));
    let next = others.len() as f64;
    let (x, y) = known.unwrap_or_else(|| *others.entry(name.to_owned()).or_insert((next, 5.2)));
    // The space above the first row is for the longest curve.
    (30.0 + x * 300.0, 64.0 + y * 95.0)
}

/// Draws the diagram; `seconds` is the time spent in each state, by `State/Activity`.
pub fn draw_state_diagram(changes: &[StateTransition], seconds: &BTreeMap<String, f64>) -> String {
    let mut others = BTreeMap::new();
    let mut names: Vec<&str> = changes.iter().flat_map(|it| [it.from.as_str(), it.to.as_str()]).collect();
    names.extend(seconds.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    let height = names.iter().map(|name| state_position(name, &mut others).1).fold(0.0, f64::max) + 90.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1180 {height:.0}\" width=\"1180\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#333\"/></marker></defs>\n\
         <rect width=\"1180\" height=\"{height:.0}\" fill=\"#fff\"/>\n"
    );
    let labels: Vec<String> =
        changes.iter().map(|change| draw_arrow(&mut out, change, &mut others)).collect();
    let whole: f64 = seconds.values().sum();
    for name in names {
        let (x, y) = state_position(name, &mut others);
        let (_, fill) = colour(name);
        let part = seconds.get(name).copied().unwrap_or(0.0) / whole.max(1e-9) * 100.0;
        let dark = matches!(fill, "#2b7bba" | "#d1495b" | "#8e6bbf" | "#5b4636" | "#8d99ae" | "#3d9970");
        let ink = if dark { "#fff" } else { "#111" };
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" stroke=\"#555\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{ink}\">{part:.1} % of the time</text>",
            BOX_SIZE.0,
            BOX_SIZE.1,
            x + BOX_SIZE.0 / 2.0,
            y + 18.0,
            escape_markup(name),
            x + BOX_SIZE.0 / 2.0,
            y + 34.0
        );
    }
    // Drawn last, so that no box hides a count.
    labels.iter().for_each(|label| out.push_str(label));
    out.push_str("</svg>\n");
    out
}

/// Draws a curved arrow, so that both directions are visible; returns its count label.
fn draw_arrow(
    out: &mut String,
    change: &StateTransition,
    others: &mut BTreeMap<String, (f64, f64)>,
) -> String {
    let centre = |(x, y): (f64, f64)| (x + BOX_SIZE.0 / 2.0, y + BOX_SIZE.1 / 2.0);
    let (from, to) =
        (centre(state_position(&change.from, others)), centre(state_position(&change.to, others)));
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    // Not `hypot`, whose version in glibc 2.35 would keep the programs from starting with older ones.
    let length = (dx * dx + dy * dy).sqrt().max(1.0);
    let (nx, ny) = (-dy / length, dx / length);
    let bend = 16.0 + length / 14.0;
    let middle = ((from.0 + to.0) / 2.0 + nx * bend, (from.1 + to.1) / 2.0 + ny * bend);
    let (begin, end) = (box_edge_towards(from, middle), box_edge_towards(to, middle));
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#tip)\">\
         <title>{} to {}: {}</title></path>",
        begin.0,
        begin.1,
        middle.0,
        middle.1,
        end.0,
        end.1,
        escape_markup(&change.from),
        escape_markup(&change.to),
        change.count
    );
    let label = ((begin.0 + 2.0 * middle.0 + end.0) / 4.0, (begin.1 + 2.0 * middle.1 + end.1) / 4.0);
    // Of two lines between boxes in a column, each has its count on its own side, because large counts would overlap.
    let is_upright = dx.abs() * 2.0 < dy.abs();
    let (anchor, aside) = match (is_upright, nx < 0.0) {
        (false, _) => ("middle", 0.0),
        (true, true) => ("end", -3.0),
        (true, false) => ("start", 3.0),
    };
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\" \
         fill=\"#b00020\">{}</text>\n",
        label.0 + aside,
        label.1 + 4.0,
        change.count
    )
}

/// Returns the point where a line from the centre of a box towards a point crosses its edge.
fn box_edge_towards((x, y): (f64, f64), towards: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (towards.0 - x, towards.1 - y);
    let by_width = if dx == 0.0 { f64::MAX } else { BOX_SIZE.0 / 2.0 / dx.abs() };
    let by_height = if dy == 0.0 { f64::MAX } else { BOX_SIZE.1 / 2.0 / dy.abs() };
    let part = by_width.min(by_height).min(1.0);
    (x + dx * part, y + dy * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Suspended is below Busy: the counts of a large pool would overlap in the middle.
    #[test]
    fn counts_of_both_directions_stand_apart_and_above_all_boxes() {
        let change =
            |from: &str, to: &str, count| StateTransition { from: from.into(), to: to.into(), count };
        let changes = [
            change("Claimed/Busy", "Claimed/Suspended", 14_477),
            change("Claimed/Suspended", "Claimed/Busy", 13_082),
        ];
        let picture = draw_state_diagram(&changes, &BTreeMap::new());
        let label =
            |count: &str| picture.lines().rfind(|line| line.ends_with(&format!(">{count}</text>"))).unwrap();
        assert!(label("14477").contains("\"end\"") && label("13082").contains("\"start\""), "{picture}");
        assert!(picture.rfind("<rect") < picture.find(">14477</text>"), "{picture}");
    }
}
