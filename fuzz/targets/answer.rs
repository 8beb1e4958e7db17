//! Answers: where the network cuts one makes no difference.
//!
//! What follows the last NUL byte says how long the pieces are, one byte a piece; without one, each byte comes alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_worker::fuzzing;

fuzz_target!(|input: &[u8]| {
    let nul = input.iter().rposition(|byte| *byte == 0);
    let (bytes, lengths) = nul.map_or((input, &[][..]), |nul| (&input[..nul], &input[nul + 1..]));
    let cuts: Vec<usize> = match lengths {
        [] => (1..bytes.len()).collect(),
        lengths => lengths
            .iter()
            .scan(0, |end, length| {
                *end += usize::from(*length);
                Some(*end)
            })
            .collect(),
    };
    assert_eq!(fuzzing::stream(bytes, &cuts), fuzzing::stream(bytes, &[]));
    assert_eq!(fuzzing::body(bytes, &cuts), fuzzing::body(bytes, &[]));
    let _ = fuzzing::refusal(bytes);
});
