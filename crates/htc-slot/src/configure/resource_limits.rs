//! Requirements and WithinResourceLimits of a slot (`Reqexp.cpp`, `MachAttributes::withinLimitsExpression`).

use super::parameters::{ConfigureError, SlotParameters};
use crate::settings::{SlotKind, SlotRequirements};
use htc_classad::{AttrName, ClassAd, Context, Expr, Value};

const CPUS_AND_MEMORY_LIMITS: &str = "MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && \
     MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory && \
     MY.Disk > 0";

/// WithinResourceLimits with STARTD_JOB_HAS_REQUEST_ATTRS, an older form: requests that were edited on the way to the execution
/// point take precedence.
const EDITED_REQUEST_LIMITS: &str = "ifThenElse(TARGET._condor_RequestCpus =!= UNDEFINED,\
     MY.Cpus > 0 && TARGET._condor_RequestCpus <= MY.Cpus,\
     ifThenElse(TARGET.RequestCpus =!= UNDEFINED,MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus,1 <= MY.Cpus)) && \
     ifThenElse(TARGET._condor_RequestMemory =!= UNDEFINED,\
     MY.Memory > 0 && TARGET._condor_RequestMemory <= MY.Memory,\
     ifThenElse(TARGET.RequestMemory =!= UNDEFINED,MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory,FALSE)) && \
     ifThenElse(TARGET._condor_RequestDisk =!= UNDEFINED,\
     MY.Disk > 0 && TARGET._condor_RequestDisk <= MY.Disk,\
     ifThenElse(TARGET.RequestDisk =!= UNDEFINED,MY.Disk > 0 && TARGET.RequestDisk <= MY.Disk,FALSE))";

/// Clause for execution points whose jobs have no network (NO_JOB_NETWORKING of the starter).
const NO_NETWORK_CLAUSE: &str = " && TARGET.WantJobNetworking =?= false";

/// Inputs of WithinResourceLimits.
#[derive(Clone, Copy)]
pub(super) struct ResourceLimitInputs<'a> {
    /// Names of the custom resources.
    pub tags: &'a [String],
    /// True if a consumption policy determines what jobs consume.
    pub has_consumption_policy: bool,
    /// True if jobs have network access.
    pub has_network: bool,
}

/// Returns the text of WithinResourceLimits for a machine with these inputs.
fn resource_limits_text(parameters: &SlotParameters<'_>, limited: ResourceLimitInputs<'_>) -> String {
    let ResourceLimitInputs { tags, has_consumption_policy: consumption, has_network: network } = limited;
    if let Some(own) = parameters.string("WithinResourceLimits") {
        return own;
    }
    let clause = if network { "" } else { NO_NETWORK_CLAUSE };
    if consumption {
        return consumption_limits_text(tags, clause);
    }
    let edited = parameters.boolean("STARTD_JOB_HAS_REQUEST_ATTRS", false);
    let mut text = match (edited, parameters.string("CATALOG_SPACE")) {
        (true, _) => EDITED_REQUEST_LIMITS.to_owned(),
        (false, Some(space)) => {
            format!("{CPUS_AND_MEMORY_LIMITS} && (TARGET.RequestDisk - {space}) <= MY.Disk")
        }
        (false, None) => format!("{CPUS_AND_MEMORY_LIMITS} && TARGET.RequestDisk <= MY.Disk"),
    };
    for tag in tags {
        let wanted = if edited {
            format!(
                "ifThenElse(TARGET._condor_Request{tag} is UNDEFINED,TARGET.Request{tag},TARGET._condor_Request{tag})"
            )
        } else {
            format!("TARGET.Request{tag}")
        };
        text += &format!(" && (TARGET.Request{tag} is UNDEFINED ||MY.{tag} >= {wanted})");
    }
    text + clause
}

