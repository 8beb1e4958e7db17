//! The client of a bucket: as whom, where, and by which means.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::imds::client::error::ImdsError;
use aws_config::imds::region::ImdsRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{
    ProvideCredentials, Result as CredentialsResult, SharedCredentialsProvider, future,
};
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    Builder, Credentials, Region, ResponseChecksumValidation, RuntimeComponents, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_sdk_s3::{Client, Config};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Builder as HttpBuilder, ConnectorBuilder};
use aws_smithy_runtime::client::retries::classifiers::HttpStatusCodeClassifier;
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use aws_types::service_config::ServiceConfigKey;
use http::StatusCode;
use tokio::time::timeout;

use super::problem::{Caller, CredentialsFault, S3Problem};
use super::settings::{DEFAULT_REGION, Endpoint, S3Settings};
use crate::error::Problem;
use crate::guard::{Access, AddressRules};
use crate::http::client::{Patience, is_this_machine};
use crate::http::names::resolve;

/// For all places where credentials are looked for, and whoever hands them out, together.
const CREDENTIALS_PATIENCE: Duration = Duration::from_mins(1);

/// Asked again, besides the answers that the client asks again after by itself.
const TOO_MANY_REQUESTS: &[u16] = &[StatusCode::TOO_MANY_REQUESTS.as_u16()];

/// A client, and what to say when it is refused.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) caller: Caller,
    pub(super) region: String,
}

impl Connection {
    /// # Errors
    ///
    /// When credentials are set up and cannot be had, or when the endpoint may not be reached.
    pub(super) async fn new(
        settings: &S3Settings,
        access: &Access,
        patience: &Patience,
    ) -> Result<Self, Problem> {
        match access {
            Access::Ambient => Self::ambient(settings, patience).await,
            Access::Anonymous(rules) => Self::anonymous(settings, rules, patience),
        }
    }

    /// What the settings leave open comes from the usual places. Where no credentials are found, requests are not signed:
    /// a public bucket needs none.
    async fn ambient(settings: &S3Settings, patience: &Patience) -> Result<Self, Problem> {
        let config = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http_client(&Access::Ambient, ProxyConfig::from_env()))
            .region(region(settings).await)
            .retry_config(retries(patience))
            .timeout_config(time_outs(patience))
            .load()
            .await;
        Self::of_config(&config, settings, patience).await
    }

    pub(super) async fn of_config(
        config: &SdkConfig,
        settings: &S3Settings,
        patience: &Patience,
    ) -> Result<Self, Problem> {
        let endpoint = match settings.endpoint() {
            Some(endpoint) => Some(endpoint.clone()),
            None => configured_endpoint(config)?,
        };
        let proxies = match &endpoint {
            Some(endpoint) if is_this_machine(endpoint.url()) => ProxyConfig::disabled(),
            _ => ProxyConfig::from_env(),
        };
        let found = credentials(config).await?.map(SharedCredentialsProvider::new);
        let caller = match found {
            Some(_) => Caller::Known,
            None => Caller::Unknown,
        };
        // A provider cannot be taken out of the configuration of the client any more.
        let mut given = config.to_builder();
        given.set_credentials_provider(found);
        let builder = Builder::from(&given.build()).http_client(http_client(&Access::Ambient, proxies));
        let builder = match caller {
            Caller::Known => builder,
            Caller::Unknown | Caller::Anonymous => builder.allow_no_auth(),
        };
        let region = config.region().map_or(DEFAULT_REGION, Region::as_ref).to_owned();
        Ok(Self::build(
            builder,
            settings,
            endpoint.as_ref(),
            caller,
            region,
            patience,
        ))
    }

    /// Takes nothing from the environment, from files or from the machine, and connects only where the rules allow it.
    fn anonymous(settings: &S3Settings, rules: &AddressRules, patience: &Patience) -> Result<Self, Problem> {
        let endpoint = settings.endpoint();
        // An address in place of a name is not resolved, so nobody else would check it.
        endpoint.map_or(Ok(()), |endpoint| rules.check_url(endpoint.url()))?;
        let builder = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .allow_no_auth()
            .http_client(http_client(
                &Access::Anonymous(rules.clone()),
                ProxyConfig::disabled(),
            ));
        let region = settings.region().unwrap_or(DEFAULT_REGION).to_owned();
        Ok(Self::build(
            builder,
            settings,
            endpoint,
            Caller::Anonymous,
            region,
            patience,
        ))
    }

    fn build(
        mut builder: Builder,
        settings: &S3Settings,
        endpoint: Option<&Endpoint>,
        caller: Caller,
        region: String,
        patience: &Patience,
    ) -> Self {
        builder.set_endpoint_url(endpoint.map(|endpoint| endpoint.as_str().to_owned()));
        let config = builder
            .region(Region::new(region.clone()))
            .force_path_style(settings.is_path_style(endpoint))
            .retry_config(retries(patience))
            .retry_classifier(HttpStatusCodeClassifier::new_from_codes(TOO_MANY_REQUESTS))
            .timeout_config(time_outs(patience))
            // Each request says whether it wants a checksum.
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            // A silent body has a time-out of ours, with a message of ours.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self {
            client: Client::from_conf(config),
            caller,
            region,
        }
    }

    /// The same in another region.
    pub(super) fn moved_to(&self, region: String) -> Self {
        let config = self.client.config().to_builder();
        let config = config.region(Region::new(region.clone())).build();
        Self {
            client: Client::from_conf(config),
            caller: self.caller,
            region,
        }
    }
}

