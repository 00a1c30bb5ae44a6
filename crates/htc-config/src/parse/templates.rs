//! `use CATEGORY : NAME`: the statements of templates (`config.cpp`, `read_meta_config`).

use std::borrow::Cow;

use bstr::BStr;

use crate::condition::IfStack;
use crate::lines::LogicalLine;
use crate::loader::{Loader, MAX_NESTING, SetSource, Stop, TemplateFailure};
use crate::macro_set::{Place, TemplateLine};
use crate::parse::frame::Frame;
use crate::statement::{self, Operator, Split};
use crate::template::{self, Template};
use htc_base::text::caseless;
use htc_base::text::space::{is_space, trim, trim_start};

/// Where a `use` stands, and within how many others.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    pub place: Place,
    pub depth: u32,
}

/// A value of several lines whose end has not come yet.
struct Block<'t> {
    name: &'t [u8],
    tag: &'t [u8],
    lines: Vec<&'t [u8]>,
}

impl Loader<'_> {
    /// `use CATEGORY : NAME`.
    pub(super) fn use_statement(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
        split: &Split<'_>,
    ) -> Result<(), Stop> {
        let after = trim_start(&text[split.name.len()..]);
        let between = &text[split.name.len()..split.operator_at];
        // Without a blank before the colon the reference's category runs to the end of the line.
        let category = match () {
            () if split.words.is_empty() => &b""[..],
            () if between.last().is_some_and(|&b| is_space(b)) => split.words,
            () => after,
        };
        let category = self.expanded(frame, line, category)?;
        let place = frame.place(line.line, line.locate(0, 0).start);
        let used = Used { place, depth: frame.depth + 1 };
        if let Err(stop) = self.apply_templates(category.as_ref(), split.value, used) {
            let name = self.source_name(frame.source);
            self.error_line(format!(
                "Config source Error \"{name}\", Line {}: at use {category}:{}",
                line.line,
                BStr::new(split.value)
            ));
            let start = text.len() - split.value.len();
            let mut outer = Stop::new(line.line).at(self.place_in(frame, line, start, line.text.len()));
            outer.hint = stop.hint;
            return Err(outer);
        }
        Ok(())
    }

    /// The templates of one `use` (`config.cpp`, `read_meta_config`).
    fn apply_templates(&mut self, category: &BStr, names: &[u8], used: Used) -> Result<(), Stop> {
        if category.is_empty() {
            self.error_line(format!("Error: use needs a keyword before : {}", BStr::new(names)));
            return Err(Stop::new(0));
        }
        let plain = category.split(|&b| b == b':').next().unwrap_or_default();
        let Some(known) = template::category(plain) else {
            let known = "EXPERIMENTAL, FEATURE, POLICY, ROLE, SECURITY";
            return Err(Stop::new(0).hint(format!("the categories of templates are {known}")));
        };
        let mut rest = names;
        let mut last: Option<template::Use<'_>> = None;
        while !rest.is_empty() {
            let found = match template::next_use(rest) {
                Some((found, after)) => {
                    rest = after;
                    found
                }
                // Only commas and blanks are left: the reference applies the name before once more.
                None => match last.take() {
                    Some(found) if rest.contains(&b',') => {
                        rest = b"";
                        found
                    }
                    _ => break,
                },
            };
            let Some(template) = template::find(known, found.name) else {
                self.error_line(format!(
                    "Error: use {category}: does not recognise {}",
                    BStr::new(found.name)
                ));
                let hint = nearest_template(known, found.name);
                let stop = Stop::new(0);
                return Err(match hint {
                    Some(name) => stop.hint(format!("did you mean {}?", BStr::new(&name))),
                    None => stop,
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
        found: &template::Use<'_>,
        used: Used,
    ) -> Result<(), Stop> {
        let raw = template.body();
        let body = if !found.arguments.is_empty() || template::has_arguments(&raw) {
            match template::put_arguments(&raw, found.arguments) {
                Ok(body) => Cow::Owned(body.into()),
                Err(template::EndlessArguments) => {
                    let name = BStr::new(found.name);
                    self.error_line(format!(
                        "Error: use {category}: {name} is given an argument that inserts itself"
                    ));
                    return Err(Stop::new(0));
                }
            }
        } else {
            raw
        };
        self.parse_template(template, &body, used).map_err(|failure| {
            let name = BStr::new(found.name);
            match failure {
                TemplateFailure::Invalid => self
                    .error_line(format!("Internal Configuration Error: use {category}: {name} is invalid")),
                TemplateFailure::TooDeep => {
                    self.error_line(format!("Configuration Error: use {category}: {name} nesting too deep"))
                }
                TemplateFailure::Said => {}
            }
            Stop { template: failure, ..Stop::new(0) }
        })
    }

    /// The statements of a template (`config.cpp`, `Parse_config_string`).
    pub(crate) fn parse_template(
        &mut self,
        template: Template,
        body: &[u8],
        used: Used,
    ) -> Result<(), TemplateFailure> {
        let mut ifs = IfStack::new();
        let mut open: Option<Block> = None;
        let lines = body.split(|&b| b == b'\n').map(trim).filter(|line| !line.is_empty());
        for (number, line) in (0..).zip(lines) {
            let template = Some(TemplateLine { index: template.index(), line: number });
            let used = Used { place: Place { template, ..used.place }, ..used };
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
                None if self.is_live(line, &mut ifs)? => open = self.template_statement(line, used)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Whether a line is a statement that is carried out: no condition, nor in one that is false.
    fn is_live(&mut self, line: &[u8], ifs: &mut IfStack) -> Result<bool, TemplateFailure> {
        let mut messages = Vec::new();
        let source = SetSource { set: &self.set, who: &self.who, world: self.world };
        let result = ifs.line(line, &source, self.world, &mut |message| messages.push(message));
        self.warn_messages(messages);
        match result {
            Some(Err(_)) => Err(TemplateFailure::Invalid),
            Some(Ok(())) => Ok(false),
            None => Ok(ifs.enabled()),
        }
    }

    /// One statement; the block that it begins.
    fn template_statement<'t>(
        &mut self,
        line: &'t [u8],
        used: Used,
    ) -> Result<Option<Block<'t>>, TemplateFailure> {
        let rest = (caseless::starts_with(line, b"use ")).then(|| trim_start(&line[4..]));
        let (name, operator, text) =
            statement::split_in_template(rest.unwrap_or(line)).ok_or(TemplateFailure::Invalid)?;
        if operator == Some(Operator::Colon) && caseless::eq(name, b"error") {
            let shown = self.expand(text).unwrap_or_else(|_| text.into());
            self.error_line(format!(" Error : {shown}"));
            return Err(TemplateFailure::Said);
        }
        if operator == Some(Operator::Colon) && caseless::eq(name, b"warning") {
            // The statement is carried out, too.
            let shown = self.expand(text).unwrap_or_else(|_| text.into());
            self.warn(format!(" Warning : {shown}"));
        }
        if rest.is_some() {
            if used.depth >= MAX_NESTING {
                return Err(TemplateFailure::TooDeep);
            }
            let within = Used { depth: used.depth + 1, ..used };
            self.apply_templates(name.into(), text, within).map_err(|stop| stop.template)?;
            return Ok(None);
        }
        if !statement::is_valid_name(name) {
            return Err(TemplateFailure::Invalid);
        }
        if operator == Some(Operator::Here) {
            return Ok(Some(Block { name, tag: text, lines: Vec::new() }));
        }
        let value = self.appended(name, operator.unwrap_or(Operator::Equal), text);
        self.define_in_template(name, &value, used.place)?;
        Ok(None)
    }

    fn define_in_template(&mut self, name: &[u8], value: &[u8], place: Place) -> Result<(), TemplateFailure> {
        self.define(name, value, place).map_err(|error| {
            self.error_line(format!("Configuration Error: {}: {error}", BStr::new(name)));
            TemplateFailure::Said
        })
    }
}

/// The template of a category that is nearest to a name.
fn nearest_template(category: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let names = template::all().filter(|template| template.category() == category).map(Template::name);
    htc_base::text::similar::nearest(name, names).map(<[u8]>::to_vec)
}
