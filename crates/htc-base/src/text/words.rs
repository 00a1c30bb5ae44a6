//! Enums whose variants have names.

/// Defines an enum without data, the name of each variant and the list of all variants together, so that names and list are
/// always complete: `words! { pub enum Kind.name { One => "one", Two = 2 => "two", } }` defines `Kind::ALL` and
/// `Kind::name`.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $visible:vis enum $name:ident.$method:ident {
        $($(#[$note:meta])* $variant:ident $(= $number:literal)? => $word:literal,)*
    }) => {
        $(#[$about])*
        $visible enum $name {
            $($(#[$note])* $variant $(= $number)?,)*
        }

        impl $name {
            /// All variants, in order of definition.
            $visible const ALL: [$name; [$($name::$variant),*].len()] = [$($name::$variant),*];

            /// Returns the name of the variant.
            $visible fn $method(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.$method())
            }
        }
    };
}

pub use words;
