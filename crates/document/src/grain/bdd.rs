//! Boolean functions as binary decision diagrams.
//!
//! A function is a number, and equal functions have the same number: two functions never hold
//! together exactly if their conjunction is [`FALSE`]. The number of nodes is limited; operations
//! beyond the limit return `None`.

use rustc_hash::FxHashMap;

/// A function of the bits.
pub(super) type Function = u32;

pub(super) const FALSE: Function = 0;
pub(super) const TRUE: Function = 1;

/// The maximum number of nodes of all functions.
const MAX_NODES: usize = 1 << 17;

/// The maximum number of bits, which limits the depth of recursion.
const MAX_BITS: u32 = 2048;

/// The position of nodes that read no bit.
const NO_BIT: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    bit: u32,
    /// The function if the bit is false, and if it is true.
    arms: [Function; 2],
}

/// A set of functions that share nodes.
pub(super) struct Functions {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Function>,
    chosen: FxHashMap<[Function; 3], Function>,
    n_bits: u32,
    /// The maximum number of nodes at present.
    limit: usize,
}

impl Default for Functions {
    fn default() -> Self {
        let constant = |value| Node { bit: NO_BIT, arms: [value; 2] };
        Self {
            nodes: vec![constant(FALSE), constant(TRUE)],
            numbers: FxHashMap::default(),
            chosen: FxHashMap::default(),
            n_bits: 0,
            limit: MAX_NODES,
        }
    }
}

impl Functions {
    /// Whether a limit was reached.
    pub(super) fn are_full(&self) -> bool {
        self.nodes.len() >= self.limit || self.n_bits == MAX_BITS
    }

    /// A new bit, which is independent of all others. There is always room for it and its opposite.
    pub(super) fn new_bit(&mut self) -> Option<Function> {
        if self.n_bits == MAX_BITS {
            return None;
        }
        self.n_bits += 1;
        self.limit += 2;
        self.node(Node { bit: self.n_bits - 1, arms: [FALSE, TRUE] })
    }

    fn node(&mut self, node: Node) -> Option<Function> {
        if node.arms[0] == node.arms[1] {
            return Some(node.arms[0]);
        }
        if let Some(known) = self.numbers.get(&node) {
            return Some(*known);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        self.nodes.push(node);
        let number = self.nodes.len() as Function - 1;
        self.numbers.insert(node, number);
        Some(number)
    }

    /// `yes` where `condition` holds, and `no` elsewhere.
    pub(super) fn choose(
        &mut self,
        condition: Function,
        yes: Function,
        no: Function,
    ) -> Option<Function> {
        match (condition, yes, no) {
            (TRUE, ..) => return Some(yes),
            (FALSE, ..) => return Some(no),
            (_, TRUE, FALSE) => return Some(condition),
            _ if yes == no => return Some(yes),
            _ => {}
        }
        let key = [condition, yes, no];
        if let Some(known) = self.chosen.get(&key) {
            return Some(*known);
        }
        let bit_of = |of: &Function| self.nodes[*of as usize].bit;
        let bit = key.iter().map(bit_of).min().expect("there are three");
        let mut arms = [FALSE; 2];
        for (arm, made) in arms.iter_mut().enumerate() {
            let [condition, yes, no] = key.map(|of| {
                let node = self.nodes[of as usize];
                if node.bit == bit { node.arms[arm] } else { of }
            });
            *made = self.choose(condition, yes, no)?;
        }
        let made = self.node(Node { bit, arms })?;
        self.chosen.insert(key, made);
        Some(made)
    }

    /// Makes room for more functions, once those that may be too large are known.
    pub(super) fn make_room(&mut self) {
        self.limit += MAX_NODES;
    }

    pub(super) fn not(&mut self, of: Function) -> Option<Function> {
        self.choose(of, FALSE, TRUE)
    }

    pub(super) fn and(&mut self, a: Function, b: Function) -> Option<Function> {
        self.choose(a, b, FALSE)
    }

    /// The function of two others whose values are bits of a table: bit `a + 2 b`.
    pub(super) fn table(&mut self, table: u8, [a, b]: [Function; 2]) -> Option<Function> {
        let value = |at: u8| if table >> at & 1 == 1 { TRUE } else { FALSE };
        let yes = self.choose(a, value(3), value(2))?;
        let no = self.choose(a, value(1), value(0))?;
        self.choose(b, yes, no)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_have_one_number() {
        let mut functions = Functions::default();
        let [a, b] = [(); 2].map(|()| functions.new_bit().expect("a bit"));
        let both = functions.and(a, b).expect("fits");
        let (no_a, no_b) = (functions.not(a).expect("fits"), functions.not(b).expect("fits"));
        let neither = functions.and(no_a, no_b).expect("fits");
        let either = functions.not(neither).expect("fits");
        assert_eq!(functions.table(0b1000, [a, b]), Some(both));
        assert_eq!(functions.table(0b1110, [b, a]), Some(either));
        assert_eq!(functions.table(0b1101, [a, b]), functions.choose(a, b, TRUE));
        assert_eq!(functions.and(a, no_a), Some(FALSE));
        assert_eq!(functions.choose(both, either, TRUE), Some(TRUE));
    }

    #[test]
    fn the_number_of_nodes_is_limited() {
        // Without a good order of the bits, this function takes exponentially many nodes.
        let mut functions = Functions::default();
        let bits: Vec<Function> = (0..40).map_while(|_| functions.new_bit()).collect();
        let sums = (0..20).try_fold(FALSE, |all, at| {
            let both = functions.and(bits[at], bits[at + 20])?;
            functions.choose(all, TRUE, both)
        });
        assert_eq!(sums, None);
        assert!(functions.are_full() && functions.nodes.len() <= MAX_NODES + 80);
    }
}
