//! For which names this server answers, and which pages may send it requests.
//!
//! A page in a browser can make its own name resolve to a loopback address and then reach a local server as if it
//! were its own (DNS rebinding). It can't change the `Host` and `Origin` that the browser sends, so both are checked.
//! Pure: nothing here looks a name up.

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, Uri, header};

use crate::dialect::Refusal;

/// The names that a request may be addressed to and the origins that it may come from.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    bound: IpAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowedHosts {
    /// Loopback names and `bound` are always allowed; `hosts` and `origins` are the operator's own.
    pub(crate) fn new(bound: IpAddr, hosts: &[String], origins: &[String]) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.trim_end_matches('/').to_lowercase()).collect();
        Self { bound, hosts: lower(hosts), origins: lower(origins) }
    }

    /// Refuses what is addressed to somebody else or sent by a foreign page.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = addressed_to(uri, headers)?;
        if !self.answers_for(&host) {
            return Err(Refusal::WrongHost(format!(
                "this server does not answer for the host `{}`: use its address, or add the name to `allowed_hosts` \
                 in the section [server] of librarian.toml",
                printable(host.host())
            )));
        }
        match headers.get(header::ORIGIN) {
            None => Ok(()),
            Some(origin) if origin.to_str().is_ok_and(|origin| self.accepts_origin(origin, &host)) => Ok(()),
            Some(origin) => Err(Refusal::ForeignOrigin(format!(
                "pages from `{}` may not use this server: add the origin to `allowed_origins` in the section [server] \
                 of librarian.toml",
                printable(&String::from_utf8_lossy(origin.as_bytes()))
            ))),
        }
    }

    fn answers_for(&self, host: &Authority) -> bool {
        let name = host.host().trim_end_matches('.').to_lowercase();
        if self.hosts.iter().any(|allowed| *allowed == name || *allowed == host.as_str().to_lowercase()) {
            return true;
        }
        match literal(&name) {
            // Rebinding needs a name, so a server that listens on every address may be called by any address.
            Some(address) => address.is_loopback() || address == self.bound || self.bound.is_unspecified(),
            None => name == "localhost",
        }
    }

    fn accepts_origin(&self, origin: &str, host: &Authority) -> bool {
        let origin = origin.to_lowercase();
        let same = |scheme: &str, port: u16| {
            let authority = origin.strip_prefix(scheme)?.parse::<Authority>().ok()?;
            let same_name = authority.host().eq_ignore_ascii_case(host.host());
            Some(same_name && authority.port_u16().unwrap_or(port) == host.port_u16().unwrap_or(port))
        };
        self.origins.contains(&origin) || same("http://", 80) == Some(true) || same("https://", 443) == Some(true)
    }
}

/// Whom the request is addressed to. Two answers are as bad as none: a proxy may have looked at the other one.
fn addressed_to(uri: &Uri, headers: &HeaderMap) -> Result<Authority, Refusal> {
    let wrong = |text: &str| Refusal::WrongHost(text.to_owned());
    let mut hosts = headers.get_all(header::HOST).iter();
    let Some(host) = hosts.next() else {
        return Err(wrong("the request has no Host header: send the host that it is meant for"));
    };
    if hosts.next().is_some() {
        return Err(wrong("the request has more than one Host header"));
    }
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let Some(host) = host.filter(|host| !host.as_str().contains('@')) else {
        return Err(wrong("the request's Host header is not a host name or address"));
    };
    if uri.authority().is_some_and(|target| !target.as_str().eq_ignore_ascii_case(host.as_str())) {
        return Err(wrong("the request's URL and its Host header name different hosts"));
    }
    Ok(host)
}

/// The address that `name` writes out, with or without the brackets of IPv6.
fn literal(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The beginning of what a client sent, without anything that could break a line or a terminal.
fn printable(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_control() || c == '`' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, host: &str, origin: Option<&str>) -> u16 {
        let allowed = AllowedHosts::new(
            bound.parse().unwrap(),
            &["Books.example".to_owned()],
            &["https://ui.example".to_owned(), "null-app://x/".to_owned()],
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        allowed
            .check(&Uri::from_static("/v1/agents/"), &headers)
            .map_or_else(|refusal| refusal.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        for (bound, host, status) in [
            ("127.0.0.1", "localhost:8283", 200),
            ("127.0.0.1", "LOCALHOST", 200),
            ("127.0.0.1", "127.0.0.1:8283", 200),
            ("127.0.0.1", "[::1]:8283", 200),
            ("127.0.0.1", "books.example", 200),
            ("127.0.0.1", "evil.example:8283", 421),
            ("127.0.0.1", "localhost.evil.example", 421),
            ("127.0.0.1", "localhost@evil.example", 421),
            ("127.0.0.1", "192.168.1.5:8283", 421),
            ("192.168.1.5", "192.168.1.5:8283", 200),
            ("0.0.0.0", "192.168.1.5:8283", 200),
            ("0.0.0.0", "evil.example", 421),
            ("127.0.0.1", "", 421),
        ] {
            assert_eq!(check(bound, host, None), status, "{bound} {host}");
        }
    }

    #[test]
    fn foreign_pages_are_refused() {
        for (host, origin, status) in [
            ("localhost:8283", "http://localhost:8283", 200),
            ("localhost", "http://localhost", 200),
            ("books.example", "https://books.example", 200),
            ("books.example", "https://ui.example", 200),
            ("localhost:8283", "null-app://x", 200),
            ("localhost:8283", "http://localhost:3000", 403),
            ("localhost:8283", "http://evil.example", 403),
            ("localhost:8283", "null", 403),
        ] {
            assert_eq!(check("127.0.0.1", host, Some(origin)), status, "{host} {origin}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let allowed = AllowedHosts::new(IpAddr::from([127, 0, 0, 1]), &[], &[]);
        assert!(allowed.check(&Uri::from_static("/"), &HeaderMap::new()).is_err());
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert!(allowed.check(&Uri::from_static("http://evil.example/"), &headers).is_err());
        assert!(allowed.check(&Uri::from_static("http://localhost/"), &headers).is_ok());
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert!(allowed.check(&Uri::from_static("/"), &headers).is_err());
    }
}
