//! Devices: instances of a custom resource that have ids, such as GPUs. This module has their properties, and matches them
//! against constraints (`NonFungibleType`, `MachAttributes::DevIdMatches` and `ComputeDevProps` of `ResAttributes.cpp`).

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Context, Dialect, Expr, Value};

/// All devices of one resource of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Devices {
    /// Device ids in order of detection; an id may occur twice.
    pub ids: Vec<String>,
    /// Ids of devices that were offline when the daemon started. They are assigned to no slot.
    pub offline: BTreeSet<String>,
    /// Device properties by id, without the id itself.
    pub properties: BTreeMap<String, ClassAd>,
    /// True if several slots may use a device at the same time (`SHARED_MACHINE_RESOURCE_<Tag>`).
    pub shared: bool,
    /// Form in which the properties of several devices are published.
    pub nesting: PropertyNesting,
}

/// Form in which the properties of a slot's devices are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PropertyNesting {
    /// One ad per device with all its properties (VERBOSE_NESTED_CUSTOM_RESOURCE_PROPS).
    #[default]
    Verbose,
    /// One ad per device with the properties that differ between devices (USE_NESTED_CUSTOM_RESOURCE_PROPS).
    Differing,
    /// For each property that differs between devices, a list of its values.
    Lists,
}

/// Constraint on devices: `gpus=1:Capability >= 8` of a slot type, or RequireGPUs of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceConstraint {
    /// Any device.
    None,
    /// The device at this index in the machine's list, from 0.
    Index(i64),
    /// Devices with this id, or for which this expression is true.
    Expression(Expr),
}

impl DeviceConstraint {
    /// Parses a constraint, or returns `None` if it is not a valid expression.
    pub fn parse(text: &str) -> Option<Self> {
        Expr::parse_with(text.as_bytes(), Dialect::old_syntax()).ok().map(DeviceConstraint::from_expr)
    }

    /// Converts an expression to a constraint.
    pub fn from_expr(expr: Expr) -> Self {
        match expr.as_literal() {
            Some(Value::Int(index)) => DeviceConstraint::Index(index),
            _ => DeviceConstraint::Expression(expr),
        }
    }

    /// Converts RequireGPUs and similar attributes, replacing references to the job by their values (`fix_require_tag_expr`).
    pub fn from_job(expr: &Expr, job: &ClassAd, world: &dyn World) -> Self {
        use htc_classad::flatten::{FlattenResult, inline};
        let expr = expr.rescope(b"TARGET", None);
        match inline(&expr, Context::new(world).my(job)) {
            Some(FlattenResult::Expr(left)) => DeviceConstraint::from_expr(left),
            Some(FlattenResult::Value(value)) => DeviceConstraint::from_expr(Expr::literal(value)),
            None => DeviceConstraint::from_expr(expr),
        }
    }
}

impl Devices {
    /// True if the device at `index` matches the constraint.
    pub fn is_wanted(
        &self,
        index: usize,
        wanted: &DeviceConstraint,
        world: &dyn World,
        quirks: QuirkMode,
    ) -> bool {
        let Some(id) = self.ids.get(index) else { return false };
        let holds = |expr: &Expr| {
            self.properties.get(id).is_some_and(|ad| match Context::new(world).my(ad).eval(expr) {
                Value::Bool(truth) => truth,
                Value::Int(number) => number != 0,
                Value::Real(number) => number != 0.0,
                _ => false,
            })
        };
        match wanted {
            DeviceConstraint::None => true,
            DeviceConstraint::Index(number) => {
                // An index does not count devices that were offline at the start.
                let before = self.ids[..index].iter().filter(|id| !self.offline.contains(*id)).count();
                usize::try_from(*number) == Ok(before)
                    || (quirks.reproduces(Quirk::DeviceIndexIsTruth)
                        && holds(&Expr::literal(Value::Int(*number))))
            }
            DeviceConstraint::Expression(expr) => match expr.as_literal() {
                Some(Value::Str(name)) if name.eq_ignore_ascii_case(id.as_bytes()) => true,
                _ => holds(expr),
            },
        }
    }

