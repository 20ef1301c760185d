//! Ports for nodes that are started, killed and started again.

use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

/// The lowest port that is given out. Services use lower ones.
const FIRST_PORT: u16 = 10_240;
/// How many ports a process reserves at a time.
const BLOCK: u16 = 256;
/// The beginning of the ports of outgoing connections, if the system does not tell.
const DEFAULT_EPHEMERAL: u16 = 32_768;

/// The ports that this process has reserved.
static RESERVED: Mutex<Reserved> = Mutex::new(Reserved { locks: Vec::new(), next: 0, end: 0 });

struct Reserved {
    /// A name in the abstract namespace for each block. The kernel frees it when the process ends.
    locks: Vec<UnixListener>,
    next: u16,
    end: u16,
}

/// Ports of loopback that are free, and stay so until they are used.
///
/// They are below those that the kernel gives to outgoing connections. Otherwise such a connection could take the port
/// of a node between its end and its next start. Every process that calls this gets other ones.
pub fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    (0..count).map(|_| reserved.next_free()).collect()
}

impl Reserved {
    fn next_free(&mut self) -> io::Result<u16> {
        loop {
            if self.next == self.end {
                self.reserve_block(end_of_ports())?;
            }
            let port = self.next;
            self.next += 1;
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return Ok(port);
            }
        }
    }

    /// Reserves a block that no other process has. Processes begin at different ones.
    fn reserve_block(&mut self, end: u16) -> io::Result<()> {
        let blocks = end.saturating_sub(FIRST_PORT) / BLOCK;
        let first = (std::process::id() % u32::from(blocks.max(1))) as u16;
        for block in (first..blocks).chain(0..first) {
            let name = SocketAddr::from_abstract_name(format!("hustings-ports-{block}"))?;
            if let Ok(lock) = UnixListener::bind_addr(&name) {
                self.locks.push(lock);
                self.next = FIRST_PORT + block * BLOCK;
                self.end = self.next + BLOCK;
                return Ok(());
            }
        }
        let range = format!("all ports from {FIRST_PORT} to {end} are reserved or used for outgoing connections");
        Err(io::Error::new(io::ErrorKind::AddrNotAvailable, range))
    }
}

/// The first port that the kernel gives to outgoing connections. Where it gives them nearly all ports, there is nothing
/// to stay away from.
fn end_of_ports() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    end_of_ports_in(&range)
}

fn end_of_ports_in(range: &str) -> u16 {
    let first = range.split_whitespace().next().and_then(|first| first.parse().ok());
    first.filter(|first| *first >= FIRST_PORT + BLOCK).unwrap_or(DEFAULT_EPHEMERAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_are_not_those_of_outgoing_connections() {
        // More than a block.
        let mut ports = free_ports(usize::from(BLOCK)).expect("there are free ports");
        ports.extend(free_ports(10).expect("there are free ports"));
        assert!(ports.iter().all(|port| (FIRST_PORT..end_of_ports()).contains(port)), "{ports:?}");
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), usize::from(BLOCK) + 10);
    }

    #[test]
    fn hosts_with_a_wide_range_of_outgoing_ports_have_ports_for_nodes() {
        assert_eq!(end_of_ports_in("32768\t60999\n"), 32_768);
        assert_eq!(end_of_ports_in("20000 65535"), 20_000);
        assert_eq!(end_of_ports_in("1024 65535"), DEFAULT_EPHEMERAL);
        assert_eq!(end_of_ports_in(""), DEFAULT_EPHEMERAL);
    }

    #[test]
    fn a_block_belongs_to_one_process() {
        let [mut one, mut other] = [0; 2].map(|_| Reserved { locks: Vec::new(), next: 0, end: 0 });
        one.reserve_block(end_of_ports()).expect("there are free blocks");
        // As another process would.
        other.reserve_block(end_of_ports()).expect("there are free blocks");
        assert_ne!(one.next, other.next);
        assert!(other.reserve_block(FIRST_PORT).is_err(), "there is none below the first port");
    }
}
