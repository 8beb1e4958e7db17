//! Who holds a shard: joining, being heard from, disappearing.

use std::time::Duration;

use reprise_contract::protocol::{Incarnation, Join, PROTOCOL, Release};

use super::failure::{Failure, Refused};
use super::slot::{Delivery, End, Holder, HolderState, LossCause, Slot};
use super::{Coordinator, PRESENCE, Phase, ns};

/// A worker that was heard from so recently keeps its index.
const TAKEN: Duration = Duration::from_secs(5);

/// The version of Reprise that workers must be of.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The answer to a worker that wants to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinAnswer {
    /// The plan is not ready.
    NotYet,
    /// It holds the shard of its index now.
    Welcome,
    /// It may go home.
    Released(Release),
}

impl Coordinator {
    /// A worker announces itself.
    ///
    /// # Errors
    /// When it is of another version, the run has no such index, or another worker lives there.
    pub fn join(&mut self, now: i64, join: &Join) -> Result<JoinAnswer, Refused> {
        self.advance(now);
        if join.protocol != PROTOCOL || join.version != VERSION {
            return Err(Refused::WrongVersion {
                index: join.index,
                theirs: join.version.clone(),
                their_protocol: join.protocol,
                ours: VERSION,
                our_protocol: PROTOCOL,
            });
        }
        match self.phase {
            Phase::Preparing => Ok(JoinAnswer::NotYet),
            Phase::Failed(_) => Ok(JoinAnswer::Released(Release::RunFailed)),
            Phase::Gathering | Phase::Arming { .. } => self.take(now, join),
            Phase::Replaying { .. } | Phase::Over { .. } => self.come_too_late(now, join),
        }
    }

    /// Before T0: nothing was sent, so whoever comes takes the place of a predecessor that is not there any more.
    fn take(&mut self, now: i64, join: &Join) -> Result<JoinAnswer, Refused> {
        let slot = self.slot(join.index)?;
        if slot.loss().is_some() {
            return Ok(JoinAnswer::Released(Release::ShardLost));
        }
        refuse_second(slot, now, join)?;
        let was_promised = matches!(slot.state(), Some(HolderState::Told | HolderState::Armed));
        if was_promised && !self.call_off(now) {
            self.lose(now, join.index, LossCause::NotStarted);
            return Ok(JoinAnswer::Released(Release::ShardLost));
        }
        let slot = self.slot(join.index)?;
        if !slot.is_held_by(&join.incarnation) {
            slot.lives += 1;
            slot.delivery = Delivery::default();
        }
        let waiting = slot
            .holder
            .as_ref()
            .filter(|holder| holder.incarnation == join.incarnation)
            .map_or(0, |holder| holder.waiting);
        slot.holder = Some(Holder {
            incarnation: join.incarnation.clone(),
            capacity: join.capacity,
            state: HolderState::Joined,
            heard_ns: now,
            broke_off_ns: None,
            waiting,
            is_home: false,
        });
        self.news += 1;
        self.check_capacity();
        Ok(match self.phase {
            Phase::Failed(_) => JoinAnswer::Released(Release::RunFailed),
            _ => JoinAnswer::Welcome,
        })
    }

    /// After T0: whoever comes proves that its predecessor is lost, unless that one is still heard from.
    fn come_too_late(&mut self, now: i64, join: &Join) -> Result<JoinAnswer, Refused> {
        let slot = self.slot(join.index)?;
        if slot.end.is_none() {
            refuse_second(slot, now, join)?;
            self.lose(now, join.index, LossCause::Restarted);
        }
        Ok(JoinAnswer::Released(match self.slot(join.index)?.end {
            Some(End::Finished) => Release::RunOver,
            Some(End::Lost(_)) | None => Release::ShardLost,
        }))
    }

    fn check_capacity(&mut self) {
        let capacities: Option<Vec<_>> = self
            .slots
            .iter()
            .map(|slot| slot.holder.as_ref().map(|holder| holder.capacity))
            .collect();
        if let (Some(capacities), Some(enough)) = (capacities, &self.enough)
            && let Err(reason) = enough(&capacities)
        {
            self.fail(Failure::TooFew(reason));
        }
    }

