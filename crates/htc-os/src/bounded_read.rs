//! Reading of a file to its end, up to a limit.

use std::io::{self, Read};

/// Maximum size of a file that is read completely, in bytes.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Reads the complete content of a file or pipe.
///
/// # Errors
/// The errors of the input; `FileTooLarge` for more than 1 GiB, as from /dev/zero.
pub fn read_whole(read: impl Read) -> io::Result<Vec<u8>> {
    read_at_most(read, MAX_FILE_SIZE)
}

fn read_at_most(read: impl Read, largest: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    read.take(largest + 1).read_to_end(&mut text)?;
    if text.len() as u64 > largest {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_an_error() {
        assert_eq!(read_at_most(&b"abc"[..], 3).unwrap(), b"abc");
        let error = read_at_most(io::repeat(0), 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it is larger than 1 GiB");
    }
}
