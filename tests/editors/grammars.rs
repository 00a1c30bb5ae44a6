//! The grammars in `editors/` classify comments, names, operators, macros, templates and values as the readers of
//! HTCondor do.

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use htc_hooks::lsp::elements::{ElementKind, elements_of};
use htc_hooks::lsp::mapped_text::MappedText;
use htc_hooks::lsp::statements::{BlockBody, SourceStatement, StatementSyntax, parse_config, parse_rules};
use htc_hooks::text::Span;

use crate::client::repository;
use crate::diagnostics::large_config;
use crate::tokenizer::Grammars;

const GRAMMARS: [&str; 3] = ["condor-config", "condor-transform", "classad"];

/// Lines with all parts of the configuration language, some of them odd.
const ODD_CONFIG: &str = "\
# comment \\\nA = 1\n  B += $(A) \\\n   two $(C:x $(D)) \\\n# inside\n   three\n\
\n:if defined X\nE @=end of text\n  text $(F)\n # inside\n  \"open\n@end of text\n:endif\n\
if ! defined A\nelif version >= 24.0.1\nelse\nendif\n\
use FEATURE : GPUs, X(1, (2), $(G)) , Monitor( a )\nuse ROLE:Execute\n@use POLICY : P\n\
include ifexist : $(LOCAL_DIR)/x\ninclude command into /tmp/f : /bin/x -a $(H) |\n\
error : no $(I)\nwarning : hm\n[section]\nJ : colon\nK words before = v\nL +&&= TARGET.X =?= \"a \\\" $(M) b\" || strcat(\"x\")\n\
N = $INT(O,%d) $ENV(HOME) $RANDOM_CHOICE(a,b) $$(Arch) $$([ MY.X ]) $(not a macro) $ (x) $(P\nQ = a \\   \nR = b\n\
STARTD.S.T = \"x\nU = 'quote\nJOB_ROUTER_ROUTE_r @=jre\n  REQUIREMENTS MY.Want && \\\n   Owner == \"x\"\n  UNIVERSE VANILLA\n\
  SET A.B $(V) + 1\n  W = 2\n  COPY /a b(.)/ new\\1\n  EVALMACRO X 1\n  DELETE Y\n  if true\n  endif\n@jre\n\
JOB_ROUTER_ROUTE_NAMES = r\nJOB_TRANSFORM_t @=\n  SET Z 1\n@\nlast = line";

/// The same for rules files.
const ODD_RULES: &str = "# c\nNAME x y\nREQUIREMENTS true \\\n && MY.X\nV = 1\nV2 @=e\n text\n@e\nSET A $(V) \"b $(V2)\"\nTRANSFORM 2 I in a b\n";

fn grammars() -> Grammars {
    let mut grammars = Grammars::default();
    for name in GRAMMARS {
        let path = repository(&format!("editors/vscode/syntaxes/{name}.tmLanguage.json"));
        grammars.add(&fs::read_to_string(&path).expect("a grammar"));
    }
    grammars
}

/// A text with the scopes of its bytes.
struct Classified<'t> {
    text: &'t str,
    scopes: Vec<Vec<String>>,
    faults: Vec<String>,
    checks: usize,
}

impl<'t> Classified<'t> {
    fn new(grammars: &Grammars, scope: &str, text: &'t str) -> Self {
        let scopes = grammars.scopes(scope, text);
        assert_eq!(scopes.len(), text.len());
        Classified { text, scopes, faults: Vec::new(), checks: 0 }
    }

    fn has(&self, at: usize, expected: &str) -> bool {
        self.scopes[at].iter().any(|scope| scope.starts_with(expected))
    }

    fn fault(&mut self, at: usize, message: &str) {
        let line = self.text[..at].matches('\n').count() + 1;
        let shown = self.text.lines().nth(line - 1).unwrap_or_default();
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        self.faults.push(format!("{line}:{}: {message}, not {:?}: {shown}", at - start + 1, self.scopes[at]));
    }

    /// Checks that every byte of a span that is not blank has the wanted scope.
    fn expect(&mut self, span: Span, expected: &str) {
        self.checks += 1;
        let bytes = self.text.as_bytes();
        let places = (span.start as usize..span.end as usize).filter(|&at| !bytes[at].is_ascii_whitespace());
        if let Some(at) = places.clone().find(|&at| !self.has(at, expected)) {
            self.fault(at, &format!("expected {expected}"));
        }
    }

    /// Checks the parts of a value that are in the file, without continuations and indents.
    fn expect_value(&mut self, text: &MappedText, expected: &str) {
        for at in 0..text.text.len() {
            if !text.text[at].is_ascii_whitespace() {
                let span = text.span(at..at + 1);
                // A comment inside a continued line leaves its last character.
                if !self.has(span.start as usize, "comment") {
                    self.expect(span, expected);
                }
            }
        }
    }

