//! Blender's function nodes for Millstream: node types that compute what Blender computes, and the
//! import of node groups as documents.
//!
//! [`register`] adds the node types, all of the family `blender`, to an engine. To import,
//! [`Dump::read`] the file that `tools/blender_export.py` wrote inside Blender, [`import`] each of
//! its networks, and optionally [`verify`] the document against the recorded results of Blender.
//!
//! ```
//! use millstream::Engine;
//! use millstream_blender::{Dump, import, verify};
//!
//! let engine = Engine::new().with_library(millstream_blender::register);
//! let dump = Dump::read(br#"{"blender": "5.2.3", "networks": [{
//!     "nodes": [{"type": "ShaderNodeMath", "props": {"operation": "SQRT"},
//!                "inputs": [{"id": "Value", "type": "VALUE", "input": 0}],
//!                "outputs": [{"id": "Value", "type": "VALUE"}]}],
//!     "inputs": [{"type": "VALUE", "name": "x", "values": [4, 9]}],
//!     "outputs": [{"node": 0, "id": "Value", "type": "VALUE", "values": [2, 3]}]}]}"#)?;
//! for network in &dump.networks {
//!     let network = network.as_ref().expect("the network has the format");
//!     let imported = import(network).expect("all nodes have a translation");
//!     for output in verify(&engine, network, &imported)? {
//!         assert!(output.difference < 1e-6);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod import;
mod nodes;

pub use import::{
    Dump, ImportError, Imported, Network, OutputDifference, VerifyError, import, verify,
};
pub use nodes::register;
