//! Functions over columns, made from Rust closures that see the inputs of one element.
//!
//! The types of the arguments, written once, say how the inputs are read, from the first on: a
//! value type for single values, [`Text`] for strings, [`Items`] for the items of a list and
//! [`Places`] for their positions. Constructors for the results of one element:
//!
//! | result | constructor |
//! |---|---|
//! | a value | [`each`], or [`try_each`] if it may fail or takes long |
//! | a list of new items | [`each_list`] |
//! | a list of items of the first input | [`each_pick`] |
//! | several lists, one for each output | [`put_lists`] |

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::virtual_array::VirtualArray;
use millstream_base::{Column, Limits, Value, ValueType};
use millstream_node::function::Lists;
use millstream_node::gather::{Gather, ItemsRead};
use millstream_node::{Call, Data, Failure, Function, Pace};

use crate::cells::{Cells, ListCells, items, put_at};

/// The type of an argument: how an input is read for one element.
pub(crate) trait Argument {
    /// An input of a call.
    type View<'c>;
    /// The input of one element.
    type Of<'v>;

    /// The input at a position.
    fn view<'c>(call: &'c Call<'_>, input: usize) -> Self::View<'c>;
    /// The input of element `i`.
    fn of<'v>(view: &'v Self::View<'_>, i: usize) -> Self::Of<'v>;
}

impl<T: ValueType> Argument for T {
    type View<'c> = VirtualArray<'c, T>;
    type Of<'v> = T;

    fn view<'c>(call: &'c Call<'_>, input: usize) -> VirtualArray<'c, T> {
        call.input(input)
    }

    fn of(view: &VirtualArray<'_, T>, i: usize) -> T {
        view.get(i)
    }
}

/// A string, as `&str`.
pub(crate) struct Text;

/// The strings of an input.
pub(crate) enum Texts<'c> {
    /// One string for all elements.
    One(&'c str),
    /// A string per entry.
    Many(&'c [Arc<str>], Map<'c>),
}

impl Argument for Text {
    type View<'c> = Texts<'c>;
    type Of<'v> = &'v str;

    fn view<'c>(call: &'c Call<'_>, input: usize) -> Texts<'c> {
        let argument = call.argument(input);
        match argument.data() {
            Data::One(Value::String(text)) => Texts::One(text),
            Data::One(_) => panic!("the argument is a string"),
            Data::Many(column) => {
                Texts::Many(column.as_slice().expect("the argument is a string"), argument.map())
            }
        }
    }

    fn of<'v>(view: &'v Texts<'_>, i: usize) -> &'v str {
        match view {
            Texts::One(text) => text,
            Texts::Many(texts, map) => &texts[map.entry(i)],
        }
    }
}

/// The items of a list, as `&[T]`.
pub(crate) struct Items<T>(PhantomData<T>);

impl<T: ValueType> Argument for Items<T> {
    type View<'c> = Lists<'c>;
    type Of<'v> = &'v [T];

    fn view<'c>(call: &'c Call<'_>, input: usize) -> Lists<'c> {
        call.lists(input)
    }

    fn of<'v>(view: &'v Lists<'_>, i: usize) -> &'v [T] {
        view.slice(i).expect("the items have the signature's type")
    }
}

/// A list, as a column.
pub(crate) struct List;

impl Argument for List {
    type View<'c> = Lists<'c>;
    type Of<'v> = Column;

    fn view<'c>(call: &'c Call<'_>, input: usize) -> Lists<'c> {
        call.lists(input)
    }

    fn of(view: &Lists<'_>, i: usize) -> Column {
        view.list(i)
    }
}

/// The positions of a list's items in the column that contains the items of all lists.
pub(crate) struct Places;

impl Argument for Places {
    type View<'c> = Lists<'c>;
    type Of<'v> = Range<usize>;

    fn view<'c>(call: &'c Call<'_>, input: usize) -> Lists<'c> {
        call.lists(input)
    }

    fn of(view: &Lists<'_>, i: usize) -> Range<usize> {
        view.parts(i).1
    }
}

/// The arguments of a closure: a tuple of [`Argument`]s.
pub(crate) trait Arguments {
    /// The inputs of a call.
    type Views<'c>;
    /// The inputs of one element.
    type Of<'v>;

    /// The first inputs of a call.
    fn views<'c>(call: &'c Call<'_>) -> Self::Views<'c>;
    /// The inputs of element `i`.
    fn of<'v>(views: &'v Self::Views<'_>, i: usize) -> Self::Of<'v>;
}

macro_rules! arguments {
    ($($($A:ident $at:tt)+,)+) => {$(
        impl<$($A: Argument),+> Arguments for ($($A,)+) {
            type Views<'c> = ($($A::View<'c>,)+);
            type Of<'v> = ($($A::Of<'v>,)+);

            fn views<'c>(call: &'c Call<'_>) -> Self::Views<'c> {
                ($($A::view(call, $at),)+)
            }

            fn of<'v>(views: &'v Self::Views<'_>, i: usize) -> Self::Of<'v> {
                ($($A::of(&views.$at, i),)+)
            }
        }
    )+};
}
arguments!(A 0, A 0 B 1, A 0 B 1 C 2, A 0 B 1 C 2 D 3, A 0 B 1 C 2 D 3 E 4 F 5,);

/// All inputs of a call, each read as one argument, as a vector.
pub(crate) struct All<A>(PhantomData<A>);

