//! Images that docker has, and the choice of the images to remove before another image is pulled.
//!
//! Reference: `DockerAPI::getImageInfos`, `gc_image` of `docker-api.cpp`.

use std::collections::VecDeque;

use bstr::{BString, ByteSlice};

use super::docker::{DockerNames, is_own_image, original_image_name};
use super::tool::{ToolAccount, ToolCall};

/// Row of `docker images`: an image and one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DockerImage {
    /// `repository:tag`.
    pub name: BString,
    /// Beginning of the image's digest.
    pub id: BString,
    /// Time at which the image was last tagged.
    pub tagged: BString,
    /// Size that docker reports, in bytes.
    pub bytes: u64,
}

/// Returns the call that lists all images.
pub fn list_images_call(names: &DockerNames) -> ToolCall {
    list_all_images_call(&names.program)
}

/// Returns the call that lists all images, for callers that have no job.
pub fn list_all_images_call(program: &[BString]) -> ToolCall {
    let words = ["images", "--format", "{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}"];
    ToolCall::new(program, words, ToolAccount::Starter)
}

/// Parses the list of images.
pub fn parse_images(output: &[u8]) -> Vec<DockerImage> {
    let mut images = Vec::new();
    for line in output.lines() {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        if let (Some(name), Some(id), Some(size)) = (words.next(), words.next(), words.next())
            && name != b"<none>"
        {
            images.push(DockerImage {
                name: name.into(),
                id: id.into(),
                tagged: BString::default(),
                bytes: parse_size(size),
            });
        }
    }
    images
}

