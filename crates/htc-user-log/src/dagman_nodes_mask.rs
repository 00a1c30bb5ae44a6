//! The DAGMan log (DAGManNodesLog), to which only selected events of a job are written.

use htc_base::text::{list, number};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Returns the numbers of the events that DAGManNodesMask selects, or `None` if DAGManNodesMask is not set. The log
/// then contains all events and, like the user's own log, the requested attributes of the ad
/// (`WriteUserLog::initialize`).
pub fn dagman_nodes_mask(ad: &ClassAd, world: &dyn World) -> Option<Vec<i64>> {
    let mask = Context::new(world).my(ad).string("DAGManNodesMask")?;
    let number = |word| number::integer_prefix(word).map_or(0, |(number, _)| number);
    Some(list::split(&mask).map(number).collect::<Vec<i64>>()).filter(|mask| !mask.is_empty())
}
