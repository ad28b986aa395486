"""The language server: a real exchange over standard input and output, and what it says where."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.editors.language_server import Checked, Desk, hover_text, severity

TEXT = """Let $x \\in \\mathbb{R}$.

All hypotheses are declared as formulas. \U0001d49c: $$ (x + 1)^2 = x^2 + 1 \\tag{square} $$

$$ (x + 1)^2 = x^2 + 2 x + 1 $$
"""
URI = "file:///a.md"


class Client:
    """An editor: it writes messages to a server, and reads the answers in their order."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "attention_core", "derive", "--lsp", "--seconds", "20"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def send(self, method: str, params: dict[str, Any] | None, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while header := self.process.stdout.readline().strip():
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        assert length, "the server has ended"
        found = json.loads(self.process.stdout.read(length))
        assert isinstance(found, dict)
        return found

    def ask(self, method: str, params: dict[str, Any] | None) -> Any:
        self.number += 1
        self.send(method, params, id=self.number)
        while (answer := self.read()).get("id") != self.number:
            pass
        return answer["result"]

    def wait_for(self, method: str) -> dict[str, Any]:
        while (answer := self.read()).get("method") != method:
            pass
        params = answer["params"]
        assert isinstance(params, dict)
        return params


@pytest.fixture
def client() -> Iterator[Client]:
    pytest.importorskip("pygls")
    made = Client()
    yield made
    made.process.kill()
    made.process.communicate()


def test_an_editor_is_served_from_opening_to_closing(client: Client) -> None:
    answer = client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    able = answer["capabilities"]
    assert able["hoverProvider"] and able["textDocumentSync"]["openClose"] and able["textDocumentSync"]["save"]
    client.send("initialized", {})
    document = {"uri": URI, "languageId": "markdown", "version": 1, "text": TEXT}
    client.send("textDocument/didOpen", {"textDocument": document})
    (found,) = client.wait_for("textDocument/publishDiagnostics")["diagnostics"]
    line = TEXT.splitlines()[2]
    start = line.index("(x") + 1  # the letter in front of it takes two of the editor's units
    assert found["range"]["start"] == {"line": 2, "character": start}
    assert found["range"]["end"] == {"line": 2, "character": start + len("(x + 1)^2 = x^2 + 1")}
    assert found["severity"] == 1 and found["code"] == "REFUTED" and "left side" in found["message"]

    hover = {"textDocument": {"uri": URI}, "position": {"line": 2, "character": start + 3}}
    shown = client.ask("textDocument/hover", hover)["contents"]["value"]
    assert "**REFUTED** square" in shown and "- x = " in shown
    hover["position"] = {"line": 0, "character": 0}
    assert "- x: a number" in client.ask("textDocument/hover", hover)["contents"]["value"]
    hover["position"] = {"line": 1, "character": 0}
    assert client.ask("textDocument/hover", hover) is None

    mended = [{"text": TEXT.replace("x^2 + 1 ", "x^2 + 2 x + 1 ")}]
    client.send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": mended})
    client.send("textDocument/didSave", {"textDocument": {"uri": URI}})
    assert client.wait_for("textDocument/publishDiagnostics")["diagnostics"] == []
    client.send("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert client.wait_for("textDocument/publishDiagnostics") == {"uri": URI, "diagnostics": []}
    assert client.ask("shutdown", None) is None
    client.send("exit", None)
    assert client.process.wait(timeout=60) == 0


def test_a_check_that_a_later_save_makes_stale_says_nothing() -> None:
    desk = Desk()
    first, second = desk.order(URI), desk.order(URI)
    assert desk.check(URI, TEXT, first) is None and URI not in desk.checked
    assert desk.check(URI, TEXT, second) is desk.checked[URI]
    desk.close(URI)
    assert desk.check(URI, TEXT, second) is None


def test_what_was_read_may_count_as_declared() -> None:
    text = "Suppose the pen is blue.\n\n$$ (a + b)^2 = a^2 + b^2 $$\n"
    verdicts = []
    for desk in (Desk(), Desk(as_read=True)):
        checked = desk.check(URI, text, desk.order(URI))
        assert checked is not None
        verdicts.append(str(checked.report.steps[-1].verdict))
    assert verdicts == ["UNDECIDED", "REFUTED"]


def test_marks_are_as_loud_as_verdicts() -> None:
    wrong = "Let $x \\in \\mathbb{R}$.\n\n"
    texts = {
        "error": wrong + "$$ x^2 + 1 = 0 $$",
        "warning": wrong + "Suppose the pen is blue.\n\n$$ x^2 = x $$",
        "information": "$$ x \\odot_3 = 1 $$",
    }
    assert {severity(check_document(text).steps[0]) for text in texts.values()} == set(texts)
    for level, text in texts.items():
        assert severity(check_document(text).steps[0]) == level


def test_what_an_undeclared_symbol_was_read_as_is_shown() -> None:
    text = "$$ (a + 1)^2 = a^2 + 2 a + 1 $$\n"
    checked = Checked(text.splitlines(), check_document(text, infer=True))
    assert "read as: a" in hover_text(checked, 0, 5) and not hover_text(checked, 7, 0)


def test_without_its_package_the_server_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "lsprotocol.py").write_text("raise ImportError(name='lsprotocol')\n", encoding="utf-8")
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from attention_core.cli "
               "import main; main(['derive', '--lsp'])"]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 2 and "pip install 'attention-core[lsp]'" in run.stderr
