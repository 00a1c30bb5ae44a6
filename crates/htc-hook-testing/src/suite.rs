//! Suites: TOML files of test cases. A case names a hook, the inputs of the call, and the expected result.
//!
//! ```toml
//! [defaults]                       # defaults for all cases of the file
//! hook = "../prepare-hook"
//! type = "prepare"
//!
//! [[case]]
//! name = "no image means hold"
//! sample_job = "container"
//! delete = ["ContainerImage"]
//! expect = { verdict = "not-started", reason = "no image" }
//! each = [{ V = "1" }, { V = "2" }]   # one case per table; ${V} is replaced everywhere
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_classad::stream::AdReader;
use htc_os::read_at_most;
use htc_runner::deserialize_fault::{DeserializeFault, read_toml};

/// Suite file, as parsed from TOML.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Default keys for all cases of the file.
    #[serde(default)]
    pub defaults: CaseText,
    /// The cases.
    #[serde(default)]
    pub case: Vec<CaseText>,
}

/// Keys of one case, as written in the file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CaseText {
    /// Name of the case.
    pub name: Option<String>,
    /// Path of the hook, relative to the suite file.
    pub hook: Option<String>,
    /// Name of the environment variable that contains the directory of the hook. If the variable is not set, the case
    /// is skipped.
    pub hook_directory: Option<String>,
    /// Programs on PATH and files that the case needs. If one is missing, the case is skipped. The full path of a
    /// program is available as `${NAME}`, and the directory of `hook_directory` as `${HOOKS}`.
    pub needs: Option<Vec<String>>,
    /// Hook type in the form of the command line, or `startd-cron`, `schedd-cron` or `benchmark`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Job ad in long form.
    pub job: Option<String>,
    /// File with the job ad. If the file contains several ads, each becomes a separate case.
    pub job_file: Option<String>,
    /// Name of a built-in sample job.
    pub sample_job: Option<String>,
    /// Slot ad in long form; for `schedd-cron` the ad of the schedd.
    pub slot: Option<String>,
    /// File with the slot ad.
    pub slot_file: Option<String>,
    /// Name of a built-in sample slot.
    pub sample_slot: Option<String>,
    /// Ad of the routed job in long form.
    pub routed: Option<String>,
    /// Attributes to set in the ad that the call is about, such as the slot ad for FETCH_WORK.
    pub set: Option<BTreeMap<String, String>>,
    /// Attributes to remove from the ad that the call is about.
    pub delete: Option<Vec<String>>,
    /// Arguments of the hook. For REPLY_FETCH and JOB_EXIT, the first one is the argument that HTCondor passes.
    pub words: Option<Vec<String>>,
    /// Environment variables of the hook.
    pub env: Option<BTreeMap<String, String>>,
    /// Directories to put in front of PATH, relative to the suite file.
    pub path_prepend: Option<Vec<String>>,
    /// Files to create in the directory of the case, whose path is `${DIR}`. A file that begins with `#!` is made
    /// executable.
    pub files: Option<BTreeMap<String, String>>,
    /// True if the job comes from a schedd, so that its starter has a shadow.
    pub shadow: Option<bool>,
    /// Hook keyword, or the name of a cron job.
    pub keyword: Option<String>,
    /// True to reproduce the behaviour of 25.14, including its bugs.
    pub reference: Option<bool>,
    /// Value of PREFIX of a cron job.
    pub prefix: Option<String>,
    /// Value of MODE of a cron job.
    pub mode: Option<String>,
    /// Number of times a cron job is started.
    pub runs: Option<u64>,
    /// Value of SLOTS of a cron job.
    pub slots: Option<Vec<i64>>,
    /// Value of METRICS of a cron job.
    pub metrics: Option<String>,
    /// Time in seconds after which the hook is killed.
    pub timeout: Option<f64>,
    /// Expected result.
    pub expect: Option<Expect>,
    /// Tables of parameter values. Each table makes one case.
    pub each: Option<Vec<BTreeMap<String, String>>>,
}

