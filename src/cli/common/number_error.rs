//! Messages for invalid numbers in options, which replace the texts of Rust's conversion functions.

use std::error::Error;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

/// Returns the message for a command-line error caused by a number, or `None` for other errors.
pub(super) fn number_error_text(error: &dyn Error) -> Option<String> {
    let cause = error.source()?;
    if let Some(number) = cause.downcast_ref::<ParseIntError>() {
        let words = match number.kind() {
            IntErrorKind::Zero => "expected a whole number above 0",
            IntErrorKind::PosOverflow => "the number is too large",
            IntErrorKind::NegOverflow => "the number is too small",
            _ => "expected a whole number",
        };
        return Some(words.to_owned());
    }
    if cause.downcast_ref::<ParseFloatError>().is_some() {
        return Some("expected a number".to_owned());
    }
    // clap provides the error about a range only as text.
    let text = cause.to_string();
    let (_, range) = text.split_once(" is not in ")?;
    let (low, high) = range.split_once("..")?;
    let high = high.trim_start_matches('=');
    Some(match high.parse::<u64>() {
        Ok(high) if high < u64::from(u32::MAX) => format!("expected a whole number from {low} to {high}"),
        _ => format!("expected a whole number of at least {low}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_for(
        parser: impl clap::builder::IntoResettable<clap::builder::ValueParser>,
        value: &str,
    ) -> String {
        let option = clap::Arg::new("n").long("n").allow_hyphen_values(true).value_parser(parser);
        let error =
            clap::Command::new("c").arg(option).try_get_matches_from(["c", "--n", value]).unwrap_err();
        number_error_text(&error).unwrap_or_else(|| error.to_string())
    }

    #[test]
    fn invalid_numbers_have_a_plain_message() {
        let above_zero = || clap::value_parser!(std::num::NonZero<usize>);
        assert_eq!(message_for(above_zero(), "0"), "expected a whole number above 0");
        assert_eq!(message_for(above_zero(), "x"), "expected a whole number");
        assert_eq!(message_for(clap::value_parser!(u64), "99999999999999999999"), "the number is too large");
        assert_eq!(message_for(clap::value_parser!(f64), "x"), "expected a number");
        assert_eq!(
            message_for(clap::value_parser!(u32).range(1..), "0"),
            "expected a whole number of at least 1"
        );
        assert_eq!(
            message_for(clap::value_parser!(u64).range(1..), "0"),
            "expected a whole number of at least 1"
        );
        assert_eq!(
            message_for(clap::value_parser!(i64).range(1..=9), "10"),
            "expected a whole number from 1 to 9"
        );
    }
}
