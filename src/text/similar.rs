//! Names that differ by little: for messages that guess what was meant.

/// How many letters must be changed, added or left out to make one name the other.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The known name that is nearest to a mistyped one, in any case; none where all are far.
///
/// ```
/// use htc_hooks::text::similar::nearest;
/// assert_eq!(nearest("strcta", ["size", "strcat"]), Some("strcat"));
/// assert_eq!(nearest("zzzz", ["size", "strcat"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_ascii_lowercase();
    known
        .into_iter()
        .map(|known| (distance(&wanted, &known.to_ascii_lowercase()), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 5)
        .map(|(_, known)| known)
}
