//! Checks of a fetched job's ad before a startd gets the ad.

use htc_config::lint_rule::LintRule;
use std::ops::Range;

use bstr::{BStr, BString, ByteSlice};
use htc_config::SharedText;

use htc_base::text::{Span, caseless, similar_names};
use htc_classad::{ClassAd, Dialect, LineError, Value};
use htc_config::Advice;
use htc_config::SourceId;
use htc_config::finding::Finding;
use htc_config::source_location::SourceLocation;

/// Attributes that must be strings if the ad sets them.
const STRING_ATTRIBUTES: [&str; 15] = [
    "Cmd",
    "Iwd",
    "In",
    "Out",
    "Err",
    "Args",
    "Arguments",
    "Env",
    "Environment",
    "Owner",
    "User",
    "OsUser",
    "HookKeyword",
    "TransferInput",
    "UserLog",
];

/// Attributes that must be integers, or expressions that evaluate to an integer.
const INTEGER_ATTRIBUTES: [&str; 8] = [
    "JobUniverse",
    "ClusterId",
    "ProcId",
    "JobLeaseDuration",
    "CoreSize",
    "JobStatus",
    "NumJobStarts",
    "JobPrio",
];

/// Attributes that the starter or the slot reads with any type.
const OTHER_ATTRIBUTES: [&str; 18] = [
    "RequestCpus",
    "RequestMemory",
    "RequestDisk",
    "RequestGPUs",
    "Requirements",
    "Rank",
    "TransferOutput",
    "TransferExecutable",
    "ShouldTransferFiles",
    "WhenToTransferOutput",
    "KillSig",
    "RemoveKillSig",
    "StreamOut",
    "StreamErr",
    "MaxJobRetirementTime",
    "JobMaxVacateTime",
    "NiceUser",
    "WantIOProxy",
];

/// Attributes of HTCondor whose names are so similar to one of the above that they would be reported as misspelled.
const SIMILAR_ATTRIBUTES: [&str; 5] = ["CERequirements", "JobPid", "JobStarts", "JobState", "PreCmd"];

/// Number of findings after which checking stops, because the text is probably not an ad.
const MAX_FINDINGS: usize = 1000;

/// Returns the problems of an ad in a text of `Name = value` lines. `name` is the name of the file that contains the
/// text.
pub fn lint_job_ad(name: &str, text: &[u8], dialect: Dialect) -> Vec<Finding> {
    let mut reading = JobAdReader { dialect, ..JobAdReader::default() };
    for (number, text) in (1..).zip(text.lines()) {
        if reading.findings.len() > MAX_FINDINGS {
            break;
        }
        reading.read_line(JobAdLine { name, number, text });
    }
    let JobAdReader { ad, mut findings, .. } = reading;
    let first = text.lines().next().unwrap_or_default();
    let whole = JobAdLine { name, number: 1, text: first };
    findings.extend(missing_attributes(&ad).into_iter().map(|(attribute, why)| {
        let message = format!("{attribute} is missing: {why}");
        whole.finding(0..first.len(), attribute.as_bytes(), message)
    }));
    findings
}

/// Returns the attributes that a job needs but this ad lacks, each with the consequence.
fn missing_attributes(ad: &ClassAd) -> Vec<(&'static str, &'static str)> {
    let all = [
        (&["Cmd"][..], "Cmd", "the starter refuses the job"),
        (&["JobUniverse"], "JobUniverse", "the manual requires it; 5 is the vanilla universe"),
        (&["OsUser", "User", "Owner"], "Owner", "a starter that runs as root needs it to choose the account"),
        (&["Iwd"], "Iwd", "relative file names refer to the scratch directory"),
    ];
    let is_missing = |names: &[&str]| !names.iter().any(|name| ad.contains(name));
    all.into_iter().filter(|(names, ..)| is_missing(names)).map(|(_, name, why)| (name, why)).collect()
}

/// Line of the text.
#[derive(Clone, Copy)]
struct JobAdLine<'a> {
    name: &'a str,
    number: u32,
    text: &'a [u8],
}

