//! Huge pages for large new buffers.
//!
//! The first touch of a page costs more than computing its contents: 10 million `f32` take 10,000
//! regular pages or 20 huge ones. With random access, the page table lookup takes as long as the
//! read itself. Linux grants huge pages on request; `cargo bench -p millstream-run --bench peers`
//! shows the savings under "new output".

#![cfg_attr(target_os = "linux", allow(unsafe_code, reason = "advice is an unsafe function"))]

/// A vector with capacity for `n` values, in huge pages if it is large. For random access.
pub fn room_in_huge_pages<T>(n: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(n);
    in_huge_pages(room.spare_capacity_mut());
    room
}

/// Reserves capacity for `n` more values like [`room_in_huge_pages`], at least doubling the
/// capacity.
#[inline]
pub fn reserve_in_huge_pages<T>(vec: &mut Vec<T>, n: usize) {
    if vec.capacity() - vec.len() < n {
        let mut larger = room_in_huge_pages((vec.len() + n).max(2 * vec.capacity()));
        larger.append(vec);
        *vec = larger;
    }
}

/// Requests huge pages for memory not written yet.
#[cfg(target_os = "linux")]
pub fn in_huge_pages<T>(fresh: &mut [T]) {
    use rustix::mm::{Advice, madvise};
    /// Size of a huge page in bytes on nearly all machines.
    const HUGE: usize = 2 << 20;
    let (start, n_bytes) = (fresh.as_mut_ptr(), size_of_val(fresh));
    let skipped = start.addr().next_multiple_of(HUGE) - start.addr();
    let whole = n_bytes.saturating_sub(skipped) / HUGE * HUGE;
    if whole == 0 {
        return;
    }
    let start = start.wrapping_byte_add(skipped).cast();
    // A system without huge pages refuses and keeps small pages, with no other effect. SAFETY: the
    // bytes are part of `fresh`, which is borrowed exclusively, and this advice changes neither
    // them nor their protection.
    let _ = unsafe { madvise(start, whole, Advice::LinuxHugepage) };
}

/// Other systems choose page sizes themselves.
#[cfg(not(target_os = "linux"))]
pub fn in_huge_pages<T>(_fresh: &mut [T]) {}
