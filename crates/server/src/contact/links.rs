//! The sessions of a contact server with homes.
//!
//! The contact server relies on the leases of a home for three quarters of a lease after it has
//! sent the last message that the home has answered, as clients do. It shows the home that it is
//! alive while it holds leases there. If a home gives up the session, the clients' relayed leases
//! end first, and the next session begins after that.

use crate::{Output, builder::DecisionBuilder};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    Duration, Key, ServerId, SessionId, Time, Value, View,
    record::{Consultation, Link, Sort},
};
use futago_wire::{ContactMessage, ContactReply, Peer, Question, codec};

/// The most facts that are cached of one home.
const FACTS_MAX: u32 = 16_384;

impl<V: View> DecisionBuilder<'_, V> {
    pub(super) fn link(&self, home: ServerId) -> Option<Link> {
        let link = self.state.get(&Key::Link(home)).and_then(Value::link);
        link.copied()
    }

    /// How long the leases of a home are valid from now on.
    pub(super) fn trust(&self, home: ServerId) -> Duration {
        let link = self
            .link(home)
            .filter(|link| link.is_known && !link.is_over);
        let trust = Duration(self.server.config().lease.0 / 4 * 3);
        let until = link.map_or(Time(0), |link| link.answered + trust);
        until.since(self.now)
    }

    pub(super) fn change_link(&mut self, home: ServerId, change: impl FnOnce(&mut Link)) {
        if let Some(mut link) = self.link(home) {
            change(&mut link);
            self.state.put(Key::Link(home), link);
        }
    }

    /// Begins the next session with a home. Numbers of messages go on, so that none has two
    /// meanings.
    fn begin_link(&mut self, home: ServerId) -> Link {
        let before = self.link(home);
        let earlier = before.map_or(0, |link| link.earlier + 1);
        let (server, incarnation) = (self.server.id(), self.server.incarnation());
        let link = Link {
            session: SessionId::of_contact(server, incarnation, home, earlier),
            earlier,
            last: before.map_or(0, |link| link.last),
            sent: self.now,
            answered: self.now,
            is_known: false,
            is_over: false,
            facts: 0,
        };
        self.state.put(Key::Link(home), link);
        link
    }

    /// The link for a question; `None` if there is none now. The home may have forgotten a session
    /// that was idle.
    fn link_for_question(&mut self, home: ServerId) -> Option<Link> {
        let idle = Duration(self.server.config().lease.0 / 2);
        match self.link(home) {
            Some(link) if link.is_over || link.facts >= FACTS_MAX => None,
            Some(link) if link.facts > 0 || self.now.since(link.sent) < idle => Some(link),
            _ => Some(self.begin_link(home)),
        }
    }

    /// Sends a question to a home. Returns whether it was sent.
    pub(super) fn send_question(&mut self, question: &Question, home: ServerId) -> bool {
        let is_open = self.link_for_question(home).is_some();
        if is_open {
            let message = ContactMessage::Ask(question.clone());
            self.expect_reply(home, message, codec::encode(question));
        }
        is_open
    }

    /// Sends a message whose reply renews the leases of the home.
    fn expect_reply(&mut self, home: ServerId, message: ContactMessage, question: Bytes) {
        let sent = self.now;
        if let Some(number) = self.send_to_home(home, message) {
            let consultation = Consultation { sent, question };
            self.state
                .put(Key::Consultation(home, number), consultation);
        }
    }

    /// Sends a message to a home; its number.
    pub(super) fn send_to_home(&mut self, home: ServerId, message: ContactMessage) -> Option<u64> {
        let now = self.now;
        self.change_link(home, |link| {
            link.last += 1;
            link.sent = now;
        });
        let link = self.link(home)?;
        let message = Peer::Contact {
            sender: self.server.id(),
            session: link.session,
            number: link.last,
            introduces: !link.is_known,
            message,
        };
        self.output(Output::Peer { to: home, message });
        Some(link.last)
    }

    /// A home replies to a message.
    pub fn receive_contact_reply(
        &mut self,
        home: ServerId,
        session: SessionId,
        number: u64,
        reply: ContactReply,
    ) {
        let Some(link) = self.link(home).filter(|link| link.session == session) else {
            return;
        };
        if reply == ContactReply::SessionExpired {
            return self.lose_link(home);
        }
        let Some(consultation) = self.take_consultation(home, number) else {
            return;
        };
        self.change_link(home, |link| {
            link.is_known = true;
            link.answered = link.answered.max(consultation.sent);
        });
        if let Some(question) = question_of(&consultation) {
            let granted = match reply {
                ContactReply::Granted(fact) if !link.is_over => Some(fact),
                _ => None,
            };
            let is_granted =
                granted.is_some_and(|fact| self.note_granted(&question, home, number, &fact));
            self.settle_question(&question, is_granted);
        }
    }

    fn take_consultation(&mut self, home: ServerId, number: u64) -> Option<Consultation> {
        let key = Key::Consultation(home, number);
        let consultation = self.state.get(&key)?.consultation().cloned();
        self.state.delete(key);
        consultation
    }

    /// Gives up the questions to a home up to a number: a lease that they may have brought was
    /// recalled.
    pub(super) fn give_up_questions(&mut self, home: ServerId, last: u64) {
        let (from, to) = Key::consultations(home, last);
        let numbers = self.consultations(from, to, |it| !it.question.is_empty());
        self.give_up(&numbers);
    }

    fn consultations(
        &self,
        from: Key,
        to: Key,
        is_meant: impl Fn(&Consultation) -> bool,
    ) -> Vec<(ServerId, u64)> {
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Consultation(home, number) if value.consultation().is_some_and(&is_meant) => {
                Some((*home, *number))
            }
            _ => None,
        };
        self.state.range(from, to).filter_map(of).collect()
    }

    fn give_up(&mut self, messages: &[(ServerId, u64)]) {
        for &(home, number) in messages {
            let given_up = self.take_consultation(home, number);
            if let Some(question) = given_up.as_ref().and_then(question_of) {
                self.settle_question(&question, false);
            }
        }
    }

    /// A home has given up the session, or seems to: clients return what they have of it.
    fn lose_link(&mut self, home: ServerId) {
        self.change_link(home, |link| link.is_over = true);
        self.give_up_questions(home, u64::MAX);
        for node in self.nodes_relayed_from(home) {
            self.end_relay(node, home);
        }
        self.renew_link(home);
    }

    /// Begins a new session once nothing is left of one that is over.
    pub(super) fn renew_link(&mut self, home: ServerId) {
        if self
            .link(home)
            .is_some_and(|link| link.is_over && link.facts == 0)
        {
            self.begin_link(home);
        }
    }

    /// Does what is due for all links.
    pub fn tend_links(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Link);
        let links = self.state.range(from, to);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Link(home) => Some((*home, *value.link()?)),
            _ => None,
        };
        let links: Vec<(ServerId, Link)> = links.filter_map(of).collect();
        if !links.is_empty() {
            self.give_up_late();
        }
        for (home, link) in links {
            self.tend_link(home, &link);
        }
    }

    fn tend_link(&mut self, home: ServerId, link: &Link) {
        let lease = self.server.config().lease;
        if link.is_over || link.facts == 0 {
            return;
        }
        if self.now.since(link.answered) > lease {
            return self.lose_link(home);
        }
        if self.now.since(link.sent).0 >= lease.0 / 4 {
            self.return_unused(home);
            self.expect_reply(home, ContactMessage::KeepAlive, Bytes::new());
        }
    }

    /// Gives up messages that should have been answered by now, so that no client waits long.
    fn give_up_late(&mut self) {
        let limit = self.server.config().resend.times(2);
        let (from, to) = Key::whole_sort(Sort::Consultation);
        let now = self.now;
        let late = self.consultations(from, to, |it| now.since(it.sent) > limit);
        self.give_up(&late);
    }
}

fn question_of(consultation: &Consultation) -> Option<Question> {
    let question = &consultation.question;
    (!question.is_empty()).then(|| codec::restore(question))
}
