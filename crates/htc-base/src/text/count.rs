//! Human-readable formatting of counts.

/// Formats a count with commas between thousands.
///
/// ```
/// use htc_base::text::count::format_thousands;
/// assert_eq!([format_thousands(0), format_thousands(999), format_thousands(1_234_567)], ["0", "999", "1,234,567"]);
/// ```
pub fn format_thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
