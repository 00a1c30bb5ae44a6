//! Search for similar names, for hints in messages.

/// Returns the number of changes of one byte, or swaps of neighbours, that turn one name into the other, ignoring case,
/// or `None` if there are more than `limit`.
pub fn distance(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    // A common beginning and end need no change.
    let is_same = |(x, y): &(&u8, &u8)| x.eq_ignore_ascii_case(y);
    let prefix = a.iter().zip(b).take_while(is_same).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(is_same).count();
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
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

/// Returns the nearest of several names, at most two changes away (one for short names); the first one wins a tie.
///
/// ```
/// use htc_classad::text::similar_names::nearest;
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
    let wanted = letter_mask(name);
    let may_be_near = |candidate: &[u8]| {
        name.len().abs_diff(candidate.len()) <= limit
            && (letter_mask(candidate) ^ wanted).count_ones() as usize <= 2 * limit
    };
    known
        .into_iter()
        .filter(|candidate| may_be_near((*candidate).as_ref()))
        .filter_map(|candidate| Some((distance(name, candidate.as_ref(), limit)?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Set of names that is searched often for the name nearest to a given one.
#[derive(Clone, Debug)]
pub struct SimilarNames<Name> {
    names: Vec<Name>,
    /// Names grouped by length, each with its letter mask.
    by_length: Vec<Vec<(LetterMask, u32)>>,
}

/// Bit mask of how often each letter occurs in a name, up to three times, and which digits and signs occur. A change of
/// one byte changes at most two bits, a swap none.
type LetterMask = u128;

fn letter_mask(name: &[u8]) -> LetterMask {
    let mut seen: LetterMask = 0;
    for &byte in name {
        let bit = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => {
                let first = 3 * u32::from(letter - b'a');
                let times = (seen >> first & 0b111).count_ones();
                first + times.min(2)
            }
            other => 3 * 26 + u32::from(other) % 50,
        };
        seen |= 1 << bit;
    }
    seen
}

impl<Name: AsRef<[u8]>> SimilarNames<Name> {
    /// Collects names; of equally near names, the first is preferred.
    pub fn new(names: impl IntoIterator<Item = Name>) -> Self {
        let names: Vec<Name> = names.into_iter().collect();
        let mut by_length: Vec<Vec<(LetterMask, u32)>> = Vec::new();
        for (at, name) in (0..).zip(&names) {
            let name = name.as_ref();
            if by_length.len() <= name.len() {
                by_length.resize_with(name.len() + 1, Vec::new);
            }
            by_length[name.len()].push((letter_mask(name), at));
        }
        SimilarNames { names, by_length }
    }

    /// Returns the nearest of the names that `accept` accepts, as [`nearest`] does.
    pub fn nearest(&self, name: &[u8], accept: impl Fn(&[u8]) -> bool) -> Option<&Name> {
        let limit = if name.len() < 6 { 1 } else { 2 };
        let wanted = letter_mask(name);
        let mut best: Option<(usize, u32)> = None;
        let from = name.len().saturating_sub(limit).min(self.by_length.len());
        let to = (name.len() + limit + 1).min(self.by_length.len());
        for &(letters, at) in self.by_length[from..to].iter().flatten() {
            if (letters ^ wanted).count_ones() as usize > 2 * limit {
                continue;
            }
            let candidate = self.names[at as usize].as_ref();
            if let Some(distance) = distance(name, candidate, limit).filter(|_| accept(candidate))
                && best.is_none_or(|best| (distance, at) < best)
            {
                best = Some((distance, at));
            }
        }
        best.map(|(_, at)| &self.names[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_finds_what_a_search_finds() {
        let mut state = 7u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let words: Vec<Vec<u8>> =
            (0..400).map(|_| (0..3 + next(6)).map(|_| b"abAB_1"[next(6) as usize]).collect()).collect();
        let names = SimilarNames::new(words.iter().map(|word| &word[..]));
        let mut found = 0;
        for _ in 0..400 {
            let word: Vec<u8> = (0..3 + next(6)).map(|_| b"abAB_1"[next(6) as usize]).collect();
            let expected =
                nearest(&word[..], words.iter().filter(|known| known.len() != 5).map(|known| &known[..]));
            assert_eq!(names.nearest(&word, |known| known.len() != 5).copied(), expected, "{word:?}");
            found += usize::from(expected.is_some());
        }
        assert!(found > 50);
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(distance(b"abc", b"ABD", 2), Some(1));
        assert_eq!(distance(b"HOOK_REPLY_CLAIM", b"HOOK_REPLY_FETCH", 2), None);
        assert_eq!(distance(b"ab", b"ba", 1), Some(1));
        assert_eq!(nearest(b"STARDT_DEBUG", [&b"START"[..], b"STARTD_DEBUG"]), Some(&b"STARTD_DEBUG"[..]));
        assert_eq!(nearest("evlaset", ["EVALMACRO", "EVALSET"]), Some("EVALSET"));
    }
}
