//! Writer of JSON values, one per line or as one array.

use std::io::{self, Write};

use serde::Serialize;

/// Writer of JSON values, as separate lines or as elements of one array.
pub(crate) struct JsonLineWriter<W> {
    out: W,
    /// For an array: text of the current value, and true once a value was written. `None` if values are separate lines.
    array: Option<(Vec<u8>, bool)>,
}

impl<W: Write> JsonLineWriter<W> {
    /// Creates a writer to `out`, for an array or for lines.
    pub(crate) fn new(out: W, as_array: bool) -> Self {
        JsonLineWriter { out, array: as_array.then(|| (Vec::new(), false)) }
    }

    /// Writes one value.
    ///
    /// # Errors
    /// Returns an error if writing fails or the value has no JSON form.
    pub(crate) fn write_value(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }

    /// Ends the array.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self.array.take() {
            Some((_, true)) => self.out.write_all(b"\n]\n")?,
            Some((_, false)) => self.out.write_all(b"[]\n")?,
            None => {}
        }
        self.out.flush()
    }
}

impl<W: Write> Write for JsonLineWriter<W> {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        let Some((line, any)) = &mut self.array else { return self.out.write(block) };
        for piece in block.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.pop_if(|last| *last == b'\n').is_some() {
                self.out.write_all(if std::mem::replace(any, true) { b",\n" } else { b"[\n" })?;
                self.out.write_all(line)?;
                line.clear();
            }
        }
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(as_array: bool, blocks: &[&str]) -> String {
        let mut text = Vec::new();
        let mut rows = JsonLineWriter::new(&mut text, as_array);
        for block in blocks {
            rows.write_all(block.as_bytes()).unwrap();
        }
        rows.end().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_become_elements_wherever_blocks_end() {
        assert_eq!(written(true, &[]), "[]\n");
        assert_eq!(written(true, &["1\n"]), "[\n1\n]\n");
        assert_eq!(written(true, &["1", "2\n{}", "\n"]), "[\n12,\n{}\n]\n");
        assert_eq!(written(false, &["1", "2\n{}\n"]), "12\n{}\n");
    }
}
