//! Two routers that are compared, and what each has done with all jobs together.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bstr::BString;

use crate::cover::Seen;
use htc_base::quirks::Quirks;
use htc_base::world::World;
use htc_config::View;
use htc_router::translate::{Part, Stage, Watcher};
use htc_router::{Knobs, RouteTable};
use htc_transform::{Observer, Transform};

/// A router that is compared.
pub struct Side<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// Its routes and transforms.
    pub table: &'a RouteTable,
    /// Its parameters.
    pub knobs: &'a Knobs,
    /// Its configuration.
    pub config: &'a View<'a>,
    /// The order in which its routes are asked whether a job is a candidate.
    pub(super) order: Vec<usize>,
    /// What it did so far.
    pub met: RefCell<Met>,
}

/// What a router did with all jobs together.
#[derive(Debug, Default)]
pub struct Met {
    /// By the numbers of the routes that were chosen why they made no copy of the last job, and nothing where one was made.
    pub(super) chosen: BTreeMap<usize, Option<String>>,
    /// By name whether a transform was applied, and whether it was left out.
    pub(super) transforms: BTreeMap<BString, [bool; 2]>,
    /// What ran meanwhile.
    pub(super) seen: Seen,
}

impl Watcher for Met {
    fn stage(&mut self, part: Part, transform: &Transform, stage: Stage) {
        match stage {
            Stage::Begins => {
                self.seen.begins(&transform.name);
            }
            Stage::Skipped | Stage::Ended => {}
        }
        if part != Part::Route && stage != Stage::Ended {
            let seen = self.transforms.entry(transform.name.clone()).or_default();
            seen[usize::from(stage == Stage::Skipped)] = true;
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.seen
    }
}

/// Two routers.
pub struct Comparison<'a> {
    /// The first.
    pub left: Side<'a>,
    /// The second.
    pub right: Side<'a>,
    /// What is outside.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: Quirks,
    /// Names of routes of the first, and what they are called in the second: those that are not called the same.
    pub(super) renamed: Vec<(BString, BString)>,
    /// Whether both configurations set the same.
    pub(super) is_config_alike: bool,
    /// Whether both do the same to a job before and after its route.
    pub(super) is_frame_alike: bool,
}
