//! Statements of a configuration or rules file with the places of their parts, split as HTCondor splits them.

use std::ops::Range;

use bstr::BString;
use htc_base::text::Span;
use htc_base::text::space::{is_space, trim};
use htc_config::condition::split_if_keyword;
use htc_config::lines::{CommentMode, LogicalLines};
use htc_config::registry::{self, ValueType};
use htc_config::statement::{self, LineWithoutOperator, StatementKeyword, StatementOperator};
use htc_transform::statement::split_statement;
use htc_transform::{AssignmentOperator, ConfigDirective, TransformStatement};

use crate::mapped_text::MappedText;

/// One statement or comment.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceStatement {
    /// Range of all lines of the statement.
    pub span: Span,
    /// Logical line of the statement, or the first one of a block.
    pub line: MappedText,
    /// Parts of the statement, as ranges in the text of `line`.
    pub syntax: StatementSyntax,
}

/// Parts of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementSyntax {
    /// A comment.
    Comment,
    /// `if`, `elif`, `else` or `endif`, and the condition after it.
    Condition {
        /// Range of the keyword in the line.
        keyword: Range<usize>,
        /// Range of the condition in the line; empty after `else` and `endif`.
        condition: Range<usize>,
    },
    /// `NAME = value`, also with `:` and `+=`.
    Assignment {
        /// Range of the name in the line.
        name: Range<usize>,
        /// Offset of the operator in the line.
        operator_at: usize,
        /// Range of the value in the line.
        value: Range<usize>,
    },
    /// `NAME @=TAG`, the lines of the value, and `@TAG`.
    Block {
        /// Range of the name in the line.
        name: Range<usize>,
        /// Offset of the operator in the line.
        operator_at: usize,
        /// Range of the tag in the line.
        tag: Range<usize>,
        /// Statements of the value if it is a route or transform, else its lines.
        body: BlockBody,
    },
    /// `include : TARGET`
    Include {
        /// Range of `include` or `@include` in the line.
        keyword: Range<usize>,
        /// Range of the options between the keyword and the colon.
        options: Range<usize>,
        /// Range of the file or command in the line.
        target: Range<usize>,
    },
    /// `use CATEGORY : NAMES`
    Use {
        /// Range of `use` in the line.
        keyword: Range<usize>,
        /// Range of the category in the line.
        category: Range<usize>,
        /// Range of the templates with their arguments.
        names: Range<usize>,
    },
    /// `error : TEXT` or `warning : TEXT`
    Message {
        /// Range of the keyword in the line.
        keyword: Range<usize>,
        /// Range of the text in the line.
        text: Range<usize>,
    },
    /// A command of a transform.
    Command {
        /// Range of the keyword in the line.
        keyword: Range<usize>,
        /// Range of the attribute, pattern or other first argument; empty if it is missing.
        attribute: Range<usize>,
        /// Range of the value. For commands with one argument, it is the same as `attribute`.
        value: Range<usize>,
    },
    /// A line that is ignored (`[section]`).
    Section,
    /// A line that HTCondor rejects.
    Invalid,
}

/// Content of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockBody {
    /// Any text.
    Text(MappedText),
    /// Statements of a route or transform.
    Rules(Vec<SourceStatement>),
}

impl SourceStatement {
    /// Returns the text of a part.
    pub fn text(&self, range: &Range<usize>) -> &[u8] {
        self.line.text.get(range.clone()).unwrap_or_default()
    }

    /// Returns the name that an assignment or block sets.
    pub fn assigned_name(&self) -> Option<&[u8]> {
        match &self.syntax {
            StatementSyntax::Assignment { name, .. } | StatementSyntax::Block { name, .. } => {
                Some(self.text(name))
            }
            _ => None,
        }
    }
}

/// Language of a text that is split into statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementLanguage {
    Config,
    Rules,
}

impl StatementLanguage {
    /// Splits a logical line.
    fn split_line(self, line: MappedText) -> SourceStatement {
        match self {
            StatementLanguage::Config => split_config_line(line),
            StatementLanguage::Rules => split_rule_line(line),
        }
    }
}

/// Splits a configuration into statements. Blank lines are left out.
pub fn parse_config(text: &[u8]) -> Vec<SourceStatement> {
    parse_statements(text, StatementLanguage::Config)
}

