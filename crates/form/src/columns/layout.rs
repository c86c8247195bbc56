//! Where registers, parameters and results lie, as far as plans depend on it.

use millstream_base::map::Map;

use super::ends::{LaneInput, LaneOutput};

/// No buffer.
pub(super) const NONE: u32 = u32::MAX;

/// Where a register lies when a chunk is a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direct {
    /// In its buffer.
    No,
    /// In the memory of this input.
    Input(u32),
    /// In the memory of this output.
    Output(u32),
    /// In the memory of this input, among other lanes; only machine code reads it there.
    Strided(u32),
}

/// Where a register lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Number of the buffer within its lane's pool.
    pub(super) slot: u32,
    pub(super) direct: Direct,
}

impl Place {
    /// Whether the register lies in the memory of an input when a chunk is a range.
    pub(super) fn is_input(self) -> bool {
        matches!(self.direct, Direct::Input(_) | Direct::Strided(_))
    }
}

/// Where a register lies, and how long it is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) place: Place,
    /// Whether it is a wanted result, and so stays to the end of the chunk.
    pub(super) wanted: bool,
    /// Whether it is the same for all elements.
    pub(super) uniform: bool,
    /// Number of operands of needed instructions that it is.
    pub(super) n_uses: u32,
    /// The last task that reads it.
    pub(super) last_use: u32,
}

/// The layout of an input, as far as plans depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One value for all elements.
    Single,
    /// One for each, without gaps.
    Each,
    /// One for each, within stored values of several lanes.
    Strided {
        offset: usize,
        stride: usize,
        /// Whether the lanes are those of the input before.
        joined: bool,
    },
    /// Anything else.
    Other,
}

/// The layout of an output, as far as plans depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sink {
    pub(super) first: usize,
    pub(super) width: usize,
    pub(super) stride: usize,
}

impl Sink {
    /// Whether elements are 2 to 4 results side by side, without gaps.
    pub(super) fn is_interleaved(&self) -> bool {
        self.width == self.stride && matches!(self.width, 2..=4)
    }
}

pub(super) fn source_of(inputs: &[LaneInput<'_>], number: usize) -> Source {
    match &inputs[number] {
        LaneInput::Lanes { map: Map::Single, .. } => Source::Single,
        LaneInput::Lanes { map: Map::Each, stride: 1, .. } => Source::Each,
        LaneInput::Lanes { map: Map::Each, stride, offset, lanes } => {
            let joined = number > 0
                && matches!(&inputs[number - 1], LaneInput::Lanes { lanes: before, .. } if before.same(lanes));
            Source::Strided { offset: *offset, stride: *stride, joined }
        }
        LaneInput::Lanes { .. } | LaneInput::Range { .. } => Source::Other,
    }
}

pub(super) fn sink_of(output: &LaneOutput<'_>) -> Sink {
    Sink { first: output.first, width: output.width, stride: output.stride }
}
