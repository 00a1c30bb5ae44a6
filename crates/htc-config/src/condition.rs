//! `if`, `elif`, `else`, `endif` (`config.cpp`, `ConfigIfStack`, `Test_config_if_expression`).

use bstr::{BStr, BString, ByteSlice};

use crate::evaluate;
use crate::expand::{self, ExpandError, FunctionFailure, MacroSource};
use crate::template;
use crate::version;
use htc_base::text::caseless;
use htc_base::text::number::real_prefix;
use htc_base::text::space::{is_space, trim_end, trim_start};
use htc_base::world::World;

/// Maximum number of open `if`s.
const MAX_OPEN_IFS: usize = 63;

/// Reason why a condition is not valid. The messages are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// `version` without a version of at least two numbers.
    #[error("the version literal is invalid")]
    BadVersion,
    /// `defined use` with a blank in its argument.
    #[error("defined use meta argument with internal spaces will never match")]
    BlankInUse,
    /// `defined` with an argument that is neither a name nor a boolean nor a number.
    #[error("defined argument must be param name, boolean, or number")]
    BadDefined,
    /// The condition contains operators, parentheses, strings or other text that is not supported.
    #[error("complex conditionals are not supported")]
    Complex,
    /// A word that is neither true nor false.
    #[error("expression is not a conditional")]
    NotBoolean,
    /// The value of the expression in the ad is false, undefined or an error.
    #[error("")]
    FalseInAd,
    /// The references in the condition could not be expanded.
    #[error("{0}")]
    Expansion(ExpandError),
}

impl ConditionError {
    fn because_clause(&self) -> String {
        if *self == ConditionError::FalseInAd { String::new() } else { format!(" because {self}") }
    }
}

