//! Column functions: functions that print formats name with `PRINTAS` (reference: print_format_tables.cpp, `GlobalPrintFormats`,
//! and condor_q.V6/queue.cpp, `LocalPrintFormats`).

use bstr::{BString, ByteSlice};

use super::machine_columns::{
    ColumnWidth, activity_code, activity_or_ocu, health_problems, join_strings, join_unique,
    machine_platform, platform_of_build, version_of,
};
use super::print_format::{format_date, format_duration};
use crate::classad::{ClassAd, Context, Value};
use crate::job::Universe;

/// Settings of the column functions, which options of `condor_q` change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FunctionSettings {
    /// True if CPU_TIME shows CPU time, not wall-clock time (`-cputime`).
    pub shows_cpu: bool,
    /// True if CPU_TIME adds up all runs of a job (`-cumulative-time`).
    pub adds_runs: bool,
    /// True if DAG_OWNER shows the names of nodes (`-dag`).
    pub shows_nodes: bool,
    /// True if BATCH_NAME does not show the id of a DAGMan job (`-batch:2`).
    pub folds_dags: bool,
    /// True if GRID_RESOURCE is cut to the width of its column.
    pub cuts_resources: bool,
    /// True if JOB_STATUS shows running jobs as suspended if they were suspended once (`REAL_TIME_JOB_SUSPEND_UPDATES`).
    pub shows_suspension: bool,
}

/// Function that formats a value of a column, or computes the value from the ad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnFunction {
    /// Prints letters for state and activity of a slot.
    ActivityCode,
    /// Prints the activity of a slot, or `OCU` if an idle slot has OCU = true.
    ActivityOrOcu,
    /// Prints the time that a slot has spent in its activity.
    ActivityTime,
    /// Prints the name of a job's batch.
    BatchName,
    /// Prints the state of a job's file transfer.
    BufferIoMisc,
    /// Prints the platform in `$CondorPlatform$`.
    CondorPlatform,
    /// Prints the version in `$CondorVersion$`.
    CondorVersion,
    /// Prints the run time or CPU time of a job.
    CpuTime,
    /// Prints the owner of a job, or the name of its node in a DAG.
    DagOwner,
    /// Prints a date.
    Date,
    /// Prints the time at which an ad expires.
    DueDate,
    /// Prints the time that has passed since an earlier time.
    ElapsedTime,
    /// Prints the last part of the id of a grid job.
    GridJobId,
    /// Prints type, manager and host of a grid resource.
    GridResource,
    /// Prints the state of a grid job.
    GridStatus,
    /// Prints program and arguments of a job.
    JobCommand,
    /// Prints the description of a job, or its program and arguments.
    JobDescription,
    /// Prints the state of a job factory.
    JobFactoryMode,
    /// Prints cluster and process of a job.
    JobId,
    /// Prints the letter of a job's status.
    JobStatus,
    /// Prints the word for a job's status.
    JobStatusRaw,
    /// Prints the name of a job's universe.
    JobUniverse,
    /// Prints a load average.
    LoadAvg,
    /// Prints the number of members of a list.
    MemberCount,
    /// Prints the megabytes of memory that a job uses.
    MemoryUsage,
    /// Prints the owner of a job.
    Owner,
    /// Prints the architecture and operating system of a machine.
    Platform,
    /// Prints a date, with the function's own format.
    QDate,
    /// Prints a number of bytes with a unit.
    ReadableBytes,
    /// Prints a number of kilobytes with a unit.
    ReadableKb,
    /// Prints a number of megabytes with a unit.
    ReadableMb,
    /// Prints the host on which a job runs.
    RemoteHost,
    /// Prints a duration, given as a real number.
    Runtime,
    /// Prints the strings in a list.
    StringsFromList,
    /// Prints a duration.
    Time,
    /// Prints the health expressions of a slot that are not true.
    Unhealth,
    /// Prints the distinct members of a list.
    Unique,
}

/// Kind of a column function, which determines the values for which it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnFunctionUse {
    /// Formats the column's value as an integer.
    FormatsInt,
    /// Formats the column's value as a real number.
    FormatsReal,
    /// Formats the column's value, whatever its type.
    FormatsValue,
    /// Computes the value from the whole ad.
    Renders,
}

