//! Checks that no files import each other in a circle, so that each file can be read without the others. The
//! imports are taken from the sources; an item re-exported by a `mod.rs` or a parent counts as an item of the
//! file that defines it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module by its path within its crate: `["slot", "claim"]`.
type Module = Vec<String>;

/// Allowed circles, each with the reason.
const NATURAL: &[(&[&str], &str)] = &[(
    &["expand", "macro_functions"],
    "a macro's function stands in a text that is expanded, and expands the texts in its brackets",
)];

/// The sources of a crate: code without comments and without the tests at the end of each file.
struct Sources {
    code: BTreeMap<Module, String>,
}

impl Sources {
    fn below(root: &Path) -> Self {
        let mut sources = Self { code: BTreeMap::new() };
        sources.collect(root, root);
        sources
    }

    fn collect(&mut self, root: &Path, directory: &Path) {
        for entry in fs::read_dir(directory).expect("the sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.collect(root, &path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(root).unwrap().with_extension("");
                let mut module: Module =
                    inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if module[0] == "bin" {
                    continue;
                }
                module.pop_if(|last| last == "mod" || last == "lib");
                self.code.insert(module, code(&fs::read_to_string(&path).unwrap()));
            }
        }
    }

    /// Returns the files that each file names.
    fn graph(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let imports: BTreeMap<&Module, Imports> =
            self.code.iter().map(|(module, code)| (module, self.imports(module, code))).collect();
        let files = imports.iter().map(|(module, own)| {
            let named = own.named.iter().filter_map(|path| self.home(path, &imports, 0));
            (*module, named.filter(|file| file != module).collect())
        });
        files.collect()
    }

    fn imports(&self, module: &Module, code: &str) -> Imports {
        let mut found = Imports::default();
        let mut rest = String::new();
        for (number, statement) in code.split("use ").enumerate() {
            let before = code_before(code, statement);
            let is_import = number > 0 && (before.is_empty() || before.ends_with(['\n', ' ', ')']));
            let Some((tree, behind)) = statement.split_once(';').filter(|_| is_import) else {
                rest.push_str(statement);
                continue;
            };
            let hands_on = before.trim_end().rsplit('\n').next().is_some_and(|line| line.contains("pub"));
            for (path, name) in leaves(tree) {
                let Some(path) = self.absolute(module, &path) else { continue };
                if hands_on {
                    found.handed_on.insert(name, path);
                } else if self.code.contains_key(&path) {
                    found.modules.insert(name, path);
                } else {
                    found.named.insert(path);
                }
            }
            rest.push_str(behind);
        }
        for words in written_paths(&rest) {
            let path = match found.modules.get(&words[0]) {
                Some(imported) => Some([imported.as_slice(), &words[1..]].concat()),
                None => self.absolute(module, &words),
            };
            found.named.extend(path);
        }
        found
    }

    /// Returns a path from the root of the crate, or `None` for an item of another crate or of the file
    /// itself.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module.as_slice(), &path[1..]].concat()),
            "super" => Some([&module[..module.len().checked_sub(supers)?], &path[supers..]].concat()),
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                self.code.contains_key(&child).then(|| [module.as_slice(), path].concat())
            }
        }
    }

    /// Returns the file that contains the item with this path, or `None` for a module as a whole.
    fn home<'a>(
        &'a self,
        path: &Module,
        imports: &BTreeMap<&Module, Imports>,
        depth: usize,
    ) -> Option<&'a Module> {
        if depth > 8 || self.code.contains_key(path) {
            return None;
        }
        let length = (0..path.len()).rev().find(|length| self.code.contains_key(&path[..*length]))?;
        let (module, _) = self.code.get_key_value(&path[..length])?;
        let Some(origin) = imports[module].handed_on.get(&path[length]) else { return Some(module) };
        let whole = [origin.as_slice(), &path[length + 1..]].concat();
        if whole == *path { Some(module) } else { self.home(&whole, imports, depth + 1) }
    }
}

/// Imports of a file.
#[derive(Default)]
struct Imports {
    named: BTreeSet<Module>,
    /// Modules by the names that the file gives them.
    modules: BTreeMap<String, Module>,
    /// Re-exported items.
    handed_on: BTreeMap<String, Module>,
}

