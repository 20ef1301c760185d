//! TLS of the API.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hustings_cluster::config::HttpTls;
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

/// The longest PEM file, in bytes.
const MAX_PEM_BYTES: u64 = 64 * 1024;

/// Why a certificate or key of the API cannot be used. It quotes nothing of the file.
#[derive(Debug, thiserror::Error)]
#[error("{key} {}: {problem}", .file.display())]
pub struct TlsError {
    key: &'static str,
    file: PathBuf,
    problem: String,
}

/// Loads the files, and makes the configuration of all connections.
pub(crate) fn load(tls: &HttpTls) -> Result<Arc<ServerConfig>, TlsError> {
    let fail = |key, file: &Path| {
        let file = file.to_path_buf();
        move |problem: String| TlsError { key, file, problem }
    };
    let (own, secret) = (("http.tls.certificate", &tls.certificate), ("http.tls.key", &tls.key));
    let chain = read(own.1, false).and_then(|pem| certificates(&pem)).map_err(fail(own.0, own.1))?;
    let key = read(secret.1, true).and_then(|pem| {
        PrivateKeyDer::from_pem_slice(&pem).map_err(|_| "contains no private key in PEM format".to_string())
    });
    let key = key.map_err(fail(secret.0, secret.1))?;
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(own.0, own.1)(error.to_string()))?;
    let builder = match &tls.client_authority {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let fail = fail("http.tls.client-authority", file);
            let verifier = read(file, false).and_then(|pem| {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(&pem)? {
                    roots.add(certificate).map_err(|error| error.to_string())?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                verifier.map_err(|error| error.to_string())
            });
            builder.with_client_cert_verifier(verifier.map_err(fail)?)
        }
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| fail(secret.0, secret.1)(error.to_string()));
    let mut config = config?;
    // A cache of sessions would grow with the number of clients.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| "contains no certificate in PEM format".to_string())
}

fn read(path: &Path, is_secret: bool) -> Result<Vec<u8>, String> {
    let text = |error: io::Error| error.to_string();
    let file = File::open(path).map_err(text)?;
    // Checked on the open file, because the path may change.
    let mode = file.metadata().map_err(text)?.permissions().mode() & 0o777;
    if is_secret && mode & 0o077 != 0 {
        let advice = "make it readable for its owner only (chmod 600)";
        return Err(format!("other users can read it (mode {mode:03o}); {advice}"));
    }
    let mut pem = Vec::new();
    file.take(MAX_PEM_BYTES + 1).read_to_end(&mut pem).map_err(text)?;
    if pem.len() as u64 > MAX_PEM_BYTES { Err(format!("is longer than {MAX_PEM_BYTES} bytes")) } else { Ok(pem) }
}

/// The name of a client in the log: the first DNS name of its certificate, or its fingerprint.
pub(crate) fn client_name(certificate: &CertificateDer<'_>) -> Arc<str> {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    let name = parsed.ok().and_then(|parsed| parsed.valid_dns_names().next().map(str::to_string));
    let name = name.unwrap_or_else(|| {
        let hash = digest(&SHA256, certificate);
        hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    });
    format!("certificate:{name}").into()
}
