//! Commands of a running execution point, and their translation into events.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::control;
use htc_base::job::HoldCode;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::similar_names::nearest;
use htc_classad::stream::AdReader;
use htc_classad::{ClassAd, Dialect, Expr};
use htc_os::identity;
use htc_slot::{
    ClaimCommand, ClaimRequest, Deactivation, DrainCompletion, DrainRequest, DrainSpeed, DrainStatus,
    ShutdownMode, StartdEvent, VacateReason,
};

/// Request of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotControlRequest {
    /// Command, one of `COMMANDS`.
    pub command: String,
    /// Slot that the command applies to; `None` for all slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// `graceful` (the default), `quick`, `fast` or `peaceful`, if the command supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Reason of a drain or a hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `drain`: true if slots take jobs again when all are drained.
    #[serde(default)]
    pub resume: bool,
    /// For `drain`: action when all slots are drained: `resume`, `exit`, `restart` or `reconfig`; `None` for no
    /// action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_completion: Option<String>,
    /// For `drain`: expression that must be true in each slot ad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// For a graceful `drain`: START expression while draining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// For `undrain`: number of the drain to cancel; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// For `claim` and `activate`: length in bytes of the job ad in long form after the line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ad_length: usize,
    /// Name of that ad in messages: the file it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ad_name: Option<String>,
    /// For `claim`: seconds without `alive` after which an idle claim ends; `None` for the configured lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<i64>,
    /// For `claim`: name of the schedd, for RemoteScheddName.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedd: Option<String>,
    /// For `claim` of a partitionable slot: dynamic slots to preempt at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempts: Vec<String>,
    /// For `release-claim`: true to release the claim that waits to take over the slot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotControlAnswer {
    /// True if the command was carried out or started.
    pub ok: bool,
    /// Error message, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// True if the ad sent with the request is the reason of the error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bad_ad: bool,
    /// For `drain`: number of the drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<u64>,
    /// For `status`: the active drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
    /// For `status`: all slots. For `claim`: the claimed slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotStatus>,
    /// Note about the command: for `vacate` why there is nothing to vacate, for `claim` which attribute of the job
    /// has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// For `claim`: what the claim waits for, if the slot is not available at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// Reason why a request is refused.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// Error message.
    pub text: String,
    /// True if the ad sent with the request is the reason.
    pub bad_ad: bool,
}

impl From<String> for RequestRefusal {
    fn from(text: String) -> Self {
        RequestRefusal { text, bad_ad: false }
    }
}

impl From<RequestRefusal> for SlotControlAnswer {
    fn from(RequestRefusal { text, bad_ad }: RequestRefusal) -> Self {
        SlotControlAnswer { error: Some(text), bad_ad, ..SlotControlAnswer::default() }
    }
}

/// Names of the actions when all slots are drained.
const DRAIN_COMPLETIONS: [(&str, DrainCompletion); 4] = [
    ("resume", DrainCompletion::Resume),
    ("exit", DrainCompletion::Exit),
    ("restart", DrainCompletion::Restart),
    ("reconfig", DrainCompletion::Reconfigure),
];
/// Names of the drain speeds.
const DRAIN_SPEEDS: [(&str, DrainSpeed); 3] =
    [("graceful", DrainSpeed::Graceful), ("quick", DrainSpeed::Quick), ("fast", DrainSpeed::Fast)];

/// Active drain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveDrain {
    /// Number of the drain.
    pub request_id: u64,
    /// Speed of the drain.
    pub how: String,
    /// Reason of the drain.
    pub reason: String,
    /// Account that requested the drain.
    pub by: String,
    /// Start time, in seconds since the epoch.
    pub since: i64,
    /// Estimated end, in seconds since the epoch, or `None` when all slots are drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Action when all slots are drained, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_completion: Option<String>,
    /// START expression while draining, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Number of drained slots.
    pub drained: i64,
}

