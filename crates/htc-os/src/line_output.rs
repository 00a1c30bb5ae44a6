//! Output of lines to a reader that may be slow or may have exited, without ever blocking.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use super::clock;

/// Maximum size of buffered lines for a slow reader, in bytes.
const MAX_BUFFERED_BYTES: usize = 1 << 20;
/// Number of bytes that a pipe accepts without blocking after [`PollFlags::POLLOUT`].
const POLLED_WRITE_SIZE: usize = 4096;
/// Flags for an open file description that no other process shares, so that only our own writes fail when
/// there is no space.
const NONBLOCKING_OPEN_FLAGS: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// Method of writing to a descriptor without blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// The descriptor is a regular file, whose disk may be full temporarily.
    RegularFile,
    /// The descriptor refers to an open file description that is used only here and is in non-blocking mode.
    NonBlocking,
    /// The descriptor is a socket, which supports a non-blocking flag for each call.
    Socket,
    /// The descriptor refers to an open file description that other processes share, so its flags must not be
    /// changed; each write follows a poll.
    PollFirst,
}

/// Output for lines. Lines that the reader does not accept are buffered up to a limit; further lines are
/// dropped and counted.
#[derive(Debug)]
pub struct LineOutput {
    file: File,
    mode: WriteMode,
    pending_lines: VecDeque<Vec<u8>>,
    /// Number of bytes of the first pending line that have been written.
    written_of_first_line: usize,
    buffered_bytes: usize,
    lost_lines: u64,
    /// True if the disk is full.
    disk_full: bool,
}

