//! History of the runs of a job (JOB_EPOCH_HISTORY, JOB_EPOCH_HISTORY_DIR; `job_ad_instance_recording.cpp`).

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use htc_base::text::calendar::CivilTime;
use htc_base::text::list;
use htc_base::time::ClockReading;
use htc_base::world::{FileKind, World};
use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Value};
use htc_hook::ParameterSource;
use htc_hook::transfer::TransferClass;
use htc_starter::shadow::{RunRecordKind, TransferRecord};

const DIRECTORY_PARAMETER: &str = "JOB_EPOCH_HISTORY_DIR";
const FILE_PARAMETER: &str = "JOB_EPOCH_HISTORY";
/// Attributes of each record of a run's start; the attributes in SPAWN_JOB_ATTRS are added.
const SPAWN_ATTRIBUTES: [&str; 7] =
    ["ClusterId", "ProcId", "NumShadowStarts", "Owner", "ShadowBday", "RunInstanceId", "EpochAdType"];
/// Size in bytes at which the file with the records of one job is rotated.
const MAX_JOB_FILE_SIZE: u64 = 100 * 1024 * 1024;

/// Files to which the records of runs are appended.
#[derive(Debug, Default)]
pub(super) struct RunHistory {
    /// Directory with one file per job.
    directory: Option<PathBuf>,
    /// File with the records of all jobs.
    file: Option<HistoryFile>,
    /// Attributes in the records of run starts, or `None` for all attributes.
    spawn_attributes: Option<Vec<BString>>,
    transfer_attributes: TransferAttributes,
}

/// Attributes of the job that records of transfers contain, by the class of the transfer.
#[derive(Debug, Default)]
struct TransferAttributes {
    input: Vec<BString>,
    output: Vec<BString>,
    checkpoint: Vec<BString>,
}

impl TransferAttributes {
    fn from_parameters(parameters: &dyn ParameterSource) -> Self {
        let names = |parameter: &[u8]| {
            // A parameter for one class of transfers replaces the parameter for all classes, even if its value is
            // empty.
            let is_set = parameters.origin(parameter).is_some() || parameters.get(parameter).is_some();
            let parameter = if is_set { parameter } else { b"TRANSFER_JOB_ATTRS" };
            let listed = parameters.get(parameter).unwrap_or_default();
            let names = list::split(&listed).map(BString::from);
            names.chain(["RemoteHost".into()]).collect()
        };
        TransferAttributes {
            input: names(b"INPUT_JOB_ATTRS"),
            output: names(b"OUTPUT_JOB_ATTRS"),
            checkpoint: names(b"CHECKPOINT_JOB_ATTRS"),
        }
    }
}

/// Ids of a job and of one of its runs.
struct RunIdentity {
    cluster: i64,
    proc: i64,
    run: i64,
    owner: BString,
}

impl RunIdentity {
    fn of(ad: &ClassAd, world: &dyn World) -> Self {
        let context = Context::new(world).my(ad);
        RunIdentity {
            cluster: context.int("ClusterId").unwrap_or(1),
            proc: context.int("ProcId").unwrap_or(0),
            run: context.int("NumShadowStarts").unwrap_or(1) - 1,
            owner: context.string("Owner").unwrap_or_else(|| "?".into()),
        }
    }

    /// Adds the fields of the line that follows a record to the record, unless the record has them.
    fn complete(&self, mut record: ClassAd, record_name: &str) -> ClassAd {
        let fields: [(&str, Value); 5] = [
            ("RunInstanceId", self.run.into()),
            ("EpochAdType", BString::from(record_name).into()),
            ("ClusterId", self.cluster.into()),
            ("ProcId", self.proc.into()),
            ("Owner", self.owner.clone().into()),
        ];
        for (name, value) in fields {
            if !record.contains(name) {
                record.set(name, value);
            }
        }
        record
    }

