//! Input of hooks, byte for byte as HTCondor writes it.
//!
//! HTCondor prints ads sorted, unevaluated, without private attributes, and with one attribute per line (`sPrintAd`).

use bstr::BString;

use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::ClassAd;
use htc_classad::format::long;

/// Separator between job and slot in the input of REPLY_FETCH and EVICT_CLAIM.
const SLOT_AD_SEPARATOR: &[u8] = b"-----\n";
/// Separator between the two parts of a router hook's input. A printed ad ends with a newline, so an empty line follows
/// the ad; the line of a route has no newline (`JobRouterHookMgr.cpp`).
const ROUTER_SEPARATOR: &[u8] = b"\n------\n";

/// Returns the input of FETCH_WORK: the slot ad as it would be sent to the collector.
pub fn fetch_work_input(slot: &ClassAd) -> Vec<u8> {
    truncate_at_nul(long::print(slot))
}

/// Returns the input of REPLY_FETCH: job, slot and, for an accepted job, the claim id.
pub fn reply_fetch_input(
    job: &ClassAd,
    slot: &ClassAd,
    claim_id: Option<&[u8]>,
    quirks: QuirkMode,
) -> Vec<u8> {
    let mut text = format_job_and_slot(job, slot);
    if let Some(id) = claim_id {
        push_claim_line(&mut text, id, quirks);
    }
    truncate_at_nul(text)
}

/// Returns the input of EVICT_CLAIM: job, slot and the id of the evicted claim.
pub fn evict_claim_input(job: &ClassAd, slot: &ClassAd, claim_id: &[u8], quirks: QuirkMode) -> Vec<u8> {
    reply_fetch_input(job, slot, Some(claim_id), quirks)
}

/// Returns the input of all hooks of starter and shadow, and of the router's UPDATE_JOB_INFO and JOB_CLEANUP:
/// one ad.
pub fn job_ad_input(job: &ClassAd) -> Vec<u8> {
    truncate_at_nul(long::print(job))
}

/// Returns the input of PREPARE_JOB as the manual of 7.1 describes it: the job, five dashes, the slot.
pub fn prepare_job_7_1_input(job: &ClassAd, slot: &ClassAd) -> Vec<u8> {
    truncate_at_nul(format_job_and_slot(job, slot))
}

/// Returns the input of TRANSLATE_JOB: the route's line ([`format_route`]), six dashes, the source job.
pub fn translate_job_input(route_line: &[u8], source: &ClassAd) -> Vec<u8> {
    let mut text = route_line.to_vec();
    text.extend_from_slice(ROUTER_SEPARATOR);
    text.extend_from_slice(&long::print(source));
    truncate_at_nul(text)
}

/// Returns the input of JOB_FINALIZE: the source job, an empty line, six dashes, the routed job.
pub fn job_finalize_input(source: &ClassAd, routed: &ClassAd) -> Vec<u8> {
    let mut text = long::print(source);
    text.extend_from_slice(ROUTER_SEPARATOR);
    text.extend_from_slice(&long::print(routed));
    truncate_at_nul(text)
}

/// Returns the description of a route in the new ClassAd syntax, as TRANSLATE_JOB gets it:
/// `[ Name = "Site1"; GridResource = "batch slurm"; TargetUniverse = 9 ]`. An empty grid resource is left
/// out.
pub fn format_route(name: &[u8], grid_resource: &[u8], target_universe: i64) -> BString {
    let mut route = ClassAd::new();
    route.set("Name", BString::from(name));
    route.set("TargetUniverse", target_universe);
    if !grid_resource.is_empty() {
        route.set("GridResource", BString::from(grid_resource));
    }
    route.unparse()
}

fn format_job_and_slot(job: &ClassAd, slot: &ClassAd) -> Vec<u8> {
    let mut text = long::print(job);
    text.extend_from_slice(SLOT_AD_SEPARATOR);
    text.extend_from_slice(&long::print(slot));
    text
}

fn push_claim_line(text: &mut Vec<u8>, id: &[u8], quirks: QuirkMode) {
    text.extend_from_slice(b"ClaimId = \"");
    let raw = quirks.reproduces(Quirk::ClaimIdLineUnescaped);
    for &byte in id {
        if !raw && byte == b'"' {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.extend_from_slice(b"\"\n");
}

/// Cuts the text at its first NUL byte, because the reference writes the text as a C string (`Write_Stdin_Pipe`).
fn truncate_at_nul(mut text: Vec<u8>) -> Vec<u8> {
    if let Some(end) = memchr::memchr(0, &text) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ad(lines: &[&str]) -> ClassAd {
        let mut ad = ClassAd::new();
        for line in lines {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    #[test]
    fn a_reply_ends_with_the_claim_only_when_accepted() {
        let (job, slot) = (ad(&["b = 1", "Cmd = \"x\""]), ad(&["Activity = \"Idle\""]));
        let rejected = reply_fetch_input(&job, &slot, None, QuirkMode::Manual);
        assert_eq!(rejected, b"Cmd = \"x\"\nb = 1\n-----\nActivity = \"Idle\"\n");
        let id = b"<1#2#[E=\"NO\";]0f".as_slice();
        let accepted = reply_fetch_input(&job, &slot, Some(id), QuirkMode::Manual);
        assert!(accepted.ends_with(b"\nClaimId = \"<1#2#[E=\\\"NO\\\";]0f\"\n"));
        let accepted = reply_fetch_input(&job, &slot, Some(id), QuirkMode::Reference);
        assert!(accepted.ends_with(b"\nClaimId = \"<1#2#[E=\"NO\";]0f\"\n"));
    }

    #[test]
    fn only_finalize_has_an_empty_line_before_the_dashes() {
        let job = ad(&["A = 1"]);
        let route = format_route(b"Site1", b"batch slurm", 9);
        assert_eq!(
            translate_job_input(&route, &job),
            b"[ Name = \"Site1\"; GridResource = \"batch slurm\"; TargetUniverse = 9 ]\n------\nA = 1\n"
        );
        assert_eq!(format_route(b"R1", b"", 7), "[ Name = \"R1\"; TargetUniverse = 7 ]");
        assert_eq!(job_finalize_input(&job, &job), b"A = 1\n\n------\nA = 1\n");
    }
}
