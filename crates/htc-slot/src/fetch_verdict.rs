//! Evaluation of FETCH_WORK's output for a slot, given its ad. The state machine uses it to parse output and to find reasons,
//! `htc-hook-test` for the whole verdict.
//!
//! Reference: `StartdHookMgr.cpp` (handleHookFetchWork), `Resource.cpp` (willingToRun).

use bstr::{BStr, BString, ByteSlice};

use super::evaluated_condition::{attribute_values, format_value};
use super::hook_quirks::outranking_job_decision;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::text::{caseless, words};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_hook::hook_output::{self, BadOutputLine};

/// Result of a fetch.
#[derive(Clone, Debug)]
pub enum FetchOutcome {
    /// There is no work; contains the reason, or an empty string in the normal case.
    NoWork(&'static str),
    /// The output is not a valid job.
    BadOutput {
        /// Error, in the reference's words if it has any.
        reason: String,
        /// The invalid line, or `None` if the output as a whole is rejected.
        line: Option<BadOutputLine>,
        /// Decision whether an idle claim is kept.
        keeps_claim: QuirkDecision,
    },
    /// The job as printed.
    Job(Box<ClassAd>),
}

/// Output of FETCH_WORK.
#[derive(Clone, Copy, Debug)]
pub struct FetchOutput<'a> {
    /// Output up to the limit.
    pub stdout: &'a [u8],
    /// True if the output was longer.
    pub is_truncated: bool,
    /// PIPE_BUFFER_MAX, the limit in bytes.
    pub limit: usize,
}

/// Parses a hook's output; its exit status is ignored. Quirks that affect the result are added to `involved`.
pub fn parse_fetch_output(
    answer: FetchOutput<'_>,
    dialect: Dialect,
    quirks: QuirkMode,
    involved: &mut Vec<Quirk>,
) -> FetchOutcome {
    let FetchOutput { stdout, is_truncated: cut, limit } = answer;
    let bad = |reason, line| {
        let keeps_claim = quirks.decide(Quirk::BadAnswerKeepsClaim);
        FetchOutcome::BadOutput { reason, line, keeps_claim }
    };
    let text = hook_output::visible_output(stdout);
    if text.is_empty() {
        return FetchOutcome::NoWork("");
    }
    if let Some(counts) = hook_output::decide_cut_output(cut, quirks) {
        involved.push(counts.quirk);
        if !counts.as_reference {
            return bad(format!("it is longer than PIPE_BUFFER_MAX, {limit} bytes"), None);
        }
    }
    if hook_output::output_lines(text).next().is_none() {
        let is_job = quirks.decide(Quirk::BlankAnswerIsJob);
        involved.push(is_job.quirk);
        if !is_job.as_reference {
            return FetchOutcome::NoWork("only white space");
        }
    }
    match hook_output::parse_token_lines(text, dialect) {
        Ok(job) => FetchOutcome::Job(Box::new(job)),
        Err(line) => bad(line.reference_message(), Some(line)),
    }
}

/// Sets missing requests of a job for a static slot to 1 (`StartdHookMgr::handleHookFetchWork`). Returns the names of the added
/// attributes.
pub fn add_default_requests(job: &mut ClassAd) -> Vec<&'static str> {
    let missing: Vec<_> = ["RequestCpus", "RequestMemory", "RequestDisk"]
        .into_iter()
        .filter(|name| !job.contains(name))
        .collect();
    for name in &missing {
        job.set(name, 1i64);
    }
    missing
}

/// Sets the slot's hook keyword in a job that has none (`StartdHookMgr::handleHookFetchWork`). Returns the name of the added
/// attribute.
pub fn add_hook_keyword(job: &mut ClassAd, keyword: &[u8], world: &dyn World) -> Option<&'static str> {
    let named = Context::new(world).my(job).string("HookKeyword").is_some();
    (!named && !keyword.is_empty()).then(|| {
        job.set("HookKeyword", BString::from(keyword));
        "HookKeyword"
    })
}

