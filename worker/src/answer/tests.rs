use super::*;

fn chunk(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n")
}

/// Reads a stream whose pieces arrive 10, 20, 30 … ns after T0.
fn read(pieces: &[String]) -> (Result<(), Fault>, Heard) {
    let mut reader = AnswerReader::new(true, true);
    let mut at = 0;
    for piece in pieces {
        at += 10;
        if let Err(fault) = reader.push(piece.as_bytes(), at) {
            return (Err(fault), reader.into_heard());
        }
    }
    let result = reader.finish(at);
    (result, reader.into_heard())
}

fn cause(result: Result<(), Fault>) -> FailureCause {
    result.unwrap_err().cause
}

#[test]
fn the_first_output_is_neither_the_role_nor_metadata() {
    let (result, heard) = read(&[
        "data: {\"id\":\"x\",\"choices\":[]}\n\n".to_owned(),
        chunk(r#"{"role":"assistant","content":""}"#),
        chunk(r#"{"reasoning_content":"hm"}"#),
        chunk(r#"{"content":"a"}"#),
        chunk(r#"{"content":"b"}"#),
        "data: [DONE]\n\n".to_owned(),
    ]);
    assert_eq!(result, Ok(()));
    assert_eq!(
        (heard.first_output, heard.first_content, heard.last_output),
        (Some(30), Some(40), Some(50))
    );
    assert_eq!(heard.output_chunks, 3);
    assert_eq!(
        heard.gaps,
        Gaps {
            count: 2,
            sum_ns: 20,
            min_ns: 10,
            max_ns: 10
        }
    );
    assert_eq!(heard.text, "ab");
}

#[test]
fn the_last_usage_wins_wherever_it_stands() {
    let (result, heard) = read(&[
        r#"data: {"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":1}}"#.to_owned()
            + "\n\n",
        r#"data: {"choices":[],"usage":{"completion_tokens":12}}"#.to_owned() + "\n\n",
        "data:[DONE]\r\n\r\n".to_owned(),
    ]);
    assert_eq!(result, Ok(()));
    assert_eq!(heard.usage.unwrap().completion_tokens, Some(12));
    assert_eq!(heard.usage_at, Some(20));
}

#[test]
fn a_stream_may_end_with_a_finish_reason_instead_of_done() {
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    assert_eq!(read(&[chunk(r#"{"content":"a"}"#), end]).0, Ok(()));
}

#[test]
fn a_stream_that_just_ends_is_a_failure_that_keeps_what_was_heard() {
    let (result, heard) = read(&[chunk(r#"{"content":"a"}"#), chunk(r#"{"content":"b"}"#)]);
    assert_eq!(cause(result), FailureCause::ConnectionClosed);
    assert_eq!((heard.first_output, heard.output_chunks), (Some(10), 2));
}

#[test]
fn a_stream_that_ends_inside_an_event_is_cut_off_and_not_bad_json() {
    let (result, heard) = read(&[chunk(r#"{"content":"a"}"#), "data: {\"choi".to_owned()]);
    assert_eq!(cause(result), FailureCause::ConnectionClosed);
    assert_eq!(heard.output_chunks, 1);
}

#[test]
fn an_error_inside_a_stream_makes_it_a_failure_with_its_words() {
    for event in [
        "data: {\"error\":{\"message\":\"overloaded\"}}\n\n",
        "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n",
    ] {
        let fault = read(&[chunk(r#"{"content":"a"}"#), event.to_owned()])
            .0
            .unwrap_err();
        assert_eq!(fault, Fault::new(FailureCause::ErrorInAnswer, "overloaded"));
    }
    assert_eq!(
        cause(read(&["event: error\ndata: {}\n\n".to_owned()]).0),
        FailureCause::ErrorInAnswer
    );
}

#[test]
fn what_is_no_json_is_a_failure() {
    assert_eq!(
        cause(read(&["data: oops\n\n".to_owned()]).0),
        FailureCause::InvalidAnswer
    );
}

#[test]
fn a_body_has_text_and_usage_but_no_first_token() {
    let mut reader = AnswerReader::new(false, true);
    let body =
        br#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let (left, right) = body.split_at(20);
    reader.push(left, 10).unwrap();
    reader.push(right, 20).unwrap();
    reader.finish(30).unwrap();
    let heard = reader.into_heard();
    assert_eq!(
        (heard.text.as_str(), heard.first_output, heard.output_chunks),
        ("hi", None, 0)
    );
    assert_eq!(heard.usage.unwrap().prompt_tokens, Some(3));
}

#[test]
fn a_servers_words_are_cut_to_a_few() {
    assert_eq!(
        Fault::new(FailureCause::ErrorInAnswer, "é".repeat(5_000))
            .message
            .chars()
            .count(),
        MAX_ERROR_CHARS
    );
}

#[test]
fn what_follows_a_fault_is_not_heard_wherever_reads_end() {
    let error = "data: {\"error\":\"overloaded\"}\n\n".to_owned();
    let more = chunk(r#"{"content":"a"}"#);
    let (in_one, heard) = read(&[format!("{error}{more}")]);
    assert_eq!((in_one.is_err(), heard.output_chunks), (true, 0));
    let (in_two, heard) = read(&[error, more]);
    assert_eq!((in_two.is_err(), heard.output_chunks), (true, 0));
}

#[test]
fn an_answer_that_says_nothing_is_a_failure() {
    assert_eq!(
        cause(read(&["data: [DONE]\n\n".to_owned()]).0),
        FailureCause::InvalidAnswer
    );
    let mut body = AnswerReader::new(false, false);
    body.push(b"{}", 10).unwrap();
    assert_eq!(cause(body.finish(10)), FailureCause::InvalidAnswer);
}
