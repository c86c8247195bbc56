//! Documents: graphs as people write them, read from JSON or built in code, checked and saved.
//!
//! The crate knows the node library only as the `Registry` that it is handed.

pub mod checked;
pub mod fields;
pub mod model;
pub mod spot;
pub mod view;

pub use checked::{
    Body, BodyId, BodyInput, BodyOutput, Checked, CheckedKind, CheckedNode, Muted, MutedOutput,
    Passes, Source,
};
pub use fields::Fields;
pub use model::{
    Document, GroupDef, Input, InputDef, InputValue, Link, Named, Node, NodeKind, OutputDef,
    OutputFrom, Setting,
};
pub use spot::Spot;
pub use view::View;
