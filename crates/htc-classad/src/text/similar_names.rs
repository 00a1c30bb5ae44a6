//! Search for similar names, used for hints in messages.

use std::num::NonZeroU32;

/// Returns the number of changes that turn one name into the other, ignoring case. A change inserts, removes or replaces
/// one byte, or swaps two neighbouring bytes. Returns `None` if more than `limit` changes are needed; `limit` should be
/// small, because each change is tried at each difference.
pub fn distance(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let is_same = |x: &u8, y: &u8| x.eq_ignore_ascii_case(y);
    // The common beginning and the common end need no change.
    let prefix = a.iter().zip(b).take_while(|(x, y)| is_same(x, y)).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| is_same(x, y)).count();
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
    let (Some((first, rest_of_a)), Some((second, rest_of_b))) = (a.split_first(), b.split_first()) else {
        return Some(a.len().max(b.len()));
    };
    let limit = limit.checked_sub(1)?;
    let swapped = match (rest_of_a.split_first(), rest_of_b.split_first()) {
        (Some((x, after_a)), Some((y, after_b))) if is_same(first, y) && is_same(x, second) => {
            Some((after_a, after_b))
        }
        _ => None,
    };
    let changes = [Some((rest_of_a, rest_of_b)), Some((rest_of_a, b)), Some((a, rest_of_b)), swapped];
    let mut best: Option<usize> = None;
    for (a, b) in changes.into_iter().flatten() {
        // Further attempts are useful only if they need fewer changes than the best so far.
        let limit = best.map_or(limit, |best| best.saturating_sub(1).min(limit));
        best = distance(a, b, limit).filter(|found| best.is_none_or(|best| *found < best)).or(best);
    }
    best.map(|changes| changes + 1)
}

/// Returns the name that is nearest to `name` among several names, or `None` if none is near enough: it may differ by
/// at most two changes, or by one if the name is short. The first of several equally near names is returned.
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

/// Set of names that can be searched repeatedly for the name nearest to a given name.
#[derive(Clone, Debug)]
pub struct SimilarNames<Name> {
    names: Vec<Name>,
    /// Names grouped by length.
    by_length: Vec<NamesOfLength>,
}

/// Names of one length: their letter masks, which are searched first without accessing the names, their indexes in the
/// set, and the hashes of their stems.
#[derive(Clone, Debug, Default)]
struct NamesOfLength {
    masks: Vec<LetterMask>,
    numbers: Vec<u32>,
    stems: Vec<Option<NonZeroU32>>,
}

/// Returns a case-insensitive hash of the stem of a name, which is the name without its digits. Returns `None` if the
/// name has no digits.
fn stem_hash(name: &[u8]) -> Option<NonZeroU32> {
    let letters = name.iter().filter(|byte| !byte.is_ascii_digit());
    let (count, hash) = letters.fold((0, 0x811c_9dc5), |(count, hash): (usize, u32), byte| {
        (count + 1, (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193))
    });
    if count < name.len() { NonZeroU32::new(hash | 1) } else { None }
}

/// Bit mask of the bytes that occur in a name: each letter has one bit for its first and one for a further occurrence;
/// digits and other bytes share bits. Changing one byte of a name changes at most two bits, and swapping two bytes
/// changes none.
type LetterMask = u64;

fn letter_mask(name: &[u8]) -> LetterMask {
    let mut seen: LetterMask = 0;
    for &byte in name {
        let bit = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => {
                let first = 2 * u32::from(letter - b'a');
                first + u32::from(seen >> first & 1 != 0)
            }
            other => 2 * 26 + u32::from(other) % 12,
        };
        seen |= 1 << bit;
    }
    seen
}

