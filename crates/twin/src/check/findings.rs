//! Findings of the file-system check; there must be none while servers are at rest.

use futago_base::{ClusterMap, Overlay};
use futago_lab::check::{Listing, Records, check};
use futago_server::inspected;
use futago_store::MemoryStore;

/// The findings in the records of all servers, one line each.
pub fn findings(map: &ClusterMap, stores: &[&MemoryStore]) -> Vec<String> {
    let servers = map.servers().zip(stores);
    let listings: Vec<Listing> = servers
        .map(|(server, store)| {
            let state = Overlay::new(*store);
            let records = store.records();
            Listing {
                server,
                records: records
                    .filter_map(|(key, value)| inspected(&state, key, value))
                    .collect(),
            }
        })
        .collect();
    let found = check(&Records::new(map, &listings));
    let found = found.iter();
    found
        .map(|finding| format!("{}: {}", finding.server, finding.fault))
        .collect()
}
