//! The tests of Millstream's own node library, applied to Blender's node types.

#![expect(clippy::unwrap_used, reason = "a test may end where an expectation fails")]

#[path = "../../../nodes/tests/suite/bits.rs"]
mod bits;
#[path = "../../../nodes/tests/suite/columns.rs"]
mod columns;
#[path = "../../../nodes/tests/suite/library.rs"]
mod library;
#[path = "../../../nodes/tests/suite/run.rs"]
mod run;
#[expect(dead_code, reason = "the tests of the node library use all of it")]
#[path = "../../../nodes/tests/suite/wide.rs"]
mod wide;

use wide::{Scale, check, node};

/// The node types that the tests go through.
fn registry() -> millstream_node::Registry {
    let mut registry = millstream_node::Registry::new();
    millstream_blender::register(&mut registry);
    registry
}

#[test]
fn mixed_colors_are_as_close_to_their_formulas_as_the_manual_states() {
    check([node("blender.mix_color", Scale::Most).each("blend")]);
}
