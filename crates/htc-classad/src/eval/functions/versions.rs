//! Natural comparison of version texts (reference: natural_cmp.cpp).

/// Compares two texts as `versioncmp()` does: numbers within the texts are compared by value. The sign of the result
/// is the order; the absolute value is the same as in the reference.
pub(crate) fn natural_cmp(left: &[u8], right: &[u8]) -> i64 {
    let byte = |text: &[u8], at: usize| text.get(at).copied().unwrap_or(0);
    let is_digit = |text: &[u8], at: usize| byte(text, at).is_ascii_digit();
    // C's `char` is signed on x86-64, so bytes from 0x80 on sort before ASCII.
    let difference = |at: usize| i64::from(byte(left, at) as i8) - i64::from(byte(right, at) as i8);

    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    if byte(left, at) == byte(right, at) {
        return 0;
    }
    let mut first = at;
    while first > 0 && left[first - 1].is_ascii_digit() {
        first -= 1;
    }
    if first == at && (!is_digit(left, at) || !is_digit(right, at)) {
        return difference(at);
    }
    // The last zero of a run of zeros is a number and not a leading zero, unless another digit follows.
    let zeros = |text: &[u8]| {
        let count = text[first..].iter().take_while(|byte| **byte == b'0').count();
        if count > 0 && !is_digit(text, first + count) { count - 1 } else { count }
    };
    let (left_zeros, right_zeros) = (zeros(left), zeros(right));
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    if left_zeros != right_zeros {
        return signed(right_zeros) - signed(left_zeros);
    }
    if left_zeros > 0 {
        return difference(at);
    }
    let digits = |text: &[u8]| text[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (left_digits, right_digits) = (digits(left), digits(right));
    if left_digits != right_digits {
        return signed(left_digits) - signed(right_digits);
    }
    difference(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_versions_compare_by_value() {
        assert!(natural_cmp(b"8.9.10", b"8.9.9") > 0);
        assert!(natural_cmp(b"8.9", b"8.10") < 0);
        assert_eq!(natural_cmp(b"25.0", b"25.0"), 0);
        assert!(natural_cmp(b"a01", b"a1") < 0);
        assert!(natural_cmp(b"a0", b"a00") > 0);
        assert!(natural_cmp(b"9.0", b"9.0.1") < 0);
        assert!(natural_cmp(b"", b"0") < 0);
    }
}
