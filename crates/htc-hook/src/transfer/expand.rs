//! Expansion of a list of names to the files to transfer: directories, trailing slashes, parents, links, duplicates.
//!
//! Reference: `ExpandFileTransferList`, `ExpandParentDirectories`, `FindChangedFiles`, `computeFileList`.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use super::remaps::Remaps;
use super::task::{DirectorySnapshot, FileList, TransferTask};
use super::url;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderFileKind {
    /// A regular file, or a device, which is sent as an empty file.
    File,
    /// A directory.
    Directory,
    /// A socket or FIFO, which is never transferred.
    Other,
}

/// Metadata of a file on the sending side. Symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderFileInfo {
    /// Kind of the file.
    pub kind: SenderFileKind,
    /// True if the path is a symbolic link.
    pub link: bool,
    /// Permission bits.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub modified: i64,
}

/// File system of the sending side.
pub trait SenderFiles {
    /// Returns the metadata of a path.
    ///
    /// # Errors
    /// Returns the system's error number.
    fn stat(&self, path: &[u8]) -> Result<SenderFileInfo, i32>;
    /// Returns the names in a directory.
    ///
    /// # Errors
    /// Returns the system's error number.
    fn list_directory(&self, directory: &[u8]) -> Result<Vec<BString>, i32>;
}

/// File, directory or URL to transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferItem {
    /// Name in the list of files, or path of a file below a directory in the list.
    pub source: BString,
    /// Directory below the destination directory; empty for the destination directory itself.
    pub directory: BString,
    /// Metadata, or `None` for a URL or a missing file.
    pub file: Option<SenderFileInfo>,
    /// URL to upload to, or `None`.
    pub to_url: Option<BString>,
}

impl TransferItem {
    /// Returns true if the item is downloaded from a URL.
    pub fn is_from_url(&self) -> bool {
        url::is_url(&self.source)
    }

    fn is_directory(&self) -> bool {
        self.file.is_some_and(|info| info.kind == SenderFileKind::Directory)
    }

    /// Returns the name below the destination directory.
    pub fn target_name(&self) -> BString {
        join_path(&self.directory, url::base_name(self.source.trim_end_with(|end| end == '/')))
    }
}

/// Maximum depth of a directory listing. Links of the job cannot form a cycle, but a mount might.
const MAX_DEPTH: usize = 1000;

/// Items in the order in which they are transferred, with the paths that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedFileList {
    /// Items to transfer.
    pub items: Vec<TransferItem>,
    /// Directories that cannot be read; the reference sends empty directories instead.
    pub unread: Vec<BString>,
    /// Names in directories that do not resolve to a file, such as dangling links; the reference skips these names
    /// (`Directory::Next`).
    pub left_out: Vec<BString>,
}

/// Expands the file list of a task.
pub fn expand_file_list(task: &TransferTask, sender: &dyn SenderFiles) -> ExpandedFileList {
    let names = match &task.list {
        FileList::Named(names) => names.clone(),
        FileList::Changed { since, also } => changed_files(task, since, also, sender),
    };
    let mut listing = FileListing {
        base: &task.base,
        preserve: task.preserve,
        sender,
        items: Vec::new(),
        kept: BTreeSet::new(),
        unread: Vec::new(),
        left_out: Vec::new(),
    };
    for name in &names {
        listing.add(name, b"", ListingDepth { left: MAX_DEPTH, preserve: task.preserve });
    }
    let FileListing { mut items, unread, left_out, .. } = listing;
    items.retain(|item| !task.except.iter().any(|name| name == last_component(&item.source)));
    if !task.way.is_input() {
        assign_upload_urls(task, &mut items);
    }
    remove_duplicates(&mut items);
    items.sort_by_cached_key(|item| {
        let upload = item.to_url.as_ref().and_then(|url| url::scheme(url).map(<[u8]>::to_vec));
        let fetched = url::scheme(&item.source).map(<[u8]>::to_vec);
        // Uploads come first, then copies, then downloads.
        (upload.is_none(), upload, fetched.is_some(), fetched)
    });
    ExpandedFileList { items, unread, left_out }
}

