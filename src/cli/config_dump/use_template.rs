//! `use CATEGORY` and `use CATEGORY:NAME(arguments)`: prints templates (`config_val.cpp`, `PrintMetaParam`).

use bstr::{BStr, BString, ByteSlice};

use crate::config::template;
use crate::text::similar_names;

/// Returns the text that `use` prints for an argument, and a warning or `None`.
pub(super) fn render_template(argument: &[u8], expand: bool, verbose: bool) -> (Vec<u8>, Option<String>) {
    let mut warning = None;
    let (category, rest) = match argument.iter().position(|b| matches!(b, b'=' | b':')) {
        Some(at) => (&argument[..at], &argument[at + 1..]),
        None => match memchr::memchr(b'.', argument) {
            Some(dot) => {
                let mut corrected = argument.to_vec();
                corrected[dot] = b':';
                let (was, is) = (argument.as_bstr(), corrected.as_bstr());
                warning = Some(format!("{was} is not valid, assuming {is} was intended"));
                (&argument[..dot], &argument[dot + 1..])
            }
            None => (argument, &b""[..]),
        },
    };
    let mut out = Vec::new();
    let known = template::find_category(category);
    if let Some(known) = known.filter(|_| rest.is_empty()) {
        out.extend_from_slice(&[b"use ", known, b" accepts\n"].concat());
        for template in template::all().filter(|template| template.category() == known) {
            out.extend_from_slice(&[b"  ", template.name(), b"\n"].concat());
        }
        return (out, warning);
    }
    let used = template::next_used_template(rest).map(|(used, _)| used);
    let found = known.zip(used.as_ref()).and_then(|(known, used)| template::find(known, used.name));
    match (found, known, used) {
        (Some(found), Some(known), Some(used)) => {
            let body = found.body();
            if expand || !used.arguments.is_empty() {
                let body = substitute_arguments(&body, used.arguments);
                let verb: &[u8] = if expand { b" expands to\n" } else { b" is\n" };
                out.extend_from_slice(&[b"use ", known, b":", rest, verb].concat());
                if expand {
                    UseExpander { verbose, depth: 0, out: &mut out }.expand_body(&body);
                } else {
                    non_empty_lines(&body).for_each(|line| out.extend_from_slice(&[line, b"\n"].concat()));
                }
                out.push(b'\n');
            } else {
                out.extend_from_slice(&[b"use ", known, b":", found.name(), b" is\n", &body, b"\n"].concat());
            }
        }
        _ => {
            let name = if known.is_some() { [category, b":", rest].concat() } else { category.to_vec() };
            out.extend_from_slice(&[b"Not defined: use ", &name.to_ascii_uppercase()[..], b"\n"].concat());
        }
    }
    (out, warning)
}

/// Returns the names of the categories of templates.
pub(super) fn category_names() -> Vec<String> {
    let mut categories: Vec<String> =
        template::all().map(|template| template.category().to_str_lossy().into_owned()).collect();
    categories.sort();
    categories.dedup();
    categories
}

/// Returns a hint about a template that is not defined: a similar name, or the names of the categories.
pub(super) fn undefined_template_hint(argument: &[u8]) -> Option<String> {
    let text = argument.to_str().ok()?;
    let (category, name) = text.split_once([':', '=', '.']).unwrap_or((text, ""));
    let categories = category_names();
    let Some(known) = template::find_category(category.trim().as_bytes()) else {
        let lower: Vec<String> = categories.iter().map(|name| name.to_ascii_lowercase()).collect();
        let near =
            similar_names::nearest(category.trim().to_ascii_lowercase(), lower.iter().map(String::as_str));
        return Some(match near {
            Some(near) => format!("did you mean {}?", near.to_ascii_uppercase()),
            None => format!("the categories are {}", categories.join(", ")),
        });
    };
    let names =
        template::all().filter(|template| template.category() == known).map(|template| template.name());
    let name = name.split('(').next().unwrap_or_default().trim();
    let near = similar_names::nearest(name.as_bytes(), names)?;
    Some(format!("did you mean {}:{}?", known.as_bstr(), near.as_bstr()))
}

fn substitute_arguments(body: &[u8], arguments: &[u8]) -> BString {
    template::insert_arguments(body, arguments).unwrap_or_else(|_| body.into())
}

/// Printer of template bodies. It replaces each `use` statement in a body by the content of the template.
struct UseExpander<'o> {
    verbose: bool,
    depth: usize,
    out: &'o mut Vec<u8>,
}

impl UseExpander<'_> {
    fn expand_body(&mut self, body: &[u8]) {
        for line in non_empty_lines(body) {
            let mut words = line.split(|b| b" \t:".contains(b)).filter(|word| !word.is_empty());
            let is_use = words.next() == Some(b"use");
            if !is_use || self.verbose {
                self.out.extend_from_slice(line);
                self.out.push(b'\n');
            }
            if is_use && self.depth < 20 {
                let category = words.next().unwrap_or_default();
                let names = words.next().map_or(&b""[..], |first| {
                    let at = first.as_ptr() as usize - line.as_ptr() as usize;
                    &line[at..]
                });
                self.depth += 1;
                self.expand_nested(category, names);
                self.depth -= 1;
            }
        }
    }

    fn expand_nested(&mut self, category: &[u8], names: &[u8]) {
        let (shown, rhs) = (BStr::new(category), BStr::new(names));
        if self.verbose {
            self.out.extend_from_slice(format!(" #begin-expanding# use {shown} : {rhs}\n").as_bytes());
        }
        let Some(known) = template::find_category(category) else {
            self.out.extend_from_slice(format!("error: {shown} is not a valid use category\n").as_bytes());
            return;
        };
        let mut rest = names;
        while let Some((wanted, after)) = template::next_used_template(rest) {
            rest = after;
            if let Some(found) = template::find(known, wanted.name) {
                self.expand_body(&substitute_arguments(&found.body(), wanted.arguments));
            }
        }
        if self.verbose {
            self.out.extend_from_slice(format!(" #end-expanding# use {shown} : {rhs}\n").as_bytes());
        }
    }
}

fn non_empty_lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}
