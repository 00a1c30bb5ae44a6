//! Reads one source: executes its statements in order and updates the macro set (`config.cpp`,
//! `Parse_macros`, `Parse_config_string`).

mod frame;
mod includes;
mod open_conditions;
mod skipped_lines;
mod templates;

pub(crate) use templates::TemplateUse;

use std::borrow::Cow;

use bstr::{BStr, BString};

use self::frame::SourceFrame;
use self::open_conditions::OpenConditions;
use crate::condition::{IfError, IfStack, split_if_keyword};
use crate::lines::{CommentMode, LogicalLine, LogicalLines};
use crate::load_warning::LoadWarningSubject;
use crate::loader::{LoadFailure, Loader, MacroSetLookup};
use crate::macro_definition::SourceId;
use crate::statement::{self, LineWithoutOperator, SplitLine, StatementKeyword, StatementOperator};
use htc_base::text::space::is_space;
use htc_base::text::{Span, caseless};

/// An open `@=` block.
struct OpenBlock {
    name: BString,
    tag: BString,
    text: Vec<u8>,
    offset: u32,
    /// Place of the line that opens the block.
    opened_at: Span,
    /// True if the line that opens the block is invalid, so that the block is skipped.
    is_void: bool,
}

impl Loader<'_> {
    /// Reads one text. On an error, `self.messages` has the lines of the reference's message, except the last
    /// line, which is in the result.
    pub(crate) fn parse_source(
        &mut self,
        source: SourceId,
        text: &[u8],
        depth: u32,
    ) -> Result<(), LoadFailure> {
        let mut frame = SourceFrame {
            source,
            text,
            depth,
            ifs: IfStack::new(),
            conditions: OpenConditions::default(),
            skipped_block: None,
            strict: false,
            warn_colon: true,
        };
        let mut lines = LogicalLines::new(text);
        let mut block: Option<OpenBlock> = None;
        while let Some(line) = lines.next_line() {
            self.last_line = line.line;
            let text: &[u8] = &line.text;
            if text.first() == Some(&b'#') || text.iter().all(|&b| is_space(b)) {
                match &text.to_ascii_lowercase()[..] {
                    b"#opt:oldcomment" => lines.set_comment_mode(CommentMode::Old),
                    b"#opt:newcomment" => lines.set_comment_mode(CommentMode::New),
                    b"#opt:strict" => frame.strict = true,
                    b"#endif" if !frame.ifs.is_empty() => {
                        frame.conditions.add_misspelled_end(line.locate(0, text.len()), false);
                    }
                    _ => {}
                }
                continue;
            }
            if let Some(open) = block.take_if(|open| text.strip_prefix(b"@") == Some(&open.tag[..])) {
                let place = frame.place(line.line, open.offset);
                if !open.is_void
                    && let Err(error) = self.define(&open.name, &open.text, place)
                {
                    let failure = self.expansion_failure(&frame, &line, error);
                    self.skip_error(self.messages.len(), failure)?;
                }
                continue;
            }
            if let Some(open) = &mut block {
                if !open.text.is_empty() {
                    open.text.push(b'\n');
                }
                open.text.extend_from_slice(text);
                continue;
            }
            let before = self.messages.len();
            if let Err(failure) = self.process_statement(&mut frame, &line, &mut block) {
                self.skip_error(before, failure)?;
                self.skip_bad_statement(&mut frame, &line, &mut block);
            }
        }
        let before = self.messages.len();
        self.last_line = lines.lines_read();
        self.find_unended(&frame, block, lines.lines_read())
            .map_or(Ok(()), |failure| self.skip_error(before, failure))
    }

    /// Reports constructs that are still open at the end of a source.
    fn find_unended(
        &mut self,
        frame: &SourceFrame<'_>,
        block: Option<OpenBlock>,
        last: u32,
    ) -> Option<LoadFailure> {
        let source_name = self.source_name(frame.source);
        let failure = block.map(|open| {
            let OpenBlock { tag, opened_at, name, .. } = open;
            self.push_error_line(format!(
                "Config source Found end-of-file while scanning for '@{tag}' in {source_name}"
            ));
            let hint = format!("end the block of {name} with a line that is exactly '@{tag}'");
            LoadFailure::new(last).with_location(self.span_location(frame, opened_at)).with_hint(hint)
        });
        // An invalid line that was probably intended as the `endif` has already been reported.
        if frame.ifs.is_empty() || frame.conditions.has_reported_end() {
            return failure;
        }
        // The reference checks for open conditions after an unterminated block as well.
        self.push_error_line(format!("Config source Error \"{source_name}\", Line {last}: "));
        let mut unended = failure.unwrap_or_else(|| self.missing_endif(frame, last));
        unended.is_endif_missing = true;
        Some(unended.with_reason("endif(s) not found before end-of-file"))
    }

    /// Returns the failure for an `if` that is open at the end of a source. Its place is the line that was probably
    /// intended to end the `if`, or else the `if`.
    fn missing_endif(&mut self, frame: &SourceFrame<'_>, last: u32) -> LoadFailure {
        let failure = LoadFailure::new(last);
        if let Some(end) = frame.conditions.misspelled_end() {
            let place = self.span_location(frame, end);
            self.branch_errors.retain(|error| {
                error
                    .place
                    .as_ref()
                    .is_none_or(|other| (other.source, other.line) != (place.source, place.line))
            });
            return failure.with_location(place).with_hint(WRITE_ENDIF);
        }
        match frame.conditions.left_open() {
            Some(open) => {
                let (condition, line) = &open.branch;
                failure
                    .with_location(self.span_location(frame, open.opened_at))
                    .with_hint(format!("'{condition}' of line {line} is still open"))
            }
            None => failure,
        }
    }

    /// Continues after an invalid statement. If the statement opens a block or an `if`, it is opened nevertheless, so
    /// that its end is recognized.
    fn skip_bad_statement<'t>(
        &self,
        frame: &mut SourceFrame<'t>,
        line: &LogicalLine<'t>,
        block: &mut Option<OpenBlock>,
    ) {
        let text: &[u8] = &line.text;
        if let Some(("if", _)) = split_if_keyword(text.strip_prefix(b":").unwrap_or(text)) {
            frame.ifs.push_assumed_true();
            frame.open_condition(line, text);
            return;
        }
        if !frame.ifs.is_empty() && is_misspelled_endif(text) {
            frame.conditions.add_misspelled_end(line.locate(0, text.len()), true);
        }
        if let Ok(split) = statement::split_line(text)
            && split.operator == StatementOperator::Here
        {
            *block = Some(OpenBlock {
                name: split.name.into(),
                tag: split.value.into(),
                text: Vec::new(),
                offset: 0,
                opened_at: line.locate(0, text.len()),
                is_void: true,
            });
        }
    }

    /// Executes a statement outside of blocks.
    fn process_statement<'t>(
        &mut self,
        frame: &mut SourceFrame<'t>,
        line: &LogicalLine<'t>,
        block: &mut Option<OpenBlock>,
    ) -> Result<(), LoadFailure> {
        let mut text: &[u8] = &line.text;
        let mut cut = 0;
        if text.first() == Some(&b':') {
            let before_if = text[1..].starts_with(b"if") && text.get(3).is_none_or(|&b| is_space(b));
            if !frame.ifs.is_empty() || before_if {
                text = &text[1..];
                cut = 1;
            }
        }
        if self.process_if_line(frame, line, text, cut)? {
            return Ok(());
        }
        if !frame.ifs.is_enabled() {
            self.record_skipped(frame, line, text);
            return Ok(());
        }
        let split = match statement::split_line(text) {
            Ok(split) => split,
            Err(LineWithoutOperator::Section) => return Ok(()),
            Err(LineWithoutOperator::Missing(at)) => {
                let failure = LoadFailure::new(line.line).with_location(self.line_location(
                    frame,
                    line,
                    at + cut,
                    at + cut + 1,
                ));
                return Err(failure.with_hint(missing_operator_hint(text)));
            }
        };
        match statement::statement_keyword(&split) {
            Some(StatementKeyword::Use) => self.process_use(frame, line, text, &split),
            Some(StatementKeyword::Error) => {
                let shown = self.expand_in_frame(frame, line, split.value)?;
                let name = self.source_name(frame.source);
                self.push_error_line(format!("Config source Error \"{name}\", Line {}: {shown}", line.line));
                Err(LoadFailure::new(line.line).with_location(self.line_location(
                    frame,
                    line,
                    cut,
                    line.text.len(),
                )))
            }
            Some(StatementKeyword::Warning) => {
                let shown = self.expand_in_frame(frame, line, split.value)?;
                let name = self.source_name(frame.source);
                self.warn(format!("Config source Warning \"{name}\", Line {}: {shown}", line.line));
                Ok(())
            }
            Some(StatementKeyword::Include) => self.process_include(frame, line, &split),
            None => {
                if split.operator == StatementOperator::Colon {
                    self.process_colon_assignment(frame, line, &split)?;
                }
                self.process_assignment(frame, line, &split, block)
            }
        }
    }

    /// Processes `if`, `elif`, `else` and `endif`.
    fn process_if_line(
        &mut self,
        frame: &mut SourceFrame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
        cut: usize,
    ) -> Result<bool, LoadFailure> {
        let Some((keyword, rest)) = split_if_keyword(text) else {
            return Ok(false);
        };
        let mut messages = Vec::new();
        let source = MacroSetLookup { set: &self.set, context: &self.context, world: self.world };
        let result = frame.ifs.process_line(text, &source, self.world, &mut |message| messages.push(message));
        self.warn_messages(messages);
        if let Err(error) = result {
            let mut failure = LoadFailure::new(line.line).with_reason(error.to_string());
            let start = text.len() - rest.len() + cut;
            let (from, to) =
                if rest.is_empty() { (cut, cut + keyword.len()) } else { (start, line.text.len()) };
            failure = failure.with_location(self.line_location(frame, line, from, to));
            if let IfError::Condition { condition, reason, .. } = &error
                && let Some(hint) = reason.correction_hint(condition)
            {
                failure = failure.with_hint(hint);
            }
            return Err(failure);
        }
        match keyword {
            "if" => frame.open_condition(line, text),
            "endif" => frame.close_condition(line),
            _ => frame.conditions.begin_branch(text, line.line),
        }
        Ok(true)
    }

    /// Processes `NAME : value`, which is `NAME = value` with a warning or, with `#opt:strict`, an error.
    fn process_colon_assignment(
        &mut self,
        frame: &mut SourceFrame<'_>,
        line: &LogicalLine<'_>,
        split: &SplitLine<'_>,
    ) -> Result<(), LoadFailure> {
        let mut is_error = frame.strict;
        let mut warns = true;
        if caseless::eq(split.name, b"RunBenchmarks") {
            // The old default configuration contains this line.
            warns = frame.strict;
            if !frame.strict {
                frame.warn_colon = false;
            }
            is_error = false;
        }
        if !warns || !frame.warn_colon && !frame.strict {
            return Ok(());
        }
        let name = self.source_name(frame.source);
        let kind = if is_error { "Error" } else { "Warning" };
        let text = format!(
            "Config source {kind} \"{name}\", Line {}: obsolete use of ':' for parameter assignment at {} : {}",
            line.line,
            BStr::new(split.name),
            BStr::new(split.value)
        );
        if is_error {
            self.push_error_line(text);
            let at = self.line_location(frame, line, split.operator_at, split.operator_at + 1);
            return Err(LoadFailure::new(line.line).with_location(at).with_hint("write '=' instead of ':'"));
        }
        let place = self.line_location(frame, line, split.operator_at, split.operator_at + 1);
        self.warn_about(LoadWarningSubject::Colon(Box::new(place)), text);
        Ok(())
    }

    /// Processes `NAME = value`, `NAME += value`, `NAME @=TAG`.
    fn process_assignment(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        split: &SplitLine<'_>,
        block: &mut Option<OpenBlock>,
    ) -> Result<(), LoadFailure> {
        let name = match memchr::memchr(b'$', split.name) {
            None => Cow::Borrowed(split.name),
            Some(_) => Cow::Owned(self.expand_in_frame(frame, line, split.name)?.into()),
        };
        if !statement::is_valid_name(&name) {
            let source = self.source_name(frame.source);
            self.push_error_line(format!(
                "Config source Error \"{source}\", Line {}: Illegal Identifier: <{}>",
                line.line,
                BStr::new(&name)
            ));
            let bad = split.name.iter().position(|&b| !statement::is_name_byte(b)).unwrap_or(0);
            let failure =
                LoadFailure::new(line.line).with_location(self.line_location(frame, line, bad, bad + 1));
            return Err(failure.with_hint(bad_name_hint(split.name)));
        }
        let offset = line.locate(0, 0).start;
        if split.operator == StatementOperator::Here {
            let opened_at = line.locate(0, line.text.len());
            *block = Some(OpenBlock {
                name: name.into_owned().into(),
                tag: split.value.into(),
                text: Vec::new(),
                offset,
                opened_at,
                is_void: false,
            });
            return Ok(());
        }
        let value = self.appended_value(&name, split.operator, split.value);
        self.define(&name, &value, frame.place(line.line, offset))
            .map_err(|error| self.expansion_failure(frame, line, error))
    }
}

