//! Turns the handles of one face into those of the other.

use super::{aio, sync};

/// Defines the conversions of the handles in the module of a face.
macro_rules! conversions {
    ($face:ident) => {
        impl $face::Hierarchy {
            /// The same hierarchy for async callers. Both share warnings and copies of documents.
            pub fn as_async(&self) -> aio::Hierarchy {
                aio::Hierarchy { context: self.context.clone() }
            }

            /// The same hierarchy for blocking callers. Both share warnings and copies of documents.
            pub fn as_blocking(&self) -> sync::Hierarchy {
                sync::Hierarchy { context: self.context.clone() }
            }
        }

        impl $face::Group {
            /// The same group for async callers.
            pub fn as_async(&self) -> aio::Group {
                self.hierarchy.as_async().group_of(self.core.clone())
            }

            /// The same group for blocking callers.
            pub fn as_blocking(&self) -> sync::Group {
                self.hierarchy.as_blocking().group_of(self.core.clone())
            }
        }

        impl $face::Array {
            /// The same array for async callers. Both share the array's newest metadata.
            pub fn as_async(&self) -> aio::Array {
                self.hierarchy.as_async().array_of(self.core.clone())
            }

            /// The same array for blocking callers. Both share the array's newest metadata.
            pub fn as_blocking(&self) -> sync::Array {
                self.hierarchy.as_blocking().array_of(self.core.clone())
            }
        }
    };
}

conversions!(sync);
conversions!(aio);

/// Chunks may go to other threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<sync::Chunk>();
    sendable::<aio::Chunk>();
};
