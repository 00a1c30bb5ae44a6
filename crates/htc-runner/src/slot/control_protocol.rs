//! Commands of a running execution point, and their translation into events.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// A request at the control socket, written as one JSON object with the key `command`.
///
/// [`SlotControlRequest::parse`] reads one and names the key that it refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SlotControlRequest {
    /// Matches a slot, as a negotiator does.
    Match {
        /// The slot.
        slot: String,
    },
    /// Claims a slot for the job whose ad follows the line, as a schedd does.
    Claim {
        /// The slot.
        slot: String,
        /// Length in bytes of the job ad, in long form, that follows the line.
        #[serde(default, skip_serializing_if = "is_zero")]
        ad_length: usize,
        /// Name of the ad in messages: the file that contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ad_name: Option<String>,
        /// Seconds without `alive` after which an idle claim ends, or `None` for the configured lease.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<i64>,
        /// Name of the schedd, for RemoteScheddName.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedd: Option<String>,
        /// Dynamic slots of a partitionable slot that are preempted at once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        preempts: Vec<String>,
    },
    /// Runs the job whose ad follows the line in a claimed slot, as a shadow does.
    Activate {
        /// The slot.
        slot: String,
        /// Length in bytes of the job ad, in long form, that follows the line.
        #[serde(default, skip_serializing_if = "is_zero")]
        ad_length: usize,
        /// Name of the ad in messages: the file that contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ad_name: Option<String>,
    },
    /// Renews the lease of a claim.
    Alive {
        /// The slot.
        slot: String,
    },
    /// Puts the job of a slot on hold.
    Hold {
        /// The slot.
        slot: String,
        /// HoldReason of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Suspends the job of a slot, or all jobs.
    Suspend {
        /// The slot, or `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
    },
    /// Continues the suspended job of a slot, or all of them.
    Continue {
        /// The slot, or `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
    },
    /// Vacates a slot, or all slots.
    Vacate {
        /// The slot, or `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
        /// How fast, or `None` for graceful.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<VacateSpeed>,
    },
    /// Ends the job of a slot and keeps the claim.
    Deactivate {
        /// The slot.
        slot: String,
        /// How fast, or `None` for graceful.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<VacateSpeed>,
    },
    /// Gives up a claim.
    ReleaseClaim {
        /// The slot.
        slot: String,
        /// True for the claim that waits to take over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waiting: bool,
    },
    /// Drains the execution point.
    Drain {
        /// How fast, or `None` for graceful.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<DrainSpeed>,
        /// DrainReason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What happens when all slots are drained.
        #[serde(default, skip_serializing_if = "is_nothing")]
        on_completion: DrainCompletion,
        /// Expression that must be true in each slot's ad.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<String>,
        /// START during a graceful drain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
    },
    /// Ends a drain.
    Undrain {
        /// Number of the drain, or `None` for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// Ends the execution point.
    Off {
        /// How fast, or `None` for graceful.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<ShutdownMode>,
    },
    /// Reads the configuration again.
    Reconfig {},
    /// Requests the state of all slots.
    Status {
        /// A slot that must exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
    },
}

/// Speed at which a slot is vacated or a claim deactivated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VacateSpeed {
    /// The job has its retirement and vacate time.
    Graceful,
    /// The job is killed.
    Fast,
}

/// A request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidRequest {
    /// The key that is wrong or missing; `command` if the request as a whole is.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

/// Type of a key's value.
#[derive(Clone, Copy)]
enum KeyType {
    /// A required string.
    RequiredText,
    Text,
    Words(&'static [&'static str]),
    Integer,
    /// A number of bytes.
    Length,
    Flag,
    /// A list of strings.
    Names,
}

