//! Account under which a starter that runs as root starts hooks and jobs. The account is never root.
//!
//! Reference: `JICLocal::initUserPriv` of `jic_local.cpp`; with a shadow `JICShadow::initUserPriv` and
//! `sameUidDomain` of `jic_shadow.cpp`; `allowRunAsOwner` and `checkDedicatedExecuteAccounts` of
//! `job_info_communicator.cpp`.

use bstr::{BString, ByteSlice};

use super::job_info::JobRefusal;
use super::unsupported::AccessPointRole;
use htc_base::job::attr;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::world::Account;
use htc_classad::regex::{Regex, RegexOptions};
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_config::ConfigView;

/// Inputs for the choice of the job's account.
pub struct AccountInputs<'a> {
    /// Job ad.
    pub ad: &'a ClassAd,
    /// Configuration of the starter.
    pub view: &'a ConfigView<'a>,
    /// Name of the slot; may be empty.
    pub slot: &'a [u8],
    /// Role of the access point for this starter.
    pub access_point: AccessPointRole,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Account chosen for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenAccount {
    /// Account under which the job runs.
    pub account: Account,
    /// Attribute or parameter that names the account.
    pub named_by: &'static str,
    /// True if all processes of the account belong to the job (DEDICATED_EXECUTE_ACCOUNT_REGEXP).
    pub dedicated: bool,
    /// Notices about the choice, for the user.
    pub notices: Vec<String>,
}

/// Chooses the account of the job. If this program does not run as root, the job runs under the program's own account.
///
/// # Errors
/// Returns an error if no attribute or parameter names an account, if the account is unknown or root, or if a parameter
/// is invalid.
pub fn choose_account(inputs: &AccountInputs<'_>) -> Result<ChosenAccount, JobRefusal> {
    let world = inputs.view.world();
    let own = world.effective_uid();
    if own != 0 {
        let unnamed = || Account { name: own.to_string().into(), uid: own, gid: own, home: "/".into() };
        let account = world.account_by_uid(own).unwrap_or_else(unnamed);
        return Ok(ChosenAccount { account, named_by: "the caller", dedicated: false, notices: Vec::new() });
    }
    let mut notices = Vec::new();
    let (name, by) = match inputs.access_point {
        AccessPointRole::Shadow if inputs.runs_as_owner(&mut notices)? => {
            inputs.owner_account().ok_or(JobRefusal::NoAccount)?
        }
        AccessPointRole::Shadow => inputs.slot_account(&mut notices),
        // A schedd runs jobs of the local universe as their owners.
        AccessPointRole::Schedd => inputs.account_named_by_job().ok_or(JobRefusal::NoAccount)?,
        AccessPointRole::Absent
            if !inputs.ignored_owner_decision().as_reference && !inputs.is_run_as_owner_allowed()? =>
        {
            let found = inputs.slot_account(&mut notices);
            notices.push(format!(
                "the job runs as '{}', not as its owner (RunAsOwner, STARTER_ALLOW_RUNAS_OWNER); {}",
                found.0,
                inputs.ignored_owner_decision().quirk.description()
            ));
            found
        }
        AccessPointRole::Absent => {
            inputs.account_named_by_job().or_else(|| inputs.slot_user()).ok_or(JobRefusal::NoAccount)?
        }
    };
    let account = match world.account_by_name(&name) {
        Some(account) if account.uid == 0 => return Err(JobRefusal::RootAccount { name, attribute: by }),
        Some(account) => account,
        None if inputs.access_point == AccessPointRole::Shadow
            && inputs.boolean_parameter("SOFT_UID_DOMAIN", false)? =>
        {
            return Err(JobRefusal::SoftAccount { name, attribute: by });
        }
        None => return Err(JobRefusal::UnknownAccount { name, attribute: by }),
    };
    let by_hand = inputs.access_point != AccessPointRole::Shadow
        && inputs.quirks.reproduces(Quirk::DedicatedAccountIgnored);
    let dedicated = !by_hand && inputs.is_dedicated(&account.name, &mut notices)?;
    // With a shadow, 25.14 also uses Owner and `SLOT<N>_USER`, so nothing needs to be reported.
    if inputs.access_point != AccessPointRole::Shadow
        && notices.is_empty()
        && (by == attr::OWNER || by == "SLOT<N>_USER")
    {
        let ignored = inputs.ignored_owner_decision().quirk.description();
        notices.push(format!("the job runs as '{}', which {by} names; {ignored}", account.name));
    }
    Ok(ChosenAccount { account, named_by: by, dedicated, notices })
}

