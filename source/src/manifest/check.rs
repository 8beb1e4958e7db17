//! Whether a manifest and a run fit each other.

use std::num::{NonZeroU32, NonZeroU64};

use super::nearest::nearest;
use super::problem::{ManifestMismatch, ManifestProblem, ManifestWarning};
use super::{EndpointKind, Manifest};

/// What a manifest is held against. What is `None` is not compared: the run does not say it, or there is no run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFacts<'a> {
    /// `target.api`
    pub api: Option<EndpointKind>,
    /// `dataset.format`
    pub format: Option<&'a str>,
    /// The names of all formats that can be read. Empty: a declared format is not looked up.
    pub known_formats: &'a [&'a str],
    /// `dataset.options.blockSize`, in tokens.
    pub block_size: Option<NonZeroU32>,
    /// The longest context that the run lets through, in tokens.
    pub max_context_tokens: Option<NonZeroU64>,
}

impl Manifest {
    /// Holds the manifest against a run, and against this version of Reprise.
    ///
    /// # Errors
    ///
    /// When they do not fit; all that does not is told at once.
    pub fn check(&self, run: &RunFacts<'_>) -> Result<Vec<ManifestWarning>, ManifestProblem> {
        let mismatches: Vec<_> = [
            self.check_format(run),
            self.check_block_size(run),
            self.check_aiperf(),
            self.check_reprise(),
            self.check_api(run),
        ]
        .into_iter()
        .flatten()
        .collect();
        if mismatches.is_empty() {
            Ok(self.check_context(run).into_iter().collect())
        } else {
            Err(ManifestProblem::Unmet(mismatches))
        }
    }

    fn check_format(&self, run: &RunFacts<'_>) -> Option<ManifestMismatch> {
        let declared = self.format()?;
        if let Some(asked) = run.format
            && asked != declared
        {
            return Some(ManifestMismatch::Format {
                kind: self.kind,
                name: self.name.clone(),
                declared: declared.to_owned(),
                asked: asked.to_owned(),
            });
        }
        let is_unknown = !run.known_formats.is_empty() && !run.known_formats.contains(&declared);
        is_unknown.then(|| ManifestMismatch::UnknownFormat {
            kind: self.kind,
            name: self.name.clone(),
            declared: declared.to_owned(),
            nearest: nearest(declared, run.known_formats).map(ToOwned::to_owned),
            known: run.known_formats.iter().map(ToString::to_string).collect(),
        })
    }

    fn check_block_size(&self, run: &RunFacts<'_>) -> Option<ManifestMismatch> {
        let (declared, asked) = (self.block_size?, run.block_size?);
        (declared != asked).then(|| ManifestMismatch::BlockSize {
            kind: self.kind,
            name: self.name.clone(),
            declared,
            asked,
        })
    }

    fn check_aiperf(&self) -> Option<ManifestMismatch> {
        let specifiers = self.requires.aiperf.as_ref()?;
        (!specifiers.allow_aiperf()).then(|| ManifestMismatch::Aiperf {
            versions: specifiers.to_string(),
        })
    }

    fn check_reprise(&self) -> Option<ManifestMismatch> {
        let specifiers = self.requires.reprise.as_ref()?;
        (!specifiers.allow_reprise()).then(|| ManifestMismatch::Reprise {
            versions: specifiers.to_string(),
        })
    }

    /// A listed name that is not known stands for no API of ours.
    fn check_api(&self, run: &RunFacts<'_>) -> Option<ManifestMismatch> {
        let (types, api) = (self.requires.endpoint_types.as_ref()?, run.api?);
        let is_listed = types.iter().any(|name| EndpointKind::of_name(name) == Some(api));
        (!is_listed).then(|| ManifestMismatch::Endpoint {
            types: types.clone(),
            api,
        })
    }

    fn check_context(&self, run: &RunFacts<'_>) -> Option<ManifestWarning> {
        let (declared, limit) = (self.requires.max_context_tokens?, run.max_context_tokens?);
        (declared > limit).then_some(ManifestWarning::MaxContextTokens { declared, limit })
    }
}
