//! Documents that the editor has open, with their unsaved text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use htc_lint::daemons::rules_file::{FileLanguage, detect_language};
use lsp_types::{TextDocumentContentChangeEvent, Uri};

use crate::file_uri::path_of_uri;
use crate::positions::LineIndex;

/// Language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentLanguage {
    /// Configuration.
    Config,
    /// Rules file of a transform or route.
    Rules,
    /// ClassAds or another language that is not checked.
    Unchecked,
}

/// A document that the editor has open.
#[derive(Clone, Debug)]
pub struct Document {
    /// URI as the editor writes it.
    pub uri: Uri,
    /// Path of its file.
    pub path: PathBuf,
    /// Version number that the editor assigned.
    pub version: i32,
    language_id: String,
    text: Arc<[u8]>,
    lines: LineIndex,
}

/// Identifier that editors use for rules files.
const RULES_ID: &str = "condor-transform";
/// Identifier that editors use for files of ClassAds.
const CLASSAD_ID: &str = "classad";

impl Document {
    /// Creates a document.
    pub fn new(uri: Uri, language_id: String, version: i32, text: &str) -> Self {
        let path = path_of_uri(&uri);
        let text = Arc::from(text.as_bytes());
        let lines = LineIndex::new(&text);
        Document { uri, path, version, language_id, text, lines }
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<[u8]> {
        &self.text
    }

    /// Returns the index of its lines.
    pub fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// Returns the language: the one that the editor names if that is unambiguous, else the language of most
    /// statements, as `lint` decides.
    pub fn language(&self) -> DocumentLanguage {
        match self.language_id.as_str() {
            RULES_ID => DocumentLanguage::Rules,
            CLASSAD_ID => DocumentLanguage::Unchecked,
            _ => match detect_language(&self.text) {
                FileLanguage::Rules => DocumentLanguage::Rules,
                FileLanguage::Config | FileLanguage::Unclear => DocumentLanguage::Config,
            },
        }
    }

    /// Applies the changes of one notification in their order.
    pub fn apply_changes(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        self.version = version;
        for change in changes {
            let text = match change.range {
                None => change.text.as_bytes().to_vec(),
                Some(range) => {
                    let span = self.lines.span(&self.text, range);
                    let (before, rest) = self.text.split_at(span.start as usize);
                    [before, change.text.as_bytes(), &rest[(span.end - span.start) as usize..]].concat()
                }
            };
            self.text = Arc::from(text);
            self.lines = LineIndex::new(&self.text);
        }
    }
}

/// All open documents, in the order in which they were opened.
#[derive(Clone, Debug, Default)]
pub struct DocumentStore {
    documents: Vec<Document>,
}

impl DocumentStore {
    /// Adds a document, or replaces the one with the same URI.
    pub fn open(&mut self, document: Document) {
        match self.documents.iter_mut().find(|one| one.uri == document.uri) {
            Some(old) => *old = document,
            None => self.documents.push(document),
        }
    }

    /// Removes a document; returns false if it was not open.
    pub fn close(&mut self, uri: &Uri) -> bool {
        let before = self.documents.len();
        self.documents.retain(|document| document.uri != *uri);
        self.documents.len() < before
    }

    /// Returns the document with a URI.
    pub fn get(&self, uri: &Uri) -> Option<&Document> {
        self.documents.iter().find(|document| document.uri == *uri)
    }

    /// Returns the document with a URI, to change it.
    pub fn get_mut(&mut self, uri: &Uri) -> Option<&mut Document> {
        self.documents.iter_mut().find(|document| document.uri == *uri)
    }

    /// Returns the document of a file.
    pub fn by_path(&self, path: &Path) -> Option<&Document> {
        self.documents.iter().find(|document| document.path == path)
    }

    /// Returns all documents.
    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use lsp_types::{Position, Range};

    use super::*;

    fn change(range: Option<(u32, u32, u32, u32)>, text: &str) -> TextDocumentContentChangeEvent {
        let range = range.map(|(a, b, c, d)| Range::new(Position::new(a, b), Position::new(c, d)));
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    #[test]
    fn changes_are_applied_in_order() {
        let uri = Uri::from_str("file:///c").unwrap();
        let mut document = Document::new(uri, "condor".into(), 1, "A = ü1\r\nB = 2\n");
        document.apply_changes(
            2,
            &[
                change(Some((0, 5, 0, 6)), "x\ny"),
                change(Some((1, 0, 1, 1)), ""),
                change(Some((2, 4, 9, 0)), "3"),
            ],
        );
        assert_eq!(&document.text()[..], "A = üx\n\r\nB = 3".as_bytes());
        document.apply_changes(3, &[change(None, "C = 1\n"), change(Some((0, 4, 0, 0)), "!")]);
        assert_eq!((&document.text()[..], document.version), (&b"C = !1\n"[..], 3));
    }

    #[test]
    fn the_language_is_given_or_detected() {
        let language = |id: &str, text: &str| {
            Document::new(Uri::from_str("file:///c").unwrap(), id.into(), 1, text).language()
        };
        assert_eq!(language("condor-config", "A = 1\n"), DocumentLanguage::Config);
        assert_eq!(language("condor-config", "SET A 1\n"), DocumentLanguage::Rules);
        assert_eq!(language("condor-transform", "A = 1\n"), DocumentLanguage::Rules);
        assert_eq!(language("classad", "A = 1\n"), DocumentLanguage::Unchecked);
    }
}
