//! Reading a whole configuration: options, the result, and what is said when it fails.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::config::command::CommandPolicy;
use crate::config::macro_set::{MacroSet, SourceId, Who};
use crate::config::parse::{Skipped, TemplateFailure};
use crate::config::view::View;
use crate::text::Span;
use crate::text::caret::LineCaret;
use crate::world::{InMode, World};

/// What to read and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The root file; else `CONDOR_CONFIG` and the usual places. `ONLY_ENV` means no files.
    pub file: Option<PathBuf>,
    /// What is read in place of the root file's text.
    pub root_text: Option<Arc<[u8]>>,
    /// Whether CONFIG_ROOT is absolute though `file` is relative. Daemons change their directory, and hooks below
    /// `$(CONFIG_ROOT)` are to be found then; the tool's `-root-config` takes the file as it is,
    /// a directory, too, which is an error here.
    pub absolute_root: bool,
    /// Whether `_CONDOR_...` variables count.
    pub environment: bool,
    /// Settings that go over everything else: name and raw value.
    pub overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether commands that the configuration names are run.
    pub commands: CommandPolicy,
    /// Whether the texts of sources and the definitions left out by conditions are kept, for carets and stories.
    pub keep_texts: bool,
    /// Whether settings equal to their defaults are kept (`-summary`, `-writeconfig`).
    pub keep_defaults: bool,
    /// Whether each replacement of a value is recorded in its order (`-trace`).
    pub record_replacements: bool,
    /// Whether look-ups are counted (`-verbose:use`, `-used`, `-stats`).
    pub count_uses: bool,
    /// A source that is read as if it stood at the end of LOCAL_CONFIG_FILE.
    pub extra_local_file: Option<BString>,
    /// Files that are read behind the root file, in order.
    pub more_files: Vec<PathBuf>,
    /// Whether the files that LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE name are read.
    pub local_files: bool,
    /// Whether the user's own file (`~/.condor/user_config`) is read.
    pub user_file: bool,
    /// Whether reading goes on behind what stops daemons, for those who want to know all that is wrong:
    /// [`Attempt::stops`] and [`Config::not_read`] tell.
    pub go_on: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            file: None,
            root_text: None,
            absolute_root: false,
            environment: true,
            overlay: Vec::new(),
            commands: CommandPolicy::Refused,
            keep_texts: false,
            keep_defaults: false,
            record_replacements: false,
            count_uses: false,
            extra_local_file: None,
            more_files: Vec::new(),
            local_files: true,
            user_file: true,
            go_on: false,
        }
    }
}

/// Something that was said while a configuration was read and did not stop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The reference's words where it has any.
    pub text: BString,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}

/// Where in a source an error stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The source.
    pub source: SourceId,
    /// Its name.
    pub name: BString,
    /// The physical line, from 1.
    pub line: u32,
    /// The text of that line.
    pub text: BString,
    /// The place within it.
    pub span: Span,
    /// The files that included it and the lines they did it on, innermost first.
    pub included_from: Vec<(BString, u32)>,
}

/// A configuration that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Everything the reference would have written to stderr, in its words, warnings before the error included.
    pub lines: Vec<BString>,
    /// How many of `lines` are warnings that came before.
    pub warnings: usize,
    /// Where it stands, if in a source.
    pub place: Option<Box<ErrorPlace>>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The reference's exit status, 1 mostly.
    pub status: u8,
}

impl ConfigError {
    /// The reference's text on stderr, warnings included.
    pub fn reference_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for line in &self.lines {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// The line in question with a caret under it, the files that included it, and the hint; empty if there is
    /// nothing to show.
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        if let Some(place) = &self.place {
            let name = place.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: place.line, text: &place.text, span: place.span, cut: 0 };
            let shown = caret.render("here");
            text.push_str(&shown);
            for (file, line) in &place.included_from {
                text.push_str(&format!("\n    included from {file}:{line}"));
            }
        }
        if let Some(hint) = &self.hint {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str("hint: ");
            text.push_str(hint);
        }
        text
    }
}

