//! Elements of a statement that an editor can ask about: names, references, keywords, templates, attributes.

use std::ops::Range;

use bstr::{BString, ByteSlice};
use htc_base::text::{Span, caseless, unqualified_name};
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::registry::{self, ValueType};
use htc_config::{statement, template};

use crate::expression_words::{ExpressionWord, ExpressionWordKind, expression_words};
use crate::mapped_text::MappedText;
use crate::statements::{BlockBody, SourceStatement, StatementSyntax};

/// Element of a statement, with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Place of the element.
    pub span: Span,
    /// Kind of the element.
    pub kind: ElementKind,
}

/// Kind of an element, with its name.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementKind {
    /// Name that an assignment sets.
    Parameter(BString),
    /// Name that a reference or condition reads.
    Macro(BString),
    /// Function of a macro reference: `INT` of `$INT(...)`.
    MacroFunction(BString),
    /// Environment variable of `$ENV(...)`.
    Variable(BString),
    /// Keyword of the configuration language.
    Keyword(BString),
    /// Keyword of the transform language.
    CommandKeyword(BString),
    /// Category of a template.
    Category(BString),
    /// Template that is used.
    Template {
        /// Category of the template, as written.
        category: BString,
        /// Name of the template, as written.
        name: BString,
    },
    /// File or command of an `include`, unexpanded.
    IncludeTarget(BString),
    /// Attribute in an expression or command.
    Attribute(BString),
    /// `MY` or `TARGET`.
    Scope(BString),
    /// ClassAd function.
    Function(BString),
    /// Name in a list that stands for a parameter: a route in JOB_ROUTER_ROUTE_NAMES.
    ListedName {
        /// The name as written.
        name: BString,
        /// Parameter that defines it.
        parameter: BString,
    },
}

impl ElementKind {
    /// Returns the macro or parameter that the element names, or `None` if it is of another kind.
    pub fn parameter_name(&self) -> Option<&BString> {
        match self {
            ElementKind::Parameter(name) | ElementKind::Macro(name) => Some(name),
            ElementKind::ListedName { parameter, .. } => Some(parameter),
            _ => None,
        }
    }
}

/// Returns the elements of a statement and of the statements in its block.
pub fn elements_of(statement: &SourceStatement) -> Vec<Element> {
    let mut collector = ElementCollector::default();
    collector.add_statement(statement);
    collector.elements
}

/// Returns the innermost element at an offset of a file; the offset after an element's last byte belongs to the
/// element, too.
pub fn element_at(statements: &[SourceStatement], offset: usize) -> Option<Element> {
    let offset = u32::try_from(offset).ok()?;
    let near = statements.iter().filter(|one| one.span.start <= offset && offset <= one.span.end);
    near.flat_map(elements_of)
        .filter(|element| element.span.start <= offset && offset <= element.span.end)
        .min_by_key(|element| (element.span.end == offset, element.span.end - element.span.start))
}

/// Parameters whose values are lists of names, each with the prefix and the suffix that make a listed name the name of
/// the parameter that defines it.
const NAME_LISTS: [(&str, &str, &str); 8] = [
    ("JOB_ROUTER_ROUTE_NAMES", "JOB_ROUTER_ROUTE_", ""),
    ("JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES", "JOB_ROUTER_TRANSFORM_", ""),
    ("JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES", "JOB_ROUTER_TRANSFORM_", ""),
    ("JOB_TRANSFORM_NAMES", "JOB_TRANSFORM_", ""),
    ("SUBMIT_REQUIREMENT_NAMES", "SUBMIT_REQUIREMENT_", ""),
    ("STARTD_CRON_JOBLIST", "STARTD_CRON_", "_EXECUTABLE"),
    ("SCHEDD_CRON_JOBLIST", "SCHEDD_CRON_", "_EXECUTABLE"),
    ("BENCHMARKS_JOBLIST", "BENCHMARKS_", "_EXECUTABLE"),
];

