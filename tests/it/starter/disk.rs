//! Tests of the disk usage of a job's directory: it is reported and limited, and nothing is left behind.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::children::{LONG, write_executable};
use crate::support::place::{Place, read_fifo, send, shell};

const ENFORCED: &str = "STARTD_ENFORCE_DISK_LIMITS = true\nBASE_CGROUP =";

const SENTENCE: &str =
    "Job has exceeded allocated disk (20.00 MB). Consider increasing the value of request_disk.";

/// Returns the loop devices whose file is below this place.
fn loops(place: &Place) -> Vec<String> {
    let home = place.home.path().to_string_lossy().into_owned();
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let behind = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("loop/backing_file")).ok();
    blocks.filter_map(behind).filter(|file| file.starts_with(&home)).collect()
}

/// Returns the mounts below this place.
fn mounted(place: &Place) -> Vec<std::path::PathBuf> {
    let all = htc_hooks::os::mounts::list_mounts().into_iter();
    all.map(|mount| mount.target).filter(|target| target.starts_with(place.home.path())).collect()
}

#[test]
fn a_job_that_fills_its_directory_is_held_with_the_references_reason() {
    let place = Place::new().with_recording_hooks().parameter(ENFORCED);
    let fill = "dd if=/dev/zero of=$_CONDOR_SCRATCH_DIR/big bs=1M count=64 2>/dev/null; exec sleep 600";
    let run = place.run(&format!("{}\nRequestDisk = 20480", shell(fill)));
    assert!(run.has(&format!("VacateReason = \"{SENTENCE}\"")), "{}{}", run.ad, run.stderr);
    assert!(run.has("VacateReasonCode = 34") && run.has("VacateReasonSubCode = 104"), "{}", run.ad);
    assert!(run.calls.ends_with("exit hold\n"), "{}", run.calls);
    assert!(run.left.is_empty() && loops(&place).is_empty() && mounted(&place).is_empty(), "{:?}", run.left);
}

#[test]
fn a_volume_limits_the_size_of_a_directory_and_is_removed() {
    if !nix::unistd::geteuid().is_root() || !fs::exists("/dev/loop-control").unwrap() {
        return println!("skipped: not root, or no loop devices");
    }
    let place = Place::new().with_recording_hooks().parameter(ENFORCED);
    let script = "cd $_CONDOR_SCRATCH_DIR; id -u > own; stat -f -c %T . ; dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; \
                  stat -c %s big";
    let run = place.run(&format!("{}\nRequestDisk = 20480\nOut = \"out\"", shell(script)));
    if run.stderr.contains("not a separate file system") {
        return println!("skipped: {}", run.stderr);
    }
    let out = fs::read_to_string(place.path("iwd/out")).unwrap();
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("ext2/ext3"), "{}", run.stderr);
    let most: u64 = lines.next().unwrap().parse().unwrap();
    assert!((20 << 20..26 << 20).contains(&most), "{most}");
    // The size is not a whole number of blocks. Regression test: the usage of such a directory was only measured.
    for odd in [2049, 20481] {
        let run = place.run(&format!("{}\nRequestDisk = {odd}", shell("exit 0")));
        assert!(!run.stderr.contains("not a separate file system"), "{odd}: {}", run.stderr);
    }
    assert!(run.left.is_empty() && loops(&place).is_empty() && mounted(&place).is_empty(), "{:?}", run.left);
}

#[test]
fn clean_removes_the_volume_of_a_killed_starter() {
    if !nix::unistd::geteuid().is_root() || !fs::exists("/dev/loop-control").unwrap() {
        return println!("skipped: not root, or no loop devices");
    }
    let place = Place::new().with_recording_hooks().parameter(ENFORCED);
    let pipe = place.pipe();
    let script = format!("echo runs > {}; exec sleep 600", pipe.display());
    let mut child = place.start(&format!("{}\nRequestDisk = 20480", shell(&script)));
    assert_eq!(read_fifo(&pipe), "runs\n");
    let there = mounted(&place).len();
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    let output = place.clean_command().output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if there == 1 {
        assert!(text.contains("unmounted '"), "{text}");
    }
    let left: Vec<_> =
        fs::read_dir(place.path("execute")).unwrap().flatten().map(|entry| entry.path()).collect();
    // A mount namespace that another test has created in parallel keeps the mount and the device until that namespace ends.
    let begun = Instant::now();
    while !loops(&place).is_empty() && begun.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(left.is_empty() && loops(&place).is_empty() && mounted(&place).is_empty(), "{left:?}{text}");
}

