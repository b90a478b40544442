"""A real endpoint of embeddings on a loopback port, whose vectors are fitted on a corpus: latent
semantic analysis, that is TF-IDF and a truncated singular value decomposition."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streams.search.stopwords import STOP
from streams.search.tokens import terms

DIMENSIONS = 128


class Lsa:
    """Texts to vectors; what is not in the corpus has no part in them."""

    def __init__(self, corpus: Iterable[str], dimensions: int = DIMENSIONS) -> None:
        counts = [_counts(text) for text in corpus]
        documents = Counter(term for one in counts for term in one)
        kept = [term for term, count in documents.items() if count > 1] or list(documents)
        self._place = {term: place for place, term in enumerate(kept)}
        self._idf = np.array([np.log(len(counts) / documents[term]) + 1 for term in kept])
        matrix = np.array([self._weighed(one) for one in counts])
        # the terms' side of the decomposition, by the eigenvectors of their Gram matrix
        _, vectors = np.linalg.eigh(matrix.T @ matrix)
        self._axes = vectors[:, ::-1][:, :dimensions]

    def vector(self, text: str) -> list[float]:
        """Of at most `dimensions` numbers."""
        return [round(float(one), 6) for one in self._weighed(_counts(text)) @ self._axes]

    def _weighed(self, counts: Counter[str]) -> NDArray[np.float64]:
        row = np.zeros(len(self._place))
        for term, count in counts.items():
            if term in self._place:
                row[self._place[term]] = 1 + np.log(count)
        row *= self._idf
        length = np.linalg.norm(row)
        return row / length if length else row


def _counts(text: str) -> Counter[str]:
    return Counter(term for term in terms(text) if term not in STOP)


class Endpoint:
    """Answers `POST /v1/embeddings`; `asked` are the texts that came. `status`: what it answers
    with instead of vectors; `pause`: seconds before each answer."""

    def __init__(self, lsa: Lsa) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.pause = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked += body["input"]
                outer.headers.append(dict(self.headers))
                time.sleep(outer.pause)
                reply: Any = {"error": {"message": "not today"}}
                if outer.status == 200 and self.path == "/v1/embeddings":
                    data = [
                        {"object": "embedding", "index": place, "embedding": lsa.vector(text)}
                        for place, text in enumerate(body["input"])
                    ]
                    # the order is by `index`, not by place
                    reply = {"data": data[::-1], "usage": {"prompt_tokens": 3 * len(data)}}
                raw = json.dumps(reply).encode()
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.send_response(outer.status)
                    self.send_header("Content-Length", str(len(raw)))
                    self.end_headers()
                    self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self, **more: str) -> dict[str, str]:
        """How it is reached."""
        told = {"BASE_URL": self.url, "MODEL": "lsa", **more}
        return {f"TURNFOLD_EMBED_{name}": value for name, value in told.items()}
