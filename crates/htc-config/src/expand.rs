//! Expansion of references (`expand_macro`, config.cpp): the expander for ordinary values, and the expander
//! of `condor_config_val -macro`.
//!
//! The reference scans its whole text again after each replacement and has no limits. Here the next scan
//! begins at the first dollar that could still matter, which gives the same result, and expansion always
//! ends: a name that occurs inside its own value, too many replacements and too long a result are errors that
//! list the names involved.
//!
//! This file and `macro_functions` call one another: a function expands its arguments, and an expansion calls
//! functions.

mod regions;

use std::borrow::Cow;
use std::fmt;

use bstr::BString;

use self::regions::ExpandedRegions;
use crate::macro_functions::{self, TextReferenceError};
use crate::macro_reference::{MacroFunction, MacroReference, is_dollar_reference, next_reference};
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::ClassAd;

/// The macros that `$(NAME)` refers to. Configuration, transforms and routes have one implementation each.
pub trait MacroSource {
    /// Returns the raw value of a name after all lookup steps: `None` if it is undefined, empty if it is
    /// defined but empty.
    fn raw(&self, name: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// Returns the ad in which `$EVAL()` and complex `if` conditions are evaluated.
    fn ad(&self) -> Option<&ClassAd> {
        None
    }

    /// Returns `name` without a prefix that is the source's own subsystem or local name and a dot, or `None` if it has
    /// no such prefix. In a definition of `SUB.X`, `$(X)` is a self reference as well.
    fn without_own_prefix<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        let _ = name;
        None
    }

    /// Returns the directory that `$Ff()` puts before relative paths; `None` while a configuration is read.
    fn directory(&self) -> Option<&[u8]> {
        None
    }
}

/// A macro function that failed. The expansion continues with the value that the reference uses instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFailure {
    /// Message that the reference prints.
    pub text: BString,
    /// The line number in the reference's source that the message contains.
    pub reference_line: u32,
}

/// Prints the message as the reference does.
impl fmt::Display for FunctionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR \"{}\" at line {} in file config.cpp", self.text, self.reference_line)
    }
}

/// Reason why an expansion was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpandErrorKind {
    /// A name occurs inside its own value.
    Cycle,
    /// Functions whose values contain functions are nested too deeply.
    TooDeep,
    /// The result is longer than [`MAX_LENGTH`].
    TooLong,
    /// More than `MAX_REPLACEMENTS` references were replaced.
    TooMany,
}

/// Error of an expansion that would not end, or would exceed a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandError {
    /// Limit or cycle that stopped the expansion.
    pub kind: ExpandErrorKind,
    /// Names whose values were being expanded, outermost first. In a cycle, the last name repeats an earlier one.
    pub chain: Vec<BString>,
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ExpandErrorKind::Cycle => write!(f, "the value refers to itself: ")?,
            ExpandErrorKind::TooDeep => write!(f, "functions are nested more than {MAX_DEPTH} deep: ")?,
            ExpandErrorKind::TooLong => {
                write!(f, "the value grows beyond {} MiB: ", MAX_LENGTH / (1024 * 1024))?;
            }
            ExpandErrorKind::TooMany => write!(f, "more than {MAX_REPLACEMENTS} references to expand: ")?,
        }
        const MAX_SHOWN_NAMES: usize = 12;
        for (n, name) in self.chain.iter().enumerate() {
            if n > 0 {
                write!(f, " -> ")?;
            }
            if n == MAX_SHOWN_NAMES && self.chain.len() > 2 * MAX_SHOWN_NAMES {
                write!(
                    f,
                    "({} more) -> {}",
                    self.chain.len() - MAX_SHOWN_NAMES - 1,
                    self.chain[self.chain.len() - 1]
                )?;
                break;
            }
            write!(f, "{name}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExpandError {}

/// Maximum length of an expanded text, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024 * 1024;
/// Maximum number of references that one expansion replaces.
const MAX_REPLACEMENTS: u32 = 500_000;
/// Maximum nesting depth of functions whose values contain functions.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of bytes that one expansion scans.
const MAX_SCANNED_BYTES: u64 = 4 << 30;

/// One replacement of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpansionStep {
    /// The reference as it appeared in the text.
    pub reference: BString,
    /// Text that replaced the reference.
    pub value: BString,
    /// Number of nested values that contain the reference; 0 in the text itself.
    pub depth: usize,
}

/// Choice between the two functions with which the reference expands texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionMode {
    /// Ordinary values, conditions, includes (`config.cpp`, `expand_macro(const char *)`).
    File,
    /// `-macro` (`expand_macro(std::string &)`).
    Text,
}

