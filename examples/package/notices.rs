//! The notices that the licences of the linked crates require to be distributed with the programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// Returns the notices of all crates that are linked into the programs. A text that several crates share is included
/// once.
pub(crate) fn notices(source: &Path, target: &str) -> anyhow::Result<String> {
    let metadata = metadata(source, target)?;
    let linked = linked(&metadata);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in
        array(&metadata["packages"]).iter().filter(|package| linked.contains(&text(&package["id"])))
    {
        // Our own licence is a separate file in the package.
        if package["source"].is_null() {
            continue;
        }
        let name = format!(
            "{} {} ({})",
            text(&package["name"]),
            text(&package["version"]),
            text(&package["license"])
        );
        let crate_notices =
            read_crate_notices(Path::new(text(&package["manifest_path"])).parent().unwrap_or(source))?;
        ensure!(!crate_notices.is_empty(), "{name} has no notice");
        for notice in crate_notices {
            texts.entry(notice).or_default().push(name.clone());
        }
    }
    let mut result = "The programs are linked from these libraries, whose licences follow.\n".to_owned();
    for (notice, names) in texts {
        result.push_str(&format!("\n{}\n{}\n\n{}\n", "=".repeat(72), names.join("\n"), notice.trim()));
    }
    Ok(result)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns cargo's metadata of this package and its dependencies for a target.
fn metadata(source: &Path, target: &str) -> anyhow::Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(source)
        .output()
        .context("cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the ids of the packages that are linked into a program, without build dependencies, test dependencies and
/// macros.
fn linked(metadata: &Value) -> Vec<&str> {
    let nodes = array(&metadata["resolve"]["nodes"]);
    let macros: Vec<&str> = array(&metadata["packages"])
        .iter()
        .filter(|package| {
            array(&package["targets"])
                .iter()
                .any(|target| array(&target["kind"]).iter().any(|kind| kind == "proc-macro"))
        })
        .map(|package| text(&package["id"]))
        .collect();
    let mut ids = vec![text(&metadata["resolve"]["root"])];
    let mut next = 0;
    while let Some(&id) = ids.get(next) {
        next += 1;
        let Some(node) = nodes.iter().find(|node| node["id"] == id) else { continue };
        for dependency in array(&node["deps"]) {
            let id = text(&dependency["pkg"]);
            let is_linked = array(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            if is_linked && !ids.contains(&id) && !macros.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

/// Returns the contents of the notice files of a crate. For PCRE2, this includes the notice at the beginning of its
/// source, which is not in a separate file.
fn read_crate_notices(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
                .iter()
                .any(|word| name.starts_with(word))
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut notices = Vec::new();
    for path in paths {
        notices.push(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    }
    if let Ok(code) = fs::read_to_string(directory.join("upstream/src/pcre2_compile.c")) {
        let head =
            code.split_inclusive("*/").take_while(|part| !part.contains("#include")).collect::<String>();
        ensure!(head.contains("Redistribution"), "PCRE2 has no notice at the beginning of its source");
        notices.push(head);
    }
    Ok(notices)
}
