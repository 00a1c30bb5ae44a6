//! `$(...)` that never expands, and references to names that were probably meant otherwise.

use bstr::{BStr, BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::subject::Subject;
use htc_base::text::space::trim;
use htc_base::text::{bare_name, caseless};
use htc_classad::Expr;
use htc_config::expand::MAX_LENGTH;
use htc_config::finding::Finding;
use htc_config::macro_set::Definition;
use htc_config::reference::{self, Function, next_reference};
use htc_config::statement::is_name_byte;

pub(super) fn lint(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let mut lengths = Lengths::default();
    for entry in subject.written() {
        let definition = &entry.current;
        if memchr::memchr(b'$', &definition.raw).is_none() {
            continue;
        }
        never_expanded(subject, definition, findings);
        if lengths.is_finite(subject, &definition.raw) {
            // Expanding each of a long chain of values takes the square of its length.
        } else if let Err(error) = subject.view.expand_raw(&entry.name, &definition.raw) {
            let message = format!("{} cannot be expanded: {error}", entry.name);
            findings.push(subject.finding("endless", definition, None, message, None));
        }
        subject.view.take_messages();
        undefined(subject, definition, findings);
    }
}

/// How long values become at most, where that can be told without expanding them.
#[derive(Default)]
struct Lengths(FxHashMap<Vec<u8>, Length>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Being worked out: a value that refers to itself.
    Open,
    /// At most so many bytes.
    AtMost(usize),
    /// Not to be told like this.
    Unknown,
}

impl Lengths {
    /// Whether a value surely ends when it is expanded.
    fn is_finite(&mut self, subject: &Subject<'_>, raw: &[u8]) -> bool {
        matches!(self.of_value(subject, raw), Length::AtMost(_))
    }

    /// Works through the names that a value needs, one after the other, without recursion: chains may be long.
    fn of_value(&mut self, subject: &Subject<'_>, raw: &[u8]) -> Length {
        let mut waiting: Vec<Vec<u8>> = plain_references(raw).unwrap_or_default();
        while let Some(name) = waiting.pop() {
            let known = self.0.get(&name).copied();
            if matches!(known, Some(Length::AtMost(_) | Length::Unknown)) {
                continue;
            }
            let value = subject.view.raw_bytes(&name).unwrap_or_default();
            let needed = plain_references(&value);
            let missing: Vec<Vec<u8>> =
                needed.iter().flatten().filter(|one| !self.0.contains_key(*one)).cloned().collect();
            if known.is_none() && !missing.is_empty() {
                self.0.insert(name.clone(), Length::Open);
                waiting.push(name);
                waiting.extend(missing);
                continue;
            }
            let length = self.sum(&value, needed.as_deref());
            self.0.insert(name, length);
        }
        self.sum(raw, plain_references(raw).as_deref())
    }

    fn sum(&self, value: &[u8], needed: Option<&[Vec<u8>]>) -> Length {
        let mut total = value.len();
        for name in needed.into_iter().flatten() {
            match self.0.get(name) {
                Some(Length::AtMost(length)) => total = total.saturating_add(*length),
                _ => return Length::Unknown,
            }
        }
        match needed {
            Some(_) if total < MAX_LENGTH => Length::AtMost(total),
            _ => Length::Unknown,
        }
    }
}

/// The names that a value refers to, in lower case; `None` if it does more than that.
fn plain_references(raw: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |_, _| true) {
        let (name, default) = found.name_and_default(raw);
        if found.function != Function::Plain || default.is_some() {
            return None;
        }
        names.push(name.to_ascii_lowercase());
        at = found.end;
    }
    // What one reference leaves may make another.
    let dollars = memchr::memchr_iter(b'$', raw).count();
    (dollars == names.len()).then_some(names)
}

