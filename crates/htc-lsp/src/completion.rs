//! Completion: names, macros, templates, functions, attributes, keywords and values.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};
use htc_base::text::space::{is_space, trim_start};
use htc_base::text::{Span, caseless, unqualified_name};
use htc_base::world::{FileKind, World as _};
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::statement::{self, StatementKeyword};
use htc_config::value_check::known_words;
use htc_config::{defaults, template};
use htc_lint::config::attribute_names;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, Position, TextEdit,
};

use crate::documents::DocumentLanguage;
use crate::elements::{is_expression_value, listed_parameters};
use crate::query::DocumentQuery;
use crate::statements::{StatementSyntax, is_rules_parameter};
use crate::vocabulary::{self, attribute_description, find_function};

/// Syntactic position of the cursor, which decides which words are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CompletionContext {
    /// A name or keyword at the start of a statement of a configuration.
    StatementStart,
    /// A keyword at the start of a line of a route, transform or rules file.
    RuleStart,
    /// A macro name after `$(`.
    MacroName,
    /// A macro function after `$`.
    MacroFunction,
    /// A category after `use`.
    Category,
    /// A template name after `use CATEGORY :`, with the category.
    Template(BString),
    /// A condition after `if` or `elif`.
    Condition,
    /// A path after `include :`, with the part that has been typed.
    FileName(BString),
    /// A value, with the name of its parameter.
    Value(BString),
    /// An expression in a transform command.
    Expression,
    /// An attribute name in a transform command.
    Attribute,
    /// A universe name after `UNIVERSE`.
    Universe,
    /// Any other position: nothing is offered.
    Unknown,
}

/// Returns the completions at a position.
pub fn complete(query: &DocumentQuery<'_>, position: Position) -> CompletionList {
    let offset = query.offset(position);
    let before = logical_line_before(query.document.text(), offset);
    let context = match query.language {
        DocumentLanguage::Unchecked => CompletionContext::Unknown,
        DocumentLanguage::Rules => rule_context(&before),
        DocumentLanguage::Config => match enclosing_block(query, offset) {
            Some(name) if is_rules_parameter(&name) => rule_context(&before),
            Some(name) => value_context(&before, &name),
            None => config_context(&before),
        },
    };
    let typed = typed_word_length(&before, &context);
    let mut items = ItemCollector::new(query, offset, &before, typed);
    items.add_context(query, &context);
    items.finish()
}

/// Returns the logical line up to the cursor, with continued lines joined and leading blanks removed.
fn logical_line_before(text: &[u8], offset: usize) -> Vec<u8> {
    let line_start = |end: usize| memchr::memrchr(b'\n', &text[..end]).map_or(0, |newline| newline + 1);
    let mut start = line_start(offset);
    let mut before = trim_start(&text[start..offset]).to_vec();
    while start > 0 {
        let end = start - 1;
        start = line_start(end);
        let line = text[start..end].trim();
        let Some(line) = line.strip_suffix(b"\\").filter(|_| !line.starts_with(b"#")) else { break };
        before = [line, &before].concat();
    }
    before
}

/// Returns the parameter whose `@=` block contains an offset, or `None` if the offset is not in a block.
fn enclosing_block(query: &DocumentQuery<'_>, offset: usize) -> Option<BString> {
    let text = query.document.text();
    let line_start = memchr::memrchr(b'\n', &text[..offset]).map_or(0, |newline| newline + 1);
    query.statements.iter().find_map(|statement| match &statement.syntax {
        StatementSyntax::Block { name, tag, .. } => {
            let first_line_end = statement.line.whole_span().end as usize;
            let last_line = trim_start(statement.span.slice(text).lines().next_back().unwrap_or_default());
            let is_closed = last_line.strip_prefix(b"@") == Some(statement.text(tag));
            let end = if is_closed { statement.span.end as usize } else { text.len() + 1 };
            (first_line_end < line_start && line_start < end).then(|| statement.text(name).into())
        }
        _ => None,
    })
}

