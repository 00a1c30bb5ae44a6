//! Tokeniser of TextMate grammars: the part of the format that the grammars in `editors/` use. It assigns to each byte of
//! a text the names of the rules that apply to it.

use std::collections::BTreeMap;
use std::rc::Rc;

use htc_hooks::classad::regex::{Captures, Regex, RegexOptions, SearchOptions};
use serde_json::Value;

/// A pattern of a grammar.
#[derive(Debug)]
enum Rule {
    Match { regex: Regex, name: Option<String>, captures: BTreeMap<usize, Capture> },
    Region(Rc<Region>),
    Include(String),
    Group(Vec<Rule>),
}

/// A rule with a begin and an end.
#[derive(Debug)]
struct Region {
    begin: Regex,
    begin_captures: BTreeMap<usize, Capture>,
    end: String,
    end_captures: BTreeMap<usize, Capture>,
    name: Option<String>,
    content_name: Option<String>,
    patterns: Vec<Rule>,
}

#[derive(Debug)]
struct Capture {
    name: Option<String>,
    patterns: Vec<Rule>,
}

#[derive(Debug)]
struct Grammar {
    patterns: Vec<Rule>,
    repository: BTreeMap<String, Rule>,
}

/// Grammars by scope name.
#[derive(Debug, Default)]
pub(crate) struct Grammars(BTreeMap<String, Grammar>);

/// A region that is open, with the grammar that it is from.
#[derive(Clone)]
struct OpenRegion<'g> {
    region: &'g Region,
    home: &'g str,
    end: Rc<Regex>,
}

fn compile(pattern: &str) -> Regex {
    Regex::compile(pattern, RegexOptions::MULTILINE).unwrap_or_else(|error| panic!("{error}: {pattern}"))
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).map(|text| text.as_str().expect("a string").to_owned())
}

fn rules(value: &Value) -> Vec<Rule> {
    value
        .get("patterns")
        .map_or_else(Vec::new, |list| list.as_array().expect("a list").iter().map(rule).collect())
}

fn captures(value: &Value, key: &str) -> BTreeMap<usize, Capture> {
    let Some(all) = value.get(key) else { return BTreeMap::new() };
    let capture = |one: &Value| {
        check_keys(one, &["name", "patterns"]);
        Capture { name: text(one, "name"), patterns: rules(one) }
    };
    let all = all.as_object().expect("captures by number").iter();
    all.map(|(number, one)| (number.parse().expect("a number"), capture(one))).collect()
}

/// Checks that all keys are known, because editors would use a key that is ignored here.
fn check_keys(value: &Value, known: &[&str]) {
    for key in value.as_object().expect("an object").keys() {
        assert!(known.contains(&key.as_str()), "the tokeniser does not know {key} of {value}");
    }
}

fn rule(value: &Value) -> Rule {
    if let Some(name) = text(value, "include") {
        check_keys(value, &["include"]);
        return Rule::Include(name);
    }
    if let Some(pattern) = text(value, "match") {
        check_keys(value, &["match", "name", "captures"]);
        return Rule::Match {
            regex: compile(&pattern),
            name: text(value, "name"),
            captures: captures(value, "captures"),
        };
    }
    let Some(begin) = text(value, "begin") else {
        check_keys(value, &["patterns"]);
        return Rule::Group(rules(value));
    };
    check_keys(value, &["begin", "end", "beginCaptures", "endCaptures", "name", "contentName", "patterns"]);
    Rule::Region(Rc::new(Region {
        begin: compile(&begin),
        begin_captures: captures(value, "beginCaptures"),
        end: text(value, "end").expect("an end"),
        end_captures: captures(value, "endCaptures"),
        name: text(value, "name"),
        content_name: text(value, "contentName"),
        patterns: rules(value),
    }))
}

/// Scopes of each byte of a line.
type LineScopes = Vec<Vec<String>>;

/// A match of a rule: its groups, and the rule with its grammar.
struct Hit<'g> {
    groups: Captures,
    rule: Option<(&'g Rule, &'g str)>,
}

