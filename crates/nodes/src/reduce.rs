//! Reductions of many values to one, over a list (`list.sum`) or along an axis (`reduce.sum`).
//!
//! Along an axis a node receives a list of the values linked to it, so one function serves both.
//! Sums, products and means are computed in the order of `tree`, which does not depend on chunks or
//! threads.

mod folding;
mod frequent;
mod number;
mod quantile;
mod scan;
pub(crate) mod spread;
mod statistics;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

use std::marker::PhantomData;

use millstream_base::Type;
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Registry, SocketType};

use crate::cells::{function, kernel, picked, put};
use crate::context::{along, with_axis};
use crate::shape::{FLOATS, NUMBERS, ORDERED, for_type, list_of, sockets_of};
use folding::{AsForm, By, Folding};
use number::{Fraction, Number};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    for reduction in REDUCTIONS {
        registry.register(reduction.over_list());
        registry.register(reduction.along_axis());
    }
    quantile::register(registry);
    scan::register(registry);
}

/// The types that a reduction takes and returns.
#[derive(Clone, Copy)]
enum Shape {
    /// From items of one of these types to a value of the same type.
    OfItems(Among),
    /// From items of one of these types to the index of one of them, an `i32`.
    Place(Among),
    /// From conditions to a `bool`.
    Condition,
    /// From conditions to an `i32`.
    Count,
}

/// One reduction, from which two nodes are made.
#[derive(Clone, Copy)]
struct Reduction {
    name: &'static str,
    /// The summary, where `{}` stands for "of a list" or "over all elements or moments".
    summary: &'static str,
    details: &'static str,
    /// Whether the result depends on the order of the items.
    ordered: bool,
    shape: Shape,
    /// Makes the kernel for the type of the items.
    kernel: fn(Type) -> Kernel,
}

const ORDER: &str = "The order of operations is fixed, so the result has the same bits however the \
    work is split: blocks of 1024 items, each combined from 16 interleaved partial results, then \
    the blocks pairwise.";

