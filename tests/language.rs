//! Language of comments, messages, help and the book: first words of doc comments, and phrases that readers stumbled
//! over, each with what to write instead.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Words that no doc comment begins with: a type begins with a noun, a function with a verb, a boolean with "True if".
const FIRST_WORDS: [&str; 15] = [
    "How", "Of", "So", "That", "Those", "What", "When", "Where", "Whether", "Which", "Who", "Whom", "Whose",
    "With", "Without",
];

/// Phrases that texts must not contain, and the words to use instead.
const PHRASES: [(&str, &str); 50] = [
    ("are told", "are called with, get"),
    ("be told", "be reported"),
    ("by chance", "random"),
    ("by nobody", "nothing reads ..."),
    ("come to the same", "have the same effect"),
    ("comes of it", "the result"),
    ("comes to the same", "has the same effect"),
    ("came of it", "the result"),
    ("became of", "what happened to"),
    ("becomes of", "what happens to"),
    ("could not be reached", "no ... was found"),
    ("did its work", "succeeded"),
    ("does not tell", "does not report, does not name"),
    ("for ever", "forever"),
    ("for lack of", "because ... is missing"),
    ("for people", "human-readable"),
    ("for want of", "because ... is missing"),
    ("goes on", "continues"),
    ("gone through", "processed"),
    ("honoured", "supported"),
    ("in print", "as text"),
    ("in silence", "without a message"),
    ("is a text", "is a string"),
    ("is no attribute", "is not a valid attribute"),
    ("is no directory", "is not a directory"),
    ("is no expression", "is not a valid expression"),
    ("is no file", "is not a file"),
    ("is no integer", "is not an integer"),
    ("is no job", "is not a job"),
    ("is no name", "is not a valid name"),
    ("is no number", "is not a number"),
    ("is no regular", "is not a regular"),
    ("is no string", "is not a string"),
    ("is no type", "is not a valid type"),
    ("is none that", "is not a"),
    ("is over", "has ended"),
    ("is told", "is called with, gets"),
    ("looked at", "read, checked"),
    ("nobody listens", "no process listens"),
    ("nobody reads", "nothing reads"),
    ("nobody waits", "the caller does not wait"),
    ("so many times", "N times"),
    ("so often", "every SECONDS"),
    ("taken for", "treated as"),
    ("takes for granted", "needs, assumes"),
    ("the present one", "the current one"),
    ("told of", "called with, informed about"),
    ("whoever", "the process, the user"),
    ("worked off", "processed"),
    ("of its own accord", "by itself"),
];

/// Kind of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// A line of a doc comment, with true for the first line of its block.
    Doc {
        is_first: bool,
    },
    Comment,
    Literal,
    /// A line of a page.
    Prose,
}

/// A piece of text that a person reads.
struct Piece {
    kind: PieceKind,
    place: String,
    text: String,
}

