"""What the text of a Python file says of a call: the `SourceSyntax` of Python."""

from __future__ import annotations

from whence.langs.python.source.attribute_uses import attributes_used
from whence.langs.python.source.class_bodies import class_at, outline
from whence.langs.python.source.definitions import definitions_in
from whence.langs.python.source.operation_spans import operation_at
from whence.model.call import Call
from whence.model.primitive import RaisingOperation, Span
from whence.model.value import Kind


class PythonSyntax:
    """Reads Python source. A text that cannot be parsed says nothing."""

    def outline(self, text: str, line: int) -> list[str]:
        """A line for each attribute and method of the class that begins at a line."""
        node = class_at(text, line)
        return [] if node is None else outline(node)

    def attributes_used(self, text: str, call: Call) -> dict[str, frozenset[str]]:
        """For arguments of which a call uses only some attributes, which ones."""
        where, module = call.where(), definitions_in(text)
        if module is None or where is None or where.line is None:
            return {}
        function = module.function(call.function.qualname, where.line)
        if function is None:
            return {}
        used: dict[str, frozenset[str]] = {}
        for argument in call.arguments:
            value = argument.value
            names = [step[1:] for step, _ in value.parts if step.startswith(".")]
            is_whole = value.kind is Kind.OBJECT and len(names) == len(value.parts)
            if is_whole and not value.omitted and module.is_class(value.text):
                attributes = attributes_used(module, function, argument.name, value.text, names)
                if attributes is not None:
                    used[argument.name] = attributes
        return used

    def operation_at(self, text: str, span: Span) -> RaisingOperation | None:
        """The operation at exactly this span."""
        module = definitions_in(text)
        return None if module is None else operation_at(module.tree, module.text, span)