/// The region, by the settings, the environment or the profile. The machine's own says nothing about a store that is not on
/// AWS, so it is not asked for then.
async fn region(settings: &S3Settings) -> Region {
    let given = settings.region().map(|region| Region::new(region.to_owned()));
    let is_elsewhere = settings.endpoint().is_some()
        || ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
    let chain = RegionProviderChain::first_try(given)
        .or_else(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new());
    let chain = if is_elsewhere {
        chain
    } else {
        chain.or_else(ImdsRegionProvider::builder().build())
    };
    let found = chain.region().await;
    found.unwrap_or_else(|| Region::from_static(DEFAULT_REGION))
}

/// The endpoint of the variables or of the profile, where those of S3 go first.
fn configured_endpoint(config: &SdkConfig) -> Result<Option<Endpoint>, S3Problem> {
    let key = ServiceConfigKey::builder()
        .service_id("S3")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .map_err(|_| S3Problem::Setup)?;
    let of_s3 = config
        .service_config()
        .and_then(|service| service.load_config(key));
    let text = of_s3.or_else(|| config.endpoint_url().map(ToOwned::to_owned));
    text.map(|text| Endpoint::parse(&text).ok_or(S3Problem::Endpoint))
        .transpose()
}

/// The credentials of the usual places; `None` when there are none in any of them.
async fn credentials(config: &SdkConfig) -> Result<Option<FirstGiven>, S3Problem> {
    let Some(provider) = config.credentials_provider() else {
        return Ok(None);
    };
    let found = timeout(CREDENTIALS_PATIENCE, provider.provide_credentials()).await;
    match found.unwrap_or_else(|_| Err(CredentialsError::provider_timed_out(CREDENTIALS_PATIENCE))) {
        Ok(first) => Ok(Some(FirstGiven {
            first: Mutex::new(Some(first)),
            provider,
        })),
        Err(error) if are_nowhere(&error) => Ok(None),
        Err(error) => Err(S3Problem::Credentials(fault(&error))),
    }
}

/// Whether there is nothing set up. The metadata of an instance is the last place and is asked wherever we run, so whatever
/// answers at its address may do so as it likes.
fn are_nowhere(error: &CredentialsError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<ImdsError>() {
            return true;
        }
        cause = error.source();
    }
    matches!(error, CredentialsError::CredentialsNotLoaded(_))
}

pub(super) fn fault(error: &CredentialsError) -> CredentialsFault {
    match error {
        CredentialsError::InvalidConfiguration(_) => CredentialsFault::Configuration,
        CredentialsError::ProviderTimedOut(_) => CredentialsFault::TimedOut,
        _ => CredentialsFault::Refused,
    }
}

/// Gives out first what was found when we looked, and asks again only when that has expired.
struct FirstGiven {
    first: Mutex<Option<Credentials>>,
    provider: SharedCredentialsProvider,
}

impl fmt::Debug for FirstGiven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstGiven").finish_non_exhaustive()
    }
}

impl ProvideCredentials for FirstGiven {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.next())
    }
}

impl FirstGiven {
    async fn next(&self) -> CredentialsResult {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(credentials) => Ok(credentials),
            None => self.provider.provide_credentials().await,
        }
    }
}

fn retries(patience: &Patience) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(patience.retry.attempts)
        .with_initial_backoff(patience.retry.first_pause)
        .with_max_backoff(patience.retry.longest_pause)
}

fn time_outs(patience: &Patience) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(patience.connect)
        .read_timeout(patience.idle)
        .build()
}

/// Names are resolved and addresses checked as for plain HTTP.
fn http_client(access: &Access, proxies: ProxyConfig) -> SharedHttpClient {
    let names = Names(access.clone());
    HttpBuilder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = ConnectorBuilder::default()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .proxy_config(proxies.clone());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build_with_resolver(names.clone())
    })
}

#[derive(Clone, Debug)]
struct Names(Access);

impl ResolveDns for Names {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move {
            let addresses = resolve(&self.0, name).await.map_err(ResolveDnsError::new)?;
            Ok(addresses.into_iter().map(|address| address.ip()).collect())
        })
    }
}
