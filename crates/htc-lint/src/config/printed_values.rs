//! Checks of attribute values that a hook or another program prints.

use bstr::{BStr, ByteSlice};
use htc_base::text::caseless;
use htc_classad::{Expr, Value};

use super::attribute_facts::find_facts;
use super::expression_types::{ExpressionMistake, ExpressionTypes, TypeSet, number_of_word};
use super::known_attributes::{
    AttributeType, attribute_of_command, attribute_type, is_exact_attribute, is_known_attribute,
    nearest_attribute,
};
use super::syntax_advice::unit_of_attribute;
use super::type_rules::{suggest_boolean, suggest_undefined};

/// Kind of a mistake in a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedMistake {
    /// A word or path that was intended as a string has no quotes, or has single quotes.
    UnquotedString,
    /// A value in the syntax of another language, such as Python's None.
    ForeignLiteral,
    /// The value does not have the type that HTCondor expects.
    WrongType,
    /// The value, or a part of it, is always an error.
    AlwaysError,
    /// The value refers to an attribute that the ad does not have.
    UnknownAttribute,
}

/// Mistake in a printed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedValueFinding {
    /// Kind of the mistake.
    pub mistake: PrintedMistake,
    /// Description of the mistake.
    pub message: String,
    /// Advice for the correction.
    pub advice: String,
}

/// Returns advice about a number with a unit as the value of an attribute: `in MiB: print RequestMemory = 2048` for 2 GB.
pub fn suggest_quantity(attribute: &[u8], value: &[u8]) -> Option<String> {
    let (unit, converted) = convert_quantity(attribute, value)?;
    Some(format!("in {unit}: print {} = {converted}", attribute.as_bstr()))
}

/// Returns the unit of an attribute, and a quantity such as `2 GB` as a number in this unit.
pub(crate) fn convert_quantity(attribute: &[u8], value: &[u8]) -> Option<(&'static str, String)> {
    let unit = find_facts(attribute)?.unit.and_then(unit_of_attribute)?;
    let value = value.trim();
    let end = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let converted = unit.convert(&value[..end], value[end..].trim())?;
    Some((unit.name, converted))
}