/// True if the ad is that of a static slot.
pub fn is_static_slot_ad(slot: &ClassAd, world: &dyn World) -> bool {
    let own = Context::new(world).my(slot);
    let kind = own.string("SlotType").unwrap_or_default();
    own.boolean("PartitionableSlot") != Some(true)
        && own.boolean("DynamicSlot") != Some(true)
        && !caseless::eq(&kind, b"Partitionable")
        && !caseless::eq(&kind, b"Dynamic")
}

words! {
    /// Decision of the slot about a hook's output.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum FetchDecision.word {
        /// There is no work.
        #[default]
        NoWork => "no-work",
        /// The output is not a valid job; no reply hook is called.
        BadOutput => "bad-output",
        /// The job is accepted.
        Accepted => "accepted",
        /// The reply is `accept`, but the job is never started.
        AcceptedLost => "accepted-lost",
        /// The job is rejected.
        Rejected => "rejected",
    }
}

/// Complete verdict on a hook's output.
#[derive(Clone, Debug, Default)]
pub struct FetchVerdict {
    /// Decision of the slot.
    pub decision: FetchDecision,
    /// Reason for the decision.
    pub reason: String,
    /// The job with the attributes added by the startd, or `None`.
    pub job: Option<ClassAd>,
    /// Names of the attributes added by the startd.
    pub added_attributes: Vec<&'static str>,
    /// The rank of the job.
    pub rank: f64,
    /// The invalid line, or `None`.
    pub bad_line: Option<BadOutputLine>,
    /// True if an idle claim ends.
    pub ends_idle_claim: bool,
    /// Quirks that affect the verdict, reproduced or not.
    pub quirks: Vec<Quirk>,
}

/// Evaluates a hook's output for a slot, given the slot ad that was FETCH_WORK's input, and its hook keyword.
pub fn judge_fetch_output(
    slot: &ClassAd,
    keyword: &[u8],
    answer: FetchOutput<'_>,
    world: &dyn World,
    quirks: QuirkMode,
) -> FetchVerdict {
    let mut involved = Vec::new();
    let fetched = parse_fetch_output(answer, Dialect::of_world(world), quirks, &mut involved);
    let own = Context::new(world).my(slot);
    let is = |name: &str, wanted: &str| {
        own.string(name).is_some_and(|value| caseless::eq(&value, wanted.as_bytes()))
    };
    let idle_claim = is("State", "Claimed") && is("Activity", "Idle");
    let mut verdict = FetchVerdict { ends_idle_claim: idle_claim, ..FetchVerdict::default() };
    match fetched {
        FetchOutcome::NoWork(reason) => verdict.reason = reason.to_owned(),
        FetchOutcome::BadOutput { reason, line, keeps_claim } => {
            verdict.decision = FetchDecision::BadOutput;
            verdict.reason = reason;
            verdict.bad_line = line;
            involved.push(keeps_claim.quirk);
            verdict.ends_idle_claim = idle_claim && !keeps_claim.as_reference;
        }
        FetchOutcome::Job(mut job) => {
            if is_static_slot_ad(slot, world) {
                verdict.added_attributes = add_default_requests(&mut job);
            }
            let context = Context::new(world).my(slot).target(&job);
            verdict.rank = context.real("Rank").unwrap_or(0.0);
            let busy = is("State", "Claimed") && !idle_claim;
            let outranking = outranking_job_decision(quirks);
            let (rank, current) = (verdict.rank, own.real("CurrentRank").unwrap_or(0.0));
            let wanted = context.boolean("Requirements") == Some(true);
            let refused = match is("State", "Preempting") {
                true => Some("the slot is still preempting its last job".to_owned()),
                false if !wanted => Some(refusal_reason(slot, &job, world)),
                false => {
                    involved.extend(busy.then_some(outranking.quirk));
                    (busy && rank <= current).then(|| {
                        format!("the job's rank {rank} is not higher than the running job's, {current}")
                    })
                }
            };
            verdict.decision = match &refused {
                Some(_) => FetchDecision::Rejected,
                None if busy && outranking.as_reference => FetchDecision::AcceptedLost,
                None => FetchDecision::Accepted,
            };
            verdict.ends_idle_claim = idle_claim && refused.is_some();
            verdict.reason = refused.unwrap_or_default();
            verdict.added_attributes.extend(add_hook_keyword(&mut job, keyword, world));
            verdict.job = Some(*job);
        }
    }
    verdict.quirks = involved;
    verdict
}

