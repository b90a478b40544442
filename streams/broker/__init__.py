"""Runs a real Kafka on this machine without Docker: Maven Central's jars on a Java runtime.

with Broker.start() as broker:
    broker.bootstrap  # "127.0.0.1:20123"
"""

from streams.broker.cluster import Broker
from streams.broker.config import Security, Tokens
from streams.broker.node import Node

__all__ = ["Broker", "Node", "Security", "Tokens"]
