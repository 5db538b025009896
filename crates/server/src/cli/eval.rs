//! `librarian eval`: measures how well search finds what answers a question.
//!
//! It works on a store of its own in a temporary folder and touches nothing of the data directory but its model files.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use domain::{ModelHandle, Timestamp};
use indicatif::{ProgressBar, ProgressStyle};
use retrieval::eval::{self, Recall, Report, Sample};
use retrieval::{Ingredients, Search};
use serde_json::{Map, Value, json};
use storage::{Store, StoreConfig};

use crate::cli::output::Output;
use crate::config::Config;
use crate::{data_dir, wiring};

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum EvalCommand {
    /// Print the share of evidence that search finds, on a file in the format of LoCoMo
    Retrieval(RetrievalFlags),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetrievalFlags {
    /// The file: a list of samples with `conversation` and `qa`
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The embedding model to measure with; left out: builtin/embedding
    #[arg(long, value_name = "PROVIDER/MODEL", value_parser = ModelHandle::parse)]
    model: Option<ModelHandle>,
    /// Also measure with parts of the ranking left out, to see what each adds
    #[arg(long)]
    ingredients: bool,
}

/// Runs a measurement.
pub(crate) async fn run(config: &Config, command: &EvalCommand, output: &Output) -> anyhow::Result<ExitCode> {
    let EvalCommand::Retrieval(flags) = command;
    let text =
        std::fs::read_to_string(&flags.file).with_context(|| format!("{} can't be read", flags.file.display()))?;
    let samples = eval::read(&text).with_context(|| format!("{} can't be measured on", flags.file.display()))?;
    let folder = tempfile::tempdir().context("no temporary folder can be made")?;
    let store = Store::open(&StoreConfig::at(folder.path().join("eval.db")), Timestamp::now())?;
    let turns = samples.iter().map(|sample| sample.turns.len()).sum::<usize>();
    let embedders = wiring::embedders(&wiring::models(config)?, &data_dir::models_folder(&config.data_dir));
    if let Some(model) = &flags.model {
        embedders.named(model).await?;
    }
    let bar = progress(turns, "storing turns");
    let model = flags.model.as_ref().map(ModelHandle::as_str);
    let stored = eval::store(&store, &samples, model, |count| bar.inc(count as u64)).await?;
    bar.finish_and_clear();
    let mut rows = Vec::new();
    for (name, ingredients) in variants(flags.ingredients) {
        let bar = progress(questions(&samples), name);
        let search = Search::with(store.clone(), embedders.clone(), ingredients);
        rows.push((name, eval::measure(&search, &stored, || bar.inc(1)).await?));
        bar.finish_and_clear();
    }
    store.close().await;
    if flags.json {
        output.json(&as_json(&rows));
    } else {
        print(&rows, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn questions(samples: &[Sample]) -> usize {
    samples.iter().map(|sample| sample.questions.len()).sum()
}

/// The bar goes to standard error, and only to a terminal.
fn progress(length: usize, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {eta}");
    let bar = ProgressBar::new(length as u64).with_message(what);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// The full ranking first, then with parts left out.
fn variants(all: bool) -> Vec<(&'static str, Ingredients)> {
    let full = Ingredients::ALL;
    let text = Ingredients { vectors: false, neighbours: false, hints: false, second_look: false, ..full };
    let mut variants = vec![("all", full)];
    if all {
        variants.extend([
            ("words", text),
            ("words with neighbours", Ingredients { neighbours: true, ..text }),
            ("vectors", Ingredients { text: false, vectors: true, ..text }),
            ("words and vectors", Ingredients { vectors: true, ..text }),
            ("words and vectors with neighbours", Ingredients { vectors: true, neighbours: true, ..text }),
            ("the same and a second look", Ingredients { hints: false, ..full }),
            ("all but neighbours", Ingredients { neighbours: false, ..full }),
            ("all but the second look", Ingredients { second_look: false, ..full }),
        ]);
    }
    variants
}

fn as_json(rows: &[(&str, Report)]) -> Value {
    let recall = |recall: &Recall| json!({ "recall_at_5": rounded(recall.at_5()), "recall_at_10": rounded(recall.at_10()), "questions": recall.questions });
    let mut object = Map::new();
    if let Some((_, report)) = rows.first() {
        object.insert("recall_at_5".to_owned(), rounded(report.all.at_5()).into());
        object.insert("recall_at_10".to_owned(), rounded(report.all.at_10()).into());
        object.insert("questions".to_owned(), report.all.questions.into());
        object.insert("turns".to_owned(), report.turns.into());
        object.insert("samples".to_owned(), report.samples.into());
        let categories = report.by_category.iter().map(|(name, one)| (name.clone(), recall(one)));
        object.insert("by_category".to_owned(), Value::Object(categories.collect()));
    }
    if rows.len() > 1 {
        let others = rows.iter().skip(1).map(|(name, report)| ((*name).to_owned(), recall(&report.all)));
        object.insert("ingredients".to_owned(), Value::Object(others.collect()));
    }
    Value::Object(object)
}

fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

fn print(rows: &[(&str, Report)], output: &Output) {
    let Some((_, report)) = rows.first() else { return };
    output.line(&format!("{} samples, {} turns, {} questions", report.samples, report.turns, report.all.questions));
    output.line("");
    output.line(&output.style().bold(&format!("{:<36} {:>9} {:>9} {:>9}", "category", "questions", "at 5", "at 10")));
    for (name, recall) in &report.by_category {
        output.line(&row(name, recall));
    }
    output.line(&row("all", &report.all));
    if rows.len() > 1 {
        output.line("");
        output.line(
            &output.style().bold(&format!("{:<36} {:>9} {:>9} {:>9}", "ranking by", "questions", "at 5", "at 10")),
        );
        for (name, report) in rows.iter().skip(1).chain(rows.first()) {
            output.line(&row(name, &report.all));
        }
    }
}

fn row(name: &str, recall: &Recall) -> String {
    format!("{name:<36} {:>9} {:>9.3} {:>9.3}", recall.questions, recall.at_5(), recall.at_10())
}