/// A key of a request and its type.
type RequestKey = (&'static str, KeyType);

const REQUIRED_SLOT: RequestKey = ("slot", KeyType::RequiredText);
const OPTIONAL_SLOT: RequestKey = ("slot", KeyType::Text);
const AD_LENGTH: RequestKey = ("ad_length", KeyType::Length);
const AD_NAME: RequestKey = ("ad_name", KeyType::Text);
const REASON: RequestKey = ("reason", KeyType::Text);
const VACATE_SPEED: RequestKey = ("how", KeyType::Words(&["graceful", "fast"]));

/// The commands and their keys other than `command`.
const COMMANDS: [(&str, &[RequestKey]); 15] = [
    ("match", &[REQUIRED_SLOT]),
    (
        "claim",
        &[
            REQUIRED_SLOT,
            AD_LENGTH,
            AD_NAME,
            ("lease", KeyType::Integer),
            ("schedd", KeyType::Text),
            ("preempts", KeyType::Names),
        ],
    ),
    ("activate", &[REQUIRED_SLOT, AD_LENGTH, AD_NAME]),
    ("alive", &[REQUIRED_SLOT]),
    ("hold", &[REQUIRED_SLOT, REASON]),
    ("suspend", &[OPTIONAL_SLOT]),
    ("continue", &[OPTIONAL_SLOT]),
    ("vacate", &[OPTIONAL_SLOT, VACATE_SPEED]),
    ("deactivate", &[REQUIRED_SLOT, VACATE_SPEED]),
    ("release-claim", &[REQUIRED_SLOT, ("waiting", KeyType::Flag)]),
    (
        "drain",
        &[
            ("how", KeyType::Words(&["graceful", "quick", "fast"])),
            REASON,
            ("on_completion", KeyType::Words(&["resume", "exit", "restart", "reconfig"])),
            ("check", KeyType::Text),
            ("start", KeyType::Text),
        ],
    ),
    ("undrain", &[("request_id", KeyType::Text)]),
    ("off", &[("how", KeyType::Words(&["peaceful", "graceful", "fast"]))]),
    ("reconfig", &[]),
    ("status", &[OPTIONAL_SLOT]),
];

impl KeyType {
    /// Returns the reason why `value` cannot be that of the key `name` of `command`, or `None` if it can.
    fn refusal(self, command: &str, name: &str, value: Option<&Value>) -> Option<String> {
        let expected = match (self, value) {
            (KeyType::RequiredText, None) => return Some(format!("'{command}' is for one slot: name it")),
            (_, None)
            | (KeyType::RequiredText | KeyType::Text, Some(Value::String(_)))
            | (KeyType::Text | KeyType::Words(_) | KeyType::Integer, Some(Value::Null))
            | (KeyType::Flag, Some(Value::Bool(_))) => return None,
            (KeyType::Words(words), Some(Value::String(word))) => return unknown_word(words, name, word),
            (KeyType::Words(words), Some(_)) => list_words(words),
            (KeyType::Integer, Some(value)) if value.is_i64() => return None,
            (KeyType::Length, Some(value)) if value.is_u64() => return None,
            (KeyType::Names, Some(Value::Array(names))) if names.iter().all(Value::is_string) => return None,
            (KeyType::RequiredText | KeyType::Text, Some(_)) => "a string".to_owned(),
            (KeyType::Integer, Some(_)) => "an integer".to_owned(),
            (KeyType::Length, Some(_)) => "a number of bytes".to_owned(),
            (KeyType::Flag, Some(_)) => "true or false".to_owned(),
            (KeyType::Names, Some(_)) => "a list of strings".to_owned(),
        };
        let found = value.map_or_else(String::new, Value::to_string);
        Some(format!("'{name}' must be {expected}, not {found}"))
    }
}

fn unknown_word(words: &'static [&'static str], name: &str, word: &str) -> Option<String> {
    if words.contains(&word) {
        return None;
    }
    let hint = did_you_mean(word, words.iter().copied());
    Some(format!("'{word}' is not known here{hint}; '{name}' is {}", list_words(words)))
}

fn list_words(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn did_you_mean(word: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!(" (did you mean '{near}'?)"))
}

