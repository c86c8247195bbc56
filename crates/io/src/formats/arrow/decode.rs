//! From record batches to columns.
//!
//! The fields of a file are its columns and the members of columns that are structs: `p.x, p.y,
//! p.z`. The columns to make from them are decided once; then batches are appended.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use millstream_base::types::Kind;
use millstream_base::{Lane, Type};

use super::fields::{advice, fits, leaves, native};
use super::numbers::Numbers;
use crate::builder::Builder;
use crate::error::{IoError, Spot};
use crate::fields::{Fields, Naming};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::scalar::missing_lane;
use crate::table::ColumnSpec;

const NAMING: Naming = Naming { whole_vectors: true, ..Naming::PARTS };

/// A column to make.
pub(super) struct Source {
    name: String,
    pub(super) ty: Type,
    pub(super) parts: Vec<Part>,
    /// Whether the type depends on the values: no type is requested, and nulls would turn it into
    /// floats.
    pub(super) is_open: bool,
}

pub(super) struct Part {
    pub(super) name: String,
    pub(super) path: Vec<usize>,
}

/// Decodes the batches of a file.
pub(in crate::formats) struct Decoder {
    file: String,
    pub(super) sources: Vec<Source>,
    n_rows: u64,
    meter: Meter,
}

impl Decoder {
    /// Decides which columns are made from which fields.
    pub(in crate::formats) fn new(
        file: &str,
        schema: &Schema,
        wanted: Wanted<'_>,
        meter: &Meter,
    ) -> Result<Self, IoError> {
        let leaves = leaves(schema);
        let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let mut seen = HashSet::with_capacity(names.len());
        for name in &names {
            if !seen.insert(name) {
                return Err(IoError::DuplicateColumn { spot: Spot::file(file).column(name) });
            }
        }
        let is_number = |i: usize| Numbers::lane(&leaves[i].data_type).is_some();
        let fields = Fields { is_number: &is_number, ..Fields::new(file, &names, &NAMING) };
        let mut sources = Vec::new();
        for target in fields.plan(wanted)? {
            let first = &leaves[target.fields[0]];
            let spot = || Spot::file(file).column(&target.name);
            let Some(ty) = target.ty.or_else(|| native(first)) else {
                let what = format!("values of type {}", first.data_type);
                let hint =
                    "numbers, strings, and lists of them can be read; name the columns to read";
                return Err(IoError::unsupported(spot(), what, hint));
            };
            let is_whole = target.fields.len() == 1 && fits(ty, &first.data_type);
            let is_parts = target.fields.len() > 1 && target.fields.iter().all(|i| is_number(*i));
            if !is_whole && !is_parts {
                let hint = advice(ty, &first.data_type);
                return Err(IoError::other_type(spot(), ty, first.data_type.to_string(), hint));
            }
            let part =
                |i: &usize| Part { name: leaves[*i].name.clone(), path: leaves[*i].path.clone() };
            let parts = target.fields.iter().map(part).collect();
            let is_open = target.ty.is_none()
                && first.nullable
                && [Type::BOOL, Type::I32, Type::I64].contains(&ty);
            sources.push(Source { name: target.name, ty, parts, is_open });
        }
        Ok(Self { file: file.to_owned(), sources, n_rows: 0, meter: meter.clone() })
    }

    /// The columns of the file to read, ascending; from now on, batches contain only these.
    pub(in crate::formats) fn project(&mut self) -> Vec<usize> {
        let parts = || self.sources.iter().flat_map(|source| &source.parts);
        let mut roots: Vec<usize> = parts().map(|part| part.path[0]).collect();
        roots.sort_unstable();
        roots.dedup();
        for part in self.sources.iter_mut().flat_map(|source| &mut source.parts) {
            let position = roots.binary_search(&part.path[0]);
            part.path[0] = position.expect("all first positions were collected");
        }
        roots
    }

    /// Names and types of the columns.
    pub(super) fn columns(&self) -> Vec<ColumnSpec> {
        self.sources.iter().map(|source| ColumnSpec::new(&source.name, source.ty)).collect()
    }

    /// Appends the rows of a batch.
    pub(in crate::formats) fn append(
        &mut self,
        batch: &RecordBatch,
        builders: &mut [Builder],
    ) -> Result<(), IoError> {
        let n_before = self.n_rows;
        let row_of = |i: usize| n_before + i as u64 + 1;
        for (source, builder) in self.sources.iter().zip(builders) {
            let cells: Vec<Cells<'_>> = source
                .parts
                .iter()
                .map(|part| {
                    let (array, nulls) = walk(batch, &part.path);
                    let column = part.name.as_str();
                    let (file, meter) = (&*self.file, &self.meter);
                    Cells { file, column, array, nulls, row_of: &row_of, meter }
                })
                .collect();
            match &cells[..] {
                [whole] => whole.append(source.ty, builder)?,
                parts => append_parts(parts, source.ty, builder)?,
            }
        }
        self.n_rows += batch.num_rows() as u64;
        Ok(())
    }
}

