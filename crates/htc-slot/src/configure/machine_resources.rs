//! Total resources of the machine: processors, memory, swap, disk, custom resources (`ResAttributes.cpp`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bstr::BString;

use super::machine_attributes::HostMeasurements;
use super::parameters::{ConfigureError, SlotParameters};
use crate::devices::{Devices, PropertyNesting, extract_properties};
use crate::resources::{CustomResource, ResourceAmounts};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::world::{ExternalCommand, World};
use htc_classad::{ClassAd, Context, Value};
use htc_config::evaluate::to_real;

/// Timeout of an inventory program.
const INVENTORY_TIMEOUT: Duration = Duration::from_secs(60);

/// Reserved names, which custom resources cannot have.
const RESERVED_TAGS: [&str; 7] = ["cpu", "cpus", "disk", "swap", "mem", "memory", "ram"];

/// Total resources of the machine, and the offline ones.
pub(super) struct MachineTotals {
    /// Resources to divide among the slots.
    pub amounts: ResourceAmounts,
    /// Attributes Detected<Tag>, Total<Tag> and Offline<Tag> of all resources.
    pub published: ClassAd,
}

/// Reads the total resources of the machine.
pub(super) fn read_totals(
    parameters: &SlotParameters<'_>,
    names: &[String],
    host_measurements: &HostMeasurements,
) -> Result<MachineTotals, ConfigureError> {
    let cpus = match parameters.int_if_set("NUM_CPUS")? {
        Some(cpus) => cpus,
        None => parameters.int("DETECTED_CPUS_LIMIT", parameters.int("DETECTED_CPUS", 1)),
    };
    if cpus <= 0 && !parameters.reproduces(Quirk::NumCpusZero) {
        return Err(parameters.parameter_error(
            "NUM_CPUS",
            format!("a machine cannot have {cpus} processors; set it to 1 or more"),
        ));
    }
    let memory = match parameters.int_if_set("MEMORY")? {
        Some(memory) if memory != 0 => memory,
        _ => parameters.int("DETECTED_MEMORY", 0),
    };
    let memory = memory - parameters.int("RESERVED_MEMORY", 0);
    if memory <= 0 {
        return Err(parameters.parameter_error(
            "MEMORY",
            format!("{memory} MiB are left for the slots; at least 1 is needed"),
        ));
    }
    let disk = match parameters.int_if_set("DISK")? {
        Some(disk) => disk,
        None => host_measurements.disk_free - parameters.int("RESERVED_DISK", 0).saturating_mul(1024),
    };
    let swap = host_measurements.virtual_memory - parameters.int("RESERVED_SWAP", 0).saturating_mul(1024);
    let mut published = ClassAd::new();
    let mut custom = Vec::new();
    for tag in custom_resource_tags(parameters, names, host_measurements)? {
        custom.push(read_custom_resource(parameters, &tag, host_measurements, &mut published)?);
    }
    if !custom.iter().any(|one| one.tag.eq_ignore_ascii_case("GPUs"))
        && !names.iter().any(|name| name.eq_ignore_ascii_case("MACHINE_RESOURCE_GPUS"))
        && detects_gpus(parameters)
    {
        // GPUs were detected, but MACHINE_RESOURCE_NAMES does not list them.
        published.set("DetectedGPUs", 0i64);
    }
    Ok(MachineTotals {
        amounts: ResourceAmounts {
            cpus: cpus.max(0) as f64,
            fractional_cpus: false,
            memory,
            swap: swap.max(0),
            disk: disk.max(0),
            custom,
            is_backfill: false,
        },
        published,
    })
}

/// Returns the device ids in OFFLINE_MACHINE_RESOURCE_<Tag>, by tag.
pub(super) fn read_offline_devices(
    parameters: &SlotParameters<'_>,
    machine: &ResourceAmounts,
) -> BTreeMap<String, BTreeSet<String>> {
    let with_devices = machine.custom.iter().filter(|custom| custom.machine_devices.is_some());
    with_devices
        .map(|custom| (custom.tag.clone(), read_offline(parameters, &custom.tag).1.into_iter().collect()))
        .collect()
}

