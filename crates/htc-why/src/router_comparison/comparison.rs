//! Two routers that are compared, and what each has done with all jobs together.

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

/// A router that is compared.
pub struct RouterSide<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// Its routes and transforms.
    pub table: &'a RouteTable,
    /// Its parameters.
    pub parameters: &'a RouterParameters,
    /// Its configuration.
    pub config: &'a ConfigView<'a>,
    /// The order in which its routes are asked whether a job is a candidate.
    pub(super) umbrella_order: Vec<usize>,
    /// What it did so far.
    pub observations: RefCell<RouterObservations>,
}

/// What a router did with all jobs together.
#[derive(Debug, Default)]
pub struct RouterObservations {
    /// By the numbers of the routes that were chosen why they made no copy of the last job, and nothing where one was made.
    pub(super) chosen_routes: BTreeMap<usize, Option<String>>,
    /// By name whether a transform was applied, and whether it was left out.
    pub(super) transforms: BTreeMap<BString, [bool; 2]>,
    /// What ran meanwhile.
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
            let seen = self.transforms.entry(transform.name.clone()).or_default();
            seen[usize::from(stage == TransformProgress::Skipped)] = true;
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.transform_observations
    }
}

/// Two routers.
pub struct RouterComparison<'a> {
    /// The first.
    pub left: RouterSide<'a>,
    /// The second.
    pub right: RouterSide<'a>,
    /// What is outside.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: QuirkMode,
    /// Names of routes of the first, and what they are called in the second: those that are not called the same.
    pub(super) renamed_routes: Vec<(BString, BString)>,
    /// Whether both configurations set the same.
    pub(super) is_config_equal: bool,
    /// Whether both do the same to a job before and after its route.
    pub(super) is_frame_equal: bool,
}