    fn statement(&mut self, statement: &SourceStatement, is_rule: bool) {
        let line = &statement.line;
        let value_scope = if is_rule { "meta." } else { "meta.value" };
        match &statement.syntax {
            StatementSyntax::Comment => self.expect(statement.span, "comment"),
            StatementSyntax::Condition { keyword, condition } => {
                self.expect(line.span(keyword.clone()), "keyword.control");
                self.expect_value(&part(line, condition), "meta.condition");
            }
            StatementSyntax::Assignment { name, operator_at, value } => {
                self.expect(line.span(name.clone()), "variable.other.assignment");
                self.expect(line.span(*operator_at..*operator_at + 1), "keyword.operator.assignment");
                self.expect_value(&part(line, value), value_scope);
            }
            StatementSyntax::Block { name, operator_at, tag, body } => {
                self.expect(line.span(name.clone()), "variable.other.assignment");
                self.expect(line.span(*operator_at..*operator_at + 2), "keyword.operator.assignment");
                self.expect(line.span(tag.clone()), "entity.name.tag");
                match body {
                    BlockBody::Text(text) => self.expect_value(text, "meta.value"),
                    BlockBody::Rules(rules) => rules.iter().for_each(|rule| self.statement(rule, true)),
                }
            }
            StatementSyntax::Include { keyword, target, .. } => {
                self.expect(line.span(keyword.clone()), "keyword.control.import");
                self.expect_value(&part(line, target), "string.unquoted.path");
            }
            StatementSyntax::Use { keyword, category, .. } => {
                self.expect(line.span(keyword.clone()), "keyword.control.import");
                self.expect(line.span(category.clone()), "entity.name.namespace");
            }
            StatementSyntax::Message { keyword, text } => {
                self.expect(line.span(keyword.clone()), "keyword.control");
                self.expect_value(&part(line, text), "string.unquoted.message");
            }
            StatementSyntax::Command { keyword, .. } => {
                self.expect(line.span(keyword.clone()), "keyword.other.command");
            }
            StatementSyntax::Section => self.expect(statement.span, "comment"),
            StatementSyntax::Invalid => {}
        }
    }

    /// Checks that elements have their scopes, and that nothing else has the scopes of macros, templates,
    /// names and comments.
    fn elements(&mut self, statements: &[SourceStatement]) {
        let mut is_macro = vec![false; self.text.len()];
        let mut is_template = is_macro.clone();
        for element in statements.iter().flat_map(elements_of) {
            let range = element.span.start as usize..element.span.end as usize;
            match element.kind {
                ElementKind::Macro(_) => {
                    is_macro[range].fill(true);
                    self.expect(element.span, "variable.other.macro");
                }
                ElementKind::MacroFunction(_) => self.expect(element.span, "support.function.macro"),
                ElementKind::Variable(_) => self.expect(element.span, "variable.other.environment"),
                ElementKind::Template { .. } => {
                    is_template[range].fill(true);
                    self.expect(element.span, "entity.name.type.template");
                }
                ElementKind::Scope(_) => self.expect(element.span, "variable.language.scope"),
                _ => {}
            }
        }
        for at in 0..self.text.len() {
            if self.has(at, "variable.other.macro") && !is_macro[at] {
                self.fault(at, "no reference of the reader");
            }
            if self.has(at, "entity.name.type.template") && !is_template[at] {
                self.fault(at, "no template of the reader");
            }
            if self.has(at, "invalid") {
                self.fault(at, "an invalid scope");
            }
        }
        let mut is_name = vec![false; self.text.len()];
        let mut is_comment = vec![false; self.text.len()];
        mark_names(self.text, statements, &mut is_name, &mut is_comment);
        for at in 0..self.text.len() {
            if self.has(at, "variable.other.assignment.condor") && !is_name[at] {
                self.fault(at, "no name of the reader");
            }
            let is_blank = self.text.as_bytes()[at].is_ascii_whitespace();
            if self.has(at, "comment.line.number-sign.condor") && !is_comment[at] && !is_blank {
                self.fault(at, "no comment of the reader");
            }
        }
    }
}

fn part(line: &MappedText, range: &std::ops::Range<usize>) -> MappedText {
    line.part(range.clone())
}

