//! Everything of a run that is not sending: from a reference to a plan, and from outcomes to the files of a result.
//!
//! The same code serves the dataset-manager's pod and `reprise run`:
//!
//! 1. [`prepare`]: access check, version, first record, download, content;
//! 2. [`load`] and [`planned`]: from spec and content to the head of a plan and a schedule;
//! 3. [`server`], [`coordinator`] and [`arrivals`]: from a plan to the outcomes of many workers;
//! 4. [`result`]: from outcomes to a summary and files.
//!
//! Nothing here knows a terminal, and nothing talks to the Kubernetes API. Progress goes to an [`prepare::Observer`];
//! a `CancellationToken` ends what is going on.

pub mod arrivals;
pub mod control_file;
pub mod coordinator;
pub mod exit;
pub mod life;
pub mod load;
pub mod metrics;
pub mod open_files;
pub mod parts;
pub mod planned;
pub mod prepare;
pub mod result;
pub mod run_file;
pub mod server;
pub mod settings;
pub mod storage;
pub mod termination;