/// Returns code without comments, and without the tests at its end.
fn code(source: &str) -> String {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the text before a part of it.
fn code_before<'t>(text: &'t str, part: &str) -> &'t str {
    let offset = part.as_ptr() as usize - text.as_ptr() as usize;
    text[..offset].strip_suffix("use ").unwrap_or_default()
}

/// Returns the paths of an import, with lists expanded, and their local names.
fn leaves(tree: &str) -> Vec<(Module, String)> {
    let mut found = Vec::new();
    collect_leaves(&[], tree, &mut found);
    found
}

fn collect_leaves(base: &[String], tree: &str, found: &mut Vec<(Module, String)>) {
    let words = |text: &str| -> Module {
        text.split("::").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let Some((before, list)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = [base, &words(path)].concat();
        path.pop_if(|last| last == "self");
        let name =
            if alias.is_empty() { path.last().cloned().unwrap_or_default() } else { alias.trim().into() };
        found.push((path, name));
        return;
    };
    let base = [base, &words(before)].concat();
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut from) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[from..at].trim().is_empty() {
                    collect_leaves(&base, &list[from..at], found);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns all paths of two or more segments in the code.
fn written_paths(code: &str) -> Vec<Module> {
    let paths = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = paths.map(|path| path.split("::").map(str::to_owned).collect::<Module>());
    paths.filter(|path| path.len() > 1 && path.iter().all(|word| !word.is_empty())).collect()
}

/// Returns all files that can be reached from a file.
fn reach<'g>(graph: &BTreeMap<&'g Module, BTreeSet<&'g Module>>, from: &'g Module) -> BTreeSet<&'g Module> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(module) = todo.pop() {
        todo.extend(graph.get(module).into_iter().flatten().filter(|next| seen.insert(**next)));
    }
    seen
}

/// Returns the circles of a crate, and the imports that form them.
fn circles(sources: &Sources) -> Vec<(Vec<String>, String)> {
    let graph = sources.graph();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|module| (*module, reach(&graph, module))).collect();
    let mut circles = BTreeSet::new();
    for (module, others) in &reached {
        let circle: Vec<&Module> = others
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)))
            .copied()
            .collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    let shown = circles.into_iter().map(|circle| {
        let mut arrows = String::new();
        for module in &circle {
            for other in graph[*module].iter().filter(|other| circle.contains(*other)) {
                arrows.push_str(&format!("\n  {} -> {}", module.join("/"), other.join("/")));
            }
        }
        (circle.iter().map(|module| module.join("/")).collect(), arrows)
    });
    shown.collect()
}

fn unexplained(root: &str) -> Vec<String> {
    let sources = Sources::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(root));
    assert!(!sources.code.is_empty(), "no sources in {root}");
    let found = circles(&sources).into_iter();
    let found = found.filter(|(circle, _)| !NATURAL.iter().any(|(natural, _)| natural == circle));
    found.map(|(circle, arrows)| format!("{} files: {}{arrows}", circle.len(), circle.join(" "))).collect()
}

#[test]
fn modules_have_no_import_cycles() {
    let crates = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).unwrap();
    let crates = crates.map(|entry| format!("crates/{}/src", entry.unwrap().file_name().to_str().unwrap()));
    let roots: Vec<String> = crates.chain(["src".to_owned()]).collect();
    assert!(roots.len() > 12, "{roots:?}");
    let found: Vec<String> = roots.iter().flat_map(|root| unexplained(root)).collect();
    assert!(found.is_empty(), "{} circles\n{}", found.len(), found.join("\n"));
}

#[test]
fn cycles_are_found_through_import_lists_parents_and_reexports() {
    let files = [
        ("a", "pub use self::b::B;\npub mod b;\nmod c;"),
        ("a/b", "use super::c::{self, C};\nfn f() -> C { c::new() }"),
        ("a/c", "use crate::a::{B as Other};"),
        ("d", "fn f() { crate::a::B::new(); } // crate::e::E"),
        ("e", "use crate::d::D;\n#[cfg(test)]\nmod tests { use crate::a::B; }"),
    ];
    let named = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let sources = Sources { code: files.iter().map(|(path, text)| (named(path), code(text))).collect() };
    let found: Vec<Vec<String>> = circles(&sources).into_iter().map(|(circle, _)| circle).collect();
    assert_eq!(found, [["a/b", "a/c"]]);
}
