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
import streams.apps.compact_and_forget
import streams.apps.demo
import streams.apps.worker
import streams.asyncapi
import streams.context.load
import streams.context.token_budget
import streams.extractors.affect
import streams.extractors.rules
import streams.files.file_runner
import streams.generations.folding
import streams.generations.promotion
import streams.generations.rebuild
import streams.kafka.sink.sink
import streams.kafka.transport.app
import streams.mapping.mapper
import streams.search.tenant_search
import streams.serving.extract_history
import streams.serving.http.local
import streams.serving.http.serve
import streams.topology_render
from streams.cli import paths

for place in paths().values():
    if isinstance(place, str):
        import_module(f"streams.commands.{place.partition(':')[0]}")

gc.collect()
gc.freeze()  # the collector would touch, and so copy, all of it in each call
