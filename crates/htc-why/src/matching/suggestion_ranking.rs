//! Order of verified suggestions, and which of them are worth showing.

use htc_classad::Expr;

use super::bit_set::BitSet;
use super::job_change::{JobChange, Suggestion};

/// Verified change, with the slots that it gains.
pub(super) struct VerifiedChange {
    pub(super) suggestion: Suggestion,
    pub(super) won: BitSet,
}

impl VerifiedChange {
    /// Returns true if `later` is not worth showing after this suggestion: it changes more and gains no other slot,
    /// it changes the same attributes and gains the same slots, or it adds the same attributes with other values.
    pub(super) fn makes_redundant(&self, later: &VerifiedChange) -> bool {
        let (own_changes, other) = (&self.suggestion.changes, &later.suggestion.changes);
        let adds_nothing =
            own_changes.len() < other.len() && later.won.iter().all(|slot| self.won.contains(slot));
        let is_equal = own_changes.len() == other.len()
            && self.won == later.won
            && own_changes
                .iter()
                .zip(other)
                .all(|(one, two)| one.attribute().is_some() && one.attribute() == two.attribute());
        let is_added = |change: &JobChange| {
            matches!(change, JobChange::Set { from: None, .. } | JobChange::Define { from: None, .. })
        };
        let is_other_value = self.sets_same_attributes(later) && own_changes.iter().all(is_added);
        adds_nothing || is_equal || is_other_value
    }

    /// True if both set the same attributes.
    fn sets_same_attributes(&self, other: &VerifiedChange) -> bool {
        let attributes = |verified: &VerifiedChange| -> Vec<Option<String>> {
            verified
                .suggestion
                .changes
                .iter()
                .map(|change| change.attribute().map(ToString::to_string))
                .collect()
        };
        attributes(self) == attributes(other)
    }
}

/// Chooses at most `limit` of the suggestions, which are sorted by the number of changes and of slots.
pub(super) fn choose<'f>(sorted: &[&'f VerifiedChange], limit: usize) -> Vec<&'f VerifiedChange> {
    let Some(best) = sorted.first() else { return Vec::new() };
    let mut order = sorted.to_vec();
    // The smallest change of the same attribute comes second. It gains fewer slots, but the job keeps more of what it
    // may really need.
    let nearest = (1..order.len())
        .filter(|at| order[*at].sets_same_attributes(best))
        .min_by_key(|at| distance(&order[*at].suggestion));
    if let Some(nearest) = nearest.filter(|at| distance(&order[*at].suggestion) < distance(&best.suggestion))
    {
        let moved = order.remove(nearest);
        order.insert(1, moved);
    }
    let max_won = order.iter().map(|verified| verified.suggestion.slots_won).max().unwrap_or(0);
    let widest = order.iter().position(|verified| verified.suggestion.slots_won == max_won).unwrap_or(0);
    // If there is no room for all, one place is kept for the change that gains most slots.
    if limit > 2 && widest >= limit {
        let moved = order.remove(widest);
        order.insert(limit - 1, moved);
    }
    order.truncate(limit);
    order
}

/// Returns how far numbers are changed; a smaller change is preferred.
pub(super) fn distance(suggestion: &Suggestion) -> u64 {
    let distance = |change: &JobChange| match change {
        JobChange::Set { from, to, .. } => {
            let number = |expr: &Expr| expr.as_literal().and_then(|value| value.as_real());
            let from = from.as_ref().and_then(number);
            from.zip(number(to)).map_or(0, |(from, to)| (from - to).abs() as u64)
        }
        _ => 0,
    };
    suggestion.changes.iter().map(distance).fold(0, u64::saturating_add)
}
