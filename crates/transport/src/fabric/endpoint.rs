//! An endpoint of a provider, which exchanges messages with one peer through registered buffers.
//!
//! It is of the type `FI_EP_RDM`, the only one that `shm` has, and that `ofi_rxm` makes of the
//! connections of `tcp` and `verbs`. Each endpoint has a domain and a queue of its own, so that
//! exclusive access to the endpoint is exclusive access to all that belongs to it.

use super::{
    FabricError, Provider,
    library::Library,
    memory::{BUFFER_BYTES, Buffers},
    object::Object,
    options::{Info, open_addresses, open_domain, open_endpoint, open_queue, register},
    table::{self, Completion},
};
use crate::inheritance::Descriptors;
use std::{
    ffi::{c_int, c_void},
    io,
    net::IpAddr,
    os::fd::RawFd,
    ptr,
};

/// The longest address of an endpoint, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 256;
/// Before the number of the process in addresses of `shm`.
const SHARED_MEMORY: &[u8] = b"fi_shm://";
/// The completions that are taken at once.
const COMPLETIONS: usize = 16;

/// A finished use of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// A message has arrived in the buffer.
    Received {
        /// The buffer.
        index: usize,
        /// The length of the message, in bytes.
        bytes: usize,
    },
    /// A message was longer than the buffer.
    TooLong {
        /// The buffer.
        index: usize,
    },
    /// The buffer was sent.
    Sent {
        /// The buffer.
        index: usize,
    },
}

/// An endpoint. Its parts are closed in the order of declaration.
pub struct Endpoint {
    endpoint: Object<table::Endpoint>,
    registration: Object<table::Registration>,
    addresses: Object<table::AddressVector>,
    queue: Object<table::CompletionQueue>,
    _domain: Object<table::Domain>,
    fabric: Object<table::Fabric>,
    buffers: Buffers,
    /// Which buffers the provider works on.
    in_use: Vec<bool>,
    peer: u64,
    /// The descriptor that reports completions; `None` if the provider has none.
    wait: Option<RawFd>,
    library: &'static Library,
}

impl Endpoint {
    /// Opens an endpoint with so many buffers, which peers reach at the local address.
    ///
    /// # Errors
    /// The library or the provider is missing, or cannot be used at this address.
    pub fn open(
        provider: &Provider,
        local: Option<IpAddr>,
        buffers: usize,
    ) -> Result<Self, FabricError> {
        let library = Library::get()?;
        // A child would find locks of the library held by a thread that it does not have.
        let _no_fork = Descriptors::hold();
        let info = Info::find(library, provider, local)?;
        Self::of(library, &info, buffers).map_err(|error| FabricError::Provider {
            provider: provider.to_string(),
            reason: error.to_string(),
        })
    }

    fn of(library: &'static Library, info: &Info, count: usize) -> io::Result<Self> {
        let fabric = info.open_fabric()?;
        let domain = open_domain(library, &fabric, info)?;
        let addresses = open_addresses(library, &domain)?;
        let (queue, wait) = open_queue(library, &domain, 2 * count)?;
        let buffers = Buffers::new(count)?;
        let registration = register(library, &domain, &buffers)?;
        let endpoint = open_endpoint(library, &domain, info)?;
        endpoint.bind(library, &addresses, 0)?;
        endpoint.bind(library, &queue, table::TRANSMIT | table::RECEIVE)?;
        // SAFETY: this command has no argument.
        unsafe { endpoint.control(library, "enabling it", table::ENABLE, ptr::null_mut()) }?;
        Ok(Self {
            endpoint,
            registration,
            addresses,
            queue,
            _domain: domain,
            fabric,
            buffers,
            in_use: vec![false; count],
            peer: table::ANY_ADDRESS,
            wait,
            library,
        })
    }

