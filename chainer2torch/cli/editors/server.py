"""A language server: marks the places of Chainer in open files, explains them, and offers to migrate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import ServerTextPosition, ServerTextRange

from chainer2torch.cli import reference
from chainer2torch.cli.editors.places import LEFT_TO_DO, Looked, Place, look
from chainer2torch.version import __version__

_SOURCE = "chainer2torch"
_PAUSE = 0.4  # seconds without a key before a text is looked at again
_SEVERITIES = {
    "manual": types.DiagnosticSeverity.Warning,
    LEFT_TO_DO: types.DiagnosticSeverity.Warning,
    "review": types.DiagnosticSeverity.Information,
}


class Session:
    """Remembers of each open file what was found in which version of its text."""

    def __init__(self) -> None:
        self.server: Any = LanguageServer(_SOURCE, __version__)
        self.looked: dict[str, Looked] = {}
        for name, handler in (
            (types.TEXT_DOCUMENT_DID_OPEN, self._opened),
            (types.TEXT_DOCUMENT_DID_SAVE, self._opened),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._closed),
            (types.TEXT_DOCUMENT_HOVER, self._hover),
        ):
            self.server.feature(name)(_as_function(handler))

        async def changed(params: types.DidChangeTextDocumentParams) -> None:
            await self._changed(params)

        self.server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(changed)
        kinds = types.CodeActionOptions(
            code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
        )
        self.server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(_as_function(self._actions))

    # -- what is marked --------------------------------------------------------------------------------------------

    def _opened(self, params: Any) -> None:
        self._show(params.text_document.uri)

    async def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self.server.workspace.get_text_document(params.text_document.uri)
        version = document.version
        await asyncio.sleep(_PAUSE)
        if document.version == version:
            self._show(document.uri)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        self.looked.pop(params.text_document.uri, None)
        self._publish(params.text_document.uri, None, [])

    def _show(self, uri: str) -> None:
        document = self.server.workspace.get_text_document(uri)
        path = to_fs_path(uri)
        if path is None or not path.endswith((".py", ".pyi")):
            return
        try:
            found = look(Path(path), document.source)
        except Exception as error:  # a wrong key in pyproject.toml, a defect of ours: the editor goes on
            self.server.window_log_message(
                types.LogMessageParams(types.MessageType.Error, f"{_SOURCE}: {type(error).__name__}: {error}")
            )
            found = Looked((), {})
        self.looked[uri] = found
        diagnostics = [
            types.Diagnostic(
                range=self._range(uri, place),
                message=place.message,
                severity=_SEVERITIES.get(place.state, types.DiagnosticSeverity.Hint),
                code=place.code,
                source=_SOURCE,
            )
            for place in found.places
        ]
        self._publish(uri, document.version, diagnostics)

    def _publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _range(self, uri: str, place: Place) -> types.Range:
        start = ServerTextPosition(place.line, place.column)
        end = ServerTextPosition(place.end_line, place.end_column)
        document = self.server.workspace.get_text_document(uri)
        found: types.Range = document.range_to_client_units(ServerTextRange(start, end))
        return found

    # -- what is explained -----------------------------------------------------------------------------------------

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        for place in self._at(uri, types.Range(params.position, params.position)):
            text = f"```text\n{self._explained(place)}```"
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), self._range(uri, place))
        return None

    @staticmethod
    def _explained(place: Place) -> str:
        try:
            return reference.rules_text(place.symbol, ())
        except LookupError:
            return reference.explained(place.code)

    def _at(self, uri: str, wanted: types.Range) -> list[Place]:
        """The places that a range touches."""
        found = []
        for place in self.looked.get(uri, Looked((), {})).places:
            here = self._range(uri, place)
            if _key(here.start) <= _key(wanted.end) and _key(wanted.start) <= _key(here.end):
                found.append(place)
        return found

    # -- what is offered -------------------------------------------------------------------------------------------

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        actions = []
        for place in self._at(uri, params.range):
            if place.state == LEFT_TO_DO:
                actions.append(self._fix("This is done: take the comment away", uri, self._without(place)))
            else:
                actions.append(self._fix("Keep this line as it is (chainer2torch: skip)", uri, self._kept(uri, place)))
                break
        if (migrated := self._migrated(uri)) is not None:
            kind = types.CodeActionKind.SourceFixAll
            actions.append(types.CodeAction("Migrate this file to PyTorch", kind=kind, edit=migrated))
            if any(place.state != LEFT_TO_DO for place in self._at(uri, params.range)):
                quick = types.CodeActionKind.QuickFix
                actions.append(types.CodeAction("Migrate this file to PyTorch", kind=quick, edit=migrated))
        only = params.context.only
        return [a for a in actions if only is None or any(_word(a.kind).startswith(_word(kind)) for kind in only)]

    @staticmethod
    def _fix(title: str, uri: str, edit: types.TextEdit) -> types.CodeAction:
        return types.CodeAction(
            title, kind=types.CodeActionKind.QuickFix, edit=types.WorkspaceEdit(changes={uri: [edit]})
        )

    @staticmethod
    def _without(place: Place) -> types.TextEdit:
        return types.TextEdit(types.Range(types.Position(place.line, 0), types.Position(place.line + 1, 0)), "")

    def _kept(self, uri: str, place: Place) -> types.TextEdit:
        """A comment on a line of its own: it keeps the next statement."""
        lines = self.server.workspace.get_text_document(uri).lines
        text = lines[place.line] if place.line < len(lines) else ""
        indent = text[: len(text) - len(text.lstrip())]
        start = types.Position(place.line, 0)
        return types.TextEdit(types.Range(start, start), f"{indent}# chainer2torch: skip\n")

    def _migrated(self, uri: str) -> types.WorkspaceEdit | None:
        """The whole file anew, and the module with its helpers beside it."""
        found = self.looked.get(uri)
        if found is None or not found.migrated:
            return None
        changes: list[Any] = []
        for path, text in found.migrated.items():
            target = from_fs_path(str(path.resolve())) or ""
            is_open = to_fs_path(uri) == str(path.resolve())
            old = self.server.workspace.get_text_document(uri).lines if is_open else _lines(path)
            if not is_open and not path.exists():
                changes.append(types.CreateFile(uri=target))
            everything = types.Range(types.Position(0, 0), types.Position(len(old) + 1, 0))
            changes.append(
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri if is_open else target),
                    [types.TextEdit(everything, text)],
                )
            )
        return types.WorkspaceEdit(document_changes=changes)


def _as_function(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A method as pygls takes it: it writes on what it registers, and a bound method has no attributes."""

    def handler(params: Any) -> Any:
        return method(params)

    return handler


def _word(kind: Any) -> str:
    """The kind of an action as it is spoken of: those of the protocol are an enumeration, others are words."""
    return str(getattr(kind, "value", kind))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def serve() -> None:
    """Speaks the protocol on the standard input and output, until the editor ends it."""
    Session().server.start_io()
