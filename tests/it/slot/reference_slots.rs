//! Translations of the reference's tests about slots. Each names its original in `src/condor_tests`.

use crate::support::point::Point;

/// Returns the slot ads that a configuration makes, as one text per slot.
fn ads(parameters: &[&str]) -> Vec<String> {
    let point =
        parameters.iter().fold(Point::new(), |point, parameter| point.parameter(parameter)).arguments([]);
    let output = point.query().arg("ads").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("\n\n").filter(|ad| !ad.trim().is_empty()).map(|ad| format!("\n{ad}\n")).collect()
}

fn value<'a>(ad: &'a str, name: &str) -> Option<&'a str> {
    ad.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
}

/// `basic_startd_slot_attrs.run`: each slot has the listed attributes of all slots, spelled as in the list.
#[test]
fn every_slot_has_the_listed_attributes_of_all_slots() {
    let mut parameters = vec![
        "NUM_CPUS = 4\nMEMORY = 4000".to_owned(),
        "STARTD_SLOT_ATTRS = activity,state,memory".to_owned(),
    ];
    let sizes = [500, 200, 700, 300];
    for (at, size) in sizes.iter().enumerate() {
        let number = at + 1;
        parameters.push(format!("SLOT_TYPE_{number} = cpus=25%,mem={size}\nSLOT_TYPE_{number}_PARTITIONABLE = False\nNUM_SLOTS_TYPE_{number} = 1"));
    }
    let ads = ads(&parameters.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ads.len(), 4);
    for ad in &ads {
        for (at, size) in sizes.iter().enumerate() {
            let number = at + 1;
            assert_eq!(value(ad, &format!("slot{number}_memory")), Some(size.to_string().as_str()), "{ad}");
            assert_eq!(value(ad, &format!("slot{number}_state")), Some("\"Unclaimed\""), "{ad}");
            assert_eq!(value(ad, &format!("slot{number}_activity")), Some("\"Idle\""), "{ad}");
        }
    }
}

/// `job_local_resources.run`: resources of the site are divided by number, percentage and fraction.
#[test]
fn resources_of_the_site_are_divided_by_number_percentage_and_fraction() {
    let types = "SLOT_TYPE_1 = cpus=1, beers=1, boats=50%, sails=1/2\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = False";
    let resources = "MACHINE_RESOURCE_Beers = 2\nMACHINE_RESOURCE_Boats = 2\nMACHINE_RESOURCE_Sails = 2";
    let ads = ads(&["NUM_CPUS = 2", resources, types]);
    for name in ["Beers", "Boats", "Sails"] {
        for (prefix, number) in [("", "1"), ("TotalSlot", "1"), ("Total", "2")] {
            assert_eq!(
                value(&ads[0], &format!("{prefix}{name}")),
                Some(number),
                "{prefix}{name}: {}",
                ads[0]
            );
        }
    }
}

/// `test_reserve_disk.py`: the reserved disk space, in megabytes, is not available to slots.
#[test]
fn reserved_disk_is_not_offered() {
    let total = |parameters: &[&str]| {
        value(&ads(parameters)[0], "TotalDisk").and_then(|disk| disk.parse::<u64>().ok()).unwrap()
    };
    let all = total(&["RESERVED_DISK = 0"]);
    let rest = total(&["RESERVED_DISK = 1024"]);
    // Other programs may write to the disk between the two measurements.
    assert!(all.abs_diff(rest + (1 << 20)) < 900 << 10, "{all} {rest}");
    assert_eq!(total(&["RESERVED_DISK = 3145728"]), 0);
}
