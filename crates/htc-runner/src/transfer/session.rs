//! One transfer: what is carried, who is asked, who is called, in which order, and what it comes to.
//!
//! Input is copied first and fetched from URLs then; output is uploaded first and copied then (`DoDownload`,
//! `computeFileList`).

use std::collections::VecDeque;

use bstr::BString;

use htc_base::quirks::Quirks;
use htc_classad::{ClassAd, Outside};
use htc_hook::transfer::{
    Ended, Failure, ListPlugins, PluginCall, Plugins, Side, TransferResult, TransferTask, Transferred,
    UrlFile, url,
};
use htc_os::strerror;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Have a helper carry this.
    Carry(Box<TransferTask>),
    /// Ask this plugin of the configuration what it can do.
    Ask(BString),
    /// Call a plugin.
    Invoke(Box<PluginCall>),
    /// Nothing: it is over.
    Done(Box<Transferred>),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Of a helper; the error is why there is no answer.
    Carried(Result<TransferResult, String>),
    /// What a plugin printed; the error is why it did not.
    Asked(Result<Vec<u8>, String>),
    /// How a call ended, and what the plugin wrote.
    Invoked(Ended, Option<Vec<u8>>),
}

/// Where a session has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// What goes to URLs is found out.
    Listing,
    /// Plugins are asked and called.
    Plugins,
    /// Files are copied.
    Copying,
}

/// The plugins that may be called.
#[derive(Clone, Debug, Default)]
pub struct KnownPlugins {
    /// Those of the configuration.
    pub configured: Vec<BString>,
    /// Those of the job, each with its methods.
    pub own: Vec<(BString, BString)>,
    /// The job's attributes for them.
    pub data: Vec<(String, BString)>,
    /// How those that take a list are treated.
    pub lists: ListPlugins,
}

/// One transfer.
pub struct TransferSession {
    task: TransferTask,
    scratch: BString,
    stage: Stage,
    /// Whether plugins come before the copies.
    uploads: bool,
    /// Plugins of the configuration that have not been asked.
    unasked: VecDeque<BString>,
    /// Plugins of the job: (path, methods).
    own: Vec<(BString, BString)>,
    plugins: Plugins,
    files: Vec<UrlFile>,
    calls: VecDeque<PluginCall>,
    running: Option<PluginCall>,
    asking: Option<BString>,
    /// Attributes for plugins.
    data: Vec<(String, BString)>,
    quirks: Quirks,
    failure: Option<Failure>,
    /// The result of the copies.
    copied: Option<TransferResult>,
    done: Transferred,
}

impl TransferSession {
    /// A transfer about to begin.
    pub fn new(
        task: TransferTask,
        scratch: BString,
        uploads: bool,
        known: KnownPlugins,
        quirks: Quirks,
    ) -> Self {
        let KnownPlugins { configured, own, data, lists } = known;
        let stage = if uploads { Stage::Listing } else { Stage::Copying };
        TransferSession {
            done: Transferred::nothing(task.way),
            task,
            scratch,
            stage,
            uploads,
            unasked: configured.into(),
            own,
            plugins: Plugins::new(lists),
            files: Vec::new(),
            calls: VecDeque::new(),
            running: None,
            asking: None,
            data,
            quirks,
            failure: None,
            copied: None,
        }
    }

    /// The first step.
    pub fn begin(&mut self) -> Step {
        let task = TransferTask { only_urls: self.stage == Stage::Listing, ..self.task.clone() };
        Step::Carry(Box::new(task))
    }

    /// The step after what came of the last one.
    pub fn next(&mut self, answer: Answer, world: &dyn Outside) -> Step {
        match answer {
            Answer::Carried(Err(reason)) => {
                self.failure = Some(Failure::of_helper(self.task.way, &reason));
                return self.finish();
            }
            Answer::Carried(Ok(carried)) => return self.carried(carried),
            Answer::Asked(printed) => {
                let path = self.asking.take().unwrap_or_default();
                let added = printed
                    .map_err(|reason| format!("the transfer plugin '{path}' is not used: {reason}"))
                    .and_then(|printed| self.plugins.add_system(&path, &printed, world));
                self.done.warnings.extend(added.err());
            }
            Answer::Invoked(ended, written) => self.invoked(&ended, written.as_deref(), world),
        }
        self.plugin()
    }

