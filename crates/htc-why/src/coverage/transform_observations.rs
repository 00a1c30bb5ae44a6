//! Observations from runs of transforms: evaluated expressions with macros expanded, and outcomes of `if`
//! lines.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use super::{Condition, ConditionCoverage, Goal};
use htc_base::text::caseless;
use htc_classad::{Dialect, Expr};
use htc_transform::{CommandKeyword, Observer, RuleLine, TransformEvent};

/// Maximum number of expressions kept for one transform.
const MAX_TEXTS_PER_TRANSFORM: usize = 400;

/// Expressions and conditions that transforms have evaluated.
#[derive(Clone, Debug, Default)]
pub struct TransformObservations {
    /// Name of the transform that is running.
    current_transform: BString,
    evaluated_texts: BTreeMap<BString, BTreeSet<(&'static str, BString, BString)>>,
    /// Outcomes of conditions by transform, line number and text: true, and not true.
    conditions: BTreeMap<(BString, u32, BString), [bool; 2]>,
}

impl TransformObservations {
    /// Records that a transform begins.
    pub fn begin_transform(&mut self, transform: &BString) -> &mut Self {
        self.current_transform.clone_from(transform);
        self
    }

    /// Adds the expressions that a transform evaluated to `coverage`. `name` is the transform's name in
    /// messages.
    pub fn add_conditions_to(
        &self,
        transform: &BString,
        name: &str,
        preconditions: &[Goal],
        coverage: &mut ConditionCoverage<'_>,
    ) {
        for (keyword, attribute, text) in self.evaluated_texts.get(transform).into_iter().flatten() {
            if let Ok((expr, _)) = Expr::parse_prefix(text, Dialect::new_syntax()) {
                let name = format!("{name}: {keyword} {attribute}");
                coverage.add_condition(Condition {
                    name,
                    expr,
                    is_condition: false,
                    preconditions: preconditions.to_vec(),
                    is_same_in_both: false,
                });
            }
        }
    }

    /// Returns descriptions of the `if` lines that depend on the ad but had only one outcome. Transforms for
    /// which `is_equal` returns true, because they are equal in both rule sets, are omitted.
    pub fn unreached_conditions(&self, name: &str, is_equal: &dyn Fn(&BString) -> bool) -> Vec<String> {
        let one_sided = self.conditions.iter().filter(|((transform, _, text), outcomes)| {
            depends_on_ad(text) && **outcomes != [true; 2] && !is_equal(transform)
        });
        one_sided
            .map(|((transform, number, text), outcomes)| {
                let missing = if outcomes[0] { "false" } else { "true" };
                format!(
                    "{name}: {transform}, line {number}: `{text}`: no job was found for which it is {missing}"
                )
            })
            .collect()
    }
}

/// Returns true if a line of the `if` family refers to the ad.
fn depends_on_ad(text: &[u8]) -> bool {
    let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_condition = [&b"if"[..], b"elif"].into_iter().any(|keyword| caseless::eq(word, keyword));
    is_condition && text.to_ascii_lowercase().contains_str("my.")
}

impl Observer for TransformObservations {
    fn wants_steps(&self) -> bool {
        true
    }

    fn wants_undefined_reason(&self, _: &RuleLine) -> bool {
        false
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        match event {
            TransformEvent::Command {
                keyword: keyword @ (CommandKeyword::EvalSet | CommandKeyword::EvalMacro),
                attribute,
                text,
            } => {
                let texts = self.evaluated_texts.entry(self.current_transform.clone()).or_default();
                if texts.len() < MAX_TEXTS_PER_TRANSFORM {
                    texts.insert((keyword.name(), attribute.into(), text.into()));
                }
            }
            TransformEvent::Condition { enabled } => {
                let key = (self.current_transform.clone(), line.number, BString::from(&line.text[..]));
                self.conditions.entry(key).or_default()[usize::from(!enabled)] = true;
            }
            _ => {}
        }
    }
}