/// Checks the value of an attribute of a job. `is_defined` returns true for the attributes of the ad.
pub fn check_printed_value(
    name: &[u8],
    value: &Expr,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Option<PrintedValueFinding> {
    if value.is_reference() {
        return check_lone_name(name, value, is_defined);
    }
    let (types, examined) = ExpressionTypes::examine(value, &|_| false);
    let error = examined.faults.iter().find(|fault| fault.mistake == ExpressionMistake::AlwaysError);
    if let Some(fault) = error {
        let message = format!("{}: {}", BStr::new(name), fault.message);
        let advice = fault.fix.clone().unwrap_or_else(|| "correct the expression".to_owned());
        return Some(PrintedValueFinding { mistake: PrintedMistake::AlwaysError, message, advice });
    }
    check_type(name, value, types).or_else(|| check_names(name, &examined, is_defined))
}

/// Checks an expression that is evaluated with a job ad as MY. The ad may have attributes that are not known here.
pub(crate) fn check_job_expression(expr: &Expr) -> Option<PrintedValueFinding> {
    let (_, examined) = ExpressionTypes::examine(expr, &|_| false);
    if let Some(fault) = examined.faults.iter().find(|fault| fault.mistake != ExpressionMistake::AlwaysSame) {
        let mistake = match fault.mistake {
            ExpressionMistake::MissingQuotes => PrintedMistake::UnquotedString,
            _ => PrintedMistake::AlwaysError,
        };
        let advice = fault.fix.clone().unwrap_or_else(|| "correct the expression".to_owned());
        return Some(PrintedValueFinding { mistake, message: fault.message.clone(), advice });
    }
    examined.references.iter().find_map(|reference| {
        let word = &reference.name;
        let truth = suggest_boolean(word).filter(|_| expr.is_reference() && word.len() <= 8);
        let truth = truth.or_else(|| suggest_undefined(word)).map(|advice| advice.to_string());
        let near = || nearest_attribute(word).map(|near| format!("did you mean {}?", near.as_bstr()));
        let command = || attribute_of_command(word).map(|attribute| format!("write {attribute}"));
        if is_exact_attribute(word) || !reference.scope.is_empty() && reference.scope != "MY" {
            return None;
        }
        let advice = truth.or_else(command).or_else(near)?;
        let message = format!("HTCondor has no attribute {word}: it is undefined unless jobs define it");
        Some(PrintedValueFinding { mistake: PrintedMistake::UnknownAttribute, message, advice })
    })
}

/// Returns advice about an attribute that HTCondor does not have, if its name is that of a submit command or similar to a
/// known attribute.
pub(crate) fn suggest_attribute(name: &[u8]) -> Option<String> {
    if is_exact_attribute(name) {
        return None;
    }
    let command = attribute_of_command(name).map(|attribute| format!("write {attribute}"));
    command.or_else(|| nearest_attribute(name).map(|near| format!("did you mean {}?", near.as_bstr())))
}

/// Checks a value that is only the name of an attribute. It is usually a string without quotes.
fn check_lone_name(
    name: &[u8],
    value: &Expr,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Option<PrintedValueFinding> {
    const NULL_WORDS: [&str; 4] = ["None", "null", "nil", "NaN"];
    let word = value.without_parentheses().as_attribute()?;
    let word = word.as_bytes();
    let shown = BStr::new(name);
    if word.contains(&b'.') && !word.contains(&b'/') || is_defined(word) {
        return None;
    }
    let found = |mistake, advice: String| {
        let message = format!(
            "{} is the name of an attribute that the ad does not have, so {shown} is undefined",
            word.as_bstr()
        );
        Some(PrintedValueFinding { mistake, message, advice })
    };
    if NULL_WORDS.iter().any(|null| caseless::eq(null.as_bytes(), word)) {
        return found(PrintedMistake::ForeignLiteral, format!("print undefined, or do not print {shown}"));
    }
    if let Some(advice) = suggest_boolean(word).filter(|_| word.len() <= 8) {
        return found(PrintedMistake::UnquotedString, advice.to_string());
    }
    // Not reported: a known attribute may come from the slot ad or be set in the job ad later.
    if is_exact_attribute(word) {
        return None;
    }
    let advice = match attribute_type(name) {
        Some(AttributeType::Number) => match number_of_word(name, word) {
            Some(number) => format!("{shown} must be a number: print {shown} = {number}"),
            // 1 is the number of the standard universe, which was removed.
            None if caseless::eq(name, b"JobUniverse") => {
                format!("{shown} must be a number: print {shown} = 5 for vanilla")
            }
            None => format!("{shown} must be a number: print {shown} = 1, for example"),
        },
        Some(AttributeType::Boolean) => {
            format!("{shown} must be true or false: print {shown} = true or false")
        }
        Some(AttributeType::Text) | None => {
            format!("a string needs double quotes: {shown} = \"{}\"", word.as_bstr())
        }
    };
    found(PrintedMistake::UnquotedString, advice)
}

/// Checks the type of a value, if HTCondor accepts only one type for the attribute.
fn check_type(name: &[u8], value: &Expr, types: TypeSet) -> Option<PrintedValueFinding> {
    let text = value.without_parentheses().as_literal().and_then(|value| match value {
        Value::Str(text) => Some(text.to_str_lossy().into_owned()),
        _ => None,
    });
    let (wanted, is_wrong) = match attribute_type(name)? {
        AttributeType::Number => ("a number", types.is_only_text()),
        AttributeType::Boolean => ("true or false", types.is_only_text()),
        AttributeType::Text => ("a string", types.is_only_number_or_boolean()),
    };
    if !is_wrong {
        return None;
    }
    let shown = BStr::new(name);
    let advice = match (&text, wanted) {
        (Some(text), _) if text.trim().parse::<f64>().is_ok() => format!("print {shown} = {}", text.trim()),
        (Some(text), "true or false") if matches!(&*text.to_ascii_lowercase(), "true" | "false") => {
            format!("print {shown} = {text}")
        }
        (_, "a number") => "print the number without quotes and unit".to_owned(),
        (_, "a string") => "print it between double quotes".to_owned(),
        _ => "print true or false without quotes".to_owned(),
    };
    let message = format!("{shown} must be {wanted}, not {value}");
    Some(PrintedValueFinding { mistake: PrintedMistake::WrongType, message, advice })
}

/// Checks the attributes to which an expression refers.
fn check_names(
    name: &[u8],
    examined: &ExpressionTypes<'_>,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Option<PrintedValueFinding> {
    // These expressions are matched with a slot ad, whose attributes are not known here.
    const MATCHED: [&str; 3] = ["Requirements", "Rank", "Preemption"];
    let is_matched = MATCHED.iter().any(|matched| caseless::starts_with(name, matched.as_bytes()));
    examined.references.iter().find_map(|reference| {
        let word = &reference.name;
        let is_in_this_ad = reference.scope == "MY" || reference.scope.is_empty() && !is_matched;
        if is_defined(word) || is_known_attribute(word) {
            return None;
        }
        let near = nearest_attribute(word);
        if !is_in_this_ad && near.is_none()
            || !is_in_this_ad && reference.scope != "TARGET" && !reference.scope.is_empty()
        {
            return None;
        }
        let message = format!("{}: the ad has no attribute {word}: it is undefined", BStr::new(name));
        let advice = match near {
            Some(near) => format!("did you mean {}?", near.as_bstr()),
            None => format!("print {word} as well, or test it with isUndefined()"),
        };
        Some(PrintedValueFinding { mistake: PrintedMistake::UnknownAttribute, message, advice })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::Dialect;

    fn check(line: &str) -> Option<(PrintedMistake, String)> {
        let (name, value) = line.split_once(" = ").unwrap();
        let value = Expr::parse_with(value.as_bytes(), Dialect::old_syntax()).unwrap();
        let is_defined = |name: &[u8]| name == b"Mine";
        check_printed_value(name.as_bytes(), &value, &is_defined).map(|found| (found.mistake, found.advice))
    }

    #[test]
    fn words_literals_and_types_of_other_languages_are_found() {
        for (line, mistake, advice) in [
            ("Foo = bar", PrintedMistake::UnquotedString, "Foo = \"bar\""),
            ("RequestCpus = four", PrintedMistake::UnquotedString, "must be a number: print RequestCpus = 1"),
            ("Y = yes", PrintedMistake::UnquotedString, "true"),
            ("W = None", PrintedMistake::ForeignLiteral, "undefined"),
            ("W = null", PrintedMistake::ForeignLiteral, "undefined"),
            ("ContainerImage = 'docker://debian'", PrintedMistake::UnquotedString, "\"docker://debian\""),
            ("RequestCpus = \"4\"", PrintedMistake::WrongType, "RequestCpus = 4"),
            ("RequestMemory = \"2 GB\"", PrintedMistake::WrongType, "unit"),
            ("Owner = 5", PrintedMistake::WrongType, "quotes"),
            ("WantDocker = \"true\"", PrintedMistake::WrongType, "WantDocker = true"),
            ("Foo = Nowhere * 2", PrintedMistake::UnknownAttribute, "Nowhere"),
            ("Foo = JobSatus == 5", PrintedMistake::UnknownAttribute, "JobStatus"),
            ("Foo = JobStatus == \"5\"", PrintedMistake::AlwaysError, "5"),
            (
                "Requirements = TARGET.Memroy > 5 && TARGET.DetectedMemroy > 5",
                PrintedMistake::UnknownAttribute,
                "?",
            ),
        ] {
            let found = check(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.0, mistake, "{line}");
            assert!(found.1.contains(advice), "{line}: {}", found.1);
        }
    }

    #[test]
    fn correct_values_are_not_reported() {
        for line in [
            "Foo = \"bar\"",
            "Foo = Mine",
            "Foo = Mine + 1",
            "Foo = Owner",
            "RequestMemory = 2048",
            "RequestMemory = ImageSize / 1024",
            "Foo = undefined",
            "Foo = True",
            "Requirements = HasMatlab && TARGET.Site == \"x\"",
            "Foo = MY.Mine",
            "Foo = { 1, 2 }",
            "Foo = 1.5",
        ] {
            assert_eq!(check(line), None, "{line}");
        }
    }
}
