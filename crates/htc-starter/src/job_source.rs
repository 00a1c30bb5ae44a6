//! Sources of the job ad of a starter without a shadow: a file, or the configuration under a keyword.
//!
//! Reference: `jic_local_file.cpp`, `jic_local_config.cpp`.

use bstr::{BString, ByteSlice};
use thiserror::Error;

use htc_base::FixableError;
use htc_base::job::{Universe, attr};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, LineError, ParseError};
use htc_hook::ParameterSource;

/// Line of a job file that is not an attribute. Like the reference, the starter skips it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadJobAdLine {
    /// Line number, from 1.
    pub number: usize,
    /// Text of the line.
    pub line: BString,
    /// The syntax error, or `None` if the name is quoted.
    pub error: Option<LineError>,
}

impl BadJobAdLine {
    /// Formats the error with its line, and with a caret if the position is known.
    pub fn render(&self) -> String {
        match &self.error {
            Some(error) => error.render(&self.line),
            None => "a name in quotes is not supported here; write `Name = value`".to_owned(),
        }
    }
}

/// Content of a job file.
#[derive(Clone, Debug, Default)]
pub struct ParsedJobFile {
    /// All attributes. Empty lines do not separate ads. If several lines set the same name, the last one wins.
    pub ad: ClassAd,
    /// Lines that were skipped because they are not attributes.
    pub bad: Vec<BadJobAdLine>,
    /// Number of lines, including invalid and empty lines and comments. A file without any lines does not define a job.
    pub lines: usize,
    /// Number of groups of attributes separated by empty lines; more than 1 suggests that several ads were meant.
    pub parts: usize,
}

/// Reads a job ad like the reference: skips comments, empty lines and lines that are not attributes.
pub fn read_job_file(text: &[u8], dialect: Dialect) -> ParsedJobFile {
    let mut source = ParsedJobFile::default();
    let mut in_part = false;
    for (number, line) in (1..).zip(text.lines()) {
        source.lines = number;
        if line.is_empty() {
            in_part = false;
            continue;
        }
        if line.starts_with(b"#") {
            continue;
        }
        // "We don't support quoted attribute names in this old ClassAds method" (classad.cpp, Insert).
        let inserted = match line.trim_start().starts_with(b"'") {
            true => Err(None),
            false => source.ad.insert_line_with(line, dialect).map_err(Some),
        };
        match inserted {
            Ok(_) => {
                source.parts += usize::from(!in_part);
                in_part = true;
            }
            Err(error) => source.bad.push(BadJobAdLine { number, line: line.into(), error }),
        }
    }
    source
}

/// Reason why the configuration does not define a job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.problem_with_fix())]
pub enum JobKeywordError {
    /// A required parameter is missing.
    Missing {
        /// Name of the parameter that is looked up last.
        parameter: String,
    },
    /// The value is not the name or number of a universe.
    Universe {
        /// Name of the parameter.
        parameter: String,
        /// Value of the parameter.
        value: BString,
    },
    /// The value is not a valid expression.
    Value {
        /// Name of the parameter.
        parameter: String,
        /// Value of the parameter.
        value: BString,
        /// Syntax error in the value.
        error: ParseError,
    },
}

impl FixableError for JobKeywordError {
    fn problem(&self) -> String {
        match self {
            JobKeywordError::Missing { parameter } => {
                format!("{parameter} is not set, but it is needed to run a job from the configuration")
            }
            JobKeywordError::Universe { parameter, value } => {
                format!("{parameter} = {value} is not a universe")
            }
            JobKeywordError::Value { parameter, value, error } => {
                format!("{parameter} = {value} cannot be put into the job ad: {error}")
            }
        }
    }

    fn fix(&self) -> Option<String> {
        match self {
            JobKeywordError::Universe { .. } => Some("use a name such as vanilla, or a number".to_owned()),
            JobKeywordError::Missing { .. } | JobKeywordError::Value { .. } => None,
        }
    }
}

