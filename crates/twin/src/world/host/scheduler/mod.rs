//! How processes that poll for messages before they block share the cores of a host.
//!
//! As on Linux, every core has a run queue of its own. A process polls once at the beginning of its
//! time slice. If it finds a message, it works on it and polls again until it has worked long
//! enough; otherwise it goes to the end of the queue (`sched_yield`). A process that has polled for
//! longer than its spin limit, or finds the core contended, blocks. While no process finds a
//! message nothing is computed: the running process follows from the time.

mod process;
#[cfg(test)]
mod tests;

pub use process::Found;

use crate::random::Random;
use crate::world::event::Event;
use crate::world::{Host, Looking};
use futago_base::{Duration, Time};
use futago_driver::{BUSY_MAX, PREEMPTION_MIN};
use process::Process;
use serde::Serialize;
use std::collections::VecDeque;

/// How often a process is moved from a longer queue to a shorter one. Linux tries it at
/// `busy_factor` times an interval of 2 ms, and then of 4 ms, and moves one of two equal processes
/// when it has failed before (kernel/sched/topology.c, `detach_tasks` in kernel/sched/fair.c).
const BALANCE_NS: u64 = (2 + 4) * 16 * 1_000_000;

/// The scheduler of a host.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Kernel {
    /// How long it takes to wake one up.
    pub wake_up_ns: u64,
    /// Each stays on the core that it has begun on.
    pub bind_to_core: bool,
    /// Where it has a choice it makes another one with another seed, as a real one in another run.
    pub seed: u64,
}

/// The queues of a host's cores, and what its processes have found.
#[derive(Debug, Serialize)]
pub struct Scheduler {
    pass_ns: u64,
    kernel: Kernel,
    servers: u32,
    cores: Vec<Core>,
    /// Servers, then clients.
    processes: Vec<Process>,
    state: State,
    #[serde(skip)]
    undo: Option<SchedulerUndo>,
}

/// The small parts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct State {
    /// When it is time to move a process.
    balance_ns: u64,
    /// How often something was drawn.
    draws: u64,
    /// Where a process was woken last.
    woken_at: usize,
}

/// A core.
#[derive(Clone, Debug, Default, Serialize)]
struct Core {
    /// The processes that poll or work here, in the order of their time slices; the first runs.
    queue: VecDeque<u32>,
    /// Since when the first has run.
    since_ns: u64,
    /// Since when it has worked, if it works.
    working_since_ns: u64,
    /// The first works, and finds nothing before it ends.
    works: bool,
    /// The process that works next, its time, and the number of the event that begins it.
    next: Option<(u64, u32)>,
    number: u64,
}

impl Core {
    /// Whether who works makes way for others.
    fn slice_is_used_up(&self, ns: u64) -> bool {
        self.queue.len() > 1 && self.working_since_ns + BUSY_MAX.0 <= ns
    }
}

/// The undo of changes of [`Scheduler`].
#[derive(Debug, Default)]
pub struct SchedulerUndo {
    state: State,
    cores: Vec<(usize, Core)>,
    processes: Vec<(u32, Process)>,
}

/// When a process's time slice begins.
pub type Planned = (u64, Event);

impl Scheduler {
    /// Nobody is awake yet.
    pub fn new(host: &Host, looking: Looking, kernel: Kernel) -> Self {
        let processes = host.servers + host.clients;
        let process = |number: u32| Process::on_core((number % host.cores) as usize);
        Self {
            pass_ns: looking.pass_ns.max(1),
            kernel,
            servers: host.servers,
            cores: vec![Core::default(); host.cores as usize],
            processes: (0..processes).map(process).collect(),
            state: State {
                balance_ns: Random::new(kernel.seed, 0).below(BALANCE_NS),
                ..State::default()
            },
            undo: None,
        }
    }

    /// Whether an event that begins a time slice still counts.
    pub fn is_next(&self, process: u32, number: u64) -> bool {
        let core = &self.cores[self.processes[process as usize].core];
        core.next.is_some_and(|(_, next)| next == process) && core.number == number
    }

    /// There is something for a process to find.
    pub fn arrive(&mut self, process: u32, event: Event, ns: u64, planned: &mut Vec<Planned>) {
        self.process(process).arrive(event);
        self.settle_all(ns);
        if !self.processes[process as usize].is_awake {
            self.wake(process, ns);
        }
        for core in 0..self.cores.len() {
            planned.extend(self.plan(core, ns));
        }
    }

