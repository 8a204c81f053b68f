//! The entry points and structures of libfabric in use, after its headers (`rdma/fabric.h`,
//! `fi_domain.h`, `fi_endpoint.h`, `fi_eq.h`, `fi_cm.h`) of version 1.17.
//!
//! The library exports few functions. Those of an object are in tables that the object refers to.
//! A newer library appends members to tables and structures, and moves none. Functions that this
//! program does not call are declared as [`Unused`].

use std::ffi::{c_char, c_int, c_void};

/// The version of the interface that these declarations follow.
pub const VERSION: u32 = (1 << 16) | 17;

/// `FI_MSG`.
pub const MESSAGES: u64 = 1 << 1;
/// `FI_RECV`, also the flag of a completed receive.
pub const RECEIVE: u64 = 1 << 10;
/// `FI_SEND`, also the flag of a completed send.
pub const SEND: u64 = 1 << 11;
/// `FI_TRANSMIT`, the flag of binding a queue for sends.
pub const TRANSMIT: u64 = SEND;
/// `FI_SOURCE`: the node names the local end.
pub const SOURCE: u64 = 1 << 57;
/// `FI_NUMERICHOST`.
pub const NUMERIC_HOST: u64 = 1 << 55;
/// `FI_CONTEXT` and `FI_CONTEXT2`: the provider uses the memory of contexts.
pub const CONTEXTS: u64 = (1 << 59) | (1 << 52);
/// `FI_ORDER_SAS`: messages arrive in the order of their sends.
pub const SENDS_IN_ORDER: u64 = 1 << 8;
/// `FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY`.
pub const REGISTRATION_MODES: c_int = (1 << 2) | (1 << 4) | (1 << 5) | (1 << 6);
/// `FI_EP_RDM`.
pub const RELIABLE_DATAGRAMS: c_int = 3;
/// `FI_THREAD_DOMAIN`: calls for the objects of a domain do not overlap.
pub const THREAD_DOMAIN: c_int = 3;
/// `FI_PROGRESS_MANUAL`.
pub const PROGRESS_MANUAL: c_int = 2;
/// `FI_RM_ENABLED`.
pub const RESOURCES_MANAGED: c_int = 2;
/// `FI_AV_TABLE`.
pub const ADDRESS_TABLE: c_int = 2;
/// `FI_CQ_FORMAT_MSG`.
pub const FORMAT_MESSAGE: c_int = 2;
/// `FI_WAIT_NONE`.
pub const WAIT_NONE: c_int = 0;
/// `FI_WAIT_FD`.
pub const WAIT_DESCRIPTOR: c_int = 3;
/// `FI_GETWAIT`.
pub const GET_WAIT: c_int = 5;
/// `FI_ENABLE`.
pub const ENABLE: c_int = 6;
/// `FI_ADDR_UNSPEC`.
pub const ANY_ADDRESS: u64 = u64::MAX;
/// `FI_EAGAIN`.
pub const TRY_AGAIN: isize = 11;
/// `FI_ETRUNC`.
pub const TRUNCATED: c_int = 265;
/// `FI_EAVAIL`.
pub const ERROR_AVAILABLE: isize = 259;

/// A function that is not called.
pub type Unused = *const c_void;

/// `struct fid`: the beginning of every object.
#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub operations: *const FidOperations,
}

/// `struct fi_ops`.
#[repr(C)]
pub struct FidOperations {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

/// `struct fid_fabric`.
#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub operations: *const FabricOperations,
}

/// `struct fi_ops_fabric`.
#[repr(C)]
pub struct FabricOperations {
    pub size: usize,
    pub domain:
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub passive_endpoint: Unused,
    pub event_queue: Unused,
    pub wait_set: Unused,
    pub try_wait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

/// `struct fid_domain`.
#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub operations: *const DomainOperations,
    pub memory: *const MemoryOperations,
}