/// Returns the text of WithinResourceLimits if the slot has a consumption policy (`consumptionLimitsExpression`).
fn consumption_limits_text(tags: &[String], clause: &str) -> String {
    let mut assets: Vec<&str> =
        ["Cpus", "Memory", "Disk"].into_iter().chain(tags.iter().map(String::as_str)).collect();
    assets.sort_by_key(|asset| asset.to_ascii_lowercase());
    let part = |asset: &&str| {
        format!(
            "ifThenElse(TARGET._cp_orig_Request{asset} isnt UNDEFINED, TARGET.Request{asset} <= MY.{asset}, \
             MY.Consumption{asset} <= MY.{asset})"
        )
    };
    format!("({}{clause})", assets.iter().map(part).collect::<Vec<_>>().join(" && "))
}

/// Publishes `Consumption<Resource>` for a slot with a consumption policy.
pub(super) fn publish_consumption(
    parameters: &SlotParameters<'_>,
    tags: &[String],
    ad: &mut ClassAd,
) -> Result<(), ConfigureError> {
    for asset in ["Cpus", "Memory", "Disk"].into_iter().chain(tags.iter().map(String::as_str)) {
        let default = format!("ifthenelse(target.Request{asset} =?= undefined, 0, target.Request{asset})");
        let expr = match parameters.parse_expr(&format!("CONSUMPTION_{asset}"))? {
            Some(expr) => Some(expr),
            None => Expr::parse(default.as_bytes()).ok(),
        };
        if let Some(expr) = expr {
            ad.insert(format!("Consumption{asset}").as_str(), expr);
        }
    }
    Ok(())
}

/// Returns WithinResourceLimits, or `None` if the name of a resource begins with a digit. The reference fails to parse its own
/// text in that case and continues.
fn resource_limits_expr(
    parameters: &SlotParameters<'_>,
    limited: ResourceLimitInputs<'_>,
) -> Result<Option<Expr>, ConfigureError> {
    let text = resource_limits_text(parameters, limited);
    let error = match Expr::parse_with(text.as_bytes(), parameters.dialect()) {
        Ok(expr) => return Ok(Some(expr)),
        Err(error) => error,
    };
    let starts_with_digit = |tag: &&String| tag.starts_with(|first: char| first.is_ascii_digit());
    let invalid_tag = limited.tags.iter().find(starts_with_digit);
    if let Some(tag) = invalid_tag.filter(|_| parameters.string("WithinResourceLimits").is_none()) {
        parameters.warn(format!(
            "MACHINE_RESOURCE_{tag}: {tag} is not a valid attribute name, so that WithinResourceLimits is undefined and no \
             job matches; choose a name that begins with a letter"
        ));
        return Ok(None);
    }
    Err(ConfigureError::Parameter {
        name: "WithinResourceLimits".into(),
        problem: error.to_string(),
        origin: parameters.origin("WithinResourceLimits"),
        excerpt: Some(error.render(text.as_bytes())),
    })
}

