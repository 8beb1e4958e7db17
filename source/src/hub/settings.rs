//! Which hub is asked, as whom, and where its files are kept.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

use super::problem::HubProblem;
use super::token::{Token, TokenOrigin};
use crate::environment::says_yes;
use crate::guard::{Access, AddressRules};

const PUBLIC_HUB: &str = "https://huggingface.co";

/// Taken from the same variables and files as the Python client takes them, in the same order. Nothing else in this module
/// looks at the environment.
#[derive(Clone, Debug)]
pub(crate) struct HubSettings {
    pub(super) endpoint: Url,
    pub(super) access: Access,
    pub(super) token: Option<Token>,
    cache: PathBuf,
}

impl HubSettings {
    /// What this user's environment says.
    pub(crate) fn of_environment() -> Result<Self, HubProblem> {
        Self::of(|name| env::var(name).ok())
    }

    /// What the variables say that `variable` finds.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HubProblem> {
        let variables = Variables(|name: &str| variable(name).filter(|value| !value.is_empty()));
        let home = variables.hugging_face_home();
        let cache = variables.cache().ok_or(HubProblem::NoHome)?;
        Ok(Self {
            endpoint: endpoint(variables.get("HF_ENDPOINT").as_deref().unwrap_or(PUBLIC_HUB))?,
            access: Access::Ambient,
            token: variables.token(home.as_deref())?,
            cache,
        })
    }

    /// For whoever pins on behalf of others: no token, no proxy, nothing from the environment. `None` is the public hub.
    pub(crate) fn anonymous(
        endpoint_text: Option<&str>,
        cache: PathBuf,
        rules: AddressRules,
    ) -> Result<Self, HubProblem> {
        Ok(Self {
            endpoint: endpoint(endpoint_text.unwrap_or(PUBLIC_HUB))?,
            access: Access::Anonymous(rules),
            token: None,
            cache,
        })
    }

    /// The root of the cache.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }
}

/// The folder of the Hugging Face cache, as this user's environment says it; `None` where nothing names one.
pub(super) fn cache_folder() -> Option<PathBuf> {
    Variables(|name: &str| env::var(name).ok().filter(|value| !value.is_empty())).cache()
}

fn endpoint(text: &str) -> Result<Url, HubProblem> {
    let url = Url::parse(text).map_err(|_| HubProblem::Endpoint)?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then_some(url).ok_or(HubProblem::Endpoint)
}

/// Environment variables; an empty one is none.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| says_yes(&value))
    }

    fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    fn hugging_face_home(&self) -> Option<PathBuf> {
        self.path("HF_HOME")
            .or_else(|| Some(self.path("XDG_CACHE_HOME")?.join("huggingface")))
            .or_else(|| Some(self.home()?.join(".cache/huggingface")))
    }

    fn cache(&self) -> Option<PathBuf> {
        self.path("HF_HUB_CACHE")
            .or_else(|| self.path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| Some(self.hugging_face_home()?.join("hub")))
    }

    /// With a leading `~` and variables in it replaced, as the Python client does.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let text = self.expanded(&self.get(name)?);
        match (text.strip_prefix('~'), self.home()) {
            (Some(""), Some(home)) => Some(home),
            (Some(rest), Some(home)) if rest.starts_with('/') => Some(home.join(&rest[1..])),
            _ => Some(PathBuf::from(text)),
        }
    }

    /// `$NAME` and `${NAME}` replaced; what is not set stays as it is.
    fn expanded(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut expanded = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let (name, rest) = match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
                Some(braced) => braced,
                None => part.split_at(part.find(|c| !is_of_name(c)).unwrap_or(part.len())),
            };
            if let Some(value) = self.get(name) {
                expanded.push_str(&value);
                expanded.push_str(rest);
            } else {
                expanded.push('$');
                expanded.push_str(part);
            }
        }
        expanded
    }

    fn token(&self, home: Option<&Path>) -> Result<Option<Token>, HubProblem> {
        if self.is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            return Ok(None);
        }
        for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
            if let Some(text) = self.get(name) {
                return parse(&text, TokenOrigin::Variable(name));
            }
        }
        let file = self.path("HF_TOKEN_PATH").or_else(|| Some(home?.join("token")));
        let Some(path) = file else {
            return Ok(None);
        };
        match fs::read_to_string(&path) {
            Ok(text) => parse(&text, TokenOrigin::File(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(HubProblem::TokenFile { path, source }),
        }
    }
}

fn parse(text: &str, origin: TokenOrigin) -> Result<Option<Token>, HubProblem> {
    Token::parse(text, origin.clone()).map_err(|_| HubProblem::TokenCharacters(origin))
}
