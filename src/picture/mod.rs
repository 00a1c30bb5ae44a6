//! Pictures of what slots have done: a timeline, and the diagram of states with the changes that happened. Plain data in, SVG or
//! one HTML file out, which needs nothing else. Every text is escaped.

mod diagram;
mod html;
mod palette;
mod timeline;

pub use diagram::{Change, diagram};
pub use html::html;
pub use palette::escaped;
pub use timeline::{Bundle, Lane, MarkKind, Stay, timeline};
