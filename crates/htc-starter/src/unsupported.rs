//! What a job's ad asks for and is not done here, by the table of [`supported`].
//!
//! What a pool would do only with a shadow or schedd is told, and the job runs, as 25.14 runs it without them. What the
//! starter itself would do with the job refuses it: better not at all than otherwise than asked.

use bstr::{BString, ByteSlice};

use htc_base::job::attr;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};
use htc_config::supported::{self, SupportEntry, SupportLevel};

/// Something that the ad asks for: the attributes that ask, and what a pool would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedRequest {
    /// The attributes, parted by commas.
    pub attributes: String,
    /// One sentence.
    pub line: String,
}

/// Who of a pool is played beside the starter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessPointRole {
    /// Nobody: the job was fetched.
    #[default]
    Absent,
    /// A schedd, for the local universe.
    Schedd,
    /// Schedd and shadow.
    Shadow,
}

/// What schedd and shadow would do and ours do not either.
const UNSUPPORTED_BY_SHADOW: [&str; 11] = [
    "CheckpointDestination",
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
/// What a schedd does of a job in its own universe.
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

/// What is not done though the job runs, one for each thing that a pool would do.
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

/// What the starter of a pool would do with the job and this one cannot, in words for the message.
pub fn refused_request(ad: &ClassAd, world: &dyn World) -> Option<String> {
    let row = supported::attributes_with_level(SupportLevel::RefusesJob)
        .find(|row| is_requested(ad, *row, world))?;
    Some(row.describe(row.name))
}

const TRANSFER_INPUT: &str = "TransferInput";

/// Whether the ad asks for what the row is about: its value is not the row's idle one, which is false or nothing where the
/// row names none. What
/// refuses a job has to be true, as the starter asks it; of the rest an expression may become so.
fn is_requested(ad: &ClassAd, row: SupportEntry, world: &dyn World) -> bool {
    let Some(expression) = ad.get(row.name) else { return false };
    let stays = |name: &str| {
        Context::new(world).my(ad).string(name).is_some_and(|word| word.eq_ignore_ascii_case(b"NO"))
    };
    if (row.name.starts_with("Transfer") || row.name.starts_with("WhenTo")) && stays("ShouldTransferFiles") {
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

/// The files of TransferInput that are not where the job could open them; of URLs nobody knows.
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
            .map(|told| told.line)
            .collect()
    }

    #[test]
    fn a_job_as_condor_submit_makes_it_asks_for_nothing_that_is_not_done() {
        let plain = "ShouldTransferFiles = \"NO\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferInput = \"a\"\nStreamOut = false\n\
                     OnExitRemove = true\nOnExitHold = false\nPeriodicHold = false\nWantIOProxy = undefined\n\
                     TransferOutput = \"\"\nEncryptExecuteDirectory = false\nWantDocker = false\n";
        assert_eq!(lines(plain), Vec::<String>::new());
        assert_eq!(refused_request(&ad(plain), &RealWorld::new()), None);
    }

    #[test]
    fn times_of_a_cron_tab_which_a_schedd_heeds_are_told_whoever_is_played() {
        for with in [AccessPointRole::Absent, AccessPointRole::Schedd, AccessPointRole::Shadow] {
            let job = ad("CronMinute = \"*/5\"\nCronHour = \"3\"\nCronMonth = \"*\"\n");
            let told = unsupported_requests(&job, with, &RealWorld::new());
            assert_eq!(told.len(), 1, "{told:?}");
            let line = "CronHour, CronMinute are not done here: the schedd of a pool would begin the job at these times alone";
            assert_eq!(told[0].line, line);
        }
    }

    #[test]
    fn what_only_a_shadow_does_is_told_once_and_missing_input_by_name() {
        let told = lines(
            "Iwd = \"/\"\nShouldTransferFiles = \"YES\"\nTransferInput = \"etc, no such,http://x/y\"\nPeriodicHold = NumJobStarts > 3\n",
        );
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("PeriodicHold is not done here: the schedd of a pool would"), "{told:?}");
        assert!(told[1].starts_with("ShouldTransferFiles, TransferInput are not done here: "), "{told:?}");
        assert!(told[1].ends_with("the job will not find 'no such'"), "{told:?}");
    }

    #[test]
    fn what_the_starter_would_do_itself_refuses_the_job() {
        let refused = |text: &str| refused_request(&ad(text), &RealWorld::new());
        assert!(
            refused("ToolDaemonCmd = \"/bin/gdb\"").is_some_and(|told| told.starts_with("ToolDaemonCmd is"))
        );
        assert!(refused("UseParrot = true").is_some() && refused("UseParrot = false").is_none());
        assert!(refused("ToolDaemonCmd = Tool\nTool = \"/bin/gdb\"").is_some());
        assert_eq!(refused("WantDocker = true\nWantContainer = Image isnt undefined"), None);
    }
}
