//! Definitions of macros: the sources that contain them, their places and values, and the result of a look-up.

use std::borrow::Cow;
use std::sync::Arc;

use bstr::{BStr, BString};
use htc_base::text::caseless;

use crate::defaults::Parameter;
use crate::shared_text::{SharedText, WholeText};
use crate::use_counts::CountKey;

/// The number of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(crate) u32);

impl SourceId {
    /// Returns the index in the order in which sources were opened.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Values detected from machine and process.
    pub const DETECTED: SourceId = SourceId(0);
    /// Values compiled into HTCondor.
    pub const DEFAULT: SourceId = SourceId(1);
    /// Values of `_CONDOR_...` environment variables.
    pub const ENVIRONMENT: SourceId = SourceId(2);
    /// Values from the command line (`--param`).
    pub const OVERLAY: SourceId = SourceId(3);
}

/// Origin of a source's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A source that is not a file: detected values, defaults, environment, overrides, or an `AUTO_USE` parameter.
    Special,
    /// The content of a file.
    File,
    /// The output of a command.
    Command,
}

/// Source of definitions, such as a file.
#[derive(Clone, Debug)]
pub struct ConfigSource {
    /// The name under which it was opened; the name of a command ends in ` |`.
    pub name: BString,
    /// Origin of the text.
    pub kind: SourceKind,
    /// Source that includes this one, and the line of the include.
    pub included_from: Option<(SourceId, u32)>,
    /// Text of the source, or `None` if it is not kept for messages.
    pub text: Option<Arc<[u8]>>,
    /// The kept text and the name in the form that [`SharedText`] refers to.
    pub(crate) shared: Option<SharedSource>,
}

/// Text and name of a source. Names, values and findings refer to parts of them instead of copying them.
#[derive(Clone, Debug)]
pub(crate) struct SharedSource {
    pub(crate) text: WholeText,
    pub(crate) name: SharedText,
}

impl ConfigSource {
    /// Creates a source whose text is not kept.
    pub(crate) fn new(name: BString, kind: SourceKind, included_from: Option<(SourceId, u32)>) -> Self {
        ConfigSource { name, kind, included_from, text: None, shared: None }
    }

    /// Keeps a text, or replaces the one that was kept.
    pub(crate) fn keep_text(&mut self, text: Arc<[u8]>) {
        let name = SharedText::whole(self.name.to_vec());
        self.shared = Some(SharedSource { text: Arc::new(Arc::clone(&text)), name });
        self.text = Some(text);
    }

    /// Returns the source's name as a shared text.
    pub fn shared_name(&self) -> SharedText {
        self.shared.as_ref().map_or_else(|| self.name.clone().into(), |shared| shared.name.clone())
    }

    /// Returns a reference to the source's kept text if `text` is a part of it, or else a copy of `text`.
    pub fn share(&self, text: &[u8]) -> SharedText {
        self.shared.as_ref().map_or_else(|| text.into(), |shared| SharedText::part_of(&shared.text, text))
    }
}

/// Place of a definition within a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateLine {
    /// The template's index in the table.
    pub index: u32,
    /// The line within its body, from 0, without blank lines.
    pub line: i32,
}

/// Place of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionPlace {
    /// Id of the source.
    pub source: SourceId,
    /// The line number that the reference reports, or `None` in sources without lines.
    pub line: Option<u32>,
    /// The template that a `use` on that line inserted.
    pub template: Option<TemplateLine>,
    /// Offset of the logical line in the source's text.
    pub offset: u32,
}

impl DefinitionPlace {
    pub(crate) fn without_line(source: SourceId) -> Self {
        DefinitionPlace { source, line: None, template: None, offset: 0 }
    }
}

/// One definition of a name.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name as spelled in this definition.
    pub name: SharedText,
    /// The value, with self references expanded.
    pub raw: SharedText,
    /// Place of the definition in the source.
    pub place: DefinitionPlace,
    /// True if the raw value equals the default of the table.
    pub matches_default: bool,
}

