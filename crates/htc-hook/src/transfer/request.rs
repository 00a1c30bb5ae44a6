//! File transfer requested by a job ad.
//!
//! Reference: `JICShadow::initFileTransfer`, `FileTransfer::_SimpleInit`, `RemoteResource::initFileTransfer`.

use bstr::{BString, ByteSlice};
use thiserror::Error;

use super::plugin;
use super::remaps::{DEFAULT_MAX_REMAP_RECURSIONS, Remaps};
use super::task::{DirectorySnapshot, FileList, TransferKind, TransferTask};
use super::url;
use htc_base::text::{caseless, list};
use htc_classad::{ClassAd, Context, EvalWorld};

/// Name of the job's standard output in the scratch directory.
pub const JOB_STDOUT_FILE: &str = "_condor_stdout";
/// Name of the job's standard error in the scratch directory.
pub const JOB_STDERR_FILE: &str = "_condor_stderr";

/// Files of the starter in the scratch directory that are never transferred back.
const NEVER_TRANSFERRED_BACK: [&str; 9] = [
    ".job.ad",
    ".execution_overlay.ad",
    ".machine.ad",
    ".docker_sock",
    ".docker_stdout",
    ".docker_stderror",
    ".condor_container_launched",
    ".update.ad",
    ".update.ad.tmp",
];

/// Value of the attribute `WhenToTransferOutput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenToTransferOutput {
    /// NEVER, which condor_submit does not write: no output is transferred.
    Never,
    /// ON_EXIT: output is transferred when the job exits.
    OnExit,
    /// ON_EXIT_OR_EVICT: output is transferred when the job exits and when it is evicted.
    OnExitOrEvict,
    /// ON_SUCCESS: output is transferred when the job succeeds.
    OnSuccess,
}

/// Files to transfer back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputFiles {
    /// Files in the scratch directory that are new or changed.
    Changed,
    /// The listed files.
    Listed(Vec<BString>),
}

/// Error in the file transfer attributes of a job ad, which every starter rejects.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransferRequestError {
    /// The value of the attribute is not a valid keyword.
    #[error("{attribute} is '{word}': use {words}")]
    Word {
        /// Name of the attribute.
        attribute: &'static str,
        /// Value of the attribute.
        word: BString,
        /// Valid keywords.
        words: &'static str,
    },
    /// A required attribute is missing.
    #[error("{attribute} is missing though ShouldTransferFiles asks for transfer: use {words}")]
    Missing {
        /// Name of the attribute.
        attribute: &'static str,
        /// Valid keywords.
        words: &'static str,
    },
}

/// File transfer attributes of a job ad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// Value of the attribute `WhenToTransferOutput`.
    pub when: WhenToTransferOutput,
    /// All files sent to the execution point: the job's plugins, TransferInput, In, proxy, Cmd, CommonInputFiles.
    pub input: Vec<BString>,
    /// Files to transfer back.
    pub output: OutputFiles,
    /// Value of the attribute `TransferCheckpoint`.
    pub checkpoint: Option<Vec<BString>>,
    /// Files of FailureFiles, and standard output and error.
    pub failure: Vec<BString>,
    /// True if FailureFiles names any file.
    pub has_failure_files: bool,
    /// TransferOutputRemaps, plus the names of standard output and error.
    pub remaps: Remaps,
    /// Rules of TransferOutputRemaps alone, which the execution point uses for uploads.
    pub uploads: Remaps,
    /// Value of the attribute `PreserveRelativePaths`.
    pub preserve: bool,
    /// Value of Cmd, and the name that the executable has in the scratch directory; `None` if the executable is not
    /// transferred.
    pub executable: Option<(BString, BString)>,
    /// Names of standard output and error in the scratch directory; `None` for a file that is streamed or /dev/null.
    pub standard_files: [Option<BString>; 2],
    /// Names of standard output and error in the job ad.
    pub standard_file_targets: [Option<BString>; 2],
    /// OutputDirectory: destination of the job's output, relative to Iwd unless it is absolute.
    pub output_directory: Option<BString>,
    /// Value of the attribute `OutputDestination`.
    pub destination: Option<BString>,
    /// Plugins of the job: (path, schemes).
    pub plugins: Vec<(BString, BString)>,
    /// Fields of TransferPlugins that are not valid.
    pub invalid_plugins: Vec<BString>,
    /// Maximum number of input bytes, if the ad limits it.
    pub max_input_bytes: Option<i64>,
    /// Maximum number of output bytes, if the ad limits it.
    pub max_output_bytes: Option<i64>,
    /// Name of the directory for the manifest, if the job asks for a manifest.
    pub manifest: Option<BString>,
    /// Iwd of the job on the access point.
    pub iwd: BString,
}

