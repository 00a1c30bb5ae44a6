//! Tests of what `condor_config_val` prints about itself: how many times names were read, the strings that it copied, the
//! treatment of unusual statements. All expected output was printed by version 25.14.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new(config: &str) -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("condor_config", config);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Returns standard output of a call under the tool's name.
    fn run(&self, words: &str) -> String {
        String::from_utf8_lossy(&self.output(words).stdout).into_owned()
    }

    /// Returns standard error of a call under the tool's name.
    fn stderr_of(&self, words: &str) -> String {
        String::from_utf8_lossy(&self.output(words).stderr).into_owned()
    }

    fn output(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.env_clear().env("CONDOR_CONFIG", "condor_config").env("PATH", "/usr/bin:/bin");
        command.arg0("condor_config_val").current_dir(self.0.path()).args(words.split(' '));
        command.output().unwrap()
    }

    /// Returns `NAME: COUNT` for each name with a count.
    fn counts(&self, words: &str) -> Vec<String> {
        let mut name = String::new();
        let mut counts = Vec::new();
        for line in self.run(words).lines() {
            match (line.split_once(" = "), line.strip_prefix(" # use_count: ")) {
                (_, Some(count)) => counts.push(format!("{name}: {count}")),
                (Some((first, _)), None) if !first.starts_with(' ') => name = first.to_owned(),
                _ => {}
            }
        }
        counts
    }
}

const CONFIG: &str = "\
NETWORK_HOSTNAME = node.example.org
LOCAL_DIR = /var/x
A = $(B) $INT(N)
B = $(LOG)
N = 5
hostname = mine
if defined N
C = $EVAL(N)
endif
include command into kept : /bin/echo D = $(A)
TOOL.N = 6
";

#[test]
fn a_name_shows_how_often_it_was_read() {
    // The include has read A and the names to which A refers. For a setting, the count is taken after the output has read the
    // value, for a default before that.
    let asked = "-v:use A N LOG B";
    let fresh = || Place::new(CONFIG);
    assert_eq!(fresh().counts(asked), ["A: 1 / 2", "TOOL.N: 2 / 2", "LOG: 1 / 2", "B: 2 / 3"]);
    let dumped = fresh().counts("-dump -v:use ^[A-C]$ ^LOG$");
    assert_eq!(dumped, ["A: 1 / 2", "B: 2 / 3", "C: 1 / 1", "LOG: 2 / 3"]);
    assert_eq!(Place::new("X = 1\n").counts("-v:use X X"), ["X: 1 / 1", "X: 2 / 2"]);
}

#[test]
fn both_tables_show_the_uses_during_the_reading_of_sources() {
    let counts = Place::new(CONFIG).counts("-dump -v:both");
    let of = |name: &str| {
        let start = format!("{name}: ");
        let found = counts.iter().filter_map(|line| line.strip_prefix(&start));
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("A"), ["0 / 1"]);
    // N was read once from the sources by `defined`, and once by the included command.
    assert_eq!(of("N"), ["0 / 2"]);
    assert_eq!(of("LOCAL_DIR"), ["0 / 1", "0"]);
    assert_eq!(of("NETWORK_HOSTNAME"), ["2 / 2", "0"]);
    // The name service is not used if the name is set.
    assert_eq!(of("NO_DNS"), ["2 / 2"]);
    assert_eq!(of("DEFAULT_DOMAIN_NAME"), ["1 / 1"]);
    assert_eq!(of("LOCAL_CONFIG_DIR"), ["2 / 2"]);
    assert_eq!(of("PASSWD_CACHE_REFRESH"), ["1 / 1"]);
    assert_eq!(of("START"), ["0"]);
}

#[test]
fn used_and_unused_names_are_distinguished_by_reading_all_defaults() {
    let place = Place::new(CONFIG);
    let shown = |words: &str| -> Vec<String> {
        let text = place.run(words);
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" = "))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    assert_eq!(
        shown("-dump -used ^LO ^[A-E]$"),
        ["LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE", "LOCAL_DIR", "LOCK", "LOG", "A", "B"]
    );
    assert_eq!(
        shown("-dump -unused ^[A-E]$ ^LOCAL_U"),
        [
            "C",
            "D",
            "LOCAL_UNIV_EXECUTE",
            "LOCAL_UNIVERSE_CGROUP_ENFORCEMENT",
            "LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY",
            "LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES"
        ]
    );
}

