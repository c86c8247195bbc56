//! Regions: element-wise calls that may run as one, chunk by chunk, without a column between them.
//!
//! The pass `fuse` finds them; the graph and the plan carry the result as marks beside the nodes. A
//! region says what may be fused, whatever the request: no way leads out of a region and back into
//! it, and no two regions read from each other, so each can run as a whole. Evaluators run less at a
//! time where the request says so: members that are not asked for, or that have other axes.

use std::fmt;

use millstream_base::define_id;

define_id!(RegionId, "r", "One element-wise region of a graph or plan; prints as `r7`.");

/// The mark of a member of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRegion {
    /// The region.
    pub region: RegionId,
    /// Of a choice: it joins only where its selector is the same for all elements, so that one arm
    /// is taken. Else an instruction can select among its arms, which are computed for all.
    pub only_uniform: bool,
}

impl fmt::Display for InRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", self.region, if self.only_uniform { "?" } else { "" })
    }
}
