use super::*;
use htc_base::quirks::QuirkMode;

fn machine() -> ResourceAmounts {
    ResourceAmounts {
        cpus: 8.0,
        memory: 8000,
        swap: 24_683_672,
        disk: 82_434_258,
        custom: vec![CustomResource { tag: "Cogs".into(), quantity: 5.0, ..CustomResource::default() }],
        ..ResourceAmounts::default()
    }
}

fn volumes() -> SlotVolumes {
    let shared = Volume { id: "1".into(), free: 82_434_258, ..Volume::default() };
    SlotVolumes { shared, slot_volumes: BTreeMap::new() }
}

fn kind(id: u32, text: &str, count: u32) -> SlotType {
    let shares = SlotTypeShares::parse(text, &["Cogs".into()], QuirkMode::Manual).unwrap_or_default();
    SlotType { id, shares, count, backfill: false }
}

fn allocated_amounts(types: &[SlotType]) -> Vec<(i64, i64, i64)> {
    let slots = lay_out_slots(&machine(), &volumes(), types, SlotConfigFailureMode::Continue)
        .unwrap_or_default()
        .slots;
    slots.iter().map(|it| (it.amounts.whole_cpus(), it.amounts.memory, it.amounts.swap)).collect()
}

#[test]
fn fractions_are_of_the_machine_and_auto_is_of_the_rest() {
    assert_eq!(allocated_amounts(&[kind(1, "cpus=33%, mem=33.3%", 3)]), [(2, 2663, 8_227_890); 3]);
    let slots = allocated_amounts(&[kind(1, "1/2", 1), kind(2, "1/4", 2)]);
    assert_eq!(slots, [(4, 4000, 12_341_836), (2, 2000, 6_170_918), (2, 2000, 6_170_918)]);
}

/// Measured with 25.14 (8 processors): the number of processors that explicit shares leave is truncated to an
/// integer before it is divided, and the last slot may get a fraction too much.
#[test]
fn automatic_shares_divide_the_whole_processors_that_are_left() {
    let cpus =
        |types: &[SlotType]| allocated_amounts(types).into_iter().map(|(cpus, ..)| cpus).collect::<Vec<_>>();
    assert_eq!(cpus(&[kind(1, "33%", 1), kind(2, "auto", 2)]), [2, 2, 2]);
    let third = |count| kind(1, "cpus=1/3", count);
    assert_eq!(cpus(&[third(2), kind(2, "cpus=auto", 1)]), [2, 2, 2]);
    assert_eq!(cpus(&[third(1), kind(2, "cpus=auto", 1)]), [2, 5]);
    assert_eq!(cpus(&[third(1), kind(2, "cpus=auto", 3)]), [2, 1, 1, 1]);
}

#[test]
fn each_volume_has_its_own_disk() {
    let own = Volume { id: "2".into(), free: 5_000_000, ..Volume::default() };
    let missing = Volume { execute_problem: Some("no".into()), ..Volume::default() };
    let volumes = SlotVolumes { slot_volumes: BTreeMap::from([(2, own), (4, missing)]), ..volumes() };
    let types = [kind(1, "cpus=1,mem=10%,swap=10%,disk=100%", 2), kind(2, "cpus=1,mem=10%,swap=10%", 2)];
    let layout =
        lay_out_slots(&machine(), &volumes, &types[..1], SlotConfigFailureMode::Continue).unwrap_or_default();
    let disks: Vec<i64> = layout.slots.iter().map(|slot| slot.amounts.disk).collect();
    assert_eq!((disks, layout.warnings), (vec![82_434_258, 5_000_000], Vec::new()));
    assert_eq!(layout.provisioned["2"], 5_000_000);
    let layout =
        lay_out_slots(&machine(), &volumes, &types[1..], SlotConfigFailureMode::Continue).unwrap_or_default();
    let disks: Vec<i64> = layout.slots.iter().map(|slot| slot.amounts.disk).collect();
    assert_eq!(disks, [82_434_258, 5_000_000]);
    let types = [kind(1, "cpus=1,mem=10%,swap=10%,disk=10%", 4)];
    let layout =
        lay_out_slots(&machine(), &volumes, &types, SlotConfigFailureMode::Continue).unwrap_or_default();
    assert_eq!(layout.provisioned["1"], 2 * 8_243_425);
    let broken = layout.slots[3].broken.as_ref();
    assert_eq!(
        broken.map(|broken| (broken.code, broken.reason.as_str())),
        Some((BROKEN_NO_EXECUTE_DIRECTORY, "no"))
    );
}

