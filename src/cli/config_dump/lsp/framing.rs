//! Framing of messages on standard input and output: each has a header with its length, and JSON content.

use std::io::{self, BufRead, Read as _};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

/// Maximum size of a message that is read, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// Input of the server.
#[derive(Debug)]
pub(super) enum ServerInput {
    /// Content of one message.
    Content(Vec<u8>),
    /// The input does not follow the framing of messages; contains the reason.
    BadFraming(String),
    /// Reading failed.
    Failed(io::Error),
}

/// Reads the next input, or returns `None` at the end.
pub(super) fn read_input(input: &mut impl BufRead) -> Option<ServerInput> {
    match read_content(input) {
        Ok(Ok(content)) => content.map(ServerInput::Content),
        Ok(Err(problem)) => Some(ServerInput::BadFraming(problem)),
        // The editor has exited while it sent a message.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(error) => Some(ServerInput::Failed(error)),
    }
}

type FramedContent = Result<Option<Vec<u8>>, String>;

fn read_content(input: &mut impl BufRead) -> io::Result<FramedContent> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        // Longer lines are not header lines.
        input.by_ref().take(8192).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Ok(None));
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return Ok(match line.len() < 8192 {
                true => Ok(None),
                false => Err("a header line is longer than 8192 bytes".to_owned()),
            });
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else {
            return Ok(Err(format!("expected a header such as 'Content-Length: 100', not '{text}'")));
        };
        if name.trim().eq_ignore_ascii_case("Content-Length") {
            match value.trim().parse::<usize>() {
                Ok(number) if number <= MAX_MESSAGE_BYTES => length = Some(number),
                Ok(number) => return Ok(Err(format!("a message of {number} bytes is too long"))),
                Err(_) => return Ok(Err(format!("Content-Length is not a number: '{}'", value.trim()))),
            }
        }
    }
    let Some(length) = length else {
        return Ok(Err("the header has no Content-Length".to_owned()));
    };
    let mut content = vec![0; length];
    input.read_exact(&mut content)?;
    Ok(Ok(Some(content)))
}

/// Parses the content of a message.
///
/// # Errors
/// If the content is not a valid message, the error is the answer to send.
pub(super) fn parse_message(content: &[u8]) -> Result<Message, Value> {
    let value: Value = serde_json::from_slice(content)
        .map_err(|error| refusal(&Value::Null, ErrorCode::ParseError, &error.to_string()))?;
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let has_id = value.get("id").is_some();
    let answer_id = if id.is_number() || id.is_string() { id } else { Value::Null };
    match serde_json::from_value::<Message>(value) {
        // `Message` does not accept this type of id, for example a fraction, and parses the request as a notification.
        Ok(Message::Notification(_)) if has_id => {
            Err(refusal(&answer_id, ErrorCode::InvalidRequest, "the id of the request is not valid"))
        }
        Ok(message) => Ok(message),
        Err(_) => {
            let text = "neither a request nor a response nor a notification";
            Err(refusal(&answer_id, ErrorCode::InvalidRequest, text))
        }
    }
}

fn refusal(id: &Value, code: ErrorCode, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code as i32, "message": message}})
}

/// Appends a header and the content to `out`.
pub(super) fn push_content(content: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n{content}", content.len()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut input: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(found) = read_input(&mut input) {
            match found {
                ServerInput::Content(content) => seen.push(String::from_utf8(content).unwrap()),
                ServerInput::BadFraming(problem) => {
                    seen.push(format!("bad: {problem}"));
                    break;
                }
                ServerInput::Failed(error) => panic!("{error}"),
            }
        }
        seen
    }

    #[test]
    fn messages_follow_each_other() {
        let input = b"Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x\r\n\r\n[1]Content-Le";
        assert_eq!(read_all(input), ["{}", "[1]"]);
        assert_eq!(read_all(b"Content-Length: 9\r\n\r\n{}"), [""; 0]);
    }

    #[test]
    fn other_input_is_refused() {
        for (input, problem) in [
            ("hello\n", "bad: expected a header such as 'Content-Length: 100', not 'hello'"),
            ("Content-Length: x\r\n\r\n", "bad: Content-Length is not a number: 'x'"),
            ("A: b\r\n\r\n", "bad: the header has no Content-Length"),
            ("Content-Length: 99999999999\r\n\r\n", "bad: a message of 99999999999 bytes is too long"),
        ] {
            assert_eq!(read_all(input.as_bytes()), [problem]);
        }
    }

    #[test]
    fn content_that_is_not_a_message_has_an_answer() {
        for (content, code, id) in [
            ("{", -32700, Value::Null),
            ("[]", -32600, Value::Null),
            ("{\"id\": 5}", -32600, json!(5)),
            ("{\"id\": 1.5, \"method\": \"x\"}", -32600, json!(1.5)),
            ("{\"id\": null, \"method\": \"x\"}", -32600, Value::Null),
        ] {
            let answer = parse_message(content.as_bytes()).expect_err(content);
            assert_eq!((answer["error"]["code"].as_i64(), &answer["id"]), (Some(code), &id), "{content}");
        }
        for content in
            ["{\"id\": 5, \"method\": \"x\"}", "{\"method\": \"x\"}", "{\"id\": 1, \"result\": null}"]
        {
            assert!(parse_message(content.as_bytes()).is_ok(), "{content}");
        }
    }
}