#[test]
fn the_disk_limit_is_the_slots_or_the_jobs_or_none() {
    let fill = "dd if=/dev/zero of=$_CONDOR_SCRATCH_DIR/big bs=1M count=30 2>/dev/null";
    let place = Place::new().with_recording_hooks().parameter(ENFORCED);
    let run = place.run(&shell(fill));
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
    let none = "neither Disk of the slot nor RequestDisk is a number above 0";
    for wish in ["", "RequestDisk = 0", "RequestDisk = -5", "RequestDisk = \"many\"", "RequestDisk = 1 / 0"] {
        let run = place.run(&format!("{}\n{wish}", shell("exit 0")));
        assert_eq!(run.stderr.matches(none).count(), 1, "{wish}: {}", run.stderr);
    }
    let slot = place.path("slot");
    fs::write(&slot, "Disk = 102400\n").unwrap();
    let place = place.option(&["--slot-ads", slot.to_str().unwrap()]);
    let run = place.run(&format!("{}\nRequestDisk = 1024", shell(fill)));
    assert!(run.has("ExitCode = 0") && !run.stderr.contains(none), "{}{}", run.ad, run.stderr);
}

#[test]
fn a_job_with_file_transfer_reports_its_disk_usage() {
    let place = Place::new().parameter("BASE_CGROUP =").option(&["--as", "shadow"]);
    let run = place.run(&format!(
        "{}\nOwner = \"nobody\"\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferOutput = \"\"\nTransferExecutable = false",
        shell("head -c 100000 /dev/zero > data")
    ));
    let disk = run.ad.lines().find_map(|line| line.strip_prefix("DiskUsage = "));
    // The directory also contains the ads of job and slot.
    assert!(
        disk.is_some_and(|kib| (98..=102).contains(&kib.parse::<i32>().unwrap())),
        "{}{}",
        run.ad,
        run.stderr
    );
    assert!(run.ad.contains("\nScratchDirFileCount = "), "{}", run.ad);
    // A startd sets this parameter for its starters. Regression test: the attribute was missing.
    assert!(run.ad.contains("\nCpusUsage = "), "{}", run.ad);
    assert!(!run.ad.contains("\nProportionalSetSizeKb"), "{}", run.ad);
}

#[test]
fn use_pss_reports_the_proportional_set_size() {
    let job = shell("sleep 1.5");
    let size = |parameter: &str| {
        let run = Place::new()
            .parameter("BASE_CGROUP =")
            .parameter(parameter)
            .run(&format!("{job}\nOwner = \"nobody\""));
        run.ad.lines().find_map(|line| line.strip_prefix("ProportionalSetSizeKb = ")?.parse::<u32>().ok())
    };
    assert!(size("USE_PSS = true").is_some_and(|kib| kib > 0));
    assert_eq!(size("USE_PSS = false"), None);
}

/// Installs fake LVM programs that record their calls. They create no volume, so the usage is measured instead.
fn with_doubles(mut place: Place) -> Place {
    fs::create_dir(place.path("bin")).unwrap();
    let called = place.path("called");
    for name in
        ["lvcreate", "mke2fs", "lvremove", "cryptsetup", "pvcreate", "vgcreate", "vgremove", "pvremove"]
    {
        let text = format!("#!/bin/sh\necho {name} \"$@\" >> {}\n", called.display());
        write_executable(&place.path("bin").join(name), text.as_bytes());
    }
    let losetup = format!(
        "#!/bin/sh\necho losetup \"$@\" >> {}\ncase $1 in --find) echo /dev/htc-no-loop;; esac\n",
        called.display()
    );
    write_executable(&place.path("bin/losetup"), losetup.as_bytes());
    let pvs = format!(
        "#!/bin/sh\necho pvs \"$@\" >> {0}\n! grep -q '^vgcreate' {0} || echo '  condor_STARTD'\n",
        called.display()
    );
    write_executable(&place.path("bin/pvs"), pvs.as_bytes());
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    place.environment.push(("PATH".to_owned(), path));
    place
}

