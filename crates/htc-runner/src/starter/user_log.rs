//! Event log that a job without a shadow requests with `StarterUserLog`.
//!
//! Reference: `local_user_log.cpp`, called by `jic_local.cpp`. A log that cannot be opened does not prevent the job
//! from running.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::job_child::is_dangling;
use crate::event_log::{EventLog, EventLogParameters, lock_directory};
use htc_base::process::ProcessIdentity;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::{ConfigView, ValueError};
use htc_os::clock;
use htc_os::file_lock::FileLock;
use htc_os::identity::run_as;
use htc_starter::{JobInfo, JobLogEvent};
use htc_user_log::{
    CpuTime, EventBody, EventTime, FormatOptions, JobEvent, RunUsage, TerminatedEvent, dagman_nodes_mask,
};

/// Event log of a job. Events are skipped until the log is opened.
#[derive(Debug)]
pub struct UserLog {
    /// The job's main log.
    main_log: UserLogFile,
    /// The log of the DAGMan job that submitted the job, or `None`.
    nodes_log: Option<UserLogFile>,
    id: (i32, i32, i32),
    options: FormatOptions,
    address: BString,
    locking: LogLocking,
    /// The event log of all jobs, which is written first.
    event_log: Option<EventLog>,
    /// Reason why the event log of all jobs could not be written, or `None`.
    complaint: Option<String>,
    has_complained: bool,
    ad: ClassAd,
}

/// One file to which the job's events are written.
#[derive(Debug)]
struct UserLogFile {
    path: PathBuf,
    format: LogFormat,
    /// Numbers of the events to write, or `None` for all events with the additions that the ad requests.
    mask: Option<Vec<i64>>,
    /// True if each event is written through to the disk.
    fsync: bool,
    file: Option<fs::File>,
}

impl UserLogFile {
    /// Opens the file, creating missing parent directories.
    fn open(&mut self) -> io::Result<()> {
        if self.path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // The reference does not create a log through a symbolic link either.
        if is_dangling(&self.path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut options = fs::OpenOptions::new();
        // `O_NONBLOCK` keeps a FIFO without a reader from blocking the job.
        options.append(true).create(true).mode(0o644).custom_flags(nix::libc::O_NONBLOCK);
        self.file = Some(options.open(&self.path)?);
        Ok(())
    }

    fn accepts_event(&self, event: &JobEvent) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask.contains(&i64::from(event.number)))
    }

    fn print(&self, event: &JobEvent, options: FormatOptions) -> Vec<u8> {
        match self.format {
            LogFormat::Text => event.to_text(options),
            LogFormat::Xml => event.to_xml(),
            LogFormat::Json => event.to_json(),
        }
    }

    /// Appends bytes with a single write; does nothing if the file is not open.
    fn append(&mut self, bytes: &[u8], locking: &LogLocking) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let _lock = match locking {
            LogLocking::Off => None,
            LogLocking::LogItself => Some(FileLock::acquire(&self.path, file, None)?),
            LogLocking::LockDirectory(place) => Some(FileLock::acquire(&self.path, file, Some(place))?),
        };
        file.write_all(bytes)?;
        if self.fsync { file.sync_data() } else { Ok(()) }
    }
}

/// Locking of a log while it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogLocking {
    /// The log is not locked.
    #[default]
    Off,
    /// The log file itself is locked.
    LogItself,
    /// Lock files in this directory are used.
    LockDirectory(PathBuf),
}

/// Log settings from the configuration and the command line.
#[derive(Clone, Debug, Default)]
pub struct UserLogSettings {
    /// Value of DEFAULT_USERLOG_FORMAT_OPTIONS.
    pub options: BString,
    /// Value of ENABLE_USERLOG_LOCKING.
    pub locking: LogLocking,
    /// Value of ENABLE_USERLOG_FSYNC.
    pub fsync: bool,
    /// Parameters of the event log of all jobs (EVENT_LOG), or `None` if it is not set.
    pub event_log: Option<EventLogParameters>,
    /// Path given with `--log`, which overrides the path in the job ad.
    pub path_override: Option<PathBuf>,
}