impl<Name: AsRef<[u8]>> SimilarNames<Name> {
    /// Creates a set of names. The first of several equally near names is preferred in a search.
    pub fn new(names: impl IntoIterator<Item = Name>) -> Self {
        let names: Vec<Name> = names.into_iter().collect();
        let mut by_length: Vec<NamesOfLength> = Vec::new();
        for (at, name) in (0..).zip(&names) {
            let name = name.as_ref();
            if by_length.len() <= name.len() {
                by_length.resize_with(name.len() + 1, NamesOfLength::default);
            }
            by_length[name.len()].masks.push(letter_mask(name));
            by_length[name.len()].numbers.push(at);
            by_length[name.len()].stems.push(stem_hash(name));
        }
        SimilarNames { names, by_length }
    }

    /// Returns the name nearest to `name` among the names that `accept` accepts, as [`nearest`] does. Names that differ
    /// only in their digits belong to one family, so neither is treated as a misspelling of the other.
    pub fn nearest(&self, name: &[u8], accept: impl Fn(&[u8]) -> bool) -> Option<&Name> {
        let limit = if name.len() < 6 { 1 } else { 2 };
        let (wanted, stem) = (letter_mask(name), stem_hash(name));
        let mut best: Option<(usize, u32)> = None;
        let from = name.len().saturating_sub(limit).min(self.by_length.len());
        let to = (name.len() + limit + 1).min(self.by_length.len());
        let near = self.by_length[from..to].iter().flat_map(|group| {
            let is_near = move |letters: &LetterMask| (letters ^ wanted).count_ones() as usize <= 2 * limit;
            let numbers = group.numbers.iter().zip(&group.stems);
            let similar = group.masks.iter().zip(numbers).filter(move |(letters, _)| is_near(letters));
            similar.filter(move |(_, (_, other))| stem.is_none() || **other != stem).map(|(_, (at, _))| *at)
        });
        for at in near {
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
    fn a_collection_finds_the_same_names_as_a_search() {
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
            let is_other = |known: &&Vec<u8>| {
                known.len() != 5 && (stem_hash(&word).is_none() || stem_hash(known) != stem_hash(&word))
            };
            let expected = nearest(&word[..], words.iter().filter(is_other).map(|known| &known[..]));
            assert_eq!(names.nearest(&word, |known| known.len() != 5).copied(), expected, "{word:?}");
            found += usize::from(expected.is_some());
        }
        assert!(found > 50);
    }

    /// Returns the distance of two names, computed with a table of the distances between all their prefixes.
    fn counted_distance(a: &[u8], b: &[u8]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, _) => j,
                    (_, 0) => i,
                    _ => {
                        let change = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
                        let least =
                            (table[i - 1][j - 1] + change).min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                        let is_swap = i > 1
                            && j > 1
                            && a[i - 2].eq_ignore_ascii_case(&b[j - 1])
                            && a[i - 1].eq_ignore_ascii_case(&b[j - 2]);
                        if is_swap { least.min(table[i - 2][j - 2] + 1) } else { least }
                    }
                };
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn distances_are_as_from_the_complete_table() {
        let mut state = 11u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let mut word = || -> Vec<u8> { (0..next(8)).map(|_| b"abAc"[next(4) as usize]).collect() };
        for _ in 0..20_000 {
            let (a, b) = (word(), word());
            let counted = counted_distance(&a, &b);
            for limit in 0..4 {
                let expected = (counted <= limit).then_some(counted);
                assert_eq!(distance(&a, &b, limit), expected, "{a:?} {b:?} {limit}");
            }
        }
    }

    #[test]
    fn similar_names_are_found() {
        assert_eq!(distance(b"abc", b"ABD", 2), Some(1));
        assert_eq!(distance(b"HOOK_REPLY_CLAIM", b"HOOK_REPLY_FETCH", 2), None);
        assert_eq!(distance(b"ab", b"ba", 1), Some(1));
        assert_eq!(nearest(b"STARDT_DEBUG", [&b"START"[..], b"STARTD_DEBUG"]), Some(&b"STARTD_DEBUG"[..]));
        assert_eq!(nearest("evlaset", ["EVALMACRO", "EVALSET"]), Some("EVALSET"));
    }
}
