//! Reading one source: statements in order, into the macro set (`config.cpp`, `Parse_macros`,
//! `Parse_config_string`).

mod frame;
mod includes;
mod templates;

pub(crate) use templates::Used;

use bstr::{BStr, BString};

use self::frame::Frame;
use crate::condition::{IfError, IfStack, if_keyword};
use crate::lines::{CommentMode, LogicalLine, LogicalLines};
use crate::loader::{Loader, SetSource, Skipped, Stop};
use crate::macro_set::SourceId;
use crate::statement::{self, Keyword, NoOperator, Operator, Split};
use htc_base::text::space::is_space;
use htc_base::text::{Span, caseless};

/// An `@=` block that is open.
struct Block {
    name: BString,
    tag: BString,
    text: Vec<u8>,
    offset: u32,
    /// Whether a line was added; an empty first line would not count as one.
    opened_at: Span,
    /// Whether what it would define cannot be defined: its lines are no statements all the same.
    is_void: bool,
}

impl Loader<'_> {
    /// Reads one text. On an error the reference's lines are in `self.errors`, and what follows the trailer in the
    /// result.
    pub(crate) fn parse(&mut self, source: SourceId, text: &[u8], depth: u32) -> Result<(), Stop> {
        let mut frame = Frame {
            source,
            text,
            depth,
            ifs: IfStack::new(),
            conditions: Vec::new(),
            strict: false,
            warn_colon: true,
        };
        let mut lines = LogicalLines::new(text);
        let mut block: Option<Block> = None;
        while let Some(line) = lines.next_line() {
            self.last_line = line.line;
            let text: &[u8] = &line.text;
            if text.first() == Some(&b'#') || text.iter().all(|&b| is_space(b)) {
                match &text.to_ascii_lowercase()[..] {
                    b"#opt:oldcomment" => lines.set_comment_mode(CommentMode::Old),
                    b"#opt:newcomment" => lines.set_comment_mode(CommentMode::New),
                    b"#opt:strict" => frame.strict = true,
                    _ => {}
                }
                continue;
            }
            if let Some(open) = block.take_if(|open| text.strip_prefix(b"@") == Some(&open.tag[..])) {
                let place = frame.place(line.line, open.offset);
                if !open.is_void
                    && let Err(error) = self.define(&open.name, &open.text, place)
                {
                    let stop = self.stop_expansion(&frame, &line, error);
                    self.go_on(self.messages.len(), stop)?;
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
            if let Err(stop) = self.statement(&mut frame, &line, &mut block) {
                self.go_on(before, stop)?;
                self.step_over(&mut frame, &line, &mut block);
            }
        }
        let before = self.messages.len();
        self.last_line = lines.line();
        self.unended(&frame, block, lines.line()).map_or(Ok(()), |stop| self.go_on(before, stop))
    }

    /// What is still open at the end of a source.
    fn unended(&mut self, frame: &Frame<'_>, block: Option<Block>, last: u32) -> Option<Stop> {
        let name = self.source_name(frame.source);
        let stop = block.map(|open| {
            let Block { tag, opened_at, name: of, .. } = open;
            self.error_line(format!("Config source Found end-of-file while scanning for '@{tag}' in {name}"));
            let hint = format!("the block of {of} ends with a line that is exactly '@{tag}'");
            Stop::new(last).at(self.place_of(frame, opened_at)).hint(hint)
        });
        if frame.ifs.is_empty() {
            return stop;
        }
        // The reference looks for open conditions behind a block without end as well.
        self.error_line(format!("Config source Error \"{name}\", Line {last}: "));
        let unended = stop.unwrap_or_else(|| {
            let stop = Stop::new(last);
            match frame.conditions.last() {
                Some((condition, line)) => stop.hint(format!("'{condition}' of line {line} is still open")),
                None => stop,
            }
        });
        Some(unended.reason("endif(s) not found before end-of-file"))
    }

    /// Goes on behind a statement that is wrong: what it opens is open all the same.
    fn step_over<'t>(&self, frame: &mut Frame<'t>, line: &LogicalLine<'t>, block: &mut Option<Block>) {
        let text: &[u8] = &line.text;
        if let Some(("if", _)) = if_keyword(text.strip_prefix(b":").unwrap_or(text)) {
            frame.ifs.assume();
            frame.conditions.push((text.into(), line.line));
            return;
        }
        if let Ok(split) = statement::split(text)
            && split.operator == Operator::Here
        {
            *block = Some(Block {
                name: split.name.into(),
                tag: split.value.into(),
                text: Vec::new(),
                offset: 0,
                opened_at: line.locate(0, text.len()),
                is_void: true,
            });
        }
    }

    /// One statement outside of blocks.
    fn statement<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        line: &LogicalLine<'t>,
        block: &mut Option<Block>,
    ) -> Result<(), Stop> {
        let mut text: &[u8] = &line.text;
        let mut cut = 0;
        if text.first() == Some(&b':') {
            let before_if = text[1..].starts_with(b"if") && text.get(3).is_none_or(|&b| is_space(b));
            if !frame.ifs.is_empty() || before_if {
                text = &text[1..];
                cut = 1;
            }
        }
        if self.if_line(frame, line, text, cut)? {
            return Ok(());
        }
        if !frame.ifs.enabled() {
            self.note_skipped(frame, line, text);
            return Ok(());
        }
        let split = match statement::split(text) {
            Ok(split) => split,
            Err(NoOperator::Section) => return Ok(()),
            Err(NoOperator::Missing(at)) => {
                let stop = Stop::new(line.line).at(self.place_in(frame, line, at + cut, at + cut + 1));
                return Err(stop.hint(missing_operator_hint(text)));
            }
        };
        match statement::keyword(&split) {
            Some(Keyword::Use) => self.use_statement(frame, line, text, &split),
            Some(Keyword::Error) => {
                let shown = self.expanded(frame, line, split.value)?;
                let name = self.source_name(frame.source);
                self.error_line(format!("Config source Error \"{name}\", Line {}: {shown}", line.line));
                Err(Stop::new(line.line).at(self.place_in(frame, line, cut, line.text.len())))
            }
            Some(Keyword::Warning) => {
                let shown = self.expanded(frame, line, split.value)?;
                let name = self.source_name(frame.source);
                self.warn(format!("Config source Warning \"{name}\", Line {}: {shown}", line.line));
                Ok(())
            }
            Some(Keyword::Include) => self.include_statement(frame, line, &split),
            None => {
                if split.operator == Operator::Colon {
                    self.obsolete_colon(frame, line, &split)?;
                }
                self.assignment(frame, line, &split, block)
            }
        }
    }

    /// Deals with `if`, `elif`, `else` and `endif`.
    fn if_line(
        &mut self,
        frame: &mut Frame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
        cut: usize,
    ) -> Result<bool, Stop> {
        let Some((keyword, rest)) = if_keyword(text) else {
            return Ok(false);
        };
        let mut messages = Vec::new();
        let source = SetSource { set: &self.set, who: &self.who, world: self.world };
        let result = frame.ifs.line(text, &source, self.world, &mut |message| messages.push(message));
        self.warn_messages(messages);
        if let Some(Err(error)) = result {
            let mut stop = Stop::new(line.line).reason(error.to_string());
            let start = text.len() - rest.len() + cut;
            let (from, to) =
                if rest.is_empty() { (cut, cut + keyword.len()) } else { (start, line.text.len()) };
            stop = stop.at(self.place_in(frame, line, from, to));
            if let IfError::Condition { condition, reason, .. } = &error
                && let Some(hint) = reason.hint(condition)
            {
                stop = stop.hint(hint);
            }
            return Err(stop);
        }
        match keyword {
            "if" => frame.conditions.push((text.into(), line.line)),
            "endif" => {
                frame.conditions.pop();
            }
            _ => {
                if let Some(last) = frame.conditions.last_mut() {
                    *last = (text.into(), line.line);
                }
            }
        }
        Ok(true)
    }

    /// Notes a definition in a branch that is not taken.
    fn note_skipped(&mut self, frame: &Frame<'_>, line: &LogicalLine<'_>, text: &[u8]) {
        if !self.options.keep_texts {
            return;
        }
        let Ok(split) = statement::split(text) else {
            return;
        };
        if statement::keyword(&split).is_none() && statement::is_valid_name(split.name) {
            let place = frame.place(line.line, line.locate(0, 0).start);
            let condition = frame.conditions.last().cloned().unwrap_or_default();
            self.skipped.push(Skipped {
                name: split.name.into(),
                value: split.value.into(),
                place,
                condition,
            });
        }
    }

    /// `NAME : value`, which is `NAME = value` with a warning or, on request, an error.
    fn obsolete_colon(
        &mut self,
        frame: &mut Frame<'_>,
        line: &LogicalLine<'_>,
        split: &Split<'_>,
    ) -> Result<(), Stop> {
        let mut is_error = frame.strict;
        let mut warns = true;
        if caseless::eq(split.name, b"RunBenchmarks") {
            // The old default configuration was written like this.
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
            self.error_line(text);
            let at = self.place_in(frame, line, split.operator_at, split.operator_at + 1);
            return Err(Stop::new(line.line).at(at).hint("write '=' in place of ':'"));
        }
        self.warn(text);
        Ok(())
    }

    /// `NAME = value`, `NAME += value`, `NAME @=TAG`.
    fn assignment(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        split: &Split<'_>,
        block: &mut Option<Block>,
    ) -> Result<(), Stop> {
        let name = self.expanded(frame, line, split.name)?;
        if !statement::is_valid_name(&name) {
            let source = self.source_name(frame.source);
            self.error_line(format!(
                "Config source Error \"{source}\", Line {}: Illegal Identifier: <{name}>",
                line.line
            ));
            let bad = split.name.iter().position(|&b| !statement::is_name_byte(b)).unwrap_or(0);
            let stop = Stop::new(line.line).at(self.place_in(frame, line, bad, bad + 1));
            return Err(stop.hint(bad_name_hint(split.name)));
        }
        let offset = line.locate(0, 0).start;
        if split.operator == Operator::Here {
            let opened_at = line.locate(0, line.text.len());
            *block = Some(Block {
                name,
                tag: split.value.into(),
                text: Vec::new(),
                offset,
                opened_at,
                is_void: false,
            });
            return Ok(());
        }
        let value = self.appended(&name, split.operator, split.value);
        self.define(&name, &value, frame.place(line.line, offset))
            .map_err(|error| self.stop_expansion(frame, line, error))
    }
}

