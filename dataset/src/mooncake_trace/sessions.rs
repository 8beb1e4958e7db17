//! Which records are turns of one conversation.

use std::collections::HashMap;

use super::RecordError;
use crate::facts::DatasetWarning;
use crate::position::Position;

/// The sessions seen so far. A record without an id is a session of its own, of which nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: HashMap<Box<str>, Session>,
    /// How many sessions there are, so the number of the next.
    count: u32,
    with_id: u32,
    without_id: u32,
    before_their_predecessor: u64,
}

#[derive(Debug)]
struct Session {
    number: u32,
    /// How its turns are said, and the record that says so first.
    mode: Option<(Mode, Position)>,
    previous_ns: Option<i64>,
    lengths: Lengths,
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) session: u32,
    pub(super) is_first: bool,
}

/// How the turns of a session say what was said before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each turn has the user's new words; answers are live.
    NewWords,
    /// Each turn has the whole conversation.
    Messages,
    /// Each turn has a whole body.
    Payload,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::NewWords => "input_length or text_input",
            Self::Messages => "messages",
            Self::Payload => "payload",
        }
    }
}

/// What a turn means for its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnOfSession {
    pub(super) mode: Mode,
    pub(super) recorded_ns: Option<i64>,
    pub(super) input_tokens: Option<u32>,
    pub(super) output_tokens: Option<u32>,
}

/// Whether the input lengths of a session could each count the whole conversation.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    /// Input and output of the turn last seen, where both are known.
    previous_total: Option<u64>,
    grew: bool,
    fell_short: bool,
}

impl Lengths {
    fn follow(&mut self, input: u32, output: Option<u32>) {
        if let Some(previous) = self.previous_total {
            let includes_it = u64::from(input) >= previous;
            self.grew |= includes_it;
            self.fell_short |= !includes_it;
        }
        self.previous_total = output.map(|output| u64::from(input) + u64::from(output));
    }

    fn has_several(self) -> bool {
        self.grew || self.fell_short
    }

    fn look_cumulative(self) -> bool {
        self.grew && !self.fell_short
    }
}

impl Sessions {
    /// Finds or opens the session of a record.
    pub(super) fn place(&mut self, id: Option<&str>) -> Place {
        let Some(id) = id else {
            self.without_id += 1;
            return Place {
                session: self.open(),
                is_first: true,
            };
        };
        self.with_id += 1;
        if let Some(session) = self.by_id.get(id) {
            return Place {
                session: session.number,
                is_first: false,
            };
        }
        let number = self.open();
        let session = Session {
            number,
            mode: None,
            previous_ns: None,
            lengths: Lengths::default(),
        };
        self.by_id.insert(id.into(), session);
        Place {
            session: number,
            is_first: true,
        }
    }

    fn open(&mut self) -> u32 {
        let number = self.count;
        self.count += 1;
        number
    }

    /// Checks a turn against the earlier ones of its session.
    pub(super) fn follow(
        &mut self,
        id: Option<&str>,
        position: &Position,
        turn: TurnOfSession,
    ) -> Result<(), RecordError> {
        let Some(session) = id.and_then(|id| self.by_id.get_mut(id)) else {
            return Ok(());
        };
        let (first, first_position) = session.mode.get_or_insert_with(|| (turn.mode, position.clone()));
        if *first != turn.mode {
            return Err(RecordError::MixedSession {
                mode: turn.mode.name(),
                first: first.name(),
                first_position: first_position.clone(),
            });
        }
        if let (Some(previous), Some(now)) = (session.previous_ns, turn.recorded_ns) {
            self.before_their_predecessor += u64::from(now < previous);
        }
        session.previous_ns = turn.recorded_ns.or(session.previous_ns);
        if let Some(input) = turn.input_tokens {
            session.lengths.follow(input, turn.output_tokens);
        }
        Ok(())
    }

    pub(super) fn warnings(&self) -> impl Iterator<Item = DatasetWarning> {
        let turns = self.before_their_predecessor;
        let late = (turns > 0).then_some(DatasetWarning::TurnsBeforeTheirPredecessor { turns });
        [self.grouping(), self.cumulative(), late].into_iter().flatten()
    }

    /// A session column that tells every record apart, or none, is probably not the conversation.
    fn grouping(&self) -> Option<DatasetWarning> {
        if self.without_id > 0 || self.with_id < 2 {
            return None;
        }
        match self.count {
            1 => Some(DatasetWarning::SingleSession {
                records: self.with_id,
            }),
            sessions if sessions == self.with_id => Some(DatasetWarning::SessionsOfOneTurn { sessions }),
            _ => None,
        }
    }

    /// One session may look so by chance, most of them do not.
    fn cumulative(&self) -> Option<DatasetWarning> {
        let count = |is: fn(Lengths) -> bool| {
            let sessions = self.by_id.values().filter(|session| is(session.lengths)).count();
            u32::try_from(sessions).unwrap_or(u32::MAX)
        };
        let (sessions, of) = (count(Lengths::look_cumulative), count(Lengths::has_several));
        (sessions > 0 && sessions >= of - sessions)
            .then_some(DatasetWarning::InputLengthsLookCumulative { sessions, of })
    }
}
