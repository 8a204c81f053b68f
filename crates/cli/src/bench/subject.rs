//! One of the file systems that a run measures, with the client processes that work on it.

use super::{Job, Phase, Work, client, process::ClientProcess, target::FileSystem};
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
        if let Work::Metadata(workload) = self.work {
            for below in workload.directories() {
                let path = format!("{}/{below}", self.directory);
                self.file_system.make_directory(&path)?;
            }
        }
        Ok(())
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
        let parts = self.processes.iter_mut().map(ClientProcess::ended);
        parts.collect()
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
        match self.work {
            Work::Metadata(workload) => {
                for below in workload.directories() {
                    // A directory that is not empty after a failure makes the last removal fail,
                    // which is reported.
                    let path = format!("{directory}/{below}");
                    let _ = self.file_system.remove_directory(&path);
                }
            }
            Work::Io { workload, .. } => {
                for file in workload.files() {
                    let _ = self.file_system.unlink(&format!("{directory}/{file}"));
                }
            }
        }
        if let Err(error) = self.file_system.remove_directory(directory) {
            output::notice(format_args!(
                "futago: files of the benchmark are left in {directory}: {error:#}"
            ));
        }
    }
}
