//! TLS of the API.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hustings_cluster::config::HttpTls;
use hustings_host::input_file::{self, MAX_PEM_BYTES};
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

/// Why a certificate or key of the API cannot be used. It quotes nothing of the file.
#[derive(Debug, thiserror::Error)]
#[error("{key} {}: {problem}", .file.display())]
pub struct TlsError {
    key: &'static str,
    file: PathBuf,
    problem: String,
}

/// The TLS of the API.
pub(crate) struct Tls {
    /// The configuration of all connections.
    pub(crate) config: Arc<ServerConfig>,
    /// The names in the server's certificate.
    pub(crate) names: Vec<String>,
}

/// Loads the files, and makes the configuration of all connections.
pub(crate) fn load(tls: &HttpTls) -> Result<Tls, TlsError> {
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
    let names = chain.first().map(dns_names).unwrap_or_default();
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
    Ok(Tls { config: Arc::new(config), names })
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| "contains no certificate in PEM format".to_string())
}

fn read(path: &Path, is_secret: bool) -> Result<Vec<u8>, String> {
    let read = if is_secret { input_file::read_secret } else { input_file::read };
    read(path, MAX_PEM_BYTES).map_err(|error| error.to_string())
}

fn dns_names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    parsed.map(|parsed| parsed.valid_dns_names().map(str::to_string).collect()).unwrap_or_default()
}

/// The name of a client in the log: the first DNS name of its certificate, or its fingerprint.
pub(crate) fn client_name(certificate: &CertificateDer<'_>) -> Arc<str> {
    let name = dns_names(certificate).into_iter().next().unwrap_or_else(|| {
        let hash = digest(&SHA256, certificate);
        hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    });
    format!("certificate:{name}").into()
}