impl AccountInputs<'_> {
    /// Decides if `Owner` and `SLOT<N>_USER` are ignored, as in 25.14 without a shadow.
    fn ignored_owner_decision(&self) -> QuirkDecision {
        self.quirks.decide(Quirk::OwnerIgnored)
    }

    fn job_string(&self, name: &str) -> Option<BString> {
        Context::new(self.view.world()).my(self.ad).string(name)
    }

    fn parameter(&self, name: &str) -> Option<BString> {
        let value = self.view.text(name);
        value.filter(|value| !value.trim().is_empty())
    }

    /// Returns the error in a parameter, with the place in the configuration where the parameter is set.
    fn parameter_error(&self, name: &str, reason: &str) -> JobRefusal {
        let place = self.view.raw(name).map(|setting| format!(" ({})", setting.origin.describe()));
        JobRefusal::Knob { reason: format!("{name}{}: {reason}", place.unwrap_or_default()) }
    }

    fn boolean_parameter(&self, name: &str, default: bool) -> Result<bool, JobRefusal> {
        let read =
            self.view.boolean(name).map_err(|error| JobRefusal::Knob { reason: error.user_message() })?;
        Ok(read.map_or(default, |setting| setting.value))
    }

    /// Returns the account in `OsUser`, otherwise the one in `User` up to its `@`, otherwise the one in `Owner` (which
    /// 25.14 does not use).
    fn account_named_by_job(&self) -> Option<(BString, &'static str)> {
        let user = || self.job_string(attr::USER).map(|user| (strip_domain(&user), attr::USER));
        let owner = || {
            self.job_string(attr::OWNER)
                .filter(|_| !self.ignored_owner_decision().as_reference)
                .map(|owner| (owner, attr::OWNER))
        };
        self.job_string(attr::OS_USER).map(|name| (name, attr::OS_USER)).or_else(user).or_else(owner)
    }

    /// Returns the account of a job that has a shadow; its schedd has set `Owner`.
    fn owner_account(&self) -> Option<(BString, &'static str)> {
        self.account_named_by_job().or_else(|| self.job_string(attr::OWNER).map(|owner| (owner, attr::OWNER)))
    }

    /// Evaluates STARTER_ALLOW_RUNAS_OWNER and the job's RunAsOwner.
    fn is_run_as_owner_allowed(&self) -> Result<bool, JobRefusal> {
        // In these expressions, both MY and TARGET are the job (`allowRunAsOwner`).
        let context = || Context::new(self.view.world()).my(self.ad).target(self.ad);
        let allowed = match self.parameter("STARTER_ALLOW_RUNAS_OWNER") {
            None => true,
            Some(text) => match Expr::parse_with(&text, Dialect::of_world(self.view.world()).old())
                .ok()
                .map(|expression| context().eval(&expression))
            {
                Some(Value::Bool(truth)) => truth,
                Some(Value::Int(number)) => number != 0,
                Some(Value::Real(number)) => number != 0.0,
                _ => {
                    let reason = format!("is neither true nor false: {text}");
                    return Err(self.parameter_error("STARTER_ALLOW_RUNAS_OWNER", &reason));
                }
            },
        };
        Ok(allowed && context().boolean("RunAsOwner").unwrap_or(true))
    }

    /// Returns true if a job with a shadow runs as its owner: the configuration allows it, the job requests it, and
    /// both machines have the same accounts.
    fn runs_as_owner(&self, notices: &mut Vec<String>) -> Result<bool, JobRefusal> {
        // 25.14 reads TRUST_UID_DOMAIN and TRUST_LOCAL_UID_DOMAIN before there is a job (`JICShadow::config`).
        let trusted = self.view.boolean_crufty("TRUST_UID_DOMAIN");
        let trusted = trusted.map_err(|error| JobRefusal::Knob { reason: error.user_message() })?;
        let trusts_own = self.boolean_parameter("TRUST_LOCAL_UID_DOMAIN", true)?;
        if !self.is_run_as_owner_allowed()? {
            return Ok(false);
        }
        let world = self.view.world();
        let host = BString::from(world.full_host());
        let own = self.parameter("UID_DOMAIN").unwrap_or_else(|| host.clone());
        // The shadow sets UidDomain from UID_DOMAIN in its own configuration, which is also the configuration read
        // here.
        let of_job = self.job_string("UidDomain").unwrap_or_else(|| own.clone());
        if !of_job.eq_ignore_ascii_case(&own) {
            notices.push(format!(
                "the domain of the job is '{of_job}', not '{own}' (UID_DOMAIN): it does not run as its owner"
            ));
            return Ok(false);
        }
        // The shadow runs on this machine, so TRUST_LOCAL_UID_DOMAIN applies.
        if trusts_own || trusted.is_some_and(|setting| setting.value) {
            return Ok(true);
        }
        if is_in_domain(&host, &own) {
            return Ok(true);
        }
        notices.push(format!(
            "the access point '{host}' claims the domain '{own}', but its host name is not in that domain: the job does not run as its owner \
             (TRUST_UID_DOMAIN)"
        ));
        Ok(false)
    }

    /// Returns `SLOT1_USER` for slot1, or `None` if `SLOT<N>_USER` is ignored. Without a shadow, slot1_2 also uses this
    /// account if `SLOT1_2_USER` is not set.
    fn slot_user(&self) -> Option<(BString, &'static str)> {
        let slot = self
            .slot
            .to_str()
            .ok()
            .filter(|slot| !slot.is_empty() && !self.ignored_owner_decision().as_reference)?;
        let account_of = |id: &str| self.parameter(&format!("{}_USER", id.to_ascii_uppercase()));
        let of_whole = || {
            account_of(slot.split('_').next().unwrap_or(slot))
                .filter(|_| self.access_point != AccessPointRole::Shadow)
        };
        let found = account_of(slot).or_else(of_whole)?;
        Some((found, "SLOT<N>_USER"))
    }

    /// Returns the account for jobs that do not run as their owners, with the name of its parameter.
    fn slot_account(&self, notices: &mut Vec<String>) -> (BString, &'static str) {
        // A slot name of 4 or fewer characters is treated as slot1.
        let slot = if self.slot.len() > 4 { self.slot } else { b"slot1" };
        let of_slot = AccountInputs { slot, quirks: QuirkMode::Manual, ..*self }.slot_user();
        let of_all = || self.parameter("NOBODY_SLOT_USER").map(|name| (name, "NOBODY_SLOT_USER"));
        match of_slot.or_else(of_all) {
            Some((name, by)) if name == "root" => {
                notices.push(format!("{by} is 'root', but jobs do not run as root: the account is 'nobody'"));
                ("nobody".into(), by)
            }
            Some(found) => found,
            None => ("nobody".into(), "NOBODY_SLOT_USER"),
        }
    }

    /// Returns true if all processes of the account belong to the job.
    fn is_dedicated(&self, name: &[u8], notices: &mut Vec<String>) -> Result<bool, JobRefusal> {
        const PATTERN_PARAMETER: &str = "DEDICATED_EXECUTE_ACCOUNT_REGEXP";
        const LEGACY_PARAMETER: &str = "EXECUTE_LOGIN_IS_DEDICATED";
        let old = self.parameter("EXECUTE_LOGIN_IS_DEDICATED").is_some();
        let Some(pattern) = self.parameter("DEDICATED_EXECUTE_ACCOUNT_REGEXP") else {
            if old {
                notices.push(format!("{LEGACY_PARAMETER} is deprecated: use {PATTERN_PARAMETER} instead"));
            }
            return Ok(old && self.boolean_parameter("EXECUTE_LOGIN_IS_DEDICATED", false)?);
        };
        if old {
            notices.push(format!(
                "{LEGACY_PARAMETER} and {PATTERN_PARAMETER} are both set: {LEGACY_PARAMETER} is ignored"
            ));
        }
        let whole = [b"^", pattern.as_slice(), b"$"].concat();
        let bad = |error: &dyn std::fmt::Display| {
            self.parameter_error(PATTERN_PARAMETER, &format!("'{pattern}': {error}"))
        };
        let regex = Regex::compile(&whole, RegexOptions::NONE).map_err(|error| bad(&error))?;
        regex.is_match(name).map_err(|error| bad(&error))
    }
}

