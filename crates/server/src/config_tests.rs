//! Tests of what wins over what.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::*;

struct Case {
    home: tempfile::TempDir,
    place: PlaceFlags,
    serve: ServeFlags,
    variables: BTreeMap<&'static str, String>,
}

impl Case {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let variables = BTreeMap::from([("LIBRARIAN_DATA_DIR", home.path().display().to_string())]);
        Self { home, place: PlaceFlags::default(), serve: ServeFlags::default(), variables }
    }

    fn file(self, text: &str) -> Self {
        std::fs::write(self.home.path().join(CONFIG_FILE), text).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.insert(name, value.to_owned());
        self
    }

    fn load(&self) -> anyhow::Result<Config> {
        Config::load(&self.place, &self.serve, &|name| self.variables.get(name).cloned())
    }

    fn check(&self, expected: &Expect) {
        let told = match self.load() {
            Err(error) => format!("{error:#}").replace(&self.home.path().display().to_string(), "HOME"),
            Ok(config) => format!(
                "{}:{} key {:?} model {:?} providers {:?}",
                config.host,
                config.port,
                config.api_key,
                config.model,
                config.providers.iter().map(|provider| provider.name.as_str()).collect::<Vec<_>>()
            ),
        };
        expected.assert_eq(&told);
    }
}

const FILE: &str = "[server]\nhost = \"::1\"\nport = 1\napi_key = \"from-file\"\n[model]\ndefault = \"file/model\"\n\
                    [[providers]]\nname = \"mine\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";

#[test]
fn nothing_said_means_loopback() {
    Case::new().check(&expect!["127.0.0.1:8283 key None model None providers []"]);
}

