//! Transforms that are applied to a job instead of holding it: they may raise a resource request, so that the job runs
//! again (`TransformOnEvict`, schedd.cpp). condor_submit makes these transforms from retry_request_memory and
//! retry_request_disk.

use bstr::{BString, ByteSlice};

use super::event::HoldOrVacateReason;
use super::state_machine::{RunRecordKind, Shadow, ShadowAction};
use htc_base::text::list;
use htc_base::time::ClockReading;
use htc_classad::{ClassAd, Dialect, Value};
use htc_transform::{SilentObserver, Transform, TransformSession};

/// Separator between the lines of a transform in the queue.
const LINE_SEPARATOR: &[u8] = b"\x1e";
/// Beginning of the names of attributes that request a resource.
const REQUEST_PREFIX: &[u8] = b"request";

impl Shadow<'_> {
    /// Holds the job, unless one of its transforms changes a resource request. Then requeues the job.
    pub(super) fn hold_or_retry(
        &mut self,
        now: ClockReading,
        why: HoldOrVacateReason,
        out: &mut Vec<ShadowAction>,
    ) {
        match self.apply_eviction_transforms(now, out) {
            true => self.requeue(now, true, out),
            false => self.hold_job(now, why, out),
        }
    }

    /// Sets the hold reason in the job ad, then holds the job as [`Shadow::hold_or_retry`] does. Used for policies of
    /// the job: the reference's shadow writes the reason before it holds the job (`BaseShadow::holdJob`).
    pub(super) fn hold_or_retry_by_policy(
        &mut self,
        now: ClockReading,
        why: HoldOrVacateReason,
        out: &mut Vec<ShadowAction>,
    ) {
        self.ad.set("HoldReason", why.reason.clone());
        self.ad.set("HoldReasonCode", why.code);
        self.ad.set("HoldReasonSubCode", why.subcode);
        self.record_run(RunRecordKind::End, out);
        self.hold_or_retry(now, why, out);
    }

    /// Applies the transforms of TransformOnEvict until one of them changes a resource request. Returns true if a
    /// request changed.
    fn apply_eviction_transforms(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) -> bool {
        let names = self.job_string("TransformOnEvict").unwrap_or_default();
        list::split(&names).any(|name| self.apply_eviction_transform(now, name, out))
    }

    fn apply_eviction_transform(
        &mut self,
        now: ClockReading,
        name: &[u8],
        out: &mut Vec<ShadowAction>,
    ) -> bool {
        let name = name.as_bstr();
        let Some(body) = self.job_string(&format!("TransformBody_{name}")) else { return false };
        let text = body.replace(LINE_SEPARATOR, b"\n");
        let world = self.world_at(now);
        let dialect = Dialect::of_world(self.setup.world);
        let transform = match Transform::from_parameter(&name.to_string(), &text, dialect) {
            Ok(transform) => transform,
            Err(error) => {
                out.push(ShadowAction::Report(format!("TransformOnEvict: {name} is not applied: {error}")));
                return false;
            }
        };
        let mut session = TransformSession::new(&world, None);
        session.quirks = self.setup.quirks;
        if !session.meets_requirements(&transform, &self.ad) {
            return false;
        }
        let mut ad = self.ad.clone();
        if let Err(failure) = session.apply(&transform, &mut ad, &mut SilentObserver) {
            let reason = &failure.reason;
            out.push(ShadowAction::Report(format!("TransformOnEvict: {name} is not applied: {reason}")));
            return false;
        }
        let changed = changed_names(&self.ad, &ad);
        // In the queue, an attribute that a transform deletes gets the value undefined.
        for name in &changed {
            match ad.get(name.as_bytes()) {
                Some(expr) => self.ad.insert(name.as_bytes(), expr),
                None => self.ad.set(name.as_bytes(), Value::Undefined),
            }
        }
        let is_request = |name: &&BString| name.to_ascii_lowercase().starts_with(REQUEST_PREFIX);
        let Some(request) = changed.iter().find(is_request) else { return false };
        let value = self.ad.get(request.as_bytes()).map(|expr| expr.unparse_old()).unwrap_or_default();
        out.push(ShadowAction::Report(format!(
            "the job is not held; its transform {name} (TransformOnEvict) runs it again with {request} = {value}"
        )));
        true
    }
}

/// Returns the names of the attributes that differ between two ads.
fn changed_names(before: &ClassAd, after: &ClassAd) -> Vec<BString> {
    let print = |ad: &ClassAd, name: &[u8]| ad.get(name).map(|expr| expr.unparse_old());
    let own = after.names().map(|name| BString::from(name.to_string()));
    let removed = before
        .names()
        .map(|name| BString::from(name.to_string()))
        .filter(|name| !after.contains(name.as_bytes()));
    own.chain(removed).filter(|name| print(before, name) != print(after, name)).collect()
}
