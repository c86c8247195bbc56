//! The storage of lanes: slices of the caller and chunk buffers, one kind for each lane.

use millstream_base::lane::Lane;

use crate::lane_value::LaneValue;

/// The alignment in bytes at which wide loads are fastest: a cache line.
const LINE: usize = 64;

/// A chunk buffer: lanes that begin at a cache line.
#[derive(Debug, Default)]
pub(crate) struct Buffer<A> {
    lanes: Vec<A>,
    start: usize,
}

impl<A: LaneValue> Buffer<A> {
    /// Makes room for `len` lanes; their values are lost if the buffer grows.
    fn reserve(&mut self, len: usize) {
        let spare = LINE / size_of::<A>();
        if self.lanes.len() < len + spare {
            self.lanes = vec![A::default(); len + spare];
            self.start = self.lanes.as_ptr().align_offset(LINE).min(spare);
        }
    }

    /// The first `len` lanes.
    #[inline]
    pub(crate) fn first(&self, len: usize) -> &[A] {
        &self.lanes[self.start..self.start + len]
    }

    /// The first `len` lanes.
    #[inline]
    pub(crate) fn first_mut(&mut self, len: usize) -> &mut [A] {
        &mut self.lanes[self.start..self.start + len]
    }
}

macro_rules! lanes {
    ($($(#[$doc:meta])* $lane:ident $type:ident $pool:ident;)*) => {
        /// A slice of lanes of one type.
        #[derive(Clone, Copy, Debug)]
        pub enum LaneSlice<'a> {
            $($(#[$doc])* $lane(&'a [$type]),)*
        }

        /// A mutable slice of lanes of one type.
        #[derive(Debug)]
        pub enum LaneSliceMut<'a> {
            $($(#[$doc])* $lane(&'a mut [$type]),)*
        }

        /// A chunk buffer of any lane.
        #[derive(Debug)]
        pub(crate) enum AnyBuffer {
            $($lane(Buffer<$type>),)*
        }

        impl AnyBuffer {
            /// The first `len` lanes.
            pub(crate) fn first_mut(&mut self, len: usize) -> LaneSliceMut<'_> {
                match self {
                    $(Self::$lane(buffer) => LaneSliceMut::$lane(buffer.first_mut(len)),)*
                }
            }
        }

        impl Pools {
            /// Takes a buffer out, which [`Pools::put_back`] brings back.
            pub(crate) fn take_out(&mut self, lane: Lane, slot: usize) -> AnyBuffer {
                match lane {
                    $(Lane::$lane => AnyBuffer::$lane(std::mem::take(&mut self.$pool[slot])),)*
                }
            }

            pub(crate) fn put_back(&mut self, slot: usize, buffer: AnyBuffer) {
                match buffer {
                    $(AnyBuffer::$lane(buffer) => self.$pool[slot] = buffer,)*
                }
            }
        }

        /// Chunk buffers of each lane.
        #[derive(Debug, Default)]
        pub(crate) struct Pools {
            $($pool: Vec<Buffer<$type>>,)*
        }

        impl LaneSlice<'_> {
            /// The lane of the elements.
            pub fn lane(&self) -> Lane {
                match self {
                    $(Self::$lane(_) => Lane::$lane,)*
                }
            }

            /// The memory.
            pub(crate) fn bytes(&self) -> &[u8] {
                match self {
                    $(Self::$lane(lanes) => bytemuck::cast_slice(lanes),)*
                }
            }
        }

        impl<'a> LaneSlice<'a> {
            /// The lanes without the first `n`.
            ///
            /// # Panics
            /// If there are fewer.
            pub fn without_first(self, n: usize) -> Self {
                match self {
                    $(Self::$lane(lanes) => Self::$lane(&lanes[n..]),)*
                }
            }

            /// Some of the lanes.
            pub(crate) fn part(self, range: std::ops::Range<usize>) -> Self {
                match self {
                    $(Self::$lane(lanes) => Self::$lane(&lanes[range]),)*
                }
            }

            /// Whether these are the same lanes in memory.
            pub(crate) fn same(&self, other: &LaneSlice<'a>) -> bool {
                match (self, other) {
                    $((Self::$lane(a), Self::$lane(b)) => std::ptr::eq(*a, *b),)*
                    _ => false,
                }
            }
        }

        impl<'a> LaneSliceMut<'a> {
            /// Takes the slice out; an empty one stays.
            pub(crate) fn take(&mut self) -> Self {
                match self {
                    $(Self::$lane(lanes) => Self::$lane(std::mem::take(lanes)),)*
                }
            }

            /// Some of the lanes.
            pub(crate) fn part(&mut self, range: std::ops::Range<usize>) -> LaneSliceMut<'_> {
                match self {
                    $(Self::$lane(lanes) => LaneSliceMut::$lane(&mut lanes[range]),)*
                }
            }

            /// Where the memory begins.
            pub(crate) fn start(&mut self) -> *mut u8 {
                match self {
                    $(Self::$lane(lanes) => lanes.as_mut_ptr().cast(),)*
                }
            }
        }

        impl LaneSliceMut<'_> {
            /// The lane of the elements.
            pub fn lane(&self) -> Lane {
                match self {
                    $(Self::$lane(_) => Lane::$lane,)*
                }
            }

            /// The memory.
            pub(crate) fn bytes(&self) -> &[u8] {
                match self {
                    $(Self::$lane(lanes) => bytemuck::cast_slice(lanes),)*
                }
            }
        }

        $(
            impl<'a> From<&'a [$type]> for LaneSlice<'a> {
                fn from(lanes: &'a [$type]) -> Self {
                    Self::$lane(lanes)
                }
            }

            impl<'a> From<&'a mut [$type]> for LaneSliceMut<'a> {
                fn from(lanes: &'a mut [$type]) -> Self {
                    Self::$lane(lanes)
                }
            }
        )*
    };
}

