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

/// Returns the directory of the programs from the messages of a build; it depends on the configuration of cargo.
pub(crate) fn directory_of_programs(messages: &[u8]) -> anyhow::Result<PathBuf> {
    let built = |line: &[u8]| {
        let message: serde_json::Value = serde_json::from_slice(line).ok()?;
        Some(Path::new(message["executable"].as_str()?).parent()?.to_owned())
    };
    messages.split(|&byte| byte == b'\n').find_map(built).context("cargo does not say where the programs are")
}

/// Creates a directory that everybody can read, regardless of the umask; existing directories are unchanged.
fn directories(path: &Path) -> anyhow::Result<()> {
    for directory in path.ancestors().collect::<Vec<_>>().iter().rev().filter(|directory| !directory.exists())
    {
        std::fs::create_dir(directory)?;
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755))?;
    }
    Ok(())
}

/// Installs everything below a prefix. Returns the paths of all files and links that were made.
pub(crate) fn install(programs: &Path, root: &Path, links: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    let mut put = |from: &Path, to: PathBuf, mode: u32| -> anyhow::Result<PathBuf> {
        let directory = to.parent().unwrap_or(root);
        directories(directory).with_context(|| directory.display().to_string())?;
        // A running program cannot be overwritten, but it can be replaced.
        let fresh = to.with_extension("new");
        std::fs::copy(from, &fresh).with_context(|| format!("copying '{}'", from.display()))?;
        std::fs::set_permissions(&fresh, PermissionsExt::from_mode(mode))?;
        std::fs::rename(&fresh, &to)?;
        made.push(to.clone());
        Ok(to)
    };
    for program in PROGRAMS {
        let name = program.name;
        put(&programs.join(name), root.join("bin").join(name), 0o755)?;
    }
    for (from, to) in shared()? {
        put(&from, root.join(to), 0o644)?;
    }
    if links {
        for program in PROGRAMS {
            for tool in program.compat {
                let link = root.join("bin").join(tool.tool);
                // A link never replaces an installed tool of HTCondor.
                let ours = std::fs::read_link(&link).is_ok_and(|target| target == Path::new(program.name));
                ensure!(ours || !link.exists(), "'{}' is there already; it stays", link.display());
                if !ours {
                    symlink(program.name, &link)?;
                }
                made.push(link);
            }
        }
    }
    Ok(made)
}

/// Returns the man pages and completions: the file in the sources, and its location below the prefix.
fn shared() -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
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