fn mark_names(text: &str, statements: &[SourceStatement], is_name: &mut [bool], is_comment: &mut [bool]) {
    for statement in statements {
        let span = statement.span.start as usize..statement.span.end as usize;
        match &statement.syntax {
            StatementSyntax::Assignment { name, .. } | StatementSyntax::Block { name, .. } => {
                let name = statement.line.span(name.clone());
                is_name[name.start as usize..name.end as usize].fill(true);
            }
            StatementSyntax::Command { keyword, attribute, .. }
                if statement.text(keyword).eq_ignore_ascii_case(b"EVALMACRO") =>
            {
                let name = statement.line.span(attribute.clone());
                is_name[name.start as usize..name.end as usize].fill(true);
            }
            StatementSyntax::Comment | StatementSyntax::Section => {
                // A backslash at the end of a comment is not part of its text.
                let rest = text[span.end..].find('\n').map_or(text.len(), |length| span.end + length);
                is_comment[span.start..rest].fill(true);
            }
            _ => {}
        }
        // Lines that begin with '#' inside a block or a continued statement are comments.
        let mut start = span.start;
        for line in text[span].split_inclusive('\n') {
            let is_first = start == statement.span.start as usize;
            if line.trim_start().starts_with('#') && !is_first {
                is_comment[start..start + line.len()].fill(true);
            }
            start += line.len();
        }
        if let StatementSyntax::Block { body: BlockBody::Rules(rules), .. } = &statement.syntax {
            mark_names(text, rules, is_name, is_comment);
        }
    }
}

fn check(grammars: &Grammars, name: &str, text: &str, is_rules: bool) -> (usize, Vec<String>) {
    let scope = if is_rules { "source.condor-transform" } else { "source.condor-config" };
    let mut classified = Classified::new(grammars, scope, text);
    let statements = if is_rules { parse_rules(text.as_bytes()) } else { parse_config(text.as_bytes()) };
    statements.iter().for_each(|statement| classified.statement(statement, is_rules));
    classified.elements(&statements);
    let faults = classified.faults.iter().map(|fault| format!("{name}:{fault}")).collect();
    (classified.checks, faults)
}

/// Collects the configurations and rules files below a directory.
fn recorded(directory: &Path, found: &mut Vec<(PathBuf, bool)>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_config =
            name.starts_with("condor_config") || [".conf", ".config"].iter().any(|end| name.ends_with(end));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => recorded(&path, found),
            Ok(kind) if kind.is_file() && is_config => found.push((path, false)),
            Ok(kind) if kind.is_file() && name.ends_with(".xfm") => found.push((path, true)),
            _ => {}
        }
    }
}

#[test]
fn grammars_agree_with_the_readers_on_recorded_files() {
    let grammars = grammars();
    let mut files = Vec::new();
    recorded(&repository("tests/data"), &mut files);
    recorded(&repository("examples"), &mut files);
    assert!(files.len() > 8, "{files:?}");
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| repository("../shared"), PathBuf::from);
    recorded(&shared, &mut files);
    let (mut checks, mut faults) = (0, Vec::new());
    for (path, is_rules) in &files {
        let bytes = fs::read(path).expect("a file");
        let Ok(text) = bytes.to_str() else { continue };
        let (count, found) = check(&grammars, &path.display().to_string(), text, *is_rules);
        checks += count;
        faults.extend(found);
    }
    println!("{} files, {checks} checks", files.len());
    assert!(
        faults.is_empty(),
        "{} faults in {checks} checks:\n{}",
        faults.len(),
        faults[..faults.len().min(40)].join("\n")
    );
    assert!(checks > 500, "{checks}");
}