/// Returns the prefix and suffix of the parameters that define the names of a list.
pub(crate) fn listed_parameters(name: &[u8]) -> Option<(&'static str, &'static str)> {
    let name = unqualified_name(name);
    let found = NAME_LISTS.iter().find(|(list, _, _)| caseless::eq(list.as_bytes(), name))?;
    Some((found.1, found.2))
}

/// Returns true if the value of a parameter is a list of names that other parameters define.
pub(crate) fn holds_listed_names(name: &[u8]) -> bool {
    listed_parameters(name).is_some()
}

/// Returns true if the value of a parameter is an expression, or looks like one if the parameter is not known.
pub(crate) fn is_expression_value(name: &[u8], value: &[u8]) -> bool {
    match registry::find(name) {
        Some(parameter) => {
            use ValueType::{Boolean, Integer, LenientBoolean, Long, Real, SizeOrNumber};
            parameter.value_type.is_expression()
                || matches!(
                    parameter.value_type,
                    SizeOrNumber | Boolean | LenientBoolean | Integer | Long | Real
                )
        }
        None => {
            let is_function = |word: &ExpressionWord| word.kind == ExpressionWordKind::Function;
            value.iter().any(|byte| b"=<>&|!?".contains(byte))
                || expression_words(value).iter().any(is_function)
        }
    }
}

#[derive(Default)]
struct ElementCollector {
    elements: Vec<Element>,
}

impl ElementCollector {
    fn add(&mut self, text: &MappedText, range: Range<usize>, kind: fn(BString) -> ElementKind) {
        let name = BString::from(text.text.get(range.clone()).unwrap_or_default());
        if !name.is_empty() {
            self.elements.push(Element { span: text.span(range), kind: kind(name) });
        }
    }

    fn add_statement(&mut self, statement: &SourceStatement) {
        let line = &statement.line;
        match &statement.syntax {
            StatementSyntax::Comment | StatementSyntax::Section | StatementSyntax::Invalid => {}
            StatementSyntax::Condition { keyword, condition } => {
                self.add(line, keyword.clone(), ElementKind::Keyword);
                self.add_condition(&line.part(condition.clone()));
            }
            StatementSyntax::Assignment { name, value, .. } => {
                self.add(line, name.clone(), ElementKind::Parameter);
                self.add_value(statement.text(name), &line.part(value.clone()));
            }
            StatementSyntax::Block { name, body, .. } => {
                self.add(line, name.clone(), ElementKind::Parameter);
                match body {
                    BlockBody::Text(text) => self.add_value(statement.text(name), text),
                    BlockBody::Rules(rules) => rules.iter().for_each(|rule| self.add_statement(rule)),
                }
            }
            StatementSyntax::Include { keyword, target, .. } => {
                self.add(line, keyword.clone(), ElementKind::Keyword);
                self.add(line, target.clone(), ElementKind::IncludeTarget);
                self.add_references(&line.part(target.clone()));
            }
            StatementSyntax::Use { keyword, category, names } => {
                self.add(line, keyword.clone(), ElementKind::Keyword);
                self.add(line, category.clone(), ElementKind::Category);
                self.add_templates(statement.text(category), line, names);
                self.add_references(&line.part(names.clone()));
            }
            StatementSyntax::Message { keyword, text } => {
                self.add(line, keyword.clone(), ElementKind::Keyword);
                self.add_references(&line.part(text.clone()));
            }
            StatementSyntax::Command { keyword, attribute, value } => {
                self.add(line, keyword.clone(), ElementKind::CommandKeyword);
                self.add_command(line, statement.text(keyword), attribute, value);
            }
        }
    }

    /// Adds the name after `defined` in a condition, and the references.
    fn add_condition(&mut self, text: &MappedText) {
        self.add_references(text);
        let trimmed = text.text.trim_start_with(|c| c == '!' || c.is_ascii_whitespace());
        let Some(rest) = caseless::strip_prefix(trimmed, b"defined") else { return };
        let name = rest.trim();
        if statement::is_valid_name(name) && rest.len() > name.len() {
            let end = text.text.trim_end().len();
            self.add(text, end - name.len()..end, ElementKind::Macro);
        }
    }

