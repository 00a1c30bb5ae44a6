//! Matches of two ads.

use htc_hooks::classad::{ClassAd, MatchAd};
use serde::Deserialize;

use super::{Answer, Record, eval};

/// Result of a symmetric match.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Matched {
    symmetric: bool,
    left_matches_right: bool,
    right_matches_left: bool,
    my_rank: Option<String>,
    target_rank: Option<String>,
}

fn ads(record: &Record) -> Result<(ClassAd, ClassAd), String> {
    let read = |text: &Option<_>| text.as_ref().map_or_else(|| Ok(ClassAd::new()), |text| record.ad(text));
    Ok((read(&record.my)?, read(&record.target)?))
}

/// Evaluates the Requirements of both sides, and the ranks.
pub(super) fn symmetric(record: &Record) -> Result<Answer, String> {
    let (my, target) = ads(record)?;
    let world = eval::world();
    let pair = MatchAd::new(&world, &my, &target).strict(record.is_strict());
    let expected: Matched = serde_json::from_slice(&record.result.0).map_err(|error| error.to_string())?;
    let rank = |text: &Option<String>| {
        text.as_ref().map(|text| text.parse::<f64>().map_err(|error| error.to_string()))
    };
    let show = |holds: [bool; 3], ranks: [Option<f64>; 2]| format!("{holds:?} ranks {ranks:?}");
    let ranks = [rank(&expected.my_rank).transpose()?, rank(&expected.target_rank).transpose()?];
    let expected =
        show([expected.symmetric, expected.left_matches_right, expected.right_matches_left], ranks);
    let holds = [pair.symmetric(), pair.left_matches_right(), pair.right_matches_left()];
    let got = show(holds, [pair.left_rank(), pair.right_rank()]);
    Ok(Answer(Vec::new()).and("match", expected, got))
}

/// Evaluates an attribute of the left ad within the match.
pub(super) fn attribute(record: &Record) -> Result<Answer, String> {
    let (my, target) = ads(record)?;
    let world = eval::world();
    let pair = MatchAd::new(&world, &my, &target).strict(record.is_strict());
    Ok(eval::value(record, pair.left().try_eval_attr(record.text()).value()))
}
