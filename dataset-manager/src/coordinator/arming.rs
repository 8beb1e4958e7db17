//! Agreement on T0, in two phases: either all start, or none has sent anything.
//!
//! When all are ready, T0 is proposed, [`T0_LEAD`] ahead. When all have confirmed it, they get `Go`, as long as T0 is
//! [`START_UNTIL`] or more ahead. A worker without `Go` by then sends nothing and asks by ready again, which calls T0 off for
//! the others: they see a greater epoch in their directive. That needs [`REVOKE_UNTIL`]; a worker that asks even later stays
//! behind as a loss that has sent nothing.

use std::time::Duration;

use reprise_contract::protocol::{Armed, Confirmed, Incarnation, Readied, Ready, Release};

use super::failure::{Failure, Refused};
use super::slot::{HolderState, LossCause};
use super::{Coordinator, Phase, ns};

/// How far ahead T0 is proposed.
pub const T0_LEAD: Duration = Duration::from_secs(4);
/// `Go` is given until so long before T0.
pub const START_UNTIL: Duration = Duration::from_secs(2);
/// T0 can be called off until so long before it.
pub const REVOKE_UNTIL: Duration = Duration::from_millis(500);
/// A worker whose call broke off is given so long to be heard from again.
const BREAK_OFF_GRACE: Duration = Duration::from_millis(300);

