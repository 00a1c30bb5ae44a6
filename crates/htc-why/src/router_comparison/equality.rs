//! Parts that two routers have in common according to their configuration. They are equal whether or not a
//! job was found for them.

use std::collections::BTreeMap;

use super::comparison::{RouterComparison, RouterSide};
use htc_config::ConfigView;
use htc_router::route::RouteExpr;
use htc_router::{Route, RouterParameters};
use htc_transform::Transform;

impl RouterComparison<'_> {
    /// Returns true if the routers are equal: the same parameters and transforms, and the same routes in the
    /// same order.
    pub fn is_same_router(&self) -> bool {
        let [left, right] =
            [&self.left, &self.right].map(|side| side.table.routes_in_order().collect::<Vec<_>>());
        let is_equal_route = |(left, right): (&(usize, &Route), &(usize, &Route))| {
            left.1.name == right.1.name
                && self.has_equal_requirements(left.1)
                && self.has_equal_effect(left.1)
        };
        self.left.table.enabled == self.right.table.enabled
            && self.left.parameters == self.right.parameters
            && left.len() == right.len()
            && left.iter().zip(&right).all(is_equal_route)
    }

    /// Returns true if a route treats the jobs that it gets in the same way in both routers, whichever jobs
    /// these are.
    pub(super) fn has_equal_effect(&self, route: &Route) -> bool {
        match self.find_by_name(route) {
            (Some(left), Some(right)) => {
                self.is_frame_equal
                    && has_equal_settings(left, right)
                    && self.is_transform_equal(&left.transform, &right.transform)
            }
            (None, _) | (_, None) => false,
        }
    }

    /// Returns true if a route has the same REQUIREMENTS in both routers.
    pub(super) fn has_equal_requirements(&self, route: &Route) -> bool {
        match self.find_by_name(route) {
            (Some(left), Some(right)) => left.transform.has_same_requirements(&right.transform),
            (None, _) | (_, None) => false,
        }
    }

    /// Returns the routes of both routers with the name of this one.
    fn find_by_name(&self, route: &Route) -> (Option<&Route>, Option<&Route>) {
        let [left, right] = [self.left.table, self.right.table]
            .map(|table| table.routes.iter().find(|other| other.name == route.name));
        (left, right)
    }

    /// Returns true if the parameters and the transforms before and after the routes are equal, which apply
    /// to every job.
    pub(super) fn has_equal_frame(&self) -> bool {
        let [left, right] = [&self.left, &self.right];
        let tables = [
            (&left.table.pre_transforms, &right.table.pre_transforms),
            (&left.table.post_transforms, &right.table.post_transforms),
        ];
        let are_equal = |(left, right): (&Vec<Transform>, &Vec<Transform>)| {
            let mut both = left.iter().zip(right);
            left.len() == right.len()
                && both.all(|(left, right)| {
                    left.name == right.name
                        && left.has_same_requirements(right)
                        && self.is_transform_equal(left, right)
                })
        };
        // The constraint that selects the jobs to be routed is irrelevant here.
        let parameters =
            |side: &RouterSide<'_>| RouterParameters { constraint: None, ..side.parameters.clone() };
        parameters(left) == parameters(right) && tables.into_iter().all(are_equal)
    }

    fn is_transform_equal(&self, left: &Transform, right: &Transform) -> bool {
        left.has_same_statements(right) && (self.is_config_equal || !left.refers_to_macros())
    }
}

/// Returns true if two configurations set the same names to the same values.
pub(super) fn is_config_equal(left: &ConfigView<'_>, right: &ConfigView<'_>) -> bool {
    let [left, right] = [left, right].map(|view| {
        let entries = view.macro_set().entries();
        entries.map(|entry| (entry.name.to_ascii_lowercase(), entry.raw())).collect::<BTreeMap<_, _>>()
    });
    left == right
}

/// Returns true if two routes are equal apart from their transforms and REQUIREMENTS.
fn has_equal_settings(left: &Route, right: &Route) -> bool {
    let expressions = |route: &Route| {
        [
            &route.job_failure_test,
            &route.job_should_be_sandboxed,
            &route.edit_job_in_place,
            &route.use_shared_proxy,
            &route.shared_proxy,
            &route.send_tokens,
        ]
        .map(|setting: &RouteExpr| (setting.text.clone(), setting.expr.clone()))
    };
    left.universe == right.universe
        && left.grid_resource == right.grid_resource
        && expressions(left) == expressions(right)
}