/// An invalid line of the `if` family. The messages are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IfError {
    /// The condition of an `if` or `elif` is not valid.
    #[error("{condition} is not a valid {keyword} condition{}", reason.because_clause())]
    Condition {
        /// Keyword of the line: `if` or `elif`.
        keyword: &'static str,
        /// The condition as written.
        condition: BString,
        /// Why the condition is not valid.
        reason: ConditionError,
    },
    /// More than `MAX_OPEN_IFS` `if`s are open.
    #[error("if nesting too deep!")]
    TooDeep,
    /// `else`, `elif` or `endif` without an `if`.
    #[error("{0} without matching if")]
    Unmatched(&'static str),
    /// `else` or `elif` after an `else`.
    #[error("{0} is not allowed after else")]
    AfterElse(&'static str),
}

/// An open `if`.
#[derive(Clone, Copy, Debug)]
struct OpenIf {
    /// True if the current branch is taken.
    taken: bool,
    /// True if any branch so far was taken.
    any_taken: bool,
    /// True if the current branch is the `else`.
    in_else: bool,
}

/// A line of the `if` family, parsed once and evaluated for each ad of a stream.
#[derive(Clone, Debug)]
pub struct IfLine {
    keyword: &'static str,
    condition: BString,
    /// The name in a condition that is just `defined NAME`, and true if it is negated.
    defined_name: Option<(bool, BString)>,
}

impl IfLine {
    /// Parses a line, or returns `None` if it has none of the four keywords.
    pub fn new(line: &[u8]) -> Option<Self> {
        let (keyword, condition) = split_if_keyword(line)?;
        let defined_name = parse_defined_condition(condition).map(|(negated, name)| (negated, name.into()));
        Some(IfLine { keyword, condition: condition.into(), defined_name })
    }
}

/// The open `if`s at a line. Each file and each template has its own stack.
#[derive(Clone, Debug, Default)]
pub struct IfStack {
    levels: Vec<OpenIf>,
}

impl IfStack {
    /// Creates a stack with no open `if`.
    pub fn new() -> Self {
        IfStack::default()
    }

    /// Returns true if statements at this place are executed.
    pub fn is_enabled(&self) -> bool {
        self.levels.iter().all(|level| level.taken)
    }

    /// Returns true if no `if` is open.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Opens an `if` whose condition could not be evaluated, as if it were true.
    pub(crate) fn push_assumed_true(&mut self) {
        self.levels.push(OpenIf { taken: true, any_taken: true, in_else: false });
    }

    /// Processes a line that has one of the four keywords; returns false for other lines.
    ///
    /// # Errors
    /// The line is not allowed here, or its condition cannot be evaluated.
    pub fn process_line(
        &mut self,
        line: &[u8],
        source: &dyn MacroSource,
        world: &dyn World,
        report: &mut dyn FnMut(FunctionFailure),
    ) -> Result<bool, IfError> {
        let Some((keyword, text)) = split_if_keyword(line) else { return Ok(false) };
        let mut holds = || {
            test_condition(text, source, world, report)
                .map_err(|reason| condition_error(keyword, text, reason))
        };
        self.apply_keyword(keyword, &mut holds).map(|()| true)
    }

    /// Processes a line of the `if` family that was parsed before.
    ///
    /// # Errors
    /// As with [`IfStack::process_line`].
    pub fn process_prepared(
        &mut self,
        line: &IfLine,
        source: &dyn MacroSource,
        world: &dyn World,
        report: &mut dyn FnMut(FunctionFailure),
    ) -> Result<(), IfError> {
        let IfLine { keyword, condition, defined_name } = line;
        self.apply_keyword(keyword, &mut || match defined_name {
            Some((negated, name)) => Ok(is_name_defined(name, source) != *negated),
            None => test_condition(condition, source, world, report)
                .map_err(|reason| condition_error(keyword, condition, reason)),
        })
    }

    fn apply_keyword(&mut self, keyword: &str, holds: &mut ConditionTest<'_>) -> Result<(), IfError> {
        match keyword {
            "if" => self.begin_if(holds),
            "elif" => self.begin_elif(holds),
            "else" => self.begin_else(),
            _ => self.levels.pop().map(|_| ()).ok_or(IfError::Unmatched("endif")),
        }
    }

    fn begin_if(&mut self, holds: &mut ConditionTest<'_>) -> Result<(), IfError> {
        // The condition of a disabled `if` is not evaluated.
        let taken = self.is_enabled() && holds()?;
        if self.levels.len() >= MAX_OPEN_IFS {
            return Err(IfError::TooDeep);
        }
        self.levels.push(OpenIf { taken, any_taken: taken, in_else: false });
        Ok(())
    }

    fn begin_elif(&mut self, holds: &mut ConditionTest<'_>) -> Result<(), IfError> {
        let outer = self.levels.len().saturating_sub(1);
        let outer_enabled = self.levels[..outer].iter().all(|level| level.taken);
        // The reference evaluates the condition of an `elif` before it checks whether an `if` is open.
        let none_taken = self.levels.last().is_none_or(|level| !level.any_taken);
        let taken = none_taken && outer_enabled && holds()?;
        let level = self.levels.last_mut().ok_or(IfError::Unmatched("elif"))?;
        if level.in_else {
            return Err(IfError::AfterElse("elif"));
        }
        level.taken = taken;
        level.any_taken |= taken;
        Ok(())
    }

    fn begin_else(&mut self) -> Result<(), IfError> {
        let level = self.levels.last_mut().ok_or(IfError::Unmatched("else"))?;
        if level.in_else {
            return Err(IfError::AfterElse("else"));
        }
        level.in_else = true;
        level.taken = !level.any_taken;
        Ok(())
    }
}

/// Returns the keyword of a line of the `if` family and the text after it.
pub fn split_if_keyword(line: &[u8]) -> Option<(&'static str, &[u8])> {
    ["if", "else", "elif", "endif"].into_iter().find_map(|keyword| {
        let follows = line.get(keyword.len()).is_none_or(|&b| is_space(b));
        (caseless::starts_with(line, keyword.as_bytes()) && follows)
            .then(|| (keyword, trim_start(&line[keyword.len()..])))
    })
}

/// Evaluates the condition of a line; called only if its value is needed.
type ConditionTest<'a> = dyn FnMut() -> Result<bool, IfError> + 'a;

fn condition_error(keyword: &'static str, condition: &[u8], reason: ConditionError) -> IfError {
    IfError::Condition { keyword, condition: condition.into(), reason }
}

/// Parses a condition that is just `defined NAME`: true if it is negated, and the name.
fn parse_defined_condition(condition: &[u8]) -> Option<(bool, &[u8])> {
    if memchr::memchr(b'$', condition).is_some() {
        return None;
    }
    let text = trim_start(condition);
    let (negated, text) = match text.strip_prefix(b"!") {
        Some(rest) => (true, trim_start(rest)),
        None => (false, text),
    };
    let name = text
        .get(b"defined".len()..)
        .filter(|_| classify_condition(text, true) == ConditionKind::Defined)
        .map(trim_start)?;
    (classify_condition(name, false) == ConditionKind::Identifier).then_some((negated, name))
}

/// Returns true if a condition is true.
///
/// # Errors
/// The condition is not of a kind that the language supports.
pub fn test_condition(
    condition: &[u8],
    source: &dyn MacroSource,
    world: &dyn World,
    report: &mut dyn FnMut(FunctionFailure),
) -> Result<bool, ConditionError> {
    let expanded;
    let mut text = condition;
    let has_dollar = memchr::memchr(b'$', condition).is_some();
    if has_dollar {
        expanded = expand::expand(condition, source, world, report).map_err(ConditionError::Expansion)?;
        text = trim_end(&expanded);
    }
    text = trim_start(text);
    let negated = text.first() == Some(&b'!');
    if negated {
        text = trim_start(&text[1..]);
    }
    if has_dollar && text.is_empty() {
        return Ok(negated);
    }
    evaluate_condition(text, source, world).map(|holds| holds != negated)
}

/// Form of a condition (`Characterize_config_if_expression`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionKind {
    Empty,
    Number,
    Boolean,
    Identifier,
    Version,
    Defined,
    Macro,
    Complex,
}

