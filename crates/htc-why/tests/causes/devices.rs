//! Causes and changes of conditions on devices: RequireGPUs and Require<Tag> of other resources.

use super::{expect, explain};

const CARDS: &str =
    "[ GPUs = 2; AvailableGPUs = { GPUs_a, GPUs_b }; Requirements = true; Arch = \"X86_64\"; Limit = 9;
    GPUs_a = [ Id = \"GPU-a\"; Capability = 7.5; GlobalMemoryMb = 15000; DeviceName = \"T4\" ];
    GPUs_b = [ Id = \"GPU-b\"; Capability = 8.0; GlobalMemoryMb = 40000; DeviceName = \"A100\" ] ]";

/// Returns a job whose Requirements count the devices that meet RequireGPUs, as condor_submit writes them.
fn gpu_job(require: &str, more: &str) -> String {
    format!(
        "[ RequestGPUs = 1; RequireGPUs = {require}; {more}
           Requirements = countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs && TARGET.Arch == \"X86_64\" ]"
    )
}

#[test]
fn requiregpus_is_evaluated_for_each_device_and_the_job() {
    expect(
        &[CARDS],
        &gpu_job("Capability >= MinCap", "MinCap = 8.6;"),
        "no GPU has Capability >= MinCap, they have 7.5 to 8.0, the job has MinCap = 8.6",
        "MinCap 8.0 instead of 8.6: 1 more slot",
    );
    let (sentences, _) = explain(&[CARDS], &gpu_job("Capability >= MinCap", "MinCap = 8.6;"));
    assert!(!sentences[0].contains("have no"), "{sentences:?}");
    expect(
        &[CARDS],
        &gpu_job("Capability >= MinCap", ""),
        "Capability >= MinCap is never true: neither the GPUs nor the job have MinCap",
        "with MinCap = 8.0: 1 more slot",
    );
    // In a match, MY is the device and TARGET the job.
    expect(
        &[CARDS],
        &gpu_job("Capability >= MY.MinCap", "MinCap = 7;"),
        "MY is the GPU here, and has no MinCap; write MinCap for the job's",
        "RequireGPUs Capability >= MinCap instead of Capability >= MY.MinCap: 1 more slot",
    );
    expect(
        &[CARDS],
        &gpu_job("TARGET.Capability >= 7", ""),
        "TARGET is the job here, and has no Capability; write Capability for the GPU's",
        "RequireGPUs Capability >= 7 instead of TARGET.Capability >= 7: 1 more slot",
    );
    expect(
        &[CARDS],
        &gpu_job("CUDACapability >= 7", ""),
        "neither the GPUs nor the job have CUDACapability; did you mean Capability?",
        "",
    );
    // A name that the devices lack is found in the slot around them.
    expect(
        &[CARDS],
        &gpu_job("Capability >= Limit", ""),
        "no GPU has Capability >= Limit, they have 7.5 to 8.0",
        "",
    );
}

#[test]
fn devices_that_meet_each_clause_alone_are_counted() {
    expect(
        &[CARDS],
        &gpu_job("Capability >= 8 && DeviceName == \"T4\"", ""),
        "no GPU meets all of RequireGPUs: Capability >= 8 is true for 1 of 2, DeviceName == \"T4\" is true for 1 of 2",
        "",
    );
    let two = gpu_job("Capability >= 8", "").replace("RequestGPUs = 1", "RequestGPUs = 2");
    expect(
        &[CARDS],
        &two,
        "at most 1 GPU of one slot meets RequireGPUs, and the job asks for 2",
        "RequestGPUs 1",
    );
}

#[test]
fn other_untrue_conditions_are_the_cause_before_those_on_devices() {
    let job =
        |clause: &str| format!("[ RequestGPUs = 1; RequireGPUs = Capability > 7; Requirements = {clause} ]");
    let count = "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs";
    let (sentences, _) =
        explain(&[CARDS], &job(&format!("ifThenElse(RequestGPUs > 0, {count} && TARGET.GPUs > 4, true)")));
    assert_eq!(sentences, ["TARGET.GPUs > 4 is not true: the slot has 2"]);
    let (sentences, _) = explain(&[CARDS], &job(&format!("{count} && TARGET.GPUs_DriverVersion >= 12.4")));
    assert_eq!(sentences, ["TARGET.GPUs_DriverVersion >= 12.4 is not true: no slot has GPUs_DriverVersion"]);
    // There are enough devices, but the job does not say how many it needs.
    let (sentences, _) =
        explain(&[CARDS], &format!("[ RequireGPUs = Capability > 7; Requirements = {count} ]"));
    assert!(sentences[0].contains("RequestGPUs") && !sentences[0].contains("GPU has"), "{sentences:?}");
    let no_cards = "[ GPUs = 0; Requirements = true ]";
    let (sentences, _) = explain(&[no_cards], &gpu_job("Capability > 7", ""));
    assert!(sentences[0].contains("no slot has AvailableGPUs"), "{sentences:?}");
    assert!(!sentences[0].contains("has Capability"), "{sentences:?}");
}

#[test]
fn the_startd_replaces_names_of_the_job_in_requiregpus() {
    let job = |require: &str, more: &str| format!("[ RequestGPUs = 1; RequireGPUs = {require}; {more} ]");
    expect(
        &[CARDS],
        &job("Capability >= MY.MinCap", "MinCap = 9"),
        "no GPU has Capability >= MY.MinCap, they have 7.5 to 8.0, the job has MinCap = 9",
        "MinCap 8 instead of 9: 1 more slot",
    );
    // A name that the job does not have is that of the device, with any scope.
    assert_eq!(explain(&[CARDS], &job("MY.Capability >= 7 && TARGET.Capability < 9", "")).0, [""; 0]);
}

#[test]
fn a_condition_on_devices_may_lose_the_clauses_that_none_meets() {
    expect(
        &[CARDS],
        &gpu_job("Capability >= 7 && DriverVersion >= 12.4", ""),
        "DriverVersion >= 12.4 is never true: neither the GPUs nor the job have DriverVersion",
        "RequireGPUs Capability >= 7 instead of",
    );
    expect(
        &[CARDS],
        &gpu_job("Capability > 9 || DeviceName == \"H100\"", ""),
        "no GPU has",
        "RequireGPUs true instead of",
    );
}

/// Custom resources have conditions on their devices, too: `Require<Tag>`.
#[test]
fn conditions_on_devices_of_custom_resources_are_explained() {
    const BOARDS: &str = "[ Fpgas = 2; MachineResources = \"Cpus Memory Fpgas\"; AvailableFpgas = { Fpgas_a, Fpgas_b }; Requirements = true; Arch = \"X86_64\";
        Fpgas_a = [ Id = \"f-a\"; Speed = 100; Board = \"U50\" ]; Fpgas_b = [ Id = \"f-b\"; Speed = 200; Board = \"U280\" ] ]";
    let job = |require: &str, more: &str| {
        format!(
            "[ RequestFpgas = 1; RequireFpgas = {require}; {more}
               Requirements = countMatches(MY.RequireFpgas, TARGET.AvailableFpgas) >= RequestFpgas ]"
        )
    };
    expect(
        &[BOARDS],
        &job("Speed >= 300", ""),
        "no Fpga has Speed >= 300, they have 100 to 200",
        "RequireFpgas",
    );
    expect(&[BOARDS], &job("Board == \"U250\"", ""), "no Fpga has Board == \"U250\"", "");
    expect(
        &[BOARDS],
        &job("Speed >= MinSpeed", "MinSpeed = 300;"),
        "they have 100 to 200, the job has MinSpeed = 300",
        "MinSpeed 200 instead of 300: 1 more slot",
    );
    // If the job's Requirements do not count the devices, the startd does.
    expect(&[BOARDS], "[ RequestFpgas = 1; RequireFpgas = Speed >= 300; ]", "no Fpga has Speed >= 300", "");
    expect(
        &[BOARDS],
        &job("Speed >= 150", "").replace("RequestFpgas = 1", "RequestFpgas = 2"),
        "at most 1 Fpga of one slot meets RequireFpgas, and the job asks for 2",
        "RequestFpgas 1",
    );
}

#[test]
fn devices_that_dynamic_slots_use_are_named_with_their_users() {
    let parent = "[ Name = \"slot1@a\"; PartitionableSlot = true; GPUs = 1; AssignedGPUs = \"GPU-a,GPU-b\";
        AvailableGPUs = { GPUs_GPU_b }; GPUs_GPU_a = [ Id = \"GPU-a\"; Capability = 8.6 ];
        GPUs_GPU_b = [ Id = \"GPU-b\"; Capability = 7.5 ]; Requirements = true; Arch = \"X86_64\" ]";
    let dynamic = "[ Name = \"slot1_1@a\"; DynamicSlot = true; RemoteOwner = \"ann@x\"; GPUs = 1; Arch = \"X86_64\";
        AssignedGPUs = \"GPU-a\"; AvailableGPUs = { GPUs_GPU_a }; GPUs_GPU_a = [ Id = \"GPU-a\"; Capability = 8.6 ];
        Requirements = false ]";
    let sentence = "GPU-a of slot1@a meets Capability >= 8.0, but a dynamic slot uses it (ann@x)";
    let job = gpu_job("Capability >= 8.0", "");
    expect(&[parent, dynamic], &job, sentence, "");
    let (sentences, suggestions) = explain(&[parent, dynamic], &job);
    assert!(!sentences.iter().any(|it| it.contains("no GPU has")), "{sentences:#?}");
    assert!(suggestions.is_empty(), "{suggestions:#?}");
    // The startd evaluates the condition, too.
    let claim = "[ RequestGPUs = 1; RequireGPUs = Capability >= 8.0 ]";
    expect(&[parent, dynamic], claim, sentence, "");
    // No device is free.
    let empty = parent.replace("{ GPUs_GPU_b }", "{}");
    expect(&[&empty, dynamic], &job, sentence, "");
    let two = gpu_job("Capability >= 7", "").replace("RequestGPUs = 1", "RequestGPUs = 2");
    expect(
        &[parent, dynamic],
        &two,
        &format!("asks for 2; {}", sentence.replace(">= 8.0", ">= 7")),
        "RequestGPUs 1",
    );
    // A device in use that does not meet the condition is counted among the devices.
    expect(
        &[parent, dynamic],
        &gpu_job("Capability >= 9", ""),
        "no GPU has Capability >= 9, they have 7.5 to 8.6",
        "RequireGPUs Capability >= 7 instead",
    );
}

#[test]
fn too_few_devices_that_meet_the_condition_are_compared_with_the_others() {
    let claim = "[ RequestGPUs = 2; RequireGPUs = GlobalMemoryMb >= 40000 ]";
    expect(
        &[CARDS],
        claim,
        "the job asks for 2: not every GPU has GlobalMemoryMb >= 40000, they have 15000 to 40000",
        "RequireGPUs GlobalMemoryMb >= 15000 instead of GlobalMemoryMb >= 40000: 1 more slot",
    );
    expect(&[CARDS], claim, "", "RequestGPUs 1 instead of 2: 1 more slot");
}