/// Returns the files that are new or changed, in the order of the directory listing.
fn changed_files(
    task: &TransferTask,
    since: &DirectorySnapshot,
    also: &[BString],
    sender: &dyn SenderFiles,
) -> Vec<BString> {
    let executable = task.executable.as_ref().map(|(_, name)| name);
    let since: BTreeMap<&BString, (i64, u64)> =
        since.iter().map(|(name, modified, size)| (name, (*modified, *size))).collect();
    let mut names = sender.list_directory(&task.base).unwrap_or_default();
    names.sort();
    names.retain(|name| {
        if executable == Some(name) {
            return false;
        }
        let is_listed = also.contains(name);
        let Ok(info) = sender.stat(&join_path(&task.base, name)) else { return is_listed };
        let new = since.get(name).is_none_or(|known| *known != (info.modified, info.size));
        is_listed || (info.kind != SenderFileKind::Directory && new)
    });
    names.extend(also.iter().filter(|name| name.contains(&b'/')).cloned());
    names
}

/// Remaining depth of a directory listing, and whether relative paths are preserved.
#[derive(Clone, Copy)]
struct ListingDepth {
    left: usize,
    preserve: bool,
}

struct FileListing<'a> {
    base: &'a BString,
    preserve: bool,
    sender: &'a dyn SenderFiles,
    items: Vec<TransferItem>,
    /// Parent directories of preserved paths that are already in the list.
    kept: BTreeSet<BString>,
    unread: Vec<BString>,
    left_out: Vec<BString>,
}

impl FileListing<'_> {
    fn stat(&self, source: &[u8]) -> Result<SenderFileInfo, i32> {
        self.sender.stat(&absolute_path(self.base, source))
    }

    fn add(&mut self, source: &[u8], directory: &[u8], depth: ListingDepth) {
        let mut item =
            TransferItem { source: source.into(), directory: directory.into(), file: None, to_url: None };
        if item.is_from_url() {
            return self.items.push(item);
        }
        // A missing file remains in the list, so that sending it reports the error.
        let Ok(info) = self.stat(source) else { return self.items.push(item) };
        item.file = Some(info);
        let relative = !source.starts_with(b"/");
        match info.kind {
            SenderFileKind::Other => {}
            SenderFileKind::File => {
                let above = source.rfind_byte(b'/').map_or(&b""[..], |at| &source[..at]);
                match depth.preserve && relative && !above.is_empty() {
                    true => self.add_with_parents(source),
                    false => self.items.push(item),
                }
            }
            SenderFileKind::Directory => {
                let slash = source.ends_with(b"/");
                if !slash && (info.link || depth.left == 0) {
                    return self.items.push(item);
                }
                let inside = match (slash, depth.preserve && relative) {
                    (true, _) => BString::from(directory),
                    (false, true) => {
                        self.add_parents(source);
                        join_path(directory, source)
                    }
                    (false, false) => {
                        self.items.push(item);
                        join_path(directory, last_component(source))
                    }
                };
                self.add_directory_content(source, &inside, depth);
            }
        }
    }

    fn add_directory_content(&mut self, source: &[u8], inside: &[u8], depth: ListingDepth) {
        let Some(left) = depth.left.checked_sub(1) else { return };
        let path = absolute_path(self.base, source);
        let mut names = self.sender.list_directory(&path).unwrap_or_else(|_| {
            self.unread.push(path.clone());
            Vec::new()
        });
        names.sort();
        // The directory itself was added with its parents, so its entries need no parents.
        let preserve = depth.preserve && source.ends_with(b"/");
        for name in names {
            let source = join_path(source, &name);
            match self.stat(&source) {
                Ok(_) => self.add(&source, inside, ListingDepth { left, preserve }),
                Err(_) => self.left_out.push(join_path(&path, &name)),
            }
        }
    }

    /// Adds a file and its parent directories; adds each directory only once.
    fn add_with_parents(&mut self, source: &[u8]) {
        let Some(at) = source.rfind_byte(b'/') else { return };
        self.add_parents(&source[..at]);
        self.add(source, &source[..at], ListingDepth { left: 0, preserve: false });
    }

    fn add_parents(&mut self, source: &[u8]) {
        let mut above = BString::default();
        for part in source.split_str("/").filter(|part| !part.is_empty()) {
            let path = join_path(&above, part);
            if self.preserve && self.kept.insert(path.clone()) {
                self.add(&path, &above, ListingDepth { left: 0, preserve: false });
            }
            above = path;
        }
    }
}