const HAS_SPACE: u32 = 0x01;
const HAS_DIGIT: u32 = 0x02;
const HAS_LETTER: u32 = 0x04;
const HAS_IDENTIFIER_SIGN: u32 = 0x08;
const HAS_COMPARISON: u32 = 0x10;
const HAS_ARITHMETIC: u32 = 0x20;
const HAS_DOLLAR: u32 = 0x100;
const HAS_COLON: u32 = 0x200;
const HAS_OTHER: u32 = 0x400;
const HAS_FLOAT: u32 = 0x1000;
const HAS_MACRO: u32 = 0x2000;

/// Returns the classes of characters that occur in a text, as a bit set.
fn character_classes(text: &[u8]) -> u32 {
    let mut set = 0;
    for (at, &byte) in text.iter().enumerate() {
        let next = text.get(at + 1).copied();
        set |= match byte {
            b'0'..=b'9' => HAS_DIGIT,
            b'.' if set == HAS_DIGIT || next.is_none_or(|b| b.is_ascii_digit()) => HAS_FLOAT,
            b'.' => HAS_IDENTIFIER_SIGN,
            b'e' | b'E' if set & !HAS_FLOAT == HAS_DIGIT => HAS_FLOAT,
            b'-' | b'+' if set == HAS_DIGIT | HAS_FLOAT => 0,
            b'-' | b'+' => HAS_ARITHMETIC,
            b'a'..=b'z' | b'A'..=b'Z' => HAS_LETTER,
            b'_' | b'/' => HAS_IDENTIFIER_SIGN,
            b'<'..=b'>' => HAS_COMPARISON,
            b'!' if next == Some(b'=') => HAS_COMPARISON,
            b'$' if next == Some(b'(') => HAS_DOLLAR | HAS_MACRO,
            b'$' => HAS_DOLLAR,
            b':' => HAS_COLON,
            byte if is_space(byte) => match next {
                Some(next) if !is_space(next) => HAS_SPACE,
                _ => 0,
            },
            _ => HAS_OTHER,
        };
    }
    set
}