impl UserLogSettings {
    /// Reads the settings; `named` is the path given with `--log`.
    ///
    /// # Errors
    /// Fails if a value is invalid.
    pub fn read(view: &ConfigView<'_>, named: Option<PathBuf>) -> Result<Self, ValueError> {
        let boolean = |name: &str| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.is_some_and(|setting| setting.value))
        };
        let options = view.string("DEFAULT_USERLOG_FORMAT_OPTIONS")?.map(|setting| setting.value);
        let locking = match boolean("ENABLE_USERLOG_LOCKING")? {
            true => lock_directory(view)?.map_or(LogLocking::LogItself, LogLocking::LockDirectory),
            false => LogLocking::Off,
        };
        Ok(UserLogSettings {
            options: options.unwrap_or_default(),
            locking,
            fsync: boolean("ENABLE_USERLOG_FSYNC")?,
            event_log: EventLogParameters::read(view)?,
            path_override: named,
        })
    }
}

/// Path by which a job disables its log (`UNIX_NULL_FILE`).
const NULL_LOG: &str = "/dev/null";

/// Attribute with the path of the log that schedd and shadow write.
const QUEUE_LOG_ATTRIBUTE: &str = "UserLog";
/// Attribute with the path of the log that DAGMan reads.
const NODES_LOG_ATTRIBUTE: &str = "DAGManNodesLog";
/// Bit of UserLogUseXML that requests JSON.
const JSON_BIT: i64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogFormat {
    Text,
    Xml,
    Json,
}

/// Inputs for creating a job's log.
pub struct UserLogInputs<'a> {
    /// The job ad in the form in which it was read.
    pub ad: &'a ClassAd,
    /// Data of the job.
    pub job: &'a JobInfo,
    /// The scratch directory, relative to which Iwd is resolved.
    pub scratch: &'a Path,
    /// Log settings from the configuration and the command line.
    pub settings: &'a UserLogSettings,
    /// The account of the daemons, which writes the event log of all jobs, or `None` for the account of this program.
    pub daemon: Option<ProcessIdentity>,
    /// Placeholder for the starter's address: `<host:port>`.
    pub address: BString,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Access to the outside world, for evaluating expressions.
    pub world: &'a dyn World,
}

impl UserLog {
    /// Creates the log that the ad requests from a starter, or returns `None` if it requests none.
    pub fn for_starter(opening: &UserLogInputs<'_>) -> Option<UserLog> {
        Self::from_attribute(opening, "StarterUserLog", "StarterUserLogUseXML")
    }

    /// Creates the log that the ad requests from schedd and shadow. Schedd and shadow write the event log of all jobs
    /// even if the ad requests no log.
    pub fn for_queue(opening: &UserLogInputs<'_>) -> Option<UserLog> {
        let only_global = || {
            opening.settings.event_log.as_ref()?;
            let named = Some(PathBuf::from(NULL_LOG));
            let settings = UserLogSettings { path_override: named, ..opening.settings.clone() };
            let opening = UserLogInputs {
                settings: &settings,
                daemon: opening.daemon.clone(),
                address: opening.address.clone(),
                ..*opening
            };
            Self::from_attribute(&opening, QUEUE_LOG_ATTRIBUTE, "UserLogUseXML")
        };
        Self::from_attribute(opening, QUEUE_LOG_ATTRIBUTE, "UserLogUseXML").or_else(only_global)
    }

