//! How the run stands, for people and programs.

use reprise_contract::protocol::{LiveNumbers, Stop, WorkerState, WorkerStatus};

use super::slot::{End, HolderState, Slot};
use super::{Coordinator, Phase};

impl Coordinator {
    /// The workers, by index. `clock_error_ms` gives how well the clock of each is known.
    #[must_use]
    pub fn worker_statuses(
        &self,
        now: i64,
        clock_error_ms: impl Fn(u32) -> Option<f64>,
    ) -> Vec<WorkerStatus> {
        let status = |(index, slot): (u32, &Slot)| WorkerStatus {
            index,
            incarnation: slot.holder.as_ref().map(|holder| holder.incarnation.clone()),
            state: self.worker_state(slot),
            requests: slot.facts.requests,
            delivered: slot.delivery.delivered,
            silent_s: slot
                .holder
                .as_ref()
                .map(|holder| (now - holder.heard_ns) as f64 / 1e9),
            clock_error_ms: clock_error_ms(index),
        };
        (0..).zip(&self.slots).map(status).collect()
    }

    fn worker_state(&self, slot: &Slot) -> WorkerState {
        match (&slot.end, slot.state()) {
            (Some(End::Finished), _) => WorkerState::Finished,
            (Some(End::Lost(_)), _) => WorkerState::Lost,
            (None, None) => WorkerState::Missing,
            (None, Some(_)) if self.is_sending() => WorkerState::Replaying,
            (None, Some(HolderState::Joined)) => WorkerState::Joined,
            (None, Some(HolderState::Ready | HolderState::Told)) => WorkerState::Ready,
            (None, Some(HolderState::Armed)) => WorkerState::Armed,
        }
    }

    /// The numbers so far.
    #[must_use]
    pub fn numbers(&self, now: i64) -> LiveNumbers {
        let sum = |count: fn(&Slot) -> u32| self.slots.iter().map(|slot| u64::from(count(slot))).sum();
        let lag_max_ns = self.slots.iter().map(|slot| slot.delivery.lag_max_ns).max();
        LiveNumbers {
            planned: sum(|slot| slot.facts.requests),
            sent: sum(|slot| slot.delivery.sent),
            received: sum(|slot| slot.delivery.delivered),
            completed: sum(|slot| slot.delivery.completed),
            failed: sum(|slot| slot.delivery.failed),
            lag_max_ms: lag_max_ns.unwrap_or_default() as f64 / 1e6,
            sent_per_second: self.sent_per_second(now),
        }
    }

    /// Workers that have joined, and those of them that are ready or further.
    #[must_use]
    pub fn joined_and_ready(&self) -> (u32, u32) {
        let joined = self.slots.iter().filter(|slot| slot.holder.is_some()).count();
        (u32::try_from(joined).unwrap_or(u32::MAX), self.ready_workers())
    }

    /// Why it failed or was stopped, if it was.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        match (&self.phase, self.stopped()) {
            (Phase::Failed(failure), _) => Some(failure.to_string()),
            (_, Some(Stop::Cancelled)) => Some("The run was cancelled.".to_owned()),
            (_, Some(Stop::DeadlinePassed)) => Some("The run's deadline passed.".to_owned()),
            (_, Some(Stop::Aborted { message })) => Some(message.clone()),
            (_, None) => None,
        }
    }
}