impl ColumnFunction {
    /// Returns the function with this name, or `None`.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        FUNCTIONS.iter().find(|(known, ..)| known.as_bytes() == name).map(|(_, function, _)| *function)
    }

    /// Returns the default printf format of the function, or `None` if its text is printed unchanged.
    pub(crate) fn format(self) -> Option<&'static str> {
        FUNCTIONS.iter().find(|(_, function, _)| *function == self).and_then(|(.., format)| *format)
    }

    /// Returns the kind of the function.
    pub(crate) fn kind(self) -> ColumnFunctionUse {
        use ColumnFunction as F;
        match self {
            F::Date | F::JobStatusRaw | F::JobUniverse | F::QDate | F::Time => ColumnFunctionUse::FormatsInt,
            F::LoadAvg | F::Runtime => ColumnFunctionUse::FormatsReal,
            F::JobFactoryMode | F::ReadableBytes | F::ReadableKb | F::ReadableMb => {
                ColumnFunctionUse::FormatsValue
            }
            _ => ColumnFunctionUse::Renders,
        }
    }

    /// Returns the text for a value, if the function formats values.
    pub(crate) fn text(self, value: &Value, offset: impl Fn(i64) -> i32) -> Vec<u8> {
        use ColumnFunction as F;
        let number = value.as_int().unwrap_or(0);
        match self {
            F::Date | F::QDate => format_date(number, offset(number)),
            F::Time => format_duration(number),
            F::Runtime => format_duration(value.as_real().unwrap_or(0.0) as i64),
            F::LoadAvg => format!("{:.3}", value.as_real().unwrap_or(0.0)).into_bytes(),
            F::JobStatusRaw => raw_status(number).into(),
            F::JobUniverse => Universe::from_number(number).map_or("Unknown", Universe::name).into(),
            F::JobFactoryMode => factory_mode(value).into(),
            F::ReadableBytes => format_with_unit(value, 1.0),
            F::ReadableKb => format_with_unit(value, 1024.0),
            F::ReadableMb => format_with_unit(value, 1024.0 * 1024.0),
            _ => Vec::new(),
        }
    }

    /// Returns the value of the column, if the function computes it. `value` is that of the column's own expression.
    pub(crate) fn render(
        self,
        value: Option<&Value>,
        ad: &ClassAd,
        context: &Context<'_>,
        settings: &FunctionSettings,
        width: ColumnWidth,
    ) -> Option<Value> {
        use ColumnFunction as F;
        let text = value.and_then(Value::as_str);
        let number = value.and_then(Value::as_int).unwrap_or(0);
        let string = |text: Option<BString>| text.map(Value::Str);
        match self {
            F::ActivityCode => activity_code(text.unwrap_or_default(), context).map(Value::from),
            F::ActivityOrOcu => Some(Value::Str(activity_or_ocu(text.unwrap_or_default(), context))),
            F::ActivityTime => context
                .int("MyCurrentTime")
                .or_else(|| context.int("LastHeardFrom"))
                .map(|now| Value::Int(now.saturating_sub(number).max(0))),
            F::BatchName => string(batch_name(ad, context, settings)),
            F::BufferIoMisc => Some(Value::from(transfer_words(context))),
            F::CondorPlatform => {
                text.filter(|text| !text.is_empty()).map(|text| Value::Str(platform_of_build(text)))
            }
            F::CondorVersion => {
                text.filter(|text| !text.is_empty()).map(|text| Value::Str(version_of(text, width)))
            }
            F::CpuTime => {
                let cpu = context.real("RemoteUserCpu")?;
                Some(Value::Real(if settings.shows_cpu { cpu } else { run_time(context, settings) }))
            }
            F::DagOwner => string(dag_owner(ad, context, settings)),
            F::DueDate => context.int("LastHeardFrom").map(|now| Value::Int(now.wrapping_add(number))),
            F::ElapsedTime => context.int("LastHeardFrom").map(|now| Value::Int(now.wrapping_sub(number))),
            F::GridJobId => string(grid_job_id(context)),
            F::GridResource => string(grid_resource(context, settings)),
            F::GridStatus => string(grid_status(context)),
            F::JobCommand => string(command(context)),
            F::JobDescription => string(description(context)),
            F::JobId => string(job_id(context)),
            F::JobStatus => job_status(context, settings).map(Value::from),
            F::MemberCount => match value {
                Some(Value::Str(text)) => Some(Value::Int(crate::text::list::split(text).count() as i64)),
                Some(Value::List(list)) => Some(Value::Int(list.items().len() as i64)),
                _ => None,
            },
            F::MemoryUsage => memory(context).map(Value::Real),
            F::Owner => string(context.string("Owner")),
            F::Platform => string(machine_platform(context)),
            F::RemoteHost => string(remote_host(context)),
            F::StringsFromList => value.and_then(Value::as_list).map(|items| Value::Str(join_strings(items))),
            F::Unhealth => health_problems(value, context),
            F::Unique => value.and_then(join_unique),
            _ => None,
        }
    }
}

