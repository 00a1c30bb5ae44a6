//! Creation of the routed ad: the standard translation and the transforms of a route (`VanillaToGrid.cpp`,
//! `ApplyRoutingJobEdits`, `FinishSubmitJob`).

use bstr::{BStr, BString, ByteSlice};

use super::{Route, RouteTable, RouterParameters};
use htc_base::job::{JobStatus, Universe};
use htc_base::quirks::QuirkMode;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};
use htc_config::MacroSource;
use htc_transform::{Observer, Transform, TransformFailure, TransformSession};

/// Attributes of the source job that the routed job does not get.
const NOT_COPIED_ATTRIBUTES: [&str; 25] = [
    "ClusterId",
    "ProcId",
    "BufferBlockSize",
    "BufferSize",
    "CondorPlatform",
    "CondorVersion",
    "CoreSize",
    "GlobalJobId",
    "User",
    "OsUser",
    "QDate",
    "RemoteWallClockTime",
    "LastRemoteWallClockTime",
    "ServerTime",
    "AutoClusterId",
    "AutoClusterAttrs",
    "TotalSubmitProcs",
    "StageInFinish",
    "StageInStart",
    "UserLog",
    "UserLogUseXML",
    "DAGManNodesLog",
    "DAGManNodesMask",
    "TimerRemove",
    "SUBMIT_Iwd",
];

/// Attributes that are set to zero in the routed job.
pub(super) const ZEROED_ATTRIBUTES: [&str; 12] = [
    "ExitStatus",
    "CompletionDate",
    "NumCkpts",
    "NumRestarts",
    "NumSystemHolds",
    "CommittedTime",
    "CommittedSlotTime",
    "CumulativeSlotTime",
    "TotalSuspensions",
    "LastSuspensionTime",
    "CumulativeSuspensionTime",
    "CommittedSuspensionTime",
];

/// Attributes of proxies and tokens, which are never sent to the destination (`submit_job.cpp`).
pub const NEVER_SENT_ATTRIBUTES: [&str; 11] = [
    "x509UserProxySubject",
    "x509UserProxyExpiration",
    "x509UserProxyEmail",
    "x509UserProxyVOName",
    "x509UserProxyFirstFQAN",
    "x509UserProxyFQAN",
    "AuthTokenSubject",
    "AuthTokenIssuer",
    "AuthTokenGroups",
    "AuthTokenScopes",
    "AuthTokenId",
];

/// Maximum depth of repeated remapping of an output name (`MAX_REMAP_RECURSIONS`).
const MAX_REMAP_DEPTH: usize = 128;

/// Reason why a job cannot be translated for a route.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TranslateError {
    /// The ad has no JobUniverse. The reference's daemon aborts in this case.
    #[error("the job has no JobUniverse")]
    NoUniverse,
    /// A transform failed.
    #[error("{failure}")]
    Transform {
        /// Name of the transform before or after the route, or `None` for the route itself.
        transform: Option<BString>,
        /// Place and reason of the failure.
        failure: Box<TransformFailure>,
    },
    /// `UseSharedX509UserProxy` is true, but `SharedX509UserProxy` names no file.
    #[error("UseSharedX509UserProxy is true, but SharedX509UserProxy is invalid!")]
    NoProxy,
    /// `UseSharedX509UserProxy` is true, but the files of the job are not spooled.
    #[error("UseSharedX509UserProxy is true, but JobShouldBeSandboxed is false.")]
    ProxyWithoutSandbox,
    /// The value of `SendIDTokens` is not a string.
    #[error("evaluated SendIDTokens value is invalid!")]
    InvalidTokens,
    /// The name of a token in `SendIDTokens` has no `JOB_ROUTER_CREATE_IDTOKEN_<name>` parameter.
    #[error("unknown IDTOKEN {0}")]
    UnknownToken(BString),
}

impl TranslateError {
    /// Returns the name of the failed transform before or after the route, or `None` if the route itself or something
    /// else failed.
    pub fn failed_transform(&self) -> Option<&BStr> {
        match self {
            TranslateError::Transform { transform, .. } => transform.as_ref().map(|name| name.as_ref()),
            TranslateError::NoUniverse
            | TranslateError::NoProxy
            | TranslateError::ProxyWithoutSandbox
            | TranslateError::InvalidTokens
            | TranslateError::UnknownToken(_) => None,
        }
    }

