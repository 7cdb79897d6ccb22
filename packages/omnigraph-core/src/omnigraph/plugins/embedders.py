"""From texts to unit vectors by the embedder that the environment names, or to the error that says what to set.

This is the one door for who needs vectors: reading, for the text of a ``nearest``; writing, for ``@embed``. What an
embedder returns is checked here, a model that is not the recorded one is refused, and lately searched texts are
remembered.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from omnigraph.embedding import Embedder, EmbedderProvider, EmbedderSettings, Purpose
from omnigraph.embedding.query_cache import QueryVectors
from omnigraph.embedding.settings import MODEL, PROVIDER
from omnigraph.embedding.vectors import unit_vectors
from omnigraph.errors import EmbeddingError, InvalidInputError, OmnigraphError
from omnigraph.plugins.manager import LoadedPlugins, PluginInfo, PluginStatus, installed_plugins

if TYPE_CHECKING:
    from omnigraph.embedding.vectors import Vector


@dataclass(frozen=True, slots=True)
class _Made:
    """An embedder with what it was made of."""

    provider: EmbedderProvider
    settings: EmbedderSettings
    embedder: Embedder


class _Workshop:
    """Keeps the embedder that was made last: a local model takes long to load, and settings hardly ever change."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._lock = threading.Lock()
        self._last: _Made | None = None

    def embedder(self, info: PluginInfo, provider: EmbedderProvider, settings: EmbedderSettings) -> Embedder:
        with self._lock:
            last = self._last
            if last is None or last.provider is not provider or last.settings != settings:
                last = self._last = _Made(provider, settings, _make(info, provider, settings))
            return last.embedder


_workshop: Final = _Workshop()
_query_vectors: Final = QueryVectors()

# A child must not wait for threads that it does not have, and models that hold threads do not work there.
os.register_at_fork(after_in_child=_workshop.start)
os.register_at_fork(after_in_child=_query_vectors.start)


def embed_texts(
    texts: Sequence[str],
    *,
    dimension: int,
    recorded_model: str | None,
    purpose: Purpose,
    within_seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
    plugins: LoadedPlugins | None = None,
) -> list[Vector]:
    """One vector of length 1 for each text, as 32-bit floats that cannot be changed.

    With the purpose ``QUERY``, texts of a bounded past are answered from memory.

    Args:
        texts: what to embed; none gives none, and asks nobody.
        dimension: of the property that the vectors are for.
        recorded_model: what ``@embed`` of that property says; None when it says nothing, and any model will do.
        purpose: whether the texts are searched for or searched in.
        within_seconds: how long the caller will wait; None for as long as the settings say.
        environment: in place of that of the process.
        plugins: in place of those that are installed.

    Raises:
        InvalidInputError: a setting is wrong or missing, the embedder that it names is not there, or its model is not
            the recorded one; or a text is no text. Nobody was asked.
        EmbeddingError: the embedder is broken, did not answer, or answered something else than such vectors.
    """
    sizes = [_utf8_size(text) for text in texts]
    if not texts:
        return []
    settings = EmbedderSettings.from_environment(environment)
    info, provider = find_embedder(settings.provider, plugins or installed_plugins())
    embedder = _workshop.embedder(info, provider, settings)
    if recorded_model is not None and not embedder.serves(recorded_model):
        raise InvalidInputError(
            f'The vectors of this property are of the model "{recorded_model}", and the embedder "{provider.name}" '
            f'is configured for "{embedder.model}".',
            help=f"Set {MODEL}={recorded_model}, with the embedder in {PROVIDER} that offers it.",
            details={"recorded_model": recorded_model, "model": embedder.model, "provider": provider.name},
        )

    about = (info.provider, provider, settings.base_url, embedder.model, dimension)
    known = {}
    if purpose is Purpose.QUERY:
        known = {text: found for text in texts if (found := _query_vectors.get((*about, text))) is not None}
    wanted = [(text, size) for text, size in zip(texts, sizes, strict=True) if text not in known]
    if not wanted:
        return [known[text] for text in texts]
    try:
        answer = embedder.embed(
            [text for text, _ in wanted], dimension=dimension, purpose=purpose, within_seconds=within_seconds
        )
    except OmnigraphError:
        raise
    except Exception as error:
        raise _broken(info, provider, "failed", error) from error
    vectors = unit_vectors(answer, count=len(wanted), dimension=dimension, provider=provider.name, model=embedder.model)
    if purpose is Purpose.QUERY:
        for (text, size), vector in zip(wanted, vectors, strict=True):
            _query_vectors.keep((*about, text), vector, text_bytes=size)
    made = iter(vectors)
    return [known[text] if text in known else next(made) for text in texts]


