"""Numba's compiler, without the work that the kernels here do not need.

Three quarters of the time that compiling takes is Numba's own, in Python: it looks up what a sum of two integers is, or
an element of an array, by trying every rule that it has for that operator, at each place anew. Here what was found once
is remembered. Parts are left as they were written until the function that Python calls is made. All of this is about
the compiler's own work; the code that it makes is the same.

This leans on Numba's insides: :mod:`armin.compiling` takes it for the releases that are known.
"""

from __future__ import annotations

import operator
from types import CodeType
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.typed_passes import DumpParforDiagnostics, NopythonRewrites
from numba.core.typing import Context
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction, WithLifting

from armin.lowering import NAMES, attribute, numbers, of_numbers, short

__all__ = ["PartCompiler", "QuickCompiler"]

_BARE = {WithLifting, NopythonRewrites, DumpParforDiagnostics}  # context managers, sums of whole arrays, parallel loops
_CLOSURES = {InlineClosureLikes, MakeFunctionToJitFunction}
_LOWERED = {operator.getitem, operator.setitem}  # resolved a second time when code is made


class _Flags(Flags):  # type: ignore[misc]  # Numba has no types
    """Flags that are compared by what is set: Numba's own list all options, each time that a rule is looked up."""

    __slots__ = ()
    _hash = hash(Flags())  # the names of the options, so the same for all

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        mine, its = self._values, other._values
        return mine == its or all(getattr(self, name) == getattr(other, name) for name in {*mine, *its})


_Flags.__name__ = Flags.__name__  # it is part of the names of compiled functions


def _keys_of(kind: Any) -> dict[Any, Any]:
    """By signature, what the target knows a function by."""
    keys: dict[Any, Any] = kind._impl_keys
    return keys


_found: dict[tuple[int, tuple[Any, ...]], tuple[Any, Any]] = {}


class _Typing(Context):  # type: ignore[misc]
    """Numba's rules of types, with a memory: the same rules, in the same state, as those that it is made of."""

    __slots__ = ("_plain",)

    def __init__(self, plain: Any) -> None:
        object.__setattr__(self, "__dict__", plain.__dict__)
        self._plain = plain

    def __hash__(self) -> int:
        return hash(self._plain)

    def __eq__(self, other: object) -> bool:
        return self._plain is (other._plain if isinstance(other, _Typing) else other)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        kind: Any = func if isinstance(func, types.Type | str) else self._lookup_global(func)
        if kws or not isinstance(kind, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = id(kind), tuple(args)
        if key in _found:
            return _found[key][1]
        signature = of_numbers(kind.typing_key, key[1]) if kind.typing_key in (min, max, int) else None
        if signature is not None:
            return signature
        signature = super().resolve_function_type(func, args, kws)
        # rules that are compiled functions themselves depend on the flags, and must be resolved each time
        if signature is not None and _keys_of(kind).get(signature.args) is kind.typing_key:
            _found[key] = kind, signature  # the kind is kept, so that its id stays its own
        return signature

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """The signature of an assignment to an element."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})


class _Remembered(types.Callable):
    """An operator whose signatures are remembered."""

    def __init__(self, kind: Any, typing: _Typing) -> None:
        self._kind, self._typing, self.typing_key = kind, typing, kind.typing_key
        super().__init__(f"remembered({kind})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        return self._typing.resolve_function_type(self._kind, args, kws)

    def get_call_signatures(self) -> Any:
        """All signatures."""
        return self._kind.get_call_signatures()

    def get_impl_key(self, signature: Any) -> Any:
        """What the target knows it by."""
        return self._kind.get_impl_key(signature)


class _TypingOfTarget(_Typing):
    """The same, for when code is made."""

    __slots__ = ()

    def resolve_value_type(self, val: Any) -> Any:
        """The type of a constant."""
        kind = super().resolve_value_type(val)
        return _Remembered(kind, self) if isinstance(kind, types.Function) and val in _LOWERED else kind


class _Target(CPUContext):  # type: ignore[misc]
    """Numba's target with short code for what kernels do most.

    Nor does it look for new rules each time that there is none.
    """

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The code of a function."""
        name = fn.typing_key if isinstance(fn, types.Function | _Remembered) else fn
        code = short(self, name, sig) if name in NAMES else None
        if code is not None:
            return lambda builder, args, loc=None: code(self, builder, sig, args)
        found = super().get_function(fn, sig, _firstcall and fn not in _RARE)
        if fn == "getiter" and sig.args == (types.range_state64_type,):
            return lambda builder, args: numbers(self, builder, sig, args) or found(builder, args)
        return found

    def get_getattr(self, typ: Any, attr: str) -> Any:
        """The code of an attribute."""
        return attribute if type(typ) is types.Array and attr in ("shape", "size") else super().get_getattr(typ, attr)

    def pair_first(self, builder: Any, val: Any, ty: Any) -> Any:
        """The first of two values."""
        return builder.extract_value(val, self.data_model_manager[ty].get_field_position("first"))

    def pair_second(self, builder: Any, val: Any, ty: Any) -> Any:
        """The second of two values."""
        return builder.extract_value(val, self.data_model_manager[ty].get_field_position("second"))


_RARE = {"__array__", "static_getitem", "static_setitem"}


class QuickCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler with a memory."""

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any) -> None:
        super().__init__(_Typing(typing), target, library, args, result, _Flags(flags), local)
        target = self.state.targetctx  # a copy, of this function alone
        if type(target) is CPUContext:
            target.__class__, target.typing_context = _Target, _TypingOfTarget(typing)

    def define_pipelines(self) -> Any:
        """The passes, without those that have nothing to do in a function that makes no arrays."""
        (usual,) = super().define_pipelines()
        if self.state.flags.nrt:
            return [usual]
        nested = any(isinstance(constant, CodeType) for constant in self.state.func_id.func.__code__.co_consts)
        left_out = _BARE if nested else _BARE | _CLOSURES
        passes = PassManager(usual.pipeline_name)
        passes.passes = [one for one in usual.passes if one[0] not in left_out]
        passes.finalize()
        return [passes]


class _PartCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a part, as it was written: neither optimised nor made into machine code.

    Numba would do both for every function, and do it again in every function that calls it. That of the part alone
    would never run.
    """

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = str(self._codegen.target_data)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _NoEnvironment:
    """A code generator without objects of the interpreter: a part that only compiled code calls has none."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        """There is no place to note it."""


class PartCompiler(QuickCompiler):
    """It leaves parts as :class:`_PartCode`."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _PartCode(target.codegen(), "part")
            library.enable_object_caching()
        super().__init__(typing, target, library, *rest)