impl<A: Argument> Arguments for All<A> {
    type Views<'c> = Vec<A::View<'c>>;
    type Of<'v> = Vec<A::Of<'v>>;

    fn views<'c>(call: &'c Call<'_>) -> Self::Views<'c> {
        (0..call.n_inputs()).map(|input| A::view(call, input)).collect()
    }

    fn of<'v>(views: &'v Self::Views<'_>, i: usize) -> Self::Of<'v> {
        views.iter().map(|view| A::of(view, i)).collect()
    }
}

/// The element that a closure computes.
pub(crate) struct Element<'c> {
    /// Its index.
    pub(crate) i: usize,
    /// Counts work, and tests for cancellation.
    pub(crate) pace: Pace<'c>,
    /// The limits of the evaluation.
    pub(crate) limits: &'c Limits,
}

impl<'c> Element<'c> {
    pub(crate) fn first_of(call: &Call<'c>) -> Self {
        Self { i: 0, pace: call.pace(), limits: call.limits() }
    }

    /// The failure of this element.
    pub(crate) fn failure(&self, message: impl Into<String>) -> Failure {
        Failure::at(self.i, message)
    }
}

/// The function whose output 0 is a value for each element.
pub(crate) fn each<A: Arguments, R: ValueType>(
    value: impl for<'v> Fn(A::Of<'v>) -> R + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    try_each::<A, R>(move |_, arguments| Ok(value(arguments)))
}

/// The function whose output 0 is a value for each element; stops at the first failure.
pub(crate) fn try_each<A: Arguments, R: ValueType>(
    value: impl for<'v> Fn(&mut Element<'_>, A::Of<'v>) -> Result<R, Failure> + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    move |call| {
        let mut cells = Cells::<R>::new(call);
        let (views, mut element) = (A::views(call), Element::first_of(call));
        cells.fill(call, |i| {
            element.i = i;
            value(&mut element, A::of(&views, i))
        })?;
        drop(views);
        cells.put(call);
        Ok(())
    }
}

/// The function whose output 0 is a list for each element. `n_items` is an upper bound of its
/// length, as far as it is known, which is checked before `write` appends the items.
pub(crate) fn each_list<A: Arguments, R: ValueType>(
    n_items: impl for<'v> Fn(A::Of<'v>) -> usize + Send + Sync + 'static,
    write: impl for<'v> Fn(&mut Element<'_>, A::Of<'v>, &mut Vec<R>) -> Result<(), Failure>
    + Send
    + Sync
    + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    move |call| lists_of::<A, R>(call, &n_items, &write)?.put(call)
}

/// The arguments of a closure that sees the positions of the first list's items, not their values.
pub(crate) trait FromPlaces: Arguments {}

impl FromPlaces for (Places,) {}
impl<B: Argument> FromPlaces for (Places, B) {}
impl<B: Argument, C: Argument> FromPlaces for (Places, B, C) {}

/// The function whose output 0 is a list of items of the first input for each element, given by
/// their positions in the column of all items.
pub(crate) fn each_pick<A: FromPlaces + 'static>(
    n_items: impl for<'v> Fn(A::Of<'v>) -> usize + Send + Sync + 'static,
    write: impl for<'v> Fn(&mut Element<'_>, A::Of<'v>, &mut Vec<usize>) -> Result<(), Failure>
    + Send
    + Sync
    + 'static,
) -> impl Function + ItemsRead {
    Picking(move |call: &Call<'_>| lists_of::<A, usize>(call, &n_items, &write))
}

/// See [`each_pick`]. The closure finds the positions.
struct Picking<Places>(Places);

impl<Places> Function for Picking<Places>
where
    Places: Fn(&Call<'_>) -> Result<ListCells<usize>, Failure> + Send + Sync,
{
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let cells = self.0(call)?;
        let source = items(call, 0);
        cells.put_from(call, &source)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Copies(self))
    }
}

impl<Places> ItemsRead for Picking<Places>
where
    Places: Fn(&Call<'_>) -> Result<ListCells<usize>, Failure> + Send + Sync,
{
    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure> {
        let places = self.0(call)?.into_items();
        places.into_iter().enumerate().for_each(|(at, item)| visit(at, item));
        Ok(())
    }
}

/// Sets an output, if it is wanted, to a list for each element; as [`each_list`].
///
/// # Errors
/// The failure of the first element that fails.
pub(crate) fn put_lists<A: Arguments, R: ValueType>(
    call: &mut Call<'_>,
    output: usize,
    n_items: &impl for<'v> Fn(A::Of<'v>) -> usize,
    write: &impl for<'v> Fn(&mut Element<'_>, A::Of<'v>, &mut Vec<R>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !call.wants(output) {
        return Ok(());
    }
    let lists = lists_of::<A, R>(call, n_items, write)?.into_data(Column::from_vec)?;
    put_at(call, output, lists);
    Ok(())
}

fn lists_of<A: Arguments, R>(
    call: &Call<'_>,
    n_items: &impl for<'v> Fn(A::Of<'v>) -> usize,
    write: &impl for<'v> Fn(&mut Element<'_>, A::Of<'v>, &mut Vec<R>) -> Result<(), Failure>,
) -> Result<ListCells<R>, Failure> {
    let mut cells = ListCells::new(call);
    let (views, mut element) = (A::views(call), Element::first_of(call));
    cells.fill(
        call,
        |i| n_items(A::of(&views, i)),
        |i, out| {
            element.i = i;
            write(&mut element, A::of(&views, i), out)
        },
    )?;
    Ok(cells)
}
