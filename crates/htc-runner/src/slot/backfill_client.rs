//! Job of the backfill client, in the form in which its starter will build it from the configuration.

use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::{ClassAd, Dialect};
use htc_config::Config;
use htc_slot::BOINC_CLIENT;
use htc_starter::job_source::{AdCompletion, JobKeywordError, complete_ad};

/// Returns the job ad of the backfill client, and the parts of the configuration that the ad does not include.
///
/// # Errors
/// Fails if a required value is missing or invalid, so that no starter can run the job.
pub fn backfill_client_ad(
    config: &Config,
    world: &dyn World,
) -> Result<(ClassAd, Vec<JobKeywordError>), JobKeywordError> {
    let view = config.view(world);
    let from = AdCompletion {
        keyword: BOINC_CLIENT,
        ids: (None, None),
        universe: false,
        parameters: &view,
        dialect: Dialect::of_world(world),
    };
    let mut ad = ClassAd::new();
    let left_out = complete_ad(&mut ad, &from, QuirkMode::Manual)?;
    Ok((ad, left_out))
}
