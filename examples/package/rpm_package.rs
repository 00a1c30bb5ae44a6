//! The package for Enterprise Linux, Fedora and SUSE.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context as _;
use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileMode, FileOptions, PackageBuilder};

use crate::tree::{self, DOCUMENTS, Places};
use crate::{DESCRIPTION, HOMEPAGE, MAINTAINER, Package, SUMMARY, VERSION, date};

/// Directories that no other package owns, below /usr.
const OWN_DIRECTORIES: [&str; 3] = [DOCUMENTS, Places::RPM.licences, "share/htc-hooks"];

/// Creates `htc-hooks-VERSION-1.ARCHITECTURE.rpm`.
pub(crate) fn make(package: &Package<'_>, place: &Path) -> anyhow::Result<String> {
    let usr = place.join("usr");
    tree::lay_out(package.programs, &usr, package.target, &Places::RPM)?;
    tree::set_plain_modes(&usr)?;
    let architecture = package.target.arch.name();
    let now = u32::try_from(date()?).context("SOURCE_DATE_EPOCH")?;
    let level = if package.fast { 1 } else { 9 };
    let mut builder = PackageBuilder::new("htc-hooks", VERSION, "Apache-2.0", architecture, SUMMARY);
    builder
        .using_config(
            BuildConfig::v4()
                .compression(CompressionWithLevel::Gzip(level))
                .source_date(now)
                .reserved_space(None),
        )
        .release("1")
        .url(HOMEPAGE)
        .description(DESCRIPTION.join("\n"))
        .packager(MAINTAINER)
        .group("Applications/System")
        .build_host("localhost")
        .add_changelog_entry(
            format!("{MAINTAINER} - {VERSION}-1"),
            format!("- Package of release {VERSION}; changes: {DOCUMENTS}/CHANGELOG.md"),
            now,
        );
    // The requirements have the form that rpm's own generator uses.
    for (library, version) in &package.requirements.versions {
        builder.requires(Dependency::any(format!("{library}({version})(64bit)")));
    }
    for library in &package.requirements.libraries {
        builder.requires(Dependency::any(format!("{library}()(64bit)")));
    }
    add_directories(&mut builder, &usr)?;
    for file in tree::files(&usr)? {
        let name = Path::new("/usr").join(file.strip_prefix(&usr)?).to_string_lossy().into_owned();
        if let Ok(link) = std::fs::read_link(&file) {
            builder.with_symlink(FileOptions::symlink(name, link.to_string_lossy()))?;
            continue;
        }
        let mode = u16::try_from(std::fs::metadata(&file)?.permissions().mode() & 0o777)?;
        let options = FileOptions::new(&*name).mode(FileMode::regular(mode));
        let options = if name.contains("/share/licenses/") {
            options.license()
        } else if name.contains("/share/man/") || name.contains("/share/doc/") {
            options.doc()
        } else {
            options
        };
        builder.with_file(&file, options)?;
    }
    let name = format!("htc-hooks-{VERSION}-1.{architecture}.rpm");
    let path = package.output.join(&name);
    let mut file = std::fs::File::create(&path).with_context(|| path.display().to_string())?;
    builder.build()?.write(&mut file)?;
    Ok(name)
}

/// Adds the directories that are removed with the package.
fn add_directories(builder: &mut PackageBuilder, usr: &Path) -> anyhow::Result<()> {
    let mut directories = std::collections::BTreeSet::new();
    for file in tree::files(usr)? {
        let name = file.strip_prefix(usr)?;
        let is_own = |directory: &&Path| {
            OWN_DIRECTORIES.iter().any(|own_directory| directory.starts_with(own_directory))
        };
        directories.extend(name.ancestors().skip(1).filter(is_own).map(Path::to_owned));
    }
    for directory in directories {
        let name = Path::new("/usr").join(directory).to_string_lossy().into_owned();
        builder.with_dir_entry(FileOptions::dir(name).mode(FileMode::dir(0o755)))?;
    }
    Ok(())
}