impl JobKeywordError {
    /// Returns true if both errors are about the same parameter.
    fn is_about_same_parameter(&self, other: &JobKeywordError) -> bool {
        self.parameter().eq_ignore_ascii_case(other.parameter())
    }

    fn parameter(&self) -> &str {
        match self {
            JobKeywordError::Missing { parameter }
            | JobKeywordError::Universe { parameter, .. }
            | JobKeywordError::Value { parameter, .. } => parameter,
        }
    }
}

/// Optional attributes: name, alternative name of the parameter, and true if the value is quoted.
const OPTIONAL_ATTRIBUTES: &[(&str, &str, bool)] = &[
    (attr::OWNER, "", true),
    (attr::INPUT, "input", true),
    (attr::OUTPUT, "output", true),
    (attr::ERROR, "error", true),
    (attr::ARGUMENTS_V1, "arguments", true),
    (attr::ARGUMENTS_V2, "arguments2", true),
    (attr::ENVIRONMENT_V1, "environment", true),
    (attr::ENVIRONMENT_V2, "environment2", true),
    ("JarFiles", "jar_files", true),
    (attr::KILL_SIG, "kill_sig", false),
    ("StarterWaitForDebug", "starter_wait_for_debug", false),
    ("StarterUserLog", "log", true),
    ("StarterUserLogUseXML", "log_use_xml", false),
];

/// Inputs for completing a job ad from the configuration.
pub struct AdCompletion<'a> {
    /// Prefix of the parameter names.
    pub keyword: &'a str,
    /// Cluster and process from the command line, which take precedence.
    pub ids: (Option<i64>, Option<i64>),
    /// True if JobUniverse in the ad is a number. The number is then used, and no parameter is needed.
    pub universe: bool,
    /// Configuration that contains the parameters.
    pub parameters: &'a dyn ParameterSource,
    /// Dialect in which values are parsed.
    pub dialect: Dialect,
}

/// Completes a job ad from the configuration: a missing attribute comes from `<KEYWORD>_<Attribute>`, or else from the
/// parameter with the alternative name. Returns the optional values that were skipped because they are not valid
/// expressions.
///
/// # Errors
/// Returns an error if a required value is missing or invalid; the starter then has no job.
pub fn complete_ad(
    ad: &mut ClassAd,
    from: &AdCompletion<'_>,
    quirks: QuirkMode,
) -> Result<Vec<JobKeywordError>, JobKeywordError> {
    let mut left_out = Vec::new();
    if !from.universe {
        let (parameter, value) = from.find_required_parameter(attr::JOB_UNIVERSE, "universe")?;
        let number = match parse_leading_number(&value) {
            0 => Universe::from_name(&value).map(Universe::number),
            number => Some(number).filter(|number| (1..14).contains(number)),
        };
        let Some(number) = number else { return Err(JobKeywordError::Universe { parameter, value }) };
        ad.set(attr::JOB_UNIVERSE, number);
    }
    for (name, second) in [(attr::CMD, "executable"), (attr::IWD, "initialdir")] {
        if !ad.contains(name) {
            let (parameter, value) = from.find_required_parameter(name, second)?;
            from.insert_value(ad, name, parameter, value, true)?;
        }
    }
    let mut leave_out = |taken: Result<(), JobKeywordError>| {
        // The starter looks up `conf_arguments` twice, so an error in it must not be reported twice.
        left_out.extend(taken.err().filter(|error| {
            !left_out.iter().any(|known: &JobKeywordError| known.is_about_same_parameter(error))
        }));
    };
    for &(name, second, quoted) in OPTIONAL_ATTRIBUTES {
        leave_out(from.complete_attribute(ad, name, second, quoted));
    }
    if !quirks.reproduces(Quirk::JobKeywordNoUser) {
        leave_out(from.complete_attribute(ad, attr::USER, "", true));
        leave_out(from.complete_attribute(ad, attr::OS_USER, "", true));
    }
    for (name, second, given) in
        [(attr::CLUSTER_ID, "cluster", from.ids.0), (attr::PROC_ID, "proc", from.ids.1)]
    {
        match given {
            Some(number) => ad.set(name, number),
            None => leave_out(from.complete_attribute(ad, name, second, false)),
        }
    }
    Ok(left_out)
}