const REDUCTIONS: [Reduction; 16] = [
    Reduction {
        name: "sum",
        summary: "The sum {}",
        details: "The sum of no items is 0. Integers wrap around. The error is at most 5e-6 times \
            the sum of the magnitudes of the items, in `f64` 1e-14 times, for up to 2^26 items.",
        ordered: true,
        shape: Shape::OfItems(NUMBERS),
        kernel: sum,
    },
    Reduction {
        name: "product",
        summary: "The product {}",
        details: "The product of no items is 1. Integers wrap around. The relative error is at \
            most 6e-8 per item, in `f64` 1.2e-16.",
        ordered: true,
        shape: Shape::OfItems(NUMBERS),
        kernel: product,
    },
    Reduction {
        name: "mean",
        summary: "The mean {}",
        details: "The sum divided by the number of items: NaN for no items, infinite if the sum \
                  overflows. The error is at most 6e-6 times the mean magnitude of the items, in \
                  `f64` 1e-14 times, for up to 2^26 items.",
        ordered: true,
        shape: Shape::OfItems(FLOATS),
        kernel: mean,
    },
    Reduction {
        name: "minimum",
        summary: "The least value {}",
        details: "For vectors, the least value of each component. NaN is ignored unless all values \
            are NaN; -0 is less than +0. Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(NUMBERS),
        kernel: minimum,
    },
    Reduction {
        name: "maximum",
        summary: "The greatest value {}",
        details: "For vectors, the greatest value of each component. NaN is ignored unless all \
            values are NaN; +0 is greater than -0. Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(NUMBERS),
        kernel: maximum,
    },
    Reduction {
        name: "variance",
        summary: "The variance {}",
        details: "The mean of the squared differences from the mean, for each component; NaN for \
            no items. Multiplied by n / (n - 1) it is the unbiased estimate from a sample of n \
            items. The error is at most 6e-6 times itself plus the square of 6e-6 times the mean \
            magnitude of the items, for up to 2^26 items; in `f64` 1e-14 takes the place of 6e-6.",
        ordered: true,
        shape: Shape::OfItems(FLOATS),
        kernel: statistics::variance,
    },
    Reduction {
        name: "deviation",
        summary: "The standard deviation {}",
        details: "The square root of the variance, for each component; NaN for no items. The error \
                  is at most 6e-6 times the sum of itself and the mean magnitude of the items, in \
                  `f64` 1e-14 times, for up to 2^26 items.",
        ordered: true,
        shape: Shape::OfItems(FLOATS),
        kernel: statistics::deviation,
    },
    Reduction {
        name: "median",
        summary: "The median {}",
        details: "At most half of the items are less and at most half are greater. For an even \
            number of items it is the midpoint of the two middle ones, rounded once. NaN is \
            ignored unless all items are NaN. Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(statistics::SINGLE),
        kernel: statistics::median,
    },
    Reduction {
        name: "mode",
        summary: "The most frequent value {}",
        details: "Values are equal if their bits are. Of several values that are equally frequent, \
            the one that occurs first is returned. Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(frequent::most_frequent),
    },
    Reduction {
        name: "index_of_minimum",
        summary: "The index of the least value {}",
        details: "The first one if there are several; -0 and +0 are equal. NaN is ignored unless \
            all values are NaN. Fails if there are no items.",
        ordered: false,
        shape: Shape::Place(ORDERED),
        kernel: statistics::index_of_minimum,
    },
    Reduction {
        name: "index_of_maximum",
        summary: "The index of the greatest value {}",
        details: "The first one if there are several; -0 and +0 are equal. NaN is ignored unless \
            all values are NaN. Fails if there are no items.",
        ordered: false,
        shape: Shape::Place(ORDERED),
        kernel: statistics::index_of_maximum,
    },
    Reduction {
        name: "first",
        summary: "The first value {}",
        details: "Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(|call| at_end(call, "first item", |range| range.start)),
    },
    Reduction {
        name: "last",
        summary: "The last value {}",
        details: "Fails if there are no items.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(|call| at_end(call, "last item", |range| range.end - 1)),
    },
    Reduction {
        name: "any",
        summary: "Whether any condition {} is true",
        details: "False if there are no items.",
        ordered: false,
        shape: Shape::Condition,
        kernel: |_| {
            let as_form: AsForm = (|a, b| a.or(b), |any, _| any);
            condition(|items| items.contains(&true), |a, b| a | b, false, as_form)
        },
    },
    Reduction {
        name: "all",
        summary: "Whether all conditions {} are true",
        details: "True if there are no items.",
        ordered: false,
        shape: Shape::Condition,
        kernel: |_| {
            let as_form: AsForm = (|a, b| a.and(b), |all, _| all);
            condition(|items| !items.contains(&false), |a, b| a & b, true, as_form)
        },
    },
    Reduction {
        name: "count_true",
        summary: "The number of conditions {} that are true",
        details: "0 if there are no items.",
        ordered: false,
        shape: Shape::Count,
        kernel: count_true,
    },
];

impl Reduction {
    fn details(&self) -> String {
        if self.ordered { format!("{} {ORDER}", self.details) } else { self.details.into() }
    }

    fn over_list(self) -> NodeDef {
        let def =
            NodeDef::new(format!("list.{}", self.name), self.summary.replace("{}", "of a list"))
                .details(self.details());
        let def = match self.shape {
            Shape::OfItems(among) | Shape::Place(among) => {
                def.generic("T", among).input("list", SocketType::ListOf(0), "")
            }
            Shape::Condition | Shape::Count => {
                let conditions = list_of(Type::BOOL);
                def.input("list", conditions, "")
            }
        };
        self.with_output(def).kernel(move |parts| Ok((self.kernel)(self.items(parts.generics))))
    }

    fn along_axis(self) -> NodeDef {
        let name = format!("reduce.{}", self.name);
        let def = NodeDef::new(name, self.summary.replace("{}", "over all elements or moments"))
            .details(format!(
                "Computes `value` for every cell along the axis of this feature and level: the \
             elements of the request or of the nearest enclosing list or loop, or the moments of \
             the request. Without such an axis there is one cell. {}",
                self.details()
            ));
        with_axis(def)
            .sockets_by_settings(move |settings| {
                let def = NodeDef::new("", "");
                let (def, ty) = match self.shape {
                    Shape::OfItems(among) | Shape::Place(among) => {
                        (def.generic("T", among), SocketType::Generic(0))
                    }
                    Shape::Condition | Shape::Count => (def, Type::BOOL.into()),
                };
                let def = def
                    .input("value", ty, "value to reduce, computed for every cell")
                    .scope(along(settings));
                let sockets = self.with_output(def);
                Ok(sockets_of(&sockets))
            })
            .kernel(move |parts| Ok((self.kernel)(self.items(parts.generics))))
    }

