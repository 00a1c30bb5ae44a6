//! Descriptions of functions, attributes and keywords of the configuration, transform and ClassAd languages.

use bstr::ByteSlice;
use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};

static FUNCTION_TEXT: &[u8] = include_bytes!("data/functions.tsv");
static FUNCTION_STARTS: [u32; count_lines(include_bytes!("data/functions.tsv"))] =
    line_starts(include_bytes!("data/functions.tsv"));
static ATTRIBUTE_TEXT: &[u8] = include_bytes!("data/attributes.tsv");
static ATTRIBUTE_STARTS: [u32; count_lines(include_bytes!("data/attributes.tsv"))] =
    line_starts(include_bytes!("data/attributes.tsv"));

/// Documentation of a ClassAd function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionText {
    /// Name with its arguments.
    pub(crate) signature: &'static str,
    /// Description, in one sentence.
    pub(crate) description: &'static str,
}

/// Returns the documentation of a ClassAd function.
pub(crate) fn find_function(name: &[u8]) -> Option<FunctionText> {
    let index = FUNCTION_STARTS.binary_search_by(|&start| compare_key(FUNCTION_TEXT, start, name)).ok()?;
    let row = table_row(FUNCTION_TEXT, &FUNCTION_STARTS, index);
    Some(FunctionText { signature: row.field(1).to_str().ok()?, description: row.field(2).to_str().ok()? })
}

/// Returns the purpose of an attribute.
pub(crate) fn attribute_description(name: &[u8]) -> Option<&'static str> {
    let index = ATTRIBUTE_STARTS.binary_search_by(|&start| compare_key(ATTRIBUTE_TEXT, start, name)).ok()?;
    table_row(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS, index).field(1).to_str().ok()
}

type WordTable = [(&'static str, &'static str)];

fn find(table: &WordTable, word: &[u8]) -> Option<&'static str> {
    table.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(word)).map(|(_, text)| *text)
}

/// Keywords of configurations, with their descriptions.
pub(crate) const KEYWORDS: &WordTable = &[
    (
        "if",
        "`if CONDITION`: the lines up to `else`, `elif` or `endif` are used only if the condition is true.\n\nA condition is a boolean, a number, `defined NAME` or `version >= X.Y.Z`, optionally preceded by `!`.",
    ),
    ("elif", "`elif CONDITION`: applies if no condition before it was true."),
    ("else", "`else`: applies if no condition before it was true."),
    ("endif", "`endif`: ends an `if`."),
    ("use", "`use CATEGORY : NAME`: inserts the statements of a template."),
    (
        "include",
        "`include : FILE`: reads a file in place of this line.\n\n`include ifexist : FILE` ignores a missing file; `include command : PROGRAM` reads the output of a program.",
    ),
    ("error", "`error : TEXT`: stops reading with this message."),
    ("warning", "`warning : TEXT`: prints a warning."),
];

/// Returns the description of a keyword of configurations.
pub(crate) fn keyword_text(word: &[u8]) -> Option<&'static str> {
    find(KEYWORDS, word.strip_prefix(b"@").unwrap_or(word))
}

/// Commands of routes and transforms, with their descriptions.
pub(crate) const COMMANDS: &WordTable = &[
    ("NAME", "`NAME text`: name of the transform."),
    ("REQUIREMENTS", "`REQUIREMENTS expression`: only jobs for which it is true are transformed or routed."),
    ("UNIVERSE", "`UNIVERSE name`: universe of the routed job [default: grid]."),
    ("SET", "`SET Attribute expression`: sets an attribute to an expression."),
    ("DEFAULT", "`DEFAULT Attribute expression`: sets an attribute that the job does not have."),
    ("EVALSET", "`EVALSET Attribute expression`: sets an attribute to the value of the expression."),
    ("EVALMACRO", "`EVALMACRO Name expression`: sets a macro to the value of the expression."),
    ("COPY", "`COPY Attribute New`: copies an attribute. `COPY /pattern/ New\\\\1` copies all that match."),
    (
        "RENAME",
        "`RENAME Attribute New`: renames an attribute. `RENAME /pattern/ New\\\\1` renames all that match.",
    ),
    ("DELETE", "`DELETE Attribute`: deletes an attribute. `DELETE /pattern/` deletes all that match."),
    ("TRANSFORM", "`TRANSFORM count variables in items`: applies the statements once for each item."),
];

