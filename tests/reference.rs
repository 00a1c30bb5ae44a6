//! Checks that the reference pages of the book match the code: between `<!-- ITEM -->` and `<!-- end -->` is
//! the table made from the documentation of that item. `HTC_BOOK=write cargo test --test reference` writes
//! it.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use htc_hooks::config::lint_rule::LintRule;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
}

/// Returns the only source file in which one of the texts begins a line.
fn source_of(texts: &[&str]) -> String {
    source_with(texts, "")
}

/// Returns the only such file that also contains `word`.
fn source_with(texts: &[&str], word: &str) -> String {
    let mut found = Vec::new();
    files(&root().join("src"), "rs", &mut found);
    files(&root().join("crates"), "rs", &mut found);
    let mut sources = found.iter().map(|path| fs::read_to_string(path).unwrap());
    sources
        .find(|source| {
            source.contains(word)
                && source.lines().any(|line| texts.iter().any(|text| line.starts_with(text)))
        })
        .unwrap_or_else(|| panic!("no {texts:?}"))
}

/// Returns the members of an item with their documentation: fields by their TOML names, variants as they are
/// called.
fn members(source: &str, item: &str) -> Vec<(String, String)> {
    // A table of words is inside a macro.
    let end = if item.starts_with(' ') { "    }" } else { "}" };
    let body = source
        .lines()
        .skip_while(|line| !line.starts_with(item))
        .skip(1)
        .take_while(|line| line.trim_end() != end);
    let (mut documentation, mut renamed, mut rows) = (String::new(), None, Vec::new());
    let mut is_key = true;
    for line in body.map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            documentation = format!("{documentation} {text}").trim().to_owned();
        } else if let Some(attribute) = line.strip_prefix("#[serde(") {
            let name = attribute.split_once("rename = \"").and_then(|(_, rest)| rest.split('"').next());
            renamed = name.map(str::to_owned).or(renamed);
            is_key = attribute != "skip)]";
        } else if !line.is_empty() && !line.starts_with("#[") {
            let name =
                line.trim_start_matches("pub ").split([':', ',', '(', ' ', '{']).next().unwrap().to_owned();
            let row = (renamed.take().unwrap_or(name), std::mem::take(&mut documentation));
            rows.extend(std::mem::replace(&mut is_key, true).then_some(row));
        }
    }
    assert!(rows.len() > 1, "{item} has no members");
    rows
}

/// Escapes the text of a table cell.
fn cell(text: &str) -> String {
    // Outside of code `<n>` would be an HTML tag.
    let plain_or_code = text.split('`').enumerate();
    let parts =
        plain_or_code.map(|(at, part)| if at % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() });
    parts.collect::<Vec<String>>().join("`").replace('|', "\\|")
}

/// Returns the rows of the schemas: name, meaning, and a command that writes rows of the schema. `tests/it` runs
/// these commands.
fn schema_table() -> String {
    let calls = fs::read_to_string(root().join("tests/data/json_calls.tsv")).unwrap();
    let mut paths = Vec::new();
    files(&root().join("docs/schemas"), "json", &mut paths);
    paths.sort();
    let mut text = "| schema | one element is | command |\n|---|---|---|\n".to_owned();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let schema: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let command = calls.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        let command = match (name, command) {
            ("slot-status", _) => "htc-slot-run status",
            ("event", _) => "htc-slot-run --events FILE",
            (_, command) => command.unwrap_or_else(|| panic!("{name} is printed by no command")),
        };
        let meaning = cell(schema["description"].as_str().unwrap());
        text += &format!(
            "| [{name}](../schemas/{name}.json) | {meaning} | `{}` |\n",
            command.replace('|', "\\|")
        );
    }
    text
}

