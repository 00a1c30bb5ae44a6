//! `htc-hook-test init`: a first suite for a hook, failure paths included.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cli::common::{Problem, Status};
use crate::hook::HookType;

/// Options of `init`.
#[derive(Args, Clone, Debug)]
pub(super) struct InitArgs {
    /// The hook
    #[arg(value_name = "HOOK")]
    pub hook: PathBuf,
    /// Its type, such as prepare; guessed from its name otherwise
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

/// Prints a first suite for a hook.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<Status> {
    let name = args.hook.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let guess = || {
        let words =
            ["shadow", "before", "prepare", "translate", "finalize", "cleanup", "fetch", "reply", "evict"];
        let kinds = [
            "shadow-prepare",
            "prepare-before-transfer",
            "prepare",
            "translate",
            "finalize",
            "cleanup",
            "fetch",
            "reply",
            "evict",
        ];
        let found = words.iter().position(|word| name.contains(word)).map(|at| kinds[at]);
        found
            .or_else(|| name.contains("exit").then_some("exit"))
            .or_else(|| name.contains("update").then_some("update"))
    };
    let Some(kind) = args.kind.as_deref().or_else(guess) else {
        let message = format!("the name of '{}' does not tell its type", args.hook.display());
        return Err(Problem::usage(message).hint("--type prepare says it").into());
    };
    let hook = HookType::from_name(kind.as_bytes())
        .ok_or_else(|| Problem::usage(format!("there is no type '{kind}'")))?;
    // Nobody knows where the file will lie, and relative paths begin there.
    let path = std::path::absolute(&args.hook).unwrap_or_else(|_| args.hook.clone());
    let mut text = format!(
        "# A first suite for {}. Run it: htc-hook-test run THIS-FILE\n# A relative path of the hook begins in the \
         directory of this file.\n\n[defaults]\nhook = {}\ntype = \"{}\"\ntimeout = 20\n",
        args.hook.display(),
        toml::Value::String(path.display().to_string()),
        hook.word()
    );
    let mut case = |name: &str, lines: &str| text += &format!("\n[[case]]\nname = \"{name}\"\n{lines}");
    case("an ordinary job", "sample_job = \"vanilla\"\n");
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
    case("an attribute of five kilobytes", &format!("set = {{ Huge = '\"{}\"' }}\n", "x".repeat(5000)));
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}
