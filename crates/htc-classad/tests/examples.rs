//! Tests that every public module, type, trait, free function and constructor has an example in its documentation, and
//! that every other public method is called in an example of the crate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Public items that have no example, and public methods that no example calls, each with the reason.
const WITHOUT_EXAMPLE: [(&str, &str); 8] = [
    ("ad_io/stream/input_window.rs InputWindow", "it is not exported"),
    ("ad_io/format/xml/xml_writer.rs FOOTER", "the example of HEADER uses it"),
    ("syntax/name.rs hash", "it is hidden: other crates of the workspace use it"),
    ("text/span.rs new", "it is that of LineCounter, which is not exported"),
    ("text/span.rs line", "it is that of LineCounter, which is not exported"),
    ("text/span.rs join", "only the crates of the workspace have two spans of a text"),
    ("regex/unavailable.rs Regex", "it has the interface of pcre2.rs, without the feature"),
    ("regex/unavailable.rs compile", "it has the interface of pcre2.rs, without the feature"),
];

/// Exceptions for the hidden module `text`: its contents are hidden, except for the types of `span.rs` and the type
/// `LineCaret`; `LineCounter` in `span.rs` is hidden.
const HIDDEN: [&str; 4] = ["text/", "text/span.rs", "text/caret.rs LineCaret", "text/span.rs LineCounter"];

/// Returns true if code outside of the workspace can use an item.
fn is_visible(name: &str) -> bool {
    let [hidden, file, exported, local] = HIDDEN;
    !name.starts_with(hidden) || (name.starts_with(file) && name != local) || name == exported
}

/// Public item of a source file.
#[derive(Debug, PartialEq)]
struct Item {
    name: String,
    kind: ItemKind,
    has_example: bool,
}

#[derive(Debug, PartialEq)]
enum ItemKind {
    Module,
    /// Method with a receiver. A call in any example is sufficient.
    Method,
    Other,
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the text of a source file without the tests at its end.
fn without_tests(text: &str) -> &str {
    let tests = text.find("\n#[cfg(test)]\nmod ").or_else(|| text.find("\n#[cfg(all(test"));
    &text[..tests.unwrap_or(text.len())]
}

/// Returns the kind and the name of the public item that a line declares, or `None`.
fn declared_name(line: &str) -> Option<(&str, &str)> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split([' ', '(', '<']);
    let mut kind = words.next()?;
    let mut name = words.next()?;
    while matches!(kind, "const" | "unsafe") && matches!(name, "fn" | "unsafe") {
        kind = name;
        name = words.next()?;
    }
    let is_item = matches!(kind, "fn" | "struct" | "enum" | "trait" | "type" | "mod" | "const");
    is_item.then(|| (kind, name.trim_end_matches([':', ';', '{'])))
}

/// Returns the public items that a source file declares.
fn items(text: &str) -> Vec<Item> {
    let lines: Vec<&str> = without_tests(text).lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some((kind, name)) = declared_name(line).filter(|_| indent <= 4) else { continue };
        // An associated constant does not need its own example.
        if indent == 4 && kind == "const" {
            continue;
        }
        let above = lines[..at].iter().rev().map(|line| line.trim_start());
        let above = above.take_while(|line| line.starts_with(['/', '#']));
        let has_example = above.filter(|line| line.starts_with("/// ```")).count() >= 2;
        let receiver = lines[at..].iter().take(2).any(|line| line.contains("self"));
        let kind = match kind {
            "mod" => ItemKind::Module,
            "fn" if indent == 4 && receiver => ItemKind::Method,
            _ => ItemKind::Other,
        };
        found.push(Item { name: name.to_owned(), kind, has_example });
    }
    found
}

/// Returns the lines of all examples in a source file.
fn examples(text: &str) -> String {
    let mut is_inside = false;
    let mut all = String::new();
    for line in text.lines() {
        let doc = line.trim_start().strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(doc) = doc else { continue };
        match doc.trim().starts_with("```") {
            true => is_inside = !is_inside,
            false if is_inside => all += &format!("{doc}\n"),
            false => {}
        }
    }
    all
}

#[test]
fn every_public_item_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: Vec<(String, String)> = sources(&root)
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    let shown: String = files.iter().map(|(_, text)| examples(text)).collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for (file, text) in &files {
        for item in items(text) {
            let name = format!("{file} {}", item.name);
            if is_visible(&name) {
                count += 1;
                let is_shown = item.has_example
                    || item.kind == ItemKind::Method && shown.contains(&format!(".{}(", item.name))
                    || item.kind == ItemKind::Module && has_module_example(file, &item.name, &files);
                missing.extend((!is_shown).then_some(name));
            }
        }
    }
    assert!(count > 300, "{count}");
    let listed: Vec<&str> = WITHOUT_EXAMPLE.iter().map(|(name, _)| *name).collect();
    let unlisted: Vec<&String> = missing.iter().filter(|name| !listed.contains(&name.as_str())).collect();
    assert!(unlisted.is_empty(), "these have no example: {unlisted:#?}");
    let needless: Vec<&&str> = listed.iter().filter(|name| !missing.iter().any(|one| one == *name)).collect();
    assert!(needless.is_empty(), "these have one and need no exception: {needless:#?}");
}

/// Returns true if the documentation of a module has an example.
fn has_module_example(file: &str, module: &str, files: &[(String, String)]) -> bool {
    let directory = file.rsplit_once('/').map_or(String::new(), |(directory, _)| format!("{directory}/"));
    let places = [format!("{directory}{module}.rs"), format!("{directory}{module}/mod.rs")];
    let text = files.iter().find(|(other, _)| places.contains(other)).map(|(_, text)| text);
    // The module `text` is hidden and needs no example.
    module == "text" || text.is_some_and(|text| text.lines().any(|line| line.starts_with("//! ```")))
}

#[test]
fn items_are_found_with_their_examples() {
    let text = "/// A.\n///\n/// ```\n/// use a::A;\n/// A.b();\n/// ```\n#[derive(Clone)]\npub struct A;\n\nimpl A {\n    /// Makes one.\n    pub const fn new() -> A {\n        A\n    }\n\n    pub fn b(&self) {}\n}\n\npub(crate) fn c() {}\n/// D.\npub fn d<T>() {}\n";
    let item = |name: &str, kind, has_example| Item { name: name.into(), kind, has_example };
    let expected = [
        item("A", ItemKind::Other, true),
        item("new", ItemKind::Other, false),
        item("b", ItemKind::Method, false),
        item("d", ItemKind::Other, false),
    ];
    assert_eq!(items(text), expected);
    assert_eq!(examples(text), " use a::A;\n A.b();\n");
}
