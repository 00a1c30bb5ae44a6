//! `htc-hook-test init`: a first suite for a hook, failure paths included.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::common::{Problem, Status};
use crate::hook::HookType;
use crate::hook::cron_job::CronManager;
use crate::runner::hook_test::cron_manager;

/// Options of `init`.
#[derive(Args, Clone, Debug)]
pub(super) struct InitArgs {
    /// The hook
    #[arg(value_name = "HOOK")]
    pub hook: PathBuf,
    /// Its type, such as prepare or startd-cron; guessed from its name otherwise
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

/// The type that a name tells: the first that it has the word of.
fn kind_of(name: &str) -> Option<&'static str> {
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

/// Prints a first suite for a hook.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<Status> {
    let name = args.hook.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let Some(kind) = args.kind.as_deref().or_else(|| kind_of(&name)) else {
        let message = format!("the name of '{}' does not tell its type", args.hook.display());
        return Err(Problem::usage(message).hint("--type prepare says it").into());
    };
    let manager = cron_manager(kind);
    let hook = HookType::from_name(kind.as_bytes());
    let word = match (manager, hook) {
        (Some(_), _) => kind,
        (None, Some(hook)) => hook.word(),
        (None, None) => return Err(Problem::usage(format!("there is no type '{kind}'")).into()),
    };
    let mut text = format!(
        "# A first suite for {}. Run it: htc-hook-test run THIS-FILE\n\
         # A relative path of the hook begins in the directory of this file.\n\
         #\n\
         # What a case may expect, each where it is wanted:\n\
         # expect = {{ verdict = \"held\", code = 19, subcode = 1, reason = \"part of it\", exit = 0, stdout = \"all of it\",\n\
         #            stderr = \"a pattern\", result = [\"Cmd == TARGET.Cmd\"], findings = [], notes = [], within = 2.5 }}\n\
         # 'htc-hook-test run --update THIS-FILE' writes what comes of failing cases today.\n\n\
         [defaults]\nhook = {}\ntype = \"{word}\"\ntimeout = 20\n",
        args.hook.display(),
        toml::Value::String(from_the_suite(&args.hook)),
    );
    let mut case = |name: &str, lines: &str| text += &format!("\n[[case]]\nname = \"{name}\"\n{lines}");
    match (manager, hook) {
        (Some(manager), _) => cron_cases(manager, &mut case),
        (None, Some(hook)) => hook_cases(hook, &mut case),
        (None, None) => {}
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}

/// A case by its name, and the lines behind it.
type CaseWriter<'a> = dyn FnMut(&str, &str) + 'a;

/// The ads that a cron job publishes into, the ways it is called, and what it may lack.
fn cron_cases(manager: CronManager, case: &mut CaseWriter<'_>) {
    match manager {
        CronManager::Startd => {
            case("an ordinary slot", "sample_slot = \"static\"\n");
            case("a partitionable slot", "sample_slot = \"partitionable\"\n");
            case("a slot with gpus", "sample_slot = \"gpu\"\n");
            case(
                "another slot gets nothing of it",
                "slots = [2]\nset = { SlotID = \"1\" }\nexpect = { verdict = \"not-for-slot\" }\n",
            );
        }
        CronManager::Schedd => case("an ordinary schedd", ""),
        CronManager::Benchmarks => {
            case("an ordinary slot", "sample_slot = \"static\"\n");
            case("it ends well", "expect = { exit = 0, stderr = \"\", findings = [] }\n");
            return;
        }
    }
    case("it ends well and prints nothing bad", "expect = { exit = 0, stderr = \"\", findings = [] }\n");
    case("a prefix", "prefix = \"Site_\"\n");
    case("twice, one run behind the other", "mode = \"WaitForExit\"\nruns = 2\n");
    case("twice, a period apart", "mode = \"Periodic\"\nruns = 2\n");
    case("its commands are not there", "env = { PATH = \"/nonexistent\" }\n");
    case("no home and no account", "env = { HOME = \"\", USER = \"\", LOGNAME = \"\" }\n");
}

/// The ads that a hook reads, the words it is told, and what the ads may lack.
fn hook_cases(hook: HookType, case: &mut CaseWriter<'_>) {
    case("an ordinary job", "sample_job = \"vanilla\"\nexpect = { exit = 0, findings = [] }\n");
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
                case(&format!("told {word}"), &format!("words = [\"{word}\"]\n"));
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
        case("a user name with odd letters", "set = { Owner = '''\"o'reilly$(id)\"''' }\n");
    }
}

/// The path of the hook from where the suite will lie: beside the file that standard output is, else here.
fn from_the_suite(hook: &Path) -> String {
    let whole = std::path::absolute(hook).unwrap_or_else(|_| hook.to_owned());
    let written = std::fs::read_link("/proc/self/fd/1").ok().filter(|path| path.is_file());
    let here = written
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .or_else(|| std::env::current_dir().ok());
    let Some(here) = here else { return whole.display().to_string() };
    let (mut from, mut to) = (here.components().peekable(), whole.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let up = from.map(|_| std::path::Component::ParentDir);
    up.chain(to).collect::<PathBuf>().display().to_string()
}
