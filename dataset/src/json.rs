//! The outermost members of a JSON object, each with the very bytes of its value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    /// The key, unescaped.
    pub(crate) key: Cow<'a, str>,
    /// The value as written: a slice of the text that the object was read from.
    pub(crate) value: &'a str,
}

/// The members of an object in the order of the text, no key twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members<'a>(Vec<Member<'a>>);

impl<'a> Members<'a> {
    /// Reads the object that `text` holds, and checks the whole text for JSON's grammar.
    pub(crate) fn parse(text: &'a str) -> Result<Self, JsonError> {
        match text.trim_ascii_start().bytes().next() {
            Some(b'{') => {}
            _ => return Err(not_an_object(text)),
        }
        let members: Self = serde_json::from_str(text).map_err(|error| JsonError::syntax(text, &error))?;
        match members.duplicate_key() {
            Some(key) => Err(JsonError::DuplicateKey { key: key.to_owned() }),
            None => Ok(members),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member<'a>> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `key` as written; `null` counts as a value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|member| member.key == key)
            .map(|member| member.value)
    }

    /// The value of `key` as written; `null` counts as absent.
    pub(crate) fn get_non_null(&self, key: &str) -> Option<&'a str> {
        self.get(key).filter(|value| Kind::of(value) != Kind::Null)
    }

    fn duplicate_key(&self) -> Option<&str> {
        const FEW: usize = 16;
        if self.0.len() <= FEW {
            let keys = || self.0.iter().map(|member| member.key.as_ref());
            return keys()
                .enumerate()
                .find(|(index, key)| keys().take(*index).any(|one| one == *key))
                .map(|(_, key)| key);
        }
        let mut seen = HashSet::with_capacity(self.0.len());
        self.0
            .iter()
            .map(|member| member.key.as_ref())
            .find(|key| !seen.insert(*key))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push(Member {
                        key,
                        value: value.get(),
                    });
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The kind of a value whose text is known to be valid JSON.
    pub(crate) fn of(value: &str) -> Self {
        match value.trim_ascii_start().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        })
    }
}

/// Where `value`, which is a slice of `text`, stands in it.
pub(crate) fn place(value: &str, text: &str) -> Range<usize> {
    let start = value.as_ptr().addr() - text.as_ptr().addr();
    start..start + value.len()
}

/// The text of a JSON string, unescaped. `None` when it is no string, or when its escapes name no character.
pub(crate) fn string(value: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Key<'_>>(value).ok().map(|Key(text)| text)
}

/// The values of a JSON list as written. `None` when it is no list.
pub(crate) fn list(value: &str) -> Option<Vec<&str>> {
    let values: Vec<&RawValue> = serde_json::from_str(value).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// Why a text is not the one JSON object that it should be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("not valid JSON at column {column}: {detail}. Write one JSON object")]
    Syntax { column: usize, detail: String },
    /// The text ends where a member or an entry would follow.
    #[error(
        "not valid JSON at column {column}: {kind} that is begun here does not end. Write one JSON object"
    )]
    Unfinished { column: usize, kind: Kind },
    #[error("not valid JSON at column {column}: {word} is no JSON value. {advice}")]
    ForeignWord {
        column: usize,
        word: &'static str,
        advice: &'static str,
    },
    #[error("not an object but {kind}. Write one JSON object")]
    NotAnObject { kind: Kind },
    #[error("it has the key {key:?} twice, so one of the values would be lost. Keep one of them")]
    DuplicateKey { key: String },
}

impl JsonError {
    fn syntax(text: &str, error: &serde_json::Error) -> Self {
        let column = error.column();
        if let Some((word, advice)) = foreign_word(text, column) {
            return Self::ForeignWord { column, word, advice };
        }
        if error.is_eof() && text.trim_ascii_end().ends_with(['{', '[', ',']) {
            let kind = Kind::of(text);
            return Self::Unfinished { column, kind };
        }
        let message = error.to_string();
        let detail = message
            .rsplit_once(" at line ")
            .map_or(message.as_str(), |(detail, _)| detail);
        Self::Syntax {
            column,
            detail: detail.to_owned(),
        }
    }
}

fn not_an_object(text: &str) -> JsonError {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => JsonError::NotAnObject { kind: Kind::of(text) },
        Err(error) => JsonError::syntax(text, &error),
    }
}

