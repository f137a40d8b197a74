"""The editor protocol: documents in, diagnostics, hovers, words and edits out."""

from __future__ import annotations

import asyncio
import gc
from functools import cached_property
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place
from metainfer.knowledge.base import Knowledge
from metainfer.lsp import features
from metainfer.lsp.analysis import Analysis, analyse
from metainfer.lsp.spot import spot_at
from metainfer.resources import ckb_dir
from metainfer.spec.files import read_spec_file
from metainfer.spec.formatter import format_text
from metainfer.spec.words import lines_of

PAUSE = 0.01
"""Seconds without a keystroke after which a file is read again: pasted text is one change."""

MOST_SHOWN = 100
"""Diagnostics of one file: nobody reads more, and an editor draws every one."""

_SEVERITY = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
}
_KINDS = {
    "section": types.CompletionItemKind.Module,
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "unit": types.CompletionItemKind.Unit,
}


class MispecServer(LanguageServer):
    """Keeps the last reading of every open file."""

    def __init__(self) -> None:
        super().__init__("metainfer", "1")
        self.analyses: dict[str, Analysis] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    @cached_property
    def contracts(self) -> Knowledge:
        """The contracts that ship."""
        return Knowledge(ckb_dir())

    def changed(self, uri: str) -> None:
        """Read the document again once its user pauses."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(PAUSE, self._tell, uri)

    def closed(self, uri: str) -> None:
        """Forget the document and what was said of it."""
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self.analyses.pop(uri, None)
        empty = types.PublishDiagnosticsParams(uri, [])
        self.text_document_publish_diagnostics(empty)

    def analysis_of(self, document: TextDocument) -> Analysis:
        """The reading of the document as it is now."""
        self.analyses[document.uri] = analyse(document.source, document.path, self._read)
        return self.analyses[document.uri]

    def _tell(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        document = self.workspace.get_text_document(uri)
        analysis = self.analysis_of(document)
        lines = lines_of(document.source)
        shown = analysis.problems[:MOST_SHOWN]
        found = [self._diagnostic(problem, lines, uri) for problem in shown]
        message = types.PublishDiagnosticsParams(uri, found, document.version)
        self.text_document_publish_diagnostics(message)

    def _read(self, path: str, place: Place | None) -> str:
        """The text of a used file: as it stands in the editor, else on disk."""
        document = self.workspace.text_documents.get(uris.from_fs_path(path) or "")
        return document.source if document else read_spec_file(path, place)

    # --- ours to the protocol's ---

    def _diagnostic(self, problem: Diagnostic, lines: list[str], uri: str) -> types.Diagnostic:
        message = problem.message
        related = []
        for note in problem.notes:
            if note.place is None:
                message += f"\nnote: {note.message}"
                continue
            where = types.Location(_uri(note.place.file), self.range_of(note.place, None))
            related.append(types.DiagnosticRelatedInformation(where, note.message))
        if problem.help:
            message += f"\nhelp: {problem.help}"
        return types.Diagnostic(
            self.range_of(problem.place or Place(uri, 1, 1), lines),
            message,
            _SEVERITY[problem.severity],
            source="metainfer",
            related_information=related or None,
        )

    def range_of(self, place: Place, lines: list[str] | None) -> types.Range:
        """The range of a place; `lines` of its file count the editor's units, if they are known."""
        line = lines[place.line - 1] if lines and place.line <= len(lines) else ""
        units = self.workspace.position_codec.client_num_units
        first, last = place.col - 1, place.col - 1 + place.length
        start = first + units(line[:first]) - len(line[:first])
        end = last + units(line[:last]) - len(line[:last])
        row = place.line - 1
        return types.Range(types.Position(row, start), types.Position(row, end))

    def place_of(
        self, params: types.HoverParams | types.CompletionParams | types.DefinitionParams
    ) -> tuple[TextDocument, int, int]:
        """The document of a request, and its line and column from 1."""
        document = self.workspace.get_text_document(params.text_document.uri)
        position = document.position_from_client_units(params.position)
        return document, position.line + 1, position.character + 1


def _uri(path: str) -> str:
    return uris.from_fs_path(str(Path(path).absolute())) or path


def make_server() -> MispecServer:
    """A server with all that it can do."""
    server = MispecServer()
    _follow_documents(server)
    _answer_questions(server)
    return server


def _follow_documents(server: MispecServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        # Files that use this one read it from disk where it is not open.
        for uri in list(server.workspace.text_documents):
            server.changed(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _answer_questions(server: MispecServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document, line, col = server.place_of(params)
        found = features.hover(document.source, line, col, server.contracts)
        if found is None:
            return None
        text, word = found
        place = Place(document.path, line, word.col, len(word.text))
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, server.range_of(place, lines_of(document.source)))

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[" ", ".", "@", "{", ","]),
    )
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        document, line, col = server.place_of(params)
        offers = features.completions(spot_at(document.source, line, col))
        return [
            types.CompletionItem(o.word, kind=_KINDS[o.kind], detail=o.doc or None) for o in offers
        ]

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        document, line, col = server.place_of(params)
        analysis = server.analysis_of(document)
        place = features.definition(document.source, line, col, analysis, server.contracts)
        return types.Location(_uri(place.file), server.range_of(place, None)) if place else None

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            laid_out = format_text(document.source, document.path)
        except DiagnosticError:
            # Its diagnostics are on the screen already.
            return []
        if laid_out == document.source:
            return []
        end = types.Position(len(document.lines) + 1, 0)
        return [types.TextEdit(types.Range(types.Position(0, 0), end), laid_out)]


def serve() -> None:
    """Serve one editor over standard input and output."""
    server = make_server()
    # Every reading makes thousands of objects and no cycles; looking for some takes longer than it.
    gc.freeze()
    gc.set_threshold(200_000)
    server.start_io()