/// Returns the account in `User`: the text before the last `@`.
fn strip_domain(user: &[u8]) -> BString {
    user.rsplit_once_str("@").map_or(user, |(name, _)| name).into()
}

/// Returns true if a hostname is in a domain (`host_in_domain`).
fn is_in_domain(host: &[u8], domain: &[u8]) -> bool {
    let Some(start) = host.len().checked_sub(domain.len()) else { return false };
    host[start..].eq_ignore_ascii_case(domain)
        && (start == 0 || host[start - 1] == b'.' || domain.starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_of_a_user_begins_at_the_last_at_sign() {
        assert_eq!(strip_domain(b"alice@example.org"), "alice");
        assert_eq!(strip_domain(b"alice@a@b"), "alice@a");
        assert_eq!(strip_domain(b"alice"), "alice");
        assert_eq!(strip_domain(b"@a"), "");
    }

    #[test]
    fn a_host_is_in_a_domain_only_at_a_dot() {
        assert!(is_in_domain(b"a.b.org", b"B.org") && is_in_domain(b"b.org", b"b.org"));
        assert!(is_in_domain(b"a.b.org", b".b.org") && is_in_domain(b".b.org", b".b.org"));
        assert!(!is_in_domain(b"ab.org", b"b.org") && !is_in_domain(b"org", b"b.org"));
    }
}
