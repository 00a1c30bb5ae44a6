//! Chart of the number of jobs per route over time. Each route has a band whose height shows its jobs; the part for
//! running jobs is darker.

use super::escape_markup;
use super::timeline::TimeAxis;
use crate::times::format_span;

/// Width of the time axis in pixels.
const CHART_WIDTH: f64 = 900.0;
/// Height of a band in pixels.
const BAND_HEIGHT: f64 = 80.0;
/// Maximum number of samples that are drawn; more could not be distinguished in the width of the chart.
const MAX_SAMPLES: usize = 1800;

/// Counts of one band at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandCount {
    /// Number of jobs.
    pub all: i64,
    /// Number of running jobs.
    pub running: i64,
    /// True if the route is throttled; throttled times are marked in red.
    pub throttled: bool,
}

/// Counts of all bands at one time, in the order of the bands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BandSample {
    /// Time in seconds from the start.
    pub time: u64,
    /// Counts, one per band.
    pub counts: Vec<BandCount>,
}

/// Draws the chart; `names` are the names of the bands.
pub fn draw_band_chart(names: &[String], moments: &[BandSample]) -> String {
    let moments = &thin_out(moments);
    let last = moments.last().map_or(1, |moment| moment.time.max(1)) as f64;
    let names = if moments.is_empty() { &[] } else { names };
    let height = BAND_HEIGHT * names.len() as f64 + 50.0;
    let width = CHART_WIDTH + 120.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n"
    );
    for (at, name) in names.iter().enumerate() {
        draw_band(at, name, moments, last, &mut out);
    }
    let axis = TimeAxis { length: last, time_of_day: 0.0, format: &format_span };
    for at in axis.ticks() {
        let x = 100.0 + CHART_WIDTH * at / last;
        let bottom = height - 46.0;
        out.push_str(&format!(
            "<line x1=\"{x:.1}\" y1=\"{bottom}\" x2=\"{x:.1}\" y2=\"{}\" stroke=\"#888\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 6.0,
            bottom + 18.0,
            (axis.format)(at)
        ));
    }
    out.push_str(&format!(
        "<text x=\"100\" y=\"{}\">The height is the number of jobs of a route; running jobs are darker. A red line means that the \
         route is throttled.</text>\n</svg>\n",
        height - 8.0
    ));
    out
}

fn draw_band(at: usize, name: &str, moments: &[&BandSample], last: f64, out: &mut String) {
    let x = |moment: &BandSample| 100.0 + CHART_WIDTH * moment.time as f64 / last;
    let most = moments.iter().map(|moment| moment.counts[at].all).max().unwrap_or(0).max(1) as f64;
    let base = BAND_HEIGHT * (at as f64 + 1.0);
    let name = escape_markup(name);
    out.push_str(&format!(
        "<text x=\"4\" y=\"{}\">{name} (up to {most})</text>\n",
        base - BAND_HEIGHT + 14.0
    ));
    for (kind, color) in [(false, "#7aa6d8"), (true, "#3f6fa8")] {
        let mut path = format!("M 100 {base}");
        for moment in moments {
            let count = moment.counts[at];
            let value = if kind { count.running } else { count.all } as f64;
            path.push_str(&format!(" L {:.1} {:.1}", x(moment), base - value / most * (BAND_HEIGHT - 24.0)));
        }
        path.push_str(&format!(" L {} {base} Z", 100.0 + CHART_WIDTH));
        out.push_str(&format!("<path d=\"{path}\" fill=\"{color}\"/>\n"));
    }
    for pair in moments.windows(2).filter(|pair| pair[0].counts[at].throttled) {
        let (from, to) = (x(pair[0]), x(pair[1]));
        let (y, width) = (base - 3.0, to - from);
        out.push_str(&format!(
            "<rect x=\"{from:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"3\" fill=\"#c33\"/>\n"
        ));
    }
}

/// Reduces the number of samples to the maximum: of each interval, keeps the sample with the most jobs.
fn thin_out(moments: &[BandSample]) -> Vec<&BandSample> {
    let stretch = moments.len().div_ceil(MAX_SAMPLES).max(1);
    let full = |moment: &&BandSample| moment.counts.iter().map(|count| count.all).sum::<i64>();
    moments.chunks(stretch).filter_map(|chunk| chunk.iter().max_by_key(full)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(time: u64, all: i64, throttled: bool) -> BandSample {
        BandSample { time, counts: vec![BandCount { all, running: all / 2, throttled }] }
    }

    #[test]
    fn a_band_has_a_name_two_areas_and_red_throttled_times() {
        let moments = [moment(0, 0, false), moment(50, 4, true), moment(100, 2, false)];
        let picture = draw_band_chart(&["<a>".to_owned()], &moments);
        assert!(picture.contains(">&lt;a&gt; (up to 4)</text>"), "{picture}");
        assert_eq!((picture.matches("<path ").count(), picture.matches("<rect ").count()), (2, 1));
        assert!(
            picture.contains("M 100 80 L 100.0 80.0 L 550.0 24.0 L 1000.0 52.0 L 1000 80 Z"),
            "{picture}"
        );
        assert!(picture.contains(">1m40s</text>") || picture.contains(">1m30s</text>"), "{picture}");
        assert!(picture.ends_with("</text>\n</svg>\n"));
        assert!(!draw_band_chart(&["a".to_owned()], &[]).contains("<path"));
    }

    #[test]
    fn the_maximum_of_each_interval_is_drawn() {
        let moments: Vec<BandSample> =
            (0..10_000).map(|time| moment(time, (time == 5001).into(), false)).collect();
        let thin = thin_out(&moments);
        assert!(thin.len() <= MAX_SAMPLES && thin.iter().any(|moment| moment.time == 5001));
    }
}