/// Checks the command, its keys and their values.
fn check_object(object: &Map<String, Value>) -> Result<(), InvalidRequest> {
    let refuse = |key: &str, message: String| Err(InvalidRequest { key: key.to_owned(), message });
    let names = COMMANDS.map(|(name, _)| name);
    let command = match object.get("command") {
        Some(Value::String(command)) => command.as_str(),
        Some(other) => return refuse("command", format!("'command' must be a string, not {other}")),
        None => return refuse("command", format!("'command' is missing: {}", names.join(", "))),
    };
    let Some((_, keys)) = COMMANDS.iter().find(|(name, _)| *name == command) else {
        let hint = did_you_mean(command, names.into_iter());
        return refuse("command", format!("there is no command '{command}'{hint}: {}", names.join(", ")));
    };
    for name in object.keys().filter(|name| *name != "command") {
        if keys.iter().any(|(known, _)| known == name) {
            continue;
        }
        let elsewhere = COMMANDS.iter().any(|(_, keys)| keys.iter().any(|(known, _)| known == name));
        let message = match (name.as_str(), elsewhere) {
            ("slot", _) => format!("'{command}' is for the whole execution point: name no slot"),
            (_, true) => format!("'{command}' has no key '{name}'"),
            (_, false) => {
                let hint = did_you_mean(name, keys.iter().map(|(known, _)| *known));
                format!("unknown key '{name}'{hint}")
            }
        };
        return refuse(name, message);
    }
    for (name, kind) in *keys {
        if let Some(message) = kind.refusal(command, name, object.get(*name)) {
            return refuse(name, message);
        }
    }
    Ok(())
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_nothing(completion: &DrainCompletion) -> bool {
    *completion == DrainCompletion::Nothing
}

/// Answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotControlAnswer {
    /// True if the command was carried out or started.
    pub ok: bool,
    /// Error message, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Kind of the error, if there is one.
    #[serde(default, skip_serializing_if = "RefusalKind::is_default")]
    pub refusal: RefusalKind,
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

/// Kind of reason why a request is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request is not valid.
    #[default]
    Request,
    /// The ad sent with the request, or the configuration to read, is not valid.
    Input,
    /// The state of the slot or of the execution point does not allow it.
    State,
}

impl RefusalKind {
    fn is_default(&self) -> bool {
        *self == RefusalKind::default()
    }
}

/// Reason why a request is refused.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// Error message.
    pub text: String,
    /// Kind of the reason.
    pub kind: RefusalKind,
}

impl RequestRefusal {
    /// Creates a refusal because of the state.
    pub(super) fn by_state(text: String) -> Self {
        RequestRefusal { text, kind: RefusalKind::State }
    }

    /// Creates a refusal because of an ad or the configuration.
    pub(super) fn by_input(text: String) -> Self {
        RequestRefusal { text, kind: RefusalKind::Input }
    }
}

impl From<String> for RequestRefusal {
    fn from(text: String) -> Self {
        RequestRefusal { text, kind: RefusalKind::Request }
    }
}

impl From<InvalidRequest> for RequestRefusal {
    fn from(error: InvalidRequest) -> Self {
        error.message.into()
    }
}

impl From<RequestRefusal> for SlotControlAnswer {
    fn from(RequestRefusal { text, kind }: RequestRefusal) -> Self {
        SlotControlAnswer { error: Some(text), refusal: kind, ..SlotControlAnswer::default() }
    }
}

/// A drain that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActiveDrain {
    /// Number of the drain.
    pub request_id: u64,
    /// Speed of the drain.
    pub how: DrainSpeed,
    /// DrainReason.
    pub reason: String,
    /// Account that requested the drain.
    pub by: String,
    /// Start time, in seconds since the epoch.
    pub since: i64,
    /// Estimated end, in seconds since the epoch, or `None` when all slots are drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Action when all slots are drained.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub on_completion: DrainCompletion,
    /// START expression while draining, or `None` for the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Number of drained slots.
    pub drained: i64,
}

impl From<DrainStatus> for ActiveDrain {
    fn from(status: DrainStatus) -> Self {
        let DrainStatus { id, request, since, until, drained } = status;
        ActiveDrain {
            request_id: id,
            how: request.speed,
            reason: request.reason,
            by: request.requester,
            since,
            until,
            on_completion: request.completion,
            start: request.start_while_draining.map(|start| start.unparse().to_string()),
            drained,
        }
    }
}