/// Returns the context if the cursor is inside a macro reference, or `None` if it is not.
fn macro_context(before: &[u8]) -> Option<CompletionContext> {
    let dollar = memchr::memrchr(b'$', before)?;
    let rest = &before[dollar + 1..];
    let function = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    match rest.get(function) {
        None => Some(CompletionContext::MacroFunction),
        Some(b'(') => {
            let body = &rest[function + 1..];
            let is_name = body.iter().all(|&byte| statement::is_name_byte(byte));
            let takes_name =
                !matches!(&rest[..function], b"ENV" | b"RANDOM_CHOICE" | b"RANDOM_INTEGER" | b"EVAL");
            (is_name && takes_name).then_some(CompletionContext::MacroName)
        }
        Some(_) => None,
    }
}

fn config_context(before: &[u8]) -> CompletionContext {
    if before.starts_with(b"#") {
        return CompletionContext::Unknown;
    }
    if let Some(context) = macro_context(before) {
        return context;
    }
    let word_length = before.iter().take_while(|byte| !is_space(**byte) && !b"=:".contains(byte)).count();
    let (word, rest) = before.split_at(word_length);
    if rest.is_empty() {
        return CompletionContext::StatementStart;
    }
    if rest.first().copied().is_some_and(is_space)
        && (caseless::eq(word, b"if") || caseless::eq(word, b"elif"))
    {
        return CompletionContext::Condition;
    }
    let Ok(split) = statement::split_line(before) else {
        let is_use = caseless::eq(word, b"use") || caseless::eq(word, b"@use");
        let has_one_word = rest.split(|&byte| is_space(byte)).filter(|word| !word.is_empty()).count() <= 1;
        return match is_use && has_one_word {
            true => CompletionContext::Category,
            false => CompletionContext::Unknown,
        };
    };
    match statement::statement_keyword(&split) {
        Some(StatementKeyword::Use) => CompletionContext::Template(split.words.into()),
        Some(StatementKeyword::Include) => CompletionContext::FileName(split.value.into()),
        Some(StatementKeyword::Error | StatementKeyword::Warning) => CompletionContext::Unknown,
        None if split.operator == statement::StatementOperator::Here => CompletionContext::Unknown,
        None => CompletionContext::Value(split.name.into()),
    }
}

fn value_context(before: &[u8], name: &[u8]) -> CompletionContext {
    macro_context(before).unwrap_or_else(|| CompletionContext::Value(name.into()))
}

fn rule_context(before: &[u8]) -> CompletionContext {
    if before.starts_with(b"#") {
        return CompletionContext::Unknown;
    }
    if let Some(context) = macro_context(before) {
        return context;
    }
    let mut words = before.splitn(2, |&byte| is_space(byte));
    let keyword = words.next().unwrap_or_default();
    let Some(rest) = words.next().map(trim_start) else { return CompletionContext::RuleStart };
    let is = |known: &[&str]| known.iter().any(|word| keyword.eq_ignore_ascii_case(word.as_bytes()));
    let is_first_word = !rest.iter().any(|&byte| is_space(byte));
    match () {
        () if is(&["REQUIREMENTS"]) => CompletionContext::Expression,
        () if is(&["UNIVERSE"]) => CompletionContext::Universe,
        () if is(&["if", "elif"]) => CompletionContext::Condition,
        () if is(&["SET", "DEFAULT", "EVALSET", "COPY", "RENAME", "DELETE"]) && is_first_word => {
            CompletionContext::Attribute
        }
        () if is(&["SET", "DEFAULT", "EVALSET", "EVALMACRO"]) && !is_first_word => {
            CompletionContext::Expression
        }
        () if is(&["COPY", "RENAME"]) => CompletionContext::Attribute,
        () => CompletionContext::Unknown,
    }
}

/// Returns the length of the word directly before the cursor.
fn typed_word_length(before: &[u8], context: &CompletionContext) -> usize {
    let is_part: fn(u8) -> bool = match context {
        CompletionContext::Attribute | CompletionContext::Expression => {
            |byte| byte.is_ascii_alphanumeric() || byte == b'_'
        }
        CompletionContext::FileName(_) => |byte| !is_space(byte) && byte != b'/',
        CompletionContext::Value(_) => |byte| byte.is_ascii_alphanumeric() || byte == b'_',
        CompletionContext::MacroFunction => {
            |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
        }
        _ => statement::is_name_byte,
    };
    before.iter().rev().take_while(|&&byte| is_part(byte)).count()
}