    /// The address at which the peer reaches this endpoint.
    ///
    /// # Errors
    /// The provider does not tell it.
    pub fn address(&self) -> io::Result<Vec<u8>> {
        let mut address = vec![0; ADDRESS_BYTES_MAX];
        let mut length = address.len();
        let endpoint = self.endpoint.pointer();
        // SAFETY: the endpoint is open, and so many bytes can be written.
        let status = unsafe {
            let get_name = (*(*endpoint).connection).get_name;
            get_name(
                endpoint.cast(),
                address.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        self.check("asking for the endpoint's address", status)?;
        address.truncate(length);
        Ok(address)
    }

    /// Sends to this address from now on.
    ///
    /// # Errors
    /// It is no address of the provider.
    pub fn set_peer(&mut self, address: &[u8]) -> io::Result<()> {
        // The provider expects an address of the length that its format has.
        let mut padded = [0; ADDRESS_BYTES_MAX + 1];
        let length = address.len().min(ADDRESS_BYTES_MAX);
        padded[..length].copy_from_slice(&address[..length]);
        let vector = self.addresses.pointer();
        // SAFETY: the vector is open. The longest address fits into the bytes, and a zero follows
        // one that is a string.
        let inserted = unsafe {
            let insert = (*(*vector).operations).insert;
            let peer = &raw mut self.peer;
            insert(vector, padded.as_ptr().cast(), 1, peer, 0, ptr::null_mut())
        };
        match inserted {
            1 => Ok(()),
            0 => Err(self.library.error("the peer's address", 22)),
            error => Err(self
                .library
                .error("the peer's address", error.saturating_neg())),
        }
    }

    /// Whether the peer may use the memory of this endpoint even after it is closed. Endpoints of
    /// `shm` in one process use each other's memory, and do not notice that it is unmapped.
    pub fn is_used_by(&self, peer: &[u8]) -> bool {
        let process = |name: &[u8]| -> Option<Vec<u8>> {
            let rest = name.strip_prefix(SHARED_MEMORY)?;
            Some(rest.split(|byte| *byte == b':').next()?.to_vec())
        };
        let ours = self.address().ok().and_then(|address| process(&address));
        ours.is_some() && ours == process(peer)
    }

    /// The descriptor to wait for, once [`Endpoint::may_block`].
    pub const fn wait_descriptor(&self) -> Option<RawFd> {
        self.wait
    }

    /// Whether the descriptor will report what comes next.
    pub fn may_block(&mut self) -> bool {
        let mut queue = self.queue.pointer().cast();
        let fabric = self.fabric.pointer();
        // SAFETY: both objects are open, and the queue was opened with a descriptor.
        self.wait.is_some()
            && unsafe { ((*(*fabric).operations).try_wait)(fabric, &raw mut queue, 1) } == 0
    }

    /// The bytes of a buffer that the provider does not work on.
    pub fn bytes(&self, index: usize) -> &[u8] {
        assert!(!self.in_use[index], "the buffer is free");
        // SAFETY: the provider does not work on it, and begins to only with a mutable reference.
        unsafe { self.buffers.bytes(index) }
    }

    /// The bytes of a buffer that the provider does not work on, to change them.
    pub fn bytes_mut(&mut self, index: usize) -> &mut [u8] {
        assert!(!self.in_use[index], "the buffer is free");
        // SAFETY: as in `bytes`.
        unsafe { self.buffers.bytes_mut(index) }
    }

    /// Has the next message arrive in a buffer. Returns false if the provider takes no more now.
    ///
    /// # Errors
    /// The endpoint is broken.
    pub fn receive(&mut self, index: usize) -> io::Result<bool> {
        assert!(!self.in_use[index], "the buffer is free");
        let (endpoint, context) = (self.endpoint.pointer(), self.buffers.context(index));
        let (buffer, description) = (self.buffers.buffer(index), self.description());
        // SAFETY: the endpoint is open. Buffer and context stay mapped until it is closed, and are
        // not accessed before the completion.
        let status = unsafe {
            let receive = (*(*endpoint).messages).receive;
            let from = table::ANY_ADDRESS;
            receive(
                endpoint,
                buffer.cast(),
                BUFFER_BYTES,
                description,
                from,
                context,
            )
        };
        self.begun("receiving", index, status)
    }

    /// Sends the first bytes of a buffer. Returns false if the provider takes no more now.
    ///
    /// # Errors
    /// The endpoint is broken.
    pub fn send(&mut self, index: usize, bytes: usize) -> io::Result<bool> {
        assert!(
            !self.in_use[index] && bytes <= BUFFER_BYTES,
            "it can be sent"
        );
        let (endpoint, context) = (self.endpoint.pointer(), self.buffers.context(index));
        let (buffer, description) = (self.buffers.buffer(index), self.description());
        // SAFETY: as in `receive`; the peer was inserted, or is no address.
        let status = unsafe {
            let send = (*(*endpoint).messages).send;
            send(
                endpoint,
                buffer.cast(),
                bytes,
                description,
                self.peer,
                context,
            )
        };
        self.begun("sending", index, status)
    }

    fn begun(&mut self, during: &'static str, index: usize, status: isize) -> io::Result<bool> {
        if status == -table::TRY_AGAIN {
            return Ok(false);
        }
        self.check(during, status as c_int)?;
        self.in_use[index] = true;
        Ok(true)
    }

    /// Has the provider work, and takes what is finished.
    ///
    /// # Errors
    /// The connection to the peer is broken.
    pub fn poll(&mut self, mut finished: impl FnMut(Finished)) -> io::Result<()> {
        loop {
            let mut done = [EMPTY; COMPLETIONS];
            let queue = self.queue.pointer();
            // SAFETY: the queue is open, and so many completions of its format can be written.
            let count = unsafe {
                let read = (*(*queue).operations).read;
                read(queue, done.as_mut_ptr(), done.len())
            };
            let done = match count {
                0.. => &done[..(count as usize).min(COMPLETIONS)],
                error if error == -table::TRY_AGAIN => return Ok(()),
                error if error == -table::ERROR_AVAILABLE => {
                    finished(self.failed()?);
                    continue;
                }
                error => return self.check("polling", error as c_int),
            };
            for completion in done {
                finished(self.completed(completion)?);
            }
            if done.len() < COMPLETIONS {
                return Ok(());
            }
        }
    }

    fn completed(&mut self, completion: &Completion) -> io::Result<Finished> {
        let index = self.end_use(completion.context)?;
        Ok(match completion.flags & table::RECEIVE {
            0 => Finished::Sent { index },
            _ => Finished::Received {
                index,
                bytes: completion.length.min(BUFFER_BYTES),
            },
        })
    }

    /// The buffer of an operation that has ended.
    fn end_use(&mut self, context: *mut c_void) -> io::Result<usize> {
        let unknown = || io::Error::other("the provider reports what was not begun");
        let index = self.buffers.index_of(context).ok_or_else(unknown)?;
        if !std::mem::take(&mut self.in_use[index]) {
            return Err(unknown());
        }
        Ok(index)
    }

    /// Takes the next operation that has failed. A stranger may have sent a message that is too
    /// long.
    fn failed(&mut self) -> io::Result<Finished> {
        // SAFETY: zeros are a value of it: numbers, and pointers to nothing.
        let mut error: table::CompletionError = unsafe { std::mem::zeroed() };
        let queue = self.queue.pointer();
        // SAFETY: the queue is open. Without room for data of the error, none is written.
        let count = unsafe {
            let read_error = (*(*queue).operations).read_error;
            read_error(queue, &raw mut error, 0)
        };
        self.check("asking for an error", count.min(0) as c_int)?;
        if error.error == table::TRUNCATED && !error.context.is_null() {
            let index = self.end_use(error.context)?;
            return Ok(Finished::TooLong { index });
        }
        Err(self.library.error("the fabric", error.error))
    }

    fn description(&self) -> *mut c_void {
        // SAFETY: the registration is open.
        unsafe { (*self.registration.pointer()).description }
    }

    fn check(&self, during: &'static str, status: c_int) -> io::Result<()> {
        check(self.library, during, status)
    }
}

const EMPTY: Completion = Completion {
    context: ptr::null_mut(),
    flags: 0,
    length: 0,
};

/// An error unless the library reports success.
pub(super) fn check(library: &Library, during: &'static str, status: c_int) -> io::Result<()> {
    match status {
        0.. => Ok(()),
        error => Err(library.error(during, error.saturating_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const LOCAL: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    const SENT_FROM: usize = 1;

    fn pair(provider: &str) -> (Endpoint, Endpoint) {
        let provider = provider.parse().unwrap();
        let open = || Endpoint::open(&provider, LOCAL, 2).unwrap();
        let (mut ours, mut theirs) = (open(), open());
        ours.set_peer(&theirs.address().unwrap()).unwrap();
        theirs.set_peer(&ours.address().unwrap()).unwrap();
        (ours, theirs)
    }

    /// Sends a message, and waits until the other endpoint has finished something.
    fn deliver(from: &mut Endpoint, to: &mut Endpoint, bytes: usize) -> Finished {
        while !from.send(SENT_FROM, bytes).unwrap() {
            from.poll(|_| ()).unwrap();
            to.poll(|_| ()).unwrap();
        }
        let mut found = None;
        while found.is_none() || from.in_use[SENT_FROM] {
            from.poll(|_| ()).unwrap();
            to.poll(|finished| found = Some(finished)).unwrap();
        }
        found.unwrap()
    }

    #[test]
    fn messages_arrive_in_both_directions_and_in_all_lengths() {
        for provider in ["tcp", "shm"] {
            let (mut ours, mut theirs) = pair(provider);
            for (number, bytes) in [1, 4096, 4097, BUFFER_BYTES].into_iter().enumerate() {
                let (from, to) = match number % 2 {
                    0 => (&mut ours, &mut theirs),
                    _ => (&mut theirs, &mut ours),
                };
                assert!(to.receive(0).unwrap());
                from.bytes_mut(SENT_FROM).fill(number as u8 + 1);
                let finished = deliver(from, to, bytes);
                assert_eq!(finished, Finished::Received { index: 0, bytes });
                assert!(to.bytes(0)[..bytes].iter().all(|b| *b == number as u8 + 1));
            }
        }
    }

    #[test]
    fn a_provider_that_does_not_exist_is_named() {
        let provider = "carrier-pigeon".parse().unwrap();
        let error = Endpoint::open(&provider, LOCAL, 1).err().unwrap();
        assert!(error.to_string().contains("carrier-pigeon"), "{error}");
    }
}
