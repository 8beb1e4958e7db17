//! Outcomes as they come in, and workers that are lost on the way.

use std::time::Duration;

use reprise_contract::protocol::Stop;
use reprise_contract::protocol::batch::BatchHead;

use super::failure::{Failure, Refused};
use super::slot::{End, Loss, LossCause, Slot, WorkerRecord};
use super::{Coordinator, OnLoss, Phase, ns};

/// A worker that was silent for so long, or that has delivered nothing for so long although all must be in, is given up on. A
/// worker gives the manager up earlier.
const UNREACHABLE: Duration = Duration::from_mins(10);
/// How far the clocks of worker and manager may differ about T0 having come.
const T0_TOLERANCE: Duration = Duration::from_secs(1);
/// Over how long the rate of sending is taken.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// What to do with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Store it, then say [`Coordinator::commit`].
    New,
    /// It was stored before; this number is wanted next.
    Known(u64),
}

/// What a batch's outcomes add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// All of them.
    pub outcomes: u32,
    /// Completed ones.
    pub completed: u32,
    /// Failed ones.
    pub failed: u32,
    /// The greatest lag, in nanoseconds.
    pub lag_max_ns: i64,
}

impl Coordinator {
    /// Whether to store a batch. After [`Admission::New`] no other batch of the shard is admitted until one of
    /// [`Self::commit`], [`Self::contradicted`] and [`Self::storage_failed`] was said.
    ///
    /// # Errors
    /// When it is out of order, not of the shard's holder, or comes before T0.
    pub fn admit(
        &mut self,
        now: i64,
        index: u32,
        head: &BatchHead,
        outcomes: usize,
    ) -> Result<Admission, Refused> {
        self.advance(now);
        let number = head.number;
        let slot = self.held(now, index, &head.incarnation)?;
        let (wanted, is_storing, is_lost) = (
            slot.delivery.next,
            slot.delivery.is_storing,
            slot.loss().is_some(),
        );
        if number < wanted {
            return Ok(Admission::Known(wanted));
        }
        if is_lost {
            return Err(Refused::Replaced { index });
        }
        self.check_time(now, index, head.sent > 0 || outcomes > 0)?;
        if number > wanted {
            return Err(Refused::OutOfOrder {
                index,
                number,
                wanted,
            });
        }
        if is_storing {
            return Err(Refused::BeingStored { index, number });
        }
        self.slot(index)?.delivery.is_storing = true;
        Ok(Admission::New)
    }

    /// Refuses what was sent at a T0 that does not hold.
    fn check_time(&mut self, now: i64, index: u32, has_sent: bool) -> Result<(), Refused> {
        let may_have_sent = match self.phase {
            Phase::Replaying { .. } => true,
            Phase::Arming { t0_ns, confirmed } => confirmed && now >= t0_ns - ns(T0_TOLERANCE),
            Phase::Preparing | Phase::Gathering => false,
            Phase::Failed(Failure::Storage(ref why)) => return Err(Refused::NoRoom(why.clone())),
            Phase::Failed(ref failure) => return Err(Refused::Ended(failure.to_string())),
            Phase::Over { .. } => {
                return Err(Refused::Ended(
                    "everything was delivered or given up on".to_owned(),
                ));
            }
        };
        if has_sent && !may_have_sent {
            let failure = Failure::StartedAlone { index };
            let refused = Refused::Ended(failure.to_string());
            self.fail(failure);
            return Err(refused);
        }
        Ok(())
    }

    /// A batch is stored. Gives the number that is wanted next.
    ///
    /// # Errors
    /// When the head contradicts what was delivered.
    pub fn commit(
        &mut self,
        now: i64,
        index: u32,
        head: &BatchHead,
        counts: BatchCounts,
    ) -> Result<u64, Refused> {
        let slot = self.slot(index)?;
        // Before T0 another may have come in the meantime; what was stored was empty.
        if !slot.is_held_by(&head.incarnation) {
            return Err(Refused::Replaced { index });
        }
        let requests = slot.facts.requests;
        let delivery = &mut slot.delivery;
        delivery.is_storing = false;
        delivery.next = head.number + 1;
        delivery.delivered += counts.outcomes;
        delivery.completed += counts.completed;
        delivery.failed += counts.failed;
        delivery.lag_max_ns = delivery.lag_max_ns.max(counts.lag_max_ns);
        delivery.sent = delivery.sent.max(head.sent.min(requests));
        delivery.watermark_ns = delivery.watermark_ns.max(head.watermark_ns);
        if counts.outcomes > 0 || delivery.progress_ns.is_none() {
            delivery.progress_ns = Some(now);
        }
        let (next, delivered) = (delivery.next, delivery.delivered);
        if head.is_last && slot.end.is_none() {
            if delivered != requests {
                let why = format!("the last batch came after {delivered} of {requests} outcomes");
                return Err(self.contradicted(now, index, why));
            }
            if head.is_leaving {
                self.lose(now, index, LossCause::Left);
            } else {
                slot.end = Some(End::Finished);
                self.news += 1;
            }
        }
        self.count_sent(now);
        if let Some(stop) = &head.stopped {
            self.stop_now(now, named(stop, index));
        }
        self.finish_when_all_are();
        Ok(next)
    }

