"""The words and characters that a network knows, with the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Errors
from ..layers import WordCharacterEmbedding
from .lookup import WordLookup
from .shim import NetworkShim


class WordCharacterShim(NetworkShim):
    """The network of `spacy_psa.WordCharEmbed.v1`, with the words and characters that it knows.

    make (Callable[..., WordCharacterEmbedding]): Builds the network from the keyword arguments of
        `build`.
    attr (int): What words are looked up by.
    max_characters (int): Characters of a word that are read.
    normalize (Optional[Callable[[str], str]]): Gives the form by which a word is looked up that is
        not found, and of which characters are read.
    """

    # Where the words are from: "training", all documents of the training data; "sample", a few,
    # which is saved; None where there are none, or where those of the training data were loaded.
    words_from: str | None = None

    def __init__(
        self,
        make: Callable[..., WordCharacterEmbedding],
        *,
        attr: int,
        max_characters: int,
        normalize: Callable[[str], str] | None,
    ) -> None:
        super().__init__(make)
        self.attr = attr
        self.max_characters = max_characters
        self.normalize = normalize
        self._lookup: WordLookup | None = None

    @property
    def lookup(self) -> WordLookup:
        """The look-up that goes with the network, made when it is first needed."""
        if self._lookup is None:
            self._lookup = WordLookup(
                self.cfg["words"],
                self.cfg["characters"],
                attr=self.attr,
                max_characters=self.max_characters,
                normalize=self.normalize,
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
        """RETURNS (Dict[str, Any]): What is saved. See `NetworkShim.message`."""
        message = super().message()
        return {**message, "sample": True} if self.words_from == "sample" else message

    def check_message(self, message: dict[str, Any]) -> None:
        """Refuse words of a sample where there are those of the training data.

        message (Dict[str, Any]): What is to be loaded.
        RAISES (ValueError): If that is so.
        """
        is_sample = bool(message.get("sample"))
        if is_sample and self.words_from == "training":
            raise ValueError(Errors.P246)
        self.words_from = "sample" if is_sample else None

    def from_bytes(self, bytes_data: bytes) -> NetworkShim:
        """Load a network and its words. See `NetworkShim.from_bytes`."""
        self._lookup = None
        return super().from_bytes(bytes_data)