/// Words that other languages write where JSON has none, with what to write.
const FOREIGN_WORDS: [(&str, &str); 7] = [
    ("NaN", "Remove the value or write a finite number"),
    ("Infinity", "Remove the value or write a finite number"),
    ("-Infinity", "Remove the value or write a finite number"),
    ("None", "Write null"),
    ("True", "Write true"),
    ("False", "Write false"),
    ("undefined", "Write null"),
];

/// The foreign word that `column` (of bytes, from 1) lies in or right after.
fn foreign_word(text: &str, column: usize) -> Option<(&'static str, &'static str)> {
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    let at = column.checked_sub(1)?.min(bytes.len());
    let start = at - bytes[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let end = at + bytes[at..].iter().take_while(|byte| is_word(byte)).count();
    let found = &bytes[start..end];
    FOREIGN_WORDS
        .into_iter()
        .find(|(word, _)| word.as_bytes() == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_bytes() {
        let members = Members::parse(r#" {"b": [1, 2.50e1 ],"a":"x\n","\u0063":{ "d" : null}} "#).unwrap();
        let pairs: Vec<_> = members
            .iter()
            .map(|member| (member.key.as_ref(), member.value))
            .collect();
        assert_eq!(
            pairs,
            [
                ("b", "[1, 2.50e1 ]"),
                ("a", r#""x\n""#),
                ("c", r#"{ "d" : null}"#)
            ]
        );
    }

    #[test]
    fn numbers_of_any_size_are_kept_as_written() {
        let members = Members::parse(r#"{"a":123456789012345678901234567890,"b":1e400}"#).unwrap();
        assert_eq!(members.get("a"), Some("123456789012345678901234567890"));
        assert_eq!(members.get("b"), Some("1e400"));
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_even_when_spelt_differently() {
        let twice = |text| Members::parse(text).unwrap_err();
        assert_eq!(
            twice(r#"{"a":1,"a":1}"#),
            JsonError::DuplicateKey { key: "a".to_owned() }
        );
        assert_eq!(
            twice(r#"{"a":1,"\u0061":1}"#),
            JsonError::DuplicateKey { key: "a".to_owned() }
        );
        let many: Vec<String> = (0..40).map(|index| format!("\"k{}\":0", index % 39)).collect();
        assert_eq!(
            twice(&format!("{{{}}}", many.join(","))),
            JsonError::DuplicateKey { key: "k0".to_owned() }
        );
    }

    #[test]
    fn what_is_no_object_is_named() {
        let kind = |text| match Members::parse(text) {
            Err(JsonError::NotAnObject { kind }) => kind.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(kind("[1]"), "a list");
        assert_eq!(kind(" 3"), "a number");
        assert_eq!(kind("null"), "null");
        assert_eq!(kind("\"{}\""), "a string");
        assert_eq!(kind("true"), "a boolean");
    }

    #[test]
    fn words_of_other_languages_are_named_with_what_to_write() {
        for (text, expected) in [
            (r#"{"a": NaN}"#, "NaN"),
            (r#"{"a": [1, Infinity]}"#, "Infinity"),
            (r#"{"a":-Infinity}"#, "-Infinity"),
            (r#"{"a": None}"#, "None"),
            (r#"{"a": True}"#, "True"),
            ("NaN", "NaN"),
        ] {
            match Members::parse(text) {
                Err(JsonError::ForeignWord { word, .. }) => assert_eq!(word, expected),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn broken_json_is_refused_with_its_column() {
        let error = Members::parse(r#"{"a": 1,}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not valid JSON at column 9: trailing comma. Write one JSON object"
        );
        for (text, begun) in [
            ("{", Kind::Object),
            ("[", Kind::Array),
            (r#" {"a":1, "#, Kind::Object),
        ] {
            let error = Members::parse(text).unwrap_err();
            assert!(
                matches!(error, JsonError::Unfinished { kind, .. } if kind == begun),
                "{error}"
            );
        }
        for text in [
            r#"{"a":"#,
            r#"{"a"}"#,
            r#"{"a":1} {}"#,
            "{'a':1}",
            r#"{"a":01}"#,
            r#"{"a":+1}"#,
            "{\"a\":\"\t\"}",
        ] {
            assert!(
                matches!(Members::parse(text), Err(JsonError::Syntax { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn strings_are_unescaped_and_lone_surrogates_refused() {
        assert_eq!(string(r#""a\u00e9""#).as_deref(), Some("aé"));
        assert_eq!(string(r#""\ud800""#), None);
        assert_eq!(string("1"), None);
        assert_eq!(list("[1, \"a\"]"), Some(vec!["1", "\"a\""]));
        assert_eq!(list("{}"), None);
    }
}