    fn from_attribute(opening: &UserLogInputs<'_>, attribute: &str, xml: &str) -> Option<UserLog> {
        let of_queue = attribute == QUEUE_LOG_ATTRIBUTE;
        let context = || Context::new(opening.world).my(opening.ad);
        let of_option =
            opening.settings.path_override.as_ref().map(|path| BString::from(path.as_os_str().as_bytes()));
        let path_of = |name: BString| match name.is_empty() {
            true => PathBuf::new(),
            false => directory(opening, of_queue).join(name.to_path_lossy()),
        };
        let own = of_option.or_else(|| context().string(attribute));
        let nodes = context().string(NODES_LOG_ATTRIBUTE).filter(|name| of_queue && !name.is_empty());
        // A job may have only the log of its DAGMan.
        let path = match (own, &nodes) {
            (None, None) => return None,
            (None, Some(_)) => PathBuf::from(NULL_LOG),
            (Some(name), _) => path_of(name),
        };
        let options = FormatOptions::parse(&opening.settings.options);
        let words = !opening.quirks.reproduces(Quirk::UserlogFormatWordsIgnored);
        // The log of schedd and shadow has two attributes for the format; the log of a starter has only the first of
        // them.
        let bits = context().int(xml).filter(|_| of_queue).unwrap_or(0);
        let form = match context().boolean(xml) {
            _ if bits & JSON_BIT != 0 => LogFormat::Json,
            Some(true) => LogFormat::Xml,
            _ if words && options.xml => LogFormat::Xml,
            _ if words && options.json => LogFormat::Json,
            _ => LogFormat::Text,
        };
        // Job ids in a log have 32 bits.
        let number = |number: i64| number as i32;
        let id = (number(opening.job.cluster), number(opening.job.proc), number(opening.job.subproc));
        let global = opening.settings.event_log.clone();
        let nodes = nodes.map(|name| {
            let mask = dagman_nodes_mask(opening.ad, opening.world);
            // A log with a mask is never written as XML.
            let form = if mask.is_some() && form == LogFormat::Xml { LogFormat::Text } else { form };
            UserLogFile { path: path_of(name), format: form, mask, fsync: true, file: None }
        });
        Some(UserLog {
            main_log: UserLogFile {
                path,
                format: form,
                mask: None,
                fsync: opening.settings.fsync,
                file: None,
            },
            nodes_log: nodes,
            id,
            options,
            address: opening.address.clone(),
            locking: opening.settings.locking.clone(),
            event_log: global
                .map(|parameters| EventLog::new(parameters, opening.daemon.clone(), clock::now())),
            complaint: None,
            has_complained: false,
            ad: opening.ad.clone(),
        })
    }

    /// Opens the log under the job's account, creating missing parent directories. The scratch directory must exist,
    /// because a relative Iwd is in it and is created together with the log (`JICLocal::init`).
    ///
    /// # Errors
    /// Fails on errors of the file system; the job runs nevertheless.
    pub fn open(&mut self, identity: Option<&ProcessIdentity>) -> io::Result<()> {
        let logs = [Some(&mut self.main_log), self.nodes_log.as_mut()].into_iter().flatten();
        let wanted = logs.filter(|log| log.path != Path::new(NULL_LOG));
        let open_all = || {
            // If one log cannot be opened, the other is opened nevertheless.
            let results: Vec<io::Result<()>> = wanted.map(|log| log.open()).collect();
            results.into_iter().collect()
        };
        run_as(identity, open_all)?
    }

    /// Returns the path of the job's own log.
    pub fn path(&self) -> &Path {
        &self.main_log.path
    }

