//! Asks the pip of this machine where it would get a wheel from: it knows its index even if nobody set one up.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use reqwest::Url;
use retrieval::embed::manifest::Wheel;
use serde_json::Value;

/// Names of Python, the usual one first.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// The address of a wheel. Nothing is installed; pip only writes what it would do.
pub(super) fn ask(wheel: &Wheel) -> anyhow::Result<Url> {
    let wanted = format!("{}=={}", wheel.package, wheel.version);
    let quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
    let arguments = ["-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-"];
    for python in PYTHONS {
        let mut command = Command::new(python);
        command.args(arguments).args(quiet).arg(&wanted).stdin(Stdio::null());
        let Ok(output) = command.output() else { continue };
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let last = words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed");
            bail!("{}", last.chars().take(200).collect::<String>());
        }
        let report = serde_json::from_slice(&output.stdout).context("its report is not JSON")?;
        return address(&report, wheel.file).context("its report does not name the wheel");
    }
    bail!("there is no Python on this machine")
}

/// The wheel's address in a report.
fn address(report: &Value, file: &str) -> Option<Url> {
    let planned = report["install"].as_array()?.iter();
    let addresses = planned.filter_map(|item| Url::parse(item["download_info"]["url"].as_str()?).ok());
    addresses.into_iter().find(|url| {
        matches!(url.scheme(), "http" | "https" | "file")
            && url.path_segments().and_then(|mut segments| segments.next_back()) == Some(file)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_names_the_address() {
        let report = |url: &str| json!({ "version": "1", "install": [{ "download_info": { "url": url } }] });
        let found = address(&report("https://files.example/ab/p-1.whl"), "p-1.whl").unwrap();
        assert_eq!(found.as_str(), "https://files.example/ab/p-1.whl");
        assert!(address(&report("file:///opt/wheels/p-1.whl"), "p-1.whl").is_some());
        for wrong in [report("https://files.example/q-1.whl"), report("git+ssh://x/p-1.whl"), json!({}), json!(null)] {
            assert_eq!(address(&wrong, "p-1.whl"), None);
        }
    }
}
