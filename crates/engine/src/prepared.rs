//! Prepared programs: names and types are resolved once for many runs.

use std::marker::PhantomData;

use millstream_base::{Column, Type, ValueType};
use millstream_run::chunked::Prepared;

/// A program with the data of a request, prepared for many runs; see
/// [`Program::prepare`](crate::Program::prepare).
#[derive(Debug)]
pub struct PreparedProgram {
    prepared: Prepared,
    /// The results if there are several cells.
    columns: Vec<Column>,
}

/// An input of a prepared program.
#[derive(Debug)]
pub struct PreparedInput<T> {
    input: usize,
    of: PhantomData<fn(T)>,
}

/// An output of a prepared program.
#[derive(Debug)]
pub struct PreparedOutput<T> {
    output: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for PreparedInput<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PreparedInput<T> {}

impl<T> Clone for PreparedOutput<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PreparedOutput<T> {}

/// Why there is no handle for an input or output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum HandleError {
    /// None has this name.
    #[error("there is no {side} called `{name}`")]
    #[diagnostic(code(prepare::unknown_name), help("there are: {known}"))]
    Unknown {
        /// `input` or `output`.
        side: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// It has another type.
    #[error("{side} `{name}` is of type {found}, not {wanted}")]
    #[diagnostic(code(prepare::wrong_type), help("ask for a handle of the type {found}"))]
    Type {
        /// `input` or `output`.
        side: &'static str,
        /// The name.
        name: String,
        /// Its type.
        found: Type,
        /// The type of the handle.
        wanted: Type,
    },
}

impl PreparedProgram {
    pub(crate) fn new(prepared: Prepared) -> Self {
        let (plan, n) = (prepared.plan(), prepared.n_cells());
        let types = prepared.outputs().iter().map(|k| plan.outputs[*k].ty);
        let column = |ty: Type| Column::filled(&ty.default_value(), n);
        let columns = if n == 1 { Vec::new() } else { types.map(column).collect() };
        Self { prepared, columns }
    }

    /// The handle of an input.
    ///
    /// # Errors
    /// If there is no input of this name, or it is not a `T`.
    pub fn input<T: ValueType>(&self, name: &str) -> Result<PreparedInput<T>, HandleError> {
        let inputs = self.prepared.plan().inputs.as_slice();
        let sockets = inputs.iter().map(|input| (&*input.name, input.ty));
        let input = find::<T>("input", name, sockets)?;
        Ok(PreparedInput { input, of: PhantomData })
    }

    /// The handle of an output that the request asked for.
    ///
    /// # Errors
    /// If there is no output of this name, or it is not a `T`.
    pub fn output<T: ValueType>(&self, name: &str) -> Result<PreparedOutput<T>, HandleError> {
        let outputs = &self.prepared.plan().outputs;
        let asked = self.prepared.outputs().iter().map(|k| &outputs[*k]);
        let output = find::<T>("output", name, asked.map(|output| (&*output.name, output.ty)))?;
        Ok(PreparedOutput { output, of: PhantomData })
    }

    /// Number of cells, which is the number of values of each output.
    pub fn n_cells(&self) -> usize {
        self.prepared.n_cells()
    }

    /// Sets an input that is a single value. An input that no output reads is ignored.
    ///
    /// # Panics
    /// If the request gave a column for the input, or the handle is of another program.
    #[inline]
    pub fn set<T: ValueType>(&mut self, input: PreparedInput<T>, value: T) {
        self.prepared.set(input.input, &value.into_value());
    }

    /// Sets an input that is a column.
    ///
    /// # Panics
    /// If the column has another length than that of the request, or the handle is of another
    /// program.
    pub fn set_column<T: ValueType>(&mut self, input: PreparedInput<T>, column: Vec<T>)
    where
        Column: From<Vec<T>>,
    {
        self.prepared.set_column(input.input, column.into());
    }

    /// Computes the outputs from the current inputs.
    #[inline]
    pub fn run(&mut self) {
        if self.columns.is_empty() {
            self.prepared.run_single();
        } else {
            self.prepared.run_to_columns(&mut self.columns);
        }
    }

    /// The value of an output after the last [`run`](Self::run); if there are several cells, that
    /// of the first.
    ///
    /// # Panics
    /// If the handle is of another program.
    #[inline]
    pub fn get<T: ValueType>(&self, output: PreparedOutput<T>) -> T {
        let value = match self.columns.get(output.output) {
            Some(column) => column.get(0),
            None => self.prepared.value(output.output),
        };
        T::from_value(&value).expect("a handle has the type of its output")
    }

    /// The values of an output after the last [`run`](Self::run), one for each cell, time
    /// outermost.
    ///
    /// # Panics
    /// If there is only one cell, or the handle is of another program.
    pub fn values<T: ValueType>(&self, output: PreparedOutput<T>) -> &[T] {
        let values = self.columns[output.output].as_slice();
        values.expect("a handle has the type of its output")
    }
}

/// The position of a socket of this name and type.
fn find<'n, T: ValueType>(
    side: &'static str,
    name: &str,
    sockets: impl Iterator<Item = (&'n str, Type)> + Clone,
) -> Result<usize, HandleError> {
    match sockets.clone().enumerate().find(|(_, (known, _))| *known == name) {
        Some((k, (_, ty))) if ty == T::ty() => Ok(k),
        Some((_, (_, found))) => {
            Err(HandleError::Type { side, name: name.to_owned(), found, wanted: T::ty() })
        }
        None => {
            let known: Vec<&str> = sockets.map(|(name, _)| name).collect();
            Err(HandleError::Unknown { side, name: name.to_owned(), known: known.join(", ") })
        }
    }
}
