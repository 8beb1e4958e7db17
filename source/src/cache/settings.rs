//! Where the cache is and how large it may get.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::byte_size::ByteSize;
use super::problem::{CacheError, CacheProblem};

/// What has to be known to open the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// The folder of the cache.
    pub root: PathBuf,
    /// How large contents and partial files may get together before the least recently used ones go. `None`: nothing
    /// goes by itself.
    pub limit: Option<ByteSize>,
}

impl CacheSettings {
    /// From the variables of the environment, as `lookup` knows them: the folder is `REPRISE_CACHE_DIR`, else
    /// `$XDG_CACHE_HOME/reprise`, else `~/.cache/reprise`; the limit is `REPRISE_CACHE_MAX_BYTES`. An empty variable is
    /// like none, and so is a relative `XDG_CACHE_HOME` (XDG Base Directory Specification).
    ///
    /// # Errors
    ///
    /// When none of them names a folder, or the limit is not a size.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, CacheError> {
        let value = |name| lookup(name).filter(|value| !value.is_empty());
        let xdg = || {
            value("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let root = value("REPRISE_CACHE_DIR")
            .map(PathBuf::from)
            .or_else(|| Some(xdg()?.join("reprise")))
            .or_else(|| Some(Path::new(&value("HOME")?).join(".cache/reprise")))
            .ok_or_else(|| CacheError::new(Path::new("~/.cache/reprise"), CacheProblem::NoFolder))?;
        let limit = match value("REPRISE_CACHE_MAX_BYTES") {
            None => None,
            Some(text) => {
                let size = text.to_str().and_then(|text| text.parse().ok());
                Some(size.ok_or_else(|| CacheError::new(&root, CacheProblem::Limit))?)
            }
        };
        Ok(Self { root, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<CacheSettings, CacheError> {
        CacheSettings::from_variables(|name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn the_folder_comes_from_the_first_variable_that_names_one() {
        let root = |variables: &[_]| settings(variables).unwrap().root;
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_CACHE_HOME", "/cache");
        let own = ("REPRISE_CACHE_DIR", "/mnt/traces");
        assert_eq!(root(&[home]), Path::new("/home/me/.cache/reprise"));
        assert_eq!(root(&[home, xdg]), Path::new("/cache/reprise"));
        assert_eq!(root(&[home, xdg, own]), Path::new("/mnt/traces"));
        assert_eq!(
            root(&[home, ("REPRISE_CACHE_DIR", "")]),
            Path::new("/home/me/.cache/reprise")
        );
        assert_eq!(
            root(&[home, ("XDG_CACHE_HOME", "cache")]),
            Path::new("/home/me/.cache/reprise")
        );
        assert_eq!(root(&[("REPRISE_CACHE_DIR", "cache")]), Path::new("cache"));
    }

    #[test]
    fn the_limit_is_a_size() {
        let limit = |text| settings(&[("HOME", "/h"), ("REPRISE_CACHE_MAX_BYTES", text)]);
        assert_eq!(limit("50GiB").unwrap().limit, Some(ByteSize(50 << 30)));
        assert_eq!(limit("").unwrap().limit, None);
        assert!(limit("much").is_err());
    }
}
