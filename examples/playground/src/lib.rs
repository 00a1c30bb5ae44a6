//! Evaluation of ClassAd expressions for an HTML page. The input is an expression and two ads, the output is the value
//! with its explanation.
//!
//! The page and this module exchange bytes: the page reserves memory with [`input`], writes a JSON object there,
//! calls [`evaluate`], and reads the JSON object at [`output`].

use std::sync::{Mutex, PoisonError};

use htc_classad::explain::{self, TraceStep};
use htc_classad::{ClassAd, Context, EvalWorld, Expr, LineCaret, MatchAd, Zone};
use serde_json::{Value as Json, json};

/// Maximum depth of the steps that are shown.
const MAX_DEPTH: usize = 12;

/// Services of a browser: the time when a field changed, and random bits.
struct Browser {
    epoch: i64,
    random: u64,
}

impl EvalWorld for Browser {
    fn epoch(&self) -> i64 {
        self.epoch
    }

    fn local_zone(&self, _: i64) -> Zone {
        Zone::utc()
    }

    fn random_bits(&self) -> u64 {
        self.random
    }

    fn home(&self, _: &[u8]) -> Option<bstr::BString> {
        None
    }
}

/// Evaluates an expression in MY with TARGET, and explains the value.
///
/// The request has the texts `expression`, `my` and `target` and the numbers `epoch` and `random`. The answer has `value`,
/// `kind`, `cause`, `clauses` and `steps`, and for two ads `match`; or `error`, with the name of the field in `where`.
pub fn answer(request: &Json) -> Json {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let world = Browser {
        epoch: request["epoch"].as_i64().unwrap_or_default(),
        random: request["random"].as_u64().unwrap_or_default(),
    };
    let expr = match Expr::parse(text("expression")) {
        Ok(expr) => expr,
        Err(error) => {
            let text = text("expression").as_bytes();
            let caret = LineCaret { source: "", line: 1, text, span: error.span, cut: 0 };
            return json!({ "where": "expression", "error": caret.render(&error.to_string()) });
        }
    };
    let mut ads = Vec::new();
    for name in ["my", "target"] {
        match text(name).trim() {
            "" => ads.push(ClassAd::new()),
            ad => match ad.parse::<ClassAd>() {
                Ok(ad) => ads.push(ad),
                Err(error) => return json!({ "where": name, "error": error.to_string() }),
            },
        }
    }
    let [my, target] = &ads[..] else { return json!({ "where": "my", "error": "two ads are needed" }) };
    let pair = MatchAd::new(&world, my, target);
    let context = pair.left();
    let step = explain::trace(&context, &expr);
    let value = step.value.clone();
    let mut result = json!({
        "value": value.as_ref().map_or_else(|| "cannot be evaluated".to_owned(), ToString::to_string),
        "cause": explain::cause_of_value(&context, &expr, &step),
        "clauses": explain::clauses(&context, &expr).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "steps": render_step(&step, 0),
    });
    if my.contains("Requirements") && target.contains("Requirements") {
        result["match"] = json!(match_text(&pair, my, target));
    }
    result
}

/// Returns a text that says if two ads match and, if they do not, names the clause that prevents it.
fn match_text(pair: &MatchAd<'_>, my: &ClassAd, target: &ClassAd) -> String {
    if pair.symmetric() {
        return "the ads match".to_owned();
    }
    let sides: [(&str, Context<'_>, &ClassAd); 2] =
        [("MY", pair.left(), my), ("TARGET", pair.right(), target)];
    let refusal = sides.iter().find_map(|(name, context, ad)| {
        let clause = explain::first_not_true(context, &ad.get("Requirements")?)?;
        Some(format!("the ads do not match: Requirements of {name}: {clause}"))
    });
    refusal.unwrap_or_else(|| "the ads do not match".to_owned())
}

/// Returns a step of an evaluation as JSON, with the steps on which it depends.
fn render_step(step: &TraceStep, depth: usize) -> Json {
    let steps: Vec<Json> = if depth < MAX_DEPTH {
        step.steps.iter().filter(|step| !step.is_literal()).map(|step| render_step(step, depth + 1)).collect()
    } else {
        Vec::new()
    };
    json!({
        "expr": step.expr.to_string(),
        "value": step.value.as_ref().map_or_else(|| "cannot be evaluated".to_owned(), ToString::to_string),
        "note": step.note,
        "steps": steps,
    })
}

/// The request of the page, and the answer.
static BUFFERS: Mutex<(Vec<u8>, Vec<u8>)> = Mutex::new((Vec::new(), Vec::new()));

/// Functions that the page calls.
#[allow(unsafe_code, reason = "an exported name could collide with another; this module exports only these")]
mod exports {
    use super::{BUFFERS, PoisonError, answer, json};

    /// Reserves memory for `length` bytes of a request, and returns its address.
    #[unsafe(no_mangle)]
    pub extern "C" fn input(length: usize) -> *mut u8 {
        let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.0 = vec![0; length];
        buffers.0.as_mut_ptr()
    }

    /// Answers the request, and returns the length of the answer.
    #[unsafe(no_mangle)]
    pub extern "C" fn evaluate() -> usize {
        let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match serde_json::from_slice(&buffers.0) {
            Ok(request) => answer(&request),
            Err(error) => json!({ "where": "expression", "error": error.to_string() }),
        };
        buffers.1 = result.to_string().into_bytes();
        buffers.1.len()
    }

    /// Returns the address of the answer.
    #[unsafe(no_mangle)]
    pub extern "C" fn output() -> *const u8 {
        BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).1.as_ptr()
    }
}

pub use exports::{evaluate, input, output};

#[cfg(test)]
mod tests {
    use super::{answer, json};

    #[test]
    fn the_answer_contains_the_cause_of_a_value() {
        let request = json!({
            "expression": "TARGET.Cpus >= MY.RequestCpus && TARGET.HasGpu",
            "my": "[ RequestCpus = 2 ]",
            "target": "[ Cpus = 4 ]",
        });
        let answer = answer(&request);
        assert_eq!(answer["value"], "undefined");
        assert_eq!(answer["cause"], "TARGET.HasGpu is missing");
        assert_eq!(answer["clauses"].as_array().map(Vec::len), Some(2));
        assert_eq!(answer["match"], json!(null));
    }

    #[test]
    fn two_ads_with_requirements_are_matched() {
        let request = json!({
            "expression": "time()",
            "my": "RequestMemory = 8192\nRequirements = TARGET.Memory >= MY.RequestMemory",
            "target": "Memory = 4096\nRequirements = true",
            "epoch": 17,
        });
        let answer = answer(&request);
        assert_eq!(answer["value"], "17");
        let text = answer["match"].as_str().unwrap();
        assert!(
            text.starts_with(
                "the ads do not match: Requirements of MY: `TARGET.Memory >= MY.RequestMemory` is false"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_error_names_its_field() {
        assert_eq!(answer(&json!({ "expression": "1 +" }))["where"], "expression");
        assert_eq!(answer(&json!({ "expression": "1", "target": "[ a = ]" }))["where"], "target");
    }
}