const MEGABYTE: i64 = 1024 * 1024;

impl TransferRequest {
    /// Reads the job ad in the form in which it was submitted. `domain` is this machine's FILESYSTEM_DOMAIN. Returns
    /// `None` if the job does not transfer files.
    ///
    /// # Errors
    /// Returns an error for keywords that 25.14 does not know.
    pub fn read(
        ad: &ClassAd,
        domain: &[u8],
        world: &dyn EvalWorld,
    ) -> Result<Option<TransferRequest>, TransferRequestError> {
        let reader = RequestReader { ad, world };
        if !reader.is_transferred(domain)? {
            return Ok(None);
        }
        let when = reader.when_to_transfer_output()?;
        let string = |name: &str| reader.string(name);
        let commas = |name: &str| string(name).map(|text| split_names(&text));
        let boolean = |name: &str| Context::new(world).my(ad).boolean(name);
        let (plugins, bad_plugins) =
            plugin::parse_job_plugins(&string("TransferPlugins").unwrap_or_default());
        let [standard, targets] = reader.standard_files();
        let mut remaps = Remaps::parse(&string("TransferOutputRemaps").unwrap_or_default());
        let uploads = remaps.clone();
        for (name, target) in [(JOB_STDOUT_FILE, &targets[0]), (JOB_STDERR_FILE, &targets[1])] {
            if let Some(target) = target {
                remaps.add(name, target.clone());
            }
        }
        let with_standard = |mut names: Vec<BString>| {
            for name in standard.iter().flatten() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            names
        };
        let output = match commas("TransferOutput") {
            Some(names) => OutputFiles::Listed(with_standard(names)),
            None => OutputFiles::Changed,
        };
        let failure = commas("FailureFiles");
        let limit =
            |name: &str| Context::new(world).my(ad).int(name).map(|most| most.saturating_mul(MEGABYTE));
        let executable = reader.executable();
        Ok(Some(TransferRequest {
            when,
            input: reader.input_files(&plugins, executable.as_ref()),
            output,
            // Unlike the other lists, TransferCheckpoint may also be separated by spaces.
            checkpoint: string("TransferCheckpoint")
                .map(|text| with_standard(list::split(&text).map(BString::from).collect())),
            has_failure_files: failure.is_some(),
            failure: with_standard(failure.unwrap_or_default()),
            remaps,
            uploads,
            preserve: boolean("PreserveRelativePaths").unwrap_or(false),
            executable: executable.map(|cmd| (cmd.clone(), url::base_name(&cmd).into())),
            output_directory: string("OutputDirectory").filter(|directory| !directory.is_empty()),
            destination: string("OutputDestination").filter(|destination| !destination.is_empty()),
            plugins,
            invalid_plugins: bad_plugins,
            max_input_bytes: limit("MaxTransferInputMB"),
            max_output_bytes: limit("MaxTransferOutputMB"),
            manifest: reader.manifest_directory(),
            iwd: string("Iwd").unwrap_or_default(),
            standard_files: standard,
            standard_file_targets: targets,
        }))
    }

    /// Counts the listed input files by protocol: `CEDAR` for files sent by the access point, the upper-case scheme for
    /// URLs. Counts files even if they are not transferred (`UniShadow::checkInputFileTransfer`).
    pub fn count_input_by_protocol(ad: &ClassAd, world: &dyn EvalWorld) -> ClassAd {
        let reader = RequestReader { ad, world };
        let (plugins, _) = plugin::parse_job_plugins(&reader.string("TransferPlugins").unwrap_or_default());
        let executable = reader.executable();
        let input = reader.input_files(&plugins, executable.as_ref());
        let mut counts = ClassAd::new();
        let cedar = input.iter().filter(|name| !url::is_url(name)).count();
        if cedar > 0 {
            counts.set("CEDAR", i64::try_from(cedar).unwrap_or(i64::MAX));
        }
        for scheme in input.iter().filter_map(|name| url::scheme(name)) {
            let name = scheme.to_ascii_uppercase();
            let before = Context::new(world).my(&counts).int(&name).unwrap_or(0);
            counts.set(&name, before + 1);
        }
        counts
    }

