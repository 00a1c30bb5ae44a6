//! Identity of a recording, independent of the name of its directory: exceptions and lists refer to it.

use std::fs;
use std::path::Path;

/// A recording, identified by its contents.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    title: String,
    config: String,
}

impl Subject {
    /// Reads its identity.
    pub fn of(directory: &Path) -> Self {
        let text = |name: &str| {
            let bytes = fs::read(directory.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Subject { title: title(&text("README.md")), config: text("condor_config") }
    }

    /// Its title, from its README.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns true if it has this title.
    pub fn is(&self, title: &str) -> bool {
        self.title == title
    }

    /// Returns true if its configuration contains this text.
    pub fn configures(&self, text: &str) -> bool {
        self.config.contains(text)
    }
}

/// Returns the heading, `# NAME: TITLE` or `# NAME`, without the name; without a title, the first line after
/// the heading.
fn title(readme: &str) -> String {
    let mut lines = readme.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading = lines.next().unwrap_or_default().trim_start_matches('#').trim();
    match heading.split_once(": ") {
        Some((name, title)) if !name.contains(' ') => title.to_owned(),
        _ if !heading.contains(' ') => lines.next().unwrap_or(heading).to_owned(),
        _ => heading.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_recording_does_not_contain_its_name() {
        assert_eq!(title("# s07-rank: A job with a higher RANK\n\nOne slot.\n"), "A job with a higher RANK");
        assert_eq!(title("# r13-sandbox\n\nFiles are spooled.\nMore.\n"), "Files are spooled.");
        assert_eq!(title("# A heading: of words\n"), "A heading: of words");
        assert_eq!(title(""), "");
    }
}
