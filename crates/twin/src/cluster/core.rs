//! The core of a simulated server, which may have a defect.

use super::{
    Coverage, Defect,
    coverage::Seen,
    defect::{Cause, FormerSizes, LatestRequest},
};
use crate::check::heard_of;
use futago_base::{FileId, Moment, RequestId, View as _};
use futago_driver::Core;
use futago_server::{Decision, Input, Output, Server};
use futago_store::ServerStore;
use std::collections::BTreeSet;

/// A core, perhaps with a defect.
#[derive(Clone, Debug)]
pub struct FlawedCore {
    pub server: Server,
    pub defect: Option<Defect>,
    /// Files of which it has noted something about truncations that is not checked yet.
    pub unchecked: BTreeSet<FileId>,
    /// The recovery paths that it has passed through since the last look.
    pub passed: Coverage,
    pub latest: LatestRequest,
    /// Outputs that a defect has leave before they are durable.
    pub early: Vec<Output>,
    /// Replies as they were decided, for a defect that serves damaged data.
    pub replies: Vec<Output>,
    former: FormerSizes,
}

impl FlawedCore {
    pub fn new(server: Server, defect: Option<Defect>) -> Self {
        Self {
            server,
            defect,
            unchecked: BTreeSet::new(),
            passed: Coverage::default(),
            latest: LatestRequest::default(),
            early: Vec::new(),
            replies: Vec::new(),
            former: FormerSizes::default(),
        }
    }

    /// Whether its latest decision was about this request.
    pub fn decided_last(&self, request: RequestId) -> bool {
        self.latest.changes(request).is_some()
    }

    fn decide_wrongly(
        &mut self,
        defect: Defect,
        store: &ServerStore,
        mut input: Input,
        now: Moment,
    ) -> Decision {
        let (space, store) = (store.space(), store.memory());
        defect.alter_lives(&mut input, self.server.incarnation());
        defect.alter_input(&mut input, store);
        let cause = Cause::of(&input);
        let returned = defect.returns_at_once(&input, self.server.id());
        let view = defect.view(store, space, &input, &self.former);
        let mut decision = self.server.handle(&view, input, now);
        decision.outputs.extend(returned);
        defect.alter_outputs(&mut decision.outputs, cause);
        defect.note_replies(&decision.outputs, &mut self.replies);
        self.early.extend(defect.take_early(&mut decision.outputs));
        defect.alter_batch(&mut decision.batch, cause, store);
        decision.waits_for_clients &= defect != Defect::WaitsEverywhere;
        self.former.note(&decision.batch, store);
        decision
    }
}

const fn request_of(input: &Input) -> Option<RequestId> {
    match input {
        Input::Request { id, .. } => Some(*id),
        _ => None,
    }
}

impl Core<ServerStore> for FlawedCore {
    fn server(&self) -> &Server {
        &self.server
    }

    fn handle(
        &mut self,
        store: &ServerStore,
        input: Input,
        decided: Moment,
        read: Moment,
    ) -> Decision {
        let (seen, request) = (Seen::of(&input, store.memory()), request_of(&input));
        let decision = match self.defect {
            None => self.server.handle(store, input, decided),
            Some(defect) => {
                let decided = defect.alter_moment(decided, read);
                self.decide_wrongly(defect, store, input, decided)
            }
        };
        let noted = decision.batch.records.iter();
        let noted = noted.filter_map(|(key, value)| heard_of(key, value.as_ref()));
        self.unchecked.extend(noted);
        self.passed.join(seen.marks(&decision, store.memory()));
        self.latest.note(request, &decision.batch);
        decision
    }

    fn frees_places(&self) -> bool {
        self.defect != Some(Defect::NeverReadmits)
    }
}
