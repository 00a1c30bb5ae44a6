//! Effects of a queue's hooks on its files, observed while one hook is called at a time: the places from which jobs
//! are taken, the places where exits are recorded, and whether a rejected job is set aside.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::queue_directory::FileSnapshot;
use htc_classad::{ClassAd, Context};
use htc_os::RealWorld;

/// Size in bytes of the pieces in which files are read. A longer word is not recognized as a name.
const READ_SIZE: usize = 1 << 18;

/// Names of a job in a fixed order: its id in the test, QueueName, GlobalJobId, JobId, ClusterId.
pub(super) type JobNames = Vec<Option<BString>>;

/// Returns the names that an ad gives its job; `id` identifies the job in the test.
pub(super) fn job_names(job: &ClassAd, id: &str, world: &RealWorld) -> JobNames {
    let context = Context::new(world).my(job);
    let id = id.trim_matches('"');
    let mut names = vec![(!id.is_empty()).then(|| BString::from(id))];
    names.extend(["QueueName", "GlobalJobId", "JobId"].map(|name| {
        let text = context.string(name).map(|text| BString::from(text.as_bytes()));
        text.or_else(|| context.int(name).map(|number| number.to_string().into()))
    }));
    names.push(context.int("ClusterId").map(|number| number.to_string().into()));
    names
}

/// Effects of the hooks that were observed.
#[derive(Debug, Default)]
pub struct HookEffects {
    /// True if FETCH_WORK changes files of the tested directory when it hands out a job, which shows that the queue
    /// is in that directory.
    pub changes_queue_here: bool,
    /// True if REPLY_FETCH sets a rejected job aside, so that the job is not handed out again.
    pub sets_rejects_aside: bool,
    /// Files in which the exits of jobs were recorded, with the number of jobs recorded in each file.
    written: BTreeMap<PathBuf, u32>,
    /// Indexes in `JobNames` of the names that all exit records contained, or `None` before the first record.
    kinds: Option<BTreeSet<usize>>,
    /// True if files of the queue contain names of jobs. An exit record is then expected to contain one as well.
    queue_names_jobs: bool,
}

impl HookEffects {
    /// Records the effects of a call of FETCH_WORK that handed out a job.
    pub(super) fn record_fetch(&mut self, names: &JobNames, before: &FileSnapshot, after: &FileSnapshot) {
        self.changes_queue_here |=
            after.written_since(before).next().is_some() || after.gone_since(before).next().is_some();
        let touched = after.written_since(before).chain(after.gone_since(before));
        self.queue_names_jobs |= touched
            .into_iter()
            .any(|path| !find_name_kinds(names, &words_in_files([path], names)).is_empty());
    }

    /// Records that REPLY_FETCH has set a rejected job aside, if it has moved the job's file. A copy of the job in a
    /// log is not a sign of that.
    pub(super) fn record_rejection(&mut self, job: &ClassAd, before: &FileSnapshot, after: &FileSnapshot) {
        let Some(command) = job.string("Cmd").filter(|command| !command.is_empty()) else { return };
        let moved = after.gone_since(before).next().is_some();
        self.sets_rejects_aside |=
            moved && after.written_since(before).any(|path| file_contains(path, command.as_bytes()));
    }

    /// Records the effects of a call of JOB_EXIT, which must write something that names the job. Returns a message if
    /// it did not, or `None` if it did.
    pub(super) fn record_exit(
        &mut self,
        names: &JobNames,
        root: &Path,
        before: &FileSnapshot,
        after: &FileSnapshot,
    ) -> Option<String> {
        if !self.changes_queue_here {
            return None;
        }
        let written: Vec<&Path> = after.written_since(before).collect();
        let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
        let mut found = BTreeSet::new();
        for path in &written {
            let of_path = find_name_kinds(names, &words_in_files([*path], names));
            if of_path.is_empty() {
                continue;
            }
            *self.written.entry(relative(path)).or_default() += 1;
            found.extend(of_path);
        }
        if !found.is_empty() {
            self.kinds = Some(match self.kinds.take() {
                Some(known) => known.intersection(&found).copied().collect(),
                None => found,
            });
            return None;
        }
        if !self.queue_names_jobs && !written.is_empty() {
            return None;
        }
        let list = |paths: Vec<&Path>| {
            let paths: Vec<_> =
                paths.iter().take(3).map(|path| relative(path).display().to_string()).collect();
            paths.join(", ")
        };
        let gone: Vec<&Path> = after.gone_since(before).collect();
        Some(match (written.is_empty(), gone.is_empty()) {
            (true, true) => "changes no file".to_owned(),
            (true, false) => format!("writes no file and removes {}", list(gone)),
            (false, _) => format!(
                "writes {} without the id of the job: add an id from the job ad, such as ClusterId",
                list(written)
            ),
        })
    }

