//! Input of all requests about a position in a document.

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless, unqualified_name};
use htc_config::macro_definition::{Definition, DefinitionPlace};
use htc_config::statement;
use lsp_types::{Location, Position, Range};

use crate::configuration::LoadedConfiguration;
use crate::documents::{Document, DocumentLanguage};
use crate::elements::{Element, element_at};
use crate::overlay_world::OverlayWorld;
use crate::positions::LineIndex;
use crate::statements::{BlockBody, SourceStatement, StatementSyntax, parse_config, parse_rules};
use crate::workspace::Workspace;

/// A document, its statements, and the configuration that it belongs to.
pub struct DocumentQuery<'w> {
    /// Workspace that contains the document.
    pub workspace: &'w Workspace,
    /// Document that the request is about.
    pub document: &'w Document,
    /// Language of the document.
    pub language: DocumentLanguage,
    /// Configuration of the document, or `None` for a rules file.
    pub configuration: Option<&'w LoadedConfiguration>,
    /// Statements of the document.
    pub statements: Vec<SourceStatement>,
    /// World in which open documents replace files.
    pub world: &'w OverlayWorld<'w>,
}

impl<'w> DocumentQuery<'w> {
    /// Creates the input of requests about a document. The workspace must have been refreshed.
    pub fn new(workspace: &'w Workspace, document: &'w Document, world: &'w OverlayWorld<'w>) -> Self {
        let language = workspace.language(document);
        let statements = match language {
            DocumentLanguage::Config => parse_config(document.text()),
            DocumentLanguage::Rules => parse_rules(document.text()),
            DocumentLanguage::Unchecked => Vec::new(),
        };
        let configuration = workspace.configuration_of(&document.path);
        DocumentQuery { workspace, document, language, configuration, statements, world }
    }

    /// Returns the offset of a position.
    pub fn offset(&self, position: Position) -> usize {
        self.document.lines().offset(self.document.text(), position)
    }

    /// Returns the element at a position.
    pub fn element(&self, position: Position) -> Option<Element> {
        element_at(&self.statements, self.offset(position))
    }

    /// Returns the range of a span of the document.
    pub fn range(&self, span: Span) -> Range {
        self.document.lines().range(self.document.text(), span)
    }

    /// Returns the statement of the document at an offset.
    pub(crate) fn statement_at(&self, offset: usize) -> Option<&SourceStatement> {
        let is_at =
            |one: &&SourceStatement| one.span.start as usize <= offset && offset <= one.span.end as usize;
        self.statements.iter().find(is_at)
    }

    /// Returns the assignments to a macro within a rules file, or within the route or transform at an offset.
    pub(crate) fn local_assignments(&self, name: &[u8], offset: usize) -> Vec<&SourceStatement> {
        let rules: &[SourceStatement] = match self.language {
            DocumentLanguage::Rules => &self.statements,
            _ => match self.statement_at(offset).map(|one| &one.syntax) {
                Some(StatementSyntax::Block { body: BlockBody::Rules(rules), .. }) => rules,
                _ => &[],
            },
        };
        let is_assignment = |one: &&SourceStatement| match &one.syntax {
            StatementSyntax::Command { keyword, attribute, .. } => {
                caseless::eq(one.text(keyword), b"EVALMACRO") && caseless::eq(one.text(attribute), name)
            }
            _ => one.assigned_name().is_some_and(|assigned| caseless::eq(assigned, name)),
        };
        rules.iter().filter(is_assignment).collect()
    }

    /// Returns the place of a definition in its file. For a definition in a template, this is the `use` line.
    pub(crate) fn location(&self, place: &DefinitionPlace) -> Option<Location> {
        let (path, text) = self.configuration?.source_text(place)?;
        let start = (place.offset as usize).min(text.len());
        let length = text[start..].iter().take_while(|&&byte| statement::is_name_byte(byte)).count();
        let range = LineIndex::new(text).range(text, Span::new(start, start + length));
        Some(Location::new(self.workspace.uri(path)?, range))
    }

    /// Returns `FILE:LINE` of a definition as a link or, if it is not in a file, its place in the form that `--why`
    /// prints.
    pub(crate) fn link(&self, configuration: &LoadedConfiguration, definition: &Definition) -> String {
        let text = configuration.config().set.describe_place(&definition.place).to_str_lossy().into_owned();
        match self.location(&definition.place) {
            Some(location) => {
                let line = location.range.start.line + 1;
                format!("[{}]({}#L{line})", escape_markdown(&text), location.uri.as_str())
            }
            None => escape_markdown(&text),
        }
    }
}

/// Returns true if two names are the same parameter for different daemons: the text before the last dot is
/// ignored.
pub(crate) fn is_same_parameter(one: &[u8], other: &[u8]) -> bool {
    caseless::eq(unqualified_name(one), unqualified_name(other))
}

/// Escapes characters that have a meaning in Markdown.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\`*_[]<>#|".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Returns a text as a code span or, if it has several lines, as a code block.
pub(crate) fn format_code(text: &BStr) -> String {
    let text = text.to_str_lossy();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    if text.contains('\n') {
        let fence = "`".repeat(longest.max(2) + 1);
        return format!("\n{fence}condor-config\n{}\n{fence}\n", text.trim_end_matches('\n'));
    }
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_leave_their_code() {
        assert_eq!(format_code("a".into()), "`a`");
        assert_eq!(format_code("`x``".into()), "``` `x`` ```");
        assert_eq!(format_code("a\n```\nb\n".into()), "\n````condor-config\na\n```\nb\n````\n");
        assert_eq!(escape_markdown("A_B <c>"), "A\\_B \\<c\\>");
    }
}
