//! Man pages and completions as files: `cargo run --example generate` writes them, `tests/generated.rs`
//! compares them.

use std::io;
use std::path::PathBuf;

use super::PROGRAMS;
use super::common::{man_page, verb_pages};
use super::complete::SHELLS;

/// Returns all generated files, each with its path below the package and its content.
///
/// # Errors
/// Never fails: the output is a `Vec`.
pub fn generated_files() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for program in PROGRAMS {
        files.push((PathBuf::from(format!("man/{}.1", program.name)), man_page(program)?));
        for (name, page) in verb_pages(program)? {
            files.push((PathBuf::from(format!("man/{name}.1")), page));
        }
        let function = program.name.replace('-', "_");
        for shell in &SHELLS {
            let substitute =
                |text: &str| text.replace("@PROGRAM@", program.name).replace("@FUNCTION@", &function);
            let path = format!("completions/{}/{}", shell.directory, substitute(shell.file));
            files.push((PathBuf::from(path), substitute(shell.script).into_bytes()));
        }
    }
    files.push((PathBuf::from("man/htc-scenario.5"), super::slot_run::SCENARIO_PAGE.as_bytes().to_vec()));
    Ok(files)
}