/// Explains which part of the slot's Requirements is not true for a job: the conjunct with its value, found by following the
/// slot's own attributes.
pub fn refusal_reason(slot: &ClassAd, job: &ClassAd, world: &dyn World) -> String {
    for name in ["Cpus", "Memory", "Disk"] {
        let request = format!("Request{name}");
        let partitionable = slot.string("SlotType").is_some_and(|kind| kind == "Partitionable");
        if partitionable && job.get(&request).is_none() {
            return format!("the job has no {request}, which a partitionable slot needs");
        }
    }
    let context = Context::new(world).my(slot).target(job);
    let Some(requirements) = slot.get("Requirements") else {
        return "the slot has no Requirements".to_owned();
    };
    let mut path = vec![BString::from("Requirements")];
    let (expr, value) = find_false_part(&context, slot, requirements, &mut path);
    let value = match value {
        Value::Bool(false) => "false".to_owned(),
        other => format_value(&other),
    };
    // The name below Requirements is more specific.
    let name = if path.len() > 1 { &path[1] } else { &path[0] };
    let text = expr.unparse_old();
    let own = expr.without_parentheses().as_attribute().filter(|name| slot.contains(name.as_bytes()));
    if own.is_some() || expr.as_literal().is_some() {
        let name = own.map_or_else(|| name.to_string(), |own| own.to_string());
        let is_draining = context.boolean("Draining") == Some(true);
        format!("{name} is {value}{}", if is_draining { ": the slot is draining" } else { "" })
    } else if expr.as_attribute().is_some() {
        format!("{text} is {value}")
    } else {
        let values = attribute_values(&context, &expr);
        let values = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        format!("{name} is not true for this job: {} is {value}{values}", shorten(text.as_bstr()))
    }
}

fn shorten(text: &BStr) -> String {
    const MAX_TEXT_LENGTH: usize = 300;
    if text.len() <= MAX_TEXT_LENGTH {
        return text.to_string();
    }
    format!("{}...", text[..MAX_TEXT_LENGTH].as_bstr())
}

