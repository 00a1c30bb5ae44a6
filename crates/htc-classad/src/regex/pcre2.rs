//! Regular expressions by PCRE2. The safe crate `pcre2` does not offer all options that the reference uses, so this
//! file calls the C library directly. It is one of the few files that may use unsafe code.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use pcre2_sys as c;

use super::{Captures, MatchError, PatternError, RegexOptions, SearchOptions};

/// Memory limit of one match, in KiB. The reference's limit of 20 GB would allow a match to run for a very long time.
const MATCH_HEAP_KIB: u32 = 512 * 1024;

/// Each option and its bit in PCRE2.
const OPTION_BITS: [(RegexOptions, u32); 6] = [
    (RegexOptions::CASELESS, c::PCRE2_CASELESS),
    (RegexOptions::MULTILINE, c::PCRE2_MULTILINE),
    (RegexOptions::DOTALL, c::PCRE2_DOTALL),
    (RegexOptions::EXTENDED, c::PCRE2_EXTENDED),
    (RegexOptions::UNGREEDY, c::PCRE2_UNGREEDY),
    (RegexOptions::ANCHORED, c::PCRE2_ANCHORED),
];

/// Compiled pattern, which several threads can use at the same time.
///
/// ```
/// use htc_classad::regex::{Regex, RegexOptions};
/// let regex = Regex::compile("^(slot)([0-9]+)", RegexOptions::NONE).unwrap();
/// assert_eq!((regex.groups(), regex.is_match("slot12@node"), regex.is_match("node")), (2, Ok(true), Ok(false)));
/// ```
pub struct Regex {
    code: CompiledCode,
    /// Machine code of the pattern, compiled after a number of uses; `None` if PCRE2 has no JIT compiler for this
    /// machine.
    jit_code: OnceLock<Option<CompiledCode>>,
    groups: usize,
    uses: AtomicU32,
    /// Working memory of the last match, kept for the next match; null while a match uses it.
    scratch: AtomicPtr<MatchScratch>,
}

/// Owner of a pattern compiled by PCRE2.
struct CompiledCode(NonNull<c::pcre2_code_8>);

/// Working memory of a match.
struct MatchScratch {
    data: NonNull<c::pcre2_match_data_8>,
    context: NonNull<c::pcre2_match_context_8>,
}

impl Drop for MatchScratch {
    fn drop(&mut self) {
        // SAFETY: both pointers were made by `MatchScratch::new`, belong to this value alone and are freed once.
        unsafe {
            c::pcre2_match_data_free_8(self.data.as_ptr());
            c::pcre2_match_context_free_8(self.context.as_ptr());
        }
    }
}

impl Drop for CompiledCode {
    fn drop(&mut self) {
        // SAFETY: the pointer was returned by `pcre2_compile_8` or `pcre2_code_copy_8`, belongs to this value alone and
        // is freed once.
        unsafe { c::pcre2_code_free_8(self.0.as_ptr()) }
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        let kept = *self.scratch.get_mut();
        if !kept.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in `store_scratch`, and no other code holds it any more.
            drop(unsafe { Box::from_raw(kept) });
        }
    }
}

// SAFETY: compiled code is a heap object without ties to a thread, and PCRE2 only reads it while matching.
unsafe impl Send for CompiledCode {}
// SAFETY: as for `Send`; JIT compilation, which writes to the object, is done on a copy before the copy is shared.
unsafe impl Sync for CompiledCode {}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({} groups)", self.groups)
    }
}

/// Maximum length in bytes of a subject that is matched by machine code; see [`Regex::search`].
const SHORT_SUBJECT: usize = 64;
/// Number of uses of a pattern after which JIT compilation is worthwhile.
const USES_BEFORE_JIT: u32 = 64;
/// Step limit of machine code. If it is exceeded, the match starts again in the interpreter, which counts steps as the
/// reference does.
const JIT_STEPS: u32 = 20_000;
/// Step limit of the interpreter: the default of PCRE2, which the reference also uses.
const MATCH_STEPS: u32 = 10_000_000;

