//! Pictures of what slots and routes have done: a timeline, the diagram of states with the changes that happened, bands of counts.
//! Plain data in, SVG or one HTML file out, which needs nothing else. Every text is escaped.

mod bands;
mod diagram;
mod html;
mod palette;
mod timeline;

pub use bands::{Count, Moment, bands};
pub use diagram::{Change, diagram};
pub use html::html;
pub use palette::escaped;
pub use timeline::{Bundle, Lane, MarkKind, Stay, timeline};
