//! How requests belong together.

use serde::Serialize;

use super::distribution::{Distribution, Values};

/// How requests belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    /// Sessions. A request that names none is one of its own.
    pub count: u32,
    /// Sessions of several turns.
    pub with_several_turns: u32,
    /// Requests a session. Absent if there is no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Distribution>,
}

/// Turns of each session, by its number.
#[derive(Debug, Default)]
pub(super) struct SessionsInspector(Vec<u32>);

impl SessionsInspector {
    /// Counts a turn of a session. Whether the session has earlier ones.
    pub(super) fn add(&mut self, session: u32) -> bool {
        let index = session as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        let turns = &mut self.0[index];
        *turns += 1;
        *turns > 1
    }

    pub(super) fn finish(self) -> Sessions {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Sessions {
            count: number(self.0.len()),
            with_several_turns: number(self.0.iter().filter(|turns| **turns > 1).count()),
            turns: Values::from(self.0).distribution(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_by_session() {
        let mut sessions = SessionsInspector::default();
        let later: Vec<_> = [0, 1, 0, 2, 0].map(|session| sessions.add(session)).into();
        assert_eq!(later, [false, false, true, false, true]);
        let sessions = sessions.finish();
        assert_eq!((sessions.count, sessions.with_several_turns), (3, 1));
        let turns = sessions.turns.unwrap();
        assert_eq!((turns.min, turns.p50, turns.max, turns.total), (1, 1, 3, 5));
    }
}
