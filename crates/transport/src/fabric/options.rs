//! The choice of a provider, and the objects that an endpoint consists of.

use super::{
    FabricError, Provider,
    endpoint::check,
    library::Library,
    memory::Buffers,
    object::Object,
    table::{self, AddressVectorAttributes, QueueAttributes},
};
use std::{
    ffi::{CString, c_int},
    io,
    net::IpAddr,
    os::fd::RawFd,
    ptr::{self, NonNull},
};

/// The way in which a provider offers endpoints.
pub struct Info {
    first: NonNull<table::Info>,
    library: &'static Library,
}

impl Info {
    /// The first offer of the provider whose endpoints are at this address.
    ///
    /// # Errors
    /// There is none.
    pub fn find(
        library: &'static Library,
        provider: &Provider,
        local: Option<IpAddr>,
    ) -> Result<Self, FabricError> {
        let failed = |reason: String| FabricError::Provider {
            provider: provider.to_string(),
            reason,
        };
        let hints = Self::hints(library, provider).map_err(|error| failed(error.to_string()))?;
        // The addresses of shared memory are names of processes.
        let node = local.filter(|_| !provider.is_within_host());
        let node = node.map(|address| CString::new(address.to_string()).unwrap_or_default());
        let (host, flags) = match &node {
            Some(node) => (node.as_ptr(), table::SOURCE | table::NUMERIC_HOST),
            None => (ptr::null(), 0),
        };
        let mut found = ptr::null_mut();
        // SAFETY: the strings are terminated, and the hints are the library's own.
        let status = unsafe {
            let hints = hints.first.as_ptr();
            (library.get_info)(
                table::VERSION,
                host,
                ptr::null(),
                flags,
                hints,
                &raw mut found,
            )
        };
        let checked = check(library, "looking for it", status);
        checked.map_err(|error| failed(error.to_string()))?;
        let first = NonNull::new(found).ok_or_else(|| failed("there is none".into()))?;
        Ok(Self { first, library })
    }

    /// The demands on a provider.
    fn hints(library: &'static Library, provider: &Provider) -> io::Result<Self> {
        // SAFETY: without a template the library makes an empty one.
        let made = unsafe { (library.duplicate_info)(ptr::null()) };
        let first = NonNull::new(made).ok_or(io::ErrorKind::OutOfMemory)?;
        let hints = Self { first, library };
        let name = CString::new(provider.full_name())?;
        // SAFETY: the library has allocated all structures that an empty one refers to.
        unsafe {
            let info = first.as_ptr();
            (*info).capabilities = table::MESSAGES;
            (*info).mode = table::CONTEXTS;
            (*(*info).endpoint).kind = table::RELIABLE_DATAGRAMS;
            (*(*info).transmit).message_order = table::SENDS_IN_ORDER;
            (*(*info).receive).message_order = table::SENDS_IN_ORDER;
            let domain = (*info).domain;
            (*domain).threading = table::THREAD_DOMAIN;
            (*domain).control_progress = table::PROGRESS_MANUAL;
            (*domain).data_progress = table::PROGRESS_MANUAL;
            (*domain).resource_management = table::RESOURCES_MANAGED;
            (*domain).registration_mode = table::REGISTRATION_MODES;
            // `fi_freeinfo` gives the name to `free`.
            (*(*info).fabric).provider = libc::strdup(name.as_ptr());
        }
        Ok(hints)
    }

    pub fn open_fabric(&self) -> io::Result<Object<table::Fabric>> {
        // SAFETY: the information is the library's own, and its function makes a fabric.
        unsafe {
            let attributes = (*self.first.as_ptr()).fabric;
            let open = self.library.open_fabric;
            Object::open(self.library, "opening the fabric", |fabric| {
                open(attributes, fabric, ptr::null_mut())
            })
        }
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: the library has made it, and nothing refers to it afterwards.
        unsafe { (self.library.free_info)(self.first.as_ptr()) };
    }
}

