//! What a failed transfer is called: codes and sentences of the reference.

use bstr::{BString, ByteSlice};

use super::task::{Refused, TransferResult, Way};
use super::url;
use htc_base::job::HoldCode;

/// Where it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that sends.
    Sender,
    /// The one that receives.
    Receiver,
    /// A plugin, on the execution point.
    Plugin,
}

/// A transfer that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where.
    pub at: Side,
    /// The code of the transfer itself: 13 the sender, 12 the receiver, 32 and 33 too much.
    pub code: i64,
    /// The system's error number, 256 times a plugin's status, a signal, or a negative number.
    pub subcode: i64,
    /// What happened, with the marks by which the reference finds it again.
    pub text: BString,
    /// Whether the reference tries again by itself.
    pub again: bool,
}

/// A transfer in which this side received (`FILETRANSFER_HOLD_CODE`).
pub const DOWNLOAD_FILE_ERROR: i64 = 12;
/// A transfer in which it sent.
pub const UPLOAD_FILE_ERROR: i64 = 13;
const EPERM: i64 = 1;
const MEGABYTE: u64 = 1024 * 1024;

impl Failure {
    /// A plugin's: what it said to an input, or to an output.
    pub fn of_plugin(way: Way, subcode: i64, text: &[u8], again: bool) -> Self {
        let (code, text) = match way.is_input() {
            true => (DOWNLOAD_FILE_ERROR, text.into()),
            // The sender's text has this before what plugins say.
            false => (UPLOAD_FILE_ERROR, [b": ", text].concat().into()),
        };
        Failure { at: Side::Plugin, code, subcode, text, again }
    }

    /// A helper that could not do its work at all: tried again, not held.
    pub fn of_helper(way: Way, reason: &str) -> Self {
        let code = if way.is_input() { DOWNLOAD_FILE_ERROR } else { UPLOAD_FILE_ERROR };
        Failure {
            at: Side::Sender,
            code,
            subcode: -1000,
            text: format!("|Error: {reason}").into(),
            again: true,
        }
    }

    /// What a task could not carry; the sender's word counts first. `strerror` names errors.
    pub fn of_carried(
        way: Way,
        carried: &TransferResult,
        limit: Option<u64>,
        strerror: &dyn Fn(i32) -> String,
    ) -> Option<Self> {
        if let Some(first) = &carried.first_unsent {
            let (code, subcode, text) = sender(way, first, limit, strerror);
            let total = carried.unsent;
            let text = format!("|Error: {total} total failures: first failure: {text}").into();
            return Some(Failure { at: Side::Sender, code, subcode, text, again: false });
        }
        let (subcode, text) = receiver(carried.unstored.as_ref()?, receiver_name(way), strerror);
        Some(Failure {
            at: Side::Receiver,
            code: DOWNLOAD_FILE_ERROR,
            subcode,
            text: text.into(),
            again: false,
        })
    }

    /// The text of event 021. `ip` stands for both sides' addresses.
    pub fn told(&self, way: Way, ip: &str) -> BString {
        let text = &self.text;
        let receiver = receiver_name(way);
        let sender = match receiver {
            "STARTER" => "SHADOW",
            _ => "STARTER",
        };
        let sending = format!("{sender} at {ip} failed to send file(s) to <{ip}:0>");
        let receiving = format!("{receiver} failed to receive file(s) from <{ip}:0>");
        match (way.is_input(), self.at) {
            (true, Side::Sender) => {
                format!("Failed to transfer files: {sending}: {text}; {receiving}").into()
            }
            (true, Side::Receiver | Side::Plugin) => {
                format!("Failed to transfer files: {}", at_address(text, ip)).into()
            }
            (false, Side::Sender | Side::Plugin) => format!("{sending}: {text}; {receiving}").into(),
            (false, Side::Receiver) => format!("{sending}; {}", at_address(text, ip)).into(),
        }
    }
}

fn receiver_name(way: Way) -> &'static str {
    if way.is_input() { "STARTER" } else { "SHADOW" }
}

/// The place of the address in a receiver's text.
const ADDRESS: &str = "\u{1}";

fn at_address(text: &BString, ip: &str) -> BString {
    text.replace(ADDRESS, ip).into()
}

fn sender(
    way: Way,
    first: &Refused,
    limit: Option<u64>,
    strerror: &dyn Fn(i32) -> String,
) -> (i64, i64, String) {
    match first {
        Refused::TooLarge { path, size } => {
            let (code, which) = match way.is_input() {
                true => (HoldCode::MaxTransferInputSizeExceeded.number(), "upload"),
                false => (HoldCode::MaxTransferOutputSizeExceeded.number(), "download"),
            };
            let (most, size) = (limit.unwrap_or(0) / MEGABYTE, size / MEGABYTE);
            let path = url::shown(path);
            let text = format!(
                "sending file {path}: max total {which} bytes exceeded (max={most} MB, this file={size} MB)"
            );
            (code, 0, text)
        }
        Refused::Reading { path, errno, link } => {
            let end = if *link { "- Transfer of symlinks to directories is not supported." } else { "" };
            let (path, reason) = (url::shown(path), strerror(*errno));
            let text = format!("reading from file {path}: (errno {errno}) {reason}{end}");
            (UPLOAD_FILE_ERROR, i64::from(*errno), text)
        }
        other => {
            let (subcode, text) = receiver(other, receiver_name(way), strerror);
            (UPLOAD_FILE_ERROR, subcode, text)
        }
    }
}

