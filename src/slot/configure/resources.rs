//! Totals of the machine: processors, memory, swap, disk, custom resources (`ResAttributes.cpp`).

use super::knobs::{ConfigureError, Knobs};
use super::machine::Surroundings;
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::quirks::{Quirk, Quirks};
use crate::slot::resources::{Amounts, Custom};
use crate::world::World;

/// Names that custom resources cannot have.
const RESERVED: [&str; 7] = ["cpu", "cpus", "disk", "swap", "mem", "memory", "ram"];

/// What the machine has, and what of it is off line.
pub(super) struct Totals {
    /// All there is to be shared out.
    pub amounts: Amounts,
    /// Detected<Tag>, Total<Tag> and Offline<Tag> of all resources.
    pub published: ClassAd,
}

/// Reads the totals.
pub(super) fn totals(
    knobs: &Knobs<'_>,
    names: &[String],
    world: &dyn World,
    around: &Surroundings,
    quirks: Quirks,
) -> Result<Totals, ConfigureError> {
    let cpus = match knobs.int_if_set("NUM_CPUS")? {
        Some(cpus) => cpus,
        None => knobs.int("DETECTED_CPUS_LIMIT", knobs.int("DETECTED_CPUS", 1)),
    };
    if cpus <= 0 && !quirks.has(Quirk::NumCpusZero) {
        return Err(knobs.error("NUM_CPUS", format!("{cpus} processors are no machine; set it to 1 or more")));
    }
    let memory = match knobs.int_if_set("MEMORY")? {
        Some(memory) if memory != 0 => memory,
        _ => knobs.int("DETECTED_MEMORY", 0),
    };
    let memory = memory - knobs.int("RESERVED_MEMORY", 0);
    if memory <= 0 {
        return Err(
            knobs.error("MEMORY", format!("{memory} MiB are left to be shared out; it must be 1 or more"))
        );
    }
    let disk = match knobs.int_if_set("DISK")? {
        Some(disk) => disk,
        None => around.disk_free - knobs.int("RESERVED_DISK", 0).saturating_mul(1024),
    };
    let swap = around.virtual_memory - knobs.int("RESERVED_SWAP", 0).saturating_mul(1024);
    let mut published = ClassAd::new();
    let mut custom = Vec::new();
    for tag in tags(knobs, names)? {
        if let Some(resource) = resource(knobs, &tag, world, quirks, &mut published)? {
            custom.push(resource);
        }
    }
    if !custom.iter().any(|one| one.tag.eq_ignore_ascii_case("GPUs"))
        && !names.iter().any(|name| name.eq_ignore_ascii_case("MACHINE_RESOURCE_GPUS"))
        && detects_gpus(knobs)
    {
        // They were looked for, though MACHINE_RESOURCE_NAMES does not want them.
        published.set("DetectedGPUs", 0i64);
    }
    Ok(Totals {
        amounts: Amounts {
            cpus: cpus.max(0) as f64,
            fractional_cpus: false,
            memory,
            swap: swap.max(0),
            disk: disk.max(0),
            custom,
        },
        published,
    })
}

/// The tags of custom resources, in caseless order, GPUs among them where they are looked for (`init_machine_resources`).
fn tags(knobs: &Knobs<'_>, names: &[String]) -> Result<Vec<String>, ConfigureError> {
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
        if tag.is_empty() || tag.eq_ignore_ascii_case("NAMES") {
            continue;
        }
        if RESERVED.contains(&tag.to_ascii_lowercase().as_str()) {
            return Err(
                knobs.error(name, "the machine's own resources cannot be defined so; choose another name")
            );
        }
        if !tags.iter().any(|other| other.eq_ignore_ascii_case(tag)) {
            tags.push(tag.to_owned());
        }
    }
    if !tags.iter().any(|tag| tag.eq_ignore_ascii_case("GPUs")) && detects_gpus(knobs) {
        tags.push("GPUs".into());
    }
    let wanted = knobs.words("MACHINE_RESOURCE_NAMES");
    if !wanted.is_empty() {
        tags.retain(|tag| wanted.iter().any(|name| name.eq_ignore_ascii_case(tag)));
    }
    tags.sort_by_key(|tag| tag.to_ascii_lowercase());
    Ok(tags)
}

/// Whether STARTD_DETECT_GPUS asks for GPUs to be looked for: it holds the arguments of the program that does.
fn detects_gpus(knobs: &Knobs<'_>) -> bool {
    let Some(arguments) = knobs.string("STARTD_DETECT_GPUS") else { return false };
    let is = |word: &str| arguments.eq_ignore_ascii_case(word);
    if is("true") || is("1") {
        knobs.warn(format!(
            "STARTD_DETECT_GPUS = {arguments}: it takes the arguments of condor_gpu_discovery, such as -properties; \
             no GPUs are looked for"
        ));
        return false;
    }
    !is("false") && !is("0")
}

/// One custom resource: a number, an expression that gives one, a list of ids, or an ad with more about it.
fn resource(
    knobs: &Knobs<'_>,
    tag: &str,
    world: &dyn World,
    quirks: Quirks,
    published: &mut ClassAd,
) -> Result<Option<Custom>, ConfigureError> {
    let knob = format!("MACHINE_RESOURCE_{tag}");
    if knobs.text(&format!("MACHINE_RESOURCE_INVENTORY_{tag}")).is_some() {
        return inventory(knobs, tag, world, quirks, published);
    }
    let text = knobs.string(&knob).unwrap_or_default();
    let found = if text.contains('\n') { of_ad(&text, tag, published) } else { of_text(&text, world) };
    Ok(Some(without_offline(knobs, tag, found, quirks, published)))
}