pub fn open_domain(
    library: &Library,
    fabric: &Object<table::Fabric>,
    info: &Info,
) -> io::Result<Object<table::Domain>> {
    let fabric = fabric.pointer();
    // SAFETY: the fabric is open, and its function makes a domain.
    unsafe {
        let open = (*(*fabric).operations).domain;
        Object::open(library, "opening a domain", |domain| {
            open(fabric, info.first.as_ptr(), domain, ptr::null_mut())
        })
    }
}

pub fn open_endpoint(
    library: &Library,
    domain: &Object<table::Domain>,
    info: &Info,
) -> io::Result<Object<table::Endpoint>> {
    let domain = domain.pointer();
    // SAFETY: the domain is open, and its function makes an endpoint.
    unsafe {
        let open = (*(*domain).operations).endpoint;
        Object::open(library, "opening an endpoint", |endpoint| {
            open(domain, info.first.as_ptr(), endpoint, ptr::null_mut())
        })
    }
}

/// A list of addresses, for one peer.
pub fn open_addresses(
    library: &Library,
    domain: &Object<table::Domain>,
) -> io::Result<Object<table::AddressVector>> {
    let mut attributes = AddressVectorAttributes {
        kind: table::ADDRESS_TABLE,
        receive_context_bits: 0,
        count: 1,
        endpoints_per_node: 0,
        name: ptr::null(),
        map_address: ptr::null_mut(),
        flags: 0,
    };
    let domain = domain.pointer();
    // SAFETY: the domain is open, and its function makes an address vector.
    unsafe {
        let open = (*(*domain).operations).address_vector;
        Object::open(library, "opening an address vector", |vector| {
            open(domain, &raw mut attributes, vector, ptr::null_mut())
        })
    }
}

/// A queue of completions, and its descriptor if the provider has one.
pub fn open_queue(
    library: &Library,
    domain: &Object<table::Domain>,
    size: usize,
) -> io::Result<(Object<table::CompletionQueue>, Option<RawFd>)> {
    let Ok(queue) = open_queue_with(library, domain, size, table::WAIT_DESCRIPTOR) else {
        let queue = open_queue_with(library, domain, size, table::WAIT_NONE)?;
        return Ok((queue, None));
    };
    let mut descriptor: c_int = -1;
    // SAFETY: for this command of a queue with a descriptor, the argument is an `int`.
    unsafe {
        let argument = (&raw mut descriptor).cast();
        queue.control(
            library,
            "asking for the descriptor",
            table::GET_WAIT,
            argument,
        )?;
    }
    Ok((queue, Some(descriptor)))
}

fn open_queue_with(
    library: &Library,
    domain: &Object<table::Domain>,
    size: usize,
    wait_object: c_int,
) -> io::Result<Object<table::CompletionQueue>> {
    let mut attributes = QueueAttributes {
        size,
        flags: 0,
        format: table::FORMAT_MESSAGE,
        wait_object,
        signaling_vector: 0,
        wait_condition: 0,
        wait_set: ptr::null_mut(),
    };
    let domain = domain.pointer();
    // SAFETY: the domain is open, and its function makes a queue.
    unsafe {
        let open = (*(*domain).operations).completion_queue;
        Object::open(library, "opening a completion queue", |queue| {
            open(domain, &raw mut attributes, queue, ptr::null_mut())
        })
    }
}

/// Registers all buffers for sends and receives.
pub fn register(
    library: &Library,
    domain: &Object<table::Domain>,
    buffers: &Buffers,
) -> io::Result<Object<table::Registration>> {
    let domain = domain.pointer();
    let (start, bytes) = buffers.whole();
    let access = table::SEND | table::RECEIVE;
    // SAFETY: the domain is open. The memory stays mapped until the registration is closed.
    unsafe {
        let register = (*(*domain).memory).register;
        Object::open(library, "registering buffers", |registration| {
            let nothing = ptr::null_mut();
            register(
                domain.cast(),
                start,
                bytes,
                access,
                0,
                0,
                0,
                registration,
                nothing,
            )
        })
    }
}
