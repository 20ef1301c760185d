//! Proves that `hustings-protocol` and `hustings-algorithms` do not need the standard library: this static library has
//! its own panic handler and allocator, and runs an algorithm.
//!
//! If one of the two crates, or one of their dependencies, links `std`, the build fails because of two panic handlers.
//! To try it, add `extern crate std;` to the protocol crate: `cargo build` reports "found duplicate lang item
//! `panic_impl`".
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting, catalogue};
use hustings_protocol::{Effect, Event, Id, NodeInfo, Peers, Protocol, Recorder, StartReason};

/// Runs the only member of a ring until it sends nothing more, as a device without an operating system would. Returns
/// the number of messages, or 0 if it does not lead.
#[unsafe(no_mangle)]
pub extern "C" fn hustings_elect_alone(id: u64) -> u64 {
    if catalogue::find(ChangRoberts::ABOUT.name).is_none() {
        return 0;
    }
    let rules = ChangRoberts::protocol::<Id>(&NoParams, &Setting::of(&[Id(id)]));
    let info = NodeInfo { rank: Id(id), index: 0, size: 1, peers: Peers::Unknown(2) };
    let (mut state, mut leads, mut sent) = (rules.init(), false, 0);
    let mut events = Vec::from([Event::Start(StartReason::Start)]);
    while let Some(event) = events.pop() {
        let mut effects = Vec::new();
        rules.handle(&mut state, event, &mut Recorder::new(&info, |_| 0, &mut effects));
        for effect in effects {
            match effect {
                // A node on its own is its own neighbour: what it sends on one side arrives on the other.
                Effect::Send(port, message) => {
                    sent += 1;
                    events.push(Event::Message { from: hustings_protocol::Port(1 - port.0), message });
                }
                Effect::Lead => leads = true,
                _ => {}
            }
        }
    }
    if leads { sent } else { 0 }
}

const ARENA: usize = 64 * 1024;

/// Allocates from an arena and never frees, which is enough here.
struct Bump {
    arena: UnsafeCell<[u8; ARENA]>,
    used: AtomicUsize,
}

// SAFETY: the arena is only accessed through pointers to disjoint parts, which `used` hands out atomically.
unsafe impl Sync for Bump {}

// SAFETY: a block is inside the arena and aligned as requested, and blocks do not overlap because `used` only grows.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.arena.get().cast::<u8>();
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let padding = (start as usize + used).wrapping_neg() & (layout.align() - 1);
            let Some(end) = used.checked_add(padding).and_then(|at| at.checked_add(layout.size())) else {
                return null_mut();
            };
            if end > ARENA {
                return null_mut();
            }
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                // SAFETY: `used + padding` is at most `end`, which is inside the arena.
                Ok(_) => return unsafe { start.add(used + padding) },
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: Bump = Bump { arena: UnsafeCell::new([0; ARENA]), used: AtomicUsize::new(0) };

#[panic_handler]
fn halt(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