lanes! {
    /// Truth values.
    Bool bool bools;
    /// 32-bit integers.
    I32 i32 i32s;
    /// 64-bit integers.
    I64 i64 i64s;
    /// 32-bit floats.
    F32 f32 f32s;
    /// 64-bit floats.
    F64 f64 f64s;
}

impl Pools {
    /// Makes room for `n_slots[lane]` buffers of `len` elements for each lane.
    pub(crate) fn reserve(&mut self, n_slots: [usize; 5], len: usize) {
        fn grow<A: Stored>(pools: &mut Pools, n_slots: usize, len: usize) {
            let pool = A::pool_mut(pools);
            if pool.len() < n_slots {
                pool.resize_with(n_slots, Buffer::default);
            }
            for buffer in &mut pool[..n_slots] {
                buffer.reserve(len);
            }
        }
        let [bools, i32s, i64s, f32s, f64s] = n_slots;
        grow::<bool>(self, bools, len);
        grow::<i32>(self, i32s, len);
        grow::<i64>(self, i64s, len);
        grow::<f32>(self, f32s, len);
        grow::<f64>(self, f64s, len);
    }
}

/// The type of a lane, with access to its variant of the slices and its pool of buffers.
pub(crate) trait Stored: LaneValue {
    fn view<'a>(lanes: &LaneSlice<'a>) -> &'a [Self];
    fn view_output<'a>(lanes: &'a LaneSliceMut<'_>) -> &'a [Self];
    /// Takes the slice out and leaves an empty one.
    fn take<'l>(lanes: &mut LaneSliceMut<'l>) -> &'l mut [Self];
    /// The slice as one of its lane.
    fn put(slice: &mut [Self]) -> LaneSliceMut<'_>;
    fn pool(pools: &Pools) -> &[Buffer<Self>];
    fn pool_mut(pools: &mut Pools) -> &mut Vec<Buffer<Self>>;
}

macro_rules! stored {
    ($($type:ident $lane:ident $pool:ident;)*) => {$(
        impl Stored for $type {
            #[inline]
            fn view<'a>(lanes: &LaneSlice<'a>) -> &'a [Self] {
                match lanes {
                    LaneSlice::$lane(slice) => slice,
                    other => wrong_lane(Self::LANE, other.lane()),
                }
            }
            #[inline]
            fn view_output<'a>(lanes: &'a LaneSliceMut<'_>) -> &'a [Self] {
                match lanes {
                    LaneSliceMut::$lane(slice) => slice,
                    other => wrong_lane(Self::LANE, other.lane()),
                }
            }
            #[inline]
            fn take<'l>(lanes: &mut LaneSliceMut<'l>) -> &'l mut [Self] {
                match lanes {
                    LaneSliceMut::$lane(slice) => std::mem::take(slice),
                    other => wrong_lane(Self::LANE, other.lane()),
                }
            }
            #[inline]
            fn put(slice: &mut [Self]) -> LaneSliceMut<'_> {
                LaneSliceMut::$lane(slice)
            }
            #[inline]
            fn pool(pools: &Pools) -> &[Buffer<Self>] {
                &pools.$pool
            }
            #[inline]
            fn pool_mut(pools: &mut Pools) -> &mut Vec<Buffer<Self>> {
                &mut pools.$pool
            }
        }
    )*};
}

stored! {
    bool Bool bools;
    i32 I32 i32s;
    i64 I64 i64s;
    f32 F32 f32s;
    f64 F64 f64s;
}

#[cold]
fn wrong_lane(wanted: Lane, found: Lane) -> ! {
    panic!("storage has its register's lane, but {found} stands for {wanted}")
}