const FUNCTIONS: &[(&str, ColumnFunction, Option<&str>)] = &[
    ("ACTIVITY_CODE", ColumnFunction::ActivityCode, None),
    ("ACTIVITY_OR_OCU", ColumnFunction::ActivityOrOcu, None),
    ("ACTIVITY_TIME", ColumnFunction::ActivityTime, Some("%T")),
    ("BATCH_NAME", ColumnFunction::BatchName, None),
    ("BUFFER_IO_MISC", ColumnFunction::BufferIoMisc, None),
    ("CONDOR_PLATFORM", ColumnFunction::CondorPlatform, None),
    ("CONDOR_VERSION", ColumnFunction::CondorVersion, None),
    ("CPU_TIME", ColumnFunction::CpuTime, Some("%T")),
    ("DAG_OWNER", ColumnFunction::DagOwner, None),
    ("DATE", ColumnFunction::Date, None),
    ("DUE_DATE", ColumnFunction::DueDate, Some("%Y")),
    ("ELAPSED_TIME", ColumnFunction::ElapsedTime, Some("%T")),
    ("GRID_JOB_ID", ColumnFunction::GridJobId, None),
    ("GRID_RESOURCE", ColumnFunction::GridResource, None),
    ("GRID_STATUS", ColumnFunction::GridStatus, None),
    ("JOB_COMMAND", ColumnFunction::JobCommand, None),
    ("JOB_DESCRIPTION", ColumnFunction::JobDescription, None),
    ("JOB_FACTORY_MODE", ColumnFunction::JobFactoryMode, None),
    ("JOB_ID", ColumnFunction::JobId, None),
    ("JOB_STATUS", ColumnFunction::JobStatus, None),
    ("JOB_STATUS_RAW", ColumnFunction::JobStatusRaw, None),
    ("JOB_UNIVERSE", ColumnFunction::JobUniverse, None),
    ("LOAD_AVG", ColumnFunction::LoadAvg, None),
    ("MEMBER_COUNT", ColumnFunction::MemberCount, Some("%d")),
    ("MEMORY_USAGE", ColumnFunction::MemoryUsage, Some("%.1f")),
    ("OWNER", ColumnFunction::Owner, None),
    ("PLATFORM", ColumnFunction::Platform, None),
    ("QDATE", ColumnFunction::QDate, Some("%Y")),
    ("READABLE_BYTES", ColumnFunction::ReadableBytes, None),
    ("READABLE_KB", ColumnFunction::ReadableKb, None),
    ("READABLE_MB", ColumnFunction::ReadableMb, None),
    ("REMOTE_HOST", ColumnFunction::RemoteHost, None),
    ("RUNTIME", ColumnFunction::Runtime, None),
    ("STRINGS_FROM_LIST", ColumnFunction::StringsFromList, None),
    ("TIME", ColumnFunction::Time, None),
    ("UNHEALTH", ColumnFunction::Unhealth, None),
    ("UNIQUE", ColumnFunction::Unique, None),
];

fn job_id(context: &Context<'_>) -> Option<BString> {
    let number = |name: &str| context.int(name).map(|number| number as i32);
    match number("ClusterId") {
        Some(cluster) => {
            let process = number("ProcId").unwrap_or(-1);
            Some(format!("{cluster}.{process}").into())
        }
        None => context.string("JobId"),
    }
}

fn batch_name(ad: &ClassAd, context: &Context<'_>, settings: &FunctionSettings) -> Option<BString> {
    if let Some(name) = context.string("JobBatchName") {
        return Some(name);
    }
    if !settings.folds_dags && context.int("JobUniverse") == Some(Universe::Scheduler.number()) {
        return Some(format!("DAG: {}", context.int("ClusterId").unwrap_or(0) as i32).into());
    }
    let node = ad.contains("DAGManJobId").then(|| context.string("DAGNodeName")).flatten();
    node.map(|node| [b"NODE: ", node.as_slice()].concat().into())
}

fn dag_owner(ad: &ClassAd, context: &Context<'_>, settings: &FunctionSettings) -> Option<BString> {
    let node = (settings.shows_nodes && ad.contains("DAGManJobId")).then(|| context.string("DAGNodeName"));
    node.flatten().or_else(|| context.string("Owner"))
}

