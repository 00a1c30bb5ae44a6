//! Event log of all jobs (EVENT_LOG), which schedd, shadow and starter write in addition to the jobs' own logs: its
//! header, rotation and locks.
//!
//! Reference: `write_user_log.cpp` (`openGlobalLog`, `checkGlobalLogRotation`, `doRotation`), `WriteUserLogHeader::GenerateEvent`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::libc;

use htc_base::process::ProcessIdentity;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{ConfigView, ValueError};
use htc_os::file_lock::{self, FileLock};
use htc_os::identity::run_as;
use htc_user_log::{EventBody, EventTime, FormatOptions, JobEvent};

/// Width of the header in bytes. The width is fixed because the header is rewritten in place when the file is
/// rotated.
const HEADER_WIDTH: usize = 256;

/// Parameters of the event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLogParameters {
    /// Value of EVENT_LOG.
    pub path: PathBuf,
    /// EVENT_LOG_ROTATION_LOCK [default: the log's name with `.lock`].
    pub rotation_lock: PathBuf,
    /// EVENT_LOG_FORMAT_OPTIONS and EVENT_LOG_USE_XML.
    pub options: FormatOptions,
    /// EVENT_LOG_MAX_SIZE [default: MAX_EVENT_LOG], in bytes.
    pub max_size: u64,
    /// EVENT_LOG_MAX_ROTATIONS; 0 to never rotate.
    pub rotations: u32,
    /// Value of EVENT_LOG_FSYNC.
    pub fsync: bool,
    /// Value of EVENT_LOG_LOCKING.
    pub locking: bool,
    /// Directory of lock files on the local disk (CREATE_LOCKS_ON_LOCAL_DISK, LOCAL_DISK_LOCK_DIR), or `None` to lock
    /// the log itself.
    pub lock_directory: Option<PathBuf>,
    /// Value of EVENT_LOG_COUNT_EVENTS.
    pub count_events: bool,
    /// Value of EVENT_LOG_FORCE_CLOSE.
    pub force_close: bool,
    /// Value of EVENT_LOG_JOB_AD_INFORMATION_ATTRS.
    pub information: BString,
}

impl EventLogParameters {
    /// Reads the parameters; returns `None` if EVENT_LOG is not set.
    ///
    /// # Errors
    /// Fails if a value is invalid.
    pub fn read(view: &ConfigView<'_>) -> Result<Option<Self>, ValueError> {
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value).filter(|value| !value.is_empty()))
        };
        let boolean = |name: &str| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.is_some_and(|setting| setting.value))
        };
        let int = |name: &str, usual: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(usual, |setting| setting.value))
        };
        let Some(path) = text("EVENT_LOG")? else { return Ok(None) };
        let path = path.to_path_lossy().into_owned();
        let lock = text("EVENT_LOG_ROTATION_LOCK")?.map(|path| path.to_path_lossy().into_owned());
        let words = text("EVENT_LOG_FORMAT_OPTIONS")?.unwrap_or_default();
        let mut options = FormatOptions::apply_words(FormatOptions::for_event_log(), &words);
        if boolean("EVENT_LOG_USE_XML")? {
            (options.xml, options.json) = (true, false);
        }
        let mut max_size = int("EVENT_LOG_MAX_SIZE", -1)?;
        if max_size < 0 {
            max_size = int("MAX_EVENT_LOG", 1_000_000)?.max(0);
        }
        let rotations = if max_size == 0 { 0 } else { int("EVENT_LOG_MAX_ROTATIONS", 1)?.max(0) };
        Ok(Some(EventLogParameters {
            rotation_lock: lock.unwrap_or_else(|| with_suffix(&path, ".lock")),
            path,
            options,
            max_size: max_size.unsigned_abs(),
            rotations: u32::try_from(rotations).unwrap_or(u32::MAX),
            fsync: boolean("EVENT_LOG_FSYNC")?,
            locking: boolean("EVENT_LOG_LOCKING")?,
            lock_directory: lock_directory(view)?,
            count_events: boolean("EVENT_LOG_COUNT_EVENTS")?,
            force_close: boolean("EVENT_LOG_FORCE_CLOSE")?,
            information: text("EVENT_LOG_JOB_AD_INFORMATION_ATTRS")?.unwrap_or_default(),
        }))
    }
}

