//! Whose connection it is.
//!
//! On loopback every node calls from the same address, and what it says is encrypted. The kernel knows who called:
//! `/proc/net/tcp` has the socket of an address, `/proc/PID/fd` the sockets of a process.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};

/// Which of these processes has the socket that is bound to `caller` and connected to `called`.
pub(super) fn whose(processes: &[Option<u32>], caller: SocketAddr, called: SocketAddr) -> Option<usize> {
    let (SocketAddr::V4(caller), SocketAddr::V4(called)) = (caller, called) else { return None };
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let socket = format!("socket:[{}]", inode(&table, caller, called)?);
    processes.iter().position(|process| process.is_some_and(|process| holds(process, &socket)))
}

/// The inode of a connection, from the kernel's table: after a heading one line each, of which the second word is the
/// own address, the third the other's and the tenth the inode.
fn inode(table: &str, own: SocketAddrV4, other: SocketAddrV4) -> Option<u64> {
    let (own, other) = (hexadecimal(own), hexadecimal(other));
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let found = words.next()? == own && words.next()? == other;
        words.nth(6).filter(|_| found)?.parse().ok().filter(|&inode| inode != 0)
    })
}

/// An address as the kernel's table has it: four bytes in the core's order, then the port.
fn hexadecimal(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

fn holds(process: u32, socket: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_of_this_process_is_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let called = listener.local_addr().expect("bound");
        let stream = TcpStream::connect(called).expect("somebody listens");
        let caller = stream.local_addr().expect("connected");
        let own = std::process::id();
        assert_eq!(whose(&[None, Some(1), Some(own)], caller, called), Some(2));
        assert_eq!(whose(&[None, Some(own)], called, called), None, "no such connection");
        assert_eq!(whose(&[None], caller, called), None, "none of theirs");
    }

    #[test]
    fn a_line_of_another_connection_is_not_taken() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     0        0 77 1 0\n\
             1: 0100007F:1F90 0100007F:1F92 01 00000000:00000000 00:00000000 00000000     0        0 78 1 0\n\
             2: 0100007F:1F93 0100007F:1F92 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n";
        let address = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        assert_eq!(inode(table, address(8080), address(8082)), Some(78));
        assert_eq!(inode(table, address(8080), address(8083)), None);
        assert_eq!(inode(table, address(8083), address(8082)), None, "a closed connection belongs to nobody");
    }
}
