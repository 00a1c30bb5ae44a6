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

/// Point in the picture, or the vector between two points.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

impl Point {
    fn offset_from(self, other: Point) -> Point {
        Point { x: self.x - other.x, y: self.y - other.y }
    }

    /// Returns the length of the vector.
    fn length(self) -> f64 {
        // `hypot` is not used: its version in glibc 2.35 would keep the programs from starting with an older glibc.
        (self.x * self.x + self.y * self.y).sqrt()
    }
}

/// Column and row of each state in the diagram. States that did not occur are not drawn.
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

const BOX_SIZE: Point = Point { x: 190.0, y: 44.0 };

const PICTURE_WIDTH: f64 = 1180.0;

fn state_position(name: &str, others: &mut BTreeMap<String, (f64, f64)>) -> Point {
    let known = STATE_POSITIONS.iter().find(|(it, ..)| *it == name).map(|(_, x, y)| (*x, *y));
    let next = others.len() as f64;
    let (x, y) = known.unwrap_or_else(|| *others.entry(name.to_owned()).or_insert((next, 5.2)));
    // The space above the first row is for the highest curve.
    Point { x: 30.0 + x * 300.0, y: 64.0 + y * 95.0 }
}

/// Draws the diagram; `seconds` is the time spent in each state, by `State/Activity`.
pub fn draw_state_diagram(changes: &[StateTransition], seconds: &BTreeMap<String, f64>) -> String {
    let mut others = BTreeMap::new();
    let mut names: Vec<&str> = changes.iter().flat_map(|it| [it.from.as_str(), it.to.as_str()]).collect();
    names.extend(seconds.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    let height = names.iter().map(|name| state_position(name, &mut others).y).fold(0.0, f64::max) + 90.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1180 {height:.0}\" width=\"1180\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#333\"/></marker></defs>\n\
         <rect width=\"1180\" height=\"{height:.0}\" fill=\"#fff\"/>\n"
    );
    let boxes: Vec<StateBox> =
        names.iter().map(|name| StateBox { name, corner: state_position(name, &mut others) }).collect();
    let labels: Vec<String> =
        changes.iter().map(|change| draw_arrow(&mut out, change, &boxes, height)).collect();
    let whole: f64 = seconds.values().sum();
    for StateBox { name, corner: Point { x, y } } in boxes.iter().copied() {
        let (_, fill) = colour(name);
        let part = seconds.get(name).copied().unwrap_or(0.0) / whole.max(1e-9) * 100.0;
        let dark = matches!(fill, "#2b7bba" | "#d1495b" | "#8e6bbf" | "#5b4636" | "#8d99ae" | "#3d9970");
        let ink = if dark { "#fff" } else { "#111" };
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" stroke=\"#555\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{ink}\">{part:.1} % of the time</text>",
            BOX_SIZE.x,
            BOX_SIZE.y,
            x + BOX_SIZE.x / 2.0,
            y + 18.0,
            escape_markup(name),
            x + BOX_SIZE.x / 2.0,
            y + 34.0
        );
    }
    // Labels are drawn last, so that no box hides a count.
    labels.iter().for_each(|label| out.push_str(label));
    out.push_str("</svg>\n");
    out
}

/// Box of a state in the diagram: its name and its upper left corner.
#[derive(Clone, Copy)]
struct StateBox<'a> {
    name: &'a str,
    corner: Point,
}

impl StateBox<'_> {
    fn centre(self) -> Point {
        Point { x: self.corner.x + BOX_SIZE.x / 2.0, y: self.corner.y + BOX_SIZE.y / 2.0 }
    }

    /// Returns true if a point is in the box, or closer to the box than the margin.
    fn contains(self, point: Point, margin: f64) -> bool {
        let Point { x: left, y: top } = self.corner;
        (left - margin..=left + BOX_SIZE.x + margin).contains(&point.x)
            && (top - margin..=top + BOX_SIZE.y + margin).contains(&point.y)
    }
}

/// Bend of a curve by its two control points. They are next to the straight line, at the fractions `position` and `1
/// - position` of its length, and at the distances `first` and `second` from it.
#[derive(Clone, Copy)]
struct CurveBend {
    position: f64,
    first: f64,
    second: f64,
}

/// Cubic Bézier curve of an arrow, from the edge of one box to the edge of another.
#[derive(Clone, Copy)]
struct ArrowCurve([Point; 4]);

impl ArrowCurve {
    /// Creates the curve between the centres of two boxes.
    fn new(from: Point, to: Point, bending: CurveBend) -> ArrowCurve {
        let distance = to.offset_from(from);
        let length = distance.length().max(1.0);
        let (nx, ny) = (-distance.y / length, distance.x / length);
        let control = |part: f64, bend: f64| Point {
            x: from.x + distance.x * part + nx * bend,
            y: from.y + distance.y * part + ny * bend,
        };
        let first = control(bending.position, bending.first);
        let second = control(1.0 - bending.position, bending.second);
        ArrowCurve([box_edge_towards(from, first), first, second, box_edge_towards(to, second)])
    }

    fn point_at(&self, part: f64) -> Point {
        let rest = 1.0 - part;
        let weights =
            [rest * rest * rest, 3.0 * rest * rest * part, 3.0 * rest * part * part, part * part * part];
        let sum = |of: fn(&Point) -> f64| {
            self.0.iter().zip(weights).map(|(point, weight)| of(point) * weight).sum::<f64>()
        };
        Point { x: sum(|point| point.x), y: sum(|point| point.y) }
    }