    /// Returns the transfer task for one direction. `since` lists the scratch directory after the input transfer.
    pub fn to_task(&self, way: TransferKind, scratch: &[u8], since: &DirectorySnapshot) -> TransferTask {
        let (base, target) = match way.is_input() {
            true => (self.iwd.clone(), scratch.into()),
            false => (scratch.into(), self.iwd.clone()),
        };
        // OutputDirectory applies only to the final output, also of a failed job, but not to checkpoints and evicted
        // jobs.
        let own = self
            .output_directory
            .as_ref()
            .filter(|_| matches!(way, TransferKind::Output | TransferKind::Failure));
        let target = match own {
            Some(own) if own.starts_with(b"/") => own.clone(),
            Some(own) => BString::from([target.as_slice(), b"/", own.as_slice()].concat()),
            None => target,
        };
        let back = !way.is_input();
        // Checkpoint files keep their names in the scratch directory.
        let renames = matches!(way, TransferKind::Output | TransferKind::Failure);
        let standard = self.standard_files.iter().zip(&self.standard_file_targets);
        let standard = standard.filter_map(|(name, target)| Some((name.clone()?, target.clone()?)));
        TransferTask {
            way,
            list: self.file_list(way, since),
            base,
            target,
            preserve: self.preserve,
            except: if back {
                NEVER_TRANSFERRED_BACK.iter().map(|name| BString::from(*name)).collect()
            } else {
                Vec::new()
            },
            executable: self.executable.clone(),
            remaps: if renames { self.remaps.rules().to_vec() } else { Vec::new() },
            uploads: if renames { self.uploads.rules().to_vec() } else { Vec::new() },
            most_remaps: DEFAULT_MAX_REMAP_RECURSIONS,
            destination: self.destination.clone().filter(|_| way == TransferKind::Output),
            renamed: if way == TransferKind::Output { standard.collect() } else { Vec::new() },
            limit: None,
            makes_directories: true,
            makes_target: own.is_some(),
            only_urls: false,
            reader: None,
            writer: None,
            allowed: Vec::new(),
        }
    }

    fn file_list(&self, way: TransferKind, since: &DirectorySnapshot) -> FileList {
        let also: Vec<BString> = self.manifest.iter().cloned().collect();
        match (way, &self.output, &self.checkpoint) {
            (TransferKind::Input, _, _) => FileList::Named(self.input.clone()),
            (TransferKind::Failure, _, _) => FileList::Named(self.failure.clone()),
            (TransferKind::Checkpoint(_), _, Some(files)) => FileList::Named(files.clone()),
            (
                TransferKind::Checkpoint(_) | TransferKind::Output | TransferKind::Evicted,
                OutputFiles::Listed(names),
                _,
            ) => FileList::Named(names.iter().chain(&also).cloned().collect()),
            (
                TransferKind::Checkpoint(_) | TransferKind::Output | TransferKind::Evicted,
                OutputFiles::Changed,
                _,
            ) => FileList::Changed { since: since.clone(), also },
        }
    }

    /// Returns true if output of this transfer may be uploaded to URLs.
    pub fn can_upload_to_urls(&self, way: TransferKind) -> bool {
        match way {
            TransferKind::Input | TransferKind::Checkpoint(_) | TransferKind::Evicted => false,
            TransferKind::Output => self.destination.is_some() || self.uploads.has_url(),
            TransferKind::Failure => self.uploads.has_url(),
        }
    }
}

/// Splits a list at commas.
fn split_names(text: &[u8]) -> Vec<BString> {
    list::split_by(text, b",").map(BString::from).collect()
}

struct RequestReader<'a> {
    ad: &'a ClassAd,
    world: &'a dyn EvalWorld,
}

