//! The elements in which two columns differ, so that what reads them runs for these elements alone.

use millstream_base::Column;

/// Differences are few if at most one in this many lanes, strings or lists differ.
pub(crate) const FEW: usize = 8;

/// The elements in which two columns differ, if these are few.
pub(crate) fn differing_elements(old: &Column, new: &Column) -> Option<Box<[u32]>> {
    let n = old.len();
    if n != new.len() || old.ty() != new.ty() {
        return None;
    }
    let Some((_, width)) = old.ty().lanes() else { return differing_values(old, new) };
    let width = width as usize;
    macro_rules! blocks_of {
        ($($lane:ty => $bits:ty),*) => {$(
            if let (Some(a), Some(b)) = (old.as_slice::<$lane>(), new.as_slice::<$lane>()) {
                let bits = |lanes| bytemuck::cast_slice::<$lane, $bits>(lanes);
                return Some(elements_of(differing_blocks(bits(a), bits(b), (n, 1))?, old, new));
            }
        )*};
    }
    if let (Some(a), Some(b)) = (old.as_f32_lanes(), new.as_f32_lanes()) {
        let bits = bytemuck::cast_slice::<f32, u32>;
        return Some(elements_of(differing_blocks(bits(a), bits(b), (n, width))?, old, new));
    }
    blocks_of!(f64 => u64, i32 => u32, i64 => u64, bool => u8);
    None
}

/// The elements in which two columns of strings or lists differ, if these are few.
fn differing_values(old: &Column, new: &Column) -> Option<Box<[u32]>> {
    let mut changed = Vec::new();
    for i in 0..old.len() {
        if !old.same_at(i, new, i) {
            if changed.len() == old.len() / FEW {
                return None;
            }
            changed.push(i as u32);
        }
    }
    Some(changed.into())
}

/// Number of elements that are compared at once.
const BLOCK: usize = 64;

/// The blocks of elements in which lanes differ, if few lanes do.
fn differing_blocks<T: PartialEq>(
    old: &[T],
    new: &[T],
    (n, width): (usize, usize),
) -> Option<Vec<usize>> {
    let (mut blocks, mut left) = (Vec::new(), n / FEW * width);
    let lanes = old.chunks(BLOCK * width).zip(new.chunks(BLOCK * width));
    for (block, (old, new)) in lanes.enumerate() {
        let n_changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
        if n_changed > 0 {
            left = left.checked_sub(n_changed)?;
            blocks.push(block);
        }
    }
    Some(blocks)
}

/// The elements of these blocks in which columns differ.
fn elements_of(blocks: Vec<usize>, old: &Column, new: &Column) -> Box<[u32]> {
    let elements = |block: usize| block * BLOCK..old.len().min((block + 1) * BLOCK);
    let all = blocks.into_iter().flat_map(elements);
    all.filter(|i| !old.same_at(*i, new, *i)).map(|i| i as u32).collect()
}
