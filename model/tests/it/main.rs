//! The integration tests of the model: one program, a module for each subject.

mod lock_file_states;
mod protocols;