/// What is mostly meant by a line without operator.
fn missing_operator_hint(text: &[u8]) -> String {
    let word = text.split(|&b| is_space(b)).next().unwrap_or_default();
    let is = |known: &str| caseless::eq(word, known.as_bytes());
    if ["use", "include", "error", "warning"].iter().any(|known| is(known)) {
        return format!("a colon must follow: '{} ... : ...'", BStr::new(word));
    }
    if is("elseif") || is("elsif") {
        return "write 'elif CONDITION'".into();
    }
    if text.starts_with(b"//") || text.starts_with(b";") {
        return "comments begin with '#'".into();
    }
    if caseless::starts_with(text, b"if(") || caseless::starts_with(text, b"elif(") {
        return "a blank must follow 'if', and conditions know no parentheses".into();
    }
    "expected '=', '+=' or '@=' after the name".into()
}

/// What is mostly meant by a name that is none.
fn bad_name_hint(name: &[u8]) -> &'static str {
    match name {
        [.., b'+'] => "a blank must stand before '+='",
        [.., b'@'] => "a blank must stand before '@='",
        [0xef, 0xbb, 0xbf, ..] => "the file begins with a byte order mark: save it without",
        [] => "a name must stand before the operator",
        _ => "names are made of letters, digits, '_', '.' and '/'",
    }
}