/// Expected result of a case. A key that is left out is not checked.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The verdict, as one word.
    pub verdict: Option<String>,
    /// Hold code.
    pub code: Option<i64>,
    /// Hold subcode.
    pub subcode: Option<i64>,
    /// Text that the reason of the verdict must contain.
    pub reason: Option<String>,
    /// Exit status as `exited N` or `signalled N`; a number is the status of a normal exit.
    pub exit: Option<toml::Value>,
    /// Complete standard output.
    pub stdout: Option<String>,
    /// Regular expression that standard error must match. An empty string requires that standard error is empty.
    pub stderr: Option<String>,
    /// Expressions that must be true (MY = resulting ad, TARGET = input ad).
    pub result: Option<Vec<String>>,
    /// Words of all findings other than notes, in any order.
    pub findings: Option<Vec<String>>,
    /// Words of notes that must be among the findings.
    pub notes: Option<Vec<String>>,
    /// Maximum duration of the call in seconds.
    pub within: Option<f64>,
}

/// Case of a suite after `each` and `job_file` were expanded.
#[derive(Clone, Debug)]
pub struct SuiteCase {
    /// Name of the case as `file: name`.
    pub name: String,
    /// Directory of the suite file, relative to which paths are resolved.
    pub base: PathBuf,
    /// Path of the suite file, and the index of the case in it, for `--update`.
    pub source: (PathBuf, usize),
    /// Keys of the case.
    pub text: CaseText,
}

/// Error while a suite file is read or written.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file or directory cannot be read.
    #[error("cannot read '{0}'")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// A file cannot be written.
    #[error("cannot write '{0}'")]
    Unwritable(PathBuf, #[source] std::io::Error),
    /// The file is not a valid suite; contains its text, the fault of a value (or `None` if the text is not valid
    /// TOML), and the error of the parser with the position.
    #[error("'{0}' is not a valid suite")]
    Malformed(PathBuf, String, Option<DeserializeFault>, #[source] Box<toml::de::Error>),
}

/// Maximum size in bytes of a suite file. The limit is needed because a device file has no end.
const MAX_SUITE_BYTES: u64 = 256 << 20;

/// Function that opens a file, and decompresses it if the caller supports that.
pub type OpenFile<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Box<dyn io::Read>>;

fn read_suite_text(path: &Path, open: OpenFile<'_>) -> io::Result<String> {
    let text = read_at_most(open(path)?, MAX_SUITE_BYTES)?;
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns true if the file name has the extension of a compression program.
pub(crate) fn is_compressed_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["gz", "bz2", "xz", "zst"].contains(&extension))
}

/// Returns true if a file of this name in a directory of suites is read as a suite.
fn is_suite_name(file: &Path) -> bool {
    let plain = if is_compressed_name(file) { file.with_extension("") } else { file.to_owned() };
    plain.extension().is_some_and(|extension| extension == "toml")
}

/// Parses a suite. The error consists of the fault of a value, or `None`, and the error of the parser with the
/// position.
pub(super) fn parse_suite(text: &str) -> Result<SuiteFile, (Option<DeserializeFault>, Box<toml::de::Error>)> {
    read_toml(text)
}

/// Reads a suite file (`-` is standard input), or all `*.toml` files of a directory in the order of their names. The
/// files may be compressed.
///
/// # Errors
/// A file cannot be read or is not a valid suite.
pub fn read_suites(path: &Path, open: OpenFile<'_>) -> Result<Vec<SuiteCase>, SuiteError> {
    let unreadable = |error| SuiteError::Unreadable(path.to_owned(), error);
    if path.is_dir() {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(path).map_err(unreadable)?.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| is_suite_name(file));
        files.sort();
        let mut cases = Vec::new();
        for file in files {
            cases.extend(read_suites(&file, open)?);
        }
        return Ok(cases);
    }
    let text = read_suite_text(path, open).map_err(unreadable)?;
    let suite = parse_suite(&text)
        .map_err(|(fault, error)| SuiteError::Malformed(path.to_owned(), text, fault, error))?;
    let plain = if is_compressed_name(path) { path.with_extension("") } else { path.to_owned() };
    let stem = plain.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let base = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = std::path::absolute(base).unwrap_or_else(|_| base.to_owned());
    let mut cases = Vec::new();
    for (number, case) in suite.case.into_iter().enumerate() {
        let mut case = apply_defaults(case, &suite.defaults);
        let name = case.name.clone().unwrap_or_else(|| format!("case {}", number + 1));
        let source = (path.to_owned(), number);
        // `each` is removed from the case, so that the cases made from it do not all contain a copy of the tables.
        match case.each.take() {
            None => cases.push(SuiteCase {
                name: format!("{stem}: {name}"),
                base: base.clone(),
                source,
                text: case,
            }),
            Some(tables) => {
                for (row, table) in tables.iter().enumerate() {
                    let text = substitute(case.clone(), table);
                    let mut name = text.name.clone().unwrap_or_else(|| name.clone());
                    if text.name == case.name {
                        name = format!("{name} [{}]", row + 1);
                    }
                    let name = format!("{stem}: {name}");
                    cases.push(SuiteCase { name, base: base.clone(), source: source.clone(), text });
                }
            }
        }
    }
    Ok(cases)
}

