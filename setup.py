"""Build the package: setup.cfg has all of its metadata but the description."""

import re
from pathlib import Path

from setuptools import setup

# Images and links whose target is a file of the repository, or a place on the page
RELATIVE = re.compile(r"!?\[([^\]]*)\]\((?![a-z]+:)[^)\s]*\)")


def description(readme: str) -> str:
    """Adapt the README to a package index, where relative links lead nowhere: their text stays.

    readme (str): The README, in Markdown.
    RETURNS (str): The same without relative links and images.
    """
    return RELATIVE.sub(lambda match: match[1], readme)


if __name__ == "__main__":
    text = Path(__file__).with_name("README.md").read_text(encoding="utf8")
    setup(long_description=description(text), long_description_content_type="text/markdown")