#[test]
fn statistics_count_entries_and_the_texts_that_were_copied() {
    let place = Place::new("A = $(A) x\nLOG = y\nB = $(LOG)\nB = $(LOG)\nB =\nNETWORK_HOSTNAME = h.x\n");
    let text = place.run("-stats -v:strings");
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        line.unwrap_or_else(|| panic!("{text}")).parse::<usize>().unwrap()
    };
    assert_eq!(of("TablesBytes"), of("Macros") * 36 + of("Files") * 8);
    assert_eq!((of("Files"), of("IsSorted")), (5, of("Macros")));
    let (_, strings) = text.split_once("\nStrings -----\n").unwrap();
    let strings = strings.strip_suffix("\n\n").unwrap();
    // Each string needs its length plus a NUL byte.
    assert_eq!(of("StringBytes"), strings.len() + 1, "{strings}");
    // A name that is spelled as in the table of defaults is not copied, nor is an unchanged value.
    assert!(strings.contains("\ncondor_config\nA\n x\ny\nB\n$(LOG)\nh.x\nh\nh.x\n"), "{strings}");
}

#[test]
fn a_detected_name_keeps_the_spelling_of_the_file_that_set_it_first() {
    let place = Place::new(CONFIG);
    assert_eq!(place.run("-v HOSTNAME"), "hostname = node\n # at: <Detected>\n # raw: hostname = node\n\n");
    assert!(place.run("-dump ^host").contains("\nhostname = node\n"));
    // ARCH was detected before the file was read, so the detected spelling of the name is kept.
    assert!(Place::new("arch = mine\n").run("-v arch").starts_with("ARCH = mine\n"));
}

#[test]
fn a_host_without_a_name_service_is_named_after_its_address() {
    let place = Place::new("NO_DNS = true\nDEFAULT_DOMAIN_NAME = x.y\nNETWORK_INTERFACE = 192.0.2.77\n");
    assert_eq!(place.run("HOSTNAME FULL_HOSTNAME"), "192-0-2-77\n192-0-2-77.x.y\n");
    let place = Place::new("NETWORK_HOSTNAME = h\nDEFAULT_DOMAIN_NAME = .q\n");
    assert_eq!(place.run("FULL_HOSTNAME"), "h.q\n");
    let place = Place::new("NETWORK_INTERFACE = lo\nENABLE_IPV6 = false\n");
    assert_eq!(place.run("IP_ADDRESS IPV4_ADDRESS"), "127.0.0.1\n127.0.0.1\n");
}

#[test]
fn addresses_of_an_earlier_interface_remain_if_the_later_one_has_none() {
    let place = Place::new("NETWORK_INTERFACE = fd00::77\nLOCAL_CONFIG_FILE = later\n");
    place.write("later", "NETWORK_INTERFACE = 192.0.2.77\n");
    assert_eq!(place.run("IP_ADDRESS IPV4_ADDRESS IPV6_ADDRESS"), "192.0.2.77\n192.0.2.77\nfd00::77\n");
}

#[test]
fn a_line_of_a_template_needs_no_operator() {
    let place = Place::new("use FEATURE:PartitionableSlot(a b)\n");
    let told = place.run("-v SLOT_TYPE_a");
    assert!(told.starts_with("SLOT_TYPE_a = b=100%\n # at: condor_config, line 1, use FEATURE:"), "{told}");
    // A warning in a template is a parameter with the name `warning`.
    let place = Place::new("use FEATURE:DefaultCheckpointDestination\n");
    assert!(place.run("warning").starts_with("You must set DEFAULT_CHECKPOINT_DESTINATION_PREFIX or"));
}

#[test]
fn types_and_ranges_are_those_of_the_compiled_table() {
    let place = Place::new("");
    let typed = place.run("-dump -v:bool");
    let (_, after) = typed.split_once("\nADSTASH_SE_LOG_MAPPINGS = True\n").unwrap();
    assert!(
        after.contains(" # type: BOOL\n # eval: true def=0 (valid)\n"),
        "only `true` is true in that table"
    );
    let told = place.run("-info PRIORITY_HALFLIFE");
    assert!(told.contains(" # expected values : DOUBLE from 1e-05 to 1.79769e+308\n"), "{told}");
    let all = place.run("-dump -v:type");
    assert!(
        all.contains("\nLOWPORT = \n # at: <Default>, item 610\n # type: STRING\n"),
        "no default, no type"
    );
    let special = place.run("-subsystem MASTER.x -v PID_SNAPSHOT_INTERVAL");
    assert_eq!(special, " # at: <Default>\n # raw: MASTER.X.PID_SNAPSHOT_INTERVAL = 60\n\n");
    assert!(
        place.run("-subsystem MASTER.x -dump ^PID_SNAP").contains("\nMASTER.X.PID_SNAPSHOT_INTERVAL = 60\n")
    );
    assert!(
        place
            .run("-subsystem MASTER -info PID_SNAPSHOT_INTERVAL")
            .contains("used by: daemon_core,HookClientMgr\n")
    );
}

