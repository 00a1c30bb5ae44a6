//! Pictures of slots and routes: a timeline, a state diagram with transitions, and band charts. The input is plain
//! data. The output is SVG, or one HTML file that needs no other file. Every text is escaped.

mod band_chart;
mod html_page;
mod palette;
mod state_diagram;
mod timeline;

pub use band_chart::{BandCount, BandSample, draw_band_chart};
pub use html_page::render_page;
pub use palette::escape_markup;
pub use state_diagram::{StateTransition, draw_state_diagram};
pub use timeline::{LaneBundle, LaneStay, MarkKind, SlotLane, TimeAxis, draw_timeline};
