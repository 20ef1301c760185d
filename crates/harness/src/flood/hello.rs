//! The first bytes of a TLS handshake.

use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// A ClientHello, as any stranger can send it. To answer it, a node computes a key exchange and a signature; to send it
/// again costs nothing.
pub(super) fn client_hello() -> io::Result<Vec<u8>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let name = ServerName::try_from("stranger.invalid").map_err(io::Error::other)?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_one_record_of_a_handshake() {
        let hello = client_hello().expect("nothing is needed for it");
        let length = usize::from(u16::from_be_bytes([hello[3], hello[4]]));
        assert_eq!((hello[0], hello[5], hello.len()), (22, 1, 5 + length), "handshake, client hello");
    }
}
