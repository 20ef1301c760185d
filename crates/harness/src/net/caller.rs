//! Which process opened a connection.
//!
//! On loopback every node connects from the same address, and its bytes are encrypted. The kernel knows the process:
//! `/proc/net/tcp` maps an address to a socket, `/proc/PID/fd` lists the sockets of a process.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};

use rustix::process::Pid;

/// The index of the process that owns the socket bound to `caller` and connected to `called`.
pub(super) fn find_process(processes: &[Option<Pid>], caller: SocketAddr, called: SocketAddr) -> Option<usize> {
    let (SocketAddr::V4(caller), SocketAddr::V4(called)) = (caller, called) else { return None };
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let socket = format!("socket:[{}]", inode(&table, caller, called)?);
    processes.iter().position(|process| process.is_some_and(|pid| owns(pid, &socket)))
}

/// The inode of a connection from the kernel's table. After a heading the table has one line a connection, in which the
/// second word is the local address, the third the remote address and the tenth the inode.
fn inode(table: &str, own: SocketAddrV4, other: SocketAddrV4) -> Option<u64> {
    let (own, other) = (hexadecimal(own), hexadecimal(other));
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let found = words.next()? == own && words.next()? == other;
        words.nth(6).filter(|_| found)?.parse().ok().filter(|&inode| inode != 0)
    })
}

/// An address as the kernel's table prints it: four bytes in the machine's byte order, then the port.
fn hexadecimal(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

fn owns(pid: Pid, socket: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn finds_this_process_by_its_own_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let called = listener.local_addr().expect("bound");
        let stream = TcpStream::connect(called).expect("the listener is open");
        let caller = stream.local_addr().expect("connected");
        let own = rustix::process::getpid();
        assert_eq!(find_process(&[None, Some(Pid::INIT), Some(own)], caller, called), Some(2));
        assert_eq!(find_process(&[None, Some(own)], called, called), None, "no such connection");
        assert_eq!(find_process(&[None], caller, called), None, "another process");
    }

    #[test]
    fn matches_both_addresses_of_a_connection() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     0        0 77 1 0\n\
             1: 0100007F:1F90 0100007F:1F92 01 00000000:00000000 00:00000000 00000000     0        0 78 1 0\n\
             2: 0100007F:1F93 0100007F:1F92 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n";
        let address = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        assert_eq!(inode(table, address(8080), address(8082)), Some(78));
        assert_eq!(inode(table, address(8080), address(8083)), None);
        assert_eq!(inode(table, address(8083), address(8082)), None, "a closed connection has no owner");
    }
}