/// Collector of the items that begin with the typed word.
struct ItemCollector {
    typed: BString,
    /// True if `MY.` or `TARGET.` precedes the word.
    is_selected: bool,
    range: lsp_types::Range,
    items: Vec<CompletionItem>,
}

impl ItemCollector {
    fn new(query: &DocumentQuery<'_>, offset: usize, before: &[u8], typed: usize) -> Self {
        let start = before.len() - typed;
        let word = BString::from(&before[start..]);
        // A subsystem prefix before the name is kept.
        let name_part = match memchr::memrchr(b'.', &word) {
            Some(dot) => BString::from(&word[dot + 1..]),
            None => word,
        };
        let span = Span::new(offset - name_part.len().min(offset), offset);
        let selected = [&b"MY."[..], b"TARGET."].iter().any(|scope| {
            before[..start].len() >= scope.len() && caseless::eq(&before[start - scope.len()..start], scope)
        });
        ItemCollector { typed: name_part, is_selected: selected, range: query.range(span), items: Vec::new() }
    }

    fn finish(self) -> CompletionList {
        // Items that do not begin with the typed word are missing, so the editor must ask again when it changes.
        CompletionList { is_incomplete: !self.typed.is_empty(), items: self.items }
    }

    /// Returns true if a label begins with the typed word.
    fn begins_with_typed_word(&self, label: &str) -> bool {
        caseless::starts_with(label.as_bytes(), &self.typed)
    }

