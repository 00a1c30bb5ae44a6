//! The log that a job without a shadow asks for with `StarterUserLog`.
//!
//! Reference: `local_user_log.cpp`, called by `jic_local.cpp`. A log that cannot be opened stops nothing.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::child::is_dangling;
use crate::classad::{ClassAd, Context};
use crate::os::identity::acting_as;
use crate::process::{Exit, Identity};
use crate::quirks::{Quirk, Quirks};
use crate::starter::{JobInfo, LogEvent};
use crate::time::Now;
use crate::user_log::{Body, Ending, EventTime, FormatOptions, JobEvent, Share, Terminated, UsageTime};
use crate::world::World;

/// A log that a job asks for. Nothing is written before it has been opened.
#[derive(Debug)]
pub struct UserLog {
    file: Option<fs::File>,
    path: PathBuf,
    id: (i32, i32, i32),
    options: FormatOptions,
    form: Form,
    address: BString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Xml,
    Json,
}

/// What a job's log is known by.
pub struct Opening<'a> {
    /// The job's ad as it was read.
    pub ad: &'a ClassAd,
    /// The job.
    pub job: &'a JobInfo,
    /// The scratch directory, where a relative Iwd lies.
    pub scratch: &'a Path,
    /// DEFAULT_USERLOG_FORMAT_OPTIONS.
    pub options: &'a [u8],
    /// What stands for the starter's address: `<host:port>` of nobody.
    pub address: BString,
    /// Deviations.
    pub quirks: Quirks,
    /// What expressions are evaluated in.
    pub world: &'a dyn World,
}

impl UserLog {
    /// The log that the ad asks for; `None` if it asks for none.
    pub fn asked_for(opening: &Opening<'_>) -> Option<UserLog> {
        Self::named(opening, "StarterUserLog", "StarterUserLogUseXML")
    }

    /// The log of schedd and shadow that the ad asks for.
    pub fn of_queue(opening: &Opening<'_>) -> Option<UserLog> {
        Self::named(opening, "UserLog", "UserLogUseXML")
    }

    fn named(opening: &Opening<'_>, attribute: &str, xml: &str) -> Option<UserLog> {
        let context = || Context::new(opening.world).my(opening.ad);
        let name = context().string(attribute)?;
        let path = match name.is_empty() {
            true => PathBuf::new(),
            false => opening.scratch.join(opening.job.iwd.to_path_lossy()).join(name.to_path_lossy()),
        };
        let options = FormatOptions::parse(opening.options);
        let words = !opening.quirks.has(Quirk::UserlogFormatWordsIgnored);
        let form = match context().boolean(xml) {
            Some(true) => Form::Xml,
            _ if words && options.xml => Form::Xml,
            _ if words && options.json => Form::Json,
            _ => Form::Text,
        };
        // Those of a log have 32 bits.
        let number = |number: i64| number as i32;
        let id = (number(opening.job.cluster), number(opening.job.proc), number(opening.job.subproc));
        Some(UserLog { file: None, path, id, options, form, address: opening.address.clone() })
    }

    /// Opens it under the job's account, with the directories above it. That is done when the scratch directory is
    /// there: a relative Iwd lies in it, and comes into being so (`JICLocal::init`).
    ///
    /// # Errors
    /// Those of the file system; the job runs all the same.
    pub fn open(&mut self, identity: Option<&Identity>) -> io::Result<()> {
        if self.path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let open = || {
            // Nor does the reference create it through a link.
            if is_dangling(&self.path) {
                return Err(io::ErrorKind::NotFound.into());
            }
            if let Some(directory) = self.path.parent() {
                fs::create_dir_all(directory)?;
            }
            fs::OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o644)
                // A FIFO without a reader must not hold the job up.
                .custom_flags(nix::libc::O_NONBLOCK)
                .open(&self.path)
        };
        self.file = Some(acting_as(identity, open).and_then(|file| file)?);
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event, whole, with one write; nothing as long as the log is not open.
    ///
    /// # Errors
    /// Those of the write.
    pub fn write(&mut self, now: Now, event: &LogEvent, world: &dyn World) -> io::Result<()> {
        let body = self.body(event);
        self.write_body(now, body, world)
    }

    /// The same for an event of schedd or shadow.
    ///
    /// # Errors
    /// Those of the write.
    pub fn write_body(&mut self, now: Now, body: Body, world: &dyn World) -> io::Result<()> {
        let time = EventTime::at(now.wall_us, self.options, &world.zone(now.epoch()));
        let mut event = JobEvent::new(self.id.0, self.id.1, time, body);
        event.subproc = self.id.2;
        let bytes = match self.form {
            Form::Text => event.text(self.options),
            Form::Xml => event.xml(),
            Form::Json => event.json(),
        };
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(&bytes))
    }

    fn body(&self, event: &LogEvent) -> Body {
        match event {
            LogEvent::Execute => Body::Execute {
                host: self.address.clone(),
                slot_name: BString::default(),
                properties: Vec::new(),
            },
            LogEvent::Evicted { .. } => Body::Evicted(Box::default()),
            LogEvent::Terminated { exit, cpu, .. } => {
                let local = UsageTime { user: cpu.0.cast_signed(), system: cpu.1.cast_signed() };
                Body::Terminated(Box::new(Terminated {
                    ending: ending(*exit),
                    run: Share { local, ..Share::default() },
                    total: Share::default(),
                    resources: None,
                }))
            }
            LogEvent::Suspended { processes } => Body::Suspended((*processes).into()),
            LogEvent::Continued => Body::Unsuspended,
            // This log has no hold codes, in no form (`LocalUserLog::logStarterError`).
            LogEvent::Error { failure, critical } => Body::RemoteError {
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

/// The log never says that there is a core file (`LocalUserLog::logTerminate`).
fn ending(exit: Exit) -> Ending {
    match exit {
        Exit::Code(code) => Ending::Exited(code.into()),
        Exit::Signal { number, .. } => Ending::Signalled(number, None),
    }
}
