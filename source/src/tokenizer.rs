//! Which files of a repository are its tokenizer.

use crate::error::Problem;
use crate::remote::{RemoteFile, Shape};

/// The files that tokenizers are made of, in the libraries that read them from a repository's root.
const FILES: [&str; 9] = [
    "added_tokens.json",
    "chat_template.jinja",
    "merges.txt",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
];

/// The files of these that can stand for a whole tokenizer.
const VOCABULARIES: [&str; 5] = [
    "spiece.model",
    "tekken.json",
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
];

/// A folder without a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no tokenizer in it: none of {} is there. Name the repository of a model, or its tokenizer.json.",
    VOCABULARIES.join(", ")
)]
pub struct NoTokenizer;

/// The files of the tokenizer at a place, in the order of their names: the file that was named, or those of a folder.
pub(crate) fn tokenizer_files(shape: &Shape) -> Result<Vec<RemoteFile>, Problem> {
    let files = match shape {
        Shape::File(file) => return Ok(vec![file.clone()]),
        Shape::Folder(files) => files,
    };
    let name_is_one_of = |names: &[&str], file: &RemoteFile| names.contains(&file.name.as_str());
    if !files.iter().any(|file| name_is_one_of(&VOCABULARIES, file)) {
        return Err(NoTokenizer.into());
    }
    let mut chosen: Vec<_> = files
        .iter()
        .filter(|file| name_is_one_of(&FILES, file) || name_is_one_of(&VOCABULARIES, file))
        .cloned()
        .collect();
    chosen.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> Shape {
        let files = names.iter().map(|name| RemoteFile {
            name: (*name).to_owned(),
            location: (*name).to_owned(),
            size: None,
            sha256: None,
            tag: None,
        });
        Shape::Folder(files.collect())
    }

    #[test]
    fn of_a_model_only_the_files_of_its_tokenizer_are_taken() {
        let shape = folder(&[
            "README.md",
            "model.safetensors",
            "onnx/tokenizer.json",
            "tokenizer_config.json",
            "tokenizer.json",
        ]);
        let files = tokenizer_files(&shape).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["tokenizer.json", "tokenizer_config.json"]);
    }

    #[test]
    fn a_folder_without_a_vocabulary_is_no_tokenizer() {
        let problem = tokenizer_files(&folder(&["tokenizer_config.json", "data.jsonl"])).unwrap_err();
        assert!(problem.to_string().starts_with("there is no tokenizer in it"));
    }
}