/// Returns the calls of the fake programs, one per line.
fn called(place: &Place) -> Vec<String> {
    fs::read_to_string(place.path("called")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_volume_is_encrypted_if_configuration_or_job_requests_it() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let group = "LVM_VOLUME_GROUP_NAME = htc-hooks-no-such";
    let ad = format!("{}\nRequestDisk = 20480\nEncryptExecuteDirectory = true", shell("exit 0"));
    let place = with_doubles(Place::new().parameter(ENFORCED).parameter(group));
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
    let lines = called(&place);
    assert!(lines[0].contains("--addtag htcondor_lv --addtag lv_is_encrypted --yes"), "{lines:?}");
    let open = "cryptsetup open --type plain --key-file /dev/shm/cryptokey";
    assert!(lines[1].starts_with(open) && lines[1].ends_with("_1-enc"), "{lines:?}");
    assert!(lines[2].starts_with("mke2fs ") && lines[2].ends_with("_1-enc"), "{lines:?}");
    let key = lines[1].split(' ').nth(5).unwrap();
    assert!(!fs::exists(key).unwrap(), "the key is gone: {key}");
    // If the directory cannot be encrypted, this is reported.
    let disabled = "DISABLE_EXECUTE_DIRECTORY_ENCRYPTION = true";
    let place = with_doubles(Place::new().parameter(ENFORCED).parameter(group).parameter(disabled));
    assert!(place.run(&ad).has("ExitCode = 0"));
    assert!(!called(&place).iter().any(|line| line.contains("crypt")), "{:?}", called(&place));
    let run = Place::new().parameter("BASE_CGROUP =").run(&ad);
    assert!(
        run.stderr.contains("is not encrypted although EncryptExecuteDirectory requests it"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_volume_group_is_created_on_the_named_file_and_removed() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let place = Place::new().parameter(ENFORCED).parameter("LVM_BACKING_FILE_SIZE_MB = 1");
    let file = place.path("disk.img");
    let place = with_doubles(place.parameter(&format!("LVM_BACKING_FILE = {}", file.display())));
    let ad = format!("{}\nRequestDisk = 20480", shell("exit 0"));
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
    let attach = format!("losetup --find --show {}", file.display());
    let mut expected = vec![
        "losetup --list --output name,back-file",
        &attach,
        "pvcreate /dev/htc-no-loop",
        "vgcreate --autobackup n condor_STARTD /dev/htc-no-loop",
        "lvcreate",
        "mke2fs",
        "lvremove",
    ];
    expected.push("pvs --noheadings -o vg_name /dev/htc-no-loop");
    expected.extend(["vgremove condor_STARTD --yes --force", "pvremove /dev/htc-no-loop --yes --force"]);
    expected.push("losetup -d /dev/htc-no-loop");
    let lines = called(&place);
    let fits = lines.len() == expected.len()
        && lines.iter().zip(&expected).all(|(line, word)| line.starts_with(word));
    assert!(fits, "{lines:#?}");
    assert!(!file.exists() && !place.path("disk.img.lock").exists());
    assert!(run.left.is_empty(), "{:?}", run.left);
    // The next --clean removes what a killed starter has left; no loop device exists here.
    fs::write(&file, "").unwrap();
    fs::write(place.path("disk.img.lock"), "").unwrap();
    let cleaned = place.option(&["--clean"]).run("");
    assert!(cleaned.stderr.contains("removed the volume group 'condor_STARTD' on"), "{}", cleaned.stderr);
    assert!(!file.exists());
}

#[test]
fn a_file_and_a_volume_group_of_others_are_left_alone() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let place = Place::new().parameter(ENFORCED).parameter("LVM_BACKING_FILE_SIZE_MB = 1");
    let file = place.path("disk.img");
    let place = with_doubles(place.parameter(&format!("LVM_BACKING_FILE = {}", file.display())));
    let ad = format!("{}\nRequestDisk = 20480", shell("exit 0"));
    // A volume group with this name exists already.
    write_executable(&place.path("bin/vgcreate"), b"#!/bin/sh\necho 'already exists'; exit 5\n");
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 0") && run.stderr.contains("already exists"), "{}", run.stderr);
    assert!(!called(&place).iter().any(|line| line.starts_with("vgremove")), "{:?}", called(&place));
    assert!(!file.exists());
    fs::write(&file, vec![7; 2 << 20]).unwrap();
    fs::remove_file(place.path("called")).unwrap();
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 0") && run.stderr.contains("a condor_startd may use it"), "{}", run.stderr);
    assert!(!place.path("called").exists() && fs::read(&file).unwrap() == vec![7; 2 << 20]);
    assert!(!place.path("disk.img.lock").exists());
}

#[test]
fn dry_run_shows_the_commands_of_a_volume_group_on_a_file() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let place =
        Place::new().parameter(ENFORCED).parameter("ENCRYPT_EXECUTE_DIRECTORY = true").option(&["--dry-run"]);
    let file = place.path("disk.img");
    let place = place.parameter(&format!("LVM_BACKING_FILE = {}", file.display()));
    let run = place.run(&format!("{}\nRequestDisk = 20480", shell("exit 0")));
    for line in [
        format!("run losetup --find --show {}", file.display()),
        "run vgcreate --autobackup n condor_STARTD /dev/loopN".to_owned(),
        "run cryptsetup open --type plain --key-file /dev/shm/cryptokeyXXXXXX /dev/mapper/condor_STARTD-"
            .to_owned(),
        "run losetup -d /dev/loopN".to_owned(),
    ] {
        assert!(run.ad.contains(&line), "{line}: {}", run.ad);
    }
    assert!(!file.exists());
}

#[test]
fn each_job_gets_a_volume_by_the_commands_of_25_14() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let place =
        with_doubles(Place::new().parameter(ENFORCED).parameter("LVM_VOLUME_GROUP_NAME = htc-hooks-no-such"));
    let ad = format!("{}\nRequestDisk = 20480", shell("exit 0"));
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
    let called = fs::read_to_string(place.path("called")).unwrap();
    let names: Vec<&str> = called.lines().filter_map(|line| line.split(' ').next()).collect();
    // The fake programs create no device in /dev/mapper, so nothing can be mounted.
    assert_eq!(names, ["lvcreate", "mke2fs", "lvremove"], "{called}");
    let line = "lvcreate --autobackup n -n slot1+";
    assert!(called.starts_with(line), "{called}");
    assert!(called.contains("_1 --addtag htcondor_lv --yes -L 20480k htc-hooks-no-such\n"), "{called}");
    assert!(called.contains("/dev/mapper/htc--hooks--no--such-slot1+"), "{called}");
    assert!(
        run.stderr.contains("is only monitored, because it is not a separate file system: cannot mount"),
        "{}",
        run.stderr
    );
    assert!(run.left.is_empty(), "{:?}", run.left);
    assert!(!run.stderr.contains("LVM_HIDE_MOUNT"), "{}", run.stderr);
    // With the default AUTO, volumes are hidden for jobs whose ad has a universe.
    let vanilla = place.run(&format!("{ad}\nJobUniverse = 5"));
    assert!(
        vanilla.stderr.contains("LVM_HIDE_MOUNT is AUTO: the job's volume is mounted"),
        "{}",
        vanilla.stderr
    );
    let place = place.parameter("LVM_HIDE_MOUNT = True");
    let run = place.run(&ad);
    assert!(run.stderr.contains("the job's volume is mounted where all processes see it"), "{}", run.stderr);
    let rehearsed = place.option(&["--dry-run"]).run(&ad);
    assert!(rehearsed.ad.contains(&format!("run {line}")), "{}", rehearsed.ad);
    assert!(
        rehearsed.ad.contains("run lvremove --autobackup n htc-hooks-no-such/slot1+"),
        "{}",
        rehearsed.ad
    );
}
