//! Axes and shapes: the axes along which a value varies, and the layout of its cells in memory.
//!
//! A shape is a set of axes. Its cells are in row-major order, axes of the request outermost, an
//! axis of a loop inside the axes that were open when the loop began. An axis whose extent varies
//! between cells of its *parents* is ragged; a shape with a ragged axis has its parents too.
//! Different axes form a product, the same axis zips: the union of two shapes has each axis once.

use std::sync::Arc;

use millstream_base::id::{Arena, Id};
use millstream_base::map::Map;
use millstream_base::{Mask, define_id};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

define_id!(AxisId, "a", "One axis of an evaluation.");
define_id!(ShapeId, "h", "One set of axes of an evaluation.");

/// The number of cells of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Extent {
    /// The same number everywhere.
    Even(usize),
    /// A number for each cell of the parents.
    Ragged { parents: ShapeId, counts: Arc<[u32]> },
    /// Unknown: a placeholder while shapes are found before values.
    Symbolic { parents: ShapeId },
}

/// The axes of a shape, ascending.
pub(crate) type AxisSet = SmallVec<[AxisId; 4]>;

#[derive(Debug)]
struct Shape {
    axes: AxisSet,
    layout: Option<Arc<Layout>>,
}

/// The layout of the cells of a shape in memory.
#[derive(Debug)]
pub(crate) struct Layout {
    /// For each axis the split of the cells of the axes before it.
    pub(crate) levels: Vec<Level>,
    pub(crate) n_cells: usize,
}

/// The split along an axis of the cells before it.
#[derive(Debug)]
pub(crate) enum Level {
    /// Each into the same number.
    Even(usize),
    /// Cell `i` into `offsets[i]..offsets[i + 1]`.
    Ragged(Vec<usize>),
}

/// The map from the cells of a larger shape to the corresponding cells of a smaller one.
#[derive(Clone, Debug)]
pub(crate) enum CellMap {
    Each,
    Single,
    Tile(usize),
    Stretch(usize),
    Table(Arc<[u32]>),
}

/// This shape has more cells than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyCells(pub(crate) ShapeId);

/// The axes and shapes of one evaluation.
#[derive(Debug)]
pub(crate) struct Shapes {
    axes: Arena<AxisId, Extent>,
    shapes: Arena<ShapeId, Shape>,
    by_axes: FxHashMap<AxisSet, ShapeId>,
    unions: FxHashMap<(ShapeId, ShapeId), ShapeId>,
    maps: FxHashMap<(ShapeId, ShapeId), CellMap>,
    max_cells: usize,
}

impl Shapes {
    /// No axes; the shape without axes is [`Shapes::scalar`].
    pub(crate) fn new(max_cells: usize) -> Self {
        let mut shapes = Self {
            axes: Arena::new(),
            shapes: Arena::new(),
            by_axes: FxHashMap::default(),
            unions: FxHashMap::default(),
            maps: FxHashMap::default(),
            max_cells: max_cells.min(u32::MAX as usize - 1),
        };
        shapes.intern(AxisSet::new());
        shapes
    }

    /// The shape of one cell.
    pub(crate) fn scalar() -> ShapeId {
        ShapeId::from_index(0)
    }

    pub(crate) fn add_axis(&mut self, extent: Extent) -> AxisId {
        self.axes.push(extent)
    }

    pub(crate) fn extent(&self, axis: AxisId) -> &Extent {
        &self.axes[axis]
    }

    pub(crate) fn axes_of(&self, shape: ShapeId) -> &[AxisId] {
        &self.shapes[shape].axes
    }

    /// The parents of an axis; the shape of one cell if it has none.
    pub(crate) fn parents(&self, axis: AxisId) -> ShapeId {
        match &self.axes[axis] {
            Extent::Even(_) => Self::scalar(),
            Extent::Ragged { parents, .. } | Extent::Symbolic { parents } => *parents,
        }
    }

    fn intern(&mut self, axes: AxisSet) -> ShapeId {
        if let Some(id) = self.by_axes.get(&axes) {
            return *id;
        }
        let id = self.shapes.push(Shape { axes: axes.clone(), layout: None });
        self.by_axes.insert(axes, id);
        id
    }

    /// The axis with its parents.
    pub(crate) fn along(&mut self, axis: AxisId) -> ShapeId {
        let mut axes = self.shapes[self.parents(axis)].axes.clone();
        axes.push(axis);
        axes.sort_unstable();
        self.intern(axes)
    }