/// Descends into conjunctions and attributes of the slot to the first part that is not true.
fn find_false_part(
    context: &Context<'_>,
    slot: &ClassAd,
    expr: Expr,
    path: &mut Vec<BString>,
) -> (Expr, Value) {
    // Attributes may refer to each other in a cycle.
    const MAX_DEPTH: usize = 40;
    let mut expr = expr;
    for _ in 0..MAX_DEPTH {
        if let Some((left, right)) = expr.as_conjunction() {
            let holds = context.eval(&left).truth() == Some(true);
            expr = if holds { right } else { left };
            continue;
        }
        let Some(name) = expr.without_parentheses().as_attribute() else { break };
        let Some(inner) = slot.get(name.as_bytes()).filter(|inner| inner.as_literal().is_none()) else {
            break;
        };
        path.push(name.as_bytes().into());
        expr = inner;
    }
    let value = context.eval(&expr);
    (expr, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn ad(text: &str) -> ClassAd {
        let mut ad = ClassAd::new();
        for line in text.lines() {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    const SLOT: &str = "State = \"Unclaimed\"\nActivity = \"Idle\"\nMemory = 1024\nSlotType = \"Static\"\n\
        Requirements = Start && WithinResourceLimits\nStart = Owner != \"eve\" && RequestMemory < 1000\n\
        WithinResourceLimits = TARGET.RequestMemory <= Memory\nRank = TARGET.Prio\nCurrentRank = 1.0";

    fn judge(slot: &str, stdout: &str, quirks: QuirkMode) -> FetchVerdict {
        let (slot, world) = (ad(slot), RealWorld::new());
        let answer = FetchOutput { stdout: stdout.as_bytes(), is_truncated: false, limit: 10_240 };
        judge_fetch_output(&slot, b"FARM", answer, &world, quirks)
    }

    #[test]
    fn a_fetched_job_is_completed_and_accepted() {
        let verdict = judge(SLOT, "Owner = \"ana\"\n", QuirkMode::Manual);
        assert_eq!(verdict.decision, FetchDecision::Accepted);
        assert_eq!(verdict.added_attributes, ["RequestCpus", "RequestMemory", "RequestDisk", "HookKeyword"]);
    }

    #[test]
    fn a_refusal_names_the_conjunct() {
        let verdict = judge(SLOT, "Owner = \"ana\"\nRequestMemory = 2000\n", QuirkMode::Manual);
        assert_eq!(verdict.decision, FetchDecision::Rejected);
        assert_eq!(
            verdict.reason,
            "Start is not true for this job: RequestMemory < 1000 is false (RequestMemory = 2000)"
        );
        let verdict = judge(SLOT, "A = 1\n", QuirkMode::Manual);
        assert_eq!(
            verdict.reason,
            "Start is not true for this job: Owner != \"eve\" is undefined (Owner = undefined)"
        );
    }

    #[test]
    fn a_refusal_follows_names_within_parentheses() {
        let slot = SLOT.replace("Start && WithinResourceLimits", "( Start ) && ( WithinResourceLimits )");
        let refused =
            |slot: &str| judge(slot, "Owner = \"ana\"\nRequestMemory = 2000\n", QuirkMode::Manual).reason;
        let reason = "Start is not true for this job: RequestMemory < 1000 is false (RequestMemory = 2000)";
        assert_eq!(refused(&slot), reason);
        let draining = slot.replace("Requirements = ( Start )", "Draining = true\nRequirements = ( Closed )");
        assert_eq!(refused(&format!("{draining}\nClosed = false")), "Closed is false: the slot is draining");
        let draining = draining.replace("( Closed ) && ( WithinResourceLimits )", "false");
        assert_eq!(refused(&draining), "Requirements is false: the slot is draining");
    }

    #[test]
    fn a_busy_slot_requires_a_higher_rank() {
        let busy = SLOT.replace("Unclaimed", "Claimed").replace("Idle", "Busy");
        let ask =
            |rank: &str, quirks| judge(&busy, &format!("Owner = \"ana\"\nPrio = {rank}\n"), quirks).decision;
        assert_eq!(ask("1", QuirkMode::Manual), FetchDecision::Rejected);
        assert_eq!(ask("2", QuirkMode::Manual), FetchDecision::Accepted);
        assert_eq!(ask("2", QuirkMode::Reference), FetchDecision::AcceptedLost);
    }

    #[test]
    fn blank_and_bad_answers_differ_by_quirk() {
        let idle = SLOT.replace("Unclaimed", "Claimed");
        assert_eq!(judge(&idle, "\n", QuirkMode::Manual).decision, FetchDecision::NoWork);
        assert_eq!(judge(&idle, "\n", QuirkMode::Reference).decision, FetchDecision::Rejected);
        assert!(judge(&idle, "text\n", QuirkMode::Manual).ends_idle_claim);
        assert!(!judge(&idle, "text\n", QuirkMode::Reference).ends_idle_claim);
        assert!(judge(&idle, "", QuirkMode::Reference).ends_idle_claim);
    }
}
