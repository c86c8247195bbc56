//! Filling the outputs of functions over columns, element by element.
//!
//! If every input is one value for all elements, a call computes one element and returns one value;
//! otherwise it returns a column in which the elements of the mask are filled. [`Cells`] for single
//! values and [`ListCells`] for lists handle both, so that a node only defines the computation of
//! one element. A function makes the cells, reads the inputs, fills the cells and puts them.

#[cfg(test)]
mod pace_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::ragged::Ragged;
use millstream_base::{Column, Limits, Value, ValueType};
use millstream_node::function::SharedFunction;
use millstream_node::{Call, Data, Failure, Function, Kernel};

/// Units of work per element, whatever it does: most elements are cheap, some are not.
const PER_ELEMENT: usize = 1 << 6;

/// The kernel that calls a Rust closure.
pub fn function(
    f: impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static,
) -> Kernel {
    let f: SharedFunction = Arc::new(f);
    Kernel::Function(f)
}

/// The kernel that calls a Rust closure, on blocks of elements where that helps.
pub(crate) fn function_in_blocks(
    f: impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static,
) -> Kernel {
    kernel(InBlocks(f))
}

struct InBlocks<F>(F);

impl<F: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync> Function for InBlocks<F> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        (self.0)(call)
    }

    fn in_blocks(&self) -> bool {
        true
    }
}

/// The kernel that calls a function.
pub(crate) fn kernel(function: impl Function + 'static) -> Kernel {
    Kernel::Function(Arc::new(function))
}

/// A kernel that passes on its first input.
pub(crate) fn handing_on() -> Kernel {
    kernel(HandsOn)
}

struct HandsOn;

impl Function for HandsOn {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        hand_on(call, 0);
        Ok(())
    }

    fn is_identity(&self) -> bool {
        true
    }
}

/// The first element of the mask, which stands for all elements in a uniform call.
pub(crate) fn first(call: &Call<'_>) -> Option<usize> {
    call.mask().bounds().map(|bounds| bounds.start)
}

/// Single values to be written to an output.
pub struct Cells<T> {
    values: Vec<T>,
    uniform: bool,
    output: usize,
}

impl<T: ValueType> Cells<T> {
    /// Memory for the values of output 0.
    pub fn new(call: &mut Call<'_>) -> Self {
        Self::for_output(call, 0)
    }

    /// Memory for the values of this output.
    pub fn for_output(call: &mut Call<'_>, output: usize) -> Self {
        let uniform = call.is_uniform();
        Self { values: if uniform { Vec::new() } else { call.buffer(output) }, uniform, output }
    }

    /// The memory of all elements, unless one value is filled for all.
    pub(crate) fn all(&mut self) -> Option<&mut [T]> {
        if self.uniform { None } else { Some(&mut self.values) }
    }

    /// Computes the elements of the mask, ascending; stops at the first failure.
    ///
    /// # Errors
    /// The failure of the first element that fails.
    pub fn fill(
        &mut self,
        call: &Call<'_>,
        mut element: impl FnMut(usize) -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        if self.uniform {
            self.values.push(first(call).map_or_else(|| Ok(T::default_value()), element)?);
            return Ok(());
        }
        let mut pace = call.pace();
        for i in call.mask() {
            pace.work(PER_ELEMENT)?;
            self.values[i] = element(i)?;
        }
        Ok(())
    }

    /// Sets the output.
    pub fn put(mut self, call: &mut Call<'_>) {
        if self.uniform {
            let value = self.values.pop().expect("a uniform call has filled one value");
            call.set_one(self.output, value);
        } else {
            call.set(self.output, self.values);
        }
    }
}

/// Sets an output to a property of each value of input 0, if the output is used.
pub(crate) fn put_property<A: ValueType, V: ValueType>(
    call: &mut Call<'_>,
    output: usize,
    property: impl Fn(A) -> Result<V, Failure>,
) -> Result<(), Failure> {
    if !call.wants(output) {
        return Ok(());
    }
    let mut cells = Cells::for_output(call, output);
    let values = call.input::<A>(0);
    cells.fill(call, |i| property(values.get(i)).map_err(|failure| at(failure, i)))?;
    cells.put(call);
    Ok(())
}

/// A failure that does not say at which element it happened.
pub(crate) fn at(failure: Failure, element: usize) -> Failure {
    Failure { element: Some(element), ..failure }
}

/// Lists to be written to output 0, in one buffer; elements outside the mask get none.
///
/// `T` is the type of the items, or `usize` for positions in a column that contains them.
pub(crate) struct ListCells<T> {
    offsets: Vec<usize>,
    items: Vec<T>,
    uniform: bool,
}

impl<T> ListCells<T> {
    /// Memory for the lists of a call.
    pub(crate) fn new(call: &Call<'_>) -> Self {
        Self { offsets: vec![0], items: Vec::new(), uniform: call.is_uniform() }
    }

