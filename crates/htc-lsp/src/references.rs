//! Find references: all places of a configuration that name the same macro, template, attribute or function.

use std::path::Path;

use htc_base::text::caseless;
use lsp_types::{Location, Position};

use crate::elements::{Element, ElementKind, elements_of};
use crate::positions::LineIndex;
use crate::query::{DocumentQuery, is_same_parameter};
use crate::statements::{SourceStatement, parse_config};

/// Returns all places that name the element at a position, in the order of reading. Places that set a macro are included
/// only with `with_definitions`.
pub fn find_references(
    query: &DocumentQuery<'_>,
    position: Position,
    with_definitions: bool,
) -> Vec<Location> {
    let Some(wanted) = query.element(position).map(|element| element.kind) else { return Vec::new() };
    let is_wanted = |element: &Element| {
        is_same_target(&wanted, &element.kind)
            && (with_definitions || !matches!(element.kind, ElementKind::Parameter(_)))
    };
    let mut places = Vec::new();
    match query.configuration {
        None => add_places(
            query,
            &query.document.path,
            query.document.text(),
            &query.statements,
            &is_wanted,
            &mut places,
        ),
        Some(configuration) => {
            for path in configuration.file_paths() {
                if let Some(text) = configuration.text(path) {
                    add_places(query, path, text, &parse_config(text), &is_wanted, &mut places);
                }
            }
        }
    }
    places
}

fn add_places(
    query: &DocumentQuery<'_>,
    path: &Path,
    text: &[u8],
    statements: &[SourceStatement],
    is_wanted: &dyn Fn(&Element) -> bool,
    places: &mut Vec<Location>,
) {
    let Some(uri) = query.workspace.uri(path) else { return };
    let mut found: Vec<Element> = statements.iter().flat_map(elements_of).filter(is_wanted).collect();
    if found.is_empty() {
        return;
    }
    found.sort_by_key(|element| (element.span.start, element.span.end));
    let lines = LineIndex::new(text);
    places.extend(found.iter().map(|element| Location::new(uri.clone(), lines.range(text, element.span))));
}

/// Returns true if two elements name the same macro, template, file, attribute, function, category, command or
/// variable.
fn is_same_target(one: &ElementKind, other: &ElementKind) -> bool {
    if let (Some(one), Some(other)) = (one.parameter_name(), other.parameter_name()) {
        return is_same_parameter(one, other);
    }
    match (one, other) {
        (
            ElementKind::Template { category, name },
            ElementKind::Template { category: other_category, name: other_name },
        ) => caseless::eq(category, other_category) && caseless::eq(name, other_name),
        (ElementKind::IncludeTarget(one), ElementKind::IncludeTarget(other)) => one == other,
        (ElementKind::Attribute(one), ElementKind::Attribute(other))
        | (ElementKind::Function(one), ElementKind::Function(other))
        | (ElementKind::Category(one), ElementKind::Category(other))
        | (ElementKind::CommandKeyword(one), ElementKind::CommandKeyword(other))
        | (ElementKind::Variable(one), ElementKind::Variable(other)) => caseless::eq(one, other),
        _ => false,
    }
}