/// Status of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    let mut request = request.clone();
    if let SlotControlRequest::Claim { ad_length, .. } | SlotControlRequest::Activate { ad_length, .. } =
        &mut request
    {
        *ad_length = ad.len();
    }
    control::send_request(socket, LISTENER_NAME, &request, ad)
}

/// Name of the listening program in messages.
pub(super) const LISTENER_NAME: &str = "execution point";

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
    /// Reads the line of a request.
    ///
    /// # Errors
    /// It is not JSON, or has an unknown command, key or value.
    pub fn parse(line: &[u8]) -> Result<Self, InvalidRequest> {
        let invalid = |message| InvalidRequest { key: "command".to_owned(), message };
        check_object(&control::parse_request(line).map_err(invalid)?)?;
        // Parses the line again instead of the object, which has lost keys that occur twice.
        control::parse_request(line).map_err(invalid)
    }

    /// Returns the slot that the request names, or `None` for all.
    pub fn slot(&self) -> Option<&str> {
        use SlotControlRequest as R;
        match self {
            R::Match { slot }
            | R::Claim { slot, .. }
            | R::Activate { slot, .. }
            | R::Alive { slot }
            | R::Hold { slot, .. }
            | R::Deactivate { slot, .. }
            | R::ReleaseClaim { slot, .. } => Some(slot),
            R::Suspend { slot } | R::Continue { slot } | R::Vacate { slot, .. } | R::Status { slot } => {
                slot.as_deref()
            }
            R::Drain { .. } | R::Undrain { .. } | R::Off { .. } | R::Reconfig {} => None,
        }
    }

    /// Checks that the slot of the request exists; `known` are the slots of the execution point.
    ///
    /// # Errors
    /// There is no such slot; the message names the most similar one.
    pub fn check_slot(&self, known: &[&str]) -> Result<(), String> {
        let Some(slot) = self.slot() else { return Ok(()) };
        if known.iter().any(|id| id.eq_ignore_ascii_case(slot)) {
            return Ok(());
        }
        let mut message = format!("there is no slot '{slot}'");
        if COMMANDS.iter().any(|(name, _)| *name == slot) {
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

    /// Returns what the execution point does for the request.
    pub(super) fn into_command(self, context: RequestContext<'_>) -> Result<Command, RequestRefusal> {
        let claim_command = |slot, command| Box::new(StartdEvent::Command { slot, command });
        Ok(match self {
            Self::Match { slot } => Command::Event(claim_command(slot, ClaimCommand::Match)),
            Self::Claim { slot, ad_name, lease, schedd, preempts, ad_length: _ } => {
                let request = ClaimRequest {
                    job: context.read_job_ad(ad_name.as_deref())?,
                    lease: lease.unwrap_or(context.lease),
                    schedd: schedd.unwrap_or_default().into(),
                    host: context.host.into(),
                    preempts,
                };
                Command::Claim(claim_command(slot, ClaimCommand::Request(Box::new(request))))
            }
            Self::Activate { slot, ad_name, ad_length: _ } => {
                let job = context.read_job_ad(ad_name.as_deref())?;
                Command::Event(claim_command(slot, ClaimCommand::Activate(Box::new(job))))
            }
            Self::Alive { slot } => Command::Event(claim_command(slot, ClaimCommand::Alive)),
            Self::Hold { slot, reason } => Command::Hold(
                claim_command(slot, ClaimCommand::Deactivate(Deactivation::Graceful)),
                VacateReason {
                    text: reason.unwrap_or_else(|| "held by command".into()),
                    code: HoldCode::UserRequest as i32,
                    subcode: 0,
                },
            ),
            Self::Deactivate { slot, how } => {
                let how = match how {
                    Some(VacateSpeed::Fast) => Deactivation::Forcibly,
                    Some(VacateSpeed::Graceful) | None => Deactivation::Graceful,
                };
                Command::Event(claim_command(slot, ClaimCommand::Deactivate(how)))
            }
            Self::ReleaseClaim { slot, waiting } => {
                Command::Event(claim_command(slot, ClaimCommand::Release { waiting }))
            }
            Self::Suspend { slot } => Command::Event(Box::new(StartdEvent::Suspend { slot })),
            Self::Continue { slot } => Command::Event(Box::new(StartdEvent::Continue { slot })),
            Self::Vacate { slot, how } => {
                let fast = how == Some(VacateSpeed::Fast);
                Command::Event(Box::new(StartdEvent::Vacate { slot, fast }))
            }
            Self::Drain { how, reason, on_completion, check, start } => {
                let drops = context.quirks.reproduces(Quirk::DrainExprDropped);
                let account = identity::account_by_uid(context.uid);
                let uid = context.uid;
                Command::Drain(Box::new(StartdEvent::Drain(Box::new(DrainRequest {
                    speed: how.unwrap_or(DrainSpeed::Graceful),
                    completion: on_completion,
                    check: parse_drain_expr("the check", check, drops)?,
                    start_while_draining: parse_drain_expr("START", start, drops)?,
                    reason: reason.unwrap_or_else(|| "by command".into()),
                    requester: account.map_or_else(|| uid.to_string(), |account| account.name.to_string()),
                }))))
            }
            Self::Undrain { request_id } => {
                Command::Event(Box::new(StartdEvent::CancelDrain { id: request_id }))
            }
            Self::Off { how } => {
                Command::Event(Box::new(StartdEvent::Shutdown(how.unwrap_or(ShutdownMode::Graceful))))
            }
            Self::Reconfig {} => Command::Reconfigure,
            Self::Status { slot: _ } => Command::Status,
        })
    }
}

/// Parses an expression of a drain (`command_drain_jobs`); one that cannot be parsed is dropped if `drops`.
fn parse_drain_expr(what: &str, text: Option<String>, drops: bool) -> Result<Option<Expr>, String> {
    let Some(text) = text else { return Ok(None) };
    match Expr::parse_with(text.as_bytes(), Dialect::old_syntax()) {
        Ok(expr) => Ok(Some(expr)),
        Err(_) if drops => Ok(None),
        Err(error) => {
            let error = error.render(text.as_bytes());
            Err(format!("{what} cannot be read, nothing is drained: {error}"))
        }
    }
}

impl RequestContext<'_> {
    /// Reads the job ad of a claim. The job runs as its owner, which takes root; otherwise as this process, and then only for
    /// requests of the same account.
    fn read_job_ad(&self, name: Option<&str>) -> Result<ClassAd, RequestRefusal> {
        let own = identity::effective_uid();
        if self.uid != own {
            let text = format!(
                "jobs run here as uid {own}, not as uid {}: ask from that account, or run the slots as root",
                self.uid
            );
            return Err(RequestRefusal::by_state(text));
        }
        parse_single_ad(&self.ad, self.dialect, name.unwrap_or("the job's ad"))
            .map_err(RequestRefusal::by_input)
    }
}

