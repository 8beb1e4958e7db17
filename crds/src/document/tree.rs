//! YAML text as JSON values, with the line on which each field was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{
    DuplicateKeyPolicy, MessageFormatter, NonFiniteFloatPolicy, Options, Spanned, UserMessageFormatter,
};

use super::problem::{Place, Problem};
use crate::path::FieldPath;

/// A YAML document: its value, and where each field of it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The value. A number that JSON cannot hold is null here and a problem.
    pub(crate) value: Value,
    /// The line of each field (that of its key) and of each list entry.
    pub(crate) lines: BTreeMap<FieldPath, usize>,
    /// What YAML allows and a spec does not: NaN and infinities, keys written twice.
    pub(crate) problems: Vec<Problem>,
}

impl Tree {
    /// Reads every document of a YAML text. Empty ones count for nothing.
    pub(crate) fn read_all(text: &str) -> Result<Vec<Self>, Problem> {
        let nodes: Vec<Node> = serde_saphyr::from_multiple_with_options(text, options())
            .map_err(|error| syntax_problem(&error))?;
        Ok(nodes.into_iter().map(Self::of).collect())
    }

    /// Reads one YAML value, such as `2`, `"text"` or `{start: 0s}`. Nothing at all is null.
    pub(crate) fn read_value(text: &str) -> Result<Self, Problem> {
        serde_saphyr::from_str_with_options(text, options())
            .map(Self::of)
            .map_err(|error| syntax_problem(&error))
    }

    fn of(node: Node) -> Self {
        let mut tree = Self::default();
        tree.lines.insert(FieldPath::root(), node.line);
        tree.value = tree.convert(node, &FieldPath::root());
        tree
    }

    fn convert(&mut self, node: Node, path: &FieldPath) -> Value {
        let line = node.line;
        match node.content {
            Content::Plain(value) => value,
            Content::NotFinite(number) => {
                let what = if number.is_nan() {
                    "is not a number (NaN)"
                } else {
                    "is infinite"
                };
                let problem = Problem::new(path.clone(), what).hint("Write a finite number.");
                self.problems.push(problem.at(Place::Line(line)));
                Value::Null
            }
            Content::List(nodes) => {
                let entries = nodes.into_iter().enumerate().map(|(index, node)| {
                    let path = path.index(index);
                    self.lines.insert(path.clone(), node.line);
                    self.convert(node, &path)
                });
                Value::Array(entries.collect())
            }
            Content::Mapping(entries) => self.convert_mapping(entries, path),
        }
    }

    fn convert_mapping(&mut self, entries: Vec<(Spanned<String>, Node)>, path: &FieldPath) -> Value {
        let mut seen = BTreeSet::new();
        let mut mapping = Map::new();
        for (key, node) in entries {
            let path = path.key(key.value.as_str());
            let line = line_of(&key);
            if !seen.insert(key.value.clone()) {
                let first = self.lines.get(&path).copied().unwrap_or(line);
                let problem = Problem::new(path, format!("is written twice, first on line {first}"))
                    .hint("Keep one of the two.");
                self.problems.push(problem.at(Place::Line(line)));
                continue;
            }
            self.lines.insert(path.clone(), line);
            let value = self.convert(node, &path);
            mapping.insert(key.value, value);
        }
        Value::Object(mapping)
    }
}

/// Limits that no spec comes near, so that a file that is built to explode (aliases of aliases) is refused early.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 100_000,
            max_nodes: 50_000,
            max_depth: 32,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
        },
        // Detected in `convert_mapping`, which knows the path and both lines.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

fn syntax_problem(error: &serde_saphyr::Error) -> Problem {
    let line = error
        .location()
        .and_then(|location| usize::try_from(location.line()).ok());
    let message = UserMessageFormatter.format_message(error).into_owned();
    let problem = Problem::new(FieldPath::root(), format!("cannot be read as YAML: {message}"));
    match line {
        Some(line) if line > 0 => problem.at(Place::Line(line)),
        _ => problem,
    }
}

fn line_of<T>(spanned: &Spanned<T>) -> usize {
    usize::try_from(spanned.referenced.line()).unwrap_or(usize::MAX)
}

/// A YAML node with its line.
struct Node {
    line: usize,
    content: Content,
}

enum Content {
    Plain(Value),
    NotFinite(f64),
    List(Vec<Node>),
    Mapping(Vec<(Spanned<String>, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self {
            line: line_of(&spanned),
            content: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Plain(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Plain(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Number::from_f64(value).map_or(Content::NotFinite(value), |number| Content::Plain(number.into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Plain(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Content, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = sequence.next_element()? {
            nodes.push(node);
        }
        Ok(Content::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = mapping.next_entry()? {
            entries.push(entry);
        }
        Ok(Content::Mapping(entries))
    }
}
