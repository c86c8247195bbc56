//! Nodes of a live graph. A node has 32 bytes, so that a wave touches half a cache line per node.

use millstream_base::Lane;
use millstream_form::{HeldOperand, canonical_bits};

/// No user.
pub(super) const NONE: u32 = u32::MAX;

/// The function of a removed node. Removed nodes are special; other special nodes have no function.
pub(super) const GONE: u16 = u16::MAX;

/// One node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The bits of the value, or the stamp of a value that is not a number; equal bits are equal
    /// values.
    pub(super) value: u64,
    /// The inputs; unused ones are node 0. With [`Flags::CONSTANT`] the last two are the bits of
    /// the second operand. With [`Flags::SPECIAL`] the first is the number of the special node, or
    /// [`NONE`] for a source, and the last is the place of a value that is not a number, see
    /// `boxed`.
    pub(super) inputs: [u32; 3],
    /// The users: up to two nodes, or with [`Flags::LISTED`] the start and length of a list.
    pub(super) users: [u32; 2],
    /// The number of the function of the graph that the node calls.
    pub(super) code: u16,
    pub(super) flags: Flags,
}

/// Properties of a node, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u16);

impl Flags {
    /// Number of inputs of a node that is not special.
    const ARITY: u16 = 0b11;
    /// The second operand is a constant.
    pub(super) const CONSTANT: u16 = 1 << 2;
    /// The node is a source, or more than a function of numbers.
    pub(super) const SPECIAL: u16 = 1 << 3;
    /// Demanded for all choices of arms.
    pub(super) const LIVE: u16 = 1 << 4;
    /// Demanded if some choice takes an arm.
    pub(super) const GUARDED: u16 = 1 << 5;
    /// Dirty, but not demanded when the wave passed.
    pub(super) const PARKED: u16 = 1 << 6;
    /// Never computed.
    pub(super) const NEW: u16 = 1 << 7;
    /// The users are a list.
    pub(super) const LISTED: u16 = 1 << 8;
    /// Some user is not certainly demanded, so old values must be held for it when this node
    /// changes.
    pub(super) const MIXED: u16 = 1 << 9;
    /// Observed from outside the graph.
    pub(super) const OBSERVED: u16 = 1 << 10;
    /// Before the node runs, its inputs are compared with those of its last run, see `held`, and
    /// checked for failures, see `failed`.
    pub(super) const CAREFUL: u16 = 1 << 11;
    /// The node folds many inputs with its function; the first two of `inputs` are their start and
    /// number in `LiveGraph::wide`.
    pub(super) const FOLD: u16 = 1 << 12;
    /// The position of the lane.
    const LANE_SHIFT: u32 = 13;

    /// The flags of a node with `n_inputs` inputs and a value of this lane that was never computed.
    pub(super) fn new(n_inputs: usize, lane: Lane) -> Self {
        let lane = match lane {
            Lane::Bool => 0,
            Lane::I32 => 1,
            Lane::I64 => 2,
            Lane::F32 => 3,
            Lane::F64 => 4,
        };
        Self(n_inputs as u16 & Self::ARITY | lane << Self::LANE_SHIFT | Self::NEW)
    }

    /// The lane of the value.
    #[inline]
    pub(super) fn lane(self) -> Lane {
        match self.0 >> Self::LANE_SHIFT {
            0 => Lane::Bool,
            1 => Lane::I32,
            2 => Lane::I64,
            3 => Lane::F32,
            _ => Lane::F64,
        }
    }

    #[inline(always)]
    pub(super) fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    pub(super) fn set(&mut self, bits: u16) {
        self.0 |= bits;
    }

    pub(super) fn clear(&mut self, bits: u16) {
        self.0 &= !bits;
    }

    pub(super) fn arity(self) -> usize {
        (self.0 & Self::ARITY) as usize
    }

    /// Whether the node is a plain function that is certainly demanded.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & (Self::LIVE | Self::SPECIAL | Self::CAREFUL) == Self::LIVE
    }

    /// Whether the node is special, has a value and is certainly demanded, and needs no check
    /// before it runs.
    #[inline(always)]
    pub(super) fn is_special_and_plainly_live(self) -> bool {
        self.0 & (Self::LIVE | Self::SPECIAL | Self::CAREFUL | Self::NEW)
            == Self::LIVE | Self::SPECIAL
    }

    /// Whether the node is a plain function that is demanded through arms.
    #[inline(always)]
    pub(super) fn is_guarded_and_plain(self) -> bool {
        self.0 & (Self::GUARDED | Self::SPECIAL | Self::CAREFUL) == Self::GUARDED
    }
}

impl Node {
    /// The inputs of a node that is not special.
    pub(super) fn plain_inputs(&self) -> &[u32] {
        &self.inputs[..self.flags.arity()]
    }

    /// Whether the node is set from outside.
    #[inline(always)]
    pub(super) fn is_source(&self) -> bool {
        self.flags.has(Flags::SPECIAL) && self.inputs[0] == NONE
    }

    /// Whether the node was removed.
    #[inline(always)]
    pub(super) fn is_gone(&self) -> bool {
        self.flags.has(Flags::SPECIAL) && self.code == GONE
    }

    /// The constant second operand.
    #[inline(always)]
    pub(super) fn constant(&self) -> u64 {
        u64::from(self.inputs[1]) | u64::from(self.inputs[2]) << 32
    }
}

/// The bits of a value, with the canonical NaN for any NaN.
#[inline(always)]
pub(super) fn canonical(flags: Flags, bits: u64) -> u64 {
    match flags.lane() {
        Lane::F64 if f64::from_bits(bits).is_nan() => canonical_bits(Lane::F64, bits),
        Lane::F32 if f32::from_bits(bits as u32).is_nan() => canonical_bits(Lane::F32, bits),
        Lane::Bool | Lane::I32 | Lane::I64 | Lane::F32 | Lane::F64 => bits,
    }
}

impl HeldOperand for Node {
    #[inline(always)]
    fn bits(&self) -> u64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_fill_a_cache_line() {
        assert_eq!(size_of::<Node>(), 32);
    }
}