    /// A worker is there, whatever it does.
    ///
    /// # Errors
    /// When another incarnation holds the shard, or there is no such shard.
    pub fn hear(&mut self, now: i64, index: u32, incarnation: &Incarnation) -> Result<(), Refused> {
        self.held(now, index, incarnation).map(|_| ())
    }

    /// A call of a worker waits for its answer: as long as it does, the worker is there.
    pub fn waits(&mut self, index: u32, incarnation: &Incarnation) {
        if let Some(holder) = self.holder(index, incarnation) {
            holder.waiting += 1;
        }
    }

    /// A call that waited was answered.
    pub fn was_answered(&mut self, index: u32, incarnation: &Incarnation) {
        if let Some(holder) = self.holder(index, incarnation) {
            holder.waiting = holder.waiting.saturating_sub(1);
        }
    }

    /// A call of a worker broke off while it waited. If no other one waits, the worker is perhaps gone: that takes effect unless
    /// it is heard from again.
    pub fn broke_off(&mut self, now: i64, index: u32, incarnation: &Incarnation) {
        if let Some(holder) = self.holder(index, incarnation) {
            holder.waiting = holder.waiting.saturating_sub(1);
            if holder.waiting == 0 {
                holder.broke_off_ns.get_or_insert(now);
            }
        }
    }

    fn holder(&mut self, index: u32, incarnation: &Incarnation) -> Option<&mut Holder> {
        let holder = self.slot(index).ok()?.holder.as_mut()?;
        (holder.incarnation == *incarnation).then_some(holder)
    }

    /// Fails the run when a worker was missing for too long.
    pub(super) fn look_for_missing(&mut self, now: i64) {
        let is_missing = |slot: &Slot| match &slot.holder {
            Some(holder) => holder.broke_off_ns.is_some() || now - holder.heard_ns > ns(PRESENCE),
            None => true,
        };
        let last_seen = |slot: &Slot| {
            slot.holder
                .as_ref()
                .map_or(slot.seen_ns, |holder| holder.heard_ns)
        };
        let limit = ns(self.rules.registration);
        let is_overdue = |slot: &Slot| is_missing(slot) && now.saturating_sub(last_seen(slot)) > limit;
        if self.slots.iter().any(is_overdue) {
            let missing = (0..).zip(&self.slots).filter(|(_, slot)| is_missing(slot));
            let missing = missing.map(|(index, _)| index).collect();
            self.fail(Failure::WorkersMissing {
                missing,
                workers: self.workers(),
                waited: self.rules.registration,
            });
        }
    }

    /// How many shards there are.
    pub(super) fn workers(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn slot(&mut self, index: u32) -> Result<&mut Slot, Refused> {
        if self.slots.is_empty() {
            return Err(Refused::NoPlan);
        }
        let workers = self.workers();
        usize::try_from(index)
            .ok()
            .and_then(|at| self.slots.get_mut(at))
            .ok_or(Refused::NoSuchIndex { index, workers })
    }

    /// The shard that this incarnation holds, which was just heard from.
    pub(super) fn held(
        &mut self,
        now: i64,
        index: u32,
        incarnation: &Incarnation,
    ) -> Result<&mut Slot, Refused> {
        let slot = self.slot(index)?;
        match &mut slot.holder {
            Some(holder) if holder.incarnation == *incarnation => holder.hear(now),
            _ => return Err(Refused::Replaced { index }),
        }
        Ok(slot)
    }
}

/// Refuses a worker whose index another one holds that was heard from moments ago.
fn refuse_second(slot: &Slot, now: i64, join: &Join) -> Result<(), Refused> {
    match &slot.holder {
        Some(holder)
            if holder.incarnation != join.incarnation
                && holder.broke_off_ns.is_none()
                && now - holder.heard_ns < ns(TAKEN) =>
        {
            Err(Refused::IndexTaken {
                index: join.index,
                incarnation: holder.incarnation.to_string(),
            })
        }
        _ => Ok(()),
    }
}
