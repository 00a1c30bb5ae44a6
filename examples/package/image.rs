//! The container image: a small Debian system with the programs, and with a shell, because hooks are scripts. It is
//! written as an OCI layout, which podman, docker and skopeo can load.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::tree;
use crate::{HOMEPAGE, Package, SUMMARY, VERSION, date, deb, run};

/// Debian release of the image.
const SUITE: &str = "bookworm";

/// Directories of a new Debian system whose contents a container does not use.
const UNUSED: [&str; 6] =
    ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/info", "usr/share/locale", "var/log"];

/// Creates `htc-hooks-VERSION-ARCHITECTURE-image.tar` from a root directory: `base_root`, or a directory that
/// debootstrap creates.
pub(crate) fn make(package: &Package<'_>, place: &Path, base_root: Option<&Path>) -> anyhow::Result<String> {
    let root = place.join("root");
    let root_text = root.to_string_lossy().into_owned();
    let architecture = package.target.arch.debian();
    match base_root {
        Some(base_root) => run("cp", &["-a", &base_root.to_string_lossy(), &root_text], place)?,
        None => run(
            "debootstrap",
            &["--variant=minbase", &format!("--arch={architecture}"), SUITE, &root_text],
            place,
        )
        .context("the image needs debootstrap and root, or --root DIR with a root directory")?,
    };
    ensure!(root.join("bin/sh").exists(), "the root directory has no /bin/sh: hooks could not run");
    for unused in UNUSED {
        let unused = root.join(unused);
        if unused.exists() {
            std::fs::remove_dir_all(&unused)?;
            std::fs::create_dir(&unused)?;
        }
    }
    // The image contains the same Debian package that users install, with its documents.
    let debs = tempfile::tempdir_in(place)?;
    let deb_package = Package { output: debs.path(), ..*package };
    let name = deb::make(&deb_package, &debs.path().join("work"))?;
    run("dpkg-deb", &["-x", &debs.path().join(name).to_string_lossy(), &root_text], place)?;
    let layer = place.join("layer.tar");
    tree::archive(&root, &["."], &layer)?;
    let name = format!("htc-hooks-{VERSION}-{architecture}-image.tar");
    let layout = write_layout(place, &layer, architecture, package.fast)?;
    tree::archive(&layout, &["blobs", "index.json", "oci-layout"], &package.output.join(&name))?;
    Ok(name)
}

/// Writes the OCI layout of an image with one layer, and returns its directory.
fn write_layout(place: &Path, layer: &Path, architecture: &str, fast: bool) -> anyhow::Result<PathBuf> {
    let layout = place.join("layout");
    let blobs = layout.join("blobs/sha256");
    std::fs::create_dir_all(&blobs)?;
    let layer_digest = hash(&std::fs::read(layer)?);
    run("gzip", &[if fast { "-1nf" } else { "-9nf" }, &layer.to_string_lossy()], place)?;
    let compressed = std::fs::read(layer.with_extension("tar.gz"))?;
    let add_blob = |bytes: &[u8], kind: &str| -> anyhow::Result<Value> {
        let digest = hash(bytes);
        std::fs::write(blobs.join(&digest), bytes)?;
        Ok(json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": format!("sha256:{digest}"),
            "size": bytes.len(),
        }))
    };
    let layer = add_blob(&compressed, "layer.v1.tar+gzip")?;
    let created = run("date", &["-u", "-d", &format!("@{}", date()?), "+%Y-%m-%dT%H:%M:%SZ"], place)?;
    let config = json!({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Cmd": ["/bin/sh"],
            "Labels": {
                "org.opencontainers.image.title": "htc-hooks",
                "org.opencontainers.image.description": SUMMARY,
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.url": HOMEPAGE,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer_digest}")] },
        "history": [{ "created": created, "created_by": "cargo run --example package -- image" }],
    });
    let config = add_blob(&serde_json::to_vec(&config)?, "config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let mut manifest = add_blob(&serde_json::to_vec(&manifest)?, "manifest.v1+json")?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": format!("htc-hooks:{VERSION}") });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    std::fs::write(layout.join("index.json"), serde_json::to_vec(&index)?)?;
    std::fs::write(layout.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    Ok(layout)
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
