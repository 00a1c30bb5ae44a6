//! Progress line for long operations, on a terminal only.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Line on standard error that shows the progress of a long operation. It is never shown in a pipe or with
/// `--quiet`.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts the line. `what` is a short description of the operation, `total` its number of steps or `None` if unknown.
    pub fn new(what: &str, total: Option<u64>, quiet: bool) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        let target = if quiet || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(5)
        };
        bar.set_draw_target(target);
        let template = if total.is_some() {
            "{msg} {wide_bar} {pos}/{len}, {eta} left"
        } else {
            "{spinner} {msg} {pos} ({per_sec})"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Progress { bar }
    }

    /// Advances the progress by `steps` steps.
    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
