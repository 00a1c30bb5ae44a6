//! Devices, such as GPUs, that a job's condition on devices (RequireGPUs) excludes.
//!
//! The condition is evaluated once for the properties of each device: in a match by `countMatches()`, with the slot as
//! the ad that encloses the properties and the job as TARGET, and by the startd with the job's attributes replaced by
//! their values.

use htc_base::text::plural::counted;
use htc_base::text::similar_names::nearest;
use htc_classad::{AttrName, ClassAd, Context, Expr, ExprKind, Value, explain};
use htc_slot::DeviceConstraint;

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::clauses::{ClauseSide, Reference, ReferenceScope, mentioned_references};
use super::comparison_boundary::{boundary, mirror_operator};
use super::device_call::{DeviceCall, REQUIRE};
use super::divided_slots::is_dynamic_slot_of;
use super::side_names::SideNames;
use super::value_summary::{ValueSummary, expr_text};

/// Maximum number of different devices that are considered.
const MAX_DEVICES: usize = 64;

/// Maximum number of groups of slots whose devices are considered.
const MAX_GROUPS: usize = 400;

/// Maximum number of users of devices that are named.
const MAX_USERS: usize = 2;

/// Way in which a condition on devices is evaluated.
enum DeviceScope {
    /// A clause of the job's or the slot's Requirements evaluates it.
    Match(ClauseSide, DeviceCall),
    /// The startd evaluates it (`fix_require_tag_expr`).
    Claim,
}

/// Device of a slot.
struct Device {
    properties: ClassAd,
    /// Group of slots that has the device.
    group: usize,
    place: DevicePlace,
}

/// Place of a device in the ad of its slot.
enum DevicePlace {
    /// Position in the list of the devices that are free.
    Free(usize),
    /// List with one element: the device that the dynamic slot uses.
    InUse(Expr),
}

/// Place where a name in a condition on devices is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamePlace {
    Device,
    Slot,
    Job,
    Nowhere,
}

/// Condition of a job on devices of one kind, with the devices of some slots.
pub(super) struct DeviceDemand<'a> {
    analysis: &'a Analysis<'a>,
    /// Attribute of the job that has the condition, such as RequireGPUs.
    name: AttrName,
    job: &'a ClassAd,
    scope: DeviceScope,
    /// The clauses of the condition.
    clauses: Vec<Expr>,
    devices: Vec<Device>,
    /// Devices of partitionable slots that dynamic slots use.
    in_use: Vec<Device>,
    /// Largest number of devices of one slot for which the condition is true.
    max_met: usize,
}

/// Comparison of an attribute of devices with another value.
struct DeviceComparison {
    attribute: AttrName,
    operator: &'static str,
    other: Expr,
}

impl<'a> DeviceDemand<'a> {
    /// Collects the devices of slots for a clause that counts those that meet a job's condition. Returns `None` if
    /// there are no devices or no condition.
    pub(super) fn of_clause(
        analysis: &'a Analysis<'a>,
        job: usize,
        slots: &BitSet,
        (side, call): (ClauseSide, DeviceCall),
    ) -> Option<Self> {
        let name = call.name.clone();
        DeviceDemand::collect(analysis, job, slots, name, DeviceScope::Match(side, call))
    }

    /// Collects the devices of slots that were refused by the startd because of this attribute of the job. Returns
    /// `None` if there are no devices or no condition.
    pub(super) fn of_claim(
        analysis: &'a Analysis<'a>,
        job: usize,
        slots: &BitSet,
        attribute: &str,
    ) -> Option<Self> {
        let is_demand = attribute.get(..REQUIRE.len()).is_some_and(|start| start == REQUIRE);
        is_demand
            .then(|| DeviceDemand::collect(analysis, job, slots, attribute.into(), DeviceScope::Claim))
            .flatten()
    }

