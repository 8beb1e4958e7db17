//! What a hub does wrong when it is told to.

/// Instead of the right answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Another status, without a body.
    Status(u16),
    /// The same, with `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// The body stops after so many bytes, until [`Hub::release`](super::Hub::release).
    Stall(usize),
    /// The whole file, whatever part was asked for.
    NoParts,
    /// A header with another value; nothing, without one.
    Header(&'static str, Option<&'static str>),
    /// Another body, with status 200.
    Body(Vec<u8>),
    /// Nothing at all: the connection ends.
    HangUp,
}

/// A fault, and whom it meets.
pub(super) struct Planned {
    part: String,
    times: usize,
    fault: Fault,
}

impl Planned {
    pub(super) fn new(part: &str, times: usize, fault: Fault) -> Self {
        Self {
            part: part.to_owned(),
            times,
            fault,
        }
    }
}

/// The fault that was planned for a request of this path, which is used up by it.
pub(super) fn take(plan: &mut [Planned], target: &str) -> Option<Fault> {
    let next = plan
        .iter_mut()
        .find(|planned| planned.times > 0 && target.contains(&planned.part))?;
    next.times -= 1;
    Some(next.fault.clone())
}
