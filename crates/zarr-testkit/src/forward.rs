//! Writes the calls that a store for tests forwards to another.

/// In an `impl SyncStore`, the calls that are forwarded to the store in a field.
///
/// ```
/// use zarr_core::StoreError;
/// use zarr_core::store::{GetOptions, Got, StoreKey, SyncStore};
///
/// #[derive(Debug)]
/// struct Forgetful<S>(S);
///
/// impl<S: SyncStore> SyncStore for Forgetful<S> {
///     zarr_testkit::forward_calls!(0: name capabilities put create erase_prefix list_prefix link flush);
///
///     fn get(&self, _: &StoreKey, _: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
///         Ok(None)
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_calls {
    ($inner:tt: $($method:ident)*) => { $($crate::forward_calls!(@ $inner $method);)* };
    (@ $inner:tt name) => {
        fn name(&self) -> ::std::string::String {
            self.$inner.name()
        }
    };
    (@ $inner:tt capabilities) => {
        fn capabilities(&self) -> $crate::zarr_core::store::Capabilities {
            self.$inner.capabilities()
        }
    };
    (@ $inner:tt get) => {
        fn get(
            &self,
            key: &$crate::zarr_core::store::StoreKey,
            how: $crate::zarr_core::store::GetOptions<'_>,
        ) -> ::std::result::Result<::std::option::Option<$crate::zarr_core::store::Got>, $crate::zarr_core::StoreError> {
            self.$inner.get(key, how)
        }
    };
    (@ $inner:tt open) => {
        fn open(
            &self,
            key: &$crate::zarr_core::store::StoreKey,
            how: $crate::zarr_core::store::SnapshotOptions<'_>,
        ) -> ::std::result::Result<
            ::std::option::Option<::std::boxed::Box<dyn $crate::zarr_core::store::SyncSnapshot>>,
            $crate::zarr_core::StoreError,
        > {
            self.$inner.open(key, how)
        }
    };
    (@ $inner:tt put) => {
        fn put(
            &self,
            key: &$crate::zarr_core::store::StoreKey,
            value: ::std::option::Option<$crate::zarr_core::store::Payload<'_>>,
            only_if: $crate::zarr_core::store::Precondition<'_>,
        ) -> ::std::result::Result<bool, $crate::zarr_core::StoreError> {
            self.$inner.put(key, value, only_if)
        }
    };
    (@ $inner:tt create) => {
        fn create(
            &self,
            key: &$crate::zarr_core::store::StoreKey,
            value: $crate::zarr_core::store::Payload<'_>,
            absent: &[$crate::zarr_core::store::StoreKey],
            leftovers: &[$crate::zarr_core::store::StoreKey],
        ) -> ::std::result::Result<
            ::std::option::Option<$crate::zarr_core::store::StoreKey>,
            $crate::zarr_core::StoreError,
        > {
            self.$inner.create(key, value, absent, leftovers)
        }
    };
    (@ $inner:tt erase_prefix) => {
        fn erase_prefix(
            &self,
            prefix: &$crate::zarr_core::store::StorePrefix,
        ) -> ::std::result::Result<(), $crate::zarr_core::StoreError> {
            self.$inner.erase_prefix(prefix)
        }
    };
    (@ $inner:tt list_prefix) => {
        fn list_prefix(
            &self,
            prefix: &$crate::zarr_core::store::StorePrefix,
        ) -> ::std::result::Result<$crate::zarr_core::store::Listing, $crate::zarr_core::StoreError> {
            self.$inner.list_prefix(prefix)
        }
    };
    (@ $inner:tt list_dir) => {
        fn list_dir(
            &self,
            prefix: &$crate::zarr_core::store::StorePrefix,
            how: $crate::zarr_core::store::ListOptions,
        ) -> ::std::result::Result<$crate::zarr_core::store::Listing, $crate::zarr_core::StoreError> {
            self.$inner.list_dir(prefix, how)
        }
    };
    (@ $inner:tt link) => {
        fn link(
            &self,
            prefix: &$crate::zarr_core::store::StorePrefix,
            erase: bool,
        ) -> ::std::result::Result<bool, $crate::zarr_core::StoreError> {
            self.$inner.link(prefix, erase)
        }
    };
    (@ $inner:tt flush) => {
        fn flush(&self) -> ::std::result::Result<(), $crate::zarr_core::StoreError> {
            self.$inner.flush()
        }
    };
}
