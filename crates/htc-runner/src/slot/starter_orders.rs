//! Orders to starters of this project: lines sent to a socket that exists before the starter is started, so that an
//! order is never lost.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::control;
use crate::starter::StarterOrder;
use htc_slot::{StarterSignal, VacateReason};

/// Name of the socket in the private directory of a starter.
const SOCKET_NAME: &str = "control";

/// Returns the address of the socket. `sun_path` is limited to 108 bytes, so a long path is replaced by a path
/// through an open descriptor. That descriptor is also returned and must stay open while the address is used.
fn address(directory: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = directory.join(SOCKET_NAME);
    if control::check_length(&path).is_ok() {
        return Ok((path, None));
    }
    let opened =
        OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(directory)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", opened.as_raw_fd())), Some(opened)))
}

/// Creates the socket. Only the starter keeps its descriptor open.
///
/// # Errors
/// Fails if the socket cannot be created.
pub(super) fn open(directory: &Path) -> io::Result<UnixListener> {
    let (path, _open) = address(directory)?;
    control::bind(&path)
}

/// Sends an order without waiting until the starter reads it.
///
/// # Errors
/// Fails if the starter has ended, or has too many unread orders.
pub(super) fn send_order(directory: &Path, order: &StarterOrder) -> io::Result<()> {
    let (path, _open) = address(directory)?;
    control::send_without_reply(&path, order)
}

/// Returns the order for a signal to a starter, or `None` for a kill, which is always sent as a signal.
pub(super) fn order_for_signal(signal: StarterSignal, reason: Option<&VacateReason>) -> Option<StarterOrder> {
    let command = match signal {
        StarterSignal::Soft => "soft",
        StarterSignal::Hard => "hard",
        StarterSignal::Suspend => "suspend",
        StarterSignal::Continue => "continue",
        StarterSignal::Kill => return None,
    };
    let ends = matches!(signal, StarterSignal::Soft | StarterSignal::Hard);
    let reason = reason.filter(|_| ends);
    Some(StarterOrder {
        command: command.to_owned(),
        reason: reason.map(|reason| reason.text.clone()),
        code: reason.map(|reason| reason.code.into()),
        subcode: reason.map(|reason| reason.subcode),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use htc_base::job::HoldCode;

    #[test]
    fn a_directory_may_have_a_long_name_and_requests_never_block() {
        let place = tempfile::tempdir().unwrap();
        let long = place.path().join("x".repeat(150));
        std::fs::create_dir(&long).unwrap();
        let socket = open(&long).unwrap();
        let reason = VacateReason { text: "so\nmuch".repeat(1000), code: 21, subcode: -4 };
        let said = order_for_signal(StarterSignal::Soft, Some(&reason)).unwrap();
        send_order(&long, &said).unwrap();
        send_order(&long, &order_for_signal(StarterSignal::Suspend, Some(&reason)).unwrap()).unwrap();
        let hear = || {
            let mut text = String::new();
            socket.accept().unwrap().0.read_to_string(&mut text).unwrap();
            serde_json::from_str::<StarterOrder>(&text).unwrap()
        };
        assert_eq!(hear(), said);
        assert_eq!(hear(), StarterOrder { command: "suspend".to_owned(), ..StarterOrder::default() });
        // A starter that no longer reads its socket does not block the sender.
        let suspend = order_for_signal(StarterSignal::Suspend, None).unwrap();
        let refused = (0..100_000).find_map(|_| send_order(&long, &suspend).err());
        assert_eq!(refused.unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(socket);
        let gone = send_order(&long, &said).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(order_for_signal(StarterSignal::Kill, None), None);
        let endless = VacateReason::new(&"x".repeat(100_000), HoldCode::StartdHeldJob);
        let refused = send_order(&long, &order_for_signal(StarterSignal::Hard, Some(&endless)).unwrap());
        assert_eq!(refused.unwrap_err().to_string(), "the request is too long (100053 bytes)");
    }
}
