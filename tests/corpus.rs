//! Runs the golden cases that belong to the sources: all results of the reference are compared with ours.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

#[path = "harness/mod.rs"]
mod harness;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use harness::golden::record::{ids, lines};
use harness::golden::{Differences, KINDS, Kind};

/// Runs all cases of a kind: those of the copy, and the additional ones of a collection next to the sources.
fn all_agree(name: &str) -> Result<(), String> {
    let kind = Kind::named(name).ok_or("no such kind")?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let programs = own.parent().and_then(Path::parent).ok_or("no directory of programs")?;
    if let Some(program) = kind.program
        && !programs.join(program).exists()
    {
        println!("skipped: {program} is not built");
        return Ok(());
    }
    let mut files = vec![kind.copy()];
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let whole = shared.join("corpus").join(name).join("cases.jsonl");
    if whole.exists() && lines(&whole)? != lines(&kind.copy())? {
        files.push(whole);
    }
    let agreed = kind.run(&files, programs)?.report();
    if agreed { Ok(()) } else { Err("answers differ, see above".to_owned()) }
}

#[test]
fn classad_eval_answers_as_recorded() -> Result<(), String> {
    all_agree("classad_eval")
}

#[test]
fn user_map_answers_as_recorded() -> Result<(), String> {
    all_agree("user_map")
}

#[test]
fn condor_q_prints_the_ads_of_a_file_as_recorded() -> Result<(), String> {
    all_agree("output")
}

#[test]
fn condor_q_prints_tables_and_analyses_as_recorded() -> Result<(), String> {
    all_agree("condor_q")
}

#[test]
fn condor_config_val_answers_as_recorded() -> Result<(), String> {
    all_agree("config")
}

#[test]
fn the_router_tools_answer_as_recorded() -> Result<(), String> {
    all_agree("router")
}

#[test]
fn condor_transform_ads_answers_as_recorded() -> Result<(), String> {
    all_agree("transform")
}

#[test]
fn one_changed_answer_of_a_corpus_is_the_one_that_fails() -> Result<(), String> {
    let kind = Kind::named("classad").ok_or("no such kind")?;
    let mut cases = lines(&kind.copy())?;
    cases.truncate(500);
    let flipped =
        cases.iter().position(|case| case.contains("\"result\": \"true\"")).ok_or("no true case")?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = place.path().join("cases.jsonl");
    cases[flipped] = cases[flipped].replacen("\"result\": \"true\"", "\"result\": \"false\"", 1);
    std::fs::write(&file, cases.join("\n") + "\n").map_err(|error| error.to_string())?;
    let outcome = kind.run(std::slice::from_ref(&file), Path::new(""))?;
    let failed: Vec<&String> = outcome.failed.iter().map(|(id, _)| id).collect();
    assert_eq!(failed, [&ids(&file)?[flipped]]);
    Ok(())
}

/// Changes one result of each program by adding a line.
#[test]
fn one_changed_answer_of_a_program_is_the_one_that_fails() -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let programs = own.parent().and_then(Path::parent).ok_or("no directory of programs")?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    for kind in KINDS.iter().filter(|kind| kind.program.is_some_and(|name| programs.join(name).exists())) {
        let mut cases = lines(&kind.copy())?;
        cases.truncate(30);
        let file = place.path().join(format!("{}.jsonl", kind.name));
        let flipped = cases.len() / 2;
        let mut case: serde_json::Value =
            serde_json::from_str(&cases[flipped]).map_err(|error| error.to_string())?;
        let answer = case["stdout"].as_str().ok_or("an answer without output")?.to_owned();
        case["stdout"] = format!("{answer}one more\n").into();
        cases[flipped] = case.to_string();
        std::fs::write(&file, cases.join("\n") + "\n").map_err(|error| error.to_string())?;
        let outcome = kind.run(std::slice::from_ref(&file), programs)?;
        let failed: Vec<&String> = outcome.failed.iter().map(|(id, _)| id).collect();
        assert_eq!(failed, [&ids(&file)?[flipped]], "{}", kind.name);
    }
    Ok(())
}

#[test]
fn every_listed_difference_names_an_existing_case() -> Result<(), String> {
    let differences = Differences::load()?;
    for kind in KINDS {
        let known: HashSet<String> = ids(&kind.copy())?.into_iter().collect();
        let unknown: Vec<_> =
            differences.of(kind.name).into_iter().filter(|id| !known.contains(*id)).collect();
        assert!(unknown.is_empty(), "{}: no such cases: {unknown:?}", kind.name);
    }
    Ok(())
}

#[test]
fn the_classad_library_answers_as_recorded() -> Result<(), String> {
    all_agree("classad")
}
