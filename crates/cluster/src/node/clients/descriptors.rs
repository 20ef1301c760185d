//! Descriptors that programs pass with their requests, and how the node gets rid of them.
//!
//! Whoever is the last to close a descriptor may wait: for unsent data, as long as the owner of a socket has set
//! (`SO_LINGER`); for a file, as long as whoever serves it wants. That is so even if the descriptor was never received:
//! the kernel closes what it discards in the thread that reads or closes the connection. The node's thread must never
//! wait, or its leases end. So only operators may pass descriptors. Since Linux 6.16 the kernel refuses those of others
//! when they are sent. Before, the node receives them all and leaves it to another thread to close them, and
//! connections in which some may wait unread.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread;

/// The most descriptors that one message has (`SCM_MAX_FD`).
pub(super) const MAX_PASSED: usize = 253;
/// Whether descriptors may be sent to a Unix socket. It has this number on all architectures that Rust's standard
/// library supports, except PA-RISC and SPARC.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Decides whether descriptors may be sent to a socket, or to the connections that are made to a listener from now on.
/// Fails before Linux 6.16.
pub(super) fn allow_descriptors(socket: impl AsFd, is_allowed: bool) -> io::Result<()> {
    let value = libc::c_int::from(is_allowed);
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer is valid for the call, and `length` is the size of what it points to.
    let result = unsafe {
        let socket = socket.as_fd().as_raw_fd();
        libc::setsockopt(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const value).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes descriptors on a thread of its own, one after the other.
pub(super) struct Disposer(Sender<OwnedFd>);

impl Disposer {
    /// Starts the thread. It ends with the disposer.
    pub(super) fn start() -> io::Result<Disposer> {
        let (disposer, descriptors) = Disposer::without_thread();
        let close = move || descriptors.into_iter().for_each(drop);
        thread::Builder::new().name("close".to_string()).spawn(close)?;
        Ok(disposer)
    }

    /// Somebody else closes the descriptors.
    pub(super) fn without_thread() -> (Disposer, Receiver<OwnedFd>) {
        let (sender, descriptors) = channel();
        (Disposer(sender), descriptors)
    }

    pub(super) fn close(&self, descriptor: impl Into<OwnedFd>) {
        if let Err(SendError(descriptor)) = self.0.send(descriptor.into()) {
            // The thread outlives the disposer. Should it not, then it is better to wait than to keep everything open.
            drop(descriptor);
        }
    }
}
