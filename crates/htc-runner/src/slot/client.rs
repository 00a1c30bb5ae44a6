//! The job of the backfill client, as its starter will make it of the configuration.

use htc_base::quirks::Quirks;
use htc_base::world::World;
use htc_classad::{ClassAd, Dialect};
use htc_config::Config;
use htc_slot::BOINC;
use htc_starter::job_source::{Completion, KeywordError, complete};

/// Its ad, and what of the configuration is left out of it.
///
/// # Errors
/// A value that it needs is missing or bad: no starter can run it.
pub fn client_of_backfill(
    config: &Config,
    world: &dyn World,
) -> Result<(ClassAd, Vec<KeywordError>), KeywordError> {
    let view = config.view(world);
    let from = Completion {
        keyword: BOINC,
        ids: (None, None),
        universe: false,
        knobs: &view,
        dialect: Dialect::of(world),
    };
    let mut ad = ClassAd::new();
    let left_out = complete(&mut ad, &from, Quirks::None)?;
    Ok((ad, left_out))
}
