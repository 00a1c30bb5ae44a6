//! Failures of file transfer, with the codes and messages of the reference.

use bstr::{BString, ByteSlice};

use super::task::{FileTransferError, TransferKind, TransferTaskResult};
use super::url;
use htc_base::job::HoldCode;

/// Side on which a transfer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSide {
    /// The sending side.
    Sender,
    /// The receiving side.
    Receiver,
    /// A plugin on the execution point.
    Plugin,
}

/// Failed transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferFailure {
    /// Side on which the transfer failed.
    pub side: FailureSide,
    /// Hold code of the transfer: 13 if the sender failed, 12 if the receiver failed, 32 or 33 if a size
    /// limit was exceeded.
    pub code: i64,
    /// Hold subcode: the error number of the system, 256 times a plugin's exit status, a signal, or a negative number.
    pub subcode: i64,
    /// Message of the failure. It may contain a placeholder for the address, which is inserted in the text of the
    /// event.
    pub text: BString,
    /// Retry of the transfer that the reference makes without asking the job's policies.
    pub retry: TransferRetry,
}

/// Retry of a failed transfer that the reference makes without asking the job's policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransferRetry {
    /// The transfer is not retried: the job is held.
    #[default]
    Never,
    /// The job is requeued and not held. If the sender failed while output was transferred, the transfer is retried
    /// before the requeue.
    Requeue,
    /// The two sides lose their connection, and the output is transferred again when they have reconnected
    /// (`JICShadow::transferOutputFinish`).
    Reconnect,
}

/// Hold code of a failed transfer to this side (`FILETRANSFER_HOLD_CODE`).
pub const DOWNLOAD_FILE_ERROR: i64 = 12;
/// Hold code of a failed transfer from this side.
pub const UPLOAD_FILE_ERROR: i64 = 13;
const EPERM: i64 = 1;
const MEGABYTE: u64 = 1024 * 1024;

impl TransferFailure {
    /// Creates the failure of a plugin from its message. `way` determines whether the message is about input or output.
    pub fn from_plugin(way: TransferKind, subcode: i64, text: &[u8], retry: TransferRetry) -> Self {
        let (code, text) = match way.is_input() {
            true => (DOWNLOAD_FILE_ERROR, text.into()),
            // The sender puts `: ` before the messages of plugins.
            false => (UPLOAD_FILE_ERROR, [b": ", text].concat().into()),
        };
        TransferFailure { side: FailureSide::Plugin, code, subcode, text, retry }
    }

    /// Creates the failure of a transfer helper that could not be run. The transfer is retried, and the job is not
    /// held.
    pub fn from_helper(way: TransferKind, reason: &str) -> Self {
        let code = if way.is_input() { DOWNLOAD_FILE_ERROR } else { UPLOAD_FILE_ERROR };
        TransferFailure {
            side: FailureSide::Sender,
            code,
            subcode: -1000,
            text: format!("|Error: {reason}").into(),
            retry: TransferRetry::Requeue,
        }
    }

    /// Creates the failure from the result of a task. If both sides have an error, the sender's error is used.
    /// `strerror` returns the text of an error number.
    pub fn from_task_result(
        way: TransferKind,
        carried: &TransferTaskResult,
        limit: Option<u64>,
        strerror: &dyn Fn(i32) -> String,
    ) -> Option<Self> {
        if let Some(first) = &carried.first_unsent {
            let (code, subcode, text) = describe_sender_failure(way, first, limit, strerror);
            let total = carried.unsent;
            let text = format!("|Error: {total} total failures: first failure: {text}").into();
            return Some(TransferFailure {
                side: FailureSide::Sender,
                code,
                subcode,
                text,
                retry: TransferRetry::Never,
            });
        }
        let (subcode, text) =
            describe_receiver_failure(carried.unstored.as_ref()?, receiver_name(way), strerror);
        Some(TransferFailure {
            side: FailureSide::Receiver,
            code: DOWNLOAD_FILE_ERROR,
            subcode,
            text: text.into(),
            retry: TransferRetry::Never,
        })
    }

