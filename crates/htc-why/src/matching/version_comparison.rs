//! Comparisons of versions: calls of versionGE() and the like, and versions that are compared as strings.

use htc_classad::{Context, Expr, ExprKind};

use super::clauses::{Reference, mentioned_references};
use super::value_summary::{ValueSummary, expr_text};

/// Functions that compare two versions. The words describe the required version if it is the second argument, and if it
/// is the first one.
const FUNCTIONS: [(&str, [&str; 2]); 5] = [
    ("versionGE", ["at least ", "at most "]),
    ("versionGT", ["above ", "below "]),
    ("versionLE", ["at most ", "at least "]),
    ("versionLT", ["below ", "above "]),
    ("versionEQ", ["", ""]),
];

/// Maximum depth to which an expression is searched.
const MAX_DEPTH: usize = 8;

/// Beginning of the value of CondorVersion, which contains more than the version.
const WHOLE_VERSION: &str = "$CondorVersion:";

/// Comparison of versions in a clause.
pub(super) struct VersionComparison {
    /// Expression of the version that is compared.
    version: Expr,
    /// Phrase for the required version: `at least 25.0.0`.
    wanted: String,
    /// Name of the function, or the operator that compares strings.
    function: String,
    is_operator: bool,
}

impl VersionComparison {
    /// Returns the first comparison of versions in an expression, or `None`.
    pub(super) fn find(context: &Context<'_>, part: &Expr) -> Option<Self> {
        VersionComparison::find_within(context, part, (MAX_DEPTH, false))
    }

    fn find_within(context: &Context<'_>, part: &Expr, (depth, is_negated): (usize, bool)) -> Option<Self> {
        let is_met = || context.eval(part).truth() == Some(!is_negated);
        let comparison = VersionComparison::parse(context, part, is_negated).filter(|_| !is_met());
        if comparison.is_some() || depth == 0 {
            return comparison;
        }
        let is_negated = is_negated != matches!(part.kind(), ExprKind::Not(_));
        let find_in = |part: &Expr| VersionComparison::find_within(context, part, (depth - 1, is_negated));
        part.parts().iter().find_map(find_in)
    }

    fn parse(context: &Context<'_>, part: &Expr, is_negated: bool) -> Option<Self> {
        let text = |expr: &Expr| context.eval(expr).as_str().map(ToString::to_string);
        match part.kind() {
            ExprKind::Call(name, arguments) => {
                let is_function = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
                let function = name.to_string();
                if let ([version, min, max], true) = (&arguments[..], is_function("version_in_range")) {
                    let not = if is_negated { "not " } else { "" };
                    let wanted = format!("{not}one from {} to {}", text(min)?, text(max)?);
                    let version = version.clone();
                    return Some(VersionComparison { version, wanted, function, is_operator: false });
                }
                let (_, [of_second, of_first]) = FUNCTIONS.iter().find(|(known, _)| is_function(known))?;
                let [first, second] = &arguments[..] else { return None };
                let is_constant = |expr: &Expr| mentioned_references(expr).is_empty();
                let (version, required, words) = match (is_constant(first), is_constant(second)) {
                    (true, false) => (second, first, of_first),
                    _ => (first, second, of_second),
                };
                let words = if is_negated { opposite(words) } else { words };
                let wanted = format!("{words}{}", text(required)?);
                Some(VersionComparison { version: version.clone(), wanted, function, is_operator: false })
            }
            ExprKind::Compare(operator @ ("<" | "<=" | ">" | ">="), left, right) => {
                let is_version =
                    |expr: &Expr| Reference::parse(expr).is_some_and(|found| found.name == "CondorVersion");
                let (version, required, operator) = match (is_version(&left), is_version(&right)) {
                    (true, false) => (left, right, operator),
                    (false, true) => (right, left, super::comparison_boundary::mirror_operator(operator)),
                    _ => return None,
                };
                let function = match operator {
                    "<" => "versionLT",
                    "<=" => "versionLE",
                    ">" => "versionGT",
                    _ => "versionGE",
                };
                let wanted = number_of_version(&text(&required)?).to_owned();
                let function = function.to_owned();
                Some(VersionComparison { version, wanted, function, is_operator: true })
            }
            _ => None,
        }
    }

    /// Describes the comparison with the versions of some slots, each with the number of slots.
    pub(super) fn describe<'c>(
        &self,
        contexts: impl Iterator<Item = (Context<'c>, usize)>,
    ) -> Option<String> {
        let number = || format!("split({})[1]", expr_text(&self.version));
        if self.is_operator {
            let VersionComparison { function, wanted, .. } = self;
            return Some(format!(
                "versions are compared as strings here; write {function}({}, \"{wanted}\")",
                number()
            ));
        }
        let mut values = ValueSummary::default();
        let mut is_whole = false;
        for (context, count) in contexts {
            let value = context.eval(&self.version);
            is_whole |= value.as_str()?.to_string().starts_with(WHOLE_VERSION);
            values.add(&value, count);
        }
        if is_whole {
            return Some(format!(
                "{}() compares the whole text with {}; write {} for the number of the version",
                self.function,
                self.wanted,
                number()
            ));
        }
        let (is, text) = match values.only_text() {
            Some(only) => ("the version is", only),
            None => ("the versions are", values.text()),
        };
        Some(format!("{is} {text}, the condition asks for {}", self.wanted))
    }
}

/// Returns the number in a whole version: `9.0.0` of `$CondorVersion: 9.0.0 2021-04-14 $`.
fn number_of_version(text: &str) -> &str {
    let number = text.strip_prefix(WHOLE_VERSION).and_then(|rest| rest.split_whitespace().next());
    number.unwrap_or(text)
}

/// Returns the words for the opposite of a comparison.
fn opposite(words: &str) -> &'static str {
    match words {
        "at least " => "below ",
        "above " => "at most ",
        "at most " => "above ",
        "below " => "at least ",
        _ => "another than ",
    }
}
