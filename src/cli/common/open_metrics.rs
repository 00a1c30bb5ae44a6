//! OpenMetrics text format, and files in this format for the textfile collector of node_exporter.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Problem, write_to_stdout};

/// Text of one exposition, which [`OpenMetrics::finish`] completes.
#[derive(Debug, Default)]
pub(crate) struct OpenMetrics(String);

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Value that can increase and decrease.
    Gauge,
    /// Number that only increases; its samples have the suffix `_total`.
    Counter,
}

/// One metric: name, kind and description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) help: &'static str,
}

/// One value of a metric, with its labels.
pub(crate) struct Sample {
    labels: Vec<(&'static str, String)>,
    value: f64,
}

impl Sample {
    /// Returns a sample with a whole number.
    pub(crate) fn count(labels: &[(&'static str, &str)], value: u64) -> Self {
        Self::number(labels, value as f64)
    }

    /// Returns a sample with a floating-point value.
    pub(crate) fn number(labels: &[(&'static str, &str)], value: f64) -> Self {
        Sample { labels: labels.iter().map(|&(name, value)| (name, value.to_owned())).collect(), value }
    }
}

impl OpenMetrics {
    /// Writes a metric with its samples, or nothing if there are no samples.
    pub(crate) fn push(&mut self, metric: Metric, samples: impl IntoIterator<Item = Sample>) {
        let Metric { name, kind, help } = metric;
        let (word, suffix) = match kind {
            MetricKind::Gauge => ("gauge", ""),
            MetricKind::Counter => ("counter", "_total"),
        };
        let mut is_first = true;
        for Sample { labels, value } in samples {
            if std::mem::take(&mut is_first) {
                let _ = writeln!(self.0, "# TYPE {name} {word}\n# HELP {name} {help}");
            }
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escape(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(self.0, "{name}{suffix}{labels} {value}");
        }
    }

    /// Returns the text followed by the end mark.
    pub(crate) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// Escapes the value of a label.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Replaces a file atomically, so that a reader never sees an incomplete file. The new file is world-readable, because the
/// collector has its own account.
///
/// # Errors
/// Fails if the directory cannot be written.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The collector reads only files named `*.prom`, so it ignores the temporary file.
    let mut file = tempfile::Builder::new().prefix(".htc-metrics-").suffix(".new").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Prints metrics, or writes them to a file.
///
/// # Errors
/// Fails if the file or standard output cannot be written.
pub(crate) fn write_metrics(file: Option<&Path>, text: String) -> anyhow::Result<()> {
    match file {
        Some(file) => replace_file(file, &text).map_err(|error| {
            Problem::unreadable(format!("{}: cannot write: {error}", file.display())).into()
        }),
        None => write_to_stdout(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Metric, MetricKind, OpenMetrics, Sample};

    #[test]
    fn metrics_without_samples_are_left_out_and_labels_escaped() {
        let mut metrics = OpenMetrics::default();
        let gauge = Metric { name: "htc_a", kind: MetricKind::Gauge, help: "A." };
        metrics.push(gauge, [Sample::count(&[("route", "a\"b\\c\nd")], 2)]);
        metrics.push(Metric { name: "htc_b", ..gauge }, []);
        metrics.push(
            Metric { name: "htc_c", kind: MetricKind::Counter, help: "C." },
            [Sample::number(&[], 0.25)],
        );
        let expected = "# TYPE htc_a gauge\n# HELP htc_a A.\nhtc_a{route=\"a\\\"b\\\\c\\nd\"} 2\n\
                        # TYPE htc_c counter\n# HELP htc_c C.\nhtc_c_total 0.25\n# EOF\n";
        assert_eq!(metrics.finish(), expected);
    }
}