    /// Returns the text of event 021. `ip` is used as the address of both the sender and the receiver.
    pub fn event_message(&self, way: TransferKind, ip: &str) -> BString {
        let text = &self.text;
        let receiver = receiver_name(way);
        let sender = match receiver {
            "STARTER" => "SHADOW",
            _ => "STARTER",
        };
        let sending = format!("{sender} at {ip} failed to send file(s) to <{ip}:0>");
        let receiving = format!("{receiver} failed to receive file(s) from <{ip}:0>");
        match (way.is_input(), self.side) {
            (true, FailureSide::Sender) => {
                format!("Failed to transfer files: {sending}: {text}; {receiving}").into()
            }
            (true, FailureSide::Receiver | FailureSide::Plugin) => {
                format!("Failed to transfer files: {}", insert_address(text, ip)).into()
            }
            (false, FailureSide::Sender | FailureSide::Plugin) => {
                format!("{sending}: {text}; {receiving}").into()
            }
            (false, FailureSide::Receiver) => format!("{sending}; {}", insert_address(text, ip)).into(),
        }
    }
}

fn receiver_name(way: TransferKind) -> &'static str {
    if way.is_input() { "STARTER" } else { "SHADOW" }
}

/// Placeholder for the address in the message of the receiver.
const ADDRESS_PLACEHOLDER: &str = "\u{1}";

fn insert_address(text: &BString, ip: &str) -> BString {
    text.replace(ADDRESS_PLACEHOLDER, ip).into()
}

fn describe_sender_failure(
    way: TransferKind,
    first: &FileTransferError,
    limit: Option<u64>,
    strerror: &dyn Fn(i32) -> String,
) -> (i64, i64, String) {
    match first {
        FileTransferError::TooLarge { path, size } => {
            let (code, which) = match way.is_input() {
                true => (HoldCode::MaxTransferInputSizeExceeded.number(), "upload"),
                false => (HoldCode::MaxTransferOutputSizeExceeded.number(), "download"),
            };
            let (most, size) = (limit.unwrap_or(0) / MEGABYTE, size / MEGABYTE);
            let path = url::without_query(path);
            let text = format!(
                "sending file {path}: max total {which} bytes exceeded (max={most} MB, this file={size} MB)"
            );
            (code, 0, text)
        }
        FileTransferError::Reading { path, errno, link } => {
            let end = if *link { "- Transfer of symlinks to directories is not supported." } else { "" };
            let (path, reason) = (url::without_query(path), strerror(*errno));
            let text = format!("reading from file {path}: (errno {errno}) {reason}{end}");
            (UPLOAD_FILE_ERROR, i64::from(*errno), text)
        }
        other => {
            let (subcode, text) = describe_receiver_failure(other, receiver_name(way), strerror);
            (UPLOAD_FILE_ERROR, subcode, text)
        }
    }
}