    /// Returns the reference's log line. `description` is the job as the reference describes it
    /// (`src=1.0,route=A`).
    pub fn reference_text(&self, description: &str, route: &BStr) -> String {
        match self {
            TranslateError::NoUniverse => "VanillaToGrid: job ad lacks universe".into(),
            TranslateError::Transform { transform: Some(name), failure } => {
                format!("JobRouter failure in pre-route transform {name}: {}.", failure.reference_text())
            }
            TranslateError::Transform { transform: None, failure } => {
                format!("JobRouter failure (route={route}): {}.", failure.reference_text())
            }
            other => format!("JobRouter failure ({description}): {other}"),
        }
    }
}

/// Position of a transform in the translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformPosition {
    /// A transform before the route.
    Pre,
    /// The route itself.
    Route,
    /// A transform after the route.
    Post,
}

/// Progress of one transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformProgress {
    /// The transform begins.
    Begins,
    /// The requirements of the transform are not met.
    Skipped,
    /// The transform has ended, successfully or not.
    Ended,
}

/// Receiver of the progress of a translation.
pub trait TranslationWatcher {
    /// Called when a transform begins, is skipped or ends.
    fn note_progress(&mut self, part: TransformPosition, transform: &Transform, stage: TransformProgress);
    /// Called with a line of the reference's log that is not about a transform.
    fn log(&mut self, _: &str) {}
    /// Called when the current transform fails, before `note_progress` reports its end.
    fn note_failure(&mut self, _: &TransformFailure) {}
    /// Returns the observer of the current transform.
    fn observer(&mut self) -> &mut dyn Observer;
}

/// Watcher that ignores everything.
#[derive(Debug, Default)]
pub struct SilentWatcher(htc_transform::SilentObserver);

impl TranslationWatcher for SilentWatcher {
    fn note_progress(&mut self, _: TransformPosition, _: &Transform, _: TransformProgress) {}
    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.0
    }
}

/// Source job from which a routed job is made.
#[derive(Clone, Copy, Debug)]
pub struct SourceJob<'a> {
    /// The job's ad.
    pub ad: &'a ClassAd,
    /// The job's id.
    pub id: &'a str,
    /// True if the files of the routed job are spooled.
    pub is_sandboxed: bool,
}

/// Maps a file name by the rules `a=b;c=d`; rules for a directory apply to the names in it. Returns `None` if no rule
/// matches (`filename_remap_find`). `log` is called with each line that the reference logs.
pub fn remap_file_name(rules: &[u8], name: &[u8], log: &mut dyn FnMut(&str)) -> Option<BString> {
    log(&format!("REMAP: begin with rules: {}\n", rules.as_bstr()));
    // Whitespace in the rules is ignored everywhere.
    let rules: Vec<u8> = rules.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    remap_at_depth(&parse_remap_rules(&rules), name, 0, log).ok().flatten()
}

/// Parses rules into pairs; a piece without `=` is skipped.
fn parse_remap_rules(rules: &[u8]) -> Vec<(BString, BString)> {
    let mut pairs = Vec::new();
    let mut rest = rules;
    while !rest.is_empty() {
        let (name, after) = split_at_delimiter(rest, b'=');
        let Some(after) = after else { break };
        if let Some(semicolon) = name.find_byte(b';') {
            rest = &rest[semicolon + 1..];
            continue;
        }
        let (value, after) = split_at_delimiter(after, b';');
        pairs.push((name, value));
        rest = after.unwrap_or_default();
    }
    pairs
}

/// Splits a text at the first delimiter that is not escaped by `\`; the second part is `None` if there is no
/// delimiter.
fn split_at_delimiter(text: &[u8], delimiter: u8) -> (BString, Option<&[u8]>) {
    let mut out = BString::default();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if text.get(at + 1) == Some(&delimiter) => {
                out.push(delimiter);
                at += 1;
            }
            byte if byte == delimiter => return (out, Some(&text[at + 1..])),
            byte => out.push(byte),
        }
        at += 1;
    }
    (out, None)
}

