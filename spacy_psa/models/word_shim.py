"""A shim that keeps a network together with its vocabulary of words and characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Errors
from ..layers import WordCharacterEmbedding
from .lookup import WordLookup
from .network_shim import NetworkShim


class WordCharacterShim(NetworkShim):
    """The network of `spacy_psa.WordCharEmbed.v1`, with the words and characters that it knows.

    make (Callable[..., WordCharacterEmbedding]): Builds the network from the keyword arguments of
        `build`.
    attr (int): The attribute by which words are looked up.
    max_characters (int): Maximum number of characters read from a word.
    normalize (Optional[Callable[[str], str]]): Returns the form by which a word is looked up if it
        is not found, and from which characters are read.
    normalize_all (bool): Whether words that would be found are normalized too.
    """

    # Where the words come from: "training" (all of the training data), "sample" (a few documents;
    # this is saved), or None (no words yet, or words of the training data that were loaded).
    words_from: str | None = None

    def __init__(
        self,
        make: Callable[..., WordCharacterEmbedding],
        *,
        attr: int,
        max_characters: int,
        normalize: Callable[[str], str] | None,
        normalize_all: bool = False,
    ) -> None:
        super().__init__(make)
        self.attr, self.max_characters = attr, max_characters
        self.normalize, self.normalize_all = normalize, normalize_all
        self._lookup: WordLookup | None = None

    @property
    def lookup(self) -> WordLookup:
        """The network's word lookup, created on first use."""
        if self._lookup is None:
            self._lookup = WordLookup(
                self.cfg["words"],
                self.cfg["characters"],
                attr=self.attr,
                max_characters=self.max_characters,
                normalize=self.normalize,
                normalize_all=self.normalize_all,
            )
        return self._lookup

    @property
    def network(self) -> WordCharacterEmbedding:
        """The network. See `NetworkShim.network`."""
        network = super().network
        assert isinstance(network, WordCharacterEmbedding)
        return network

    def build(self, **config: Any) -> WordCharacterEmbedding:
        """Build the network for new words. See `NetworkShim.build`."""
        self._lookup, self.words_from = None, None
        super().build(**config)
        return self.network

    def message(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The data to save. See `NetworkShim.message`."""
        message = super().message()
        return {**message, "sample": True} if self.words_from == "sample" else message

    def check_message(self, message: dict[str, Any]) -> None:
        """Refuse to replace words of the training data with those of a sample."""
        is_sample = bool(message.get("sample"))
        if is_sample and self.words_from == "training":
            raise ValueError(Errors.P246)
        self.words_from = "sample" if is_sample else None

    def from_bytes(self, bytes_data: bytes) -> NetworkShim:
        """Load a network and its words. See `NetworkShim.from_bytes`."""
        self._lookup = None
        return super().from_bytes(bytes_data)