    /// Returns the places of the exit records: files that contain the records of several jobs, and directories with
    /// one file per job.
    pub fn record_places(&self) -> BTreeSet<PathBuf> {
        let place = |(path, &jobs): (&PathBuf, &u32)| match path.parent() {
            Some(directory) if jobs == 1 && directory.as_os_str().is_empty() => PathBuf::from("."),
            Some(directory) if jobs == 1 => directory.to_owned(),
            _ => path.clone(),
        };
        self.written.iter().map(place).collect()
    }

    /// Returns true if exit records can be recognized after many calls at the same time.
    pub fn can_count_records(&self) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| !kinds.is_empty())
    }

    /// Reads the exit records below `root`, and returns the names of `jobs` that they contain.
    pub(super) fn read_records<'n>(
        &self,
        root: &Path,
        jobs: impl IntoIterator<Item = &'n JobNames>,
    ) -> ExitRecords<'_> {
        let mut files = Vec::new();
        for place in &self.record_places() {
            let place = root.join(place);
            if place.is_dir() {
                files.extend(std::fs::read_dir(&place).into_iter().flatten().flatten().map(|one| one.path()));
            } else {
                files.push(place);
            }
        }
        let names = jobs.into_iter().flatten();
        ExitRecords {
            words: words_in_files(files.iter().map(PathBuf::as_path), names),
            kinds: self.kinds.as_ref(),
        }
    }
}

/// Names found in the exit records of a queue.
pub(super) struct ExitRecords<'a> {
    words: HashSet<BString>,
    kinds: Option<&'a BTreeSet<usize>>,
}

impl ExitRecords<'_> {
    /// Returns true if the records contain a name of the job.
    pub(super) fn has_job(&self, names: &JobNames) -> bool {
        self.kinds.into_iter().flatten().all(|&kind| match names.get(kind) {
            Some(Some(name)) => self.words.contains(name),
            _ => true,
        })
    }
}

fn find_name_kinds(names: &JobNames, words: &HashSet<BString>) -> BTreeSet<usize> {
    let there = |name: &Option<BString>| name.as_ref().is_some_and(|name| words.contains(name));
    (0..names.len()).filter(|&kind| there(&names[kind])).collect()
}

/// Calls `see` with consecutive pieces of a file. `whole` returns the offset at which a piece ends; the rest becomes
/// the beginning of the next piece.
fn read_pieces(path: &Path, whole: impl Fn(&[u8]) -> usize, mut see: impl FnMut(&[u8])) {
    if !std::fs::symlink_metadata(path).is_ok_and(|status| status.is_file()) {
        return;
    }
    let Ok(file) = std::fs::File::open(path) else { return };
    let mut held = Vec::new();
    while (&file).take(READ_SIZE as u64).read_to_end(&mut held).is_ok_and(|read| read > 0) {
        let length = whole(&held).max(held.len().saturating_sub(READ_SIZE));
        see(&held[..length]);
        held.drain(..length);
    }
    see(&held);
}

/// Returns true if a file contains `text`.
fn file_contains(path: &Path, text: &[u8]) -> bool {
    let mut found = false;
    let mut end = Vec::new();
    read_pieces(path, <[u8]>::len, |piece| {
        // A match may begin at the end of one piece and end in the next piece.
        end.extend_from_slice(piece);
        found |= end.contains_str(text);
        end.drain(..end.len().saturating_sub(text.len()));
    });
    found
}

/// Returns the names that are words in the contents or names of the files.
fn words_in_files<'a, 'n>(
    paths: impl IntoIterator<Item = &'a Path>,
    names: impl IntoIterator<Item = &'n Option<BString>>,
) -> HashSet<BString> {
    let wanted: HashSet<&BStr> = names.into_iter().flatten().map(|name| name.as_bstr()).collect();
    let mut found = HashSet::new();
    for path in paths {
        collect_words(path.file_name().unwrap_or_default().as_bytes(), &wanted, &mut found);
        collect_words(path.file_stem().unwrap_or_default().as_bytes(), &wanted, &mut found);
        let words = |piece: &[u8]| piece.iter().rposition(is_separator).map_or(0, |end| end + 1);
        read_pieces(path, words, |piece| collect_words(piece, &wanted, &mut found));
    }
    found
}