impl Definition {
    /// Returns true if the site's own files contain the definition, directly or through a template.
    pub fn is_from_site(&self) -> bool {
        self.place.source.number() > SourceId::DEFAULT.number()
    }

    /// Returns true if a person wrote the definition in a file, a command's output or an overlay, rather than
    /// a template.
    pub fn is_user_written(&self) -> bool {
        self.is_from_site() && self.place.template.is_none()
    }
}

/// A name with all its definitions.
#[derive(Clone, Debug)]
pub struct MacroEntry {
    /// The spelling in output, which is that of the first definition.
    pub name: SharedText,
    /// The definition in effect.
    pub current: Definition,
    /// Replaced definitions, oldest first.
    pub replaced: Vec<Definition>,
    /// Entry in the table of defaults for the name without its prefix.
    pub parameter: Option<Parameter>,
}

impl MacroEntry {
    /// Returns the raw value of the definition in effect.
    pub fn raw(&self) -> &BStr {
        &self.current.raw
    }

    /// Returns the raw value in the reference's spelling. The reference does not store a first value that equals its
    /// default, so that `true` becomes the table's `True`.
    pub fn stored_raw(&self) -> Cow<'_, [u8]> {
        let Definition { name, raw, matches_default, .. } = &self.current;
        match self.parameter {
            Some(parameter)
                if *matches_default && self.replaced.is_empty() && caseless::eq(parameter.name(), name) =>
            {
                parameter.default()
            }
            _ => Cow::Borrowed(raw),
        }
    }
}

/// The subsystem and local name for which values are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupContext {
    /// A subsystem such as `STARTD`; empty for none.
    pub subsystem: BString,
    /// The name after `-local-name`; empty for none.
    pub local_name: BString,
}

/// Definition that a look-up found.
#[derive(Clone, Copy)]
pub enum FoundMacro<'a> {
    /// A definition of a source.
    Set(&'a MacroEntry),
    /// A property of the machine or the process.
    Detected {
        /// Name of the property, such as `DETECTED_MEMORY`.
        name: &'a BStr,
        /// Value of the property.
        value: &'a BStr,
    },
    /// An entry of the table of defaults.
    Default(Parameter),
}

impl<'a> FoundMacro<'a> {
    /// Returns the raw value; empty for a parameter of the table that has no default.
    pub fn raw(&self) -> Cow<'a, [u8]> {
        match self {
            FoundMacro::Set(entry) => entry.stored_raw(),
            FoundMacro::Detected { value, .. } => Cow::Borrowed(value),
            FoundMacro::Default(parameter) => parameter.default(),
        }
    }

    /// Returns the raw value as references and functions see it: `None` for a parameter that has no default
    /// in the table, so that functions use the name itself (`config.cpp`, `lookup_macro`).
    pub fn value(&self) -> Option<Cow<'a, [u8]>> {
        match self {
            FoundMacro::Default(parameter) if parameter.subsystem().is_none() => parameter.explicit_default(),
            _ => Some(self.raw()),
        }
    }

    /// Returns the key under which uses of this result are counted.
    pub(crate) fn count_key(&self) -> Option<CountKey> {
        match self {
            FoundMacro::Set(entry) => Some(CountKey::for_name(&entry.name)),
            FoundMacro::Detected { name, .. } => Some(CountKey::for_name(name)),
            FoundMacro::Default(parameter) => CountKey::for_parameter(*parameter),
        }
    }

    /// Returns the name as output shows it.
    pub fn display_name(&self) -> Cow<'a, [u8]> {
        match self {
            FoundMacro::Set(entry) => Cow::Borrowed(&entry.name),
            FoundMacro::Detected { name, .. } => Cow::Borrowed(name),
            FoundMacro::Default(parameter) => match parameter.subsystem() {
                Some(subsystem) => {
                    let mut name = subsystem.to_vec();
                    name.push(b'.');
                    name.extend_from_slice(parameter.name());
                    Cow::Owned(name)
                }
                None => Cow::Borrowed(parameter.name()),
            },
        }
    }
}