impl Regex {
    /// Compiles a pattern.
    ///
    /// ```
    /// use htc_classad::regex::{Regex, RegexOptions};
    /// assert!(Regex::compile("^slot[0-9]+$", RegexOptions::NONE).is_ok());
    /// assert_eq!(Regex::compile("[0-9", RegexOptions::NONE).unwrap_err().offset, 4);
    /// ```
    ///
    /// # Errors
    /// Fails with PCRE2's message if the pattern is not valid.
    pub fn compile(pattern: impl AsRef<[u8]>, options: RegexOptions) -> Result<Regex, PatternError> {
        let pattern = pattern.as_ref();
        let is_set = |option: &&(RegexOptions, u32)| options.has(option.0);
        let bits = OPTION_BITS.iter().filter(is_set).fold(0, |bits, (_, bit)| bits | bit);
        let mut code: c_int = 0;
        let mut offset: usize = 0;
        // SAFETY: pattern pointer and length describe a live slice (a dangling pointer is allowed for length 0 and
        // PCRE2 does not read it), the two out-pointers are live, a null context means defaults.
        let compiled = unsafe {
            c::pcre2_compile_8(
                pattern.as_ptr(),
                pattern.len(),
                bits,
                &raw mut code,
                &raw mut offset,
                ptr::null_mut(),
            )
        };
        let Some(compiled) = NonNull::new(compiled) else {
            return Err(PatternError { code, offset, message: error_message(code) });
        };
        let mut groups: u32 = 0;
        // SAFETY: `compiled` is live and PCRE2_INFO_CAPTURECOUNT writes one u32.
        unsafe {
            c::pcre2_pattern_info_8(compiled.as_ptr(), c::PCRE2_INFO_CAPTURECOUNT, (&raw mut groups).cast());
        }
        Ok(Regex {
            code: CompiledCode(compiled),
            jit_code: OnceLock::new(),
            groups: groups as usize,
            uses: AtomicU32::new(0),
            scratch: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// Returns the number of groups in the pattern, not counting the whole match.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns true if the pattern matches anywhere in `subject`.
    ///
    /// # Errors
    /// Fails if the match takes too many steps or too much memory.
    pub fn is_match(&self, subject: impl AsRef<[u8]>) -> Result<bool, MatchError> {
        self.search(subject.as_ref(), SearchOptions::default(), |found| found.is_some())
    }

    /// Returns the first match of a search, or `None` if the pattern does not match.
    ///
    /// # Errors
    /// Fails if the match takes too many steps or too much memory.
    pub fn captures(
        &self,
        subject: impl AsRef<[u8]>,
        search: SearchOptions,
    ) -> Result<Option<Captures>, MatchError> {
        self.search(subject.as_ref(), search, |found| {
            found.map(|offsets| Captures {
                groups: offsets
                    .chunks_exact(2)
                    .map(|pair| (pair[0] != usize::MAX).then(|| pair[0]..pair[1].max(pair[0])))
                    .collect(),
            })
        })
    }

    /// Runs a search and passes the offsets of the groups to `read`.
    ///
    /// Machine code counts fewer steps than the interpreter, which the reference uses. To fail for the same subjects as
    /// the reference, machine code is used only for short subjects and a small number of steps.
    fn search<T>(
        &self,
        subject: &[u8],
        search: SearchOptions,
        read: impl FnOnce(Option<&[usize]>) -> T,
    ) -> Result<T, MatchError> {
        let scratch = match self.take_scratch() {
            Some(scratch) => scratch,
            None => Box::new(MatchScratch::new(self)?),
        };
        let mut options = 0;
        if search.anchored_not_empty {
            options |= c::PCRE2_NOTEMPTY_ATSTART | c::PCRE2_ANCHORED;
        }
        if search.not_empty {
            options |= c::PCRE2_NOTEMPTY;
        }
        let fast = if options == 0 && subject.len() <= SHORT_SUBJECT { self.jit_code() } else { None };
        let mut status = c::PCRE2_ERROR_MATCHLIMIT;
        if let Some(fast) = fast {
            status = run_match(fast, &scratch, subject, search.start, options, JIT_STEPS);
        }
        if fast.is_none() || (status < 0 && status != c::PCRE2_ERROR_NOMATCH) {
            status = run_match(&self.code, &scratch, subject, search.start, options, MATCH_STEPS);
        }
        let answer = if status == c::PCRE2_ERROR_NOMATCH {
            Ok(read(None))
        } else if let Ok(count @ 1..) = usize::try_from(status) {
            // SAFETY: the match data is live and holds at least `count` pairs of offsets, all written by the
            // successful match; nothing writes to them while the slice lives.
            let offsets = unsafe {
                let pointer = c::pcre2_get_ovector_pointer_8(scratch.data.as_ptr());
                std::slice::from_raw_parts(pointer, count * 2)
            };
            Ok(read(Some(offsets)))
        } else {
            Err(MatchError { code: status })
        };
        self.store_scratch(scratch);
        answer
    }

    fn take_scratch(&self) -> Option<Box<MatchScratch>> {
        let kept = self.scratch.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: a pointer that is not null came from `Box::into_raw` in `store_scratch`, and after the swap no other
        // thread has it.
        (!kept.is_null()).then(|| unsafe { Box::from_raw(kept) })
    }

    fn store_scratch(&self, scratch: Box<MatchScratch>) {
        let other = self.scratch.swap(Box::into_raw(scratch), Ordering::AcqRel);
        if !other.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in another thread that has stored its own memory in the
            // meantime, and after the swap no other thread has it.
            drop(unsafe { Box::from_raw(other) });
        }
    }

    /// Returns the machine code of the pattern, or `None` if there is no JIT compiler or the pattern has not been used
    /// often enough.
    fn jit_code(&self) -> Option<&CompiledCode> {
        if let Some(fast) = self.jit_code.get() {
            return fast.as_ref();
        }
        if self.uses.fetch_add(1, Ordering::Relaxed) < USES_BEFORE_JIT {
            return None;
        }
        self.jit_code
            .get_or_init(|| {
                // SAFETY: the code is live; the copy is a new object that belongs to this function.
                let copy = unsafe { c::pcre2_code_copy_8(self.code.0.as_ptr()) };
                let copy = CompiledCode(NonNull::new(copy)?);
                // SAFETY: no other code has a pointer to the copy yet, so writing to it does not disturb a match.
                let status = unsafe { c::pcre2_jit_compile_8(copy.0.as_ptr(), c::PCRE2_JIT_COMPLETE) };
                (status == 0).then_some(copy)
            })
            .as_ref()
    }
}

/// Runs the matcher once, for at most `steps` steps.
fn run_match(
    code: &CompiledCode,
    scratch: &MatchScratch,
    subject: &[u8],
    start: usize,
    options: u32,
    steps: u32,
) -> c_int {
    // SAFETY: code, data and context are live; the data was made for this pattern; subject pointer and length describe
    // a live slice; an offset beyond its end is refused by PCRE2 itself (PCRE2_ERROR_BADOFFSET). Data and context are
    // not used elsewhere: their owner is borrowed from a box that was taken out of the shared pointer.
    unsafe {
        c::pcre2_set_match_limit_8(scratch.context.as_ptr(), steps);
        c::pcre2_match_8(
            code.0.as_ptr(),
            subject.as_ptr(),
            subject.len(),
            start,
            options,
            scratch.data.as_ptr(),
            scratch.context.as_ptr(),
        )
    }
}

impl MatchScratch {
    fn new(regex: &Regex) -> Result<MatchScratch, MatchError> {
        let no_memory = MatchError { code: c::PCRE2_ERROR_NOMEMORY };
        // SAFETY: the code is live; a null general context means the default allocator.
        let data =
            unsafe { c::pcre2_match_data_create_from_pattern_8(regex.code.0.as_ptr(), ptr::null_mut()) };
        // SAFETY: a null general context means the default allocator.
        let context = unsafe { c::pcre2_match_context_create_8(ptr::null_mut()) };
        match (NonNull::new(data), NonNull::new(context)) {
            (Some(data), Some(context)) => {
                // SAFETY: the context is live.
                unsafe { c::pcre2_set_heap_limit_8(context.as_ptr(), MATCH_HEAP_KIB) };
                Ok(MatchScratch { data, context })
            }
            (data, context) => {
                // SAFETY: each pointer was just created, is live and is freed once.
                unsafe {
                    if let Some(data) = data {
                        c::pcre2_match_data_free_8(data.as_ptr());
                    }
                    if let Some(context) = context {
                        c::pcre2_match_context_free_8(context.as_ptr());
                    }
                }
                Err(no_memory)
            }
        }
    }
}

/// Returns PCRE2's message for an error number.
fn error_message(code: i32) -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: pointer and length describe the live buffer; PCRE2 ends the text with a zero byte within it.
    let length = unsafe { c::pcre2_get_error_message_8(code, buffer.as_mut_ptr(), buffer.len()) };
    let length = usize::try_from(length).unwrap_or(0).min(buffer.len());
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str, letters: &str) -> Regex {
        Regex::compile(pattern.as_bytes(), RegexOptions::from_letters(letters.as_bytes()))
            .expect("a good pattern")
    }

