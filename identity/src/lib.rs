//! What the parts of one run know each other by: a certificate and tokens.
//!
//! - [`RunKey`] and [`Token`]: a bearer token for each role of a run, derived from a key that only the operator holds;
//! - [`Certificate`]: the dataset-manager's own certificate, which lives as long as the run;
//! - [`random_incarnation`]: a name for one life of a process;
//! - [`RunSecrets`]: both as the files of the run's Secret, and what each side reads of them.

mod certificate;
mod life;
mod secret;
mod secrets;
mod token;

pub use certificate::{Certificate, CertificateError};
pub use life::random_incarnation;
pub use secret::Secret;
pub use secrets::{ManagerSecrets, RunSecrets, SecretsError, WorkerSecrets, file};
pub use token::{KeyError, RunKey, Token, TokenError};