    fn add(&mut self, label: &str, kind: CompletionItemKind, detail: Option<String>, text: Option<&str>) {
        if !self.begins_with_typed_word(label) {
            return;
        }
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail,
            documentation: text.map(|text| Documentation::String(text.to_owned())),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(self.range, label.to_owned()))),
            ..CompletionItem::default()
        });
    }

    fn add_context(&mut self, query: &DocumentQuery<'_>, context: &CompletionContext) {
        match context {
            CompletionContext::StatementStart => {
                self.add_keywords();
                self.add_parameters(query);
            }
            CompletionContext::RuleStart => self.add_commands(),
            CompletionContext::MacroName => self.add_macros(query),
            CompletionContext::MacroFunction => self.add_macro_functions(),
            CompletionContext::Category => self.add_categories(),
            CompletionContext::Template(category) => self.add_templates(category),
            CompletionContext::Condition => {
                for word in ["defined", "version", "true", "false"] {
                    self.add(word, CompletionItemKind::KEYWORD, None, None);
                }
                self.add_macros(query);
            }
            CompletionContext::FileName(typed) => self.add_files(query, typed),
            CompletionContext::Value(name) => self.add_values(query, name),
            CompletionContext::Expression => self.add_expression(),
            CompletionContext::Attribute => self.add_attributes(),
            CompletionContext::Universe => {
                for universe in vocabulary::UNIVERSES {
                    self.add(universe, CompletionItemKind::ENUM_MEMBER, None, None);
                }
            }
            CompletionContext::Unknown => {}
        }
    }

    fn add_keywords(&mut self) {
        for (word, text) in vocabulary::KEYWORDS {
            self.add(word, CompletionItemKind::KEYWORD, None, Some(text));
        }
    }

    fn add_commands(&mut self) {
        for (word, text) in vocabulary::COMMANDS {
            self.add(word, CompletionItemKind::KEYWORD, None, Some(text));
        }
        for word in ["if", "elif", "else", "endif", "include"] {
            self.add(word, CompletionItemKind::KEYWORD, None, vocabulary::keyword_text(word.as_bytes()));
        }
    }

    fn add_macro_functions(&mut self) {
        // The typed word includes the dollar sign.
        for (name, text) in vocabulary::MACRO_FUNCTIONS {
            self.add(&format!("${name}("), CompletionItemKind::FUNCTION, None, Some(text));
        }
        self.add("$(", CompletionItemKind::FUNCTION, None, Some("Value of a macro"));
    }

    fn add_parameters(&mut self, query: &DocumentQuery<'_>) {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for parameter in registry::all().filter(|parameter| !parameter.is_family()) {
            known.insert(parameter.name.to_ascii_lowercase());
            // Descriptions are looked up only for the names that match, because the lookup is slow.
            if !self.begins_with_typed_word(parameter.name) {
                continue;
            }
            let text = registry::description(parameter.name.as_bytes()).map(|description| description.text);
            self.add(parameter.name, CompletionItemKind::PROPERTY, Some(detail(&parameter)), text);
        }
        let Some(configuration) = query.configuration else { return };
        for entry in configuration.config().set.entries().filter(|entry| entry.current.is_user_written()) {
            let name = unqualified_name(&entry.name).to_str_lossy();
            if known.insert(name.to_ascii_lowercase()) {
                self.add(&name, CompletionItemKind::VARIABLE, None, None);
            }
        }
    }

    fn add_macros(&mut self, query: &DocumentQuery<'_>) {
        let mut names: BTreeSet<(String, String)> = BTreeSet::new();
        let mut insert = |name: &[u8]| {
            let name = name.to_str_lossy().into_owned();
            names.insert((name.to_ascii_lowercase(), name));
        };
        if let Some(configuration) = query.configuration {
            let set = &configuration.config().set;
            set.entries().for_each(|entry| insert(&entry.name));
            set.detected(query.world).for_each(|(name, _)| insert(name));
        }
        query.statements.iter().filter_map(|one| one.assigned_name()).for_each(&mut insert);
        defaults::all().for_each(|parameter| insert(parameter.name()));
        let mut last = String::new();
        for (key, name) in names {
            if key != last {
                self.add(&name, CompletionItemKind::VARIABLE, None, None);
                last = key;
            }
        }
    }

    fn add_categories(&mut self) {
        let mut names: Vec<&[u8]> = template::all().map(|one| one.category()).collect();
        names.dedup();
        for name in names {
            self.add(&name.to_str_lossy(), CompletionItemKind::MODULE, None, None);
        }
    }

    fn add_templates(&mut self, category: &[u8]) {
        let Some(known) = template::find_category(category.trim()) else { return };
        for one in template::all().filter(|one| one.category() == known) {
            let body = one.body().to_str_lossy().into_owned();
            let arguments = template::has_arguments(&one.body()).then(|| "with arguments".to_owned());
            self.add(&one.name().to_str_lossy(), CompletionItemKind::MODULE, arguments, Some(&body));
        }
    }

    fn add_files(&mut self, query: &DocumentQuery<'_>, typed: &[u8]) {
        let directory = match memchr::memrchr(b'/', typed) {
            Some(slash) => &typed[..=slash],
            None => b".",
        };
        let directory = match query.configuration {
            Some(configuration) => configuration.config().view(query.world).expand(directory).ok(),
            None => None,
        };
        let Some(directory) = directory else { return };
        let directory = directory.to_path_lossy().into_owned();
        let mut names = query.world.list_dir(&directory).unwrap_or_default();
        names.sort();
        for name in names {
            let status = query.world.stat(&directory.join(&name));
            let kind = match status.map(|status| status.kind) {
                Ok(FileKind::Directory) => CompletionItemKind::FOLDER,
                _ => CompletionItemKind::FILE,
            };
            if let Some(name) = name.to_str() {
                self.add(name, kind, None, None);
            }
        }
    }

    fn add_values(&mut self, query: &DocumentQuery<'_>, name: &[u8]) {
        if let Some((before, after)) = listed_parameters(name) {
            self.add_listed_names(query, before, after);
            return;
        }
        let parameter = registry::find(name);
        if let Some(parameter) = &parameter {
            for word in known_words(parameter) {
                self.add(word, CompletionItemKind::ENUM_MEMBER, None, None);
            }
            if parameter.value_type == ValueType::SlotShares {
                for word in ["cpus=", "memory=", "disk=", "swap=", "gpus=", "auto"] {
                    self.add(word, CompletionItemKind::ENUM_MEMBER, None, None);
                }
            }
        }
        let is_plain = matches!(
            parameter.map(|parameter| parameter.value_type),
            Some(
                ValueType::Boolean
                    | ValueType::LenientBoolean
                    | ValueType::Integer
                    | ValueType::Long
                    | ValueType::Real
            )
        );
        // An unknown parameter may be published as an attribute, or be used inside an expression.
        if !is_plain && is_expression_value(name, b"=") {
            self.add_expression();
        }
    }

    fn add_listed_names(&mut self, query: &DocumentQuery<'_>, before: &str, after: &str) {
        let Some(configuration) = query.configuration else { return };
        for entry in configuration.config().set.entries() {
            let name = unqualified_name(&entry.name);
            let listed = caseless::strip_prefix(name, before.as_bytes()).and_then(|rest| {
                let length = rest.len().checked_sub(after.len())?;
                caseless::eq(&rest[length..], after.as_bytes()).then(|| &rest[..length])
            });
            if let Some(listed) =
                listed.filter(|listed| !listed.is_empty() && !caseless::eq(listed, b"NAMES"))
            {
                self.add(&listed.to_str_lossy(), CompletionItemKind::REFERENCE, None, None);
            }
        }
    }

    fn add_expression(&mut self) {
        if !self.is_selected {
            for name in htc_classad::function_names() {
                let text = find_function(name.as_bytes());
                let signature = text.map(|text| text.signature.to_owned());
                self.add(name, CompletionItemKind::FUNCTION, signature, text.map(|text| text.description));
            }
            for word in ["true", "false", "undefined", "error"] {
                self.add(word, CompletionItemKind::CONSTANT, None, None);
            }
            for scope in ["MY", "TARGET"] {
                self.add(scope, CompletionItemKind::KEYWORD, None, vocabulary::scope_text(scope.as_bytes()));
            }
        }
        self.add_attributes();
    }

    fn add_attributes(&mut self) {
        for name in attribute_names() {
            if !self.begins_with_typed_word(name) {
                continue;
            }
            self.add(name, CompletionItemKind::FIELD, None, attribute_description(name.as_bytes()));
        }
    }
}

