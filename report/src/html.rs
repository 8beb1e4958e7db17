//! x
use reprise_contract::Summary;
/// x
#[must_use]
pub fn render(summary: &Summary) -> String {
    summary.name.clone()
}