/// Returns the tags of custom resources in case-insensitive order, including GPUs if they are detected
/// (`init_machine_resources`).
fn custom_resource_tags(
    parameters: &SlotParameters<'_>,
    names: &[String],
    host_measurements: &HostMeasurements,
) -> Result<Vec<String>, ConfigureError> {
    let mut tags: Vec<String> = Vec::new();
    for name in names {
        let upper = name.to_ascii_uppercase();
        let Some(at) = upper.strip_prefix("MACHINE_RESOURCE_").map(|rest| name.len() - rest.len()) else {
            continue;
        };
        let rest = &name[at..];
        let tag = match upper[at..].strip_prefix("INVENTORY_") {
            Some(tag) => &rest[rest.len() - tag.len()..],
            None => rest,
        };
        if tag.is_empty() || tag.eq_ignore_ascii_case("NAMES") || parameters.text(name).is_none() {
            continue;
        }
        if RESERVED_TAGS.contains(&tag.to_ascii_lowercase().as_str()) {
            return Err(parameters.parameter_error(
                name,
                "the machine's own resources cannot be defined this way; choose another name",
            ));
        }
        if !tags.iter().any(|other| other.eq_ignore_ascii_case(tag)) {
            tags.push(tag.to_owned());
        }
    }
    let has_output = host_measurements.gpu_discovery_output.is_some();
    if !tags.iter().any(|tag| tag.eq_ignore_ascii_case("GPUs")) && (has_output || detects_gpus(parameters)) {
        tags.push("GPUs".into());
    }
    let wanted = parameters.words("MACHINE_RESOURCE_NAMES");
    if !wanted.is_empty() {
        tags.retain(|tag| wanted.iter().any(|name| name.eq_ignore_ascii_case(tag)));
    }
    tags.sort_by_key(|tag| tag.to_ascii_lowercase());
    Ok(tags)
}

/// True if STARTD_DETECT_GPUS, whose value is the arguments of the discovery program, enables the detection of GPUs.
fn detects_gpus(parameters: &SlotParameters<'_>) -> bool {
    let Some(arguments) = parameters.string("STARTD_DETECT_GPUS") else { return false };
    let is = |word: &str| arguments.eq_ignore_ascii_case(word);
    if is("true") || is("1") {
        parameters.warn(format!(
            "STARTD_DETECT_GPUS = {arguments}: it takes the arguments of condor_gpu_discovery, such as -properties; \
             GPUs are not detected"
        ));
        return false;
    }
    !is("false") && !is("0")
}

/// Reads a custom resource from a number, an expression that evaluates to a number, a list of ids, or an ad with properties.
fn read_custom_resource(
    parameters: &SlotParameters<'_>,
    tag: &str,
    host_measurements: &HostMeasurements,
    published: &mut ClassAd,
) -> Result<CustomResource, ConfigureError> {
    let found = match run_inventory(parameters, tag, host_measurements)? {
        Some(inventory) => {
            let found = resource_from_ad(parameters, &inventory.text, tag);
            inventory.warn_if_unsuccessful(parameters, tag, &found);
            found
        }
        None => {
            let text = parameters.string(&format!("MACHINE_RESOURCE_{tag}")).unwrap_or_default();
            if text.contains('\n') {
                resource_from_ad(parameters, &text, tag)
            } else {
                resource_from_text(parameters, &text, tag)
            }
        }
    };
    Ok(build_custom_resource(parameters, tag, found, published))
}

/// Configured or detected amount of a resource.
#[derive(Default)]
struct DetectedResource {
    quantity: f64,
    ids: Vec<String>,
    /// Number of offline devices, if the resource has no ids.
    offline: f64,
    /// Ids of offline devices.
    offline_ids: Vec<String>,
    properties: BTreeMap<String, ClassAd>,
    /// Additional attributes that an inventory printed for all slots, or `None`.
    ad: Option<ClassAd>,
    /// True if slots may share a device. Requires properties in ads.
    shared: bool,
}

fn resource_from_text(parameters: &SlotParameters<'_>, text: &str, tag: &str) -> DetectedResource {
    let (quantity, ids) = parse_number_or_ids(text, parameters.world());
    if let Some(id) = ids.iter().find(|id| id.contains('"')) {
        parameters.warn(format!("MACHINE_RESOURCE_{tag}: the quotes are part of the names: {id}"));
    }
    let (offline, offline_ids) = read_offline(parameters, tag);
    DetectedResource { quantity: quantity.max(0.0), ids, offline, offline_ids, ..DetectedResource::default() }
}

/// Reads OFFLINE_MACHINE_RESOURCE_<Tag>: a number, or ids of devices.
fn read_offline(parameters: &SlotParameters<'_>, tag: &str) -> (f64, Vec<String>) {
    let text = parameters.string(&format!("OFFLINE_MACHINE_RESOURCE_{tag}"));
    text.map_or_else(Default::default, |text| parse_number_or_ids(&text, parameters.world()))
}

