//! Facts about virtual arrays, checked against vectors.

use std::fmt::Debug;

use proptest::prelude::*;

use super::*;
use crate::mask::Mask;

/// The arguments of a virtual array, from which both it and its naive form are made.
#[derive(Clone, Debug)]
enum Recipe {
    Span(Vec<i64>),
    Single(i64, usize),
    Repeated(Vec<i64>, usize),
    Stretched(Vec<i64>, usize, usize),
    Broadcast(Vec<i64>, usize, usize),
    Range(i64, i64, usize),
    Indexed(Vec<i64>, Vec<u32>),
    Function(usize),
}

fn square(i: usize) -> i64 {
    (i * i) as i64
}

impl Recipe {
    fn array(&self) -> VirtualArray<'_, i64> {
        match self {
            Self::Span(span) => VirtualArray::span(span),
            Self::Single(value, len) => VirtualArray::single(*value, *len),
            Self::Repeated(span, len) => VirtualArray::repeated(span, *len),
            Self::Stretched(span, factor, len) => VirtualArray::stretched(span, *factor, *len),
            Self::Broadcast(span, inner, len) => VirtualArray::broadcast(span, *inner, *len),
            Self::Range(start, step, len) => VirtualArray::range(*start, *step, *len),
            Self::Indexed(span, indices) => VirtualArray::indexed(span, indices),
            Self::Function(len) => VirtualArray::function(&square, *len),
        }
    }

    fn naive(&self) -> Vec<i64> {
        match self {
            Self::Span(span) => span.clone(),
            Self::Single(value, len) => vec![*value; *len],
            Self::Repeated(span, len) => span.iter().copied().cycle().take(*len).collect(),
            Self::Stretched(span, factor, len) => {
                span.iter().flat_map(|&x| vec![x; *factor]).take(*len).collect()
            }
            Self::Broadcast(span, inner, len) => {
                span.iter().flat_map(|&x| vec![x; *inner]).cycle().take(*len).collect()
            }
            Self::Range(start, step, len) => {
                (0..*len as i64).map(|i| start.wrapping_add(step.wrapping_mul(i))).collect()
            }
            Self::Indexed(span, indices) => indices.iter().map(|&i| span[i as usize]).collect(),
            Self::Function(len) => (0..*len).map(square).collect(),
        }
    }
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let spans = || prop::collection::vec(any::<i64>(), 1..40);
    let lens = || prop_oneof![0..4_usize, 0..300_usize];
    prop_oneof![
        prop::collection::vec(any::<i64>(), 0..300).prop_map(Recipe::Span),
        (any::<i64>(), lens()).prop_map(|(value, len)| Recipe::Single(value, len)),
        (spans(), lens()).prop_map(|(span, len)| Recipe::Repeated(span, len)),
        (spans(), 1..20_usize, 0..=100_usize).prop_map(|(span, factor, percent)| {
            let len = span.len() * factor * percent / 100;
            Recipe::Stretched(span, factor, len)
        }),
        (spans(), 1..20_usize, lens()).prop_map(|(s, inner, len)| Recipe::Broadcast(s, inner, len)),
        (any::<i64>(), any::<i64>(), lens()).prop_map(|(s, step, len)| Recipe::Range(s, step, len)),
        (spans(), prop::collection::vec(any::<u32>(), 0..300)).prop_map(|(span, mut indices)| {
            for i in &mut indices {
                *i %= span.len() as u32;
            }
            Recipe::Indexed(span, indices)
        }),
        lens().prop_map(Recipe::Function),
    ]
}

/// A recipe, two cuts in parts of the length, and bits from which masks are made.
fn cases() -> impl Strategy<Value = (Recipe, [f64; 4], Vec<(bool, u8)>)> {
    let cuts = [0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0];
    (recipes(), cuts, prop::collection::vec((any::<bool>(), 1..60_u8), 0..20))
}

fn cut_range(len: usize, a: f64, b: f64) -> Range<usize> {
    let (a, b) = ((a * len as f64) as usize, (b * len as f64) as usize);
    a.min(b)..a.max(b)
}

fn mask_of(runs: &[(bool, u8)], len: usize) -> Mask {
    let mut bools: Vec<bool> = runs.iter().flat_map(|&(on, n)| vec![on; n.into()]).collect();
    bools.resize(len, false);
    Mask::from_bools(&bools)
}

fn check(array: &VirtualArray<'_, i64>, naive: &[i64], mask: &Mask) {
    assert_eq!(array.len(), naive.len());
    assert_eq!(array.is_empty(), naive.is_empty());
    assert_eq!(array.iter().collect::<Vec<_>>(), naive);
    assert!(array.iter().rev().eq(naive.iter().rev().copied()));
    for (i, x) in naive.iter().enumerate() {
        assert_eq!(array.get(i), *x);
        assert!(array.get_ref(i).is_none_or(|stored| stored == x));
    }
    assert!(array.as_span().is_none_or(|span| span == naive));
    if let Some(value) = array.as_single() {
        assert!(!naive.is_empty() && naive.iter().all(|x| x == value));
    }

    let wanted: Vec<i64> = mask.iter().map(|i| naive[i]).collect();
    assert_eq!(array.materialize(mask), wanted);
    let mut seen = Vec::new();
    array.for_each(mask, |i, x| seen.push((i, *x)));
    assert!(seen.into_iter().eq(mask.iter().zip(wanted)));

    let expected = |f: &dyn Fn(i64) -> i64| -> Vec<i64> {
        (0..naive.len()).map(|i| if mask.contains(i) { f(naive[i]) } else { -7 }).collect()
    };
    let mut out = vec![-7; naive.len()];
    array.copy_into(mask, &mut out);
    assert_eq!(out, expected(&|x| x));
    out.fill(-7);
    array.map_into(mask, &mut out, |x| x.wrapping_mul(3));
    assert_eq!(out, expected(&|x| x.wrapping_mul(3)));
}