/// `struct fi_ops_domain`.
#[repr(C)]
pub struct DomainOperations {
    pub size: usize,
    pub address_vector: unsafe extern "C" fn(
        *mut Domain,
        *mut AddressVectorAttributes,
        *mut *mut AddressVector,
        *mut c_void,
    ) -> c_int,
    pub completion_queue: unsafe extern "C" fn(
        *mut Domain,
        *mut QueueAttributes,
        *mut *mut CompletionQueue,
        *mut c_void,
    ) -> c_int,
    pub endpoint:
        unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Endpoint, *mut c_void) -> c_int,
}

/// `struct fi_ops_mr`.
#[repr(C)]
pub struct MemoryOperations {
    pub size: usize,
    pub register: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Registration,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_mr`.
#[repr(C)]
pub struct Registration {
    pub fid: Fid,
    pub description: *mut c_void,
    pub key: u64,
}

/// `struct fi_av_attr`.
#[repr(C)]
pub struct AddressVectorAttributes {
    pub kind: c_int,
    pub receive_context_bits: c_int,
    pub count: usize,
    pub endpoints_per_node: usize,
    pub name: *const c_char,
    pub map_address: *mut c_void,
    pub flags: u64,
}

/// `struct fid_av`.
#[repr(C)]
pub struct AddressVector {
    pub fid: Fid,
    pub operations: *const AddressVectorOperations,
}

/// `struct fi_ops_av`.
#[repr(C)]
pub struct AddressVectorOperations {
    pub size: usize,
    pub insert: unsafe extern "C" fn(
        *mut AddressVector,
        *const c_void,
        usize,
        *mut u64,
        u64,
        *mut c_void,
    ) -> c_int,
}

/// `struct fi_cq_attr`.
#[repr(C)]
pub struct QueueAttributes {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_object: c_int,
    pub signaling_vector: c_int,
    pub wait_condition: c_int,
    pub wait_set: *mut c_void,
}

/// `struct fid_cq`.
#[repr(C)]
pub struct CompletionQueue {
    pub fid: Fid,
    pub operations: *const QueueOperations,
}

/// `struct fi_ops_cq`.
#[repr(C)]
pub struct QueueOperations {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut CompletionQueue, *mut Completion, usize) -> isize,
    pub read_from: Unused,
    pub read_error: unsafe extern "C" fn(*mut CompletionQueue, *mut CompletionError, u64) -> isize,
}

/// `struct fi_cq_msg_entry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Completion {
    pub context: *mut c_void,
    pub flags: u64,
    pub length: usize,
}

/// `struct fi_cq_err_entry`.
#[repr(C)]
pub struct CompletionError {
    pub context: *mut c_void,
    pub flags: u64,
    pub length: usize,
    pub buffer: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub overflow_length: usize,
    pub error: c_int,
    pub provider_error: c_int,
    pub error_data: *mut c_void,
    pub error_data_size: usize,
}

/// `struct fid_ep`.
#[repr(C)]
pub struct Endpoint {
    pub fid: Fid,
    pub operations: Unused,
    pub connection: *const ConnectionOperations,
    pub messages: *const MessageOperations,
}

/// `struct fi_ops_cm`.
#[repr(C)]
pub struct ConnectionOperations {
    pub size: usize,
    pub set_name: Unused,
    pub get_name: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

/// `struct fi_ops_msg`.
#[repr(C)]
pub struct MessageOperations {
    pub size: usize,
    pub receive: unsafe extern "C" fn(
        *mut Endpoint,
        *mut c_void,
        usize,
        *mut c_void,
        u64,
        *mut c_void,
    ) -> isize,
    pub receive_vector: Unused,
    pub receive_message: Unused,
    pub send: unsafe extern "C" fn(
        *mut Endpoint,
        *const c_void,
        usize,
        *mut c_void,
        u64,
        *mut c_void,
    ) -> isize,
}

/// `struct fi_info`.
#[repr(C)]
pub struct Info {
    pub next: *mut Self,
    pub capabilities: u64,
    pub mode: u64,
    pub address_format: u32,
    pub source_length: usize,
    pub destination_length: usize,
    pub source: *mut c_void,
    pub destination: *mut c_void,
    pub handle: *mut Fid,
    pub transmit: *mut TransmitAttributes,
    pub receive: *mut ReceiveAttributes,
    pub endpoint: *mut EndpointAttributes,
    pub domain: *mut DomainAttributes,
    pub fabric: *mut FabricAttributes,
    pub nic: *mut c_void,
}

/// `struct fi_tx_attr`.
#[repr(C)]
pub struct TransmitAttributes {
    pub capabilities: u64,
    pub mode: u64,
    pub operation_flags: u64,
    pub message_order: u64,
    pub completion_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub vector_limit: usize,
    pub remote_vector_limit: usize,
    pub traffic_class: u32,
}

/// `struct fi_rx_attr`.
#[repr(C)]
pub struct ReceiveAttributes {
    pub capabilities: u64,
    pub mode: u64,
    pub operation_flags: u64,
    pub message_order: u64,
    pub completion_order: u64,
    pub total_buffered: usize,
    pub size: usize,
    pub vector_limit: usize,
}

/// `struct fi_ep_attr`, as far as it is used. The library allocates it.
#[repr(C)]
pub struct EndpointAttributes {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub message_bytes_max: usize,
}

/// `struct fi_domain_attr`, as far as it is used. The library allocates it.
#[repr(C)]
pub struct DomainAttributes {
    pub domain: *mut Domain,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_management: c_int,
    pub address_vector: c_int,
    pub registration_mode: c_int,
}

/// `struct fi_fabric_attr`, as far as it is used. The library allocates it.
#[repr(C)]
pub struct FabricAttributes {
    pub fabric: *mut Fabric,
    pub name: *mut c_char,
    pub provider: *mut c_char,
    pub provider_version: u32,
}

/// `fi_getinfo`.
pub type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
/// `fi_freeinfo`.
pub type FreeInfo = unsafe extern "C" fn(*mut Info);
/// `fi_dupinfo`; of no information it makes an empty one.
pub type DuplicateInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
/// `fi_fabric`.
pub type OpenFabric =
    unsafe extern "C" fn(*mut FabricAttributes, *mut *mut Fabric, *mut c_void) -> c_int;
/// `fi_strerror`.
pub type DescribeError = unsafe extern "C" fn(c_int) -> *const c_char;
/// `fi_version`.
pub type GetVersion = unsafe extern "C" fn() -> u32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The offsets that a C compiler gives to the members in the headers on a 64-bit machine.
    #[test]
    fn members_are_where_the_headers_have_them() {
        let offsets = [
            (offset_of!(Fid, operations), 16),
            (offset_of!(FidOperations, control), 24),
            (offset_of!(Fabric, operations), 24),
            (offset_of!(FabricOperations, domain), 8),
            (offset_of!(FabricOperations, try_wait), 40),
            (offset_of!(Domain, memory), 32),
            (offset_of!(DomainOperations, endpoint), 24),
            (offset_of!(MemoryOperations, register), 8),
            (offset_of!(Registration, description), 24),
            (offset_of!(AddressVectorAttributes, flags), 40),
            (offset_of!(QueueAttributes, wait_set), 32),
            (offset_of!(QueueOperations, read_error), 24),
            (offset_of!(Completion, length), 16),
            (offset_of!(CompletionError, error), 56),
            (offset_of!(CompletionError, error_data_size), 72),
            (offset_of!(Endpoint, connection), 32),
            (offset_of!(Endpoint, messages), 40),
            (offset_of!(ConnectionOperations, get_name), 16),
            (offset_of!(MessageOperations, send), 32),
            (offset_of!(Info, handle), 64),
            (offset_of!(Info, fabric), 104),
            (offset_of!(TransmitAttributes, size), 48),
            (offset_of!(ReceiveAttributes, size), 48),
            (offset_of!(EndpointAttributes, message_bytes_max), 16),
            (offset_of!(DomainAttributes, registration_mode), 36),
            (offset_of!(FabricAttributes, provider), 16),
        ];
        for (number, (ours, theirs)) in offsets.into_iter().enumerate() {
            assert_eq!(ours, theirs, "{number}");
        }
        assert_eq!(size_of::<CompletionError>(), 80);
    }
}
