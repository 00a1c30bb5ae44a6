//! The directory tree of a package, which does not depend on umask, times and links of the builder.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::{date, layout, notices, run, target::Target};

/// Directories that differ between systems, below the prefix.
pub(crate) struct Places {
    /// Completions of zsh
    pub(crate) zsh: &'static str,
    /// Licence and notices
    pub(crate) licences: &'static str,
    /// True if man pages are compressed
    pub(crate) compressed_man: bool,
}

impl Places {
    /// Layout below a prefix such as /usr/local.
    pub(crate) const PREFIX: Self =
        Self { zsh: "share/zsh/site-functions", licences: "share/doc/htc-hooks", compressed_man: false };
    pub(crate) const DEBIAN: Self =
        Self { zsh: "share/zsh/vendor-completions", licences: "share/doc/htc-hooks", compressed_man: true };
    pub(crate) const RPM: Self =
        Self { zsh: "share/zsh/site-functions", licences: "share/licenses/htc-hooks", compressed_man: true };
}

/// Documents, the book and the examples, below the prefix.
pub(crate) const DOCUMENTS: &str = "share/doc/htc-hooks";
/// Schemas of the programs' JSON, which other programs read, below the prefix.
const SCHEMAS: &str = "share/htc-hooks/schemas";

/// Copies the programs and all files that belong to them below a prefix.
pub(crate) fn lay_out(programs: &Path, prefix: &Path, target: Target, places: &Places) -> anyhow::Result<()> {
    layout::install(programs, prefix, false)?;
    let zsh = prefix.join(places.zsh);
    if !zsh.exists() {
        std::fs::rename(prefix.join(Places::PREFIX.zsh), zsh)?;
    }
    let source = layout::source();
    for name in ["README.md", "CHANGELOG.md"] {
        copy(&source.join(name), &prefix.join(DOCUMENTS).join(name))?;
    }
    for directory in ["docs", "examples"] {
        for file in files(&source.join(directory))? {
            let name = file.strip_prefix(source)?;
            if is_excluded(name) {
                continue;
            }
            let to = match name.strip_prefix("docs/schemas") {
                Ok(schema) => prefix.join(SCHEMAS).join(schema),
                Err(_) => prefix.join(DOCUMENTS).join(name),
            };
            copy(&file, &to)?;
        }
    }
    symlink("../../../htc-hooks/schemas", prefix.join(DOCUMENTS).join("docs/schemas"))?;
    let licences = prefix.join(places.licences);
    copy(&source.join("LICENSE"), &licences.join("LICENSE"))?;
    std::fs::write(licences.join("NOTICES"), notices::notices(source, &target.triple())?)?;
    if places.compressed_man {
        for page in files(&prefix.join("share/man"))? {
            compress(&page)?;
        }
    }
    Ok(())
}

/// Examples that are useful only in a source tree.
const SOURCE_EXAMPLES: [&str; 3] = ["examples/package", "examples/install", "examples/playground"];

/// Returns true for files that are useful only in a source tree, and for files that an interpreter has created next to
/// a script.
fn is_excluded(name: &Path) -> bool {
    SOURCE_EXAMPLES.iter().any(|directory| name.starts_with(directory))
        || (name.starts_with("examples") && name.extension().is_some_and(|kind| kind == "rs"))
        || name.components().any(|part| part.as_os_str() == "__pycache__")
}

/// Compresses a file. The result does not contain its name and time.
pub(crate) fn compress(file: &Path) -> anyhow::Result<()> {
    run("gzip", &["-9n", &file.to_string_lossy()], Path::new("/")).map(drop)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to).with_context(|| format!("copying '{}'", from.display()))?;
    Ok(())
}

/// Returns the files and links below a directory, in the order of their names.
pub(crate) fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            paths.extend(files(&path)?);
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Sets modes that do not depend on the umask of the builder: everybody can read all files and execute programs.
pub(crate) fn set_plain_modes(directory: &Path) -> anyhow::Result<()> {
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755))?;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            set_plain_modes(&path)?;
            continue;
        }
        let mode = std::fs::metadata(&path)?.permissions().mode();
        let new_mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(new_mode))?;
    }
    Ok(())
}

/// Creates a tar archive of some names below a directory. Equal files result in equal archives.
pub(crate) fn archive(directory: &Path, names: &[&str], to: &Path) -> anyhow::Result<()> {
    let (time, to) = (format!("--mtime=@{}", date()?), to.to_string_lossy());
    let options = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", &time];
    ensure!(!names.is_empty(), "the archive would be empty");
    run("tar", &[&["-cf", &to][..], &options[..], names].concat(), directory).map(drop)
}
