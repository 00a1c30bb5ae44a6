//! One transfer: the sequence of its copies and plugin calls, and its result.
//!
//! For input, files are copied before URLs are fetched; for output, URLs are uploaded before files are copied
//! (`DoDownload`, `computeFileList`).

use std::collections::VecDeque;

use bstr::BString;

use htc_base::quirks::QuirkMode;
use htc_classad::{ClassAd, EvalWorld};
use htc_hook::transfer::{
    FailureSide, MultiFilePluginSettings, PluginCall, PluginExit, TransferFailure, TransferOutcome,
    TransferPlugins, TransferRetry, TransferTask, TransferTaskResult, UrlFile, url,
};
use htc_os::strerror;

/// Next step of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferStep {
    /// Execute this task in a helper process.
    ExecuteTask(Box<TransferTask>),
    /// Query this configured plugin for its capabilities.
    QueryPlugin(BString),
    /// Call a plugin.
    InvokePlugin(Box<PluginCall>),
    /// The transfer has ended.
    Done(Box<TransferOutcome>),
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferStepResult {
    /// The result from the helper, or the reason why there is no result.
    TaskExecuted(Result<TransferTaskResult, String>),
    /// The output of the queried plugin, or the reason why there is no output.
    PluginQueried(Result<Vec<u8>, String>),
    /// The plugin call has ended.
    PluginInvoked(PluginCallEnd),
}

/// Result of a plugin call.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginCallEnd {
    /// Exit status of the plugin, or the reason why it was not run.
    pub exit: PluginExit,
    /// Contents of the plugin's output file, or for protocol 1 the plugin's standard output; `None` if the file does
    /// not exist.
    pub written: Option<Vec<u8>>,
    /// Duration of the call in seconds of the wall clock.
    pub seconds: i64,
}

/// Stage of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferStage {
    /// The files to transfer as URLs are being determined.
    Listing,
    /// Plugins are being queried and called.
    Plugins,
    /// Files are being copied.
    Copying,
}

/// Plugins that a transfer may call.
#[derive(Clone, Debug, Default)]
pub struct KnownPlugins {
    /// Plugins of the configuration.
    pub configured: Vec<BString>,
    /// Plugins of the job: path and transfer methods.
    pub own: Vec<(BString, BString)>,
    /// Attributes of the job that plugins receive.
    pub data: Vec<(String, BString)>,
    /// Settings for plugins that accept a list of files.
    pub lists: MultiFilePluginSettings,
}

/// State of a transfer between its steps.
pub struct TransferSession {
    task: TransferTask,
    scratch: BString,
    stage: TransferStage,
    /// True if plugins are called before files are copied (output); false if they are called afterwards (input).
    uploads: bool,
    /// Plugins of the configuration that have not been queried.
    unqueried_plugins: VecDeque<BString>,
    /// Plugins of the job: path and transfer methods.
    own: Vec<(BString, BString)>,
    plugins: TransferPlugins,
    files: Vec<UrlFile>,
    calls: VecDeque<PluginCall>,
    running: Option<PluginCall>,
    queried_plugin: Option<BString>,
    /// Attributes of the job that plugins receive.
    data: Vec<(String, BString)>,
    quirks: QuirkMode,
    failure: Option<TransferFailure>,
    /// The result of copying files, or `None` before that.
    copied: Option<TransferTaskResult>,
    outcome: TransferOutcome,
}

impl TransferSession {
    /// Creates a transfer that has not begun.
    pub fn new(
        task: TransferTask,
        scratch: BString,
        uploads: bool,
        known: KnownPlugins,
        quirks: QuirkMode,
    ) -> Self {
        let KnownPlugins { configured, own, data, lists } = known;
        let stage = if uploads { TransferStage::Listing } else { TransferStage::Copying };
        TransferSession {
            outcome: TransferOutcome::empty(task.way),
            task,
            scratch,
            stage,
            uploads,
            unqueried_plugins: configured.into(),
            own,
            plugins: TransferPlugins::new(lists),
            files: Vec::new(),
            calls: VecDeque::new(),
            running: None,
            queried_plugin: None,
            data,
            quirks,
            failure: None,
            copied: None,
        }
    }

    /// Returns the first step.
    pub fn begin(&mut self) -> TransferStep {
        let task = TransferTask { only_urls: self.stage == TransferStage::Listing, ..self.task.clone() };
        TransferStep::ExecuteTask(Box::new(task))
    }

    /// Returns the step after the one whose result is given.
    pub fn next(&mut self, answer: TransferStepResult, world: &dyn EvalWorld) -> TransferStep {
        match answer {
            TransferStepResult::TaskExecuted(Err(reason)) => {
                self.failure = Some(TransferFailure::from_helper(self.task.way, &reason));
                return self.finish();
            }
            TransferStepResult::TaskExecuted(Ok(carried)) => return self.handle_task_result(carried),
            TransferStepResult::PluginQueried(printed) => {
                let path = self.queried_plugin.take().unwrap_or_default();
                let added = printed
                    .map_err(|reason| format!("the transfer plugin '{path}' is not used: {reason}"))
                    .and_then(|printed| self.plugins.add_configured_plugin(&path, &printed, world));
                self.outcome.warnings.extend(added.err());
            }
            TransferStepResult::PluginInvoked(ended) => self.record_plugin_result(&ended, world),
        }
        self.plugin_step()
    }