/// Parses a text with exactly one ad, which messages call `name`.
fn parse_single_ad(text: &[u8], dialect: Dialect, name: &str) -> Result<ClassAd, String> {
    let mut reader = AdReader::new(text, None).dialect(dialect);
    let mut ads = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| format!("{name}: {error}"))? {
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
        SlotControlRequest::parse(text.as_bytes())
            .map_err(|error| error.message)?
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
            let request = SlotControlRequest::Status { slot: Some(slot.into()) };
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
        let request = || SlotControlRequest::parse(br#"{"command":"claim","slot":"slot1"}"#).unwrap();
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
        assert!(
            refused.kind == RefusalKind::Input && refused.text.starts_with("the job's ad:1:"),
            "{refused:?}"
        );
        assert!(request().into_command(asked(other - 1, true)).is_ok());
    }

    /// A value that the key can have.
    fn valid_value(kind: KeyType) -> Value {
        match kind {
            KeyType::RequiredText | KeyType::Text => "slot1".into(),
            KeyType::Words(words) => words[0].into(),
            KeyType::Integer | KeyType::Length => 7.into(),
            KeyType::Flag => true.into(),
            KeyType::Names => vec!["slot1_1"].into(),
        }
    }

    fn request_with_all_keys(command: &str, keys: &[RequestKey]) -> Map<String, Value> {
        let values = keys.iter().map(|(name, kind)| ((*name).to_owned(), valid_value(*kind)));
        let mut object: Map<String, Value> = values.collect();
        object.insert("command".to_owned(), command.into());
        object
    }

    fn refusal(object: &Map<String, Value>) -> InvalidRequest {
        SlotControlRequest::parse(&serde_json::to_vec(object).unwrap()).unwrap_err()
    }

    #[test]
    fn the_table_of_keys_is_that_of_the_requests() {
        for (command, keys) in COMMANDS {
            let object = request_with_all_keys(command, keys);
            let request = SlotControlRequest::parse(&serde_json::to_vec(&object).unwrap()).unwrap();
            assert_eq!(serde_json::to_value(request).unwrap(), Value::Object(object));
            for (name, kind) in keys {
                let KeyType::Words(words) = kind else { continue };
                for word in *words {
                    let text = format!(r#"{{"command":"{command}","slot":"slot1","{name}":"{word}"}}"#);
                    let object: Map<String, Value> = serde_json::from_str(&text).unwrap();
                    let known = |name: &str| name == "command" || keys.iter().any(|(key, _)| *key == name);
                    let object: Map<_, _> = object.into_iter().filter(|(name, _)| known(name)).collect();
                    assert!(
                        SlotControlRequest::parse(&serde_json::to_vec(&object).unwrap()).is_ok(),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_command_refuses_one_key_too_many_and_names_it() {
        for (command, keys) in COMMANDS {
            let all = COMMANDS.iter().flat_map(|(_, keys)| keys.iter().map(|(name, _)| *name));
            for extra in all.chain(["hwo", "Command", ""]) {
                if keys.iter().any(|(name, _)| *name == extra) {
                    continue;
                }
                let mut object = request_with_all_keys(command, keys);
                object.insert(extra.to_owned(), Value::Null);
                let error = refusal(&object);
                assert_eq!(error.key, extra, "{command}: {error}");
                // The type refuses it as well, without the table.
                assert!(serde_json::from_value::<SlotControlRequest>(Value::Object(object)).is_err());
            }
            for (name, _) in keys {
                let object = serde_json::to_string(&request_with_all_keys(command, keys)).unwrap();
                let twice = object.replacen('{', &format!("{{\"{name}\":null,"), 1);
                assert!(SlotControlRequest::parse(twice.as_bytes()).is_err(), "{twice}");
            }
        }
    }

    #[test]
    fn every_argument_with_a_wrong_value_is_refused_by_its_name() {
        for (command, keys) in COMMANDS {
            for (name, _) in keys {
                let mut object = request_with_all_keys(command, keys);
                object.insert((*name).to_owned(), serde_json::json!({ "a": 1.5 }));
                let error = refusal(&object);
                assert_eq!(error.key, *name, "{command}");
                assert!(error.message.contains(&format!("'{name}'")), "{error}");
            }
        }
    }

    #[test]
    fn a_misspelled_key_or_word_is_refused_with_the_one_that_was_meant() {
        for (text, wanted) in [
            (r#"{"command":"vacate","hows":"fast"}"#, "unknown key 'hows' (did you mean 'how'?)"),
            (r#"{"command":"reconfig","how":"dance"}"#, "'reconfig' has no key 'how'"),
            (r#"{"command":"drain","resume":true}"#, "unknown key 'resume'"),
            (
                r#"{"command":"drain","how":"quik"}"#,
                "'quik' is not known here (did you mean 'quick'?); 'how' is graceful, quick or fast",
            ),
        ] {
            assert_eq!(meaning(text).unwrap_err(), wanted);
        }
    }
}