fn classify_condition(text: &[u8], keywords: bool) -> ConditionKind {
    let text = trim_start(text);
    if text.is_empty() {
        return ConditionKind::Empty;
    }
    let set = character_classes(text.strip_prefix(b"-").unwrap_or(text));
    let is_word = |word: &[u8]| caseless::eq(trim_end(text), word);
    let begins = |word: &[u8]| {
        caseless::starts_with(text, word) && text.get(word.len()).is_none_or(|b| !b.is_ascii_alphanumeric())
    };
    const WORD_CLASSES: u32 = HAS_LETTER;
    match set {
        0 => ConditionKind::Empty,
        _ if set & !HAS_FLOAT == HAS_DIGIT => ConditionKind::Number,
        WORD_CLASSES if is_word(b"true") || is_word(b"false") => ConditionKind::Boolean,
        WORD_CLASSES if keywords && is_word(b"version") => ConditionKind::Version,
        WORD_CLASSES if keywords && is_word(b"defined") => ConditionKind::Defined,
        _ if is_identifier(set) => ConditionKind::Identifier,
        _ if set & !HAS_FLOAT == HAS_LETTER | HAS_SPACE | HAS_COMPARISON | HAS_DIGIT => {
            match keywords && begins(b"version") {
                true => ConditionKind::Version,
                false => ConditionKind::Complex,
            }
        }
        _ if is_defined_operand(set) => match keywords && begins(b"defined") {
            true => ConditionKind::Defined,
            false => ConditionKind::Complex,
        },
        _ if set & HAS_MACRO != 0
            && set & !(HAS_DOLLAR | HAS_IDENTIFIER_SIGN | HAS_LETTER | HAS_DIGIT | HAS_MACRO | HAS_COLON)
                == 0 =>
        {
            ConditionKind::Macro
        }
        _ => ConditionKind::Complex,
    }
}

/// Returns true if a text with these classes of characters has the form of a name.
fn is_identifier(set: u32) -> bool {
    [
        0,
        HAS_DIGIT,
        HAS_DIGIT | HAS_FLOAT,
        HAS_IDENTIFIER_SIGN,
        HAS_IDENTIFIER_SIGN | HAS_DIGIT,
        HAS_IDENTIFIER_SIGN | HAS_DIGIT | HAS_FLOAT,
    ]
    .iter()
    .any(|more| set == HAS_LETTER | more)
}

/// Returns true if a text with these classes of characters has the form of `defined` and its operand.
fn is_defined_operand(set: u32) -> bool {
    [
        0,
        HAS_COLON,
        HAS_IDENTIFIER_SIGN,
        HAS_IDENTIFIER_SIGN | HAS_COLON,
        HAS_DIGIT,
        HAS_DIGIT | HAS_IDENTIFIER_SIGN,
        HAS_DIGIT | HAS_FLOAT,
        HAS_DIGIT | HAS_IDENTIFIER_SIGN | HAS_FLOAT,
    ]
    .iter()
    .any(|more| set == HAS_LETTER | HAS_SPACE | more)
}

/// Returns the boolean value of `yes`, `t`, `no` and `f`, which look like names.
fn crufty_boolean(text: &[u8]) -> Option<bool> {
    let text = trim_end(text);
    let is_word = |word: &[u8]| caseless::eq(text, word);
    if is_word(b"yes") || is_word(b"t") {
        return Some(true);
    }
    (is_word(b"no") || is_word(b"f")).then_some(false)
}

