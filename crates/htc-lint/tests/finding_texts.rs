//! Texts and corrections of findings, and the files for which they are reported.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::target_version::TargetVersion;
use htc_config::{LoadOptions, LookupContext};
use htc_lint::daemons::{LintRequest, LintResult};
use htc_os::RealWorld;

/// Returns the result for files with these names and texts, without the environment.
fn lint_files(files: &[(&str, &str)]) -> LintResult {
    let place = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files.iter().map(|(name, _)| place.path().join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    let request = LintRequest {
        context: &LookupContext::default(),
        options: &LoadOptions { environment: false, ..LoadOptions::default() },
        files: &paths,
        only_unsupported: false,
        used_by: &[],
        version: TargetVersion::default(),
        redact: false,
        checks_corrections: true,
    };
    request.lint_config(&RealWorld::new()).unwrap()
}

/// Returns the findings in one whole configuration.
fn findings_of(text: &str) -> Vec<Finding> {
    lint_files(&[("condor_config", text)]).findings
}

/// Returns rule, message and correction of the only finding in one whole configuration.
fn only_finding(text: &str) -> (LintRule, String, String) {
    let mut findings = findings_of(text);
    assert_eq!(findings.len(), 1, "{text}: {findings:#?}");
    let Finding { rule, message, fix, .. } = findings.remove(0);
    (rule, message, fix.map(|fix| fix.to_string()).unwrap_or_default())
}

/// Asserts the rule of the only finding, and that its message and its correction contain these texts.
fn assert_finding(text: &str, rule: LintRule, message: &str, fix: &str) {
    let found = only_finding(text);
    assert!(found.0 == rule && found.1.contains(message) && found.2.contains(fix), "{text}: {found:?}");
}

#[test]
fn a_file_of_config_d_is_a_partial_configuration() {
    for (name, text, is_part) in [
        ("50-worker.conf", "DAEMON_LIST = MASTER, STARTD", true),
        ("config.d/worker", "DAEMON_LIST = $(DAEMON_LIST) STARTD", true),
        ("condor_config", "DAEMON_LIST = $(DAEMON_LIST) STARTD", false),
        ("50-worker.conf", "LOCAL_CONFIG_DIR = /nonexistent/site", false),
    ] {
        assert_eq!(lint_files(&[(name, text)]).is_partial, is_part, "{name}: {text}");
    }
    let both = [("condor_config", "START = True"), ("config.d/10-a", "DAEMON_LIST = MASTER")];
    assert!(!lint_files(&both).is_partial);
}

#[test]
fn a_missing_daemon_is_reported_only_in_a_whole_configuration() {
    let text =
        "DAEMON_LIST = $(DAEMON_LIST) SCHEDD\nMASTER_SCHEDD_CONTROLLER = HAD\nHAD_USE_REPLICATION = True";
    let whole = findings_of(text);
    let rules: Vec<_> = whole.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [LintRule::Contradiction; 2], "{whole:#?}");
    assert!(whole[0].message.ends_with("DAEMON_LIST does not contain HAD: the master exits with an error"));
    assert!(lint_files(&[("50-had.conf", text)]).findings.is_empty());
}

#[test]
fn files_on_the_command_line_replace_files_of_other_paths() {
    let config =
        "LOCAL_CONFIG_DIR = /nonexistent/config.d\nLOCAL_CONFIG_FILE = /nonexistent/condor_config.local";
    let rules = |files: &[(&str, &str)]| -> Vec<LintRule> {
        lint_files(files).findings.iter().map(|finding| finding.rule).collect()
    };
    assert_eq!(rules(&[("condor_config", config)]), [LintRule::NotRead; 2]);
    let with_files = [
        ("condor_config", config),
        ("config.d/10-start", "START = $(NO_SUCH_MACRO)"),
        ("condor_config.local", "RANK = 0"),
    ];
    // The configuration is complete, so that the macro is undefined.
    assert_eq!(rules(&with_files), [LintRule::Undefined]);
    // The file that names the directory is not one of its files.
    assert_eq!(rules(&[("config.d/condor_config", config)]), [LintRule::NotRead; 2]);
}

