#!/bin/sh
exec zarr get "${1#--array_path=}" --format jsonl