impl JobAdLine<'_> {
    /// Creates a finding about a part of the line.
    fn finding(&self, part: Range<usize>, attribute: &[u8], message: String) -> Finding {
        let text = self.text;
        let start = part.start;
        let span = Span::new(start.min(text.len()), part.end.clamp(start, text.len().max(start)));
        let (name, text) = (self.name.into(), text.into());
        let location = SourceLocation { source: SourceId::OVERLAY, name, line: self.number, text, span };
        Finding {
            rule: LintRule::JobAd,
            spot: Some(location),
            name: attribute.into(),
            value: SharedText::default(),
            message,
            fix: None,
            replacement: None,
            holds_in_part: false,
        }
    }
}

/// Reader of the ad, with the attributes that have been read so far.
#[derive(Default)]
struct JobAdReader {
    ad: ClassAd,
    dialect: Dialect,
    /// Names of the attributes and numbers of the lines that set them.
    attribute_lines: Vec<(BString, u32)>,
    findings: Vec<Finding>,
}

fn count_leading_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

impl JobAdReader {
    fn read_line(&mut self, line: JobAdLine<'_>) {
        let lead = count_leading_blanks(line.text);
        if lead == line.text.len() || line.text[lead] == b'#' {
            return;
        }
        let attribute = match self.ad.insert_line_with(line.text, self.dialect) {
            Ok(attribute) => BString::from(attribute.as_bytes()),
            Err(error) => {
                let part = match &error {
                    LineError::Value(error) => error.span.start as usize..error.span.end as usize,
                    _ => lead..line.text.len(),
                };
                let message =
                    format!("this line is not a valid attribute, and the rest is not read: {error}");
                self.findings.push(line.finding(part, b"", message));
                return;
            }
        };
        let name = lead..lead + attribute.len();
        if let Some((_, before)) =
            self.attribute_lines.iter().find(|(known, _)| caseless::eq(known, &attribute))
        {
            let message = format!("{attribute} is already set in line {before}; this value is used");
            self.findings.push(line.finding(name.clone(), &attribute, message));
        }
        self.attribute_lines.push((attribute.clone(), line.number));
        self.check_value(line, name, &attribute);
    }

    /// Checks that the value has the type that the reader of the attribute expects, and that HTCondor reads the
    /// attribute.
    fn check_value(&mut self, line: JobAdLine<'_>, name: Range<usize>, attribute: &[u8]) {
        let shown = attribute.as_bstr();
        let equals = line.text.find_byte(b'=').map_or(name.start, |equals| equals + 1);
        let value = equals + count_leading_blanks(&line.text[equals..])..line.text.len();
        let expr = self.ad.get(attribute);
        let is_in = |list: &[&str]| list.iter().any(|known| caseless::eq(known.as_bytes(), attribute));
        let literal = expr.as_ref().and_then(|expr| expr.as_literal());
        if is_in(&STRING_ATTRIBUTES) {
            let is_name = expr.as_ref().is_some_and(|expr| expr.as_attribute().is_some());
            let is_other =
                literal.as_ref().is_some_and(|value| !matches!(value, Value::Str(_) | Value::Undefined));
            if is_name || is_other {
                let text = BStr::new(&line.text[value.start..]);
                let fix = Some(format!("write \"{text}\", with the quotes").into());
                let finding = line.finding(value, attribute, format!("{shown} must be a string"));
                self.findings.push(Finding { fix, ..finding });
            }
        } else if is_in(&INTEGER_ATTRIBUTES) {
            if literal.is_some_and(|value| !matches!(value, Value::Int(_) | Value::Undefined)) {
                let message = format!("{shown} must be an integer");
                self.findings.push(line.finding(value, attribute, message));
            }
        } else if !is_in(&OTHER_ATTRIBUTES) && !is_in(&SIMILAR_ATTRIBUTES) {
            let known = STRING_ATTRIBUTES.iter().chain(&INTEGER_ATTRIBUTES).chain(&OTHER_ATTRIBUTES).copied();
            let known = known.filter(|known| known.len() >= 6);
            if let Some(near) = similar_names::nearest(attribute, known) {
                let finding = line.finding(name, attribute, format!("no daemon reads {shown}"));
                self.findings.push(Finding { fix: Some(Advice::DidYouMean(near.into())), ..finding });
            }
        }
    }
}
