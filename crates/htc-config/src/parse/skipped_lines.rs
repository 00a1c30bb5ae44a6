//! Statements in branches that are not taken: other machines read them.

use bstr::{BStr, BString};

use crate::config_error::ConfigError;
use crate::lines::LogicalLine;
use crate::loader::{LoadFailure, Loader, SkippedBranch, SkippedDefinition};
use crate::parse::frame::SourceFrame;
use crate::parse::{bad_name_hint, is_misspelled_endif, missing_operator_hint};
use crate::statement::{self, LineWithoutOperator, SplitLine, StatementKeyword, StatementOperator};
use crate::template;
use htc_base::text::caseless;

impl Loader<'_> {
    /// Records a definition or an invalid statement in a branch that is not taken.
    pub(super) fn record_skipped(
        &mut self,
        frame: &mut SourceFrame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
    ) {
        if !self.options.keep_texts {
            return;
        }
        if let Some(tag) = &frame.skipped_block {
            if text.strip_prefix(b"@") == Some(&tag[..]) {
                frame.skipped_block = None;
            }
            return;
        }
        let (condition, branch) = frame.conditions.innermost();
        let split = match statement::split_line(text) {
            Ok(split) => split,
            Err(LineWithoutOperator::Section) => return,
            Err(LineWithoutOperator::Missing(_)) => {
                if is_misspelled_endif(text) {
                    frame.conditions.add_misspelled_end(line.locate(0, text.len()), false);
                }
                if branch == SkippedBranch::MayBeTakenElsewhere {
                    self.add_branch_error(frame, line, BString::default(), Some(missing_operator_hint(text)));
                }
                return;
            }
        };
        match statement::statement_keyword(&split) {
            Some(StatementKeyword::Use) if branch == SkippedBranch::MayBeTakenElsewhere => {
                if let Some(reason) = find_unknown_template(&split) {
                    self.add_branch_error(frame, line, reason, None);
                }
            }
            Some(_) => {}
            None if statement::is_valid_name(split.name) => {
                if split.operator == StatementOperator::Here {
                    frame.skipped_block = Some(split.value.into());
                }
                let is_complete =
                    matches!(split.operator, StatementOperator::Equal | StatementOperator::Colon);
                self.skipped.push(SkippedDefinition {
                    name: split.name.into(),
                    value: split.value.into(),
                    place: frame.place(line.line, line.locate(0, 0).start),
                    condition,
                    branch,
                    is_complete,
                });
            }
            None if branch == SkippedBranch::MayBeTakenElsewhere && !split.name.contains(&b'$') => {
                let reason = format!("Illegal Identifier: <{}>", BStr::new(split.name));
                self.add_branch_error(frame, line, reason.into(), Some(bad_name_hint(split.name).into()));
            }
            None => {}
        }
    }

    fn add_branch_error(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        reason: BString,
        hint: Option<String>,
    ) {
        let place = self.line_location(frame, line, 0, line.text.len());
        let LoadFailure { status, .. } = LoadFailure::new(line.line);
        self.branch_errors.push(ConfigError {
            lines: Some(reason).filter(|reason| !reason.is_empty()).into_iter().collect(),
            warnings: 0,
            place: Some(Box::new(place)),
            hint,
            status,
            is_config_missing: false,
            is_endif_missing: false,
        });
    }
}

/// Returns the reason why a `use` without references names no template, or `None` if it does.
fn find_unknown_template(split: &SplitLine<'_>) -> Option<BString> {
    let is_plain = |text: &[u8]| !text.contains(&b'$');
    if split.words.is_empty() || !is_plain(split.words) || !is_plain(split.value) {
        return None;
    }
    let Some(category) = template::find_category(split.words) else {
        return Some(format!("there is no category of templates {}", BString::from(split.words)).into());
    };
    let mut rest = split.value;
    while let Some((found, after)) = template::next_used_template(rest) {
        rest = after;
        if template::find(category, found.name).is_none() {
            return Some(format!("there is no template {}", BString::from(found.name)).into());
        }
    }
    None
}

impl SkippedDefinition {
    /// True if the value can be checked alone: it is complete, and other machines read it.
    pub fn is_checkable(&self) -> bool {
        let refers_to_itself = || {
            let reference = [b"$(", &self.name[..]].concat();
            caseless::contains(&self.value, &reference)
        };
        self.is_complete && self.branch == SkippedBranch::MayBeTakenElsewhere && !refers_to_itself()
    }
}