    #[test]
    fn options_are_those_of_the_letters() {
        assert_eq!(regex("^B", "im").is_match(b"a\nb"), Ok(true));
        assert_eq!(regex("^B", "m").is_match(b"a\nb"), Ok(false));
        assert_eq!(regex("a.b", "s").is_match(b"a\nb"), Ok(true));
        assert_eq!(regex("a b # c", "x").is_match(b"ab"), Ok(true));
    }

    #[test]
    fn an_invalid_pattern_has_a_message_and_a_position() {
        let error = Regex::compile(b"a(b", RegexOptions::NONE).expect_err("no closing parenthesis");
        assert_eq!((error.code, error.offset), (114, 3));
        assert!(error.message.contains("parenthesis"), "{}", error.message);
    }

    #[test]
    fn groups_outside_of_the_match_are_none() {
        let captures = regex("(a)|(b)|(c)", "")
            .captures(b"xb", SearchOptions::default())
            .expect("no limit")
            .expect("match");
        assert_eq!(captures.len(), 3);
        assert_eq!((captures.group(0), captures.group(1), captures.group(2)), (Some(1..2), None, Some(1..2)));
    }

    #[test]
    fn a_pattern_with_exponential_time_is_always_aborted() {
        let bomb = regex("(a+)+$", "");
        let subject = [&b"a".repeat(40)[..], b"b"].concat();
        assert!(bomb.is_match(&subject).is_err());
        for _ in 0..USES_BEFORE_JIT {
            assert_eq!(bomb.is_match(b"aaa"), Ok(true));
        }
        assert!(bomb.is_match(&subject).is_err());
    }

    #[test]
    fn the_result_is_the_same_with_and_without_jit() {
        let pattern = regex("^(ali|bo)(ce|b)$", "");
        for _ in 0..2 * USES_BEFORE_JIT {
            assert_eq!(pattern.is_match(b"alice"), Ok(true));
            assert_eq!(pattern.is_match(b"alicex"), Ok(false));
            assert_eq!(pattern.is_match(b""), Ok(false));
        }
    }

    #[test]
    fn several_threads_can_use_one_pattern() {
        let pattern = regex("^(ali|bo)(ce|b)$", "");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        assert_eq!(pattern.is_match(b"alice"), Ok(true));
                        assert_eq!(pattern.is_match(b"bobby"), Ok(false));
                    }
                });
            }
        });
    }

    #[test]
    fn an_offset_beyond_the_end_is_an_error() {
        assert!(
            regex("a", "").captures(b"b", SearchOptions { start: 2, ..SearchOptions::default() }).is_err()
        );
    }
}