/// Returns the rows for `marker`.
fn table(marker: &str) -> String {
    let mut text = String::new();
    let (kind, name) = marker.split_once(' ').unwrap();
    match kind {
        "keys" => {
            text += "| key | meaning |\n|---|---|\n";
            let item = format!("pub struct {name} {{");
            for (key, meaning) in members(&source_with(&[&item], "Deserialize"), &item) {
                text += &format!("| `{key}` | {} |\n", cell(&meaning));
            }
        }
        "words" => {
            text += "| word | meaning |\n|---|---|\n";
            let (item, in_table) = (format!("pub enum {name} {{"), format!("    pub enum {name}.word {{"));
            let source = source_of(&[&item, &in_table]);
            let (item, owner) = match source.contains(&in_table) {
                true => (in_table, String::new()),
                false => (item, format!("{name}::")),
            };
            for (variant, meaning) in members(&source, &item) {
                let arm = format!("{owner}{variant} => \"");
                let Some((_, rest)) = source.split_once(&arm) else { continue };
                text += &format!("| `{}` | {} |\n", rest.split('"').next().unwrap(), cell(&meaning));
            }
        }
        "events" => {
            let source = source_of(&["//! | event | keys | meaning |"]);
            for row in source.lines().filter_map(|line| line.strip_prefix("//! |")) {
                text += &format!("|{row}\n");
            }
        }
        "quirks" => {
            text += "| name | behaviour of a real pool |\n|---|---|\n";
            for quirk in htc_hooks::quirks::Quirk::ALL {
                text += &format!("| `{}` | {} |\n", quirk.id(), cell(quirk.line()));
            }
        }
        "rules" => {
            text += "| rule | severity | mistake |\n|---|---|---|\n";
            for rule in LintRule::ALL {
                let about = rule.description();
                text += &format!("| `{rule}` | {} | {} |\n", about.severity.word(), cell(about.explanation));
            }
        }
        "schemas" => text += &schema_table(),
        "statuses" => {
            text += "| status | meaning |\n|---|---|\n";
            let source = source_of(&["    pub const MANUAL_TABLE: &[(&str, &str)] = &["]);
            let rows = source.lines().skip_while(|line| !line.contains("pub const MANUAL_TABLE")).skip(1);
            for row in rows.take_while(|line| line.trim() != "];") {
                let cells: Vec<&str> = row.split('"').skip(1).step_by(2).collect();
                text += &format!("| {} | {} |\n", cells[0], cell(cells[1]));
            }
        }
        "options" => {
            use htc_hooks::cli::{PROGRAMS, common::vocabulary_table};
            text += &vocabulary_table(PROGRAMS);
        }
        "scenario" => {
            let source = fs::read_to_string(root().join("src/cli/slot_run/scenario.toml")).unwrap();
            text += &format!("```toml\n{source}```\n");
        }
        _ => panic!("'{marker}' stands for nothing"),
    }
    text
}

#[test]
fn reference_pages_have_the_tables_of_the_code() {
    let mut pages = Vec::new();
    files(&root().join("docs"), "md", &mut pages);
    let write = std::env::var_os("HTC_BOOK").is_some_and(|what| what == "write");
    let (mut old, mut tables) = (Vec::new(), 0);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let mut parts = text.split("<!-- of ");
        let mut now = parts.next().unwrap().to_owned();
        for part in parts {
            let (marker, rest) = part.split_once(" -->\n").unwrap();
            let (_, after) = rest.split_once("<!-- end -->").unwrap();
            now += &format!("<!-- of {marker} -->\n\n{}\n<!-- end -->{after}", table(marker));
            tables += 1;
        }
        if now != text {
            old.push(page.clone());
            if write {
                fs::write(page, now).unwrap();
            }
        }
    }
    assert!(tables > 5, "{tables} tables");
    assert!(write || old.is_empty(), "old: {old:?}; HTC_BOOK=write cargo test --test reference");
}

const RED: &str = "#f0857a";
const GREEN: &str = "#8fce8f";

/// Colours the verdict in the first line of a report of `htc-hook-test`, as the program does.
fn with_coloured_verdict(line: &str) -> String {
    let parts = line.split_once(" (exited ").and_then(|(head, tail)| Some((head.rsplit_once(": ")?, tail)));
    let Some(((head, verdict), tail)) = parts else { return line.to_owned() };
    let colour = if matches!(verdict, "go-on" | "accepted" | "routed" | "done") { GREEN } else { RED };
    format!("{head}: <tspan fill=\"{colour}\">{verdict}</tspan> (exited {tail}")
}

