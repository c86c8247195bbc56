//! Masks between axes: projecting a larger space onto a smaller one, and back.
//!
//! In the row-major product of two axes, element `i` has the coordinate `i / inner` on the outer
//! axis and `i % inner` on the inner axis, where `inner` is the extent of the inner axis. These two
//! maps have dedicated functions that work on whole runs; `project_any` and `expand` take any map
//! and visit every element.

use super::{Mask, build::MaskBuilder};

impl Mask {
    /// The images of the elements: what must be computed in the smaller space for every element of
    /// this mask to find its source.
    ///
    /// Linear while the map is nondecreasing. Otherwise the map is called again and the images are
    /// sorted, or marked in a bit set if that is small.
    ///
    /// # Panics
    /// If an image is not below `extent`.
    pub fn project_any(&self, extent: usize, map: impl Fn(usize) -> usize) -> Self {
        let image_of = |i| {
            let image = map(i);
            assert!(image < extent, "element {i} maps to {image}, inside the extent {extent}");
            image
        };
        if let Some(ascending) = self.project_ascending(image_of) {
            return ascending;
        }
        if BitSet::pays(extent, self.len()) {
            let mut bits = BitSet::new(extent);
            self.for_each(|i| bits.insert(image_of(i)));
            return Self::from_predicate(&Self::full(extent), |image| bits.contains(image));
        }
        let mut images: Vec<u32> = self.iter().map(|i| image_of(i) as u32).collect();
        images.sort_unstable();
        images.dedup();
        super::build::from_ascending(images)
    }

    /// The elements of `0..extent` whose image is in this mask: the inverse of `project_any`.
    pub fn expand(&self, extent: usize, map: impl Fn(usize) -> usize) -> Self {
        let universe = Self::full(extent);
        let Some(bounds) = self.bounds() else { return Self::empty() };
        if self.as_range().is_some() {
            return Self::from_predicate(&universe, |i| bounds.contains(&map(i)));
        }
        if BitSet::pays(bounds.end, extent) {
            let mut bits = BitSet::new(bounds.end);
            self.for_each(|i| bits.insert(i));
            return Self::from_predicate(&universe, |i| bits.contains(map(i)));
        }
        Self::from_predicate(&universe, |i| self.contains(map(i)))
    }

    /// The images under `i / inner`: coordinates on the outer axis. Linear in runs.
    ///
    /// # Panics
    /// If `inner` is 0.
    pub fn project_outer(&self, inner: usize) -> Self {
        assert!(inner > 0, "a space with elements has an inner axis with elements");
        let mut builder = MaskBuilder::default();
        for run in self.runs() {
            let (first, last) = (run.start as usize / inner, (run.end - 1) as usize / inner);
            builder.push_run(first as u32, last as u32 + 1);
        }
        builder.finish()
    }

    /// The images under `i % inner`: coordinates on the inner axis.
    ///
    /// Linear in runs up to a logarithmic factor; a run of `inner` or more elements has every
    /// coordinate and stops the search.
    ///
    /// # Panics
    /// If `inner` is 0 or above [`Self::MAX_EXTENT`].
    pub fn project_inner(&self, inner: usize) -> Self {
        assert!(inner > 0, "a space with elements has an inner axis with elements");
        let full = Self::full(inner);
        if self.bounds().is_none_or(|bounds| bounds.end <= inner) {
            return self.clone();
        }
        let mut images = Vec::new();
        for run in self.runs() {
            let (start, len) = (run.start as usize % inner, run.len());
            if len >= inner {
                return full;
            }
            let end = start + len;
            images.push((start as u32, end.min(inner) as u32));
            images.push((0, end.saturating_sub(inner) as u32));
        }
        images.retain(|(start, end)| start < end);
        images.sort_unstable();
        let mut builder = MaskBuilder::default();
        for (start, end) in images {
            builder.push_run(start, end);
        }
        builder.finish()
    }

    /// The elements whose coordinate on the outer axis, `i / inner`, is in this mask.
    /// Linear in runs if `inner` is at least 32.
    ///
    /// # Panics
    /// If the result does not fit below [`Self::MAX_EXTENT`].
    pub fn expand_outer(&self, inner: usize) -> Self {
        let end = self.bounds().map_or(0, |bounds| bounds.end);
        check_product(end, inner);
        let mut builder = MaskBuilder::default();
        for run in self.runs() {
            let (start, end) = (run.start as usize * inner, run.end as usize * inner);
            builder.push_run(start as u32, end as u32);
        }
        builder.finish()
    }

    /// The elements whose coordinate on the inner axis, `i % inner`, is in this mask, where the
    /// outer axis has the extent `outer`. Linear in the runs of the result.
    ///
    /// # Panics
    /// If an element is not below `inner`, or the result does not fit below [`Self::MAX_EXTENT`].
    pub fn expand_inner(&self, inner: usize, outer: usize) -> Self {
        let Some(bounds) = self.bounds() else { return Self::empty() };
        assert!(bounds.end <= inner, "a mask within {bounds:?} lies on an axis of extent {inner}");
        check_product(outer, inner);
        if self.len() == inner {
            return Self::full(inner * outer);
        }
        let mut builder = MaskBuilder::default();
        for offset in (0..outer).map(|i| (i * inner) as u32) {
            for run in self.runs() {
                builder.push_run(offset + run.start, offset + run.end);
            }
        }
        builder.finish()
    }

    /// The images, if the map is nondecreasing on this mask.
    fn project_ascending(&self, image_of: impl Fn(usize) -> usize) -> Option<Self> {
        let mut builder = MaskBuilder::default();
        let mut next = 0;
        for i in self {
            let image = image_of(i);
            if image >= next {
                builder.push(image as u32);
                next = image + 1;
            } else if image + 1 < next {
                return None;
            }
        }
        Some(builder.finish())
    }
}

fn check_product(outer: usize, inner: usize) {
    let fits = outer.checked_mul(inner).is_some_and(|len| len <= Mask::MAX_EXTENT);
    assert!(fits, "mask indices fit in u32, but {outer} times {inner} elements do not");
}

/// One bit for each element of a space.
struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    fn new(extent: usize) -> Self {
        Self { words: vec![0; extent.div_ceil(64)] }
    }

    /// Whether walking the whole space costs no more than sorting or searching this many elements.
    fn pays(extent: usize, n_elements: usize) -> bool {
        extent / 16 <= n_elements
    }

    fn insert(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
    }

    fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}
