//! What a running execution point can be asked, and what that means.

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

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotControlRequest {
    /// One of `COMMANDS`.
    pub command: String,
    /// The slot it is about; all of them without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// `graceful` (the default), `quick`, `fast` or `peaceful`, where the command knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Why, for a drain or a hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a drain: whether slots take jobs again when all are drained.
    #[serde(default)]
    pub resume: bool,
    /// For a drain: what comes when all are drained: `resume`, `exit`, `restart` or `reconfig`; nothing without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_completion: Option<String>,
    /// For a drain: what has to be true in each slot's ad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// For a graceful drain: START meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// For `undrain`: the number of the drain that is meant; any without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// For `claim` and `activate`: how many bytes of a job ad in long form follow the line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ad_length: usize,
    /// What messages call that ad: the file that it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ad_name: Option<String>,
    /// For `claim`: seconds without `alive` after which an idle claim ends; as configured without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<i64>,
    /// For `claim`: the name of the schedd, for RemoteScheddName.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedd: Option<String>,
    /// For `claim` of a partitionable slot: dynamic slots that have to make room at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempts: Vec<String>,
    /// For `release-claim`: whether the claim that waits to take over is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotControlAnswer {
    /// Whether it was done, or is being done.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it is the ad that came with the request which cannot be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bad_ad: bool,
    /// For `drain`: its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<u64>,
    /// For `status`: the drain that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
    /// For `status`: the slots. For `claim`: the one that is claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotStatus>,
    /// For `vacate`: why there is nothing to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// For `claim`: what it waits for, where it is not to be had at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// Why a request is not carried out.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// In words.
    pub text: String,
    /// Whether it is the ad that came with it which cannot be used.
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

/// What may come when all is drained, where anything does.
const DRAIN_COMPLETIONS: [(&str, DrainCompletion); 4] = [
    ("resume", DrainCompletion::Resume),
    ("exit", DrainCompletion::Exit),
    ("restart", DrainCompletion::Restart),
    ("reconfig", DrainCompletion::Reconfigure),
];
/// How fast it may be.
const DRAIN_SPEEDS: [(&str, DrainSpeed); 3] =
    [("graceful", DrainSpeed::Graceful), ("quick", DrainSpeed::Quick), ("fast", DrainSpeed::Fast)];

/// A drain that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveDrain {
    /// Its number.
    pub request_id: u64,
    /// How fast.
    pub how: String,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub by: String,
    /// When it began, in seconds since the epoch.
    pub since: i64,
    /// When it will be over, as far as one can say now; none when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// What comes then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_completion: Option<String>,
    /// START meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// How many slots are drained.
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

/// One slot of a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Its id.
    pub slot: String,
    /// Its state.
    pub state: String,
    /// Its activity.
    pub activity: String,
    /// How long the job has run, in seconds, where one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_seconds: Option<i64>,
    /// Its job, as `cluster.proc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Whose that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What was made of the last fetch: `accepted`, `rejected`, `no work` or `bad answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In how many seconds it fetches next, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_in: Option<u64>,
    /// The hooks that run for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// The drain of the execution point, where each slot is told alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
}

/// Sends a request, with the ad that goes with it, and waits for the answer.
///
/// # Errors
/// Nobody listens there, or somebody that is neither root nor we; the answer is none.
pub fn send_request(socket: &Path, request: &SlotControlRequest, ad: &[u8]) -> io::Result<SlotControlAnswer> {
    control::send_request(
        socket,
        LISTENER_NAME,
        &SlotControlRequest { ad_length: ad.len(), ..request.clone() },
        ad,
    )
}

/// Who listens, as messages say it.
pub(super) const LISTENER_NAME: &str = "execution point";

/// The words of requests.
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

/// What is known where a request comes in.
pub(super) struct RequestContext<'a> {
    /// The job ad that came with it.
    pub ad: Vec<u8>,
    /// Whose process asks.
    pub uid: u32,
    /// The lease of claims that ask for none, in seconds.
    pub lease: i64,
    /// The host that we are on.
    pub host: &'a str,
    /// Which behaviour is wanted.
    pub quirks: QuirkMode,
    /// How the job's ad is read.
    pub dialect: Dialect,
}

/// What a request means.
#[derive(Debug)]
pub(super) enum Command {
    Event(Box<StartdEvent>),
    /// The job is to leave and to be told why.
    Hold(Box<StartdEvent>, VacateReason),
    /// A slot is to be claimed; the answer names it.
    Claim(Box<StartdEvent>),
    /// A drain is to begin; the answer has its number.
    Drain(Box<StartdEvent>),
    Reconfigure,
    Status,
}

impl SlotControlRequest {
    /// Why the slot that it names cannot be meant, where it names one; `known` are those there are.
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

    /// What it is to a machine, asked from our own account on that host; nothing for what is the runner's to do.
    ///
    /// # Errors
    /// Why it cannot be asked for, in words.
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

    /// What is to be done.
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

    /// A drain of whoever asks (`command_drain_jobs`).
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

    /// What a negotiator, schedd or shadow would ask, if it is one of their words.
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

    /// The job of a claim. Whoever claims for a job has it run as its owner, which takes root; else all run as we do, and nobody
    /// else may have his run so.
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

/// The one ad of a text that is called `name`; or what is wrong with it.
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
        // The ad is read in the mode of the configuration: only strict mode takes zeros in front.
        let refused = request().into_command(asked(other - 1, false)).unwrap_err();
        assert!(refused.bad_ad && refused.text.starts_with("the job's ad:1:"), "{refused:?}");
        assert!(request().into_command(asked(other - 1, true)).is_ok());
    }
}
