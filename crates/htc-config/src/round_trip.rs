//! Selects the settings of a dump so that reading it back gives the same configuration.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use crate::parameter_rows::{self, ParameterRow, RowKind};
use crate::redact;
use crate::sources::user_file_path;
use crate::{CommandPolicy, Config, LoadOptions, LookupContext, defaults, statement_text};
use htc_base::text::caseless;
use htc_base::world::World;

/// Returns true if a row sets a value equal to its default. Reading the dump would not store the setting,
/// since no such setting is stored unless an earlier one has another value.
pub fn is_redundant_default(row: &ParameterRow<'_>) -> bool {
    matches!(row.kind, RowKind::Set(entry) if entry.current.matches_default && defaults::find(&row.name).is_some())
}

/// Returns true if a parameter names sources or templates that are read after the source that sets it.
/// This includes settings with the program's own prefix (`TOOL.LOCAL_CONFIG_FILE`), but not a disabled AUTO_USE
/// template.
fn is_source_parameter(row: &ParameterRow<'_>, context: &LookupContext) -> bool {
    let is_own_prefix = |prefix: &[u8]| {
        [&context.subsystem, &context.local_name].iter().any(|known| caseless::eq(known, prefix))
    };
    let name = match row.name.split_once_str(".") {
        Some((prefix, name)) if is_own_prefix(prefix) => name,
        _ => &row.name[..],
    };
    let is_off = || ["false", "0"].iter().any(|word| caseless::eq(word.as_bytes(), row.raw.trim()));
    ["LOCAL_CONFIG_FILE", "LOCAL_CONFIG_DIR", "USER_CONFIG_FILE"]
        .iter()
        .any(|known| caseless::eq(known.as_bytes(), name))
        || (caseless::starts_with(name, b"AUTO_USE_") && !is_off())
}

/// Returns true if the user's own file was read.
fn has_user_file(config: &Config, world: &dyn World) -> bool {
    let name = config.view(world).string("USER_CONFIG_FILE").ok().flatten();
    let file = name.and_then(|name| user_file_path(&name.value, world));
    file.is_some_and(|file| config.local_sources.contains(&file))
}

/// A line of a dump.
#[derive(Clone, Copy, Debug)]
pub enum DumpLine<'r, 'c> {
    /// The statement of a row.
    Statement(&'r ParameterRow<'c>),
    /// A comment that the sources or templates of this row are already included; reading them again would
    /// change values.
    AlreadyIncluded(&'r ParameterRow<'c>),
}

/// A dump that reads back as the same configuration.
#[derive(Clone, Debug)]
pub struct RoundTripDump<'r, 'c> {
    /// Lines of the dump.
    pub lines: Vec<DumpLine<'r, 'c>>,
    /// True if USER_CONFIG_FILE has to be set to empty at the end, since the user's file is already included.
    pub disables_user_file: bool,
}

/// Builds a dump of all rows that are set, so that reading it gives the same values.
pub fn build_dump<'r, 'c>(
    config: &Config,
    rows: &[&'r ParameterRow<'c>],
    options: &LoadOptions,
    redacting: bool,
    world: &dyn World,
) -> RoundTripDump<'r, 'c> {
    let reads_once = !reads_back_same(config, rows, options, redacting, world);
    let line = |row: &&'r ParameterRow<'c>| match reads_once && is_source_parameter(row, &config.context) {
        true => DumpLine::AlreadyIncluded(row),
        false => DumpLine::Statement(row),
    };
    RoundTripDump {
        lines: rows.iter().map(line).collect(),
        disables_user_file: reads_once && has_user_file(config, world),
    }
}