/// Returns the wall-clock time of a job in seconds, or -1 for an ad without ServerTime (`job_time`).
fn run_time(context: &Context<'_>, settings: &FunctionSettings) -> f64 {
    let real = |name: &str| context.real(name).unwrap_or(0.0);
    let earlier_runs = if settings.adds_runs { real("RemoteWallClockTime") } else { 0.0 };
    let Some(now) = context.int("ServerTime").filter(|now| *now != 0) else { return -1.0 };
    match (context.int("JobStatus").unwrap_or(0), context.int("ShadowBday").unwrap_or(0)) {
        (2 | 6 | 7, begun) if begun != 0 => earlier_runs + now.wrapping_sub(begun) as f64,
        (1 | 5 | 9, _) if !settings.adds_runs => {
            context.real("LastRemoteWallClockTime").unwrap_or(earlier_runs)
        }
        _ => earlier_runs,
    }
}

/// Returns the letter for JobStatus, and marks for the state of the job's file transfer.
fn job_status(context: &Context<'_>, settings: &FunctionSettings) -> Option<String> {
    let status = context.int("JobStatus")?;
    let is = |name: &str| context.boolean(name).unwrap_or(false);
    let letter = usize::try_from(status).ok().and_then(|at| b" IRXCH>SFBP".get(at)).copied().unwrap_or(b' ');
    let mut text = [letter, b' '];
    if settings.shows_suspension && status == 2 && context.int("LastSuspensionTime").unwrap_or(0) != 0 {
        text[0] = b'S';
    }
    let queued = if is("TransferQueued") { b'q' } else { b' ' };
    if is("TransferringInput") {
        text = [b'<', queued];
    }
    if is("TransferringOutput") || status == 6 {
        text = [queued, b'>'];
    }
    if context.int("JobCoolDownExpiration").is_some_and(|end| end > context.world().epoch()) {
        text[1] = b'c';
    }
    Some(text.map(char::from).iter().collect())
}

fn raw_status(status: i64) -> &'static str {
    match status {
        1 => "Idle   ",
        2 => "Running",
        3 => "Removed",
        4 => "Complet",
        5 => "Held   ",
        6 => "XFerOut",
        7 => "Suspend",
        8 => "Failed ",
        9 => "Blocked",
        10 => "Preparing",
        _ => "Unk    ",
    }
}

fn factory_mode(value: &Value) -> &'static str {
    match (value, value.as_int()) {
        (Value::Undefined, _) => "",
        (_, Some(-1)) => "Errs",
        (_, Some(0)) => "Norm",
        (_, Some(1)) => "Held",
        (_, Some(2)) => "Done",
        (_, Some(3)) => "Gone",
        (_, Some(_)) => "Unk",
        (_, None) => "????",
    }
}

/// Returns a number of bytes with a unit, or blanks for a value that is not a number (`metric_units`).
fn format_with_unit(value: &Value, factor: f64) -> Vec<u8> {
    let mut bytes = match value {
        Value::Int(number) => *number as f64 * factor,
        Value::Real(number) => number * factor,
        _ => return b"        ".to_vec(),
    };
    let mut units = ["B ", "KB", "MB", "GB"].into_iter();
    while bytes > 1024.0 {
        match units.next() {
            Some(_) => bytes /= 1024.0,
            None => break,
        }
    }
    format!("{bytes:.1} {}", units.next().unwrap_or("TB")).into_bytes()
}

/// Returns the megabytes of memory that the job uses, or else its image size.
pub(crate) fn memory(context: &Context<'_>) -> Option<f64> {
    let image = || context.int("ImageSize").map(|size| size as f64 / 1024.0);
    context.int("MemoryUsage").map(|size| size as f64).or_else(image)
}

fn transfer_words(context: &Context<'_>) -> String {
    let is = |name: &str| context.boolean(name).unwrap_or(false);
    let states = [("TransferringInput", "in"), ("TransferringOutput", "out"), ("TransferQueued", "queued")];
    let words: Vec<&str> = states.iter().filter(|(name, _)| is(name)).map(|(_, word)| *word).collect();
    if words.is_empty() { String::new() } else { format!(" transfer={}", words.join(",")) }
}

fn command(context: &Context<'_>) -> Option<BString> {
    let mut text = context.string("Cmd")?;
    if let Some(arguments) = context.string("Args").or_else(|| context.string("Arguments")) {
        text.push(b' ');
        text.extend_from_slice(&arguments);
    }
    Some(text)
}

