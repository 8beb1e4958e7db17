use proptest::prelude::*;

use super::*;

/// The bytes of the body as recorded: what every slot holds, and nothing at the tail.
fn reassembled(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => bytes.extend_from_slice(literal),
            Piece::Slot(Slot::Model(value) | Slot::MaxTokens(value) | Slot::IgnoreEos(value)) => {
                bytes.extend_from_slice(value);
            }
            Piece::Slot(Slot::Tail(_)) => {}
            Piece::Corpus { .. } => panic!("a recorded body has no corpus text"),
        }
    }
    bytes
}

fn slots(body: &str) -> Vec<Slot> {
    let pieces = RecordedBody::cut(body).unwrap().pieces;
    pieces
        .into_iter()
        .filter_map(|piece| {
            if let Piece::Slot(slot) = piece {
                Some(slot)
            } else {
                None
            }
        })
        .collect()
}

fn constrained(body: &str) -> bool {
    RecordedBody::cut(body).unwrap().is_constrained
}

const ALL_ABSENT: Absent = Absent {
    is_empty_object: false,
    max_tokens: true,
    ignore_eos: true,
    stream: true,
};

#[test]
fn slots_stand_where_the_recorded_values_are() {
    let body = r#"{ "model" : "gpt-4","messages":[{"model":"inner"}], "max_tokens": 12 ,"stream":true,"ignore_eos":false }"#;
    let cut = RecordedBody::cut(body).unwrap();
    let literal = |text: &'static str| Piece::Literal(Bytes::from_static(text.as_bytes()));
    let value = |text: &'static str| Bytes::from_static(text.as_bytes());
    let absent = Absent {
        is_empty_object: false,
        max_tokens: false,
        ignore_eos: false,
        stream: false,
    };
    assert_eq!(
        cut.pieces,
        [
            literal(r#"{ "model" : "#),
            Piece::Slot(Slot::Model(value(r#""gpt-4""#))),
            literal(r#","messages":[{"model":"inner"}], "max_tokens": "#),
            Piece::Slot(Slot::MaxTokens(value("12"))),
            literal(r#" ,"stream":true,"ignore_eos":"#),
            Piece::Slot(Slot::IgnoreEos(value("false"))),
            literal(" "),
            Piece::Slot(Slot::Tail(absent)),
            literal("}"),
        ]
    );
    assert_eq!(reassembled(&cut.pieces), body.as_bytes());
}

#[test]
fn an_empty_body_says_that_it_is_empty() {
    assert_eq!(
        slots("{ }"),
        [Slot::Tail(Absent {
            is_empty_object: true,
            ..ALL_ABSENT
        })]
    );
    assert_eq!(slots(r#"{"a":1}"#), [Slot::Tail(ALL_ABSENT)]);
}

#[test]
fn the_token_limit_that_the_body_uses_is_the_one_that_changes() {
    let limit = |value: &'static str| Slot::MaxTokens(Bytes::from_static(value.as_bytes()));
    let tail = Slot::Tail(Absent {
        max_tokens: false,
        ..ALL_ABSENT
    });
    assert_eq!(
        slots(r#"{"max_completion_tokens":7}"#),
        [limit("7"), tail.clone()]
    );
    assert_eq!(slots(r#"{"max_tokens":null}"#), [limit("null"), tail.clone()]);
    let both = r#"{"max_tokens":5,"max_completion_tokens":7}"#;
    assert_eq!(slots(both), [limit("7"), tail]);
    assert!(RecordedBody::cut(both).unwrap().has_two_token_limits);
}

#[test]
fn a_model_that_is_no_string_stays_as_it_is() {
    for body in [r#"{"model":null}"#, r#"{"model":["a"]}"#] {
        let cut = RecordedBody::cut(body).unwrap();
        assert!(cut.has_odd_model);
        assert_eq!(slots(body), [Slot::Tail(ALL_ABSENT)]);
    }
    assert!(!RecordedBody::cut("{}").unwrap().has_odd_model);
}

#[test]
fn an_escaped_key_is_the_key_that_it_spells() {
    assert!(matches!(slots(r#"{"mod\u0065l":"m"}"#)[0], Slot::Model(_)));
}

#[test]
fn a_body_with_a_key_twice_is_refused() {
    assert!(matches!(
        RecordedBody::cut(r#"{"model":"a","model":"b"}"#),
        Err(JsonError::DuplicateKey { .. })
    ));
    assert!(RecordedBody::cut(r#"{"temperature":NaN}"#).is_err());
}

#[test]
fn grammars_are_seen_in_every_spelling() {
    for body in [
        r#"{"response_format":{"type":"json_object"}}"#,
        r#"{"response_format":{"type":"json_schema","json_schema":{}}}"#,
        r#"{"response_format":{"type":"structural_tag"}}"#,
        r#"{"tools":[{}],"tool_choice":"required"}"#,
        r#"{"tool_choice":{"type":"function","function":{"name":"f"}},"tools":[{}]}"#,
        r#"{"guided_json":{}}"#,
        r#"{"guided_regex":"a+"}"#,
        r#"{"guided_choice":["a"]}"#,
        r#"{"guided_grammar":"root ::= x"}"#,
        r#"{"structured_outputs":{"json":{}}}"#,
        r#"{"json_schema":"{}"}"#,
        r#"{"regex":"a"}"#,
        r#"{"ebnf":"x"}"#,
        r#"{"structural_tag":"{}"}"#,
        r#"{"grammar":"x"}"#,
        r#"{"text":{"format":{"type":"json_schema"}}}"#,
        r#"{"sampling_params":{"regex":"a"}}"#,
    ] {
        assert!(constrained(body), "{body}");
    }
}

#[test]
fn free_text_is_not_taken_for_a_grammar() {
    for body in [
        "{}",
        r#"{"response_format":{"type":"text"}}"#,
        r#"{"response_format":null}"#,
        r#"{"tools":[{}]}"#,
        r#"{"tools":[{}],"tool_choice":"auto"}"#,
        r#"{"tools":[{}],"tool_choice":"none"}"#,
        r#"{"tools":[{}],"tool_choice":null}"#,
        r#"{"tools":[],"tool_choice":"required"}"#,
        r#"{"guided_json":null,"structured_outputs":null,"guided_decoding_backend":"xgrammar"}"#,
        r#"{"text":"a prompt"}"#,
        r#"{"text":{"format":{"type":"text"}}}"#,
        r#"{"sampling_params":{"max_new_tokens":5}}"#,
    ] {
        assert!(!constrained(body), "{body}");
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn pieces_reassemble_to_the_very_bytes(
        members in prop::collection::btree_map(
            prop_oneof![
                Just("model".to_owned()), Just("max_tokens".to_owned()), Just("max_completion_tokens".to_owned()),
                Just("ignore_eos".to_owned()), Just("stream".to_owned()), ".{0,6}",
            ],
            json_value(),
            0..8,
        ),
        blank in "[ \n\t]{0,3}",
    ) {
        let inner: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{blank}{}{blank}:{blank}{value}{blank}", serde_json::to_string(key).unwrap()))
            .collect();
        let body = format!("{blank}{{{}}}{blank}", inner.join(","));
        let cut = RecordedBody::cut(&body).unwrap();
        prop_assert_eq!(reassembled(&cut.pieces), body.as_bytes());
        let is_slot = |kind: fn(&Slot) -> bool| {
            cut.pieces.iter().filter(|piece| matches!(piece, Piece::Slot(slot) if kind(slot))).count()
        };
        prop_assert_eq!(is_slot(|slot| matches!(slot, Slot::Tail(_))), 1);
        prop_assert!(is_slot(|slot| matches!(slot, Slot::MaxTokens(_))) <= 1);
        prop_assert_eq!(is_slot(|slot| matches!(slot, Slot::IgnoreEos(_))), usize::from(members.contains_key("ignore_eos")));
    }
}
