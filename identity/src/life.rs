//! A name for one life of a process.

use aws_lc_rs::rand;
use reprise_contract::protocol::Incarnation;

use crate::KeyError;

/// A random name for this life of this process: 32 hexadecimal digits.
///
/// # Errors
/// When the system gives no random numbers.
pub fn random_incarnation() -> Result<Incarnation, KeyError> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Incarnation::try_from(format!("{:032x}", u128::from_be_bytes(bytes))).map_err(|_| KeyError::Random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lives_have_one_name() {
        let name = random_incarnation().unwrap();
        assert_eq!(name.to_string().len(), 32);
        assert_ne!(name, random_incarnation().unwrap());
    }
}