/// Splits the text of a rules file into statements. A value in an `@=` block is one statement.
pub fn parse_rules(text: &[u8]) -> Vec<SourceStatement> {
    parse_statements(text, StatementLanguage::Rules)
}

/// Splits a text into statements. Only a configuration has comments within a block that are not part of its value, and
/// comments that change how later comments are read.
fn parse_statements(text: &[u8], language: StatementLanguage) -> Vec<SourceStatement> {
    let mut lines = LogicalLines::new(text);
    let mut statements: Vec<SourceStatement> = Vec::new();
    let mut block: Option<OpenBlock> = None;
    while let Some(logical) = lines.next_line() {
        let line = MappedText::of_line(&logical);
        if line.text.iter().all(|&byte| is_space(byte)) {
            continue;
        }
        if language == StatementLanguage::Config && line.text.first() == Some(&b'#') {
            match &line.text.to_ascii_lowercase()[..] {
                b"#opt:oldcomment" => lines.set_comment_mode(CommentMode::Old),
                b"#opt:newcomment" => lines.set_comment_mode(CommentMode::New),
                _ => {}
            }
            let span = line.whole_span();
            let comment = SourceStatement { span, line, syntax: StatementSyntax::Comment };
            match &mut block {
                Some(open) => open.comments.push(comment),
                None => statements.push(comment),
            }
            continue;
        }
        match &mut block {
            Some(open) if line.text.strip_prefix(b"@") == Some(&open.tag[..]) => {
                open.statement.span.end = line.whole_span().end;
                statements.extend(block.take().into_iter().flat_map(OpenBlock::close));
            }
            Some(open) => {
                open.statement.span.end = line.whole_span().end;
                open.lines.push(line);
            }
            None => {
                let statement = language.split_line(line);
                match &statement.syntax {
                    StatementSyntax::Block { tag, .. } => {
                        let tag = statement.text(tag).into();
                        block = Some(OpenBlock { statement, tag, lines: Vec::new(), comments: Vec::new() });
                    }
                    _ => statements.push(statement),
                }
            }
        }
    }
    statements.extend(block.into_iter().flat_map(OpenBlock::close));
    statements
}

/// A block whose end has not been read.
struct OpenBlock {
    statement: SourceStatement,
    tag: BString,
    lines: Vec<MappedText>,
    comments: Vec<SourceStatement>,
}

impl OpenBlock {
    /// Returns the statement, followed by the comments that are between its lines but are not part of its value.
    fn close(mut self) -> Vec<SourceStatement> {
        let is_rules = self.statement.assigned_name().is_some_and(is_rules_parameter);
        if let StatementSyntax::Block { body, .. } = &mut self.statement.syntax {
            let is_old = self.lines.first().is_some_and(|line| line.text.starts_with(b"["));
            *body = match is_rules && !is_old {
                true => BlockBody::Rules(self.lines.into_iter().map(split_rule_line).collect()),
                false => {
                    let mut text = MappedText::default();
                    self.lines.iter().for_each(|line| text.push_line(line));
                    BlockBody::Text(text)
                }
            };
        }
        let mut all = vec![self.statement];
        all.append(&mut self.comments);
        all
    }
}

/// Returns true if the value of a parameter is a route or transform.
pub(crate) fn is_rules_parameter(name: &[u8]) -> bool {
    let found = registry::find(name).map(|parameter| parameter.value_type);
    matches!(found, Some(ValueType::Route | ValueType::Transform))
}

/// Splits `if` lines, which both languages have.
fn split_condition(text: &[u8], cut: usize) -> Option<StatementSyntax> {
    let (keyword, rest) = split_if_keyword(&text[cut..])?;
    Some(StatementSyntax::Condition {
        keyword: cut..cut + keyword.len(),
        condition: text.len() - rest.len()..text.len(),
    })
}

fn split_config_line(line: MappedText) -> SourceStatement {
    let text: &[u8] = &line.text;
    // Very old versions skip a line that begins with a colon; current ones ignore the colon.
    let cut = usize::from(text.first() == Some(&b':'));
    let syntax = split_condition(text, cut).unwrap_or_else(|| split_config_statement(text));
    SourceStatement { span: line.whole_span(), line, syntax }
}

