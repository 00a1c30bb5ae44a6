//! Whose rights hooks and job have when the starter is root, and never root's.
//!
//! Reference: `JICLocal::initUserPriv` of `jic_local.cpp`; with a shadow `JICShadow::initUserPriv` and `sameUidDomain` of
//! `jic_shadow.cpp`; `allowRunAsOwner` and `checkDedicatedExecuteAccounts` of `job_info_communicator.cpp`.

use bstr::{BString, ByteSlice};

use super::job_info::Refusal;
use super::not_done::With;
use htc_base::job::attr;
use htc_base::quirks::{Decided, Quirk, Quirks};
use htc_base::world::Account;
use htc_classad::regex::{Options, Regex};
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_config::View;

/// What the choice depends on.
pub struct Asking<'a> {
    /// The job.
    pub ad: &'a ClassAd,
    /// The configuration.
    pub view: &'a View<'a>,
    /// Name of the slot; may be empty.
    pub slot: &'a [u8],
    /// Who is played beside the starter.
    pub with: With,
    /// Deviations.
    pub quirks: Quirks,
}

/// The account chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub account: Account,
    /// The attribute or knob that names it.
    pub by: &'static str,
    /// Whether all that it runs belongs to the job (DEDICATED_EXECUTE_ACCOUNT_REGEXP).
    pub dedicated: bool,
    /// What a user should know.
    pub told: Vec<String>,
}

/// Chooses. Not root: the caller's own, whatever the job says (s33).
///
/// # Errors
/// No name, an unknown name, or root; knobs that are wrong.
pub fn choose(asking: &Asking<'_>) -> Result<Chosen, Refusal> {
    let world = asking.view.world();
    let own = world.effective_uid();
    if own != 0 {
        let unnamed = || Account { name: own.to_string().into(), uid: own, gid: own, home: "/".into() };
        let account = world.account_by_uid(own).unwrap_or_else(unnamed);
        return Ok(Chosen { account, by: "the caller", dedicated: false, told: Vec::new() });
    }
    let mut told = Vec::new();
    let (name, by) = match asking.with {
        With::Shadow if asking.owner_may(&mut told)? => asking.owner().ok_or(Refusal::NoAccount)?,
        With::Shadow => asking.slot_account(&mut told),
        // A schedd runs the jobs of its own universe as their owners.
        With::Schedd => asking.named().ok_or(Refusal::NoAccount)?,
        With::Nobody if !asking.ignores_owner().as_reference && !asking.allowed()? => {
            let found = asking.slot_account(&mut told);
            told.push(format!(
                "the job runs as '{}', not as its owner (RunAsOwner, STARTER_ALLOW_RUNAS_OWNER); {}",
                found.0,
                asking.ignores_owner().quirk.told()
            ));
            found
        }
        With::Nobody => asking.named().or_else(|| asking.slot_user()).ok_or(Refusal::NoAccount)?,
    };
    let account = match world.account_by_name(&name) {
        Some(account) if account.uid == 0 => return Err(Refusal::RootAccount { name, attribute: by }),
        Some(account) => account,
        None if asking.with == With::Shadow && asking.truth("SOFT_UID_DOMAIN", false)? => {
            return Err(Refusal::SoftAccount { name, attribute: by });
        }
        None => return Err(Refusal::UnknownAccount { name, attribute: by }),
    };
    let by_hand = asking.with != With::Shadow && asking.quirks.has(Quirk::DedicatedAccountIgnored);
    let dedicated = !by_hand && asking.dedicated(&account.name, &mut told)?;
    // Behind a shadow 25.14 looks at them, too.
    if asking.with != With::Shadow && told.is_empty() && (by == attr::OWNER || by == "SLOT<N>_USER") {
        let ignored = asking.ignores_owner().quirk.told();
        told.push(format!("the job runs as '{}', which {by} names; {ignored}", account.name));
    }
    Ok(Chosen { account, by, dedicated, told })
}

