//! Where the buckets are.

use url::Url;

/// The region of a bucket in a store that has no regions, and where a search for an unknown one begins.
pub(super) const DEFAULT_REGION: &str = "us-east-1";

/// The longest name of a region that is taken for one.
const MAX_REGION: usize = 64;

/// Where the buckets of `s3://` references are. What is left out comes from the usual variables and profile files, or for
/// an anonymous reader from AWS itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct S3Settings {
    endpoint: Option<Endpoint>,
    region: Option<String>,
    path_style: Option<bool>,
}

/// Settings that cannot be used. They are not quoted: what was pasted there by mistake may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum S3SettingsError {
    /// Not a URL of a server.
    #[error(
        "Cannot use the S3 endpoint: it is not an http:// or https:// URL of a host, or it holds user-info, a query or a \
         fragment. Write it like https://minio.example.com:9000."
    )]
    Endpoint,
    /// Not the name of a region.
    #[error(
        "Cannot use the S3 region: a region's name is made of small letters, digits and hyphens. Write it like eu-central-1."
    )]
    Region,
}

impl S3Settings {
    /// - `endpoint`: the URL of a store other than AWS.
    /// - `region`: of the bucket. A store that is not AWS seldom needs one.
    /// - `path_style`: whether the bucket's name goes into the path of URLs (`https://host/bucket/key`) and not before the
    ///   host's name. By itself it does for every endpoint outside `amazonaws.com`.
    ///
    /// # Errors
    ///
    /// When the endpoint or the region is none.
    pub fn new(
        endpoint: Option<&str>,
        region: Option<&str>,
        path_style: Option<bool>,
    ) -> Result<Self, S3SettingsError> {
        let endpoint = endpoint
            .map(|text| Endpoint::parse(text).ok_or(S3SettingsError::Endpoint))
            .transpose()?;
        if region.is_some_and(|region| !is_region(region)) {
            return Err(S3SettingsError::Region);
        }
        Ok(Self {
            endpoint,
            region: region.map(ToOwned::to_owned),
            path_style,
        })
    }

    /// The URL of the store, if it is one other than AWS; it holds no credential.
    pub(crate) fn endpoint_text(&self) -> Option<&str> {
        self.endpoint.as_ref().map(Endpoint::as_str)
    }

    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    pub(super) fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// Whether the bucket's name goes into the path, at this endpoint.
    pub(super) fn is_path_style(&self, endpoint: Option<&Endpoint>) -> bool {
        self.path_style
            .unwrap_or_else(|| endpoint.is_some_and(|endpoint| !endpoint.is_aws()))
    }
}

/// The URL of a store. It holds no credential, so it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint(Url);

impl Endpoint {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        is_plain.then_some(Self(url))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    fn is_aws(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        ["amazonaws.com", "amazonaws.com.cn"].iter().any(|aws| {
            host.strip_suffix(aws)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
}

/// Whether a text can be a region's name. Servers name regions too, and their word ends up in a host's name.
pub(super) fn is_region(text: &str) -> bool {
    (1..=MAX_REGION).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}