impl LineOutput {
    /// Opens a file for appending and creates it if necessary. A FIFO does not need a reader yet.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fifo = std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
        let mut options = OpenOptions::new();
        options.custom_flags(NONBLOCKING_OPEN_FLAGS);
        let file = if fifo {
            // A FIFO that is opened for reading and writing does not need a reader, and writing to it does
            // not fail when the reader exits.
            options.read(true).write(true).open(path).or_else(|_| options.read(false).open(path))?
        } else {
            options.append(true).create(true).open(path)?
        };
        let way = match file.metadata()?.file_type() {
            kind if kind.is_socket() => WriteMode::Socket,
            kind if kind.is_file() => WriteMode::RegularFile,
            _ => WriteMode::NonBlocking,
        };
        Ok(LineOutput::new(file, way))
    }

    /// Creates an output that writes to a duplicate of an open descriptor, without changing the flags of the
    /// descriptor.
    ///
    /// # Errors
    /// Fails if the descriptor is not open for writing.
    pub fn from_descriptor(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let file = File::from(descriptor.try_clone_to_owned()?);
        let flags = OFlag::from_bits_truncate(fcntl(&file, FcntlArg::F_GETFL)?);
        if flags & OFlag::O_ACCMODE == OFlag::O_RDONLY {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let kind = file.metadata()?.file_type();
        if kind.is_file() {
            return Ok(LineOutput::new(file, WriteMode::RegularFile));
        }
        if kind.is_socket() {
            return Ok(LineOutput::new(file, WriteMode::Socket));
        }
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        // Opening fails for a pipe of another account, or for a terminal that is not in our /dev.
        Ok(match OpenOptions::new().write(true).custom_flags(NONBLOCKING_OPEN_FLAGS).open(name) {
            Ok(own) => LineOutput::new(own, WriteMode::NonBlocking),
            Err(_) => LineOutput::new(file, WriteMode::PollFirst),
        })
    }

    /// Creates an output that writes to a duplicate of the descriptor with this number.
    ///
    /// # Errors
    /// Fails if the descriptor is not open, or not open for writing.
    pub fn from_descriptor_number(number: u32) -> io::Result<Self> {
        let number = i32::try_from(number).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        LineOutput::from_descriptor(super::own_process::duplicate_descriptor(number)?.as_fd())
    }

    fn new(file: File, way: WriteMode) -> Self {
        LineOutput {
            file,
            mode: way,
            pending_lines: VecDeque::new(),
            written_of_first_line: 0,
            buffered_bytes: 0,
            lost_lines: 0,
            disk_full: false,
        }
    }

    /// Writes as much of a line as there is space for, and buffers the rest. If the buffer is full, the line
    /// is dropped.
    ///
    /// # Errors
    /// Fails if the reader has closed its end.
    pub fn write_line(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.flush()?;
        if !self.pending_lines.is_empty() && self.buffered_bytes + line.len() > MAX_BUFFERED_BYTES {
            self.lost_lines += 1;
            return Ok(());
        }
        if !line.is_empty() {
            self.buffered_bytes += line.len();
            self.pending_lines.push_back(line);
        }
        self.flush()
    }

    /// Writes as many buffered lines as there is space for.
    ///
    /// # Errors
    /// Same as [`LineOutput::write_line`].
    pub fn flush(&mut self) -> io::Result<()> {
        while let Some(line) = self.pending_lines.front() {
            match self.write_some(&line[self.written_of_first_line..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.disk_full = false;
                    self.written_of_first_line += written;
                    self.buffered_bytes -= written;
                    if self.written_of_first_line == line.len() {
                        self.written_of_first_line = 0;
                        self.pending_lines.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.mode == WriteMode::RegularFile && is_disk_full_error(&error) => {
                    self.disk_full = true;
                    self.retract_partial_line();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes a partial line from a file on a full disk, so that the whole line can be written again when
    /// there is space. The partial line stays if another process has written after it.
    fn retract_partial_line(&mut self) {
        let begun = self.written_of_first_line as u64;
        let at_end = |file: &mut File| {
            let end = file.stream_position()?;
            let whole = end == file.metadata()?.len() && end >= begun;
            whole
                .then(|| file.set_len(end - begun).and_then(|()| file.seek(SeekFrom::Start(end - begun))))
                .transpose()
        };
        if begun > 0 && at_end(&mut self.file).is_ok_and(|done| done.is_some()) {
            self.buffered_bytes += self.written_of_first_line;
            self.written_of_first_line = 0;
        }
    }

    /// Returns true if the output waits for space on a full disk.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.mode {
            WriteMode::RegularFile | WriteMode::NonBlocking => (&self.file).write(bytes),
            WriteMode::Socket => {
                let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                Ok(send(self.file.as_raw_fd(), bytes, flags)?)
            }
            WriteMode::PollFirst if self.wait_for_room(Duration::ZERO)? => {
                (&self.file).write(&bytes[..bytes.len().min(POLLED_WRITE_SIZE)])
            }
            WriteMode::PollFirst => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Waits for space to write. Returns false on timeout.
    fn wait_for_room(&self, patience: Duration) -> io::Result<bool> {
        let milliseconds = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
        let mut set = [PollFd::new(self.file.as_fd(), PollFlags::POLLOUT)];
        Ok(poll(&mut set, PollTimeout::from(milliseconds))? > 0)
    }

    /// Returns true if buffered lines have to be written later.
    pub fn has_pending_lines(&self) -> bool {
        !self.pending_lines.is_empty()
    }

    /// Returns the number of dropped lines and resets the number. Returns 0 while lines are still buffered.
    pub fn take_lost_line_count(&mut self) -> u64 {
        if self.pending_lines.is_empty() { std::mem::take(&mut self.lost_lines) } else { 0 }
    }

    /// Returns the number of lines that are buffered, or were dropped since the count was last reset.
    pub fn unwritten_line_count(&self) -> u64 {
        self.pending_lines.len() as u64 + self.lost_lines
    }

    /// Writes the buffered lines before the program ends. Waits at most `patience` each time until the reader
    /// accepts more, and about four times as long in total.
    pub fn finish(&mut self, patience: Duration) {
        let last = clock::monotonic_now().plus(patience * 4);
        while self.flush().is_ok()
            && self.has_pending_lines()
            && !self.disk_full
            && clock::monotonic_now() < last
        {
            let held = self.buffered_bytes;
            if !self.wait_for_room(patience).unwrap_or(false) || self.flush().is_err() {
                return;
            }
            if self.buffered_bytes == held {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Returns true if the error means that the disk is full or that the account's quota is exhausted.
fn is_disk_full_error(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    use nix::mount::{MsFlags, mount, umount};

    /// Requires root, because the test mounts a small file system.
    #[test]
    fn a_full_disk_truncates_no_line_and_writing_resumes_later() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path();
        let disk = Some("tmpfs");
        if let Err(errno) = mount(disk, place, disk, MsFlags::empty(), Some("size=16k")) {
            println!("skipped: no file system can be mounted: {errno}");
            return;
        }
        std::fs::write(place.join("filler"), [0; 4096]).unwrap();
        let mut outlet = LineOutput::open(&place.join("events")).unwrap();
        let line = |number: usize| format!("{number:03} {}\n", "x".repeat(995)).into_bytes();
        let whole = |count: usize| {
            let text = std::fs::read(place.join("events")).unwrap();
            assert_eq!(text, (0..count).flat_map(line).collect::<Vec<u8>>());
        };
        for number in 0..20 {
            outlet.write_line(line(number)).unwrap();
        }
        assert!(outlet.is_disk_full() && outlet.has_pending_lines());
        let written = 20 - outlet.pending_lines.len();
        whole(written);
        std::fs::remove_file(place.join("filler")).unwrap();
        outlet.flush().unwrap();
        let more = 20 - outlet.pending_lines.len();
        assert!(more > written, "{more} {written}");
        whole(more);
        let begun = clock::monotonic_now();
        outlet.finish(Duration::from_secs(60));
        assert!(clock::monotonic_now().since(begun) < Duration::from_secs(30), "nothing waits for a disk");
        drop(outlet);
        umount(place).unwrap();
    }

    /// Writes more lines than the pipe and the buffer can hold without a reader, and then reads them.
    fn assert_writing_never_blocks(mut outlet: LineOutput, mut reader: impl Read + Send + 'static) {
        let line = |number: usize| format!("{number} {}\n", "x".repeat(990)).into_bytes();
        let all = 3000;
        for number in 0..all {
            outlet.write_line(line(number)).unwrap();
        }
        assert!(outlet.has_pending_lines() && outlet.buffered_bytes <= MAX_BUFFERED_BYTES);
        let (taken, lost) = (outlet.take_lost_line_count(), outlet.lost_lines);
        assert!(taken == 0 && lost > 500, "it is notified when there is room: {taken} {lost}");
        let thread = std::thread::spawn(move || {
            let mut text = Vec::new();
            reader.read_to_end(&mut text).unwrap();
            text
        });
        outlet.finish(Duration::from_secs(5));
        assert!(!outlet.has_pending_lines());
        assert_eq!(outlet.take_lost_line_count(), lost);
        drop(outlet);
        let text = thread.join().unwrap();
        let whole =
            text.split_inclusive(|byte| *byte == b'\n').enumerate().all(|(at, read)| read == line(at));
        assert!(whole, "lines that are not lost come whole and in order");
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count() as u64 + lost, all as u64);
    }

    #[test]
    fn a_reader_that_stops_is_never_waited_for() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = LineOutput::from_descriptor(writer.as_fd()).unwrap();
        assert_eq!(outlet.mode, WriteMode::NonBlocking);
        // The caller's own file description is still in blocking mode.
        let flags = OFlag::from_bits_truncate(fcntl(&writer, FcntlArg::F_GETFL).unwrap());
        assert!(!flags.contains(OFlag::O_NONBLOCK));
        drop(writer);
        assert_writing_never_blocks(outlet, reader);

        let (reader, writer) = io::pipe().unwrap();
        assert_writing_never_blocks(
            LineOutput::new(File::from(std::os::fd::OwnedFd::from(writer)), WriteMode::PollFirst),
            reader,
        );

        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        let outlet = LineOutput::from_descriptor_number(u32::try_from(writer.as_raw_fd()).unwrap()).unwrap();
        assert_eq!(outlet.mode, WriteMode::Socket);
        drop(writer);
        assert_writing_never_blocks(outlet, reader);
    }

    #[test]
    fn a_fifo_can_be_opened_before_its_reader() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut outlet = LineOutput::open(&path).unwrap();
        outlet.write_line(b"early\n".to_vec()).unwrap();
        let mut reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        let mut text = [0; 6];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"early\n");
    }

    #[test]
    fn a_descriptor_that_is_not_writable_is_refused() {
        let file = File::open("/dev/null").unwrap();
        assert_eq!(LineOutput::from_descriptor(file.as_fd()).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert_eq!(
            LineOutput::from_descriptor_number(987_654).unwrap_err().raw_os_error(),
            Some(libc::EBADF)
        );
    }
}
