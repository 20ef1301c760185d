//! The traffic of a connection, as counted by the kernel.

use std::ops::AddAssign;

use mio::net::TcpStream;

/// The headers of a segment: IPv4 without options, TCP with timestamps.
const HEADERS: u64 = 20 + 32;

/// Sent traffic, including empty acknowledgements and retransmissions. Zero where the kernel does not count it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SentTraffic {
    /// TCP segments.
    pub segments: u64,
    /// Payload bytes, without headers.
    pub payload: u64,
}

impl SentTraffic {
    /// Bytes including headers, as if everything went over IPv4.
    pub(crate) fn bytes(self) -> u64 {
        self.segments * HEADERS + self.payload
    }
}

impl AddAssign for SentTraffic {
    fn add_assign(&mut self, more: SentTraffic) {
        self.segments += more.segments;
        self.payload += more.payload;
    }
}

/// The traffic that a connection has sent.
#[cfg(target_os = "linux")]
pub(super) fn sent(socket: &TcpStream) -> SentTraffic {
    use std::os::fd::AsRawFd;

    // Offsets in the kernel's `struct tcp_info`, which grows only at its end.
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
        return SentTraffic::default();
    }
    // An older kernel fills in less; the rest stays zero.
    let segments: [u8; 4] = info[SEGMENTS..SEGMENTS + 4].try_into().unwrap_or_default();
    let payload: [u8; 8] = info[PAYLOAD..PAYLOAD + 8].try_into().unwrap_or_default();
    SentTraffic { segments: u32::from_ne_bytes(segments).into(), payload: u64::from_ne_bytes(payload) }
}

/// The traffic that a connection has sent: not available on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn sent(_: &TcpStream) -> SentTraffic {
    SentTraffic::default()
}
