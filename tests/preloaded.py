"""What commands load when they do their work: the fork server of `tests.forked` loads it once.

It saves time and nothing else. None of it starts a thread that takes locks of ours, or keeps what
the environment has, but for the variables of `tests.forked.AT_START`.
"""
# ruff: noqa: F401

import gc
from importlib import import_module

import deltalake
import duckdb
import httpx
import openai
import pyarrow.compute
import pyarrow.parquet
import rich.console
import rich.table
import rocksdict

import sinks.digest
import streams.apps.demo
import streams.apps.maintenance
import streams.apps.worker
import streams.asyncapi
import streams.context.gather
import streams.context.pack
import streams.extractors.affect
import streams.extractors.rules
import streams.files.local
import streams.generations.folding
import streams.generations.rebuild
import streams.generations.switching
import streams.kafka.sink.sink
import streams.kafka.transport.app
import streams.mapping.mapper
import streams.search.answer
import streams.serving.extracting
import streams.serving.http.local
import streams.serving.http.serve
import streams.topology_render
from streams.cli import paths

for place in paths().values():
    if isinstance(place, str):
        import_module(f"streams.commands.{place.partition(':')[0]}")

gc.collect()
gc.freeze()  # the collector would touch, and so copy, all of it in each call
