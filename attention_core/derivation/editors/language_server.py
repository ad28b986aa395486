r"""A language server: the verdicts of a derivation at its lines, in any editor that speaks the protocol.

A document is checked when it is opened and when it is saved, in a thread beside the one that answers the editor, one
document at a time; a check that a later save makes stale ends before its next step. A step that is not as the document
says is marked: an error where it is wrong, a warning where it is open, an information where it cannot be read.
Hovering over a step shows its verdict, how it was read, and the counterexample; over a declaration, what was understood
of it.

Source: the Language Server Protocol, 3.17; pygls serves it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attention_core.derivation.check import check_document
from attention_core.derivation.editors.places import Span, span_of
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import DocumentReport, StepReport, Verdict
from attention_core.derivation.show import details_of

SOURCE = "attention-core"
ERRORS = frozenset({Verdict.REFUTED, Verdict.VACUOUS})
ENTRIES = 12  # of a counterexample's symbols that a hover shows


class Stale(Exception):
    """The document was saved again while it was checked."""


@dataclass
class Checked:
    """A document as it was checked: its lines, its report, and where its steps stand."""

    lines: list[str]
    report: DocumentReport
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spans = [span_of(step, self.lines) for step in self.report.steps]

    def step_at(self, line: int, character: int) -> StepReport | None:
        """The step at a place: the one around it, else the first on its line."""
        near = [k for k, span in enumerate(self.spans) if span.holds(line)]
        inside = [k for k in near if _is_inside(self.spans[k], line, character)]
        return self.report.steps[(inside or near)[0]] if near else None


def _is_inside(span: Span, line: int, character: int) -> bool:
    return (span.line, span.start) <= (line, character) < (span.last, span.end)


def severity(step: StepReport) -> str:
    """How loudly a step is marked: "error" where it is wrong, "warning" where it is open, else "information".

    Example:
        >>> from attention_core.derivation import check_document
        >>> severity(check_document("$$ 1 + 1 = 3 $$").steps[0])
        'error'
    """
    if step.verdict in ERRORS or step.expected:
        return "error"
    return "information" if step.verdict is Verdict.UNREADABLE else "warning"


def hover_text(checked: Checked, line: int, character: int) -> str:
    """What is shown at a place, as Markdown; '' where nothing is known of it.

    Args:
        checked: The document.
        line: The line, from 0 on.
        character: The character in it.
    """
    step = checked.step_at(line, character)
    if step is None:
        here = [text for at, text in checked.report.understood if at == line + 1]
        return "understood:\n\n" + "\n".join(f"- {text}" for text in here) if here else ""
    parts = [f"**{step.title}** {step.id}", f"```latex\n{step.text}\n```", *details_of(step)]
    example = step.counterexample
    if example is not None:
        rows = list(example.values.items())[:ENTRIES]
        parts.append("\n".join(f"- {name} = {value}" for name, value in rows))
    return "\n\n".join(parts)


class Desk:
    """The documents that an editor has open, each checked by the newest of its texts alone."""

    def __init__(
        self, effort: Effort | None = None, infer: bool = True, formulas: bool = False, as_read: bool = False
    ) -> None:
        self.effort = effort or Effort()
        self.how: dict[str, Any] = {"infer": infer, "formulas": formulas, "as_read": as_read}
        self.checked: dict[str, Checked] = {}
        self.newest: dict[str, int] = {}
        self.lock = threading.Lock()

    def order(self, uri: str) -> int:
        """The number of a new check; those with smaller ones are stale."""
        self.newest[uri] = self.newest.get(uri, 0) + 1
        return self.newest[uri]

    def close(self, uri: str) -> None:
        """Forget a document."""
        self.order(uri)
        self.checked.pop(uri, None)

    def check(self, uri: str, text: str, number: int) -> Checked | None:
        """Check a text, one at a time; None if a newer one was ordered meanwhile.

        Args:
            uri: The document.
            text: Its text.
            number: The number of this check, see `order`.
        """

        def tell(*_: object) -> None:
            if self.newest.get(uri) != number:
                raise Stale

        with self.lock:
            try:
                tell()
                report = check_document(f"{text}\n", effort=self.effort, **self.how, tell=tell)
                tell()
            except Stale:
                return None
            self.checked[uri] = Checked(text.splitlines(), report)
            return self.checked[uri]


def make_server(desk: Desk) -> Any:
    """The server of a desk, ready to `start_io`.

    Args:
        desk: What checks its documents.

    Raises:
        ImportError: pygls is not installed.
    """
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    server = LanguageServer(SOURCE, _version(), types.TextDocumentSyncKind.Full)

    def publish(uri: str, text: str, number: int) -> None:
        checked = desk.check(uri, text, number)
        if checked is not None:
            found = _diagnostics(server.workspace.get_text_document(uri), checked)
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def check(params: Any) -> None:
        uri = params.text_document.uri
        text = server.workspace.get_text_document(uri).source
        threading.Thread(target=publish, args=(uri, text, desk.order(uri)), daemon=True).start()

    def close(params: Any) -> None:
        uri = params.text_document.uri
        desk.close(uri)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def hover(params: Any) -> Any:
        uri, place = params.text_document.uri, params.position
        checked = desk.checked.get(uri)
        if checked is None:
            return None
        codec = server.workspace.get_text_document(uri).position_codec
        place = codec.position_from_client_units(checked.lines, place)
        text = hover_text(checked, place.line, place.character)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(check)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(check)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(close)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    return server


def _diagnostics(document: Any, checked: Checked) -> list[Any]:
    """A mark on every step that did not pass, with its verdict and its evidence."""
    from lsprotocol import types

    return [
        types.Diagnostic(
            range=_range(document, checked.lines, span),
            message="\n".join([f"{step.title}: {step.text}".removesuffix(": "), *details_of(step)]),
            severity=types.DiagnosticSeverity[severity(step).capitalize()],
            code=str(step.verdict),
            source=SOURCE,
        )
        for step, span in zip(checked.report.steps, checked.spans, strict=True)
        if not step.passed
    ]


def _version() -> str:
    """The version of the distribution; '' where its source is used without it."""
    try:
        return version(SOURCE)
    except PackageNotFoundError:
        return ""


def _range(document: Any, lines: Sequence[str], span: Span) -> Any:
    """A span in the units that the editor counts in."""
    from lsprotocol import types

    start, end = types.Position(span.line, span.start), types.Position(span.last, span.end)
    return document.position_codec.range_to_client_units(lines, types.Range(start, end))


__all__ = ["Checked", "Desk", "hover_text", "make_server", "severity"]