/// Parses a number in any form that `strtod` accepts, an expression that evaluates to a number or boolean, or ids
/// (`parse_user_resource_config`).
fn parse_number_or_ids(text: &str, world: &dyn World) -> (f64, Vec<String>) {
    match to_real(text.as_bytes(), world).filter(|number| number.is_finite()) {
        Some(number) => (number, Vec::new()),
        None => {
            let ids = split_ids(text);
            (ids.len() as f64, ids)
        }
    }
}

fn split_ids(text: &str) -> Vec<String> {
    let separator = |c: char| c == ',' || c.is_ascii_whitespace();
    text.split(separator).filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Parses the output of an inventory: `Detected<Tag>`, `Offline<Tag>` and property ads (`init_machine_resource_from_ad`).
fn resource_from_ad(parameters: &SlotParameters<'_>, text: &str, tag: &str) -> DetectedResource {
    let world = parameters.world();
    let mut found = DetectedResource::default();
    let mut ad = ClassAd::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if ad.insert_line_with(line.as_bytes(), parameters.dialect()).is_err() {
            let shown: String = line.chars().take(60).collect();
            parameters.warn(format!(
                "the inventory of {tag} has a line that is not a valid attribute: `{shown}`; the rest is not read"
            ));
            break;
        }
    }
    (found.offline, found.offline_ids) = match ad.string(format!("Offline{tag}")) {
        Some(text) => parse_number_or_ids(&text.to_string(), world),
        None => read_offline(parameters, tag),
    };
    let detected = Context::new(world).my(&ad).eval_attr(format!("Detected{tag}"));
    match detected {
        Value::Str(text) => (found.quantity, found.ids) = parse_number_or_ids(&text.to_string(), world),
        Value::Bool(truth) => found.quantity = f64::from(u8::from(truth)),
        value => found.quantity = value.as_real().unwrap_or(0.0).max(0.0),
    }
    let unique = found.ids.iter().cloned().collect();
    found.properties = extract_properties(&mut ad, &unique, world);
    found.shared =
        !found.properties.is_empty() && parameters.boolean(&format!("SHARED_MACHINE_RESOURCE_{tag}"), false);
    ad.remove(tag);
    found.ad = Some(ad);
    found
}

/// Output of an inventory program.
struct InventoryOutput {
    text: String,
    /// The parameter, the program and its exit status; `None` if the output was given and no program was run.
    program_run: Option<(String, BString, Exit)>,
}

impl InventoryOutput {
    fn from_text(text: String) -> Self {
        InventoryOutput { text, program_run: None }
    }

    /// Warns if the inventory program failed, or if it found nothing although it is configured explicitly.
    fn warn_if_unsuccessful(&self, parameters: &SlotParameters<'_>, tag: &str, found: &DetectedResource) {
        let Some((parameter, program, exit)) = &self.program_run else { return };
        let failed = *exit != Exit::Code(0);
        let nothing = found.quantity == 0.0;
        let what = match (failed, nothing) {
            (true, true) => format!("'{program}' {exit} and found no resource"),
            (true, false) => {
                format!("'{program}' {exit}; its output is used anyway, as in a pool")
            }
            (false, true) if parameters.is_set(parameter) => format!("'{program}' found no resource"),
            (false, _) => return,
        };
        let way = if is_gpus(tag) { "; --gpus FILE describes GPUs" } else { "" };
        let outcome = if nothing { format!(": the slots have no {tag}{way}") } else { String::new() };
        parameters.warn(format!("{parameter}: {what}{outcome}"));
    }
}

fn is_gpus(tag: &str) -> bool {
    tag.eq_ignore_ascii_case("GPUs")
}