    /// A process begins to work on what it has found. Returns the first part of it.
    pub fn begin(&mut self, process: u32, ns: u64) -> Option<Found> {
        let core = self.processes[process as usize].core;
        let core = self.core(core);
        let place = core.queue.iter().position(|&other| other == process)?;
        core.queue.rotate_left(place);
        core.since_ns = ns;
        let others = core.queue.len() - 1;
        let others_before = if core.works { 0 } else { others };
        if !core.works {
            core.working_since_ns = ns;
        }
        core.works = true;
        core.next = None;
        let is_alone = others == 0;
        let process = self.process(process);
        process.end_waiting(ns);
        process.find(ns, is_alone, others_before)
    }

    /// A process has worked on one part until `ns`, and waits for an answer or has nothing to do.
    pub fn end(&mut self, process: u32, ns: u64, waits: bool, planned: &mut Vec<Planned>) {
        let at = self.processes[process as usize].core;
        self.core(at).since_ns = ns;
        self.process(process).work_until(ns);
        let finds_from_ns = self.processes[process as usize].finds_from_ns();
        let has_more = finds_from_ns.is_some();
        let finds_now = finds_from_ns.is_some_and(|from_ns| from_ns <= ns);
        if finds_now && !self.cores[at].slice_is_used_up(ns) {
            planned.extend(self.begin_at(at, process, ns));
            return;
        }
        self.tell_others(at, ns);
        let pass_ns = self.pass_ns;
        let stays = has_more || self.wait(process, ns, waits);
        let core = self.core(at);
        core.works = false;
        if has_more {
            core.queue.rotate_left(1);
        }
        if !stays {
            core.queue.pop_front();
        }
        if has_more || !stays {
            core.since_ns = ns + pass_ns;
        }
        planned.extend(self.plan(at, ns));
    }

    /// A process begins to wait, if it waits for anything. Returns whether it stays awake.
    fn wait(&mut self, process: u32, ns: u64, waits: bool) -> bool {
        let process = self.process(process);
        process.waits_since_ns = waits.then_some(ns);
        process.is_awake = waits && !process.contention.is_contended(Time(ns));
        process.is_awake
    }

    /// The waiting processes of a core learn how long the first has occupied the core, and
    /// may block.
    fn tell_others(&mut self, core: usize, ns: u64) {
        let lost = Duration(ns - self.cores[core].working_since_ns);
        if lost <= PREEMPTION_MIN {
            return;
        }
        let others: Vec<u32> = self.cores[core].queue.iter().skip(1).copied().collect();
        for other in others {
            let process = self.process(other);
            if process.waits_since_ns.is_none() {
                continue;
            }
            process.contention.yielded(lost, Time(ns));
            if process.has_found_all() && process.contention.is_contended(Time(ns)) {
                process.is_awake = false;
                self.core(core).queue.retain(|&awake| awake != other);
            }
        }
    }

    /// Brings all cores on which nobody works to the present.
    fn settle_all(&mut self, ns: u64) {
        for core in 0..self.cores.len() {
            if !self.cores[core].works && self.cores[core].since_ns < ns {
                self.settle(core, ns);
            }
        }
        self.balance(ns);
    }

    /// Blocks the processes whose spin limit has passed, and rotates the queue.
    fn settle(&mut self, core: usize, ns: u64) {
        for process in self.cores[core].queue.clone() {
            if self.processes[process as usize].is_tired(ns) {
                self.process(process).is_awake = false;
                self.core(core).queue.retain(|&other| other != process);
            }
        }
        let pass_ns = self.pass_ns;
        let core = self.core(core);
        let passed = (ns - core.since_ns) / pass_ns;
        core.since_ns += passed * pass_ns;
        if !core.queue.is_empty() {
            let places = passed % core.queue.len() as u64;
            core.queue.rotate_left(places as usize);
        }
    }

    /// One of the cores with the shortest queue, if the process is not bound to one. A process that
    /// wakes several is where the last one was woken; work that begins by itself may run anywhere.
    fn core_to_wake_at(&mut self, process: u32, is_woken: bool) -> usize {
        if self.kernel.bind_to_core {
            return self.processes[process as usize].core;
        }
        let lengths = || self.cores.iter().map(|core| core.queue.len()).enumerate();
        let shortest = lengths().map(|(_, length)| length).min();
        let shortest = lengths().filter(|&(_, length)| Some(length) == shortest);
        let choices: Vec<usize> = shortest.map(|(core, _)| core).collect();
        if is_woken && choices.contains(&self.state.woken_at) {
            return self.state.woken_at;
        }
        self.state.draws += 1;
        *Random::new(self.kernel.seed, self.state.draws).pick(&choices)
    }