    /// Appends the items of each element of the mask, ascending; stops at the first failure.
    ///
    /// `n_items` is an upper bound of their number, as far as it is known, which is checked against
    /// the limit before `write` appends them; the appended items are checked afterwards.
    pub(crate) fn fill(
        &mut self,
        call: &Call<'_>,
        n_items: impl Fn(usize) -> usize,
        mut write: impl FnMut(usize, &mut Vec<T>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let limits = call.limits();
        if self.uniform {
            if let Some(i) = first(call) {
                check_length(n_items(i), i, limits)?;
                write(i, &mut self.items)?;
                check_length(self.items.len(), i, limits)?;
            }
            return Ok(());
        }
        self.offsets.reserve(call.extent());
        let mut pace = call.pace();
        for i in call.mask() {
            self.offsets.resize(i + 1, self.items.len());
            let n = n_items(i);
            check_length(n, i, limits)?;
            check_total(self.items.len().saturating_add(n), limits)?;
            pace.work(n.saturating_add(PER_ELEMENT))?;
            write(i, &mut self.items)?;
            check_total(self.items.len(), limits)?;
        }
        self.offsets.resize(call.extent() + 1, self.items.len());
        Ok(())
    }

    /// The lists of the items.
    pub(crate) fn into_data(self, column: impl FnOnce(Vec<T>) -> Column) -> Result<Data, Failure> {
        let values = column(self.items);
        if self.uniform {
            values.ty().list().ok_or_else(too_deep)?;
            return Ok(Data::One(Value::List(values)));
        }
        let lists = Ragged::new(self.offsets, values).ok_or_else(too_deep)?;
        Ok(Data::Many(Column::from_ragged(lists)))
    }
}

impl<T: ValueType> ListCells<T> {
    /// Sets output 0 to lists of the items.
    pub(crate) fn put(self, call: &mut Call<'_>) -> Result<(), Failure> {
        put(call, self.into_data(Column::from_vec)?);
        Ok(())
    }
}

impl ListCells<usize> {
    /// The positions of all items.
    pub(crate) fn into_items(self) -> Vec<usize> {
        self.items
    }

    /// Sets output 0 to lists of the items at the positions in `source`.
    pub(crate) fn put_from(self, call: &mut Call<'_>, source: &Column) -> Result<(), Failure> {
        put(call, self.into_data(|positions| source.gather(positions.into_iter()))?);
        Ok(())
    }
}

/// One entry of `source` per element, at the index given by `position`.
pub(crate) fn picked(
    call: &Call<'_>,
    source: &Column,
    mut position: impl FnMut(usize) -> Result<usize, Failure>,
) -> Result<Data, Failure> {
    let Some(first) = first(call) else {
        return Ok(Data::One(source.ty().default_value()));
    };
    let of_first = position(first)?;
    if call.is_uniform() {
        return Ok(Data::One(source.get(of_first)));
    }
    // Elements outside the mask may have any value; they get that of the first element.
    let mut positions = vec![of_first; call.extent()];
    let mut pace = call.pace();
    for i in call.mask() {
        pace.work(PER_ELEMENT)?;
        positions[i] = position(i)?;
    }
    Ok(Data::Many(source.gather(positions.into_iter())))
}

/// Passes input `i` on as output 0.
pub(crate) fn hand_on(call: &mut Call<'_>, i: usize) {
    let (map, extent) = (call.argument(i).map(), call.extent());
    match (call.take(i), map) {
        (Data::One(value), _) => call.set_one(0, value),
        (Data::Many(column), Map::Single) => call.set_one(0, column.get(0)),
        (Data::Many(column), Map::Each) if column.len() == extent => call.set(0, column),
        (Data::Many(column), map) => {
            call.set(0, column.gather((0..extent).map(|i| map.entry(i))));
        }
    }
}

/// Checks the length of the list that element `i` is about to get.
pub(crate) fn check_length(n: usize, i: usize, limits: &Limits) -> Result<(), Failure> {
    if n <= limits.list_length {
        return Ok(());
    }
    let failure = Failure::limit("items in one list", n, limits.list_length, "list_length");
    Err(Failure { element: Some(i), ..failure })
}

/// Checks the number of items of all lists of a column.
pub(crate) fn check_total(n: usize, limits: &Limits) -> Result<(), Failure> {
    if n <= limits.list_length {
        return Ok(());
    }
    Err(Failure::limit("items in the lists of one column", n, limits.list_length, "list_length"))
}

/// The failure of putting a list that is nested too deep into another list.
pub(crate) fn too_deep() -> Failure {
    Failure::whole("lists are nested too deeply")
}

/// The column that contains the items of all lists of input `i`.
pub(crate) fn items(call: &Call<'_>, i: usize) -> Column {
    match call.argument(i).data() {
        Data::One(Value::List(items)) => items.clone(),
        Data::One(_) => panic!("the argument is a list"),
        Data::Many(column) => {
            column.as_ragged().expect("the argument is a column of lists").values().clone()
        }
    }
}

/// Sets output 0.
pub(crate) fn put(call: &mut Call<'_>, data: Data) {
    put_at(call, 0, data);
}

/// Sets an output.
pub(crate) fn put_at(call: &mut Call<'_>, output: usize, data: Data) {
    match data {
        Data::One(value) => call.set_one(output, value),
        Data::Many(column) => call.set(output, column),
    }
}

/// The lists of a mutable input, taken out of the call to be written in place if they have no other
/// user.
pub(crate) struct ListEdit<'a> {
    data: Data,
    map: Map<'a>,
    uniform: bool,
}

