//! The TRANSFORM statement of a rules file.

use super::finding::TransformLinter;
use htc_base::text::Span;
use htc_base::text::space::trim;
use htc_config::evaluate::to_integer;
use htc_config::lint_rule::LintRule;
use htc_transform::Transform;
use htc_transform::iterate::{self, ItemSource};

impl TransformLinter<'_> {
    /// Reports statements after the TRANSFORM that ends the text of a parameter.
    pub(super) fn lint_end(&mut self, transform: &Transform) {
        let Some(line) = &transform.envelope.ignored else { return };
        let message =
            "the statements from here on are never executed: a TRANSFORM with arguments ends the text";
        self.report(
            LintRule::Dead,
            line,
            Span::new(0, line.text.len()),
            message,
            "move TRANSFORM to the end",
        );
    }

    /// Finds a TRANSFORM whose arguments are not valid, or whose list is not closed. Arguments with macros, which depend on
    /// the configuration, are not checked.
    pub(super) fn lint_iteration(&mut self, transform: &Transform) {
        let Some(iteration) = transform.envelope.iteration.as_ref() else { return };
        let (line, arguments) = (&iteration.line, &iteration.arguments);
        if arguments.contains(&b'$') {
            return;
        }
        let rest = line.source.text.get(iteration.rest_offset..).unwrap_or_default();
        let parsed = iterate::parse_arguments(arguments, |count| to_integer(count, self.world));
        let checked = parsed.and_then(|parsed| match parsed.source {
            ItemSource::FollowingLines => {
                let no_file = &mut |_: Option<&std::path::Path>| Ok(Vec::new());
                iterate::read_items(&parsed, rest, line.number, self.world, no_file, &|_| None).map(drop)
            }
            ItemSource::Line | ItemSource::StandardInput | ItemSource::File(_) => Ok(()),
        });
        let Err(error) = checked else { return };
        let fix = match error {
            iterate::IterationError::NoClosingBrace(_) => "end the list with a line that begins with ')'",
            _ => {
                "write 'TRANSFORM', optionally followed by a count, variables and 'in (...)', 'from FILE' or 'matching PATTERN'"
            }
        };
        let start = line.text.len() - trim(arguments).len().min(line.text.len());
        self.report(LintRule::Transform, line, Span::new(start, line.text.len()), error.to_string(), fix);
    }
}