const WRITE_ENDIF: &str = "write 'endif'";

/// True for a line that ends an `if` in other languages.
pub fn is_misspelled_endif(text: &[u8]) -> bool {
    let words = ["fi", "end", "end if", "end-if", "endif;", "endif:", "end_if", "endfi"];
    words.iter().any(|known| caseless::eq(text.trim_ascii(), known.as_bytes()))
}

/// Returns a hint about a line without operator.
fn missing_operator_hint(text: &[u8]) -> String {
    let word = text.split(|&b| is_space(b)).next().unwrap_or_default();
    let is_word = |known: &str| caseless::eq(word, known.as_bytes());
    if ["use", "include", "error", "warning"].iter().any(|known| is_word(known)) {
        return format!("write a colon: '{} ... : ...'", BStr::new(word));
    }
    if is_word("elseif") || is_word("elsif") {
        return "write 'elif CONDITION'".into();
    }
    if is_misspelled_endif(text) {
        return WRITE_ENDIF.into();
    }
    if is_word("ifdef") || is_word("ifndef") {
        let name = BStr::new(text[word.len()..].trim_ascii());
        let not = if is_word("ifndef") { "! " } else { "" };
        return format!("write 'if {not}defined {name}'");
    }
    if text.starts_with(b"//") || text.starts_with(b";") {
        return "begin comments with '#'".into();
    }
    if caseless::starts_with(text, b"if(") || caseless::starts_with(text, b"elif(") {
        return "write a space after 'if'; a condition has no parentheses".into();
    }
    "write '=', '+=' or '@=' after the name".into()
}

/// Returns a hint about an invalid name.
fn bad_name_hint(name: &[u8]) -> &'static str {
    match name {
        [.., b'+'] => "write a space before '+='",
        [.., b'@'] => "write a space before '@='",
        [0xef, 0xbb, 0xbf, ..] => "the file begins with a byte order mark (BOM): save it without one",
        [] => "there must be a name before the operator",
        _ => "use only letters, digits, '_', '.' and '/' in names",
    }
}