    /// Returns true if the curve is inside the picture and no box hides a part of it.
    fn is_clear(&self, ends: [&str; 2], boxes: &[StateBox<'_>], height: f64) -> bool {
        (1..CURVE_SAMPLES).all(|at| {
            let point = self.point_at(f64::from(at) / f64::from(CURVE_SAMPLES));
            let is_inside =
                (4.0..=PICTURE_WIDTH - 4.0).contains(&point.x) && (4.0..=height - 4.0).contains(&point.y);
            let is_hidden = |state: &StateBox<'_>| {
                // The curve touches the boxes at its two ends.
                let margin = if ends.contains(&state.name) { -3.0 } else { 6.0 };
                state.contains(point, margin)
            };
            is_inside && !boxes.iter().any(is_hidden)
        })
    }
}

/// Number of points of a curve that are checked against the boxes.
const CURVE_SAMPLES: u32 = 40;

/// Returns the least bent curve that no box hides. The curves of the two directions between two states are on
/// different sides.
fn clear_curve(
    from: StateBox<'_>,
    to: StateBox<'_>,
    boxes: &[StateBox<'_>],
    height: f64,
) -> (ArrowCurve, f64) {
    const POSITIONS: [f64; 4] = [1.0 / 3.0, 0.0, 0.6, -0.3];
    let (start, end) = (from.centre(), to.centre());
    let usual = 16.0 + end.offset_from(start).length() / 14.0;
    let usual = CurveBend { position: POSITIONS[0], first: usual, second: usual };
    let mut bends: Vec<(i32, i32)> =
        (-10..=10).flat_map(|first| (-10..=10).map(move |second| (first * 40, second * 40))).collect();
    bends.sort_by_key(|(first, second)| first.abs() + second.abs());
    let at_positions = POSITIONS.into_iter().flat_map(|position| {
        let bendings = bends.iter().map(move |(first, second)| (f64::from(*first), f64::from(*second)));
        bendings.map(move |(first, second)| CurveBend { position, first, second })
    });
    let curves = std::iter::once(usual)
        .chain(at_positions)
        .map(|bending| (ArrowCurve::new(start, end, bending), bending.first + bending.second));
    let fallback = (ArrowCurve::new(start, end, usual), usual.first);
    let mut clear = curves.filter(|(curve, _)| curve.is_clear([from.name, to.name], boxes, height));
    clear.next().unwrap_or(fallback)
}

/// Draws a curved arrow that no box hides; returns the label with its count.
fn draw_arrow(out: &mut String, change: &StateTransition, boxes: &[StateBox<'_>], height: f64) -> String {
    let find = |name: &str| boxes.iter().find(|state| state.name == name).copied();
    let (Some(from), Some(to)) = (find(&change.from), find(&change.to)) else { return String::new() };
    let (curve, bend) = clear_curve(from, to, boxes, height);
    let [begin, first, second, end] = curve.0;
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#tip)\">\
         <title>{} to {}: {}</title></path>",
        begin.x,
        begin.y,
        first.x,
        first.y,
        second.x,
        second.y,
        end.x,
        end.y,
        escape_markup(&change.from),
        escape_markup(&change.to),
        change.count
    );
    let label = curve.point_at(0.5);
    // If two curves connect boxes in the same column, each label is on the outer side of its curve, because large
    // counts would overlap.
    let distance = end.offset_from(begin);
    let is_upright = distance.x.abs() * 2.0 < distance.y.abs();
    let is_left = (-distance.y * bend) < 0.0;
    let (anchor, offset) = match (is_upright, is_left) {
        (false, _) => ("middle", 0.0),
        (true, true) => ("end", -3.0),
        (true, false) => ("start", 3.0),
    };
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\" \
         fill=\"#b00020\">{}</text>\n",
        label.x + offset,
        label.y + 4.0,
        change.count
    )
}

/// Returns the point at which a line from the centre of a box towards another point crosses the edge of the box.
fn box_edge_towards(centre: Point, towards: Point) -> Point {
    let distance = towards.offset_from(centre);
    let part_for =
        |size: f64, distance: f64| if distance == 0.0 { f64::MAX } else { size / 2.0 / distance.abs() };
    let part = part_for(BOX_SIZE.x, distance.x).min(part_for(BOX_SIZE.y, distance.y)).min(1.0);
    Point { x: centre.x + distance.x * part, y: centre.y + distance.y * part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arrow_is_hidden_by_a_box() {
        let mut others = BTreeMap::new();
        let boxes: Vec<StateBox<'_>> = STATE_POSITIONS
            .iter()
            .map(|(name, ..)| StateBox { name, corner: state_position(name, &mut others) })
            .collect();
        let height = boxes.iter().map(|state| state.corner.y).fold(0.0, f64::max) + 90.0;
        for from in &boxes {
            for to in boxes.iter().filter(|to| to.name != from.name) {
                let (curve, _) = clear_curve(*from, *to, &boxes, height);
                assert!(curve.is_clear([from.name, to.name], &boxes, height), "{} to {}", from.name, to.name);
            }
        }
    }

    /// Suspended is below Busy, so that both curves are upright and large counts would overlap between them.
    #[test]
    fn counts_of_both_directions_do_not_overlap() {
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
