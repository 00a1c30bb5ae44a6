//! Requirements of a program, which `readelf` prints: libraries and versions of their symbols.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::target::{Arch, Version};

/// Requirements of one program, or of several.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Requirements {
    /// Names of shared libraries
    pub(crate) libraries: BTreeSet<String>,
    /// Libraries with the versions of their symbols: (`libc.so.6`, `GLIBC_2.28`)
    pub(crate) versions: BTreeSet<(String, String)>,
}

impl Requirements {
    /// Reads the requirements of a program.
    pub(crate) fn read_program(path: &Path) -> anyhow::Result<Self> {
        let output = Command::new("readelf")
            .args(["--wide", "--dynamic", "--version-info"])
            .arg(path)
            .env("LC_ALL", "C")
            .output()
            .context("'readelf' is needed (package binutils)")?;
        ensure!(output.status.success(), "{}: not a program", path.display());
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Reads the output of `readelf --wide --dynamic --version-info`.
    fn parse(text: &str) -> Self {
        let mut requirements = Self::default();
        let mut file = "";
        for line in text.lines() {
            if line.contains("(NEEDED)") {
                requirements.libraries.extend(between(line, "[", "]").map(str::to_owned));
            } else if let Some(name) = between(line, "  File: ", "  ") {
                file = name;
            } else if let Some(version) = between(line, "  Name: ", "  ") {
                requirements.versions.insert((file.to_owned(), version.to_owned()));
            }
        }
        requirements
    }

    /// Adds the requirements of another program.
    pub(crate) fn extend(&mut self, other: Self) {
        self.libraries.extend(other.libraries);
        self.versions.extend(other.versions);
    }

    /// Returns the newest version of the C library whose symbols are used, or `None` for a static program.
    pub(crate) fn glibc(&self) -> Option<Version> {
        let number = |(_, version): &(String, String)| {
            let mut parts = version.strip_prefix("GLIBC_")?.split('.').map(|part| part.parse().ok());
            Some(Version(parts.next()??, parts.next()??))
        };
        self.versions.iter().filter_map(number).max()
    }
}

/// Returns the part of a line between two words.
fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(before)?;
    rest.split_once(after).map(|(part, _)| part)
}

/// Returns the architecture of a program from its header, or `None` if no package is made for it.
pub(crate) fn architecture(path: &Path) -> anyhow::Result<Option<Arch>> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    ensure!(bytes.starts_with(b"\x7fELF"), "{}: not a program", path.display());
    // `e_machine` of the 64-bit little-endian header.
    Ok(match bytes.get(18..20) {
        Some([62, 0]) => Some(Arch::X86_64),
        Some([183, 0]) => Some(Arch::Aarch64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Requirements, Version};

    #[test]
    fn libraries_and_versions_are_read_from_readelf() {
        let text = " 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]\n\
                    Version needs section '.gnu.version_r' contains 2 entries:\n\
                     000000: Version: 1  File: libm.so.6  Cnt: 1\n  0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 3\n\
                     0x0020: Version: 1  File: libc.so.6  Cnt: 2\n  0x0030:   Name: GLIBC_2.9  Flags: none  Version: 5\n\
                     \u{20} 0x0040:   Name: GLIBC_2.28  Flags: none  Version: 6\n";
        let requirements = Requirements::parse(text);
        assert_eq!(requirements.libraries.iter().collect::<Vec<_>>(), ["libm.so.6"]);
        assert_eq!(requirements.versions.len(), 3);
        assert_eq!(requirements.glibc(), Some(Version(2, 28)));
    }
}
