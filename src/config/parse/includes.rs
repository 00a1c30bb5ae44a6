//! `include`: a source, or what a command prints, read in place of the statement.

use bstr::BStr;

use crate::config::lines::LogicalLine;
use crate::config::load::{Loader, NotRead, NotReadKind, Stop};
use crate::config::parse::{Frame, MAX_NESTING};
use crate::config::statement::{self, Split};
use crate::text::space::trim_end;

/// How many sources one configuration may be made of. The reference bounds only the depth, so that a dozen files that
/// include each other many times keep it busy for ever.
const MAX_SOURCES: usize = 20_000;

impl Loader<'_> {
    /// `include : TARGET` with its options.
    pub(super) fn include_statement(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        split: &Split<'_>,
    ) -> Result<(), Stop> {
        let name = self.source_name(frame.source);
        let options = match statement::include_options(split.words) {
            Ok(options) => options,
            Err(more) => {
                self.error_line(format!(
                    "Config source Error \"{name}\", Line {}: unexpected keyword(s) '{}' after include {more}",
                    line.line,
                    BStr::new(split.words)
                ));
                let start = split.name.len() + 1;
                let at = self.place_in(frame, line, start, split.operator_at.max(start + 1));
                let hint = "the options of include are 'ifexist' and 'command into FILE', in lower case";
                return Err(Stop::new(line.line).at(at).hint(hint));
            }
        };
        let target = self.expanded(frame, line, split.value)?;
        let into = match options.into {
            Some(into) if is_piped(into) => {
                self.error_line(format!(
                    "Config source Error \"{name}\", Line {}, destination for 'include into' may not be a script",
                    line.line
                ));
                return Err(Stop::new(line.line));
            }
            Some(into) => {
                let into = self.expanded(frame, line, into)?;
                if into.is_empty() {
                    self.error_line(format!(
                        "Config source Error \"{name}\", Line {}, destination for 'include into' expanded to ''",
                        line.line
                    ));
                    return Err(Stop::new(line.line));
                }
                Some(into)
            }
            None => None,
        };
        if self.set.sources().len() > MAX_SOURCES {
            self.error_line(format!(
                "Config source Error \"{name}\", Line {}: more than {MAX_SOURCES} sources are included",
                line.line
            ));
            let start = line.text.len() - split.value.len();
            let at = self.place_in(frame, line, start, line.text.len());
            let hint = "these files include each other, or one another's files, too many times";
            return Err(Stop::new(line.line).at(at).hint(hint));
        }
        let included_from = Some((frame.source, line.line));
        let opened = match &into {
            Some(into) => self.open_into(&target, options.command, into, included_from),
            None => self.open_source(&target, options.command, included_from),
        };
        let mut inner_line = 0;
        let result = match opened {
            Ok((source, text)) => {
                if frame.depth + 1 >= MAX_NESTING {
                    Err(Stop::new(0).reason("includes nested too deep"))
                } else {
                    let shown = self.set.source(source).name.clone();
                    self.local_sources.push(shown);
                    let result = self.parse(source, &text, frame.depth + 1);
                    inner_line = self.last_line;
                    result
                }
            }
            Err(_) if options.if_exists => Ok(()),
            Err(reason) if self.options.go_on && !options.command && !is_piped(&target) => {
                let reason = reason.to_string();
                self.not_read.push(NotRead {
                    kind: NotReadKind::File,
                    name: target.clone(),
                    from: included_from,
                    reason,
                });
                Ok(())
            }
            Err(reason) => Err(Stop::new(0).reason(reason)),
        };
        self.last_line = line.line;
        result.map_err(|stop| {
            let stale = std::mem::take(&mut self.stale_reason);
            let reason = if stop.reason.is_empty() { stale } else { stop.reason };
            self.error_line(format!(
                "Config source Error \"{target}\", Line {inner_line}, Include Depth {}: {reason}",
                frame.depth + 1
            ));
            let mut outer = Stop::new(line.line);
            outer.hint = stop.hint;
            outer.place = stop.place.or_else(|| {
                let start = line.text.len() - split.value.len();
                Some(Box::new(self.place_in(frame, line, start, line.text.len())))
            });
            if let Some(place) = &mut outer.place
                && place.source != frame.source
            {
                place.included_from.push((self.source_name(frame.source), line.line));
            }
            outer
        })
    }
}

/// Whether the last character is the one that makes a command of a source.
pub(crate) fn is_piped(name: &[u8]) -> bool {
    trim_end(name).last() == Some(&b'|')
}