/// The reference's words, then the place and the hint.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for line in self.lines.iter().skip(self.warnings) {
            if !first {
                writeln!(f)?;
            }
            first = false;
            fmt::Display::fmt(line, f)?;
        }
        let more = self.explanation();
        if !more.is_empty() {
            write!(f, "\n{more}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Config {
    /// All definitions.
    pub set: MacroSet,
    /// For whom it was read; statements may depend on it.
    pub who: Who,
    /// The root file, if there was one.
    pub root: Option<BString>,
    /// The other files and commands in the order in which `-config` lists them.
    pub local_sources: Vec<BString>,
    /// Definitions that conditions left out, if texts are kept.
    pub skipped: Vec<Skipped>,
    /// Sources that it names and that were not read, if reading goes on behind them.
    pub not_read: Vec<NotRead>,
}

/// A source that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRead {
    /// What it is.
    pub kind: NotReadKind,
    /// Its name, or the command line.
    pub name: BString,
    /// The source that names it in an `include`, and the line.
    pub from: Option<(SourceId, u32)>,
    /// Why it could not be read.
    pub reason: String,
}

/// What was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReadKind {
    /// A command, which was not run.
    Command,
    /// A file that has to be there.
    File,
    /// A directory of LOCAL_CONFIG_DIR, which need not be there.
    Directory,
}

/// What came of an attempt: as much of the configuration as could be read, all that was said, and why it stopped.
#[derive(Debug)]
pub struct Attempt {
    /// The configuration as far as it came.
    pub config: Config,
    /// What was said and did not stop it, in order.
    pub warnings: Vec<Warning>,
    /// What would have stopped it, had it not been told to go on.
    pub stops: Vec<ConfigError>,
    /// What stopped it.
    pub error: Option<ConfigError>,
}

impl Config {
    /// Reads all sources in the reference's order (`real_config`, condor_config.cpp). [`Config::is_strict`] says in which mode
    /// ClassAds are to be read and evaluated with it. What the reference says several times, since it looks several times, is
    /// one warning.
    ///
    /// # Errors
    /// A source that cannot be read, or a statement that is wrong: the error carries the reference's words, the place
    /// and a hint.
    pub fn load(
        world: &dyn World,
        who: &Who,
        options: &LoadOptions,
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let Attempt { config, warnings, error, .. } = Config::attempt(world, who, options);
        match error {
            Some(error) => Err(error),
            None => {
                let mut said = BTreeSet::new();
                let is_new = |warning: &Warning| said.insert(warning.text.clone());
                Ok((config, warnings.into_iter().filter(is_new).collect()))
            }
        }
    }

    /// As [`Config::load`], for those who want what was read before an error, too.
    pub fn attempt(world: &dyn World, who: &Who, options: &LoadOptions) -> Attempt {
        let mut loader = Loader::new(world, who, options);
        let result = loader.read_all();
        let Loader { set, who, messages, root, local_sources, skipped, not_read, stops, .. } = loader;
        let config = Config { set, who, root, local_sources, skipped, not_read };
        let warnings = messages.iter().filter(|said| !said.is_error);
        let warnings: Vec<Warning> = warnings.map(|said| Warning { text: said.text.clone() }).collect();
        let error = result.err().map(|failure| ConfigError {
            warnings: messages.iter().take_while(|said| !said.is_error).count(),
            lines: messages.into_iter().map(|said| said.text).collect(),
            place: failure.place,
            hint: failure.hint,
            status: failure.status,
        });
        Attempt { config, warnings, stops, error }
    }

    /// Whether ClassAds are read and evaluated in strict mode with it (STRICT_CLASSAD_EVALUATION). Its own values are, whatever the
    /// mode of the world in which they are looked at.
    pub fn is_strict(&self) -> bool {
        self.set.strict
    }

    /// The values as the subsystem for which it was read sees them. What expansion asks of the outside (time, chance,
    /// environment, facts of the machine) comes from `world`.
    pub fn view<'a>(&'a self, world: &'a dyn World) -> View<'a> {
        View::new(&self.set, self.who.clone(), world)
    }

    /// The values as a slot sees them: settings of the slot (`SLOT1_NAME`) go before those of its type
    /// (`SLOT_TYPE_1_NAME`), these before the plain ones.
    pub fn for_slot<'a>(&'a self, slot_type: Option<u32>, world: &'a dyn World) -> View<'a> {
        self.view(world).for_slot(slot_type)
    }
}