    fn add_templates(&mut self, category: &[u8], line: &MappedText, names: &Range<usize>) {
        let mut rest: &[u8] = line.text.get(names.clone()).unwrap_or_default();
        while let Some((used, after)) = template::next_used_template(rest) {
            // The name is a part of the rest, which is a part of the line.
            let skipped = rest.find(used.name).unwrap_or(0);
            let start = line.text.len() - rest.len() + skipped;
            let kind = ElementKind::Template { category: category.trim().into(), name: used.name.into() };
            self.elements.push(Element { span: line.span(start..start + used.name.len()), kind });
            if after.len() >= rest.len() {
                break;
            }
            rest = after;
        }
    }

    fn add_value(&mut self, name: &[u8], value: &MappedText) {
        self.add_references(value);
        if let Some((before, after)) = listed_parameters(name) {
            self.add_listed_names(value, before, after);
        } else if is_expression_value(name, &value.text) {
            self.add_expression(value);
        }
    }

    fn add_listed_names(&mut self, value: &MappedText, before: &str, after: &str) {
        let mut at = 0;
        for word in value.text.split(|&byte| byte == b',' || byte.is_ascii_whitespace()) {
            if !word.is_empty() && word.iter().all(|&byte| statement::is_name_byte(byte)) {
                let parameter = [before.as_bytes(), word, after.as_bytes()].concat().into();
                let kind = ElementKind::ListedName { name: word.into(), parameter };
                self.elements.push(Element { span: value.span(at..at + word.len()), kind });
            }
            at += word.len() + 1;
        }
    }

    fn add_expression(&mut self, value: &MappedText) {
        for word in expression_words(&value.text) {
            let kind = match word.kind {
                ExpressionWordKind::Attribute => ElementKind::Attribute,
                ExpressionWordKind::Scope => ElementKind::Scope,
                ExpressionWordKind::Function => ElementKind::Function,
                ExpressionWordKind::Reserved => continue,
            };
            self.add(value, word.range, kind);
        }
    }

    fn add_command(
        &mut self,
        line: &MappedText,
        keyword: &[u8],
        attribute: &Range<usize>,
        value: &Range<usize>,
    ) {
        let is = |known: &[&str]| known.iter().any(|word| keyword.eq_ignore_ascii_case(word.as_bytes()));
        self.add_references(&line.part(attribute.start..line.text.len()));
        if is(&["REQUIREMENTS"]) {
            self.add_expression(&line.part(value.clone()));
            return;
        }
        let name = line.text.get(attribute.clone()).unwrap_or_default();
        let is_name =
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if is_name && is(&["SET", "DEFAULT", "EVALSET", "COPY", "RENAME", "DELETE"]) {
            self.add(line, attribute.clone(), ElementKind::Attribute);
        }
        if is_name && is(&["EVALMACRO"]) {
            self.add(line, attribute.clone(), ElementKind::Parameter);
        }
        if is(&["SET", "DEFAULT", "EVALSET", "EVALMACRO"]) {
            self.add_expression(&line.part(value.clone()));
        }
    }

