//! One of the file systems that a run measures, with the client processes that work on it.

use super::{
    Job, Phase, Work, client, io500::TIMESTAMP_FILE, process::ClientProcess, target::FileSystem,
};
use crate::output;
use futago_lab::{statistics::ClientPhase, workload::IoPhase};

/// A file system under measurement: a directory of its own, which goes when this is dropped.
pub struct Subject<'a> {
    work: &'a Work,
    directory: String,
    file_system: Box<dyn FileSystem>,
    processes: Vec<ClientProcess>,
}

impl<'a> Subject<'a> {
    /// Makes the directories and starts the client processes. `number` distinguishes the subjects
    /// of a run, because two of them may be the same file system.
    pub fn prepare(job: &'a Job, number: usize, clients: u32) -> anyhow::Result<Self> {
        let directory = format!("futago-bench-{}-{number}", std::process::id());
        let file_system = client::open(&job.target)?;
        file_system.make_directory(&directory)?;
        let mut subject = Self {
            work: &job.work,
            directory,
            file_system,
            processes: Vec::new(),
        };
        subject.make_directories()?;
        for client in 0..clients {
            let process = ClientProcess::start(job, &subject.directory, client)?;
            subject.processes.push(process);
        }
        for process in &mut subject.processes {
            process.ready()?;
        }
        Ok(subject)
    }

    fn make_directories(&self) -> anyhow::Result<()> {
        for below in self.directories() {
            let path = format!("{}/{below}", self.directory);
            self.file_system.make_directory(&path)?;
        }
        Ok(())
    }

    /// The directories below that of the run, parents first.
    fn directories(&self) -> Vec<String> {
        match self.work {
            Work::Metadata(workload) => workload.directories(),
            Work::Io { .. } => Vec::new(),
            Work::Io500(plan) => plan.directories(),
        }
    }

    /// The files that no phase removes.
    fn files(&self) -> Vec<String> {
        match self.work {
            Work::Metadata(_) => Vec::new(),
            Work::Io { workload, .. } => workload.files(),
            Work::Io500(plan) => {
                let timestamp = TIMESTAMP_FILE.to_owned();
                plan.large_files().into_iter().chain([timestamp]).collect()
            }
        }
    }

    /// Runs a phase on all clients at once. Pages from earlier writes are dropped before reads.
    pub fn run(&mut self, phase: Phase) -> anyhow::Result<Vec<ClientPhase>> {
        if let (Work::Io { workload, .. }, Phase::Io(IoPhase::Read)) = (self.work, phase) {
            for file in workload.files() {
                let path = format!("{}/{file}", self.directory);
                self.file_system.drop_pages(&path)?;
            }
        }
        for process in &mut self.processes {
            process.begin(phase)?;
        }
        if let Phase::Io500(phase) = phase
            && phase.has_stonewall()
        {
            self.pass_stonewall()?;
        }
        let parts = self.processes.iter_mut().map(ClientProcess::ended);
        parts.collect()
    }

    /// Waits until all clients have reached the stonewall, and has each do as much as the fastest.
    fn pass_stonewall(&mut self) -> anyhow::Result<()> {
        let reached = self.processes.iter_mut().map(ClientProcess::reached);
        let reached = reached.collect::<anyhow::Result<Vec<u64>>>()?;
        let most = reached.into_iter().max().unwrap_or(0);
        let mut processes = self.processes.iter_mut();
        processes.try_for_each(|process| process.go_on(most))
    }

    /// Lets the clients end.
    pub fn end(mut self) -> anyhow::Result<()> {
        let mut processes = self.processes.drain(..);
        processes.try_for_each(ClientProcess::end)
    }
}

/// Removes the files of the phases. Files that remain after a failed phase are reported.
impl Drop for Subject<'_> {
    fn drop(&mut self) {
        // No client may work in the directory any more.
        self.processes.clear();
        let directory = &self.directory;
        for file in self.files() {
            let _ = self.file_system.unlink(&format!("{directory}/{file}"));
        }
        for below in self.directories().iter().rev() {
            // A directory that is not empty after a failure makes the last removal fail, which is
            // reported.
            let path = format!("{directory}/{below}");
            let _ = self.file_system.remove_directory(&path);
        }
        if let Err(error) = self.file_system.remove_directory(directory) {
            output::notice(format_args!(
                "futago: files of the benchmark are left in {directory}: {error:#}"
            ));
        }
    }
}
