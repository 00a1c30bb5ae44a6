//! Sends the recorded commands of negotiators, schedds, shadows and users with verbs: `htc-slot-run claim
//! slot1 ...` runs as a process, its request is received on a socket, and the resulting event is passed to
//! the state machine.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use htc_hooks::classad::ClassAd;
use htc_hooks::classad::format::long;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::slot::{SlotControlAnswer, SlotControlRequest};
use htc_hooks::slot::{ClaimCommand, StartdEvent};

use super::super::{Result, forks};
use super::happening::What;

/// Maximum time until a verb sends its request.
const VERB_LIMIT: Duration = Duration::from_secs(120);

/// The socket to which verbs send.
pub struct Verbs {
    program: PathBuf,
    place: tempfile::TempDir,
    socket: PathBuf,
    listener: UnixListener,
}

impl Verbs {
    /// Starts to listen; `programs` is the directory of our programs.
    pub fn new(programs: &Path) -> Result<Self> {
        let place = tempfile::tempdir().map_err(|error| format!("a directory for verbs: {error}"))?;
        let socket = place.path().join("control");
        let listener = UnixListener::bind(&socket).map_err(|error| format!("a socket for verbs: {error}"))?;
        listener.set_nonblocking(true).map_err(|error| format!("a socket for verbs: {error}"))?;
        Ok(Verbs { program: programs.join("htc-slot-run"), place, socket, listener })
    }

    /// Returns the event that a verb produces in place of `direct`, or `direct` if there is no such verb.
    pub fn event(&self, what: &What, direct: StartdEvent) -> Result<StartdEvent> {
        let Some(mut words) = what.words() else { return Ok(direct) };
        if let StartdEvent::Command { command: ClaimCommand::Request(request), .. } = &direct {
            words.extend(["--schedd".to_owned(), request.schedd.to_string()]);
        }
        let ad = match &direct {
            StartdEvent::Command { command: ClaimCommand::Request(request), .. } => Some(&request.job),
            StartdEvent::Command { command: ClaimCommand::Activate(job), .. } => Some(&**job),
            _ => None,
        };
        let mut child = self.start(&words, ad)?;
        let result = self.receive(&mut child);
        let output = child.wait_with_output().map_err(|error| format!("{words:?}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (request, ad) = result.map_err(|error| format!("{words:?}: {error}: {said}"))?;
        if !output.status.success() {
            return Err(format!("{words:?} ended with {}: {said}", output.status));
        }
        let event = request.into_event(ad, "127.0.0.1", QuirkMode::Reference);
        let event = event.map_err(|error| format!("{words:?}: {error}"))?;
        // The runner itself reads the configuration again.
        Ok(event.unwrap_or(direct))
    }

    fn start(&self, words: &[String], ad: Option<&ClassAd>) -> Result<Child> {
        let file = self.place.path().join("JOB");
        if let Some(ad) = ad {
            std::fs::write(&file, long::print(ad)).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let mut command = Command::new(&self.program);
        command.current_dir(self.place.path()).args(words).arg("--control").arg(&self.socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        forks::spawn(&mut command).map_err(|error| format!("{}: {error}", self.program.display()))
    }

    /// Receives one request with its ad, and reports success.
    fn receive(&self, child: &mut Child) -> Result<(SlotControlRequest, Vec<u8>)> {
        let begun = Instant::now();
        let stream = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.to_string()),
            }
            let ended = child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > VERB_LIMIT {
                return Err("it asked for nothing".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        receive_request(&stream).map_err(|error| error.to_string())
    }
}

fn receive_request(stream: &UnixStream) -> std::io::Result<(SlotControlRequest, Vec<u8>)> {
    stream.set_nonblocking(false)?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let request: SlotControlRequest = serde_json::from_str(&line)?;
    let length = match request {
        SlotControlRequest::Claim { ad_length, .. } | SlotControlRequest::Activate { ad_length, .. } => {
            ad_length
        }
        _ => 0,
    };
    let mut ad = vec![0; length];
    reader.read_exact(&mut ad)?;
    let answer = serde_json::to_vec(&SlotControlAnswer {
        ok: true,
        request_id: Some(1),
        ..SlotControlAnswer::default()
    })?;
    (&mut &*stream).write_all(&answer)?;
    Ok((request, ad))
}