#[test]
fn a_path_with_an_empty_macro_names_the_macro() {
    for (text, name) in [
        ("LOCAL_CONFIG_DIR = $(WORK_DIR)/condor_config.d", "WORK_DIR"),
        ("ROOT = $(BASE)\nLOCAL_CONFIG_FILE = /nonexistent/a, $(ROOT)/nonexistent.local", "BASE"),
        ("include : $(SITE)/nonexistent.conf", "SITE"),
    ] {
        let findings = findings_of(text);
        let names_macro = |finding: &Finding| {
            finding.rule == LintRule::NotRead
                && finding.message.ends_with(&format!("$({name}) in its path has no value"))
                && finding.fix.as_ref().is_some_and(|fix| fix.to_string().starts_with(&format!("set {name}")))
        };
        assert_eq!(
            findings.iter().filter(|finding| names_macro(finding)).count(),
            1,
            "{text}: {findings:#?}"
        );
    }
}

#[test]
fn settings_of_removed_daemons_are_removed_parameters() {
    assert_finding(
        "HOSTALLOW_OWNER = *",
        LintRule::RemovedParameter,
        "HOSTALLOW_OWNER",
        "there is no level OWNER",
    );
    assert_finding("HOSTALLOW_READ = *", LintRule::RemovedParameter, "HOSTALLOW_READ", "write ALLOW_");
    for text in
        ["LeaseManager.PRUNE_INTERVAL = 60", "LeaseManager_LOG = /a", "MAX_STORK_LOG = 1000000", "STORK = /a"]
    {
        assert_finding(text, LintRule::RemovedParameter, "no longer reads", "this daemon was removed");
    }
}

#[test]
fn removed_parameters_that_only_removed_ones_use_are_reported() {
    let removed = |text: &str| {
        let findings = findings_of(text);
        findings.iter().filter(|finding| finding.rule == LintRule::RemovedParameter).count()
    };
    assert_eq!(removed("HOSTALLOW_READ = *\nHOSTALLOW_WRITE = $(HOSTALLOW_READ)"), 2);
    assert_eq!(
        removed("HOSTALLOW_READ = *\nHOSTALLOW_WRITE = $(HOSTALLOW_READ)\nALLOW_WRITE = $(HOSTALLOW_WRITE)"),
        0
    );
    assert_eq!(removed("HOSTALLOW_READ = $(HOSTALLOW_READ) *"), 1);
}

#[test]
fn names_are_corrected_only_if_the_correction_is_certain() {
    let replacement = |text: &str| {
        let findings = findings_of(text);
        assert_eq!(findings.len(), 1, "{text}: {findings:#?}");
        findings[0].replacement.as_ref().map(|replacement| replacement.text.to_string())
    };
    assert_eq!(replacement("NEGOTIATOR_INTERAL = 10").as_deref(), Some("NEGOTIATOR_INTERVAL"));
    assert_eq!(replacement("SCHEDD.MAX_JOBS_RUNING = 10").as_deref(), Some("SCHEDD.MAX_JOBS_RUNNING"));
    // Two letters of one word differ: the name may have another meaning.
    assert_eq!(replacement("PRUNE_INTERVAL = 60"), None);
    // The reference in the value would have to be changed, too.
    assert_eq!(replacement("STARTD_ATRS = $(STARTD_ATRS) IsOwner"), None);
}

#[test]
fn a_list_without_names_in_its_name_is_misspelled() {
    for text in [
        "JOB_ROUTER_PRE_ROUTE_TRANSFORMS = $(JOB_ROUTER_PRE_ROUTE_TRANSFORMS) A",
        "JOB_ROUTER_PRE_ROUTE_TRANSFORM = A",
    ] {
        assert_finding(
            text,
            LintRule::UnknownParameter,
            "refers to it",
            "did you mean JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES?",
        );
    }
    // Another statement may use it.
    assert!(findings_of("SITE_TRANSFORMS = $(SITE_TRANSFORMS) A").is_empty());
    let used =
        "JOB_TRANSFORMS = A\nJOB_TRANSFORM_NAMES = $(JOB_TRANSFORMS)\nJOB_TRANSFORM_A @=end\nSET B 1\n@end";
    assert!(findings_of(used).is_empty());
}

#[test]
fn renamed_attributes_have_their_new_names() {
    assert_finding(
        "START = VirtualMachineID =?= 1",
        LintRule::UnknownAttribute,
        "now called SlotID",
        "write SlotID",
    );
}

#[test]
fn a_placeholder_is_reported_once() {
    let text = "STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /bin/true\nSTARTD_CRON_A_PERIOD = 5m\n\
                STARTD_CRON_A_ENV = \"A={{ .Env.A }} B={{ .Env.B }}\"";
    assert_finding(text, LintRule::TemplateMark, "placeholder", "template engine");
    assert_finding(
        "DAEMON_LIST = MASTER @DAEMONS@",
        LintRule::TemplateMark,
        "placeholder",
        "template engine",
    );
    for line in ["{{ if .Env.HOST -}}", "{% if host %}", "SITE_{{ n }} = 1", "<% if host %>"] {
        assert_finding(line, LintRule::TemplateMark, "placeholder", "template engine");
    }
    assert_finding("SITE NAME", LintRule::Syntax, "daemons exit here", "");
}

