//! From JSON to a manifest. All faults are found before one is told.

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroU64};

use reprise_contract::Digest;

use super::json::Node;
use super::nearest::nearest;
use super::problem::{ManifestFault, ManifestProblem, ManifestWarning};
use super::requires::{Requirements, Specifiers};
use super::{DataPath, MAX_MANIFEST_BYTES, Manifest, ManifestKind};
use crate::reference::is_plain_path;

const KEYS: [&str; 5] = ["path", "format", "sha256", "block_size", "requires"];
const REQUIREMENTS: [&str; 4] = ["aiperf", "reprise", "endpoint_types", "max_context_tokens"];

/// Keys that tell people something, and Reprise nothing.
const INFORMATIONAL: [&str; 7] = [
    "$schema",
    "citation",
    "description",
    "homepage",
    "license",
    "name",
    "version",
];

/// No name of a format, key or endpoint is longer, in bytes.
const MAX_NAME: usize = 64;

/// No list of versions is longer, in bytes.
const MAX_SPECIFIERS: usize = 256;

/// No list of endpoint types is longer.
const MAX_ENDPOINT_TYPES: usize = 32;

/// How many faults, and how many unknown keys of an object, are told.
const MAX_TOLD: usize = 16;

pub(super) fn read(
    name: &str,
    kind: ManifestKind,
    bytes: &[u8],
) -> Result<(Manifest, Vec<ManifestWarning>), ManifestProblem> {
    let problem = |fault| ManifestProblem::Invalid {
        kind,
        name: name.to_owned(),
        faults: vec![fault],
    };
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(problem(ManifestFault::of_all("is larger than 1 MiB")));
    }
    let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let node = serde_json::from_slice(json)
        .map_err(|error| problem(ManifestFault::not_json(error.line(), error.column())))?;
    let Node::Object(members) = node else {
        return Err(problem(ManifestFault::of_all("is JSON, but not an object")));
    };
    let mut reader = Reader {
        kind,
        name,
        faults: Vec::new(),
        warnings: Vec::new(),
    };
    let manifest = reader.manifest(&members);
    if reader.faults.is_empty() {
        Ok((manifest, reader.warnings))
    } else {
        Err(ManifestProblem::Invalid {
            kind,
            name: name.to_owned(),
            faults: reader.faults,
        })
    }
}

struct Reader<'a> {
    kind: ManifestKind,
    name: &'a str,
    faults: Vec<ManifestFault>,
    warnings: Vec<ManifestWarning>,
}