    /// Wakes a process, which runs next.
    fn wake(&mut self, process: u32, ns: u64) {
        let is_woken = self.processes[process as usize].waits_since_ns.is_some();
        let to = self.core_to_wake_at(process, is_woken);
        self.state.woken_at = to;
        // A client begins this by itself, in its own time, and is awake.
        let woken_ns = match self.processes[process as usize].waits_since_ns {
            // The message wakes the client's own thread, and that the one that has called.
            Some(_) if process >= self.servers => ns + 2 * self.kernel.wake_up_ns,
            Some(_) => ns + self.kernel.wake_up_ns,
            None => ns,
        };
        let core = self.core(to);
        if core.queue.is_empty() {
            core.since_ns = core.since_ns.max(woken_ns);
        }
        let next = core.queue.len().min(1);
        core.queue.insert(next, process);
        let process = self.process(process);
        process.core = to;
        process.is_awake = true;
        process.is_woken = is_woken;
    }

    /// Moves one process from a long queue to a short one: immediately to an empty one, else
    /// periodically.
    fn balance(&mut self, ns: u64) {
        let lengths = self.cores.iter().map(|core| core.queue.len()).enumerate();
        let short = lengths.clone().min_by_key(|&(_, length)| length);
        let long = lengths.max_by_key(|&(_, length)| length);
        let (Some((to, short)), Some((from, long))) = (short, long) else {
            return;
        };
        let is_due = ns >= self.state.balance_ns;
        if self.kernel.bind_to_core || long < 2 || long == short || !(is_due || short == 0) {
            return;
        }
        if is_due {
            self.state.balance_ns = ns + BALANCE_NS;
        }
        self.move_last(from, to, ns);
    }

    /// Moves the last one of a queue, who cannot be the one that works.
    fn move_last(&mut self, from: usize, to: usize, ns: u64) {
        let last = self.cores[from].queue.back().copied();
        if self.cores[from].next.map(|(_, next)| next) == last {
            return;
        }
        let Some(process) = self.core(from).queue.pop_back() else {
            return;
        };
        let core = self.core(to);
        if core.queue.is_empty() {
            core.since_ns = core.since_ns.max(ns);
        }
        core.queue.push_back(process);
        self.process(process).core = to;
    }

    /// Plans what a core does next.
    fn plan(&mut self, core: usize, ns: u64) -> Option<Planned> {
        let (at_ns, process) = self.first_to_find(core, ns)?;
        self.begin_at(core, process, at_ns)
    }

    /// The process of a core's queue that finds a message first, and the time; none while a process
    /// works.
    fn first_to_find(&self, core: usize, ns: u64) -> Option<(u64, u32)> {
        let core = &self.cores[core];
        let finds = (0_u64..).zip(&core.queue).filter_map(|(slices, &process)| {
            let from_ns = self.processes[process as usize].finds_from_ns()?;
            Some((self.look_ns(core, slices, ns.max(from_ns)), process))
        });
        finds.filter(|_| !core.works).min()
    }

    /// When the process that runs `slices` time slices later polls from this time on. Each polls
    /// once at the beginning of its slice; a process alone does nothing else.
    fn look_ns(&self, core: &Core, slices: u64, ns: u64) -> u64 {
        let at_ns = core.since_ns + slices * self.pass_ns;
        if at_ns >= ns {
            at_ns
        } else if core.queue.len() == 1 {
            ns
        } else {
            let round_ns = core.queue.len() as u64 * self.pass_ns;
            at_ns + (ns - at_ns).div_ceil(round_ns) * round_ns
        }
    }

    fn begin_at(&mut self, core: usize, process: u32, ns: u64) -> Option<Planned> {
        if self.cores[core].next == Some((ns, process)) {
            return None;
        }
        let core = self.core(core);
        core.number += 1;
        core.next = Some((ns, process));
        let number = core.number;
        Some((ns, Event::TimeSlice { process, number }))
    }
}

/// Changes, and how they are taken back.
impl Scheduler {
    /// From now on changes are recorded.
    pub fn record_changes(&mut self) {
        self.undo = Some(SchedulerUndo {
            state: self.state,
            ..SchedulerUndo::default()
        });
    }

    /// The undo of the changes since then.
    pub fn take_changes(&mut self) -> Option<SchedulerUndo> {
        self.undo.take()
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: SchedulerUndo) {
        self.state = undo.state;
        for (place, core) in undo.cores {
            self.cores[place] = core;
        }
        for (place, process) in undo.processes {
            self.processes[place as usize] = process;
        }
    }

    fn core(&mut self, place: usize) -> &mut Core {
        if let Some(undo) = &mut self.undo
            && undo.cores.iter().all(|(other, _)| *other != place)
        {
            undo.cores.push((place, self.cores[place].clone()));
        }
        &mut self.cores[place]
    }

    fn process(&mut self, place: u32) -> &mut Process {
        if let Some(undo) = &mut self.undo
            && undo.processes.iter().all(|(other, _)| *other != place)
        {
            undo.processes
                .push((place, self.processes[place as usize].clone()));
        }
        &mut self.processes[place as usize]
    }
}
