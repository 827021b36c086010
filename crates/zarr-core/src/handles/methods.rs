//! The methods of the handles that wait, those with the same arguments for blocking and async callers, once for both.
//!
//! What a blocking caller lends an async one hands over: such methods are in `sync.rs` and `async.rs`.

/// Defines the methods in the module of the blocking handles or, with `async`, in that of the async ones. That module
/// has the macros `wait_for`, for a future of the core, and `result_of`, for a call of another of these methods.
macro_rules! methods {
    ($($async:tt)?) => {
        impl Hierarchy {
            /// The hierarchy that begins at a store's root.
            ///
            /// # Errors
            /// [`AccessError::NotFound`] if none does; for an entry point that is broken or not known.
            pub $($async)? fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
                wait_for!(HierarchyContext::at_root(store, options))
                    .map(|context| Hierarchy { context })
            }

            /// A new hierarchy of this format at a store's root. It has only its root group.
            ///
            /// # Errors
            /// [`AccessError::Exists`] if there is a hierarchy.
            pub $($async)? fn create(
                store: Arc<dyn Store>,
                format: Arc<dyn Format>,
                options: &OpenOptions,
            ) -> Result<Hierarchy> {
                wait_for!(HierarchyContext::create_whole(store, format, options))
                    .map(|context| Hierarchy { context })
            }

            /// As [`Hierarchy::create`], but where groups are explicit without the root group: the caller is about to
            /// create the root node.
            ///
            /// # Errors
            /// As [`Hierarchy::create`].
            pub $($async)? fn begin(
                store: Arc<dyn Store>,
                format: Arc<dyn Format>,
                options: &OpenOptions,
            ) -> Result<Hierarchy> {
                wait_for!(HierarchyContext::begin(store, format, options))
                    .map(|context| Hierarchy { context })
            }

            /// The hierarchy of a dialect at a URL or path, for reading and writing; a new one, as of
            /// [`Hierarchy::begin`], if there is none.
            ///
            /// # Errors
            /// [`AccessError::Argument`] if there is one of another dialect; as [`Hierarchy::open`].
            pub $($async)? fn open_or_create(
                url: &str,
                dialect: Dialect,
                options: &OpenOptions,
            ) -> Result<Hierarchy> {
                wait_for!(HierarchyContext::open_or_create(url, dialect, options))
                    .map(|context| Hierarchy { context })
            }

            /// The hierarchy that a URL or a path names, and the node in it: a store's root, or a node inside.
            ///
            /// # Errors
            /// [`AccessError::NotFound`] listing what was looked for; otherwise as [`Hierarchy::open`].
            pub $($async)? fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
                wait_for!(HierarchyContext::locate(url, options))
                    .map(|(context, path, _)| (Hierarchy { context }, path))
            }

            /// The node that a URL or a path names. It takes fewer requests than [`Hierarchy::locate`] and then
            /// [`Hierarchy::node`]: documents that were read to find it are not read again.
            ///
            /// # Errors
            /// As those.
            pub $($async)? fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
                wait_for!(HierarchyContext::open_url(url, options))
                    .map(|(context, node)| Hierarchy { context }.handle(node))
            }

            /// The node at `path`.
            ///
            /// # Errors
            /// [`AccessError::NotFound`]; for a document that breaks its specification.
            pub $($async)? fn node(&self, path: impl AsRef<str>) -> Result<Node> {
                wait_for!(self.context.open_node(&self.node_path(path)?))
                    .map(|node| self.handle(node))
            }

            /// The array at `path`.
            ///
            /// # Errors
            /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is a group.
            pub $($async)? fn array(&self, path: impl AsRef<str>) -> Result<Array> {
                wait_for!(self.context.open_node(&self.node_path(path)?))
                    .and_then(|node| self.handle(node).into_array())
            }

            /// The group at `path`.
            ///
            /// # Errors
            /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is an array.
            pub $($async)? fn group(&self, path: impl AsRef<str>) -> Result<Group> {
                wait_for!(self.context.open_node(&self.node_path(path)?))
                    .and_then(|node| self.handle(node).into_group())
            }

            /// The root group.
            ///
            /// # Errors
            /// As [`Hierarchy::group`].
            pub $($async)? fn root(&self) -> Result<Group> {
                wait_for!(self.context.open_node(&NodePath::root()))
                    .and_then(|node| self.handle(node).into_group())
            }

            /// The children of the node at `path`, sorted; an array has none.
            ///
            /// # Errors
            /// As [`Hierarchy::node`]; [`StoreError::NotCapable`] if the store cannot list (D-161).
            pub $($async)? fn children(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
                wait_for!(self.context.children_of(&self.node_path(path)?))
            }

            /// The node at `path` and all nodes below it, sorted by path.
            ///
            /// # Errors
            /// As [`Hierarchy::node`] and [`Hierarchy::children`].
            pub $($async)? fn tree(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
                wait_for!(self.context.tree(&self.node_path(path)?))
            }

            /// As [`Hierarchy::tree`], for tools that show what they can: what the store could not read is not an error of the call, but
            /// returned beside the nodes, each with its error. A group among the nodes is there, too, if its members could not be listed.
            ///
            /// # Errors
            /// As [`Hierarchy::tree`], of the node itself.
            pub $($async)? fn tree_and_unreadable(
                &self,
                path: impl AsRef<str>,
            ) -> Result<(Vec<Child>, Vec<(NodePath, crate::Error)>)> {
                wait_for!(self.context.tree_and_unreadable(&self.node_path(path)?))
            }

            /// As [`Group::children`], and those that the store could not read, each with its error.
            ///
            /// # Errors
            /// As [`Hierarchy::children`], of the node itself.
            pub $($async)? fn children_and_unreadable(
                &self,
                path: impl AsRef<str>,
            ) -> Result<(Vec<Child>, Vec<(NodePath, crate::Error)>)> {
                wait_for!(self.context.children_and_unreadable(&self.node_path(path)?))
            }

            /// The node and all below it, sorted by path and opened: each document is read once. Broken ones are noted
            /// as warnings and left out (T-35).
            ///
            /// # Errors
            /// As [`Hierarchy::tree`].
            pub $($async)? fn nodes(&self, path: impl AsRef<str>) -> Result<Vec<Node>> {
                wait_for!(self.context.open_nodes(&self.node_path(path)?))
                    .map(|nodes| nodes.into_iter().map(|node| self.handle(node)).collect())
            }

            /// Creates a group, and those above it where the format has explicit groups.
            ///
            /// # Errors
            /// [`AccessError::Exists`]; [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a name that no node
            /// may have.
            pub $($async)? fn create_group(
                &self,
                path: impl AsRef<str>,
                attributes: Object,
            ) -> Result<Group> {
                wait_for!(self.context.create_group(&self.node_path(path)?, attributes))
                    .map(|core| self.group_of(core))
            }

            /// Erases the node at `path` with everything below it. Files that are not Zarr's stay where the store can list:
            /// [`Hierarchy::foreign_keys`] lists them.
            ///
            /// # Errors
            /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
            pub $($async)? fn erase(&self, path: impl AsRef<str>) -> Result<()> {
                wait_for!(self.context.erase(&self.node_path(path)?))
            }

            /// The keys below the node at `path` that no format writes, sorted: files of the user, which
            /// [`Hierarchy::erase`] leaves. They are recognised by their names and by what the arrays call their chunks; no
            /// node need be at `path`.
            ///
            /// # Errors
            /// [`StoreError::NotCapable`] if the store cannot list.
            pub $($async)? fn foreign_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
                wait_for!(self.context.foreign_keys(&self.node_path(path)?))
            }

            /// The keys that are stored as chunks of an array at `path` with this metadata, whether or not there is one,
            /// by one listing; none if the store cannot list.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn chunk_keys(
                &self,
                path: &NodePath,
                metadata: &ArrayMetadata,
            ) -> Result<Vec<StoreKey>> {
                wait_for!(self.context.leftovers(path, metadata, CreateMode::default()))
            }

            /// The keys that an interrupted erase of the node at `path` left: all below it that Zarr may have written,
            /// if there is no node. None if there is one, or the store cannot list.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn interrupted_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
                wait_for!(self.context.interrupted_keys(&self.node_path(path)?))
            }

            /// Makes written values visible to other readers, for stores that gather them until then, such as zip
            /// archives. The end of the last handle does so, too, but cannot report a failure.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn flush(&self) -> Result<()> {
                wait_for!(self.context.flush())
            }

            /// Makes copies of all documents, so that readers need no others: `.zmetadata` in v2 (Z2-070), inline in
            /// the root group in v3 (F-013), where zarr-python 2.18 puts them in a draft (draft-v3.md 3.4). A change of
            /// a document through this crate changes its copy, too. Returns the number of nodes.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a v3 array at the root, and if the copies that
            /// are there are the only ones of a document ([`Hierarchy::only_copied_nodes`]); for a document that is
            /// broken; [`StoreError::NotCapable`] if the store cannot list.
            pub $($async)? fn consolidate(&self) -> Result<usize> {
                wait_for!(self.context.consolidate(&NodePath::root()))
            }

            /// Whether there are copies of all documents, as [`Hierarchy::consolidate`] makes them.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn is_consolidated(&self) -> Result<bool> {
                wait_for!(self.context.is_consolidated(&NodePath::root()))
            }

            /// Removes those copies; `false` if there were none.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] if they are the only copies of a document.
            pub $($async)? fn remove_consolidated(&self) -> Result<bool> {
                wait_for!(self.context.remove_consolidated(&NodePath::root()))
            }

            /// The nodes at a path and below it that have no document, and that consolidated metadata describe all the same,
            /// sorted: some writers put documents there alone. Readers that use the copies have them; no writer has.
            /// `zarr repair` writes their documents.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn only_copied_nodes(&self, path: impl AsRef<str>) -> Result<Vec<NodePath>> {
                let path = self.context.node_path(path.as_ref())?;
                wait_for!(self.context.only_copied_nodes(&path))
            }

            /// The nodes whose copies differ from their documents, sorted.
            ///
            /// # Errors
            /// [`AccessError::NotFound`] if there are no copies; for copies of a form that is not known.
            pub $($async)? fn check_consolidated(&self) -> Result<Vec<NodePath>> {
                wait_for!(self.context.check_consolidated(&NodePath::root()))
            }
        }

        impl Node {
            /// Sets one of the user's attributes; see [`Group::set_attribute`].
            ///
            /// # Errors
            /// As [`Group::update_attributes`].
            pub $($async)? fn set_attribute(
                &self,
                name: &str,
                value: impl Into<Json>,
            ) -> Result<()> {
                let value = value.into();
                match self {
                    Node::Array(array) => result_of!(array.set_attribute(name, value)),
                    Node::Group(group) => result_of!(group.set_attribute(name, value)),
                }
            }

            /// Changes the user's attributes; see [`Group::update_attributes`].
            ///
            /// # Errors
            /// As [`Group::update_attributes`].
            pub $($async)? fn update_attributes(
                &self,
                change: impl FnMut(&mut Object) + Send,
            ) -> Result<Object> {
                match self {
                    Node::Array(array) => result_of!(array.update_attributes(change)),
                    Node::Group(group) => result_of!(group.update_attributes(change)),
                }
            }
        }

        impl Group {
            /// Makes copies of the documents of this group and of all below it, for readers that open it by itself.
            /// Returns the number of nodes.
            ///
            /// # Errors
            /// As [`Hierarchy::consolidate`]; [`AccessError::Argument`] for a group of a draft that is not the root.
            pub $($async)? fn consolidate(&self) -> Result<usize> {
                wait_for!(self.hierarchy.context.consolidate(self.path()))
            }

            /// Removes the copies that [`Group::consolidate`] makes; `false` if there were none.
            ///
            /// # Errors
            /// As [`Hierarchy::remove_consolidated`].
            pub $($async)? fn remove_consolidated(&self) -> Result<bool> {
                wait_for!(self.hierarchy.context.remove_consolidated(self.path()))
            }

            /// The nodes whose copies in this group differ from their documents, sorted.
            ///
            /// # Errors
            /// As [`Hierarchy::check_consolidated`].
            pub $($async)? fn check_consolidated(&self) -> Result<Vec<NodePath>> {
                wait_for!(self.hierarchy.context.check_consolidated(self.path()))
            }

            /// Whether there are copies of these documents, as [`Group::consolidate`] makes them.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn is_consolidated(&self) -> Result<bool> {
                wait_for!(self.hierarchy.context.is_consolidated(self.path()))
            }

            /// The node at `path`, from here.
            ///
            /// # Errors
            /// As [`Hierarchy::node`].
            pub $($async)? fn node(&self, path: impl AsRef<str>) -> Result<Node> {
                result_of!(self.hierarchy.node(&self.below(path)?))
            }

            /// The array at `path`, from here.
            ///
            /// # Errors
            /// As [`Hierarchy::array`].
            pub $($async)? fn array(&self, path: impl AsRef<str>) -> Result<Array> {
                result_of!(self.hierarchy.array(&self.below(path)?))
            }

            /// The group at `path`, from here.
            ///
            /// # Errors
            /// As [`Hierarchy::group`].
            pub $($async)? fn group(&self, path: impl AsRef<str>) -> Result<Group> {
                result_of!(self.hierarchy.group(&self.below(path)?))
            }

            /// Its children, sorted.
            ///
            /// # Errors
            /// As [`Hierarchy::children`].
            pub $($async)? fn children(&self) -> Result<Vec<Child>> {
                wait_for!(self.hierarchy.context.children(self.path()))
            }

            /// Itself and all nodes below it, sorted by path.
            ///
            /// # Errors
            /// As [`Hierarchy::tree`].
            pub $($async)? fn tree(&self) -> Result<Vec<Child>> {
                result_of!(self.hierarchy.tree(self.path()))
            }

            /// Its children, sorted by path and opened, with kind, shape and data type: each document is read once.
            /// Broken ones are noted as warnings and left out.
            ///
            /// # Errors
            /// As [`Hierarchy::children`].
            pub $($async)? fn members(&self) -> Result<Vec<Node>> {
                wait_for!(self.hierarchy.context.open_members(self.path())).map(|nodes| {
                    nodes.into_iter().map(|node| self.hierarchy.handle(node)).collect()
                })
            }

            /// Itself and all nodes below it, sorted by path and opened.
            ///
            /// # Errors
            /// As [`Hierarchy::nodes`].
            pub $($async)? fn nodes(&self) -> Result<Vec<Node>> {
                result_of!(self.hierarchy.nodes(self.path()))
            }

            /// Itself and all nodes below it, drawn as a tree: a line for each node, of arrays with data type, shape and the names of
            /// their dimensions. Broken nodes are noted as warnings and left out.
            ///
            /// ```
            /// # fn example(group: &zarr_core::Group) -> zarr_core::Result<()> {
            /// println!("{}", group.tree_text()?);
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            /// As [`Hierarchy::nodes`].
            pub $($async)? fn tree_text(&self) -> Result<String> {
                Ok(self.text_of(&result_of!(self.nodes())?))
            }

            /// Creates a group at `path`, from here.
            ///
            /// # Errors
            /// As [`Hierarchy::create_group`].
            pub $($async)? fn create_group(&self, path: impl AsRef<str>) -> Result<Group> {
                result_of!(self.hierarchy.create_group(&self.below(path)?, Object::new()))
            }

            /// Erases the node at `path`, from here, with everything below it.
            ///
            /// # Errors
            /// As [`Hierarchy::erase`].
            pub $($async)? fn erase(&self, path: impl AsRef<str>) -> Result<()> {
                result_of!(self.hierarchy.erase(&self.below(path)?))
            }

            /// Sets one of the user's attributes: `set_attribute("units", "K")`. What other writers set concurrently stays.
            ///
            /// # Errors
            /// As [`Group::update_attributes`].
            pub $($async)? fn set_attribute(
                &self,
                name: &str,
                value: impl Into<Json>,
            ) -> Result<()> {
                let value = value.into();
                let set = |attributes: &mut Object| drop(attributes.insert(name, value.clone()));
                result_of!(self.update_attributes(set)).map(drop)
            }

            /// Changes the user's attributes: `change` is applied to what they are now, and again if another writer was
            /// faster, so that no change is lost. Returns what they are afterwards.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for attributes that the format reserves.
            pub $($async)? fn update_attributes(
                &self,
                change: impl FnMut(&mut Object) + Send,
            ) -> Result<Object> {
                wait_for!(self.hierarchy.context.update_attributes(
                    self.path(),
                    NodeKind::Group,
                    change
                ))
            }
        }

        impl Array {
            /// Reads the document again: others may have resized the array.
            ///
            /// # Errors
            /// As [`Hierarchy::array`].
            pub $($async)? fn refresh(&self) -> Result<()> {
                wait_for!(self.core.refresh())
            }

            /// Reads what is selected.
            ///
            /// # Errors
            /// [`AccessError::ElementType`]; [`AccessError::OutOfBounds`], [`AccessError::Index`] and
            /// [`AccessError::Argument`] for the selection; [`AccessError::TooLarge`]; what the store or a codec
            /// reports.
            pub $($async)? fn read<T: Element>(
                &self,
                selection: impl Into<Selection>,
            ) -> Result<Vec<T>> {
                wait_for!(self.core.read_vec(None, selection.into()))
            }

            /// Reads one element: `read_element::<f32>((0, 10, -1))`.
            ///
            /// # Errors
            /// As [`Array::read`]; [`AccessError::Argument`] if not exactly one is selected.
            pub $($async)? fn read_element<T: Element>(
                &self,
                selection: impl Into<Selection>,
            ) -> Result<T> {
                wait_for!(self.core.read_element(selection.into()))
            }

            /// Reads what is selected as bytes: native elements of any type in C order; variable-length elements each
            /// after their length, a little-endian number of four bytes.
            ///
            /// # Errors
            /// As [`Array::read`].
            pub $($async)? fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
                wait_for!(self.core.read_native(None, selection.into()))
            }

            /// Reads what is selected as bytes: little-endian elements in C order. Above an integer of fewer bits than
            /// its byte are zeros, as in stored ones (F-053).
            ///
            /// # Errors
            /// As [`Array::read`].
            pub $($async)? fn read_le_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
                wait_for!(self.core.read_little_endian(selection.into()))
            }

            /// Reads one field as bytes: native elements of any type.
            ///
            /// # Errors
            /// As [`Array::read_field`].
            pub $($async)? fn read_field_bytes(
                &self,
                field: &str,
                selection: impl Into<Selection>,
            ) -> Result<Vec<u8>> {
                wait_for!(self.core.read_native(Some(field), selection.into()))
            }

            /// How many of its chunks are stored, or shards, where it has those: one listing. If there are none where
            /// some are expected, the chunk keys may be written otherwise than the document says.
            ///
            /// # Errors
            /// [`StoreError::NotCapable`] if the store cannot list; what the store reports.
            pub $($async)? fn stored_chunks(&self) -> Result<u64> {
                wait_for!(self.core.stored_chunks())
            }

            /// As [`Array::stored_chunks`], and in how many bytes: one listing, and a look at each chunk where the listing
            /// has no sizes.
            ///
            /// # Errors
            /// As [`Array::stored_chunks`].
            pub $($async)? fn stored_size(&self) -> Result<StoredSize> {
                wait_for!(self.core.stored_size())
            }

            /// Gives the array a new shape. What is cut off is forgotten, inside edge chunks, too, unless
            /// [`Options::keep_cut_off`] is set; what is added reads as the fill value.
            ///
            /// # Errors
            /// [`AccessError::Rank`], [`AccessError::ReadOnly`]; what the store reports.
            pub $($async)? fn resize(&self, shape: impl ToShape) -> Result<()> {
                let shape = shape.to_shape().map_err(|e| self.core.at(e))?;
                wait_for!(self.core.resize(&shape))
            }

            /// As [`Array::resize`], to what `to` makes of the shape that the array has. `to` is called again whenever
            /// another writer was faster: so one that only lengthens never cuts off what others have appended
            /// concurrently. Returns the shape that the array had.
            ///
            /// # Errors
            /// Those of `to`; as [`Array::resize`].
            pub $($async)? fn reshape(
                &self,
                to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError> + Sync,
            ) -> Result<Vec<u64>> {
                wait_for!(self.core.reshape(to)).map(|(_, old)| old)
            }

            /// Gives the axes other names: in final v3 the document's, else those that xarray looks for among the
            /// attributes.
            ///
            /// # Errors
            /// [`AccessError::Rank`] if there is not one for each axis; [`AccessError::ReadOnly`]; what the store
            /// reports.
            pub $($async)? fn rename_dimensions(&self, names: &[String]) -> Result<()> {
                wait_for!(self.core.rename_dimensions(names))
            }

            /// Sets one of the user's attributes: `set_attribute("units", "K")`. What other writers set concurrently stays.
            ///
            /// # Errors
            /// As [`Group::update_attributes`].
            pub $($async)? fn set_attribute(
                &self,
                name: &str,
                value: impl Into<Json>,
            ) -> Result<()> {
                let value = value.into();
                let set = |attributes: &mut Object| drop(attributes.insert(name, value.clone()));
                result_of!(self.update_attributes(set)).map(drop)
            }

            /// Changes the user's attributes; see [`Group::update_attributes`].
            ///
            /// # Errors
            /// As [`Group::update_attributes`].
            pub $($async)? fn update_attributes(
                &self,
                change: impl FnMut(&mut Object) + Send,
            ) -> Result<Object> {
                wait_for!(self.core.update_attributes(change))
            }

            #[cfg(feature = "ndarray")]
            /// Reads what is selected as an `ndarray` array of the selection's shape: `read_ndarray::<f32, Ix2>`, or
            /// `let table: Array2<f32> = array.read_ndarray((0, .., 10..20))?`. Where the number of axes is known only at run time, it is
            /// `IxDyn`.
            ///
            /// # Errors
            /// As [`Array::read`]; [`AccessError::Argument`] if the selection has another number of axes: a single number
            /// for an axis removes that axis.
            pub $($async)? fn read_ndarray<T: Element, D: ndarray::Dimension>(
                &self,
                selection: impl Into<Selection>,
            ) -> Result<ndarray::Array<T, D>> {
                wait_for!(self.core.read_ndarray(selection.into()))
            }
        }

        impl Chunk {
            /// Reads its elements.
            ///
            /// # Errors
            /// As [`Array::read`].
            pub $($async)? fn read<T: Element>(&self) -> Result<Vec<T>> {
                result_of!(self.array().read(self.region()))
            }

            /// Its bytes as they are stored; `None` if it is not.
            ///
            /// # Errors
            /// What the store reports.
            pub $($async)? fn encoded(&self) -> Result<Option<Bytes>> {
                wait_for!(self.get_encoded())
            }

            /// The key at which it is written, which is not its usual one for scalars of the draft of 2020 that
            /// zarr-python 2.18 shall read (draft-v3.md 5, row 9). Of two objects that are stored for it, the one that
            /// readers pass over is erased.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`]; what the store reports.
            pub $($async)? fn key_to_write(&self) -> Result<StoreKey> {
                wait_for!(self.find_key_to_write())
            }

            /// Erases it: its elements are fill from then on.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`]; what the store reports.
            pub $($async)? fn erase(&mut self) -> Result<()> {
                wait_for!(self.remove())
            }
        }

        impl ArrayBuilder {
            /// Creates the array.
            ///
            /// # Errors
            /// [`AccessError::Exists`], [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a wrong or missing
            /// property; [`MetadataError::CannotRepresent`] for what the format cannot represent;
            /// [`StoreError::NotCapable`] where chunks are to be purged and the store cannot list.
            pub $($async)? fn create(self) -> Result<Array> {
                wait_for!(self.build()).map(|(hierarchy, core)| hierarchy.array_of(core))
            }
        }
    };
}
pub(super) use methods;
