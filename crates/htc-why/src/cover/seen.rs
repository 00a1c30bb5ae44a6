//! What was met while transforms ran: the expressions they evaluated, with macros expanded, and which way their `if` lines went.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use super::{Condition, Cover, Goal};
use htc_base::text::caseless;
use htc_classad::{Dialect, Expr};
use htc_transform::{Event, Keyword, Line, Observer};

/// So many texts of one transform are kept.
const MOST: usize = 400;

/// What was met, by transform.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The transform that runs.
    transform: BString,
    evaluated: BTreeMap<BString, BTreeSet<(&'static str, BString, BString)>>,
    /// By transform, number and text of the line: whether it was true, and whether it was not.
    conditions: BTreeMap<(BString, u32, BString), [bool; 2]>,
}

impl Seen {
    /// A transform begins.
    pub fn begins(&mut self, transform: &BString) -> &mut Self {
        self.transform.clone_from(transform);
        self
    }

    /// Hands the expressions that a transform evaluated to `cover`. `name` is what the transform is called.
    pub fn conditions(&self, transform: &BString, name: &str, within: &[Goal], cover: &mut Cover<'_>) {
        for (keyword, attribute, text) in self.evaluated.get(transform).into_iter().flatten() {
            if let Ok((expr, _)) = Expr::parse_prefix(text, Dialect::new_syntax()) {
                let name = format!("{name}: {keyword} {attribute}");
                cover.condition(Condition {
                    name,
                    expr,
                    is_condition: false,
                    within: within.to_vec(),
                    is_alike: false,
                });
            }
        }
    }

    /// The `if` lines that depend on the ad and went only one way, by name.
    /// Transforms that are `known` to do the same in both are left out.
    pub fn unreached(&self, name: &str, known: &dyn Fn(&BString) -> bool) -> Vec<String> {
        let one_way = self
            .conditions
            .iter()
            .filter(|((transform, _, text), seen)| depends(text) && **seen != [true; 2] && !known(transform));
        one_way
            .map(|((transform, number, text), seen)| {
                let missing = if seen[0] { "false" } else { "true" };
                format!(
                    "{name}: {transform}, line {number}: `{text}`: no job was found for which it is {missing}"
                )
            })
            .collect()
    }
}

/// Whether a line of the `if` family asks something of the ad.
fn depends(text: &[u8]) -> bool {
    let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let asks = [&b"if"[..], b"elif"].into_iter().any(|keyword| caseless::eq(word, keyword));
    asks && text.to_ascii_lowercase().contains_str("my.")
}

impl Observer for Seen {
    fn wants_steps(&self) -> bool {
        true
    }

    fn wants_reason(&self, _: &Line) -> bool {
        false
    }

    fn event(&mut self, line: &Line, event: Event<'_>) {
        match event {
            Event::Command {
                keyword: keyword @ (Keyword::EvalSet | Keyword::EvalMacro),
                attribute,
                text,
            } => {
                let texts = self.evaluated.entry(self.transform.clone()).or_default();
                if texts.len() < MOST {
                    texts.insert((keyword.name(), attribute.into(), text.into()));
                }
            }
            Event::Condition { enabled } => {
                let key = (self.transform.clone(), line.number, BString::from(&line.text[..]));
                self.conditions.entry(key).or_default()[usize::from(!enabled)] = true;
            }
            _ => {}
        }
    }
}
