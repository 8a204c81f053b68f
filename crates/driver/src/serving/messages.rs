//! Inputs and outputs of a server as messages.

use futago_base::{Payload, RequestId, ServerId, SessionId};
use futago_server::{Input, Output};
use futago_wire::{Body, Frame, Header, MessageKind, header::features};

/// The receiver of a server's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The client whose session it is.
    Session(SessionId),
    /// Another server.
    Server(ServerId),
}

/// The input in a message; `None` for one that only a client gets.
pub(super) fn input(frame: Frame) -> Option<Input> {
    let Header {
        session,
        sequence,
        acknowledged,
        features,
        ..
    } = frame.header;
    match frame.body {
        Body::Request(request) => Some(Input::Request {
            id: RequestId { session, sequence },
            acknowledged,
            request,
            payload: frame.payload,
            leases: features & features::LEASES != 0,
            introduces: features & features::INTRODUCES != 0,
        }),
        Body::Peer(message) => Some(Input::Peer(message)),
        Body::PeerAnswer(answer) => Some(Input::PeerAnswer(answer)),
        Body::Outcome(_) | Body::Push(_) | Body::CacheRequest(_) | Body::CacheReply(_) => None,
    }
}

/// The message of an output, and its receiver. The sender, its clock and its map are missing.
pub(super) fn message(output: Output) -> (Receiver, Frame) {
    let of = |session, kind, sequence| Header {
        session,
        sequence,
        ..Header::new(kind)
    };
    let (receiver, header, body, payload) = match output {
        Output::Reply {
            request: RequestId { session, sequence },
            outcome,
            payload,
        } => {
            let header = of(session, MessageKind::Outcome, sequence);
            let receiver = Receiver::Session(session);
            (receiver, header, Body::Outcome(outcome), payload)
        }
        Output::Push { session, push } => {
            let header = of(session, MessageKind::Push, 0);
            let receiver = Receiver::Session(session);
            (receiver, header, Body::Push(push), Payload::empty())
        }
        Output::Peer { to, message } => {
            let header = Header::new(MessageKind::Peer);
            let body = Body::Peer(message);
            (Receiver::Server(to), header, body, Payload::empty())
        }
        Output::PeerAnswer { to, answer } => {
            let header = Header::new(MessageKind::PeerAnswer);
            let body = Body::PeerAnswer(answer);
            (Receiver::Server(to), header, body, Payload::empty())
        }
    };
    let frame = Frame {
        header,
        body,
        payload,
    };
    (receiver, frame)
}
