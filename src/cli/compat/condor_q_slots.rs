//! Slots that `condor_q -better-analyze` matches jobs against (reference: condor_q.V6/jobmatch.cpp, `setupAnalysis`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use super::condor_q_analysis_options::AnalysisOptions;
use super::condor_q_source::{AdSource, open_ads};
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::cli::common::ProgramContext;
use crate::text::number::{integer_prefix, real_prefix};
use crate::world::World;

/// Slot ad, or the ad of a slot as it would be if it were drained.
pub(super) struct SlotEntry {
    /// The slot ad; the ad of a drained slot has the original one as its parent.
    pub(super) ad: Arc<ClassAd>,
    /// Number of a dynamic slot. A negative number links a slot with its drained ad: each of the two has the negated
    /// index of the other.
    pub(super) sub_id: i64,
    /// Machine.
    pub(super) group: usize,
}

/// Slots in the order of the file, and by machine and number.
#[derive(Default)]
pub(super) struct SlotPool {
    /// All ads; drained ads are appended as jobs need them.
    pub(super) all: Vec<SlotEntry>,
    by_key: BTreeMap<Vec<u8>, usize>,
    groups: BTreeMap<BString, usize>,
    dynamic: usize,
    candidates: usize,
    /// Number of drained ads.
    pub(super) drained: usize,
    longest_machine: usize,
    longest_name: usize,
    /// Name of the requested machine or slot, or `None` if a constraint selects slots.
    pub(super) single: Option<BString>,
}

impl SlotPool {
    /// Reads the slots of a file that the options select. Returns `None` after reporting the error if the file cannot
    /// be read.
    pub(super) fn read(
        options: &AnalysisOptions,
        world: &dyn World,
        session: &ProgramContext,
    ) -> Option<Self> {
        let Some((file, form)) = &options.slots else {
            session.write_stderr(
                "Error: there is no collector here that could be queried for slots\nhint: name a file of slot ads with -slotads\n",
            );
            return None;
        };
        let (name, constraint) = match (&options.machine, &options.slot_constraint) {
            (None, Some(name)) if is_slot_name(name) => (Some(name), None),
            (name, constraint) => (name.as_ref(), constraint.as_ref()),
        };
        let mut parts: Vec<Vec<u8>> =
            constraint.into_iter().map(|text| [b"(", &text[..], b")"].concat()).collect();
        parts.extend(name.map(|name| {
            let name = name.to_str_lossy();
            format!("((Name==\"{name}\" || Machine==\"{name}\"))").into_bytes()
        }));
        let condition = bstr::join(" && ", &parts);
        let condition =
            Expr::parse_with(&condition, Dialect::old_syntax()).ok().filter(|_| !parts.is_empty());
        let mut pool = SlotPool {
            single: name.filter(|_| constraint.is_none()).map(|name| name.as_slice().into()),
            ..SlotPool::default()
        };
        let input = open_ads(file, session)?;
        AdSource::of_slots(input, *form).for_each(condition.as_ref(), world, |ad| pool.add(ad, world));
        Some(pool)
    }

    fn add(&mut self, ad: ClassAd, world: &dyn World) {
        let context = Context::new(world).my(&ad);
        let machine = context.string("Machine").unwrap_or_default();
        self.longest_machine = self.longest_machine.max(machine.len());
        let mut key = machine.to_vec();
        key.extend_from_slice(format!("/{:03}", context.int("SlotID").unwrap_or(0)).as_bytes());
        let sub_id = context.int("DSlotID");
        if let Some(id) = sub_id {
            key.extend_from_slice(format!(".{id:03}").as_bytes());
            self.dynamic += 1;
        } else if context.boolean("PartitionableSlot") == Some(true) {
            self.candidates += 1;
        }
        if let Some(name) = context.string("Name") {
            self.longest_name = self.longest_name.max(name.len());
            key.push(b'/');
            key.extend_from_slice(&name);
        }
        let number = self.all.len();
        key.extend_from_slice(format!("/{:010}", number + 1).as_bytes());
        let next = self.groups.len();
        let group = *self.groups.entry(machine).or_insert(next);
        self.by_key.insert(key, number);
        self.all.push(SlotEntry { ad: Arc::new(ad), sub_id: sub_id.unwrap_or(0), group });
    }

    /// Adds the ad of a slot as it would be if it were drained.
    pub(super) fn add_drained(&mut self, slot: usize, ad: Arc<ClassAd>) {
        let index = self.all.len();
        self.all[slot].sub_id = -(index as i64);
        self.all.push(SlotEntry { ad, sub_id: -(slot as i64), group: self.all[slot].group });
        self.drained += 1;
    }

    /// Returns the slots in the order of machines and numbers.
    pub(super) fn order(&self) -> Vec<usize> {
        self.by_key.values().copied().collect()
    }

    /// Returns the number of machines.
    pub(super) fn machine_count(&self) -> usize {
        self.groups.len()
    }

    /// Returns true if all slots are static or dynamic.
    pub(super) fn has_only_dynamic(&self) -> bool {
        self.dynamic > 1 && self.candidates == 0
    }

