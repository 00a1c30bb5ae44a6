//! Tests of the layers of the crate: each module uses only modules of lower layers, and modules do not depend
//! on each other in cycles.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Layers of the crate with their numbers; a layer may use layers with lower numbers.
const LAYERS: [(&str, u32); 8] = [
    ("text", 0),
    ("regex", 0),
    ("user_map", 0),
    ("eval_world", 0),
    ("syntax", 1),
    ("ad", 2),
    ("ad_io", 3),
    ("eval", 4),
];

/// Layers in which each module is checked separately.
const LAYERS_WITH_MODULES: [&str; 3] = ["syntax", "ad_io", "eval"];

fn layer_number(layer: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, height)| *height)
}

/// Returns the module to which a path of file names below the root belongs: a module such as `syntax/tree`, or
/// a whole layer.
fn module_of_path(path: &[&str]) -> Option<String> {
    let first = path.first()?;
    match path.get(1) {
        Some(second) if LAYERS_WITH_MODULES.contains(first) => Some(format!("{first}/{second}")),
        _ if LAYERS_WITH_MODULES.contains(first) => None,
        _ => Some((*first).to_owned()),
    }
}

/// Returns the code of a source file without comments and without the tests at its end.
fn code_without_comments(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns all paths in code that begin with `crate::`. A list in braces gives one path for each element.
fn crate_paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        let rest = &code[at + start.len()..];
        let path = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
        let end = if rest[path..].starts_with('{') { closing_brace(rest, path) } else { path };
        collect_import_paths(&[], &rest[..end], &mut paths);
    }
    paths
}

/// Returns the offset after the brace that closes the brace at offset `open`.
fn closing_brace(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Adds the paths of an import, which may contain lists in braces.
fn collect_import_paths(base: &[String], text: &str, paths: &mut Vec<Vec<String>>) {
    let parts = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let Some((before, list)) = text.split_once('{') else {
        paths.push([base, &parts(text)].concat());
        return;
    };
    let base = [base, &parts(before)].concat();
    let list = list.trim().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut from) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[from..at].trim().is_empty() {
                    collect_import_paths(&base, &list[from..at], paths);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

fn collect_sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the sources").flatten() {
        if entry.path().is_dir() {
            collect_sources(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            found.push(entry.path());
        }
    }
}

/// Returns the names that the `mod.rs` of each layer re-exports, with the module in which each name is defined.
fn reexports(root: &Path) -> BTreeMap<(String, String), String> {
    let mut names = BTreeMap::new();
    for layer in LAYERS_WITH_MODULES {
        let text = fs::read_to_string(root.join(layer).join("mod.rs")).expect("a layer");
        for line in text.split("pub use ").skip(1) {
            let mut paths = Vec::new();
            collect_import_paths(&[], line.split(';').next().unwrap_or_default(), &mut paths);
            for path in paths {
                if let [module, .., name] = &path[..] {
                    let name = name.split(" as ").last().unwrap_or(name).to_owned();
                    names.insert((layer.to_owned(), name), module.clone());
                }
            }
        }
    }
    names
}

/// Returns the dependencies between modules, and the violations of the layers.
fn module_dependencies() -> (BTreeMap<String, BTreeSet<String>>, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect_sources(&root, &mut files);
    let names = reexports(&root);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        let parts: Vec<&str> = inside.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        // Test modules in separate files may use all layers.
        if matches!(parts.last(), Some(&"lib" | &"model" | &"reader_agreement")) {
            continue;
        }
        let Some(own) = module_of_path(&parts) else { continue };
        for path in crate_paths(&code_without_comments(&fs::read_to_string(&file).expect("a source"))) {
            let layer = path[0].as_str();
            let Some(other_height) = layer_number(layer) else {
                wrong.push(format!(
                    "{inside}: `crate::{}` hides the layer that it comes from",
                    path.join("::")
                ));
                continue;
            };
            let origin = |name: &String| names.get(&(layer.to_owned(), name.clone())).unwrap_or(name).clone();
            let second = path.get(1).map(origin);
            let whole: Vec<&str> = std::iter::once(layer).chain(second.as_deref()).collect();
            let Some(other) = module_of_path(&whole).filter(|other| *other != own) else { continue };
            if Some(other_height) > layer_number(parts[0]) {
                wrong.push(format!("{inside}: {own} looks up to {other}"));
            }
            graph.entry(own.clone()).or_default().insert(other);
        }
    }
    (graph, wrong)
}

/// Returns all modules on which a module depends directly or indirectly.
fn reachable_modules<'g>(graph: &'g BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'g str> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(module) = todo.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                todo.push(next);
            }
        }
    }
    seen
}

#[test]
fn each_layer_uses_only_lower_layers() {
    let (graph, wrong) = module_dependencies();
    assert!(graph.len() > 25, "the sources were not found: {graph:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_have_no_cycles() {
    let (graph, _) = module_dependencies();
    let mut circles = BTreeSet::new();
    for module in graph.keys() {
        let reached = reachable_modules(&graph, module);
        if reached.contains(module.as_str()) {
            let cycle = reached
                .into_iter()
                .filter(|other| reachable_modules(&graph, other).contains(module.as_str()));
            circles.insert(cycle.collect::<Vec<_>>());
        }
    }
    assert!(circles.is_empty(), "{circles:?}");
}

#[test]
fn import_lists_are_split_into_names() {
    let found = crate_paths("use crate::a::{self, b::{C, D}, e};\nlet x = crate::f::g(crate::h::I);");
    let shown: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(shown, ["a::self", "a::b::C", "a::b::D", "a::e", "f::g", "h::I"]);
}