/// Parses a size such as `7.38MB`. Only the integer part is used (`convert_number_with_suffix`). Returns 0 if the size
/// is invalid.
fn parse_size(size: &[u8]) -> u64 {
    let digits = size.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number: u64 =
        std::str::from_utf8(&size[..digits]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let unit = size.len().checked_sub(2).filter(|_| size.len() > 2).map_or(b'?', |at| size[at]);
    let shift = match unit.to_ascii_lowercase() {
        b'k' => 10,
        b'm' => 20,
        b'g' => 30,
        b't' => 40,
        _ => 0,
    };
    number.saturating_mul(1 << shift)
}

/// Returns the total size of the images with our tags in MiB (`imageCacheUsed`, DockerCachedImageSizeMb). An image with several
/// of our tags is counted once.
pub fn image_cache_mib(images: &[DockerImage]) -> i64 {
    const MIB: u64 = 1 << 20;
    let mut ours: Vec<&DockerImage> = images.iter().filter(|image| is_own_image(&image.name)).collect();
    ours.sort_by(|a, b| a.id.cmp(&b.id));
    ours.dedup_by(|a, b| a.id == b.id);
    let bytes = ours.iter().fold(0_u64, |sum, image| sum.saturating_add(image.bytes));
    i64::try_from(bytes.saturating_add(MIB / 2) / MIB).unwrap_or(i64::MAX)
}

/// Returns the call that prints the time at which each image was last tagged.
pub fn last_tagged_call(names: &DockerNames, images: &[DockerImage]) -> ToolCall {
    let words = ["inspect", "--format", "{{.Id}} {{.Metadata.LastTagTime}}"].map(BString::from);
    names.short_call(words.into_iter().chain(images.iter().map(|image| image.id.clone())))
}

/// Sets the tag times of the images from the output of [`last_tagged_call`].
pub(crate) fn parse_last_tagged(output: &[u8], images: &mut [DockerImage]) {
    for line in output.lines() {
        let Some((id, tagged)) = line.split_once_str(" ") else { continue };
        let Some((_, digest)) = id.split_once_str(":") else { continue };
        for image in images.iter_mut().filter(|image| digest.starts_with(&image.id)) {
            image.tagged = tagged.into();
        }
    }
}

/// Removal of images one by one, until docker has room for one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePruning {
    candidates: VecDeque<BString>,
    needed: i64,
    step: PruneStep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PruneStep {
    /// No call was made yet, or the previous image is handled.
    Idle,
    /// `rmi` removes a name of the image, which may fail.
    Removing { name: BString, own: Option<BString> },
    /// `images -q` checks if the name still exists.
    CheckingName { name: BString, own: Option<BString> },
    /// The image could not be removed, so it gets back our tag, which was removed.
    Retagging,
}

impl ImagePruning {
    /// Plans which images to remove before `image` is pulled, so that at most `limit` of our images remain
    /// (DOCKER_IMAGE_CACHE_SIZE).
    pub fn plan_pruning(images: &[DockerImage], image: &[u8], limit: i64) -> Self {
        let mut ours: Vec<&DockerImage> = images.iter().filter(|image| is_own_image(&image.name)).collect();
        ours.sort_by(|a, b| a.id.cmp(&b.id));
        ours.dedup_by(|a, b| a.id == b.id);
        let room = limit.max(0) - 1;
        let count = i64::try_from(ours.len()).unwrap_or(i64::MAX);
        let present = images.iter().any(|known| known.name == image);
        let needed = if present || count < room { 0 } else { count - room };
        ours.sort_by(|a, b| a.tagged.cmp(&b.tagged));
        let left = ours.into_iter().map(|image| image.name.clone()).collect();
        ImagePruning { candidates: left, needed, step: PruneStep::Idle }
    }

    /// Returns the next call, given the output and success of the previous call, or `None` if there is enough room.
    pub fn next_call(&mut self, names: &DockerNames, output: &[u8], success: bool) -> Option<ToolCall> {
        let call = |words: [&str; 2], name: &BString| {
            let words = words.iter().filter(|word| !word.is_empty()).map(|word| BString::from(*word));
            names.short_call(words.chain([name.clone()]))
        };
        match std::mem::replace(&mut self.step, PruneStep::Idle) {
            PruneStep::Removing { name, own } => {
                self.step = PruneStep::CheckingName { name: name.clone(), own };
                return Some(call(["images", "-q"], &name));
            }
            PruneStep::CheckingName { name, own } => {
                let is_removed = success && output.is_empty();
                match (is_removed, own) {
                    (true, None) => {
                        if let Some(real) = original_image_name(&name, names.trusts_local_images) {
                            self.step = PruneStep::Removing { name: real.clone(), own: Some(name) };
                            return Some(call(["rmi", ""], &real));
                        }
                    }
                    (true, Some(_)) => self.needed -= 1,
                    (false, Some(own)) => {
                        self.step = PruneStep::Retagging;
                        return Some(names.short_call([BString::from("tag"), name, own]));
                    }
                    (false, None) => {}
                }
            }
            PruneStep::Retagging | PruneStep::Idle => {}
        }
        let name = self.candidates.pop_front().filter(|_| self.needed > 0)?;
        self.step = PruneStep::Removing { name: name.clone(), own: None };
        Some(call(["rmi", ""], &name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> DockerNames {
        DockerNames {
            program: vec!["/bin/docker".into()],
            container: "C".into(),
            image: "alpine:3".into(),
            image_from: "DockerImage",
            own_image: "htcondor.org/a/alpine:3".into(),
            trusts_local_images: false,
            fault: None,
            config: None,
        }
    }

    fn images() -> Vec<DockerImage> {
        let mut images = parse_images(
            b"htcondor.org/a/x:1 aa 7MB\nhtcondor.org/b/x:1 aa 7MB\n<none> bb 1\nhtcondor.org/a/y:1 cc 1MB\nplain:1 dd 1MB\nshort\n",
        );
        parse_last_tagged(b"sha256:aaff 2026-01-02\nsha256:ccff 2026-01-01\nnothing\n", &mut images);
        images
    }

    #[test]
    fn images_are_read_with_the_time_of_their_tags() {
        let images = images();
        let tagged: Vec<_> =
            images.iter().map(|image| (image.name.to_string(), image.tagged.to_string())).collect();
        assert_eq!(tagged[0], ("htcondor.org/a/x:1".to_owned(), "2026-01-02".to_owned()));
        assert_eq!(images.len(), 4);
    }

    #[test]
    fn only_our_images_are_counted_once_each_in_whole_units() {
        let sized = |size: &str| parse_size(size.as_bytes());
        assert_eq!([sized("7.38MB"), sized("104kB"), sized("2GB")], [7 << 20, 104 << 10, 2 << 30]);
        assert_eq!([sized("512B"), sized("MB"), sized("")], [512, 0, 0]);
        assert_eq!(image_cache_mib(&images()), 8);
        assert_eq!(
            image_cache_mib(&parse_images(b"htcondor.org/a/x:1 aa 400kB\nhtcondor.org/a/y:1 bb 200kB\n")),
            1
        );
    }

    #[test]
    fn our_oldest_image_is_removed_first_by_both_names() {
        let mut pruning = ImagePruning::plan_pruning(&images(), b"alpine:3", 2);
        let names = names();
        let mut calls = Vec::new();
        let mut call = pruning.next_call(&names, b"", true);
        while let Some(made) = call {
            calls.push(made.argv[1..].iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            // The image `y:1` is still in use and cannot be removed, so it gets back our tag.
            let stays = made.argv.last().is_some_and(|name| name == "y:1") && made.argv[1] == "images";
            call = pruning.next_call(&names, if stays { b"cc\n" } else { b"" }, true);
        }
        let expected = [
            "rmi htcondor.org/a/y:1",
            "images -q htcondor.org/a/y:1",
            "rmi y:1",
            "images -q y:1",
            "tag y:1 htcondor.org/a/y:1",
            "rmi htcondor.org/a/x:1",
            "images -q htcondor.org/a/x:1",
            "rmi x:1",
            "images -q x:1",
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn no_image_is_removed_for_a_present_image_or_while_there_is_room() {
        assert_eq!(ImagePruning::plan_pruning(&images(), b"plain:1", 1).next_call(&names(), b"", true), None);
        assert_eq!(
            ImagePruning::plan_pruning(&images(), b"alpine:3", 8).next_call(&names(), b"", true),
            None
        );
    }
}
