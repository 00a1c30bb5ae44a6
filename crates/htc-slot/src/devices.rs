//! Instances of a custom resource that have names, GPUs above all: what is known of each, and which of them fit a
//! constraint (`NonFungibleType`, `MachAttributes::DevIdMatches` and `ComputeDevProps` of `ResAttributes.cpp`).

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Context, Dialect, Expr, Value};

/// All instances of one resource that the machine has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Devices {
    /// Their ids in the order they were found in; one that was given twice stands twice.
    pub ids: Vec<String>,
    /// Those of them that were off line at the start: no slot has them.
    pub offline: BTreeSet<String>,
    /// What is known of them, by id, without the id itself.
    pub properties: BTreeMap<String, ClassAd>,
    /// Whether several slots may use one at a time (`SHARED_MACHINE_RESOURCE_<Tag>`).
    pub shared: bool,
    /// How properties of several stand in an ad.
    pub nesting: PropertyNesting,
}

/// How the properties of a slot's devices are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PropertyNesting {
    /// An ad for each with all of them (VERBOSE_NESTED_CUSTOM_RESOURCE_PROPS).
    #[default]
    Verbose,
    /// An ad for each with what they do not have in common (USE_NESTED_CUSTOM_RESOURCE_PROPS).
    Differing,
    /// Lists of what they do not have in common.
    Lists,
}

/// Which devices are wanted: `gpus=1:Capability >= 8` of a slot type, RequireGPUs of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceConstraint {
    /// Any.
    None,
    /// The one at this place in the machine's list, from 0.
    Index(i64),
    /// The one of this name, or what this is true for.
    Expression(Expr),
}

impl DeviceConstraint {
    /// Reads one; `None` when it is no expression.
    pub fn parse(text: &str) -> Option<Self> {
        Expr::parse_with(text.as_bytes(), Dialect::old_syntax()).ok().map(DeviceConstraint::from_expr)
    }

    /// An expression as a constraint.
    pub fn from_expr(expr: Expr) -> Self {
        match expr.as_literal() {
            Some(Value::Int(index)) => DeviceConstraint::Index(index),
            _ => DeviceConstraint::Expression(expr),
        }
    }

    /// RequireGPUs and its like, with what it says of the job itself put in (`fix_require_tag_expr`).
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
    /// Whether the device at `index` is one that is wanted.
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
                // Those off line at the start are not counted.
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

    /// Puts what is known of these devices into the ad of the slot that has them.
    pub fn publish_properties(&self, tag: &str, bound: &[usize], ad: &mut ClassAd) {
        let ids: Vec<&String> = bound.iter().filter_map(|index| self.ids.get(*index)).collect();
        let known: Vec<(&str, &ClassAd)> =
            ids.iter().filter_map(|id| Some((id.as_str(), self.properties.get(*id)?))).collect();
        let Some(first) = ids.first().and_then(|id| self.properties.get(*id)) else { return };
        let mut put = |name: &str, expr: Expr| ad.insert(format!("{tag}_{name}").as_str(), expr);
        let mut differing = Vec::new();
        for (name, expr) in first.iter() {
            let same = |(_, other): &(&str, &ClassAd)| other.get(name).is_some_and(|it| it == expr);
            if known.iter().all(same) {
                put(&name.to_string(), expr);
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
                    put(&attribute_name_part(id), Expr::literal(Value::from(nested)));
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
                        put(&attribute_name_part(id), Expr::literal(Value::from(nested)));
                    }
                }
            }
            PropertyNesting::Lists => {
                for name in &differing {
                    let values = known.iter().filter_map(|(_, properties)| properties.get(*name));
                    let values: Vec<String> = values.map(|expr| expr.unparse().to_string()).collect();
                    if let Ok(list) = Expr::parse(format!("{{ {} }}", values.join(",")).as_bytes()) {
                        put(&format!("{name}List"), list);
                    }
                }
            }
        }
    }

    /// `{ GPUs_GPU_aaaa1111,... }`: references to the ads of these devices.
    pub fn reference_list(&self, tag: &str, bound: &[usize]) -> Option<Expr> {
        let ids = bound.iter().filter_map(|index| self.ids.get(*index));
        let names: Vec<String> = ids.map(|id| attribute_name_part(&format!("{tag}_{id}"))).collect();
        Expr::parse(format!("{{ {} }}", names.join(",")).as_bytes()).ok()
    }

    /// The names of these devices, joined by commas.
    pub fn joined_ids(&self, bound: &[usize]) -> BString {
        let ids: Vec<&str> =
            bound.iter().filter_map(|index| self.ids.get(*index).map(String::as_str)).collect();
        BString::from(ids.join(","))
    }
}

/// Returns an id as part of an attribute's name: odd bytes become `_`, and of two beside each other one is left
/// (`cleanStringForUseAsAttr`).
fn attribute_name_part(id: &str) -> String {
    let keep = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '_' };
    id.trim().bytes().map(keep).collect::<String>().replace("__", "_")
}

/// Property ads that an inventory prints, by id: `Common` is everybody's, others name their id or are named after it. What
/// belongs to no id stays in the ad.
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

    /// Recording p55n: `{ Foo_a_,Foo_b_ }` for ids with quotes.
    #[test]
    fn odd_characters_of_an_id_leave_one_underscore() {
        for (id, wanted) in
            [("Foo_\"a\"", "Foo_a_"), ("Foo_{", "Foo_"), ("Foo_1", "Foo_1"), ("GPUs_GPU-a1", "GPUs_GPU_a1")]
        {
            assert_eq!(attribute_name_part(id), wanted);
        }
    }
}