impl Asking<'_> {
    /// By hand 25.14 looks neither at Owner nor at `SLOT<N>_USER`.
    fn ignores_owner(&self) -> Decided {
        self.quirks.decide(Quirk::OwnerIgnored)
    }

    fn string(&self, name: &str) -> Option<BString> {
        Context::new(self.view.world()).my(self.ad).string(name)
    }

    fn knob(&self, name: &str) -> Option<BString> {
        let value = self.view.text(name);
        value.filter(|value| !value.trim().is_empty())
    }

    /// What is wrong with a knob, and where it stands.
    fn bad(&self, name: &str, reason: &str) -> Refusal {
        let place = self.view.raw(name).map(|setting| format!(" ({})", setting.origin.told()));
        Refusal::Knob { reason: format!("{name}{}: {reason}", place.unwrap_or_default()) }
    }

    fn truth(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        let read = self.view.boolean(name).map_err(|error| Refusal::Knob { reason: error.told() })?;
        Ok(read.map_or(default, |setting| setting.value))
    }

    /// `OsUser`, else `User` up to its `@`, else, where 25.14 does not look at it, `Owner`.
    fn named(&self) -> Option<(BString, &'static str)> {
        let user = || self.string(attr::USER).map(|user| (up_to_domain(&user), attr::USER));
        let owner = || {
            self.string(attr::OWNER)
                .filter(|_| !self.ignores_owner().as_reference)
                .map(|owner| (owner, attr::OWNER))
        };
        self.string(attr::OS_USER).map(|name| (name, attr::OS_USER)).or_else(user).or_else(owner)
    }

    /// The same of a job that a shadow brings, whose schedd has given it an `Owner`.
    fn owner(&self) -> Option<(BString, &'static str)> {
        self.named().or_else(|| self.string(attr::OWNER).map(|owner| (owner, attr::OWNER)))
    }

    /// STARTER_ALLOW_RUNAS_OWNER, and what the job says (RunAsOwner).
    fn allowed(&self) -> Result<bool, Refusal> {
        // MY and TARGET are both the job (`allowRunAsOwner`).
        let context = || Context::new(self.view.world()).my(self.ad).target(self.ad);
        let allowed = match self.knob("STARTER_ALLOW_RUNAS_OWNER") {
            None => true,
            Some(text) => match Expr::parse_with(&text, Dialect::of(self.view.world()).old())
                .ok()
                .map(|expression| context().eval(&expression))
            {
                Some(Value::Bool(truth)) => truth,
                Some(Value::Int(number)) => number != 0,
                Some(Value::Real(number)) => number != 0.0,
                _ => {
                    let reason = format!("is neither true nor false: {text}");
                    return Err(self.bad("STARTER_ALLOW_RUNAS_OWNER", &reason));
                }
            },
        };
        Ok(allowed && context().boolean("RunAsOwner").unwrap_or(true))
    }

    /// Whether a job of a shadow runs as its owner: allowed, wished, and the two machines have the same accounts.
    fn owner_may(&self, told: &mut Vec<String>) -> Result<bool, Refusal> {
        // Both are read before there is a job (`JICShadow::config`).
        let trusted = self.view.crufty("TRUST_UID_DOMAIN");
        let trusted = trusted.map_err(|error| Refusal::Knob { reason: error.told() })?;
        let trusts_own = self.truth("TRUST_LOCAL_UID_DOMAIN", true)?;
        if !self.allowed()? {
            return Ok(false);
        }
        let world = self.view.world();
        let host = BString::from(world.full_host());
        let own = self.knob("UID_DOMAIN").unwrap_or_else(|| host.clone());
        // The shadow puts that of its own configuration there, which is ours.
        let of_job = self.string("UidDomain").unwrap_or_else(|| own.clone());
        if !of_job.eq_ignore_ascii_case(&own) {
            told.push(format!("the job is of the domain '{of_job}' and not of '{own}' (UID_DOMAIN): it does not run as its owner"));
            return Ok(false);
        }
        // The shadow is on this machine.
        if trusts_own || trusted.is_some_and(|setting| setting.value) {
            return Ok(true);
        }
        if is_in_domain(&host, &own) {
            return Ok(true);
        }
        told.push(format!(
            "the access point '{host}' claims the domain '{own}', in which its name does not lie: the job does not run as its owner \
             (TRUST_UID_DOMAIN)"
        ));
        Ok(false)
    }

    /// `SLOT1_USER` for slot1, and by default also for slot1_2 where that has none of its own: not behind a shadow.
    fn slot_user(&self) -> Option<(BString, &'static str)> {
        let slot =
            self.slot.to_str().ok().filter(|slot| !slot.is_empty() && !self.ignores_owner().as_reference)?;
        let of = |id: &str| self.knob(&format!("{}_USER", id.to_ascii_uppercase()));
        let of_whole = || of(slot.split('_').next().unwrap_or(slot)).filter(|_| self.with != With::Shadow);
        let found = of(slot).or_else(of_whole)?;
        Some((found, "SLOT<N>_USER"))
    }

    /// The account of jobs that do not run as their owners.
    fn slot_account(&self, told: &mut Vec<String>) -> (BString, &'static str) {
        // A name that is too short for a slot's counts as slot1.
        let slot = if self.slot.len() > 4 { self.slot } else { b"slot1" };
        let of_slot = Asking { slot, quirks: Quirks::None, ..*self }.slot_user();
        let of_all = || self.knob("NOBODY_SLOT_USER").map(|name| (name, "NOBODY_SLOT_USER"));
        match of_slot.or_else(of_all) {
            Some((name, by)) if name == "root" => {
                told.push(format!("{by} is 'root', which runs no jobs: the account is 'nobody'"));
                ("nobody".into(), by)
            }
            Some(found) => found,
            None => ("nobody".into(), "NOBODY_SLOT_USER"),
        }
    }

    /// Whether all that the account runs is the job's.
    fn dedicated(&self, name: &[u8], told: &mut Vec<String>) -> Result<bool, Refusal> {
        const PATTERN: &str = "DEDICATED_EXECUTE_ACCOUNT_REGEXP";
        const OLD: &str = "EXECUTE_LOGIN_IS_DEDICATED";
        let old = self.knob("EXECUTE_LOGIN_IS_DEDICATED").is_some();
        let Some(pattern) = self.knob("DEDICATED_EXECUTE_ACCOUNT_REGEXP") else {
            if old {
                told.push(format!("{OLD} is deprecated: use {PATTERN} instead"));
            }
            return Ok(old && self.truth("EXECUTE_LOGIN_IS_DEDICATED", false)?);
        };
        if old {
            told.push(format!("{OLD} and {PATTERN} are both set: {OLD} is ignored"));
        }
        let whole = [b"^", pattern.as_slice(), b"$"].concat();
        let bad = |error: &dyn std::fmt::Display| self.bad(PATTERN, &format!("'{pattern}': {error}"));
        let regex = Regex::compile(&whole, Options::NONE).map_err(|error| bad(&error))?;
        regex.is_match(name).map_err(|error| bad(&error))
    }
}

/// The name in `User`: what stands before the last `@`.
fn up_to_domain(user: &[u8]) -> BString {
    user.rsplit_once_str("@").map_or(user, |(name, _)| name).into()
}

/// Whether a host's name lies in a domain (`host_in_domain`).
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
        assert_eq!(up_to_domain(b"alice@example.org"), "alice");
        assert_eq!(up_to_domain(b"alice@a@b"), "alice@a");
        assert_eq!(up_to_domain(b"alice"), "alice");
        assert_eq!(up_to_domain(b"@a"), "");
    }

    #[test]
    fn a_host_lies_in_a_domain_at_a_dot_only() {
        assert!(is_in_domain(b"a.b.org", b"B.org") && is_in_domain(b"b.org", b"b.org"));
        assert!(is_in_domain(b"a.b.org", b".b.org") && is_in_domain(b".b.org", b".b.org"));
        assert!(!is_in_domain(b"ab.org", b"b.org") && !is_in_domain(b"org", b"b.org"));
    }
}
