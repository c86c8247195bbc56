//! A cache of the results of functions for constants, which outlives a compilation.
//!
//! A live document is compiled again and again with few changes. A function that was called with
//! some constants once is not called with the same constants again.

use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::Value;
use millstream_base::same::Same;
use millstream_node::Instance;
use rustc_hash::{FxHashMap, FxHasher};

/// A cache of the results of functions for constants.
#[derive(Debug, Default)]
pub struct Folded(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By a hash of the function and its arguments.
    calls: FxHashMap<u64, Vec<Call>>,
    bytes: usize,
}

#[derive(Debug)]
struct Call {
    instance: Arc<Instance>,
    inputs: Vec<Value>,
    /// `None` if the call failed.
    outputs: Option<Vec<Value>>,
}

/// The approximate maximum size of the cache in bytes; beyond it, the cache is cleared.
const MAX_BYTES: usize = 1 << 24;

/// The size of an entry without its values, in bytes.
const ENTRY_BYTES: usize = 256;

impl Folded {
    /// The results of an instance for these inputs, cached or computed.
    pub(super) fn or_run(
        &self,
        instance: &Arc<Instance>,
        inputs: &[Value],
        run: impl FnOnce() -> Option<Vec<Value>>,
    ) -> Option<Vec<Value>> {
        let mut state = FxHasher::default();
        state.write(instance.name().as_bytes());
        for input in inputs {
            input.feed(&mut state);
        }
        let hash = state.finish();
        let is_same = |call: &&Call| {
            let mut pairs = call.inputs.iter().zip(inputs);
            call.instance.does_same(instance)
                && call.inputs.len() == inputs.len()
                && pairs.all(|(a, b)| a.ty() == b.ty() && a.same(b))
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.calls.get(&hash).and_then(|calls| calls.iter().find(is_same));
        if let Some(known) = known {
            return known.outputs.clone();
        }
        // The lock is not held during the call.
        drop(kept);
        let outputs = run();
        let values = inputs.iter().chain(outputs.iter().flatten());
        let bytes = ENTRY_BYTES + values.map(Value::bytes).sum::<usize>();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes > MAX_BYTES {
            *kept = Kept::default();
        }
        if bytes <= MAX_BYTES {
            kept.bytes += bytes;
            let call = Call {
                instance: Arc::clone(instance),
                inputs: inputs.to_vec(),
                outputs: outputs.clone(),
            };
            kept.calls.entry(hash).or_default().push(call);
        }
        outputs
    }
}