/// Builds the Requirements of a slot. Clauses that the administrator defined are also added to the internal ad.
pub(super) fn build_requirements(
    parameters: &SlotParameters<'_>,
    kind: SlotKind,
    start: &Expr,
    limited: ResourceLimitInputs<'_>,
    internal: &mut ClassAd,
) -> Result<SlotRequirements, ConfigureError> {
    let limits = resource_limits_expr(parameters, limited)?;
    let healthy = publish_health(parameters, internal)?;
    // PSLOT_REQUIREMENTS_CLAUSES applies to both static and partitionable slots.
    let list = match kind {
        SlotKind::Dynamic => DYNAMIC_SLOT_CLAUSES,
        SlotKind::Partitionable | SlotKind::Static => "PSLOT_REQUIREMENTS_CLAUSES",
    };
    let (general, of_kind) = (parameters.words(ALL_SLOTS_CLAUSES), parameters.words(list));
    let plain = !healthy && general.is_empty() && of_kind.is_empty();
    let mut names: Vec<String> = Vec::new();
    let add = |list: &str, words: Vec<String>, names: &mut Vec<String>, internal: &mut ClassAd| {
        for name in words {
            let ours = ["Start", "WithinResourceLimits"].into_iter().chain(healthy.then_some("Healthy"));
            let stands =
                ours.chain(names.iter().map(String::as_str)).any(|own| own.eq_ignore_ascii_case(&name));
            if !stands && add_clause(parameters, list, &name, internal) {
                names.push(name);
            }
        }
    };
    add(ALL_SLOTS_CLAUSES, general, &mut names, internal);
    let before = names.len();
    add(list, of_kind, &mut names, internal);
    let clauses = names.iter().map(|name| AttrName::from(name.as_str())).collect();
    let start_name = if plain { "Start" } else { "START" };
    names.splice(before..before, [start_name.to_owned(), "WithinResourceLimits".to_owned()]);
    if healthy {
        names.insert(0, "Healthy".to_owned());
    }
    let text = names.join(" && ");
    let whole = Expr::parse_with(text.as_bytes(), parameters.dialect())
        .map_err(|error| parameters.parameter_error(ALL_SLOTS_CLAUSES, error.to_string()))?;
    Ok(SlotRequirements { start: start.clone(), limits, expr: whole, clauses })
}

/// Parameter that names the clauses for all slots.
const ALL_SLOTS_CLAUSES: &str = "SLOT_REQUIREMENTS_CLAUSES";
/// Parameter that names the clauses for dynamic slots.
const DYNAMIC_SLOT_CLAUSES: &str = "DSLOT_REQUIREMENTS_CLAUSES";

/// Adds a clause that the administrator defined to the internal ad. Returns true if the clause is part of Requirements
/// (`Resource::reqexp_config`).
fn add_clause(parameters: &SlotParameters<'_>, list: &str, name: &str, internal: &mut ClassAd) -> bool {
    let Some(text) = parameters.text(name) else {
        // A clause in the list for all slots may be an attribute that the slots already have.
        let stands = list == ALL_SLOTS_CLAUSES && internal.contains(name);
        if !stands {
            parameters.warn(format!("the clause {name} of Requirements is not defined: it is left out"));
        }
        return stands;
    };
    match Expr::parse_with(&text, parameters.dialect()) {
        Ok(expr) => {
            internal.insert(name, expr);
            true
        }
        Err(error) => {
            let (stays, follows) = match list {
                DYNAMIC_SLOT_CLAUSES => (false, "it is left out"),
                _ => (true, "no job will match"),
            };
            parameters
                .warn(format!("the clause {name} of {list} is not a valid expression: {error}; {follows}"));
            stays
        }
    }
}

/// Publishes STARTD_HEALTH_EXPRS as `Healthy = min({ ..., 1 })`, in which undefined checks are treated as healthy.
fn publish_health(parameters: &SlotParameters<'_>, internal: &mut ClassAd) -> Result<bool, ConfigureError> {
    let Some(checks) = parameters.string("STARTD_HEALTH_EXPRS") else { return Ok(false) };
    let parse = |text: String| {
        Expr::parse_with(text.as_bytes(), parameters.dialect())
            .map_err(|error| parameters.parameter_error("STARTD_HEALTH_EXPRS", error.to_string()))
    };
    let inner = checks.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(&checks);
    internal.insert("HealthExprs", parse(format!("{{ {inner} }}"))?);
    internal.insert("Healthy", parse(format!("min({{ {inner},1 }})"))?);
    let count = match internal
        .get("HealthExprs")
        .map(|list| Context::new(parameters.world()).my(internal).eval(&list))
    {
        Some(Value::List(checks)) => checks.items().len(),
        _ => 1,
    };
    internal.insert("HealthFactor", parse(format!("sum(HealthExprs) / {count}.0"))?);
    Ok(true)
}
