//! Slots of a configuration without any process: their ads in the form that FETCH_WORK would receive, and their
//! decisions on jobs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, ByteSlice};

use super::idle::InputDevices;
use super::machine_sampler::{MachineSampler, measure_slot_volume, measure_surroundings};
use htc_base::world::World;
use htc_config::Config;
use htc_slot::{
    ExecutionPoint, ExitLimits, HostMeasurements, Measurements, StartdEvent, StartdSettings, Volume,
};

/// Returns the measurements of this machine for the slots of a configuration.
pub fn configured_surroundings(config: &Config, world: &dyn World) -> HostMeasurements {
    let text = |name: &str| config.view(world).text(name);
    // NETWORK_INTERFACE may be a pattern or the name of an interface. No process listens here, so only an address is
    // used.
    let is_address = |text: &String| text.parse::<IpAddr>().is_ok();
    let address = text("NETWORK_INTERFACE").map(|text| text.to_string()).filter(is_address);
    let address = address.or_else(|| text("IP_ADDRESS").map(|text| text.to_string()));
    let own_volumes = slot_volumes(config, world);
    let execute: Option<PathBuf> = text("EXECUTE").map(|path| Path::new(&*path.to_os_str_lossy()).to_owned());
    let address = address.unwrap_or_else(|| world.ip_address());
    HostMeasurements { slot_volumes: own_volumes, ..measure_surroundings(&address, execute.as_deref()) }
}

/// Returns the volumes of `SLOT<N>_EXECUTE`, by slot number.
fn slot_volumes(config: &Config, world: &dyn World) -> BTreeMap<u32, Volume> {
    let view = config.view(world);
    let volume = |name: &BStr| {
        let upper = name.to_str().ok()?.to_ascii_uppercase();
        let digits = upper.strip_prefix("SLOT")?.strip_suffix("_EXECUTE")?;
        let number: u32 = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
        let path = view.text(&upper).filter(|path| !path.is_empty())?;
        Some((number, measure_slot_volume(Path::new(&*path.to_os_str_lossy()), &upper)))
    };
    view.names().filter_map(volume).collect()
}

/// Creates a started execution point without hooks, so that it never starts a process.
pub fn passive_execution_point(mut settings: StartdSettings, world: Rc<dyn World>) -> ExecutionPoint {
    for slot in &mut settings.slots {
        slot.hooks = None;
    }
    // A passive execution point fetches no jobs, so it must not exit because it has none.
    settings.limits = ExitLimits::default();
    let now = world.now();
    let mut machine = ExecutionPoint::new(settings, world, now);
    if let Some(measured) = MachineSampler::new(InputDevices::new(Vec::new(), false)).take_sample() {
        // The current keyboard activity has nothing to do with the configuration, so it is ignored.
        let measured = Measurements { keyboard_idle: None, ..measured };
        machine.step(now, StartdEvent::MeasurementsTaken(Box::new(measured)));
    }
    machine.step(now, StartdEvent::Start);
    machine.step(now, StartdEvent::Refresh);
    machine
}