fn describe_receiver_failure(
    refused: &FileTransferError,
    name: &str,
    strerror: &dyn Fn(i32) -> String,
) -> (i64, String) {
    match refused {
        FileTransferError::Writing { path, errno } | FileTransferError::Reading { path, errno, .. } => {
            let reason = strerror(*errno);
            let text = format!(
                "{name} at {ADDRESS_PLACEHOLDER} - |Error: writing to file {path}: (errno {errno}) {reason}"
            );
            (i64::from(*errno), text)
        }
        FileTransferError::Directory { path, errno } => {
            let reason = strerror(*errno);
            let text = format!(
                "{name} at {ADDRESS_PLACEHOLDER} failed to create directory {path}: {reason} (errno {errno})"
            );
            (i64::from(*errno), text)
        }
        FileTransferError::OutputDirectory { path, errno } => {
            let reason = strerror(*errno);
            let text = format!(
                "{name} at {ADDRESS_PLACEHOLDER} failed to create output directory ({path}): {reason} (errno {errno})"
            );
            (i64::from(*errno), text)
        }
        FileTransferError::Illegal(path) => {
            (EPERM, format!(" Attempt to write to illegal sandbox path: {path}"))
        }
        FileTransferError::Cycle(chain) => (EPERM, format!("remaps resulted in a cycle: {chain}")),
        FileTransferError::ToUrl(url) => (EPERM, format!("Remap of output file resulted in a URL: {url}")),
        FileTransferError::TooLarge { path, .. } => (
            0,
            format!(
                "{name} at {ADDRESS_PLACEHOLDER} - |Error: receiving file {path}: max total download bytes exceeded"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strerror(_: i32) -> String {
        "No such file or directory".to_owned()
    }

    #[test]
    fn failures_have_the_recorded_messages() {
        let missing = FileTransferError::Reading { path: "/j/nosuch".into(), errno: 2, link: false };
        let carried =
            TransferTaskResult { unsent: 1, first_unsent: Some(missing), ..TransferTaskResult::default() };
        let failure =
            TransferFailure::from_task_result(TransferKind::Input, &carried, None, &strerror).unwrap();
        assert_eq!((failure.code, failure.subcode), (13, 2));
        let text = "Failed to transfer files: SHADOW at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>: |Error: 1 total failures: first failure: reading from file /j/nosuch: (errno 2) No such file or directory; STARTER failed to receive file(s) from <127.0.0.1:0>";
        assert_eq!(failure.event_message(TransferKind::Input, "127.0.0.1"), text);
        let refused = FileTransferError::Writing { path: "/j/ro/one".into(), errno: 13 };
        let carried = TransferTaskResult { unstored: Some(refused), ..TransferTaskResult::default() };
        let failure = TransferFailure::from_task_result(TransferKind::Output, &carried, None, &|_| {
            "Permission denied".to_owned()
        })
        .unwrap();
        assert_eq!((failure.code, failure.subcode), (12, 13));
        let text = "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>; SHADOW at 127.0.0.1 - |Error: writing to file /j/ro/one: (errno 13) Permission denied";
        assert_eq!(failure.event_message(TransferKind::Output, "127.0.0.1"), text);
        let refused = FileTransferError::TooLarge { path: "/s/big".into(), size: 3_000_000 };
        let carried =
            TransferTaskResult { unsent: 1, first_unsent: Some(refused), ..TransferTaskResult::default() };
        let failure =
            TransferFailure::from_task_result(TransferKind::Output, &carried, Some(MEGABYTE), &strerror)
                .unwrap();
        assert_eq!((failure.code, failure.subcode), (33, 0));
        let text = "|Error: 1 total failures: first failure: sending file /s/big: max total download bytes exceeded (max=1 MB, this file=2 MB)";
        assert_eq!(failure.text, text);
        let refused = FileTransferError::ToUrl("dbl://ok/so".into());
        let carried = TransferTaskResult { unstored: Some(refused), ..TransferTaskResult::default() };
        let failure =
            TransferFailure::from_task_result(TransferKind::Output, &carried, None, &strerror).unwrap();
        let text = "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>; Remap of output file resulted in a URL: dbl://ok/so";
        assert_eq!(
            (failure.subcode, failure.event_message(TransferKind::Output, "127.0.0.1")),
            (1, text.into())
        );
        assert_eq!(
            TransferFailure::from_task_result(
                TransferKind::Output,
                &TransferTaskResult::default(),
                None,
                &strerror
            ),
            None
        );
    }

    #[test]
    fn plugin_messages_follow_a_colon_for_output() {
        let message = b"FILETRANSFER:1:non-zero exit (1) from /p. |Error: no ( URL file = dbl://x )|";
        let failure = TransferFailure::from_plugin(TransferKind::Output, 256, message, TransferRetry::Never);
        let text = format!(
            "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>: : {}; SHADOW failed to receive file(s) from <127.0.0.1:0>",
            message.as_bstr()
        );
        assert_eq!(failure.event_message(TransferKind::Output, "127.0.0.1"), text.as_str());
        let failure = TransferFailure::from_plugin(TransferKind::Input, -1004, message, TransferRetry::Never);
        assert!(
            failure
                .event_message(TransferKind::Input, "x")
                .starts_with(b"Failed to transfer files: FILETRANSFER:1:non-zero")
        );
    }
}
