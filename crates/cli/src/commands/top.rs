//! `futago top`: shows rates of servers and operations.

mod rates;
mod screen;

use crate::{
    cluster::{ClusterFile, spawn},
    connection::Connection,
    exit::Exit,
    output,
};
use anyhow::ensure;
use clap::Args;
use rates::{Rates, Sample};
use std::time::Duration;

/// Arguments of `top`.
#[derive(Args)]
pub struct Top {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Print the rates of one interval and end.
    #[arg(long)]
    once: bool,
    /// Length of an interval in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
    /// Print JSON; with --once only.
    #[arg(long, requires = "once")]
    json: bool,
}

impl Top {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Shows rates until the user ends it, or once.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interval = Duration::try_from_secs_f64(self.interval)?;
        ensure!(!interval.is_zero(), "an interval of no time has no rates");
        let mut cluster = self.cluster.load()?;
        cluster.limits.give_up_seconds = interval.as_secs_f64().max(2.0);
        let connection = Connection::open(&cluster)?;
        if !self.once {
            return screen::show(&cluster.name, &connection, interval);
        }
        let interrupted = spawn::interruption()?;
        let before = Sample::take(&connection);
        spawn::sleep(interval, &interrupted)?;
        let rates = Rates::between(&before, &Sample::take(&connection));
        output::print(self.json, &rates, text)?;
        Ok(Exit::Success)
    }
}

fn text(rates: &Rates) -> String {
    let tables = rates.tables().map(|table| {
        let right: Vec<usize> = (0..table.titles.len())
            .filter(|column| table.is_right(*column))
            .collect();
        output::table(table.titles, &right, table.rows)
    });
    tables.join("\n")
}