impl From<DrainStatus> for ActiveDrain {
    fn from(status: DrainStatus) -> Self {
        let DrainStatus { id, request, since, until, drained } = status;
        let on_completion = DRAIN_COMPLETIONS.iter().find(|(_, one)| *one == request.completion);
        let how = DRAIN_SPEEDS.iter().find(|(_, one)| *one == request.speed).map_or("", |(word, _)| *word);
        ActiveDrain {
            request_id: id,
            how: how.to_owned(),
            reason: request.reason,
            by: request.requester,
            since,
            until,
            on_completion: on_completion.map(|(word, _)| (*word).to_owned()),
            start: request.start_while_draining.map(|start| start.unparse().to_string()),
            drained,
        }
    }
}

/// Status of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Slot id.
    pub slot: String,
    /// Slot state.
    pub state: String,
    /// Slot activity.
    pub activity: String,
    /// Run time of the job in seconds, or `None` if no job runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_seconds: Option<i64>,
    /// Job as `cluster.proc`, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Owner of the job, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Verdict on the last fetch: `accepted`, `rejected`, `no work` or `bad answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Reason of the verdict, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds until the next fetch, or `None` if the slot does not fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_in: Option<u64>,
    /// Names of the running hooks of the slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Drain of the execution point, in output that prints each slot separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
}

/// Sends a request with its ad and waits for the answer.
///
/// # Errors
/// No process listens at the socket, the listener is neither root nor the caller's account, or the answer is not
/// valid.
pub fn send_request(socket: &Path, request: &SlotControlRequest, ad: &[u8]) -> io::Result<SlotControlAnswer> {
    control::send_request(
        socket,
        LISTENER_NAME,
        &SlotControlRequest { ad_length: ad.len(), ..request.clone() },
        ad,
    )
}

/// Name of the listening program in messages.
pub(super) const LISTENER_NAME: &str = "execution point";

/// Commands that a request can name.
const COMMANDS: [&str; 15] = [
    "match",
    "claim",
    "activate",
    "alive",
    "hold",
    "suspend",
    "continue",
    "vacate",
    "deactivate",
    "release-claim",
    "drain",
    "undrain",
    "off",
    "reconfig",
    "status",
];

/// Information about the client and the execution point that is needed to interpret a request.
pub(super) struct RequestContext<'a> {
    /// Job ad that came with the request.
    pub ad: Vec<u8>,
    /// Uid of the client.
    pub uid: u32,
    /// Lease in seconds of claims that request none.
    pub lease: i64,
    /// Hostname of this machine.
    pub host: &'a str,
    /// Quirks of 25.14 that are reproduced.
    pub quirks: QuirkMode,
    /// Dialect of the job ad.
    pub dialect: Dialect,
}

/// Interpretation of a request.
#[derive(Debug)]
pub(super) enum Command {
    Event(Box<StartdEvent>),
    /// Deactivate the claim and hold the job with this reason.
    Hold(Box<StartdEvent>, VacateReason),
    /// Claim a slot; the answer names it.
    Claim(Box<StartdEvent>),
    /// Begin a drain; the answer has its number.
    Drain(Box<StartdEvent>),
    Reconfigure,
    Status,
}

impl SlotControlRequest {
    /// Checks that the slot that the request names, if any, is one of the `known` slots. Returns an error message
    /// with suggestions otherwise.
    pub fn check_slot(&self, known: &[&str]) -> Result<(), String> {
        let Some(slot) = &self.slot else { return Ok(()) };
        if known.iter().any(|id| id.eq_ignore_ascii_case(slot)) {
            return Ok(());
        }
        let mut message = format!("there is no slot '{slot}'");
        if COMMANDS.contains(&slot.as_str()) {
            message += &format!("; {slot} is a verb, which comes first");
        } else if let Some(near) = nearest(slot.to_ascii_lowercase(), known.iter().copied()) {
            message += &format!("; did you mean {near}?");
        } else {
            message += &format!("; there are {}", known.join(", "));
        }
        Err(message)
    }

