"""The commands `admin extract`, over a history, and `kafka extract`, over topics."""

import signal
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options

R = TypeVar("R")


def _model_options(function: Callable[..., R]) -> Callable[..., R]:
    """Options of the model, its budget, and the output."""
    options_of_model: Callable[..., R] = function
    for option in reversed(
        (
            click.option("--model", help="Name of the model."),
            click.option(
                "--base-url", metavar="URL", help="Address of the API, without /chat/completions."
            ),
            options.prompt,
            click.option(
                "--turns", type=options.Whole(1, 100), help="Maximum turns per request. Default: 6."
            ),
            click.option(
                "--idle-seconds",
                type=options.Amount(0.001, 86_400),
                help="Silence after which a group of turns is sent. Default: 60.",
            ),
            click.option(
                "--concurrency",
                type=options.Whole(1, 256),
                help="Maximum concurrent requests. Default: 4.",
            ),
            click.option(
                "--budget-tokens", type=options.Whole(1), help="Maximum tokens of this run."
            ),
            click.option("--budget-cost", type=options.Amount(0), help="Maximum cost of this run."),
            click.option("--hourly-tokens", type=options.Whole(1), help="Maximum tokens per hour."),
            click.option("--hourly-cost", type=options.Amount(0), help="Maximum cost per hour."),
            click.option("--strict", is_flag=True, help="Exit with 4 if a request failed."),
            options.form,
        )
    ):
        options_of_model = option(options_of_model)
    return options_of_model


@click.command()
@options.located_history
@click.option("--again", is_flag=True, help="Retry turns that failed before.")
@_model_options
@errors.reported
def extract(history: Location, again: bool, strict: bool, form: str | None, **options: Any) -> None:
    """Extract facts from a history's turns with a model.

    Works with any OpenAI-compatible endpoint. The key is read from TURNFOLD_LLM_API_KEY; every
    other setting can also come from the environment: TURNFOLD_LLM_BASE_URL, TURNFOLD_LLM_MODEL, ….
    Each turn is sent to a model once, even if the command was killed. The history's memory is shown
    to the model.

    Exit code 1 if all requests failed, 0 if only some did, 5 if the endpoint does not answer.

    \b
    turnfold admin extract --history memory --model gpt-4.1-mini
    turnfold admin extract --history memory --base-url http://localhost:11434/v1 --model qwen3
    """
    _end(ask(history, load_settings(**options), again), strict, form)


@click.command("extract")
@options.bootstrap
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.LOCATION,
    help="Folder of the sink's history, or its URL: its memory is shown to the model.",
)
@click.option(
    "--group", metavar="NAME", help="Consumer group. Default: derived from model and prompt."
)
@click.option("--latest", is_flag=True, help="Let a new group begin at the end of the topic.")
@click.option("--once", is_flag=True, help="End when the end of the topic is reached.")
@_model_options
@options.observed
@errors.reported
def over_kafka(
    bootstrap: str | None,
    history: Location | None,
    group: str | None,
    latest: bool,
    once: bool,
    strict: bool,
    form: str | None,
    observing: options.Observing,
    **options: Any,
) -> None:
    """Extract facts from turns with a model, into write-plans.

    Runs until stopped. Workers do not wait for it. `turnfold admin extract` describes the model's
    settings. If the endpoint does not answer, it retries without limit, except with --once.

    Example: turnfold kafka extract --bootstrap localhost:9092 --history memory --model gpt-4.1-mini
    """
    from streams import event_loop
    from streams.kafka.client import outage_log

    settings = load_settings(**options)
    observing.begin("extract")
    outage_log.watch()
    counts = event_loop.run(_follow(bootstrap, settings, group, history, latest, once, observing))
    _end(counts, strict, form)


def _end(counts: dict[str, Any], strict: bool, form: str | None) -> None:
    output.say_counts(counts, form, hidden=("stopped", "why_failed"))
    if counts["stopped"]:
        output.note(f"stopped: {counts['stopped']}; run it again to continue")
    if failed := counts["failed"]:
        output.note(said_of_failures(counts))
        if strict or failed == counts["groups"]:
            raise click.exceptions.Exit(4 if strict else 1)


def said_of_failures(counts: dict[str, Any]) -> str:
    """How many requests failed, and why most of them."""
    of = "all" if counts["failed"] == counts["groups"] else f"of {counts['groups']}"
    why = f": {counts['why_failed']}" if counts.get("why_failed") else ""
    return (
        f"{counts['failed']} requests ({of}) failed{why}: "
        "turnfold admin dlq list --reason extraction_failed"
    )


def load_settings(**options: Any) -> Any:
    import openai  # noqa: F401 - first, so that what is missing is the extra `llm`

    from streams.llm.settings import LlmSettings

    return LlmSettings.load(**options)


def ask(history: Location, settings: Any, again: bool = False) -> dict[str, Any]:
    """Runs the model over all unread turns; returns the counts."""
    from streams.output import progress_bar
    from streams.serving.extract_history import extract as run

    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with progress_bar() as progress:
        return run(history, settings, again=again, progress=progress)


async def _follow(
    bootstrap: str | None,
    settings: Any,
    group: str | None,
    history: Location | None,
    latest: bool,
    once: bool,
    observing: options.Observing,
) -> dict[str, Any]:
    import asyncio

    from sinks.history_root import find_root
    from streams.apps.metric_samples import of_stream, stream_readiness
    from streams.errors import Unreachable
    from streams.kafka.client.settings import KafkaSettings
    from streams.llm.driver import driving
    from streams.llm.kafka_log import Stream, StreamOptions

    kafka = KafkaSettings.load(bootstrap=bootstrap)
    root = None if history is None else find_root(history)
    stream = Stream(kafka, settings, StreamOptions(group, root, latest, once))
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    async with driving(stream, settings) as driver:

        def stop() -> None:
            stopped.set()
            driver.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        try:
            async with observing.answering(
                partial(of_stream, stream, driver), partial(stream_readiness, stream)
            ):
                await driver.run()
        except Unreachable:
            if stopped.is_set():  # while it waited for a broker that does not answer
                raise KeyboardInterrupt from None
            raise
        return {"turns": stream.turns, **driver.extractor.summary(), "stopped": driver.spent}
