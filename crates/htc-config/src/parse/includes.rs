//! `include`: a source, or what a command prints, read in place of the statement.

use bstr::{BStr, BString};

use crate::lines::LogicalLine;
use crate::loader::{Loader, MAX_NESTING, NotRead, NotReadKind, Stop};
use crate::parse::frame::Frame;
use crate::statement::{self, IncludeOptions, Split};
use htc_base::text::space::trim_end;

/// How many sources one configuration may be made of. The reference bounds only the depth, so that a dozen files that
/// include each other many times keep it busy for ever.
const MAX_SOURCES: usize = 20_000;

/// An `include` whose words are read.
struct Include<'a> {
    options: IncludeOptions<'a>,
    /// What is read, expanded.
    target: BString,
    /// The file that a command's output goes to first, expanded.
    into: Option<BString>,
}

impl Loader<'_> {
    /// `include : TARGET` with its options.
    pub(super) fn include_statement(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        split: &Split<'_>,
    ) -> Result<(), Stop> {
        let include = self.read_include(frame, line, split)?;
        let target_at = (line.text.len() - split.value.len(), line.text.len());
        if self.set.sources().len() > MAX_SOURCES {
            self.include_error(frame, line, &format!(": more than {MAX_SOURCES} sources are included"));
            let at = self.place_in(frame, line, target_at.0, target_at.1);
            let hint = "these files include each other, or one another's files, too many times";
            return Err(Stop::new(line.line).at(at).hint(hint));
        }
        let mut inner_line = 0;
        let result = self.read_included(&include, frame, line.line, &mut inner_line);
        self.last_line = line.line;
        result.map_err(|stop| {
            let stale = std::mem::take(&mut self.stale_reason);
            let reason = if stop.reason.is_empty() { stale } else { stop.reason };
            self.error_line(format!(
                "Config source Error \"{}\", Line {inner_line}, Include Depth {}: {reason}",
                include.target,
                frame.depth + 1
            ));
            let mut outer = Stop::new(line.line);
            outer.hint = stop.hint;
            outer.place =
                stop.place.or_else(|| Some(Box::new(self.place_in(frame, line, target_at.0, target_at.1))));
            if let Some(place) = &mut outer.place
                && place.source != frame.source
            {
                place.included_from.push((self.source_name(frame.source), line.line));
            }
            outer
        })
    }

    /// A line of the log about the statement itself.
    fn include_error(&mut self, frame: &Frame<'_>, line: &LogicalLine<'_>, what: &str) {
        let name = self.source_name(frame.source);
        self.error_line(format!("Config source Error \"{name}\", Line {}{what}", line.line));
    }

    fn read_include<'a>(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        split: &Split<'a>,
    ) -> Result<Include<'a>, Stop> {
        let options = statement::include_options(split.words).map_err(|more| {
            let words = BStr::new(split.words);
            self.include_error(
                frame,
                line,
                &format!(": unexpected keyword(s) '{words}' after include {more}"),
            );
            let start = split.name.len() + 1;
            let at = self.place_in(frame, line, start, split.operator_at.max(start + 1));
            let hint = "the options of include are 'ifexist' and 'command into FILE', in lower case";
            Stop::new(line.line).at(at).hint(hint)
        })?;
        let target = self.expanded(frame, line, split.value)?;
        if options.into.is_some_and(is_piped) {
            self.include_error(frame, line, ", destination for 'include into' may not be a script");
            return Err(Stop::new(line.line));
        }
        let into = options.into.map(|into| self.expanded(frame, line, into)).transpose()?;
        if into.as_ref().is_some_and(|into| into.is_empty()) {
            self.include_error(frame, line, ", destination for 'include into' expanded to ''");
            return Err(Stop::new(line.line));
        }
        Ok(Include { options, target, into })
    }

    /// Reads the source that is included, if it can be had. `inner_line` is the line that its reading got to.
    fn read_included(
        &mut self,
        include: &Include<'_>,
        frame: &Frame<'_>,
        line: u32,
        inner_line: &mut u32,
    ) -> Result<(), Stop> {
        let Include { options, target, into } = include;
        let from = Some((frame.source, line));
        let opened = match into {
            Some(into) => self.open_into(target, options.command, into, from),
            None => self.open_source(target, options.command, from),
        };
        match opened {
            Ok(_) if frame.depth + 1 >= MAX_NESTING => Err(Stop::new(0).reason("includes nested too deep")),
            Ok((source, text)) => {
                let shown = self.set.source(source).name.clone();
                self.local_sources.push(shown);
                let result = self.parse(source, &text, frame.depth + 1);
                *inner_line = self.last_line;
                result
            }
            Err(_) if options.if_exists => Ok(()),
            Err(reason) if self.options.go_on && !options.command && !is_piped(target) => {
                let (reason, name) = (reason.to_string(), target.clone());
                self.not_read.push(NotRead { kind: NotReadKind::File, name, from, reason });
                Ok(())
            }
            Err(reason) => Err(Stop::new(0).reason(reason)),
        }
    }
}

/// Whether the last character is the one that makes a command of a source.
fn is_piped(name: &[u8]) -> bool {
    trim_end(name).last() == Some(&b'|')
}
