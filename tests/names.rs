//! Names of types: each is a noun, and no crate has two public types of one name.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Participles, function words and nouns without a subject, which say nothing about a type.
const VAGUE_NAMES: &str = "Alike Around Asked Asks Aside Back Bag Behind Beside Board Came Closing Comes Coming Core \
    Dealer Done Drawn Effort Ended Ends Enough Fared Fast Feed Found Game Given GivenUp Grid Had Hand Heard Held Into \
    Kept Kind Known Lack Laid Late Left Life Like Line Live Looking Made Meaning Meant Meanwhile Met Moment Moved Named \
    Odd Other Own Passed Patient Printed Read Rest Run Said Screen Seen Sent Shown Skim Some Spoken Started Steer Step \
    Stopped Such Taken Teller That Then There Thing This Those Thrown Throw Told Tried Under Unless Until Used Wanted \
    Wants Way What When Where Which Who Whole Whom Whose With Within Without Word Words Work Written";

/// A definition of a type.
struct TypeDefinition {
    /// Path of the crate.
    home: PathBuf,
    name: String,
    is_public: bool,
    /// File and line, as an editor opens them.
    place: String,
}

/// Returns the name that a line defines, and true if it is public.
fn defined_type(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_start();
    let is_public = line.starts_with("pub ");
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest =
            rest.strip_prefix('(').and_then(|inside| inside.split_once(')')).map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "union ", "type "];
    let name = kinds.into_iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    name.starts_with(char::is_uppercase).then_some((&name[..end], is_public))
}

fn collect_definitions(home: &Path, directory: &Path, found: &mut Vec<TypeDefinition>) {
    for entry in fs::read_dir(directory).expect("a directory of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_definitions(home, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let Some((name, is_public)) = defined_type(line) else { continue };
                let place = format!("{}:{}", path.display(), number + 1);
                found.push(TypeDefinition { home: home.to_owned(), name: name.to_owned(), is_public, place });
            }
        }
    }
}

/// Returns all types of the programs and of the crates.
fn all_types() -> Vec<TypeDefinition> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect_definitions(root, &root.join("src"), &mut found);
    for entry in fs::read_dir(root.join("crates")).expect("the crates").flatten() {
        let sources = entry.path().join("src");
        if sources.is_dir() {
            collect_definitions(&entry.path(), &sources, &mut found);
        }
    }
    found
}

#[test]
fn no_type_has_a_meaningless_name() {
    let vague: Vec<&str> = VAGUE_NAMES.split_whitespace().collect();
    let types = all_types();
    assert!(types.len() > 1500, "only {} types were found", types.len());
    let wrong: Vec<String> = types
        .iter()
        .filter(|one| vague.contains(&one.name.as_str()))
        .map(|one| format!("{}: {}", one.place, one.name))
        .collect();
    assert!(wrong.is_empty(), "name these types for their subject:\n{}", wrong.join("\n"));
}

#[test]
fn no_crate_has_two_public_types_with_the_same_name() {
    let types = all_types();
    let mut places: BTreeMap<(&Path, &str), Vec<&str>> = BTreeMap::new();
    // A file for builds without a feature has the types of the one for builds with it.
    let alternative = "/regex/unavailable.rs:";
    for one in types.iter().filter(|one| one.is_public && !one.place.contains(alternative)) {
        places.entry((&one.home, &one.name)).or_default().push(&one.place);
    }
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|((_, name), places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "give each of these types a name of its own:\n{}", twice.join("\n"));
}

#[test]
fn definitions_are_recognized_in_every_form() {
    for (line, expected) in [
        ("pub struct SlotId(u32);", Some(("SlotId", true))),
        ("    pub(in crate::slot) enum Told<'a> {", Some(("Told", false))),
        ("type CandidateJobs<'j> = BTreeMap<String, Job<'j>>;", Some(("CandidateJobs", false))),
        ("unsafe trait World {}", Some(("World", false))),
        ("// struct Asked;", None),
        ("let structure = 1;", None),
    ] {
        assert_eq!(defined_type(line), expected, "{line}");
    }
}