/// Returns the description of a command of routes and transforms.
pub(crate) fn command_text(word: &[u8]) -> Option<&'static str> {
    find(COMMANDS, word)
}

/// Macro functions, with their descriptions.
pub(crate) const MACRO_FUNCTIONS: &WordTable = &[
    ("ENV", "`$ENV(NAME:default)`: value of an environment variable."),
    ("RANDOM_CHOICE", "`$RANDOM_CHOICE(a,b,c)`: one of the words, chosen at random."),
    ("RANDOM_INTEGER", "`$RANDOM_INTEGER(min,max,step)`: random integer."),
    ("CHOICE", "`$CHOICE(index,list)`: element of a list, counted from 0."),
    ("SUBSTR", "`$SUBSTR(name,start,length)`: part of a macro's value."),
    ("INT", "`$INT(name,format)`: value of a macro as an integer."),
    ("REAL", "`$REAL(name,format)`: value of a macro as a real number."),
    ("STRING", "`$STRING(name,format)`: value of a macro's expression as a string."),
    ("EVAL", "`$EVAL(expression)`: value of a ClassAd expression."),
    ("BASENAME", "`$BASENAME(path,suffix)`: last part of a path."),
    ("DIRNAME", "`$DIRNAME(path)`: path without its last part."),
    (
        "F",
        "`$Fpnx(name)`: parts of a path: p the directory, n the name, x the extension, d the last directory, q with quotes, a absolute.",
    ),
];

/// Returns the description of a macro function.
pub(crate) fn macro_function_text(name: &[u8]) -> Option<&'static str> {
    find(MACRO_FUNCTIONS, name).or_else(|| name.starts_with(b"F").then(|| find(MACRO_FUNCTIONS, b"F"))?)
}

/// Returns the description of a scope of an expression.
pub(crate) fn scope_text(name: &[u8]) -> Option<&'static str> {
    const SCOPES: &WordTable = &[
        ("MY", "`MY`: the ad that contains the expression."),
        ("TARGET", "`TARGET`: the ad that it is matched against."),
    ];
    find(SCOPES, name)
}

/// Returns the description of a macro that every transform has.
pub(crate) fn built_in_macro_text(name: &[u8]) -> Option<&'static str> {
    const MACROS: &WordTable = &[
        ("Step", "Number of the step within an item of TRANSFORM"),
        ("Row", "Number of the item of TRANSFORM"),
        ("ItemIndex", "Number of the item of TRANSFORM"),
        ("Item", "Item of TRANSFORM"),
        ("XFormId", "Number of the transformed ad"),
        ("Iterating", "True while TRANSFORM iterates"),
        ("Dollar", "A dollar sign"),
    ];
    find(MACROS, name)
}

/// Universes by name.
pub(crate) const UNIVERSES: [&str; 8] =
    ["VANILLA", "GRID", "SCHEDULER", "LOCAL", "PARALLEL", "JAVA", "VM", "DOCKER"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_text_and_the_tables_are_sorted() {
        for name in htc_classad::function_names() {
            let text = find_function(name.as_bytes()).unwrap_or_else(|| panic!("no text about {name}"));
            assert!(text.signature.starts_with(name) && text.description.ends_with('.'), "{text:?}");
        }
        assert_eq!(FUNCTION_STARTS.len(), htc_classad::function_names().len());
        for index in 0..ATTRIBUTE_STARTS.len() {
            let row = table_row(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS, index);
            let text = attribute_description(row.key()).expect("the table is sorted");
            assert!(text.ends_with('.') && row.field(2).is_empty(), "{text}");
        }
        assert!(attribute_description(b"jobstatus").is_some());
    }

    #[test]
    fn every_command_and_macro_function_has_a_text() {
        for keyword in htc_transform::CommandKeyword::names() {
            assert!(command_text(keyword.as_bytes()).is_some(), "{keyword}");
        }
        for function in ["ENV", "INT", "F", "Fpq", "SUBSTR"] {
            assert!(macro_function_text(function.as_bytes()).is_some(), "{function}");
        }
    }
}
