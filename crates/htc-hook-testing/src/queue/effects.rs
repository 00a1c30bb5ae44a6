//! What the hooks of a queue do to its files, learnt from calls made one at a time: where a job is taken from, where its
//! end is taken down, and whether a rejected job is put aside.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::directory::Files;
use htc_classad::{ClassAd, Context};
use htc_os::RealWorld;

/// Files are read in pieces of this size; a word that is longer than one is none.
const PIECE: usize = 1 << 18;

/// The names of a job, each kind of name at its own place: what tells it apart, QueueName, GlobalJobId, JobId, ClusterId.
pub(super) type Names = Vec<Option<BString>>;

/// The names that an ad gives its job; `id` is what tells it apart.
pub(super) fn names(job: &ClassAd, id: &str, world: &RealWorld) -> Names {
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

/// What has been learnt.
#[derive(Debug, Default)]
pub struct Effects {
    /// FETCH_WORK changes files here when it hands out a job: the queue is here.
    pub here: bool,
    /// A rejected job is put aside by REPLY_FETCH; it is not to come back.
    pub files_rejects: bool,
    /// The files in which ends of jobs were taken down, and of how many jobs each.
    written: BTreeMap<PathBuf, u32>,
    /// The kinds of names that all of these records have had.
    kinds: Option<BTreeSet<usize>>,
    /// Whether files of the queue name their jobs at all, so that a record may be expected to.
    named: bool,
}

impl Effects {
    /// FETCH_WORK has handed out a job.
    pub(super) fn fetched(&mut self, names: &Names, before: &Files, after: &Files) {
        self.here |=
            after.written_since(before).next().is_some() || after.gone_since(before).next().is_some();
        let touched = after.written_since(before).chain(after.gone_since(before));
        self.named |= touched.into_iter().any(|path| !kinds(names, &words_of([path], names)).is_empty());
    }

    /// REPLY_FETCH has been told that the job was rejected: whether it put the job aside, as a file that was moved. A copy
    /// in a log is none.
    pub(super) fn rejected(&mut self, job: &ClassAd, before: &Files, after: &Files) {
        let Some(command) = job.string("Cmd").filter(|command| !command.is_empty()) else { return };
        let moved = after.gone_since(before).next().is_some();
        self.files_rejects |=
            moved && after.written_since(before).any(|path| holds(path, command.as_bytes()));
    }

    /// JOB_EXIT has been told of the end: what it wrote must name the job. The text says what is missing.
    pub(super) fn ended(
        &mut self,
        names: &Names,
        root: &Path,
        before: &Files,
        after: &Files,
    ) -> Option<String> {
        if !self.here {
            return None;
        }
        let written: Vec<&Path> = after.written_since(before).collect();
        let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
        let mut found = BTreeSet::new();
        for path in &written {
            let of_path = kinds(names, &words_of([*path], names));
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
        if !self.named && !written.is_empty() {
            return None;
        }
        let list = |paths: Vec<&Path>| {
            let shown: Vec<_> =
                paths.iter().take(3).map(|path| relative(path).display().to_string()).collect();
            shown.join(", ")
        };
        let gone: Vec<&Path> = after.gone_since(before).collect();
        Some(match (written.is_empty(), gone.is_empty()) {
            (true, true) => "it changes no file".to_owned(),
            (true, false) => format!("it writes nothing and removes {}", list(gone)),
            (false, _) => format!("what it writes does not name the job ({})", list(written)),
        })
    }

    /// Where the ends of jobs are taken down: files for several jobs, and directories with a file for each.
    pub fn records(&self) -> BTreeSet<PathBuf> {
        let place = |(path, &jobs): (&PathBuf, &u32)| match path.parent() {
            Some(directory) if jobs == 1 && directory.as_os_str().is_empty() => PathBuf::from("."),
            Some(directory) if jobs == 1 => directory.to_owned(),
            _ => path.clone(),
        };
        self.written.iter().map(place).collect()
    }

    /// Whether records can be looked for after many calls at once.
    pub fn can_count(&self) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| !kinds.is_empty())
    }

    /// Which of the names of `jobs` the records below this directory hold.
    pub(super) fn recorded<'n>(
        &self,
        root: &Path,
        jobs: impl IntoIterator<Item = &'n Names>,
    ) -> Recorded<'_> {
        let mut files = Vec::new();
        for place in &self.records() {
            let place = root.join(place);
            if place.is_dir() {
                files.extend(std::fs::read_dir(&place).into_iter().flatten().flatten().map(|one| one.path()));
            } else {
                files.push(place);
            }
        }
        let names = jobs.into_iter().flatten();
        Recorded { words: words_of(files.iter().map(PathBuf::as_path), names), kinds: self.kinds.as_ref() }
    }
}

/// The exit records of a queue.
pub(super) struct Recorded<'a> {
    words: HashSet<BString>,
    kinds: Option<&'a BTreeSet<usize>>,
}

impl Recorded<'_> {
    /// Whether there is a record of this job.
    pub(super) fn has(&self, names: &Names) -> bool {
        self.kinds.into_iter().flatten().all(|&kind| match names.get(kind) {
            Some(Some(name)) => self.words.contains(name),
            _ => true,
        })
    }
}

fn kinds(names: &Names, words: &HashSet<BString>) -> BTreeSet<usize> {
    let there = |name: &Option<BString>| name.as_ref().is_some_and(|name| words.contains(name));
    (0..names.len()).filter(|&kind| there(&names[kind])).collect()
}

