//! The certificate of one run: a root that signs one certificate and is forgotten.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

use crate::Secret;

/// How much clocks of a cluster's machines may differ: certificates are valid from so long ago.
const CLOCK_TOLERANCE: Duration = Duration::from_hours(1);

/// A certificate that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name is none.
    #[error(
        "Cannot make a certificate for {name:?}: {source}. Give DNS names of ASCII letters, or IP addresses."
    )]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        source: rcgen::Error,
    },
    /// No names.
    #[error(
        "Cannot make a certificate without a name. Give the DNS names and IP addresses of the dataset-manager."
    )]
    NoName,
    /// The machine's clock is far off.
    #[error("Cannot make a certificate: the machine's clock is not in this era. Set it.")]
    Clock,
    /// The library failed.
    #[error("Cannot make a certificate: {0}. This is a fault in Reprise.")]
    Rcgen(#[from] rcgen::Error),
}

/// The certificate of a run's dataset-manager, as PEM: ECDSA on P-256, signed by a root of its own whose key is not kept.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// `ca.crt`: the root, all that a client has to trust.
    pub root_pem: String,
    /// `tls.crt`: what the server shows.
    pub leaf_pem: String,
    /// `tls.key`: the server's private key, PKCS #8.
    pub key_pem: Secret,
}

impl Certificate {
    /// A certificate for these DNS names and IP addresses, valid from an hour ago until `validity` from now.
    ///
    /// # Errors
    /// When there is no name, or one that is neither a DNS name nor an IP address.
    pub fn for_run(names: &[String], validity: Duration) -> Result<Self, CertificateError> {
        let since_epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(|_| CertificateError::Clock)?;
        let validity = Validity {
            from: since_epoch.saturating_sub(CLOCK_TOLERANCE),
            until: since_epoch.saturating_add(validity),
        };
        let root_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut root = params(&[], "Reprise run root", validity)?;
        root.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root_pem = root.self_signed(&root_key)?.pem();

        if names.is_empty() {
            return Err(CertificateError::NoName);
        }
        let leaf_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut leaf = params(names, "Reprise dataset-manager", validity)?;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let leaf_pem = leaf
            .signed_by(&leaf_key, &Issuer::from_params(&root, &root_key))?
            .pem();
        Ok(Self {
            root_pem,
            leaf_pem,
            key_pem: Secret::new(leaf_key.serialize_pem()),
        })
    }
}

/// From when until when, since 1970.
#[derive(Clone, Copy)]
struct Validity {
    from: Duration,
    until: Duration,
}

fn params(names: &[String], title: &str, validity: Validity) -> Result<CertificateParams, CertificateError> {
    for name in names {
        CertificateParams::new(vec![name.clone()]).map_err(|source| CertificateError::Name {
            name: name.clone(),
            source,
        })?;
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, title);
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + validity.from;
    params.not_after = epoch + validity.until;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn server(certificate: &Certificate) -> ServerConnection {
        let chain = CertificateDer::pem_slice_iter(certificate.leaf_pem.as_bytes())
            .map(Result::unwrap)
            .collect();
        let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.expose().as_bytes()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        ServerConnection::new(Arc::new(config)).unwrap()
    }

    fn client(certificate: &Certificate, name: &'static str) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(certificate.root_pem.as_bytes()).unwrap())
            .unwrap();
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap()
    }

    /// Carries bytes between the two until neither has more to say.
    fn shake(client: &mut ClientConnection, server: &mut ServerConnection) -> Result<(), rustls::Error> {
        let carry = |bytes: &mut Vec<u8>| io::Cursor::new(std::mem::take(bytes));
        let mut wire = Vec::new();
        while client.is_handshaking() || server.is_handshaking() {
            client.write_tls(&mut wire).unwrap();
            let mut up = carry(&mut wire);
            while server.read_tls(&mut up).unwrap() > 0 {}
            server.process_new_packets()?;
            server.write_tls(&mut wire).unwrap();
            let mut down = carry(&mut wire);
            while client.read_tls(&mut down).unwrap() > 0 {}
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn a_client_that_knows_only_the_root_accepts_every_name() {
        let certificate = Certificate::for_run(&names(&["manager.ns.svc", "127.0.0.1", "::1"]), DAY).unwrap();
        for name in ["manager.ns.svc", "127.0.0.1", "::1"] {
            let (mut client, mut server) = (client(&certificate, name), server(&certificate));
            shake(&mut client, &mut server).unwrap();
            client.writer().write_all(b"hello").unwrap();
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets().unwrap();
            let mut heard = [0; 5];
            server.reader().read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
        }
    }

    #[test]
    fn another_name_and_another_run_are_refused() {
        let certificate = Certificate::for_run(&names(&["manager.ns.svc"]), DAY).unwrap();
        let other = Certificate::for_run(&names(&["manager.ns.svc"]), DAY).unwrap();
        assert!(
            shake(
                &mut client(&certificate, "elsewhere.ns.svc"),
                &mut server(&certificate)
            )
            .is_err()
        );
        assert!(shake(&mut client(&other, "manager.ns.svc"), &mut server(&certificate)).is_err());
    }

    #[test]
    fn an_expired_one_is_refused() {
        let certificate = Certificate::for_run(&names(&["m"]), Duration::ZERO).unwrap();
        let mut client = client(&certificate, "m");
        std::thread::sleep(Duration::from_millis(1_100));
        assert!(shake(&mut client, &mut server(&certificate)).is_err());
    }

    #[test]
    fn names_that_are_none_are_named() {
        let error = Certificate::for_run(&names(&["fine", "bad\u{e9}"]), DAY).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("Cannot make a certificate for \"bad\u{e9}\""),
            "{error}"
        );
        assert!(matches!(
            Certificate::for_run(&[], DAY),
            Err(CertificateError::NoName)
        ));
    }

    #[test]
    fn the_key_is_not_shown() {
        let certificate = Certificate::for_run(&names(&["m"]), DAY).unwrap();
        assert!(!format!("{certificate:?}").contains("PRIVATE KEY"));
        assert!(certificate.key_pem.expose().contains("PRIVATE KEY"));
    }
}