fn split_config_statement(text: &[u8]) -> StatementSyntax {
    let split = match statement::split_line(text) {
        Ok(split) => split,
        Err(LineWithoutOperator::Section) => return StatementSyntax::Section,
        Err(LineWithoutOperator::Missing(_)) => return StatementSyntax::Invalid,
    };
    let name = 0..split.name.len();
    let value = text.len() - split.value.len()..text.len();
    let words = || {
        let between = &text[split.name.len()..split.operator_at];
        let lead = between.iter().take_while(|&&byte| is_space(byte)).count();
        let start = split.name.len() + lead;
        start..start + trim(between).len()
    };
    match statement::statement_keyword(&split) {
        Some(StatementKeyword::Use) => {
            StatementSyntax::Use { keyword: name, category: words(), names: value }
        }
        Some(StatementKeyword::Include) => {
            StatementSyntax::Include { keyword: name, options: words(), target: value }
        }
        Some(StatementKeyword::Error | StatementKeyword::Warning) => {
            StatementSyntax::Message { keyword: name, text: value }
        }
        None if split.operator == StatementOperator::Here => StatementSyntax::Block {
            name,
            operator_at: split.operator_at,
            tag: value,
            body: BlockBody::Text(MappedText::default()),
        },
        None => StatementSyntax::Assignment { name, operator_at: split.operator_at, value },
    }
}

/// Splits a line of a route, transform or rules file.
fn split_rule_line(line: MappedText) -> SourceStatement {
    let text: &[u8] = &line.text;
    let cut = usize::from(text.first() == Some(&b':'));
    // Lines in the value of a parameter may have leading blanks.
    let lead = cut + text[cut..].iter().take_while(|&&byte| is_space(byte)).count();
    let syntax = match split_statement(&text[lead..]) {
        TransformStatement::Blank => StatementSyntax::Comment,
        TransformStatement::Condition => split_condition(text, lead).unwrap_or(StatementSyntax::Invalid),
        TransformStatement::Command(Ok(command)) => {
            let keyword = lead..lead + command.keyword.name().len();
            let attribute_at = lead + command.attribute_at;
            let word_end = text[attribute_at..].iter().position(|&byte| is_space(byte));
            let end = word_end.map_or(text.len(), |length| attribute_at + length);
            StatementSyntax::Command {
                keyword,
                attribute: attribute_at..end,
                value: lead + command.value_at..text.len(),
            }
        }
        TransformStatement::Command(Err(_)) => incomplete_command(text, lead),
        TransformStatement::Assign(assignment) => {
            let name = lead..lead + assignment.name.len();
            let value = lead + assignment.value_at..text.len();
            let operator_at = operator_start(text, name.end);
            match assignment.operator {
                AssignmentOperator::Block => StatementSyntax::Block {
                    name,
                    operator_at,
                    tag: value,
                    body: BlockBody::Text(MappedText::default()),
                },
                _ => StatementSyntax::Assignment { name, operator_at, value },
            }
        }
        TransformStatement::Directive(directive) => split_directive(text, lead, &directive),
    };
    SourceStatement { span: line.whole_span(), line, syntax }
}

fn operator_start(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().take_while(|&&byte| is_space(byte)).count()
}

/// Returns a command whose arguments are missing, with its keyword, or an invalid statement if the word is not a
/// keyword.
fn incomplete_command(text: &[u8], lead: usize) -> StatementSyntax {
    let length = text[lead..].iter().position(|&byte| is_space(byte)).unwrap_or(text.len() - lead);
    if htc_transform::CommandKeyword::parse(&text[lead..lead + length]).is_none() {
        return StatementSyntax::Invalid;
    }
    let end = lead + length;
    let attribute = operator_start(text, end);
    StatementSyntax::Command {
        keyword: lead..end,
        attribute: attribute..text.len(),
        value: text.len()..text.len(),
    }
}

