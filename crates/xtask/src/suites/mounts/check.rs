//! Runs rounds on the agents and looks for an order of each round that explains what they returned.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use nix::errno::Errno;

use super::generate::{Generator, Round};
use super::model::Model;
use super::operation::{Attributes, Entry, Operation, Outcome};
use crate::workspace;

/// An operation that has not returned by then hangs.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// With more states that explain what was seen, the tree is looked at, to see which one is right.
const STATES_AT_MOST: usize = 32;
/// How many past operations a failure shows.
const SHOWN: usize = 25;

/// An agent's process.
struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Agent {
    fn start(directory: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg("agent")
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start an agent")?;
        let output = process.stdout.take().context("an agent without output")?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines
                .map(|line| sender.send(line))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        let input = process.stdin.take();
        Ok(Self {
            process,
            input,
            answers,
        })
    }

    fn ask(&mut self, operation: &Operation) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(operation)?;
        line.push(b'\n');
        self.input
            .as_mut()
            .context("the agent's input is closed")?
            .write_all(&line)?;
        Ok(())
    }

    fn answer(&self, operation: &Operation) -> anyhow::Result<Outcome> {
        let line = self
            .answers
            .recv_timeout(ANSWER_WITHIN)
            .map_err(|error| anyhow!("{operation:?} did not return: {error}"))?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Without input it ends by itself, unless an operation hangs.
        drop(self.input.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The agents, and every state in which the tree can be after what they have returned so far.
struct Checker {
    agents: Vec<Agent>,
    models: Vec<Model>,
    recent: VecDeque<String>,
    history: File,
}

/// Runs a seed; says what was done.
pub fn run(
    directories: &[PathBuf],
    seed: u64,
    rounds: u64,
    alternate: bool,
) -> anyhow::Result<String> {
    fs::create_dir_all(workspace::logs())?;
    let history = workspace::logs().join(format!("mounts-{seed}.txt"));
    let mut checker = Checker {
        agents: directories
            .iter()
            .map(|each| Agent::start(each))
            .collect::<anyhow::Result<_>>()?,
        models: vec![Model::new(directories.len())],
        recent: VecDeque::new(),
        history: File::create(&history)?,
    };
    let mut generator = Generator::new(seed, directories.len(), alternate);
    let mut operations = 0;
    for number in 1..=rounds {
        let round = generator.round();
        operations += round.len();
        checker
            .round(&round)
            .and_then(|()| {
                if number == rounds {
                    checker.compare_trees()
                } else {
                    Ok(())
                }
            })
            .with_context(|| {
                format!(
                    "round {number} of seed {seed}, all in {}",
                    history.display()
                )
            })
            .map_err(|error| anyhow!("{error:#}\nbefore it:\n{}", checker.recent()))?;
    }
    Ok(format!(
        "{operations} operations in {rounds} rounds, as the model"
    ))
}

impl Checker {
    fn round(&mut self, round: &Round) -> anyhow::Result<()> {
        let tree = round
            .iter()
            .any(|(_, operation)| *operation == Operation::Tree);
        let outcomes = self.perform(round)?;
        self.explain(round, &outcomes)?;
        if tree || self.models.len() > STATES_AT_MOST {
            self.compare_trees()
        } else {
            Ok(())
        }
    }

    fn perform(&mut self, round: &Round) -> anyhow::Result<Vec<Outcome>> {
        for (agent, operation) in round {
            self.agents[*agent].ask(operation)?;
        }
        let mut outcomes = Vec::new();
        for (agent, operation) in round {
            let outcome = self.agents[*agent].answer(operation)?;
            let sign = if round.len() > 1 { '|' } else { ' ' };
            self.remember(format!(
                "{sign} {agent}: {operation:?} -> {}",
                short(&outcome)
            ))?;
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn remember(&mut self, line: String) -> anyhow::Result<()> {
        writeln!(self.history, "{line}")?;
        self.recent.push_back(line);
        if self.recent.len() > SHOWN {
            self.recent.pop_front();
        }
        Ok(())
    }

    fn recent(&self) -> String {
        self.recent.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "  {line}");
            text
        })
    }

    /// Keeps the states that explain what was returned.
    fn explain(&mut self, round: &Round, outcomes: &[Outcome]) -> anyhow::Result<()> {
        let mut explained = Vec::new();
        for model in &self.models {
            let mut order: Vec<usize> = (0..round.len()).collect();
            let mut states = vec![model.clone()];
            follow_orders(&mut states, round, outcomes, &mut order, &mut explained);
        }
        if explained.is_empty() {
            bail!("{}", self.contradiction(round, outcomes));
        }
        self.models = explained;
        Ok(())
    }

    fn contradiction(&self, round: &Round, outcomes: &[Outcome]) -> String {
        let mut text = String::from("no order of the operations explains what they returned");
        for ((agent, operation), outcome) in round.iter().zip(outcomes) {
            let alone = self.models[0].clone().apply(*agent, operation);
            let _ = write!(
                text,
                "\n  through directory {agent}: {operation:?}\n    returned {}\n    must, if alone, {}",
                difference(outcome, &alone).0,
                difference(outcome, &alone).1,
            );
        }
        text
    }

    /// The tree must look the same through all directories, to the attributes that no model knows.
    fn compare_trees(&mut self) -> anyhow::Result<()> {
        let mut first = None;
        for agent in 0..self.agents.len() {
            let round = vec![(agent, Operation::Tree)];
            let outcomes = self.perform(&round)?;
            self.explain(&round, &outcomes)?;
            self.compare_inodes(&outcomes[0])?;
            let first = first.get_or_insert_with(|| outcomes[0].clone());
            ensure!(
                *first == outcomes[0],
                "directory {agent} shows another tree than directory 0\n  {}\n  {}",
                difference(&outcomes[0], first).0,
                difference(&outcomes[0], first).1,
            );
        }
        Ok(())
    }

    /// Two names have one inode number exactly if they are one file.
    fn compare_inodes(&self, seen: &Outcome) -> anyhow::Result<()> {
        let Outcome::Tree(modelled) = self.models[0].clone().apply(0, &Operation::Tree) else {
            bail!("the model gives no tree");
        };
        let Outcome::Tree(seen) = seen else {
            bail!("an agent gives no tree")
        };
        let (mut numbers, mut ids) = (BTreeMap::new(), BTreeMap::new());
        for (path, entry) in seen {
            let (number, id) = (entry.attributes.inode, modelled[path].attributes.inode);
            let same = *numbers.entry(id).or_insert(number) == number
                && *ids.entry(number).or_insert(id) == id;
            ensure!(
                same,
                "inode number {number} of '{path}' belongs to another file"
            );
        }
        Ok(())
    }
}

/// Tries every order of the round's operations, after those of `order` up to `depth`, which have
/// led from one of the `states` to the next. Collects the states in which it ends.
fn follow_orders(
    states: &mut Vec<Model>,
    round: &Round,
    outcomes: &[Outcome],
    order: &mut [usize],
    found: &mut Vec<Model>,
) {
    let depth = states.len() - 1;
    if depth == order.len() {
        let state = states[depth].renumbered();
        if !found.contains(&state) {
            found.push(state);
        }
        return;
    }
    for choice in depth..order.len() {
        order.swap(depth, choice);
        for next in explanations(states, round, outcomes, order[depth]) {
            states.push(next);
            follow_orders(states, round, outcomes, order, found);
            states.pop();
        }
        order.swap(depth, choice);
    }
}

/// The states in which an operation may have left the tree, after those that have led through
/// `states`.
fn explanations(
    states: &[Model],
    round: &Round,
    outcomes: &[Outcome],
    number: usize,
) -> Vec<Model> {
    let (agent, operation) = &round[number];
    let (seen, present) = (&outcomes[number], &states[states.len() - 1]);
    let mut next = present.clone();
    if agrees(&next.apply(*agent, operation), seen) {
        return vec![next];
    }
    if in_removed_directory(round, number, seen) || walked_amid_renames(round, outcomes, number) {
        return vec![present.clone()];
    }
    let walks = states
        .iter()
        .flat_map(|one| states.iter().map(move |other| (one, other)));
    let walked = walks.filter_map(|(one, other)| {
        let mut next = present.clone();
        (next.apply_walked(operation, one, other) == *seen).then_some(next)
    });
    walked.collect()
}

/// A path is walked before its last name is created. If the directory is removed or replaced
/// meanwhile, ENOENT is right although a directory was under that path all the time.
fn in_removed_directory(round: &Round, number: usize, seen: &Outcome) -> bool {
    let makes_name = matches!(
        round[number].1,
        Operation::Create { .. }
            | Operation::MakeDirectory { .. }
            | Operation::Symlink { .. }
            | Operation::Link { .. }
            | Operation::Rename { .. }
    );
    let removes = |operation: &Operation| {
        matches!(
            operation,
            Operation::RemoveDirectory { .. } | Operation::Rename { .. }
        )
    };
    *seen == Outcome::Error(Errno::ENOENT as i32)
        && makes_name
        && others(round, number).any(|other| removes(&round[other].1))
}

/// The kernel of each mount looks up names one after another, as in any file system. A path walk
/// beside renames may find some names before a rename and others after it, lead to a location that
/// never existed, or find locations that no longer fit together. Then it fails, and nothing has
/// happened.
fn walked_amid_renames(round: &Round, outcomes: &[Outcome], number: usize) -> bool {
    const OF_WALKS: [Errno; 7] = [
        Errno::ENOENT,
        Errno::ENOTDIR,
        Errno::ELOOP,
        Errno::EEXIST,
        Errno::EINVAL,
        Errno::EISDIR,
        Errno::ENOTEMPTY,
    ];
    let renamed = |other: usize| {
        matches!(round[other].1, Operation::Rename { .. }) && outcomes[other] == Outcome::Done
    };
    let of_walk = |errno: Errno| outcomes[number] == Outcome::Error(errno as i32);
    OF_WALKS.into_iter().any(of_walk) && others(round, number).any(renamed)
}

/// The other operations of the round.
fn others(round: &Round, number: usize) -> impl Iterator<Item = usize> + use<> {
    (0..round.len()).filter(move |other| *other != number)
}

fn agrees(model: &Outcome, seen: &Outcome) -> bool {
    match (model, seen) {
        (Outcome::Attributes(model), Outcome::Attributes(seen)) => attributes_agree(model, seen),
        (Outcome::Tree(model), Outcome::Tree(seen)) => {
            model.len() == seen.len()
                && model.iter().all(|(path, entry)| {
                    seen.get(path)
                        .is_some_and(|seen| entries_agree(entry, seen))
                })
        }
        _ => model == seen,
    }
}

fn entries_agree(model: &Entry, seen: &Entry) -> bool {
    model.content == seen.content && attributes_agree(&model.attributes, &seen.attributes)
}

fn attributes_agree(model: &Attributes, seen: &Attributes) -> bool {
    let known = model.modified_ns.is_none() || model.modified_ns == seen.modified_ns;
    known
        && (model.kind, model.mode, model.links, model.size)
            == (seen.kind, seen.mode, seen.links, seen.size)
}

/// The differences between two outcomes; of trees only the entries that differ.
fn difference(seen: &Outcome, expected: &Outcome) -> (String, String) {
    let (Outcome::Tree(seen), Outcome::Tree(expected)) = (seen, expected) else {
        return (short(seen), short(expected));
    };
    let only = |these: &BTreeMap<String, Entry>, those: &BTreeMap<String, Entry>| {
        let differing = these.iter().filter(|(path, entry)| {
            !those
                .get(*path)
                .is_some_and(|other| entries_agree(entry, other) || entries_agree(other, entry))
        });
        format!("{:?}", differing.collect::<BTreeMap<_, _>>())
    };
    (only(seen, expected), only(expected, seen))
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Error(number) => format!("{:?}", Errno::from_raw(*number)),
        Outcome::Tree(tree) => format!("a tree of {} files", tree.len()),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::Replace;
    use super::*;

    const NAMES: [&str; 2] = ["a", "b"];

    fn rename() -> Operation {
        let [from, to] = NAMES.map(str::to_owned);
        let how = Replace::Never;
        Operation::Rename { from, to, how }
    }

    fn link() -> Operation {
        let [from, to] = NAMES.map(str::to_owned);
        Operation::Link { from, to }
    }

    fn states(round: &Round, outcomes: &[Outcome]) -> usize {
        let mut model = Model::new(2);
        let path = "a".to_owned();
        model.apply(0, &Operation::Create { path, mode: 0o644 });
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..round.len()).collect();
        follow_orders(&mut vec![model], round, outcomes, &mut order, &mut found);
        found.len()
    }

    #[test]
    fn a_path_may_be_walked_while_another_renames_but_not_after_it() {
        let exists = || Outcome::Error(Errno::EEXIST as i32);
        let at_once = vec![(0, link()), (1, rename())];
        assert_eq!(states(&at_once, &[exists(), Outcome::Done]), 1);
        // Nobody has renamed, or linking has had an effect that it cannot have had.
        assert_eq!(states(&at_once, &[exists(), exists()]), 0);
        assert_eq!(states(&at_once, &[Outcome::Done, Outcome::Done]), 0);
        assert_eq!(states(&vec![(0, link())], &[exists()]), 0);
    }

    /// "x" contains "a", and "b" is another directory. The two are exchanged while x/a gets the
    /// name x/c. The link may be in either of them, or be made from one to the other.
    #[test]
    fn the_two_paths_of_an_operation_may_be_walked_at_two_times() {
        let path = |path: &str| path.to_owned();
        let mut model = Model::new(2);
        for directory in ["x", "b"] {
            let (path, mode) = (path(directory), 0o755);
            assert_eq!(
                model.apply(0, &Operation::MakeDirectory { path, mode }),
                Outcome::Done
            );
        }
        for file in ["x/a", "x/c"] {
            let (path, mode) = (path(file), 0o644);
            assert_eq!(
                model.apply(0, &Operation::Create { path, mode }),
                Outcome::Done
            );
        }
        let (from, to, how) = (path("x"), path("b"), Replace::Exchange);
        let exchange = Operation::Rename { from, to, how };
        let (from, to) = (path("x/a"), path("x/c"));
        let round = vec![(0, exchange), (1, Operation::Link { from, to })];
        let outcomes = [Outcome::Done, Outcome::Done];
        let mut found = Vec::new();
        follow_orders(&mut vec![model], &round, &outcomes, &mut [0, 1], &mut found);
        // x/c was there before, so the file has got its name in what was "b" and is "x" now.
        assert_eq!(found.len(), 1);
        let stat = Operation::Stat { path: path("x/c") };
        assert!(matches!(found[0].apply(0, &stat), Outcome::Attributes(_)));
    }
}
