//! Server-sent events, as the HTML standard defines their stream (section 9.2.6), read from pieces of any size.

/// The most bytes that one event may have.
pub(crate) const MAX_EVENT_BYTES: usize = 64 << 20;

/// An event larger than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// One event: its type, where it has one, and its data, lines joined by line feeds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    pub(crate) kind: &'a [u8],
    pub(crate) data: &'a [u8],
}

/// Reads events from pieces of a stream. Lines end with CR, LF or both; an event ends with a blank line.
#[derive(Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    kind: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    past_first_line: bool,
}

impl EventReader {
    /// Reads the next piece and calls `on_event` for every event that ends in it.
    pub(crate) fn push(
        &mut self,
        mut piece: &[u8],
        mut on_event: impl FnMut(Event<'_>),
    ) -> Result<(), EventTooLarge> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
                return Err(EventTooLarge);
            }
            let Some(end) = end else { break };
            self.after_cr = piece[end] == b'\r';
            piece = &piece[end + 1..];
            self.end_line(&mut on_event);
        }
        Ok(())
    }

    /// Ends the stream. An event whose last blank line is missing still counts: servers forget it.
    pub(crate) fn finish(&mut self, mut on_event: impl FnMut(Event<'_>)) {
        if !self.line.is_empty() {
            self.end_line(&mut on_event);
        }
        self.end_event(&mut on_event);
    }

    fn end_line(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.past_first_line, true);
        let text = line
            .strip_prefix(b"\xEF\xBB\xBF")
            .filter(|_| is_first)
            .unwrap_or(&line);
        if text.is_empty() {
            self.end_event(on_event);
        } else {
            self.take_field(text);
        }
        // Keep the allocation for the next line.
        self.line = line;
        self.line.clear();
    }

    fn take_field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => value.clone_into(&mut self.kind),
            // Comments (an empty name), `id`, `retry` and unknown fields say nothing about the answer.
            _ => {}
        }
    }

    fn end_event(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        if std::mem::take(&mut self.has_data) {
            on_event(Event {
                kind: &self.kind,
                data: &self.data,
            });
        }
        self.data.clear();
        self.kind.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut keep = |event: Event<'_>| events.push((text(event.kind), text(event.data)));
        for piece in pieces {
            reader.push(piece, &mut keep).unwrap();
        }
        reader.finish(&mut keep);
        events
    }

    fn data(stream: &str) -> Vec<String> {
        events(&[stream.as_bytes()])
            .into_iter()
            .map(|(_, data)| data)
            .collect()
    }

    #[test]
    fn every_legal_line_end_and_a_missing_space_are_read() {
        assert_eq!(
            data("data: a\n\ndata:b\r\n\r\ndata: c\r\rdata:[DONE]\n\n"),
            ["a", "b", "c", "[DONE]"]
        );
    }

    #[test]
    fn comments_other_fields_and_a_byte_order_mark_are_passed_over() {
        assert_eq!(
            data("\u{feff}data: a\nid: 7\nretry: 5\n: ping\n\n: alone\n\n"),
            ["a"]
        );
    }

    #[test]
    fn several_data_lines_are_one_event_and_one_space_only_is_dropped() {
        assert_eq!(data("data: a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
    }

    #[test]
    fn an_event_has_its_type() {
        assert_eq!(
            events(&[b"event: error\ndata: x\n\ndata: y\n\n"]),
            [
                ("error".to_owned(), "x".to_owned()),
                (String::new(), "y".to_owned())
            ]
        );
    }

    #[test]
    fn a_missing_last_blank_line_loses_nothing() {
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
    }

    #[test]
    fn a_line_of_two_mebibytes_is_read() {
        let long = "x".repeat(2 << 20);
        assert_eq!(data(&format!("data: {long}\n\n")), [long]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES + 1];
        assert_eq!(reader.push(&piece, |_| {}), Err(EventTooLarge));
    }

    proptest! {
        /// Network reads may end anywhere, also inside a character or between CR and LF.
        #[test]
        fn it_does_not_matter_where_reads_end(cuts in proptest::collection::vec(0..90usize, 0..12)) {
            let stream = "event: m\r\ndata: {\"a\":\"é ü\"} \r\n\r\ndata: x\n\n: c\rdata:y\r\rdata: [DONE]\n\n".as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[stream]));
        }
    }
}
