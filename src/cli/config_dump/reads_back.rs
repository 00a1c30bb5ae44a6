//! What a dump leaves out so that reading it gives the same configuration again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::entries::{self, Kind, Row};
use super::native::is_set;
use crate::config::{CommandPolicy, Config, LoadOptions, defaults, print};
use crate::text::caseless;
use crate::world::World;

/// Whether a row sets what holds anyway. Reading would not keep it, as no source does that says so at once; it is here
/// since something else was said before.
pub(super) fn is_default(row: &Row<'_>) -> bool {
    matches!(row.kind, Kind::Set(entry) if entry.current.matches_default && defaults::find(&row.name).is_some())
}

/// Whether a parameter names sources or templates that are read after the source that sets it.
pub(super) fn names_sources(row: &Row<'_>) -> bool {
    ["LOCAL_CONFIG_FILE", "LOCAL_CONFIG_DIR"].iter().any(|name| caseless::eq(name.as_bytes(), &row.name))
        || caseless::starts_with(&row.name, b"AUTO_USE_")
}

/// Whether the statements of all rows, read as the root file, give those rows again. The sources that they name are read
/// once more then, and may add to values that are complete here, or go over what came behind them.
pub(super) fn is_same(config: &Config, rows: &[&Row<'_>], options: &LoadOptions, world: &dyn World) -> bool {
    let rows = || rows.iter().filter(|row| !is_default(row));
    if config.root.is_none() || !rows().any(|row| names_sources(row)) {
        return true;
    }
    let statements: Vec<_> = rows().filter_map(|row| print::statement(&row.name, &row.raw)).collect();
    let text = bstr::concat(&statements);
    let options = LoadOptions {
        file: config.root.as_ref().map(|root| OsStr::from_bytes(root).into()),
        root_text: Some(text.into()),
        environment: false,
        overlay: Vec::new(),
        more_files: Vec::new(),
        commands: CommandPolicy::Refused,
        ..options.clone()
    };
    let again = Config::attempt(world, &config.who, &options);
    let read: Vec<Row<'_>> = entries::table(&again.config.set, world);
    let read = read.iter().filter(|row| is_set(row) && !is_default(row));
    let shown = |row: &Row<'_>| (row.name.to_ascii_lowercase(), row.raw.to_vec());
    again.error.is_none() && read.map(shown).eq(rows().map(|row| shown(row)))
}