const IS_LIST: &str = "the argument is a list of the signature's type";

impl<'a> ListEdit<'a> {
    /// Takes input `i`; the call must not read it afterwards.
    pub(crate) fn take(call: &mut Call<'a>, i: usize) -> Self {
        let (uniform, map) = (call.is_uniform(), call.argument(i).map());
        Self { data: call.take(i), map, uniform }
    }

    /// The one list, if every input is one value for all elements; otherwise the edit itself.
    pub(crate) fn uniform(self) -> Result<Column, Self> {
        match self {
            Self { data: Data::One(Value::List(items)), uniform: true, .. } => Ok(items),
            Self { data: Data::Many(column), uniform: true, .. } => {
                Ok(column.as_ragged().expect(IS_LIST).list(0))
            }
            other => Err(other),
        }
    }

    /// The column that contains the items of all lists.
    pub(crate) fn items(&self) -> &Column {
        match &self.data {
            Data::One(Value::List(items)) => items,
            Data::One(_) => panic!("{IS_LIST}"),
            Data::Many(column) => column.as_ragged().expect(IS_LIST).values(),
        }
    }

    /// The range of the list of element `i` in [`items`](Self::items).
    pub(crate) fn range(&self, i: usize) -> std::ops::Range<usize> {
        match &self.data {
            Data::One(_) => 0..self.items().len(),
            Data::Many(column) => column.as_ragged().expect(IS_LIST).range(self.map.entry(i)),
        }
    }

    /// Lets `write` change the items of each element of the mask, ascending, but not their number.
    pub(crate) fn edit<T: ValueType>(
        self,
        call: &Call<'_>,
        mut write: impl FnMut(usize, &mut [T]) -> Result<(), Failure>,
    ) -> Result<Data, Failure> {
        self.edit_with(call, &mut write)
    }

    /// [`edit`](Self::edit) with any closure, so that it is compiled once per type.
    fn edit_with<T: ValueType>(
        self,
        call: &Call<'_>,
        write: &mut WriteItems<'_, T>,
    ) -> Result<Data, Failure> {
        let lists = match self.uniform() {
            Ok(mut items) => {
                if let Some(i) = first(call) {
                    write(i, items.make_mut::<T>().expect(IS_LIST))?;
                }
                return Ok(Data::One(Value::List(items)));
            }
            Err(lists) => lists,
        };
        match lists {
            Self { data: Data::Many(column), map: Map::Each, .. }
                if column.len() == call.extent() =>
            {
                edit_column(call, column, write)
            }
            lists => {
                let source = lists.items().as_slice::<T>().expect(IS_LIST);
                let mut cells = ListCells { offsets: vec![0], items: Vec::new(), uniform: false };
                cells.fill(
                    call,
                    |i| lists.range(i).len(),
                    |i, items| {
                        let start = items.len();
                        items.extend_from_slice(&source[lists.range(i)]);
                        write(i, &mut items[start..])
                    },
                )?;
                cells.into_data(Column::from_vec)
            }
        }
    }
}

/// Changes the items of an element.
type WriteItems<'w, T> = dyn FnMut(usize, &mut [T]) -> Result<(), Failure> + 'w;

/// Writes the lists of a whole column, in place if it has no other user.
fn edit_column<T: ValueType>(
    call: &Call<'_>,
    column: Column,
    write: &mut WriteItems<'_, T>,
) -> Result<Data, Failure> {
    let (offsets, mut values) = match column.try_into_ragged() {
        Ok(lists) => lists.into_parts(),
        Err(shared) => {
            let lists = shared.as_ragged().expect(IS_LIST);
            (lists.offsets().to_vec(), lists.values().clone())
        }
    };
    let items = values.make_mut::<T>().expect(IS_LIST);
    let mut pace = call.pace();
    for i in call.mask() {
        pace.work((offsets[i + 1] - offsets[i]).saturating_add(PER_ELEMENT))?;
        write(i, &mut items[offsets[i]..offsets[i + 1]])?;
    }
    let lists = Ragged::new(offsets, values).ok_or_else(too_deep)?;
    Ok(Data::Many(Column::from_ragged(lists)))
}
