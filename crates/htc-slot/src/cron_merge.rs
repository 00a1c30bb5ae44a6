//! Rules for merging the ads of cron jobs into slot ads, and the slots they apply to.
//!
//! Reference: `startd_named_classad.cpp` (ShouldMergeInto), `startd_named_classad_list.cpp` (Publish).

use bstr::ByteSlice;

use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Attributes that select the target slots and are never merged.
const TARGETING_ATTRIBUTES: [&str; 5] = ["Name", "SlotID", "SlotMergeConstraint", "SlotName", "SlotTypeID"];

/// Decides whether the ad of a cron job is merged into a slot ad, and by which rule. `slots` is the job's SLOTS list; a dynamic
/// slot has the number of its parent.
pub fn decide_merge(
    ad: &ClassAd,
    slots: &[i64],
    slot: &ClassAd,
    world: &dyn World,
    quirks: QuirkMode,
) -> (bool, &'static str) {
    let own = Context::new(world).my(ad);
    let slot_context = Context::new(world).my(slot);
    let number = slot_context.int("SlotID");
    if !slots.is_empty() && !number.is_some_and(|number| slots.contains(&number)) {
        return (false, "SLOTS");
    }
    if ad.contains("SlotMergeConstraint") {
        let both = Context::new(world).my(ad).target(slot);
        return (both.boolean("SlotMergeConstraint") == Some(true), "SlotMergeConstraint");
    }
    let name = own.string("SlotName").or_else(|| own.string("Name")).filter(|name| !name.is_empty());
    if let (Some(wanted), Some(name)) = (name, slot_context.string("Name")) {
        let prefix = name.starts_with(&wanted);
        if quirks.reproduces(Quirk::CronSlotPrefixMatch) {
            return (prefix, "SlotName");
        }
        // The configured name must be the whole slot name, its part before `@`, or the name of the parent of a dynamic slot.
        let rest = name.strip_prefix(wanted.as_slice()).unwrap_or_default();
        let is_whole_name = prefix && (rest.is_empty() || rest.starts_with(b"@") || rest.starts_with(b"_"));
        return (is_whole_name, "SlotName");
    }
    for rule in ["SlotTypeID", "SlotID"] {
        if let (Some(wanted), Some(have)) = (own.int(rule), slot_context.int(rule)) {
            return (wanted == have, rule);
        }
    }
    (true, "no rule")
}

/// Merges the attributes of a cron job's ad into a slot ad.
pub fn merge_cron_ad(ad: &ClassAd, slot: &mut ClassAd) {
    for (name, value) in ad.sorted() {
        if !TARGETING_ATTRIBUTES.iter().any(|aim| caseless::eq(aim.as_bytes(), name.as_bytes())) {
            slot.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn ad(lines: &[&str]) -> ClassAd {
        let mut ad = ClassAd::new();
        for line in lines {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    #[test]
    fn the_first_rule_that_applies_to_both_sides_decides() {
        let slot = ad(&["Name = \"slot10@h\"", "SlotID = 10", "SlotTypeID = 1", "Cpus = 4"]);
        let ask = |lines: &[&str], quirks| decide_merge(&ad(lines), &[], &slot, &RealWorld::new(), quirks);
        assert_eq!(ask(&["A = 1"], QuirkMode::Manual), (true, "no rule"));
        assert_eq!(ask(&["SlotId = 2"], QuirkMode::Manual), (false, "SlotID"));
        assert_eq!(ask(&["SlotName = \"slot1\""], QuirkMode::Manual), (false, "SlotName"));
        assert_eq!(ask(&["SlotName = \"slot1\""], QuirkMode::Reference), (true, "SlotName"));
        assert_eq!(ask(&["SlotName = \"slot10\"", "SlotId = 3"], QuirkMode::Manual), (true, "SlotName"));
        assert!(ask(&["SlotMergeConstraint = Cpus > 2"], QuirkMode::Manual).0);
        assert!(!decide_merge(&ad(&[]), &[1], &slot, &RealWorld::new(), QuirkMode::Manual).0);
        let mut merged = slot.clone();
        merge_cron_ad(&ad(&["SlotId = 3", "Temp = 20"]), &mut merged);
        assert_eq!(merged.len(), slot.len() + 1);
    }
}