    /// Adds the macro references in a text, including those in defaults and arguments.
    fn add_references(&mut self, text: &MappedText) {
        let mut at = 0;
        while let Some(found) = next_reference(&text.text, at, &mut None, |_, _| true) {
            at = found.body;
            let body_end = found.end - 1;
            let function = found.dollar + 1..found.body - 1;
            self.add(text, function, ElementKind::MacroFunction);
            let body = &text.text[found.body..body_end];
            let name_length = body.iter().take_while(|&&byte| statement::is_name_byte(byte)).count();
            let name = found.body..found.body + name_length;
            match found.function {
                MacroFunction::Plain => self.add_macro_name(text, name),
                MacroFunction::Env => self.add(text, name, ElementKind::Variable),
                function if function.takes_parameter_name() => {
                    let is_name = body.get(name_length).is_none_or(|byte| b", ".contains(byte));
                    let is_number = body.first().is_some_and(u8::is_ascii_digit);
                    if is_name && !is_number && !body.starts_with(b"/") {
                        self.add(text, name, ElementKind::Macro);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the name of a plain reference. In routes and transforms, `$(MY.Owner)` is an attribute of the job.
    fn add_macro_name(&mut self, text: &MappedText, name: Range<usize>) {
        let bytes = &text.text[name.clone()];
        match caseless::strip_prefix(bytes, b"MY.") {
            Some(attribute) if !attribute.is_empty() => {
                self.add(text, name.end - attribute.len()..name.end, ElementKind::Attribute);
            }
            _ => self.add(text, name, ElementKind::Macro),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::{parse_config, parse_rules};

    /// Text and kind of each element.
    fn shown(text: &str, statements: &[SourceStatement]) -> Vec<String> {
        let mut found: Vec<Element> = statements.iter().flat_map(elements_of).collect();
        found.sort_by_key(|element| element.span.start);
        found
            .iter()
            .map(|element| {
                let kind = format!("{:?}", element.kind);
                let kind = kind.split(['(', ' ']).next().unwrap_or_default().to_owned();
                format!("{kind} {}", String::from_utf8_lossy(element.span.slice(text.as_bytes())))
            })
            .collect()
    }

    #[test]
    fn elements_of_a_configuration() {
        let text = "START = $(A:$(B)) && TARGET.Owner == \"x\" \\\n  || floor(Cpus) > $INT(N,%d)\n\
                    if ! defined C\nuse FEATURE : GPUs(1, $(D)) Monitor\ninclude : $(E)/f\nL = $ENV(HOME) a==1\n\
                    JOB_ROUTER_ROUTE_NAMES = r1, r2\nP = /x/$(MY.Q)\n";
        assert_eq!(
            shown(text, &parse_config(text.as_bytes())),
            [
                "Parameter START",
                "Macro A",
                "Macro B",
                "Scope TARGET",
                "Attribute Owner",
                "Function floor",
                "Attribute Cpus",
                "MacroFunction INT",
                "Macro N",
                "Keyword if",
                "Macro C",
                "Keyword use",
                "Category FEATURE",
                "Template GPUs",
                "Macro D",
                "Template Monitor",
                "Keyword include",
                "IncludeTarget $(E)/f",
                "Macro E",
                "Parameter L",
                "MacroFunction ENV",
                "Variable HOME",
                "Attribute a",
                "Parameter JOB_ROUTER_ROUTE_NAMES",
                "ListedName r1",
                "ListedName r2",
                "Parameter P",
                "Attribute Q"
            ]
        );
    }

    #[test]
    fn elements_of_rules() {
        let text = "NAME x\nREQUIREMENTS MY.A\nSET B $(C) + D\nCOPY E F\nG = $(H)\nEVALMACRO I J + 1\n";
        assert_eq!(
            shown(text, &parse_rules(text.as_bytes())),
            [
                "CommandKeyword NAME",
                "CommandKeyword REQUIREMENTS",
                "Scope MY",
                "Attribute A",
                "CommandKeyword SET",
                "Attribute B",
                "Macro C",
                "Attribute D",
                "CommandKeyword COPY",
                "Attribute E",
                "Parameter G",
                "Macro H",
                "CommandKeyword EVALMACRO",
                "Parameter I",
                "Attribute J"
            ]
        );
    }

    #[test]
    fn the_innermost_element_is_at_a_position() {
        let text = b"A = $(B)$(C)\n";
        let statements = parse_config(text);
        let name = |offset| element_at(&statements, offset).and_then(|it| it.kind.parameter_name().cloned());
        assert_eq!(name(0), Some("A".into()));
        assert_eq!(name(6), Some("B".into()));
        assert_eq!(name(7), Some("B".into()));
        assert_eq!(name(10), Some("C".into()));
        assert_eq!(name(3), None);
    }
}
