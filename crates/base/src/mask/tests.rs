//! Mask operations, checked against sorted sets.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use proptest::{collection::vec, prelude::*};

use super::*;

type Naive = BTreeSet<usize>;

/// Generated elements are below this.
const SPACE: usize = 9000;

/// Gaps and runs, some of them long enough to become ranges.
fn pieces() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let gap = prop_oneof![4 => 1..4_usize, 1 => 0..40_usize, 1 => 100..300_usize];
    let run = prop_oneof![4 => 1..3_usize, 1 => 28..36_usize, 1 => 60..200_usize];
    prop_oneof![vec((gap.clone(), run.clone()), 0..6), vec((gap, run), 0..60)]
}

fn naive_of(pieces: &[(usize, usize)]) -> Naive {
    let (mut set, mut at) = (Naive::new(), 0);
    for &(gap, run) in pieces {
        at += gap;
        set.extend(at..at + run);
        at += run;
    }
    set.split_off(&SPACE);
    set
}

fn indices_of(set: &Naive) -> Vec<u32> {
    set.iter().map(|&i| i as u32).collect()
}

/// A mask and its elements, built in one of several ways that lead to different representations.
fn masks() -> impl Strategy<Value = (Mask, Naive)> {
    (pieces(), 0..4_u8, 0.0..1.0, 0.0..1.0).prop_map(|(pieces, way, a, b)| {
        let set = naive_of(&pieces);
        let listed = Mask::from_indices(indices_of(&set)).unwrap();
        match way {
            0 => (listed, set),
            1 => {
                let bools: Vec<bool> = (0..SPACE).map(|i| set.contains(&i)).collect();
                (Mask::from_bools(&bools), set)
            }
            2 => {
                let (a, b) = ((a * set.len() as f64) as usize, (b * set.len() as f64) as usize);
                let (from, to) = (a.min(b), a.max(b));
                (listed.slice(from..to), set.into_iter().skip(from).take(to - from).collect())
            }
            _ => {
                let (from, to) = ((a * 5000.0) as usize, (a * 5000.0 + b * 4000.0) as usize);
                (Mask::range(from..to), (from..to).collect())
            }
        }
    })
}

/// Checks that the mask holds exactly these elements, answers all queries correctly, and equals
/// masks built in other ways.
fn check(mask: &Mask, set: &Naive) {
    assert!(mask.iter().eq(set.iter().copied()), "{mask:?} is {set:?}");
    assert_eq!((mask.len(), mask.is_empty()), (set.len(), set.is_empty()));
    assert_eq!(mask.iter().len(), set.len());
    let bounds = set.first().map(|&first| first..set.last().unwrap() + 1);
    assert_eq!(mask.bounds(), bounds);
    let range = bounds.unwrap_or(0..0);
    assert_eq!(mask.as_range(), (range.len() == set.len()).then_some(range));

    let mut all = Vec::new();
    mask.for_each(|i| all.push(i));
    assert!(all.iter().eq(set));
    let folded = mask.iter().fold(Vec::new(), |mut all, i| {
        all.push(i);
        all
    });
    assert_eq!(folded, all);

    let mut from_segments = Vec::new();
    for segment in mask.segments() {
        assert!(segment.len() > 0);
        match segment {
            Segment::Range(range) => from_segments.extend(range),
            Segment::Indices(indices) => from_segments.extend(indices.iter().map(|&i| i as usize)),
        }
    }
    assert_eq!(from_segments, all);

    let listed = Mask::from_indices(indices_of(set)).unwrap();
    assert_eq!(mask, &listed);
    assert_eq!(mask.cmp(&listed), Ordering::Equal);
    let hasher = RandomState::new();
    assert_eq!(hasher.hash_one(mask), hasher.hash_one(&listed));
    assert_eq!(format!("{mask:?}"), format!("{listed:?}"));
}

