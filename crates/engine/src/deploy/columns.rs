//! The values of a compact form: types by name, and columns that refer only to earlier ones, so
//! that reading does not recurse. A single value is a column of one entry.

use std::sync::Arc;

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Footprint, Image, Lane, Table, Type, Value};
use millstream_form::canonical_bits;
use millstream_node::Registry;
use serde::{Deserialize, Serialize};

use super::binary::BinaryError;

/// Types and columns as they are written.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Written {
    types: Vec<String>,
    columns: Vec<WrittenColumn>,
}

#[derive(Serialize, Deserialize)]
struct WrittenColumn {
    ty: u32,
    entries: Entries,
}

/// The entries of a column; the numbers of a vector follow each other.
#[derive(Serialize, Deserialize)]
enum Entries {
    Bools(Vec<bool>),
    I32s(Vec<i32>),
    I64s(Vec<i64>),
    F32s(Vec<f32>),
    F64s(Vec<f64>),
    Texts(Vec<Arc<str>>),
    /// Resolution, crop and transform of each view.
    Footprints(Vec<([i32; 2], [i32; 4], [f32; 16])>),
    /// The view of each image, a column of one entry, and the column of its pixels.
    Images(Vec<(u32, u32)>),
    /// The lengths of lists, and the column that holds their items one after the other.
    Lists(Vec<u32>, u32),
    /// The names of columns, and the columns.
    Tables(Vec<Vec<(Arc<str>, u32)>>),
}

/// Collects types and columns that are to be written.
#[derive(Default)]
pub(super) struct Columns {
    types: Vec<Type>,
    columns: Vec<WrittenColumn>,
}

impl Columns {
    /// The number of a type.
    pub(super) fn ty(&mut self, ty: Type) -> u32 {
        let at = self.types.iter().position(|known| *known == ty).unwrap_or_else(|| {
            self.types.push(ty);
            self.types.len() - 1
        });
        at as u32
    }

    /// The number of the column that holds one value.
    pub(super) fn value(&mut self, value: &Value) -> u32 {
        self.column(&Column::filled(value, 1))
    }

    fn column(&mut self, column: &Column) -> u32 {
        let ty = column.ty();
        let entries = if let Some((lane, n)) = ty.lanes() {
            let lanes = column.iter().flat_map(move |value| {
                (0..usize::from(n)).map(move |i| value.lane(i).expect("the type has the lane"))
            });
            match lane {
                Lane::Bool => Entries::Bools(lanes.map(|bits| bits != 0).collect()),
                Lane::I32 => Entries::I32s(lanes.map(|bits| bits as i32).collect()),
                Lane::I64 => Entries::I64s(lanes.map(|bits| bits as i64).collect()),
                Lane::F32 => Entries::F32s(lanes.map(|bits| f32::from_bits(bits as u32)).collect()),
                Lane::F64 => Entries::F64s(lanes.map(f64::from_bits).collect()),
            }
        } else if let Some(texts) = column.as_slice::<Arc<str>>() {
            Entries::Texts(texts.to_vec())
        } else if let Some(lists) = column.as_ragged() {
            let lengths = lists.offsets().windows(2).map(|ends| (ends[1] - ends[0]) as u32);
            Entries::Lists(lengths.collect(), self.column(lists.values()))
        } else if let Some(views) = column.as_slice::<Footprint>() {
            let view = |view: &Footprint| (view.resolution, view.crop, view.transform.0);
            Entries::Footprints(views.iter().map(view).collect())
        } else if let Some(images) = column.as_slice::<Image>() {
            let mut image = |image: &Image| {
                (self.value(&Value::from(image.view().clone())), self.column(image.pixels()))
            };
            Entries::Images(images.iter().map(&mut image).collect())
        } else {
            // Tables are the only other Rust types that documents can contain.
            let tables = column.as_slice::<Table>().unwrap_or_default();
            let mut of_table = |table: &Table| {
                let columns = table.columns().iter();
                columns.map(|(name, column)| (Arc::clone(name), self.column(column))).collect()
            };
            Entries::Tables(tables.iter().map(&mut of_table).collect())
        };
        let ty = self.ty(ty);
        self.columns.push(WrittenColumn { ty, entries });
        self.columns.len() as u32 - 1
    }

    pub(super) fn finish(self) -> Written {
        let types = self.types.iter().map(|ty| ty.name().to_string()).collect();
        Written { types, columns: self.columns }
    }
}

/// Types and columns that were read.
pub(super) struct Values {
    types: Vec<Type>,
    columns: Vec<Column>,
}

impl Values {
    pub(super) fn ty(&self, number: u32) -> Result<Type, BinaryError> {
        let ty = self.types.get(number as usize).copied();
        ty.ok_or_else(|| BinaryError::damaged("a type is not in the list"))
    }

