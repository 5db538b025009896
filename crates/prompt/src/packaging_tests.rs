//! Tests of the module beside this file.

use expect_test::{Expect, expect};

use super::*;
use crate::heartbeats;

const ZONE: &str = "America/New_York";

fn at() -> Timestamp {
    "2026-11-18T05:52:39Z".parse().unwrap()
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[test]
fn returns() {
    check(
        &function_return(ToolStatus::Success, "Größe: \"3\"\n🐈 \u{7}", at(), ZONE),
        expect![[r#"
        {
          "status": "OK",
          "message": "Größe: \"3\"\n🐈 \u0007",
          "time": "2026-11-18 12:52:39 AM EST-0500"
        }"#]],
    );
    check(
        &function_return(ToolStatus::Error, "", at(), ZONE),
        expect![[r#"
        {
          "status": "Failed",
          "message": "",
          "time": "2026-11-18 12:52:39 AM EST-0500"
        }"#]],
    );
    check(
        &boot_return(at(), "UTC"),
        expect![[r#"
        {
          "status": "OK",
          "message": null,
          "time": "2026-11-18 05:52:39 AM UTC+0000"
        }"#]],
    );
}

#[test]
fn events() {
    check(
        &heartbeat(heartbeats::REQUESTED, at(), ZONE),
        expect![[r#"
        {
          "type": "heartbeat",
          "reason": "[This is an automated system message hidden from the user] Function called using request_heartbeat=true, returning control",
          "time": "2026-11-18 12:52:39 AM EST-0500"
        }"#]],
    );
    check(
        &login(at(), "UTC"),
        expect![[r#"
        {
          "type": "login",
          "last_login": "Never (first login)",
          "time": "2026-11-18 05:52:39 AM UTC+0000"
        }"#]],
    );
    check(
        &system_alert("Look out.", at(), "UTC"),
        expect![[r#"
        {
          "type": "system_alert",
          "message": "Look out.",
          "time": "2026-11-18 05:52:39 AM UTC+0000"
        }"#]],
    );
    check(
        &summary_alert("They met.", at(), "UTC"),
        expect![[r#"
        {
          "type": "system_alert",
          "message": "Note: prior messages have been hidden from view due to conversation memory constraints.\nThe following is a summary of the previous messages:\n They met.",
          "time": "2026-11-18 05:52:39 AM UTC+0000"
        }"#]],
    );
}

#[test]
fn a_packed_user_message_names_only_what_is_known() {
    check(
        &user_message("Hi", Some("Sam"), Some("Oslo"), at(), "UTC"),
        expect![[r#"
        {
          "type": "user_message",
          "message": "Hi",
          "time": "2026-11-18 05:52:39 AM UTC+0000",
          "location": "Oslo",
          "name": "Sam"
        }"#]],
    );
    check(
        &user_message("Hi", None, None, at(), "UTC"),
        expect![[r#"
        {
          "type": "user_message",
          "message": "Hi",
          "time": "2026-11-18 05:52:39 AM UTC+0000"
        }"#]],
    );
}

#[test]
fn what_must_be_called_before_the_end_is_named() {
    let reason = heartbeats::required_before_exit(&["save", "log"]);
    check(&reason, expect!["Your run can't end yet. A tool rule wants these called first: `save`, `log`."]);
}
