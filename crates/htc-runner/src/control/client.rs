//! Client side of the control socket.

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

/// Time limit for connecting and for each read and write.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a request to the program that listens at `socket`, followed by the ad whose length the request gives, and
/// waits for the answer. `listener_name` is the name of that program in error messages.
///
/// # Errors
/// No process listens at the socket, the listener is neither root nor the caller's account, or the answer is not
/// valid.
pub fn send_request<A: DeserializeOwned>(
    socket: &Path,
    listener_name: &str,
    request: &impl Serialize,
    ad: &[u8],
) -> io::Result<A> {
    let mut stream = connect(socket, listener_name)?;
    let listener = getsockopt(&stream, PeerCredentials)?.uid();
    if listener != 0 && listener != identity::effective_uid() && identity::effective_uid() != 0 {
        let text = format!(
            "the process that listens on the socket has uid {listener}, but only root and your own account are trusted"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    text.extend_from_slice(ad);
    // A server that refuses the request may answer and close the connection before it has read the whole request, so
    // a failed write is an error only if no answer arrives.
    let written = stream.write_all(&text);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(describe_timeout)?;
    if answer.is_empty() {
        written.map_err(describe_timeout)?;
    }
    Ok(serde_json::from_slice(&answer)?)
}

/// Sends a request without waiting for the server to accept it or to answer.
///
/// # Errors
/// No process listens at the path, its queue of connections is full, or the request is longer than
/// `MAX_REQUEST_LENGTH`.
pub fn send_without_reply(path: &Path, request: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    if text.len() > MAX_REQUEST_LENGTH {
        let why = format!("the request is too long ({} bytes)", text.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    socket::connect(stream.as_raw_fd(), &address)?;
    // The empty send buffer has room for one line, and the server can still read it after this end is closed.
    UnixStream::from(stream).write_all(&text)
}

/// Connects to the socket, with clear errors for a path that is a symbolic link or not a socket.
fn connect(socket: &Path, listener_name: &str) -> io::Result<UnixStream> {
    check_length(socket)?;
    let kind = socket.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a symbolic link, which is not followed",
        ));
    }
    if !kind.is_socket() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a socket"));
    }
    let address = UnixAddr::new(socket)?;
    let stream = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // The send timeout also limits how long `connect` waits in a full queue.
    setsockopt(&stream, SendTimeout, &TimeVal::seconds(ANSWER_TIMEOUT.as_secs().cast_signed()))?;
    socket::connect(stream.as_raw_fd(), &address).map_err(|errno| match errno {
        Errno::ECONNREFUSED => {
            let text = format!("no process listens on the socket any more: the {listener_name} has ended");
            io::Error::new(io::ErrorKind::ConnectionRefused, text)
        }
        errno => describe_timeout(errno.into()),
    })?;
    Ok(UnixStream::from(stream))
}

/// Replaces a timeout error by a readable message.
fn describe_timeout(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let text = format!(
                "a process listens on the socket but has not answered for {} s",
                ANSWER_TIMEOUT.as_secs()
            );
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        _ => error,
    }
}