/// Returns the keyword in the ad itself (`JobKeyword`), or `None`.
pub fn job_keyword(ad: &ClassAd, world: &dyn World) -> Option<BString> {
    Context::new(world).my(ad).string("JobKeyword")
}

impl AdCompletion<'_> {
    fn get_parameter(&self, name: &str) -> Option<(String, BString)> {
        let parameter = format!("{}_{name}", self.keyword);
        self.parameters.get(parameter.as_bytes()).map(|value| (parameter, value))
    }

    fn find_required_parameter(
        &self,
        name: &str,
        second: &str,
    ) -> Result<(String, BString), JobKeywordError> {
        let missing = || JobKeywordError::Missing { parameter: format!("{}_{second}", self.keyword) };
        self.get_parameter(name).or_else(|| self.get_parameter(second)).ok_or_else(missing)
    }

    fn complete_attribute(
        &self,
        ad: &mut ClassAd,
        name: &str,
        second: &str,
        quoted: bool,
    ) -> Result<(), JobKeywordError> {
        if ad.contains(name) {
            return Ok(());
        }
        let found = self
            .get_parameter(name)
            .or_else(|| if second.is_empty() { None } else { self.get_parameter(second) });
        match found {
            Some(found) => self.insert_value(ad, name, found.0, found.1, quoted),
            None => Ok(()),
        }
    }

    /// Inserts a value into the ad. A string is quoted unless it starts with a quote; no characters in it are escaped.
    /// The whole value must be a single expression (`AssignExpr`).
    fn insert_value(
        &self,
        ad: &mut ClassAd,
        name: &str,
        parameter: String,
        value: BString,
        quoted: bool,
    ) -> Result<(), JobKeywordError> {
        let text = match quoted && !value.starts_with(b"\"") {
            true => [b"\"", value.as_slice(), b"\""].concat(),
            false => value.to_vec(),
        };
        match Expr::parse_with(&text, self.dialect.old()) {
            Ok(expr) => {
                ad.insert(name, expr);
                Ok(())
            }
            Err(error) => Err(JobKeywordError::Value { parameter, value, error }),
        }
    }
}

