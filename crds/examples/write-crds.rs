//! Writes the files that are made from the types: the CRD and the reference page.

use std::error::Error;
use std::fs;
use std::path::Path;

use reprise_crds::generated::{CRD_FILE, REFERENCE_FILE, crd_yaml, reference_markdown};

fn main() -> Result<(), Box<dyn Error>> {
    write(CRD_FILE, &crd_yaml()?)?;
    write(REFERENCE_FILE, &reference_markdown()?)
}

/// Writes a file whose path is given from the root of the repository.
fn write(file: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, text).map_err(|error| format!("Cannot write {file}: {error}."))?;
    println!("wrote {file}");
    Ok(())
}