#[test]
fn the_first_slot_that_does_not_fit_is_created_as_broken() {
    let types = [kind(1, "cpus=25%, mem=1/2, disk=10%, swap=20%", 2), kind(2, "cpus=2, memory=500", 2)];
    let slots = lay_out_slots(&machine(), &volumes(), &types, SlotConfigFailureMode::Continue)
        .unwrap_or_default()
        .slots;
    assert_eq!((slots.len(), slots[2].amounts.memory), (3, 0));
    assert_eq!(
        slots[2].broken.as_ref().map(|broken| broken.reason.as_str()),
        Some("Not enough Memory (500 short)")
    );
    assert!(lay_out_slots(&machine(), &volumes(), &types, SlotConfigFailureMode::Abort).is_err());
    let none =
        lay_out_slots(&machine(), &volumes(), &types, SlotConfigFailureMode::Clear).unwrap_or_default();
    assert!(none.slots.is_empty() && none.warnings.len() == 1);
}

#[test]
fn the_first_slots_get_the_surplus_of_custom_resources() {
    let slots = lay_out_slots(&machine(), &volumes(), &[kind(1, "auto", 3)], SlotConfigFailureMode::Continue)
        .unwrap_or_default()
        .slots;
    let cogs: Vec<f64> = slots.iter().map(|slot| slot.amounts.custom[0].quantity).collect();
    assert_eq!(cogs, [2.0, 2.0, 1.0]);
}

/// A slot takes 25 % of 10 units and leaves 7.5, of which three other slots get 3, 3 and 2.
#[test]
fn other_slots_get_whole_units_next_to_a_fraction() {
    let cogs = |quantity: f64, types: &[SlotType]| {
        let custom = vec![CustomResource { tag: "Cogs".into(), quantity, ..CustomResource::default() }];
        let layout = lay_out_slots(
            &ResourceAmounts { custom, ..machine() },
            &volumes(),
            types,
            SlotConfigFailureMode::Continue,
        );
        let slots = layout.unwrap_or_default().slots;
        slots.iter().map(|slot| slot.amounts.custom[0].quantity).collect::<Vec<_>>()
    };
    let auto = |count| kind(2, "cpus=1", count);
    assert_eq!(cogs(10.0, &[kind(1, "cpus=1, cogs=25%", 1), auto(3)]), [2.5, 3.0, 3.0, 2.0]);
    assert_eq!(cogs(5.0, &[kind(1, "cpus=1, cogs=5%", 1), auto(5)]), [0.25, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(
        cogs(1.0, &[kind(1, "cpus=1, cogs=5%", 1), auto(1)]),
        [0.05, 0.0],
        "a share below one device is 0"
    );
}

#[test]
fn only_the_first_slot_of_a_type_gets_the_insufficient_rest() {
    let layout = lay_out_slots(
        &machine(),
        &volumes(),
        &[kind(1, "cpus=5, mem=5000", 2)],
        SlotConfigFailureMode::Continue,
    );
    let layout = layout.unwrap_or_default();
    assert_eq!((layout.slots.len(), layout.slots[0].amounts.swap), (1, 24_683_672));
    assert_eq!(
        layout.warnings,
        ["slot type 1: 1 of 2 slots created: Not enough Cpus (2.00 short) Memory (2000 short)"]
    );
}
