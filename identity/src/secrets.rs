//! The files of a run's Secret.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use reprise_contract::protocol::Role;

use crate::{Certificate, RunKey, Secret, Token, TokenError};

/// Names of the files.
pub mod file {
    /// What the server shows, PEM.
    pub const TLS_CERTIFICATE: &str = "tls.crt";
    /// The server's private key, PEM.
    pub const TLS_KEY: &str = "tls.key";
    /// What clients trust, PEM.
    pub const ROOT: &str = "ca.crt";
    /// The workers' token.
    pub const WORKER_TOKEN: &str = "worker-token";
    /// The operator's token.
    pub const OPERATOR_TOKEN: &str = "operator-token";
}

/// Files that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// A file cannot be written.
    #[error("Cannot write {}: {source}. Check the folder and its permissions.", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("Cannot read {}: {source}. Mount the run's Secret there.", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds no token.
    #[error("Cannot use {}: {source}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TokenError,
    },
}

/// All that a run's Secret holds.
#[derive(Clone, Debug)]
pub struct RunSecrets {
    /// The manager's certificate and key.
    pub certificate: Certificate,
    /// The workers' token.
    pub worker: Token,
    /// The operator's token.
    pub operator: Token,
}

/// What the dataset-manager needs.
#[derive(Clone, Debug)]
pub struct ManagerSecrets {
    /// The certificate that it shows, PEM.
    pub certificate_pem: String,
    /// Its private key, PEM.
    pub key_pem: Secret,
    /// What its workers call with.
    pub worker: Token,
    /// What the operator calls with.
    pub operator: Token,
}

/// What a worker needs.
#[derive(Clone, Debug)]
pub struct WorkerSecrets {
    /// The only certificate that it trusts, PEM.
    pub root_pem: String,
    /// What it calls with.
    pub token: Token,
}

impl RunSecrets {
    /// The secrets of one attempt of the run with this UID.
    #[must_use]
    pub fn new(certificate: Certificate, key: &RunKey, uid: &str, attempt: u32) -> Self {
        Self {
            certificate,
            worker: key.token(uid, attempt, Role::Worker),
            operator: key.token(uid, attempt, Role::Operator),
        }
    }

    /// The files, by name.
    #[must_use]
    pub fn files(&self) -> [(&'static str, &str); 5] {
        [
            (file::TLS_CERTIFICATE, &self.certificate.leaf_pem),
            (file::TLS_KEY, self.certificate.key_pem.expose()),
            (file::ROOT, &self.certificate.root_pem),
            (file::WORKER_TOKEN, self.worker.expose()),
            (file::OPERATOR_TOKEN, self.operator.expose()),
        ]
    }

    /// Writes the files; only their owner can read them.
    ///
    /// # Errors
    /// When the folder does not exist or is not writable.
    pub fn write(&self, folder: &Path) -> Result<(), SecretsError> {
        self.files().into_iter().try_for_each(|(name, text)| {
            let path = folder.join(name);
            write_private(&path, text).map_err(|source| SecretsError::Write { path, source })
        })
    }

    /// What the dataset-manager needs, without files.
    #[must_use]
    pub fn of_manager(&self) -> ManagerSecrets {
        ManagerSecrets {
            certificate_pem: self.certificate.leaf_pem.clone(),
            key_pem: self.certificate.key_pem.clone(),
            worker: self.worker.clone(),
            operator: self.operator.clone(),
        }
    }
}

impl ManagerSecrets {
    /// Reads them from the folder that the run's Secret is mounted at.
    ///
    /// # Errors
    /// When a file cannot be read or holds no token.
    pub fn read(folder: &Path) -> Result<Self, SecretsError> {
        Ok(Self {
            certificate_pem: read(&folder.join(file::TLS_CERTIFICATE))?,
            key_pem: Secret::new(read(&folder.join(file::TLS_KEY))?),
            worker: read_token(&folder.join(file::WORKER_TOKEN))?,
            operator: read_token(&folder.join(file::OPERATOR_TOKEN))?,
        })
    }
}

impl WorkerSecrets {
    /// Reads them from the folder that the run's Secret is mounted at. Nothing else need be there.
    ///
    /// # Errors
    /// When a file cannot be read or holds no token.
    pub fn read(folder: &Path) -> Result<Self, SecretsError> {
        Ok(Self {
            root_pem: read(&folder.join(file::ROOT))?,
            token: read_token(&folder.join(file::WORKER_TOKEN))?,
        })
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // A file that was there keeps its mode otherwise.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())
}

fn read(path: &Path) -> Result<String, SecretsError> {
    fs::read_to_string(path).map_err(|source| SecretsError::Read {
        path: path.to_owned(),
        source,
    })
}

fn read_token(path: &Path) -> Result<Token, SecretsError> {
    Token::parse(&read(path)?).map_err(|source| SecretsError::Token {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn secrets() -> RunSecrets {
        let certificate = Certificate::for_run(&["m".to_owned()], Duration::from_mins(1)).unwrap();
        RunSecrets::new(certificate, &RunKey::new(&[1; 32]).unwrap(), "uid", 1)
    }

    #[test]
    fn each_side_reads_what_was_written_and_only_the_owner_may() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = secrets();
        fs::write(
            folder.path().join(file::TLS_KEY),
            "a longer text than any key".repeat(99),
        )
        .unwrap();
        secrets.write(folder.path()).unwrap();
        let manager = ManagerSecrets::read(folder.path()).unwrap();
        assert_eq!(manager.certificate_pem, secrets.certificate.leaf_pem);
        assert_eq!(manager.key_pem, secrets.certificate.key_pem);
        assert!(manager.operator.matches(secrets.operator.expose()));
        assert!(!manager.operator.matches(secrets.worker.expose()));
        for (name, _) in secrets.files() {
            let mode = fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_worker_needs_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = secrets();
        let missing = WorkerSecrets::read(folder.path()).unwrap_err();
        assert!(missing.to_string().contains("ca.crt"), "{missing}");
        fs::write(folder.path().join(file::ROOT), &secrets.certificate.root_pem).unwrap();
        fs::write(folder.path().join(file::WORKER_TOKEN), "nonsense").unwrap();
        let nonsense = WorkerSecrets::read(folder.path()).unwrap_err();
        assert!(matches!(nonsense, SecretsError::Token { .. }), "{nonsense}");
        fs::write(
            folder.path().join(file::WORKER_TOKEN),
            format!("{}\n", secrets.worker.expose()),
        )
        .unwrap();
        assert!(
            WorkerSecrets::read(folder.path())
                .unwrap()
                .token
                .matches(secrets.worker.expose())
        );
    }

    #[test]
    fn nothing_is_shown() {
        let secrets = secrets();
        let shown = format!("{secrets:?} {:?}", secrets.of_manager());
        for hidden in [secrets.worker.expose(), secrets.operator.expose(), "PRIVATE KEY"] {
            assert!(!shown.contains(hidden));
        }
    }
}
