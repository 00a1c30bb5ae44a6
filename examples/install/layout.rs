//! The installed files and their locations.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use htc_hooks::cli::PROGRAMS;

/// Returns the root directory of the sources.
pub(crate) fn source() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the programs in release mode, and returns their directory.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--bins", "--locked", "--message-format=json-render-diagnostics"])
        .current_dir(source())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the build has failed");
    directory_of_programs(&output.stdout)
}

/// Returns the directory of the programs, which depends on the configuration of cargo, from the messages of a build.
pub(crate) fn directory_of_programs(messages: &[u8]) -> anyhow::Result<PathBuf> {
    let program_directory = |line: &[u8]| {
        let message: serde_json::Value = serde_json::from_slice(line).ok()?;
        Some(Path::new(message["executable"].as_str()?).parent()?.to_owned())
    };
    messages
        .split(|&byte| byte == b'\n')
        .find_map(program_directory)
        .context("the messages of cargo do not name the programs")
}

/// Creates a directory that everybody can read, regardless of the umask; existing directories are unchanged.
fn create_directories(path: &Path) -> anyhow::Result<()> {
    for directory in path.ancestors().collect::<Vec<_>>().iter().rev().filter(|directory| !directory.exists())
    {
        std::fs::create_dir(directory)?;
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755))?;
    }
    Ok(())
}

/// Installs everything below a prefix. Returns the paths of all installed files and links.
pub(crate) fn install(programs: &Path, root: &Path, links: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut installed = Vec::new();
    let mut install_file = |from: &Path, to: PathBuf, mode: u32| -> anyhow::Result<PathBuf> {
        let directory = to.parent().unwrap_or(root);
        create_directories(directory).with_context(|| directory.display().to_string())?;
        // A running program cannot be overwritten, but it can be replaced.
        let new_file = to.with_extension("new");
        std::fs::copy(from, &new_file).with_context(|| format!("copying '{}'", from.display()))?;
        std::fs::set_permissions(&new_file, PermissionsExt::from_mode(mode))?;
        std::fs::rename(&new_file, &to)?;
        installed.push(to.clone());
        Ok(to)
    };
    for program in PROGRAMS {
        let name = program.name;
        install_file(&programs.join(name), root.join("bin").join(name), 0o755)?;
    }
    for (from, to) in shared_files()? {
        install_file(&from, root.join(to), 0o644)?;
    }
    if links {
        for program in PROGRAMS {
            for tool in program.compat {
                let link = root.join("bin").join(tool.tool);
                // A link never replaces an installed tool of HTCondor.
                let is_ours = std::fs::read_link(&link).is_ok_and(|target| target == Path::new(program.name));
                ensure!(is_ours || !link.exists(), "'{}' already exists and is not replaced", link.display());
                if !is_ours {
                    symlink(program.name, &link)?;
                }
                installed.push(link);
            }
        }
    }
    Ok(installed)
}

/// Returns the man pages and completions: the file in the sources, and its location below the prefix.
fn shared_files() -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    let places = [
        ("man", "share/man/man"),
        ("completions/bash", "share/bash-completion/completions"),
        ("completions/zsh", "share/zsh/site-functions"),
        ("completions/fish", "share/fish/vendor_completions.d"),
    ];
    let mut files = Vec::new();
    for (directory, place) in places {
        for entry in std::fs::read_dir(source().join(directory)).context(directory)? {
            let path = entry?.path();
            let Some(name) = path.file_name() else { continue };
            // The section of a manual page is its extension.
            let section =
                path.extension().filter(|_| directory == "man").unwrap_or_default().to_string_lossy();
            files.push((path.clone(), Path::new(&format!("{place}{section}")).join(name)));
        }
    }
    files.sort();
    Ok(files)
}