/// Reads the files named by `job_file` and `slot_file` into the cases. A case whose `job_file` contains several ads
/// becomes one case per ad.
///
/// # Errors
/// A file cannot be read to its end.
pub fn read_ad_files(cases: Vec<SuiteCase>, open: OpenFile<'_>) -> Result<Vec<SuiteCase>, SuiteError> {
    let mut all = Vec::with_capacity(cases.len());
    for mut case in cases {
        read_slot_file(&mut case, open)?;
        // A path that contains a parameter is not known until the case is prepared.
        let file =
            case.text.job_file.as_deref().filter(|file| case.text.job.is_none() && !file.contains("${"));
        let path = file.map(|file| case.base.join(file));
        let ads = match path {
            Some(path) => read_valid_ads(&path, open)?,
            None => Vec::new(),
        };
        let count = ads.len();
        if count == 0 {
            all.push(case);
            continue;
        }
        for (number, ad) in (1..).zip(ads) {
            let mut one = case.clone();
            one.text.job = Some(String::from_utf8_lossy(&long::print(&ad)).into_owned());
            one.text.job_file = None;
            if count == 1 {
                all.push(one);
                continue;
            }
            let id = |name| ad.literal(name).and_then(|value| value.as_int());
            one.name = match (id("ClusterId"), id("ProcId")) {
                (Some(cluster), Some(proc)) => format!("{} [job {cluster}.{proc}]", case.name),
                _ => format!("{} [ad {number}]", case.name),
            };
            all.push(one);
        }
    }
    Ok(all)
}

/// Reads the ads of a file. Returns no ads if the file cannot be opened or has errors, which are reported when the
/// case is prepared.
fn read_valid_ads(path: &Path, open: OpenFile<'_>) -> Result<Vec<ClassAd>, SuiteError> {
    let Ok(content) = open(path) else { return Ok(Vec::new()) };
    let unreadable = |error| SuiteError::Unreadable(path.to_owned(), error);
    let mut reader = AdReader::new(content, None);
    let mut ads = Vec::new();
    while let Some(record) = reader.next_record().map_err(unreadable)? {
        if !record.errors.is_empty() {
            return Ok(Vec::new());
        }
        ads.push(record.ad);
    }
    Ok(ads)
}

/// Reads a file named by `slot_file` into the case if it contains exactly one ad.
fn read_slot_file(case: &mut SuiteCase, open: OpenFile<'_>) -> Result<(), SuiteError> {
    let file = case.text.slot_file.as_deref().filter(|file| case.text.slot.is_none() && !file.contains("${"));
    let Some(path) = file.map(|file| case.base.join(file)) else { return Ok(()) };
    if let [ad] = read_valid_ads(&path, open)?.as_slice() {
        case.text.slot = Some(String::from_utf8_lossy(&long::print(ad)).into_owned());
        case.text.slot_file = None;
    }
    Ok(())
}

fn apply_defaults(case: CaseText, defaults: &CaseText) -> CaseText {
    let (Ok(mut all), Ok(own)) = (toml::Table::try_from(defaults), toml::Table::try_from(&case)) else {
        return case;
    };
    all.retain(|name, _| name != "name" && name != "each");
    // If a case gives a job ad (or slot ad) in any form, all forms of the default job ad (or slot ad) are dropped.
    for ad in [["job", "job_file", "sample_job"], ["slot", "slot_file", "sample_slot"]] {
        if ad.iter().any(|name| own.contains_key(*name)) {
            all.retain(|name, _| !ad.contains(&name));
        }
    }
    for (name, value) in own {
        match all.get_mut(&name).and_then(toml::Value::as_table_mut).filter(|_| name != "expect") {
            Some(below) => below.extend(value.try_into::<toml::Table>().unwrap_or_default()),
            None => drop(all.insert(name, value)),
        }
    }
    all.try_into().unwrap_or(case)
}

