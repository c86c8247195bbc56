//! Values as bytes: the type by name, the number of entries, and their bits in memory layout.
//!
//! Apart from footprints, images and tables, types of the embedding program have no encoding;
//! results of such types are not stored. The bytes are those of the machine that created the cache.

use std::sync::Arc;

use bytemuck::{Pod, pod_collect_to_vec};
use millstream_base::ragged::Ragged;
use millstream_base::{
    Color, Column, Footprint, Image, Mat4, Quat, Table, Type, Value, ValueType, Vec2, Vec3, Vec4,
};
use millstream_ir::Series;
use millstream_ir::request::RequestAxis;
use millstream_node::Data;

/// Appends a value; `false` if its type has no encoding.
pub(crate) fn value(value: &Value, out: &mut Vec<u8>) -> bool {
    column(&Column::filled(value, 1), out)
}

/// Appends a value, or the entries of a column.
pub(crate) fn data(data: &Data, out: &mut Vec<u8>) -> bool {
    match data {
        Data::One(one) => {
            out.push(0);
            value(one, out)
        }
        Data::Many(many) => {
            out.push(1);
            column(many, out)
        }
    }
}

/// Appends data with its axes.
pub(crate) fn series(series: &Series, out: &mut Vec<u8>) -> bool {
    out.push(series.axes.len() as u8);
    let axis = |axis: &RequestAxis| *axis as u8;
    out.extend(series.axes.iter().map(axis));
    data(&series.data, out)
}

/// Appends a number.
pub(crate) fn number(n: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.to_le_bytes());
}

/// Appends bytes, preceded by their number.
pub(crate) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends a column; `false` if its type has no encoding.
pub(crate) fn column(column: &Column, out: &mut Vec<u8>) -> bool {
    bytes(column.ty().name().as_bytes(), out);
    number(column.len() as u64, out);
    if let Some(lanes) = column.as_f32_lanes() {
        out.extend_from_slice(bytemuck::cast_slice(lanes));
    } else if let Some(values) = column.as_slice::<f64>() {
        out.extend_from_slice(bytemuck::cast_slice(values));
    } else if let Some(values) = column.as_slice::<i32>() {
        out.extend_from_slice(bytemuck::cast_slice(values));
    } else if let Some(values) = column.as_slice::<i64>() {
        out.extend_from_slice(bytemuck::cast_slice(values));
    } else if let Some(values) = column.as_slice::<bool>() {
        out.extend(values.iter().map(|value| u8::from(*value)));
    } else if let Some(texts) = column.as_slice::<Arc<str>>() {
        for text in texts {
            bytes(text.as_bytes(), out);
        }
    } else if let Some(lists) = column.as_ragged() {
        lists.offsets().iter().for_each(|offset| number(*offset as u64, out));
        return self::column(lists.values(), out);
    } else if let Some(views) = column.as_slice::<Footprint>() {
        for view in views {
            footprint(view, out);
        }
    } else if let Some(images) = column.as_slice::<Image>() {
        return images.iter().all(|image| {
            footprint(image.view(), out);
            self::column(image.pixels(), out)
        });
    } else if let Some(tables) = column.as_slice::<Table>() {
        return tables.iter().all(|table| {
            number(table.columns().len() as u64, out);
            table.columns().iter().all(|(name, column)| {
                bytes(name.as_bytes(), out);
                self::column(column, out)
            })
        });
    } else {
        return false;
    }
    true
}

fn footprint(view: &Footprint, out: &mut Vec<u8>) {
    out.extend_from_slice(bytemuck::cast_slice(&view.transform.0));
    out.extend_from_slice(bytemuck::cast_slice(&view.resolution));
    out.extend_from_slice(bytemuck::cast_slice(&view.crop));
}

