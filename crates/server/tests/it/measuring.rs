//! `librarian eval retrieval` on the set that the repository carries.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::house::alone;
use crate::terminal::answer;

#[tokio::test]
async fn our_own_set_is_found_by_meaning_and_not_by_words() -> Result<()> {
    let (server, _client) = alone().await?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../eval/three-lives.json");
    let file = file.to_str().context("a path is text")?;
    let told = answer(&server, &["eval", "retrieval", file, "--json", "--ingredients"])?;
    let report: Value = serde_json::from_str(&told).context("one object")?;
    let share = |place: &Value, name: &str| place[name].as_f64().with_context(|| format!("{name}: {report}"));
    let (at_5, at_10) = (share(&report, "recall_at_5")?, share(&report, "recall_at_10")?);
    ensure!(at_10 >= 0.70 && at_5 <= at_10, "{at_5} at 5, {at_10} at 10");
    ensure!(report["turns"].as_u64() >= Some(2_000) && report["questions"].as_u64() >= Some(60), "{told}");
    let categories = report["by_category"].as_object().context("categories")?;
    ensure!(!categories.is_empty());
    for category in categories.values() {
        ensure!(share(category, "recall_at_5")? <= share(category, "recall_at_10")?, "{category}");
    }
    let words = share(&report["ingredients"]["words"], "recall_at_10")?;
    ensure!(words <= 0.30, "words alone find {words}");
    Ok(())
}
