//! What cron jobs print: lines, gathered into blocks, each block an ad.
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

/// The longest line in bytes; the byte that no longer fits is lost (STDOUT_LINEBUF_SIZE).
const MAX_LINE_BYTES: usize = 64 * 1024;

/// How many bytes a block may have; lines beyond are dropped. The reference has no such limit and grows until it is killed.
const MAX_BLOCK_BYTES: usize = 4 << 20;

/// Cuts a stream of bytes into lines, which end at a newline or a NUL. Carriage returns stay; empty lines are dropped.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    incomplete: Vec<u8>,
}

impl LineBuffer {
    /// Takes bytes and hands each line that they complete to `line`.
    pub fn push_bytes(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let room = MAX_LINE_BYTES - self.incomplete.len();
            let chunk = &bytes[..bytes.len().min(room)];
            let end = memchr::memchr2(b'\n', 0, chunk);
            self.incomplete.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
            bytes = &bytes[end.unwrap_or(chunk.len())..];
            // What ends the line, or does not fit into it any more, is no part of any.
            if let Some(rest) = bytes.get(1..) {
                bytes = rest;
                if !self.incomplete.is_empty() {
                    line(&self.incomplete);
                    self.incomplete.clear();
                }
            }
        }
    }

    /// What has no end of line yet.
    pub fn incomplete_line(&self) -> &[u8] {
        &self.incomplete
    }

    /// Takes what has no end of line yet out.
    fn take_incomplete_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.incomplete)
    }
}

/// One block of output, ended by a line of `-` or by the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputBlock {
    /// Its lines with the job's prefix in front.
    pub lines: Vec<BString>,
    /// What stood behind the `-` that ended it, without blanks around; empty for nothing.
    pub arguments: BString,
}

/// The output of one cron job over all its runs.
#[derive(Clone, Debug)]
pub struct CronOutput {
    prefix: BString,
    buffer: LineBuffer,
    queue: Vec<BString>,
    queued: usize,
    /// True if it was told that the present block has grown too long.
    overflow_reported: bool,
    separator: BString,
    /// True if a line of dashes alone is a tag.
    dashes_are_tag: bool,
    last_line_leaks: QuirkDecision,
}

impl CronOutput {
    /// The output of a job with this PREFIX, from its first run on.
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

    /// The job's PREFIX has changed: it counts for the lines to come.
    pub fn set_prefix(&mut self, prefix: &[u8]) {
        self.prefix = prefix.into();
    }

    /// A new run begins: what an earlier one left unfinished in the queue is forgotten.
    pub fn begin_run(&mut self) {
        self.queue.clear();
        (self.queued, self.overflow_reported) = (0, false);
        self.separator.clear();
    }

    /// Returns true if the block has grown past `MAX_BLOCK_BYTES`, so that lines are dropped; true once for each block.
    pub fn has_overflowed(&mut self) -> bool {
        self.queued > MAX_BLOCK_BYTES && !std::mem::replace(&mut self.overflow_reported, true)
    }

    /// Takes a piece of output; returns the blocks it completes.
    pub fn push_output(&mut self, bytes: &[u8]) -> VecDeque<OutputBlock> {
        let mut blocks = VecDeque::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.push_bytes(bytes, |line| blocks.extend(self.push_line(line)));
        self.buffer = buffer;
        blocks
    }

    /// The run is over; returns the block that no dash ended. A last line without newline is part of it, in the reference
    /// of the next run (quirk `cron-last-line-leaks`).
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

    /// A line that waits for its rest, which the next run will print, and the quirk by which it does.
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

    /// An empty queue makes no block, and its arguments then wait for the next one.
    fn finish_block(&mut self) -> Option<OutputBlock> {
        if self.queue.is_empty() {
            return None;
        }
        (self.queued, self.overflow_reported) = (0, false);
        let (lines, arguments) = (std::mem::take(&mut self.queue), std::mem::take(&mut self.separator));
        Some(OutputBlock { lines, arguments })
    }
}

/// Where a block goes, and whether it is sent on at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishTarget {
    /// The tag that makes the ad's name `<JOB>.<tag>`.
    pub tag: Option<BString>,
    /// What `update` says: sent at once or not, whatever AUTOPUBLISH says.
    pub update: Option<bool>,
    /// Words that mean nothing.
    pub ignored: Vec<BString>,
}

impl OutputBlock {
    /// The block as an ad, with `<PREFIX>LastUpdate`, and the lines that are no attributes. Without a single good line
    /// there is no ad.
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

    /// Reads the arguments as the startd does: a first word without `:` is the tag, `update` or `update:<boolean>` may
    /// follow. The schedd ignores them all. `ad` is the block's ad, in which the boolean may be an expression.
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
                // One that is no boolean leaves the wish to update, but not its precedence.
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

/// As `string_is_boolean_param`: a word, or an expression in the ad.
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
        let got =
            blocks("T_", QuirkMode::Manual, &["A = 1\nB =", " 2\n- one update:true\n\nA = 3\n-\nC = 4"]);
        let expected =
            [(vec!["T_A = 1", "T_B = 2"], "one update:true"), (vec!["T_A = 3"], ""), (vec!["T_C = 4"], "")];
        assert_eq!(
            got,
            expected.map(|(lines, tag)| (lines.iter().map(|l| l.to_string()).collect(), tag.to_string()))
        );
    }

    #[test]
    fn arguments_of_an_empty_block_wait_for_the_next() {
        let got = blocks("", QuirkMode::Manual, &["- early\nA = 1\n-\nB = 2\n-\n"]);
        assert_eq!(got[0].1, "early");
        assert_eq!(got[1].1, "");
    }

    #[test]
    fn dashes_and_unended_lines_are_as_odd_as_the_reference_only_when_asked() {
        let text = ["A = 1\n-----\nB = 2"];
        assert_eq!(blocks("", QuirkMode::Reference, &text), [(vec!["A = 1".into()], "----".into())]);
        assert_eq!(
            blocks("", QuirkMode::Manual, &text),
            [(vec!["A = 1".into()], String::new()), (vec!["B = 2".to_string()], String::new())]
        );
    }

    #[test]
    fn a_long_line_is_cut_and_loses_one_byte() {
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
    fn a_block_without_a_good_line_is_no_ad() {
        let block = OutputBlock { lines: vec!["text".into(), "'a' = 1".into()], arguments: "".into() };
        let (ad, bad) = block.to_ad(b"P_", ClockReading::from_epoch(7));
        assert!(ad.is_none() && bad.len() == 2);
        let block = OutputBlock { lines: vec!["P_A = 1".into(), "text".into()], arguments: "".into() };
        let (ad, bad) = block.to_ad(b"P_", ClockReading::from_epoch(7));
        assert_eq!(ad.unwrap().get("P_LastUpdate").unwrap().unparse(), "7");
        assert_eq!(bad.len(), 1);
    }
}