    /// The shape with all axes of both.
    pub(crate) fn union(&mut self, a: ShapeId, b: ShapeId) -> ShapeId {
        if a == b || b == Self::scalar() {
            return a;
        }
        if a == Self::scalar() {
            return b;
        }
        if let Some(union) = self.unions.get(&(a, b)) {
            return *union;
        }
        let mut axes = self.shapes[a].axes.clone();
        axes.extend(self.shapes[b].axes.iter().copied());
        axes.sort_unstable();
        axes.dedup();
        let union = self.intern(axes);
        self.unions.insert((a, b), union);
        union
    }

    /// The shape without one axis, and without those whose extent depends on it.
    pub(crate) fn without(&mut self, shape: ShapeId, axis: AxisId) -> ShapeId {
        let stays = |a: &AxisId| *a != axis && !self.contains(self.parents(*a), axis);
        let axes = self.shapes[shape].axes.iter().copied().filter(stays).collect();
        self.intern(axes)
    }

    /// Whether each axis has the same extent everywhere.
    pub(crate) fn is_even(&self, shape: ShapeId) -> bool {
        let axes = &self.shapes[shape].axes;
        axes.iter().all(|axis| matches!(self.axes[*axis], Extent::Even(_)))
    }

    pub(crate) fn contains(&self, shape: ShapeId, axis: AxisId) -> bool {
        self.shapes[shape].axes.contains(&axis)
    }

    /// Whether the extent of another axis of the shape depends on the cells of `axis`.
    pub(crate) fn depends_on(&self, shape: ShapeId, axis: AxisId) -> bool {
        let others = self.shapes[shape].axes.iter().filter(|other| **other != axis);
        others.into_iter().any(|other| self.contains(self.parents(*other), axis))
    }

    /// The layout of the cells in memory.
    pub(crate) fn layout(&mut self, shape: ShapeId) -> Result<Arc<Layout>, TooManyCells> {
        if let Some(layout) = &self.shapes[shape].layout {
            return Ok(Arc::clone(layout));
        }
        let axes = self.shapes[shape].axes.clone();
        let mut levels = Vec::with_capacity(axes.len());
        let mut n_cells = 1_usize;
        for (i, axis) in axes.iter().enumerate() {
            let level = match self.axes[*axis].clone() {
                Extent::Even(n) => {
                    n_cells = n_cells.saturating_mul(n);
                    Level::Even(n)
                }
                Extent::Ragged { parents, counts } => {
                    let before = self.intern(axes[..i].iter().copied().collect());
                    let map = self.map(before, parents)?;
                    let map = map.as_map();
                    let mut offsets = Vec::with_capacity(n_cells + 1);
                    let mut total = 0_usize;
                    offsets.push(0);
                    for cell in 0..n_cells {
                        total = total.saturating_add(counts[map.entry(cell)] as usize);
                        offsets.push(total);
                    }
                    n_cells = total;
                    Level::Ragged(offsets)
                }
                Extent::Symbolic { .. } => {
                    panic!("cells are counted only along axes whose extent is known")
                }
            };
            if n_cells > self.max_cells {
                return Err(TooManyCells(shape));
            }
            levels.push(level);
        }
        let layout = Arc::new(Layout { levels, n_cells });
        self.shapes[shape].layout = Some(Arc::clone(&layout));
        Ok(layout)
    }

    /// Maximal number of cells of a shape.
    pub(crate) fn max_cells(&self) -> usize {
        self.max_cells
    }

    /// Number of cells.
    pub(crate) fn n_cells(&mut self, shape: ShapeId) -> Result<usize, TooManyCells> {
        Ok(self.layout(shape)?.n_cells)
    }

    /// The map from the cells of `large` to those of `small`; `large` has all axes of `small`.
    pub(crate) fn map(&mut self, large: ShapeId, small: ShapeId) -> Result<CellMap, TooManyCells> {
        if large == small {
            return Ok(CellMap::Each);
        }
        if small == Self::scalar() {
            return Ok(CellMap::Single);
        }
        if let Some(map) = self.maps.get(&(large, small)) {
            return Ok(map.clone());
        }
        let map = self.find_map(large, small)?;
        self.maps.insert((large, small), map.clone());
        Ok(map)
    }

