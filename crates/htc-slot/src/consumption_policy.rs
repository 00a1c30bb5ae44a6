//! Consumption policies: `CONSUMPTION_<Resource>`, instead of the requests of a job, determines what the job gets from a
//! partitionable slot (`consumption_policy.cpp`).

use super::resources::{CustomResource, ResourceAmounts};
use super::slot::Slot;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};

/// Minimum number of processors of a dynamic slot.
const MIN_DYNAMIC_SLOT_CPUS: f64 = 1.0 / 128.0;

impl Slot {
    /// Returns the job as a dynamic slot with the ad `live` sees it, or `None` if the slot has no consumption policy. Requests
    /// are replaced by what the job consumes, and their original values are kept in `_cp_orig_` attributes
    /// (`cp_override_requested`).
    pub(super) fn job_with_consumption(
        &self,
        live: &ClassAd,
        job: &ClassAd,
        world: &dyn World,
    ) -> Option<ClassAd> {
        if !self.plan.has_consumption_policy {
            return None;
        }
        let mut job = job.clone();
        for asset in self.asset_names() {
            let request = format!("Request{asset}");
            let Some(requested) = job.get(request.as_str()) else { continue };
            let taken = evaluate_consumption(live, &job, &asset, world).unwrap_or(-1.0);
            job.insert(format!("_cp_orig_{request}").as_str(), requested);
            let value = if taken.fract() == 0.0 { Value::Int(taken as i64) } else { Value::Real(taken) };
            job.set(request.as_str(), value);
        }
        Some(job)
    }

    fn asset_names(&self) -> Vec<String> {
        let tags = self.amounts.custom.iter().map(|custom| custom.tag.clone());
        ["Cpus", "Memory", "Disk"].map(str::to_owned).into_iter().chain(tags).collect()
    }

    /// Returns the resources of a dynamic slot for the job according to the consumption policy.
    pub(super) fn consumption_amounts(
        &self,
        job: &ClassAd,
        world: &dyn World,
    ) -> Result<ResourceAmounts, String> {
        let amount_of = |asset: &str| {
            evaluate_consumption(&self.ads.live, job, asset, world).filter(|taken| *taken >= 0.0).ok_or_else(
                || format!("CONSUMPTION_{asset} does not evaluate to a number of 0 or more for the job"),
            )
        };
        let custom = self.amounts.custom.iter().map(|custom| {
            Ok(CustomResource {
                tag: custom.tag.clone(),
                quantity: amount_of(&custom.tag)?,
                machine_devices: custom.machine_devices.clone(),
                assigned: Vec::new(),
            })
        });
        let custom = custom.collect::<Result<Vec<_>, String>>()?;
        let (cpus, memory) = (amount_of("Cpus")?.max(MIN_DYNAMIC_SLOT_CPUS), amount_of("Memory")? as i64);
        let whole_cpus = !self.amounts.fractional_cpus;
        Ok(ResourceAmounts {
            cpus: if whole_cpus { cpus.max(1.0) } else { cpus },
            fractional_cpus: self.amounts.fractional_cpus,
            memory: if whole_cpus { memory.max(1) } else { memory },
            swap: 0,
            disk: amount_of("Disk")?.ceil() as i64,
            custom,
            is_backfill: self.amounts.is_backfill,
        })
    }
}

/// Evaluates Consumption<Asset> of the slot for a job. A missing request is treated as 0 (`cp_compute_consumption`).
fn evaluate_consumption(live: &ClassAd, job: &ClassAd, asset: &str, world: &dyn World) -> Option<f64> {
    let request = format!("Request{asset}");
    let mut job = job.clone();
    // A request edited by the schedd takes precedence.
    if let Some(edited) = job.get(format!("_condor_{request}").as_str()) {
        job.insert(request.as_str(), edited);
    }
    if !job.contains(request.as_str()) {
        job.set(request.as_str(), 0i64);
    }
    Context::new(world).my(live).target(&job).real(format!("Consumption{asset}"))
}
