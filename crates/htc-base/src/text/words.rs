//! Enums whose variants have words.

/// Defines an enum without data together with the word of each of its variants and the list of all, so that none can be missing in
/// either: `words! { pub enum Kind.name { One => "one", Two = 2 => "two", } }` makes `Kind::ALL` and `Kind::name`.
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
            /// All of them in their order.
            $visible const ALL: [$name; [$($name::$variant),*].len()] = [$($name::$variant),*];

            /// The word for it.
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