    fn with_output(&self, def: NodeDef) -> NodeDef {
        match self.shape {
            Shape::OfItems(_) => def.output("value", SocketType::Generic(0), ""),
            Shape::Condition => def.output("value", Type::BOOL, ""),
            Shape::Count => def.output("value", Type::I32, ""),
            Shape::Place(_) => def.output("value", Type::I32, "index of the element, from 0"),
        }
    }

    /// The type of the items.
    fn items(&self, generics: &[Type]) -> Type {
        match self.shape {
            Shape::OfItems(_) | Shape::Place(_) => generics[0],
            Shape::Condition | Shape::Count => Type::BOOL,
        }
    }
}

fn sum(ty: Type) -> Kernel {
    let as_form: AsForm = (|a, b| a + b, |sum, _| sum);
    for_type!(numbers ty, T => folded(T::add, |sum, _| Ok(sum.unwrap_or(T::ZERO)), as_form))
}

fn product(ty: Type) -> Kernel {
    let as_form: AsForm = (|a, b| a * b, |product, _| product);
    for_type!(numbers ty, T => folded(T::multiply, |all, _| Ok(all.unwrap_or(T::ONE)), as_form))
}

fn mean(ty: Type) -> Kernel {
    let as_form: AsForm = (|a, b| a + b, |sum, n| sum / n as f64);
    for_type!(floats ty, T => folded(
        T::add, |sum, n| Ok(sum.unwrap_or(T::ZERO).divided_by(n)), as_form
    ))
}

fn minimum(ty: Type) -> Kernel {
    let as_form: AsForm = (|a, b| a.min(b), |least, _| least);
    for_type!(numbers ty, T => folded(T::lesser, |least, _| least.ok_or("minimum"), as_form))
}

fn maximum(ty: Type) -> Kernel {
    let as_form: AsForm = (|a, b| a.max(b), |greatest, _| greatest);
    for_type!(numbers ty, T => folded(T::greater, |most, _| most.ok_or("maximum"), as_form))
}

/// The kernel that joins items by `op`. `finish` gets the result and the number of items, and
/// returns the name of the missing value for an empty list.
fn folded<T: Number>(
    op: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
    finish: impl Fn(Option<T>, usize) -> Result<T, &'static str> + Copy + Send + Sync + 'static,
    as_form: AsForm,
) -> Kernel {
    let block = move |items: &[T]| tree::fold_block(items, op);
    let steps = By { block, join: op, finish, items: PhantomData };
    kernel(Folding { steps, as_form: Some(as_form) })
}

/// The kernel that joins whether `holds` is true of the conditions of a block.
fn condition(
    holds: fn(&[bool]) -> bool,
    op: fn(bool, bool) -> bool,
    of_none: bool,
    as_form: AsForm,
) -> Kernel {
    let finish = move |holds: Option<bool>, _| Ok(holds.unwrap_or(of_none));
    let steps = By { block: holds, join: op, finish, items: PhantomData };
    kernel(Folding { steps, as_form: Some(as_form) })
}

/// The kernel that counts the conditions that are true, at most `i32::MAX`.
fn count_true(_: Type) -> Kernel {
    let n_true = |items: &[bool]| items.iter().filter(|item| **item).count() as i32;
    let finish = |n: Option<i32>, _| Ok(n.unwrap_or(0));
    let join = i32::saturating_add;
    let steps = By { block: n_true, join, finish, items: PhantomData };
    kernel(Folding { steps, as_form: None })
}

/// The item at one end of each list.
fn at_end(
    call: &mut Call<'_>,
    what: &str,
    end: impl Fn(&std::ops::Range<usize>) -> usize,
) -> Result<(), Failure> {
    let source = crate::cells::items(call, 0);
    let lists = call.lists(0);
    let ends = picked(call, &source, |i| {
        let range = lists.parts(i).1;
        if range.is_empty() { Err(nothing(i, what)) } else { Ok(end(&range)) }
    })?;
    put(call, ends);
    Ok(())
}

/// The failure of a reduction of an empty list.
fn nothing(element: usize, what: &str) -> Failure {
    Failure::at(element, format!("an empty list has no {what}"))
        .with_help("add an item to the list, or switch to another value where `list.length` is 0")
}