    /// Appends one event to the event log of all jobs and to the job's main log, each with a single write. A log that
    /// is not open is skipped.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn write(&mut self, now: ClockReading, event: &JobLogEvent, world: &dyn World) -> io::Result<()> {
        let event = self.event(now, self.body(event), world);
        let ad = self.ad.clone();
        self.write_global(&event, &ad, now, world);
        self.main_log.append(&self.main_log.print(&event, self.options), &self.locking)
    }

    /// Writes an event to the event log of all jobs, before the job's own log. A failure does not prevent writing the
    /// job's own log.
    fn write_global(&mut self, event: &JobEvent, ad: &ClassAd, now: ClockReading, world: &dyn World) {
        let Some(global) = &mut self.event_log else { return };
        if let Err(error) = global.write(event, ad, now, world) {
            let path = global.path().display();
            self.complaint =
                Some(format!("the event log of all jobs '{path}' (EVENT_LOG) cannot be written: {error}"));
        }
    }

    /// Returns the error of the event log of all jobs, the first time that this is called after the error.
    pub fn take_complaint(&mut self) -> Option<String> {
        let complaint = self.complaint.take().filter(|_| !self.has_complained);
        self.has_complained |= complaint.is_some();
        complaint
    }

    /// Appends an event of schedd or shadow, with the additions that the job ad requests.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn write_queue_event(
        &mut self,
        now: ClockReading,
        body: EventBody,
        ad: &ClassAd,
        world: &dyn World,
    ) -> io::Result<()> {
        let event = self.event(now, body, world);
        self.write_global(&event, ad, now, world);
        let mut written = Ok(());
        for log in [Some(&mut self.main_log), self.nodes_log.as_mut()].into_iter().flatten() {
            if !log.accepts_event(&event) {
                continue;
            }
            let mut bytes = log.print(&event, self.options);
            if log.mask.is_none()
                && let Some(more) = event.job_ad_information_event(ad, world)
            {
                bytes.extend(log.print(&more, self.options));
            }
            written = written.and(log.append(&bytes, &self.locking));
        }
        written
    }

    fn event(&self, now: ClockReading, body: EventBody, world: &dyn World) -> JobEvent {
        let time = EventTime::from_micros(now.wall_us, self.options, &world.zone(now.epoch()));
        let mut event = JobEvent::new(self.id.0, self.id.1, time, body);
        event.subproc = self.id.2;
        event
    }

    fn body(&self, event: &JobLogEvent) -> EventBody {
        match event {
            JobLogEvent::Execute => EventBody::Execute {
                host: self.address.clone(),
                slot_name: BString::default(),
                properties: Vec::new(),
            },
            JobLogEvent::Evicted { .. } => EventBody::Evicted(Box::default()),
            JobLogEvent::Terminated { exit, cpu, .. } => {
                let local = CpuTime { user: cpu.0.cast_signed(), system: cpu.1.cast_signed() };
                EventBody::Terminated(Box::new(TerminatedEvent {
                    termination: (*exit).into(),
                    run: RunUsage { local, ..RunUsage::default() },
                    total: RunUsage::default(),
                    resources: None,
                }))
            }
            JobLogEvent::Suspended { processes } => EventBody::Suspended((*processes).into()),
            JobLogEvent::Continued => EventBody::Unsuspended,
            // In all formats of a starter's log the event has no hold codes (`LocalUserLog::logStarterError`).
            JobLogEvent::Error { failure, critical } => EventBody::RemoteError {
                daemon: "starter".into(),
                host: self.address.clone(),
                message: failure.text.clone(),
                critical: *critical,
                code: 0,
                subcode: 0,
            },
        }
    }
}

/// Returns the quirk decision about a log with a relative path in a job without Iwd: 25.14 resolves the path in the
/// root directory. Returns `None` for other jobs.
pub(super) fn empty_iwd_log_decision(iwd: &[u8], quirks: QuirkMode) -> Option<QuirkDecision> {
    iwd.is_empty().then(|| quirks.decide(Quirk::EmptyIwdLogInRoot))
}

/// Returns the directory relative to which the name of the log is resolved.
fn directory(opening: &UserLogInputs<'_>, of_queue: bool) -> PathBuf {
    let iwd = &opening.job.iwd;
    if !of_queue && empty_iwd_log_decision(iwd, opening.quirks).is_some_and(|in_root| in_root.as_reference) {
        return PathBuf::from("/");
    }
    opening.scratch.join(iwd.to_path_lossy())
}