/// Sets the upload URLs. With OutputDestination, everything is uploaded below it; otherwise only files that a rule maps
/// to a URL are uploaded.
fn assign_upload_urls(task: &TransferTask, items: &mut [TransferItem]) {
    let remaps = remaps_from_rules(&task.uploads);
    for item in items.iter_mut() {
        if let Some(destination) = &task.destination {
            let renamed = task.renamed.iter().find(|(name, _)| *name == item.source);
            // Directories at URLs are not created. Standard output and error are uploaded only if the job ad names URLs
            // for them.
            item.to_url = match renamed {
                Some((_, name)) => url::is_url(name).then(|| name.clone()),
                None => Some(join_path(destination, &item.source)),
            };
        } else if let Ok(Some(target)) = remaps.find_target(&item.source, task.most_remaps) {
            item.to_url = Some(target).filter(|target| url::is_url(target));
        }
    }
}

/// Builds the lookup table of the rename rules.
pub(super) fn remaps_from_rules(rules: &[(BString, BString)]) -> Remaps {
    let mut remaps = Remaps::default();
    rules.iter().for_each(|(name, target)| remaps.add(name.clone(), target.clone()));
    remaps
}

/// Removes duplicates. If several files have the same destination, the last of them is kept.
fn remove_duplicates(items: &mut Vec<TransferItem>) {
    let mut names = BTreeSet::new();
    let mut kept: Vec<TransferItem> = Vec::with_capacity(items.len());
    for item in items.drain(..).rev() {
        if item.to_url.is_some() || item.is_directory() || names.insert(item.target_name()) {
            kept.push(item);
        }
    }
    kept.reverse();
    *items = kept;
}

fn last_component(path: &[u8]) -> &[u8] {
    path.rfind_byte(b'/').map_or(path, |at| &path[at + 1..])
}

/// Joins two parts of a path with one slash.
pub(super) fn join_path(above: &[u8], name: &[u8]) -> BString {
    match above {
        b"" => name.into(),
        above if above.ends_with(b"/") => [above, name].concat().into(),
        above => [above, b"/", name].concat().into(),
    }
}

/// Resolves a name of the file list in the base directory.
pub(super) fn absolute_path(base: &[u8], name: &[u8]) -> BString {
    if name.starts_with(b"/") { name.into() } else { join_path(base, name) }
}

impl TransferTask {
    /// Returns the path of a name of the file list.
    pub fn source_path(&self, source: &[u8]) -> BString {
        absolute_path(&self.base, source)
    }

