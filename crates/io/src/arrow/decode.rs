//! From record batches to columns.
//!
//! The fields of a file are its columns and, of columns that are structs, their members:
//! `p.x, p.y, p.z`. What to make of them is decided once; then batches are appended.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use millstream_base::literal::form_of;
use millstream_base::types::Kind;
use millstream_base::{Lane, Type};

use super::fields::{advice, fits, leaves, native};
use super::numbers::Numbers;
use crate::builder::{Budget, Builder};
use crate::error::{IoError, Spot};
use crate::options::Wanted;
use crate::plan::{Fields, Naming};
use crate::scalar::{Misfit, Scalar};

const NAMING: Naming = Naming {
    separators: &['.', '_'],
    automatic: '.',
    customs: &[],
    whole_vectors: true,
    main: None,
};

/// A column to make.
pub(super) struct Source {
    name: String,
    pub(super) ty: Type,
    pub(super) parts: Vec<Part>,
    /// Whether the type is up to the values: nobody asks for one, and nulls would be floats.
    pub(super) is_open: bool,
}

pub(super) struct Part {
    pub(super) name: String,
    pub(super) path: Vec<usize>,
}

/// What to make of the batches of a file.
pub(crate) struct Decoder {
    file: String,
    pub(super) sources: Vec<Source>,
    n_rows: u64,
    budget: Budget,
}

impl Decoder {
    /// Decides which columns to make of which fields.
    pub(crate) fn new(
        file: &str,
        schema: &Schema,
        wanted: Wanted<'_>,
        budget: &Budget,
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
        let n_main = names.len();
        let fields = Fields { file, names: &names, n_main, is_number: &is_number, naming: &NAMING };
        let mut sources = Vec::new();
        for target in fields.plan(wanted)? {
            let first = &leaves[target.fields[0]];
            let spot = || Spot::file(file).column(&target.name);
            let Some(ty) = target.ty.or_else(|| native(first)) else {
                return Err(IoError::Unsupported {
                    spot: spot(),
                    what: format!("values of type {}", first.data_type),
                    hint: "numbers, text, and lists of them are read; name the columns to read"
                        .into(),
                });
            };
            let is_whole = target.fields.len() == 1 && fits(ty, &first.data_type);
            let is_parts = target.fields.len() > 1 && target.fields.iter().all(|i| is_number(*i));
            if !is_whole && !is_parts {
                return Err(IoError::OtherType {
                    spot: spot(),
                    ty,
                    found: first.data_type.to_string(),
                    hint: advice(ty, &first.data_type),
                });
            }
            let part =
                |i: &usize| Part { name: leaves[*i].name.clone(), path: leaves[*i].path.clone() };
            let parts = target.fields.iter().map(part).collect();
            let is_open = target.ty.is_none()
                && first.nullable
                && [Type::BOOL, Type::I32, Type::I64].contains(&ty);
            sources.push(Source { name: target.name, ty, parts, is_open });
        }
        Ok(Self { file: file.to_owned(), sources, n_rows: 0, budget: budget.clone() })
    }

    /// The columns of the file that are read, ascending; batches from now on hold only these.
    pub(crate) fn project(&mut self) -> Vec<usize> {
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
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, Type)> {
        self.sources.iter().map(|source| (source.name.as_str(), source.ty))
    }

    /// Columns without rows.
    pub(crate) fn builders(&self) -> Vec<Builder> {
        let builder = |source: &Source| Builder::new(source.ty).expect("opaque types fit nothing");
        self.sources.iter().map(builder).collect()
    }