    /// Publishes the properties of these devices in the ad of their slot.
    pub fn publish_properties(&self, tag: &str, bound: &[usize], ad: &mut ClassAd) {
        let ids: Vec<&String> = bound.iter().filter_map(|index| self.ids.get(*index)).collect();
        let known: Vec<(&str, &ClassAd)> =
            ids.iter().filter_map(|id| Some((id.as_str(), self.properties.get(*id)?))).collect();
        let Some(first) = ids.first().and_then(|id| self.properties.get(*id)) else { return };
        let mut publish = |name: &str, expr: Expr| ad.insert(format!("{tag}_{name}").as_str(), expr);
        let mut differing = Vec::new();
        for (name, expr) in first.iter() {
            let same = |(_, other): &(&str, &ClassAd)| other.get(name).is_some_and(|it| it == expr);
            if known.iter().all(same) {
                publish(&name.to_string(), expr);
            } else {
                differing.push(name);
            }
        }
        match self.nesting {
            PropertyNesting::Differing if ids.len() == 1 => {}
            PropertyNesting::Verbose => {
                for (id, properties) in &known {
                    let mut nested = (*properties).clone();
                    nested.set("Id", *id);
                    publish(&attribute_name_part(id), Expr::literal(Value::from(nested)));
                }
            }
            PropertyNesting::Differing => {
                for (id, properties) in &known {
                    let mut nested = ClassAd::new();
                    for name in &differing {
                        if let Some(expr) = properties.get(*name) {
                            nested.insert(*name, expr);
                        }
                    }
                    if !nested.is_empty() {
                        publish(&attribute_name_part(id), Expr::literal(Value::from(nested)));
                    }
                }
            }
            PropertyNesting::Lists => {
                for name in &differing {
                    let values = known.iter().filter_map(|(_, properties)| properties.get(*name));
                    let values: Vec<String> = values.map(|expr| expr.unparse().to_string()).collect();
                    if let Ok(list) = Expr::parse(format!("{{ {} }}", values.join(",")).as_bytes()) {
                        publish(&format!("{name}List"), list);
                    }
                }
            }
        }
    }

    /// Returns a list of references to the ads of these devices, such as `{ GPUs_GPU_aaaa1111,... }`.
    pub fn reference_list(&self, tag: &str, bound: &[usize]) -> Option<Expr> {
        let ids = bound.iter().filter_map(|index| self.ids.get(*index));
        let names: Vec<String> = ids.map(|id| attribute_name_part(&format!("{tag}_{id}"))).collect();
        Expr::parse(format!("{{ {} }}", names.join(",")).as_bytes()).ok()
    }

    /// Returns the ids of these devices, joined by commas.
    pub fn joined_ids(&self, bound: &[usize]) -> BString {
        let ids: Vec<&str> =
            bound.iter().filter_map(|index| self.ids.get(*index).map(String::as_str)).collect();
        BString::from(ids.join(","))
    }
}

/// Converts an id to a part of an attribute name: each special character becomes `_`, and each double underscore
/// becomes a single one (`cleanStringForUseAsAttr`).
fn attribute_name_part(id: &str) -> String {
    let keep = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '_' };
    id.trim().bytes().map(keep).collect::<String>().replace("__", "_")
}

/// Removes from an ad the property ads that an inventory printed, and returns the properties by id. `Common` applies to all
/// devices; each other property ad contains its id or is named after it. Other attributes stay in the ad.
pub(super) fn extract_properties(
    ad: &mut ClassAd,
    ids: &BTreeSet<String>,
    world: &dyn World,
) -> BTreeMap<String, ClassAd> {
    let mut nested: Vec<(AttrName, ClassAd)> = Vec::new();
    for (name, expr) in ad.iter().filter(|(_, expr)| expr.unparse().starts_with(b"[")) {
        if let Value::Ad(inner) = Context::new(world).my(&ClassAd::new()).eval(&expr) {
            nested.push((name.into(), inner.as_ref().clone()));
        }
    }
    nested.sort_by_key(|(name, _)| name.to_string().to_ascii_lowercase());
    let mut all: BTreeMap<String, ClassAd> = BTreeMap::new();
    if let Some(at) = nested.iter().position(|(name, _)| name.as_bytes().eq_ignore_ascii_case(b"common")) {
        let (name, common) = nested.remove(at);
        for id in ids {
            all.entry(id.clone()).or_default().update(&common);
        }
        ad.remove(&name);
    }
    for (name, properties) in nested {
        let id = properties.string("id").map_or_else(|| name.to_string(), |id| id.to_string());
        if ids.contains(&id) {
            let own = all.entry(id).or_default();
            own.update(&properties);
            own.remove("id");
            ad.remove(&name);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::attribute_name_part;

    /// 25.14 prints `{ Foo_a_,Foo_b_ }` for ids with quotes.
    #[test]
    fn special_characters_of_an_id_become_one_underscore() {
        for (id, wanted) in
            [("Foo_\"a\"", "Foo_a_"), ("Foo_{", "Foo_"), ("Foo_1", "Foo_1"), ("GPUs_GPU-a1", "GPUs_GPU_a1")]
        {
            assert_eq!(attribute_name_part(id), wanted);
        }
    }
}