    fn carried(&mut self, carried: TransferResult) -> Step {
        let way = self.task.way;
        for path in &carried.unread {
            self.done.warnings.push(format!("cannot read the directory '{path}': it is transferred empty"));
        }
        for path in &carried.left_out {
            self.done.warnings.push(format!("'{path}' leads to no file: it is not transferred"));
        }
        if self.stage == Stage::Copying {
            self.done.stored.clone_from(&carried.stored);
            let failed = Failure::of_carried(way, &carried, self.task.limit, &strerror);
            self.failure = self.failure.take().or(failed);
        }
        // What could not be sent keeps nobody from fetching what could.
        let receives = self.failure.as_ref().is_none_or(|failure| failure.at == Side::Sender);
        let fetches = way.is_input() && receives;
        if self.stage == Stage::Copying {
            self.copied = Some(carried.clone());
        }
        if !carried.urls.is_empty() && (fetches || self.stage == Stage::Listing) {
            let file = |(url, local): &(BString, BString)| UrlFile { url: url.clone(), local: local.clone() };
            self.files = carried.urls.iter().map(file).collect();
            self.stage = Stage::Plugins;
            return self.plugin();
        }
        match self.stage {
            Stage::Listing => self.copy(),
            Stage::Plugins | Stage::Copying => self.finish(),
        }
    }

    fn copy(&mut self) -> Step {
        self.stage = Stage::Copying;
        Step::Carry(Box::new(TransferTask { only_urls: false, ..self.task.clone() }))
    }

    /// The next plugin to be asked or called.
    fn plugin(&mut self) -> Step {
        if let Some(path) = self.unasked.pop_front() {
            self.asking = Some(path.clone());
            return Step::Ask(path);
        }
        if !self.files.is_empty() {
            for (path, methods) in &self.own {
                self.plugins.add_job(path, methods);
            }
            let files = std::mem::take(&mut self.files);
            let data = |name: &str| {
                let found = self.data.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            match self.plugins.calls(&files, &self.scratch, self.uploads, &data) {
                Ok(calls) => self.calls = calls.into(),
                Err((subcode, text)) => self.fail(subcode, &text, false),
            }
        }
        match self.calls.pop_front() {
            Some(call) => {
                self.running = Some(call.clone());
                Step::Invoke(Box::new(call))
            }
            None if self.uploads => self.copy(),
            None => self.finish(),
        }
    }

    fn invoked(&mut self, ended: &Ended, written: Option<&[u8]>, world: &dyn Outside) {
        let Some(call) = self.running.take() else { return };
        // What a plugin that failed leaves was not there when the list was made.
        let beside = call.infile.iter().map(|(infile, _)| infile).chain(&call.outfile);
        self.task.except.extend(beside.map(|path| url::base_name(path).into()));
        let end = call.judge(ended, written, (self.quirks, world));
        self.done.tally.add_results(&end.results, world);
        self.done.results.extend(end.results);
        if let Some((subcode, text, again)) = end.failure {
            self.fail(subcode, &text, again);
        }
    }

    /// Several plugins may fail: of input the last one's codes count, of output the first one's. The sender's word on
    /// input counts before both.
    fn fail(&mut self, subcode: i64, text: &[u8], again: bool) {
        let failure = Failure::of_plugin(self.task.way, subcode, text, again);
        match &mut self.failure {
            Some(_) if !self.task.way.is_input() => {}
            Some(known) if known.at == Side::Sender => {}
            known => *known = Some(failure),
        }
    }

    fn finish(&mut self) -> Step {
        let mut done = self.done.clone();
        done.failure = self.failure.take();
        if let Some(copied) = &self.copied {
            done.tally.add_carried(self.task.way, copied, done.failure.is_some());
        }
        Step::Done(Box::new(done))
    }
}

/// The job's attributes for plugins: `PluginData` and `<scheme>_PluginData`.
pub fn plugin_data(ad: &ClassAd) -> Vec<(String, BString)> {
    let names = ad.names().map(ToString::to_string);
    let wanted = names.filter(|name| {
        let name = name.to_ascii_lowercase();
        name == "plugindata" || name.ends_with("_plugindata")
    });
    wanted.filter_map(|name| Some((name.clone(), ad.get(name.as_str())?.unparse()))).collect()
}