/// Whether a value is read in a language of its own, whose references are not those of the configuration alone:
/// routes, transforms, templates of submit files.
fn is_other_language(name: &[u8]) -> bool {
    let name = bare_name(name);
    ["JOB_ROUTER_", "JOB_TRANSFORM_", "SUBMIT_TEMPLATE_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// Whether the byte at `at` stands within the parentheses of a reference or function, where it is a default or an
/// argument that may never be looked at.
fn is_inside_reference(raw: &[u8], at: usize) -> bool {
    let mut open = Vec::new();
    for (n, &byte) in raw[..at.min(raw.len())].iter().enumerate() {
        match byte {
            b'(' => {
                let word =
                    raw[..n].iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                open.push(raw[..n - word].last() == Some(&b'$'));
            }
            b')' => drop(open.pop()),
            _ => {}
        }
    }
    open.contains(&true)
}

/// Whether a value holds a reference that never expands; what is said about that need not be said again.
pub(super) fn has_dead_reference(raw: &[u8]) -> bool {
    !dead_references(raw).is_empty()
}

/// What looks like a reference and is none.
struct Dead {
    start: usize,
    end: usize,
    why: String,
    fix: Option<String>,
}

fn never_expanded(subject: &Subject<'_>, definition: &Definition, findings: &mut Vec<Finding>) {
    let found = dead_references(&definition.raw);
    let effect = consequence(&definition.name).filter(|_| !found.is_empty()).filter(|_| {
        let value =
            subject.view.expand_raw(&definition.name, &definition.raw).unwrap_or_else(|_| BString::default());
        Expr::parse_with(value.trim(), subject.dialect()).is_err()
    });
    subject.view.take_messages();
    for dead in found {
        let text = BStr::new(&definition.raw[dead.start..dead.end]);
        let mut message = format!("'{text}' is never expanded: {}", dead.why);
        if let Some(effect) = effect {
            message.push_str(&format!("; the value is then no expression: {effect}"));
        }
        let part = Some((dead.start, dead.end));
        findings.push(subject.finding("never-expanded", definition, part, message, dead.fix));
    }
}

/// What comes of a policy that is no expression (`user_job_policy.cpp`, `UserPolicy::Config`).
pub(super) fn consequence(name: &[u8]) -> Option<&'static str> {
    let name = bare_name(name);
    [
        ("SYSTEM_PERIODIC_HOLD", "the schedd drops it without a word, no job is ever held by it"),
        ("SYSTEM_PERIODIC_RELEASE", "the schedd drops it without a word, no job is ever released by it"),
        ("SYSTEM_PERIODIC_REMOVE", "the schedd drops it without a word, no job is ever removed by it"),
        ("SYSTEM_PERIODIC_VACATE", "the schedd drops it without a word, no job is ever vacated by it"),
    ]
    .into_iter()
    .find(|(policy, _)| caseless::eq(policy.as_bytes(), name))
    .map(|(_, effect)| effect)
}

fn dead_references(raw: &[u8]) -> Vec<Dead> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(more) = memchr::memchr(b'$', &raw[at..]) {
        let dollar = at + more;
        at = dollar + 1;
        if raw.get(at) == Some(&b'$') {
            // `$$(...)` is for matched jobs; a third dollar begins anew.
            at += usize::from(raw.get(at + 1) != Some(&b'$'));
            continue;
        }
        let letters = raw[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if raw.get(at + letters) != Some(&b'(') {
            continue;
        }
        found.extend(dead_reference(raw, dollar, at + letters + 1));
    }
    found
}

/// What is wrong with what looks like a reference, from its dollar on and its body on.
fn dead_reference(raw: &[u8], dollar: usize, body: usize) -> Option<Dead> {
    let name = &raw[dollar + 1..body - 1];
    let end = memchr::memchr(b')', &raw[body..]).map_or(raw.len(), |close| body + close + 1);
    let dead = |why: &str, fix: String| Dead { start: dollar, end, why: why.to_owned(), fix: Some(fix) };
    match reference::function(name) {
        None => {
            let meant = name.to_ascii_uppercase();
            let is_one = reference::function(&meant).is_some_and(|function| function != Function::Filename);
            let fix = || format!("write ${}(...)", BStr::new(&meant));
            is_one.then(|| dead("names of functions are upper case", fix()))
        }
        Some(Function::Plain | Function::Env) => {
            let live = next_reference(raw, dollar, &mut None, |_, _| true);
            let lives = live.is_some_and(|live| live.dollar == dollar) || is_made_whole(raw, body, end);
            (!lives).then(|| dead_plain(raw, dollar, body, end))
        }
        Some(Function::RandomChoice | Function::Choice) => None,
        Some(_) => {
            let inside = &raw[body..end.saturating_sub(1).max(body)];
            let fix = "give the argument a parameter of its own and name that";
            let why = "references in the argument of a function are not expanded";
            inside.contains_str("$(").then(|| dead(why, fix.to_owned()))
        }
    }
}

/// Whether references inside make the outer one whole in the end.
fn is_made_whole(raw: &[u8], body: usize, end: usize) -> bool {
    let inside = &raw[body..end.max(body)];
    let name = inside.split(|&b| b == b':').next().unwrap_or_default();
    inside.contains(&b'$')
        && inside.contains(&b')')
        && name.iter().all(|&b| is_name_byte(b) || b"$()".contains(&b))
}

fn dead_plain(raw: &[u8], dollar: usize, body: usize, end: usize) -> Dead {
    if memchr::memchr(b')', &raw[body..]).is_none() {
        let why = "its parenthesis is not closed".to_owned();
        return Dead { start: dollar, end: raw.len(), why, fix: Some("close it".to_owned()) };
    }
    let inside = &raw[body..end - 1];
    let (name, default) = match memchr::memchr(b':', inside) {
        Some(colon) => (&inside[..colon], Some(&inside[colon + 1..])),
        None => (inside, None),
    };
    let shown = |byte: u8| match byte {
        b' ' => "a blank".to_owned(),
        b'\t' => "a tab".to_owned(),
        b'\n' => "the end of the line".to_owned(),
        other => format!("'{}'", char::from(other)),
    };
    let bad = name.iter().copied().find(|&b| !is_name_byte(b));
    let Some(bad) = bad else {
        let bad = default
            .unwrap_or_default()
            .iter()
            .copied()
            .find(|&b| !is_name_byte(b) && !b"$ ,\\:(".contains(&b))
            .unwrap_or(b' ');
        return Dead {
            start: dollar,
            end,
            why: format!("{} cannot stand in a default", shown(bad)),
            fix: Some("give the default a parameter of its own: $(NAME:$(DEFAULT_OF_NAME))".to_owned()),
        };
    };
    let trimmed = trim(name);
    let is_name = !trimmed.is_empty() && trimmed.iter().all(|&b| is_name_byte(b));
    let fix = if is_name {
        format!("write $({})", BStr::new(trimmed))
    } else if inside.iter().any(|b| b"=<>!&|+*".contains(b)) {
        format!("an expression needs no dollar: write ({})", BStr::new(inside))
    } else {
        "names are made of letters, digits, '_', '.' and '/'".to_owned()
    };
    Dead { start: dollar, end, why: format!("{} cannot stand in a name", shown(bad)), fix: Some(fix) }
}

/// References without default to names that nothing defines.
fn undefined(subject: &Subject<'_>, definition: &Definition, findings: &mut Vec<Finding>) {
    let raw = &definition.raw;
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |function, _| function == Function::Plain) {
        at = found.end;
        let (name, default) = found.name_and_default(raw);
        let is_attribute = caseless::starts_with(name, b"MY.") || caseless::starts_with(name, b"TARGET.");
        if default.is_some() || is_attribute || caseless::eq(name, b"DOLLAR") {
            continue;
        }
        // A part of a name that is put together, and the arguments of templates.
        let is_whole = !name.is_empty() && name.iter().any(|b| !b.is_ascii_digit());
        if !is_whole || subject.view.raw_bytes(name).is_some() || subject.known.knows(name) {
            continue;
        }
        let part = Some((found.dollar, found.end));
        let message = format!("{} is not defined: the reference expands to nothing", name.as_bstr());
        if let Some(near) = meant(subject, name) {
            let fix = format!("did you mean $({})?", near.as_bstr());
            findings.push(subject.finding("misspelled-reference", definition, part, message, fix));
        } else if !is_other_language(&definition.name)
            && !is_inside_reference(raw, found.dollar)
            && !subject.is_set_somewhere(name)
        {
            let fix = format!("define {0}, or write $({0}:default)", name.as_bstr());
            findings.push(subject.finding("undefined", definition, part, message, fix));
        }
    }
}