    /// Converts the request into an event, as if it came from this process's account on `host`. Returns `None` for
    /// commands that the runner carries out itself.
    ///
    /// # Errors
    /// The request is not valid; the message says why.
    pub fn into_event(
        self,
        ad: Vec<u8>,
        host: &str,
        quirks: QuirkMode,
    ) -> Result<Option<StartdEvent>, String> {
        let dialect = Dialect::new_syntax();
        let asked = RequestContext { ad, uid: identity::effective_uid(), lease: 0, host, quirks, dialect };
        Ok(match self.into_command(asked).map_err(|refusal| refusal.text)? {
            Command::Event(event)
            | Command::Claim(event)
            | Command::Drain(event)
            | Command::Hold(event, _) => Some(*event),
            Command::Reconfigure | Command::Status => None,
        })
    }

    /// Interprets the request.
    pub(super) fn into_command(self, asked: RequestContext<'_>) -> Result<Command, RequestRefusal> {
        let verb = self.command.as_str();
        let who = (asked.uid, asked.quirks);
        if let Some(command) = self.claim_command(asked)? {
            let Some(slot) = self.slot else {
                return Err(format!("'{}' is for one slot: name it", self.command).into());
            };
            let held = (self.command == "hold").then(|| VacateReason {
                text: self.reason.unwrap_or_else(|| "held by command".into()),
                code: HoldCode::UserRequest as i32,
                subcode: 0,
            });
            let claims = matches!(command, ClaimCommand::Request(_));
            let event = Box::new(StartdEvent::Command { slot, command });
            return Ok(match (held, claims) {
                (Some(reason), _) => Command::Hold(event, reason),
                (None, true) => Command::Claim(event),
                (None, false) => Command::Event(event),
            });
        }
        if self.slot.is_some() && matches!(verb, "off" | "drain" | "undrain" | "reconfig") {
            return Err(format!("'{verb}' is for the whole execution point: name no slot").into());
        }
        let how = self.how.as_deref().unwrap_or("graceful");
        let unknown = |known: &str| Err(format!("'{how}' is not known here; {known}").into());
        let event = match self.command.as_str() {
            "vacate" => match how {
                "graceful" => StartdEvent::Vacate { slot: self.slot, fast: false },
                "fast" => StartdEvent::Vacate { slot: self.slot, fast: true },
                _ => return unknown("graceful or fast"),
            },
            "suspend" => StartdEvent::Suspend { slot: self.slot },
            "continue" => StartdEvent::Continue { slot: self.slot },
            "drain" => {
                let Some((_, speed)) = DRAIN_SPEEDS.iter().find(|(word, _)| *word == how) else {
                    return unknown("graceful, quick or fast");
                };
                return Ok(Command::Drain(Box::new(StartdEvent::Drain(
                    self.into_drain_request(*speed, who)?,
                ))));
            }
            "undrain" => StartdEvent::CancelDrain { id: self.request_id },
            "off" => match how {
                "peaceful" => StartdEvent::Shutdown(ShutdownMode::Peaceful),
                "graceful" => StartdEvent::Shutdown(ShutdownMode::Graceful),
                "fast" => StartdEvent::Shutdown(ShutdownMode::Fast),
                _ => return unknown("peaceful, graceful or fast"),
            },
            "reconfig" => return Ok(Command::Reconfigure),
            "status" => return Ok(Command::Status),
            other => {
                let meant = nearest(other, COMMANDS.iter().copied());
                let hint = meant.map_or_else(String::new, |meant| format!(" (did you mean '{meant}'?)"));
                return Err(format!("there is no command '{other}'{hint}: {}", COMMANDS.join(", ")).into());
            }
        };
        Ok(Command::Event(Box::new(event)))
    }

