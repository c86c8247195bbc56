//! Functions whose result is a list with items that are computed from few items of the inputs, so
//! that after a change of some only these are computed again.

use std::ops::Range;

use millstream_base::{Column, Value, ValueType};
use millstream_node::gather::{Gather, ItemsMade};
use millstream_node::{Call, Data, Failure, Function, Kernel};

use crate::cells::{items, kernel};

/// A part of a list that is joined from parts.
pub(super) enum Part {
    /// These items of a list, which is this input.
    Of(usize, Range<usize>),
    /// An input that is an item, this many times.
    Item(usize, usize),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Of(_, range) => range.len(),
            Self::Item(_, count) => *count,
        }
    }

    /// The positions in this part that an item of an input has.
    fn places_of(&self, input: usize, item: usize) -> Range<usize> {
        match self {
            Self::Of(of, range) if *of == input && range.contains(&item) => {
                item - range.start..item - range.start + 1
            }
            Self::Item(of, count) if *of == input => 0..*count,
            Self::Of(..) | Self::Item(..) => 0..0,
        }
    }

    /// The item at a position.
    fn get(&self, call: &Call<'_>, at: usize) -> Value {
        match self {
            Self::Of(input, range) => items(call, *input).get(range.start + at),
            Self::Item(input, _) => match call.argument(*input).data() {
                Data::One(value) => value.clone(),
                Data::Many(_) => panic!("all inputs are single values"),
            },
        }
    }
}

/// The kernel of a function that joins parts of its inputs. `fixed` are the inputs on which the
/// parts depend, beside the lengths of the lists; `parts` are those for single values, if the
/// function does not fail.
pub(super) fn joining(
    join: impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static,
    fixed: &'static [usize],
    parts: impl Fn(&Call<'_>) -> Option<Vec<Part>> + Send + Sync + 'static,
) -> Kernel {
    kernel(Joining { join, fixed, parts })
}

struct Joining<J, P> {
    join: J,
    fixed: &'static [usize],
    parts: P,
}

impl<J, P> Function for Joining<J, P>
where
    J: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync,
    P: Fn(&Call<'_>) -> Option<Vec<Part>> + Send + Sync,
{
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        (self.join)(call)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Items(self))
    }
}

impl<J, P> ItemsMade for Joining<J, P>
where
    J: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync,
    P: Fn(&Call<'_>) -> Option<Vec<Part>> + Send + Sync,
{
    fn readers_of(
        &self,
        call: &Call<'_>,
        input: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool {
        let is_known = !self.fixed.contains(&input);
        let Some(parts) = (self.parts)(call).filter(|_| is_known) else { return false };
        let mut start = 0;
        for part in parts {
            let places = part.places_of(input, item);
            if !places.is_empty() {
                visit(start + places.start..start + places.end);
            }
            start += part.len();
        }
        true
    }

    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure> {
        let parts = (self.parts)(call).ok_or_else(|| Failure::whole("it has no parts"))?;
        let mut rest = parts.iter();
        let (mut part, mut start) = (rest.next(), 0);
        let mut item = |at: &u32| {
            let at = *at as usize;
            loop {
                let here = part.expect("the positions are those of items");
                if at < start + here.len() {
                    return here.get(call, at - start);
                }
                start += here.len();
                part = rest.next();
            }
        };
        let ty = items(call, 0).ty();
        Ok(ty.collect(&mut at.iter().map(&mut item)).expect(super::TYPED))
    }
}

/// The kernel of a function of a list of which each result reads the items near it. `readers` are
/// the positions of the results that read an item, if these are few; `result` gives one of them.
pub(super) fn by_windows<T: ValueType>(
    whole: impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static,
    readers: impl Fn(&Call<'_>, usize) -> Option<Range<usize>> + Send + Sync + 'static,
    result: impl Fn(&Call<'_>, usize) -> T + Send + Sync + 'static,
) -> Kernel {
    kernel(ByWindows { whole, readers, result })
}

struct ByWindows<W, R, V> {
    whole: W,
    readers: R,
    result: V,
}

impl<T, W, R, V> Function for ByWindows<W, R, V>
where
    T: ValueType,
    W: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync,
    R: Fn(&Call<'_>, usize) -> Option<Range<usize>> + Send + Sync,
    V: Fn(&Call<'_>, usize) -> T + Send + Sync,
{
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        (self.whole)(call)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Items(self))
    }
}

impl<T, W, R, V> ItemsMade for ByWindows<W, R, V>
where
    T: ValueType,
    W: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync,
    R: Fn(&Call<'_>, usize) -> Option<Range<usize>> + Send + Sync,
    V: Fn(&Call<'_>, usize) -> T + Send + Sync,
{
    fn readers_of(
        &self,
        call: &Call<'_>,
        input: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool {
        let readers = if input == 0 { (self.readers)(call, item) } else { None };
        readers.map(visit).is_some()
    }

    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure> {
        let mut pace = call.pace();
        let results = at.iter().map(|at| {
            pace.work(64)?;
            Ok((self.result)(call, *at as usize))
        });
        Ok(Column::from_vec(results.collect::<Result<Vec<T>, Failure>>()?))
    }
}

/// Whether windows of this size are so short, for a list of `n`, that after a change of an item its
/// readers are computed faster one by one than all results together.
pub(super) fn is_short(size: usize, n: usize) -> bool {
    size.saturating_mul(size) <= n
}