/// Maps a name recursively. Returns the reference's marker as `Err` if the rules form a cycle.
fn remap_at_depth(
    pairs: &[(BString, BString)],
    name: &[u8],
    depth: usize,
    log: &mut dyn FnMut(&str),
) -> Result<Option<BString>, BString> {
    log(&format!("REMAP: {depth}: {}\n", name.as_bstr()));
    if depth > MAX_REMAP_DEPTH {
        return Err("<abort>".into());
    }
    let circle = |inner: BString| BString::from(format!("<{depth}: {}>{inner}", name.as_bstr()));
    if let Some((_, value)) = pairs.iter().find(|(key, _)| key == name) {
        // Other rules may map the result again.
        let further = remap_at_depth(pairs, value, depth + 1, log).map_err(circle)?;
        return Ok(Some(further.unwrap_or_else(|| value.clone())));
    }
    let Some(slash) = name.rfind_byte(b'/') else { return Ok(None) };
    let (parent, entry) = (&name[..slash], &name[slash + 1..]);
    let mapped = remap_at_depth(pairs, parent, depth + 1, log).map_err(circle)?;
    Ok(mapped.map(|parent| [parent.as_slice(), b"/", entry].concat().into()))
}

/// Translator of source ads into routed ads by the transforms of a table.
pub struct Translator<'a> {
    /// Routes and transforms.
    pub table: &'a RouteTable,
    /// The router's parameters.
    pub parameters: &'a RouterParameters,
    /// Configuration that supplies the value of `$(NAME)` if no transform defines the macro.
    pub config: Option<&'a dyn MacroSource>,
    /// Clock and other values from outside of this process. The clock is the time of evaluation.
    pub world: &'a dyn World,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

