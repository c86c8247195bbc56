//! Rows of an image, continued beyond it.

use std::ops::Range;

use millstream_base::image::Image;

use crate::lanes::Cell;
use crate::region::Edge;

/// Rows of an image and what lies beyond it. Positions are those of the view.
pub(crate) struct Rows<'a> {
    image: &'a Image,
    edge: Edge,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(image: &'a Image, edge: Edge) -> Self {
        Self { image, edge }
    }

    /// Sets `to` to the channels of the pixels `columns` of a row.
    pub(crate) fn read<T: Cell>(&self, row: i64, columns: Range<i64>, to: &mut Vec<T>) {
        to.clear();
        let (n, n_rows) = (self.image.width(), self.image.height());
        let [x, y, ..] = self.image.view().crop.map(i64::from);
        let n_channels = self.image.n_channels();
        let n_values = columns.clone().count() * n_channels;
        let Some(row) = self.edge.index(row - y, n_rows).filter(|_| n > 0) else {
            to.resize(n_values, T::read(0.0));
            return;
        };
        let row = &self.image.channels()[row * n * n_channels..][..n * n_channels];
        let columns = columns.start - x..columns.end - x;
        let inside = columns.start.clamp(0, n as i64)..columns.end.clamp(0, n as i64);
        let beyond = |columns: Range<i64>, to: &mut Vec<T>| {
            for column in columns {
                match self.edge.index(column, n) {
                    Some(column) => {
                        T::append(&row[column * n_channels..][..n_channels], to);
                    }
                    None => to.extend(std::iter::repeat_n(T::read(0.0), n_channels)),
                }
            }
        };
        if inside.is_empty() {
            return beyond(columns, to);
        }
        beyond(columns.start..inside.start, to);
        let plain = inside.start as usize * n_channels..inside.end as usize * n_channels;
        T::append(&row[plain], to);
        beyond(inside.end..columns.end, to);
    }
}