proptest! {
    #[test]
    fn every_making_gives_its_elements((mask, set) in masks()) {
        check(&mask, &set);
        check(&mask.clone(), &set);
    }

    #[test]
    fn set_operations_are_those_of_sets((a, x) in masks(), (b, y) in masks()) {
        check(&a.union(&b), &(&x | &y));
        check(&a.intersect(&b), &(&x & &y));
        check(&a.difference(&b), &(&x - &y));
        prop_assert_eq!(a.covers(&b), x.is_superset(&y));
        prop_assert!(a.union(&b).covers(&b) && a.covers(&a.difference(&b)));
        prop_assert_eq!(a == b, x == y);
        prop_assert_eq!(a.cmp(&b), x.cmp(&y));
    }

    #[test]
    fn operations_on_two_slices_of_one_storage_are_those_of_sets(
        (mask, set) in masks(),
        cuts in [0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0],
    ) {
        let part = |a: f64, b: f64| {
            let at = |part: f64| (part * set.len() as f64) as usize;
            let (from, to) = (at(a.min(b)), at(a.max(b)));
            let elements: Naive = set.iter().copied().skip(from).take(to - from).collect();
            (mask.slice(from..to), elements)
        };
        let ((a, x), (b, y)) = (part(cuts[0], cuts[1]), part(cuts[2], cuts[3]));
        check(&a.union(&b), &(&x | &y));
        check(&a.intersect(&b), &(&x & &y));
        check(&mask.difference(&b), &(&set - &y));
        prop_assert_eq!(a.covers(&b), x.is_superset(&y));
        prop_assert_eq!(a.cmp(&b), x.cmp(&y));
    }

    #[test]
    fn slices_of_slices_are_parts_of_the_sequence(
        (mask, set) in masks(), cuts in vec((0.0..=1.0, 0.0..=1.0), 1..4),
    ) {
        let (mut mask, mut elements): (_, Vec<usize>) = (mask, set.into_iter().collect());
        for (a, b) in cuts {
            let at = |part: f64| (part * elements.len() as f64) as usize;
            let range = at(f64::min(a, b))..at(f64::max(a, b));
            mask = mask.slice(range.clone());
            elements = elements[range].to_vec();
            check(&mask, &elements.iter().copied().collect());
        }
    }

    #[test]
    fn chunks_are_the_sequence_cut((mask, set) in masks(), size in 1..200_usize) {
        let elements: Vec<usize> = set.into_iter().collect();
        let chunks = mask.chunks(size);
        prop_assert_eq!(chunks.len(), elements.chunks(size).len());
        for (chunk, expected) in chunks.zip(elements.chunks(size)) {
            prop_assert!(chunk.iter().eq(expected.iter().copied()));
        }
    }

    #[test]
    fn lookups_agree_with_the_set((mask, set) in masks(), probes in vec(0..9500_usize, 0..40)) {
        let near = set.iter().flat_map(|&i| [i.saturating_sub(1), i, i + 1]).step_by(7);
        for i in near.chain(probes).chain([usize::MAX]) {
            prop_assert_eq!(mask.contains(i), set.contains(&i));
            prop_assert_eq!(mask.rank(i), set.range(..i).count());
        }
        for (ordinal, &i) in set.iter().enumerate().step_by(5) {
            prop_assert_eq!(mask.nth(ordinal), Some(i));
        }
        prop_assert_eq!(mask.nth(set.len()), None);
    }

    #[test]
    fn a_window_keeps_what_lies_in_it(
        (mask, set) in masks(), from in 0..9500_usize, len in 0..4000_usize,
    ) {
        check(&mask.within(from..from + len), &set.range(from..from + len).copied().collect());
    }

    #[test]
    fn shifts_move_every_element((mask, set) in masks(), by in 0..10_000_isize) {
        let moved = mask.shift(by);
        check(&moved, &set.iter().map(|i| i + by as usize).collect());
        check(&moved.shift(-by), &set);
    }

    #[test]
    fn a_partition_has_two_sides((mask, set) in masks(), (other, sieve) in masks()) {
        let (yes, no) = mask.partition(|i| other.contains(i));
        check(&yes, &(&set & &sieve));
        check(&no, &(&set - &sieve));
        check(&Mask::from_predicate(&mask, |i| i % 3 == 1), &set.into_iter().filter(|i| i % 3 == 1).collect());
    }

    #[test]
    fn projections_are_images_and_expansions_their_inverse(
        (mask, set) in masks(), inner in 1..300_usize, extra in 0..70_usize, salt in any::<u64>(),
    ) {
        check(&mask.project_outer(inner), &set.iter().map(|i| i / inner).collect());
        check(&mask.project_any(SPACE, |i| i / inner), &set.iter().map(|i| i / inner).collect());
        let coordinates: Naive = set.iter().map(|i| i % inner).collect();
        check(&mask.project_inner(inner), &coordinates);
        check(&mask.project_any(inner, |i| i % inner), &coordinates);
        // The factor selects the bit set or sorting.
        let extent = if salt % 2 == 0 { 1000 } else { 4_000_000 };
        let scatter = |i: usize| (i as u64).wrapping_mul(salt | 1) as usize % extent;
        check(&mask.project_any(extent, scatter), &set.iter().map(|&i| scatter(i)).collect());

        let preimage = |extent: usize, map: &dyn Fn(usize) -> usize| -> Naive {
            (0..extent).filter(|&i| set.contains(&map(i))).collect()
        };
        check(&mask.expand(2000, scatter), &preimage(2000, &scatter));
        check(&mask.expand(5, |i| i * 1700), &preimage(5, &|i| i * 1700));
        let small = inner.min(12);
        let all = SPACE * small;
        check(&mask.expand_outer(small), &preimage(all, &|i| i / small));
        let axis = mask.bounds().map_or(0, |bounds| bounds.end) + extra;
        let all = axis * 3;
        check(&mask.expand_inner(axis, 3), &preimage(all, &|i| i % axis));
    }

    #[test]
    fn lists_that_do_not_ascend_are_refused(list in vec(0..30_u32, 0..6)) {
        let ascends = list.is_sorted_by(|a, b| a < b);
        prop_assert_eq!(Mask::from_indices(list).is_ok(), ascends);
    }
}

