//! Plain Rust closures as node types.

use std::borrow::Cow;

use millstream_base::{Mask, ValueType};

use crate::function::{Call, Failure, fill};
use crate::node_def::NodeDef;
use crate::signature::Default;

/// A closure over one element: `Fn(A) -> R` with up to six arguments, all of them value types.
pub trait ElementWise<Args>: Send + Sync + 'static {
    /// Adds an input socket for each name, and the output `value`.
    fn sockets(def: NodeDef, names: &[&'static str]) -> NodeDef;
    /// Computes the masked elements.
    ///
    /// # Errors
    /// If the call is cancelled; the closure itself cannot fail.
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure>;
}

impl NodeDef {
    /// A node type that applies a closure element by element:
    ///
    /// ```
    /// use millstream_node::NodeDef;
    /// let def = NodeDef::from_closure(
    ///     "tax.gross",
    ///     "Price with tax",
    ///     &["net", "rate"],
    ///     |net: f64, rate: f64| net * (1.0 + rate),
    /// );
    /// assert_eq!(def.name, "tax.gross");
    /// ```
    ///
    /// The closure must be pure: equal arguments give equal results. The output is called `value`;
    /// an input that is neither linked nor written has the default of its type.
    ///
    /// # Panics
    /// If the number of names differs from the number of arguments.
    pub fn from_closure<Args, F: ElementWise<Args>>(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        inputs: &[&'static str],
        closure: F,
    ) -> Self {
        F::sockets(Self::new(name, summary), inputs)
            .function(move |call: &mut Call<'_>| closure.call(call))
    }
}

macro_rules! element_wise {
    ($n:literal: $($arg:ident $at:tt),+) => {
        impl<F, R, $($arg),+> ElementWise<($($arg,)+)> for F
        where
            F: Fn($($arg),+) -> R + Send + Sync + 'static,
            R: ValueType,
            $($arg: ValueType,)+
        {
            fn sockets(def: NodeDef, names: &[&'static str]) -> NodeDef {
                assert_eq!(names.len(), $n, "a closure has a name for each argument");
                let def = def $(.input_or(names[$at], $arg::ty(), Default::Zero, ""))+;
                def.output("value", R::ty(), "")
            }

            #[allow(non_snake_case, reason = "arguments are named after their types")]
            fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
                let mut out: Vec<R> = call.buffer(0);
                let (extent, mask): (usize, &Mask) = (call.extent(), call.mask());
                {
                    $(let $arg = call.input::<$arg>($at);)+
                    fill(&mut out, (mask, extent), call.pace(), |i| self($($arg.get(i)),+))?;
                }
                call.set(0, out);
                Ok(())
            }
        }
    };
}
element_wise!(1: A 0);
element_wise!(2: A 0, B 1);
element_wise!(3: A 0, B 1, C 2);
element_wise!(4: A 0, B 1, C 2, D 3);
element_wise!(5: A 0, B 1, C 2, D 3, E 4);
element_wise!(6: A 0, B 1, C 2, D 3, E 4, G 5);