/// Returns the directory of locks on the local disk, or `None` if they are not used (`FileLock::getTempPath`).
///
/// # Errors
/// Fails if a value is invalid.
pub fn lock_directory(view: &ConfigView<'_>) -> Result<Option<PathBuf>, ValueError> {
    if !view.boolean("CREATE_LOCKS_ON_LOCAL_DISK")?.is_none_or(|setting| setting.value) {
        return Ok(None);
    }
    let place = view.string("LOCAL_DISK_LOCK_DIR")?.map(|setting| setting.value);
    let place = place.filter(|place| !place.is_empty()).map(|place| place.to_path_lossy().into_owned());
    Ok(Some(place.unwrap_or_else(|| "/tmp/condorLocks".into())))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Header of an event log file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EventLogHeader {
    created: i64,
    id: String,
    sequence: u32,
    size: u64,
    events: u64,
    offset: u64,
    event_offset: u64,
    rotations: u32,
}

impl EventLogHeader {
    /// Formats the header with its fixed width.
    fn to_text(&self) -> BString {
        let EventLogHeader { created, id, sequence, size, events, offset, event_offset, rotations } = self;
        let text = format!(
            "Global JobLog: ctime={created} id={id} sequence={sequence} size={size} events={events} offset={offset} event_off={event_offset} max_rotation={rotations} creator_name=<>"
        );
        format!("{text:HEADER_WIDTH$}").into()
    }

    /// Finds a header at the beginning of a file, in any format of the log.
    fn find(bytes: &[u8]) -> Option<EventLogHeader> {
        let words = bytes[bytes.find(b"Global JobLog:")?..].to_str_lossy().into_owned();
        let word = |name: &str| {
            words
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
                .map(str::to_owned)
        };
        let number = |name: &str| word(name)?.parse::<u64>().ok();
        Some(EventLogHeader {
            created: word("ctime")?.parse().ok()?,
            id: word("id")?,
            sequence: u32::try_from(number("sequence")?).ok()?,
            size: number("size").unwrap_or(0),
            events: number("events").unwrap_or(0),
            offset: number("offset").unwrap_or(0),
            event_offset: number("event_off").unwrap_or(0),
            rotations: number("max_rotation").and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        })
    }

    /// Returns the header of the next file after a rotation of the file with the header `self`.
    fn next_file_header(&self, now: ClockReading, id: &str, rotations: u32) -> EventLogHeader {
        let sequence = self.sequence + 1;
        EventLogHeader {
            created: now.epoch(),
            id: format!("{id}{sequence}.{}.{:06}", now.epoch(), now.wall_us.rem_euclid(1_000_000)),
            sequence,
            size: 0,
            events: 0,
            offset: self.offset + self.size,
            event_offset: self.event_offset + self.events,
            rotations,
        }
    }
}

/// Event log, opened when the first event is written.
#[derive(Debug)]
pub struct EventLog {
    parameters: EventLogParameters,
    /// The account of the daemons, or `None` if this program does not run as root.
    identity: Option<ProcessIdentity>,
    /// Prefix of the ids of the log's files.
    id: String,
    open_file: Option<OpenLogFile>,
}

#[derive(Debug)]
struct OpenLogFile {
    file: File,
    inode: u64,
    size: u64,
}

impl EventLog {
    /// Creates an event log with the given parameters, written by the given account.
    pub fn new(parameters: EventLogParameters, identity: Option<ProcessIdentity>, now: ClockReading) -> Self {
        let uid = identity.as_ref().map_or_else(|| nix::unistd::getuid().as_raw(), |identity| identity.uid);
        let (seconds, micros) = (now.epoch(), now.wall_us.rem_euclid(1_000_000));
        let id = format!("{uid}.{}.{seconds}.{micros}.", std::process::id());
        EventLog { parameters, identity, id, open_file: None }
    }

    /// Returns the path of the event log.
    pub fn path(&self) -> &Path {
        &self.parameters.path
    }

    /// Writes an event and the selected attributes of the job ad; first rotates the file if it exceeds its maximum
    /// size.
    ///
    /// # Errors
    /// Fails on errors of the file system, or if another process holds the lock for too long. The event is then not
    /// written.
    pub fn write(
        &mut self,
        event: &JobEvent,
        ad: &ClassAd,
        now: ClockReading,
        world: &dyn World,
    ) -> io::Result<()> {
        let identity = self.identity.clone();
        run_as(identity.as_ref(), || self.write_as_daemon(event, ad, now, world))?
    }

    fn write_as_daemon(
        &mut self,
        event: &JobEvent,
        ad: &ClassAd,
        now: ClockReading,
        world: &dyn World,
    ) -> io::Result<()> {
        if self.open_file.is_none() {
            self.open(&EventLogHeader::default(), now, world)?;
        }
        let lock = self.lock()?;
        let rotated = self.rotate(now, world)?;
        let _lock = if rotated { self.lock()? } else { lock };
        let time = EventTime::from_micros(now.wall_us, self.parameters.options, &world.zone(now.epoch()));
        let event = JobEvent { time, ..event.clone() };
        let mut bytes = self.format_event(&event);
        if let Some(more) = event.job_ad_information_event_of(&self.parameters.information, ad, world) {
            bytes.extend(self.format_event(&more));
        }
        if let Some(open) = &mut self.open_file {
            open.file.write_all(&bytes)?;
            if self.parameters.fsync {
                open.file.sync_data()?;
            }
        }
        if self.parameters.force_close {
            self.open_file = None;
        }
        Ok(())
    }

    fn format_event(&self, event: &JobEvent) -> Vec<u8> {
        match self.parameters.options {
            FormatOptions { xml: true, .. } => event.to_xml(),
            FormatOptions { json: true, .. } => event.to_json(),
            options => event.to_text(options),
        }
    }

    /// Opens the file and writes a header if the file is empty; `last` is the header of the previous file.
    fn open(&mut self, last: &EventLogHeader, now: ClockReading, world: &dyn World) -> io::Result<()> {
        let options = || {
            let mut options = OpenOptions::new();
            // `O_NONBLOCK` keeps `open` from blocking on a FIFO without a reader.
            options.append(true).create(true).mode(0o664).custom_flags(libc::O_NONBLOCK);
            options
        };
        let file = options().open(&self.parameters.path).or_else(|error| {
            let parent = self.parameters.path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound);
            let Some(parent) = parent else { return Err(error) };
            fs::create_dir_all(parent)?;
            options().open(&self.parameters.path)
        })?;
        let status = file.metadata()?;
        self.open_file = Some(OpenLogFile { file, inode: status.ino(), size: status.len() });
        let _lock = self.lock()?;
        let Some(open) = &self.open_file else { return Ok(()) };
        if open.file.metadata()?.len() == 0 {
            let head = last.next_file_header(now, &self.id, self.parameters.rotations);
            let bytes = self.format_header(&head, now, world);
            if let Some(open) = &mut self.open_file {
                open.file.write_all(&bytes)?;
                open.size = bytes.len() as u64;
            }
        }
        Ok(())
    }

    fn format_header(&self, head: &EventLogHeader, now: ClockReading, world: &dyn World) -> Vec<u8> {
        let time = EventTime::from_micros(now.wall_us, self.parameters.options, &world.zone(now.epoch()));
        let mut event = JobEvent::new(-1, -1, time, EventBody::Generic(head.to_text()));
        event.subproc = -1;
        self.format_event(&event)
    }

    /// Takes the lock of the log itself, if locking is enabled; dropping the returned value releases it.
    fn lock(&self) -> io::Result<Option<FileLock>> {
        match &self.open_file {
            Some(open) if self.parameters.locking => FileLock::acquire(
                &self.parameters.path,
                &open.file,
                self.parameters.lock_directory.as_deref(),
            )
            .map(Some),
            _ => Ok(None),
        }
    }

    /// Rotates a file that exceeds its maximum size, or opens the new file if another process has already rotated the
    /// log. Returns true in both cases.
    fn rotate(&mut self, now: ClockReading, world: &dyn World) -> io::Result<bool> {
        if self.parameters.rotations == 0 || !self.is_too_large(now, world)?.unwrap_or(false) {
            return Ok(false);
        }
        // Another process may be rotating at the same time, so the size is checked again under the lock.
        let lock = match file_lock::open_lock_file(&self.parameters.rotation_lock) {
            Ok(file) => FileLock::wait_for_lock(file, &self.parameters.path).map(Some),
            // 25.14 continues without a lock if the lock file cannot be created (`FakeFileLock`).
            Err(_) => Ok(None),
        };
        // If the lock cannot be taken, the event is written although the file is too large.
        let Ok(_lock) = lock else { return Ok(false) };
        match self.is_too_large(now, world)? {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => return Ok(true),
        }
        let head = self.finalize_header(now, world)?;
        self.shift_rotated_files()?;
        self.open_file = None;
        self.open(&head, now, world)?;
        Ok(true)
    }

    /// Returns true if the file exceeds its maximum size. Returns `None` if another process has replaced the file;
    /// the new file is then open.
    fn is_too_large(&mut self, now: ClockReading, world: &dyn World) -> io::Result<Option<bool>> {
        let status = match fs::metadata(&self.parameters.path) {
            Ok(status) => status,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.open(&EventLogHeader::default(), now, world)?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let Some(open) = &mut self.open_file else { return Ok(Some(false)) };
        if status.ino() != open.inode || status.len() < open.size {
            self.open(&EventLogHeader::default(), now, world)?;
            return Ok(None);
        }
        open.size = status.len();
        Ok(Some(status.len() > self.parameters.max_size))
    }

    /// Updates the header of a file before rotation; a file without a header is not changed.
    fn finalize_header(&self, now: ClockReading, world: &dyn World) -> io::Result<EventLogHeader> {
        let bytes = fs::read(&self.parameters.path)?;
        let Some(mut head) = bytes.get(..bytes.len().min(2 * HEADER_WIDTH)).and_then(EventLogHeader::find)
        else {
            return Ok(EventLogHeader::default());
        };
        head.size = bytes.len() as u64;
        head.rotations = self.parameters.rotations;
        if self.parameters.count_events {
            let end: &[u8] = match self.parameters.options {
                FormatOptions { xml: true, .. } => b"</c>",
                FormatOptions { json: true, .. } => b"}",
                _ => b"...",
            };
            // The header is itself an event, which is not counted.
            head.events = (bytes.lines().filter(|line| *line == end).count() as u64).saturating_sub(1);
        }
        let bytes = self.format_header(&head, now, world);
        OpenOptions::new().write(true).open(&self.parameters.path)?.write_all_at(&bytes, 0)?;
        Ok(head)
    }

    /// Renames `LOG` to `LOG.old`, or `LOG` to `LOG.1`, `LOG.1` to `LOG.2` and so on.
    fn shift_rotated_files(&self) -> io::Result<()> {
        let numbered = |number: u32| with_suffix(&self.parameters.path, &format!(".{number}"));
        let first = match self.parameters.rotations {
            1 => with_suffix(&self.parameters.path, ".old"),
            most => {
                for number in (2..=most.min(MAX_ROTATIONS)).rev() {
                    match fs::rename(numbered(number - 1), numbered(number)) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
                numbered(1)
            }
        };
        fs::rename(&self.parameters.path, first)
    }
}

/// Maximum number of files that are searched for at each rotation.
const MAX_ROTATIONS: u32 = 10_000;
