//! Decompression of input. The format is detected from the first bytes of the input, never from its name.

use std::io::{self, BufRead, BufReader, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::PipedStdin;

/// Maximum number of bytes at the start of an input that [`Compression::detect`] needs.
pub(super) const LONGEST_MAGIC: usize = 10;
/// Memory limit of the xz decoder in KiB: sufficient for the output of `xz -9e`.
const MAX_XZ_MEMORY: u32 = 512 << 10;

/// Compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    /// A format that is recognized but not supported.
    Unsupported(&'static str),
}

impl Compression {
    /// Detects the format from the first bytes of an input; returns `None` if it is not compressed.
    pub(super) fn detect(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // An attribute name may also start with BZh, so the bytes after the level are checked as well: they are the
            // magic number of a block or of the end of the stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Compression::Bzip2)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // The first frame may be a skippable one, as pzstd writes it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Unsupported("lz4")),
            [0x1f, 0x9d, ..] => Some(Compression::Unsupported("compress")),
            [b'P', b'K', 3, 4, ..] => Some(Compression::Unsupported("zip")),
            // Properties byte and lower half of the dictionary size; all encoders write these values.
            [b']', 0, 0, ..] => Some(Compression::Unsupported("lzma")),
            [0x89, b'L', b'Z', b'O', ..] => Some(Compression::Unsupported("lzop")),
            [b'L', b'Z', b'I', b'P', 1, ..] => Some(Compression::Unsupported("lzip")),
            [b'7', b'z', 0xbc, 0xaf, ..] => Some(Compression::Unsupported("7z")),
            _ => None,
        }
    }

    /// True if more bytes after `start` could make it the beginning of a supported format.
    pub(super) fn may_begin(start: &[u8]) -> bool {
        const BEGINNINGS: [&[u8]; 12] = [
            b"\x1f\x8b",
            b"\xfd7zXZ\0",
            b"\x28\xb5\x2f\xfd",
            b"\x04\x22\x4d\x18",
            b"\x1f\x9d",
            b"PK\x03\x04",
            b"BZh",
            b"\x2a\x4d\x18",
            b"]\0\0",
            b"\x89LZO",
            b"LZIP\x01",
            b"7z\xbc\xaf",
        ];
        let is_prefix = |magic: &&[u8]| magic.starts_with(start);
        let is_skippable = matches!(start, [0x50..=0x5f, rest @ ..] if b"\x2a\x4d\x18".starts_with(rest));
        let is_bzip2 = start.len() < LONGEST_MAGIC
            && matches!(start, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
            if b"\x31\x41\x59\x26\x53\x59".starts_with(rest) || b"\x17\x72\x45\x38\x50\x90".starts_with(rest));
        is_skippable || is_bzip2 || BEGINNINGS.iter().any(is_prefix)
    }

    /// Returns a command that decompresses a file of this format to standard output.
    pub(super) fn unpacking_command(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip -dc",
            Compression::Bzip2 => "bzip2 -dc",
            Compression::Xz => "xz -dc",
            Compression::Zstd => "zstd -dc",
            Compression::Unsupported("lz4") => "lz4 -dc",
            Compression::Unsupported("compress") => "uncompress -c",
            Compression::Unsupported("zip") => "unzip -p",
            Compression::Unsupported("lzma") => "unlzma -c",
            Compression::Unsupported("lzop") => "lzop -dc",
            Compression::Unsupported("lzip") => "lzip -dc",
            Compression::Unsupported(_) => "7z x -so",
        }
    }

    /// Returns the name of the format.
    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
            Compression::Unsupported(name) => name,
        }
    }

    /// Returns a reader of the decompressed bytes. If the input has several members, streams or frames, their contents are
    /// concatenated.
    pub(super) fn decompress(self, input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let input = BufReader::with_capacity(PipedStdin::BUFFER_SIZE, input);
        let inner: Box<dyn Read + Send> = match self {
            Compression::Gzip => Box::new(GzipReader { member: Some(GzDecoder::new(input)) }),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(input)),
            Compression::Xz => Box::new(XzReader::new_mem_limit(input, true, MAX_XZ_MEMORY)),
            Compression::Zstd => {
                Box::new(ZstdReader { input, decoder: FrameDecoder::new(), is_in_frame: false })
            }
            Compression::Unsupported(_) => Box::new(input),
        };
        Box::new(Decompressor { inner, format: self.name() })
    }
}

/// Reader of decompressed bytes; its errors name the format.
struct Decompressor {
    inner: Box<dyn Read + Send>,
    format: &'static str,
}

impl Read for Decompressor {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.inner.read(block).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), format!("the {} data is truncated", self.format))
            }
            kind => io::Error::new(kind, format!("the {} data is damaged: {error}", self.format)),
        })
    }
}

