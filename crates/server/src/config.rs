//! What the operator asked for: flags, then the environment, then `librarian.toml`, then defaults.
//!
//! This is the only reader of the environment. Everything is parsed and checked here, once; the rest of the house
//! gets typed values. Keys can't be given as flags, because every user of a machine can read those.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use domain::ModelHandle;
use openai_gateway::config::GatewayConfig;
use providers::ProviderConfig;

use crate::config_file::{ConfigFile, LimitsSection, ProviderSection, ServerSection};
use crate::cors::origin_fault;
use crate::gateway_config::gateway_config;
use crate::limits::RateLimits;
use crate::listen::{Listen, listens, preferred};
use crate::request_body::{MAX_BODY_MIB, MIB, USUAL_LIMIT};
use crate::secret::Secret;

/// Where we listen unless told otherwise.
const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 8283;
/// The name of the file that is read from the data directory if it is there.
pub(crate) const CONFIG_FILE: &str = "librarian.toml";

/// Flags of every command.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PlaceFlags {
    /// Directory that holds everything [env: LIBRARIAN_DATA_DIR] [default: ~/.local/share/librarian]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Configuration file [env: LIBRARIAN_CONFIG] [default: librarian.toml in the data directory]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Flags of `serve`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ServeFlags {
    /// Address to listen on; others than loopback need LIBRARIAN_API_KEY [env: LIBRARIAN_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes a free one [env: LIBRARIAN_PORT] [default: 8283]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Everything that was asked for, checked.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What was written about listening at several addresses; where nothing was, `host` and `port` count.
    pub(crate) listen: Vec<Listen>,
    pub(crate) data_dir: PathBuf,
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    /// The model of agents that are made without one.
    pub(crate) model: Option<ModelHandle>,
    pub(crate) providers: Vec<ProviderConfig>,
    pub(crate) discover_local: bool,
    /// What the operator decided about OpenAI's door.
    pub(crate) gateway: GatewayConfig,
    /// Bytes that a request's body may have.
    pub(crate) body_limit: usize,
    /// What each key may use of OpenAI's door.
    pub(crate) rate_limits: RateLimits,
    /// A filter of log lines, where one was given.
    pub(crate) log: Option<String>,
    pub(crate) log_format: LogFormat,
}

/// Looks a variable up. Tests bring their own.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process. An empty variable counts as one that is not set.
pub(crate) fn process_environment(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Config {
    /// Brings everything together; the error says which setting is wrong and what it may be.
    pub(crate) fn load(place: &PlaceFlags, serve: &ServeFlags, environment: Environment<'_>) -> anyhow::Result<Self> {
        let data_dir = data_dir(place, environment)?;
        let (file, settings) = config_file(place, &data_dir, environment)?;
        let server = settings.server;
        let listen = listens(settings.listen, elsewhere(serve, &server, environment))?;
        let port = match environment("LIBRARIAN_PORT") {
            Some(text) => Some(text.parse().map_err(|_| anyhow!("LIBRARIAN_PORT must be 0 to 65535, not `{text}`"))?),
            None => None,
        };
        let api_key = match environment("LIBRARIAN_API_KEY") {
            Some(key) => Some(Secret::new(key).map_err(|fault| anyhow!("LIBRARIAN_API_KEY {fault}"))?),
            None => server.api_key.map(Secret::new).transpose().map_err(|fault| anyhow!("[server] api_key {fault}"))?,
        };
        let gateway = gateway_config(&settings.gateway, settings.alias, settings.unescape, environment)?;
        let model = environment("LIBRARIAN_MODEL").map(|model| ("LIBRARIAN_MODEL", model));
        let model = model.or(settings.model.default.map(|model| ("[model] default", model)));
        let model = model.map(|(source, text)| ModelHandle::parse(&text).context(source)).transpose()?;
        Ok(Self {
            host: serve.host.clone().or(environment("LIBRARIAN_HOST")).or(server.host).unwrap_or(DEFAULT_HOST.into()),
            port: serve.port.or(port).or(server.port).unwrap_or(DEFAULT_PORT),
            listen,
            data_dir,
            file,
            api_key,
            allowed_hosts: hosts(server.allowed_hosts)?,
            allowed_origins: origins(server.allowed_origins)?,
            model,
            providers: provider_configs(settings.providers, environment)?,
            discover_local: settings.model.discover_local.unwrap_or(true),
            gateway,
            body_limit: body_limit(&settings.limits)?,
            rate_limits: RateLimits {
                requests_per_minute: settings.limits.requests_per_minute,
                tokens_per_minute: settings.limits.tokens_per_minute,
                concurrent_requests: settings.limits.concurrent_requests,
            },
            log: environment("LIBRARIAN_LOG"),
            log_format: log_format(environment)?,
        })
    }

    /// The address to listen on. Names are looked up; IPv4 is preferred where a name has both, as clients do.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        let bare = self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host);
        let addresses = (bare, self.port)
            .to_socket_addrs()
            .with_context(|| format!("`{}` is not an address of this machine: try --host 127.0.0.1", self.host))?;
        preferred(addresses).ok_or_else(|| anyhow!("`{}` has no address: try --host 127.0.0.1", self.host))
    }
}

