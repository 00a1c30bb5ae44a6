//! Tests that the public interface of the crate, as declared in its sources, is the same as in
//! `public_interface.txt`, so that any change of the interface is visible in that file. `HTC_INTERFACE=write cargo
//! test -p htc-classad --test public_interface` writes the file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules that are hidden from the documentation, because only other crates of the workspace use them.
const HIDDEN: [&str; 1] = ["text/"];

/// Returns the source files below a directory, sorted by path.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the declaration that begins on the first of the lines, as one line and without its body.
fn declaration(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        let glued = text.ends_with('(') || line.starts_with(')') || text.is_empty();
        text += if glued { "" } else { " " };
        text += line;
        let open = |open: char, close: char| text.matches(open).count() > text.matches(close).count();
        if !open('(', ')') && (line.ends_with(['{', ';', '}', ',']) || line.ends_with("=> {")) {
            break;
        }
    }
    let body = text.find(" {").filter(|_| !text.contains("pub use")).unwrap_or(text.len());
    text[..body].trim_end_matches([';', ',']).replace(",)", ")").to_owned()
}

/// Block of a source file that may contain public declarations.
enum Block {
    Other,
    /// Public structure, whose public fields are part of the interface.
    Struct,
    /// Public enum or trait, of which all parts belong to the interface.
    Open,
    /// Methods of a type. Contains the header of the block until a public method has been found.
    Methods(Option<String>),
}

/// Returns the public declarations of a source file with their indentation.
fn interface(text: &str) -> Vec<String> {
    let tests = text.find("\n#[cfg(test)]\nmod ").or_else(|| text.find("\n#[cfg(all(test"));
    let lines: Vec<&str> = text[..tests.unwrap_or(text.len())].lines().collect();
    let mut found: Vec<String> = Vec::new();
    let mut block = Block::Other;
    for (at, line) in lines.iter().enumerate() {
        let (indent, rest) = (line.len() - line.trim_start().len(), line.trim_start());
        if rest.is_empty() || rest.starts_with(['/', '#', '}', ')']) {
            continue;
        }
        match (indent, &mut block) {
            (0, _) => {
                let whole = declaration(&lines[at..]);
                let (is_open, is_public) = (line.ends_with('{'), rest.starts_with("pub "));
                block = match whole.split_once(' ').map(|(first, _)| first) {
                    Some(first) if first.starts_with("impl") && !whole.contains(" for ") => {
                        Block::Methods(Some(whole.clone()))
                    }
                    Some("pub") if is_open && whole.starts_with("pub struct") => Block::Struct,
                    Some("pub")
                        if is_open && (whole.starts_with("pub enum") || whole.starts_with("pub trait")) =>
                    {
                        Block::Open
                    }
                    _ => Block::Other,
                };
                if is_public || (rest.starts_with("impl") && whole.contains(" for ")) {
                    found.push(whole);
                }
            }
            (4, Block::Methods(header)) if rest.starts_with("pub ") => {
                found.extend(header.take());
                found.push(format!("    {}", declaration(&lines[at..])));
            }
            (4, Block::Struct) if rest.starts_with("pub ") => {
                found.push(format!("    {}", declaration(&lines[at..])))
            }
            (4, Block::Open) => found.push(format!("    {}", declaration(&lines[at..]))),
            _ => {}
        }
    }
    found
}

#[test]
fn the_public_interface_is_as_listed_in_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = String::new();
    for path in sources(&root.join("src")) {
        if path.ends_with("tests.rs") {
            continue;
        }
        let name = path.strip_prefix(root.join("src")).unwrap().to_str().unwrap().to_owned();
        let found = interface(&fs::read_to_string(&path).unwrap());
        if !found.is_empty() && !HIDDEN.iter().any(|hidden| name.starts_with(hidden)) {
            all += &format!("# {name}\n{}\n\n", found.join("\n"));
        }
    }
    let file = root.join("tests/public_interface.txt");
    if std::env::var_os("HTC_INTERFACE").is_some_and(|value| value == "write") {
        fs::write(&file, &all).unwrap();
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    let changed = all
        .lines()
        .find(|line| !known.contains(line))
        .or_else(|| known.lines().find(|line| !all.contains(line)));
    assert_eq!(changed, None, "the interface has changed: HTC_INTERFACE=write writes it");
    assert!(all == known, "the order has changed: HTC_INTERFACE=write writes it");
}

#[test]
fn a_declaration_is_found_despite_line_breaks() {
    let text = "pub struct A {\n    pub b: u8,\n    c: u8,\n}\n\nimpl A {\n    /// Doc.\n    pub fn d(\n        &self,\n        e: u8,\n    ) -> u8 {\n        0\n    }\n\n    fn private(&self) {}\n\n    pub fn f(self) {}\n}\n\npub enum G {\n    /// Doc.\n    H(u8),\n    I,\n}\n\npub trait J {\n    fn k(&self);\n}\n\nimpl Clone for A {\n    fn clone(&self) -> A {\n        todo\n    }\n}\n\npub(crate) fn hidden() {}\nfn private() {}\n";
    assert_eq!(
        interface(text),
        [
            "pub struct A",
            "    pub b: u8",
            "impl A",
            "    pub fn d(&self, e: u8) -> u8",
            "    pub fn f(self)",
            "pub enum G",
            "    H(u8)",
            "    I",
            "pub trait J",
            "    fn k(&self)",
            "impl Clone for A",
        ]
    );
}