fn split_directive(text: &[u8], lead: usize, directive: &ConfigDirective) -> StatementSyntax {
    let word_end = text[lead..].iter().position(|&byte| is_space(byte) || byte == b':');
    let keyword = lead..word_end.map_or(text.len(), |length| lead + length);
    let colon = memchr::memchr(b':', text).unwrap_or(text.len());
    let value = operator_start(text, (colon + 1).min(text.len()))..text.len();
    let words = &text[keyword.end.min(colon)..colon];
    let start = operator_start(text, keyword.end.min(colon)).min(colon);
    let between = start..start + trim(words).len();
    match directive {
        ConfigDirective::Include { .. } => {
            StatementSyntax::Include { keyword, options: between, target: value }
        }
        ConfigDirective::Use { .. } => StatementSyntax::Use { keyword, category: between, names: value },
        ConfigDirective::Error(_) | ConfigDirective::Warning(_) => {
            StatementSyntax::Message { keyword, text: value }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind and parts of each statement.
    fn shown(statements: &[SourceStatement]) -> Vec<String> {
        let part = |statement: &SourceStatement, range: &Range<usize>| {
            String::from_utf8_lossy(statement.text(range)).into_owned()
        };
        statements
            .iter()
            .map(|one| match &one.syntax {
                StatementSyntax::Comment => "#".to_owned(),
                StatementSyntax::Condition { keyword, condition } => {
                    format!("{}|{}", part(one, keyword), part(one, condition))
                }
                StatementSyntax::Assignment { name, value, .. } => {
                    format!("{}={}", part(one, name), part(one, value))
                }
                StatementSyntax::Block { name, body: BlockBody::Text(text), .. } => {
                    format!("{}@{}", part(one, name), text.text)
                }
                StatementSyntax::Block { name, body: BlockBody::Rules(rules), .. } => {
                    format!("{}@[{}]", part(one, name), shown(rules).join("; "))
                }
                StatementSyntax::Include { options, target, .. } => {
                    format!("include({}):{}", part(one, options), part(one, target))
                }
                StatementSyntax::Use { category, names, .. } => {
                    format!("use {}:{}", part(one, category), part(one, names))
                }
                StatementSyntax::Message { keyword, text } => {
                    format!("{}:{}", part(one, keyword), part(one, text))
                }
                StatementSyntax::Command { keyword, attribute, value } => {
                    format!("{} {} {}", part(one, keyword), part(one, attribute), part(one, value))
                }
                StatementSyntax::Section => "section".to_owned(),
                StatementSyntax::Invalid => "invalid".to_owned(),
            })
            .collect()
    }

    #[test]
    fn statements_of_a_configuration_have_their_parts() {
        let text = "# c\nA = 1\\\n  2\n\nif defined A\n B += $(A)\nendif\nuse FEATURE : GPUs, X(1)\n\
                    include ifexist : /f\nwarning : hm\n[s]\nbad line\nL @=end\n a\n # no\n b\n@end\nC : 3\n";
        assert_eq!(
            shown(&parse_config(text.as_bytes())),
            [
                "#",
                "A=12",
                "if|defined A",
                "B=$(A)",
                "endif|",
                "use FEATURE:GPUs, X(1)",
                "include(ifexist):/f",
                "warning:hm",
                "section",
                "invalid",
                "L@a\nb",
                "#",
                "C=3"
            ]
        );
    }

    #[test]
    fn routes_in_blocks_are_split_into_commands() {
        let text =
            "JOB_ROUTER_ROUTE_a @=x\n REQUIREMENTS MY.Wants && 1\n SET A = $(V)\n V = 1\n COPY B\n@x\n";
        assert_eq!(
            shown(&parse_config(text.as_bytes())),
            ["JOB_ROUTER_ROUTE_a@[REQUIREMENTS MY.Wants MY.Wants && 1; SET A $(V); V=1; COPY B ]"]
        );
        assert_eq!(
            shown(&parse_rules(b"NAME x\nX @=e\nSET\n@e\nDELETE /a b/\ninclude : f\nBOGUS 1\n")),
            ["NAME x x", "X@SET", "DELETE /a /a b/", "include():f", "invalid"]
        );
    }

    #[test]
    fn an_unfinished_block_ends_with_the_text() {
        let text = b"A @=end\n x\n y\n";
        let statements = parse_config(text);
        assert_eq!(shown(&statements), ["A@x\ny"]);
        assert_eq!(statements[0].span.slice(text), b"A @=end\n x\n y");
    }
}
