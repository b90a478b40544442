"""The Faust transport `turnfold://`: exactly once, a batch at a time (docs/kafka-tier.md).

Provides its own consumer and lanes; other messages of an app use Faust's producer.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from faust.transport.drivers import aiokafka

from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.transport.consumer import Consumer

SCHEME = "turnfold"


class Producer(aiokafka.Producer):
    """Faust's producer with the app's connection; closes all its connections."""

    _producer_type = KafkaProducer

    def _settings_auth(self) -> Mapping[str, Any]:
        app: Any = self.app
        return app.connection  # type: ignore[no-any-return]


class Transport(aiokafka.Transport):
    """Registered by the entry point `faust.transports`."""

    Consumer: ClassVar[type[Consumer]] = Consumer
    Producer: ClassVar[type[Producer]] = Producer
