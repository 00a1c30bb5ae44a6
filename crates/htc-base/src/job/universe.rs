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
        /// 5: an ordinary program, with or without a container.
        Vanilla = 5 => "Vanilla",
        /// 6: obsolete.
        Pvmd = 6 => "PVMD",
        /// 7: run by the schedd itself, immediately.
        Scheduler = 7 => "Scheduler",
        /// 8: obsolete.
        Mpi = 8 => "MPI",
        /// 9: submitted to another batch system.
        Grid = 9 => "Grid",
        /// 10: a class run by the Java virtual machine.
        Java = 10 => "Java",
        /// 11: runs on several machines at the same time.
        Parallel = 11 => "Parallel",
        /// 12: run by a starter on the schedd's machine.
        Local = 12 => "Local",
        /// 13: a virtual machine.
        Vm = 13 => "VM",
    }
}

impl Universe {
    /// Returns the value of `JobUniverse`.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the universe with that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|universe| universe.number() == number)
    }

    /// Returns the universe with that name, ignoring case. `docker` is a variant of vanilla and not in this list.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|universe| caseless::eq(universe.name().as_bytes(), name))
    }

    /// Parses the universe of a submit or transform statement: the number at the start of `text`, known or not, or else the
    /// number of the universe with that name; 0 if it is neither (`CondorUniverseNumberEx`).
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
    fn numbers_and_names_go_both_ways() {
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
