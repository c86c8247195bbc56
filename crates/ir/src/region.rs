//! Regions: element-wise calls that may run as one, chunk by chunk, without intermediate columns.
//!
//! The pass `fuse` finds them; the graph and the plan carry the result as marks of nodes. A region
//! tells what may be fused for any request: no path leads out of a region and back into it, and no
//! two regions depend on each other, so each can run as a whole. For a given request evaluators may
//! run less at a time: only the members that are needed and have the same axes.

use std::fmt;

pub use crate::ids::RegionId;

/// The mark of a member of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRegion {
    /// The region.
    pub region: RegionId,
    /// Whether this choice joins the region only if its selector is the same for all elements, so
    /// that one arm is taken. If false, all arms are computed and an instruction selects among
    /// them.
    pub only_uniform: bool,
}

impl fmt::Display for InRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", self.region, if self.only_uniform { "?" } else { "" })
    }
}
