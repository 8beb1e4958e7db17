//! What workers are told while they run: stop, go home, stand down.

use reprise_contract::protocol::{Directive, Incarnation, Release, Stop};

use super::failure::{Failure, Refused};
use super::slot::End;
use super::{Coordinator, PRESENCE, Phase, ns};

impl Coordinator {
    /// Ends the run before its end. Before T0 it fails, and nothing is sent; after T0 workers stop sending and what was measured
    /// is reported. The first cause stays.
    pub fn stop(&mut self, now: i64, stop: Stop) {
        self.advance(now);
        self.stop_now(now, stop);
    }

    pub(super) fn stop_now(&mut self, now: i64, stop: Stop) {
        if self.can_call_off(now) {
            self.fail(match stop {
                Stop::Cancelled => Failure::Cancelled,
                Stop::DeadlinePassed => Failure::DeadlinePassed,
                Stop::Aborted { message } => Failure::Stopped(message),
            });
        } else if self.stop.is_none() && matches!(self.phase, Phase::Arming { .. } | Phase::Replaying { .. })
        {
            self.stop = Some((stop, now));
            self.tell();
        }
    }

    /// Why workers were told to stop, if they were.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref().map(|(stop, _)| stop)
    }

    /// Ends the run at this moment of the manager's clock; `None`: never.
    pub fn set_deadline(&mut self, now: i64, deadline_ns: Option<i64>) {
        self.deadline_ns = deadline_ns;
        self.advance(now);
    }

    pub(super) fn keep_deadline(&mut self, now: i64) {
        if self.deadline_ns.is_some_and(|deadline_ns| now >= deadline_ns) {
            self.deadline_ns = None;
            self.stop_now(now, Stop::DeadlinePassed);
        }
    }

    /// Whoever has delivered everything may go home: it is safe. To be called when the run is over.
    pub fn release(&mut self) {
        if let Phase::Over {
            t0_ns,
            released: false,
        } = self.phase
        {
            self.set_phase(Phase::Over {
                t0_ns,
                released: true,
            });
            self.directive += 1;
        }
    }

    /// What a worker is to do, when that is other than what it has seen; `None` until then.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn control(
        &mut self,
        now: i64,
        index: u32,
        incarnation: &Incarnation,
        seen: u64,
    ) -> Result<Option<Directive>, Refused> {
        self.advance(now);
        self.held(now, index, incarnation)?;
        if self.directive == seen {
            return Ok(None);
        }
        self.directive_of(index).map(Some)
    }

    /// The newest directive of a worker.
    ///
    /// # Errors
    /// When there is no such shard.
    pub fn directive_of(&mut self, index: u32) -> Result<Directive, Refused> {
        let end = self.slot(index)?.end.clone();
        let release = match (&self.phase, end) {
            (Phase::Failed(_), _) => Some(Release::RunFailed),
            (_, Some(End::Lost(_))) => Some(Release::ShardLost),
            (Phase::Over { released: true, .. }, _) => Some(Release::RunOver),
            _ => None,
        };
        let stop = match &self.phase {
            Phase::Failed(Failure::Cancelled) => Some(Stop::Cancelled),
            Phase::Failed(Failure::DeadlinePassed) => Some(Stop::DeadlinePassed),
            Phase::Failed(failure) => Some(Stop::Aborted {
                message: failure.to_string(),
            }),
            _ => self.stopped().cloned(),
        };
        let directive = Directive {
            number: self.directive,
            epoch: self.epoch,
            stop,
            release,
        };
        if let Some(holder) = &mut self.slot(index)?.holder {
            holder.is_home |= directive.release.is_some();
        }
        Ok(directive)
    }

    /// Whether every worker that is there was told to go home.
    #[must_use]
    pub fn all_are_home(&self, now: i64) -> bool {
        let holders = self.slots.iter().filter_map(|slot| slot.holder.as_ref());
        let is_there = |heard_ns| now - heard_ns <= ns(PRESENCE);
        holders
            .into_iter()
            .all(|holder| holder.is_home || holder.broke_off_ns.is_some() || !is_there(holder.heard_ns))
    }

    /// Gives the directive its next number.
    pub(super) fn tell(&mut self) {
        self.directive += 1;
        self.news += 1;
    }
}
