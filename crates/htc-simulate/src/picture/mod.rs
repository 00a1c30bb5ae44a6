//! Pictures of what slots and routes have done: a timeline, the diagram of states with the changes that happened, bands of counts.
//! Plain data in, SVG or one HTML file out, which needs nothing else. Every text is escaped.

mod band_chart;
mod html_page;
mod palette;
mod state_diagram;
mod timeline;

pub use band_chart::{BandCount, BandSample, draw_band_chart};
pub use html_page::render_page;
pub use palette::escape_markup;
pub use state_diagram::{StateTransition, draw_state_diagram};
pub use timeline::{LaneBundle, LaneStay, MarkKind, SlotLane, draw_timeline};
