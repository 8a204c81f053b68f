//! A time series of a run.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Sample, Watch};

/// Samples a [`Watch`] on its own thread until it is finished.
#[derive(Debug)]
pub struct Series {
    stop: Sender<()>,
    sampler: JoinHandle<Vec<Sample>>,
}

impl Series {
    /// Takes a sample every `interval` and one at the end, and passes each to `show`.
    pub fn start(
        watch: Arc<Watch>,
        interval: Duration,
        mut show: impl FnMut(&Sample) + Send + 'static,
    ) -> Series {
        let (stop, stopped) = channel();
        let sampler = std::thread::spawn(move || {
            let mut samples = Vec::new();
            loop {
                let running = stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout);
                let sample = watch.sample();
                show(&sample);
                samples.push(sample);
                if !running {
                    return samples;
                }
            }
        });
        Series { stop, sampler }
    }

    /// Takes the last sample and returns all.
    pub fn finish(self) -> Vec<Sample> {
        drop(self.stop);
        self.sampler.join().unwrap_or_default()
    }
}
