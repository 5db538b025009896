//! Tests of what the file may say about OpenAI's door.

use expect_test::{Expect, expect};

use super::*;
use crate::config_file::ConfigFile;

fn load(text: &str, debug_sessions: Option<&str>) -> anyhow::Result<GatewayConfig> {
    let file = ConfigFile::parse(text)?;
    let environment = |name: &str| debug_sessions.filter(|_| name == DEBUG_SESSIONS).map(str::to_owned);
    gateway_config(&file.gateway, file.alias, file.unescape, &environment)
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&load(text, None).map_or_else(|error| format!("{error:#}"), |_| "fine".to_owned()));
}

fn alias(name: &str) -> String {
    format!("[[alias]]\nname = \"{name}\"\nagent = \"ada\"\n")
}

#[test]
fn nothing_said_is_the_default() {
    assert_eq!(load("", None).unwrap(), GatewayConfig::default());
    assert_eq!(load("[gateway]\n", None).unwrap(), GatewayConfig::default());
}

#[test]
fn everything_that_is_said_arrives() {
    let text = "[gateway]\npass_through = true\nsession_capacity = 7\nsession_idle_minutes = 5\ndebug_sessions = true\n\
                follow_edits = false\n\
                [[alias]]\nname = \"gpt-4o\"\nagent = \"ada\"\nmode = \"worker\"\nmemory = \"shared\"\n\
                reasoning = \"think_tags\"\nunescape = \"auto\"\nprompt_cache_key = true\n\
                [[alias]]\nname = \"plain\"\nagent = \"ada\"\n\
                [[unescape]]\nmodel = \"mine/qwen3\"\nunescape = \"on\"\n";
    let plain = Alias {
        name: "plain".to_owned(),
        agent: "ada".to_owned(),
        mode: Mode::Auto,
        memory: MemoryScope::Private,
        reasoning: ReasoningShown::Off,
        unescape: None,
        prompt_cache_key: false,
    };
    let full = Alias {
        name: "gpt-4o".to_owned(),
        mode: Mode::Worker,
        memory: MemoryScope::Shared,
        reasoning: ReasoningShown::ThinkTags,
        unescape: Some(Unescape::Auto),
        prompt_cache_key: true,
        ..plain.clone()
    };
    let expected = GatewayConfig {
        aliases: vec![full, plain],
        pass_through: true,
        session_capacity: 7,
        session_idle: Duration::from_secs(300),
        debug_sessions: true,
        follow_edits: false,
        unescape: vec![("mine/qwen3".to_owned(), Unescape::On)],
    };
    assert_eq!(load(text, None).unwrap(), expected);
}

#[test]
fn the_variable_wins_over_the_file() {
    for (file, variable, expected) in [
        ("", "1", true),
        ("", "true", true),
        ("[gateway]\ndebug_sessions = true\n", "0", false),
        ("[gateway]\ndebug_sessions = false\n", "1", true),
    ] {
        assert_eq!(load(file, Some(variable)).unwrap().debug_sessions, expected, "{file} {variable}");
    }
    let error = load("", Some("maybe")).unwrap_err().to_string();
    expect!["PROXY_DEBUG_SESSIONS must be `1` or `0`, not `maybe`"].assert_eq(&error);
}

#[test]
fn what_is_misspelt_is_named() {
    check(
        "[gateway]\nsessions = 2\n",
        &expect![
            "line 2: unknown field `sessions`, expected one of `pass_through`, `session_capacity`, `session_idle_minutes`, `debug_sessions`, `follow_edits`"
        ],
    );
    check(
        &format!("{}mood = \"x\"\n", alias("a")),
        &expect![
            "line 4: unknown field `mood`, expected one of `name`, `agent`, `mode`, `memory`, `reasoning`, `unescape`, `prompt_cache_key`"
        ],
    );
    check("[[alias]]\nname = \"a\"\n", &expect!["line 1: missing field `agent`"]);
    check(
        &format!("{}mode = \"loud\"\n", alias("a")),
        &expect!["line 4: unknown variant `loud`, expected one of `auto`, `worker`, `persona`"],
    );
    check(
        &format!("{}memory = \"none\"\n", alias("a")),
        &expect!["line 4: unknown variant `none`, expected `private` or `shared`"],
    );
    check(
        &format!("{}reasoning = \"on\"\n", alias("a")),
        &expect!["line 4: unknown variant `on`, expected one of `off`, `reasoning_content`, `reasoning`, `think_tags`"],
    );
    check(
        "[[unescape]]\nmodel = \"a/b\"\nunescape = \"yes\"\n",
        &expect!["line 3: unknown variant `yes`, expected one of `off`, `on`, `auto`"],
    );
}

#[test]
fn a_name_means_one_thing() {
    check(&alias("my agent"), &expect!["fine"]);
    check(&alias("llama3:8b"), &expect!["fine"]);
    check(&alias("a").repeat(2), &expect!["two [[alias]] are named `a`: give each its own name"]);
    check(
        &alias("openai/gpt-4o"),
        &expect![
            "[[alias]] `openai/gpt-4o`: name reads as the model handle `provider/model`, which clients may mean: choose a name without a slash"
        ],
    );
    let id = AgentId::random();
    assert!(load(&alias(&id.to_string()), None).unwrap_err().to_string().contains(&id.to_string()));
    check(&alias(""), &expect!["[[alias]] ``: name is empty: write the model name that clients will send"]);
    check(&alias(" a"), &expect!["[[alias]] ` a`: name begins or ends with a space, which clients leave out"]);
    check(&alias("a\\nb"), &expect!["[[alias]] `a?b`: name holds a line break or another control character"]);
    assert!(load(&alias(&"x".repeat(201)), None).unwrap_err().to_string().contains("xxx"));
    check(
        "[[alias]]\nname = \"a\"\nagent = \"\"\n",
        &expect!["[[alias]] `a`: agent is empty: write an agent's name or id"],
    );
    check(
        "[[unescape]]\nmodel = \"qwen\"\nunescape = \"on\"\n",
        &expect![
            "[[unescape]] model: `qwen` is not a model handle: write `provider/model`, for example `builtin/guide`"
        ],
    );
    check(
        &"[[unescape]]\nmodel = \"a/b\"\nunescape = \"on\"\n".repeat(2),
        &expect!["two [[unescape]] are about `a/b`: keep one of them"],
    );
}

#[test]
fn numbers_have_bounds() {
    check("[gateway]\nsession_capacity = 0\n", &expect!["[gateway] session_capacity must be 1 to 1000000, not 0"]);
    check(
        "[gateway]\nsession_idle_minutes = 0\n",
        &expect!["[gateway] session_idle_minutes must be 1 to 525600, not 0"],
    );
    check(
        "[gateway]\nsession_idle_minutes = 525601\n",
        &expect!["[gateway] session_idle_minutes must be 1 to 525600, not 525601"],
    );
    let many: String = (0..=MAX_ENTRIES).map(|number| alias(&format!("a{number}"))).collect();
    check(&many, &expect!["there are 1001 [[alias]], and 1000 are allowed"]);
}
