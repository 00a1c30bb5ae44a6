//! `include`: a file, or the output of a command, is read in place of the statement.

use bstr::{BStr, BString};

use crate::lines::LogicalLine;
use crate::loader::{LoadFailure, Loader, MAX_NESTING, UnreadSource, UnreadSourceKind};
use crate::parse::frame::SourceFrame;
use crate::statement::{self, IncludeOptions, SplitLine};
use htc_base::text::space::trim_end;

/// Maximum number of sources of one configuration. The reference limits only the depth, so a dozen files that
/// include each other many times keep it busy forever.
const MAX_SOURCES: usize = 20_000;

/// A parsed `include` statement.
struct IncludeStatement<'a> {
    options: IncludeOptions<'a>,
    /// Expanded name of the source.
    target: BString,
    /// Expanded name of the file in which a command's output is stored first.
    into: Option<BString>,
}

impl Loader<'_> {
    /// Processes `include : TARGET` with its options.
    pub(super) fn process_include(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        split: &SplitLine<'_>,
    ) -> Result<(), LoadFailure> {
        let include = self.parse_include(frame, line, split)?;
        let target_at = (line.text.len() - split.value.len(), line.text.len());
        if self.set.sources().len() > MAX_SOURCES {
            self.report_include_error(
                frame,
                line,
                &format!(": more than {MAX_SOURCES} sources are included"),
            );
            let at = self.line_location(frame, line, target_at.0, target_at.1);
            let hint = "these files include each other too many times";
            return Err(LoadFailure::new(line.line).with_location(at).with_hint(hint));
        }
        let mut inner_line = 0;
        let result = self.read_included_source(&include, frame, line.line, &mut inner_line);
        self.last_line = line.line;
        result.map_err(|failure| {
            let stale = std::mem::take(&mut self.stale_reason);
            let reason = if failure.reason.is_empty() { stale } else { failure.reason };
            self.push_error_line(format!(
                "Config source Error \"{}\", Line {inner_line}, Include Depth {}: {reason}",
                include.target,
                frame.depth + 1
            ));
            let mut outer = LoadFailure::new(line.line);
            outer.hint = failure.hint;
            outer.place = failure
                .place
                .or_else(|| Some(Box::new(self.line_location(frame, line, target_at.0, target_at.1))));
            if let Some(place) = &mut outer.place
                && place.source != frame.source
            {
                place.included_from.push((self.source_name(frame.source), line.line));
            }
            outer
        })
    }

    /// Adds an error line about the statement itself.
    fn report_include_error(&mut self, frame: &SourceFrame<'_>, line: &LogicalLine<'_>, text: &str) {
        let name = self.source_name(frame.source);
        self.push_error_line(format!("Config source Error \"{name}\", Line {}{text}", line.line));
    }

    fn parse_include<'a>(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        split: &SplitLine<'a>,
    ) -> Result<IncludeStatement<'a>, LoadFailure> {
        let options = statement::parse_include_options(split.words).map_err(|detail| {
            let words = BStr::new(split.words);
            self.report_include_error(
                frame,
                line,
                &format!(": unexpected keyword(s) '{words}' after include {detail}"),
            );
            let start = split.name.len() + 1;
            let at = self.line_location(frame, line, start, split.operator_at.max(start + 1));
            let hint = "the options of include are 'ifexist' and 'command into FILE', in lower case";
            LoadFailure::new(line.line).with_location(at).with_hint(hint)
        })?;
        let target = self.expand_in_frame(frame, line, split.value)?;
        if options.into.is_some_and(ends_in_pipe) {
            self.report_include_error(frame, line, ", destination for 'include into' may not be a script");
            return Err(LoadFailure::new(line.line));
        }
        let into = options.into.map(|into| self.expand_in_frame(frame, line, into)).transpose()?;
        if into.as_ref().is_some_and(|into| into.is_empty()) {
            self.report_include_error(frame, line, ", destination for 'include into' expanded to ''");
            return Err(LoadFailure::new(line.line));
        }
        Ok(IncludeStatement { options, target, into })
    }

    /// Reads the included source, if it can be opened. `inner_line` is set to the last line that was read
    /// from it.
    fn read_included_source(
        &mut self,
        include: &IncludeStatement<'_>,
        frame: &SourceFrame<'_>,
        line: u32,
        inner_line: &mut u32,
    ) -> Result<(), LoadFailure> {
        let IncludeStatement { options, target, into } = include;
        let from = Some((frame.source, line));
        let opened = match into {
            Some(into) => self.open_command_output_file(target, options.command, into, from),
            None => self.open_include(target, options.command, from),
        };
        match opened {
            Ok(_) if frame.depth + 1 >= MAX_NESTING => {
                Err(LoadFailure::new(0).with_reason("includes nested too deep"))
            }
            Ok((source, text)) => {
                let shown = self.set.source(source).name.clone();
                self.local_sources.push(shown);
                let result = self.parse_source(source, &text, frame.depth + 1);
                *inner_line = self.last_line;
                result
            }
            Err(_) if options.if_exists => Ok(()),
            Err(reason)
                if self.options.continue_after_errors && !options.command && !ends_in_pipe(target) =>
            {
                let (reason, name) = (reason.to_string(), target.clone());
                self.unread_sources.push(UnreadSource { kind: UnreadSourceKind::File, name, from, reason });
                Ok(())
            }
            Err(reason) => Err(LoadFailure::new(0).with_reason(reason)),
        }
    }
}

/// Returns true if the last character makes the source a command.
fn ends_in_pipe(name: &[u8]) -> bool {
    trim_end(name).last() == Some(&b'|')
}
