//! Where the server listens, and what it offers at each address.
//!
//! Without any `[[listen]]` there is one address with every door. With them there are those and no others, so that an
//! operator can show OpenAI's routes to the world and keep everything else to the machine.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;

use crate::config::Config;
use crate::door::{Door, OpenDoors};

/// Addresses that a file may name.
const MAX_LISTENERS: usize = 16;

/// `[[listen]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListenSection {
    address: String,
    doors: Vec<Door>,
}

/// One address, as it was written, and the doors behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listen {
    address: String,
    doors: OpenDoors,
}

/// An address to listen on, or that is listened on, and the doors behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    pub(crate) doors: OpenDoors,
}

/// The sections, checked. `elsewhere` names another setting that says where to listen, if one was given.
pub(crate) fn listens(sections: Vec<ListenSection>, elsewhere: Option<&str>) -> anyhow::Result<Vec<Listen>> {
    ensure!(
        sections.len() <= MAX_LISTENERS,
        "there are {} [[listen]], and {MAX_LISTENERS} are allowed",
        sections.len()
    );
    if let (Some(elsewhere), false) = (elsewhere, sections.is_empty()) {
        bail!("{elsewhere} and [[listen]] both say where to listen: keep one of them");
    }
    let mut listens: Vec<Listen> = Vec::with_capacity(sections.len());
    for ListenSection { address, doors } in sections {
        let doors = OpenDoors::only(doors);
        ensure!(
            !doors.is_empty(),
            "[[listen]] {address}: doors is empty: name those to open, of {}",
            OpenDoors::all().names()
        );
        let is_free = |other: &Listen| other.address != address || address.ends_with(":0");
        ensure!(listens.iter().all(is_free), "two [[listen]] have the address {address}: name all its doors in one");
        listens.push(Listen { address, doors });
    }
    Ok(listens)
}

impl Config {
    /// Everything to listen on. Names are looked up.
    pub(crate) fn listeners(&self) -> anyhow::Result<Vec<Listener>> {
        if self.listen.is_empty() {
            return Ok(vec![Listener { address: self.address()?, doors: OpenDoors::all() }]);
        }
        let mut listeners = Vec::with_capacity(self.listen.len());
        for Listen { address, doors } in &self.listen {
            let found = address.to_socket_addrs().with_context(|| {
                format!("[[listen]] `{address}` is not an address of this machine: write one as 127.0.0.1:8080")
            });
            let address = preferred(found?).ok_or_else(|| anyhow!("[[listen]] `{address}` has no address"))?;
            listeners.push(Listener { address, doors: doors.clone() });
        }
        Ok(listeners)
    }
}

/// IPv4 where a name has both, as clients do.
pub(crate) fn preferred(addresses: impl Iterator<Item = SocketAddr>) -> Option<SocketAddr> {
    let addresses: Vec<_> = addresses.collect();
    addresses.iter().find(|address| address.is_ipv4()).or(addresses.first()).copied()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::config_file::ConfigFile;

    fn check(text: &str, elsewhere: Option<&str>, expected: &Expect) {
        let listens = ConfigFile::parse(text).and_then(|file| listens(file.listen, elsewhere));
        let told = match listens {
            Err(error) => format!("{error:#}"),
            Ok(listens) => {
                let each = listens.iter().map(|listen| format!("{} {}\n", listen.address, listen.doors.names()));
                each.collect()
            }
        };
        expected.assert_eq(&told);
    }

    fn listen(address: &str, doors: &str) -> String {
        format!("[[listen]]\naddress = \"{address}\"\ndoors = [{doors}]\n")
    }

    #[test]
    fn each_address_has_its_doors() {
        let text = listen("0.0.0.0:80", "\"openai\"") + &listen("127.0.0.1:81", "\"health\", \"console\", \"letta\"");
        check(
            &text,
            None,
            &expect![[r#"
            0.0.0.0:80 openai
            127.0.0.1:81 letta, console, health
        "#]],
        );
        check(
            &listen("127.0.0.1:0", "\"openai\"").repeat(2),
            None,
            &expect![[r#"
            127.0.0.1:0 openai
            127.0.0.1:0 openai
        "#]],
        );
        check("", Some("--port"), &expect![""]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        check(
            &listen("a:1", ""),
            None,
            &expect![
                "[[listen]] a:1: doors is empty: name those to open, of openai, letta, console, health, metrics, debug"
            ],
        );
        check(
            &listen("a:1", "\"front\""),
            None,
            &expect![
                "line 3: unknown variant `front`, expected one of `openai`, `letta`, `console`, `health`, `metrics`, `debug`"
            ],
        );
        check("[[listen]]\naddress = \"a:1\"\n", None, &expect!["line 1: missing field `doors`"]);
        check(
            &format!("{}port = 1\n", listen("a:1", "\"openai\"")),
            None,
            &expect!["line 4: unknown field `port`, expected `address` or `doors`"],
        );
        check(
            &listen("a:1", "\"openai\"").repeat(2),
            None,
            &expect!["two [[listen]] have the address a:1: name all its doors in one"],
        );
        check(
            &listen("a:1", "\"openai\""),
            Some("--port"),
            &expect!["--port and [[listen]] both say where to listen: keep one of them"],
        );
        check(&listen("a:0", "\"openai\"").repeat(17), None, &expect!["there are 17 [[listen]], and 16 are allowed"]);
    }
}
