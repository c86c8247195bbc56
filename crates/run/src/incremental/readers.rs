//! Gathers: where a function reads items of lists at known positions, after a change of few items
//! only the elements that read them run.
//!
//! The positions are looked up again at each change, in one pass over the elements. So nothing is
//! stored for them, and they may change together with the items.

use millstream_base::Mask;
use millstream_node::gather::{Gather, ItemsRead};
use millstream_node::{Argument, Kernel};
use smallvec::SmallVec;

use super::changes::Wanted;
use super::memo::Stamp;
use super::memoized::Memoized;
use crate::kernel::{Crew, looked_at};
use crate::shape::{ShapeId, Shapes};
use crate::walk::{Place, Stop, Walk};

impl<'a> Walk<'a, Memoized<'_>> {
    /// How the step of a task reads the items of a list, if it computes each element from a few.
    pub(super) fn items_read(&self, top: usize) -> Option<&'a dyn ItemsRead> {
        let plan = self.plan;
        match &plan.instances[self.instance_id(self.stack[top].step)].kernel {
            Kernel::Function(function) => match function.gather() {
                Some(Gather::Elements(reads)) => Some(reads),
                Some(Gather::Copies(_) | Gather::Items(_)) | None => None,
            },
            Kernel::Form(_)
            | Kernel::Pass
            | Kernel::Read { .. }
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// Those of some cells of a result over `shape` that read an item of a list which changed
    /// between two stamps; `None` if that is not known. In these cells all other operands are known
    /// and unchanged.
    pub(super) fn readers_among(
        &mut self,
        (shape, cells): (ShapeId, &Mask),
        reads: &dyn ItemsRead,
        (from, to): (Stamp, Stamp),
        of: &Wanted<'_>,
    ) -> Result<Option<Mask>, Stop> {
        let places: SmallVec<[Place; 4]> = of.by_element.iter().map(|it| it.place).collect();
        let n_cells = self.shapes.n_cells(shape)?;
        let maps = self.maps(shape, &places)?;
        let list = reads.list();
        let is_shared = of.by_element[list].shape == Shapes::scalar();
        let Some(items) = self.mode.memo.changes.items_between(from, to) else { return Ok(None) };
        let mut is_changed = vec![false; items.bounds().map_or(0, |bounds| bounds.end)];
        items.for_each(|item| is_changed[item] = true);
        let argument = |(place, map)| Argument::shared(self.read(place).0, map);
        let maps = maps.iter().map(|map| map.as_map());
        let mut arguments: Vec<Argument<'_>> = places.into_iter().zip(maps).map(argument).collect();
        let clock = &self.clock;
        let is_over = || clock.check().is_err();
        let crew: Crew<'_> = (1, &is_over, clock.flag());
        let readers = looked_at((cells, n_cells), self.limits, crew, &mut arguments, |call| {
            let lists = call.lists(list);
            let mut readers: Vec<u32> = Vec::new();
            reads.items_read(call, &mut |cell, item| {
                let start = if is_shared { 0 } else { lists.parts(cell).1.start };
                let is_reader = is_changed.get(start + item) == Some(&true);
                if is_reader && readers.last() != Some(&(cell as u32)) {
                    readers.push(cell as u32);
                }
            })?;
            Ok(readers)
        });
        // A failure is reported when the step runs.
        let Ok(mut readers) = readers else { return Ok(None) };
        readers.sort_unstable();
        readers.dedup();
        Ok(Mask::from_indices(readers).ok())
    }
}
