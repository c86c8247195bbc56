//! Memory that was not written yet, asked for in huge pages.
//!
//! The first touch of a page costs more than computing what is written there: 10 million `f32` are
//! 10,000 ordinary pages or 20 huge ones. And where memory is read here and there, finding the page
//! takes as long as reading. Systems give huge pages to who asks for them. `cargo bench -p
//! millstream-run --bench peers` shows what that saves under "new output".

#![cfg_attr(target_os = "linux", allow(unsafe_code, reason = "advice is an unsafe function"))]

/// Room for so many values, in huge pages where it is large. For what is read here and there.
pub fn room_in_huge_pages<T>(n: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(n);
    in_huge_pages(room.spare_capacity_mut());
    room
}

/// Makes room for so many values more, at least twice what there was, as [`room_in_huge_pages`].
#[inline]
pub fn reserve_in_huge_pages<T>(vec: &mut Vec<T>, n: usize) {
    if vec.capacity() - vec.len() < n {
        let mut larger = room_in_huge_pages((vec.len() + n).max(2 * vec.capacity()));
        larger.append(vec);
        *vec = larger;
    }
}

/// Asks for huge pages for memory that was not written yet; where there are none nothing changes.
#[cfg(target_os = "linux")]
pub fn in_huge_pages<T>(fresh: &mut [T]) {
    use rustix::mm::{Advice, madvise};
    /// Bytes of a huge page, on nearly all machines.
    const HUGE: usize = 2 << 20;
    let (start, n_bytes) = (fresh.as_mut_ptr(), size_of_val(fresh));
    let skipped = start.addr().next_multiple_of(HUGE) - start.addr();
    let whole = n_bytes.saturating_sub(skipped) / HUGE * HUGE;
    if whole == 0 {
        return;
    }
    let start = start.wrapping_byte_add(skipped).cast();
    // A system without huge pages refuses; its pages are small then, and nothing else changes.
    // SAFETY: the bytes are part of `fresh`, which nobody else holds, and this advice changes
    // neither them nor whether they may be read and written.
    let _ = unsafe { madvise(start, whole, Advice::LinuxHugepage) };
}

/// Other systems decide by themselves.
#[cfg(not(target_os = "linux"))]
pub fn in_huge_pages<T>(_fresh: &mut [T]) {}