#[test]
fn a_shell_variable_is_corrected_to_a_macro_only_if_it_is_set() {
    let correct_arguments = |text: &str| {
        let text = format!(
            "STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /bin/true\nSTARTD_CRON_A_PERIOD = 5m\n\
             STARTD_CRON_A_ARGS = 14d {text}"
        );
        let findings = findings_of(&text);
        assert_eq!(findings.len(), 1, "{text}: {findings:#?}");
        let fix = findings[0].fix.as_ref().unwrap().to_string();
        (fix, findings[0].replacement.is_some())
    };
    let (fix, is_replaced) = correct_arguments("$SUBMIT_WORKDIR");
    assert!(fix.starts_with("write $ENV(SUBMIT_WORKDIR)") && !is_replaced, "{fix}");
    let (_, is_replaced) = correct_arguments("${domain_name}");
    assert!(!is_replaced);
    assert_eq!(correct_arguments("$FULL_HOSTNAME"), ("write $(FULL_HOSTNAME)".to_owned(), true));
    // A macro has no earlier value in its first definition.
    let is_replaced = |text: &str| findings_of(text).iter().any(|finding| finding.replacement.is_some());
    assert!(!is_replaced("SITE_RELEASE = $SITE_RELEASE"));
    assert!(is_replaced("SITE_RELEASE = 1\nSITE_RELEASE = $SITE_RELEASE 2"));
}

#[test]
fn the_path_of_condor_config_val_has_no_effect() {
    let job = |manager: &str| {
        format!(
            "{manager}_CRON_CONFIG_VAL = /bin/a\n{manager}_CRON_JOBLIST = A\n\
             {manager}_CRON_A_EXECUTABLE = /bin/true\n{manager}_CRON_A_PERIOD = 5m"
        )
    };
    assert_finding(
        &job("STARTD"),
        LintRule::CronJob,
        "STARTD_CRON_CONFIG_VAL has no effect",
        "STARTD_CRON_<JOB>_ENV",
    );
    assert_finding(
        &job("SCHEDD"),
        LintRule::CronJob,
        "SCHEDD_CRON_CONFIG_VAL has no effect",
        "_CONFIG_VAL_PROG",
    );
}

#[test]
fn an_attribute_may_be_set_in_an_environment_that_was_not_read() {
    let text = "STARTD_ATTRS = $(STARTD_ATTRS) ZooAnimal";
    assert_finding(
        text,
        LintRule::NamedNotDefined,
        "unless the environment, which was not read, sets _condor_ZooAnimal",
        "set ZooAnimal",
    );
    assert_finding("START = $(ZooAnimal)", LintRule::Undefined, "sets _condor_ZooAnimal", "define ZooAnimal");
}

#[test]
fn a_comparison_of_units_shows_the_calculations() {
    let text = "PREEMPT = ImageSize/1024 > VirtualMemory*0.9";
    assert_finding(
        text,
        LintRule::UnitMismatch,
        "ImageSize / 1024 is in MiB, VirtualMemory * 0.9 in KiB",
        "",
    );
}

#[test]
fn an_address_is_detected_where_its_protocol_exists() {
    let findings = findings_of("IPV4_ADDRESS = 192.0.2.1\nPID = 7");
    for finding in &findings {
        let is_address = finding.message.contains("IPV4_ADDRESS");
        let expected = if is_address { "detected on a host with IPv4" } else { "PID is always detected" };
        assert!(finding.message.contains(expected), "{finding:?}");
    }
    assert!(!findings.is_empty());
}

#[test]
fn the_minimum_request_is_not_reported_as_too_small() {
    for text in
        ["JOB_DEFAULT_REQUESTDISK = 1", "JOB_DEFAULT_REQUESTMEMORY = 1", "JOB_DEFAULT_REQUESTDISK = 0"]
    {
        assert!(findings_of(text).is_empty(), "{text}");
    }
    for text in ["JOB_DEFAULT_REQUESTDISK = 20", "JOB_DEFAULT_REQUESTMEMORY = 2"] {
        assert_finding(text, LintRule::SuspiciousUnit, "is very small", "write the number");
    }
}
