//! Reductions: many values to one, over a list (`list.sum`) or along an axis (`reduce.sum`).
//!
//! Along an axis a node receives a list of what is linked, so both are one function. Sums, products
//! and means are computed in the order of `tree`, which does not depend on chunks or threads.

mod frequent;
mod number;
mod quantile;
mod scan;
pub(crate) mod spread;
pub(crate) mod statistics;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod unrolled;

use millstream_base::{Type, Vec2, Vec3, Vec4};
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Registry, Signature, SocketType};

use crate::cells::{Cells, function, picked, put};
use crate::context::{along, with_axis};
use number::{Fraction, Number};
use unrolled::folding;

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    for reduction in REDUCTIONS {
        registry.register(reduction.over_list());
        registry.register(reduction.along_axis());
    }
    quantile::register(registry);
    scan::register(registry);
}

/// Whatever can be added.
const NUMBERS: Among =
    Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// Whatever can be divided.
const FRACTIONS: Among = Among::These(&[Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// What a reduction takes and gives.
#[derive(Clone, Copy)]
enum Shape {
    /// Items of one of these types to one of them.
    OfItems(Among),
    /// Items of one of these types to the `i32` that is the number of one.
    Place(Among),
    /// Conditions to a `bool`.
    Condition,
    /// Conditions to an `i32`.
    Count,
}

/// One reduction, of which two nodes are made.
#[derive(Clone, Copy)]
struct Reduction {
    name: &'static str,
    /// After "over a list" or "along an axis" it is the summary.
    summary: &'static str,
    details: &'static str,
    /// Whether the result depends on the order of the items.
    ordered: bool,
    shape: Shape,
    /// Makes the kernel for the type of the items.
    kernel: fn(Type) -> Kernel,
}

const ORDER: &str = "The order is fixed, so the result has the same bits however the work is split: \
                     blocks of 1024, in each 16 interleaved partial results that are combined \
                     pairwise, then the blocks pairwise.";

const REDUCTIONS: [Reduction; 16] = [
    Reduction {
        name: "sum",
        summary: "The sum",
        details: "0 of nothing. Integers wrap. Off by at most 5e-6 of the sum of the sizes of the items, in \
                  `f64` 1e-14 of it, for up to 2^26 of them.",
        ordered: true,
        shape: Shape::OfItems(NUMBERS),
        kernel: sum,
    },
    Reduction {
        name: "product",
        summary: "The product",
        details: "1 of nothing. Integers wrap. Off by at most 6e-8 of itself for each item, in `f64` 1.2e-16.",
        ordered: true,
        shape: Shape::OfItems(NUMBERS),
        kernel: product,
    },
    Reduction {
        name: "mean",
        summary: "The mean",
        details: "The sum divided by the number of elements; NaN of nothing, infinite where the sum is. Off by \
                  at most 6e-6 of the mean size of the items, in `f64` 1e-14 of it, for up to 2^26 of them.",
        ordered: true,
        shape: Shape::OfItems(FRACTIONS),
        kernel: mean,
    },
    Reduction {
        name: "minimum",
        summary: "The least value",
        details: "Of vectors the least in each component. A NaN gives way to a number, -0 is less than \
                  +0. Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(NUMBERS),
        kernel: minimum,
    },
    Reduction {
        name: "maximum",
        summary: "The greatest value",
        details: "Of vectors the greatest in each component. A NaN gives way to a number, +0 is greater \
                  than -0. Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(NUMBERS),
        kernel: maximum,
    },
    Reduction {
        name: "variance",
        summary: "The variance",
        details: "The mean of the squared distances to the mean, in each component; NaN of nothing. Times \
                  n / (n - 1) it is the estimate from a sample of n. Off by at most 6e-6 of itself and the square \
                  of 6e-6 of the mean size of the items, in `f64` 1e-14, for up to 2^26 of them.",
        ordered: true,
        shape: Shape::OfItems(FRACTIONS),
        kernel: statistics::variance,
    },
    Reduction {
        name: "deviation",
        summary: "The standard deviation",
        details: "The square root of the variance, in each component; NaN of nothing. Off by at most 6e-6 of \
                  itself and of the mean size of the items, in `f64` 1e-14, for up to 2^26 of them.",
        ordered: true,
        shape: Shape::OfItems(FRACTIONS),
        kernel: statistics::deviation,
    },
    Reduction {
        name: "median",
        summary: "The median",
        details: "Half of the numbers are at most that. Of an even number halfway between the two in the \
                  middle, rounded once. NaNs do not count unless there is nothing else. Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(statistics::SINGLE),
        kernel: statistics::median,
    },
    Reduction {
        name: "mode",
        summary: "The most frequent value",
        details: "Values are the same if their bits are. Of several that are as frequent the one that comes first. \
                  Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(frequent::most_frequent),
    },
    Reduction {
        name: "index_of_minimum",
        summary: "Where the least value stands",
        details: "Of several the first; -0 and +0 are equal. A NaN gives way to a number. Fails where there \
                  is nothing.",
        ordered: false,
        shape: Shape::Place(statistics::ORDERED),
        kernel: statistics::index_of_minimum,
    },
    Reduction {
        name: "index_of_maximum",
        summary: "Where the greatest value stands",
        details: "Of several the first; -0 and +0 are equal. A NaN gives way to a number. Fails where there \
                  is nothing.",
        ordered: false,
        shape: Shape::Place(statistics::ORDERED),
        kernel: statistics::index_of_maximum,
    },
    Reduction {
        name: "first",
        summary: "The first value",
        details: "Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(|call| at_end(call, "first", |range| range.start)),
    },
    Reduction {
        name: "last",
        summary: "The last value",
        details: "Fails where there is nothing.",
        ordered: false,
        shape: Shape::OfItems(Among::Any),
        kernel: |_| function(|call| at_end(call, "last", |range| range.end - 1)),
    },
    Reduction {
        name: "any",
        summary: "Whether a condition holds somewhere",
        details: "False of nothing.",
        ordered: false,
        shape: Shape::Condition,
        kernel: |_| {
            let any = |call: &mut Call<'_>| conditions(call, |items| items.contains(&true));
            folding(any, |a, b| a.or(b), |any, _| any)
        },
    },
    Reduction {
        name: "all",
        summary: "Whether a condition holds everywhere",
        details: "True of nothing.",
        ordered: false,
        shape: Shape::Condition,
        kernel: |_| {
            let all = |call: &mut Call<'_>| conditions(call, |items| !items.contains(&false));
            folding(all, |a, b| a.and(b), |all, _| all)
        },
    },
    Reduction {
        name: "count_true",
        summary: "How often a condition holds",
        details: "0 of nothing.",
        ordered: false,
        shape: Shape::Count,
        kernel: |_| {
            function(|call| {
                conditions(call, |items| {
                    i32::try_from(items.iter().filter(|item| **item).count()).unwrap_or(i32::MAX)
                })
            })
        },
    },
];

impl Reduction {
    fn details(&self) -> String {
        if self.ordered { format!("{} {ORDER}", self.details) } else { self.details.into() }
    }

    fn over_list(self) -> NodeDef {
        let def =
            NodeDef::new(format!("list.{}", self.name), format!("{} in a list", self.summary))
                .details(self.details());
        let def = match self.shape {
            Shape::OfItems(among) | Shape::Place(among) => {
                def.generic("T", among).input("list", SocketType::ListOf(0), "")
            }
            Shape::Condition | Shape::Count => {
                let conditions = Type::BOOL.list().expect("lists of conditions exist");
                def.input("list", conditions, "")
            }
        };
        self.with_output(def).kernel(move |parts| Ok((self.kernel)(self.items(parts.generics))))
    }

    fn along_axis(self) -> NodeDef {
        let name = format!("reduce.{}", self.name);
        let def = NodeDef::new(name, format!("{} over all elements or moments", self.summary)).details(format!(
            "Computes `value` for every cell of the axis of this feature and level: the elements of the \
             request, or of the nearest list or loop that counts, or the moments of the request. Where \
             there is no such axis there is one cell. {}",
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
                let def = def.input("value", ty, "computed for every cell").scope(along(settings));
                let sockets = self.with_output(def);
                Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
            })
            .kernel(move |parts| Ok((self.kernel)(self.items(parts.generics))))
    }

    fn with_output(&self, def: NodeDef) -> NodeDef {
        match self.shape {
            Shape::OfItems(_) => def.output("value", SocketType::Generic(0), ""),
            Shape::Condition => def.output("value", Type::BOOL, ""),
            Shape::Count => def.output("value", Type::I32, ""),
            Shape::Place(_) => def.output("value", Type::I32, "number of the element, from 0"),
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

/// The expression with `$T` for the Rust type of numbers.
macro_rules! for_numbers {
    ($ty:expr, $T:ident => $kernel:expr) => {
        for_numbers!(@ $ty, $T => $kernel, [i32, i64, f32, f64, Vec2, Vec3, Vec4])
    };
    (fractions $ty:expr, $T:ident => $kernel:expr) => {
        for_numbers!(@ $ty, $T => $kernel, [f32, f64, Vec2, Vec3, Vec4])
    };
    (@ $ty:expr, $T:ident => $kernel:expr, [$($rust:ty),*]) => {{
        let ty = $ty;
        $(if ty == Type::of::<$rust>() {
            type $T = $rust;
            return $kernel;
        })*
        unreachable!("the socket takes numbers, but {ty} is none")
    }};
}
use for_numbers;

fn sum(ty: Type) -> Kernel {
    for_numbers!(ty, T => folding(|call| {
        folded(call, T::add, |sum, _| Ok(sum.unwrap_or(T::ZERO)))
    }, |a, b| a + b, |sum, _| sum))
}

fn product(ty: Type) -> Kernel {
    for_numbers!(ty, T => folding(|call| {
        folded(call, T::multiply, |product, _| Ok(product.unwrap_or(T::ONE)))
    }, |a, b| a * b, |product, _| product))
}

fn mean(ty: Type) -> Kernel {
    for_numbers!(fractions ty, T => folding(|call| {
        folded(call, T::add, |sum, n| Ok(sum.unwrap_or(T::ZERO).divided_by(n)))
    }, |a, b| a + b, |sum, n| sum / n as f64))
}

fn minimum(ty: Type) -> Kernel {
    for_numbers!(ty, T => folding(|call| {
        folded(call, T::lesser, |least, _| least.ok_or("minimum"))
    }, |a, b| a.min(b), |least, _| least))
}

fn maximum(ty: Type) -> Kernel {
    for_numbers!(ty, T => folding(|call| {
        folded(call, T::greater, |greatest, _| greatest.ok_or("maximum"))
    }, |a, b| a.max(b), |greatest, _| greatest))
}

/// Folds the list of each element; `finish` gets the result and the number of items, and names what
/// an empty list lacks.
fn folded<T: Number>(
    call: &mut Call<'_>,
    op: impl Fn(T, T) -> T + Copy,
    finish: impl Fn(Option<T>, usize) -> Result<T, &'static str>,
) -> Result<(), Failure> {
    let mut cells = Cells::new(call);
    let lists = call.lists(0);
    cells.fill(call, |i| {
        let items = lists.slice::<T>(i).expect("the items have the signature's type");
        finish(tree::fold(items, op), items.len()).map_err(|what| nothing(i, what))
    })?;
    cells.put(call);
    Ok(())
}

fn conditions<R: millstream_base::ValueType>(
    call: &mut Call<'_>,
    test: impl Fn(&[bool]) -> R,
) -> Result<(), Failure> {
    let mut cells = Cells::new(call);
    let lists = call.lists(0);
    cells.fill(call, |i| {
        Ok(test(lists.slice::<bool>(i).expect("the items have the signature's type")))
    })?;
    cells.put(call);
    Ok(())
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

/// What is wrong where there is nothing to take something from.
fn nothing(element: usize, what: &str) -> Failure {
    Failure::at(element, format!("an empty list has no {what}"))
        .with_help("give it an element, or choose another value where `list.length` is 0")
}