    /// Returns the text of a record and the line that follows it.
    fn record_text(&self, now: ClockReading, record: &ClassAd, record_name: &str) -> Vec<u8> {
        let RunIdentity { cluster, proc, run, owner } = self;
        let time = now.epoch();
        let end = format!(
            "JobEpochWriteDate = {time}\n*** {record_name} ClusterId={cluster} ProcId={proc} RunInstanceId={run} \
             Owner=\"{owner}\" CurrentTime={time}\n"
        );
        [long::print(record).as_slice(), end.as_bytes()].concat()
    }
}

/// History file that is rotated when it reaches its maximum size.
#[derive(Debug)]
struct HistoryFile {
    path: PathBuf,
    max_size: u64,
    /// Number of rotated files to keep.
    rotations: usize,
}

impl RunHistory {
    /// Reads the configuration. Also returns a message if the configuration asks for a record of runs that cannot be
    /// written.
    pub(super) fn from_parameters(
        parameters: &dyn ParameterSource,
        world: &dyn World,
    ) -> (Self, Option<String>) {
        let mut history = RunHistory {
            directory: None,
            file: HistoryFile::from_parameters(parameters),
            spawn_attributes: spawn_attributes(parameters),
            transfer_attributes: TransferAttributes::from_parameters(parameters),
        };
        let Some(directory) = parameters.get(DIRECTORY_PARAMETER.as_bytes()) else { return (history, None) };
        let path = Path::new(OsStr::from_bytes(&directory)).to_owned();
        match world.stat(&path) {
            Ok(status) if status.kind == FileKind::Directory => {
                history.directory = Some(path);
                (history, None)
            }
            _ => {
                let text = format!(
                    "{DIRECTORY_PARAMETER} is not a directory, so the history of runs is not written: {directory}"
                );
                (history, Some(text))
            }
        }
    }

    /// Appends a record of the start or the end of a run.
    pub(super) fn record_run(
        &self,
        now: ClockReading,
        kind: RunRecordKind,
        ad: &ClassAd,
        world: &dyn World,
    ) -> io::Result<()> {
        if !self.is_active() {
            return Ok(());
        }
        let run = RunIdentity::of(ad, world);
        let (record_name, wanted) = match kind {
            RunRecordKind::Spawn => ("SPAWN", self.spawn_attributes.as_ref()),
            RunRecordKind::End => ("EPOCH", None),
        };
        let mut record = run.complete(ad.clone(), record_name);
        if let Some(wanted) = wanted {
            let is_wanted = |name: &[u8]| wanted.iter().any(|one| one.eq_ignore_ascii_case(name));
            let mut selected = ClassAd::new();
            for (name, expr) in record.iter().filter(|(name, _)| is_wanted(name)) {
                selected.insert(name, expr);
            }
            record = selected;
        }
        self.append(now, &run, &run.record_text(now, &record, record_name), world)
    }

    /// Appends a record of a transfer: the results of the plugins, and some attributes of the job
    /// (`copyEpochJobAttrs`).
    pub(super) fn record_transfer(
        &self,
        now: ClockReading,
        transfer: &TransferRecord,
        world: &dyn World,
    ) -> io::Result<()> {
        if !self.is_active() {
            return Ok(());
        }
        let run = RunIdentity::of(&transfer.job, world);
        let mut record = transfer.transfer.clone();
        let names = match transfer.class {
            TransferClass::Input => &self.transfer_attributes.input,
            TransferClass::Output => &self.transfer_attributes.output,
            TransferClass::Checkpoint => &self.transfer_attributes.checkpoint,
        };
        for name in names {
            if let Some(value) = transfer.job.get(name).filter(|_| !record.contains(name)) {
                record.insert(name, value);
            }
        }
        let record_name = transfer.class.record_name();
        let record = run.complete(record, record_name);
        self.append(now, &run, &run.record_text(now, &record, record_name), world)
    }

    fn is_active(&self) -> bool {
        self.directory.is_some() || self.file.is_some()
    }

