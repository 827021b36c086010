//! Names what threads share, in one place: `model/` compiles the code that uses it over a model checker's types instead.

pub(crate) use arc_swap::{ArcSwap, Guard};
pub(crate) use std::{sync, thread};