    /// Returns the width of a column of names.
    pub(super) fn name_width(&self) -> usize {
        (self.longest_machine + 7).max(self.longest_name).max(16)
    }

    /// Adds the priorities of the users that the slots serve.
    pub(super) fn add_priorities(&mut self, priorities: &UserPriorities, world: &dyn World) {
        for slot in &mut self.all {
            let user = Context::new(world).my(&slot.ad).string("RemoteUser");
            if let Some(priority) = user.and_then(|user| priorities.find(&user)) {
                let mut ad = ClassAd::clone(&slot.ad);
                ad.set("RemoteUserPrio", f64::from(priorities.0[priority].1));
                slot.ad = Arc::new(ad);
            }
        }
    }
}

/// Returns true if a constraint is the name of a slot: it has an `@` or two dots, and all its characters are permitted
/// in names.
fn is_slot_name(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.@_".contains(byte))
        && (text.contains(&b'@') || text.iter().filter(|byte| **byte == b'.').count() > 1)
}

/// Users and their priorities.
#[derive(Clone, Debug, Default)]
pub(super) struct UserPriorities(pub(super) Vec<(BString, f32)>);

impl UserPriorities {
    /// Reads `NameN = "user"` and `PriorityN = number` as `condor_userprio -l` prints them (`read_userprio_file`).
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut users: Vec<(BString, f32)> = Vec::new();
        for line in text.lines() {
            let Some((name, value)) = line.trim().split_once_str("=") else { continue };
            let name = name.trim();
            let Some(digits) = name.find_byteset(b"0123456789") else { continue };
            let Some((number @ 1.., used)) = integer_prefix(&name[digits..]) else { continue };
            if digits + used != name.len() {
                continue;
            }
            let number = number.min(1 << 20) as usize;
            if matches!(&name[..digits], b"Priority" | b"Name") && users.len() <= number {
                users.resize(1 + number * 2, (BString::default(), 0.0));
            }
            let value = value.trim();
            match &name[..digits] {
                b"Priority" => users[number].1 = real_prefix(value).map_or(0.0, |(value, _)| value) as f32,
                b"Name" => users[number].0 = value.trim_with(|letter| letter == '"').into(),
                _ => {}
            }
        }
        UserPriorities(users)
    }

    /// Returns the number of a user.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }
}

/// Returns the ad of a partitionable slot as it would be if it were drained (`make_pslot_overlay_ad`).
pub(super) fn drained_ad(slot: &ClassAd, world: &dyn World) -> Option<ClassAd> {
    let context = Context::new(world).my(slot);
    let resources = context.string("MachineResources").unwrap_or_else(|| "Cpus Memory Disk".into());
    let mut ad = ClassAd::new();
    for tag in crate::text::list::split(&resources) {
        let total = [b"TotalSlot", tag].concat();
        if let Ok(expr) = Expr::parse_with(&total, Dialect::old_syntax()) {
            ad.insert(tag, expr);
        }
        if tag.eq_ignore_ascii_case(b"gpus")
            && let Some(all) = context.int(&total)
            && available_gpus(&context).is_some_and(|available| available < all)
            && let Some(expr) = all_gpus(slot, &context)
        {
            ad.insert("AvailableGPUs", expr);
        }
    }
    (!ad.is_empty()).then_some(ad)
}

fn available_gpus(context: &Context<'_>) -> Option<i64> {
    let size = Expr::parse_with(b"size(AvailableGpus)", Dialect::old_syntax()).ok()?;
    match context.eval(&size) {
        value @ (Value::Int(_) | Value::Real(_)) => value.as_int(),
        _ => None,
    }
}

/// Returns a list of all GPUs that are assigned and not offline.
fn all_gpus(slot: &ClassAd, context: &Context<'_>) -> Option<Expr> {
    let offline = context.string("OfflineGPUs").unwrap_or_default();
    let assigned = context.string("AssignedGPUs")?;
    let names: Vec<BString> = crate::text::list::split(&assigned)
        .filter(|id| !crate::text::list::split(&offline).any(|offline| offline == *id))
        .map(|id| {
            let name = [b"GPUs_", id].concat();
            name.into_iter()
                .map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'_' })
                .collect::<Vec<u8>>()
                .into()
        })
        .filter(|name: &BString| slot.contains(name.as_slice()))
        .collect();
    let text = bstr::concat([&b"{"[..], &bstr::join(", ", names), b"}"]);
    Expr::parse_with(&text, Dialect::old_syntax()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_slots_are_distinguished_from_conditions() {
        for (text, is_name) in
            [("slot1@ep", true), ("a.b.c", true), ("Cpus", false), ("a.b", false), ("Cpus > 1", false)]
        {
            assert_eq!(is_slot_name(text.as_bytes()), is_name, "{text}");
        }
    }

    #[test]
    fn priorities_are_read_as_condor_userprio_prints_them() {
        let users = UserPriorities::parse(b"Name1 = \"ann@x\"\nPriority1 = 0.5\nMyType = \"x\"\n");
        assert_eq!(users.0[users.find(b"ann@x").unwrap()].1, 0.5);
        assert_eq!(users.find(b"bob@x"), None);
    }
}
