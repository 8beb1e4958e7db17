//! Stores a result where the spec wants it, beside its folder.

use std::path::Path;

use reprise_crds::Results;
use reprise_dataset_manager::storage::{Attempt, Stores};
use reprise_identity::random_incarnation;
use tokio::runtime::{Builder, Runtime};

use crate::exit::Failure;
use crate::output::print;

/// Where the result goes, beside its folder.
pub(super) struct Store {
    stores: Stores,
    runtime: Runtime,
}

impl Store {
    /// Finds out whether the result can be stored, before there is any.
    pub(super) fn open(name: &str, results: &Results) -> Result<Self, Failure> {
        // A run on this machine has no UID, and needs a folder that no other run has.
        let uid = random_incarnation()?.to_string();
        let attempt = Attempt {
            name,
            uid: &uid,
            number: 1,
        };
        let stores = Stores::of(results, None, attempt).map_err(Failure::input)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(stores.check()).map_err(Failure::input)?;
        Ok(Self { stores, runtime })
    }

    /// Stores the files of the folder, and says where.
    pub(super) fn store(&self, folder: &Path, is_quiet: bool) -> Result<(), Failure> {
        let stored = self.runtime.block_on(self.stores.store(folder, &|_, _| {}))?;
        for place in stored.iter().filter(|_| !is_quiet) {
            print(&format!("Stored:  {place}\n"))?;
        }
        Ok(())
    }
}
