//! Rounding of numbers in the queue: a schedd rounds them up so that jobs of similar size form a group
//! (`SCHEDD_ROUND_ATTR_<name>`), and keeps the exact values in `<name>_RAW`.
//!
//! Reference: `SetAttribute` of `qmgmt.cpp`.

use bstr::{BString, ByteSlice};

use super::state_machine::{Shadow, ShadowAction};
use htc_classad::{ClassAd, Value};
use htc_hook::ParameterSource;

/// Suffix of the attribute that keeps the exact value.
const RAW_SUFFIX: &[u8] = b"_RAW";
/// Maximum power of ten in the rounding parameter.
const MAX_POWER_OF_TEN: u32 = 9;
/// Limit below which a number is treated as 0.
const ZERO_TOLERANCE: f64 = 0.000_001;

/// Rule for rounding a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    /// Round up to this percentage of the number's order of magnitude.
    Percent(f64),
    /// Round up to a multiple of this number.
    Multiple(i64),
}

impl Rounding {
    /// Parses the parameter. Returns `None` if nothing is rounded. The error describes the effect on a schedd.
    fn parse(text: &[u8]) -> Result<Option<Self>, &'static str> {
        let text = text.trim().to_str_lossy();
        if text.is_empty() || text == "0" {
            return Ok(None);
        }
        if text.contains('%') {
            let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
            return match percent.filter(|percent| (0.0..=1000.0).contains(percent)) {
                Some(percent) => Ok(Some(Rounding::Percent(percent))),
                None => Err("is not a percentage from 0 to 1000: a schedd exits"),
            };
        }
        match text.parse::<u32>().ok().filter(|power| *power <= MAX_POWER_OF_TEN) {
            Some(power) => Ok(Some(Rounding::Multiple(10i64.pow(power)))),
            None => Err("is not a power of ten from 0 to 9: a schedd exits"),
        }
    }

    fn round_value(self, value: &Value) -> Option<Value> {
        let number = match value {
            Value::Int(number) => *number as f64,
            Value::Real(number) => *number,
            _ => return None,
        };
        match (self, value) {
            (Rounding::Percent(percent), _) if number.abs() < ZERO_TOLERANCE || percent < ZERO_TOLERANCE => {
                Some(value.clone())
            }
            (Rounding::Percent(percent), _) => {
                let magnitude = ((number / 5.0).abs().ln() / 10f64.ln() + 1.0) as i32;
                let step = 10f64.powi(magnitude) * percent / 100.0;
                let rounded = (number / step).ceil() * step;
                Some(if matches!(value, Value::Int(_)) { (rounded as i64).into() } else { rounded.into() })
            }
            (Rounding::Multiple(of), _) => {
                let number = number as i64;
                Some((number.saturating_add(of - 1) / of).saturating_mul(of).into())
            }
        }
    }
}

impl Shadow<'_> {
    /// Rounds the attributes of the ad like the schedd's queue.
    pub(super) fn round_ad(&mut self) {
        for (name, rounding) in rounded_attributes(&self.ad, self.setup.parameters).into_iter().flatten() {
            round_attribute(&mut self.ad, &name, rounding);
        }
    }

    /// Reports the rounding parameters that have invalid values.
    pub(super) fn report_rounding_errors(&self, out: &mut Vec<ShadowAction>) {
        let wrong = rounded_attributes(&self.ad, self.setup.parameters).into_iter().filter_map(Result::err);
        out.extend(wrong.map(ShadowAction::Report));
    }
}

/// Returns the attributes to round with their rules, or the errors in the parameters.
fn rounded_attributes(
    ad: &ClassAd,
    parameters: &dyn ParameterSource,
) -> Vec<Result<(BString, Rounding), String>> {
    let numbers =
        ad.iter().filter(|(_, expr)| matches!(expr.as_literal(), Some(Value::Int(_) | Value::Real(_))));
    let names = numbers.map(|(name, _)| BString::from(name)).filter(|name| !name.ends_with(RAW_SUFFIX));
    let read = |name: BString| {
        let parameter = [b"SCHEDD_ROUND_ATTR_", &name[..]].concat();
        let text = parameters.get(&parameter)?;
        match Rounding::parse(&text) {
            Ok(rounding) => rounding.map(|rounding| Ok((name, rounding))),
            Err(why) => {
                Some(Err(format!("{} = {text} {why}; the number is not rounded", parameter.as_bstr())))
            }
        }
    };
    names.filter_map(read).collect()
}

fn round_attribute(ad: &mut ClassAd, name: &[u8], rounding: Rounding) {
    let raw = [name, RAW_SUFFIX].concat();
    let literal = |ad: &ClassAd, name: &[u8]| ad.get(name)?.as_literal();
    let Some(value) = literal(ad, name) else { return };
    // If the attribute is the rounded exact value, it is already rounded.
    let before = literal(ad, &raw).and_then(|raw| rounding.round_value(&raw));
    if before.as_ref() == Some(&value) {
        return;
    }
    let Some(rounded) = rounding.round_value(&value) else { return };
    ad.set(&raw[..], value);
    ad.set(name, rounded);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str, value: impl Into<Value>) -> Value {
        Rounding::parse(text.as_bytes()).unwrap().unwrap().round_value(&value.into()).unwrap()
    }

    #[test]
    fn numbers_are_rounded_up_as_recorded() {
        // Values of ResidentSetSize, DiskUsage and ImageSize that were recorded from 25.14.
        for (raw, rounded) in [(5712i64, 7500i64), (16, 17), (27, 27), (15, 15), (22136, 22500), (0, 0)] {
            assert_eq!(to("25%", raw), Value::Int(rounded), "{raw}");
        }
        assert_eq!(to("4", 3i64), Value::Int(10000));
        assert_eq!(to("4", 0i64), Value::Int(0));
        assert_eq!(to("25%", 5712.0), Value::Real(7500.0));
    }

    #[test]
    fn values_with_which_a_schedd_aborts_are_reported_and_round_nothing() {
        assert_eq!(Rounding::parse(b"0"), Ok(None));
        for text in ["%", "25%%", "2000%", "-1%", "ten", "10"] {
            assert!(Rounding::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn rounded_numbers_are_not_rounded_again() {
        let mut ad = ClassAd::new();
        ad.set("ImageSize", 5712i64);
        let percent = Rounding::parse(b"25%").unwrap().unwrap();
        for _ in 0..2 {
            round_attribute(&mut ad, b"ImageSize", percent);
            assert_eq!(ad.get("ImageSize").unwrap().as_literal(), Some(Value::Int(7500)));
            assert_eq!(ad.get("ImageSize_RAW").unwrap().as_literal(), Some(Value::Int(5712)));
        }
    }
}
