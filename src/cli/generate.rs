//! Man pages and completions as files: `cargo run --example generate` writes them, `tests/generated.rs` compares them.

use std::io;
use std::path::PathBuf;

use clap_complete::Shell;

use super::PROGRAMS;
use super::common::man_page;

/// All generated files: path below the package, content.
///
/// # Errors
/// None that a `Vec` could give.
pub fn files() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for program in PROGRAMS {
        files.push((PathBuf::from(format!("man/{}.1", program.name)), man_page(program)?));
        for (shell, directory) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
            let mut command = (program.command)();
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, program.name, &mut text);
            let name = match shell {
                Shell::Bash => program.name.to_owned(),
                Shell::Zsh => format!("_{}", program.name),
                _ => format!("{}.fish", program.name),
            };
            files.push((PathBuf::from(format!("completions/{directory}/{name}")), text));
        }
    }
    files.push((PathBuf::from("man/htc-scenario.5"), super::slot_run::SCENARIO_PAGE.as_bytes().to_vec()));
    Ok(files)
}
