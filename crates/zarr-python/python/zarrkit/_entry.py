"""The entry point `zarr.codec_pipeline`. zarr-python loads it with every array that it opens, so it never fails."""

try:
    from ._pipeline import Pipeline
except Exception as error:  # a release of zarr-python that has moved what the pipeline needs
    _why = f"zarrkit.Pipeline works with zarr-python 3.1 to 3.4, not with this one: {error}"

    class Pipeline:
        """In place of the pipeline: says why it does not work when it is chosen."""

        @classmethod
        def from_array_metadata_and_store(cls, array_metadata, store):
            raise ImportError(_why)

        @classmethod
        def from_codecs(cls, codecs):
            raise ImportError(_why)

    Pipeline.__module__ = "zarrkit"
