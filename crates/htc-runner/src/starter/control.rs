//! Control socket of a starter (`--control`), for the requests that a real starter receives from startd and schedd as
//! signals and commands.
//!
//! Reference: `Starter::RemoteShutdownGraceful`, `RemoteShutdownFast`, `RemoteHold`, `RemoteRemove`, `RemoteSuspend`,
//! `RemoteContinue` of `starter.cpp`; the texts of reasons are those of the corresponding tools.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};
use nix::unistd::{Uid, User};
use serde::{Deserialize, Serialize};

use crate::control::{self, ClientRequest, ControlSocket};
use htc_base::job::HoldCode;
use htc_base::text::similar_names::nearest;
use htc_os::Reactor;
use htc_starter::{StarterCommand, StarterVacateReason};

/// Name of this program in messages about the control socket.
const LISTENER_NAME: &str = "starter";

/// Valid commands of an order.
pub const ORDER_COMMANDS: [&str; 9] =
    ["soft", "hard", "suspend", "continue", "hold", "release", "remove", "update", "status"];

/// Order of a client to a starter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StarterOrder {
    /// Command of the order: one of [`ORDER_COMMANDS`].
    pub command: String,
    /// Reason for the job ad, or `None` for the default reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `hold`, `soft` and `hard`: hold or vacate code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// For `hold`, `soft` and `hard`: hold or vacate subcode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcode: Option<i64>,
}

/// Reply of a starter to an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StarterReply {
    /// True if the order was carried out, or is being carried out.
    pub ok: bool,
    /// Reason why the order was not carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// True if the order is valid but the state of the job or the role of the starter does not allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused_by_state: bool,
    /// For `status`: the job as `cluster.proc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// For `status`: the state of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl StarterReply {
    /// Creates the reply to a valid order: it was carried out, or the state of the job did not allow it.
    pub fn from_result(result: Result<(), String>) -> Self {
        let refused_by_state = result.is_err();
        StarterReply { ok: result.is_ok(), error: result.err(), refused_by_state, ..StarterReply::default() }
    }

    /// Creates the reply to an order that is not valid.
    pub fn invalid(error: String) -> Self {
        StarterReply { error: Some(error), ..StarterReply::default() }
    }

    /// Creates the reply to `status`.
    pub fn status(job: &str, state: &str) -> Self {
        StarterReply {
            ok: true,
            job: Some(job.to_owned()),
            state: Some(state.to_owned()),
            ..StarterReply::default()
        }
    }
}

/// Sends an order to the starter that listens at `socket`.
///
/// # Errors
/// Fails if no process listens at the socket, if the listener runs neither as root nor as the caller's account, or if
/// its reply is invalid.
pub fn send_order(socket: &Path, order: &StarterOrder) -> io::Result<StarterReply> {
    control::send_request(socket, LISTENER_NAME, order, b"")
}

/// Listens for orders at a path or, given `fd:N`, at the open socket with that descriptor.
///
/// # Errors
/// Same as [`ControlSocket::open`] and [`ControlSocket::open_inherited`].
pub fn listen(socket: &Path, reactor: &mut Reactor) -> io::Result<ControlSocket> {
    match socket.as_os_str().as_bytes().strip_prefix(b"fd:").map(|number| number.to_str()) {
        Some(number) => {
            let text = "expected fd:N with the number of an open descriptor, such as fd:3";
            let number = number.ok().and_then(|number| number.parse().ok());
            let number = number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, text))?;
            ControlSocket::open_inherited(number, LISTENER_NAME, reactor)
        }
        // The path is made absolute because the starter changes its working directory.
        None => ControlSocket::open(&std::path::absolute(socket)?, LISTENER_NAME, reactor),
    }
}

/// Command of a client for the job of a starter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlCommand {
    /// Passes a request to the starter, whether or not an observer acts as the queue.
    StarterRequest(StarterCommand),
    /// Puts the job on hold.
    Hold(StarterVacateReason),
    /// Removes the job, with this reason.
    Remove(BString),
    /// Vacates the job with a reason or none; the flag is true for a fast vacate.
    Vacate(Option<StarterVacateReason>, bool),
    /// Releases a held job, with this reason.
    Release(BString),
    /// Queries the state of the job.
    Status,
}

