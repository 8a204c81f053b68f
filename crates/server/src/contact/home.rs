//! The home's side: it serves contact servers as clients that hold leases.

use crate::{Output, builder::DecisionBuilder};
use alloc::vec::Vec;
use futago_base::{Key, RequestId, ServerId, SessionId, View, record::Session};
use futago_wire::{
    ContactMessage, ContactReply, FileState, LeaseRecall, Part, Peer, PeerAnswer, Push, Question,
    RelayedFact, Spot,
};

impl<V: View> DecisionBuilder<'_, V> {
    /// Handles a message of a contact server. `introduces` says whether its session may be new.
    pub fn receive_contact(
        &mut self,
        contact: ServerId,
        id: RequestId,
        introduces: bool,
        message: ContactMessage,
    ) {
        self.request = id;
        let reply = match self.meet_session(id, 0, introduces) {
            Ok(()) => {
                self.note_contact(id.session, contact);
                self.serve_contact(message)
            }
            Err(_) => ContactReply::SessionExpired,
        };
        let answer = PeerAnswer::Contact {
            receiver: self.server.id(),
            session: id.session,
            number: id.sequence,
            reply,
        };
        self.output(Output::PeerAnswer {
            to: contact,
            answer,
        });
    }

    fn note_contact(&mut self, session: SessionId, contact: ServerId) {
        let contact = Some(contact);
        if let Some(known) = self.session(session).filter(|it| it.contact != contact) {
            let known = Session { contact, ..known };
            self.state.put(Key::Session(session), known);
        }
    }

    fn serve_contact(&mut self, message: ContactMessage) -> ContactReply {
        match message {
            ContactMessage::Ask(question) => match self.fact_for_contact(&question) {
                Some(fact) => ContactReply::Granted(fact),
                None => ContactReply::Refused,
            },
            ContactMessage::GiveBack(leases) => {
                self.return_leases(&leases);
                ContactReply::Done
            }
            ContactMessage::KeepAlive => ContactReply::Done,
        }
    }

    /// Grants the leases for a fact; `None` if that cannot be done at once.
    fn fact_for_contact(&mut self, question: &Question) -> Option<RelayedFact> {
        match question {
            Question::Entry(at) => self.entry_for_contact(at),
            Question::State(id) => {
                let state = self.file_state(*id).ok()?;
                self.leased_for_contact(state).map(RelayedFact::State)
            }
        }
    }

    fn entry_for_contact(&mut self, at: &Spot) -> Option<RelayedFact> {
        let (location, _) = self.locate(at).ok()?;
        let entry = self.entry(&location);
        let state = match entry {
            Some(entry) => self.file_state_if_at_home(entry.id).ok()?,
            None => None,
        };
        let mut directory = self.part_of(at.directory).ok()?;
        self.grant_lease_on_part(Some(&mut directory));
        let is_leased = match directory {
            Part::Home(state) => state.leased,
            Part::Buckets(state) => state.leased,
        };
        if !is_leased {
            return None;
        }
        let state = state.and_then(|state| self.leased_for_contact(state));
        Some(RelayedFact::Entry { entry, state })
    }

    /// The state of a file under a lease. The lease of a contact server covers no data.
    fn leased_for_contact(&mut self, mut state: FileState) -> Option<FileState> {
        if state.directory.is_some_and(|it| !it.here.is_whole()) {
            return None;
        }
        self.grant_lease(&mut state);
        state.leased.then_some(FileState {
            leased: false,
            data_leased: false,
            exclusive: false,
            ..state
        })
    }

    /// Recalls leases from a client or a contact server.
    pub fn notify_of_recalls(&mut self, session: SessionId, recalls: Vec<LeaseRecall>) {
        match self.session(session).and_then(|known| known.contact) {
            Some(to) => {
                let sender = self.server.id();
                let message = Peer::Recall {
                    sender,
                    session,
                    recalls,
                };
                self.output(Output::Peer { to, message });
            }
            None => {
                let push = Push::Recall(recalls);
                self.output(Output::Push { session, push });
            }
        }
    }

    /// Whether a session is that of a contact server, which ends the sessions of its own clients.
    pub fn is_contact(&self, session: SessionId) -> bool {
        let known = self.session(session);
        known.is_some_and(|known| known.contact.is_some())
    }
}
