//! Conversion of the command line to a hook call.

use std::rc::Rc;

use super::options::{HookCallArgs, SharedOptions};
use super::{case_ads, env_variables};
use crate::cli::common::{Problem, ProgramContext};
use crate::hook::HookType;
use crate::hook_testing::{
    CallOptions, CallSetup, Case, Protocol, SetupError, call_timeout, known_argument_words,
};
use crate::os::identity;
use crate::world::Account;

/// Returns the hook call that the command line and the configuration describe.
pub(super) fn make_setup(
    cli: &SharedOptions,
    hook: HookType,
    call_args: &HookCallArgs,
    session: &ProgramContext,
) -> anyhow::Result<CallSetup> {
    let mut case = make_case(hook, call_args)?;
    let call = &call_args.call;
    let (slot_ad, changes) = case_ads::apply_ads(&mut case, call_args, session)?;
    set_words(&mut case, call_args)?;
    let mut setup = CallSetup {
        account: find_account(call.user.as_deref())?,
        extra_variables: env_variables::parse_variables(&call.env)?,
        path_prefixes: call.path_prepend.clone(),
        ..CallSetup::without_hook(Rc::new(cli.clock.world()), case, cli.quirks.quirks)
    };
    if call.user.is_some() {
        // No identity is set for the current account, because even this change would need privileges.
        let is_current_account =
            |account: &&Account| account.uid == identity::effective_uid() && account.uid != 0;
        setup.identity = setup
            .account
            .as_ref()
            .filter(|account| !is_current_account(account))
            .map(identity::identity_of_account);
    }
    let options = CallOptions {
        configuration: cli.config.to_config_choice(),
        hook: call_args.hook.clone(),
        has_arguments: !call_args.words.is_empty(),
        keyword: call.keyword.clone(),
        slot: slot_name_of(call_args),
        slot_type: call.slot_type,
        slot_ad,
        route: call.route.clone(),
        target_universe: call.target_universe,
        grid_resource: call.grid_resource.clone(),
        ignore_path_check: call.ignore_path_check,
        changes,
    };
    setup.configure(&options, &mut |line| session.warn(line)).map_err(setup_problem)?;
    for line in &setup.ignored_settings {
        session.warn(line);
    }
    setup.patience = call_timeout(setup.case.caller_waits, cli.events.timeout);
    Ok(setup)
}

/// Returns the test case without its ads and arguments.
fn make_case(hook: HookType, call_args: &HookCallArgs) -> anyhow::Result<Case> {
    let mut case = Case::new(hook);
    let call = &call_args.call;
    case.route.name = call.route.as_deref().unwrap_or("Site1").into();
    case.route.universe = call.target_universe.unwrap_or(case.route.universe);
    case.route.grid_resource = call.grid_resource.as_deref().unwrap_or_default().into();
    case.route.edit_in_place = call.edit_in_place;
    case.with_shadow |= call.shadow;
    case.job_not_started = call.before_job;
    if call.protocol.as_deref() == Some("7.1") {
        case.protocol = Protocol::Legacy;
        if !case.protocol.has_hook(hook) {
            let hint = "the manual of 7.1 has FETCH_WORK, REPLY_FETCH, EVICT_CLAIM, PREPARE_JOB, UPDATE_JOB_INFO and JOB_EXIT";
            let problem = Problem::usage(format!("the manual of 7.1 has no hook {}", hook.name()));
            return Err(problem.hint(hint).into());
        }
        case.caller_waits = case.protocol.default_timeout(hook);
    }
    if let Some(id) = &call.claim_id {
        case.claim_id = id.as_str().into();
    }
    Ok(case)
}

/// Returns the name of the slot. A number alone stands for a slot with the default name prefix.
fn slot_name_of(call_args: &HookCallArgs) -> String {
    let slot = &call_args.call.slot;
    let number = slot.starts_with(|first: char| first.is_ascii_digit());
    if number { format!("slot{slot}") } else { slot.clone() }
}

/// Sets the arguments of the hook. The first argument of REPLY_FETCH and JOB_EXIT must be a word that HTCondor
/// passes.
fn set_words(case: &mut Case, call_args: &HookCallArgs) -> anyhow::Result<()> {
    let Some(allowed) = known_argument_words(case.hook) else {
        case.arguments = call_args.words.iter().map(|word| word.as_str().into()).collect();
        return Ok(());
    };
    if let Some((word, rest)) = call_args.words.split_first() {
        if !allowed.contains(&word.as_str()) {
            let message = format!("{} is never called with '{word}'", case.hook.name());
            return Err(Problem::usage(message)
                .hint(format!("it is called with {}", allowed.join(", ")))
                .into());
        }
        case.word = word.as_str().into();
        case.arguments = rest.iter().map(|word| word.as_str().into()).collect();
    }
    Ok(())
}

/// Returns the account of `--user`, otherwise the account of this program, or `None` if the system does not know that account.
pub(super) fn find_account(user: Option<&str>) -> anyhow::Result<Option<Account>> {
    let Some(name) = user else {
        return Ok(identity::account_by_uid(identity::effective_uid()));
    };
    let account = identity::account_by_name(name.as_bytes())
        .ok_or_else(|| Problem::usage(format!("there is no account '{name}'")))?;
    if account.uid != identity::effective_uid() && !identity::can_switch_account() {
        return Err(Problem::usage("--user needs root").into());
    }
    Ok(Some(account))
}

/// Returns the error for a hook that cannot be called with this configuration.
fn setup_problem(error: SetupError) -> Problem {
    let hint = error.hint();
    match error {
        SetupError::Config(error) => Problem::from_config_error(error),
        // A missing slot is an error of the command line; all other errors are about the configuration.
        error @ SetupError::NoSlot { .. } => {
            hint.into_iter().fold(Problem::usage(error.to_string()), Problem::hint)
        }
        error => hint.into_iter().fold(Problem::unreadable(error.to_string()), Problem::hint),
    }
}