fn receiver(refused: &Refused, name: &str, strerror: &dyn Fn(i32) -> String) -> (i64, String) {
    match refused {
        Refused::Writing { path, errno } | Refused::Reading { path, errno, .. } => {
            let reason = strerror(*errno);
            let text =
                format!("{name} at {ADDRESS} - |Error: writing to file {path}: (errno {errno}) {reason}");
            (i64::from(*errno), text)
        }
        Refused::Directory { path, errno } => {
            let reason = strerror(*errno);
            let text =
                format!("{name} at {ADDRESS} failed to create directory {path}: {reason} (errno {errno})");
            (i64::from(*errno), text)
        }
        Refused::OutputDirectory { path, errno } => {
            let reason = strerror(*errno);
            let text = format!(
                "{name} at {ADDRESS} failed to create output directory ({path}): {reason} (errno {errno})"
            );
            (i64::from(*errno), text)
        }
        Refused::Illegal(path) => (EPERM, format!(" Attempt to write to illegal sandbox path: {path}")),
        Refused::Cycle(chain) => (EPERM, format!("remaps resulted in a cycle: {chain}")),
        Refused::ToUrl(url) => (EPERM, format!("Remap of output file resulted in a URL: {url}")),
        Refused::TooLarge { path, .. } => (
            0,
            format!("{name} at {ADDRESS} - |Error: receiving file {path}: max total download bytes exceeded"),
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
    fn failures_have_the_recorded_sentences() {
        let missing = Refused::Reading { path: "/j/nosuch".into(), errno: 2, link: false };
        let carried = TransferResult { unsent: 1, first_unsent: Some(missing), ..TransferResult::default() };
        let failure = Failure::of_carried(Way::Input, &carried, None, &strerror).unwrap();
        assert_eq!((failure.code, failure.subcode), (13, 2));
        let text = "Failed to transfer files: SHADOW at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>: |Error: 1 total failures: first failure: reading from file /j/nosuch: (errno 2) No such file or directory; STARTER failed to receive file(s) from <127.0.0.1:0>";
        assert_eq!(failure.told(Way::Input, "127.0.0.1"), text);
        let refused = Refused::Writing { path: "/j/ro/one".into(), errno: 13 };
        let carried = TransferResult { unstored: Some(refused), ..TransferResult::default() };
        let failure =
            Failure::of_carried(Way::Output, &carried, None, &|_| "Permission denied".to_owned()).unwrap();
        assert_eq!((failure.code, failure.subcode), (12, 13));
        let text = "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>; SHADOW at 127.0.0.1 - |Error: writing to file /j/ro/one: (errno 13) Permission denied";
        assert_eq!(failure.told(Way::Output, "127.0.0.1"), text);
        let refused = Refused::TooLarge { path: "/s/big".into(), size: 3_000_000 };
        let carried = TransferResult { unsent: 1, first_unsent: Some(refused), ..TransferResult::default() };
        let failure = Failure::of_carried(Way::Output, &carried, Some(MEGABYTE), &strerror).unwrap();
        assert_eq!((failure.code, failure.subcode), (33, 0));
        let text = "|Error: 1 total failures: first failure: sending file /s/big: max total download bytes exceeded (max=1 MB, this file=2 MB)";
        assert_eq!(failure.text, text);
        let refused = Refused::ToUrl("dbl://ok/so".into());
        let carried = TransferResult { unstored: Some(refused), ..TransferResult::default() };
        let failure = Failure::of_carried(Way::Output, &carried, None, &strerror).unwrap();
        let text = "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>; Remap of output file resulted in a URL: dbl://ok/so";
        assert_eq!((failure.subcode, failure.told(Way::Output, "127.0.0.1")), (1, text.into()));
        assert_eq!(Failure::of_carried(Way::Output, &TransferResult::default(), None, &strerror), None);
    }

    #[test]
    fn what_plugins_say_stands_behind_a_colon_on_the_way_back() {
        let said = b"FILETRANSFER:1:non-zero exit (1) from /p. |Error: no ( URL file = dbl://x )|";
        let failure = Failure::of_plugin(Way::Output, 256, said, false);
        let text = format!(
            "STARTER at 127.0.0.1 failed to send file(s) to <127.0.0.1:0>: : {}; SHADOW failed to receive file(s) from <127.0.0.1:0>",
            said.as_bstr()
        );
        assert_eq!(failure.told(Way::Output, "127.0.0.1"), text.as_str());
        let failure = Failure::of_plugin(Way::Input, -1004, said, false);
        assert!(
            failure.told(Way::Input, "x").starts_with(b"Failed to transfer files: FILETRANSFER:1:non-zero")
        );
    }
}