impl Grammars {
    /// Adds a grammar; every string in it that is a pattern must compile.
    pub(crate) fn add(&mut self, json: &str) {
        let value: Value = serde_json::from_str(json).expect("JSON");
        check_keys(&value, &["$schema", "name", "scopeName", "fileTypes", "patterns", "repository"]);
        let repository = value["repository"].as_object().expect("a repository").iter();
        let grammar = Grammar {
            patterns: rules(&value),
            repository: repository.map(|(name, one)| (name.clone(), rule(one))).collect(),
        };
        self.0.insert(text(&value, "scopeName").expect("a scope name"), grammar);
    }

    /// Returns the scopes of each byte of a text, without that of the grammar.
    pub(crate) fn scopes(&self, scope: &str, text: &str) -> LineScopes {
        let (home, _) = self.0.get_key_value(scope).unwrap_or_else(|| panic!("no grammar {scope}"));
        let mut open: Vec<OpenRegion<'_>> = Vec::new();
        let mut all = Vec::new();
        for line in text.split_inclusive('\n') {
            let whole = if line.ends_with('\n') { line.to_owned() } else { format!("{line}\n") };
            let mut scopes = vec![Vec::new(); whole.len()];
            self.scan(home, whole.as_bytes(), 0..whole.len(), &mut open, &mut scopes);
            scopes.truncate(line.len());
            all.extend(scopes);
        }
        all
    }

    /// Tokenises a part of a line; `open` are the regions that continue.
    fn scan<'g>(
        &'g self,
        home: &'g str,
        line: &[u8],
        range: std::ops::Range<usize>,
        open: &mut Vec<OpenRegion<'g>>,
        scopes: &mut LineScopes,
    ) {
        let mut at = range.start;
        let mut last_step = None;
        loop {
            let (rules, home): (&[Rule], &str) = match open.last() {
                Some(region) => (&region.region.patterns, region.home),
                None => (&self.0[home].patterns, home),
            };
            let Some(hit) = self.first_hit(rules, home, open.last(), line, at, range.end) else {
                add_open(open, scopes, at..range.end);
                return;
            };
            let whole = hit.groups.whole_match();
            add_open(open, scopes, at..whole.start);
            match hit.rule {
                None => {
                    let region = open.pop().expect("an open region");
                    add_open(open, scopes, whole.clone());
                    add_name(&region.region.name, scopes, whole.clone());
                    self.add_captures(&hit.groups, &region.region.end_captures, region.home, line, scopes);
                }
                Some((Rule::Match { name, captures, .. }, home)) => {
                    add_open(open, scopes, whole.clone());
                    add_name(name, scopes, whole.clone());
                    self.add_captures(&hit.groups, captures, home, line, scopes);
                }
                Some((Rule::Region(region), home)) => {
                    add_open(open, scopes, whole.clone());
                    add_name(&region.name, scopes, whole.clone());
                    self.add_captures(&hit.groups, &region.begin_captures, home, line, scopes);
                    let end = Rc::new(compile(&end_pattern(&region.end, &hit.groups, line)));
                    open.push(OpenRegion { region, home, end });
                }
                Some((Rule::Include(_) | Rule::Group(_), _)) => {
                    unreachable!("groups are searched, not matched")
                }
            }
            at = whole.end;
            // A step that takes nothing and changes nothing would repeat forever.
            let step = (at, open.len());
            if last_step == Some(step) && whole.is_empty()
                || at >= range.end && whole.is_empty() && open.is_empty()
            {
                add_open(open, scopes, at..range.end);
                return;
            }
            last_step = Some(step);
        }
    }

    /// Returns the earliest match of the end of the open region and of the rules; the end and earlier rules take
    /// precedence.
    fn first_hit<'g>(
        &'g self,
        rules: &'g [Rule],
        home: &'g str,
        open: Option<&OpenRegion<'g>>,
        line: &[u8],
        at: usize,
        end: usize,
    ) -> Option<Hit<'g>> {
        let mut best: Option<Hit<'g>> = None;
        if let Some(region) = open {
            best = search(&region.end, line, at, end).map(|groups| Hit { groups, rule: None });
        }
        self.search_rules(rules, home, line, at, end, &mut best);
        best
    }

    fn search_rules<'g>(
        &'g self,
        rules: &'g [Rule],
        home: &'g str,
        line: &[u8],
        at: usize,
        end: usize,
        best: &mut Option<Hit<'g>>,
    ) {
        for rule in rules {
            let regex = match rule {
                Rule::Match { regex, .. } => regex,
                Rule::Region(region) => &region.begin,
                Rule::Group(rules) => {
                    self.search_rules(rules, home, line, at, end, best);
                    continue;
                }
                Rule::Include(name) => {
                    if let Some(own) = name.strip_prefix('#') {
                        let found = self.0[home].repository.get(own);
                        let rule = found.unwrap_or_else(|| panic!("{home} has no {name}"));
                        self.search_rules(std::slice::from_ref(rule), home, line, at, end, best);
                    } else {
                        let (home, grammar) = self.0.get_key_value(name).expect("a known grammar");
                        self.search_rules(&grammar.patterns, home, line, at, end, best);
                    }
                    continue;
                }
            };
            if let Some(groups) = search(regex, line, at, end) {
                let start = groups.whole_match().start;
                if best.as_ref().is_none_or(|best| start < best.groups.whole_match().start) {
                    *best = Some(Hit { groups, rule: Some((rule, home)) });
                }
            }
        }
    }

    fn add_captures<'g>(
        &'g self,
        groups: &Captures,
        captures: &'g BTreeMap<usize, Capture>,
        home: &'g str,
        line: &[u8],
        scopes: &mut LineScopes,
    ) {
        for (number, capture) in captures {
            let Some(range) = groups.group(*number).filter(|range| !range.is_empty()) else { continue };
            add_name(&capture.name, scopes, range.clone());
            if !capture.patterns.is_empty() {
                let mut at = range.start;
                // Only patterns that end within the capture are needed.
                let mut open = Vec::new();
                while at < range.end {
                    let Some(hit) = self.first_hit(&capture.patterns, home, None, line, at, range.end) else {
                        break;
                    };
                    let whole = hit.groups.whole_match();
                    if let Some((Rule::Region(region), home)) = hit.rule {
                        let end = Rc::new(compile(&end_pattern(&region.end, &hit.groups, line)));
                        add_name(&region.name, scopes, whole.clone());
                        self.add_captures(&hit.groups, &region.begin_captures, home, line, scopes);
                        open.push(OpenRegion { region, home, end });
                        let part = whole.end..range.end;
                        self.scan_region(line, part, &mut open, scopes);
                    }
                    at = range.end.max(whole.end);
                }
            }
        }
    }

    fn scan_region<'g>(
        &'g self,
        line: &[u8],
        range: std::ops::Range<usize>,
        open: &mut Vec<OpenRegion<'g>>,
        scopes: &mut LineScopes,
    ) {
        let home = open[0].home;
        self.scan(home, line, range, open, scopes);
    }
}