    fn append(&self, now: ClockReading, run: &RunIdentity, text: &[u8], world: &dyn World) -> io::Result<()> {
        if let Some(file) = &self.file {
            file.append(text, now, world)?;
        }
        if let Some(directory) = &self.directory {
            let path = directory.join(format!("job.runs.{}.{}.ads", run.cluster, run.proc));
            HistoryFile { path, max_size: MAX_JOB_FILE_SIZE, rotations: 1 }.append(text, now, world)?;
        }
        Ok(())
    }
}

/// Reads SPAWN_JOB_ATTRS; returns `None` if all attributes are recorded.
fn spawn_attributes(parameters: &dyn ParameterSource) -> Option<Vec<BString>> {
    let listed = parameters.get(b"SPAWN_JOB_ATTRS").unwrap_or_default();
    if listed.trim().eq_ignore_ascii_case(b"all") {
        return None;
    }
    let named = list::split(&listed).map(BString::from);
    Some(SPAWN_ATTRIBUTES.iter().map(|name| (*name).into()).chain(named).collect())
}

impl HistoryFile {
    /// Reads the parameters of the history file of all jobs; returns `None` if JOB_EPOCH_HISTORY is undefined or has
    /// its default value, because the default file in SPOOL belongs to the schedd.
    fn from_parameters(parameters: &dyn ParameterSource) -> Option<Self> {
        let path = parameters.get(FILE_PARAMETER.as_bytes())?;
        let is_default =
            parameters.origin(FILE_PARAMETER.as_bytes()).is_some_and(|place| place.starts_with("<Default>"));
        let number = |name: &[u8]| {
            parameters.get(name).and_then(|text| text.to_str().ok()?.trim().parse::<u64>().ok())
        };
        (!is_default).then(|| HistoryFile {
            path: Path::new(OsStr::from_bytes(&path)).to_owned(),
            max_size: number(b"MAX_EPOCH_HISTORY_LOG").unwrap_or(20 * 1024 * 1024),
            rotations: number(b"MAX_EPOCH_HISTORY_ROTATIONS").map_or(2, |number| number.max(1) as usize),
        })
    }

    fn append(&self, text: &[u8], now: ClockReading, world: &dyn World) -> io::Result<()> {
        let name =
            |error: io::Error| io::Error::new(error.kind(), format!("'{}': {error}", self.path.display()));
        self.rotate(text.len() as u64, now, world).map_err(name)?;
        let mut file =
            OpenOptions::new().append(true).create(true).mode(0o644).open(&self.path).map_err(name)?;
        file.write_all(text).map_err(name)
    }

    /// Renames a file that would exceed its maximum size to `NAME.TIME`, and removes the oldest renamed files
    /// (`MaybeRotateHistory`).
    fn rotate(&self, added: u64, now: ClockReading, world: &dyn World) -> io::Result<()> {
        let size = match fs::metadata(&self.path) {
            Ok(status) => status.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if size + added <= self.max_size {
            return Ok(());
        }
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let base = [self.path.file_name().unwrap_or_default().as_bytes(), b"."].concat();
        let mut rotated: Vec<_> = fs::read_dir(directory)?.flatten().map(|entry| entry.file_name()).collect();
        rotated.retain(|name| name.as_bytes().strip_prefix(&base[..]).is_some_and(is_rotation_time));
        rotated.sort();
        for oldest in rotated.iter().take((rotated.len() + 1).saturating_sub(self.rotations)) {
            fs::remove_file(directory.join(oldest))?;
        }
        let seconds = now.epoch();
        let time = CivilTime::from_seconds(seconds, i64::from(world.local_zone(seconds).offset));
        let CivilTime { year, month, day, hour, minute, second } = time;
        let mut target = self.path.clone().into_os_string();
        target.push(format!(".{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}"));
        fs::rename(&self.path, target)
    }
}

/// Returns true for a time in the form of a rotated file's name, such as `20260131T235959`.
fn is_rotation_time(text: &[u8]) -> bool {
    text.len() == 15
        && text
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 8 { *byte == b'T' } else { byte.is_ascii_digit() })
}