/// The name that an undefined one was probably meant to be.
fn meant(subject: &Subject<'_>, name: &[u8]) -> Option<Vec<u8>> {
    let letters = |text: &[u8]| text.iter().filter(|b| !b.is_ascii_digit()).count();
    let is_own_slip = |known: &[u8]| {
        // Names that differ in numbers only are members of a family.
        known.len() >= 6
            && !(letters(known) == letters(name) && known.len() == name.len() && letters(known) < known.len())
    };
    if name.len() < 6 {
        return None;
    }
    let own = subject.own_names().nearest(name, is_own_slip).map(|near| near.to_vec());
    own.or_else(|| subject.known.nearest(name).map(Vec::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(raw: &str) -> Vec<String> {
        dead_references(raw.as_bytes())
            .into_iter()
            .map(|dead| format!("{}|{}", &raw[dead.start..dead.end], dead.why))
            .collect()
    }

    #[test]
    fn arguments_and_defaults_stand_inside_references() {
        for (raw, inside) in [
            ("$(X)", false),
            ("a (b $(X))", false),
            ("$(A) $(X)", false),
            ("$(A:$(X))", true),
            ("$CHOICE(N, $(X))", true),
            ("$(A:(b) $(X))", true),
        ] {
            let at = raw.find("$(X)").unwrap();
            assert_eq!(is_inside_reference(raw.as_bytes(), at), inside, "{raw}");
        }
    }

    #[test]
    fn references_that_never_expand_are_found() {
        assert_eq!(dead("$(JobStatus != 3) && x"), ["$(JobStatus != 3)|a blank cannot stand in a name"]);
        assert_eq!(dead("$( x )"), ["$( x )|a blank cannot stand in a name"]);
        assert_eq!(dead("$(X:-1)"), ["$(X:-1)|'-' cannot stand in a default"]);
        assert_eq!(dead("a $(X"), ["$(X|its parenthesis is not closed"]);
        assert_eq!(dead("$env(HOME)"), ["$env(HOME)|names of functions are upper case"]);
        assert_eq!(dead("$INT($(N)+1)").len(), 1);
        assert!(
            dead("$(X) $(X:a b) $$(X Y) $$([ a + $(N) ]) $ENV(A) $FOO(x) $($(LN)) $(A$(B)) $1 $x").is_empty()
        );
        assert!(dead("$(A:$(B:$(C)))").is_empty());
    }
}
