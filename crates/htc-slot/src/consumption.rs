//! Consumption policies: what a job takes from a partitionable slot is what `CONSUMPTION_<Resource>` says, whatever it asks for
//! (`consumption_policy.cpp`).

use super::resources::{Amounts, Custom};
use super::single::Slot;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};

/// Least part of a processor that a dynamic slot gets.
const LEAST_CPUS: f64 = 1.0 / 128.0;

impl Slot {
    /// The job as a dynamic slot with this ad looks at it: its requests are what it takes; what it asked for stands in `_cp_orig_`
    /// (`cp_override_requested`).
    pub(super) fn with_consumption(
        &self,
        live: &ClassAd,
        job: &ClassAd,
        world: &dyn World,
    ) -> Option<ClassAd> {
        if !self.plan.consumption {
            return None;
        }
        let mut job = job.clone();
        for asset in self.assets() {
            let request = format!("Request{asset}");
            let Some(asked) = job.get(request.as_str()) else { continue };
            let taken = consumed(live, &job, &asset, world).unwrap_or(-1.0);
            job.insert(format!("_cp_orig_{request}").as_str(), asked);
            let value = if taken.fract() == 0.0 { Value::Int(taken as i64) } else { Value::Real(taken) };
            job.set(request.as_str(), value);
        }
        Some(job)
    }

    fn assets(&self) -> Vec<String> {
        let tags = self.amounts.custom.iter().map(|custom| custom.tag.clone());
        ["Cpus", "Memory", "Disk"].map(str::to_owned).into_iter().chain(tags).collect()
    }

    /// What a dynamic slot for the job gets.
    pub(super) fn consumption(&self, job: &ClassAd, world: &dyn World) -> Result<Amounts, String> {
        let of = |asset: &str| {
            consumed(&self.live, job, asset, world)
                .filter(|taken| *taken >= 0.0)
                .ok_or_else(|| format!("CONSUMPTION_{asset} gives no number of 0 or more for the job"))
        };
        let custom = self.amounts.custom.iter().map(|custom| {
            Ok(Custom {
                tag: custom.tag.clone(),
                quantity: of(&custom.tag)?,
                devices: custom.devices.clone(),
                bound: Vec::new(),
            })
        });
        let custom = custom.collect::<Result<Vec<_>, String>>()?;
        let (cpus, memory) = (of("Cpus")?.max(LEAST_CPUS), of("Memory")? as i64);
        let whole = !self.amounts.fractional_cpus;
        Ok(Amounts {
            cpus: if whole { cpus.max(1.0) } else { cpus },
            fractional_cpus: self.amounts.fractional_cpus,
            memory: if whole { memory.max(1) } else { memory },
            swap: 0,
            disk: of("Disk")?.ceil() as i64,
            custom,
            backfill: self.amounts.backfill,
        })
    }
}

/// Consumption<Asset> of the slot for a job; a request that is missing counts as 0 (`cp_compute_consumption`).
fn consumed(live: &ClassAd, job: &ClassAd, asset: &str, world: &dyn World) -> Option<f64> {
    let request = format!("Request{asset}");
    let mut job = job.clone();
    // What a schedd put in comes before what the job says.
    if let Some(edited) = job.get(format!("_condor_{request}").as_str()) {
        job.insert(request.as_str(), edited);
    }
    if !job.contains(request.as_str()) {
        job.set(request.as_str(), 0i64);
    }
    Context::new(world).my(live).target(&job).real(format!("Consumption{asset}"))
}