#[test]
fn refusals_say_what_and_where() {
    let refusal = |list: Vec<u32>| Mask::from_indices(list).unwrap_err().to_string();
    assert_eq!(
        refusal(vec![1, 7, 7]),
        "index 7 at place 2 does not come after the index before it"
    );
    assert_eq!(
        refusal(vec![1, u32::MAX]),
        "index 4294967295 is beyond the largest possible one, 4294967294"
    );
}

#[test]
fn masks_print_compactly() {
    let print = |list: Vec<u32>| format!("{:?}", Mask::from_indices(list).unwrap());
    assert_eq!(print(vec![]), "{}");
    assert_eq!(print(vec![0, 1, 2, 3, 4, 9, 12]), "{0..5, 9, 12}");
    assert_eq!(print(vec![3, 4]), "{3, 4}");
    let odd = print((0..200).map(|i| 2 * i + 1).collect());
    assert!(odd.ends_with("125, 127, and 136 more}"), "{odd}");
}

#[test]
fn mostly_true_data_is_stored_as_ranges() {
    let bools: Vec<bool> = (0..1_000_000).map(|i| i % 10_000 != 17).collect();
    let mask = Mask::from_bools(&bools);
    assert_eq!(mask.len(), 999_900);
    // The first 17 are too few for a range.
    assert_eq!(mask.segments().count(), 101);
    assert!(mask.segments().skip(1).all(|segment| matches!(segment, Segment::Range(_))));
}

#[test]
fn huge_ranges_cost_as_much_as_small_ones() {
    let n = Mask::MAX_EXTENT;
    let all = Mask::full(n);
    assert_eq!((all.len(), all.bounds()), (n, Some(0..n)));
    let hole = all.difference(&Mask::range(5..3_000_000_000));
    assert_eq!(format!("{hole:?}"), "{0..5, 3000000000..4294967295}");
    assert_eq!(all.difference(&hole), Mask::range(5..3_000_000_000));
    assert_eq!(hole.union(&Mask::range(5..3_000_000_000)), all);
    assert_eq!(hole.intersect(&Mask::range(3..3_000_000_001)).len(), 3);
    assert!(all.covers(&hole) && !hole.covers(&all) && hole > all.within(0..6));
    assert_eq!(hole.nth(6), Some(3_000_000_001));
    assert_eq!(hole.rank(n), hole.len());
    assert_eq!(hole.slice(5..1_000_000_000).as_range(), Some(3_000_000_000..3_999_999_995));
    assert_eq!(
        Mask::range(0..2_000_000_000).shift(2_000_000_000).bounds().unwrap().end,
        4_000_000_000
    );
    assert_eq!(all.project_outer(1 << 16), Mask::full(1 << 16));
    assert_eq!(all.project_inner(1 << 16), Mask::full(1 << 16));
    assert_eq!(Mask::range(3..9).expand_outer(1 << 28).len(), 6 << 28);
    assert_eq!(Mask::full(1 << 16).expand_inner(1 << 16, 1 << 15), Mask::full(1 << 31));
    assert_eq!(all.chunks(1 << 30).map(|chunk| chunk.len()).sum::<usize>(), n);
}

#[test]
fn the_last_index_can_be_scattered() {
    let last = u32::MAX - 1;
    let mask = Mask::from_indices(vec![0, last - 1, last]).unwrap();
    assert_eq!(mask.bounds(), Some(0..Mask::MAX_EXTENT));
    assert_eq!(Mask::full(Mask::MAX_EXTENT).difference(&mask), Mask::range(1..last as usize - 1));
    assert!(mask.contains(last as usize) && !mask.contains(last as usize + 1));
}

#[test]
#[should_panic(expected = "mask indices fit in u32")]
fn a_range_beyond_u32_names_the_invariant() {
    Mask::full(Mask::MAX_EXTENT + 1);
}

#[test]
#[should_panic(expected = "ordinals 2..9 are within the mask's length 4")]
fn a_slice_beyond_the_length_names_the_invariant() {
    Mask::full(4).slice(2..9);
}

#[test]
#[should_panic(expected = "a mask within 2..4 shifted by -3 stays within u32")]
fn a_shift_below_zero_names_the_invariant() {
    Mask::range(2..4).shift(-3);
}

#[test]
#[should_panic(expected = "element 4 maps to 8, inside the extent 7")]
fn an_image_beyond_the_extent_names_the_invariant() {
    Mask::full(5).project_any(7, |i| 2 * i);
}
