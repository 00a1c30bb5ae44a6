//! What a dump leaves out so that reading it gives the same configuration again.

use bstr::ByteSlice;

use super::entries::{Kind, Row};
use crate::config::macro_set::{Definition, Entry, SourceId, SourceKind};
use crate::config::{Config, defaults};
use crate::text::caseless;

/// Whether a row sets what holds anyway. Reading would not keep it, as no source does that says so at once; it is here
/// since something else was said before.
pub(super) fn is_default(row: &Row<'_>) -> bool {
    matches!(row.kind, Kind::Set(entry) if entry.current.matches_default && defaults::find(&row.name).is_some())
}

/// Whether a parameter names sources that are read after the one that sets it.
pub(super) fn names_sources(row: &Row<'_>) -> bool {
    ["LOCAL_CONFIG_FILE", "LOCAL_CONFIG_DIR"].iter().any(|name| caseless::eq(name.as_bytes(), &row.name))
}

/// Whether a source that LOCAL_CONFIG_FILE or LOCAL_CONFIG_DIR named has added to a value: read once more, it would add
/// once more.
pub(super) fn appends_in_local_sources(config: &Config) -> bool {
    config.set.entries().any(|entry| {
        definitions(entry).zip(definitions(entry).skip(1)).any(|(before, after)| {
            let was = before.raw.trim();
            !was.is_empty()
                && before.raw != after.raw
                && after.raw.contains_str(was)
                && is_local(config, after.place.source)
        })
    })
}

fn definitions(entry: &Entry) -> impl Iterator<Item = &Definition> {
    entry.replaced.iter().chain([&entry.current])
}

/// Whether a source is neither the root nor included from there.
fn is_local(config: &Config, source: SourceId) -> bool {
    let mut top = config.set.source(source);
    while let Some((includer, _)) = top.included_from {
        top = config.set.source(includer);
    }
    top.kind != SourceKind::Special && config.root.as_ref() != Some(&top.name)
}