/// How many there are, and their ids.
#[derive(Default)]
struct Found {
    quantity: f64,
    ids: Vec<String>,
    offline: Vec<String>,
    /// Whether it came as an ad: then Detected<Tag> lists the ids.
    as_ad: bool,
}

fn of_text(text: &str, world: &dyn World) -> Found {
    if text.is_empty() {
        return Found::default();
    }
    let empty = ClassAd::new();
    let value = Expr::parse(text.as_bytes()).map(|expr| Context::new(world).my(&empty).eval(&expr));
    if let Ok(Value::Int(_) | Value::Real(_)) = &value {
        let quantity = value.ok().and_then(|value| value.as_real()).unwrap_or(0.0);
        return Found { quantity: quantity.max(0.0), ..Found::default() };
    }
    let ids = ids_of(text);
    Found { quantity: ids.len() as f64, ids, ..Found::default() }
}

fn ids_of(text: &str) -> Vec<String> {
    let separator = |c: char| c == ',' || c.is_ascii_whitespace();
    text.split(separator).filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// `Detected<Tag>`, `Offline<Tag>` and properties; all that is no nested ad is published as it is.
fn of_ad(text: &str, tag: &str, published: &mut ClassAd) -> Found {
    let mut found = Found { as_ad: true, ..Found::default() };
    let mut ad = ClassAd::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if ad.insert_line(line.as_bytes()).is_err() {
            break;
        }
    }
    match ad.literal(format!("Detected{tag}")) {
        Some(Value::Str(ids)) => {
            found.ids = ids_of(&ids.to_string());
            found.quantity = found.ids.len() as f64;
        }
        Some(value) => found.quantity = value.as_real().unwrap_or(0.0).max(0.0),
        None => {}
    }
    if let Some(Value::Str(ids)) = ad.literal(format!("Offline{tag}")) {
        found.offline = ids_of(&ids.to_string());
    }
    for (name, expr) in ad.iter() {
        let nested = matches!(expr.as_literal(), Some(Value::Ad(_))) || expr.unparse().starts_with(b"[");
        if !nested && !name.eq_ignore_ascii_case(tag.as_bytes()) {
            published.insert(name, expr);
        }
    }
    found
}

/// Runs the program of MACHINE_RESOURCE_INVENTORY_<Tag>; failing to start is fatal, its status is not looked at.
fn inventory(
    knobs: &Knobs<'_>,
    tag: &str,
    world: &dyn World,
    quirks: Quirks,
    published: &mut ClassAd,
) -> Result<Option<Custom>, ConfigureError> {
    let knob = format!("MACHINE_RESOURCE_INVENTORY_{tag}");
    let line = knobs.text(&knob).unwrap_or_default();
    let argv = crate::text::arguments::parse_v1_raw_or_v2_quoted(&line)
        .map_err(|error| knobs.error(&knob, error.to_string()))?;
    let command = crate::world::Command {
        argv,
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: std::time::Duration::from_secs(60),
        output_limit: 1 << 20,
    };
    let output =
        world.run(&command).map_err(|error| knobs.error(&knob, format!("cannot be run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = of_ad(&text, tag, published);
    Ok(Some(without_offline(knobs, tag, found, quirks, published)))
}

/// Takes off what is off line, and publishes the numbers of the machine.
fn without_offline(
    knobs: &Knobs<'_>,
    tag: &str,
    found: Found,
    quirks: Quirks,
    published: &mut ClassAd,
) -> Custom {
    let number = |quantity: f64| {
        if quantity.fract() == 0.0 { Value::Int(quantity as i64) } else { Value::Real(quantity) }
    };
    let detected = match found.as_ad && !found.ids.is_empty() {
        true => Value::from(found.ids.join(", ")),
        false => number(found.quantity),
    };
    published.set(format!("Detected{tag}"), detected);
    published.set(format!("Total{tag}"), number(found.quantity));
    let knob = format!("OFFLINE_MACHINE_RESOURCE_{tag}");
    let mut named = found.offline;
    let mut quantity = found.quantity;
    let mut ids = found.ids;
    let named_ids = !ids.is_empty();
    if let Some(text) = knobs.string(&knob) {
        match text.parse::<f64>() {
            Ok(count) if ids.is_empty() => quantity -= count,
            // A number does nothing in 25.14 where there are ids.
            Ok(count) if !quirks.has(Quirk::OfflineBelowZero) => {
                let keep = ids.len().saturating_sub(count.max(0.0) as usize);
                named.extend(ids.iter().skip(keep).cloned());
            }
            Ok(_) => {}
            Err(_) => named.extend(ids_of(&text)),
        }
    }
    if !ids.is_empty() {
        let before = ids.len();
        ids.retain(|id| !named.contains(id));
        quantity -= (before - ids.len()) as f64;
        if before > ids.len() {
            published.set(format!("Offline{tag}"), named.join(","));
        }
    }
    if quantity < 0.0 && !quirks.has(Quirk::OfflineBelowZero) {
        knobs.warn(format!("{knob} takes off more than there is: 0 is left"));
        quantity = 0.0;
    }
    Custom { tag: tag.to_owned(), quantity, named: named_ids, ids }
}
