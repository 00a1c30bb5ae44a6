//! Template of a suite for a hook, with the most important cases, including failures of the hook.

use super::suite_cron::parse_cron_manager;
use htc_hook::HookType;
use htc_hook::cron_job::CronManager;

/// Guesses the hook type from a name in lower case: returns the first type whose keyword is part of the name, or
/// `None` if no keyword is.
pub fn guess_hook_type(name: &str) -> Option<&'static str> {
    let cron = if name.contains("schedd") { "schedd-cron" } else { "startd-cron" };
    let kinds = [
        ("shadow", "shadow-prepare"),
        ("before", "prepare-before-transfer"),
        ("prepare", "prepare"),
        ("translate", "translate"),
        ("finalize", "finalize"),
        ("cleanup", "cleanup"),
        ("fetch", "fetch"),
        ("reply", "reply"),
        ("evict", "evict"),
        ("cron", cron),
        ("exit", "exit"),
        ("update", "update"),
    ];
    kinds.into_iter().find(|(word, _)| name.contains(word)).map(|(_, kind)| kind)
}

/// Returns the text of a suite for a hook type, or `None` if the type is unknown. `shown` is the name of the hook in
/// comments, and `path` is the path of the hook relative to the directory of the suite.
pub fn suite_template(kind: &str, shown: &str, path: &str) -> Option<String> {
    let manager = parse_cron_manager(kind);
    let hook = HookType::from_name(kind.as_bytes());
    let word = match (manager, hook) {
        (Some(_), _) => kind,
        (None, Some(hook)) => hook.word(),
        (None, None) => return None,
    };
    let mut text = format!(
        "# A first suite for {shown}. Run it: htc-hook-test run THIS-FILE\n\
         # A relative hook path is relative to the directory of this file.\n\
         #\n\
         # Keys of `expect`, all optional:\n\
         # expect = {{ verdict = \"held\", code = 19, subcode = 1, reason = \"part of it\", exit = 0, stdout = \"all of it\",\n\
         #            stderr = \"a pattern\", result = [\"Cmd == TARGET.Cmd\"], findings = [], notes = [], within = 2.5 }}\n\
         # 'htc-hook-test run --update THIS-FILE' replaces the expectations of failing cases by the current\n\
         # results.\n\n\
         [defaults]\nhook = {}\ntype = \"{word}\"\ntimeout = 20\n",
        toml::Value::String(path.to_owned()),
    );
    let mut case = |name: &str, lines: &str| text += &format!("\n[[case]]\nname = \"{name}\"\n{lines}");
    match (manager, hook) {
        (Some(manager), _) => write_cron_cases(manager, &mut case),
        (None, Some(hook)) => write_hook_cases(hook, &mut case),
        (None, None) => {}
    }
    Some(text)
}

/// Function that writes a case; its arguments are the name of the case and the lines after it.
type CaseWriter<'a> = dyn FnMut(&str, &str) + 'a;

/// Writes the cases for a cron job: about the ad into which it publishes, its modes, and a missing environment.
fn write_cron_cases(manager: CronManager, case: &mut CaseWriter<'_>) {
    match manager {
        CronManager::Startd => {
            case("a normal slot", "sample_slot = \"static\"\n");
            case("a partitionable slot", "sample_slot = \"partitionable\"\n");
            case("a slot with gpus", "sample_slot = \"gpu\"\n");
            case(
                "another slot gets no attributes",
                "slots = [2]\nset = { SlotID = \"1\" }\nexpect = { verdict = \"not-for-slot\" }\n",
            );
        }
        CronManager::Schedd => case("a normal schedd", ""),
        CronManager::Benchmarks => {
            case("a normal slot", "sample_slot = \"static\"\n");
            case("it succeeds", "expect = { exit = 0, stderr = \"\", findings = [] }\n");
            return;
        }
    }
    case("it succeeds and prints only attributes", "expect = { exit = 0, stderr = \"\", findings = [] }\n");
    case("a prefix", "prefix = \"Site_\"\n");
    case("two runs, one after the other", "mode = \"WaitForExit\"\nruns = 2\n");
    case("two runs, one period apart", "mode = \"Periodic\"\nruns = 2\n");
    case("without its commands", "env = { PATH = \"/nonexistent\" }\n");
    case("without HOME and user name", "env = { HOME = \"\", USER = \"\", LOGNAME = \"\" }\n");
}

/// Writes the cases for a hook: about the ads that it reads, its arguments, and missing attributes.
fn write_hook_cases(hook: HookType, case: &mut CaseWriter<'_>) {
    case("a normal job", "sample_job = \"vanilla\"\nexpect = { exit = 0, findings = [] }\n");
    match hook {
        HookType::FetchWork => {
            case("a partitionable slot", "sample_slot = \"partitionable\"\n");
            case("a slot with gpus", "sample_slot = \"gpu\"\n");
            case("a slot without a name", "delete = [\"Name\"]\n");
            case(
                "a slot whose START is false",
                "set = { Start = \"false\" }\nexpect = { verdict = \"no-work\" }\n",
            );
        }
        HookType::ReplyFetch => {
            case("accepted", "words = [\"accept\"]\n");
            case("rejected", "words = [\"reject\"]\n");
        }
        HookType::JobExit => {
            for word in ["exit", "evict", "remove", "hold"] {
                case(&format!("called with {word}"), &format!("words = [\"{word}\"]\n"));
            }
        }
        _ => {
            case("a container", "sample_job = \"container\"\n");
            case(
                "a container without its image",
                "sample_job = \"container\"\ndelete = [\"ContainerImage\"]\n",
            );
            case("arguments in the old syntax", "sample_job = \"v1\"\n");
        }
    }
    if hook != HookType::FetchWork {
        case("a job without Cmd and Iwd", "delete = [\"Cmd\", \"Iwd\"]\n");
        case(
            "quotes and blanks in the arguments",
            "set = { Arguments = '''\"'two words' \\\"quoted\\\" k = v\"''' }\n",
        );
        case("a user name with special characters", "set = { Owner = '''\"o'reilly$(id)\"''' }\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_suite_with_distinct_case_names() {
        let crons = ["startd-cron", "schedd-cron", "benchmark"].map(str::to_owned);
        let hooks = HookType::ALL.iter().map(|hook| hook.word().to_owned());
        for kind in hooks.chain(crons) {
            let text = suite_template(&kind, "./h", "../it's \"h\"").unwrap();
            let suite: toml::Table = text.parse().unwrap();
            assert_eq!(suite["defaults"]["hook"].as_str(), Some("../it's \"h\""), "{kind}");
            let mut names: Vec<&str> =
                suite["case"].as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            let before = names.len();
            names.dedup();
            assert!(before >= 2 && names.len() == before, "{kind}: {names:?}");
        }
        assert_eq!(suite_template("nothing", "", ""), None);
        assert_eq!(
            (guess_hook_type("shadow_prepare.sh"), guess_hook_type("x")),
            (Some("shadow-prepare"), None)
        );
    }
}