#[test]
fn a_name_with_a_prefix_has_the_default_of_that_subsystem() {
    let place = Place::new("MASTER.ENABLE_CLASSAD_CACHING = x\nMASTER.LOG = y\n");
    let told = place.run("-dump -v ^MASTER[.]");
    let (first, second) = told.split_once("\nMASTER.LOG = y\n").unwrap();
    assert!(first.ends_with("\n # expanded: x\n # default: false"), "{told}");
    assert_eq!(second, " # at: condor_config, line 2\n # expanded: y\n");
    let typed = place.run("-v:double master.PID_SNAPSHOT_INTERVAL");
    assert!(typed.ends_with(" # eval: 60 (valid)\n\n"), "{typed}");
}

#[test]
fn a_colon_in_an_earlier_reference_ends_an_empty_expansion() {
    let place = Place::new("");
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
    command.env_clear().env("CONDOR_CONFIG", "condor_config").arg0("condor_config_val");
    command.current_dir(place.0.path()).args([
        "-macro",
        "$(MAX_JOBS_RUNNING:$BASENAME(L, c)%d)",
        "$(A:$BASENAME(L, c)%d)",
    ]);
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(out, "$(MAX_JOBS_RUNNING:$BASENAME(L, c)%d)\n$(A: c%d)\n");
}

#[test]
fn a_limit_of_threads_holds_for_physical_processors_too() {
    let place = Place::new("COUNT_HYPERTHREAD_CPUS = false\n");
    let cores = place.run("DETECTED_PHYSICAL_CPUS").trim().parse::<u32>().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
    command.env_clear().env("CONDOR_CONFIG", "condor_config").env("OMP_THREAD_LIMIT", "1");
    command.arg0("condor_config_val").current_dir(place.0.path()).args(["-raw", "DETECTED_CPUS_LIMIT"]);
    let limit = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(limit, if cores > 1 { "1\n" } else { "$(DETECTED_CPUS)\n" });
}

