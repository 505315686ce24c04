"""Stacks as the interpreter itself sees them, in the format of `wallshim export --format folded`."""
DEEPEST = 64


def stack_of(frame):
    """The stack whose innermost frame is this one: "function (file:line);function (file:line)", outermost first."""
    stack = []
    while frame and len(stack) < DEEPEST:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        stack.append(f"{name} ({code.co_filename}:{frame.f_lineno})".replace(";", ","))
        frame = frame.f_back
    return ";".join(reversed(stack))