#[test]
fn flags_win_over_variables_over_the_file() {
    Case::new()
        .file(FILE)
        .check(&expect![[r#"::1:1 key Some([redacted]) model Some("file/model") providers ["mine"]"#]]);
    let mut case = Case::new()
        .file(FILE)
        .variable("LIBRARIAN_HOST", "127.0.0.2")
        .variable("LIBRARIAN_PORT", "2")
        .variable("LIBRARIAN_MODEL", "env/model")
        .variable("OPENAI_API_KEY", "sk-x");
    case.check(&expect![[r#"127.0.0.2:2 key Some([redacted]) model Some("env/model") providers ["mine", "openai"]"#]]);
    case.serve = ServeFlags { host: Some("localhost".to_owned()), port: Some(3) };
    case.check(&expect![[r#"localhost:3 key Some([redacted]) model Some("env/model") providers ["mine", "openai"]"#]]);
}

#[test]
fn what_is_wrong_is_named() {
    Case::new().variable("LIBRARIAN_PORT", "many").check(&expect!["LIBRARIAN_PORT must be 0 to 65535, not `many`"]);
    Case::new().variable("LIBRARIAN_MODEL", "gpt").check(&expect![
        "LIBRARIAN_MODEL: `gpt` is not a model handle: write `provider/model`, for example `builtin/guide`"
    ]);
    Case::new()
        .variable("LIBRARIAN_API_KEY", "two words")
        .check(&expect!["LIBRARIAN_API_KEY holds spaces or characters that can't stand in an HTTP header"]);
    Case::new()
        .variable("LIBRARIAN_LOG_FORMAT", "xml")
        .check(&expect!["LIBRARIAN_LOG_FORMAT must be `text` or `json`, not `xml`"]);
    Case::new()
        .variable("LIBRARIAN_CONFIG", "/nowhere/librarian.toml")
        .check(&expect!["can't read /nowhere/librarian.toml: No such file or directory (os error 2)"]);
    Case::new().file("[server]\nprot = 1\n").check(&expect!["HOME/librarian.toml can't be used: line 2: unknown field `prot`, expected one of `host`, `port`, `api_key`, `allowed_hosts`, `allowed_origins`"]);
    let twice = "[[providers]]\nname = \"a\"\nbase_url = \"http://a\"\n";
    Case::new().file(&twice.repeat(2)).check(&expect!["two [[providers]] are named `a`: give each its own name"]);
}

#[test]
fn the_data_directory_is_the_platforms() {
    let load = |pairs: &[(&str, &str)]| {
        let lookup = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let config = Config::load(&PlaceFlags::default(), &ServeFlags::default(), &lookup);
        config.map(|config| config.data_dir.display().to_string()).unwrap_or_else(|error| error.to_string())
    };
    expect!["/x/librarian"].assert_eq(&load(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")]));
    expect!["/h/.local/share/librarian"].assert_eq(&load(&[("XDG_DATA_HOME", "not/absolute"), ("HOME", "/h")]));
    expect!["no home directory is known: say where to keep data with --data-dir"].assert_eq(&load(&[]));
}

#[test]
fn one_setting_says_where_to_listen() {
    let listen = "[[listen]]\naddress = \"127.0.0.1:1\"\ndoors = [\"openai\"]\n";
    let listeners = Case::new().file(listen).load().unwrap().listeners().unwrap();
    assert_eq!(listeners.len(), 1);
    assert_eq!((listeners[0].address.port(), listeners[0].doors.names()), (1, "openai".to_owned()));
    let usual = Case::new().load().unwrap().listeners().unwrap();
    assert!(usual.len() == 1 && usual[0].address.port() == DEFAULT_PORT && usual[0].doors.has_all());
    let both = expect!["LIBRARIAN_PORT and [[listen]] both say where to listen: keep one of them"];
    Case::new().file(listen).variable("LIBRARIAN_PORT", "2").check(&both);
    Case::new()
        .file(&format!("[server]\nhost = \"::1\"\n{listen}"))
        .check(&expect!["[server] host and [[listen]] both say where to listen: keep one of them"]);
    let mut case = Case::new().file(listen);
    case.serve.host = Some("localhost".to_owned());
    case.check(&expect!["--host and [[listen]] both say where to listen: keep one of them"]);
    let wrong = Case::new().file(&listen.replace("127.0.0.1:1", "127.0.0.1"));
    let error = format!("{:#}", wrong.load().unwrap().listeners().unwrap_err());
    assert!(error.contains("write one as 127.0.0.1:8080"), "{error}");
}

#[test]
fn pages_and_bodies_are_checked() {
    Case::new().file("[server]\nallowed_origins = [\"*\"]\n").check(&expect![
        "[server] allowed_origins has `*`, which is no origin: write scheme and host, as https://ui.home.example"
    ]);
    let hosts = |host: &str| Case::new().file(&format!("[server]\nallowed_hosts = [\"{host}\"]\n")).load();
    for host in ["http://a.example", "a.example/", "*.example", "*", ""] {
        let told = hosts(host).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains(&format!("`{host}`, which is no host: write its name alone")), "{host}: {told}");
    }
    for host in ["a.example", "a.example:8283", "192.168.1.5", "[::1]"] {
        assert!(hosts(host).is_ok(), "{host}");
    }
    Case::new().file("[limits]\nbody_mib = 0\n").check(&expect!["[limits] body_mib must be 1 to 256, not 0"]);
    Case::new().file("[limits]\nbody_mib = 257\n").check(&expect!["[limits] body_mib must be 1 to 256, not 257"]);
    assert_eq!(Case::new().file("[limits]\nbody_mib = 32\n").load().unwrap().body_limit, 32 * MIB);
    assert_eq!(Case::new().load().unwrap().body_limit, USUAL_LIMIT);
}

#[test]
fn names_become_addresses() {
    let mut case = Case::new();
    for (host, address) in
        [("localhost", Some("127.0.0.1:8283")), ("[::1]", Some("[::1]:8283")), ("::1", Some("[::1]:8283")), ("", None)]
    {
        case.serve.host = Some(host.to_owned());
        let found = case.load().unwrap().address().ok().map(|address| address.to_string());
        assert_eq!(found.as_deref(), address, "{host}");
    }
}
