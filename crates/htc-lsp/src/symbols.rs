//! Document symbols: the outline of a configuration or rules file.

use bstr::ByteSlice;
use htc_base::text::Span;
use lsp_types::{DocumentSymbol, Location, SymbolInformation, SymbolKind};

use crate::elements::holds_listed_names;
use crate::query::DocumentQuery;
use crate::statements::{BlockBody, SourceStatement, StatementSyntax};

/// Returns the outline: settings, includes, templates; commands inside routes and transforms.
pub fn document_symbols(query: &DocumentQuery<'_>) -> Vec<DocumentSymbol> {
    query.statements.iter().filter_map(|statement| symbol(query, statement)).collect()
}

/// Returns the outline as a flat list, for editors that cannot show a tree.
pub fn flat_symbols(query: &DocumentQuery<'_>) -> Vec<SymbolInformation> {
    let mut flat = Vec::new();
    for symbol in document_symbols(query) {
        push_flat(query, symbol, None, &mut flat);
    }
    flat
}

fn push_flat(
    query: &DocumentQuery<'_>,
    symbol: DocumentSymbol,
    container: Option<&str>,
    flat: &mut Vec<SymbolInformation>,
) {
    let DocumentSymbol { name, kind, range, children, .. } = symbol;
    let location = Location::new(query.document.uri.clone(), range);
    #[expect(deprecated, reason = "the protocol has no other way to omit the field")]
    flat.push(SymbolInformation {
        name: name.clone(),
        kind,
        tags: None,
        deprecated: None,
        location,
        container_name: container.map(str::to_owned),
    });
    for child in children.unwrap_or_default() {
        push_flat(query, child, Some(&name), flat);
    }
}

fn symbol(query: &DocumentQuery<'_>, statement: &SourceStatement) -> Option<DocumentSymbol> {
    let (selection, detail, kind) = match &statement.syntax {
        StatementSyntax::Assignment { name, value, .. } => {
            let kind = match holds_listed_names(statement.text(name)) {
                true => SymbolKind::ARRAY,
                false => SymbolKind::VARIABLE,
            };
            (name, statement.text(value), kind)
        }
        StatementSyntax::Block { name, body: BlockBody::Rules(_), .. } => {
            (name, &b""[..], SymbolKind::FUNCTION)
        }
        StatementSyntax::Block { name, .. } => (name, &b""[..], SymbolKind::VARIABLE),
        StatementSyntax::Include { keyword, target, .. } => {
            (if target.is_empty() { keyword } else { target }, &b"include"[..], SymbolKind::FILE)
        }
        StatementSyntax::Use { keyword, names, .. } => {
            (if names.is_empty() { keyword } else { names }, &b"use"[..], SymbolKind::MODULE)
        }
        StatementSyntax::Command { keyword, attribute, .. } => {
            let named = if attribute.is_empty() { keyword } else { attribute };
            (named, statement.text(keyword), SymbolKind::PROPERTY)
        }
        StatementSyntax::Comment
        | StatementSyntax::Condition { .. }
        | StatementSyntax::Message { .. }
        | StatementSyntax::Section
        | StatementSyntax::Invalid => return None,
    };
    let selected = statement.line.span(selection.clone());
    let range = Span::new(
        statement.span.start.min(selected.start) as usize,
        statement.span.end.max(selected.end) as usize,
    );
    let name = match &statement.syntax {
        StatementSyntax::Use { category, names, .. } => {
            [statement.text(category).trim(), b":", statement.text(names)].concat()
        }
        _ => statement.text(selection).to_vec(),
    };
    let children = match &statement.syntax {
        StatementSyntax::Block { body: BlockBody::Rules(rules), .. } => {
            Some(rules.iter().filter_map(|rule| symbol(query, rule)).collect())
        }
        _ => None,
    };
    // Editors refuse symbols without a name.
    let name = if name.trim().is_empty() { b"(no name)".to_vec() } else { name };
    #[expect(deprecated, reason = "the protocol has no other way to omit the field")]
    Some(DocumentSymbol {
        name: name.to_str_lossy().into_owned(),
        detail: Some(shorten(detail)).filter(|detail| !detail.is_empty()),
        kind,
        tags: None,
        deprecated: None,
        range: query.range(range),
        selection_range: query.range(selected),
        children,
    })
}

/// Returns the beginning of a value, at most 60 characters.
fn shorten(value: &[u8]) -> String {
    const MAX_LETTERS: usize = 60;
    let text = value.to_str_lossy();
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}
