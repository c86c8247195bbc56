//! Kernels that are forms, made from closures over lanes.

use std::sync::Arc;

use millstream_form::{FormBuilder, Val};

use super::{Kernel, KernelSpec, WriteForm};

impl KernelSpec<'_> {
    /// The kernel whose form a closure writes: it takes the lanes of each input and returns the
    /// lanes of each output.
    ///
    /// # Panics
    /// If an input is not made of lanes, or the lanes returned are not those of the outputs.
    pub fn form(&self, write: &WriteForm<'_>) -> Kernel {
        let b = FormBuilder::new();
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for input in self.inputs {
            let (lane, n) = input.ty.lanes().expect("inputs of a kernel form are made of lanes");
            inputs.push((0..n).map(|_| b.param(lane)).collect::<Vec<_>>());
        }
        let outputs = write(&b, &inputs);
        for (slot, lanes) in self.outputs.iter().zip(&outputs) {
            let n = slot.ty.lanes().map(|(_, n)| n as usize);
            assert_eq!(n, Some(lanes.len()), "a kernel form gives the lanes of its outputs");
        }
        let results: Vec<Val<'_>> = outputs.into_iter().flatten().collect();
        Kernel::Form(Arc::new(b.finish(&results)))
    }

    /// The kernel whose form treats each lane of the one output alike: a closure takes that lane of
    /// each input, or lane 0 of inputs with only one.
    ///
    /// # Panics
    /// As [`form`](Self::form).
    pub fn lanewise(
        &self,
        lane: &dyn for<'b> Fn(&'b FormBuilder, &[Val<'b>]) -> Val<'b>,
    ) -> Kernel {
        let n = self.outputs[0].ty.lanes().map_or(1, |(_, n)| n as usize);
        self.form(&|b, inputs| {
            let each = |i: usize| {
                let args: Vec<Val<'_>> =
                    inputs.iter().map(|x| if x.len() == 1 { x[0] } else { x[i] }).collect();
                lane(b, &args)
            };
            vec![(0..n).map(each).collect()]
        })
    }
}
