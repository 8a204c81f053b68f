//! Defects of servers that begin a new life.

use super::Defect;
use futago_base::{Batch, Incarnation, Moment, Store as _};
use futago_server::Input;
use futago_store::ServerStore;
use futago_wire::{Peer, PeerAnswer};

impl Defect {
    /// The life that a server begins after its last one.
    pub const fn alter_life(self, last: Incarnation, drawn: Incarnation) -> Incarnation {
        match self {
            Self::KeepsIncarnation => last,
            // Identities follow from the lowest bits only.
            Self::RepeatsIdentities => Incarnation(drawn.0 << 32),
            _ => drawn,
        }
    }

    /// Alters an input of a server, so that no other server seems to have begun a new life, or to
    /// know that this one has.
    pub const fn alter_lives(self, input: &mut Input, own: Incarnation) {
        match (self, input) {
            (Self::IgnoresNewLives, Input::Peer(Peer::Deliver { from, to, .. })) => {
                (*from, *to) = (Incarnation(0), None);
            }
            (Self::IgnoresNewLives, Input::PeerAnswer(PeerAnswer::Delivered { by, from, .. })) => {
                (*by, *from) = (Incarnation(0), own)
            }
            _ => {}
        }
    }

    /// Alters the store of a server that goes on.
    pub fn alter_resumed(self, store: &mut ServerStore, decided: Moment) {
        if self == Self::ForgetsVolatile {
            let records = store.memory().records();
            let volatile = records.filter(|(key, _)| !key.is_durable());
            let batch = Batch {
                records: volatile.map(|(key, _)| (key.clone(), None)).collect(),
                ..Batch::default()
            };
            store.commit(batch, decided);
        }
    }
}
