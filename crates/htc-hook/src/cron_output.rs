//! Output of cron jobs: lines are gathered into blocks, and each block becomes an ad.
//!
//! Reference: `linebuffer.cpp`, `cron_job_io.cpp`, `classad_cron_job.cpp`, `startd_cron_job.cpp`.

use std::collections::VecDeque;

use bstr::{BString, ByteSlice};

use super::hook_output::BadOutputLine;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::text::{Span, list};
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr};

/// Maximum length of a line in bytes (STDOUT_LINEBUF_SIZE); the first byte that exceeds it is lost.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Maximum size of a block in bytes; lines beyond this size are dropped. The reference has no limit: its memory use
/// grows until it is killed.
const MAX_BLOCK_BYTES: usize = 4 << 20;

/// Splitter of a byte stream into lines, each of which ends at a newline or a NUL byte. Keeps carriage returns and
/// drops empty lines.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    incomplete: Vec<u8>,
}

impl LineBuffer {
    /// Adds bytes and calls `line` with each line that is now complete.
    pub fn push_bytes(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let room = MAX_LINE_BYTES - self.incomplete.len();
            let chunk = &bytes[..bytes.len().min(room)];
            let end = memchr::memchr2(b'\n', 0, chunk);
            self.incomplete.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
            bytes = &bytes[end.unwrap_or(chunk.len())..];
            // Skips the byte that ends the line: a newline, a NUL or the first byte beyond the limit.
            if let Some(rest) = bytes.get(1..) {
                bytes = rest;
                if !self.incomplete.is_empty() {
                    line(&self.incomplete);
                    self.incomplete.clear();
                }
            }
        }
    }

    /// Returns the bytes after the last end of line.
    pub fn incomplete_line(&self) -> &[u8] {
        &self.incomplete
    }

    /// Removes and returns the bytes after the last end of line.
    fn take_incomplete_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.incomplete)
    }
}

/// Block of output, ended by a line that starts with `-` or by the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputBlock {
    /// Lines, each with the job's prefix before it.
    pub lines: Vec<BString>,
    /// Text after the `-` that ended the block, without surrounding blanks; empty if there is none.
    pub arguments: BString,
}

/// Output of one cron job over all its runs.
#[derive(Clone, Debug)]
pub struct CronOutput {
    prefix: BString,
    buffer: LineBuffer,
    queue: Vec<BString>,
    queued: usize,
    /// True if a warning about the size of the current block was reported.
    overflow_reported: bool,
    separator: BString,
    /// True if a line that consists only of dashes ends a block with these dashes as the tag.
    dashes_are_tag: bool,
    last_line_leaks: QuirkDecision,
}

impl CronOutput {
    /// Creates the state for a job with this PREFIX before its first run.
    pub fn new(prefix: &[u8], quirks: QuirkMode) -> Self {
        CronOutput {
            prefix: prefix.into(),
            buffer: LineBuffer::default(),
            queue: Vec::new(),
            queued: 0,
            overflow_reported: false,
            separator: BString::default(),
            dashes_are_tag: quirks.reproduces(Quirk::CronDashesAreTag),
            last_line_leaks: quirks.decide(Quirk::CronLastLineLeaks),
        }
    }

    /// Sets the job's PREFIX for the lines that follow.
    pub fn set_prefix(&mut self, prefix: &[u8]) {
        self.prefix = prefix.into();
    }

    /// Starts a new run, and drops the lines of a block that an earlier run began but did not end.
    pub fn begin_run(&mut self) {
        self.queue.clear();
        (self.queued, self.overflow_reported) = (0, false);
        self.separator.clear();
    }

    /// Returns true if lines are dropped because the block is larger than `MAX_BLOCK_BYTES`. Only the first call for
    /// each block returns true.
    pub fn has_overflowed(&mut self) -> bool {
        self.queued > MAX_BLOCK_BYTES && !std::mem::replace(&mut self.overflow_reported, true)
    }

    /// Adds a piece of output and returns the blocks that are now complete.
    pub fn push_output(&mut self, bytes: &[u8]) -> VecDeque<OutputBlock> {
        let mut blocks = VecDeque::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.push_bytes(bytes, |line| blocks.extend(self.push_line(line)));
        self.buffer = buffer;
        blocks
    }

