//! The maps of `userMap()` that a configuration names (classad_usermap.cpp, `reconfig_user_maps`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::config_view::ConfigView;
use crate::load::Config;
use htc_base::text::list;
use htc_base::world::{FileKind, World};
use htc_classad::regex::{Regex, RegexOptions};
use htc_classad::{UserMap, UserMaps};

/// Maximum size of a map, in bytes.
const MAX_MAP_BYTES: u64 = 64 << 20;

impl Config {
    /// Reads the maps of the subsystem for which the configuration was read:
    /// `<SUBSYS>_CLASSAD_USER_MAP_NAMES` names them, and `CLASSAD_USER_MAPFILE_x` or `CLASSAD_USER_MAPDATA_x`
    /// has their contents. [`UserMaps::problems`] reports errors in them.
    pub fn user_maps(&self, world: &dyn World) -> UserMaps {
        let view = self.view(world);
        let setting = format!("{}_CLASSAD_USER_MAP_NAMES", self.context.subsystem);
        let names = view.text(&setting).unwrap_or_default();
        let mut maps = UserMaps::for_parameter(setting);
        for name in list::split(&names) {
            let map = read_map(BStr::new(name), &view, world);
            maps.insert(name, map.map_err(|error| error.to_string()));
        }
        maps
    }

    /// Returns the reason why the map of this name cannot be used, or `None`.
    pub fn user_map_error(&self, name: &[u8], world: &dyn World) -> Option<UserMapError> {
        read_map(BStr::new(name), &self.view(world), world).err()
    }
}

/// Reason why a map cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserMapError {
    /// No parameter defines the map.
    #[error("neither CLASSAD_USER_MAPFILE_{0} nor CLASSAD_USER_MAPDATA_{0} is set")]
    Undefined(BString),
    /// The file of the map cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Reads the map of that name.
fn read_map(name: &BStr, view: &ConfigView<'_>, world: &dyn World) -> Result<UserMap, UserMapError> {
    let matches_prefixes = view.flag(&format!("CLASSAD_USER_MAP_PREFIX_{name}"), false);
    let file = view.text(&format!("CLASSAD_USER_MAPFILE_{name}"));
    let (source, text) = match file {
        Some(file) => {
            let text = read_map_file(&file, world).map_err(UserMapError::Unreadable)?;
            (file.to_string(), text)
        }
        None => match view.text(&format!("CLASSAD_USER_MAPDATA_{name}")) {
            Some(data) => (name.to_string(), data.into()),
            None => return Err(UserMapError::Undefined(name.into())),
        },
    };
    let mut map = UserMap::default();
    let directory = Path::new(&source).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut include = |path: &[u8]| read_included_maps(&directory.join(path.to_path_lossy()), view, world);
    map.read(&source, &text, matches_prefixes, Some(&mut include));
    Ok(map)
}

/// Reads a file, which must be a regular file of limited size: a daemon would wait forever for a pipe.
fn read_map_file(path: &[u8], world: &dyn World) -> Result<Vec<u8>, String> {
    let shown = BStr::new(path);
    let path = path.to_path_lossy();
    let cannot = |error: std::io::Error| format!("cannot read '{shown}': {error}");
    let status = world.stat(&path).map_err(cannot)?;
    if status.kind != FileKind::File {
        return Err(format!("cannot read '{shown}': it is not a regular file"));
    }
    let text = world.read_file(&path, Some(MAX_MAP_BYTES + 1)).map_err(cannot)?;
    match text.len() as u64 > MAX_MAP_BYTES {
        true => Err(format!("cannot read '{shown}': it is larger than 64 MiB")),
        false => Ok(text),
    }
}

/// Reads the files of an `@include`: a file, or the files of a directory in the order of their names.
fn read_included_maps(
    path: &Path,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let is_directory = world.stat(path).is_ok_and(|status| status.kind == FileKind::Directory);
    let paths = if is_directory { list_map_files(path, view, world)? } else { vec![path.to_owned()] };
    let text = |path: &Path| read_map_file(path.as_os_str().as_encoded_bytes(), world);
    paths.into_iter().map(|path| Ok((path.display().to_string(), text(&path)?))).collect()
}

/// Returns the files of a directory that LOCAL_CONFIG_DIR_EXCLUDE_REGEXP does not exclude.
fn list_map_files(
    directory: &Path,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> Result<Vec<PathBuf>, String> {
    let pattern = view.text("LOCAL_CONFIG_DIR_EXCLUDE_REGEXP").unwrap_or_default();
    let exclude = Regex::compile(&pattern, RegexOptions::NONE).map_err(|error| error.to_string())?;
    let names = world
        .list_dir(directory)
        .map_err(|error| format!("cannot read '{}': {error}", directory.display()))?;
    let is_excluded =
        |name: &OsString| !pattern.is_empty() && exclude.is_match(name.as_encoded_bytes()).unwrap_or(false);
    let mut paths: Vec<PathBuf> =
        names.into_iter().filter(|name| !is_excluded(name)).map(|name| directory.join(name)).collect();
    paths.retain(|path| world.stat(path).is_ok_and(|status| status.kind != FileKind::Directory));
    paths.sort();
    Ok(paths)
}