fn is_separator(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'=,;()[]{}<>|\0".contains(byte)
}

/// Adds the wanted names to `found` that are words between separators, or sequences of letters and digits in such
/// words.
fn collect_words(text: &[u8], wanted: &HashSet<&BStr>, found: &mut HashSet<BString>) {
    let mut see = |word: &[u8]| {
        if wanted.contains(word.as_bstr()) && !found.contains(word.as_bstr()) {
            found.insert(word.into());
        }
    };
    for word in text.split(is_separator).filter(|word| !word.is_empty()) {
        see(word);
        word.split(|byte| !byte.is_ascii_alphanumeric()).filter(|run| !run.is_empty()).for_each(&mut see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cluster: i64) -> JobNames {
        let mut ad = ClassAd::new();
        ad.set("ClusterId", cluster);
        job_names(&ad, &format!("{cluster}.0"), &RealWorld::new())
    }

    #[test]
    fn records_are_found_in_single_files_and_in_lists() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        std::fs::create_dir(root.join("done")).unwrap();
        let snapshot = || FileSnapshot::of_directory(root);
        for list in [false, true] {
            let record = |number: i64| {
                // No word of the file name is a name of the job.
                let path = root.join(if list { "log".to_owned() } else { format!("done/job{number}") });
                let text = format!("{number}.0 ended\n");
                let old = std::fs::read_to_string(&path).unwrap_or_default();
                std::fs::write(path, old + &text).unwrap();
            };
            let mut effects =
                HookEffects { changes_queue_here: true, queue_names_jobs: true, ..HookEffects::default() };
            let before = snapshot();
            assert!(
                effects.record_exit(&job(7), root, &before, &snapshot()).unwrap().contains("changes no file")
            );
            for number in [7, 8] {
                let before = snapshot();
                record(number);
                assert_eq!(effects.record_exit(&job(number), root, &before, &snapshot()), None);
            }
            let place = if list { "log" } else { "done" };
            assert_eq!(effects.record_places(), BTreeSet::from([PathBuf::from(place)]));
            assert!(effects.can_count_records());
            record(12);
            let jobs = [job(7), job(12), job(1)];
            let recorded = effects.read_records(root, &jobs);
            assert!(recorded.has_job(&jobs[0]) && recorded.has_job(&jobs[1]) && !recorded.has_job(&jobs[2]));
        }
    }

    #[test]
    fn records_of_any_length_are_read_to_their_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("queue.db");
        // A name that crosses the border between two pieces is recognized as a word; `1234` is never a whole word.
        for before in [READ_SIZE - 3, 5 * READ_SIZE - 2, 7 * READ_SIZE] {
            let mut text = b"x ".repeat(before / 2);
            text.resize(before, b' ');
            text.extend_from_slice(b"123456.0 done");
            std::fs::write(&path, text).unwrap();
            let jobs = [job(123_456), job(1234), job(123)];
            let words = words_in_files([path.as_path()], jobs.iter().flatten());
            assert_eq!(words, ["123456.0", "123456"].map(BString::from).into(), "{before}");
            assert!(file_contains(&path, b"123456.0 do") && !file_contains(&path, b"123456.1"), "{before}");
            let line = [vec![b'x'; before], b"/bin/true".to_vec(), vec![b'x'; READ_SIZE / 2]].concat();
            std::fs::write(&path, line).unwrap();
            assert!(file_contains(&path, b"/bin/true") && !file_contains(&path, b"/bin/false"), "{before}");
        }
    }

    #[test]
    fn a_lock_file_is_not_a_record() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("job7"), "ClusterId = 7\n").unwrap();
        let mut effects = HookEffects::default();
        let files = FileSnapshot::of_directory(home.path());
        effects.record_fetch(&job(7), &FileSnapshot::default(), &files);
        std::fs::write(home.path().join("lock"), "").unwrap();
        std::fs::remove_file(home.path().join("job7")).unwrap();
        let missing = effects
            .record_exit(&job(7), home.path(), &files, &FileSnapshot::of_directory(home.path()))
            .unwrap();
        let wanted = "writes lock without the id of the job: add an id from the job ad, such as ClusterId";
        assert_eq!(missing, wanted);
    }
}
