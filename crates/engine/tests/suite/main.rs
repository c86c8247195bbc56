//! The engine as programs that embed it use it.

mod callback_outputs;
mod callbacks;
mod closures;
mod conditional;
mod expressions;
mod fine_grain;
mod groups;
mod images;
mod live_edits;
mod live_parts;
mod repeats;
mod rewind;
mod session;
mod session_bounds;
mod session_interfaces;
mod session_states;
mod stateful;
mod stateful_scopes;
mod times;
mod untouched;
mod used;
mod views;
mod whole_groups;
mod widths;
mod wrong_parts;
mod zones;