/// Returns the number at the start of a text, or 0 if the text does not start with a number (`atoi`).
pub fn parse_leading_number(text: &[u8]) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    sign * digits.fold(0i64, |sum, byte| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(name: &[u8]) -> Option<BString> {
        let table = [
            ("conf_universe", "vanilla"),
            ("conf_executable", "/bin/true"),
            ("conf_initialdir", "/tmp"),
            ("conf_arguments", "4 from the config file"),
            ("conf_environment", "T_A=1;T_B=2"),
            ("conf_KillSig", "SIGQUIT"),
            ("conf_proc", "3"),
            ("conf_User", "alice@nowhere"),
        ];
        table.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map(|(_, v)| (*v).into())
    }

    fn from(keyword: &str) -> AdCompletion<'_> {
        let dialect = Dialect::new_syntax();
        AdCompletion { keyword, ids: (None, None), universe: false, parameters: &parameters, dialect }
    }

    #[test]
    fn invalid_lines_are_skipped_and_empty_lines_separate_nothing() {
        let source =
            read_job_file(b"garbage\n# c = 1\n\nA = 1\r\n\nB = (\nB = 2\na = 3", Dialect::new_syntax());
        assert_eq!((source.lines, source.parts, source.bad.len()), (8, 2, 2));
        assert_eq!((source.bad[0].number, source.bad[1].number), (1, 6));
        assert_eq!(source.ad.len(), 2);
        let quoted = read_job_file(b" 'A b' = 1\nA b = 2", Dialect::new_syntax());
        assert_eq!((quoted.bad.len(), quoted.ad.len()), (1, 1));
        assert!(quoted.bad[0].render().contains("in quotes"));
        assert_eq!(read_job_file(b"", Dialect::new_syntax()).lines, 0);
        assert_eq!(read_job_file(b"\n", Dialect::new_syntax()).lines, 1);
    }

    #[test]
    fn missing_attributes_come_from_the_configuration() {
        let mut ad = ClassAd::new();
        ad.set("Cmd", "/bin/echo");
        complete_ad(&mut ad, &from("conf"), QuirkMode::Manual).unwrap();
        let text = htc_classad::format::long::print(&ad);
        // Parameter names are case-insensitive: `conf_arguments` is both the alternative name of Args and the first name of
        // Arguments.
        let expected = "Args = \"4 from the config file\"\nArguments = \"4 from the config file\"\n\
                        Cmd = \"/bin/echo\"\nEnv = \"T_A=1;T_B=2\"\nEnvironment = \"T_A=1;T_B=2\"\n\
                        Iwd = \"/tmp\"\nJobUniverse = 5\nKillSig = SIGQUIT\nProcId = 3\nUser = \"alice@nowhere\"\n";
        assert_eq!(text.to_str().unwrap(), expected);
        let mut ad = ClassAd::new();
        complete_ad(&mut ad, &AdCompletion { ids: (Some(7), Some(1)), ..from("conf") }, QuirkMode::Reference)
            .unwrap();
        assert!(!ad.contains("User"));
        assert_eq!(ad.get("ProcId").unwrap().unparse(), "1");
        let missing = complete_ad(&mut ad, &from("none"), QuirkMode::Manual).unwrap_err();
        assert_eq!(missing, JobKeywordError::Missing { parameter: "none_universe".to_owned() });
        // If the ad has JobUniverse, the attribute is kept and no parameter is needed.
        let mut ad = ClassAd::new();
        ad.set("JobUniverse", 12i64);
        ad.set("Cmd", "/bin/true");
        ad.set("Iwd", "/");
        complete_ad(&mut ad, &AdCompletion { universe: true, ..from("none") }, QuirkMode::Manual).unwrap();
        assert_eq!(ad.get("JobUniverse").unwrap().unparse(), "12");
        // Values are parsed in the mode of the configuration: only strict mode accepts leading zeros.
        let zeros = |name: &[u8]| if name == b"conf_KillSig" { Some("010".into()) } else { parameters(name) };
        for strict in [false, true] {
            let (mut ad, dialect) = (ClassAd::new(), Dialect::new_syntax().strict(strict));
            let completed = complete_ad(
                &mut ad,
                &AdCompletion { parameters: &zeros, dialect, ..from("conf") },
                QuirkMode::Manual,
            );
            assert_eq!((completed.unwrap().is_empty(), ad.literal("KillSig").is_some()), (strict, strict));
        }
    }

    #[test]
    fn a_value_with_inner_quotes_is_skipped_and_reported() {
        for bad in ["--name \"my host\" --x", "\"--name\" --x y", "\"open"] {
            let is_it = |name: &[u8]| name.eq_ignore_ascii_case(b"conf_arguments");
            let table = |name: &[u8]| if is_it(name) { Some(bad.into()) } else { parameters(name) };
            let mut ad = ClassAd::new();
            let left_out =
                complete_ad(&mut ad, &AdCompletion { parameters: &table, ..from("conf") }, QuirkMode::Manual)
                    .unwrap();
            let [JobKeywordError::Value { parameter, value, .. }] = &left_out[..] else {
                panic!("{left_out:?}")
            };
            assert_eq!((parameter.as_str(), value.to_str().unwrap()), ("conf_arguments", bad));
            assert!(!ad.contains("Args") && !ad.contains("Arguments"));
        }
        // An invalid required value is an error.
        let table =
            |name: &[u8]| if name == b"conf_executable" { Some("a\"b".into()) } else { parameters(name) };
        let refused = complete_ad(
            &mut ClassAd::new(),
            &AdCompletion { parameters: &table, ..from("conf") },
            QuirkMode::Manual,
        );
        assert!(refused.unwrap_err().to_string().starts_with("conf_executable = a\"b cannot be put"));
    }
}
