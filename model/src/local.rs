//! A cell of each thread, with the methods that the standard library's has.

use std::cell::Cell;

use shuttle::thread::LocalKey;

pub struct Local<T: 'static>(pub &'static LocalKey<Cell<T>>);

impl<T: Copy> Local<T> {
    pub fn get(&self) -> T {
        self.0.with(Cell::get)
    }

    pub fn set(&self, value: T) {
        self.0.with(|cell| cell.set(value));
    }

    pub fn replace(&self, value: T) -> T {
        self.0.with(|cell| cell.replace(value))
    }
}