/// Returns the output of a resource's inventory program, or the output that replaces it; `None` if no inventory is configured.
fn run_inventory(
    parameters: &SlotParameters<'_>,
    tag: &str,
    host_measurements: &HostMeasurements,
) -> Result<Option<InventoryOutput>, ConfigureError> {
    let is_gpus = is_gpus(tag);
    if let Some(output) = host_measurements.gpu_discovery_output.as_ref().filter(|_| is_gpus) {
        return Ok(Some(InventoryOutput::from_text(output.clone())));
    }
    let parameter = format!("MACHINE_RESOURCE_INVENTORY_{tag}");
    let (parameter, line) = match parameters.text(&parameter) {
        Some(line) => (parameter, line),
        None if is_gpus && parameters.text("MACHINE_RESOURCE_GPUS").is_none() => {
            let Some(line) = gpu_discovery_command(parameters) else { return Ok(None) };
            ("STARTD_DETECT_GPUS".to_owned(), line)
        }
        None => return Ok(None),
    };
    let argv = htc_base::text::arguments::parse_v1_raw_or_v2_quoted(&line)
        .map_err(|error| parameters.parameter_error(&parameter, error.to_string()))?;
    let program = argv.first().cloned().unwrap_or_default();
    let error = match parameters.world().run(&ExternalCommand::new(argv, INVENTORY_TIMEOUT)) {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            return Ok(Some(InventoryOutput { text, program_run: Some((parameter, program, output.exit)) }));
        }
        Err(error) => error,
    };
    let why = match error.kind() {
        ErrorKind::TimedOut => format!("'{program}' did not end and was killed; a startd would wait for it"),
        _ => format!("'{program}' cannot be run: {error}"),
    };
    // Without HTCondor's discovery program no GPUs can be detected; 25.14 would not start on such a machine.
    if is_gpus && program.ends_with(b"/condor_gpu_discovery") {
        if error.kind() != ErrorKind::NotFound || parameters.is_set(&parameter) {
            parameters.warn(format!(
                "{parameter}: {why}: the slots have no GPUs; --gpus FILE describes GPUs, --param '{parameter}=' turns the search off"
            ));
        }
        return Ok(Some(InventoryOutput::from_text("DetectedGPUs = 0".to_owned())));
    }
    let way =
        format!("set {parameter} to a program of this machine, or turn it off with --param '{parameter}='");
    Err(parameters.parameter_error(&parameter, format!("{why}; {way}")))
}

/// Returns the command line that detects GPUs, or `None` if the configuration defines them itself.
fn gpu_discovery_command(parameters: &SlotParameters<'_>) -> Option<BString> {
    let arguments = parameters.text("STARTD_DETECT_GPUS")?;
    let mut line = parameters.text("LIBEXEC").unwrap_or_default();
    line.extend_from_slice(b"/condor_gpu_discovery ");
    line.extend_from_slice(&arguments);
    Some(line)
}

/// Subtracts the offline devices from a resource, and publishes the machine's totals of it.
fn build_custom_resource(
    parameters: &SlotParameters<'_>,
    tag: &str,
    found: DetectedResource,
    published: &mut ClassAd,
) -> CustomResource {
    let DetectedResource { mut quantity, ids, offline, offline_ids, properties, ad, shared } = found;
    let mut off: BTreeSet<String> = ids.iter().filter(|id| offline_ids.contains(id)).cloned().collect();
    let as_reference = parameters.reproduces(Quirk::OfflineBelowZero);
    if ids.is_empty() {
        quantity -= offline;
    } else if offline_ids.is_empty() && !as_reference {
        // If there are ids, 25.14 ignores a number.
        let keep = ids.len().saturating_sub(offline.max(0.0) as usize);
        off.extend(ids.iter().skip(keep).cloned());
    }
    if quantity < 0.0 && !as_reference {
        parameters.warn(format!("OFFLINE_MACHINE_RESOURCE_{tag} is more than the machine has: 0 is left"));
        quantity = 0.0;
    }
    let bound: Vec<usize> = (0..ids.len()).filter(|index| !off.contains(&ids[*index])).collect();
    if !ids.is_empty() {
        quantity = bound.len() as f64;
    }
    let number = if quantity.fract() == 0.0 { Value::Int(quantity as i64) } else { Value::Real(quantity) };
    published.set(format!("Detected{tag}"), number.clone());
    published.set(format!("Total{tag}"), number);
    let name = format!("Offline{tag}");
    if let Some(ad) = &ad {
        published.update(ad);
        if off.is_empty() && ad.contains(name.as_str()) {
            published.set(name.as_str(), "");
        }
    }
    if !off.is_empty() {
        let names: Vec<&str> = ids.iter().filter(|id| off.contains(*id)).map(String::as_str).collect();
        published.set(name, names.join(","));
    }
    let nested = parameters.boolean("USE_NESTED_CUSTOM_RESOURCE_PROPS", true);
    let nesting = match parameters.boolean("VERBOSE_NESTED_CUSTOM_RESOURCE_PROPS", nested) {
        true => PropertyNesting::Verbose,
        false if nested => PropertyNesting::Differing,
        false => PropertyNesting::Lists,
    };
    let devices =
        (!ids.is_empty()).then(|| Arc::new(Devices { ids, offline: off, properties, shared, nesting }));
    CustomResource { tag: tag.to_owned(), quantity, machine_devices: devices, assigned: bound }
}