fn evaluate_condition(
    text: &[u8],
    source: &dyn MacroSource,
    world: &dyn World,
) -> Result<bool, ConditionError> {
    match classify_condition(text, true) {
        ConditionKind::Number => Ok(is_not_zero(text)),
        ConditionKind::Boolean => Ok(caseless::eq(trim_end(text), b"true")),
        ConditionKind::Identifier => crufty_boolean(text).ok_or(ConditionError::NotBoolean),
        ConditionKind::Version => {
            version::is_satisfied(&text[b"version".len()..]).ok_or(ConditionError::BadVersion)
        }
        ConditionKind::Defined => is_defined(trim_start(&text[b"defined".len()..]), source),
        ConditionKind::Complex => match source.ad() {
            // In the reference, a true expression is a true condition, and a false one is an invalid
            // condition.
            Some(ad) => match evaluate::evaluate_leading_truth(text, ad, world) {
                Some(true) => Ok(true),
                Some(false) => Err(ConditionError::FalseInAd),
                None => Err(ConditionError::Complex),
            },
            None => Err(ConditionError::Complex),
        },
        ConditionKind::Empty | ConditionKind::Macro => Err(ConditionError::NotBoolean),
    }
}

/// Returns true if C's `atof` returns a number other than zero for the text.
fn is_not_zero(text: &[u8]) -> bool {
    real_prefix(text).is_some_and(|(value, _)| value != 0.0 && !value.is_nan())
}

fn is_name_defined(name: &[u8], source: &dyn MacroSource) -> bool {
    match source.raw(name) {
        Some(value) => !value.is_empty(),
        None => crufty_boolean(name).is_some(),
    }
}

fn is_defined(operand: &[u8], source: &dyn MacroSource) -> Result<bool, ConditionError> {
    if operand.is_empty() {
        return Ok(false);
    }
    match classify_condition(operand, false) {
        ConditionKind::Identifier => Ok(is_name_defined(operand, source)),
        ConditionKind::Number | ConditionKind::Boolean => Ok(true),
        _ if caseless::starts_with(operand, b"use ") => {
            let operand = trim_start(&operand[b"use ".len()..]);
            if operand.iter().any(|b| matches!(b, b' ' | b'\t' | b'\r')) {
                return Err(ConditionError::BlankInUse);
            }
            let (category, name) = match memchr::memchr(b':', operand) {
                Some(colon) => (&operand[..colon], &operand[colon + 1..]),
                None => (operand, &b""[..]),
            };
            Ok(match template::find_category(category) {
                Some(category) => name.is_empty() || template::find(category, name).is_some(),
                None => false,
            })
        }
        _ => Err(ConditionError::BadDefined),
    }
}

impl ConditionError {
    /// Returns a hint for mistakes that the reference's messages do not explain.
    pub fn correction_hint(&self, condition: &[u8]) -> Option<String> {
        let word = BStr::new(trim_end(condition));
        let version =
            condition.get(b"version".len()..).filter(|_| caseless::starts_with(condition, b"version"));
        match self {
            ConditionError::NotBoolean if word.is_empty() => {
                Some("a condition must follow, such as 'defined NAME' or 'version >= 25.0'".into())
            }
            ConditionError::Complex
                if version.is_some_and(|rest| {
                    !rest.iter().any(u8::is_ascii_digit) && rest.iter().all(|b| b" \t<>=!".contains(b))
                }) =>
            {
                Some("write a version such as 25.14 after the operator".into())
            }
            ConditionError::NotBoolean if !word.contains(&b' ') && !word.contains(&b'$') => {
                Some(format!("write 'if defined {word}' or 'if $({word})'"))
            }
            ConditionError::Complex if condition.contains_str("&&") => {
                Some("write two ifs, one inside the other: a condition has no &&".into())
            }
            ConditionError::Complex if condition.contains_str("||") => {
                Some("write 'if' for the first part and 'elif' for the second: a condition has no ||".into())
            }
            ConditionError::Complex if caseless::starts_with(condition, b"version") => {
                Some("write a space between 'version' and the operator".into())
            }
            ConditionError::Complex => Some(
                "write a truth value, a number, 'defined NAME' or 'version OP N.N', or compute a truth value with \
                 $EVAL(NAME)"
                    .into(),
            ),
            ConditionError::BadVersion => Some("write a version of at least two numbers, such as 25.14".into()),
            _ => None,
        }
    }
}
