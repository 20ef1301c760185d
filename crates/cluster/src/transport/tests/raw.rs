//! A hand-made peer, which does what a transport would not do.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use rustls::Connection;

use super::*;
use crate::transport::frame::encode;
use crate::transport::hello::Hello;

/// The Hello of a hand-made peer.
pub(super) fn hello(cluster: &str, id: u64, sequence: u64) -> Hello {
    Hello { version: PROTOCOL_VERSION, cluster: cluster.to_owned(), id: Id(id), incarnation: 1 << 50, sequence }
}

/// A connection to a node.
pub(crate) struct Raw {
    pub(super) socket: TcpStream,
    pub(crate) tls: Connection,
    pub(super) heard: Vec<u8>,
    /// Whether the node closed it or TLS failed.
    pub(crate) ended: bool,
}

impl Raw {
    pub(crate) fn connect(address: &str, tls: Connection) -> Raw {
        let socket = TcpStream::connect(address).expect("the node listens");
        socket.set_nonblocking(true).expect("it is a socket");
        Raw { socket, tls, heard: Vec::new(), ended: false }
    }

    /// Dials a node as a member.
    pub(super) fn dial(world: &World, to: u64, identity: &Identity) -> Raw {
        Raw::connect(world.address(to), identity.dial(&member(to)).expect("the member's name is a DNS label"))
    }

    /// Dials a node as a member, and sends the Hello.
    pub(super) fn established(world: &mut World, to: u64, from: u64) -> Raw {
        let mut raw = Raw::dial(world, to, &identity_for(&member(from), time::Duration::DAY));
        raw.hello(CLUSTER, from, 1 << 40);
        world.until("the node takes the hand-made peer", |world| {
            raw.pump();
            world.node(to).is_up(from)
        });
        raw
    }

    pub(crate) fn frame(&mut self, payload: &[u8]) {
        let mut bytes = Vec::new();
        encode(payload, &mut bytes);
        self.plain(&bytes);
    }

    /// Bytes inside TLS.
    pub(super) fn plain(&mut self, bytes: &[u8]) {
        self.tls.set_buffer_limit(None);
        self.tls.writer().write_all(bytes).expect("it has no limit");
    }

    pub(crate) fn hello(&mut self, cluster: &str, id: u64, sequence: u64) {
        self.frame(&hello(cluster, id, sequence).encode());
    }

    /// Reads and writes as much as possible without waiting.
    pub(crate) fn pump(&mut self) {
        while self.tls.wants_write() && !self.ended {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.ended = true,
            }
        }
        while !self.ended {
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => self.ended = true,
                Ok(_) => self.ended |= self.tls.process_new_packets().is_err(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.ended = true,
            }
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = self.tls.reader().read(&mut bytes) {
                self.heard.extend_from_slice(&bytes[..count]);
            }
        }
    }
}
