//! The errors of a run.

use crate::event::{EventKey, ProcessId};
use crate::{Model, Time};

/// The reason why a run could not start or did not finish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The settings are invalid.
    #[error("{0}")]
    Settings(String),
    /// A link without lookahead would join two partitions of the conservative executor.
    #[error(
        "no lookahead between {from} and {to}, which are in different partitions: give the link a \
         lookahead, put both in one partition, or use the optimistic executor"
    )]
    ZeroLookahead {
        /// The sending process.
        from: String,
        /// The receiving process.
        to: String,
    },
    /// An event failed.
    #[error("{process} at {time}: {cause}")]
    Event {
        /// The process that handled the event.
        process: String,
        /// The time of the event.
        time: Time,
        /// The cause.
        cause: String,
    },
    /// The communication between ranks failed, or another rank ended the run.
    #[error("between ranks: {0}")]
    Ranks(String),
}

/// The fault of one event.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    NoSuchProcess {
        to: ProcessId,
    },
    EndOfTime {
        delay: Time,
    },
    TooDeep {
        limit: u16,
    },
    CounterExhausted,
    Lookahead {
        to: ProcessId,
        delay: Time,
        declared: Time,
    },
    Panic {
        message: String,
    },
    Digest {
        message: String,
    },
}

/// A fault and its event.
#[derive(Clone, Debug)]
pub(crate) struct FailedEvent {
    pub key: EventKey,
    pub process: ProcessId,
    pub fault: Fault,
}

impl FailedEvent {
    pub fn into_error(self, model: &impl Model) -> Error {
        Error::Event {
            process: model.name(self.process),
            time: self.key.time(),
            cause: self.fault.describe(model),
        }
    }
}

impl Fault {
    /// The fault of a panic, from the payload of `catch_unwind`.
    pub fn from_panic(payload: &(dyn std::any::Any + Send)) -> Fault {
        let message = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".into());
        Fault::Panic { message }
    }

    fn describe(&self, model: &impl Model) -> String {
        match self {
            Fault::NoSuchProcess { to } => format!(
                "sent an event to process {}, but there are only {}",
                to.0,
                model.process_count()
            ),
            Fault::EndOfTime { delay } => {
                format!("sent an event with a delay of {delay}, past the end of time")
            }
            Fault::TooDeep { limit } => format!(
                "a chain of zero-delay events is longer than {limit}: a loop without delay, or \
                 raise the limit"
            ),
            Fault::CounterExhausted => "sent more than 2^48 events".into(),
            Fault::Lookahead {
                to,
                delay,
                declared,
            } => format!(
                "sent an event to {} with a delay of {delay}, less than the declared lookahead of \
                 {declared}",
                model.name(*to)
            ),
            Fault::Panic { message } => format!("the handler panicked: {message}"),
            Fault::Digest { message } => {
                format!("the event or its process cannot be serialized: {message}")
            }
        }
    }
}
