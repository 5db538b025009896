//! What a process has used, as Linux tells it in `/proc`.

use anyhow::{Context, Result};

/// Linux counts CPU time for user space in hundredths of a second, whatever the kernel's own tick is.
const MICROS_PER_TICK: u64 = 10_000;

/// CPU time and memory of a process at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) cpu_micros: u64,
    pub(crate) rss_kib: u64,
}

impl Reading {
    /// Reads the process `pid`, which may be `self`.
    pub(crate) fn take(pid: &str) -> Result<Self> {
        let read = |file: &str| {
            let path = format!("/proc/{pid}/{file}");
            std::fs::read_to_string(&path).with_context(|| format!("{path} can't be read"))
        };
        let cpu_micros = cpu_ticks(&read("stat")?).context("the process's times are not readable")? * MICROS_PER_TICK;
        let rss_kib = resident_kib(&read("status")?).context("the process's memory is not readable")?;
        Ok(Self { cpu_micros, rss_kib })
    }
}

/// User and system time. The name in brackets may hold spaces, so fields are counted from behind it.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn resident_kib(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_proc_are_found() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 700 30 0 0 20 0 5 0 1 2 3";
        assert_eq!(cpu_ticks(stat), Some(730));
        assert_eq!(resident_kib("Name:\tx\nVmRSS:\t   20480 kB\n"), Some(20480));
        assert!(Reading::take("self").unwrap().rss_kib > 0);
    }
}
