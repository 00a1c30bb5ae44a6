//! Go to definition: macros, parameters, included files, templates, routes.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use htc_base::text::caseless;
use htc_base::world::World as _;
use htc_config::macro_definition::{Definition, FoundMacro};
use htc_config::template::{self, Template};
use lsp_types::{Location, Position, Range};

use crate::configuration::LoadedConfiguration;
use crate::elements::{Element, ElementKind};
use crate::query::{DocumentQuery, is_same_parameter};
use crate::statements::StatementSyntax;

/// Target of "Go to definition".
#[derive(Clone)]
pub enum DefinitionTarget {
    /// Places in files.
    Places(Vec<Location>),
    /// A built-in template, which has no file.
    Template(Template),
}

/// Returns the definition of the element at a position, or `None` if nothing in a file defines it.
pub fn find_definition(query: &DocumentQuery<'_>, position: Position) -> Option<DefinitionTarget> {
    let element = query.element(position)?;
    let offset = query.offset(position);
    let places = match &element.kind {
        ElementKind::Template { category, name } => return find_template(category, name),
        ElementKind::IncludeTarget(target) => included_files(query, &element, target),
        ElementKind::Macro(name) | ElementKind::Parameter(name) => {
            macro_places(query, &element, name, offset)
        }
        ElementKind::ListedName { parameter, .. } => parameter_places(query, parameter),
        ElementKind::Attribute(name) => parameter_places(query, name),
        ElementKind::MacroFunction(_)
        | ElementKind::Variable(_)
        | ElementKind::Keyword(_)
        | ElementKind::CommandKeyword(_)
        | ElementKind::Category(_)
        | ElementKind::Scope(_)
        | ElementKind::Function(_) => Vec::new(),
    };
    (!places.is_empty()).then_some(DefinitionTarget::Places(places))
}

/// Returns a template by category and name.
pub(crate) fn known_template(category: &[u8], name: &[u8]) -> Option<Template> {
    template::find(template::find_category(category.trim())?, name)
}

fn find_template(category: &[u8], name: &[u8]) -> Option<DefinitionTarget> {
    known_template(category, name).map(DefinitionTarget::Template)
}

/// Returns the place of a macro's definition: the one in the same route or rules file, else the effective one of the
/// configuration.
fn macro_places(
    query: &DocumentQuery<'_>,
    element: &Element,
    name: &BString,
    offset: usize,
) -> Vec<Location> {
    let local = query.local_assignments(name, offset);
    let before = local.iter().rev().find(|one| (one.span.end as usize) < offset || one.span == element.span);
    if let Some(statement) = before.or(local.first()) {
        let name_length = statement.assigned_name().map_or(statement.line.text.len(), <[u8]>::len);
        let range = query.range(statement.line.span(0..name_length));
        return vec![Location::new(query.document.uri.clone(), range)];
    }
    let is_self_reference = matches!(element.kind, ElementKind::Macro(_))
        && query
            .statement_at(offset)
            .and_then(|statement| statement.assigned_name())
            .is_some_and(|assigned| is_same_parameter(assigned, name));
    match query.configuration.filter(|_| is_self_reference) {
        Some(configuration) => previous_place(query, configuration, name, offset),
        None => parameter_places(query, name),
    }
}

/// Returns the place of the previous definition, which a macro's reference to itself reads.
fn previous_place(
    query: &DocumentQuery<'_>,
    configuration: &LoadedConfiguration,
    name: &[u8],
    offset: usize,
) -> Vec<Location> {
    let Some(statement) = query.statement_at(offset) else { return Vec::new() };
    let Some(entry) = configuration.config().set.find_exact(name) else { return Vec::new() };
    let all: Vec<&Definition> = entry.replaced.iter().chain([&entry.current]).collect();
    let is_here = |definition: &&Definition| {
        definition.place.template.is_none()
            && definition.place.offset == statement.span.start
            && configuration.path(definition.place.source) == Some(&query.document.path)
    };
    let index = all.iter().position(is_here).unwrap_or(all.len());
    all[..index].iter().rev().find_map(|definition| query.location(&definition.place)).into_iter().collect()
}

/// Returns the place of the definition in effect, or of those inside a false `if` if there is no other.
pub(crate) fn parameter_places(query: &DocumentQuery<'_>, name: &BString) -> Vec<Location> {
    let Some(configuration) = query.configuration else { return Vec::new() };
    let config = configuration.config();
    let found = config.set.find(name, &config.context, query.world);
    let effective = match found {
        Some(FoundMacro::Set(entry)) => query.location(&entry.current.place),
        _ => None,
    };
    // A name with the prefix of another daemon is looked up as written.
    let effective = effective
        .or_else(|| config.set.find_exact(name).and_then(|entry| query.location(&entry.current.place)));
    match effective {
        Some(place) => vec![place],
        None => {
            let skipped = config.skipped.iter().filter(|skipped| caseless::eq(&skipped.name, name));
            skipped.filter_map(|skipped| query.location(&skipped.place)).collect()
        }
    }
}

/// Returns the files that an `include` reads.
pub(crate) fn included_paths(query: &DocumentQuery<'_>, element: &Element, target: &[u8]) -> Vec<PathBuf> {
    let Some(configuration) = query.configuration else { return Vec::new() };
    let config = configuration.config();
    let text = query.document.text();
    let Some(statement) = query.statement_at(element.span.start as usize) else { return Vec::new() };
    let newlines = |end: u32| memchr::memchr_iter(b'\n', &text[..(end as usize).min(text.len())]).count();
    // HTCondor records the number of the last physical line, but does not count a last line without a newline.
    let last = newlines(statement.span.end) + 1;
    let first = if text.len() == statement.span.end as usize { last - 1 } else { last };
    let here: Vec<_> = configuration.sources_of(&query.document.path).collect();
    let mut paths: Vec<PathBuf> = Vec::new();
    for id in config.set.source_ids() {
        let from = config.set.source(id).included_from;
        let is_here = from.is_some_and(|(source, line)| {
            here.contains(&source) && (first..=last).contains(&(line as usize))
        });
        if let Some(path) = configuration.path(id).filter(|_| is_here)
            && !paths.iter().any(|known| known == path)
            && query.world.stat(path).is_ok()
        {
            paths.push(path.to_owned());
        }
    }
    let is_command = match &statement.syntax {
        StatementSyntax::Include { options, .. } => statement.text(options).contains_str("command"),
        _ => false,
    };
    if paths.is_empty() && !is_command {
        let expanded = config.view(query.world).expand(target).unwrap_or_else(|_| target.into());
        let path = query.world.document_path(&expanded.to_path_lossy());
        if query.world.stat(&path).is_ok() {
            paths.push(path);
        }
    }
    paths
}

fn included_files(query: &DocumentQuery<'_>, element: &Element, target: &[u8]) -> Vec<Location> {
    let start = Range::new(Position::new(0, 0), Position::new(0, 0));
    let uris =
        included_paths(query, element, target).into_iter().filter_map(|path| query.workspace.uri(&path));
    uris.map(|uri| Location::new(uri, start)).collect()
}
