//! The folder for results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::exit::Failure;

/// Runs of one name that may start within one second.
const MOST_AT_ONCE: u32 = 1_000;

/// The folder for results. What was made of it goes again when no result comes to lie in it.
pub(super) struct ResultFolder {
    path: PathBuf,
    /// The folders that were made for it, outermost first.
    made: Vec<PathBuf>,
}

impl ResultFolder {
    /// The folder that was given, or a new one named after the run and the time.
    pub(super) fn create(given: Option<&Path>, name: &str) -> Result<Self, Failure> {
        let created = given.map_or_else(|| create_new(name), create);
        created.map_err(|(path, error)| {
            Failure::Input(format!(
                "Cannot use {} for results: {error}. Name another folder with --output.",
                path.display()
            ))
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder for good.
    pub(super) fn keep(mut self) -> PathBuf {
        self.made.clear();
        self.path.clone()
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // One that has something in it by now stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn create(path: &Path) -> Result<ResultFolder, (PathBuf, io::Error)> {
    let missing = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut made: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    made.reverse();
    fs::create_dir_all(path).map_err(|error| (path.to_owned(), error))?;
    Ok(ResultFolder {
        path: path.to_owned(),
        made,
    })
}

/// A folder that no other run has.
fn create_new(name: &str) -> Result<ResultFolder, (PathBuf, io::Error)> {
    let parent = create(Path::new("reprise-results"))?;
    let base = format!("{name}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for count in 1..=MOST_AT_ONCE {
        let suffix = if count == 1 {
            String::new()
        } else {
            format!("-{count}")
        };
        let path = parent.path.join(format!("{base}{suffix}"));
        match fs::create_dir(&path) {
            Ok(()) => {
                let mut made = parent.made.clone();
                made.push(path.clone());
                parent.keep();
                return Ok(ResultFolder { path, made });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err((path, error)),
        }
    }
    Err((parent.path.join(base), taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_again_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        fs::create_dir(&own).unwrap();
        drop(create(&own.join("a/b")).unwrap_or_else(|(_, error)| panic!("{error}")));
        assert!(own.exists() && !own.join("a").exists());
    }

    #[test]
    fn a_folder_with_a_result_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let kept = create(&path)
            .unwrap_or_else(|(_, error)| panic!("{error}"))
            .keep();
        assert!(kept.exists());
    }
}