/// Reads the output of the functions above. Every method returns `None` for malformed bytes.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let n = self.length()?;
        self.take(n)
    }

    pub(crate) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn series(&mut self) -> Option<Series> {
        let n = usize::from(self.take(1)?[0]);
        let axes = self
            .take(n)?
            .iter()
            .map(|axis| RequestAxis::ALL.into_iter().find(|it| *it as u8 == *axis));
        let axes = axes.collect::<Option<Vec<_>>>()?;
        Some(Series { data: self.data()?, axes })
    }

    pub(crate) fn data(&mut self) -> Option<Data> {
        match self.take(1)? {
            [0] => self.column().filter(|column| column.len() == 1).map(|it| Data::One(it.get(0))),
            [1] => self.column().map(Data::Many),
            _ => None,
        }
    }

    /// Entries stored in memory layout.
    fn plain<T: Pod + ValueType>(&mut self, n: usize) -> Option<Column> {
        let bytes = self.take(n.checked_mul(size_of::<T>())?)?;
        Some(Column::from_vec(pod_collect_to_vec::<u8, T>(bytes)))
    }

    /// `n` things, each of which takes at least one byte.
    fn many<T>(&mut self, n: usize, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        if n > self.0.len() {
            return None;
        }
        (0..n).map(|_| one(self)).collect()
    }

    pub(crate) fn column(&mut self) -> Option<Column> {
        let ty = type_named(self.text()?)?;
        let n = self.length()?;
        let column = if ty == Type::F32 {
            self.plain::<f32>(n)?
        } else if ty == Type::VEC2 {
            self.plain::<Vec2>(n)?
        } else if ty == Type::VEC3 {
            self.plain::<Vec3>(n)?
        } else if ty == Type::VEC4 {
            self.plain::<Vec4>(n)?
        } else if ty == Type::QUAT {
            self.plain::<Quat>(n)?
        } else if ty == Type::COLOR {
            self.plain::<Color>(n)?
        } else if ty == Type::MAT4 {
            self.plain::<Mat4>(n)?
        } else if ty == Type::F64 {
            self.plain::<f64>(n)?
        } else if ty == Type::I32 {
            self.plain::<i32>(n)?
        } else if ty == Type::I64 {
            self.plain::<i64>(n)?
        } else if ty == Type::BOOL {
            Column::from_vec(self.take(n)?.iter().map(|byte| *byte != 0).collect::<Vec<bool>>())
        } else if ty == Type::STRING {
            Column::from_vec(self.many(n, |from| from.text().map(Arc::<str>::from))?)
        } else if ty.element().is_some() {
            let offsets = self.many(n.checked_add(1)?, Self::length)?;
            Column::from_ragged(Ragged::new(offsets, self.column()?)?)
        } else if ty == Type::of::<Footprint>() {
            Column::from_vec(self.many(n, Self::footprint)?)
        } else if ty == Type::of::<Image>() {
            let image = |from: &mut Self| Image::new(from.footprint()?, from.column()?);
            Column::from_vec(self.many(n, image)?)
        } else {
            Column::from_vec(self.many(n, Self::table)?)
        };
        (column.ty() == ty && column.len() == n).then_some(column)
    }

    fn footprint(&mut self) -> Option<Footprint> {
        let transform = pod_collect_to_vec::<u8, f32>(self.take(64)?).try_into().ok()?;
        let resolution = pod_collect_to_vec::<u8, i32>(self.take(8)?).try_into().ok()?;
        let crop = pod_collect_to_vec::<u8, i32>(self.take(16)?).try_into().ok()?;
        Some(Footprint { transform: Mat4(transform), resolution, crop })
    }

    fn table(&mut self) -> Option<Table> {
        let n = self.length()?;
        let columns = self.many(n, |from| Some((from.text()?.into(), from.column()?)))?;
        Table::new(columns).ok()
    }
}

/// The type of a name that has an encoding.
fn type_named(name: &str) -> Option<Type> {
    let own = [Type::of::<Footprint>(), Type::of::<Image>(), Type::of::<Table>()];
    let is_named = |name: &str| own.into_iter().find(|ty| ty.name() == name);
    Type::named(name, |name| is_named(name).or_else(|| Type::written(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::same::Same as _;

    fn all() -> Vec<Column> {
        let view = Footprint::of_size(2, 1);
        let pixels = Column::from_vec(vec![Color([0.1, 0.2, 0.3, 1.0]), Color([0.5; 4])]);
        let image = Image::new(view.clone(), pixels).expect("it fits");
        let numbers = Column::from_vec(vec![1.0_f32, f32::INFINITY, -0.0]);
        let texts: Column = Column::from_vec(vec![Arc::<str>::from("ä"), "".into()]);
        let lists = Ragged::new(vec![0, 2, 2, 3], numbers.clone()).expect("it fits");
        let table = Table::new(vec![("a".into(), numbers.clone())]).expect("it fits");
        vec![
            numbers,
            Column::from_vec(vec![true, false]),
            Column::from_vec(vec![i64::MIN]),
            Column::from_vec(vec![7_i32, -7]),
            Column::from_vec(vec![1e300_f64]),
            Column::from_vec(vec![Vec3([1.0, 2.0, 3.0])]),
            Column::from_vec(vec![Mat4::default()]),
            texts,
            Column::from_ragged(lists),
            Column::from_vec(vec![view]),
            Column::from_vec(vec![image.clone(), image]),
            Column::from_vec(vec![table]),
            Column::empty(Type::VEC2),
        ]
    }

    #[test]
    fn columns_are_restored_bit_for_bit() {
        for column in all() {
            let mut bytes = Vec::new();
            assert!(super::column(&column, &mut bytes), "{}", column.ty());
            let mut reader = Reader(&bytes);
            let back = reader.column().expect("it was written so");
            assert!(back.same(&column), "{}", column.ty());
            assert!(reader.0.is_empty());
        }
    }

    #[test]
    fn truncated_or_wrong_bytes_give_none() {
        for column in all() {
            let mut bytes = Vec::new();
            assert!(super::column(&column, &mut bytes));
            for n in 0..bytes.len() {
                assert!(Reader(&bytes[..n]).column().is_none(), "{} of {}", n, column.ty());
            }
            for at in 0..bytes.len().min(64) {
                let mut wrong = bytes.clone();
                wrong[at] ^= 0xff;
                // It need not be refused, but must neither panic nor take much memory.
                let _ = Reader(&wrong).column();
            }
        }
    }
}
