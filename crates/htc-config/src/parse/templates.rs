//! `use CATEGORY : NAME`: executes the statements of templates (`config.cpp`, `read_meta_config`).

use std::borrow::Cow;

use bstr::BStr;

use crate::condition::IfStack;
use crate::lines::LogicalLine;
use crate::loader::{LoadFailure, Loader, MAX_NESTING, MacroSetLookup, TemplateFailure};
use crate::macro_definition::{DefinitionPlace, TemplateLine};
use crate::parse::frame::SourceFrame;
use crate::statement::{self, SplitLine, StatementOperator};
use crate::template::{self, Template};
use htc_base::text::caseless;
use htc_base::text::space::{is_space, trim, trim_start};

/// Place of a `use`, and its depth.
#[derive(Clone, Copy)]
pub(crate) struct TemplateUse {
    pub place: DefinitionPlace,
    pub depth: u32,
}

/// A value of several lines whose end has not been read yet.
struct TemplateBlock<'t> {
    name: &'t [u8],
    tag: &'t [u8],
    lines: Vec<&'t [u8]>,
}

impl Loader<'_> {
    /// Processes `use CATEGORY : NAME`.
    pub(super) fn process_use(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
        split: &SplitLine<'_>,
    ) -> Result<(), LoadFailure> {
        let after = trim_start(&text[split.name.len()..]);
        let between = &text[split.name.len()..split.operator_at];
        // If there is no blank before the colon, the reference's category extends to the end of the line.
        let category = match () {
            // After more than one blank, the reference's category begins with the colon itself.
            () if split.words.is_empty() && between.len() >= 2 => trim(&text[split.operator_at..]),
            () if split.words.is_empty() => &b""[..],
            () if between.last().is_some_and(|&b| is_space(b)) => split.words,
            () => after,
        };
        let category = self.expand_in_frame(frame, line, category)?;
        let place = frame.place(line.line, line.locate(0, 0).start);
        let used = TemplateUse { place, depth: frame.depth + 1 };
        if let Err(failure) = self.apply_templates(category.as_ref(), split.value, used) {
            let name = self.source_name(frame.source);
            self.push_error_line(format!(
                "Config source Error \"{name}\", Line {}: at use {category}:{}",
                line.line,
                BStr::new(split.value)
            ));
            let start = text.len() - split.value.len();
            let mut outer = LoadFailure::new(line.line).with_location(self.line_location(
                frame,
                line,
                start,
                line.text.len(),
            ));
            outer.hint = failure.hint;
            return Err(outer);
        }
        Ok(())
    }

    /// Applies the templates of one `use` (`config.cpp`, `read_meta_config`).
    fn apply_templates(
        &mut self,
        category: &BStr,
        names: &[u8],
        used: TemplateUse,
    ) -> Result<(), LoadFailure> {
        if category.is_empty() {
            self.push_error_line(format!("Error: use needs a keyword before : {}", BStr::new(names)));
            return Err(LoadFailure::new(0));
        }
        let plain = category.split(|&b| b == b':').next().unwrap_or_default();
        let Some(known) = template::find_category(plain) else {
            let categories = "EXPERIMENTAL, FEATURE, POLICY, ROLE, SECURITY";
            return Err(
                LoadFailure::new(0).with_hint(format!("the categories of templates are {categories}"))
            );
        };
        let mut rest = names;
        let mut last: Option<template::UsedTemplate<'_>> = None;
        while !rest.is_empty() {
            let found = match template::next_used_template(rest) {
                Some((found, after)) => {
                    rest = after;
                    found
                }
                // Only commas and blanks are left: the reference applies the previous template again.
                None => match last.take() {
                    Some(found) if rest.contains(&b',') => {
                        rest = b"";
                        found
                    }
                    _ => break,
                },
            };
            let Some(template) = template::find(known, found.name) else {
                self.push_error_line(format!(
                    "Error: use {category}: does not recognise {}",
                    BStr::new(found.name)
                ));
                let hint = nearest_template(known, found.name);
                let failure = LoadFailure::new(0);
                return Err(match hint {
                    Some(name) => failure.with_hint(format!("did you mean {}?", BStr::new(&name))),
                    None => failure,
                });
            };
            self.apply_template(category, template, &found, used)?;
            last = Some(found);
        }
        Ok(())
    }

    fn apply_template(
        &mut self,
        category: &BStr,
        template: Template,
        found: &template::UsedTemplate<'_>,
        used: TemplateUse,
    ) -> Result<(), LoadFailure> {
        let raw = template.body();
        let body = if !found.arguments.is_empty() || template::has_arguments(&raw) {
            match template::insert_arguments(&raw, found.arguments) {
                Ok(body) => Cow::Owned(body.into()),
                Err(template::EndlessArguments) => {
                    let name = BStr::new(found.name);
                    self.push_error_line(format!(
                        "Error: use {category}: {name} is given an argument that inserts itself"
                    ));
                    return Err(LoadFailure::new(0));
                }
            }
        } else {
            raw
        };
        self.process_template(template, &body, used).map_err(|failure| {
            let name = BStr::new(found.name);
            match failure {
                TemplateFailure::Invalid => self.push_error_line(format!(
                    "Internal Configuration Error: use {category}: {name} is invalid"
                )),
                TemplateFailure::TooDeep => self
                    .push_error_line(format!("Configuration Error: use {category}: {name} nesting too deep")),
                TemplateFailure::AlreadyReported => {}
            }
            LoadFailure { template: failure, ..LoadFailure::new(0) }
        })
    }

    /// Executes the statements of a template (`config.cpp`, `Parse_config_string`).
    pub(crate) fn process_template(
        &mut self,
        template: Template,
        body: &[u8],
        used: TemplateUse,
    ) -> Result<(), TemplateFailure> {
        let mut ifs = IfStack::new();
        let mut open: Option<TemplateBlock> = None;
        let lines = body.split(|&b| b == b'\n').map(trim).filter(|line| !line.is_empty());
        for (number, line) in (0..).zip(lines) {
            let template = Some(TemplateLine { index: template.index(), line: number });
            let used = TemplateUse { place: DefinitionPlace { template, ..used.place }, ..used };
            if line.starts_with(b"#") {
                continue;
            }
            match open.take() {
                Some(block) if line.strip_prefix(b"@") == Some(block.tag) => {
                    self.define_in_template(block.name, &block.lines.join(&b'\n'), used.place)?;
                }
                Some(mut block) => {
                    block.lines.push(line);
                    open = Some(block);
                }
                None if self.is_active_statement(line, &mut ifs)? => {
                    open = self.process_template_statement(line, used)?
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Returns true if a line is a statement to execute: not an `if` line, and not inside a false `if`.
    fn is_active_statement(&mut self, line: &[u8], ifs: &mut IfStack) -> Result<bool, TemplateFailure> {
        let mut messages = Vec::new();
        let source = MacroSetLookup { set: &self.set, context: &self.context, world: self.world };
        let result = ifs.process_line(line, &source, self.world, &mut |message| messages.push(message));
        self.warn_messages(messages);
        match result {
            Err(_) => Err(TemplateFailure::Invalid),
            Ok(true) => Ok(false),
            Ok(false) => Ok(ifs.is_enabled()),
        }
    }

    /// Executes one statement; returns the block that it begins.
    fn process_template_statement<'t>(
        &mut self,
        line: &'t [u8],
        used: TemplateUse,
    ) -> Result<Option<TemplateBlock<'t>>, TemplateFailure> {
        let rest = (caseless::starts_with(line, b"use ")).then(|| trim_start(&line[4..]));
        let (name, operator, text) =
            statement::split_template_line(rest.unwrap_or(line)).ok_or(TemplateFailure::Invalid)?;
        if operator == Some(StatementOperator::Colon) && caseless::eq(name, b"error") {
            let shown = self.expand(text).unwrap_or_else(|_| text.into());
            self.push_error_line(format!(" Error : {shown}"));
            return Err(TemplateFailure::AlreadyReported);
        }
        if operator == Some(StatementOperator::Colon) && caseless::eq(name, b"warning") {
            // The reference prints the warning and also executes the statement.
            let shown = self.expand(text).unwrap_or_else(|_| text.into());
            self.warn(format!(" Warning : {shown}"));
        }
        if rest.is_some() {
            if used.depth >= MAX_NESTING {
                return Err(TemplateFailure::TooDeep);
            }
            let nested = TemplateUse { depth: used.depth + 1, ..used };
            self.apply_templates(name.into(), text, nested).map_err(|failure| failure.template)?;
            return Ok(None);
        }
        if !statement::is_valid_name(name) {
            return Err(TemplateFailure::Invalid);
        }
        if operator == Some(StatementOperator::Here) {
            return Ok(Some(TemplateBlock { name, tag: text, lines: Vec::new() }));
        }
        let value = self.appended_value(name, operator.unwrap_or(StatementOperator::Equal), text);
        self.define_in_template(name, &value, used.place)?;
        Ok(None)
    }

    fn define_in_template(
        &mut self,
        name: &[u8],
        value: &[u8],
        place: DefinitionPlace,
    ) -> Result<(), TemplateFailure> {
        self.define(name, value, place).map_err(|error| {
            self.push_error_line(format!("Configuration Error: {}: {error}", BStr::new(name)));
            TemplateFailure::AlreadyReported
        })
    }
}

/// Returns the name of the template in a category that is most similar to `name`.
fn nearest_template(category: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let names = template::all().filter(|template| template.category() == category).map(Template::name);
    htc_base::text::similar_names::nearest(name, names).map(<[u8]>::to_vec)
}
