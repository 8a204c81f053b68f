//! Asks the contact server, which knows what other clients near to it have asked for.

use super::lookup::Found;
use crate::{Client, Context, join::first_of, leases::Effects};
use alloc::boxed::Box;
use core::pin::pin;
use futago_base::{FileId, Name, Payload, ServerId, Time};
use futago_wire::{Failure, FileState, Question, Relayed, RelayedFact, Reply, Request, Spot};

/// A contact server that does not answer is not asked for this many times the time limit.
const RESTS: u64 = 10;

impl<C: Context> Client<C> {
    /// Finds a name in the cache of the contact server. `None` if the server of the name is to be
    /// asked.
    pub(crate) async fn relayed_place(
        &self,
        directory: FileId,
        name: &Name,
    ) -> Option<Result<Found, Spot>> {
        let (at, part) = self.location(directory, name);
        let now = self.context().now();
        let known = self.with_leases(|leases| leases.relayed_name(directory, name, now))?;
        let entry = match known {
            Some(entry) => entry,
            None => {
                let contact = self.contact_beside(part.server)?;
                match Box::pin(self.consult(contact, Question::Entry(at.clone()))).await? {
                    RelayedFact::Entry { entry, state } => {
                        state.map(|state| self.seen(state));
                        entry
                    }
                    RelayedFact::State(_) => return None,
                }
            }
        };
        Some(match entry {
            Some(entry) => {
                let state = self.known_state(entry.id);
                Ok(Found { at, entry, state })
            }
            None => Err(at),
        })
    }

    /// The state of a file from the cache of the contact server.
    pub(crate) async fn relayed_state(&self, id: FileId) -> Option<FileState> {
        let contact = self.contact_beside(self.map().home(id))?;
        match Box::pin(self.consult(contact, Question::State(id))).await? {
            RelayedFact::State(state) => Some(self.seen(state)),
            RelayedFact::Entry { .. } => None,
        }
    }

    /// The contact server, unless it is the home itself.
    fn contact_beside(&self, home: ServerId) -> Option<ServerId> {
        let now = self.context().now();
        let contact = self.with_leases(|leases| leases.contact(now)).flatten();
        contact.filter(|contact| *contact != home)
    }

    /// Asks the contact server for a limited time.
    async fn consult(&self, contact: ServerId, question: Question) -> Option<RelayedFact> {
        let request = Request::Consult(question.clone());
        let mut effects = Effects::of(&request, contact, |node| self.map().home(node));
        self.enter_session();
        let (sent, sequence) = (self.context().now(), self.context().next_sequence());
        self.with_leases(|leases| leases.sent(sequence, &mut effects));
        let call = pin!(
            self.context()
                .call(contact, sequence, request, Payload::empty())
        );
        let limit = self.config().contact_timeout;
        let silence = pin!(self.context().sleep(limit));
        let answer = first_of(call, silence)
            .await
            .map(|it| it.map(|(reply, _)| reply));
        if matches!(answer, None | Some(Err(Failure::Errno(_)))) {
            let until = self.context().now() + limit.times(RESTS);
            self.with_leases(|leases| leases.rest_contact(sequence, until));
        }
        let reply = answer?;
        self.note_outcome(sequence, &effects, contact, sent, reply.as_ref());
        match reply {
            Ok(Reply::Relayed(Some(relayed))) => {
                self.note_relayed(sequence, &effects, &question, &relayed, sent);
                Some(relayed.fact)
            }
            _ => None,
        }
    }

    fn note_relayed(
        &self,
        sequence: u64,
        effects: &Effects,
        question: &Question,
        relayed: &Relayed,
        sent: Time,
    ) {
        self.with_leases(|leases| {
            if leases.is_in_session(effects) {
                leases.note_relayed(sequence, question, relayed, sent);
            }
        });
    }

    /// Registers the files at their homes that are open under relayed leases.
    pub(crate) async fn register_relayed_opens(&self) {
        let home = |id| self.home_part(id);
        let opens = self.with_leases(|leases| leases.opens_without_lease(home));
        for id in opens.unwrap_or_default() {
            // The next keep-alive tries again.
            self.register_opens(id).await.ok();
        }
    }
}
