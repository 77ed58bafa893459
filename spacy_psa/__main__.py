"""`spacy-psa …` or `python -m spacy_psa …`: the same commands as `python -m spacy psa …`.

`python -m spacy` imports spaCy and PyTorch before it looks at its arguments. Here, each command
imports what it needs.
"""


def main() -> None:
    """Run a command."""
    from .cli import psa_cli

    psa_cli(prog_name="spacy-psa")


if __name__ == "__main__":
    # By its name, by which `cli` knows who imports it
    from . import __main__

    __main__.main()
