//! How many connections the system allows.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are no connections to targets: timers and polls, files of the run, connections to the manager.
const OTHER_FILES: u64 = 128;
/// Where Linux says from which port to which a connection takes its own.
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Ports where the system does not say: the range of IANA (RFC 6335).
const IANA_PORTS: u32 = 65_535 - 49_152 + 1;

/// How many connections open files and local ports allow, at least 1. The limit on open files is raised as far as this user may;
/// where that is refused, the limit stays what it is, and so does the number.
pub(super) fn connections() -> u32 {
    let allowed = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: allowed.maximum,
        maximum: allowed.maximum,
    };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => allowed.maximum,
        Err(_) => allowed.current,
    };
    let ports = fs::read_to_string(PORT_RANGE).ok();
    allowed_by(files, ports.as_deref())
}

/// `files` is `None` without a limit; `ports` is the text of [`PORT_RANGE`].
fn allowed_by(files: Option<u64>, ports: Option<&str>) -> u32 {
    let files = files.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES));
    let ports = ports.and_then(count_ports).unwrap_or(IANA_PORTS);
    u32::try_from(files).unwrap_or(u32::MAX).min(ports).max(1)
}

fn count_ports(range: &str) -> Option<u32> {
    let mut bounds = range.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some(u32::from(last.checked_sub(first)?) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcer_of_files_and_ports_counts() {
        let ports = Some("32768\t60999\n");
        assert_eq!(allowed_by(Some(1_024), ports), 896);
        assert_eq!(allowed_by(Some(1_048_576), ports), 28_232);
        assert_eq!(allowed_by(None, Some("1024 65535")), 64_512);
        assert_eq!(allowed_by(Some(10), ports), 1);
    }

    #[test]
    fn a_range_that_says_nothing_counts_as_the_usual_one() {
        for text in [None, Some(""), Some("1"), Some("a b"), Some("9 3")] {
            assert_eq!(allowed_by(None, text), 16_384, "{text:?}");
        }
    }
}