impl Translator<'_> {
    /// Applies the transforms before the route, the route, and the transforms after it. Each transform sees the macros
    /// of the previous ones.
    ///
    /// # Errors
    /// The transform that failed; the ad contains the changes made until then.
    pub fn apply_transforms(
        &self,
        route: &Route,
        ad: &mut ClassAd,
        watcher: &mut dyn TranslationWatcher,
    ) -> Result<(), TranslateError> {
        let mut session = TransformSession::new(self.world, self.config);
        session.quirks = self.quirks;
        let before = self.table.pre_transforms.iter().map(|transform| (TransformPosition::Pre, transform));
        let after = self.table.post_transforms.iter().map(|transform| (TransformPosition::Post, transform));
        for (part, transform) in before.chain([(TransformPosition::Route, &route.transform)]).chain(after) {
            // The route's own requirements were checked when the route was chosen.
            if part != TransformPosition::Route && !session.meets_requirements(transform, ad) {
                watcher.note_progress(part, transform, TransformProgress::Skipped);
                continue;
            }
            watcher.note_progress(part, transform, TransformProgress::Begins);
            let done = session.apply(transform, ad, watcher.observer());
            if let Err(failure) = &done {
                watcher.note_failure(failure);
            }
            watcher.note_progress(part, transform, TransformProgress::Ended);
            done.map_err(|failure| TranslateError::Transform {
                transform: (part != TransformPosition::Route).then(|| transform.name.clone()),
                failure: Box::new(failure),
            })?;
        }
        Ok(())
    }

    /// Applies the standard translation, which turns the ad of the source job into the ad of a separate job. Changes
    /// made before an error remain.
    fn apply_standard_translation(
        &self,
        route: &Route,
        sandboxed: bool,
        ad: &mut ClassAd,
        watcher: &mut dyn TranslationWatcher,
    ) -> Result<(), TranslateError> {
        for name in NOT_COPIED_ATTRIBUTES {
            ad.remove(name);
        }
        ad.set("JobStatus", JobStatus::IDLE);
        ad.set("RemoteUserCpu", 0.0);
        ad.set("RemoteSysCpu", 0.0);
        for name in ZEROED_ATTRIBUTES {
            ad.set(name, 0);
        }
        ad.set("ExitBySignal", false);
        let old = ad.get("JobUniverse").ok_or(TranslateError::NoUniverse)?;
        ad.set("JobUniverse", route.universe);
        ad.insert("Remote_JobUniverse", old);
        if route.universe != Universe::Grid.number() {
            return Ok(());
        }
        ad.remove("CurrentHosts");
        ad.set("GridResource", route.grid_resource.clone());
        let remaps = Context::new(self.world).my(ad).string("TransferOutputRemaps").unwrap_or_default();
        if sandboxed || remaps.is_empty() {
            return Ok(());
        }
        // A grid universe job writes its output to its final location itself.
        ad.remove("TransferOutputRemaps");
        for name in ["Out", "Err"] {
            if let Some(file) = Context::new(self.world).my(ad).string(name)
                && let Some(mapped) = remap_file_name(&remaps, &file, &mut |text| watcher.log(text))
            {
                ad.set(name, mapped);
            }
        }
        Ok(())
    }

    /// Makes the routed ad from `ad`: the claimed source job, or the output of its TRANSLATE_JOB hook.
    ///
    /// # Errors
    /// The reason why the routed ad cannot be made.
    pub fn make_copy(
        &self,
        route: &Route,
        original: &SourceJob<'_>,
        ad: &mut ClassAd,
        watcher: &mut dyn TranslationWatcher,
    ) -> Result<(), TranslateError> {
        self.apply_standard_translation(route, original.is_sandboxed, ad, watcher)?;
        self.apply_transforms(route, ad, watcher)?;
        ad.set("RoutedFromJobId", original.id);
        ad.set("RoutedBy", self.parameters.name.clone());
        ad.set("RouteName", route.name.clone());
        ad.remove("RoutedToJobId");
        self.set_proxy_path(route, original, ad)?;
        self.add_token_files(route, original.ad, ad)
    }

    /// Sets the path of the job's own copy of the router's proxy; the runner copies the file.
    fn set_proxy_path(
        &self,
        route: &Route,
        original: &SourceJob<'_>,
        ad: &mut ClassAd,
    ) -> Result<(), TranslateError> {
        if !route.use_shared_proxy.is_true(original.ad, self.world) {
            return Ok(());
        }
        let Some(file) = route.lent_proxy(original.ad, self.world) else {
            return Err(TranslateError::NoProxy);
        };
        if !original.is_sandboxed {
            return Err(TranslateError::ProxyWithoutSandbox);
        }
        ad.set("x509userproxy", BString::from([&file[..], b".", original.id.as_bytes()].concat()));
        Ok(())
    }

    /// Adds the token files before the other input files.
    fn add_token_files(
        &self,
        route: &Route,
        source: &ClassAd,
        ad: &mut ClassAd,
    ) -> Result<(), TranslateError> {
        let names = match (&route.send_tokens.expr, route.send_tokens.evaluate(source, self.world)) {
            (None, _) => self.parameters.send_tokens.clone(),
            (Some(_), Some(Value::Str(names))) => names,
            (Some(expr), _) if matches!(expr.as_literal(), Some(Value::Undefined)) => BString::default(),
            _ => return Err(TranslateError::InvalidTokens),
        };
        let mut files: Vec<&[u8]> = Vec::new();
        for name in list::split(&names) {
            match self.parameters.tokens.iter().find(|(known, _)| known == name) {
                Some((_, file)) => files.push(file),
                None => return Err(TranslateError::UnknownToken(name.into())),
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let inputs = ad.string("TransferInput").map(BString::from).unwrap_or_default();
        if !inputs.is_empty() {
            files.push(&inputs);
        }
        let joined = BString::from(bstr::join(",", files));
        ad.set("TransferInput", joined);
        Ok(())
    }
}

/// Returns the changes that an edit of the source job in place makes, in byte order of their names
/// (`push_classad_diff`). A removed attribute is `None`.
pub fn changes_of_edit(source: &ClassAd, edited: &ClassAd) -> Vec<(BString, Option<htc_classad::Expr>)> {
    let mut changes = Vec::new();
    for (name, expr) in edited.sorted() {
        if source.get(name).as_ref() != Some(&expr) {
            changes.push((name.into(), Some(expr)));
        }
    }
    for (name, _) in source.sorted() {
        if !edited.contains(name) {
            changes.push((name.into(), None));
        }
    }
    changes.sort_by(|a: &(BString, _), b| a.0.cmp(&b.0));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_mapped_as_in_file_transfer() {
        for (rules, name, expected) in [
            ("out=/x/out;err=/y", "out", Some("/x/out")),
            (" out = /x/out ; err = /y ", "err", Some("/y")),
            ("out=a;a=b", "out", Some("b")),
            ("d=/data", "d/e/f", Some("/data/e/f")),
            ("nothing;out=1", "out", Some("1")),
            (r"a\=b=c\;d", "a=b", Some("c;d")),
            ("out=1", "other", None),
            ("a=b;b=a", "a", None),
            ("", "a", None),
        ] {
            let got = remap_file_name(rules.as_bytes(), name.as_bytes(), &mut |_| {});
            assert_eq!(got.as_ref().map(|got| got.to_string()), expected.map(String::from), "{rules} {name}");
        }
    }
}
