//! Reading of a file to its end, up to a limit.

use std::io::{self, Read};

/// Maximum size of a file that is read completely, in bytes.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Reads the complete content of a file or pipe.
///
/// # Errors
/// Fails if reading fails, or with `FileTooLarge` if the input is larger than 1 GiB (for example /dev/zero).
pub fn read_whole(input: impl Read) -> io::Result<Vec<u8>> {
    read_at_most(input, MAX_FILE_SIZE)
}

/// Reads the complete content of a file or pipe of at most `limit` bytes.
///
/// # Errors
/// Fails if reading fails, or with `FileTooLarge` if the input is larger than `limit`.
pub fn read_at_most(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    input.take(limit + 1).read_to_end(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {}", format_size(limit)),
        ));
    }
    Ok(text)
}

fn format_size(bytes: u64) -> String {
    [(30, "GiB"), (20, "MiB")]
        .into_iter()
        .find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift)
        .map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_is_an_error() {
        assert_eq!(read_at_most(&b"abc"[..], 3).unwrap(), b"abc");
        let error = read_at_most(io::repeat(0), 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it is larger than 3 bytes");
    }

    #[test]
    fn limits_are_printed_with_their_unit() {
        assert_eq!([MAX_FILE_SIZE, 256 << 20, 1000].map(format_size), ["1 GiB", "256 MiB", "1000 bytes"]);
    }
}