/// The setting that says where to listen, if one was given. It would contradict `[[listen]]`.
fn elsewhere(serve: &ServeFlags, server: &ServerSection, environment: Environment<'_>) -> Option<&'static str> {
    let given = [
        ("--host", serve.host.is_some()),
        ("--port", serve.port.is_some()),
        ("LIBRARIAN_HOST", environment("LIBRARIAN_HOST").is_some()),
        ("LIBRARIAN_PORT", environment("LIBRARIAN_PORT").is_some()),
        ("[server] host", server.host.is_some()),
        ("[server] port", server.port.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

/// A name that no `Host` header can hold would be kept and never help.
fn hosts(hosts: Vec<String>) -> anyhow::Result<Vec<String>> {
    for host in &hosts {
        let is_name = !host.contains(['/', '@', '*']) && host.parse::<http::uri::Authority>().is_ok();
        ensure!(
            is_name,
            "[server] allowed_hosts has `{}`, which is no host: write its name alone, as memory.home.example",
            host.escape_debug()
        );
    }
    Ok(hosts)
}

fn origins(origins: Vec<String>) -> anyhow::Result<Vec<String>> {
    for origin in &origins {
        if let Some(fault) = origin_fault(origin) {
            bail!("[server] allowed_origins has `{}`, which is no origin: {fault}", origin.escape_debug());
        }
    }
    Ok(origins)
}

fn body_limit(limits: &LimitsSection) -> anyhow::Result<usize> {
    let Some(mib) = limits.body_mib else { return Ok(USUAL_LIMIT) };
    ensure!((1..=MAX_BODY_MIB).contains(&mib), "[limits] body_mib must be 1 to {MAX_BODY_MIB}, not {mib}");
    Ok(mib * MIB)
}

/// The directory that holds everything.
pub(crate) fn data_dir(place: &PlaceFlags, environment: Environment<'_>) -> anyhow::Result<PathBuf> {
    let chosen = place.data_dir.clone().or(environment("LIBRARIAN_DATA_DIR").map(PathBuf::from));
    let platform = || {
        let data_home = environment("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || environment("HOME").map(|home| Path::new(&home).join(".local/share"));
        data_home.or_else(home).map(|parent| parent.join("librarian"))
    };
    let path = chosen.or_else(platform);
    let path = path.ok_or_else(|| anyhow!("no home directory is known: say where to keep data with --data-dir"))?;
    std::path::absolute(&path).with_context(|| format!("`{}` can't be the data directory", path.display()))
}

/// The configuration file, if one was named or lies in the data directory.
fn config_file(
    place: &PlaceFlags,
    data_dir: &Path,
    environment: Environment<'_>,
) -> anyhow::Result<(Option<PathBuf>, ConfigFile)> {
    let named = place.config.clone().or(environment("LIBRARIAN_CONFIG").map(PathBuf::from));
    let usual = data_dir.join(CONFIG_FILE);
    let path = named.or_else(|| usual.is_file().then_some(usual));
    let settings = path.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
    Ok((path, settings))
}

fn log_format(environment: Environment<'_>) -> anyhow::Result<LogFormat> {
    match environment("LIBRARIAN_LOG_FORMAT").as_deref() {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(anyhow!("LIBRARIAN_LOG_FORMAT must be `text` or `json`, not `{other}`")),
    }
}

/// The file's providers first: whoever writes a file means it more than a variable left in a shell.
fn provider_configs(
    sections: Vec<ProviderSection>,
    environment: Environment<'_>,
) -> anyhow::Result<Vec<ProviderConfig>> {
    let mut providers: Vec<ProviderConfig> = Vec::new();
    for section in sections {
        if providers.iter().any(|provider| provider.name == section.name) {
            anyhow::bail!("two [[providers]] are named `{}`: give each its own name", section.name);
        }
        providers.push(provider_config(section));
    }
    for provider in providers::from_environment(environment) {
        if !providers.iter().any(|known| known.name == provider.name) {
            providers.push(provider);
        }
    }
    Ok(providers)
}

fn provider_config(section: ProviderSection) -> ProviderConfig {
    let mut provider = ProviderConfig::new(section.name, Some(&section.base_url));
    provider.api_key = section.api_key;
    provider.default_model = section.default_model;
    provider
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
