//! Strings without quotes in comparisons of attributes that only a site has.

use bstr::BString;
use htc_base::text::caseless;
use htc_classad::{Expr, ExprKind};
use htc_config::lint_rule::LintRule;
use htc_config::registry;

use super::expression_parts::{for_each_part, reference_name};
use super::known_attributes::is_known_attribute;
use super::lint_subject::LintSubject;
use super::misplaced_operands::PartProblem;

/// Finds a comparison of an attribute that HTCondor does not have with a name without a scope that nothing defines
/// either: `Department == Physics`. Only one of them can be an attribute of jobs. `is_site` returns true for names that
/// the site defines, and for words with another meaning.
pub(super) fn find_bare_word(
    subject: &LintSubject<'_>,
    expr: &Expr,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Option<PartProblem> {
    if !subject.is_complete || !subject.config.unread_sources.is_empty() {
        return None;
    }
    let is_unknown = |name: &[u8]| {
        !is_site(name)
            && !is_known_attribute(name)
            && registry::find(name).is_none_or(|found| found.is_family())
            && subject.view.raw_bytes(name).is_none()
    };
    let mut found: Option<(BString, BString)> = None;
    for_each_part(expr, &mut |part| {
        let ExprKind::Compare("==" | "!=" | "=?=" | "=!=", left, right) = part.kind() else { return };
        let (Some(attribute), Some(word)) =
            (reference_name(&left), right.without_parentheses().as_attribute())
        else {
            return;
        };
        let word = word.as_bytes();
        if is_unknown(&attribute) && is_unknown(word) && !caseless::eq(&attribute, word) {
            found.get_or_insert((attribute, word.into()));
        }
    });
    let (attribute, word) = found?;
    let message =
        format!("{word} is the name of an attribute, and nothing here defines {attribute} or {word}");
    let fix = format!("write \"{word}\", with the quotes, if it is a string");
    Some((LintRule::UnknownAttribute, word, message, Some(fix.into())))
}
