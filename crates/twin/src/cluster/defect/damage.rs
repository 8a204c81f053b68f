//! Defects of data that cannot be read.

use super::Defect;
use futago_base::Errno;
use futago_server::Output;
use futago_wire::Failure;

impl Defect {
    /// Notes the replies of a decision, before their data is read.
    pub fn note_replies(self, outputs: &[Output], noted: &mut Vec<Output>) {
        if self == Self::ServesDamagedData {
            let replies = outputs.iter();
            let replies = replies.filter(|output| matches!(output, Output::Reply { .. }));
            noted.extend(replies.cloned());
        }
    }

    /// Replies with zeros where data is damaged.
    pub fn serve_damaged(self, outputs: &mut [Output], noted: &[Output]) {
        if self == Self::ServesDamagedData {
            for output in outputs {
                let decided = noted.iter().rfind(|noted| is_withheld(output, noted));
                if let Some(decided) = decided {
                    *output = with_zeros(decided.clone());
                }
            }
        }
    }
}

/// Whether a reply is an error in place of what was decided.
fn is_withheld(output: &Output, decided: &Output) -> bool {
    match (output, decided) {
        (
            Output::Reply {
                request: one,
                outcome: Err(Failure::Errno(Errno::EIO)),
                ..
            },
            Output::Reply { request: other, .. },
        ) => one == other,
        _ => false,
    }
}

fn with_zeros(mut decided: Output) -> Output {
    if let Output::Reply { payload, .. } = &mut decided {
        *payload = bytes::Bytes::from(vec![0; payload.len()]).into();
    }
    decided
}
