//! Kernels that are forms, made from closures over lanes.

use millstream_form::{Form, FormBuilder, Val};

use super::{KernelSpec, WriteForm};

/// The form that a closure writes for the lanes of these inputs.
pub(super) fn build_form(parts: &KernelSpec<'_>, form: &WriteForm<'_>) -> Form {
    let b = FormBuilder::new();
    let mut inputs = Vec::with_capacity(parts.inputs.len());
    for input in parts.inputs {
        let (lane, n) = input.ty.lanes().expect("inputs of a kernel form are made of lanes");
        inputs.push((0..n).map(|_| b.param(lane)).collect::<Vec<_>>());
    }
    let outputs = form(&b, &inputs);
    for (slot, lanes) in parts.outputs.iter().zip(&outputs) {
        let n = slot.ty.lanes().map(|(_, n)| n as usize);
        assert_eq!(n, Some(lanes.len()), "a kernel form gives the lanes of its outputs");
    }
    let results: Vec<Val<'_>> = outputs.into_iter().flatten().collect();
    b.finish(&results)
}