    /// Appends the rows of a batch.
    pub(crate) fn append(
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
                    let (file, budget) = (&*self.file, &self.budget);
                    Cells { file, column, array, nulls, row_of: &row_of, budget }
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
    let mut array = std::sync::Arc::clone(batch.column(path[0]));
    let mut nulls = array.logical_nulls();
    for member in &path[1..] {
        let inner = std::sync::Arc::clone(array.as_struct().column(*member));
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
    /// The row in which an entry stands, from 1.
    row_of: &'a dyn Fn(usize) -> u64,
    budget: &'a Budget,
}

/// Vectors out of a field per component.
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
        for _ in parts.len()..usize::from(n) {
            // Only the alpha of a color may be left out.
            builder.push_bits(u64::from(1.0_f32.to_bits()));
        }
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
            kind if *self.array.data_type() == DataType::Null => {
                self.append_nothing(ty, kind, builder)
            }
            Kind::Lanes(lane, n) => self.append_vectors(ty, lane, usize::from(n), builder),
            Kind::String => self.append_texts(builder),
            Kind::List(element) => self.append_lists(ty, element, builder),
            Kind::Opaque => unreachable!("opaque types fit no field"),
        }
    }

    /// As many nulls as there are rows.
    fn append_nothing(&self, ty: Type, kind: Kind, builder: &mut Builder) -> Result<(), IoError> {
        for i in 0..self.array.len() {
            match kind {
                Kind::Lanes(lane, n) => {
                    for _ in 0..n {
                        builder.push_bits(self.missing(i, lane)?);
                    }
                }
                Kind::String => builder.push_text(""),
                Kind::List(_) | Kind::Opaque => return Err(self.null(i, ty)),
            }
        }
        Ok(())
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

    /// One number; no number is NaN where there is such a thing.
    fn lane(&self, numbers: &Numbers<'_>, i: usize, lane: Lane) -> Result<u64, IoError> {
        if self.is_null(i) {
            return self.missing(i, lane);
        }
        let scalar = numbers.get(i);
        scalar.and_then(|scalar| scalar.to_bits(lane)).map_err(|misfit| {
            let ty = Type::of_lane(lane);
            let found = match scalar {
                Ok(Scalar::Bool(x)) => x.to_string(),
                Ok(Scalar::Int(x)) => x.to_string(),
                Ok(Scalar::Big(x)) => x.to_string(),
                Ok(Scalar::F32(x)) => format!("{x:?}"),
                Ok(Scalar::F64(x)) => format!("{x:?}"),
                Err(_) => "a decimal of too many digits".into(),
            };
            match misfit {
                Misfit::Shape => {
                    IoError::NotOfType { spot: self.spot(i), ty, found, form: form_of(ty) }
                }
                Misfit::Range => IoError::OutOfRange { spot: self.spot(i), ty, found },
            }
        })
    }

    fn missing(&self, i: usize, lane: Lane) -> Result<u64, IoError> {
        match lane {
            Lane::F32 => Ok(u64::from(f32::NAN.to_bits())),
            Lane::F64 => Ok(f64::NAN.to_bits()),
            Lane::Bool | Lane::I32 | Lane::I64 => Err(self.null(i, Type::of_lane(lane))),
        }
    }

    fn null(&self, i: usize, ty: Type) -> IoError {
        IoError::Null { spot: self.spot(i), ty }
    }

    /// The entries of lists with the range of each; an entry that is null has none.
    fn lists(&self) -> (ArrayRef, Vec<usize>) {
        let n = self.array.len();
        match self.array.data_type() {
            DataType::List(_) => {
                let lists = self.array.as_list::<i32>();
                let offsets = lists.value_offsets().iter().map(|offset| *offset as usize);
                (std::sync::Arc::clone(lists.values()), offsets.collect())
            }
            DataType::LargeList(_) => {
                let lists = self.array.as_list::<i64>();
                let offsets = lists.value_offsets().iter().map(|offset| *offset as usize);
                (std::sync::Arc::clone(lists.values()), offsets.collect())
            }
            _ => {
                let lists = self.array.as_fixed_size_list();
                let size = lists.value_length() as usize;
                let offsets = (0..=n).map(|i| i * size).collect();
                (std::sync::Arc::clone(lists.values()), offsets)
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
                for _ in 0..n {
                    builder.push_bits(self.missing(i, lane)?);
                }
                continue;
            }
            let length = pair[1] - pair[0];
            if length != n && !(ty == Type::COLOR && length == 3) {
                let found = format!("a list of {length}");
                let spot = self.spot(i);
                return Err(IoError::NotOfType { spot, ty, found, form: form_of(ty) });
            }
            for j in pair[0]..pair[1] {
                builder.push_bits(inner.lane(&numbers, j, lane)?);
            }
            for _ in length..n {
                // Only the alpha of a color may be left out.
                builder.push_bits(u64::from(1.0_f32.to_bits()));
            }
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

    /// Texts; what is null is the empty one.
    fn append_texts(&self, builder: &mut Builder) -> Result<(), IoError> {
        let n = self.array.len();
        match self.array.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = self.array.as_any_dictionary();
                let values = dictionary.values();
                // Keys that are null name no text; those of no texts at all are.
                let is_empty = values.is_empty();
                let keys = if is_empty { Vec::new() } else { dictionary.normalized_keys() };
                let text_of = text_of(values);
                self.push_texts(n, &|i| keys.get(i).map_or("", |key| text_of(*key)), builder)
            }
            _ => self.push_texts(n, &text_of(&self.array), builder),
        }
    }

    /// Many rows may share one long text, so they are counted before they are copied.
    fn push_texts<'t>(
        &self,
        n: usize,
        text_of: &dyn Fn(usize) -> &'t str,
        builder: &mut Builder,
    ) -> Result<(), IoError> {
        let text = |i: usize| if self.is_null(i) { "" } else { text_of(i) };
        let n_bytes = (0..n).fold(builder.bytes(), |sum, i| sum.saturating_add(text(i).len()));
        self.budget.check_bytes(n_bytes, || Spot::file(self.file).column(self.column))?;
        (0..n).for_each(|i| builder.push_text(text(i)));
        Ok(())
    }
}

/// What gives the texts of an array that is no dictionary.
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
