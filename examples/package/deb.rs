//! The Debian package.

use std::path::Path;

use crate::tree::{self, DOCUMENTS, Places};
use crate::{DESCRIPTION, HOMEPAGE, MAINTAINER, Package, SUMMARY, VERSION, date, run};

/// Creates `htc-hooks_VERSION-1_ARCHITECTURE.deb`.
pub(crate) fn make(package: &Package<'_>, place: &Path) -> anyhow::Result<String> {
    let root = place.join("root");
    let usr = root.join("usr");
    tree::lay_out(package.programs, &usr, package.target, &Places::DEBIAN)?;
    let documents = usr.join(DOCUMENTS);
    // In a Debian package, the licence is in the file `copyright`, and there is one file with the changes of the
    // sources and one with those of the package.
    std::fs::remove_file(documents.join("LICENSE"))?;
    std::fs::write(documents.join("copyright"), COPYRIGHT)?;
    std::fs::rename(documents.join("CHANGELOG.md"), documents.join("changelog"))?;
    let day = run("date", &["-u", "-R", "-d", &format!("@{}", date()?)], place)?;
    let entry = format!(
        "htc-hooks ({VERSION}-1) unstable; urgency=medium\n\n  * Package of release {VERSION}.\n\n -- {MAINTAINER}  {day}\n"
    );
    std::fs::write(documents.join("changelog.Debian"), entry)?;
    for name in ["changelog", "changelog.Debian", "NOTICES"] {
        tree::compress(&documents.join(name))?;
    }
    let installed = tree::files(&usr)?;
    let size: u64 = installed
        .iter()
        .filter_map(|file| Some(std::fs::symlink_metadata(file).ok()?.len().div_ceil(1024)))
        .sum();
    let architecture = package.target.arch.debian();
    let depends = match package.requirements.glibc() {
        Some(glibc) if package.requirements.libraries.contains("libgcc_s.so.1") => {
            format!("Depends: libc6 (>= {glibc}), libgcc-s1\n")
        }
        Some(glibc) => format!("Depends: libc6 (>= {glibc})\n"),
        None => String::new(),
    };
    let control = format!(
        "Package: htc-hooks\nVersion: {VERSION}-1\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n{depends}Section: utils\nPriority: optional\nHomepage: {HOMEPAGE}\n\
         Description: {SUMMARY}\n{}",
        DESCRIPTION.iter().map(|line| format!(" {line}\n")).collect::<String>()
    );
    let mut checksums = String::new();
    for file in installed.iter().filter(|file| !file.is_symlink()) {
        let name = file.strip_prefix(&root)?.to_string_lossy().into_owned();
        checksums.push_str(&run("md5sum", &[&name], &root)?);
        checksums.push('\n');
    }
    std::fs::create_dir(root.join("DEBIAN"))?;
    std::fs::write(root.join("DEBIAN/control"), control)?;
    std::fs::write(root.join("DEBIAN/md5sums"), checksums)?;
    tree::set_plain_modes(&root)?;
    let name = format!("htc-hooks_{VERSION}-1_{architecture}.deb");
    let (compression, level) = if package.fast { ("-Zgzip", "-z1") } else { ("-Zxz", "-z6") };
    let to = package.output.join(&name);
    run(
        "dpkg-deb",
        &[
            "--root-owner-group",
            compression,
            level,
            "--build",
            &root.to_string_lossy(),
            &to.to_string_lossy(),
        ],
        place,
    )?;
    Ok(name)
}

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
    Upstream-Name: htc-hooks\n\nFiles: *\nCopyright: 2026 The htc-hooks developers\nLicense: Apache-2.0\n \
    On Debian systems, the full text of the licence is in\n /usr/share/common-licenses/Apache-2.0.\n";
