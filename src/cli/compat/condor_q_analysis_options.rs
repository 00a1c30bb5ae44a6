//! Options of `condor_q -better-analyze` (reference: condor_q.V6/queue.cpp, `parse_analyze_detail`; expr_analyze.h).

use std::ffi::OsString;

use bstr::ByteSlice;

use super::condor_q_refusal::OptionRefusal;
use crate::classad::stream::AdForm;

/// Options of the analysis of matches.
#[derive(Clone, Debug, Default)]
pub(super) struct AnalysisOptions {
    /// True if an analysis is requested.
    pub(super) is_wanted: bool,
    /// True if one line per job or slot is printed.
    pub(super) summary: bool,
    /// True if slots are analyzed against jobs.
    pub(super) reverse: bool,
    /// True if only jobs without a match are printed (`-unmatchable`).
    pub(super) unmatchable: bool,
    /// True if users' priorities are considered.
    pub(super) priorities: bool,
    /// Bits of the level of detail (expr_analyze.h, `detail_`).
    pub(super) details: u32,
    /// File of slot ads and its form.
    pub(super) slots: Option<(OsString, Option<AdForm>)>,
    /// Condition on slots.
    pub(super) slot_constraint: Option<Vec<u8>>,
    /// Name of a slot or machine.
    pub(super) machine: Option<Vec<u8>>,
    /// File of users' priorities.
    pub(super) priority_file: Option<OsString>,
}

/// Bits of the level of detail (expr_analyze.h).
pub(super) const DETAIL_SMART_UNPARSE: u32 = 0x01;
pub(super) const DETAIL_ALWAYS_UNPARSE: u32 = 0x02;
pub(super) const DETAIL_SHOW_ALL: u32 = 0x04;
const DETAIL_DIAGNOSTIC: u32 = 0x40;
const DETAIL_DUMP: u32 = 0x80;
pub(super) const DETAIL_IF_THEN_ELSE: u32 = 0x08;
pub(super) const DETAIL_EACH_CLAUSE: u32 = 0x100;
pub(super) const DETAIL_ALWAYS: u32 = 0x200;
pub(super) const DETAIL_NO_ATTRIBUTES: u32 = 0x400;
pub(super) const DETAIL_INLINE: u32 = 0x800;
pub(super) const DETAIL_ONE_HEADING_LINE: u32 = 0x1000;
pub(super) const DETAIL_APPEND: u32 = 0x2000;
pub(super) const DETAIL_BETTER: u32 = 0x10000;

impl AnalysisOptions {
    /// Reads the qualifiers of `-better-analyze:QUALIFIER,...`.
    pub(super) fn read_qualifiers(&mut self, text: &[u8]) -> Result<(), OptionRefusal> {
        let mut words =
            text.split(|byte| b",:".contains(byte)).map(ByteSlice::trim).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let is = |name: &str, least: usize| word.len() >= least && name.as_bytes().starts_with(word);
            match () {
                () if is("summary", 1) => (self.summary, self.priorities) = (true, false),
                () if is("reverse", 1) => (self.reverse, self.priorities) = (true, false),
                () if is("priority", 2) => self.priorities = true,
                () if is("noprune", 3) => self.details |= DETAIL_SHOW_ALL,
                () if is("diagnostic", 4) => self.details |= DETAIL_DIAGNOSTIC,
                () if is("show-work", 4) => self.details |= DETAIL_DUMP,
                () if is("slot-exprs", 4) => self.details |= DETAIL_INLINE,
                () if is("ifthenelse", 2) => self.details |= DETAIL_IF_THEN_ELSE,
                () if is("memory", 3) => drop(words.next()),
                () => self.details = parse_detail(word, self.details),
            }
        }
        self.check_details()
    }

    /// Refuses the bits that make condor_q print the steps of its analyzer.
    pub(super) fn check_details(&self) -> Result<(), OptionRefusal> {
        let (name, bit) = match self.details {
            details if details & DETAIL_DIAGNOSTIC != 0 => ("diagnostic", DETAIL_DIAGNOSTIC),
            details if details & DETAIL_DUMP != 0 => ("show-work", DETAIL_DUMP),
            _ => return Ok(()),
        };
        Err(OptionRefusal::new(&format!(
            "-analyze:{name} ({bit}) is not supported: condor_q of HTCondor would print the steps of its analyzer, with \
             the memory addresses of its expressions; -analyze:noprune shows the clauses that it left out"
        )))
    }
}

/// Parses numbers for the level of detail; a word without a number clears all bits (`parse_analyze_detail`).
pub(super) fn parse_detail(text: &[u8], current: u32) -> u32 {
    let number = |part: &[u8]| {
        part.iter()
            .filter(|byte| byte.is_ascii_digit())
            .fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
    };
    match text.split(|byte| b",+".contains(byte)).fold(0, |bits, part| bits | number(part)) {
        0 => 0,
        bits => current | bits,
    }
}
