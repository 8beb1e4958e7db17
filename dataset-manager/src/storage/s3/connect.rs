//! The client of the bucket: as whom, where, and by which means. Nothing is taken from the usual places of AWS.

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Region, RequestChecksumCalculation, ResponseChecksumValidation, RuntimeComponents,
    SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_sdk_s3::{Client, Config};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Builder as HttpBuilder, ConnectorBuilder};
use aws_smithy_runtime::client::retries::classifiers::HttpStatusCodeClassifier;
use reprise_crds::ResultsS3;
use url::{Host, Url};

use super::Patience;
use super::credentials::ResultsCredentials;
use super::problem::S3Problem;

/// The region of a bucket in a store that has no regions.
const DEFAULT_REGION: &str = "us-east-1";

/// Asked again, besides the answers that the client asks again after by itself.
const TOO_MANY_REQUESTS: &[u16] = &[429];

pub(super) fn client(
    settings: &ResultsS3,
    credentials: ResultsCredentials,
    patience: Patience,
) -> Result<Client, S3Problem> {
    let endpoint = settings.endpoint.as_deref().map(Url::parse);
    let endpoint = endpoint.transpose().map_err(|_| S3Problem::Endpoint)?;
    let is_path_style = endpoint.as_ref().is_some_and(|endpoint| !is_aws(endpoint));
    let proxies = match &endpoint {
        Some(endpoint) if is_this_machine(endpoint) => ProxyConfig::disabled(),
        _ => ProxyConfig::from_env(),
    };
    let region = settings
        .region
        .clone()
        .unwrap_or_else(|| DEFAULT_REGION.to_owned());
    let mut builder = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(credentials.into_inner())
        .region(Region::new(region))
        .force_path_style(settings.path_style.unwrap_or(is_path_style))
        .http_client(http_client(proxies))
        .retry_config(retries(patience))
        .retry_classifier(HttpStatusCodeClassifier::new_from_codes(TOO_MANY_REQUESTS))
        .timeout_config(time_outs(patience))
        // Each request brings its own.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        // A part that stalls runs into the time-out for its answer.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    builder.set_endpoint_url(endpoint.map(String::from));
    Ok(Client::from_conf(builder.build()))
}

fn retries(patience: Patience) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(patience.attempts)
        .with_initial_backoff(patience.first_pause)
        .with_max_backoff(patience.longest_pause)
}

fn time_outs(patience: Patience) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(patience.connect)
        .operation_attempt_timeout(patience.answer)
        .operation_timeout(patience.whole)
        .build()
}

fn http_client(proxies: ProxyConfig) -> SharedHttpClient {
    HttpBuilder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = ConnectorBuilder::default()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .proxy_config(proxies.clone());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}

fn is_aws(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    ["amazonaws.com", "amazonaws.com.cn"].iter().any(|aws| {
        host.strip_suffix(aws)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// No proxy can reach it for us.
fn is_this_machine(endpoint: &Url) -> bool {
    match endpoint.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