impl Coordinator {
    /// A worker is ready, or says why it never will be. To be asked for its answer by [`Self::readied`], again and again.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn ready(&mut self, now: i64, index: u32, ready: &Ready) -> Result<(), Refused> {
        self.advance(now);
        let state = self.held(now, index, &ready.incarnation)?.state();
        if let Some(message) = &ready.failure {
            let message = message.clone();
            if !self.is_sending() {
                self.fail(Failure::WorkerFailed { index, message });
            }
            return Ok(());
        }
        match (&self.phase, state) {
            // It was promised and asks again: it has no Go, and starts nothing.
            (Phase::Arming { .. }, Some(HolderState::Armed)) => self.call_off_or_lose(now, index),
            (Phase::Replaying { .. }, _) => {
                let has_delivered = self.slot(index)?.delivery.next > 0;
                let cause = if has_delivered {
                    LossCause::Restarted
                } else {
                    LossCause::NotStarted
                };
                self.lose(now, index, cause);
            }
            _ => {}
        }
        if self.phase == Phase::Gathering {
            let slot = self.slot(index)?;
            if let Some(holder) = &mut slot.holder
                && holder.state != HolderState::Ready
            {
                holder.state = HolderState::Ready;
                self.news += 1;
            }
            self.propose_when_all_are_ready(now);
        }
        Ok(())
    }

    /// The answer to a worker that is ready. `NotYet` may turn into another one with any news.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn readied(&mut self, now: i64, index: u32, incarnation: &Incarnation) -> Result<Readied, Refused> {
        self.advance(now);
        self.held(now, index, incarnation)?;
        // One whose call broke off may have been heard from again.
        if self.phase == Phase::Gathering {
            self.propose_when_all_are_ready(now);
        }
        let epoch = self.epoch;
        if self.slot(index)?.loss().is_some() {
            return Ok(Readied::Released {
                release: Release::ShardLost,
            });
        }
        match self.phase {
            Phase::Failed(_) => Ok(Readied::Released {
                release: Release::RunFailed,
            }),
            Phase::Over { .. } => Ok(Readied::Released {
                release: Release::RunOver,
            }),
            Phase::Arming { t0_ns, .. } => {
                self.move_on(index, HolderState::Ready, HolderState::Told)?;
                Ok(Readied::Start {
                    epoch,
                    t0_manager_ns: t0_ns,
                })
            }
            Phase::Preparing | Phase::Gathering | Phase::Replaying { .. } => Ok(Readied::NotYet {
                ready: self.ready_workers(),
                workers: self.workers(),
            }),
        }
    }

    /// A worker confirms T0. To be asked for its answer by [`Self::confirmed`], again and again.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn armed(&mut self, now: i64, index: u32, armed: &Armed) -> Result<(), Refused> {
        self.advance(now);
        self.held(now, index, &armed.incarnation)?;
        if let Phase::Arming {
            t0_ns,
            confirmed: false,
        } = self.phase
            && (armed.epoch, armed.t0_manager_ns) == (self.epoch, t0_ns)
        {
            self.move_on(index, HolderState::Told, HolderState::Armed)?;
            if self
                .slots
                .iter()
                .all(|slot| slot.state() == Some(HolderState::Armed))
            {
                self.set_phase(Phase::Arming {
                    t0_ns,
                    confirmed: true,
                });
            }
        }
        Ok(())
    }

    /// The answer to a worker that has confirmed T0; `None` until there is one.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn confirmed(
        &mut self,
        now: i64,
        index: u32,
        incarnation: &Incarnation,
        epoch: u32,
    ) -> Result<Option<Confirmed>, Refused> {
        self.advance(now);
        let current = self.epoch;
        let slot = self.held(now, index, incarnation)?;
        if slot.loss().is_some() {
            return Ok(Some(Confirmed::Released {
                release: Release::ShardLost,
            }));
        }
        let is_armed = slot.state() == Some(HolderState::Armed);
        Ok(match self.phase {
            Phase::Failed(_) => Some(Confirmed::Released {
                release: Release::RunFailed,
            }),
            Phase::Arming { t0_ns, confirmed } if epoch == current && is_armed => {
                match (confirmed, now < t0_ns - ns(START_UNTIL)) {
                    (true, true) => Some(Confirmed::Go),
                    (false, true) => None,
                    (_, false) => Some(Confirmed::Moved),
                }
            }
            _ => Some(Confirmed::Moved),
        })
    }

    fn move_on(&mut self, index: u32, from: HolderState, to: HolderState) -> Result<(), Refused> {
        if let Some(holder) = &mut self.slot(index)?.holder
            && holder.state == from
        {
            holder.state = to;
        }
        Ok(())
    }

    pub(super) fn ready_workers(&self) -> u32 {
        let is_ready = |state| {
            matches!(
                state,
                Some(HolderState::Ready | HolderState::Told | HolderState::Armed)
            )
        };
        u32::try_from(self.slots.iter().filter(|slot| is_ready(slot.state())).count()).unwrap_or(u32::MAX)
    }

    fn propose_when_all_are_ready(&mut self, now: i64) {
        let is_ready = |slot: &super::slot::Slot| {
            let holder = slot.holder.as_ref();
            holder.is_some_and(|holder| holder.state == HolderState::Ready && holder.broke_off_ns.is_none())
        };
        if self.slots.iter().all(is_ready) {
            self.set_phase(Phase::Arming {
                t0_ns: now + ns(T0_LEAD),
                confirmed: false,
            });
        }
    }

    /// Calls a proposal off that not all have confirmed in time, or that a worker has disappeared from; passes T0.
    pub(super) fn keep_proposal(&mut self, now: i64) {
        let Phase::Arming { t0_ns, confirmed } = self.phase else {
            return;
        };
        if confirmed && now >= t0_ns {
            self.set_phase(Phase::Replaying { t0_ns });
            self.finish_when_all_are();
            return;
        }
        let is_gone = self
            .slots
            .iter()
            .filter_map(|slot| slot.holder.as_ref())
            .any(|holder| {
                holder
                    .broke_off_ns
                    .is_some_and(|since| now - since > ns(BREAK_OFF_GRACE))
            });
        if is_gone || (!confirmed && now >= t0_ns - ns(START_UNTIL)) {
            self.call_off(now);
        }
    }

    /// Calls the proposal off, if there is one and nobody can have started. Whether nobody can have started.
    pub(super) fn call_off(&mut self, now: i64) -> bool {
        if !self.can_call_off(now) {
            return false;
        }
        if let Phase::Arming { .. } = self.phase {
            self.epoch += 1;
            self.directive += 1;
            for holder in self.slots.iter_mut().filter_map(|slot| slot.holder.as_mut()) {
                if matches!(holder.state, HolderState::Told | HolderState::Armed) {
                    holder.state = HolderState::Joined;
                }
            }
            self.set_phase(Phase::Gathering);
        }
        true
    }

    /// Calls the proposal off for a worker that will not start; too late for that, it stays behind.
    pub(super) fn call_off_or_lose(&mut self, now: i64, index: u32) {
        if !self.call_off(now) {
            self.lose(now, index, LossCause::NotStarted);
        }
    }

    /// Whether nobody has started, and nobody will if told so now.
    pub(super) fn can_call_off(&self, now: i64) -> bool {
        match self.phase {
            Phase::Preparing | Phase::Gathering | Phase::Arming { confirmed: false, .. } => true,
            Phase::Arming {
                t0_ns,
                confirmed: true,
            } => now < t0_ns - ns(REVOKE_UNTIL),
            Phase::Replaying { .. } | Phase::Over { .. } | Phase::Failed(_) => false,
        }
    }
}