    /// Builds the drain that the client requests (`command_drain_jobs`).
    fn into_drain_request(
        self,
        speed: DrainSpeed,
        (uid, quirks): (u32, QuirkMode),
    ) -> Result<Box<DrainRequest>, String> {
        let completion = match &self.on_completion {
            None if self.resume => DrainCompletion::Resume,
            None => DrainCompletion::Nothing,
            Some(asked) => DRAIN_COMPLETIONS
                .iter()
                .find(|(word, _)| word == asked)
                .map(|(_, completion)| *completion)
                .ok_or_else(|| format!("'{asked}' is not known here; resume, exit, restart or reconfig"))?,
        };
        let drops = quirks.reproduces(Quirk::DrainExprDropped);
        let expr = |what: &str, text: &Option<String>| {
            let parsed = text.as_ref().map(|text| {
                Expr::parse_with(text.as_bytes(), Dialect::old_syntax())
                    .map_err(|error| error.render(text.as_bytes()))
            });
            match parsed.transpose() {
                Err(_) if drops => Ok(None),
                parsed => {
                    parsed.map_err(|error| format!("{what} cannot be read, nothing is drained: {error}"))
                }
            }
        };
        let account = identity::account_by_uid(uid);
        Ok(Box::new(DrainRequest {
            speed,
            completion,
            check: expr("the check", &self.check)?,
            start_while_draining: expr("START", &self.start)?,
            reason: self.reason.unwrap_or_else(|| "by command".into()),
            requester: account.map_or_else(|| uid.to_string(), |account| account.name.to_string()),
        }))
    }

    /// Returns the claim command that a negotiator, schedd or shadow would send, or `None` for other commands.
    fn claim_command(&self, asked: RequestContext<'_>) -> Result<Option<ClaimCommand>, RequestRefusal> {
        let verb = self.command.as_str();
        Ok(Some(match verb {
            "match" => ClaimCommand::Match,
            "claim" => ClaimCommand::Request(Box::new(ClaimRequest {
                job: self.read_job_ad(&asked)?,
                lease: self.lease.unwrap_or(asked.lease),
                schedd: self.schedd.clone().unwrap_or_default().into(),
                host: asked.host.into(),
                preempts: self.preempts.clone(),
            })),
            "activate" => ClaimCommand::Activate(Box::new(self.read_job_ad(&asked)?)),
            "alive" => ClaimCommand::Alive,
            "hold" => ClaimCommand::Deactivate(Deactivation::Graceful),
            "deactivate" => ClaimCommand::Deactivate(match self.how.as_deref() {
                None | Some("graceful") => Deactivation::Graceful,
                Some("fast") => Deactivation::Forcibly,
                Some(how) => return Err(format!("'{how}' is not known here; graceful or fast").into()),
            }),
            "release-claim" => ClaimCommand::Release { waiting: self.waiting },
            _ => return Ok(None),
        }))
    }

    /// Parses the job ad of a claim. The client must have the account of this process, because jobs may run as that
    /// account.
    fn read_job_ad(&self, asked: &RequestContext<'_>) -> Result<ClassAd, RequestRefusal> {
        let own = identity::effective_uid();
        if asked.uid != own {
            let text = format!(
                "jobs run here as uid {own}, not as uid {}: ask from that account, or run the slots as root",
                asked.uid
            );
            return Err(text.into());
        }
        let name = self.ad_name.as_deref().unwrap_or("the job's ad");
        parse_single_ad(&asked.ad, asked.dialect, name).map_err(|text| RequestRefusal { text, bad_ad: true })
    }
}