type Substitutions = BTreeMap<String, String>;

/// Replaces `${NAME}` by its value in every string of a case. `hook_directory` is not changed, because it names an
/// environment variable.
pub fn substitute(case: CaseText, values: &Substitutions) -> CaseText {
    fn substitute_value(value: &mut toml::Value, values: &Substitutions) {
        match value {
            toml::Value::String(text) => {
                for (name, value) in values {
                    *text = text.replace(&format!("${{{name}}}"), value);
                }
            }
            toml::Value::Array(all) => all.iter_mut().for_each(|one| substitute_value(one, values)),
            toml::Value::Table(all) => all.iter_mut().for_each(|(_, one)| substitute_value(one, values)),
            _ => {}
        }
    }
    let Ok(mut all) = toml::Table::try_from(&case) else { return case };
    for (name, value) in &mut all {
        if name != "hook_directory" && name != "each" {
            substitute_value(value, values);
        }
    }
    all.try_into().unwrap_or(case)
}

/// Returns the first `${NAME}` that has not been replaced in a path, type, argument or other key whose value is
/// looked up, or `None`. Ads and files are not checked.
pub fn unresolved_name(case: &CaseText) -> Option<&str> {
    let single = [
        &case.hook,
        &case.kind,
        &case.job_file,
        &case.sample_job,
        &case.slot_file,
        &case.sample_slot,
        &case.keyword,
        &case.prefix,
        &case.mode,
        &case.metrics,
    ];
    let lists = [&case.needs, &case.words, &case.path_prepend];
    let texts = single.into_iter().flatten().chain(lists.into_iter().flatten().flatten());
    texts.map(String::as_str).find_map(|text| {
        let begin = text.find("${")?;
        let length = text[begin..].find('}')?;
        Some(&text[begin..=begin + length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ad_of_a_case_replaces_the_common_one() {
        let suite: SuiteFile = toml::from_str(
            "[defaults]\njob = \"A = 1\"\nslot_file = \"s\"\n[[case]]\nsample_job = \"container\"\n[[case]]\nslot = \"B = 1\"\n",
        )
        .unwrap();
        let case = |number: usize| apply_defaults(suite.case[number].clone(), &suite.defaults);
        assert_eq!((case(0).job, case(0).slot_file.as_deref()), (None, Some("s")));
        assert_eq!((case(1).job.as_deref(), case(1).slot_file), (Some("A = 1"), None));
    }

    #[test]
    fn undefined_names_are_found() {
        let case = CaseText { words: Some(vec!["a".into(), "x${NOPE}".into()]), ..CaseText::default() };
        assert_eq!(unresolved_name(&case), Some("${NOPE}"));
        assert_eq!(
            unresolved_name(&CaseText { job: Some("A = \"${X}\"".into()), ..CaseText::default() }),
            None
        );
    }

    #[test]
    fn parameters_create_cases_and_defaults_complete_them() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.toml");
        std::fs::write(
            &file,
            "[defaults]\nhook = \"h\"\ntype = \"prepare\"\nenv = { A = \"1\" }\n[[case]]\nname = \"code ${C}\"\n\
             env = { B = \"${C}\" }\neach = [{ C = \"1\" }, { C = \"300\" }]\n[[case]]\ntype = \"exit\"\n",
        )
        .unwrap();
        let mut open = |path: &Path| Ok(Box::new(std::fs::File::open(path)?) as Box<dyn io::Read>);
        let cases = read_suites(&file, &mut open).unwrap();
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["a: code 1", "a: code 300", "a: case 2"]);
        assert_eq!(cases[1].text.env.as_ref().unwrap()["B"], "300");
        assert_eq!(cases[1].text.env.as_ref().unwrap()["A"], "1");
        assert_eq!(cases[2].text.kind.as_deref(), Some("exit"));
        std::fs::write(&file, "[[case]]\nnmae = \"x\"\n").unwrap();
        assert!(matches!(read_suites(&file, &mut open), Err(SuiteError::Malformed(..))));
    }
}
