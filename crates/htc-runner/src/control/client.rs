//! The asking end.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{PeerCredentials, SendTimeout};
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr, getsockopt, setsockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::server::{MAX_REQUEST_LENGTH, check_length};
use htc_os::identity;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a request to `who` listens there, with the ad whose length it tells, and waits for the answer.
///
/// # Errors
/// Nobody listens there, or somebody that is neither root nor we; the answer is none.
pub fn send_request<A: DeserializeOwned>(
    socket: &Path,
    who: &str,
    request: &impl Serialize,
    ad: &[u8],
) -> io::Result<A> {
    let mut stream = connect(socket, who)?;
    let listener = getsockopt(&stream, PeerCredentials)?.uid();
    if listener != 0 && listener != identity::effective_uid() && identity::effective_uid() != 0 {
        let text = format!("uid {listener} listens there, who is neither root nor the caller");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    text.extend_from_slice(ad);
    // Whoever refuses us may have answered and hung up before he has read all.
    let written = stream.write_all(&text);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(describe_timeout)?;
    if answer.is_empty() {
        written.map_err(describe_timeout)?;
    }
    Ok(serde_json::from_slice(&answer)?)
}

/// Says something to whoever listens there, without waiting: not for its ears, not for its answer.
///
/// # Errors
/// Nobody listens there, or so many wait there that there is no room; the line is longer than anybody reads.
pub fn send_without_reply(path: &Path, request: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    if text.len() > MAX_REQUEST_LENGTH {
        let why = format!("a request of {} bytes is too long", text.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    socket::connect(stream.as_raw_fd(), &address)?;
    // An empty buffer has room for a line; what is closed with it in there is read all the same.
    UnixStream::from(stream).write_all(&text)
}

/// Connects; says what is wrong with a path that is no socket in words of its own.
fn connect(socket: &Path, who: &str) -> io::Result<UnixStream> {
    check_length(socket)?;
    let kind = socket.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link, which is not followed"));
    }
    if !kind.is_socket() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket"));
    }
    let address = UnixAddr::new(socket)?;
    let stream = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // A queue that nobody shortens is waited for as an answer is.
    setsockopt(&stream, SendTimeout, &TimeVal::seconds(ANSWER_TIMEOUT.as_secs().cast_signed()))?;
    socket::connect(stream.as_raw_fd(), &address).map_err(|errno| match errno {
        Errno::ECONNREFUSED => {
            let text = format!("nobody listens there any more: its {who} is gone");
            io::Error::new(io::ErrorKind::ConnectionRefused, text)
        }
        errno => describe_timeout(errno.into()),
    })?;
    Ok(UnixStream::from(stream))
}

/// That nobody answers, in words.
fn describe_timeout(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let text =
                format!("somebody listens there and has not answered for {} s", ANSWER_TIMEOUT.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        _ => error,
    }
}
