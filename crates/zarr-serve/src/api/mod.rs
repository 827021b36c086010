//! Answers questions below `/-/`: for the page, and for programs.

use zarr::{Json, Object};

use crate::{Answer, Question, Targets};

/// The answer to a question. It may block: the server calls it on a thread for that, and sets [`Question::cancel`] when the
/// client has gone or the time is over.
pub(crate) fn answer(question: &Question, targets: &Targets) -> Answer {
    match question.path.as_str() {
        "names" => names(targets),
        _ => Answer::refusal(404, "not_found", "nothing is here; `/-/names` lists what is served"),
    }
}

/// `{"names": […]}`: the hierarchies that are served.
fn names(targets: &Targets) -> Answer {
    match targets.list() {
        Ok(all) => {
            let names: Json = all.iter().map(|served| Json::from(served.name())).collect();
            Answer::json(Object::new().with("names", names))
        }
        Err(e) => Answer::of_error(&e),
    }
}
