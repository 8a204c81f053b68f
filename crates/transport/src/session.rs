//! The keys of a connection after the handshake. They seal and open each message once and in order.

use snow::{HandshakeState, StatelessTransportState};
use std::{io, sync::Arc};

/// The longest message of the Noise protocol, in bytes.
const MESSAGE_BYTES_MAX: usize = 65_535;
/// The overhead of a message, in bytes: its authentication tag.
pub const TAG_BYTES: usize = 16;
/// The most content bytes of a message.
pub const PLAIN_BYTES_MAX: usize = MESSAGE_BYTES_MAX - TAG_BYTES;

/// The keys of both directions.
#[derive(Debug)]
pub struct Session {
    /// The outgoing direction.
    pub sealer: Sealer,
    /// The incoming direction.
    pub opener: Opener,
}

impl Session {
    /// The keys that a finished handshake has negotiated.
    pub(crate) fn new(handshake: HandshakeState) -> Result<Self, snow::Error> {
        let keys = Arc::new(handshake.into_stateless_transport_mode()?);
        let sealer = Sealer {
            keys: Arc::clone(&keys),
            nonce: 0,
        };
        let opener = Opener { keys, nonce: 0 };
        Ok(Self { sealer, opener })
    }
}

/// The keys of the outgoing direction.
#[derive(Debug)]
pub struct Sealer {
    keys: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Sealer {
    /// Seals at most [`PLAIN_BYTES_MAX`] bytes as the next message, which is appended to `into`.
    ///
    /// # Errors
    /// There are too many bytes, or too many messages were sealed.
    pub fn seal(&mut self, plain: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        let begin = into.len();
        into.resize(begin + plain.len() + TAG_BYTES, 0);
        let sealed = &mut into[begin..];
        let sealing = self.keys.write_message(self.nonce, plain, sealed);
        sealing.map_err(io::Error::other)?;
        self.nonce += 1;
        Ok(())
    }
}

/// The keys of the incoming direction.
#[derive(Debug)]
pub struct Opener {
    keys: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Opener {
    /// Opens the next message, and appends its content to `into`.
    ///
    /// # Errors
    /// It is not the message that the peer sent next. Its content is discarded.
    pub fn open(&mut self, sealed: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        let begin = into.len();
        into.resize(begin + sealed.len().saturating_sub(TAG_BYTES), 0);
        let opening = self
            .keys
            .read_message(self.nonce, sealed, &mut into[begin..]);
        if opening.is_err() {
            into.truncate(begin);
            return Err(io::Error::new(io::ErrorKind::InvalidData, DAMAGED));
        }
        self.nonce += 1;
        Ok(())
    }
}

const DAMAGED: &str = "a message was changed, repeated or left out on its way";
