//! Breaks the simulated cluster, seed after seed.

use clap::Parser;
use futago_twin::fuzz::{Scenario, shrink, try_run};

#[derive(Parser)]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Run this seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Go on after a failure, until there are so many.
    #[arg(long, default_value_t = 1)]
    failures: usize,
    /// How many runs to spend on making a failing scenario small.
    #[arg(long, default_value_t = 600)]
    shrink: usize,
}

fn main() {
    let arguments = Arguments::parse();
    let seeds = match arguments.seed {
        Some(seed) => seed..seed + 1,
        None => arguments.first..arguments.first + arguments.seeds,
    };
    let (mut clean, mut operations, mut failures) = (0_u64, 0, 0);
    for seed in seeds {
        let scenario = Scenario::draw(seed);
        operations += scenario.operations();
        let Err(failure) = try_run(&scenario) else {
            clean += 1;
            continue;
        };
        failures += 1;
        let (smallest, failure) = shrink(&scenario, &failure, arguments.shrink);
        println!("seed {seed} fails ({:?}):\n{}", failure.kind, failure.text);
        println!("{}", smallest.circumstances());
        println!("replay: cargo run -p futago-twin --example fuzz -- --seed {seed}");
        if failures >= arguments.failures {
            break;
        }
    }
    println!("{clean} seeds clean, {failures} failed, {operations} operations");
    std::process::exit(i32::from(failures > 0));
}
