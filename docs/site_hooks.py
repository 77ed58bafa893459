"""What the documentation site consists of: called by MkDocs (`make docs`).

The pages lie where they do in the repository, so that relative links between them work in both. The
site is that part of the repository; links to other files, such as configs, become plain text. To
that comes the reference: a page for each folder of the package, with what docs/api.md lists.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

# What MkDocs Material adds from another site, so that search works without a server; ours is a copy
SHIM, COPY = "https://unpkg.com/iframe-worker/shim", "docs/assets/iframe-worker.js"
ELSEWHERE = re.compile(r"<(?:script|img|link [^>]*stylesheet)[^>]*(?:src|href)=.?https?://[^>]*>")
ROOT = Path(__file__).parents[1]
# Pages and what they show or link to
PARTS = ("*.md", "docs/**/*", "benchmarks/**/*.md", "benchmarks/results/**/*", "assets/**/*.md")
LEFT_OUT = {".py", ".pyc"}
# Code, or a link, whose text may have code
CODE_OR_LINK = re.compile(
    r"^```.*?^```$|`[^`\n]*`|(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)",
    flags=re.DOTALL | re.MULTILINE,
)
FENCED = re.compile(r"(^```.*?^```$)", flags=re.DOTALL | re.MULTILINE)
# Markdown in GitHub's dialect nests lists by two blanks, MkDocs' by four
NESTED = re.compile(r"^((?: {2})+)(?=[-*] )", flags=re.MULTILINE)
INDEX = "docs/api.md"
# The folders in the index with what they are, and the names that they export
FOLDER = re.compile(
    r"^## `(spacy_psa\.(\w+))`\n\n([^\n]+)\n(.*?)(?=^## |\Z)", flags=re.DOTALL | re.M
)
EXPORTED = re.compile(r"(?<=^\| )`(\w+)`(?= \|)", flags=re.MULTILINE)


def site_files() -> dict[str, Path]:
    """All files of the site, by their path in the repository."""
    found = {path for part in PARTS for path in ROOT.glob(part) if path.is_file()}
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in sorted(found)
        if path.suffix not in LEFT_OUT
    }


def reference(index: str) -> dict[str, str]:
    """The pages on which mkdocstrings describes what the index lists."""
    return {
        f"docs/api/{folder}.md": "\n\n".join(
            [f"# `{package}`", text, *(f"::: {package}.{name}" for name in EXPORTED.findall(rows))]
        )
        for package, folder, text, rows in FOLDER.findall(index)
    }


def link_names(index: str) -> str:
    """Let the names in the index lead to their descriptions."""
    return FOLDER.sub(lambda found: EXPORTED.sub(rf"[`\1`][{found[1]}.\1]", found[0]), index)


def adapt(markdown: str, page: str, known: set[str]) -> str:
    """Adapt a page of the repository to the site."""

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        if target is None or re.match(r"[a-z]+:|#", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.split("#")[0]))
        # What does not exist stays a link, which MkDocs reports
        return text if path not in known and (ROOT / path).exists() else match[0]

    parts = FENCED.split(CODE_OR_LINK.sub(replace, markdown))
    parts[::2] = [NESTED.sub(lambda match: match[1] * 2, part) for part in parts[::2]]
    return "".join(parts)


def on_config(config: Any) -> Any:
    """Name anchors as in the repository."""
    from pymdownx.slugs import slugify

    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Replace the files of docs by those of the site."""
    from mkdocs.structure.files import File

    for file_ in list(files):
        if file_.src_dir == config.docs_dir:
            files.remove(file_)
    for name, path in site_files().items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, markdown in reference((ROOT / INDEX).read_text(encoding="utf8")).items():
        files.append(File.generated(config, name, content=markdown))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Adapt a page when MkDocs has read it."""
    if page.file.src_uri == INDEX:
        markdown = link_names(markdown)
    return adapt(markdown, page.file.src_uri, set(site_files()))


def on_post_build(config: Any) -> None:
    """Check that pages load nothing from other sites."""
    from mkdocs.exceptions import PluginError

    site = Path(config.site_dir)
    for path in site.rglob("*.html"):
        depth = len(path.relative_to(site).parts) - 1
        html = path.read_text(encoding="utf8").replace(SHIM, "../" * depth + COPY)
        if found := ELSEWHERE.search(html):
            raise PluginError(f"{path} loads from another site: {found[0]}")
        path.write_text(html, encoding="utf8")
