"""The Faust transport `turnfold://`: exactly once, a batch at a time (docs/kafka-tier.md).

Consumer and lanes are ours; what an app sends besides goes through Faust's own producer.
"""

from typing import ClassVar

from faust.transport.drivers import aiokafka

from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.transport.consumer import Consumer

SCHEME = "turnfold"


class Producer(aiokafka.Producer):
    """Faust's own, without connections left open."""

    _producer_type = KafkaProducer


class Transport(aiokafka.Transport):
    """Named by the entry point `faust.transports`."""

    Consumer: ClassVar[type[Consumer]] = Consumer
    Producer: ClassVar[type[Producer]] = Producer
