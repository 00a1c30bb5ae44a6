//! Which parts of slots' ads anybody may ask for. A simulation leaves the others out; live all are there, for hooks.

use htc_classad::AttrName;
use htc_classad::references::Names;

/// Groups of attributes that are published together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wants {
    /// Ads as texts: for hooks and starters.
    pub texts: bool,
    /// Loads, idle times, the clock and what else is measured.
    pub machine: bool,
    /// Of these the clock, and what else is seldom asked for.
    pub clock: bool,
    /// What moves by itself, such as MyCurrentTime or KeyboardIdle.
    pub moving: bool,
    /// Nothing but what the slot was made with, and its state.
    pub plain: bool,
    /// The same, and not even its state or a job's own numbers.
    pub still: bool,
    /// State, activity, and since when.
    pub state: bool,
    /// TotalTime...
    pub totals: bool,
    /// What a claim and its job say.
    pub claim: bool,
    /// What is said of drains.
    pub drain: bool,
    /// Cpus, Memory, Disk and custom resources.
    pub amounts: bool,
    /// Lists of dynamic slots.
    pub children: bool,
    /// RetirementTimeRemaining and what fetches leave in the ad.
    pub times: bool,
}

const CLAIM: [&str; 24] = [
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

/// So many of the following are idle times and loads.
const IDLE_AND_LOADS: usize = 6;

const MACHINE: [&str; 16] = [
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

/// What moves with other slots or with every fetch: who asks for it has to be looked at in every poll.
const RESTLESS: [&str; 12] = [
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

/// Whether an attribute of this name, in small letters, moves with other slots or with every fetch.
fn is_restless(name: &[u8]) -> bool {
    let of_slot = name.strip_prefix(b"slot").unwrap_or_default();
    RESTLESS.iter().any(|known| known.as_bytes() == name)
        || name.starts_with(b"recent")
        || name.starts_with(b"expectedmachine")
        || (of_slot.first().is_some_and(u8::is_ascii_digit) && of_slot.contains(&b'_'))
}

/// What of a slot's policy may turn out differently when another slot changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependence {
    /// It looks at other slots, or counts them.
    pub slots: bool,
    /// It looks at its share of the machine's load, which moves with the slots' states.
    pub load: bool,
}

/// How slots depend on one another where these attributes may be asked for; `None` where that cannot be told.
pub fn dependence(asked: Option<&Names>) -> Dependence {
    let Some(names) = asked else { return Dependence { slots: true, load: true } };
    let is_restless = |name: &AttrName| is_restless(&name.as_bytes().to_ascii_lowercase());
    Dependence { slots: names.iter().any(is_restless), load: names.contains(&AttrName::from("LoadAvg")) }
}

impl Wants {
    /// All of them.
    pub(super) const ALL: Wants = Wants {
        texts: true,
        machine: true,
        clock: true,
        moving: true,
        plain: false,
        still: false,
        state: true,
        totals: true,
        claim: true,
        drain: true,
        amounts: true,
        children: true,
        times: true,
    };

    /// Those that the names lead to; `None` where one of them never rests.
    pub(super) fn of(names: &Names, job_attributes: &[AttrName]) -> Option<Wants> {
        let lower: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_ascii_lowercase()).collect();
        if lower.iter().any(|name| is_restless(name)) {
            return None;
        }
        let any = |is: &dyn Fn(&[u8]) -> bool| lower.iter().any(|name| is(name));
        let one_of = |known: &[&str]| any(&|name| known.iter().any(|known| known.as_bytes() == name));
        let begins = |with: &[u8]| any(&|name| name.starts_with(with));
        let of_job = names.iter().any(|name| job_attributes.contains(name));
        let wants = Wants {
            texts: false,
            machine: one_of(&MACHINE),
            clock: one_of(&MACHINE[IDLE_AND_LOADS..]),
            moving: any(&super::watch::moves),
            plain: false,
            still: false,
            state: one_of(&["state", "activity", "enteredcurrentstate", "enteredcurrentactivity"]),
            totals: begins(b"totaltime"),
            claim: of_job || one_of(&CLAIM),
            drain: begins(b"drain") || begins(b"lastdrain") || begins(b"totalmachinedraining"),
            // Requirements ask for them.
            amounts: true,
            children: begins(b"child"),
            times: one_of(&["retirementtimeremaining"]),
        };
        let more = [
            wants.machine,
            wants.moving,
            wants.totals,
            wants.claim,
            wants.drain,
            wants.children,
            wants.times,
        ];
        let plain = !more.contains(&true) && !one_of(&["acceptedwhiledraining"]);
        let still = plain && !wants.state && !one_of(&["clusterid", "procid", "qdate"]);
        Some(Wants { plain, still, ..wants })
    }
}
