//! Order of sorted results.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::{Problem, ProgramContext};
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::world::World;

/// Keys by which items are sorted, and the direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortKeys {
    keys: Vec<Expr>,
    descending: bool,
}

impl SortKeys {
    /// Creates the keys of `--sort` and `--reverse`.
    pub(crate) fn new(keys: Vec<Expr>, descending: bool) -> Self {
        SortKeys { keys, descending }
    }

    /// Returns the keys.
    pub(crate) fn exprs(&self) -> &[Expr] {
        &self.keys
    }

    /// True if there are no keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Sorts items by the values of the keys in their ads. If there are no keys, items keep their order. A warning reports keys
    /// that evaluate to an error.
    pub(crate) fn sort<T>(
        &self,
        items: &mut Vec<T>,
        ad: impl Fn(&T) -> &ClassAd,
        world: &dyn World,
        (noun, session): (&str, &ProgramContext),
    ) {
        if self.is_empty() {
            return;
        }
        let keys = |item: &T| -> Vec<Value> {
            let context = Context::new(world).my(ad(item));
            self.keys.iter().map(|key| context.eval(key)).collect()
        };
        let mut keyed: Vec<_> = items.drain(..).map(|item| (keys(&item), item)).collect();
        let is_error = |value: &Value| matches!(value, Value::Error);
        let errors = keyed.iter().filter(|(keys, _)| keys.iter().any(is_error)).count();
        if errors > 0 {
            session.warn(&sort_error_warning(errors as u64, noun, &self.keys));
        }
        let compare = if self.descending { compare_in_reverse } else { compare_sort_keys };
        keyed.sort_by(|a, b| compare(&a.0, &b.0));
        items.extend(keyed.into_iter().map(|(_, item)| item));
    }
}

/// Returns the warning about sort keys that evaluate to an error. `noun` is the singular of the sorted items.
///
/// The keys are needed for a hint about a negated string.
pub(crate) fn sort_error_warning(count: u64, noun: &str, keys: &[Expr]) -> String {
    let items =
        if count == 1 { format!("1 {noun}, which is") } else { format!("{count} {noun}s, which are") };
    let is_negated = keys.iter().any(|key| key.unparse().starts_with(b"-"));
    let hint = match is_negated {
        true => "\n    hint: '-' cannot negate a string; --reverse sorts in descending order",
        false => "",
    };
    format!("a sort key is an error for {items} printed last{hint}")
}

/// Parses the values of an option as expressions.
///
/// # Errors
/// Returns an error for a text that is not an expression.
pub(crate) fn parse_expressions(option: &str, texts: &[String]) -> Result<Vec<Expr>, Problem> {
    let parse = |text: &String| {
        refuse_file_name(option, text.as_ref())?;
        let problem = |error| Problem::usage(format!("{option} {text}: {error}"));
        Expr::parse(text.as_bytes()).map_err(problem)
    };
    texts.iter().map(parse).collect()
}

/// Returns an error if the expression of an option is the name of an existing file, which the user probably wanted to read.
pub(crate) fn refuse_file_name(option: &str, text: &OsStr) -> Result<(), Problem> {
    let is_like_file = text.as_bytes().iter().any(|byte| matches!(byte, b'.' | b'/'));
    if !is_like_file || !Path::new(text).is_file() {
        return Ok(());
    }
    let text = text.to_string_lossy();
    let problem = Problem::usage(format!("{option} needs an expression, and '{text}' is a file"));
    Err(problem.hint(format!("--ads {text} reads the ads of the file")))
}

/// Compares sort keys for descending order. Undefined values and errors come last in both directions.
pub(crate) fn compare_in_reverse(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let has_value = |value: &Value| !matches!(value, Value::Undefined | Value::Error);
    let order = a.iter().zip(b).map(|(a, b)| {
        let ascending = compare_sort_keys(std::slice::from_ref(a), std::slice::from_ref(b));
        if has_value(a) && has_value(b) { ascending.reverse() } else { ascending }
    });
    order.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// Compares sort keys: numbers before strings before times, all of them before lists and ads, and undefined
/// values and errors last. Equal keys keep the order of the input.
pub(crate) fn compare_sort_keys(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let class = |value: &Value| match value {
        Value::Bool(_) | Value::Int(_) | Value::Real(_) => 0,
        Value::Str(_) => 1,
        Value::AbsTime(_) => 2,
        Value::RelTime(_) => 3,
        Value::List(_) | Value::Ad(_) => 4,
        Value::Undefined => 5,
        Value::Error => 6,
    };
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            class(a).cmp(&class(b)).then_with(|| match (a, b) {
                (Value::Int(a), Value::Int(b)) => a.cmp(b),
                (Value::Str(a), Value::Str(b)) => crate::text::caseless::cmp(a, b).then_with(|| a.cmp(b)),
                (Value::AbsTime(a), Value::AbsTime(b)) => a.seconds.cmp(&b.seconds),
                (Value::RelTime(a), Value::RelTime(b)) => a.total_cmp(b),
                (a, b) => match (a.as_real(), b.as_real()) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    _ => std::cmp::Ordering::Equal,
                },
            })
        })
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}