    /// Ends the run. Returns the last block, unless a line with a dash has already ended it. A last line without
    /// newline belongs to this block; in the reference it becomes part of the next run (quirk `cron-last-line-leaks`).
    pub fn finish_run(&mut self) -> VecDeque<OutputBlock> {
        let mut blocks = VecDeque::new();
        if !self.last_line_leaks.as_reference {
            let rest = self.buffer.take_incomplete_line();
            if !rest.is_empty() {
                blocks.extend(self.push_line(&rest));
            }
        }
        blocks.extend(self.finish_block());
        blocks
    }

    /// Returns the incomplete line that the next run will print, with the quirk that causes this.
    pub fn leaked_line(&self) -> Option<(&[u8], Quirk)> {
        let rest = self.buffer.incomplete_line();
        (!rest.is_empty()).then_some((rest, self.last_line_leaks.quirk))
    }

    fn push_line(&mut self, line: &[u8]) -> Option<OutputBlock> {
        let Some(behind) = line.strip_prefix(b"-") else {
            self.queued += self.prefix.len() + line.len();
            if self.queued <= MAX_BLOCK_BYTES {
                let mut full = self.prefix.clone();
                full.extend_from_slice(line);
                self.queue.push(full);
            }
            return None;
        };
        let bare = !self.dashes_are_tag && behind.trim().iter().all(|&byte| byte == b'-');
        if !behind.is_empty() && !bare {
            self.separator = behind.trim().into();
        }
        self.finish_block()
    }

    /// Ends the current block. A block without lines is dropped, and its arguments are kept for the next block.
    fn finish_block(&mut self) -> Option<OutputBlock> {
        if self.queue.is_empty() {
            return None;
        }
        (self.queued, self.overflow_reported) = (0, false);
        let (lines, arguments) = (std::mem::take(&mut self.queue), std::mem::take(&mut self.separator));
        Some(OutputBlock { lines, arguments })
    }
}

/// Ad in which a block is published, and whether the ad is sent to the collector immediately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishTarget {
    /// Tag that makes the ad's name `<JOB>.<tag>`.
    pub tag: Option<BString>,
    /// Value of `update`: true to send the ad immediately. Overrides AUTOPUBLISH.
    pub update: Option<bool>,
    /// Arguments that have no effect.
    pub ignored: Vec<BString>,
}

impl OutputBlock {
    /// Returns the block as an ad with `<PREFIX>LastUpdate`, and the lines that are not attributes. The ad is
    /// `None` if no line is an attribute.
    pub fn to_ad(&self, prefix: &[u8], now: ClockReading) -> (Option<ClassAd>, Vec<BadOutputLine>) {
        let mut ad = ClassAd::new();
        let mut bad = Vec::new();
        let mut good = 0;
        for (index, line) in self.lines.iter().enumerate() {
            let error = match line.trim_start().starts_with(b"'") {
                true => None,
                false => match ad.insert_line(line) {
                    Ok(_) => {
                        good += 1;
                        continue;
                    }
                    Err(error) => Some(error),
                },
            };
            bad.push(BadOutputLine {
                number: index + 1,
                span: Span::new(0, line.len()),
                line: line.clone(),
                error,
            });
        }
        if good == 0 {
            return (None, bad);
        }
        let mut name = BString::from(prefix);
        name.extend_from_slice(b"LastUpdate");
        ad.set(name.as_slice(), now.epoch());
        (Some(ad), bad)
    }

    /// Parses the arguments as the startd does: a first word without `:` is the tag, and `update` or
    /// `update:<boolean>` may follow. The schedd ignores all arguments. `ad` is the block's ad, in which the
    /// boolean is evaluated.
    pub fn publish_target(&self, ad: &ClassAd, world: &dyn World) -> PublishTarget {
        let mut address = PublishTarget::default();
        let mut words = list::split(&self.arguments).peekable();
        if let Some(word) = words.peek()
            && !word.contains(&b':')
        {
            address.tag = Some(BString::from(*word));
            words.next();
        }
        for word in words {
            match word.strip_prefix(b"update") {
                Some(b"") => address.update = Some(true),
                // If the value of `update` is not a boolean, the word `update` is ignored as well.
                Some(value) if value.starts_with(b":") => match eval_boolean(&value[1..], ad, world) {
                    Some(value) => address.update = Some(value),
                    None => address.ignored.push(word.into()),
                },
                _ => address.ignored.push(word.into()),
            }
        }
        address
    }
}

