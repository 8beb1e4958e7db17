//! Delivers batches, in order, each until the manager has it.

use reprise_contract::protocol::RefusalCode;

use super::spool::Spool;
use crate::member::backoff::Backoff;
use crate::member::client::Client;
use crate::member::events::{Event, tell};
use crate::member::exit::Failure;
use crate::member::orders::{Orders, final_refusal};

/// How often the manager may ask for a batch that it has acknowledged before that counts as its fault.
const PATIENCE: u32 = 20;

/// Delivers what the spool holds until it is closed and empty. One batch at a time, so the manager can never see a gap; a batch
/// without an answer is sent again, the same bytes.
///
/// # Errors
/// When the manager will not take a batch however often it is sent, or one cannot be read back from the disk.
pub(crate) async fn deliver(spool: Spool, client: Client, orders: Orders) -> Result<(), Failure> {
    let mut backoff = Backoff::default();
    let mut disagreements = 0;
    while let Some(batch) = spool.next().await? {
        match client.outcomes(batch.bytes).await {
            Ok(received) => {
                orders.told(received.directive);
                if received.next > batch.number {
                    spool.acknowledge(received.next);
                    backoff.reset();
                    disagreements = 0;
                    continue;
                }
                disagreements += 1;
            }
            Err(error) => {
                tell(&Event::Unanswered {
                    call: "outcomes",
                    error: &error,
                });
                if error.refusal() == Some(RefusalCode::OutOfOrder) {
                    disagreements += 1;
                }
                if let Some(failure) = final_refusal(error) {
                    return Err(failure);
                }
            }
        }
        if disagreements > PATIENCE {
            return Err(Failure::Fault(format!(
                "the manager wants outcomes again that it had acknowledged, before batch {}",
                batch.number
            )));
        }
        backoff.wait().await;
    }
    Ok(())
}