/// State of an expansion, including all nested look-ups.
pub struct Expander<'a> {
    pub(crate) source: &'a dyn MacroSource,
    pub(crate) world: &'a dyn World,
    report: &'a mut dyn FnMut(FunctionFailure),
    steps: Option<&'a mut Vec<ExpansionStep>>,
    chain: Vec<BString>,
    replacement_count: u32,
    scanned_bytes: u64,
    /// True if the last plain reference was replaced by the default that it contains (`$(NAME:default)`), which is not
    /// a value of the name.
    pub(crate) took_default: bool,
}

/// Expands every reference of `text` as in ordinary values. A failing function is reported, and expansion
/// continues.
///
/// # Errors
/// The expansion would not end, or would exceed [`MAX_LENGTH`] or `MAX_REPLACEMENTS`.
pub fn expand(
    text: &[u8],
    source: &dyn MacroSource,
    world: &dyn World,
    report: &mut dyn FnMut(FunctionFailure),
) -> Result<BString, ExpandError> {
    Expander::new(source, world, report).expand_file_mode(text)
}

/// The result of [`expand_text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextExpansion {
    /// The expanded text.
    pub text: BString,
    /// Bit i is set if the i-th reference of the text itself had a value that is not empty.
    pub non_empty: u32,
}

/// Expands `text` by the rules of `condor_config_val -macro`.
///
/// # Errors
/// As for [`expand`].
pub fn expand_text(
    text: &[u8],
    source: &dyn MacroSource,
    world: &dyn World,
    report: &mut dyn FnMut(FunctionFailure),
) -> Result<TextExpansion, ExpandError> {
    let (text, non_empty) = Expander::new(source, world, report).expand_text_mode(text)?;
    Ok(TextExpansion { text, non_empty })
}

impl<'a> Expander<'a> {
    /// Creates an expander that looks names up in `source` and reports failing functions to `report`.
    pub fn new(
        source: &'a dyn MacroSource,
        world: &'a dyn World,
        report: &'a mut dyn FnMut(FunctionFailure),
    ) -> Self {
        Expander {
            source,
            world,
            report,
            steps: None,
            chain: Vec::new(),
            replacement_count: 0,
            scanned_bytes: 0,
            took_default: false,
        }
    }

    /// Declares that the text is the value of `name`: a reference to that name is a cycle.
    pub fn for_value_of(mut self, name: &[u8]) -> Self {
        self.chain.push(name.into());
        self
    }

    /// Makes the expander add each replacement to `steps`.
    pub fn recording_steps(self, steps: &'a mut Vec<ExpansionStep>) -> Self {
        Expander { steps: Some(steps), ..self }
    }

