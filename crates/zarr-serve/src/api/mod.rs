//! Answers questions below `/-/`: for the page, and for programs. docs/serving.md lists them.
//!
//! Each is a function from a [`Question`] to an answer. A node's `path` is the name of its hierarchy and its path in it:
//! `x.zarr/ocean/temp`.

mod about;
mod axis;
mod chunks;
mod colours;
mod elements;
mod figure;
mod find;
mod nodes;
mod parameters;
mod plane;
mod plate;
mod shown;
mod statistics;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use self::find::KnownNodes;

use zarr::Error;
use zarr_plot::picture::PictureError;

use crate::{Answer, Question, Targets, page};

/// Why a question has no answer.
pub(crate) enum Refusal {
    /// It cannot be asked so.
    Wrong(String),
    /// It asks for more than is read at once.
    TooLarge(String),
    /// What reading failed with.
    Failed(Box<Error>),
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(Box::new(error.into()))
    }
}

impl Refusal {
    fn wrong(why: impl Into<String>) -> Refusal {
        Refusal::Wrong(why.into())
    }

    fn picture(error: PictureError) -> Refusal {
        match error {
            PictureError::Read(error) => error.into(),
            PictureError::Refused(why) => Refusal::Wrong(why),
        }
    }

    fn answer(&self) -> Answer {
        match self {
            Refusal::Wrong(why) => Answer::refusal(400, "argument", why),
            Refusal::TooLarge(why) => Answer::refusal(413, "too_large", why),
            Refusal::Failed(error) => Answer::of_error(error),
        }
    }
}

type Answered = Result<Answer, Refusal>;

/// What answers a question.
type Function = fn(&Question, &Targets) -> Answered;

/// The questions, by what follows `/-/`.
const QUESTIONS: [(&str, Function); 17] = [
    ("targets", nodes::targets),
    ("names", nodes::names),
    ("node", about::node),
    ("children", nodes::children),
    ("find", find::find),
    ("axis", axis::coordinates),
    ("slice", plane::slice),
    ("plot.png", figure::plot),
    ("line", elements::line),
    ("value", elements::value),
    ("table", elements::table),
    ("stats", statistics::statistics),
    ("chunks", chunks::chunks),
    ("plate", plate::plate),
    ("thumbnail.png", plate::thumbnail),
    ("colormaps", colours::colormaps),
    ("coast", colours::coast),
];

/// The answer to a question. It may block: the server calls it on a thread for that, and sets [`Question::cancel`] when the
/// client has gone or the time is over.
pub(crate) fn answer(question: &Question, targets: &Targets) -> Answer {
    if let Some(name) = question.path.strip_prefix("page/") {
        return page::file(name)
            .unwrap_or_else(|| Answer::refusal(404, "not_found", "the page has no such file"));
    }
    match QUESTIONS.iter().find(|(name, _)| *name == question.path) {
        Some((_, function)) => {
            function(question, targets).unwrap_or_else(|refusal| refusal.answer())
        }
        None => {
            let names: Vec<&str> = QUESTIONS.iter().map(|(name, _)| *name).collect();
            let why = format!("nothing is here; below `/-/` are {}", names.join(", "));
            Answer::refusal(404, "not_found", &why)
        }
    }
}
