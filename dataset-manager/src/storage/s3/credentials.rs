//! As whom results are stored.

use std::fmt;

use aws_credential_types::Credentials;

use super::problem::S3Problem;

const ACCESS_KEY: &str = "REPRISE_RESULTS_AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "REPRISE_RESULTS_AWS_SESSION_TOKEN";

/// What signs the requests to the store of results. Cannot be printed.
#[derive(Clone)]
pub struct ResultsCredentials(Credentials);

impl ResultsCredentials {
    /// Reads the variables `REPRISE_RESULTS_AWS_ACCESS_KEY_ID`, `REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY` and
    /// `REPRISE_RESULTS_AWS_SESSION_TOKEN`, which `variable` gives the values of. An empty value is none.
    ///
    /// # Errors
    /// When one of the keys is missing.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, S3Problem> {
        let value = |name| variable(name).filter(|value| !value.is_empty());
        match (value(ACCESS_KEY), value(SECRET_KEY)) {
            (Some(access_key), Some(secret_key)) => {
                Ok(Self::new(access_key, secret_key, value(SESSION_TOKEN)))
            }
            (None, None) => Err(S3Problem::NoCredentials),
            (Some(_), None) => Err(S3Problem::HalfCredentials { missing: SECRET_KEY }),
            (None, Some(_)) => Err(S3Problem::HalfCredentials { missing: ACCESS_KEY }),
        }
    }

    /// Keys, and the token that belongs to temporary ones.
    #[must_use]
    pub fn new(access_key: String, secret_key: String, session_token: Option<String>) -> Self {
        Self(Credentials::new(
            access_key,
            secret_key,
            session_token,
            None,
            "results",
        ))
    }

    pub(super) fn into_inner(self) -> Credentials {
        self.0
    }
}

impl fmt::Debug for ResultsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultsCredentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_keys_are_needed_and_nothing_is_shown_of_them() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            ResultsCredentials::from_variables(|name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        let all = [
            (ACCESS_KEY, "AKIA"),
            (SECRET_KEY, "s3cret"),
            (SESSION_TOKEN, "t0ken"),
        ];
        let credentials = read(&all).unwrap();
        assert_eq!(format!("{credentials:?}"), "ResultsCredentials { .. }");
        assert_eq!(credentials.into_inner().session_token(), Some("t0ken"));
        assert_eq!(read(&all[..2]).unwrap().into_inner().session_token(), None);
        assert_eq!(read(&[]).unwrap_err(), S3Problem::NoCredentials);
        assert_eq!(
            read(&all[..1]).unwrap_err(),
            S3Problem::HalfCredentials { missing: SECRET_KEY }
        );
        assert_eq!(
            read(&[(ACCESS_KEY, ""), (SECRET_KEY, "s3cret")]).unwrap_err(),
            S3Problem::HalfCredentials { missing: ACCESS_KEY }
        );
    }
}