    /// Returns the rename rules that apply at the destination.
    pub fn target_remaps(&self) -> Remaps {
        remaps_from_rules(&self.remaps)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::request::TransferRequest;
    use super::super::task::TransferKind;
    use super::*;
    use htc_classad::System;

    /// Paths of a simulated disk with their kinds: `d` a directory, `f` a file, `l` a link to a directory, `p` a FIFO.
    struct Disk(BTreeMap<BString, char>);

    impl SenderFiles for Disk {
        fn stat(&self, path: &[u8]) -> Result<SenderFileInfo, i32> {
            let kind = match self.0.get(&BString::from(path.trim_end_with(|end| end == '/'))).ok_or(2)? {
                'f' => SenderFileKind::File,
                'p' => SenderFileKind::Other,
                _ => SenderFileKind::Directory,
            };
            let link = !path.ends_with(b"/") && self.0.get(&BString::from(path)) == Some(&'l');
            Ok(SenderFileInfo { kind, link, mode: 0o644, size: 1, modified: 7 })
        }

        fn list_directory(&self, directory: &[u8]) -> Result<Vec<BString>, i32> {
            let top = join_path(directory, b"");
            let top = [top.trim_end_with(|end| end == '/'), b"/"].concat();
            let inside = |path: &BString| {
                path.strip_prefix(&top[..]).filter(|name| !name.contains(&b'/')).map(BString::from)
            };
            Ok(self.0.keys().filter_map(inside).collect())
        }
    }

    fn disk() -> Disk {
        let paths = "f b/a.txt;p b/fifo;d b/d;f b/d/one;d b/d/sub;f b/d/sub/three;l b/link;d b/empty;f b/new";
        let entry = |text: &str| {
            let kind = text.chars().next().unwrap();
            (BString::from(format!("/{}", &text[2..])), kind)
        };
        Disk(paths.split(';').map(entry).collect())
    }

    fn targets(list: &str, preserve: bool) -> Vec<String> {
        let text = format!(
            "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\nIwd = \"/b\"\nTransferInput = \"{list}\"\nPreserveRelativePaths = {preserve}\n"
        );
        let (ad, _) = htc_classad::format::long::parse(text.as_bytes());
        let request = TransferRequest::read(&ad, b"", &System).unwrap().unwrap();
        let ExpandedFileList { items, unread, .. } = expand_file_list(
            &request.to_task(TransferKind::Input, b"/s", &DirectorySnapshot::new()),
            &disk(),
        );
        assert!(unread.is_empty());
        items.iter().map(|item| item.target_name().to_string()).collect()
    }

    #[test]
    fn file_lists_are_expanded_as_recorded() {
        assert_eq!(targets("a.txt, /b/d/one", false), ["a.txt", "one"]);
        assert_eq!(targets("d", false), ["d", "d/one", "d/sub", "d/sub/three"]);
        assert_eq!(targets("d/", false), ["one", "sub", "sub/three"]);
        assert_eq!(
            targets("d/one, d/sub/three, a.txt", true),
            ["d", "d/one", "d/sub", "d/sub/three", "a.txt"]
        );
        assert_eq!(targets("d/sub", true), ["d", "d/sub", "d/sub/three"]);
        assert_eq!(targets("d/sub", false), ["sub", "sub/three"]);
        assert_eq!(targets("empty, empty/", false), ["empty"]);
        assert_eq!(
            targets("a.txt, d/one, d/../a.txt", false),
            ["one", "a.txt"],
            "of what is listed twice the last"
        );
        assert_eq!(
            targets("fifo, link", false),
            ["link"],
            "a FIFO never goes, a link to a directory fails later"
        );
        assert_eq!(targets("nosuch, a.txt", false), ["nosuch", "a.txt"]);
        assert_eq!(targets("z://h/x?q, a.txt, b://h/y", false), ["a.txt", "y", "x"]);
    }

    #[test]
    fn only_changed_files_are_transferred_back() {
        let text = "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nIwd = \"/w\"\nCmd = \"/x/new\"\n";
        let (ad, _) = htc_classad::format::long::parse(text.as_bytes());
        let request = TransferRequest::read(&ad, b"", &System).unwrap().unwrap();
        let since = vec![("a.txt".into(), 7, 1)];
        let names = |since: &DirectorySnapshot| -> Vec<String> {
            let items = expand_file_list(&request.to_task(TransferKind::Output, b"/b", since), &disk()).items;
            items.iter().map(|item| item.target_name().to_string()).collect()
        };
        assert_eq!(
            names(&since),
            Vec::<String>::new(),
            "no directories, no FIFO, not the program, nothing unchanged"
        );
        assert_eq!(names(&vec![("a.txt".into(), 6, 1)]), ["a.txt"]);
    }
}
