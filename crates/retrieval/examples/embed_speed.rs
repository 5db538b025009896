//! How fast the built-in embedder is, and what it takes: `cargo run --release -p retrieval --example embed_speed`.

use std::io::{self, Write};
use std::time::Instant;

use retrieval::embed::Builtin;

const SHORT: [&str; 5] = [
    "What did Caroline say about her new job?",
    "I went hiking with the kids last weekend, it was great fun!",
    "Thanks, see you on Thursday.",
    "My sister's birthday is the 14th of March and she loves orchids.",
    "Could you remind me which restaurant we booked in Lisbon?",
];

/// Resident memory in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn measure(name: &str, texts: &[String], rounds: usize) -> io::Result<()> {
    let builtin = Builtin::new();
    let (start, mut vector, mut tokens) = (Instant::now(), Vec::new(), 0);
    for _ in 0..rounds {
        for text in texts {
            builtin.embed_now(text, &mut vector);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    texts.iter().for_each(|text| tokens += builtin.tokens(text).count());
    let count = (rounds * texts.len()) as f64;
    writeln!(io::stdout(), "{name}: {:.0} texts per second, {} tokens a text", count / seconds, tokens / texts.len())
}

fn main() -> io::Result<()> {
    let before = resident();
    let start = Instant::now();
    let mut vector = Vec::new();
    Builtin::new().embed_now("hello", &mut vector);
    let loaded = start.elapsed();
    writeln!(io::stdout(), "first text: {loaded:?}, resident {before} kB before and {} kB after", resident())?;
    let short: Vec<String> = SHORT.iter().map(|text| (*text).to_owned()).collect();
    let long: Vec<String> =
        (0..5).map(|at| (0..12).map(|next| SHORT[(at + next) % 5]).collect::<Vec<_>>().join(" ")).collect();
    measure("short", &short, 60_000)?;
    measure("long (12 sentences)", &long, 5_000)?;
    writeln!(io::stdout(), "resident {} kB at the end", resident())
}
