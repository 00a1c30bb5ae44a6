//! State while a configuration is read, and operations that all statements and sources share.

use std::borrow::Cow;
use std::sync::Arc;

use bstr::BString;

use crate::config_error::{ConfigError, ErrorLocation};
use crate::expand::{self, ExpandError, FunctionFailure, MacroSource};
use crate::load_options::LoadOptions;
use crate::load_warning::LoadWarningSubject;
use crate::macro_definition::{DefinitionPlace, FoundMacro, LookupContext, SourceId};
use crate::macro_set::MacroSet;
use crate::statement::{self, StatementOperator};
use htc_base::text::caseless;
use htc_base::world::{FixedModeWorld, World};

/// Maximum depth of nested includes and templates.
pub(crate) const MAX_NESTING: u32 = 20;

/// A source that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSource {
    /// Kind of the unread source.
    pub kind: UnreadSourceKind,
    /// Name of the unread source, or the command line.
    pub name: BString,
    /// Source that includes this one, and the line of the include.
    pub from: Option<(SourceId, u32)>,
    /// Why the source was not read.
    pub reason: String,
}

/// Kind of a source that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadSourceKind {
    /// A command, which was not run.
    Command,
    /// A file that must exist.
    File,
    /// A directory of LOCAL_CONFIG_DIR, which need not exist.
    Directory,
}

/// A definition inside a false `if`. It explains why a value differs from the one in a file.
#[derive(Clone, Debug)]
pub struct SkippedDefinition {
    /// Name of the macro in the spelling of the source.
    pub name: BString,
    /// The text after the operator.
    pub value: BString,
    /// Place of the definition in the source.
    pub place: DefinitionPlace,
    /// The `if`, `elif` or `else` line that disables it, and its number.
    pub condition: (BString, u32),
    /// Kind of the branch that contains the definition.
    pub branch: SkippedBranch,
    /// True if the value is complete: it neither extends an earlier one nor is on further lines.
    pub is_complete: bool,
}

/// Kind of a branch that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkippedBranch {
    /// Its condition may be true on other machines.
    MayBeTakenElsewhere,
    /// Its condition is the same on all machines of one version: `if false`, `if version > 25`.
    NeverTaken,
}

/// Reason why a template could not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateFailure {
    /// A statement of its body is not valid with the given arguments.
    Invalid,
    /// Templates are nested too deeply.
    TooDeep,
    /// The error has been reported already.
    AlreadyReported,
}

/// Look-ups while sources are read.
pub(crate) struct MacroSetLookup<'a> {
    pub(crate) set: &'a MacroSet,
    pub(crate) context: &'a LookupContext,
    pub(crate) world: &'a dyn World,
}

impl MacroSource for MacroSetLookup<'_> {
    fn raw(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.set.find(name, self.context, self.world)?.value()
    }

    fn without_own_prefix<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        [&self.context.local_name, &self.context.subsystem].into_iter().find_map(|prefix| {
            let rest = name.get(prefix.len()..)?.strip_prefix(b".")?;
            (!prefix.is_empty() && !rest.is_empty() && caseless::starts_with(name, prefix)).then_some(rest)
        })
    }
}

/// The last part of an error that stops reading; the lines before it are in [`Loader::messages`].
#[derive(Clone, Debug)]
pub(crate) struct LoadFailure {
    /// The line at which reading stopped.
    pub(crate) line: u32,
    /// Last line of the message; empty if there is no such line.
    pub(crate) reason: BString,
    /// Place of the error in the source.
    pub(crate) place: Option<Box<ErrorLocation>>,
    /// Hint how to correct the error.
    pub(crate) hint: Option<String>,
    /// The reference's exit status.
    pub(crate) status: u8,
    /// True if there is no root file.
    pub(crate) is_config_missing: bool,
    /// True if the source ends while an `if` is open.
    pub(crate) is_endif_missing: bool,
    /// Reason why a template failed, for the template that uses it.
    pub(crate) template: TemplateFailure,
}