fn files_below(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// Returns the end of a string literal that begins at `start` with its quote, for a raw one with this many hashes.
fn literal_end(text: &[u8], start: usize, hashes: Option<usize>) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match (text[at], hashes) {
            (b'\\', None) => at += 1,
            (b'"', None) => return at,
            (b'"', Some(count)) if text[at + 1..].iter().take_while(|&&b| b == b'#').count() >= count => {
                return at;
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Returns the comments and string literals of a source, without its module of tests.
fn pieces_of_source(path: &Path, found: &mut Vec<Piece>) {
    let whole = fs::read_to_string(path).unwrap();
    let text = whole.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&whole);
    let bytes = text.as_bytes();
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
    let place = |at: usize| format!("{name}:{}", text[..at].matches('\n').count() + 1);
    let (mut at, mut last_doc_line) = (0, usize::MAX);
    while at < bytes.len() {
        let rest = &text[at..];
        if let Some(comment) = rest.strip_prefix("//") {
            let line = comment.split('\n').next().unwrap_or_default();
            let number = text[..at].matches('\n').count();
            let kind = match line.starts_with('/') || line.starts_with('!') {
                true => PieceKind::Doc { is_first: number != last_doc_line.wrapping_add(1) },
                false => PieceKind::Comment,
            };
            if matches!(kind, PieceKind::Doc { .. }) {
                last_doc_line = number;
            }
            found.push(Piece {
                kind,
                place: place(at),
                text: line.trim_start_matches(['/', '!']).trim().to_owned(),
            });
            at += 2 + line.len();
            continue;
        }
        let raw = rest.strip_prefix('r').and_then(|rest| {
            let hashes = rest.bytes().take_while(|&b| b == b'#').count();
            rest[hashes..].starts_with('"').then_some(hashes)
        });
        let is_word = at > 0
            && (bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'b' || bytes[at - 1] == b'_');
        match (bytes[at], raw) {
            (b'r', Some(hashes)) if !is_word => {
                let start = at + 1 + hashes;
                let end = literal_end(bytes, start, Some(hashes));
                let inside = String::from_utf8_lossy(&bytes[start + 1..end.max(start + 1)]).into_owned();
                found.push(Piece { kind: PieceKind::Literal, place: place(at), text: inside });
                at = end + 1;
            }
            (b'"', _) => {
                let end = literal_end(bytes, at, None);
                let inside = String::from_utf8_lossy(&bytes[at + 1..end]).into_owned();
                let joined = inside.split("\\\n").map(str::trim_start).collect::<String>();
                found.push(Piece { kind: PieceKind::Literal, place: place(at), text: joined });
                at = end + 1;
            }
            // A character, not a lifetime.
            (b'\'', _) if bytes.get(at + 1) == Some(&b'\\') => at += 3,
            (b'\'', _) if bytes.get(at + 2) == Some(&b'\'') => at += 3,
            _ => at += 1,
        }
    }
}

/// Returns the lines of a page outside of blocks of code.
fn pieces_of_page(path: &Path, found: &mut Vec<Piece>) {
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
    let mut is_code = false;
    for (number, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push(Piece {
                kind: PieceKind::Prose,
                place: format!("{name}:{}", number + 1),
                text: line.to_owned(),
            });
        }
    }
}

/// Nouns that a number in a message counts.
const COUNTED_NOUNS: [&str; 37] = [
    "ads",
    "arguments",
    "attributes",
    "calls",
    "cases",
    "claims",
    "clauses",
    "conditions",
    "devices",
    "elements",
    "errors",
    "events",
    "failures",
    "files",
    "findings",
    "hooks",
    "jobs",
    "lines",
    "machines",
    "parameters",
    "problems",
    "processes",
    "processors",
    "reasons",
    "records",
    "routes",
    "rounds",
    "settings",
    "slots",
    "sources",
    "starters",
    "statements",
    "transforms",
    "units",
    "users",
    "values",
    "warnings",
];

/// Literals with a count before a fixed plural, each with the reason why the number is never 1 or the text is not ours.
const FIXED_PLURALS: [(&str, &str); 24] = [
    ("endif(s) not found before end-of-file", "text of the reference"),
    (": unexpected keyword(s) '", "text of the reference"),
    ("job(s) submitted to cluster", "text of condor_submit"),
    ("'N job(s) submitted to cluster C.'", "text of condor_submit"),
    ("file(s) to <{ip}:0>", "text of the reference"),
    ("file(s) from <{ip}:0>", "text of the reference"),
    ("file(s):", "text of the reference"),
    ("{total} total failures", "text of the reference"),
    ("max total {which} bytes exceeded", "text of the reference"),
    ("{rate} jobs/sec", "text of the reference"),
    ("Materialized {jobs} jobs from {items} items", "text of the reference"),
    ("creator_name=<>", "text of the reference"),
    ("(s)", "unit of seconds"),
    ("Transfer {way} files failure", "text of the reference"),
    ("while {doing} files {from}", "text of the reference"),
    ("Each row shows {per_row} slots", "at least 2"),
    ("{MAX_REPLACEMENTS} references", "a constant"),
    ("{MAX_SOURCES} sources", "a constant"),
    ("{MAX_WARNINGS} of {} warnings", "printed only above the constant"),
    ("{} settings have no effect here", "one setting has a sentence of its own"),
    ("would create {count} dynamic slots", "at least 2"),
    ("there are {count} ads, but", "at least 2"),
    ("any of the {} ads", "at least 2"),
    ("cannot have {cpus} processors", "less than 1"),
];

/// True if a literal has a placeholder directly before a plural, or a noun with "(s)".
fn has_fixed_plural(text: &str) -> bool {
    let after_placeholder = |(at, _): (usize, &str)| {
        let Some(rest) = text[at + 1..].strip_prefix(' ') else { return false };
        let mut words =
            rest.split(' ').map(|word| word.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic()));
        let first = words.next().unwrap_or_default();
        // An adjective may be between the number and the noun, but not a verb.
        let second =
            words.next().filter(|_| !["has", "have", "kept", "names", "of", "while"].contains(&first));
        [Some(first), second].into_iter().flatten().any(|word| COUNTED_NOUNS.contains(&word))
    };
    text.contains("(s)") || text.match_indices('}').any(after_placeholder)
}

