//! Changes to the ads of a hook call, which are made before the call.

use super::case::Case;
use htc_classad::{ClassAd, Expr};
use htc_hook::HookType;

/// Names of attributes with their new values.
pub type Assignments = Vec<(String, Expr)>;

/// Changes to the ads of a hook call.
#[derive(Clone, Debug, Default)]
pub struct AdChanges {
    /// Attributes to remove from the ad that the hook is about, before other attributes are set.
    pub delete: Vec<String>,
    /// Attributes to set in the ad that the hook is about.
    pub set: Assignments,
    /// Attributes to set in the slot ad.
    pub set_slot: Assignments,
    /// Attributes to set in the ad of the routed job.
    pub set_routed: Assignments,
}

fn assign(ad: &mut ClassAd, assignments: &Assignments) {
    for (name, value) in assignments {
        ad.insert(name, value.clone());
    }
}

impl AdChanges {
    fn change_subject(&self, subject: &mut ClassAd) {
        for name in &self.delete {
            subject.remove(name);
        }
        assign(subject, &self.set);
    }

    /// Applies the changes to the ads of a case.
    pub fn apply(&self, case: &mut Case) {
        self.change_subject(case.subject_mut());
        assign(&mut case.slot, &self.set_slot);
        assign(&mut case.routed, &self.set_routed);
    }

    /// Applies the changes to a slot ad that replaces the slot ad of the case.
    pub(super) fn apply_to_slot(&self, hook: HookType, slot: &mut ClassAd) {
        if hook == HookType::FetchWork {
            self.change_subject(slot);
        }
        assign(slot, &self.set_slot);
    }

    /// Returns true if the changes set or remove the attribute `name` of the slot.
    pub(super) fn changes_slot_attribute(&self, hook: HookType, name: &str) -> bool {
        let is = |known: &str| known.trim().eq_ignore_ascii_case(name);
        let of_subject = hook == HookType::FetchWork
            && (self.delete.iter().any(|known| is(known)) || self.set.iter().any(|(known, _)| is(known)));
        of_subject || self.set_slot.iter().any(|(known, _)| is(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::Value;

    #[test]
    fn changes_apply_to_the_ad_of_the_hook() {
        let one = |name: &str| vec![(name.to_owned(), Expr::literal(Value::Int(1)))];
        let changes = AdChanges {
            delete: vec!["Owner".to_owned()],
            set: one("A"),
            set_slot: one("B"),
            ..AdChanges::default()
        };
        let mut case = Case::new(HookType::PrepareJob);
        assert!(case.job.contains("Owner"));
        changes.apply(&mut case);
        assert!(case.job.contains("A") && !case.job.contains("Owner"));
        assert!(case.slot.contains("B") && !case.slot.contains("A"));
        let mut slot = ClassAd::new();
        changes.apply_to_slot(HookType::FetchWork, &mut slot);
        assert!(slot.contains("A") && slot.contains("B"));
        assert!(changes.changes_slot_attribute(HookType::FetchWork, "owner"));
        assert!(!changes.changes_slot_attribute(HookType::ReplyFetch, "owner"));
    }
}
