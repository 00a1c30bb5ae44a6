//! Policy parameters: their names in slot ads, and where they were set.

use htc_base::world::World;
use htc_config::Config;

/// Returns the slot attribute that a policy parameter is published as.
pub fn attribute_for_parameter(parameter: &str) -> &str {
    if parameter == "IS_OWNER" { "IsOwner" } else { parameter }
}

/// Returns the policy parameter that is published as a slot attribute.
pub fn parameter_for_attribute(attribute: &str) -> &str {
    match attribute {
        "IsOwner" => "IS_OWNER",
        "Start" => "START",
        other => other,
    }
}

/// Returns where a parameter was set for slots of a type, or an empty string if it is not set. `setter` returns the source of a
/// parameter with this name and value that overrides all files.
pub fn parameter_origin(
    config: &Config,
    world: &dyn World,
    slot_type: u32,
    parameter: &str,
    setter: &dyn Fn(&str, &str) -> String,
) -> String {
    let view = config.view(world);
    let names = [format!("SLOT_TYPE_{slot_type}_{parameter}"), parameter.to_owned()];
    let found = names.iter().find_map(|name| Some((name, view.string(name.as_str()).ok().flatten()?)));
    let Some((name, setting)) = found else { return String::new() };
    let overriding_source = setter(name, &setting.raw.to_string());
    setting.origin.to_string().replace("<Over>", &overriding_source).replace("<Default>", "default")
}

/// Lists of parameters that are published in slot ads.
const PUBLISHED_LISTS: [&str; 5] = [
    "STARTD_ATTRS",
    "STARTD_EXPRS",
    "SYSTEM_STARTD_ATTRS",
    "STARTD_LATCH_EXPRS",
    "SYSTEM_STARTD_LATCH_EXPRS",
];

/// Returns where a parameter was set that could be published as an attribute of slots of a type, or `None` if no source sets it
/// or a list such as STARTD_ATTRS has it.
pub fn unpublished_parameter_origin(
    config: &Config,
    world: &dyn World,
    slot_type: u32,
    name: &str,
) -> Option<String> {
    let view = config.view(world);
    let of_type = |name: &str| [format!("SLOT_TYPE_{slot_type}_{name}"), name.to_owned()];
    let found = of_type(name).iter().find_map(|name| view.string(name.as_str()).ok().flatten())?;
    let lists = PUBLISHED_LISTS.iter().flat_map(|list| of_type(list));
    let is_listed = |list: String| {
        let words = view.list(&list).ok().flatten();
        words.is_some_and(|words| words.value.iter().any(|word| word.eq_ignore_ascii_case(name.as_bytes())))
    };
    let is_set = !found.origin.is_default() && !found.value.is_empty();
    (is_set && !lists.into_iter().any(is_listed)).then(|| found.origin.describe())
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_testing::config_of;

    #[test]
    fn a_parameter_is_set_for_its_slot_type_or_for_all_or_by_default() {
        let (config, world) = config_of("STARTD", "START = Cpus > 0\nSLOT_TYPE_2_START = Owner == \"ana\"\n");
        let place = |slot_type, parameter| {
            parameter_origin(&config, &world, slot_type, parameter, &|_, _| "above".to_owned())
        };
        assert!(place(1, "START").ends_with("condor_config, line 1"), "{}", place(1, "START"));
        assert!(place(2, "START").ends_with("condor_config, line 2"), "{}", place(2, "START"));
        assert_eq!(
            (place(1, "POLLING_INTERVAL"), place(1, "NOBODYS")),
            ("default".to_owned(), String::new())
        );
        assert_eq!(
            (attribute_for_parameter("IS_OWNER"), parameter_for_attribute("IsOwner")),
            ("IsOwner", "IS_OWNER")
        );
    }

    #[test]
    fn a_parameter_that_no_list_publishes_is_found() {
        let text = "Rack = \"C03\"\nHasLustre = True\nSite = \"x\"\nSTARTD_ATTRS = haslustre\nSLOT_TYPE_1_STARTD_ATTRS = Site\n\
                    SLOT_TYPE_2_Gate = 3\nEmpty =\n";
        let (config, world) = config_of("STARTD", text);
        let origin =
            |name: &str, slot_type: u32| unpublished_parameter_origin(&config, &world, slot_type, name);
        assert!(origin("rack", 1).is_some_and(|place| place.ends_with("line 1")), "{:?}", origin("rack", 1));
        assert!(origin("Gate", 2).is_some_and(|place| place.ends_with("line 6")));
        assert!(origin("Site", 2).is_some());
        for (name, slot_type) in [("HasLustre", 1), ("Site", 1), ("Gate", 1), ("Empty", 1), ("Absent", 1)] {
            assert_eq!(origin(name, slot_type), None, "{name}");
        }
    }
}
