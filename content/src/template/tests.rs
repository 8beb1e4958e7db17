use std::collections::BTreeMap;

use super::*;
use crate::digest;
use crate::piece::{Absent, Piece, Slot, TextId};
use crate::store::{Origin, Writer};
use crate::turn::{Body, Turn};

fn template() -> Template {
    Template {
        api: Api::Chat,
        model: Some("qwen".to_owned()),
        rewrite: ModelRewrite::default(),
        streaming: None,
        match_output_length: false,
    }
}

fn turn(line: u32, session: u32, output_tokens: Option<u32>, body: Body) -> Turn {
    Turn {
        session,
        line,
        recorded_ns: None,
        delay_ns: None,
        input_tokens: None,
        output_tokens,
        request_id: None,
        headers: Vec::new(),
        is_constrained: false,
        body,
    }
}

fn content(turns: &[Turn]) -> Content {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path()).unwrap();
    for turn in turns {
        writer.push(turn).unwrap();
    }
    let origin = Origin {
        trace_digest: digest::of(b"trace"),
        format: String::new(),
        options: BTreeMap::new(),
        corpus: String::new(),
        seed: 7,
    };
    writer.finish(origin).unwrap()
}

fn text(literal: &'static str) -> Vec<Piece> {
    vec![Piece::Literal(Bytes::from_static(literal.as_bytes()))]
}

fn corpus(ids: &[(i64, u32)]) -> Vec<Piece> {
    ids.iter()
        .map(|(id, tokens)| Piece::Corpus {
            id: TextId::shared(*id).unwrap(),
            tokens: *tokens,
        })
        .collect()
}

fn prompt(pieces: Vec<Piece>, extra: Option<&'static str>) -> Body {
    Body::Prompt {
        pieces,
        extra: extra.map(|extra| Bytes::from_static(extra.as_bytes())),
    }
}

