//! Universes: execution environments of jobs.

use crate::text::number::integer_prefix;
use crate::text::{caseless, words};

words! {
    /// Universe of a job (attribute `JobUniverse`; reference: `condor_universe.cpp`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Universe.name {
        /// 1: obsolete.
        Standard = 1 => "Standard",
        /// 2: obsolete.
        Pipe = 2 => "Pipe",
        /// 3: obsolete.
        Linda = 3 => "Linda",
        /// 4: obsolete.
        Pvm = 4 => "PVM",
        /// 5: runs an ordinary program, with or without a container.
        Vanilla = 5 => "Vanilla",
        /// 6: obsolete.
        Pvmd = 6 => "PVMD",
        /// 7: runs in the schedd itself, immediately.
        Scheduler = 7 => "Scheduler",
        /// 8: obsolete.
        Mpi = 8 => "MPI",
        /// 9: submits the job to another batch system.
        Grid = 9 => "Grid",
        /// 10: runs a class in the Java virtual machine.
        Java = 10 => "Java",
        /// 11: runs on several machines at the same time.
        Parallel = 11 => "Parallel",
        /// 12: runs in a starter on the schedd's machine.
        Local = 12 => "Local",
        /// 13: runs a virtual machine.
        Vm = 13 => "VM",
    }
}

impl Universe {
    /// Returns the value of `JobUniverse`.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the universe with this number, or `None` if the number is unknown.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|universe| universe.number() == number)
    }

    /// Returns the universe with this name, ignoring case, or `None`. `docker` is not a universe: docker jobs are in the
    /// vanilla universe.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|universe| caseless::eq(universe.name().as_bytes(), name))
    }

    /// Parses the universe of a submit or transform statement (`CondorUniverseNumberEx`). Returns the number at the start
    /// of `text`, even if no universe has this number; or else the number of the universe whose name is `text`; or else 0.
    pub fn parse_number(text: &[u8]) -> i64 {
        match integer_prefix(text).map_or(0, |(number, _)| number) {
            0 => Self::from_name(text).map_or(0, Self::number),
            number => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_converted_both_ways() {
        for universe in Universe::ALL {
            assert_eq!(Universe::from_number(universe.number()), Some(universe));
            assert_eq!(Universe::from_name(universe.name().to_uppercase().as_bytes()), Some(universe));
        }
        assert_eq!(Universe::Vm.number(), 13);
        assert_eq!(Universe::from_number(14), None);
        assert_eq!(Universe::from_name(b"docker"), None);
        assert_eq!(Universe::parse_number(b"9"), 9);
        assert_eq!(Universe::parse_number(b"77 x"), 77);
        assert_eq!(Universe::parse_number(b"grid"), 9);
        assert_eq!(Universe::parse_number(b"docker"), 0);
    }
}