proptest! {
    #[test]
    fn every_variant_and_slice_of_a_slice_agrees_with_a_vec((recipe, cuts, runs) in cases()) {
        let (array, naive) = (recipe.array(), recipe.naive());
        check(&array, &naive, &mask_of(&runs, naive.len()));
        check(&array, &naive, &Mask::full(naive.len()));

        let outer = cut_range(naive.len(), cuts[0], cuts[1]);
        let (array, naive) = (array.slice(outer.clone()), &naive[outer]);
        check(&array, naive, &mask_of(&runs, naive.len()));

        let inner = cut_range(naive.len(), cuts[2], cuts[3]);
        let (array, naive) = (array.slice(inner.clone()), &naive[inner]);
        check(&array, naive, &mask_of(&runs, naive.len()));
    }

    #[test]
    fn two_arrays_of_any_variants_zip((a, _, runs) in cases(), b in recipes()) {
        let (all_a, all_b) = (a.naive(), b.naive());
        let len = all_a.len().min(all_b.len());
        let (x, y) = (a.array().slice(0..len), b.array().slice(0..len));
        for mask in [mask_of(&runs, len), Mask::full(len)] {
            let mut out = vec![-7; len];
            x.zip_into(&y, &mask, &mut out, |x, y| x.wrapping_sub(*y));
            let expected: Vec<i64> = (0..len)
                .map(|i| if mask.contains(i) { all_a[i].wrapping_sub(all_b[i]) } else { -7 })
                .collect();
            prop_assert_eq!(out, expected);
        }
    }
}

#[test]
fn a_slice_of_a_float_range_has_the_bits_of_the_whole() {
    let whole = VirtualArray::range(0.1_f32, 0.3, 5000);
    let slice = whole.slice(1234..4000);
    let bits = |array: &VirtualArray<'_, f32>| array.iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(&slice), bits(&whole)[1234..4000]);
    let several_blocks = slice.materialize(&Mask::range(5..2766));
    assert!(
        several_blocks.into_iter().map(f32::to_bits).eq(slice.iter().skip(5).map(f32::to_bits))
    );
}

#[test]
fn parts_of_tiles_are_spans_and_singles() {
    let repeated = VirtualArray::repeated(&[1, 2, 3], 9);
    assert_eq!(repeated.as_span(), None);
    assert_eq!(repeated.slice(4..6).as_span(), Some(&[2, 3][..]));
    let stretched = VirtualArray::stretched(&[1, 2], 4, 8);
    assert_eq!(stretched.as_single(), None);
    assert_eq!(stretched.slice(4..8).as_single(), Some(&2));
    assert_eq!(VirtualArray::repeated(&[5], 9).as_single(), Some(&5));
}

#[test]
fn values_that_own_memory_are_read_in_place() {
    let names = ["a".to_owned(), "bc".to_owned()];
    let array = VirtualArray::repeated(&names, 5);
    assert!(std::ptr::eq(array.get_ref(3).unwrap(), &raw const names[1]));
    let mut lens = [0; 5];
    array.map_into(&Mask::range(1..4), &mut lens, String::len);
    assert_eq!(lens, [0, 2, 1, 2, 0]);
    assert_eq!(array.materialize(&Mask::range(3..5)), ["bc", "a"]);
}

#[test]
fn empty_spans_make_empty_arrays_only() {
    let none: &[f64] = &[];
    for array in [
        VirtualArray::repeated(none, 0),
        VirtualArray::stretched(none, 3, 0),
        VirtualArray::broadcast(none, 0, 0),
    ] {
        assert!(array.is_empty() && array.slice(0..0).iter().next().is_none());
        assert_eq!((array.as_single(), array.materialize(&Mask::empty()).len()), (None, 0));
    }
}

#[test]
fn arrays_of_shareable_elements_cross_threads() {
    fn assert_shareable<T: Send + Sync + Debug>(_: &T) {}
    assert_shareable(&VirtualArray::function(&square, 3));
}

#[test]
#[should_panic(expected = "0 elements, each 1 times, make an array of 3")]
fn repeating_nothing_is_refused() {
    VirtualArray::<f32>::repeated(&[], 3);
}

#[test]
#[should_panic(expected = "0 elements stretched 4 times make an array of 3")]
fn stretching_nothing_is_refused() {
    VirtualArray::<f32>::stretched(&[], 4, 3);
}

#[test]
#[should_panic(expected = "element 2 is within the array's length 2")]
fn reading_beyond_the_length_names_the_invariant() {
    VirtualArray::repeated(&[1, 2, 3, 4], 6).slice(2..4).get(2);
}

#[test]
#[should_panic(expected = "index 9 is within the span's 2")]
fn an_index_beyond_the_span_names_the_invariant() {
    VirtualArray::indexed(&[1, 2], &[0, 9]).get(1);
}

#[test]
#[should_panic(expected = "a mask within 0..4 is within the array's length 3")]
fn a_mask_beyond_the_length_names_the_invariant() {
    VirtualArray::single(1, 3).materialize(&Mask::full(4));
}