impl LoadFailure {
    pub(crate) fn new(line: u32) -> LoadFailure {
        LoadFailure {
            line,
            reason: BString::default(),
            place: None,
            hint: None,
            status: 1,
            is_config_missing: false,
            is_endif_missing: false,
            template: TemplateFailure::AlreadyReported,
        }
    }

    pub(crate) fn with_reason(mut self, reason: impl Into<BString>) -> LoadFailure {
        self.reason = reason.into();
        self
    }

    pub(crate) fn with_location(mut self, place: ErrorLocation) -> LoadFailure {
        self.place = Some(Box::new(place));
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> LoadFailure {
        self.hint = Some(hint.into());
        self
    }
}

/// Message for stderr.
#[derive(Clone, Debug)]
pub(crate) struct LoadMessage {
    pub(crate) text: BString,
    pub(crate) is_error: bool,
    pub(crate) subject: LoadWarningSubject,
}

/// State while a configuration is read.
pub(crate) struct Loader<'a> {
    pub(crate) set: MacroSet,
    pub(crate) context: LookupContext,
    pub(crate) world: &'a dyn World,
    pub(crate) options: &'a LoadOptions,
    pub(crate) messages: Vec<LoadMessage>,
    /// The current line in the source that is being read.
    pub(crate) last_line: u32,
    /// Reason why an optional source could not be opened. The reference prints it with the next failure that
    /// has no reason of its own.
    pub(crate) stale_reason: BString,
    pub(crate) root: Option<BString>,
    pub(crate) local_sources: Vec<BString>,
    pub(crate) skipped: Vec<SkippedDefinition>,
    pub(crate) unread_sources: Vec<UnreadSource>,
    pub(crate) skipped_errors: Vec<ConfigError>,
    pub(crate) branch_errors: Vec<ConfigError>,
}

/// Number of errors after which reading stops, because the text is probably not a configuration.
const MAX_SKIPPED_ERRORS: usize = 100;