    /// The only entry of a column.
    pub(super) fn value(&self, number: u32) -> Result<Value, BinaryError> {
        let column = self.column(number)?;
        if column.len() != 1 {
            return Err(BinaryError::damaged("a column is not a single value"));
        }
        Ok(column.get(0))
    }

    fn column(&self, number: u32) -> Result<&Column, BinaryError> {
        let column = self.columns.get(number as usize);
        column.ok_or_else(|| BinaryError::damaged("a column does not come before its use"))
    }

    fn read(&self, column: WrittenColumn) -> Result<Column, BinaryError> {
        let ty = self.ty(column.ty)?;
        let wrong = || BinaryError::damaged(format!("a column is not of {}", ty.with_article()));
        let column = match column.entries {
            Entries::Bools(lanes) => of_lanes(ty, Lane::Bool, lanes.into_iter().map(u64::from)),
            Entries::I32s(lanes) => {
                of_lanes(ty, Lane::I32, lanes.into_iter().map(|x| u64::from(x as u32)))
            }
            Entries::I64s(lanes) => of_lanes(ty, Lane::I64, lanes.into_iter().map(|x| x as u64)),
            Entries::F32s(lanes) => {
                of_lanes(ty, Lane::F32, lanes.into_iter().map(|x| u64::from(x.to_bits())))
            }
            Entries::F64s(lanes) => of_lanes(ty, Lane::F64, lanes.into_iter().map(f64::to_bits)),
            Entries::Texts(texts) => Some(Column::from_vec(texts)),
            Entries::Footprints(views) => {
                let view = |(resolution, crop, transform)| Footprint {
                    resolution,
                    crop,
                    transform: millstream_base::Mat4(transform),
                };
                Some(Column::from_vec(views.into_iter().map(view).collect()))
            }
            Entries::Images(images) => {
                let image = |(view, pixels): (u32, u32)| {
                    let view: Option<Footprint> = self.value(view)?.get();
                    let pixels = self.column(pixels)?.clone();
                    let image = view.and_then(|view| Image::new(view, pixels));
                    image.ok_or_else(|| {
                        BinaryError::damaged("an image has the wrong number of pixels")
                    })
                };
                Some(Column::from_vec(
                    images.into_iter().map(image).collect::<Result<Vec<_>, _>>()?,
                ))
            }
            Entries::Lists(lengths, items) => {
                let mut offsets = vec![0_usize];
                for length in lengths {
                    offsets.push(offsets[offsets.len() - 1].saturating_add(length as usize));
                }
                let items = self.column(items)?.clone();
                let fits = offsets.last() == Some(&items.len());
                let lists = if fits { Ragged::new(offsets, items) } else { None };
                lists.map(Column::from_ragged)
            }
            Entries::Tables(tables) => {
                let tables = tables.into_iter().map(|columns| self.table(columns));
                Some(Column::from_vec(tables.collect::<Result<Vec<_>, _>>()?))
            }
        };
        column.filter(|column| column.ty() == ty).ok_or_else(wrong)
    }

    fn table(&self, columns: Vec<(Arc<str>, u32)>) -> Result<Table, BinaryError> {
        let columns = columns.into_iter().map(|(name, number)| {
            let column = self.column(number)?;
            if column.ty() == Type::of::<Table>() || column.ty().list().is_none() {
                let what = format!("a table has no columns of {}", column.ty());
                return Err(BinaryError::damaged(what));
            }
            Ok((name, column.clone()))
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Table::new(columns).map_err(|error| BinaryError::damaged(error.to_string()))
    }
}

impl Written {
    /// Reads types and columns.
    pub(super) fn read(self, registry: &Registry) -> Result<Values, BinaryError> {
        let types = self.types.iter().map(|name| {
            let known = registry.type_named(name);
            known.ok_or_else(|| BinaryError::damaged(format!("there is no type `{name}`")))
        });
        let mut values = Values { types: types.collect::<Result<_, _>>()?, columns: Vec::new() };
        for column in self.columns {
            let column = values.read(column)?;
            values.columns.push(column);
        }
        Ok(values)
    }
}

/// A column whose entries have these lanes, one entry after the other.
fn of_lanes(ty: Type, lane: Lane, bits: impl Iterator<Item = u64>) -> Option<Column> {
    let (of, n) = ty.lanes()?;
    let lanes: Vec<u64> = bits.map(|bits| canonical_bits(lane, bits)).collect();
    if of != lane || !lanes.len().is_multiple_of(usize::from(n)) {
        return None;
    }
    let mut values =
        lanes.chunks_exact(usize::from(n)).filter_map(|lanes| Value::from_lanes(ty, lanes));
    ty.collect(&mut values)
}