def find_embedder(name: str, plugins: LoadedPlugins) -> tuple[PluginInfo, EmbedderProvider]:
    """The one embedder of a name, with the plugin that offers it.

    Raises:
        InvalidInputError: there is none, or its plugin is disabled.
        EmbeddingError: its plugin is broken, or several plugins claim the name.
    """
    offering = [(info, provider) for info, provider in plugins.embedders() if provider.name == name]
    if not offering:
        raise _missing(name, plugins)
    if len(offering) > 1:
        rivals = ", ".join(info.provider for info, _ in offering)
        raise EmbeddingError(
            f'Several plugins claim the embedder "{name}": {rivals}.',
            provider=name,
            help="Uninstall all but one, or name the others in OMNIGRAPH_DISABLE_PLUGINS.",
        )
    return offering[0]


def _make(info: PluginInfo, provider: EmbedderProvider, settings: EmbedderSettings) -> Embedder:
    try:
        embedder: Any = provider.make(settings)
    except (OmnigraphError, KeyboardInterrupt):
        raise
    # Whatever a stranger's module or constructor does is that plugin's failure.
    except BaseException as error:
        raise _broken(info, provider, "could not be made", error) from error
    if not isinstance(embedder, Embedder):
        wrong = TypeError(f"its factory made a {type(embedder).__name__} and not an Embedder")
        raise _broken(info, provider, "could not be made", wrong)
    made: Embedder = embedder
    return made


def _broken(info: PluginInfo, provider: EmbedderProvider, what: str, error: BaseException) -> EmbeddingError:
    return EmbeddingError(
        f'The embedder "{provider.name}" of {info.provider} {what}: {type(error).__name__}: {error}.',
        provider=provider.name,
        help=f"Correct it if it is yours, report it to its author, or choose another one with {PROVIDER}.",
    )


def _missing(name: str, plugins: LoadedPlugins) -> InvalidInputError | EmbeddingError:
    suspect = next((info for info in plugins.infos if info.name == name), None)
    if suspect is not None and suspect.status is PluginStatus.FAILED:
        failure = EmbeddingError(
            f'The plugin {suspect.provider} for the embedder "{name}" could not be loaded: '
            f"{str(suspect.reason).rstrip('.')}.",
            provider=name,
            help="See: omnigraph plugins",
        )
        failure.__cause__ = suspect.error
        return failure
    installed = sorted({provider.name for _, provider in plugins.embedders()})
    near = difflib.get_close_matches(name, installed, n=1)
    move = f"Did you mean {near[0]}? " if near else ""
    if suspect is not None and suspect.status is PluginStatus.DISABLED:
        move = f"The plugin {suspect.provider} is disabled: take it out of OMNIGRAPH_DISABLE_PLUGINS. "
    return InvalidInputError(
        f'{PROVIDER} names the embedder "{name}", and no plugin offers it.',
        help=f"{move}Installed: {', '.join(installed)}.",
        details={"variable": PROVIDER, "provider": name},
    )


def _utf8_size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(
            "A text to be embedded holds half of a surrogate pair, which is no character.", help="Correct the text."
        ) from None
