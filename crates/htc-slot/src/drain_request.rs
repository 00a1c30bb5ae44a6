//! What can be asked about draining, and how a drain stands.

use htc_classad::Expr;

/// How fast jobs have to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainSpeed {
    /// Retirement and vacate time are honoured, the slots' retirement coordinated.
    Graceful,
    /// Vacate time is honoured.
    Quick,
    /// Neither.
    Fast,
}

/// What comes when all slots are drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrainCompletion {
    /// They stay so.
    #[default]
    Nothing,
    /// They take jobs again.
    Resume,
    /// The execution point ends.
    Exit,
    /// It ends and begins anew.
    Restart,
    /// It reads its configuration, and slots take jobs again.
    Reconfigure,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainRequest {
    /// How fast.
    pub speed: DrainSpeed,
    /// Why, for DrainReason.
    pub reason: String,
    /// Who asks, where that is known.
    pub requester: String,
    /// What comes when all slots are drained.
    pub completion: DrainCompletion,
    /// What has to be true in each slot's ad; else nothing is drained.
    pub check: Option<Expr>,
    /// START meanwhile, of a graceful drain: DEFAULT_DRAINING_START_EXPR without.
    pub start_while_draining: Option<Expr>,
}

impl DrainRequest {
    /// A drain without conditions.
    pub fn new(speed: DrainSpeed, reason: &str) -> Self {
        let (reason, by) = (reason.to_owned(), String::new());
        DrainRequest {
            speed,
            reason,
            requester: by,
            completion: DrainCompletion::Nothing,
            check: None,
            start_while_draining: None,
        }
    }
}

/// A drain under way, for whoever looks.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainStatus {
    /// The number of the request.
    pub id: u64,
    /// What was asked for.
    pub request: DrainRequest,
    /// When it began, in epoch seconds.
    pub since: i64,
    /// When all slots will be drained as far as one can say now, in epoch seconds; none if they are.
    pub until: Option<i64>,
    /// How many slots are drained.
    pub drained: i64,
}
