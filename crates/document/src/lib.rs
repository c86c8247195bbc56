//! Documents: graphs as people write them, read from JSON or built in code, checked and saved.
//!
//! The crate knows the node library only as the `Registry` that it is given.

mod at;
pub mod builder;
pub mod check;
pub mod checked;
mod cursor;
pub mod edit;
pub mod fields;
mod formula_calls;
mod free_name;
mod grain;
mod layout;
pub mod library;
pub mod load;
pub mod model;
mod name_table;
mod named;
mod order;
mod problems;
#[cfg(test)]
mod properties;
mod range;
mod references;
pub mod save;
pub mod spot;
#[cfg(test)]
mod test_registry;
pub mod upgrade;
pub mod uses;
pub mod view;
mod wrong;

pub use check::{CheckError, check, open, open_loaded, upgrade_widths};
pub use checked::{
    Body, BodyId, BodyInput, BodyOutput, Checked, CheckedKind, CheckedNode, CheckedZone, Muted,
    MutedOutput, Passes, Source,
};
pub use edit::{Edit, EditKind, Editor, MadeIds};
pub use fields::Fields;
pub use free_name::{FreeNames, free_name};
pub use library::{Library, LibraryError};
pub use load::{LoadError, Loaded, load, load_to_check, name_problem};
pub use model::{
    Document, Form, GroupDef, Input, InputDef, InputValue, Link, Lock, Named, Node, NodeKind,
    OutputDef, OutputFrom, Places, Setting, UseDef, node_body,
};
pub use save::save;
pub use spot::Spot;
pub use upgrade::{NodeUpgrade, upgrade_nodes};
pub use uses::{UseError, read_used, read_used_as_written};
pub use view::View;
