//! Names that differ by little: for messages that guess what was meant.

/// How many changes of one byte, or swaps of neighbours, lead from one name to the other, without case; `None` if
/// more than `limit`.
pub fn distance(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let same = x.eq_ignore_ascii_case(y);
            let mut cost = (last[j] + usize::from(!same)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1].eq_ignore_ascii_case(y) && x.eq_ignore_ascii_case(&b[j - 1]) {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        if row.iter().min().is_none_or(|&least| least > limit) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|&distance| distance <= limit)
}

/// The nearest of several names, at most two changes away (one for short names), the first of equals.
///
/// ```
/// use htc_hooks::text::similar::nearest;
/// assert_eq!(nearest("strcta", ["size", "strcat"]), Some("strcat"));
/// assert_eq!(nearest("zzzz", ["size", "strcat"]), None);
/// ```
pub fn nearest<'a, Name>(
    name: impl AsRef<[u8]>,
    known: impl IntoIterator<Item = &'a Name>,
) -> Option<&'a Name>
where
    Name: AsRef<[u8]> + ?Sized,
{
    let name = name.as_ref();
    let limit = if name.len() < 6 { 1 } else { 2 };
    known
        .into_iter()
        .filter_map(|candidate| Some((distance(name, candidate.as_ref(), limit)?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(distance(b"abc", b"ABD", 2), Some(1));
        assert_eq!(distance(b"HOOK_REPLY_CLAIM", b"HOOK_REPLY_FETCH", 2), None);
        assert_eq!(distance(b"ab", b"ba", 1), Some(1));
        assert_eq!(nearest(b"STARDT_DEBUG", [&b"START"[..], b"STARTD_DEBUG"]), Some(&b"STARTD_DEBUG"[..]));
        assert_eq!(nearest("evlaset", ["EVALMACRO", "EVALSET"]), Some("EVALSET"));
    }
}
