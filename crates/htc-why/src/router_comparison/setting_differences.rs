//! Differences between two routers apart from the choice of routes and the copies, which no single job
//! reveals.

use bstr::{BString, ByteSlice};

use super::comparison::{RouterComparison, RouterSide};
use htc_base::text::caseless;
use htc_config::{MacroSource, expand};
use htc_hook::HookType;
use htc_router::{Route, RouterParameters};

impl RouterComparison<'_> {
    /// Describes the differences apart from the copies, one per line: limits of routes with the same name,
    /// routes that only one router has, and limits, hooks and queues of the routers.
    pub fn describe_setting_differences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let (left, right) = (&self.left.table.routes, &self.right.table.routes);
        for route in left {
            match right.iter().find(|other| self.is_same_route_name(&route.name, &other.name)) {
                Some(other) => compare_route_limits(route, other, &mut lines),
                None => lines.push(format!("route {}: only the first has it", route.name)),
            }
        }
        for route in right {
            if !left.iter().any(|other| self.is_same_route_name(&other.name, &route.name)) {
                lines.push(format!("route {}: only the second has it", route.name));
            }
        }
        let (left, right) = (self.left.parameters, self.right.parameters);
        if left.max_jobs != right.max_jobs {
            lines.push(format!("JOB_ROUTER_MAX_JOBS: {} and {}", left.max_jobs, right.max_jobs));
        }
        if left.round_robin != right.round_robin {
            let (left, right) = (left.round_robin, right.round_robin);
            lines.push(format!("JOB_ROUTER_ROUND_ROBIN_SELECTION: {left} and {right}"));
        }
        self.compare_parameters(&mut lines);
        lines
    }

    /// Compares the other parameters of the routers: queues, hooks, and the release of source jobs.
    fn compare_parameters(&self, lines: &mut Vec<String>) {
        let mut line = |label: &str, left: String, right: String| {
            if left != right {
                lines.push(format!("{label}: {left} and {right}"));
            }
        };
        let (left, right) = (self.left.parameters, self.right.parameters);
        let text_or_none = |text: Option<&[u8]>| match text {
            None | Some(b"") => "(none)".to_owned(),
            Some(text) => text.to_str_lossy().into_owned(),
        };
        let schedd = |(name, pool): &(BString, BString)| [text_or_none(Some(name)), text_or_none(Some(pool))];
        for (number, left, right) in [
            (1, schedd(&left.source_schedd), schedd(&right.source_schedd)),
            (2, schedd(&left.destination_schedd), schedd(&right.destination_schedd)),
        ] {
            for ((label, left), right) in ["NAME", "POOL"].into_iter().zip(left).zip(right) {
                line(&format!("JOB_ROUTER_SCHEDD{number}_{label}"), left, right);
            }
        }
        let release = (left.release_on_hold, right.release_on_hold);
        line("JOB_ROUTER_RELEASE_ON_HOLD", release.0.to_string(), release.1.to_string());
        let keyword = |parameters: &RouterParameters| {
            text_or_none(parameters.hook_keyword.as_ref().map(|keyword| keyword.as_slice()))
        };
        let is_same_keyword = match (&left.hook_keyword, &right.hook_keyword) {
            (Some(left), Some(right)) => caseless::eq(left, right),
            (left, right) => left == right,
        };
        if !is_same_keyword {
            line("JOB_ROUTER_HOOK_KEYWORD", keyword(left), keyword(right));
        }
        if let Some(keyword) = left.hook_keyword.as_ref().filter(|_| is_same_keyword) {
            let hooks = [
                HookType::TranslateJob,
                HookType::RouterUpdateJobInfo,
                HookType::JobFinalize,
                HookType::JobCleanup,
            ];
            let parameters = hooks.map(|hook| hook.path_parameter(keyword)).into_iter();
            for parameter in parameters.chain([[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat().into()]) {
                let value = |side: &RouterSide<'_>| {
                    let raw = MacroSource::raw(side.config, &parameter)?.into_owned();
                    let value = expand::Expander::new(side.config, self.world, &mut |_| {})
                        .for_value_of(&parameter)
                        .expand_file_mode(&raw);
                    Some(value.unwrap_or_else(|_| raw.into()))
                };
                let value =
                    |side: &RouterSide<'_>| text_or_none(value(side).as_ref().map(|value| value.as_slice()));
                line(&parameter.to_str_lossy(), value(&self.left), value(&self.right));
            }
        }
    }
}

fn compare_route_limits(left: &Route, right: &Route, lines: &mut Vec<String>) {
    let name = &left.name;
    let mut line = |label: &str, a: String, b: String| {
        if a != b {
            lines.push(format!("route {name}: {label} {a} and {b}"));
        }
    };
    line("MaxJobs", left.max_jobs.to_string(), right.max_jobs.to_string());
    line("MaxIdleJobs", left.max_idle_jobs.to_string(), right.max_idle_jobs.to_string());
    let thresholds = (left.failure_rate_threshold, right.failure_rate_threshold);
    line("FailureRateThreshold", thresholds.0.to_string(), thresholds.1.to_string());
    let test = |route: &Route| {
        let text = route.job_failure_test.expr.as_ref().map(|expr| expr.unparse().to_string());
        text.unwrap_or_else(|| "(none)".to_owned())
    };
    line("JobFailureTest", test(left), test(right));
}
