//! Attributes of a job ad that this program does not support, according to the table in [`supported`].
//!
//! For an attribute that a pool would use only with a shadow or schedd, the starter prints a warning and runs the job,
//! like 25.14 without them. If the starter itself would use the attribute, it refuses the job instead of running it in
//! another way than requested.

use bstr::{BString, ByteSlice};

use htc_base::job::attr;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};
use htc_config::supported::{self, SupportEntry, SupportLevel};

/// Unsupported request of a job ad: the attributes, and what a pool would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedRequest {
    /// Names of the attributes, separated by commas.
    pub attributes: String,
    /// Description of the request in one sentence.
    pub line: String,
}

/// Role of the access point for this starter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessPointRole {
    /// There is no access point, because the job was fetched.
    #[default]
    Absent,
    /// There is a schedd but no shadow, as in the local universe.
    Schedd,
    /// There are a schedd and a shadow.
    Shadow,
}

/// Attributes that the schedd and shadow of a pool use, but the schedd and shadow of this program do not.
const UNSUPPORTED_BY_SHADOW: [&str; 12] = [
    "CheckpointDestination",
    "CommonInputCatalogs",
    "CommonInputFiles",
    "CronDayOfMonth",
    "CronDayOfWeek",
    "CronHour",
    "CronMinute",
    "CronMonth",
    "SpoolOnEvict",
    "StreamIn",
    "TransferFiles",
    "WantIOProxy",
];
/// Attributes that this program's schedd supports for a job in the local universe.
const SUPPORTED_BY_SCHEDD: [&str; 8] = [
    "AllowedExecuteDuration",
    "AllowedJobDuration",
    "OnExitHold",
    "OnExitRemove",
    "PeriodicHold",
    "PeriodicRemove",
    "PeriodicVacate",
    "UserLog",
];

impl AccessPointRole {
    fn supports(self, row: SupportEntry) -> bool {
        match self {
            AccessPointRole::Absent => false,
            AccessPointRole::Schedd => SUPPORTED_BY_SCHEDD.contains(&row.name),
            AccessPointRole::Shadow => {
                matches!(row.readers, "shadow" | "schedd") && !UNSUPPORTED_BY_SHADOW.contains(&row.name)
            }
        }
    }
}

