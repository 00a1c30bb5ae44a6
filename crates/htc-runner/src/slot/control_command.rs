//! Conversion of a request at the control socket to an event for the execution point.

use super::control_keys::{InvalidRequest, is_command};
use super::control_protocol::{RefusalKind, SlotControlAnswer, SlotControlRequest, VacateSpeed};
use htc_base::job::HoldCode;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::similar_names::nearest;
use htc_classad::stream::AdReader;
use htc_classad::{ClassAd, Dialect, Expr};
use htc_os::identity;
use htc_slot::{
    ClaimCommand, ClaimRequest, Deactivation, DrainRequest, DrainSpeed, ShutdownMode, StartdEvent,
    VacateReason,
};

/// Reason why a request is refused.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// Error message.
    pub text: String,
    /// Kind of the reason.
    pub kind: RefusalKind,
}

impl RequestRefusal {
    /// Creates a refusal because of the state of a slot or of the execution point.
    pub(super) fn for_state(text: String) -> Self {
        RequestRefusal { text, kind: RefusalKind::State }
    }

    /// Creates a refusal because of an ad or the configuration.
    pub(super) fn for_input(text: String) -> Self {
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

/// Information about the client and the execution point that is needed to interpret a request.
pub(super) struct RequestContext<'a> {
    /// Job ad that the client sent with the request.
    pub ad: Vec<u8>,
    /// Uid of the client.
    pub uid: u32,
    /// Lease in seconds of a claim whose request names none.
    pub lease: i64,
    /// Hostname of this machine.
    pub host: &'a str,
    /// Quirks of 25.14 that are reproduced.
    pub quirks: QuirkMode,
    /// Dialect of the job ad.
    pub dialect: Dialect,
}

/// Command that results from a request.
#[derive(Debug)]
pub(super) enum Command {
    Event(Box<StartdEvent>),
    /// Deactivate the claim and hold the job with this reason.
    Hold(Box<StartdEvent>, VacateReason),
    /// Claim a slot; the answer contains the name of the slot.
    Claim(Box<StartdEvent>),
    /// Begin a drain; the answer contains the number of the drain.
    Drain(Box<StartdEvent>),
    Reconfigure,
    Ads,
    /// Answer with the state of all slots; with counts since the start if `counters` is true.
    Status {
        counters: bool,
    },
}

impl SlotControlRequest {
    /// Checks that the slot of the request exists; `known` contains the names of all slots.
    ///
    /// # Errors
    /// No slot has that name; the message suggests the most similar name.
    pub fn check_slot(&self, known: &[&str]) -> Result<(), String> {
        let Some(slot) = self.slot() else { return Ok(()) };
        if known.iter().any(|id| id.eq_ignore_ascii_case(slot)) {
            return Ok(());
        }
        let mut message = format!("there is no slot '{slot}'");
        if is_command(slot) {
            message += &format!("; {slot} is a verb, which must come first");
        } else if let Some(near) = nearest(slot.to_ascii_lowercase(), known.iter().copied()) {
            message += &format!("; did you mean {near}?");
        } else {
            message += &format!("; there are {}", known.join(", "));
        }
        Err(message)
    }

    /// Converts the request to an event, as if a client on `host` with this process's account had sent it. Returns
    /// `None` for commands that the runner carries out without the state machine.
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
        let context = RequestContext { ad, uid: identity::effective_uid(), lease: 0, host, quirks, dialect };
        Ok(match self.into_command(context).map_err(|refusal| refusal.text)? {
            Command::Event(event)
            | Command::Claim(event)
            | Command::Drain(event)
            | Command::Hold(event, _) => Some(*event),
            Command::Reconfigure | Command::Ads | Command::Status { .. } => None,
        })
    }

    /// Returns the command for the request.
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
            Self::Ads {} => Command::Ads,
            Self::Status { slot: _, counters } => Command::Status { counters },
        })
    }
}

/// Parses an expression of a drain (`command_drain_jobs`). If `drops` is true, an invalid expression is ignored.
fn parse_drain_expr(what: &str, text: Option<String>, drops: bool) -> Result<Option<Expr>, String> {
    let Some(text) = text else { return Ok(None) };
    match Expr::parse_with(text.as_bytes(), Dialect::old_syntax()) {
        Ok(expr) => Ok(Some(expr)),
        Err(_) if drops => Ok(None),
        Err(error) => {
            let error = error.render(text.as_bytes());
            Err(format!("{what} is not a valid expression, so nothing is drained: {error}"))
        }
    }
}