    fn collect(
        analysis: &'a Analysis<'a>,
        job: usize,
        slots: &BitSet,
        name: AttrName,
        scope: DeviceScope,
    ) -> Option<Self> {
        let job = &analysis.jobs[job].plain;
        let condition = job.get(&name)?;
        let clauses = explain::conjuncts(&condition);
        let (devices, in_use) = (Vec::new(), Vec::new());
        let mut demand = DeviceDemand { analysis, name, job, scope, clauses, devices, in_use, max_met: 0 };
        for group in slots.iter().take(MAX_GROUPS) {
            let devices = demand.devices_of(group);
            let met = devices.iter().filter(|device| demand.holds(&condition, device)).count();
            demand.max_met = demand.max_met.max(met);
            for device in devices {
                let is_known = |known: &Device| known.properties == device.properties;
                if demand.devices.len() < MAX_DEVICES && !demand.devices.iter().any(is_known) {
                    demand.devices.push(device);
                }
            }
            if demand.in_use.len() < MAX_DEVICES {
                demand.in_use.extend(demand.devices_in_use(group));
            }
        }
        (!demand.devices.is_empty() || !demand.in_use.is_empty()).then_some(demand)
    }

    fn slot_ad(&self, group: usize) -> &'a ClassAd {
        self.analysis.slots.ad(self.analysis.representatives[group])
    }

    fn devices_of(&self, group: usize) -> Vec<Device> {
        let context = match &self.scope {
            DeviceScope::Match(side, _) => self.analysis.slots.context(*side, self.slot_ad(group), self.job),
            DeviceScope::Claim => Context::new(self.analysis.slots.world()).my(self.slot_ad(group)),
        };
        let list = match &self.scope {
            DeviceScope::Match(_, call) => call.list.clone(),
            DeviceScope::Claim => Expr::attribute(self.device_attribute("Available")),
        };
        let Value::List(list) = context.eval(&list) else { return Vec::new() };
        let device = |(position, item): (usize, &Expr)| match context.eval(item) {
            Value::Ad(properties) => {
                Some(Device { properties: (*properties).clone(), group, place: DevicePlace::Free(position) })
            }
            _ => None,
        };
        list.iter().enumerate().filter_map(device).collect()
    }

    /// Returns the devices of a partitionable slot that dynamic slots use: they are assigned to it, but not available.
    fn devices_in_use(&self, group: usize) -> Vec<Device> {
        let context = Context::new(self.analysis.slots.world()).my(self.slot_ad(group));
        if context.boolean("PartitionableSlot") != Some(true) {
            return Vec::new();
        }
        let available = match context.eval_attr(self.device_attribute("Available")) {
            Value::List(list) => list.iter().filter_map(Reference::parse).map(|it| it.name).collect(),
            _ => Vec::new(),
        };
        let assigned = context.string(self.device_attribute("Assigned")).unwrap_or_default();
        let device = |id: &str| {
            // A slot has the properties of device GPU-a in GPUs_GPU_a.
            let id: String = id.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
            let name: AttrName = [self.kind_of_device(), b"_", id.as_bytes()].concat().as_slice().into();
            let Value::Ad(properties) = context.eval_attr(&name) else { return None };
            let place = DevicePlace::InUse(Expr::parse(format!("{{{name}}}").as_bytes()).ok()?);
            (!available.contains(&name)).then(|| Device { properties: (*properties).clone(), group, place })
        };
        let assigned = assigned.to_string();
        assigned.split([',', ' ']).filter(|id| !id.is_empty()).filter_map(device).collect()
    }

    /// Returns the name of an attribute of a slot about the devices: `AvailableGPUs`.
    fn device_attribute(&self, prefix: &str) -> AttrName {
        [prefix.as_bytes(), self.kind_of_device()].concat().as_slice().into()
    }

    /// Returns all devices, free or not.
    fn all_devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().chain(&self.in_use)
    }

    /// Returns the devices in use that meet the whole condition.
    fn matching_in_use(&self) -> Vec<&Device> {
        let holds = |device: &&Device| self.clauses.iter().all(|clause| self.holds(clause, device));
        self.in_use.iter().filter(holds).collect()
    }

    /// True if devices meet the condition, and all of them are in use: the job has to wait.
    pub(super) fn has_to_wait(&self) -> bool {
        self.max_met == 0 && !self.matching_in_use().is_empty()
    }

    /// Returns which devices meet the condition and are in use: "GPU-a of slot1@a meets Capability >= 8, but a dynamic
    /// slot uses it (ann@x)", or `None` if there are none.
    fn in_use_phrase(&self) -> Option<String> {
        let wanted = self.matching_in_use();
        let first = wanted.first()?;
        let world = self.analysis.slots.world();
        let id = |device: &Device| {
            let id = Context::new(world).my(&device.properties).string("Id");
            id.map_or_else(|| self.device_name(), |id| id.to_string())
        };
        let mut users: Vec<String> = wanted.iter().filter_map(|it| self.user(it.group, &id(it))).collect();
        users.sort_unstable();
        users.dedup();
        users.truncate(MAX_USERS);
        let users = if users.is_empty() { String::new() } else { format!(" ({})", users.join(", ")) };
        let slot = self.analysis.slots.name(self.analysis.representatives[first.group]);
        let condition = self.job.get(&self.name).map(|expr| expr_text(&expr)).unwrap_or_default();
        let first = id(first);
        Some(match wanted.len() {
            1 => format!("{first} of {slot} meets {condition}, but a dynamic slot uses it{users}"),
            many => format!(
                "{}, such as {first} of {slot}, meet {condition}, but dynamic slots use them{users}",
                counted(many, &self.device_name())
            ),
        })
    }

    /// Returns the user of the dynamic slot that has a device of a partitionable slot, or `None` if the user is not
    /// known.
    fn user(&self, group: usize, id: &str) -> Option<String> {
        let slots = self.analysis.slots;
        let parent = slots.name(self.analysis.representatives[group]);
        let has_device = |context: &Context<'_>| {
            let assigned = context.string(self.device_attribute("Assigned")).unwrap_or_default().to_string();
            assigned.split([',', ' ']).any(|it| it.eq_ignore_ascii_case(id))
        };
        let dynamic = (0..slots.len()).filter(|slot| is_dynamic_slot_of(slots.name(*slot), parent));
        let mut contexts = dynamic.map(|slot| Context::new(slots.world()).my(slots.ad(slot)));
        let of_device = contexts.find(has_device)?;
        let user = of_device.string("RemoteUser").or_else(|| of_device.string("RemoteOwner"));
        user.map(|user| user.to_string())
    }

    fn kind_of_device(&self) -> &[u8] {
        &self.name.as_bytes()[REQUIRE.len()..]
    }

    /// Evaluates a condition for one device.
    fn eval(&self, condition: &Expr, device: &Device) -> Value {
        match &self.scope {
            DeviceScope::Match(side, call) => {
                let mut job = self.job.clone();
                job.insert(&self.name, condition.clone());
                let context = self.analysis.slots.context(*side, self.slot_ad(device.group), &job);
                let (list, position) = match &device.place {
                    DevicePlace::Free(position) => (&call.list, *position),
                    DevicePlace::InUse(list) => (list, 0),
                };
                call.values(&context, list).into_iter().nth(position).unwrap_or(Value::Undefined)
            }
            DeviceScope::Claim => {
                match DeviceConstraint::from_job(condition, self.job, self.analysis.slots.world()) {
                    DeviceConstraint::None => Value::Bool(true),
                    DeviceConstraint::Index(number) => Value::Bool(match device.place {
                        DevicePlace::Free(position) => usize::try_from(number) == Ok(position),
                        DevicePlace::InUse(_) => false,
                    }),
                    DeviceConstraint::Expression(expr) => {
                        let context = Context::new(self.analysis.slots.world()).my(&device.properties);
                        match expr.as_literal() {
                            Some(Value::Str(id)) => {
                                let device_id = context.string("Id");
                                Value::Bool(
                                    device_id.is_some_and(|device_id| device_id.eq_ignore_ascii_case(&id)),
                                )
                            }
                            _ => context.eval(&expr),
                        }
                    }
                }
            }
        }
    }

    fn holds(&self, condition: &Expr, device: &Device) -> bool {
        self.eval(condition, device).truth() == Some(true)
    }

    /// Returns the number of considered devices for which a clause is true.
    fn count(&self, clause: &Expr) -> usize {
        self.devices.iter().filter(|device| self.holds(clause, device)).count()
    }

    /// Returns the place where the condition finds a name.
    fn find_name_place(&self, reference: &Reference) -> NamePlace {
        let has_device = || self.all_devices().any(|device| device.properties.contains(&reference.name));
        let has_slot = || self.all_devices().any(|it| self.slot_ad(it.group).contains(&reference.name));
        let device = || has_device().then_some(NamePlace::Device);
        let slot = || has_slot().then_some(NamePlace::Slot);
        let job = || self.job.contains(&reference.name).then_some(NamePlace::Job);
        let place = match (&self.scope, reference.scope) {
            (DeviceScope::Match(..), ReferenceScope::Unscoped) => device().or_else(slot).or_else(job),
            (DeviceScope::Match(..), ReferenceScope::My) => device().or_else(slot),
            (DeviceScope::Match(..), ReferenceScope::Target) => job(),
            (DeviceScope::Claim, _) => job().or_else(device),
        };
        place.unwrap_or(NamePlace::Nowhere)
    }

    /// Parses a clause that compares an attribute of devices.
    fn parse_comparison(&self, clause: &Expr) -> Option<DeviceComparison> {
        let ExprKind::Compare(operator, left, right) = clause.kind() else { return None };
        let of_device = |expr: &Expr| {
            let reference = Reference::parse(expr)?;
            (self.find_name_place(&reference) == NamePlace::Device).then_some(reference.name)
        };
        match (of_device(&left), of_device(&right)) {
            (Some(attribute), None) => Some(DeviceComparison { attribute, operator, other: right }),
            (None, Some(attribute)) => {
                Some(DeviceComparison { attribute, operator: mirror_operator(operator), other: left })
            }
            _ => None,
        }
    }

    /// Returns the clauses that are true for no device.
    fn unmet_clauses(&self) -> Vec<&Expr> {
        self.clauses.iter().filter(|clause| self.count(clause) == 0).collect()
    }

    /// Returns the word for one device: "GPU".
    fn device_name(&self) -> String {
        let kind = String::from_utf8_lossy(self.kind_of_device()).into_owned();
        kind.strip_suffix('s').map(str::to_owned).unwrap_or(kind)
    }

    /// Returns what the devices lack: "no GPU has Capability >= 8.0, they have 7.5", or `None` if one slot has `wanted`
    /// devices that meet the condition.
    pub(super) fn describe(&self, wanted: Option<usize>) -> Option<String> {
        let in_use = self.in_use_phrase();
        if self.max_met == 0 && in_use.is_some() {
            return in_use;
        }
        let unmet = self.unmet_clauses();
        if !unmet.is_empty() {
            return Some(self.phrases_of_clauses(&unmet, "no"));
        }
        let (device, all) = (self.device_name(), self.devices.len());
        if self.max_met == 0 {
            let count =
                |clause: &Expr| format!("{} is true for {} of {all}", expr_text(clause), self.count(clause));
            let counts = self.clauses.iter().map(count).collect::<Vec<_>>().join(", ");
            return Some(format!("no {device} meets all of {}: {counts}", self.name));
        }
        let Some(wanted) = wanted else {
            let unmet: Vec<&Expr> = self.clauses.iter().filter(|clause| self.count(clause) < all).collect();
            return (!unmet.is_empty()).then(|| self.phrases_of_clauses(&unmet, "not every"));
        };
        if self.max_met >= wanted {
            return None;
        }
        let SideNames { job, slot } = self.analysis.side_names();
        let (max_met, name) = (counted(self.max_met, &device), &self.name);
        let verb = if self.max_met == 1 { "meets" } else { "meet" };
        let in_use = in_use.map(|phrase| format!("; {phrase}")).unwrap_or_default();
        Some(format!(
            "at most {max_met} of one {slot} {verb} {name}, and the {job} asks for {wanted}{in_use}"
        ))
    }

    fn phrases_of_clauses(&self, clauses: &[&Expr], quantity: &str) -> String {
        clauses.iter().map(|clause| self.unmet_phrase(clause, quantity)).collect::<Vec<_>>().join("; ")
    }

    /// Returns why a clause is true for no device, or not for every device.
    fn unmet_phrase(&self, clause: &Expr, quantity: &str) -> String {
        let device = self.device_name();
        let references = mentioned_references(clause);
        let mut sentence = format!("{quantity} {device} has {}", expr_text(clause));
        let mut properties: Vec<(String, ValueSummary)> = Vec::new();
        let (mut of_job, mut unknown_names) = (Vec::new(), Vec::new());
        for reference in &references {
            let values = || {
                let mut values = ValueSummary::default();
                for device in self.all_devices() {
                    let context = Context::new(self.analysis.slots.world()).my(&device.properties);
                    values.add(&context.eval(&Expr::attribute(&reference.name)), 1);
                }
                values
            };
            let job = self.analysis.side_names().job;
            match self.find_name_place(reference) {
                NamePlace::Device => properties.push((reference.name.to_string(), values())),
                NamePlace::Slot => {}
                NamePlace::Job => {
                    let context = Context::new(self.analysis.slots.world()).my(self.job);
                    let value = ValueSummary::single(&context.eval_attr(&reference.name)).text();
                    of_job.push(format!("the {job} has {} = {value}", reference.name));
                }
                NamePlace::Nowhere => unknown_names.push(self.unknown_phrase(reference)),
            }
        }
        match &properties[..] {
            [] => {}
            [(_, values)] => sentence += &format!(", they have {}", values.text()),
            many => {
                let each = many.iter().map(|(name, values)| format!("{name} {}", values.text()));
                sentence += &format!(", they have {}", each.collect::<Vec<_>>().join(" and "));
            }
        }
        of_job.iter().for_each(|phrase| sentence += &format!(", {phrase}"));
        // A name that is not found makes the clause undefined, so it is the reason.
        if unknown_names.is_empty() {
            sentence
        } else {
            format!("{} is never true: {}", expr_text(clause), unknown_names.join("; "))
        }
    }

    /// Returns a phrase that says that a name is not found, or is found in the other ad.
    fn unknown_phrase(&self, reference: &Reference) -> String {
        let (name, device) = (&reference.name, self.device_name());
        let SideNames { job, .. } = self.analysis.side_names();
        let has_device = self.all_devices().any(|device| device.properties.contains(name));
        match (&self.scope, reference.scope) {
            (DeviceScope::Match(..), ReferenceScope::My) if self.job.contains(name) => {
                return format!("MY is the {device} here, and has no {name}; write {name} for the {job}'s");
            }
            (DeviceScope::Match(..), ReferenceScope::Target) if has_device => {
                return format!(
                    "TARGET is the {job} here, and has no {name}; write {name} for the {device}'s"
                );
            }
            _ => {}
        }
        let names: Vec<String> = self.property_names();
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let wanted = name.to_string().to_ascii_lowercase();
        let nearest_name =
            nearest(&wanted, lower.iter().map(String::as_str)).map(str::to_owned).or_else(|| {
                // Older versions published a property such as Capability as CUDACapability.
                lower.iter().find(|name| name.len() > 3 && wanted.ends_with(name.as_str())).cloned()
            });
        let nearest_name = nearest_name
            .and_then(|nearest_name| names.iter().find(|name| name.eq_ignore_ascii_case(&nearest_name)));
        let hint =
            nearest_name.map(|nearest_name| format!("; did you mean {nearest_name}?")).unwrap_or_default();
        format!("neither the {device}s nor the {job} have {name}{hint}")
    }

    fn property_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for device in self.all_devices() {
            for name in device.properties.names() {
                let name = String::from_utf8_lossy(name).into_owned();
                if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Returns job attributes with weaker expressions, for which the condition may be true for some of the devices.
    pub(super) fn weaker_conditions(&self) -> Vec<(AttrName, Expr)> {
        let mut weaker_conditions: Vec<(AttrName, Expr)> = Vec::new();
        let mut add = |name: &AttrName, expr: Expr| {
            if !weaker_conditions.iter().any(|(known, other)| known == name && *other == expr) {
                weaker_conditions.push((name.clone(), expr));
            }
        };
        let is_unmet: Vec<bool> = self.clauses.iter().map(|clause| self.count(clause) == 0).collect();
        // If each clause is true for some device, but too few devices meet them, all are weakened.
        let is_weakened: Vec<bool> = match is_unmet.contains(&true) {
            true => is_unmet.clone(),
            false => self.clauses.iter().map(|clause| self.count(clause) < self.devices.len()).collect(),
        };
        for wants_largest in [true, false] {
            let mut clauses = self.clauses.clone();
            for (clause, _) in clauses.iter_mut().zip(&is_weakened).filter(|(_, is_weakened)| **is_weakened) {
                let Some(comparison) = self.parse_comparison(clause) else { continue };
                let Some(value) = self.boundary_value(&comparison, wants_largest) else { continue };
                let DeviceComparison { attribute, operator, other } = comparison;
                if let Some(reference) = Reference::parse(&other) {
                    let is_of_job =
                        matches!(self.find_name_place(&reference), NamePlace::Job | NamePlace::Nowhere)
                            && !(reference.scope == ReferenceScope::My
                                && matches!(self.scope, DeviceScope::Match(..)));
                    if is_of_job {
                        add(&reference.name, Expr::literal(value));
                    }
                } else if other.as_literal().is_some() {
                    let text = format!("{attribute} {operator} {}", Expr::literal(value).unparse());
                    if let Ok(weaker) = Expr::parse(text.as_bytes()) {
                        *clause = weaker;
                    }
                }
            }
            if clauses != self.clauses {
                let joined = clauses.iter().map(expr_source).collect::<Vec<_>>().join(" && ");
                if let Ok(joined) = Expr::parse(joined.as_bytes()) {
                    add(&self.name, joined);
                }
            }
        }
        // Try the names with the scope exchanged or left out.
        if let Some(condition) = self.job.get(&self.name) {
            let scopes: &[&[u8]] = &[b"MY", b"TARGET"];
            let unscoped = scopes.iter().fold(condition.clone(), |expr, scope| expr.rescope(scope, None));
            if unscoped.unparse() != condition.unparse() {
                add(&self.name, unscoped);
            }
        }
        // Try the condition without the clauses that no device meets. In a match, the job keeps the
        // condition, because its Requirements refer to it.
        if is_unmet.contains(&true)
            && (is_unmet.contains(&false) || matches!(self.scope, DeviceScope::Match(..)))
        {
            let met = self.clauses.iter().zip(&is_unmet).filter(|(_, is_unmet)| !**is_unmet);
            let met: Vec<String> = met.map(|(clause, _)| expr_source(clause)).collect();
            let text = if met.is_empty() { "true".to_owned() } else { met.join(" && ") };
            if let Ok(rest) = Expr::parse(text.as_bytes()) {
                add(&self.name, rest);
            }
        }
        weaker_conditions
    }

    /// Returns the value of the other operand for which a comparison is just true for the device with the largest or
    /// the smallest value.
    fn boundary_value(&self, comparison: &DeviceComparison, wants_largest: bool) -> Option<Value> {
        let value = |device: &Device| {
            let context = Context::new(self.analysis.slots.world()).my(&device.properties);
            let value = context.eval(&Expr::attribute(&comparison.attribute));
            (!value.is_undefined() && !value.is_error()).then_some(value)
        };
        let mut values: Vec<Value> = self.devices.iter().filter_map(value).collect();
        values.sort_by(|one, other| {
            one.as_real().unwrap_or_default().total_cmp(&other.as_real().unwrap_or_default())
        });
        let value = if wants_largest { values.last() } else { values.first() };
        let context = Context::new(self.analysis.slots.world()).my(self.job);
        // `value OPERATOR other` is true up to the boundary of the mirrored comparison.
        let is_whole = matches!(context.eval(&comparison.other), Value::Int(_));
        boundary(mirror_operator(comparison.operator), value?, is_whole)
    }
}

/// Returns the text of an expression as an operand of `&&`, with parentheses if they are needed.
fn expr_source(expr: &Expr) -> String {
    let expr = expr.without_parentheses();
    match expr.kind() {
        ExprKind::Or(..) | ExprKind::Conditional(..) | ExprKind::Other(_) => format!("({})", expr.unparse()),
        _ => expr.unparse().to_string(),
    }
}