impl ControlCommand {
    /// Converts an order to a command; `uid` is the account of the client.
    ///
    /// # Errors
    /// Fails with a message for the client if the command is unknown or a code is invalid.
    pub fn read(order: &StarterOrder, uid: u32) -> Result<ControlCommand, String> {
        if !ORDER_COMMANDS.contains(&order.command.as_str()) {
            let near = nearest(order.command.to_ascii_lowercase(), ORDER_COMMANDS).map_or_else(
                || format!("there are {}", ORDER_COMMANDS.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            return Err(format!("there is no command '{}'; {near}", order.command));
        }
        let coded = matches!(order.command.as_str(), "hold" | "soft" | "hard");
        if (order.code.is_some() || order.subcode.is_some()) && !coded {
            return Err(format!("'{}' takes no code; hold, soft and hard do", order.command));
        }
        let by = || {
            let name = User::from_uid(Uid::from_raw(uid)).ok().flatten();
            name.map_or_else(|| uid.to_string(), |user| user.name)
        };
        let reason_with_user = |default: &str| {
            BString::from(format!("{} (by user {})", order.reason.as_deref().unwrap_or(default), by()))
        };
        let subcode = order.subcode.unwrap_or(0);
        Ok(match order.command.as_str() {
            "hold" => {
                let code = order.code.unwrap_or(HoldCode::UserRequest.number());
                if !(1..1000).contains(&code) {
                    return Err(format!("{code} is not a hold code: use 1 to 999"));
                }
                ControlCommand::Hold(StarterVacateReason {
                    reason: reason_with_user("via condor_hold"),
                    code,
                    subcode,
                })
            }
            "remove" => ControlCommand::Remove(reason_with_user("via condor_rm")),
            "release" => ControlCommand::Release(reason_with_user("via condor_release")),
            "suspend" => ControlCommand::StarterRequest(StarterCommand::Suspend),
            "continue" => ControlCommand::StarterRequest(StarterCommand::Continue),
            "update" => ControlCommand::StarterRequest(StarterCommand::Update),
            "status" => ControlCommand::Status,
            word => {
                let given = order.reason.is_some() || order.code.is_some();
                let vacate = given.then(|| StarterVacateReason {
                    reason: order.reason.as_deref().unwrap_or("Job vacated by schedd").into(),
                    code: order.code.unwrap_or(HoldCode::ScheddVacate.number()),
                    subcode,
                });
                ControlCommand::Vacate(vacate, word == "hard")
            }
        })
    }

    /// Converts the command to a request for a starter without an observer.
    ///
    /// # Errors
    /// Fails for `release`, because a starter has no held jobs, and for `status`, which is not a request.
    pub(super) fn into_request(self) -> Result<StarterCommand, String> {
        Ok(match self {
            ControlCommand::StarterRequest(request) => request,
            ControlCommand::Hold(vacate) => StarterCommand::Hold(Some(vacate)),
            ControlCommand::Remove(reason) => StarterCommand::Remove(Some(StarterVacateReason {
                reason,
                code: HoldCode::JobRemoved.number(),
                subcode: 0,
            })),
            ControlCommand::Vacate(vacate, false) => StarterCommand::Graceful(vacate),
            ControlCommand::Vacate(vacate, true) => StarterCommand::Fast(vacate),
            ControlCommand::Release(_) => {
                return Err("only a job in a queue can be released: --as shadow".to_owned());
            }
            ControlCommand::Status => return Err("'status' is a query, not an action".to_owned()),
        })
    }
}

/// Parses the order in a client's request.
///
/// # Errors
/// Fails with a message for the client if the order is not valid.
pub fn parse_client_command(request: ClientRequest) -> Result<ControlCommand, String> {
    let (line, _) = request.request?;
    ControlCommand::read(&control::parse_request(&line)?, request.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ControlCommand, String> {
        ControlCommand::read(&control::parse_request(text.as_bytes())?, 0)
    }

    #[test]
    fn requests_have_the_names_of_the_tools() {
        let hold = |reason: &str, code, subcode| {
            Ok(ControlCommand::Hold(StarterVacateReason { reason: reason.into(), code, subcode }))
        };
        assert_eq!(read(r#"{"command": "hold"}"#), hold("via condor_hold (by user root)", 1, 0));
        let own = r#"{"command": "hold", "reason": "no disk", "code": 26, "subcode": -3}"#;
        assert_eq!(read(own), hold("no disk (by user root)", 26, -3));
        assert_eq!(read(r#"{"command": "soft"}"#), Ok(ControlCommand::Vacate(None, false)));
        let vacate = StarterVacateReason {
            reason: "off we go".into(),
            code: HoldCode::ScheddVacate.number(),
            subcode: 0,
        };
        assert_eq!(
            read(r#"{"command": "hard", "reason": "off we go"}"#),
            Ok(ControlCommand::Vacate(Some(vacate), true))
        );
    }

    #[test]
    fn an_invalid_request_is_refused_with_a_suggestion() {
        let error = |text| read(text).unwrap_err();
        assert_eq!(error(r#"{"command": "holt"}"#), "there is no command 'holt'; did you mean hold?");
        assert!(error(r#"{"command": "zzzzzzzz"}"#).contains("there are soft, hard, suspend"));
        assert_eq!(error(r#"{"command": "hold", "code": 1000}"#), "1000 is not a hold code: use 1 to 999");
        assert_eq!(
            error(r#"{"command": "remove", "code": 3}"#),
            "'remove' takes no code; hold, soft and hard do"
        );
        assert!(error("[]").starts_with("a request must be one JSON object on one line: "));
        assert!(error(r#"{"command": "hold", "slot": "slot1"}"#).contains("unknown field"));
    }
}