impl RequestContext<'_> {
    /// Reads the job ad of a claim. If this process is root, the job runs as its owner. If not, the job runs as the
    /// account of this process, and only requests from that account are accepted.
    fn read_job_ad(&self, name: Option<&str>) -> Result<ClassAd, RequestRefusal> {
        let own = identity::effective_uid();
        if self.uid != own {
            let text = format!(
                "jobs run here as uid {own}, not as uid {}: send the request from that account, or run the slots as root",
                self.uid
            );
            return Err(RequestRefusal::for_state(text));
        }
        parse_single_ad(&self.ad, self.dialect, name.unwrap_or("the job's ad"))
            .map_err(RequestRefusal::for_input)
    }
}

/// Parses a text that must contain exactly one ad; messages call the text `name`.
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
        Some(_) if count > 1 => Err(format!("{name}: there are {count} ads, but a claim is for one job")),
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
        assert!(meaning(r#"{"command":"claim"}"#).unwrap_err().contains("slot"));
        let claim = meaning(r#"{"command":"claim","slot":"slot1","ad_length":8}"#).unwrap();
        assert!(claim.starts_with("Claim(Command") && claim.contains("lease: 9"), "{claim}");
        let hold = meaning(r#"{"command":"hold","slot":"slot1","reason":"why"}"#).unwrap();
        assert!(hold.contains("Deactivate(Graceful)") && hold.contains("text: \"why\", code: 1"), "{hold}");
        let whole = meaning(r#"{"command":"off","slot":"slot1"}"#).unwrap_err();
        assert_eq!(whole, "'off' is for the whole execution point and takes no slot");
    }

    #[test]
    fn a_drain_reports_what_it_waits_for_and_what_follows() {
        let drain = meaning(
            r#"{"command":"drain","how":"quick","check":"SlotID < 9","on_completion":"exit","reason":"why"}"#,
        );
        let drain = drain.unwrap();
        for part in ["Quick", "reason: \"why\"", "completion: Exit", "check: Some("] {
            assert!(drain.contains(part), "{part}: {drain}");
        }
        let refused = meaning(r#"{"command":"drain","check":"SlotID <"}"#).unwrap_err();
        assert!(
            refused.starts_with("the check is not a valid expression, so nothing is drained: "),
            "{refused}"
        );
        assert!(meaning(r#"{"command":"drain","on_completion":"dance"}"#).unwrap_err().contains("reconfig"));
    }

    #[test]
    fn an_unknown_slot_is_reported_with_a_similar_one() {
        let check = |slot: &str| {
            let request = SlotControlRequest::Status { slot: Some(slot.into()), counters: false };
            request.check_slot(&["slot1", "slot2_1"])
        };
        assert_eq!(check("SLOT1"), Ok(()));
        assert_eq!(check("slto2_1").unwrap_err(), "there is no slot 'slto2_1'; did you mean slot2_1?");
        assert_eq!(
            check("drain").unwrap_err(),
            "there is no slot 'drain'; drain is a verb, which must come first"
        );
        assert_eq!(check("machine").unwrap_err(), "there is no slot 'machine'; there are slot1, slot2_1");
    }

    #[test]
    fn a_user_cannot_run_a_job_under_another_account() {
        let request = || SlotControlRequest::parse(br#"{"command":"claim","slot":"slot1"}"#).unwrap();
        let other = identity::effective_uid() + 1;
        let context = |uid, strict| RequestContext {
            ad: b"Cmd = 010\n".to_vec(),
            uid,
            lease: 9,
            host: "h",
            quirks: QuirkMode::Manual,
            dialect: Dialect::new_syntax().strict(strict),
        };
        let refused = request().into_command(context(other, true));
        assert!(refused.unwrap_err().text.contains(&format!("not as uid {other}")));
        // Strict mode comes from the configuration; only strict mode accepts leading zeros.
        let refused = request().into_command(context(other - 1, false)).unwrap_err();
        assert!(
            refused.kind == RefusalKind::Input && refused.text.starts_with("the job's ad:1:"),
            "{refused:?}"
        );
        assert!(request().into_command(context(other - 1, true)).is_ok());
    }

    #[test]
    fn a_misspelled_key_or_word_is_refused_with_a_suggestion() {
        for (text, wanted) in [
            (r#"{"command":"vacate","hows":"fast"}"#, "unknown key 'hows' (did you mean 'how'?)"),
            (r#"{"command":"reconfig","how":"dance"}"#, "'reconfig' has no key 'how'"),
            (r#"{"command":"drain","resume":true}"#, "unknown key 'resume'"),
            (
                r#"{"command":"drain","how":"quik"}"#,
                "'quik' is not a valid value (did you mean 'quick'?); 'how' is graceful, quick or fast",
            ),
        ] {
            assert_eq!(meaning(text).unwrap_err(), wanted);
        }
    }
}