#[test]
fn descriptions_are_printed_by_info_and_why() {
    let place = Place::new("FARM_HOOK_FETCH_WORK = /x\n");
    let told = place.run("-info PIPE_BUFFER_MAX START FARM_HOOK_FETCH_WORK");
    assert_eq!(told.matches(" # description: ").count(), 1, "{told}");
    assert!(told.contains(" # description: Number of bytes that are read"), "{told}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
    command.env_clear().current_dir(place.0.path());
    command.args(["--config-file", "condor_config", "--why", "FARM_HOOK_FETCH_WORK"]);
    let story = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(story.contains("  meaning: Hook that the startd calls to fetch work"), "{story}");
}

#[test]
fn int_of_a_real_beyond_64_bits_is_the_least_integer() {
    let place =
        Place::new("HUGE = 1.0e30\nLESS = -1e30\nA = $INT(HUGE)\nB = $INT(LESS)\nC = $INT(HUGE,%d)\n");
    assert_eq!(place.run("A B C"), "-9223372036854775808\n-9223372036854775808\n0\n");
    assert_eq!(place.run("-macro $INT(9.3e18)"), "-9223372036854775808\n");
}

#[test]
fn errors_of_use_and_include_are_those_of_the_reference() {
    // These messages were printed by condor_config_val 25.14.
    let at = |rest: &str| format!("Config source Error \"condor_config\", Line 1: at use {rest}\n");
    let needs =
        |rest: &str| format!("Error: use needs a keyword before : {rest}\n{}", at(&format!(":{rest}")));
    let include = |rest: &str| format!("Config source Error \"false\", Line 0, Include Depth 1: {rest}\n");
    for (line, expected) in [
        ("use : x", needs("x")),
        ("use: x", needs("x")),
        ("use  : x", at(": x:x")),
        ("use  :  x, y", at(":  x, y:x, y")),
        ("use   :", at("::")),
        ("include command into /no/such/place/f : false", include("can't open '/no/such/place/f' for write")),
        ("include command into f : false", include("exited with error 256")),
    ] {
        let place = Place::new(&format!("{line}\nA = 1\n"));
        let stderr = place.stderr_of("A");
        assert!(stderr.starts_with(&expected), "{line}: {stderr}");
    }
}

/// Translation of `config_if_then_else.run` of the reference.
#[test]
fn if_and_else_nest_with_every_word_for_true() {
    let mut config = String::new();
    let words = [("1", "0"), ("yes", "no"), ("true", "false"), ("TRUE", "False"), ("2", "00"), ("T", "F")];
    for (at, (yes, no)) in words.into_iter().enumerate() {
        for (case, (first, second)) in [(yes, no), (no, yes), (no, no)].into_iter().enumerate() {
            config.push_str(&format!(
                "If {first}\n A{at}_{case} = one\nELSE\n  if {second}\n   A{at}_{case} = two\n  else\n   \
                 A{at}_{case} = three\n  Endif\nENDIF\n"
            ));
        }
    }
    let place = Place::new(&config);
    for (at, pair) in words.iter().enumerate() {
        let names = format!("A{at}_0 A{at}_1 A{at}_2");
        assert_eq!(place.run(&names), "one\ntwo\nthree\n", "{pair:?}");
    }
}

/// Translation of `lib_include_cmd_config.run` of the reference: blanks, `@` and case around `include`.
#[test]
fn include_accepts_any_blanks_around_its_colon() {
    let files = ["include : a", "include: b", "include :c", "@include :d", "@INCLUDE : e", "INCLUDE:f"];
    let commands =
        ["include : /bin/echo G = 1 |", "@INCLUDE: /bin/echo H = 1 |", "@include :/bin/echo I = 1|"];
    let place = Place::new(&format!("{}\n{}\n", files.join("\n"), commands.join("\n")));
    for name in ["a", "b", "c", "d", "e", "f"] {
        place.write(name, &format!("{name} = $(ALL)\nALL = $(ALL)$(Fill){name}\n"));
    }
    assert_eq!(place.run("ALL"), "abcdef\n");
    assert_eq!(place.run("G H I"), "1\n1\n1\n");
}

#[test]
fn a_missing_configuration_is_reported_with_the_ways_to_name_one() {
    let place = tempfile::tempdir().unwrap();
    for (program, words) in [
        (env!("CARGO_BIN_EXE_htc-config-dump"), "START"),
        (env!("CARGO_BIN_EXE_htc-config-dump"), "lint"),
        (env!("CARGO_BIN_EXE_htc-router-status"), "--json"),
    ] {
        if ["/etc/condor/condor_config", "/usr/local/etc/condor_config"]
            .iter()
            .any(|file| fs::exists(file).unwrap())
        {
            return;
        }
        let output = Command::new(program).env_clear().current_dir(place.path()).arg(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(": there is no configuration: CONDOR_CONFIG is not set, and "), "{stderr}");
        assert!(
            stderr.contains(
                "\nhint: --config-file FILE names one; with CONDOR_CONFIG=ONLY_ENV no file is needed\n"
            ),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(3), "{stderr}");
    }
}

/// The reference does not store a first value that equals its default, so a boolean has the default's spelling.
#[test]
fn a_boolean_that_equals_its_default_has_one_spelling_in_every_form() {
    let place = Place::new("START = TRUE\nX = a$(START)\nENABLE_IPV6 = false\nENABLE_IPV6 = TRUE\n");
    assert_eq!(place.run("X START"), "aTrue\nTrue\n");
    let own = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.env_clear().env("CONDOR_CONFIG", "condor_config").current_dir(place.0.path()).args(words);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let json: serde_json::Value =
        serde_json::from_str(&own(&["--json", "X", "START", "ENABLE_IPV6"])).unwrap();
    let values: Vec<_> =
        json.as_array().unwrap().iter().map(|row| row["expanded"].as_str().unwrap()).collect();
    assert_eq!(values, ["aTrue", "True", "TRUE"]);
    assert_eq!(own(&["X", "START", "ENABLE_IPV6"]), "aTrue\nTrue\nTRUE\n");
    assert!(own(&["-v", "X"]).contains("aTrue"), "{}", own(&["-v", "X"]));
}

#[test]
fn eval_in_macro_expands_by_the_rules_of_macro() {
    let config = "B = $BASENAME(Alpha), $STRING(Alpha)\nC = $CHOICE(1,Fox) $F(m.n)\n";
    let place = Place::new(config);
    assert_eq!(place.run("-macro $EVAL(B)"), ", Alpha\n");
    let empty = Place::new("EMPTY =\nG = $(E_1)\n");
    assert_eq!(empty.run("-macro [$Fq(EMPTY)] [$Fq(EMPTY:x)] [$Fqa(G)] [$F(G)]"), "[\"\"]\n[]\n['']\n[]\n");
    assert_eq!(place.run("-macro $EVAL(C)"), "$CHOICE(1,Fox) $F(m.n)\n");
    let message = "ERROR \"$CHOICE() error: no list named Fox\" at line 4816 in file config.cpp\n";
    assert_eq!(place.stderr_of("-macro $EVAL(C)").matches(message.trim_end()).count(), 2);
}