impl RequestReader<'_> {
    /// Returns the names of standard output and error in the scratch directory (`None` if streamed), and their names in
    /// the job ad.
    fn standard_files(&self) -> [[Option<BString>; 2]; 2] {
        let file = |name: &str| self.string(name).filter(|file| *file != "/dev/null" && !file.is_empty());
        let targets = [file("Out"), file("Err")];
        let streams = |name: &str| Context::new(self.world).my(self.ad).boolean(name).unwrap_or(false);
        let mut standard = [("StreamOut", 0, JOB_STDOUT_FILE), ("StreamErr", 1, JOB_STDERR_FILE)].map(
            |(stream, at, name)| {
                targets[at].as_ref().filter(|_| !streams(stream)).map(|_| BString::from(name))
            },
        );
        if targets[0] == targets[1] && standard[1].is_some() {
            standard[1] = standard[0].clone();
        }
        [standard, targets]
    }

    fn string(&self, name: &str) -> Option<BString> {
        Context::new(self.world).my(self.ad).string(name)
    }

    fn is_transferred(&self, domain: &[u8]) -> Result<bool, TransferRequestError> {
        const ATTRIBUTE: &str = "ShouldTransferFiles";
        let Some(word) = self.string(ATTRIBUTE) else { return Ok(false) };
        let is = |known: &str| caseless::eq(&word, known.as_bytes());
        match () {
            () if is("YES") || is("TRUE") => Ok(true),
            () if is("NO") || is("FALSE") => Ok(false),
            () if is("IF_NEEDED") || is("AUTOMATIC") => {
                let own = self.string("FileSystemDomain");
                Ok(!own.is_some_and(|own| caseless::eq(&own, domain)))
            }
            () => {
                Err(TransferRequestError::Word { attribute: ATTRIBUTE, word, words: "YES, NO or IF_NEEDED" })
            }
        }
    }

    fn when_to_transfer_output(&self) -> Result<WhenToTransferOutput, TransferRequestError> {
        const ATTRIBUTE: &str = "WhenToTransferOutput";
        const VALID_WORDS: &str = "ON_EXIT, ON_EXIT_OR_EVICT, ON_SUCCESS or NEVER";
        let word = self
            .string(ATTRIBUTE)
            .ok_or(TransferRequestError::Missing { attribute: ATTRIBUTE, words: VALID_WORDS })?;
        let known = [
            ("NONE", WhenToTransferOutput::Never),
            ("NEVER", WhenToTransferOutput::Never),
            ("ON_EXIT", WhenToTransferOutput::OnExit),
            ("ON_EXIT_OR_EVICT", WhenToTransferOutput::OnExitOrEvict),
            ("ON_SUCCESS", WhenToTransferOutput::OnSuccess),
        ];
        let found = known.iter().find(|(known, _)| caseless::eq(&word, known.as_bytes()));
        found.map(|(_, when)| *when).ok_or(TransferRequestError::Word {
            attribute: ATTRIBUTE,
            word,
            words: VALID_WORDS,
        })
    }

    fn input_files(&self, plugins: &[(BString, BString)], executable: Option<&BString>) -> Vec<BString> {
        let mut names: Vec<BString> = plugins.iter().rev().map(|(path, _)| path.clone()).collect();
        let lists = ["TransferInput", "PublicInputFiles"].into_iter().filter_map(|name| self.string(name));
        names.extend(lists.flat_map(|text| split_names(&text)));
        let single = ["In", "x509userproxy"].into_iter().filter_map(|name| self.string(name));
        names.extend(single.filter(|file| *file != "/dev/null" && !file.is_empty()));
        names.extend(executable.cloned());
        // Common files are not shared between jobs: each job gets its own copy
        // (`RemoteResource::modifyFileTransferObject`).
        let catalogs = self.string("CommonInputCatalogs").unwrap_or_default();
        let lists = list::split(&catalogs).map(|name| format!("_x_catalog_{}", name.as_bstr()));
        for list in lists.chain(["CommonInputFiles".to_owned()]) {
            names.extend(self.string(&list).iter().flat_map(|text| split_names(text)));
        }
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// Returns Cmd, or `None` if the executable is not transferred.
    fn executable(&self) -> Option<BString> {
        let transfers = Context::new(self.world).my(self.ad).boolean("TransferExecutable").unwrap_or(true);
        self.string("Cmd").filter(|cmd| transfers && !cmd.is_empty())
    }

    fn manifest_directory(&self) -> Option<BString> {
        let context = || Context::new(self.world).my(self.ad);
        let named = context().string("ManifestDir").filter(|name| !name.is_empty());
        let wanted = named.is_some() || context().boolean("ManifestDesired").unwrap_or(false);
        let usual = || match (context().int("ClusterId"), context().int("ProcId")) {
            (Some(cluster), Some(proc)) => format!("{cluster}_{proc}_manifest").into(),
            _ => BString::from("_condor_manifest"),
        };
        wanted.then(|| named.unwrap_or_else(usual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::System;

    fn read(text: &str) -> Result<Option<TransferRequest>, TransferRequestError> {
        let (ad, errors) = htc_classad::format::long::parse(text.as_bytes());
        assert!(errors.is_empty());
        TransferRequest::read(&ad, b"here", &System)
    }

    const YES: &str =
        "ShouldTransferFiles = \"yes\"\nWhenToTransferOutput = \"ON_EXIT\"\nIwd = \"/j\"\nCmd = \"/bin/x\"\n";

    #[test]
    fn file_transfer_depends_on_the_job_ad() {
        assert_eq!(read("Cmd = \"x\"\n").unwrap(), None);
        assert_eq!(read("ShouldTransferFiles = \"NO\"\n").unwrap(), None);
        let needed = YES.replace("yes", "IF_NEEDED");
        assert!(read(&needed).unwrap().is_some());
        assert_eq!(read(&format!("{needed}FileSystemDomain = \"HERE\"\n")).unwrap(), None);
        assert!(matches!(read(&YES.replace("yes", "perhaps")), Err(TransferRequestError::Word { .. })));
        assert!(matches!(read("ShouldTransferFiles = \"YES\"\n"), Err(TransferRequestError::Missing { .. })));
    }

    #[test]
    fn each_needed_input_file_is_listed_once() {
        let text = format!(
            "{YES}TransferInput = \"a, with blank,d/,a\"\nIn = \"stdin\"\nTransferPlugins = \"p=q;r=s\"\nOut = \"out\"\n"
        );
        let request = read(&text).unwrap().unwrap();
        assert_eq!(request.input, ["s", "q", "a", "with blank", "d/", "stdin", "/bin/x"]);
        assert_eq!(request.executable, Some(("/bin/x".into(), "x".into())));
        assert_eq!(request.standard_files, [Some(JOB_STDOUT_FILE.into()), None]);
        assert_eq!(request.remaps.find_target(b"_condor_stdout", 9), Ok(Some("out".into())));
    }

    #[test]
    fn common_files_are_input_and_all_input_is_counted_by_protocol() {
        let text =
            format!("{YES}TransferInput = \"a, x+dbl://h/b, DBL://h/c\"\nCommonInputFiles = \"common\"\n");
        let catalogs = "CommonInputCatalogs = \"A B\"\n_x_catalog_A = \"one, a\"\n_x_catalog_B = \"two\"\n_x_catalog_C = \"no\"\n";
        let request = read(&format!("{text}{catalogs}")).unwrap().unwrap();
        let wanted = ["a", "x+dbl://h/b", "DBL://h/c", "/bin/x", "one", "two", "common"];
        assert_eq!(request.input, wanted);
        let request = read(&text).unwrap().unwrap();
        assert_eq!(request.input, ["a", "x+dbl://h/b", "DBL://h/c", "/bin/x", "common"]);
        let (ad, _) = htc_classad::format::long::parse(text.replace("yes", "no").as_bytes());
        let counts = TransferRequest::count_input_by_protocol(&ad, &System);
        let count = |name: &str| Context::new(&System).my(&counts).int(name);
        assert_eq!((count("CEDAR"), count("DBL"), counts.len()), (Some(3), Some(2), 2));
    }

    #[test]
    fn output_is_the_listed_or_the_changed_files() {
        let text = format!("{YES}Out = \"o\"\nErr = \"o\"\n");
        let request = read(&text).unwrap().unwrap();
        assert_eq!(
            (request.output, &request.standard_files[1]),
            (OutputFiles::Changed, &request.standard_files[0])
        );
        let request = read(&format!("{text}TransferOutput = \"\"\nTransferCheckpoint = \"ck, a b\"\n"))
            .unwrap()
            .unwrap();
        assert_eq!(request.output, OutputFiles::Listed(vec![JOB_STDOUT_FILE.into()]));
        let task = request.to_task(TransferKind::Checkpoint(0), b"/s", &DirectorySnapshot::new());
        assert_eq!(
            task.list,
            FileList::Named(vec!["ck".into(), "a".into(), "b".into(), JOB_STDOUT_FILE.into()])
        );
        assert!(task.remaps.is_empty());
    }
}