impl Reader<'_> {
    fn manifest(&mut self, members: &[(String, Node)]) -> Manifest {
        self.check_keys("", members, &KEYS);
        let path = self.path(value(members, "path"));
        let sha256 = self.text(members, "", "sha256").and_then(|text| {
            let digits = match text.split_at_checked("sha256:".len()) {
                Some((prefix, digits)) if prefix.eq_ignore_ascii_case("sha256:") => digits,
                _ => text,
            };
            self.parsed("sha256", digits.parse::<Digest>(), "is not 64 hexadecimal digits")
        });
        if sha256.is_some() && path.as_ref().is_some_and(DataPath::is_folder) {
            self.note(
                "sha256",
                "must be left out (it is the digest of one file, and path is a folder)",
            );
        }
        Manifest {
            kind: self.kind,
            name: self.name.to_owned(),
            path,
            format: self.format(members),
            sha256,
            block_size: self.count(members, "", "block_size").and_then(|count| {
                let size = u32::try_from(count.get()).and_then(NonZeroU32::try_from);
                self.parsed("block_size", size, "is too large")
            }),
            requires: self.requirements(members),
        }
    }

    fn path(&mut self, node: Option<&Node>) -> Option<DataPath> {
        match (self.kind, node) {
            (ManifestKind::Sidecar, None) => None,
            (ManifestKind::Sidecar, Some(_)) => {
                self.fault("path", "must not be in a sidecar (it lies beside its file)")
            }
            (ManifestKind::Root, None) => self.fault(
                "path",
                "is missing (it names the data file, relative to the manifest)",
            ),
            (ManifestKind::Root, Some(Node::Text(text))) => {
                let path = data_path(text, self.name);
                self.parsed(
                    "path",
                    path.ok_or(()),
                    "must name a file or folder beside the manifest or below it, as folder/file, without .. and \\",
                )
            }
            (ManifestKind::Root, Some(_)) => self.fault("path", "must be a text"),
        }
    }

    fn format(&mut self, members: &[(String, Node)]) -> Option<String> {
        if value(members, "format").is_none() {
            return match self.kind {
                ManifestKind::Root => self.fault("format", "is missing (it names the trace format)"),
                ManifestKind::Sidecar => None,
            };
        }
        let format = self.text(members, "", "format")?.to_owned();
        let format = is_name(&format).then_some(format);
        self.parsed("format", format.ok_or(()), "is no name of a format")
    }

    fn requirements(&mut self, members: &[(String, Node)]) -> Requirements {
        let members = match value(members, "requires") {
            None => return Requirements::default(),
            Some(Node::Object(members)) => members,
            Some(_) => {
                self.note("requires", "must be an object");
                return Requirements::default();
            }
        };
        self.check_keys("requires.", members, &REQUIREMENTS);
        Requirements {
            aiperf: self.specifiers(members, "aiperf"),
            reprise: self.specifiers(members, "reprise"),
            endpoint_types: self.endpoint_types(value(members, "endpoint_types")),
            max_context_tokens: self.count(members, "requires.", "max_context_tokens"),
        }
    }

    fn specifiers(&mut self, members: &[(String, Node)], key: &str) -> Option<Specifiers> {
        let text = self.text(members, "requires.", key)?;
        let specifiers = if text.len() <= MAX_SPECIFIERS {
            text.parse::<Specifiers>().ok()
        } else {
            None
        };
        self.parsed(
            &format!("requires.{key}"),
            specifiers.ok_or(()),
            "is no list of version specifiers as PEP 440 has them, such as >=0.13,<1",
        )
    }

    fn endpoint_types(&mut self, node: Option<&Node>) -> Option<Vec<String>> {
        const AT: &str = "requires.endpoint_types";
        const ENDPOINT_TYPES: &str = "must be a list of up to 32 names of endpoint types, such as [\"chat\"]";
        match node? {
            Node::List(items) if items.is_empty() => self.fault(AT, "is empty, so that no run could meet it"),
            Node::List(items) => {
                let names: Vec<_> = items
                    .iter()
                    .filter_map(|item| match item {
                        Node::Text(name) if is_name(name) => Some(name.clone()),
                        _ => None,
                    })
                    .collect();
                let all = (names.len() == items.len() && names.len() <= MAX_ENDPOINT_TYPES).then_some(names);
                self.parsed(AT, all.ok_or(()), ENDPOINT_TYPES)
            }
            _ => self.fault(AT, ENDPOINT_TYPES),
        }
    }

    fn text<'a>(&mut self, members: &'a [(String, Node)], place: &str, key: &str) -> Option<&'a str> {
        match value(members, key)? {
            Node::Text(text) => Some(text),
            _ => self.fault(&format!("{place}{key}"), "must be a text"),
        }
    }

    fn count(&mut self, members: &[(String, Node)], place: &str, key: &str) -> Option<NonZeroU64> {
        let count = match value(members, key)? {
            Node::Count(count) => NonZeroU64::new(*count),
            _ => None,
        };
        self.parsed(
            &format!("{place}{key}"),
            count.ok_or(()),
            "must be a whole number from 1 on",
        )
    }

    /// Keys that are there twice are faults, those that nobody knows get a warning.
    fn check_keys(&mut self, place: &str, members: &[(String, Node)], known: &[&str]) {
        let mut times = HashMap::new();
        let mut unknown = 0;
        for (key, _) in members {
            let key = key.as_str();
            let shown = is_name(key).then(|| format!("{place}{key}"));
            let time = times.entry(key).or_insert(0_u32);
            *time += 1;
            let is_known = known.contains(&key) || (place.is_empty() && INFORMATIONAL.contains(&key));
            if *time == 2 {
                let at = shown.unwrap_or_else(|| format!("{place}(a key with unusual characters)"));
                self.note(&at, "is there more than once");
            } else if *time == 1 && !is_known {
                unknown += 1;
                if unknown <= MAX_TOLD {
                    let nearest = shown.as_ref().and_then(|_| nearest(key, known));
                    self.warnings.push(ManifestWarning::UnknownKey {
                        kind: self.kind,
                        name: self.name.to_owned(),
                        nearest: nearest.map(|near| format!("{place}{near}")),
                        key: shown,
                    });
                }
            }
        }
        if unknown > MAX_TOLD {
            self.warnings.push(ManifestWarning::MoreUnknownKeys {
                kind: self.kind,
                name: self.name.to_owned(),
                count: unknown - MAX_TOLD,
            });
        }
    }

    /// Nobody reads more than the first few.
    fn note(&mut self, at: &str, what: &'static str) {
        if self.faults.len() < MAX_TOLD {
            self.faults.push(ManifestFault::new(at, what));
        }
    }

    /// Notes a fault in place of a value.
    fn fault<T>(&mut self, at: &str, what: &'static str) -> Option<T> {
        self.note(at, what);
        None
    }

    fn parsed<T, E>(&mut self, at: &str, parsed: Result<T, E>, what: &'static str) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(_) => self.fault(at, what),
        }
    }
}

/// The first value of a key; `null` is as good as none.
fn value<'a>(members: &'a [(String, Node)], key: &str) -> Option<&'a Node> {
    members
        .iter()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value)
        .filter(|value| **value != Node::Null)
}

fn data_path(text: &str, manifest: &str) -> Option<DataPath> {
    let relative = text.strip_prefix("./").unwrap_or(text);
    if matches!(text, "." | "./") {
        return Some(DataPath {
            path: String::new(),
            is_folder: true,
        });
    }
    let path = relative.strip_suffix('/').unwrap_or(relative);
    let is_path = is_plain_path(path) && !path.contains("://") && path != manifest;
    is_path.then(|| DataPath {
        path: path.to_owned(),
        is_folder: relative.ends_with('/'),
    })
}

/// Names that can be shown without showing what a server sent: short ones of plain letters.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_NAME
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}