impl<'a> Loader<'a> {
    /// Returns the world outside the process, in the evaluation mode that the sources read so far have set.
    pub(crate) fn world_in_mode(&self) -> FixedModeWorld<'a> {
        FixedModeWorld { world: self.world, strict: self.set.strict }
    }

    pub(super) fn new(world: &'a dyn World, context: &LookupContext, options: &'a LoadOptions) -> Self {
        let mut set = MacroSet::new();
        set.keep_defaults = options.keep_defaults;
        set.keep_texts = options.keep_texts;
        set.record_replacements = options.record_replacements;
        set.use_counts = options.count_uses.then(Default::default);
        set.string_pool = options.count_uses.then(Default::default);
        Loader {
            set,
            context: context.clone(),
            world,
            options,
            messages: Vec::new(),
            last_line: 0,
            stale_reason: BString::default(),
            root: None,
            local_sources: Vec::new(),
            skipped: Vec::new(),
            unread_sources: Vec::new(),
            skipped_errors: Vec::new(),
            branch_errors: Vec::new(),
        }
    }

    /// Records an error and the error lines since message `before`, if reading continues after errors.
    ///
    /// # Errors
    /// The error itself, if reading does not continue.
    pub(crate) fn skip_error(&mut self, before: usize, failure: LoadFailure) -> Result<(), LoadFailure> {
        if !self.options.continue_after_errors || self.skipped_errors.len() >= MAX_SKIPPED_ERRORS {
            return Err(failure);
        }
        let messages = self.messages.split_off(before);
        let (errors, warnings): (Vec<LoadMessage>, Vec<LoadMessage>) =
            messages.into_iter().partition(|message| message.is_error);
        self.messages.extend(warnings);
        let mut lines: Vec<BString> = errors.into_iter().map(|message| message.text).collect();
        lines.extend(Some(failure.reason).filter(|reason| !reason.is_empty()));
        self.skipped_errors.push(ConfigError {
            lines,
            warnings: 0,
            place: failure.place,
            hint: failure.hint,
            status: failure.status,
            is_config_missing: failure.is_config_missing,
            is_endif_missing: failure.is_endif_missing,
        });
        Ok(())
    }

    /// Adds a warning to the messages.
    pub(crate) fn warn(&mut self, text: impl Into<BString>) {
        self.warn_about(LoadWarningSubject::Other, text);
    }

    /// Adds a warning with its subject.
    pub(crate) fn warn_about(&mut self, subject: LoadWarningSubject, text: impl Into<BString>) {
        self.messages.push(LoadMessage { text: text.into(), is_error: false, subject });
    }

    /// Adds a line of an error that will stop reading.
    pub(crate) fn push_error_line(&mut self, text: impl Into<BString>) {
        self.messages.push(LoadMessage {
            text: text.into(),
            is_error: true,
            subject: LoadWarningSubject::Other,
        });
    }

    /// Keeps a source's text if the options ask for it.
    pub(crate) fn keep_text(&mut self, source: SourceId, text: &Arc<[u8]>) {
        if self.options.keep_texts {
            self.set.set_text(source, Arc::clone(text));
        }
    }

    pub(crate) fn macro_source(&self) -> MacroSetLookup<'_> {
        MacroSetLookup { set: &self.set, context: &self.context, world: self.world }
    }

    /// Expands a text in file mode; messages of functions become warnings.
    pub(crate) fn expand(&mut self, text: &[u8]) -> Result<BString, ExpandError> {
        if memchr::memchr(b'$', text).is_none() {
            return Ok(text.into());
        }
        let mut messages = Vec::new();
        let result =
            expand::expand(text, &self.macro_source(), self.world, &mut |message| messages.push(message));
        self.warn_messages(messages);
        result
    }

    pub(crate) fn warn_messages(&mut self, messages: Vec<FunctionFailure>) {
        for message in messages {
            self.warn(message.to_string());
        }
    }

    /// Returns the value, preceded by the current value if the operator is `+=`.
    pub(super) fn appended_value<'v>(
        &self,
        name: &[u8],
        operator: StatementOperator,
        value: &'v [u8],
    ) -> Cow<'v, [u8]> {
        if !matches!(operator, StatementOperator::Append { .. }) {
            return Cow::Borrowed(value);
        }
        match self.set.find(name, &self.context, self.world).map(|found| found.raw()) {
            Some(current) if !current.is_empty() => {
                Cow::Owned(statement::appended_value(&current, operator, value))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// Expands self references and stores the value.
    pub(crate) fn define(
        &mut self,
        name: &[u8],
        value: &[u8],
        place: DefinitionPlace,
    ) -> Result<(), ExpandError> {
        if self.append(name, value, place) {
            return Ok(());
        }
        let mut messages = Vec::new();
        let source = MacroSetLookup { set: &self.set, context: &self.context, world: self.world };
        let raw = expand::Expander::new(&source, self.world, &mut |message| messages.push(message))
            .expand_self_references(name, value)?;
        self.warn_messages(messages);
        if raw.len() > expand::MAX_LENGTH {
            let kind = expand::ExpandErrorKind::TooLong;
            return Err(ExpandError { kind, chain: vec![name.into()] });
        }
        self.insert_value(name, raw, place);
        Ok(())
    }

    /// Appends plain text to the value of a name, for `NAME = $(NAME)text`. This happens in place once older
    /// values are no longer kept; otherwise each of very many such lines would copy the whole list.
    fn append(&mut self, name: &[u8], value: &[u8], place: DefinitionPlace) -> bool {
        let appended = value.strip_prefix(b"$(").filter(|rest| caseless::starts_with(rest, name));
        let appended = appended.and_then(|rest| rest[name.len()..].strip_prefix(b")"));
        let Some(appended) = appended.filter(|appended| memchr::memchr(b'$', appended).is_none()) else {
            return false;
        };
        match self.set.find_uncounted(name, &self.context, self.world) {
            Some(FoundMacro::Set(entry)) if caseless::eq(&entry.name, name) => {
                let (length, has_dollar) = (entry.raw().len(), memchr::memchr(b'$', entry.raw()).is_some());
                length + appended.len() <= expand::MAX_LENGTH
                    && !has_dollar
                    && self.set.append(name, appended, place)
            }
            _ => false,
        }
    }

    /// Returns the name of a source.
    pub(crate) fn source_name(&self, source: SourceId) -> BString {
        self.set.source(source).name.clone()
    }
}
