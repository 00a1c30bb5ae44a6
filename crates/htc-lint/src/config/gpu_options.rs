//! Arguments of condor_gpu_discovery in GPU_DISCOVERY_EXTRA and STARTD_DETECT_GPUS.

use bstr::{BStr, ByteSlice};
use htc_base::text::caseless;
use htc_base::text::similar_names;
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;

use super::lint_subject::LintSubject;
use super::written_pieces::{find_written_piece, replace_if_certain, replace_value};

/// Argument of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionArgument {
    None,
    /// The next argument, unless it begins with a dash.
    Optional,
    /// The next argument.
    Required,
    /// The part of the option after a colon.
    AfterColon,
}

/// Option of condor_gpu_discovery (`main`, condor_gpu_discovery.cpp). `min_length` is the length of its shortest
/// abbreviation.
struct GpuOption {
    name: &'static str,
    min_length: usize,
    argument: OptionArgument,
}

const fn option(name: &'static str, min_length: usize, argument: OptionArgument) -> GpuOption {
    GpuOption { name, min_length, argument }
}

const OPTIONS: [GpuOption; 30] = [
    option("help", 1, OptionArgument::None),
    option("properties", 1, OptionArgument::None),
    option("extra", 3, OptionArgument::None),
    option("nested", 2, OptionArgument::None),
    option("not-nested", 6, OptionArgument::None),
    option("no-nested", 5, OptionArgument::None),
    option("dynamic", 3, OptionArgument::None),
    option("cron", 4, OptionArgument::None),
    option("mixed", 3, OptionArgument::None),
    option("hetero", 3, OptionArgument::None),
    option("opencl", 6, OptionArgument::None),
    option("cuda", 4, OptionArgument::None),
    option("hip", 3, OptionArgument::None),
    option("verbose", 4, OptionArgument::None),
    option("diagnostic", 4, OptionArgument::None),
    option("repeat", 6, OptionArgument::Optional),
    option("divide", 6, OptionArgument::Optional),
    option("packed", 6, OptionArgument::None),
    option("config", 6, OptionArgument::None),
    option("tag", 3, OptionArgument::Required),
    option("by-index", 4, OptionArgument::None),
    option("uuid", 2, OptionArgument::None),
    option("short-uuid", 10, OptionArgument::None),
    option("prefix", 3, OptionArgument::Required),
    option("device", 3, OptionArgument::Required),
    option("simulate", 3, OptionArgument::AfterColon),
    option("fix-hip-guid", 7, OptionArgument::Required),
    option("nvcuda", 6, OptionArgument::None),
    option("cudart", 6, OptionArgument::None),
    option("dirty-environment", 4, OptionArgument::None),
];

/// Returns the option that a word selects, or `None` if the word is not a valid option.
fn find_option(word: &[u8]) -> Option<&'static GpuOption> {
    let name = word.strip_prefix(b"-")?;
    let (name, is_exact) = name.strip_prefix(b"-").map_or((name, false), |name| (name, true));
    OPTIONS.iter().find(|option| {
        let has_colon = matches!(option.name, "simulate" | "fix-hip-guid");
        let name = name.split(|byte| has_colon && *byte == b':').next().unwrap_or_default();
        let least = if is_exact { option.name.len() } else { option.min_length };
        name.len() >= least && option.name.as_bytes().starts_with(name)
    })
}

/// Returns the first word that is neither an option nor the argument of one.
fn find_invalid_word(value: &[u8]) -> Option<&[u8]> {
    let mut words = value.fields().peekable();
    while let Some(word) = words.next() {
        let Some(option) = find_option(word) else { return Some(word) };
        match option.argument {
            OptionArgument::None | OptionArgument::AfterColon => {}
            OptionArgument::Optional => drop(words.next_if(|next| !next.starts_with(b"-"))),
            OptionArgument::Required => drop(words.next()),
        }
    }
    None
}

/// Returns advice with the option that a word probably stands for.
fn suggest_option(word: &[u8]) -> Option<Advice> {
    let name = word.trim_start_with(|c| c == '-');
    let with_dash = [b"-", name].concat();
    if find_option(&with_dash).is_some() {
        return Some(Advice::Write(with_dash.into()));
    }
    let near = similar_names::nearest(name, OPTIONS.iter().map(|option| option.name.as_bytes()))?;
    Some(Advice::DidYouMean([b"-", near].concat().into()))
}

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for name in ["GPU_DISCOVERY_EXTRA", "STARTD_DETECT_GPUS"] {
        findings.extend(check_options(subject, name));
    }
}

fn check_options(subject: &LintSubject<'_>, name: &str) -> Option<Finding> {
    let entry = subject.config.set.find_exact(name.as_bytes())?;
    let value = subject.expand_entry(entry).ok().filter(|_| entry.current.is_user_written())?;
    subject.view.take_messages();
    // Other rules check quotes, placeholders and comments in the value.
    if value.find_byteset(b"\"'$#{@").is_some() {
        return None;
    }
    let is_detection = name == "STARTD_DETECT_GPUS";
    let is_word = |word: &str| is_detection && caseless::eq(word.as_bytes(), value.trim());
    if is_word("false") || is_word("0") {
        return None;
    }
    let word = find_invalid_word(&value)?;
    let shown = BStr::new(word);
    let (message, fix) = match is_word("true") || is_word("1") {
        true => (
            format!(
                "{name}: {shown} is not valid, so no GPU is found: the value must be options of condor_gpu_discovery"
            ),
            Some(Advice::Write("-properties $(GPU_DISCOVERY_EXTRA)".into())),
        ),
        false => (
            format!("{name}: condor_gpu_discovery has no option {shown}, so it fails and no GPU is found"),
            suggest_option(word),
        ),
    };
    let whole = (&entry.current, (0, entry.raw().len()));
    let (definition, place) = find_written_piece(subject, entry, word).unwrap_or(whole);
    let finding = subject.make_finding(LintRule::BadValue, definition, Some(place), message, fix);
    Some(match finding.fix.clone() {
        Some(Advice::DidYouMean(near)) => replace_value(finding, word, near),
        _ => replace_if_certain(finding, word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_be_abbreviated_and_have_arguments() {
        let invalid =
            |value: &str| find_invalid_word(value.as_bytes()).map(|word| BStr::new(word).to_string());
        for good in [
            "",
            "-properties -extra -nested",
            "-prop --extra -ext -dynamic",
            "-divide 4 -by-index",
            "-repeat -packed",
            "-device 0,1 -uuid",
            "-sim:4,2 -simulate:0",
            "-dirty-env -prefix A -tag GPUs",
            "-fix-hip-guid:1 ff",
        ] {
            assert_eq!(invalid(good), None, "{good}");
        }
        assert_eq!(invalid("extra").as_deref(), Some("extra"));
        assert_eq!(invalid("-properties -ex").as_deref(), Some("-ex"));
        assert_eq!(invalid("-divide 4 5").as_deref(), Some("5"));
        assert_eq!(invalid("--ext").as_deref(), Some("--ext"));
        assert_eq!(suggest_option(b"extra"), Some(Advice::Write("-extra".into())));
        assert_eq!(suggest_option(b"-exrta"), Some(Advice::DidYouMean("-extra".into())));
        assert_eq!(suggest_option(b"5"), None);
    }
}