/// Parses a text with exactly one ad, which messages call `name`.
fn parse_single_ad(text: &[u8], dialect: Dialect, name: &str) -> Result<ClassAd, String> {
    let mut reader = AdReader::new(text, None).dialect(dialect);
    let mut ads = Vec::new();
    while let Some(record) = reader.next_ad().map_err(|error| format!("{name}: {error}"))? {
        if let Some(error) = record.errors.first() {
            return Err(error.caret(name).render(&error.message));
        }
        ads.push(record.ad);
    }
    let count = ads.len();
    match ads.pop() {
        Some(ad) if count == 1 && !ad.is_empty() => Ok(ad),
        Some(_) if count > 1 => Err(format!("{name}: there are {count} ads, and a claim is for one job")),
        _ => Err(format!("{name}: there is no job ad")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(text: &str) -> Result<String, String> {
        let request: SlotControlRequest = serde_json::from_str(text).unwrap();
        request
            .into_command(RequestContext {
                ad: b"Cmd = 1\n".to_vec(),
                uid: identity::effective_uid(),
                lease: 9,
                host: "h",
                quirks: QuirkMode::Manual,
                dialect: Dialect::new_syntax(),
            })
            .map(|meaning| format!("{meaning:?}"))
            .map_err(|refusal| refusal.text)
    }

    #[test]
    fn requests_become_events() {
        assert_eq!(
            meaning(r#"{"command":"vacate","slot":"slot1","how":"fast"}"#).unwrap(),
            "Event(Vacate { slot: Some(\"slot1\"), fast: true })"
        );
        assert_eq!(meaning(r#"{"command":"off"}"#).unwrap(), "Event(Shutdown(Graceful))");
        assert!(meaning(r#"{"command":"off","how":"quick"}"#).unwrap_err().contains("peaceful"));
        assert!(meaning(r#"{"command":"dance"}"#).is_err());
        assert!(meaning(r#"{"command":"claim"}"#).unwrap_err().contains("name it"));
        let claim = meaning(r#"{"command":"claim","slot":"slot1","ad_length":8}"#).unwrap();
        assert!(claim.starts_with("Claim(Command") && claim.contains("lease: 9"), "{claim}");
        let hold = meaning(r#"{"command":"hold","slot":"slot1","reason":"why"}"#).unwrap();
        assert!(hold.contains("Deactivate(Graceful)") && hold.contains("text: \"why\", code: 1"), "{hold}");
        let whole = meaning(r#"{"command":"off","slot":"slot1"}"#).unwrap_err();
        assert_eq!(whole, "'off' is for the whole execution point: name no slot");
    }

    #[test]
    fn a_drain_says_what_it_waits_for_and_what_comes_then() {
        let drain = meaning(
            r#"{"command":"drain","how":"quick","check":"SlotID < 9","on_completion":"exit","reason":"why"}"#,
        );
        let drain = drain.unwrap();
        for part in ["Quick", "reason: \"why\"", "completion: Exit", "check: Some("] {
            assert!(drain.contains(part), "{part}: {drain}");
        }
        let refused = meaning(r#"{"command":"drain","check":"SlotID <"}"#).unwrap_err();
        assert!(refused.starts_with("the check cannot be read, nothing is drained: "), "{refused}");
        assert!(meaning(r#"{"command":"drain","on_completion":"dance"}"#).unwrap_err().contains("reconfig"));
    }

    #[test]
    fn a_slot_that_is_not_there_is_told_with_the_one_that_was_meant() {
        let check = |slot: &str| {
            let request = SlotControlRequest { slot: Some(slot.into()), ..SlotControlRequest::default() };
            request.check_slot(&["slot1", "slot2_1"])
        };
        assert_eq!(check("SLOT1"), Ok(()));
        assert_eq!(check("slto2_1").unwrap_err(), "there is no slot 'slto2_1'; did you mean slot2_1?");
        assert_eq!(
            check("drain").unwrap_err(),
            "there is no slot 'drain'; drain is a verb, which comes first"
        );
        assert_eq!(check("machine").unwrap_err(), "there is no slot 'machine'; there are slot1, slot2_1");
    }

    #[test]
    fn nobody_has_a_job_run_under_another_account_than_his_own() {
        let request = || SlotControlRequest {
            command: "claim".into(),
            slot: Some("slot1".into()),
            ..SlotControlRequest::default()
        };
        let other = identity::effective_uid() + 1;
        let asked = |uid, strict| RequestContext {
            ad: b"Cmd = 010\n".to_vec(),
            uid,
            lease: 9,
            host: "h",
            quirks: QuirkMode::Manual,
            dialect: Dialect::new_syntax().strict(strict),
        };
        let refused = request().into_command(asked(other, true));
        assert!(refused.unwrap_err().text.contains(&format!("not as uid {other}")));
        // The configuration selects the mode: only strict mode accepts leading zeros.
        let refused = request().into_command(asked(other - 1, false)).unwrap_err();
        assert!(refused.bad_ad && refused.text.starts_with("the job's ad:1:"), "{refused:?}");
        assert!(request().into_command(asked(other - 1, true)).is_ok());
    }
}