/// `{"model":"gpt-4","max_completion_tokens": 5, "x":1.50}` as a format cuts it.
fn recorded() -> Body {
    let literal = |bytes: &'static str| Piece::Literal(Bytes::from_static(bytes.as_bytes()));
    let pieces = vec![
        literal(r#"{"model":"#),
        Piece::Slot(Slot::Model(Bytes::from_static(b"\"gpt-4\""))),
        literal(r#","max_completion_tokens": "#),
        Piece::Slot(Slot::MaxTokens(Bytes::from_static(b"5"))),
        literal(r#", "x":1.50"#),
        Piece::Slot(Slot::Tail(Absent {
            ignore_eos: true,
            stream: true,
            ..Absent::default()
        })),
        literal("}"),
    ];
    Body::Recorded { pieces }
}

fn render(template: &Template, turns: &[Turn], index: u32, earlier: &[Exchange]) -> String {
    String::from_utf8(super::render(template, &content(turns), index, earlier).body).unwrap()
}

fn words_of(body: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(body).unwrap();
    let text = json["messages"][0]["content"].as_str().unwrap();
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_prompt_becomes_a_chat_that_streams_with_usage() {
    let turns = [turn(1, 0, Some(9), prompt(text("Hi \\\"you\\\""), None))];
    insta::assert_snapshot!(render(&template(), &turns, 0, &[]), @r#"{"model":"qwen","messages":[{"role":"user","content":"Hi \"you\""}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":9}"#);
}

#[test]
fn a_prompt_becomes_a_completion() {
    let turns = [turn(1, 0, None, prompt(text("Hi"), None))];
    let template = Template {
        api: Api::Completions,
        streaming: Some(false),
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"model":"qwen","prompt":"Hi"}"#);
}

#[test]
fn live_answers_are_threaded_in() {
    let turns = [
        turn(1, 0, None, prompt(text("A"), None)),
        turn(2, 0, None, prompt(text("B"), None)),
    ];
    let earlier = [Exchange {
        turn: 0,
        answer: escape("say \"x\"\n"),
    }];
    let quiet = Template {
        streaming: Some(false),
        ..template()
    };
    insta::assert_snapshot!(render(&quiet, &turns, 1, &earlier), @r#"{"model":"qwen","messages":[{"role":"user","content":"A"},{"role":"assistant","content":"say \"x\"\n"},{"role":"user","content":"B"}]}"#);
    let completions = Template {
        api: Api::Completions,
        ..quiet
    };
    insta::assert_snapshot!(render(&completions, &turns, 1, &earlier), @r#"{"model":"qwen","prompt":"Asay \"x\"\nB"}"#);
}

/// The rows of `facts/formats.md` P3.3: ids [1,2,3] and [1,2,9], 1,300 and 1,400 tokens, 512 a block.
#[test]
fn shared_hash_ids_share_text_and_lengths_are_exact() {
    let turns = [
        turn(1, 0, None, prompt(corpus(&[(1, 512), (2, 512), (3, 276)]), None)),
        turn(2, 1, None, prompt(corpus(&[(1, 512), (2, 512), (9, 376)]), None)),
    ];
    let first = words_of(&render(&template(), &turns, 0, &[]));
    let second = words_of(&render(&template(), &turns, 1, &[]));
    assert_eq!((first.len(), second.len()), (1_300, 1_400));
    assert_eq!(first[..1_024], second[..1_024]);
    assert_ne!(
        first[1_024..1_030],
        second[1_024..1_030],
        "different ids differ from their first words on"
    );
}

#[test]
fn extra_is_merged_last_and_wins() {
    let extra = r#""max_tokens":3,"top_p":0.9,"stream":false"#;
    let turns = [turn(1, 0, Some(9), prompt(text("Hi"), Some(extra)))];
    insta::assert_snapshot!(render(&template(), &turns, 0, &[]), @r#"{"model":"qwen","messages":[{"role":"user","content":"Hi"}],"max_tokens":3,"top_p":0.9,"stream":false}"#);
}

#[test]
fn a_limit_of_the_record_itself_is_the_only_one() {
    let turns = [turn(
        1,
        0,
        Some(9),
        prompt(text("Hi"), Some(r#""max_completion_tokens":3"#)),
    )];
    let template = Template {
        match_output_length: true,
        streaming: Some(false),
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"model":"qwen","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":3}"#);
    assert_eq!(
        super::render(&template, &content(&turns), 0, &[]).matched_output_tokens,
        None
    );
}

#[test]
fn messages_are_sent_as_recorded() {
    let messages = Bytes::from_static(br#"[ {"role":"system","content":"S"} ]"#);
    let turns = [turn(
        1,
        0,
        None,
        Body::Messages {
            messages,
            extra: None,
        },
    )];
    let quiet = Template {
        streaming: Some(false),
        ..template()
    };
    insta::assert_snapshot!(render(&quiet, &turns, 0, &[]), @r#"{"model":"qwen","messages":[ {"role":"system","content":"S"} ]}"#);
}

#[test]
fn a_recorded_body_is_sent_byte_for_byte() {
    let turns = [turn(1, 0, Some(42), recorded())];
    insta::assert_snapshot!(render(&template(), &turns, 0, &[]), @r#"{"model":"gpt-4","max_completion_tokens": 5, "x":1.50}"#);
}

#[test]
fn matching_the_output_length_writes_the_key_that_the_body_uses() {
    let turns = [turn(1, 0, Some(42), recorded())];
    let template = Template {
        match_output_length: true,
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"model":"gpt-4","max_completion_tokens": 42, "x":1.50,"ignore_eos":true}"#);
    assert_eq!(
        super::render(&template, &content(&turns), 0, &[]).matched_output_tokens,
        Some(42)
    );
}

#[test]
fn a_constrained_body_may_stop_where_its_grammar_ends() {
    let constrained = |body| Turn {
        is_constrained: true,
        ..turn(1, 0, Some(42), body)
    };
    let turns = [constrained(recorded()), constrained(prompt(text("Hi"), None))];
    let template = Template {
        match_output_length: true,
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"model":"gpt-4","max_completion_tokens": 42, "x":1.50}"#);
    assert!(!render(&template, &turns, 1, &[]).contains("ignore_eos"));
}

#[test]
fn streaming_is_filled_into_a_recorded_body_only_when_asked_for() {
    let turns = [turn(1, 0, None, recorded())];
    let template = Template {
        streaming: Some(true),
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"model":"gpt-4","max_completion_tokens": 5, "x":1.50,"stream":true}"#);
}

#[test]
fn an_empty_body_gets_no_stray_comma() {
    let absent = Absent {
        is_empty_object: true,
        max_tokens: true,
        ignore_eos: true,
        stream: true,
    };
    let literal = |bytes: &'static str| Piece::Literal(Bytes::from_static(bytes.as_bytes()));
    let pieces = vec![literal("{"), Piece::Slot(Slot::Tail(absent)), literal("}")];
    let turns = [turn(1, 0, Some(2), Body::Recorded { pieces })];
    let template = Template {
        match_output_length: true,
        ..template()
    };
    insta::assert_snapshot!(render(&template, &turns, 0, &[]), @r#"{"max_tokens":2,"ignore_eos":true}"#);
}

#[test]
fn a_mapping_hit_wins_over_the_override_and_that_over_the_record() {
    let turns = [turn(1, 0, None, recorded())];
    let model = |mapping: &[(&str, &str)], override_all: Option<&str>| {
        let mapping = mapping
            .iter()
            .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
            .collect();
        let rewrite = ModelRewrite {
            mapping,
            override_all: override_all.map(str::to_owned),
        };
        let body = render(
            &Template {
                rewrite,
                ..template()
            },
            &turns,
            0,
            &[],
        );
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["model"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(model(&[("gpt-4", "a")], Some("b")), "a");
    assert_eq!(model(&[("other", "a")], Some("b")), "b");
    assert_eq!(model(&[("other", "a")], None), "gpt-4");
}

#[test]
fn what_cannot_be_rendered_is_named_beforehand() {
    let messages = || Body::Messages {
        messages: Bytes::from_static(b"[]"),
        extra: None,
    };
    let no_model = Template {
        model: None,
        ..template()
    };
    let completions = Template {
        api: Api::Completions,
        ..template()
    };
    assert_eq!(
        check(&no_model, &content(&[turn(4, 0, None, prompt(text("Hi"), None))])),
        Err(TemplateError::NoModel { line: 4 })
    );
    assert_eq!(
        check(&no_model, &content(&[turn(4, 0, None, recorded())])),
        Ok(())
    );
    assert_eq!(
        check(
            &no_model,
            &content(&[turn(4, 0, None, prompt(text("Hi"), Some(r#""model":"m""#)))])
        ),
        Ok(())
    );
    assert_eq!(
        check(&completions, &content(&[turn(5, 0, None, messages())])),
        Err(TemplateError::MessagesNeedChat { line: 5 })
    );
}
