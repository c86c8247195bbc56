//! Folding a list in a fixed order, which does not depend on chunks or threads.
//!
//! The order is part of the meaning of sums, since float addition is not associative. A list is cut
//! into blocks of 1024 elements from its start. In a block, lane j of 16 folds elements j, j + 16,
//! j + 32 and so on, starting with its first element; then lane j is combined with lane j + 8,
//! after that with j + 4, j + 2 and j + 1, as far as they exist. Blocks are combined like the
//! digits of a binary counter: two neighbors of equal size become one, and the remaining ones are
//! combined from the right. So a part of the list that starts and ends at blocks can be folded
//! independently of the rest, and compilers turn the loop over a block into SIMD.

/// Elements of a block.
pub(super) const BLOCK: usize = 1024;
/// Independent accumulators within a block.
const LANES: usize = 16;

/// The items combined in tree order; `None` if there are none.
pub(crate) fn fold<T: Copy>(items: &[T], op: impl Fn(T, T) -> T + Copy) -> Option<T> {
    fold_blocks(items, |block| fold_block(block, op), op)
}

/// The partial results of the blocks of a list, joined in tree order; `None` if it has no items.
#[inline]
pub(super) fn fold_blocks<T, P: Copy>(
    items: &[T],
    block: impl Fn(&[T]) -> P,
    op: impl Fn(P, P) -> P + Copy,
) -> Option<P> {
    match items.len() {
        0 => None,
        1..=BLOCK => Some(block(items)),
        _ => join(items.chunks(BLOCK).map(block), op),
    }
}

/// The partial results of all blocks of a list, joined in tree order; `None` if there are none.
pub(super) fn join<P: Copy>(
    blocks: impl Iterator<Item = P>,
    op: impl Fn(P, P) -> P + Copy,
) -> Option<P> {
    // Parts of the list from left to right, each at least twice as large as the next: one for each
    // bit that is set in the number of blocks so far.
    let mut parts: Vec<P> = Vec::new();
    for (n_before, mut part) in blocks.enumerate() {
        for _ in 0..n_before.trailing_ones() {
            let left = parts.pop().expect("there is a part for each bit of the number of blocks");
            part = op(left, part);
        }
        parts.push(part);
    }
    parts.into_iter().rev().reduce(|right, left| op(left, right))
}

/// The items of one block, at least one.
#[inline]
pub(super) fn fold_block<T: Copy>(block: &[T], op: impl Fn(T, T) -> T + Copy) -> T {
    let mut lanes = [block[0]; LANES];
    let n_lanes = block.len().min(LANES);
    lanes[..n_lanes].copy_from_slice(&block[..n_lanes]);
    let mut rows = block[n_lanes..].chunks_exact(LANES);
    for row in &mut rows {
        for (lane, item) in lanes.iter_mut().zip(row) {
            *lane = op(*lane, *item);
        }
    }
    for (lane, item) in lanes.iter_mut().zip(rows.remainder()) {
        *lane = op(*lane, *item);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for j in 0..half {
            if j + half < n_lanes {
                lanes[j] = op(lanes[j], lanes[j + half]);
            }
        }
        half /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same order, defined recursively, as text: `(a+b)`.
    fn stated(items: &[String]) -> String {
        let join = |a: &String, b: &String| format!("({a}+{b})");
        if items.len() > BLOCK {
            let n_blocks = items.len().div_ceil(BLOCK);
            let left = BLOCK * (1 << (n_blocks - 1).ilog2());
            return join(&stated(&items[..left]), &stated(&items[left..]));
        }
        let lane = |j: usize| {
            let rest = items.iter().skip(j).step_by(LANES);
            rest.cloned().reduce(|sum, item| join(&sum, &item))
        };
        tree(&(0..LANES).map_while(lane).collect::<Vec<_>>(), LANES / 2)
    }

    fn tree(lanes: &[String], half: usize) -> String {
        if half == 0 {
            return lanes[0].clone();
        }
        let joined = (0..half.min(lanes.len())).map(|j| match lanes.get(j + half) {
            Some(other) => format!("({}+{other})", lanes[j]),
            None => lanes[j].clone(),
        });
        tree(&joined.collect::<Vec<_>>(), half / 2)
    }

    /// Joins indices of texts in a side table, because the items must be `Copy`.
    fn folded(items: &[String]) -> String {
        let texts = std::cell::RefCell::new(items.to_vec());
        let handles: Vec<usize> = (0..items.len()).collect();
        let joined = fold(&handles, |a, b| {
            let mut texts = texts.borrow_mut();
            let text = format!("({}+{})", texts[a], texts[b]);
            texts.push(text);
            texts.len() - 1
        });
        texts.borrow()[joined.expect("not empty")].clone()
    }

    #[test]
    fn short_lists_are_folded_in_the_documented_order() {
        let items = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(folded(&items(1)), "0");
        assert_eq!(folded(&items(3)), "((0+2)+1)");
        assert_eq!(folded(&items(5)), "(((0+4)+2)+(1+3))");
        assert!(folded(&items(17)).starts_with("(((((0+16)+8)+(4+12))"));
        assert_eq!(fold(&[] as &[f32], |a, b| a + b), None);
    }

    #[test]
    fn long_lists_are_folded_in_the_documented_order() {
        for n in [1023, 1024, 1025, 2048, 3000, 5 * 1024, 7 * 1024 + 3] {
            let items: Vec<String> = (0..n).map(|i| format!("{i:x}")).collect();
            assert!(folded(&items) == stated(&items), "the order of {n} items");
        }
    }

    #[test]
    fn a_negative_zero_survives() {
        let sum = fold(&[-0.0_f32; 40], |a, b| a + b).expect("not empty");
        assert_eq!(sum.to_bits(), (-0.0_f32).to_bits());
    }

    proptest! {
        #[test]
        fn every_short_list_is_folded_in_the_documented_order(n in 1_usize..200) {
            let items: Vec<String> = (0..n).map(|i| i.to_string()).collect();
            prop_assert_eq!(folded(&items), stated(&items));
        }

        #[test]
        fn parts_that_end_at_blocks_fold_independently(n in 1_usize..2000) {
            let items: Vec<f32> = (0..1024 + n).map(|i| 1.0 / (i as f32 + 1.0)).collect();
            let add = |a: f32, b: f32| a + b;
            let (left, right) = items.split_at(1024);
            if n <= 1024 {
                let apart = fold(left, add).zip(fold(right, add)).map(|(a, b)| a + b);
                prop_assert_eq!(fold(&items, add), apart);
            }
        }
    }
}