/// What a statement or source that stops the reading leaves to say; the lines before are in [`Loader::messages`].
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// The line at which reading stopped.
    pub(crate) line: u32,
    /// What follows the trailer.
    pub(crate) reason: BString,
    /// Where it stands.
    pub(crate) place: Option<Box<ErrorPlace>>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The reference's exit status.
    pub(crate) status: u8,
    /// What a template failed of, for the template that uses it.
    pub(crate) template: TemplateFailure,
}

impl Stop {
    pub(crate) fn new(line: u32) -> Stop {
        Stop {
            line,
            reason: BString::default(),
            place: None,
            hint: None,
            status: 1,
            template: TemplateFailure::Said,
        }
    }

    pub(crate) fn reason(mut self, reason: impl Into<BString>) -> Stop {
        self.reason = reason.into();
        self
    }

    pub(crate) fn at(mut self, place: ErrorPlace) -> Stop {
        self.place = Some(Box::new(place));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Stop {
        self.hint = Some(hint.into());
        self
    }
}

/// One line for stderr.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) text: BString,
    pub(crate) is_error: bool,
}

/// A configuration while it is read.
pub(crate) struct Loader<'a> {
    pub(crate) set: MacroSet,
    pub(crate) who: Who,
    pub(crate) world: &'a dyn World,
    pub(crate) options: &'a LoadOptions,
    pub(crate) messages: Vec<Said>,
    /// The line reached in the source that is being read.
    pub(crate) last_line: u32,
    /// Why a source could not be opened that did not have to be: the reference tells it with the next failure that has
    /// no reason of its own.
    pub(crate) stale_reason: BString,
    pub(crate) root: Option<BString>,
    pub(crate) local_sources: Vec<BString>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) not_read: Vec<NotRead>,
    stops: Vec<ConfigError>,
}

/// After so many errors a text is none of this language.
const MAX_STOPS: usize = 100;

impl<'a> Loader<'a> {
    /// What is outside, in the mode that has been read so far.
    pub(crate) fn inside(&self) -> InMode<'a> {
        InMode { world: self.world, strict: self.set.strict }
    }

    fn new(world: &'a dyn World, who: &Who, options: &'a LoadOptions) -> Self {
        let mut set = MacroSet::new();
        set.keep_defaults = options.keep_defaults;
        set.keep_texts = options.keep_texts;
        set.record_replacements = options.record_replacements;
        set.use_counts = options.count_uses.then(Default::default);
        set.string_pool = options.count_uses.then(Default::default);
        Loader {
            set,
            who: who.clone(),
            world,
            options,
            messages: Vec::new(),
            last_line: 0,
            stale_reason: BString::default(),
            root: None,
            local_sources: Vec::new(),
            skipped: Vec::new(),
            not_read: Vec::new(),
            stops: Vec::new(),
        }
    }

    /// Whether the reading goes on behind an error: then it is noted, with the error lines said since `before`.
    ///
    /// # Errors
    /// The error itself, where it does not.
    pub(crate) fn go_on(&mut self, before: usize, stop: Stop) -> Result<(), Stop> {
        if !self.options.go_on || self.stops.len() >= MAX_STOPS {
            return Err(stop);
        }
        let said = self.messages.split_off(before);
        let (errors, warnings): (Vec<Said>, Vec<Said>) = said.into_iter().partition(|said| said.is_error);
        self.messages.extend(warnings);
        let mut lines: Vec<BString> = errors.into_iter().map(|said| said.text).collect();
        lines.extend(Some(stop.reason).filter(|reason| !reason.is_empty()));
        self.stops.push(ConfigError {
            lines,
            warnings: 0,
            place: stop.place,
            hint: stop.hint,
            status: stop.status,
        });
        Ok(())
    }

    /// Something to say that does not stop the reading.
    pub(crate) fn warn(&mut self, text: impl Into<BString>) {
        self.messages.push(Said { text: text.into(), is_error: false });
    }

    /// A line of what will stop the reading.
    pub(crate) fn error_line(&mut self, text: impl Into<BString>) {
        self.messages.push(Said { text: text.into(), is_error: true });
    }

    /// Keeps a source's text if wanted.
    pub(crate) fn keep_text(&mut self, source: SourceId, text: &[u8]) {
        if self.options.keep_texts {
            self.set.set_text(source, Arc::from(text));
        }
    }
}