/// Reader of all members of a gzip file, which may end with NUL bytes as padding.
struct GzipReader<R> {
    /// The member that is being read, or `None` after the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(block)?;
            if length > 0 || block.is_empty() {
                return Ok(length);
            }
            let Some(member) = self.member.take() else { break };
            let mut input = member.into_inner();
            skip_padding(&mut input)?;
            match input.fill_buf()? {
                [] => {}
                [0x1f] | [0x1f, 0x8b, ..] => self.member = Some(GzDecoder::new(input)),
                _ => {
                    let message = "other data follows it";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
            }
        }
        Ok(0)
    }
}

/// Skips NUL bytes, which pad files on tapes.
fn skip_padding(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let block = input.fill_buf()?;
        let padding = block.iter().take_while(|byte| **byte == 0).count();
        let is_end = padding == 0 || padding < block.len();
        input.consume(padding);
        if is_end {
            return Ok(());
        }
    }
}

/// Reader of all frames of a zstd file.
struct ZstdReader<R> {
    input: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    /// Reads the header of the next frame; returns false at the end of the input.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.input).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(zstd_error(error)),
            }
        }
        Ok(false)
    }

    /// Verifies the checksum of a frame, if the frame has one.
    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(written), Some(calculated)) if written != calculated => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if block.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame && !self.begin_frame()? {
                return Ok(0);
            }
            match self.decoder.read(block)? {
                0 if self.decoder.is_finished() => self.end_frame()?,
                0 => {
                    let wanted = BlockDecodingStrategy::UptoBytes(block.len());
                    self.decoder.decode_blocks(&mut self.input, wanted).map_err(zstd_error)?;
                }
                length => return Ok(length),
            }
        }
    }
}

fn zstd_error(error: FrameDecoderError) -> io::Error {
    let is_truncated = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::UnexpectedEof);
    let kind = if is_truncated { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::InvalidData };
    io::Error::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognized_by_their_first_bytes_alone() {
        assert_eq!(Compression::detect(b"\x1f\x8b\x08"), Some(Compression::Gzip));
        assert_eq!(Compression::detect(b"BZh91AY&SY"), Some(Compression::Bzip2));
        assert_eq!(Compression::detect(b"\xfd7zXZ\0"), Some(Compression::Xz));
        assert_eq!(Compression::detect(b"\x28\xb5\x2f\xfd"), Some(Compression::Zstd));
        assert_eq!(Compression::detect(b"BZh9 = 1\nA = 2"), None);
        assert_eq!(Compression::detect(b"PK = 1"), None);
        assert!(
            Compression::may_begin(b"BZh9") && Compression::may_begin(b"\x1f") && Compression::may_begin(b"")
        );
        assert!(!Compression::may_begin(b"BZh9 ") && !Compression::may_begin(b"A"));
    }

    #[test]
    fn gzip_members_may_be_padded_but_nothing_else_may_follow() {
        use std::io::Write;
        let member = |text: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        };
        let read = |packed: Vec<u8>| {
            let mut text = Vec::new();
            let mut reader = Compression::Gzip.decompress(Box::new(io::Cursor::new(packed)));
            reader.read_to_end(&mut text).map(|_| text).map_err(|error| error.to_string())
        };
        let two = [member(b"a\n"), member(b"b\n")].concat();
        assert_eq!(read(two.clone()).unwrap(), b"a\nb\n");
        assert_eq!(read([two.clone(), vec![0; 1000]].concat()).unwrap(), b"a\nb\n");
        let other = "the gzip data is damaged: other data follows it";
        assert_eq!(read([two.clone(), b"A = 1\n".to_vec()].concat()).unwrap_err(), other);
        assert_eq!(read([two.clone(), b"\0x".to_vec()].concat()).unwrap_err(), other);
        assert_eq!(read(two[..two.len() - 1].to_vec()).unwrap_err(), "the gzip data is truncated");
        assert_eq!(read([two, vec![0x1f]].concat()).unwrap_err(), "the gzip data is truncated");
    }

    #[test]
    fn frames_of_zstd_are_read_one_after_the_other() {
        // Frames with one raw block each, for "a
        // " and "b
        // ", and a skippable frame between them.
        let frame = |byte: u8| [0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x11, 0, 0, byte, b'\n'];
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let packed = [&frame(b'a')[..], &skipped, &frame(b'b')].concat();
        let mut text = Vec::new();
        Compression::Zstd
            .decompress(Box::new(io::Cursor::new(packed.clone())))
            .read_to_end(&mut text)
            .unwrap();
        assert_eq!(text, b"a\nb\n");
        let short = packed[..packed.len() - 1].to_vec();
        let error = Compression::Zstd
            .decompress(Box::new(io::Cursor::new(short)))
            .read_to_end(&mut text)
            .unwrap_err();
        assert_eq!(error.to_string(), "the zstd data is truncated");
    }
}