/// Returns a picture of a terminal with the lines of a `console` block.
fn shot(lines: &[&str]) -> String {
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(60);
    let (width, height) = (columns * 8 + 40, lines.len() * 19 + 62);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"9\" fill=\"#1d2330\"/>\n"
    );
    for (at, colour) in ["#e0605a", "#e0b04a", "#6bb56b"].iter().enumerate() {
        svg += &format!("<circle cx=\"{}\" cy=\"20\" r=\"6\" fill=\"{colour}\"/>\n", 22 + at * 20);
    }
    for (at, line) in lines.iter().enumerate() {
        // Numbers of a real run, in place of those that differ from run to run.
        let line = line.replace("the [..] bytes", "the 313 bytes").replace("[..]", "4");
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let escaped = with_coloured_verdict(&escaped);
        let colour = match line.trim_start() {
            text if text.starts_with("$ ") => "#f4f6fb",
            text if text.starts_with("why: ") || text.contains(" false") || text.contains(" undefined") => {
                "#f0a07a"
            }
            text if text.contains("warning") || text.starts_with("fix: ") || text.starts_with("~ ") => {
                "#e6c878"
            }
            text if text.contains(": error: ") || text.starts_with("- ") || text.starts_with("because: ") => {
                RED
            }
            text if text.starts_with("+ ") => GREEN,
            text if text.starts_with("note ") || text.starts_with("hint: ") => "#8490a6",
            _ => "#b9c4d8",
        };
        let y = 58 + at * 19;
        svg +=
            &format!("<text x=\"20\" y=\"{y}\" fill=\"{colour}\" xml:space=\"preserve\">{escaped}</text>\n");
    }
    svg + "</svg>\n"
}

/// Returns the `console` block of a chapter that contains `command`.
fn console<'a>(chapter: &'a str, command: &str) -> Vec<&'a str> {
    let blocks = chapter.split("```console\n").skip(1).filter_map(|block| block.split("\n```").next());
    let block = blocks
        .clone()
        .find(|block| block.contains(command))
        .unwrap_or_else(|| panic!("no block has {command}"));
    let from = block.find(command).map_or(0, |at| block[..at].rfind("$ ").unwrap_or(0));
    let mut lines: Vec<&str> = block[from..].lines().collect();
    let end = lines.iter().skip(1).position(|line| line.starts_with("$ ")).map_or(lines.len(), |at| at + 1);
    lines.truncate(end);
    lines
}

/// Checks the pictures of README and book against output that a test has verified.
#[test]
fn pictures_of_terminals_show_what_the_tour_shows() {
    let write = std::env::var_os("HTC_BOOK").is_some_and(|what| what == "write");
    let tour = fs::read_to_string(root().join("docs/tour.md")).unwrap();
    for (name, command) in [
        ("explain", "htc-classad-eval -explain"),
        ("hook", "htc-hook-test prepare ./prepare-held"),
        ("lint", "htc-config-dump lint"),
        ("routes", "htc-router-translate match"),
    ] {
        let path = root().join(format!("docs/pictures/{name}.svg"));
        let now = shot(&console(&tour, command));
        if write {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &now).unwrap();
        }
        let old = fs::read_to_string(&path).unwrap_or_default();
        assert!(old == now, "{} is old: HTC_BOOK=write cargo test --test reference", path.display());
    }
}

/// Checks the pictures in the chapter for administrators against the output of `simulate` for a policy of the
/// manual.
#[test]
fn policy_pictures_are_those_that_simulate_draws() {
    let place = tempfile::tempdir().unwrap();
    let policies = root().join("examples/policies");
    let output = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
        .args(["simulate", "--no-env", "--config-file", "desktop.conf", "desktop.toml"])
        .arg("--svg")
        .arg(place.path().join("timeline"))
        .arg("--html")
        .arg(place.path().join("page"))
        .env("TZ", "UTC")
        .current_dir(&policies)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(place.path().join("page")).unwrap();
    // The second picture of the page.
    let (_, states) = page.rsplit_once("<svg ").unwrap();
    let (states, _) = states.split_once("</svg>").unwrap();
    let timeline = fs::read_to_string(place.path().join("timeline")).unwrap();
    let write = std::env::var_os("HTC_BOOK").is_some_and(|what| what == "write");
    for (name, now) in [("timeline", timeline), ("states", format!("<svg {states}</svg>\n"))] {
        let path = root().join(format!("docs/pictures/{name}.svg"));
        if write {
            fs::write(&path, &now).unwrap();
        }
        let old = fs::read_to_string(&path).unwrap_or_default();
        assert!(old == now, "{} is old: HTC_BOOK=write cargo test --test reference", path.display());
    }
}