    /// Replaces only the references of `text` to the name that is being defined (`expand_self_macro`,
    /// config.cpp).
    ///
    /// # Errors
    /// The text still refers to itself after very many replacements, or becomes too long.
    pub fn expand_self_references<'t>(
        mut self,
        name: &[u8],
        text: &'t [u8],
    ) -> Result<Cow<'t, [u8]>, ExpandError> {
        if memchr::memchr(b'$', text).is_none() {
            return Ok(text.into());
        }
        let short = self.source.without_own_prefix(name);
        let is_self = |function: MacroFunction, body: &[u8]| {
            let refers = |name: &[u8]| {
                caseless::starts_with(body, name) && matches!(body.get(name.len()), None | Some(b':'))
            };
            matches!(function, MacroFunction::Plain | MacroFunction::Filename)
                && (refers(name) || short.is_some_and(refers))
        };
        if next_reference(text, 0, &mut None, is_self).is_none() {
            return Ok(text.into());
        }
        let mut text = text.to_vec();
        let mut from = 0;
        loop {
            let mut first = None;
            self.count_scan(text.len() - from)?;
            let Some(reference) = next_reference(&text, from, &mut first, is_self) else {
                return Ok(text.into());
            };
            let value = macro_functions::evaluate_in_file_mode(&mut self, &text, &reference)?;
            self.count_replacement(text.len() + value.len(), &ExpandedRegions::default())?;
            from = first.unwrap_or(reference.dollar).min(reference.dollar);
            let value = value.into_owned();
            text.splice(reference.dollar..reference.end, value);
        }
    }

    /// Reports a function that failed.
    pub(crate) fn report_failure(&mut self, reference_line: u32, text: impl Into<BString>) {
        (self.report)(FunctionFailure { text: text.into(), reference_line });
    }

    /// Returns the expanded value of `name` for a function, or `None` if it is undefined.
    pub(crate) fn expanded_value_of(
        &mut self,
        name: &[u8],
        mode: ExpansionMode,
    ) -> Result<Option<BString>, ExpandError> {
        Ok(self.expanded_value_and_dollar(name, mode)?.map(|(value, _)| value))
    }

    /// Does the same as [`Expander::expanded_value_of`], and also returns true if the raw value contained a
    /// dollar.
    pub(crate) fn expanded_value_and_dollar(
        &mut self,
        name: &[u8],
        mode: ExpansionMode,
    ) -> Result<Option<(BString, bool)>, ExpandError> {
        let source = self.source;
        let Some(raw) = source.raw(name) else {
            return Ok(None);
        };
        if memchr::memchr(b'$', &raw).is_none() {
            return Ok(Some((raw.into_owned().into(), false)));
        }
        if let Some(at) = self.chain.iter().position(|outer| caseless::eq(outer, name)) {
            let mut chain = self.chain[at..].to_vec();
            chain.push(name.into());
            return Err(ExpandError { kind: ExpandErrorKind::Cycle, chain });
        }
        if self.chain.len() >= MAX_DEPTH {
            return Err(ExpandError { kind: ExpandErrorKind::TooDeep, chain: self.chain.clone() });
        }
        self.chain.push(name.into());
        let value = self.expand_nested(&raw, mode)?;
        self.chain.pop();
        Ok(Some((value, true)))
    }

    /// Expands a text within a function.
    pub(crate) fn expand_nested(&mut self, text: &[u8], mode: ExpansionMode) -> Result<BString, ExpandError> {
        match mode {
            ExpansionMode::File => self.expand_file_mode(text),
            ExpansionMode::Text => Ok(self.expand_text_mode(text)?.0),
        }
    }

    fn count_scan(&mut self, bytes: usize) -> Result<(), ExpandError> {
        self.scanned_bytes = self.scanned_bytes.saturating_add(bytes as u64);
        match self.scanned_bytes > MAX_SCANNED_BYTES {
            true => Err(ExpandError { kind: ExpandErrorKind::TooMany, chain: self.chain.clone() }),
            false => Ok(()),
        }
    }

    fn count_replacement(&mut self, length: usize, inside: &ExpandedRegions) -> Result<(), ExpandError> {
        self.replacement_count += 1;
        let kind = match (self.replacement_count > MAX_REPLACEMENTS, length > MAX_LENGTH) {
            (false, false) => return Ok(()),
            (_, true) => ExpandErrorKind::TooLong,
            (true, false) => ExpandErrorKind::TooMany,
        };
        Err(ExpandError { kind, chain: self.name_chain(inside) })
    }

    /// Returns the names whose values are being expanded at a place, outermost first.
    fn name_chain(&self, inside: &ExpandedRegions) -> Vec<BString> {
        self.chain.iter().chain(inside.names()).cloned().collect()
    }

    /// Returns an error if a name occurs inside its own value.
    fn check_cycle(&self, name: &[u8], inside: &ExpandedRegions) -> Result<(), ExpandError> {
        let is_name = |outer: &BString| caseless::eq(outer, name);
        if !inside.has_name(name) && !self.chain.iter().any(is_name) {
            return Ok(());
        }
        let chain = self.name_chain(inside);
        let from = chain.iter().position(is_name).unwrap_or_default();
        let chain = chain.into_iter().skip(from).chain([name.into()]).collect();
        Err(ExpandError { kind: ExpandErrorKind::Cycle, chain })
    }

    /// Checks a reference before its expansion, and returns the name of a plain one. For a function, adds the names
    /// around it to the chain, because the values that it looks up are nested in their values.
    fn enter_reference(
        &mut self,
        reference: &MacroReference,
        text: &[u8],
        regions: &ExpandedRegions,
    ) -> Result<Option<BString>, ExpandError> {
        match reference.function {
            MacroFunction::Plain => {
                let (name, _) = reference.name_and_default(text);
                self.check_cycle(name, regions)?;
                return Ok(Some(name.into()));
            }
            MacroFunction::Env => {}
            _ => self.chain.extend(regions.names().cloned()),
        }
        Ok(None)
    }

    /// Expands a text as an ordinary value, always replacing the leftmost reference of the whole text.
    pub fn expand_file_mode(&mut self, text: &[u8]) -> Result<BString, ExpandError> {
        if memchr::memchr(b'$', text).is_none() {
            return Ok(text.into());
        }
        let mut done: Vec<u8> = Vec::new();
        let mut rest = FrontBuffer::new(text);
        let mut regions = ExpandedRegions::default();
        let mut has_dollar_macro = false;
        loop {
            let mut first = None;
            let next = next_reference(rest.text(), 0, &mut first, |function, body| {
                let is_dollar = is_dollar_reference(function, body);
                has_dollar_macro |= is_dollar;
                !is_dollar
            });
            let Some(mut reference) = next else {
                self.count_scan(rest.text().len())?;
                done.extend_from_slice(rest.text());
                break;
            };
            self.count_scan(reference.end)?;
            // Text before the first dollar found cannot become part of a reference.
            let keep = first.unwrap_or(reference.dollar).min(reference.dollar);
            done.extend_from_slice(&rest.text()[..keep]);
            rest.skip(keep);
            reference = MacroReference {
                dollar: reference.dollar - keep,
                body: reference.body - keep,
                default: reference.default.map(|at| at - keep),
                end: reference.end - keep,
                ..reference
            };
            let (start, tail) = (done.len() + reference.dollar, rest.text().len() - reference.end);
            regions.keep_enclosing(start, tail);

            let outer = self.chain.len();
            let name = self.enter_reference(&reference, rest.text(), &regions)?;
            let value = macro_functions::evaluate_in_file_mode(self, rest.text(), &reference)?;
            self.chain.truncate(outer);
            let replaced = &rest.text()[reference.dollar..reference.end];
            if let Some(steps) = self.steps.as_deref_mut() {
                let depth = self.chain.len() + regions.len();
                steps.push(ExpansionStep { reference: replaced.into(), value: value.as_ref().into(), depth });
            }
            let length = done.len() + rest.text().len() + value.len();
            self.count_replacement(length, &regions)?;
            let value = value.into_owned();
            rest.replace(reference.dollar, reference.end, &value);
            let has_references = !self.took_default && memchr::memchr(b'$', &value).is_some();
            if let Some(name) = name.filter(|_| has_references) {
                regions.push(name, start, tail);
            }
        }
        if has_dollar_macro {
            replace_dollars(&mut done);
        }
        Ok(done.into())
    }

    /// Expands a text as `-macro` does: scanning continues from the last replacement, and `$(DOLLAR)` is
    /// kept. A failing function ends the expansion.
    fn expand_text_mode(&mut self, text: &[u8]) -> Result<(BString, u32), ExpandError> {
        let mut text = text.to_vec();
        let mut regions = ExpandedRegions::default();
        let mut mask = TopLevelReferences::default();
        let mut from = 0;
        loop {
            self.count_scan(text.len() - from)?;
            let not_dollar = |function, body: &[u8]| !is_dollar_reference(function, body);
            let Some(reference) = next_reference(&text, from, &mut None, not_dollar) else {
                break;
            };
            let (start, tail) = (reference.dollar, text.len() - reference.end);
            regions.keep_enclosing(start, tail);
            let outer = self.chain.len();
            let name = self.enter_reference(&reference, &text, &regions)?;
            let value = macro_functions::evaluate_in_text_mode(self, &text, &reference);
            let value = match value {
                Ok(value) => value.into_owned(),
                Err(TextReferenceError::Expansion(error)) => return Err(error),
                Err(TextReferenceError::Function(message)) => {
                    self.chain.truncate(outer);
                    // The reference reports every failure in a text with the same line number (`config.cpp`,
                    // `expand_macro(std::string &)`).
                    self.report_failure(4816, message);
                    break;
                }
            };
            self.chain.truncate(outer);
            self.count_replacement(text.len() + value.len(), &regions)?;
            mask.record_replacement(&reference, value.len());
            let has_references = !self.took_default && memchr::memchr(b'$', &value).is_some();
            text.splice(reference.dollar..reference.end, value);
            if let Some(name) = name.filter(|_| has_references) {
                regions.push(name, start, tail);
            }
            from = reference.dollar;
        }
        Ok((text.into(), mask.finish()))
    }
}

