//! Recorded bodies: byte for byte, but for the slots that the run says something about.

use super::{MatchedOutput, Rendered, Template, json_string};
use crate::piece::Absent;
use crate::store::{PieceRef, Pieces, SlotRef};

pub(super) fn render(template: &Template, pieces: Pieces<'_>, output: Option<MatchedOutput>) -> Rendered {
    let mut body = Vec::new();
    for piece in pieces {
        match piece {
            PieceRef::Literal(bytes) => body.extend_from_slice(bytes),
            PieceRef::Slot(slot) => fill(template, output, slot, &mut body),
            // Only synthesised bodies have corpus text.
            PieceRef::Corpus { .. } => {}
        }
    }
    Rendered {
        body,
        matched_output_tokens: output.map(|output| output.tokens),
    }
}

fn fill(template: &Template, output: Option<MatchedOutput>, slot: SlotRef<'_>, body: &mut Vec<u8>) {
    match slot {
        SlotRef::Model(recorded) => fill_model(template, recorded, body),
        SlotRef::MaxTokens(recorded) => match output {
            Some(output) => body.extend_from_slice(output.tokens.to_string().as_bytes()),
            None => body.extend_from_slice(recorded),
        },
        SlotRef::IgnoreEos(recorded) => match output {
            Some(output) if output.may_ignore_eos => body.extend_from_slice(b"true"),
            _ => body.extend_from_slice(recorded),
        },
        SlotRef::Tail(absent) => fill_tail(template, output, absent, body),
    }
}

fn fill_model(template: &Template, recorded: &[u8], body: &mut Vec<u8>) {
    let name = if template.rewrite.is_empty() {
        None
    } else {
        serde_json::from_slice::<String>(recorded).ok()
    };
    match name.as_deref().and_then(|name| template.rewrite.of(name)) {
        Some(model) => json_string(model, body),
        None => body.extend_from_slice(recorded),
    }
}

fn fill_tail(template: &Template, output: Option<MatchedOutput>, absent: Absent, body: &mut Vec<u8>) {
    let mut needs_comma = !absent.is_empty_object;
    let mut add = |name: &str, value: &str| {
        if needs_comma {
            body.push(b',');
        }
        needs_comma = true;
        json_string(name, body);
        body.push(b':');
        body.extend_from_slice(value.as_bytes());
    };
    if let Some(streaming) = template.streaming.filter(|_| absent.stream) {
        add("stream", if streaming { "true" } else { "false" });
    }
    if let Some(output) = output {
        if absent.max_tokens {
            add("max_tokens", &output.tokens.to_string());
        }
        if absent.ignore_eos && output.may_ignore_eos {
            add("ignore_eos", "true");
        }
    }
}