/// The array at the end of a path, with the nulls of the structs around it.
pub(super) fn walk(batch: &RecordBatch, path: &[usize]) -> (ArrayRef, Option<NullBuffer>) {
    let mut array = Arc::clone(batch.column(path[0]));
    let mut nulls = array.logical_nulls();
    for member in &path[1..] {
        let inner = Arc::clone(array.as_struct().column(*member));
        nulls = NullBuffer::union(nulls.as_ref(), inner.logical_nulls().as_ref());
        array = inner;
    }
    (array, nulls.filter(|nulls| nulls.null_count() > 0))
}

/// Part of a column of the file.
struct Cells<'a> {
    file: &'a str,
    column: &'a str,
    array: ArrayRef,
    nulls: Option<NullBuffer>,
    /// The row of an entry, from 1.
    row_of: &'a dyn Fn(usize) -> u64,
    meter: &'a Meter,
}

/// Appends vectors from one field per component.
fn append_parts(parts: &[Cells<'_>], ty: Type, builder: &mut Builder) -> Result<(), IoError> {
    let (lane, n) = ty.lanes().expect("only vectors have parts");
    let numbers: Vec<Numbers<'_>> = parts.iter().map(Cells::numbers).collect();
    let n_rows = parts[0].array.len();
    let all: Option<Vec<&[f32]>> = parts
        .iter()
        .zip(&numbers)
        .map(|(part, n)| n.as_f32().filter(|_| part.nulls.is_none()))
        .collect();
    if let (Some(lanes), Some(columns)) = (builder.f32_lanes(), all) {
        lanes.reserve(n_rows * usize::from(n));
        match columns[..] {
            [x, y, z] if n == 3 => {
                let rows = x.iter().zip(y).zip(z);
                lanes.extend(rows.flat_map(|((x, y), z)| [*x, *y, *z]));
            }
            _ => {
                for row in 0..n_rows {
                    lanes.extend(columns.iter().map(|column| column[row]));
                    lanes.extend((columns.len()..usize::from(n)).map(|_| 1.0));
                }
            }
        }
        return Ok(());
    }
    for row in 0..n_rows {
        for (part, numbers) in parts.iter().zip(&numbers) {
            builder.push_bits(part.lane(numbers, row, lane)?);
        }
        builder.push_alpha(parts.len());
    }
    Ok(())
}

impl Cells<'_> {
    fn spot(&self, i: usize) -> Spot {
        Spot::row(self.file, (self.row_of)(i)).column(self.column)
    }

    fn is_null(&self, i: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i))
    }

    fn numbers(&self) -> Numbers<'_> {
        Numbers::of(&*self.array).expect("the field was found to hold numbers")
    }

    fn append(&self, ty: Type, builder: &mut Builder) -> Result<(), IoError> {
        match ty.kind() {
            Kind::Lanes(lane, 1) => self.append_scalars(lane, builder),
            _ if *self.array.data_type() == DataType::Null => {
                (0..self.array.len()).try_for_each(|i| self.append_missing(i, builder))
            }
            Kind::Lanes(lane, n) => self.append_vectors(ty, lane, usize::from(n), builder),
            Kind::String => self.append_texts(builder),
            Kind::List(element) => self.append_lists(ty, element, builder),
            Kind::Opaque => unreachable!("opaque types fit no field"),
        }
    }

    fn append_scalars(&self, lane: Lane, builder: &mut Builder) -> Result<(), IoError> {
        let numbers = self.numbers();
        if self.nulls.is_none() {
            if let (Some(lanes), Some(values)) = (builder.f32_lanes(), numbers.as_f32()) {
                lanes.extend_from_slice(values);
                return Ok(());
            }
            if let (Some(lanes), Some(values)) = (builder.f64_lanes(), numbers.as_f64()) {
                lanes.extend_from_slice(values);
                return Ok(());
            }
        }
        for i in 0..self.array.len() {
            builder.push_bits(self.lane(&numbers, i, lane)?);
        }
        Ok(())
    }

    /// One number; a null is NaN if the type has one.
    fn lane(&self, numbers: &Numbers<'_>, i: usize, lane: Lane) -> Result<u64, IoError> {
        if self.is_null(i) {
            return self.missing(i, lane);
        }
        let scalar = numbers.get(i);
        scalar.and_then(|scalar| scalar.to_bits(lane)).map_err(|misfit| {
            let found = match scalar {
                Ok(scalar) => scalar.to_string(),
                Err(_) => "a decimal with too many digits".into(),
            };
            misfit.error(self.spot(i), lane, found)
        })
    }

    fn missing(&self, i: usize, lane: Lane) -> Result<u64, IoError> {
        missing_lane(lane).ok_or_else(|| self.null(i, Type::of_lane(lane)))
    }

    fn append_missing(&self, i: usize, builder: &mut Builder) -> Result<(), IoError> {
        if builder.push_missing() { Ok(()) } else { Err(self.null(i, builder.ty())) }
    }

    fn null(&self, i: usize, ty: Type) -> IoError {
        IoError::MissingCell { spot: self.spot(i), absence: "null", ty }
    }

    /// The items of lists, with the range of each list; a null entry has none.
    fn lists(&self) -> (ArrayRef, Vec<usize>) {
        match self.array.data_type() {
            DataType::List(_) => {
                let lists = self.array.as_list::<i32>();
                let offsets = lists.value_offsets().iter().map(|offset| *offset as usize);
                (Arc::clone(lists.values()), offsets.collect())
            }
            DataType::LargeList(_) => {
                let lists = self.array.as_list::<i64>();
                let offsets = lists.value_offsets().iter().map(|offset| *offset as usize);
                (Arc::clone(lists.values()), offsets.collect())
            }
            _ => {
                let lists = self.array.as_fixed_size_list();
                let size = lists.value_length() as usize;
                let offsets = (0..=self.array.len()).map(|i| i * size).collect();
                (Arc::clone(lists.values()), offsets)
            }
        }
    }

    fn append_vectors(
        &self,
        ty: Type,
        lane: Lane,
        n: usize,
        builder: &mut Builder,
    ) -> Result<(), IoError> {
        let (values, offsets) = self.lists();
        let row_of = |i: usize| {
            let list = offsets.partition_point(|offset| *offset <= i).max(1) - 1;
            (self.row_of)(list)
        };
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let inner = Cells { array: values, nulls, row_of: &row_of, ..*self };
        let numbers = inner.numbers();
        let is_even = offsets.windows(2).all(|pair| pair[1] - pair[0] == n);
        if self.nulls.is_none()
            && inner.nulls.is_none()
            && is_even
            && let (Some(lanes), Some(values)) = (builder.f32_lanes(), numbers.as_f32())
        {
            let range = offsets[0]..offsets[offsets.len() - 1];
            lanes.extend_from_slice(&values[range]);
            return Ok(());
        }
        for (i, pair) in offsets.windows(2).enumerate() {
            if self.is_null(i) {
                self.append_missing(i, builder)?;
                continue;
            }
            let length = pair[1] - pair[0];
            if length != n && !(ty == Type::COLOR && length == 3) {
                return Err(IoError::not_of_type(self.spot(i), ty, format!("a list of {length}")));
            }
            for j in pair[0]..pair[1] {
                builder.push_bits(inner.lane(&numbers, j, lane)?);
            }
            builder.push_alpha(length);
        }
        Ok(())
    }

    fn append_lists(&self, ty: Type, element: Type, builder: &mut Builder) -> Result<(), IoError> {
        if let Some(i) = (0..self.array.len()).find(|i| self.is_null(*i)) {
            return Err(self.null(i, ty));
        }
        let (values, offsets) = self.lists();
        let (start, end) = (offsets[0], offsets[offsets.len() - 1]);
        let row_of = |i: usize| {
            let list = offsets.partition_point(|offset| *offset <= start + i).max(1) - 1;
            (self.row_of)(list)
        };
        let array = values.slice(start, end - start);
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let inner = Cells { array, nulls, row_of: &row_of, ..*self };
        inner.append(element, builder.elements())?;
        builder.end_lists(offsets.windows(2).map(|pair| pair[1] - pair[0]));
        Ok(())
    }

    /// Appends strings; nulls become the empty string.
    fn append_texts(&self, builder: &mut Builder) -> Result<(), IoError> {
        let n = self.array.len();
        match self.array.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = self.array.as_any_dictionary();
                let values = dictionary.values();
                // Null keys refer to no string, and neither do keys into an empty dictionary.
                let is_empty = values.is_empty();
                let keys = if is_empty { Vec::new() } else { dictionary.normalized_keys() };
                let text_of = text_of(values);
                self.push_texts(n, &|i| keys.get(i).map_or("", |key| text_of(*key)), builder)
            }
            _ => self.push_texts(n, &text_of(&self.array), builder),
        }
    }

    /// Many rows may share one long string, so the bytes are counted before they are copied.
    fn push_texts<'t>(
        &self,
        n: usize,
        text_of: &dyn Fn(usize) -> &'t str,
        builder: &mut Builder,
    ) -> Result<(), IoError> {
        let text = |i: usize| if self.is_null(i) { "" } else { text_of(i) };
        let n_bytes = (0..n).fold(builder.bytes(), |sum, i| sum.saturating_add(text(i).len()));
        self.meter.check_bytes(n_bytes, || Spot::file(self.file).column(self.column))?;
        (0..n).for_each(|i| builder.push_text(text(i)));
        Ok(())
    }
}

/// A function that returns the strings of an array that is not a dictionary.
fn text_of<'t>(array: &'t ArrayRef) -> Box<dyn Fn(usize) -> &'t str + 't> {
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Box::new(|i| texts.value(i))
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            Box::new(|i| texts.value(i))
        }
        _ => {
            let texts = array.as_string_view();
            Box::new(|i| texts.value(i))
        }
    }
}
