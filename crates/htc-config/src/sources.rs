//! The sources of a configuration in their order (`condor_config.cpp`, `real_config`).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use crate::command::{self, CommandPolicy, SourceTarget, ends_in_pipe};
use crate::expand::Expander;
use crate::loader::{LoadFailure, Loader, UnreadSource, UnreadSourceKind};
use crate::macro_definition::{ConfigSource, DefinitionPlace, SourceId, SourceKind};
use crate::use_counts::LookupPurpose;
use htc_base::process::Exit;
use htc_base::text::space::is_space;
use htc_base::text::{caseless, list};
use htc_base::world::FileKind;
use htc_classad::regex::{Regex, RegexOptions};

mod default_places;
mod finalize;
mod special_values;

use default_places::find_default_root;
pub(crate) use default_places::{bytes_to_path, user_file_path};

/// Maximum size of a source; offsets have 32 bits.
const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// An opened source: its number and text, and the exit of a command.
pub(crate) struct OpenedSource {
    source: SourceId,
    text: Arc<[u8]>,
    exit: Option<Exit>,
}

impl Loader<'_> {
    /// Reads all sources.
    pub(crate) fn read_all_sources(&mut self) -> Result<(), LoadFailure> {
        let options = self.options;
        let root = self.find_root()?;
        let only_env = root.as_deref().is_some_and(|root| caseless::eq(root, b"ONLY_ENV"));
        self.insert_initial_values();
        let root = root.filter(|root| !only_env && !root.is_empty() && *root != "/dev/null");
        if let Some(root) = root {
            let directory = match memchr::memrchr(b'/', &root) {
                Some(0) => &b"/"[..],
                Some(slash) => &root[..slash],
                None => b".",
            };
            let directory = self.absolute_root_directory(directory);
            self.insert(b"CONFIG_ROOT", directory, DefinitionPlace::without_line(SourceId::DETECTED));
            self.root = Some(root.clone());
            self.read_config_source(root.as_ref(), 0, "global config source", true)?;
        }
        for file in &options.more_files {
            self.refuse_directory(file)?;
            let file = BString::from(file.as_os_str().as_bytes());
            self.read_config_source(file.as_ref(), 0, "config source", true)?;
            self.local_sources.push(file);
        }
        self.insert_host_names()?;
        if options.local_files {
            self.read_local_sources(only_env)?;
        }
        if options.user_file && !only_env {
            self.read_user_file()?;
        }
        if options.environment {
            self.read_environment();
        }
        for (name, value) in &options.overlay {
            let place = DefinitionPlace::without_line(SourceId::OVERLAY);
            let defined = self.define(name, value, place);
            defined.map_err(|error| LoadFailure::new(0).with_reason(error.to_string()))?;
        }
        self.force_detected(false)?;
        self.read_persistent_settings()?;
        self.check_network()?;
        if self.expanded_value("DEFAULT_DOMAIN_NAME")?.is_some() {
            self.read_host_settings()?;
        }
        self.force_detected(true)?;
        self.set_default_domains()?;
        self.apply_auto_use()?;
        self.read_tool_settings()
    }

    /// Reads the files named by LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE.
    fn read_local_sources(&mut self, only_env: bool) -> Result<(), LoadFailure> {
        let directories = self.expanded_value("LOCAL_CONFIG_DIR")?;
        if let Some(directories) = directories.as_ref().filter(|_| !only_env) {
            self.read_config_directories(directories.as_ref())?;
        }
        self.read_local_files()?;
        let changed = self.expanded_value("LOCAL_CONFIG_DIR")?;
        if let Some(changed) = changed.filter(|value| !only_env && Some(value) != directories.as_ref()) {
            self.read_config_directories(changed.as_ref())?;
        }
        Ok(())
    }

    /// Returns an expanded value, as `param()` reads it, or `None` if it is empty.
    pub(crate) fn expanded_value(&mut self, name: &str) -> Result<Option<BString>, LoadFailure> {
        let source = self.macro_source();
        let purpose_guard = self.set.set_lookup_purpose(LookupPurpose::Parameter);
        let Some(raw) = crate::MacroSource::raw(&source, name.as_bytes()).map(|raw| raw.into_owned()) else {
            return Ok(None);
        };
        let mut messages = Vec::new();
        let mut report = |message| messages.push(message);
        let value = Expander::new(&source, self.world, &mut report)
            .for_value_of(name.as_bytes())
            .expand_file_mode(&raw);
        drop(purpose_guard);
        self.warn_messages(messages);
        match value {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(error) => {
                self.push_error_line(format!("Configuration Error: {name}: {error}"));
                Err(LoadFailure::new(0))
            }
        }
    }

    /// Returns the directory of the root file, made absolute if the options ask for it. CONDOR_CONFIG is used
    /// as it is, as in the reference.
    fn absolute_root_directory(&self, directory: &[u8]) -> BString {
        if !self.options.absolute_root || self.options.file.is_none() || directory.starts_with(b"/") {
            return directory.into();
        }
        let Ok(current) = self.world.current_dir() else { return directory.into() };
        let relative = if directory == b"." { bytes_to_path(b"") } else { bytes_to_path(directory) };
        let joined = current.join(relative).into_os_string().into_vec();
        joined.strip_suffix(b"/").unwrap_or(&joined).into()
    }

    /// Explains why CONDOR_CONFIG does not name a root file: the kind of source, and the reference's message.
    fn explain_invalid_root(&self, file: &BString) -> Option<(&'static str, String)> {
        match self.world.stat(bytes_to_path(file)) {
            Ok(status) if status.kind == FileKind::Directory => {
                Some(("File", format!("\"{file}\" is a directory.  Please specify a file.")))
            }
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (!ends_in_pipe(file.as_ref())).then(|| ("File", format!("\"{file}\" does not exist.")))
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                Some(("Cannot stat file", format!("\"{file}\", errno: {errno}")))
            }
        }
    }

    /// Returns the root file (`find_file`): the option, else CONDOR_CONFIG, else the usual places.
    fn find_root(&mut self) -> Result<Option<BString>, LoadFailure> {
        if let Some(file) = &self.options.file {
            self.refuse_directory(file)?;
            return Ok(Some(file.as_os_str().as_bytes().into()));
        }
        if let Some(file) = self.world.env(OsStr::new("CONDOR_CONFIG")) {
            let file = BString::from(file.into_vec());
            if !caseless::eq(&file, b"ONLY_ENV")
                && let Some((subject, text)) = self.explain_invalid_root(&file)
            {
                self.push_error_line(format!("{subject} specified in CONDOR_CONFIG environment variable:"));
                self.push_error_line(text);
                return Err(LoadFailure::new(0));
            }
            return Ok(Some(file));
        }
        if let Some(place) = find_default_root(self.world) {
            return Ok(Some(place));
        }
        for line in [
            "",
            "Neither the environment variable CONDOR_CONFIG,",
            "/etc/condor/, /usr/local/etc/, nor ~condor/ contain a condor_config source.",
            "Either set CONDOR_CONFIG to point to a valid config source,",
            "or put a \"condor_config\" file in /etc/condor/ /usr/local/etc/ or ~condor/",
            "Exiting.",
            "",
        ] {
            self.push_error_line(line);
        }
        Err(LoadFailure { is_config_missing: true, ..LoadFailure::new(0) })
    }

    /// Refuses a directory in place of a file, with the reference's message about CONDOR_CONFIG. The tool's
    /// `-root-config` accepts a directory as an empty file.
    fn refuse_directory(&mut self, file: &Path) -> Result<(), LoadFailure> {
        let is_directory = self.world.stat(file).is_ok_and(|status| status.kind == FileKind::Directory);
        if self.options.absolute_root && is_directory {
            let shown = file.display();
            self.push_error_line(format!("\"{shown}\" is a directory.  Please specify a file."));
            return Err(LoadFailure::new(0));
        }
        Ok(())
    }

    /// Returns REQUIRE_LOCAL_CONFIG_FILE: the first letter decides, else the boolean value
    /// (`param_boolean_crufty`).
    fn requires_local_files(&mut self) -> Result<bool, LoadFailure> {
        let name = "REQUIRE_LOCAL_CONFIG_FILE";
        Ok(match self.expanded_value(name)?.and_then(|value| value.first().copied()) {
            Some(b't' | b'T') => true,
            Some(b'f' | b'F') => false,
            _ => self.read_flag(name, true),
        })
    }

    /// Reads one source (`process_config_source`).
    fn read_config_source(
        &mut self,
        name: &BStr,
        depth: u32,
        kind: &str,
        required: bool,
    ) -> Result<(), LoadFailure> {
        let opened = self.open_file_or_command(name, false, None);
        if opened.is_err() && SourceTarget::new(name, false).command.is_none() {
            let open_error = std::mem::take(&mut self.stale_reason);
            // The reference adds a file to its sources only after checking that it can be read.
            self.set.remove_last_source();
            if !required {
                return Ok(());
            }
            if self.options.continue_after_errors && depth > 0 {
                let (name, reason) = (name.to_owned(), open_error.to_string());
                self.unread_sources.push(UnreadSource {
                    kind: UnreadSourceKind::File,
                    name,
                    from: None,
                    reason,
                });
                return Ok(());
            }
            self.push_error_line(format!("ERROR: Can't read {kind} {name}"));
            return Err(LoadFailure::new(0).with_hint(open_error.to_string()));
        }
        self.last_line = 0;
        let result = match opened {
            Ok(opened) => {
                self.parse_source(opened.source, &opened.text, depth).and_then(|()| match opened.exit {
                    Some(exit) if !exit.is_success() => {
                        let shown = self.source_name(opened.source);
                        let status = exit.to_raw();
                        self.push_error_line(format!(
                            "Error \"{shown}\": command terminated with exit code {status}"
                        ));
                        Err(LoadFailure::new(self.last_line))
                    }
                    _ => Ok(()),
                })
            }
            Err(reason) => Err(LoadFailure::new(0).with_reason(reason)),
        };
        let stale = std::mem::take(&mut self.stale_reason);
        result.map_err(|mut failure| {
            self.push_error_line(format!(
                "Configuration Error Line {} while reading {kind} {name}",
                failure.line
            ));
            if failure.reason.is_empty() {
                failure.reason = stale;
            }
            if !failure.reason.is_empty() {
                self.push_error_line(failure.reason.clone());
            }
            failure
        })
    }

    /// Reads a file. A directory is read as an empty file.
    fn read_text(&self, name: &BStr) -> Result<Vec<u8>, String> {
        let is_root = self.root.as_ref().is_some_and(|root| root == name);
        if let Some(text) = self.options.root_text.as_ref().filter(|_| is_root) {
            return Ok(text.to_vec());
        }
        let file = bytes_to_path(name);
        if self.world.stat(file).is_ok_and(|status| status.kind == FileKind::Directory) {
            return Ok(Vec::new());
        }
        match self.world.read_file(file, Some(MAX_SOURCE_BYTES + 1)) {
            Ok(text) if text.len() as u64 > MAX_SOURCE_BYTES => Err(format!("{name} is larger than 64 MiB")),
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => Ok(Vec::new()),
            Err(error) => Err(command::error_text(&error)),
        }
    }

    /// Opens a file or runs a command. The error is the reference's message.
    fn open_file_or_command(
        &mut self,
        name: &BStr,
        is_command: bool,
        included_from: Option<(SourceId, u32)>,
    ) -> Result<OpenedSource, BString> {
        let opened = self.open_target(name, is_command, included_from);
        opened.inspect_err(|reason| self.stale_reason = reason.clone())
    }

    fn open_target(
        &mut self,
        name: &BStr,
        is_command: bool,
        included_from: Option<(SourceId, u32)>,
    ) -> Result<OpenedSource, BString> {
        let target = SourceTarget::new(name, is_command);
        let kind = if target.command.is_some() { SourceKind::Command } else { SourceKind::File };
        let source = self.set.add_source(ConfigSource::new(target.shown.clone(), kind, included_from));
        let (text, exit) = match &target.command {
            None => {
                let read = self.read_text(name);
                (read.map_err(|error| BString::from(format!("can't open file {name}: {error}")))?, None)
            }
            Some(_) if !ends_in_pipe(target.shown.as_ref()) => {
                return Err("not a valid command, | must be at the end\n".into());
            }
            Some(line) => {
                self.record_skipped_command(line, included_from);
                let result = command::run_command(line, self.options.commands, self.world);
                let (text, exit) = result.map_err(|error| BString::from(error.to_string()))?;
                (text, Some(exit))
            }
        };
        let text = Arc::from(text);
        self.keep_text(source, &text);
        Ok(OpenedSource { source, text, exit })
    }

    /// Records a command that is skipped.
    fn record_skipped_command(&mut self, line: &BString, from: Option<(SourceId, u32)>) {
        if self.options.commands == CommandPolicy::Skipped {
            let (name, reason) = (line.clone(), "commands are not run".to_owned());
            self.unread_sources.push(UnreadSource { kind: UnreadSourceKind::Command, name, from, reason });
        }
    }

    /// Opens the target of an `include`.
    pub(crate) fn open_include(
        &mut self,
        target: &BString,
        is_command: bool,
        included_from: Option<(SourceId, u32)>,
    ) -> Result<(SourceId, Arc<[u8]>), BString> {
        self.open_file_or_command(target.as_ref(), is_command, included_from)
            .map(|opened| (opened.source, opened.text))
    }

    /// Opens the file of `include command into FILE`, or creates it from the command's output if it cannot be
    /// opened.
    pub(crate) fn open_command_output_file(
        &mut self,
        target: &BString,
        is_command: bool,
        into: &BString,
        included_from: Option<(SourceId, u32)>,
    ) -> Result<(SourceId, Arc<[u8]>), BString> {
        if let Ok(opened) = self.open_file_or_command(into.as_ref(), false, included_from) {
            return Ok((opened.source, opened.text));
        }
        let from = SourceTarget::new(target, is_command);
        let kind = if from.command.is_some() { SourceKind::Command } else { SourceKind::File };
        let text = match &from.command {
            None => self.read_text(target.as_ref()).map_err(|_| BString::from("can't open input file"))?,
            Some(_) if !ends_in_pipe(from.shown.as_ref()) => {
                return Err("not a valid command, | must be at the end\n".into());
            }
            // A skipped command has no output to store in the file.
            Some(line) if self.options.commands == CommandPolicy::Skipped => {
                self.record_skipped_command(line, included_from);
                let source = self.set.add_source(ConfigSource::new(from.shown.clone(), kind, included_from));
                return Ok((source, Arc::default()));
            }
            Some(line) => {
                let result = command::run_command(line, self.options.commands, self.world);
                let (text, exit) = result.map_err(|error| match error {
                    command::CommandError::NotStarted { .. } => BString::from("not a valid command"),
                    other => BString::from(other.to_string()),
                })?;
                if !exit.is_success() {
                    // The reference opens the file before it waits for the command.
                    return Err(match command::has_place_for(self.world, bytes_to_path(into)) {
                        true => format!("exited with error {}", exit.to_raw()).into(),
                        false => format!("can't open '{into}' for write").into(),
                    });
                }
                text
            }
        };
        let written = self.world.write_file(bytes_to_path(into), &text);
        written.map_err(|_| BString::from(format!("can't open '{into}' for write")))?;
        // The reference adds the file that was just written to its sources, although messages name the command.
        let cache = ConfigSource::new(into.clone(), SourceKind::File, included_from);
        self.set.add_source(cache);
        let source = self.set.add_source(ConfigSource::new(from.shown.clone(), kind, included_from));
        let text = Arc::from(text);
        self.keep_text(source, &text);
        Ok((source, text))
    }

    /// Reads all files of the directories of a list (`process_directory`).
    fn read_config_directories(&mut self, directories: &BStr) -> Result<(), LoadFailure> {
        let required = self.requires_local_files()?;
        for directory in list::split(directories) {
            for file in self.list_config_files(directory.as_bstr())? {
                self.read_config_source(file.as_ref(), 1, "config source", required)?;
                self.local_sources.push(file);
            }
        }
        Ok(())
    }

    /// Returns the configuration files of a directory, in the order in which they are read.
    fn list_config_files(&mut self, directory: &BStr) -> Result<Vec<BString>, LoadFailure> {
        let name = "LOCAL_CONFIG_DIR_EXCLUDE_REGEXP";
        let exclude = match self.expanded_value(name)? {
            None => None,
            Some(pattern) => match Regex::compile(&pattern, RegexOptions::NONE) {
                Ok(regex) => Some(regex),
                Err(error) => {
                    self.push_error_line(format!(
                        "ERROR \"{name} config parameter is not a valid regular expression.  Value: {pattern},  \
                         Error Code: {}\" at line 1243 in file {}",
                        error.code, "condor_config.cpp"
                    ));
                    return Err(LoadFailure { status: 4, ..LoadFailure::new(0) }.with_hint(error.to_string()));
                }
            },
        };
        let mut files = Vec::new();
        let names = self.world.list_dir(bytes_to_path(directory)).unwrap_or_else(|error| {
            let (name, reason) = (directory.to_owned(), command::error_text(&error));
            let kind = UnreadSourceKind::Directory;
            self.unread_sources.push(UnreadSource { kind, name, from: None, reason });
            Vec::new()
        });
        for name in names {
            let name = name.into_vec();
            let separator: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
            let file: BString = [directory, separator, &name].concat().into();
            let excluded = exclude.as_ref().is_some_and(|regex| regex.is_match(&name).unwrap_or(false));
            let status = self.world.stat(bytes_to_path(&file));
            if !excluded && status.is_ok_and(|status| status.kind != FileKind::Directory) {
                files.push(file);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Reads the sources of LOCAL_CONFIG_FILE (`process_locals`). They may change this list.
    fn read_local_files(&mut self) -> Result<(), LoadFailure> {
        let required = self.requires_local_files()?;
        let Some(mut value) = self.expanded_value("LOCAL_CONFIG_FILE")? else {
            return Ok(());
        };
        let sources = |value: &BString| -> Vec<BString> {
            match memchr::memchr(b'|', value) {
                Some(_) => vec![value.clone()],
                None => list::split(value).map(BString::from).collect(),
            }
        };
        let mut remaining = sources(&value);
        remaining.extend(self.options.extra_local_file.clone());
        remaining.reverse();
        let mut done: Vec<BString> = Vec::new();
        while let Some(source) = remaining.pop() {
            self.local_sources.push(source.clone());
            self.read_config_source(source.as_ref(), 1, "config source", required)?;
            done.push(source);
            if let Some(changed) = self.expanded_value("LOCAL_CONFIG_FILE")?
                && changed != value
            {
                remaining = sources(&changed);
                remaining.retain(|source| !done.contains(source));
                remaining.reverse();
                value = changed;
            }
        }
        Ok(())
    }

    /// Reads the user's own file; daemons that can switch users have none.
    fn read_user_file(&mut self) -> Result<(), LoadFailure> {
        let Some(name) = self.expanded_value("USER_CONFIG_FILE")? else {
            return Ok(());
        };
        let Some(file) = user_file_path(&name, self.world) else {
            return Ok(());
        };
        if self.world.read_file(bytes_to_path(&file), Some(1)).is_err() {
            return Ok(());
        }
        self.read_config_source(file.as_ref(), 1, "user_config source", false)?;
        self.local_sources.push(file);
        Ok(())
    }

    /// Reads `_CONDOR_NAME` variables. Names are not checked; `$(NAME)` in a value is the value so far.
    fn read_environment(&mut self) {
        for (name, value) in self.world.environment() {
            let (name, value) = (name.into_vec(), value.into_vec());
            let Some(name) =
                name.get(b"_CONDOR_".len()..).filter(|_| caseless::starts_with(&name, b"_CONDOR_"))
            else {
                continue;
            };
            let name = &name[..name.iter().position(|&b| is_space(b)).unwrap_or(name.len())];
            if name.is_empty() {
                continue;
            }
            let value = htc_base::text::space::trim_start(&value);
            // Self references are expanded only if the name already has a value; if the expansion does not
            // end, they are kept.
            let is_new =
                self.set.find_exact(name).is_none() && self.set.detected.find(name, self.world).is_none();
            if is_new
                || self.define(name, value, DefinitionPlace::without_line(SourceId::ENVIRONMENT)).is_err()
            {
                self.insert(name, value.into(), DefinitionPlace::without_line(SourceId::ENVIRONMENT));
            }
        }
    }

    /// Reads settings made by `condor_config_val -set` (`process_persistent_configs`).
    fn read_persistent_settings(&mut self) -> Result<(), LoadFailure> {
        self.read_flag("ENABLE_RUNTIME_CONFIG", false);
        if !self.read_flag("ENABLE_PERSISTENT_CONFIG", false) {
            return Ok(());
        }
        let subsystem = self.context.subsystem.clone();
        let top: BString = match self.expanded_value(&format!("{subsystem}_CONFIG"))? {
            Some(top) => top,
            None => match self.expanded_value("PERSISTENT_CONFIG_DIR")? {
                Some(directory) => format!("{directory}/.config.{subsystem}").into(),
                None => return Ok(()),
            },
        };
        if self.world.read_file(bytes_to_path(&top), Some(1)).is_err() {
            return Ok(());
        }
        self.read_persistent_file(top.as_ref())?;
        let admins = self.expanded_value("RUNTIME_CONFIG_ADMIN")?.unwrap_or_default();
        let mut admins: Vec<&[u8]> = list::split(&admins).collect();
        admins.sort_unstable();
        admins.dedup();
        for admin in admins {
            let file: BString = [&top[..], b".", admin].concat().into();
            self.read_persistent_file(file.as_ref())?;
        }
        Ok(())
    }

    /// Reads one file of persistent settings, which must belong to the user. The reference exits on any
    /// failure without a message.
    fn read_persistent_file(&mut self, name: &BStr) -> Result<(), LoadFailure> {
        let silent_failure = |reason: String| {
            LoadFailure::new(0).with_hint(format!("the persistent configuration {name} {reason}"))
        };
        let status = self
            .world
            .stat(bytes_to_path(name))
            .map_err(|error| silent_failure(command::error_text(&error)))?;
        let effective_uid = self.world.effective_uid();
        if status.uid != effective_uid {
            return Err(silent_failure(format!("belongs to user {} instead of {effective_uid}", status.uid)));
        }
        let opened = self
            .open_file_or_command(name, false, None)
            .map_err(|reason| silent_failure(reason.to_string()))?;
        self.parse_source(opened.source, &opened.text, 0)
    }
}