    fn find_map(&mut self, large: ShapeId, small: ShapeId) -> Result<CellMap, TooManyCells> {
        let layout = self.layout(large)?;
        let small_layout = self.layout(small)?;
        let (axes, small_axes) = (&self.shapes[large].axes, &self.shapes[small].axes);
        debug_assert!(
            small_axes.iter().all(|axis| axes.contains(axis)),
            "the smaller shape lies within the larger"
        );
        let even = |levels: &[Level]| {
            levels.iter().try_fold(1_usize, |n, level| match level {
                Level::Even(extent) => Some(n * extent),
                Level::Ragged(_) => None,
            })
        };
        let n = small_axes.len();
        if axes[..n] == small_axes[..]
            && let Some(inner) = even(&layout.levels[n..])
            && inner > 0
        {
            return Ok(CellMap::Stretch(inner));
        }
        if axes[axes.len() - n..] == small_axes[..]
            && even(&layout.levels).is_some()
            && small_layout.n_cells > 0
        {
            return Ok(CellMap::Tile(small_layout.n_cells));
        }
        // Descends the axes of the larger shape, with the cell of the smaller one for each cell.
        let mut cells: Vec<u32> = vec![0];
        let mut small_levels = small_layout.levels.iter();
        for (axis, level) in axes.iter().zip(&layout.levels) {
            let inside = small_axes.contains(axis).then(|| small_levels.next()).flatten();
            let mut next = Vec::new();
            for (cell, small_cell) in cells.iter().enumerate() {
                let n_children = match level {
                    Level::Even(n) => *n,
                    Level::Ragged(offsets) => offsets[cell + 1] - offsets[cell],
                };
                match inside {
                    None => next.extend(std::iter::repeat_n(*small_cell, n_children)),
                    Some(Level::Even(n)) => {
                        let first = *small_cell * *n as u32;
                        next.extend((0..n_children as u32).map(|child| first + child));
                    }
                    Some(Level::Ragged(offsets)) => {
                        let first = offsets[*small_cell as usize] as u32;
                        next.extend((0..n_children as u32).map(|child| first + child));
                    }
                }
            }
            cells = next;
        }
        Ok(CellMap::Table(cells.into()))
    }

    /// The cells of `to` that some cell of the mask over `from` needs: the mask is projected by *any*
    /// along the axes that only `from` has, and widened to those that only `to` has.
    pub(crate) fn project(
        &mut self,
        from: ShapeId,
        mask: &Mask,
        to: ShapeId,
    ) -> Result<Mask, TooManyCells> {
        if from == to {
            return Ok(mask.clone());
        }
        let axes = self.shapes[from].axes.iter().copied().filter(|axis| self.contains(to, *axis));
        let both = axes.collect();
        let both = self.intern(both);
        let n_both = self.n_cells(both)?;
        let common = match self.map(from, both)? {
            CellMap::Each => mask.clone(),
            CellMap::Single if mask.is_empty() => Mask::empty(),
            CellMap::Single => Mask::full(1),
            CellMap::Tile(n) => mask.project_inner(n),
            CellMap::Stretch(inner) => mask.project_outer(inner),
            CellMap::Table(table) => mask.project_any(n_both, |i| table[i] as usize),
        };
        let n_to = self.n_cells(to)?;
        Ok(match self.map(to, both)? {
            CellMap::Each => common,
            CellMap::Single if common.is_empty() => Mask::empty(),
            CellMap::Single => Mask::full(n_to),
            CellMap::Tile(n) => common.expand_inner(n, n_to / n),
            CellMap::Stretch(inner) => common.expand_outer(inner),
            CellMap::Table(table) => common.expand(n_to, |i| table[i] as usize),
        })
    }

    /// The first cell at each position of the outermost axis; empty if that is another axis.
    pub(crate) fn starts(&mut self, shape: ShapeId, outermost: AxisId) -> Vec<usize> {
        if self.shapes[shape].axes.first() != Some(&outermost) {
            return Vec::new();
        }
        let Ok(layout) = self.layout(shape) else { return Vec::new() };
        let Some((Level::Even(n), inner)) = layout.levels.split_first() else { return Vec::new() };
        let first = |at: usize, level: &Level| match level {
            Level::Even(n) => at * n,
            Level::Ragged(offsets) => offsets[at],
        };
        (0..*n).map(|at| inner.iter().fold(at, first)).collect()
    }

    /// The position of a cell along each axis, outermost first.
    pub(crate) fn coordinates(&mut self, shape: ShapeId, cell: usize) -> Vec<(AxisId, usize)> {
        let Ok(layout) = self.layout(shape) else { return Vec::new() };
        let mut coordinates = Vec::with_capacity(layout.levels.len());
        let mut at = cell;
        for (axis, level) in self.shapes[shape].axes.iter().zip(&layout.levels).rev() {
            let (outer, position) = match level {
                Level::Even(n) => (at / n, at % n),
                Level::Ragged(offsets) => {
                    let outer = offsets.partition_point(|offset| *offset <= at) - 1;
                    (outer, at - offsets[outer])
                }
            };
            coordinates.push((*axis, position));
            at = outer;
        }
        coordinates.reverse();
        coordinates
    }
}

