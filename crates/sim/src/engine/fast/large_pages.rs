//! Large arrays on large pages.
//!
//! A run over millions of nodes reads and writes hundreds of megabytes. With small pages the processor spends much of
//! its time on address translation. So the kernel is asked for large pages before the memory is touched.

use std::mem::MaybeUninit;

/// An array filled with a value. Its memory is touched, so that the run does not pay for mapping it.
pub(super) fn filled<T: Clone>(length: usize, value: T) -> Vec<T> {
    let mut array = room_for(length);
    array.resize(length, value);
    array
}

/// An array of uninitialised slots. Its memory is touched.
pub(super) fn touched<T>(length: usize) -> Vec<MaybeUninit<T>> {
    let mut places: Vec<MaybeUninit<T>> = room_for(length);
    places.resize_with(length, MaybeUninit::uninit);
    let page = 4096usize.div_ceil(size_of::<T>().max(1)).max(1);
    for place in places.iter_mut().step_by(page) {
        // SAFETY: an uninitialised value may have any bytes.
        unsafe { place.as_mut_ptr().cast::<u8>().write_bytes(0, size_of::<T>()) };
    }
    places
}

/// An empty array with this capacity, on large pages where the kernel has them.
pub(super) fn room_for<T>(length: usize) -> Vec<T> {
    let array: Vec<T> = Vec::with_capacity(length);
    ask_for_large_pages(array.as_ptr().cast(), array.capacity() * size_of::<T>());
    array
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: *const u8, bytes: usize) {
    const PAGE: usize = 4096;
    const WORTHWHILE: usize = 256 * 1024;
    if bytes < WORTHWHILE {
        return;
    }
    // Only whole pages within the array.
    let skipped = start.align_offset(PAGE);
    let length = bytes.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the advice concerns the array's own memory, and changes how it is mapped but not its contents. An error
    // means that the kernel has no large pages; it is ignored.
    _ = unsafe { rustix::mm::madvise(start.add(skipped).cast_mut().cast(), length, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: *const u8, _: usize) {}
