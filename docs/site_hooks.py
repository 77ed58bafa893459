"""What the documentation site consists of: called by MkDocs (`make docs`).

The pages lie where they do in the repository, so that relative links between them work in both. The
site is that part of the repository; links to other files, such as configs, become plain text.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Pages and what they show or link to
PARTS = ("*.md", "docs/**/*", "benchmarks/**/*.md", "benchmarks/results/**/*", "assets/**/*.md")
LEFT_OUT = {".py", ".pyc"}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`(?!\]))", flags=re.DOTALL | re.MULTILINE)
# Markdown in GitHub's dialect nests lists by two blanks, MkDocs' by four
NESTED = re.compile(r"^((?: {2})+)(?=[-*] )", flags=re.MULTILINE)


def site_files() -> dict[str, Path]:
    """All files of the site, by their path in the repository."""
    found = {path for part in PARTS for path in ROOT.glob(part) if path.is_file()}
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in sorted(found)
        if path.suffix not in LEFT_OUT
    }


def adapt(markdown: str, page: str, known: set[str]) -> str:
    """Adapt a page of the repository to the site."""

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.split("#")[0]))
        is_elsewhere = re.match(r"[a-z]+:|#", target) is not None
        # What does not exist stays a link, which MkDocs reports
        is_left_out = path not in known and (ROOT / path).exists()
        return text if not is_elsewhere and is_left_out else match[0]

    parts = CODE.split(markdown)
    kept = "".join(f"\0{i}\0" if i % 2 else part for i, part in enumerate(parts))
    text = NESTED.sub(lambda m: m[1] * 2, LINK.sub(replace, kept))
    return re.sub(r"\0(\d+)\0", lambda m: parts[int(m[1])], text)


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
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Adapt a page when MkDocs has read it."""
    return adapt(markdown, page.file.src_uri, set(site_files()))
