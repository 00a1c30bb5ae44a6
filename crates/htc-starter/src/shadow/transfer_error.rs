//! Conversion of a starter's transfer error to a message that users understand (`BaseShadow::improveReasonAttributes`).

use bstr::{BString, ByteSlice};

use htc_base::job::HoldCode;
use htc_hook::transfer::url;
use htc_hook::transfer::{DOWNLOAD_FILE_ERROR, UPLOAD_FILE_ERROR};

/// Rewrites the error of a file transfer as a hold reason that names the side that failed. Returns the reason and its hold
/// code; an error that is not about a transfer is returned unchanged. `text` is the error after `Error from <slot>: `, `code` is its code,
/// and `began` is true if the job had started to run.
pub fn improve_reason(text: &[u8], code: i64, began: bool, host: &str) -> (BString, i64) {
    if code != DOWNLOAD_FILE_ERROR && code != UPLOAD_FILE_ERROR {
        return (text.into(), code);
    }
    let (input, output) = (!began, began);
    let at_execution_point = (input && code == DOWNLOAD_FILE_ERROR) || (output && code == UPLOAD_FILE_ERROR);
    let point = slot_in_error(text).map_or_else(
        || "the execution point".to_owned(),
        |slot| format!("execution point {}", slot.as_bstr()),
    );
    let way = if input { "input" } else { "output" };
    let mut reason = format!("Transfer {way} files failure at ");
    let scheme = url_scheme_in_error(text);
    if at_execution_point {
        reason += &point;
        if scheme.is_none() {
            let (doing, from) = if input { ("receiving", "from") } else { ("sending", "to") };
            reason += &format!(" while {doing} files {from} access point {host}");
        }
    } else {
        let (doing, from) = if output { ("receiving", "from") } else { ("sending", "to") };
        reason += &format!("access point {host} while {doing} files {from} {point}");
    }
    if let Some(scheme) = scheme {
        reason += &format!(" using protocol {}", scheme.as_bstr());
    }
    let mut reason = BString::from(reason);
    reason.extend_from_slice(b". Details: ");
    reason.extend_from_slice(error_details(text).unwrap_or(text));
    (
        reason,
        if input { HoldCode::TransferInputError.number() } else { HoldCode::TransferOutputError.number() },
    )
}

/// Returns the protocol of the failed file transfer, or `None` if the error is not about a transfer. Vacates are
/// counted by protocol.
pub(super) fn failed_protocol(text: &[u8], code: i64) -> Option<String> {
    if code != DOWNLOAD_FILE_ERROR && code != UPLOAD_FILE_ERROR {
        return None;
    }
    let Some(scheme) = url_scheme_in_error(text) else { return Some("Cedar".to_owned()) };
    let mut name = scheme.to_str_lossy().to_lowercase();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    // OSDF is part of Pelican.
    Some(if name == "Osdf" { "Pelican".to_owned() } else { name })
}

/// Returns the name after `Error from `, if the name is short enough for a slot.
fn slot_in_error(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"Error from ")?;
    let end = rest.find_byte(b':').filter(|end| (1..50).contains(end))?;
    Some(&rest[..end])
}

fn url_scheme_in_error(text: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b"URL file = ";
    let rest = &text[text.find(MARK)? + MARK.len()..];
    let end = rest.find_byteset(b" |;").unwrap_or(rest.len());
    url::scheme(&rest[..end])
}

/// Returns the text after `|Error: `, up to the message of the other side of the transfer.
fn error_details(text: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b"|Error: ";
    let rest = &text[text.find(MARK)? + MARK.len()..];
    let end = rest.find("; SHADOW").or_else(|| rest.find("; STARTER")).or_else(|| rest.find("||"));
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|details| !details.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str, code: i64, began: bool) -> (String, i64) {
        let (reason, code) = improve_reason(text.as_bytes(), code, began, "H");
        (reason.to_string(), code)
    }

    #[test]
    fn reasons_are_the_recorded_ones() {
        let missing = "Error from slot1_2@H: SHADOW at 127.0.0.1 failed to send file(s) to <x>: |Error: 1 total failures: first failure: reading from file /j/nosuch: (errno 2) No such file or directory; STARTER failed to receive file(s) from <y>";
        let text = "Transfer input files failure at access point H while sending files to execution point slot1_2@H. Details: 1 total failures: first failure: reading from file /j/nosuch: (errno 2) No such file or directory";
        assert_eq!(reason(missing, 13, false), (text.to_owned(), 13));
        let plugin = "Error from slot1_3@H: Failed to transfer files: FILETRANSFER:1:non-zero exit (1) from /p. |Error: no such thing at dbl://fail/f1 ( URL file = dbl://fail/f1 )|";
        let text = "Transfer input files failure at execution point slot1_3@H using protocol dbl. Details: no such thing at dbl://fail/f1 ( URL file = dbl://fail/f1 )|";
        assert_eq!(reason(plugin, 12, false), (text.to_owned(), 13));
        let noperm = "Error from s@H: STARTER at 127.0.0.1 failed to send file(s) to <x>; SHADOW at 127.0.0.1 - |Error: writing to file /j/ro/one: (errno 13) Permission denied";
        let text = "Transfer output files failure at access point H while receiving files from execution point s@H. Details: writing to file /j/ro/one: (errno 13) Permission denied";
        assert_eq!(reason(noperm, 12, true), (text.to_owned(), 12));
        let url = "Error from s@H: STARTER at 127.0.0.1 failed to send file(s) to <x>; Remap of output file resulted in a URL: dbl://ok/so";
        let text = format!(
            "Transfer output files failure at access point H while receiving files from execution point s@H. Details: {url}"
        );
        assert_eq!(reason(url, 12, true), (text, 12));
        assert_eq!(
            reason("Error from s@H: Starter failed", 36, true),
            ("Error from s@H: Starter failed".to_owned(), 36)
        );
    }
}