fn search(regex: &Regex, line: &[u8], at: usize, end: usize) -> Option<Captures> {
    let options = SearchOptions { start: at, ..SearchOptions::default() };
    let found = regex.captures(line, options).expect("few steps")?;
    (found.whole_match().end <= end).then_some(found)
}

/// Returns the pattern of an end with the groups of the begin in place of `\1`.
fn end_pattern(end: &str, groups: &Captures, line: &[u8]) -> String {
    let mut pattern = end.to_owned();
    for number in 1..10 {
        let name = format!("\\{number}");
        if pattern.contains(&name) {
            let text = groups.group(number).map(|range| String::from_utf8_lossy(&line[range]).into_owned());
            let quoted: String = text
                .unwrap_or_default()
                .chars()
                .flat_map(|letter| {
                    let needs = !letter.is_alphanumeric() && letter != '_' && letter.is_ascii();
                    needs.then_some('\\').into_iter().chain([letter])
                })
                .collect();
            pattern = pattern.replace(&name, &quoted);
        }
    }
    pattern
}

fn add_name(name: &Option<String>, scopes: &mut LineScopes, range: std::ops::Range<usize>) {
    if let Some(name) = name {
        scopes[range].iter_mut().for_each(|scopes| scopes.push(name.clone()));
    }
}

fn add_open(open: &[OpenRegion<'_>], scopes: &mut LineScopes, range: std::ops::Range<usize>) {
    for region in open {
        add_name(&region.region.name, scopes, range.clone());
        add_name(&region.region.content_name, scopes, range.clone());
    }
}