/// Returns the unsupported requests of a job that runs in spite of them, grouped by what a pool would do.
pub fn unsupported_requests(
    ad: &ClassAd,
    with: AccessPointRole,
    world: &dyn World,
) -> Vec<UnsupportedRequest> {
    let mut request: Vec<(SupportEntry, Vec<&'static str>)> = Vec::new();
    let rows = supported::attributes_with_level(SupportLevel::IgnoredWithWarning);
    for row in rows.filter(|row| !with.supports(*row) && is_requested(ad, *row, world)) {
        match request
            .iter_mut()
            .find(|(known, _)| (known.readers, known.pool_behavior) == (row.readers, row.pool_behavior))
        {
            Some((_, attributes)) => attributes.push(row.name),
            None => request.push((row, vec![row.name])),
        }
    }
    let missing = missing_input_files(ad, world);
    request
        .into_iter()
        .map(|(row, attributes)| {
            let names = attributes.join(", ");
            let mut line = row.describe(&names);
            if attributes.contains(&TRANSFER_INPUT) && !missing.is_empty() {
                line += &format!("; the job will not find {}", missing.join(", "));
            }
            UnsupportedRequest { attributes: names, line }
        })
        .collect()
}

/// Returns the message about a request that a pool's starter supports but this starter does not, or `None` if the job
/// has no such request.
pub fn refused_request(ad: &ClassAd, world: &dyn World) -> Option<String> {
    let row = supported::attributes_with_level(SupportLevel::RefusesJob)
        .find(|row| is_requested(ad, *row, world))?;
    Some(row.describe(row.name))
}

const TRANSFER_INPUT: &str = "TransferInput";

/// Returns true if the ad requests what the row describes: its value differs from the row's neutral value, or from
/// false, 0 and the empty string if the row has no neutral value. An attribute that refuses a job is evaluated, as the
/// starter of a pool would do. For any other attribute, every expression that is not a literal is treated as a request,
/// because it may become true.
fn is_requested(ad: &ClassAd, row: SupportEntry, world: &dyn World) -> bool {
    let Some(expression) = ad.get(row.name) else { return false };
    let is_no = |name: &str| {
        Context::new(world).my(ad).string(name).is_some_and(|word| word.eq_ignore_ascii_case(b"NO"))
    };
    if (row.name.starts_with("Transfer") || row.name.starts_with("WhenTo")) && is_no("ShouldTransferFiles") {
        return false;
    }
    let value = match row.level {
        SupportLevel::RefusesJob => Some(Context::new(world).my(ad).eval(&expression)),
        SupportLevel::Supported | SupportLevel::OutOfScope | SupportLevel::IgnoredWithWarning => {
            expression.as_literal()
        }
    };
    match value {
        Some(Value::Undefined | Value::Error) => false,
        Some(Value::Str(text)) => {
            !text.trim().is_empty() && !text.eq_ignore_ascii_case(row.neutral_value.as_bytes())
        }
        Some(Value::Bool(false) | Value::Int(0)) if row.neutral_value.is_empty() => false,
        Some(_) => !expression.unparse().eq_ignore_ascii_case(row.neutral_value.as_bytes()),
        None => true,
    }
}

/// Returns the files of TransferInput that do not exist at the place where the job would open them. URLs are not
/// checked.
fn missing_input_files(ad: &ClassAd, world: &dyn World) -> Vec<String> {
    let text = |name: &str| Context::new(world).my(ad).string(name).unwrap_or_default();
    let directory = text(attr::IWD);
    let files = text(TRANSFER_INPUT);
    let is_missing = |file: &&[u8]| {
        let path = directory.to_path_lossy().join(file.to_path_lossy());
        file.find(b"://").is_none() && world.stat(&path).is_err()
    };
    list::split_by(&files, b",").filter(is_missing).map(|file| format!("'{}'", BString::from(file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn ad(text: &str) -> ClassAd {
        htc_classad::format::long::parse(text.as_bytes()).0
    }

    fn lines(text: &str) -> Vec<String> {
        unsupported_requests(&ad(text), AccessPointRole::Absent, &RealWorld::new())
            .into_iter()
            .map(|request| request.line)
            .collect()
    }

    #[test]
    fn an_ordinary_job_of_condor_submit_has_no_unsupported_request() {
        let plain = "ShouldTransferFiles = \"NO\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferInput = \"a\"\nStreamOut = false\n\
                     OnExitRemove = true\nOnExitHold = false\nPeriodicHold = false\nWantIOProxy = undefined\n\
                     TransferOutput = \"\"\nEncryptExecuteDirectory = false\nWantDocker = false\n";
        assert_eq!(lines(plain), Vec::<String>::new());
        assert_eq!(refused_request(&ad(plain), &RealWorld::new()), None);
    }

    #[test]
    fn crontab_attributes_are_reported_in_every_role() {
        for with in [AccessPointRole::Absent, AccessPointRole::Schedd, AccessPointRole::Shadow] {
            let job = ad("CronMinute = \"*/5\"\nCronHour = \"3\"\nCronMonth = \"*\"\n");
            let requests = unsupported_requests(&job, with, &RealWorld::new());
            assert_eq!(requests.len(), 1, "{requests:?}");
            let line = "CronHour, CronMinute are unsupported here: the schedd of a pool would begin the job at these times alone";
            assert_eq!(requests[0].line, line);
        }
    }

    #[test]
    fn requests_for_a_shadow_are_reported_once_and_missing_input_is_named() {
        let requests = lines(
            "Iwd = \"/\"\nShouldTransferFiles = \"YES\"\nTransferInput = \"etc, no such,http://x/y\"\nPeriodicHold = NumJobStarts > 3\n",
        );
        assert_eq!(requests.len(), 2, "{requests:?}");
        assert!(
            requests[0].starts_with("PeriodicHold is unsupported here: the schedd of a pool would"),
            "{requests:?}"
        );
        assert!(
            requests[1].starts_with("ShouldTransferFiles, TransferInput are unsupported here: "),
            "{requests:?}"
        );
        assert!(requests[1].ends_with("the job will not find 'no such'"), "{requests:?}");
    }

    #[test]
    fn unsupported_requests_to_the_starter_refuse_the_job() {
        let refused = |text: &str| refused_request(&ad(text), &RealWorld::new());
        assert!(
            refused("ToolDaemonCmd = \"/bin/gdb\"")
                .is_some_and(|message| message.starts_with("ToolDaemonCmd is"))
        );
        assert!(refused("UseParrot = true").is_some() && refused("UseParrot = false").is_none());
        assert!(refused("ToolDaemonCmd = Tool\nTool = \"/bin/gdb\"").is_some());
        assert_eq!(refused("WantDocker = true\nWantContainer = Image isnt undefined"), None);
    }
}
