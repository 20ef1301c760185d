//! What connections cost on the wire, as the kernel counted it.

use std::ops::AddAssign;

use mio::net::TcpStream;

/// The headers of a segment: IPv4 without options, TCP with time stamps.
const HEADERS: u64 = 20 + 32;

/// What was sent, empty acknowledgements and repetitions included. Zero where the kernel does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wire {
    /// Segments of TCP.
    pub segments: u64,
    /// Bytes in them, without headers.
    pub payload: u64,
}

impl Wire {
    /// Bytes with their headers, as if all went over IPv4.
    pub fn bytes(self) -> u64 {
        self.segments * HEADERS + self.payload
    }
}

impl AddAssign for Wire {
    fn add_assign(&mut self, more: Wire) {
        self.segments += more.segments;
        self.payload += more.payload;
    }
}

/// What a connection has sent so far.
#[cfg(target_os = "linux")]
pub(super) fn sent(socket: &TcpStream) -> Wire {
    use std::os::fd::AsRawFd;

    // Places in the kernel's `struct tcp_info`, which only ever grows at its end.
    const SEGMENTS: usize = 136;
    const PAYLOAD: usize = 200;
    let mut info = [0u8; 256];
    let mut length = info.len() as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most `length` bytes to
    // `info`, which has that many, and any bytes are valid there. No crate we use offers this option of a socket.
    let answer =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, info.as_mut_ptr().cast(), &raw mut length) };
    if answer != 0 {
        return Wire::default();
    }
    // An older kernel fills in less; what it leaves out stays zero.
    let segments: [u8; 4] = info[SEGMENTS..SEGMENTS + 4].try_into().unwrap_or_default();
    let payload: [u8; 8] = info[PAYLOAD..PAYLOAD + 8].try_into().unwrap_or_default();
    Wire { segments: u32::from_ne_bytes(segments).into(), payload: u64::from_ne_bytes(payload) }
}

/// What a connection has sent so far: not known here.
#[cfg(not(target_os = "linux"))]
pub(super) fn sent(_: &TcpStream) -> Wire {
    Wire::default()
}