/// Returns true if the statements of all rows, read as the root file, give the same rows. The sources that they name
/// are read again in this case. They may add to values that are already complete, or override later settings.
fn reads_back_same(
    config: &Config,
    rows: &[&ParameterRow<'_>],
    options: &LoadOptions,
    redacting: bool,
    world: &dyn World,
) -> bool {
    let rows = || rows.iter().filter(|row| !is_redundant_default(row));
    // The user's own file is read last, whatever file is the root.
    let has_sources =
        || !config.local_sources.is_empty() || rows().any(|row| is_source_parameter(row, &config.context));
    if config.root.is_none() || !has_sources() {
        return true;
    }
    let mut text = Vec::new();
    for row in rows() {
        statement_text::push_statement(&row.name, &row.raw, &mut text);
    }
    let options = LoadOptions {
        file: config.root.as_ref().map(|root| OsStr::from_bytes(root).into()),
        root_text: Some(text.into()),
        environment: false,
        overlay: Vec::new(),
        more_files: Vec::new(),
        commands: CommandPolicy::Refused,
        ..options.clone()
    };
    let mut reloaded = Config::load_partially(world, &config.context, &options);
    if redacting {
        redact::redact_attempt(&mut reloaded, world);
    }
    let reloaded_rows: Vec<ParameterRow<'_>> =
        parameter_rows::set_and_detected_rows(&reloaded.config.set, world);
    let reloaded_rows = reloaded_rows.iter().filter(|row| row.is_set() && !is_redundant_default(row));
    let name_and_value = |row: &ParameterRow<'_>| (row.name.to_ascii_lowercase(), row.raw.to_vec());
    reloaded.error.is_none() && reloaded_rows.map(name_and_value).eq(rows().map(|row| name_and_value(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::config_of;

    #[test]
    fn settings_that_include_sources_are_distinguished_from_others() {
        let (config, world) = config_of(
            "TOOL",
            "A = 1\nTOOL.LOCAL_CONFIG_FILE =\nAUTO_USE_FEATURE_X = 0\nCOLLECTOR_PORT = 9618\n",
        );
        let rows = parameter_rows::set_and_detected_rows(&config.set, &world);
        let set: Vec<&ParameterRow<'_>> = rows.iter().filter(|row| row.is_set()).collect();
        let names_of = |is_wanted: &dyn Fn(&ParameterRow<'_>) -> bool| -> Vec<String> {
            set.iter().filter(|row| is_wanted(row)).map(|row| row.name.to_string()).collect()
        };
        assert_eq!(names_of(&|row| is_source_parameter(row, &config.context)), ["TOOL.LOCAL_CONFIG_FILE"]);
        assert!(!names_of(&|row| is_redundant_default(row)).contains(&"A".to_owned()));
        assert!(!has_user_file(&config, &world));
        assert!(reads_back_same(&config, &set, &LoadOptions::default(), false, &world));
    }

    #[test]
    fn a_source_that_adds_to_a_value_is_read_once() {
        let home = tempfile::tempdir().unwrap();
        let more = home.path().join("more");
        std::fs::write(&more, "A = $(A) 2\n").unwrap();
        let (config, world) = config_of("TOOL", &format!("A = 1\nLOCAL_CONFIG_FILE = {}\n", more.display()));
        let rows = parameter_rows::set_and_detected_rows(&config.set, &world);
        let set: Vec<&ParameterRow<'_>> = rows.iter().filter(|row| row.is_set()).collect();
        let options = LoadOptions { user_file: false, ..LoadOptions::default() };
        // Read again, A would be `1 2 2`.
        assert!(!reads_back_same(&config, &set, &options, false, &world));
        let RoundTripDump { lines, disables_user_file } = build_dump(&config, &set, &options, false, &world);
        let statements: Vec<(String, bool)> = lines
            .iter()
            .map(|line| match line {
                DumpLine::Statement(row) => (row.name.to_string(), true),
                DumpLine::AlreadyIncluded(row) => (row.name.to_string(), false),
            })
            .collect();
        assert_eq!(statements, [("A".to_owned(), true), ("LOCAL_CONFIG_FILE".to_owned(), false)]);
        assert!(!disables_user_file);
    }
}