impl CellMap {
    /// The map in the form that kernels take.
    pub(crate) fn as_map(&self) -> Map<'_> {
        match self {
            Self::Each => Map::Each,
            Self::Single => Map::Single,
            Self::Tile(n) => Map::Tile(*n),
            Self::Stretch(n) => Map::Stretch(*n),
            Self::Table(table) => Map::Table(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(map: &CellMap, n: usize) -> Vec<usize> {
        (0..n).map(|i| map.as_map().entry(i)).collect()
    }

    #[test]
    fn different_axes_form_a_product() {
        let mut shapes = Shapes::new(1000);
        let time = shapes.add_axis(Extent::Even(2));
        let index = shapes.add_axis(Extent::Even(3));
        let (time, index) = (shapes.along(time), shapes.along(index));
        let both = shapes.union(index, time);
        assert_eq!(shapes.n_cells(both), Ok(6));
        let over_time = shapes.map(both, time).expect("few cells");
        let over_index = shapes.map(both, index).expect("few cells");
        assert_eq!(table(&over_time, 6), [0, 0, 0, 1, 1, 1]);
        assert_eq!(table(&over_index, 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_ragged_axis_lies_within_its_parents() {
        let mut shapes = Shapes::new(1000);
        let time = shapes.add_axis(Extent::Even(2));
        let outer = shapes.add_axis(Extent::Even(3));
        let parents = shapes.along(outer);
        let ragged = Extent::Ragged { parents, counts: [2, 0, 1].into() };
        let inner = shapes.add_axis(ragged);
        let (time, inner) = (shapes.along(time), shapes.along(inner));
        assert_eq!(shapes.n_cells(inner), Ok(3));
        let all = shapes.union(time, inner);
        assert_eq!(shapes.n_cells(all), Ok(6));
        let map = shapes.map(all, parents).expect("few cells");
        assert_eq!(table(&map, 6), [0, 0, 2, 0, 0, 2]);
        let map = shapes.map(all, inner).expect("few cells");
        assert_eq!(table(&map, 6), [0, 1, 2, 0, 1, 2]);
        let places: Vec<usize> = shapes.coordinates(all, 5).into_iter().map(|(_, i)| i).collect();
        assert_eq!(places, [1, 2, 0]);
    }

    #[test]
    fn masks_widen_and_project_by_any() {
        let mut shapes = Shapes::new(1000);
        let time = shapes.add_axis(Extent::Even(2));
        let index = shapes.add_axis(Extent::Even(3));
        let (time, index) = (shapes.along(time), shapes.along(index));
        let both = shapes.union(time, index);
        let some = Mask::from_indices(vec![1, 4]).expect("ascending");
        let over_index = shapes.project(both, &some, index).expect("few cells");
        assert_eq!(over_index.iter().collect::<Vec<_>>(), [1]);
        let over_time = shapes.project(both, &some, time).expect("few cells");
        assert_eq!(over_time, Mask::full(2));
        let one = Mask::from_indices(vec![2]).expect("ascending");
        let across = shapes.project(index, &one, time).expect("few cells");
        assert_eq!(across, Mask::full(2));
    }

    #[test]
    fn too_many_cells_are_refused() {
        let mut shapes = Shapes::new(1000);
        let a = shapes.add_axis(Extent::Even(100));
        let b = shapes.add_axis(Extent::Even(100));
        let (a, b) = (shapes.along(a), shapes.along(b));
        let both = shapes.union(a, b);
        assert_eq!(shapes.n_cells(both), Err(TooManyCells(both)));
    }

    #[test]
    fn masks_of_different_axes_need_no_product_of_them() {
        let mut shapes = Shapes::new(6);
        let [a, b, c] = [2, 3, 3].map(|n| shapes.add_axis(Extent::Even(n)));
        let (along_a, along_b, along_c) = (shapes.along(a), shapes.along(b), shapes.along(c));
        let (ab, ac) = (shapes.union(along_a, along_b), shapes.union(along_a, along_c));
        let all = shapes.union(ab, ac);
        assert_eq!(shapes.n_cells(all), Err(TooManyCells(all)));
        // Cells of the second half of `a` need those of that half, whatever the other axis is.
        let some = Mask::from_indices(vec![4]).expect("it ascends");
        assert_eq!(shapes.project(ab, &some, ac), Ok(Mask::range(3..6)));
        assert_eq!(shapes.project(ab, &some, along_a), Ok(Mask::range(1..2)));
        assert_eq!(shapes.project(ab, &some, along_b), Ok(Mask::range(1..2)));
        assert_eq!(shapes.project(ab, &some, along_c), Ok(Mask::full(3)));
        assert_eq!(shapes.project(ab, &Mask::empty(), along_c), Ok(Mask::empty()));
        assert_eq!(shapes.project(along_a, &Mask::range(0..1), ab), Ok(Mask::range(0..3)));
    }
}
