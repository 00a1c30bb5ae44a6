//! Detection of an output file that is also an input file and would be overwritten before it is read.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the first input that is the same regular file as `out`, even if their names differ, or `None`. An
/// input of `-` is standard input. Opening the same file for output would truncate it before it is read.
pub fn find_overwritten_input<'p>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Option<&'p Path> {
    let out = fs::metadata(out).ok().filter(Metadata::is_file)?;
    let same = |input: &Metadata| (input.dev(), input.ino()) == (out.dev(), out.ino());
    inputs.into_iter().find(|input| input_metadata(input).is_ok_and(|input| same(&input)))
}

fn input_metadata(input: &Path) -> io::Result<Metadata> {
    if input.as_os_str() != "-" {
        return fs::metadata(input);
    }
    File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognized_by_other_names_and_devices_are_ignored() {
        let place = tempfile::tempdir().unwrap();
        let [ads, link, other] = ["ads", "link", "other"].map(|name| place.path().join(name));
        fs::write(&ads, "A = 1\n").unwrap();
        fs::hard_link(&ads, &link).unwrap();
        fs::write(&other, "").unwrap();
        assert_eq!(find_overwritten_input(&link, [other.as_path(), &ads]), Some(ads.as_path()));
        assert_eq!(find_overwritten_input(&other, [ads.as_path()]), None);
        let null = Path::new("/dev/null");
        assert_eq!(find_overwritten_input(null, [null]), None);
        assert_eq!(find_overwritten_input(&place.path().join("new"), [ads.as_path()]), None);
    }
}