fn description(context: &Context<'_>) -> Option<BString> {
    let command = context.string("Cmd")?;
    let description = context.string("MATCH_EXP_JobDescription").or_else(|| context.string("JobDescription"));
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        return Some([b"(", description.as_slice(), b")"].concat().into());
    }
    let mut text = BString::from(command.rsplit_str("/").next().unwrap_or_default());
    let arguments = context.string("Arguments").or_else(|| context.string("Args")).unwrap_or_default();
    if !arguments.is_empty() {
        text.push(b' ');
        text.extend_from_slice(&arguments);
    }
    Some(text)
}

fn remote_host(context: &Context<'_>) -> Option<BString> {
    if context.int("JobUniverse") == Some(Universe::Grid.number()) {
        return context.string("EC2RemoteVirtualMachineName").or_else(|| context.string("GridResource"));
    }
    // Addresses are not resolved to host names.
    context.string("RemoteHost").and_then(|host| match host.starts_with(b"<127.0.0.1:") {
        true => Some("localhost".into()),
        false if host.starts_with(b"<") && host.ends_with(b">") => None,
        false => Some(host),
    })
}

fn grid_status(context: &Context<'_>) -> Option<BString> {
    if let Some(text) = context.string("GridJobStatus") {
        return Some(text);
    }
    let number = context.int("GridJobStatus")?;
    let name = match number {
        1 => "IDLE",
        2 => "RUNNING",
        3 => "REMOVED",
        4 => "COMPLETED",
        5 => "HELD",
        6 => "XFER_OUT",
        7 => "SUSPENDED",
        8 => "FAILED",
        9 => "BLOCKED",
        10 => "PREPARING",
        _ => return Some(number.to_string().into()),
    };
    Some(name.into())
}

/// Returns a GridResource as `TYPE->MANAGER HOST` (`local_render_grid_resource`).
fn grid_resource(context: &Context<'_>, settings: &FunctionSettings) -> Option<BString> {
    let resource = context.string("GridResource")?;
    let (kind, rest) = match resource.find_byte(b' ') {
        Some(blank) => (&resource[..blank], &resource[blank + 1..]),
        None => (b"globus".as_slice(), resource.as_slice()),
    };
    // The manager follows the host, or is part of the address.
    let (manager, end) = match rest.find_byte(b' ') {
        Some(blank) => (&rest[blank + 1..], blank),
        None => match rest.find("jobmanager-") {
            Some(at) => (&rest[at + "jobmanager-".len()..], at),
            None => (b"[?]".as_slice(), rest.len()),
        },
    };
    let start = rest.find("://").map_or(0, |at| at + 3);
    let stop = rest[start..].find_byteset(b":/").map_or(rest.len(), |at| start + at).min(end);
    // If the address follows the manager, the reference computes a negative length and uses the whole rest.
    let host = if stop < start { &rest[start..] } else { &rest[start..stop] };
    let mut text = if kind == b"ec2" {
        let machine = context.string("EC2RemoteVirtualMachineName");
        let host: &[u8] = machine.as_ref().map_or(host, |name| name.as_slice());
        [b"ec2 ", host].concat()
    } else {
        [kind, b"->", &manager.replace(" ", "/"), b" ", host].concat()
    };
    text.truncate(if settings.cuts_resources { 36 } else { 1023 });
    Some(text.into())
}

/// Returns the last part of a GridJobId (`render_grid_job_id`).
fn grid_job_id(context: &Context<'_>) -> Option<BString> {
    let id = context.string("GridJobId")?;
    let start = id.rfind_byte(b' ').map_or(0, |blank| blank + 1);
    let host = id[start..].find("://").map_or(start, |at| start + at + 3);
    let end = id[host..].find_byte(b'/').map_or(host, |at| host + at);
    let kind = context.string("GridResource").unwrap_or_else(|| "globus".into());
    let kind = kind.split(|byte| *byte == b' ').next().unwrap_or_default();
    if !matches!(kind, b"gt5" | b"gt2") {
        return Some(id[end..].into());
    }
    // `/JOB/NUMBER/` is printed as `JOB.NUMBER`.
    let path = id[end..].strip_prefix(b"/").unwrap_or(&id[end..]);
    let mut parts = path.splitn(3, |byte| *byte == b'/');
    let mut text = BString::from(parts.next().unwrap_or_default());
    if let Some(number) = parts.next() {
        text.push(b'.');
        text.extend_from_slice(number);
    }
    Some(text)
}