#[test]
fn grammars_agree_with_the_readers_on_odd_lines() {
    let grammars = grammars();
    for text in [ODD_CONFIG.to_owned(), ODD_CONFIG.replace('\n', "\r\n")] {
        let (checks, faults) = check(&grammars, "odd", &text, false);
        assert!(faults.is_empty() && checks > 100, "{checks} checks:\n{}", faults.join("\n"));
    }
    let (checks, faults) = check(&grammars, "rules", ODD_RULES, true);
    assert!(faults.is_empty() && checks > 10, "{checks} checks:\n{}", faults.join("\n"));
    let (_, faults) = check(&grammars, "large", &large_config(), false);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn classads_are_classified() {
    let grammars = grammars();
    let text = "# c\nOwner = \"a \\\" b\"\nRequirements = TARGET.Memory >= 1K && strcat(\"x\", Owner) =!= undefined // c\n[ A = 'b c'; /* x\n y */ B = {1, 2.5e3} ]\n";
    let scopes = grammars.scopes("source.classad", text);
    for (marked, expected) in [
        ("|# c", "comment"),
        ("|Owner =", "variable.other.assignment"),
        ("\"a |\\\"", "constant.character.escape"),
        ("\\\" |b\"", "string.quoted"),
        ("|TARGET", "variable.language.scope"),
        ("TARGET.|Memory", "variable.other.attribute"),
        ("|>= 1K", "keyword.operator"),
        (">= |1K", "constant.numeric"),
        ("|strcat", "support.function"),
        ("=!= |undefined", "constant.language"),
        ("|// c", "comment"),
        ("'|b c'", "variable.other.attribute.quoted"),
        (" |y */", "comment.block"),
        ("|2.5e3", "constant.numeric"),
        ("[ |A =", "variable.other.assignment"),
    ] {
        let (before, after) = marked.split_once('|').unwrap();
        let at = text.find(&format!("{before}{after}")).unwrap_or_else(|| panic!("{marked}")) + before.len();
        assert!(scopes[at].iter().any(|scope| scope.starts_with(expected)), "{marked}: {:?}", scopes[at]);
    }
    assert!(scopes.iter().flatten().all(|scope| !scope.starts_with("invalid")));
}

/// Returns the names that a file of vim script matches with `syn keyword`, in lower case.
fn vim_words(file: &str, group: &str) -> Vec<String> {
    let text = fs::read_to_string(repository(file)).expect("a syntax file");
    let head = format!("syn keyword {group} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&head));
    let words = lines.flat_map(str::split_whitespace).filter(|word| *word != "contained");
    words.map(str::to_ascii_lowercase).collect()
}

#[test]
fn words_of_the_languages_are_in_all_editors() {
    let names: Vec<String> =
        htc_hooks::classad::function_names().iter().map(|name| name.to_ascii_lowercase()).collect();
    let mut vim = vim_words("editors/vim/syntax/classad.vim", "classadFunction");
    vim.sort();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(vim, sorted);
    let commands: Vec<String> =
        htc_hooks::transform::CommandKeyword::names().map(str::to_ascii_lowercase).collect();
    let mut vim = vim_words("editors/vim/syntax/condor-transform.vim", "condorTransformCommand");
    vim.sort();
    assert_eq!(vim, commands);
    for grammar in &GRAMMARS[..2] {
        let path = repository(&format!("editors/vscode/syntaxes/{grammar}.tmLanguage.json"));
        let text = fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let patterns = value["repository"]["expression"]["patterns"].as_array().unwrap();
        let functions = patterns
            .iter()
            .find(|one| one["name"].as_str().is_some_and(|name| name.starts_with("support.function")))
            .and_then(|one| one["match"].as_str())
            .unwrap();
        let inner =
            functions.strip_prefix("(?i)\\b(?:").and_then(|rest| rest.strip_suffix(")(?=\\s*\\()")).unwrap();
        let mut found: Vec<String> = inner.split('|').map(str::to_ascii_lowercase).collect();
        found.sort();
        assert_eq!(found, sorted, "{grammar}");
    }
}

/// Returns the tokens of VS Code's tokeniser, or `None` with a message if it is not installed (NODE_PATH).
fn vscode_tokens(scope: &str, file: &Path) -> Option<Vec<serde_json::Value>> {
    let directory = repository("editors/vscode/syntaxes");
    let script = repository("tests/editors/vscode_tokens.js");
    let mut command = std::process::Command::new("node");
    let output = command.arg(script).arg(directory).arg(scope).arg(file).output();
    match output {
        Ok(output) if output.status.success() => {
            Some(serde_json::from_slice::<Vec<serde_json::Value>>(&output.stdout).expect("lists of tokens"))
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("Cannot find module"), "{text}");
            println!("skipped: vscode-textmate and vscode-oniguruma are not in NODE_PATH");
            None
        }
        Err(error) => {
            println!("skipped: node does not start: {error}");
            None
        }
    }
}

#[test]
fn the_tokeniser_of_these_tests_finds_what_vscode_finds() {
    let grammars = grammars();
    let mut files = Vec::new();
    recorded(&repository("tests/data"), &mut files);
    let place = tempfile::tempdir().unwrap();
    for (name, text) in [("odd.conf", ODD_CONFIG), ("odd.xfm", ODD_RULES)] {
        fs::write(place.path().join(name), text).unwrap();
        files.push((place.path().join(name), name.ends_with("xfm")));
    }
    for (file, is_rules) in files {
        let scope = if is_rules { "source.condor-transform" } else { "source.condor-config" };
        let Some(tokens) = vscode_tokens(scope, &file) else { return };
        let text = fs::read_to_string(&file).unwrap();
        let ours = grammars.scopes(scope, &text);
        let mut start = 0;
        for (number, (line, tokens)) in text.split('\n').zip(&tokens).enumerate() {
            let mut units = 0;
            for (at, letter) in line.char_indices() {
                let is_here = |token: &&serde_json::Value| {
                    token[0].as_u64().unwrap() <= units && units < token[1].as_u64().unwrap()
                };
                let token = tokens.as_array().unwrap().iter().find(is_here).expect("a token");
                let theirs: Vec<&str> =
                    token[2].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
                assert_eq!(ours[start + at], theirs, "{}:{}:{}: {line}", file.display(), number + 1, at + 1);
                units += letter.len_utf16() as u64;
            }
            start += line.len() + 1;
        }
    }
}