#[test]
fn a_number_and_its_noun_are_made_by_one_function() {
    assert!(
        has_fixed_plural("{} jobs wait")
            && has_fixed_plural("{count} idle slots")
            && has_fixed_plural("job(s)")
    );
    assert!(!has_fixed_plural("{}, jobs") && !has_fixed_plural("{name} has jobs"));
    let pieces = all_pieces();
    let literals = pieces.iter().filter(|piece| piece.kind == PieceKind::Literal);
    let ours = literals.filter(|piece| !piece.place.contains("/compat/"));
    let wrong: Vec<String> = ours
        .filter(|piece| has_fixed_plural(&piece.text))
        .filter(|piece| {
            let is_known = |(text, _): &(&str, &str)| match *text {
                "(s)" => piece.text.trim() == *text,
                _ => piece.text.contains(text),
            };
            !FIXED_PLURALS.iter().any(is_known)
        })
        .map(|piece| format!("{}: {}", piece.place, piece.text))
        .collect();
    assert!(wrong.is_empty(), "{} literals; use text::plural::counted:\n{}", wrong.len(), wrong.join("\n"));
}

fn all_pieces() -> Vec<Piece> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut sources, mut pages) = (Vec::new(), vec![root.join("README.md")]);
    files_below(&root.join("src"), "rs", &mut sources);
    for entry in fs::read_dir(root.join("crates")).expect("the crates").flatten() {
        if entry.path().join("src").is_dir() {
            files_below(&entry.path().join("src"), "rs", &mut sources);
        }
    }
    for directory in ["docs", "examples"] {
        files_below(&root.join(directory), "md", &mut pages);
    }
    let mut found = Vec::new();
    for source in &sources {
        pieces_of_source(source, &mut found);
    }
    for page in &pages {
        pieces_of_page(page, &mut found);
    }
    found
}

#[test]
fn a_doc_comment_begins_with_a_noun_or_a_verb() {
    let pieces = all_pieces();
    let is_first = |piece: &&Piece| piece.kind == PieceKind::Doc { is_first: true };
    let first: Vec<&Piece> = pieces.iter().filter(is_first).collect();
    assert!(first.len() > 8000, "only {} doc comments were found", first.len());
    let wrong: Vec<String> = first
        .iter()
        .filter(|piece| {
            piece.text.split([' ', ',', ':']).next().is_some_and(|word| FIRST_WORDS.contains(&word))
        })
        .map(|piece| format!("{}: {}", piece.place, piece.text))
        .collect();
    assert!(wrong.is_empty(), "{} doc comments:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_text_has_a_banned_phrase() {
    let pieces = all_pieces();
    let count = |expected: PieceKind| pieces.iter().filter(|piece| piece.kind == expected).count();
    assert!(count(PieceKind::Literal) > 10_000 && count(PieceKind::Prose) > 1000);
    let mut wrong = Vec::new();
    for piece in &pieces {
        let padded =
            format!(" {} ", piece.text.to_lowercase().replace(['\n', '(', ')', ',', ';', ':', '.'], " "));
        for (phrase, instead) in PHRASES {
            let found =
                padded.match_indices(&format!(" {phrase} ")).any(|(at, _)| !padded[..at].ends_with(" there"));
            if found {
                wrong.push(format!("{}: '{phrase}' (write: {instead}): {}", piece.place, piece.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong.join("\n"));
}