    /// A batch contradicts the plan: nothing of it was kept, its worker is not to be believed, and the run stops.
    pub fn contradicted(&mut self, now: i64, index: u32, why: String) -> Refused {
        if let Ok(slot) = self.slot(index) {
            slot.delivery.is_storing = false;
        }
        self.lose(now, index, LossCause::Contradicted(why.clone()));
        // Whatever lossPolicy says: other workers of the same build may be wrong in a way that nobody notices.
        let message = format!("Worker {index} {}.", LossCause::Contradicted(why.clone()).words());
        self.stop_now(now, Stop::Aborted { message });
        Refused::Contradicts { index, why }
    }

    /// A batch cannot be stored, and no other either.
    pub fn storage_failed(&mut self, index: u32, why: &str) -> Refused {
        if let Ok(slot) = self.slot(index) {
            slot.delivery.is_storing = false;
        }
        self.fail(Failure::Storage(why.to_owned()));
        Refused::NoRoom(why.to_owned())
    }

    /// Notes that a shard is lost, and stops the others if the rules say so.
    pub(super) fn lose(&mut self, now: i64, index: u32, cause: LossCause) {
        let (Phase::Arming { t0_ns, .. } | Phase::Replaying { t0_ns }) = self.phase else {
            return;
        };
        let Ok(slot) = self.slot(index) else { return };
        if slot.end.is_some() {
            return;
        }
        let message = format!("Worker {index} was lost: it {}.", cause.words());
        let has_started = cause != LossCause::NotStarted;
        slot.end = Some(End::Lost(Loss {
            at_ns: has_started.then_some(now - t0_ns),
            cause,
        }));
        self.tell();
        if self.rules.on_loss == OnLoss::Stop {
            self.stop_now(now, Stop::Aborted { message });
        }
        self.finish_when_all_are();
    }

    /// Gives up on workers that are silent, or deliver nothing, although everything must be in.
    pub(super) fn give_up_on_silent(&mut self, now: i64, t0_ns: i64) {
        let stopped_ns = self.stop.as_ref().map_or(i64::MAX, |(_, at_ns)| *at_ns);
        let (silence, unreachable) = (ns(self.rules.silence), ns(UNREACHABLE));
        let is_given_up = |slot: &Slot| {
            let end_ns = t0_ns.saturating_add(slot.facts.end_ns).min(stopped_ns);
            let quiet_ns = slot
                .holder
                .as_ref()
                .map_or(i64::MAX, |holder| now - holder.heard_ns);
            let is_due = now > end_ns.saturating_add(silence);
            let progress_ns = slot.delivery.progress_ns.unwrap_or(t0_ns).max(end_ns);
            (is_due && quiet_ns > silence)
                || quiet_ns > unreachable
                || now > progress_ns.saturating_add(unreachable)
        };
        let given_up: Vec<u32> = (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.end.is_none() && is_given_up(slot))
            .map(|(index, _)| index)
            .collect();
        for index in given_up {
            self.lose(now, index, LossCause::Silent);
        }
    }

    pub(super) fn finish_when_all_are(&mut self) {
        let is_done = |slot: &Slot| slot.end.is_some() && !slot.delivery.is_storing;
        if let Phase::Replaying { t0_ns } = self.phase
            && self.slots.iter().all(is_done)
        {
            self.set_phase(Phase::Over {
                t0_ns,
                released: false,
            });
        }
    }

    /// What there is to say about each worker.
    #[must_use]
    pub fn records(&self) -> Vec<WorkerRecord> {
        (0..)
            .zip(&self.slots)
            .map(|(index, slot)| slot.record(index))
            .collect()
    }

    fn count_sent(&mut self, now: i64) {
        let sent = self.slots.iter().map(|slot| u64::from(slot.delivery.sent)).sum();
        let is_old = |at_ns: i64| now - at_ns > ns(RATE_WINDOW);
        while self.sent_lately.len() > 1 && self.sent_lately.front().is_some_and(|&(at_ns, _)| is_old(at_ns))
        {
            self.sent_lately.pop_front();
        }
        self.sent_lately.push_back((now, sent));
    }

    /// Requests sent a second, over the last seconds.
    pub(super) fn sent_per_second(&self, now: i64) -> f64 {
        match (self.sent_lately.front(), self.sent_lately.back()) {
            (Some(&(from, before)), Some(&(last, after))) if now - last <= ns(RATE_WINDOW) && last > from => {
                (after - before) as f64 / ((now - from) as f64 / 1e9)
            }
            _ => 0.0,
        }
    }
}

/// The cause with the worker that it comes from.
fn named(stop: &Stop, index: u32) -> Stop {
    match stop {
        Stop::Aborted { message } => Stop::Aborted {
            message: format!("Worker {index}: {message}"),
        },
        other => other.clone(),
    }
}
