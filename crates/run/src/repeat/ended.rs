//! Elements whose rounds are over, with their values, until all have ended.

use millstream_base::{Column, Type};
use millstream_node::{Call, Data};

/// The values set aside for one output.
#[derive(Debug)]
struct Pieces {
    output: usize,
    ty: Type,
    /// In sequence, the values of pieces: one for all elements of the piece, or one each.
    pieces: Vec<(Data, usize)>,
}

/// Elements that ended, piece by piece.
#[derive(Debug)]
pub(super) struct Ended {
    elements: Vec<u32>,
    outputs: Vec<Pieces>,
}

impl Ended {
    /// No elements yet, for these outputs with their types.
    pub(super) fn new(outputs: impl Iterator<Item = (usize, Type)>) -> Self {
        let pieces = |(output, ty)| Pieces { output, ty, pieces: Vec::new() };
        Self { elements: Vec::new(), outputs: outputs.map(pieces).collect() }
    }

    /// Sets elements aside; `value` returns the values of an output for them, in their order.
    pub(super) fn add(&mut self, elements: &[u32], value: impl Fn(usize) -> Data) {
        if elements.is_empty() {
            return;
        }
        self.elements.extend_from_slice(elements);
        for output in &mut self.outputs {
            output.pieces.push((value(output.output), elements.len()));
        }
    }

    /// Sets the outputs of the call to one value for all elements or to columns; to columns if any
    /// input is a column, since readers rely on that.
    pub(super) fn finish(self, call: &mut Call<'_>, is_one: bool) {
        let extent = call.extent();
        let is_in_order = self.elements.iter().copied().eq(0..extent as u32);
        // The place of each element; those outside the mask have any value.
        let mut places = Vec::new();
        if !is_one && !is_in_order {
            places = vec![0_u32; extent];
            for (place, element) in self.elements.iter().enumerate() {
                places[*element as usize] = place as u32;
            }
        }
        for Pieces { output, ty, pieces } in self.outputs {
            if is_one {
                let value =
                    pieces.first().map_or_else(|| ty.default_value(), |(data, _)| data.get(0));
                call.set_one(output, value);
                continue;
            }
            if self.elements.is_empty() {
                call.set(output, Column::filled(&ty.default_value(), extent));
                continue;
            }
            let columns = pieces.into_iter().map(|(data, n)| match data {
                Data::One(value) => Column::filled(&value, n),
                Data::Many(column) => column,
            });
            let mut columns: Vec<Column> = columns.collect();
            let all = if columns.len() == 1 {
                columns.remove(0)
            } else {
                Column::concat(ty, &columns).expect("the values are of the output's type")
            };
            let in_order =
                if is_in_order { all } else { all.gather(places.iter().map(|p| *p as usize)) };
            call.set(output, in_order);
        }
    }
}