    fn handle_task_result(&mut self, carried: TransferTaskResult) -> TransferStep {
        let way = self.task.way;
        for path in &carried.unread {
            self.outcome
                .warnings
                .push(format!("cannot read the directory '{path}': it is transferred empty"));
        }
        for path in &carried.left_out {
            self.outcome
                .warnings
                .push(format!("'{path}' is a link to a missing file: it is not transferred"));
        }
        if self.stage == TransferStage::Copying {
            self.outcome.stored.clone_from(&carried.stored);
            let failed = TransferFailure::from_task_result(way, &carried, self.task.limit, &strerror);
            self.failure = self.failure.take().or(failed);
        }
        // The receiver continues to fetch URLs although the sender was unable to send some files.
        let receives = self.failure.as_ref().is_none_or(|failure| failure.side == FailureSide::Sender);
        let fetches = way.is_input() && receives;
        if self.stage == TransferStage::Copying {
            self.copied = Some(carried.clone());
        }
        if !carried.urls.is_empty() && (fetches || self.stage == TransferStage::Listing) {
            let file = |(url, local): &(BString, BString)| UrlFile { url: url.clone(), local: local.clone() };
            self.files = carried.urls.iter().map(file).collect();
            self.stage = TransferStage::Plugins;
            return self.plugin_step();
        }
        match self.stage {
            TransferStage::Listing => self.copy_step(),
            TransferStage::Plugins | TransferStage::Copying => self.finish(),
        }
    }

    fn copy_step(&mut self) -> TransferStep {
        self.stage = TransferStage::Copying;
        TransferStep::ExecuteTask(Box::new(TransferTask { only_urls: false, ..self.task.clone() }))
    }

    /// Returns the next query or call of a plugin, or the step after the last one.
    fn plugin_step(&mut self) -> TransferStep {
        if let Some(path) = self.unqueried_plugins.pop_front() {
            self.queried_plugin = Some(path.clone());
            return TransferStep::QueryPlugin(path);
        }
        if !self.files.is_empty() {
            for (path, methods) in &self.own {
                self.plugins.add_job_plugin(path, methods);
            }
            let files = std::mem::take(&mut self.files);
            let data = |name: &str| {
                let found = self.data.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            match self.plugins.plan_calls(&files, &self.scratch, self.uploads, &data) {
                Ok(calls) => self.calls = calls.into(),
                Err((subcode, text)) => self.fail(subcode, &text, TransferRetry::Never),
            }
        }
        match self.calls.pop_front() {
            Some(call) => {
                self.running = Some(call.clone());
                TransferStep::InvokePlugin(Box::new(call))
            }
            None if self.uploads => self.copy_step(),
            None => self.finish(),
        }
    }

    fn record_plugin_result(&mut self, ended: &PluginCallEnd, world: &dyn EvalWorld) {
        let Some(call) = self.running.take() else { return };
        // The output list was made before the plugin ran, so files that a failed plugin left are not in it.
        let plugin_files = call.infile.iter().map(|(infile, _)| infile).chain(&call.outfile);
        self.task.except.extend(plugin_files.map(|path| url::base_name(path).into()));
        let PluginCallEnd { exit, written, seconds } = ended;
        let end = call.interpret_exit(exit, written.as_deref(), self.quirks, world);
        self.outcome.tally.add_plugin_results(&end.results, world);
        if written.is_some() && call.outfile.is_some() {
            self.outcome.plugins.add_call(self.task.way, &call, exit, *seconds, &end.results);
        }
        if let Some(quirk) = end.differs {
            self.outcome.warnings.push(format!(
                "{} reports no result; {}",
                call.program,
                quirk.description()
            ));
        }
        if let Some(failure) = end.failure {
            self.fail(failure.subcode, &failure.text, failure.retry);
        }
    }

    /// Records the failure of a plugin. If several plugins fail, the codes of the last failure are used for input,
    /// and those of the first failure for output. On input, a failure of the sender takes precedence over failures of
    /// plugins.
    fn fail(&mut self, subcode: i64, text: &[u8], retry: TransferRetry) {
        let failure = TransferFailure::from_plugin(self.task.way, subcode, text, retry);
        match &mut self.failure {
            Some(_) if !self.task.way.is_input() => {}
            Some(known) if known.side == FailureSide::Sender => {}
            known => *known = Some(failure),
        }
    }

    fn finish(&mut self) -> TransferStep {
        let mut done = self.outcome.clone();
        done.failure = self.failure.take();
        if let Some(copied) = &self.copied {
            done.tally.add_task_result(self.task.way, copied, done.failure.is_some());
        }
        TransferStep::Done(Box::new(done))
    }
}

/// Returns the job's attributes for plugins: `PluginData` and `<scheme>_PluginData`.
pub fn plugin_data(ad: &ClassAd) -> Vec<(String, BString)> {
    let names = ad.names().map(ToString::to_string);
    let wanted = names.filter(|name| {
        let name = name.to_ascii_lowercase();
        name == "plugindata" || name.ends_with("_plugindata")
    });
    wanted.filter_map(|name| Some((name.clone(), ad.get(name.as_str())?.unparse()))).collect()
}