/// Returns type and default of a parameter.
fn detail(parameter: &RegisteredParameter) -> String {
    match registry::default_value(parameter.name.as_bytes()).filter(|default| !default.is_empty()) {
        Some(default) => {
            let default = default.to_str_lossy();
            let end = default.char_indices().nth(60).map_or(default.len(), |(at, _)| at);
            format!("{} [default: {}]", parameter.value_type.name(), default[..end].replace('\n', " "))
        }
        None => parameter.value_type.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// Returns the context at the end of a line and the range of the typed word.
    fn context_of(line: &str) -> (CompletionContext, Range<usize>) {
        let before = logical_line_before(line.as_bytes(), line.len());
        let context = config_context(&before);
        let typed = typed_word_length(&before, &context);
        (context, before.len() - typed..before.len())
    }

    #[test]
    fn the_text_before_the_cursor_determines_the_completion() {
        for (line, context, typed) in [
            ("STA", CompletionContext::StatementStart, 3),
            ("  STARTD.ST", CompletionContext::StatementStart, 9),
            ("A = $(NA", CompletionContext::MacroName, 2),
            ("A = $(B) $", CompletionContext::MacroFunction, 1),
            ("A = $INT(X", CompletionContext::MacroName, 1),
            ("A = $ENV(X", CompletionContext::Value("A".into()), 1),
            ("A = $(B) x", CompletionContext::Value("A".into()), 1),
            ("use FEA", CompletionContext::Category, 3),
            ("use ", CompletionContext::Category, 0),
            ("use FEATURE : GP", CompletionContext::Template("FEATURE".into()), 2),
            ("if def", CompletionContext::Condition, 3),
            ("include : /etc/con", CompletionContext::FileName("/etc/con".into()), 3),
            ("START = one \\\n  && tw", CompletionContext::Value("START".into()), 2),
            ("# a", CompletionContext::Unknown, 1),
            ("A @=en", CompletionContext::Unknown, 2),
        ] {
            let (found, range) = context_of(line);
            assert_eq!((found, range.len()), (context, typed), "{line}");
        }
    }

    #[test]
    fn lines_of_routes_have_their_own_contexts() {
        for (line, context) in [
            ("SE", CompletionContext::RuleStart),
            ("SET Req", CompletionContext::Attribute),
            ("SET A Owner", CompletionContext::Expression),
            ("REQUIREMENTS Ow", CompletionContext::Expression),
            ("UNIVERSE gr", CompletionContext::Universe),
            ("SET A $(x", CompletionContext::MacroName),
            ("NAME x", CompletionContext::Unknown),
        ] {
            assert_eq!(rule_context(line.as_bytes()), context, "{line}");
        }
    }
}
