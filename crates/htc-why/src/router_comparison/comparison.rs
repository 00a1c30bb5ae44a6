//! Two routers to be compared, with their observations from all jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bstr::BString;

use crate::coverage::TransformObservations;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_config::ConfigView;
use htc_router::translate::{TransformPosition, TransformProgress, TranslationWatcher};
use htc_router::{RouteTable, RouterParameters};
use htc_transform::{Observer, Transform};

/// One of the two routers that are compared.
pub struct RouterSide<'a> {
    /// Name of the router in messages.
    pub name: &'a str,
    /// Routes and transforms of the router.
    pub table: &'a RouteTable,
    /// Parameters of the router.
    pub parameters: &'a RouterParameters,
    /// Configuration from which the router was built.
    pub config: &'a ConfigView<'a>,
    /// Order in which the requirements of the routes are evaluated in the umbrella constraint.
    pub(super) umbrella_order: Vec<usize>,
    /// Observations for the jobs so far: chosen routes, and outcomes of transforms.
    pub observations: RefCell<RouterObservations>,
}

/// Observations of a router from all jobs.
#[derive(Debug, Default)]
pub struct RouterObservations {
    /// Chosen routes, by index: `None` if a copy was made, else the reason of the first failure.
    pub(super) chosen_routes: BTreeMap<usize, Option<String>>,
    /// Outcomes of transforms by name: applied, and skipped.
    pub(super) transforms: BTreeMap<BString, [bool; 2]>,
    /// Observations from the runs of transforms.
    pub(super) transform_observations: TransformObservations,
}

impl TranslationWatcher for RouterObservations {
    fn note_progress(&mut self, part: TransformPosition, transform: &Transform, stage: TransformProgress) {
        match stage {
            TransformProgress::Begins => {
                self.transform_observations.begin_transform(&transform.name);
            }
            TransformProgress::Skipped | TransformProgress::Ended => {}
        }
        if part != TransformPosition::Route && stage != TransformProgress::Ended {
            let outcomes = self.transforms.entry(transform.name.clone()).or_default();
            outcomes[usize::from(stage == TransformProgress::Skipped)] = true;
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.transform_observations
    }
}

/// Two routers, and what is known about their differences.
pub struct RouterComparison<'a> {
    /// First router.
    pub left: RouterSide<'a>,
    /// Second router.
    pub right: RouterSide<'a>,
    /// Interface to the outside: clock, files, random numbers.
    pub world: &'a dyn World,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Names of routes in the first router with their names in the second, where these differ.
    pub(super) renamed_routes: Vec<(BString, BString)>,
    /// True if both configurations have the same settings.
    pub(super) is_config_equal: bool,
    /// True if both routers treat every job in the same way before and after its route.
    pub(super) is_frame_equal: bool,
}
