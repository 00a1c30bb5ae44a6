//! Groups of slot attributes that may be referenced. A simulation publishes only these groups; in live mode, all groups are
//! published for hooks.

use htc_classad::AttrName;
use htc_classad::references::AttrNames;

/// Set of attribute groups to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PublishSet {
    /// True if ads are printed as text, for hooks and starters.
    pub ad_texts: bool,
    /// True if loads, idle times, the clock and other measurements are published.
    pub machine: bool,
    /// True if the clock and other measurements that are rarely referenced are published.
    pub clock: bool,
    /// True if attributes that change with time are published, such as MyCurrentTime or KeyboardIdle.
    pub time_dependent: bool,
    /// True if only constant attributes and the state are published.
    pub state_only: bool,
    /// True if only constant attributes are referenced, and neither the state nor attributes of the job.
    pub constants_only: bool,
    /// True if state, activity and their start times are published.
    pub state: bool,
    /// True if the `TotalTime...` attributes are published.
    pub state_totals: bool,
    /// True if attributes of the claim and its job are published.
    pub claim: bool,
    /// True if attributes of drains are published.
    pub drain: bool,
    /// True if Cpus, Memory, Disk and custom resources are published.
    pub amounts: bool,
    /// True if the lists of dynamic slots are published.
    pub children: bool,
    /// True if RetirementTimeRemaining and the times of fetches are published.
    pub fetch_times: bool,
}

const CLAIM_ATTRIBUTES: [&str; 24] = [
    "currentrank",
    "remoteuser",
    "remoteowner",
    "accountinggroup",
    "remotescheddname",
    "clientmachine",
    "remotenegotiatinggroup",
    "remoteautoregroup",
    "numpids",
    "jobid",
    "globaljobid",
    "jobstart",
    "imagesize",
    "cpususage",
    "totaljobruntime",
    "totaljobsuspendtime",
    "totalclaimruntime",
    "totalclaimsuspendtime",
    "preemptingrank",
    "preemptinguser",
    "preemptingowner",
    "preemptingaccountinggroup",
    "publicclaimid",
    "claimendtime",
];

/// Number of leading entries of `MACHINE_ATTRIBUTES` that are idle times and loads.
const IDLE_AND_LOAD_COUNT: usize = 6;

const MACHINE_ATTRIBUTES: [&str; 16] = [
    "condorloadavg",
    "loadavg",
    "totalcondorloadavg",
    "totalloadavg",
    "keyboardidle",
    "consoleidle",
    "clockmin",
    "clockday",
    "totalvirtualmemory",
    "lastbenchmark",
    "timetolive",
    "monitorselfage",
    "monitorselftime",
    "monitorselfcpuusage",
    "monitorselfimagesize",
    "monitorselfresidentsetsize",
];

/// Attributes that change whenever other slots change or with every fetch. A slot that refers to one of them is evaluated in
/// every poll.
const ALWAYS_CHANGING_ATTRIBUTES: [&str; 12] = [
    "totalslots",
    "activationrequests",
    "claimrequests",
    "jobpreemptions",
    "jobrankpreemptions",
    "jobstarts",
    "jobuserpriopreemptions",
    "newdslotnotmatch",
    "lastfetchworkspawned",
    "lastfetchworkcompleted",
    "nextfetchworkdelay",
    "random",
];

/// True if the attribute with this lower-case name changes whenever other slots change or with every fetch.
fn is_always_changing(name: &[u8]) -> bool {
    let of_slot = name.strip_prefix(b"slot").unwrap_or_default();
    ALWAYS_CHANGING_ATTRIBUTES.iter().any(|known| known.as_bytes() == name)
        || name.starts_with(b"recent")
        || name.starts_with(b"expectedmachine")
        || (of_slot.first().is_some_and(u8::is_ascii_digit) && of_slot.contains(&b'_'))
}

/// Dependence of one slot's policy on other slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotDependence {
    /// True if the policy refers to other slots, or to their number.
    pub on_other_slots: bool,
    /// True if the policy refers to the slot's share of the machine's load, which depends on the states of all slots.
    pub on_machine_load: bool,
}

/// Returns how slots depend on one another if these attributes are referenced. `None` means that any attribute may be
/// referenced.
pub fn slot_dependence(referenced: Option<&AttrNames>) -> SlotDependence {
    let Some(names) = referenced else {
        return SlotDependence { on_other_slots: true, on_machine_load: true };
    };
    let is_restless = |name: &AttrName| is_always_changing(&name.as_bytes().to_ascii_lowercase());
    SlotDependence {
        on_other_slots: names.iter().any(is_restless),
        on_machine_load: names.contains(&AttrName::from("LoadAvg")),
    }
}

impl PublishSet {
    /// Set of all groups.
    pub(super) const ALL: PublishSet = PublishSet {
        ad_texts: true,
        machine: true,
        clock: true,
        time_dependent: true,
        state_only: false,
        constants_only: false,
        state: true,
        state_totals: true,
        claim: true,
        drain: true,
        amounts: true,
        children: true,
        fetch_times: true,
    };

    /// Returns the groups that contain these names, or `None` if one of the attributes changes constantly.
    pub(super) fn from_names(names: &AttrNames, job_attributes: &[AttrName]) -> Option<PublishSet> {
        let lower: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_ascii_lowercase()).collect();
        if lower.iter().any(|name| is_always_changing(name)) {
            return None;
        }
        let any = |is: &dyn Fn(&[u8]) -> bool| lower.iter().any(|name| is(name));
        let one_of = |known: &[&str]| any(&|name| known.iter().any(|known| known.as_bytes() == name));
        let begins = |with: &[u8]| any(&|name| name.starts_with(with));
        let of_job = names.iter().any(|name| job_attributes.contains(name));
        let wants = PublishSet {
            ad_texts: false,
            machine: one_of(&MACHINE_ATTRIBUTES),
            clock: one_of(&MACHINE_ATTRIBUTES[IDLE_AND_LOAD_COUNT..]),
            time_dependent: any(&super::change_prediction::is_time_dependent),
            state_only: false,
            constants_only: false,
            state: one_of(&["state", "activity", "enteredcurrentstate", "enteredcurrentactivity"]),
            state_totals: begins(b"totaltime"),
            claim: of_job || one_of(&CLAIM_ATTRIBUTES),
            drain: begins(b"drain") || begins(b"lastdrain") || begins(b"totalmachinedraining"),
            // Requirements refer to resource amounts.
            amounts: true,
            children: begins(b"child"),
            fetch_times: one_of(&["retirementtimeremaining"]),
        };
        let more = [
            wants.machine,
            wants.time_dependent,
            wants.state_totals,
            wants.claim,
            wants.drain,
            wants.children,
            wants.fetch_times,
        ];
        let plain = !more.contains(&true) && !one_of(&["acceptedwhiledraining"]);
        let still = plain && !wants.state && !one_of(&["clusterid", "procid", "qdate"]);
        Some(PublishSet { state_only: plain, constants_only: still, ..wants })
    }
}
