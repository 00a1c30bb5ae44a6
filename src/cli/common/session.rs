//! What a running program knows of itself, and what it says on standard error.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::color::Painter;
use super::problem;
use crate::classad::Dialect;
use crate::text::one_line::harmless;

/// What a running program knows of itself.
#[derive(Clone, Debug)]
pub struct Session {
    name: String,
    painter: Painter,
    /// What was told, for whoever tells it later.
    kept: Option<Arc<Mutex<String>>>,
    /// How ads are read that people or a queue log hand in.
    dialect: Dialect,
}

impl Session {
    /// That of a program of this name, which paints its messages so.
    pub(super) fn new(name: &str, painter: Painter) -> Self {
        Session { name: name.to_owned(), painter, kept: None, dialect: Dialect::new_syntax() }
    }

    pub(super) fn painter(&self) -> Painter {
        self.painter
    }

    /// The name that stands in front of messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, with ads read in another dialect: that of a configuration.
    pub(crate) fn reading(&self, dialect: Dialect) -> Session {
        Session { dialect, ..self.clone() }
    }

    /// How ads are read.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The same, but what it tells is kept until it is [taken](Session::take).
    pub(crate) fn keeping(&self) -> Session {
        Session { kept: Some(Arc::default()), ..self.clone() }
    }

    /// What has been told and kept.
    pub(crate) fn take(&self) -> String {
        let kept = self.kept.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }

    /// Says on standard error that something is odd; the work goes on.
    pub fn warn(&self, message: &str) {
        let text =
            format!("{}: {} {}\n", self.name, self.painter.warn("warning:"), harmless(&brief(message)));
        self.tell(&text);
    }

    /// Tells a failure on standard error without ending the program.
    pub fn report(&self, error: &anyhow::Error) {
        self.tell(&problem::render(&self.name, error, self.painter));
    }

    /// Says a line in the name of the program.
    pub(crate) fn say(&self, line: &str) {
        self.tell(&format!("{}: {line}\n", self.name));
    }

    /// Writes text to standard error as it is. Where that is closed nobody can be told.
    pub fn tell(&self, text: &str) {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            return;
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// A message of ours whose lines fit a terminal: of one that echoes a value of many kilobytes the middle is left out. What the
/// condor tools print is never cut.
pub fn brief(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    const HEAD: usize = 600;
    const TAIL: usize = 200;
    if message.lines().all(|line| line.len() <= LONGEST) {
        return Cow::Borrowed(message);
    }
    let shortened = |line: &str| {
        if line.len() <= LONGEST {
            return line.to_owned();
        }
        let boundary =
            |at: usize| (at..line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
        let (head, tail) = (boundary(HEAD), boundary(line.len() - TAIL));
        format!("{} ... ({} more bytes) ... {}", &line[..head], tail - head, &line[tail..])
    };
    Cow::Owned(message.lines().map(shortened).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn long_lines_of_messages_lose_their_middle() {
        assert_eq!(brief("a\nb"), "a\nb");
        let long = format!("first\n{}end", "ü".repeat(100_000));
        let shown = brief(&long);
        assert!(shown.len() < 1000, "{}", shown.len());
        assert!(shown.starts_with("first\nüü") && shown.ends_with("üend"));
        assert!(shown.contains("... (199204 more bytes) ..."), "{shown}");
    }
}