/// Calls `see` with the pieces of a file of any length, up to their last `whole` byte; the rest comes with the next piece.
fn pieces(path: &Path, whole: impl Fn(&[u8]) -> usize, mut see: impl FnMut(&[u8])) {
    if !std::fs::symlink_metadata(path).is_ok_and(|status| status.is_file()) {
        return;
    }
    let Ok(file) = std::fs::File::open(path) else { return };
    let mut held = Vec::new();
    while (&file).take(PIECE as u64).read_to_end(&mut held).is_ok_and(|read| read > 0) {
        let seen = whole(&held).max(held.len().saturating_sub(PIECE));
        see(&held[..seen]);
        held.drain(..seen);
    }
    see(&held);
}

/// Whether a file has `text` in it.
fn holds(path: &Path, text: &[u8]) -> bool {
    let mut found = false;
    let mut end = Vec::new();
    pieces(path, <[u8]>::len, |piece| {
        // What begins at the end of one piece goes on in the next.
        end.extend_from_slice(piece);
        found |= end.contains_str(text);
        end.drain(..end.len().saturating_sub(text.len()));
    });
    found
}

/// Which of these names stand as words in some files, or in the names of the files.
fn words_of<'a, 'n>(
    paths: impl IntoIterator<Item = &'a Path>,
    names: impl IntoIterator<Item = &'n Option<BString>>,
) -> HashSet<BString> {
    let wanted: HashSet<&BStr> = names.into_iter().flatten().map(|name| name.as_bstr()).collect();
    let mut found = HashSet::new();
    for path in paths {
        look(path.file_name().unwrap_or_default().as_bytes(), &wanted, &mut found);
        look(path.file_stem().unwrap_or_default().as_bytes(), &wanted, &mut found);
        let words = |piece: &[u8]| piece.iter().rposition(is_between).map_or(0, |end| end + 1);
        pieces(path, words, |piece| look(piece, &wanted, &mut found));
    }
    found
}

fn is_between(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'=,;()[]{}<>|\0".contains(byte)
}

/// What stands between blanks, quotes and the like, and the runs of letters and digits in that.
fn look(text: &[u8], wanted: &HashSet<&BStr>, found: &mut HashSet<BString>) {
    let mut see = |word: &[u8]| {
        if wanted.contains(word.as_bstr()) && !found.contains(word.as_bstr()) {
            found.insert(word.into());
        }
    };
    for word in text.split(is_between).filter(|word| !word.is_empty()) {
        see(word);
        word.split(|byte| !byte.is_ascii_alphanumeric()).filter(|run| !run.is_empty()).for_each(&mut see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cluster: i64) -> Names {
        let mut ad = ClassAd::new();
        ad.set("ClusterId", cluster);
        names(&ad, &format!("{cluster}.0"), &RealWorld::new())
    }

    #[test]
    fn records_are_found_in_files_of_their_own_and_in_lists() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        std::fs::create_dir(root.join("done")).unwrap();
        let look = || Files::below(root);
        for list in [false, true] {
            let record = |number: i64| {
                // The name of the file holds no name of the job as a word.
                let path = root.join(if list { "log".to_owned() } else { format!("done/job{number}") });
                let text = format!("{number}.0 ended\n");
                let old = std::fs::read_to_string(&path).unwrap_or_default();
                std::fs::write(path, old + &text).unwrap();
            };
            let mut effects = Effects { here: true, named: true, ..Effects::default() };
            let before = look();
            assert!(effects.ended(&job(7), root, &before, &look()).unwrap().contains("changes no file"));
            for number in [7, 8] {
                let before = look();
                record(number);
                assert_eq!(effects.ended(&job(number), root, &before, &look()), None);
            }
            let place = if list { "log" } else { "done" };
            assert_eq!(effects.records(), BTreeSet::from([PathBuf::from(place)]));
            assert!(effects.can_count());
            record(12);
            let jobs = [job(7), job(12), job(1)];
            let recorded = effects.recorded(root, &jobs);
            assert!(recorded.has(&jobs[0]) && recorded.has(&jobs[1]) && !recorded.has(&jobs[2]));
        }
    }

    #[test]
    fn records_of_any_length_are_read_to_their_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("queue.db");
        // A name across the border of two pieces is one word; `1234` alone stands nowhere.
        for before in [PIECE - 3, 5 * PIECE - 2, 7 * PIECE] {
            let mut text = b"x ".repeat(before / 2);
            text.resize(before, b' ');
            text.extend_from_slice(b"123456.0 done");
            std::fs::write(&path, text).unwrap();
            let jobs = [job(123_456), job(1234), job(123)];
            let words = words_of([path.as_path()], jobs.iter().flatten());
            assert_eq!(words, ["123456.0", "123456"].map(BString::from).into(), "{before}");
            assert!(holds(&path, b"123456.0 do") && !holds(&path, b"123456.1"), "{before}");
            let line = [vec![b'x'; before], b"/bin/true".to_vec(), vec![b'x'; PIECE / 2]].concat();
            std::fs::write(&path, line).unwrap();
            assert!(holds(&path, b"/bin/true") && !holds(&path, b"/bin/false"), "{before}");
        }
    }

    #[test]
    fn a_lock_is_no_record() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("job7"), "ClusterId = 7\n").unwrap();
        let mut effects = Effects::default();
        let files = Files::below(home.path());
        effects.fetched(&job(7), &Files::default(), &files);
        std::fs::write(home.path().join("lock"), "").unwrap();
        std::fs::remove_file(home.path().join("job7")).unwrap();
        let missing = effects.ended(&job(7), home.path(), &files, &Files::below(home.path())).unwrap();
        assert_eq!(missing, "what it writes does not name the job (lock)");
    }
}
