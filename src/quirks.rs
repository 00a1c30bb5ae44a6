//! The table of places where HTCondor 25.14 plainly loses what its manual promises.
//!
//! By default the programs keep the promise and say once that a real pool would not; `--quirks reference` does
//! exactly as 25.14 does. Each quirk is decided in one place of the code: search for its variant.

/// Defines the enum and its table together, so that a quirk cannot be without its line.
macro_rules! quirks {
    ($($variant:ident, $id:literal, $line:literal, $source:literal;)*) => {
        /// One known deviation of the reference from its manual. The documentation of each is its table line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Quirk {
            $(#[doc = $line] $variant,)*
        }

        impl Quirk {
            /// All quirks in the order of the table.
            pub const ALL: &[Quirk] = &[$(Quirk::$variant),*];

            /// The stable name, as messages and man pages give it.
            pub fn id(self) -> &'static str {
                match self { $(Quirk::$variant => $id,)* }
            }

            /// What a real pool does, in one line.
            pub fn line(self) -> &'static str {
                match self { $(Quirk::$variant => $line,)* }
            }

            /// Where it was seen: the reference's source file or a recorded session.
            pub fn source(self) -> &'static str {
                match self { $(Quirk::$variant => $source,)* }
            }
        }
    };
}

quirks! {
    EvictClaimNever, "evict-claim-never",
        "EVICT_CLAIM is never called, whatever ends the claim", "claim.cpp";
}

/// Which behaviour is wanted where reference and manual differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quirks {
    /// What the manual promises, with a warning that a real pool would not.
    #[default]
    None,
    /// Exactly what 25.14 does.
    Reference,
}

impl Quirks {
    /// Whether 25.14's own behaviour is wanted for `quirk`. Call it only where the quirk is decided.
    pub fn has(self, _quirk: Quirk) -> bool {
        self == Quirks::Reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_spelled_like_options() {
        let mut ids: Vec<_> = Quirk::ALL.iter().map(|quirk| quirk.id()).collect();
        assert!(
            ids.iter()
                .all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        );
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Quirk::ALL.len());
    }
}