/// Replaces each `$(DOLLAR)` by a dollar. A `$(DOLLAR)` directly after another is hidden by the resulting
/// `$$(` (`expand_macro`, config.cpp).
pub(crate) fn replace_dollars(text: &mut Vec<u8>) {
    let mut done: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = FrontBuffer::new(text);
    while let Some(reference) = next_reference(rest.text(), 0, &mut None, is_dollar_reference) {
        // The new dollar is scanned again, together with the dollars before it and the text after it.
        let run = rest.text()[..reference.dollar].iter().rev().take_while(|&&byte| byte == b'$').count();
        let keep = reference.dollar - run;
        done.extend_from_slice(&rest.text()[..keep]);
        rest.skip(keep);
        rest.replace(run, reference.end - keep, b"$");
    }
    done.extend_from_slice(rest.text());
    *text = done;
}

/// A text whose front can be replaced without moving its tail.
struct FrontBuffer {
    bytes: Vec<u8>,
    start: usize,
}

impl FrontBuffer {
    fn new(text: &[u8]) -> Self {
        FrontBuffer { bytes: text.to_vec(), start: 0 }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Replaces `from..to` by `value`.
    fn replace(&mut self, from: usize, to: usize, value: &[u8]) {
        let room = self.start + to;
        let needed = from + value.len();
        if needed > room {
            let more = (needed - room).max(self.text().len() / 2 + 64);
            let mut grown = vec![0; self.start + more];
            grown.extend_from_slice(self.text());
            self.bytes = grown;
            self.start += more;
        }
        let end = self.start + to;
        let begin = end - needed;
        self.bytes.copy_within(self.start..self.start + from, begin);
        self.bytes[begin + from..end].copy_from_slice(value);
        self.start = begin;
    }
}

/// Records which references of the text itself had a value that is not empty (`config.cpp`,
/// `expand_macro(std::string &)`).
#[derive(Default)]
struct TopLevelReferences {
    mask: u32,
    index: Option<u32>,
    length: i64,
    end: i64,
    advanced: bool,
    started: bool,
}

impl TopLevelReferences {
    fn record_replacement(&mut self, reference: &MacroReference, length: usize) {
        let (dollar, length) = (reference.dollar as i64, length as i64);
        let replaced = (reference.end - reference.dollar) as i64;
        let next = |index: Option<u32>| Some(index.map_or(0, |index| (index + 1).min(31)));
        if !self.started || self.end <= dollar {
            if self.started && self.length > 0 {
                self.mask |= 1 << self.index.unwrap_or(0);
            }
            self.index = next(self.index);
            self.length = length;
            self.end = dollar + length;
            self.advanced = true;
        } else {
            self.length += length - replaced;
            if self.length == 0 && !self.advanced {
                self.index = next(self.index);
            }
            self.advanced = false;
            self.end += length - replaced;
        }
        self.started = true;
    }

    fn finish(mut self) -> u32 {
        if self.started && self.length > 0 {
            self.mask |= 1 << self.index.unwrap_or(0);
        }
        self.mask
    }
}