/// Evaluates a boolean word, or an expression in the ad, like `string_is_boolean_param`.
fn eval_boolean(text: &[u8], ad: &ClassAd, world: &dyn World) -> Option<bool> {
    match text.trim_end().to_ascii_lowercase().as_slice() {
        b"true" | b"1" => Some(true),
        b"false" | b"0" => Some(false),
        _ => Context::new(world).my(ad).eval(&Expr::parse_with(text, Dialect::of_world(world)).ok()?).truth(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(prefix: &str, quirks: QuirkMode, pieces: &[&str]) -> Vec<(Vec<String>, String)> {
        let mut output = CronOutput::new(prefix.as_bytes(), quirks);
        let mut all: Vec<OutputBlock> = Vec::new();
        for piece in pieces {
            all.extend(output.push_output(piece.as_bytes()));
        }
        all.extend(output.finish_run());
        all.into_iter()
            .map(|block| {
                (block.lines.iter().map(|line| line.to_string()).collect(), block.arguments.to_string())
            })
            .collect()
    }

    #[test]
    fn arguments_belong_to_the_block_before_them() {
        let blocks_found =
            blocks("T_", QuirkMode::Manual, &["A = 1\nB =", " 2\n- one update:true\n\nA = 3\n-\nC = 4"]);
        let expected =
            [(vec!["T_A = 1", "T_B = 2"], "one update:true"), (vec!["T_A = 3"], ""), (vec!["T_C = 4"], "")];
        assert_eq!(
            blocks_found,
            expected.map(|(lines, tag)| (lines.iter().map(|l| l.to_string()).collect(), tag.to_string()))
        );
    }

    #[test]
    fn arguments_of_an_empty_block_wait_for_the_next() {
        let blocks_found = blocks("", QuirkMode::Manual, &["- early\nA = 1\n-\nB = 2\n-\n"]);
        assert_eq!(blocks_found[0].1, "early");
        assert_eq!(blocks_found[1].1, "");
    }

    #[test]
    fn dashes_and_incomplete_lines_are_read_as_in_25_14_only_with_its_quirk() {
        let text = ["A = 1\n-----\nB = 2"];
        assert_eq!(blocks("", QuirkMode::Reference, &text), [(vec!["A = 1".into()], "----".into())]);
        assert_eq!(
            blocks("", QuirkMode::Manual, &text),
            [(vec!["A = 1".into()], String::new()), (vec!["B = 2".to_string()], String::new())]
        );
    }

    #[test]
    fn a_long_line_is_truncated_and_loses_one_byte() {
        let mut output = CronOutput::new(b"", QuirkMode::Manual);
        output.push_output("x".repeat(MAX_LINE_BYTES + 10).as_bytes());
        let block = &output.finish_run()[0];
        assert_eq!((block.lines[0].len(), block.lines[1].len()), (MAX_LINE_BYTES, 9));
    }

    #[test]
    fn a_block_without_end_stops_growing() {
        let mut output = CronOutput::new(b"P_", QuirkMode::Manual);
        let line = format!("A = \"{}\"\n", "x".repeat(60_000));
        for _ in 0..200 {
            output.push_output(line.as_bytes());
        }
        let held: usize = output.finish_run()[0].lines.iter().map(|line| line.len()).sum();
        assert!(held <= MAX_BLOCK_BYTES && held > MAX_BLOCK_BYTES / 2, "{held}");
    }

    #[test]
    fn a_block_without_a_valid_line_gives_no_ad() {
        let block = OutputBlock { lines: vec!["text".into(), "'a' = 1".into()], arguments: "".into() };
        let (ad, bad) = block.to_ad(b"P_", ClockReading::from_epoch(7));
        assert!(ad.is_none() && bad.len() == 2);
        let block = OutputBlock { lines: vec!["P_A = 1".into(), "text".into()], arguments: "".into() };
        let (ad, bad) = block.to_ad(b"P_", ClockReading::from_epoch(7));
        assert_eq!(ad.unwrap().get("P_LastUpdate").unwrap().unparse(), "7");
        assert_eq!(bad.len(), 1);
    }
}
