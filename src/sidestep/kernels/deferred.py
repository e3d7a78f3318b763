"""Kernels that other kernels call: kept as LLVM code, neither optimised nor turned into machine code, until a kernel
that Python calls is compiled with everything below it.

numba optimises every function by itself, writes machine code for it, and does both again in every caller, so that code
at the bottom is compiled once for each level above it. Here each function is typed and translated once, and each kernel
that Python calls is optimised once, as a whole. The results have the same bits: LLVM keeps the meaning of IEEE 754
operations at every level of optimisation, because no kernel allows it to do otherwise (``OPTIONS`` in ``jit``).

Functions marked as parts keep their LLVM code on disk, for processes that compile at the same time and for kernels that
are compiled later.

This uses numba's internals; ``tests/kernels/test_numba.py`` checks each of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding
from numba.core import compiler, dispatcher, errors, sigutils
from numba.core import environment as _environment
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import ConfigStack as _ConfigStack
from numba.core.types import functions as _functions
from numba.core.typing import templates as _templates

Library: Any = JITCodeLibrary
Pipeline: Any = compiler.Compiler
dispatchers: Any = dispatcher
FunctionCompiler: Any = dispatchers._FunctionCompiler
ConfigStack: Any = _ConfigStack
function_types: Any = _functions
BaseFunction: Any = function_types.BaseFunction
CompileResults: Any = CompileResultCacheImpl
Cache: Any = FunctionCache
numba_errors: Any = errors
numba_compiler: Any = compiler
environments: Any = _environment
templates: Any = _templates
signatures: Any = sigutils

resolve_call: Any = BaseFunction.get_call_type
resolved: dict[Any, tuple[Any, Any]] = {}


def resolve_call_once(self: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """The signature of an operator or a function of numba's for these types; numba tries all its rules at every call.
    What is defined for them depends on the caller's options that a definition takes over."""
    flags = ConfigStack.top_or_none()
    inherited = flags and (flags.nrt, flags.error_model, flags.forceinline, frozenset(flags.fastmath.flags))
    key = self, context, arguments, tuple(keywords.items()), inherited
    if key not in resolved:
        signature = resolve_call(self, context, arguments, keywords)
        resolved[key] = signature, self._impl_keys[signature.args]
    signature, implementation = resolved[key]
    self._impl_keys[signature.args] = implementation
    return signature


class PlainMessages:
    """Marks nothing in messages. numba words thousands that nobody reads while it looks for a rule that fits."""

    def __getattr__(self, name: str) -> Any:
        return str


@contextmanager
def without_detours() -> Iterator[None]:
    """Under numba's lock: leave out what takes a third of the time of typing and changes nothing."""
    collects, messages = gc.isenabled(), numba_errors._termcolor_inst
    gc.disable()
    numba_errors._termcolor_inst = PlainMessages()
    BaseFunction.get_call_type = resolve_call_once
    try:
        yield
    finally:
        BaseFunction.get_call_type = resolve_call
        numba_errors._termcolor_inst = messages
        if collects:
            gc.enable()


class EntryLibrary(Library):  # type: ignore[misc]
    """Optimised once, when all is linked."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class EntryPipeline(Pipeline):  # type: ignore[misc]
    """numba's stages, for a kernel that Python calls."""

    def _compile_core(self) -> Any:
        state = self.state
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        with without_detours():
            result = super()._compile_core()
        for variable in result.library._final_module.global_variables:
            environment = environments.lookup_environment(variable.name)
            if environment is not None:
                result.library.codegen.set_env(variable.name, environment)
        return result


class DeferredLibrary(Library):  # type: ignore[misc]
    """LLVM code that is linked into others and never run from here."""

    def _optimize_functions(self, module: Any) -> None:
        """Turn variables in memory into values, and drop what is then not used: the addresses of Python's functions."""
        module.data_layout = self._codegen._data_layout
        passes = llvmlite.binding.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_aggressive_dce_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, self._codegen._pass_builder())

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """There is no object code: the LLVM code."""
        return self.name, "deferred", self._get_module_for_linking().as_bitcode()

    @classmethod
    def of_bitcode(cls, codegen: Any, name: str, code: bytes) -> Any:
        """A library whose code was kept."""
        library = cls(codegen, name)
        library._final_module = library._shared_module = llvmlite.binding.parse_bitcode(code)
        library._finalized = True
        return library


class DeferredPipeline(Pipeline):  # type: ignore[misc]
    """numba's stages, for a kernel that others call."""

    def _compile_core(self) -> Any:
        state = self.state
        state.library = DeferredLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super()._compile_core()


class DeferredCompiler(FunctionCompiler):  # type: ignore[misc]
    """Compiles without wrappers for Python."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_compile = True
        return flags


class DeferredResults(CompileResults):  # type: ignore[misc]
    """How a deferred function is written and read."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Other files than those of the machine code of the same function."""
        return f"part-{super().get_filename_base(fullname, abiflags)}"

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The compiler's result with code that can be linked."""
        (name, _, code), descriptor, environment, signature, *_, environments = payload
        return numba_compiler.compile_result(
            library=DeferredLibrary.of_bitcode(target_context.codegen(), name, code), fndesc=descriptor,
            signature=signature, environment=environment, referenced_envs=environments, lifted=(), reload_init=[],
            objectmode=False, target_context=target_context, typing_context=target_context.typing_context,
        )  # fmt: skip


class DeferredCache(Cache):  # type: ignore[misc]
    """numba's cache of one function, for LLVM code."""

    _impl_class = DeferredResults


class Deferred:
    """What kernels that call the kernel ``entry`` take instead of its machine code."""

    def __init__(self, entry: Any, cache: Any = None) -> None:
        self.name = entry.py_func.__name__
        self.compiler = DeferredCompiler(entry.py_func, entry.targetdescr, entry.targetoptions, {}, DeferredPipeline)
        self.context = entry.targetctx
        self.cache = cache
        self.results: dict[Any, tuple[object, Any]] = {}
        entry.deferred, entry.get_call_template, entry.get_overload = self, self.get_call_template, self.get_overload

    def get_call_template(self, arguments: Any, keywords: Any) -> tuple[Any, Any, Any, Any]:
        """How numba asks for the type of a call."""
        signature, arguments = self.compiler.fold_argument_types(arguments, keywords)
        template = templates.make_concrete_template(
            self.name, key=self.name, signatures=[self.translate(tuple(arguments))]
        )
        return template, signature, arguments, {}

    def get_overload(self, signature: Any) -> object:
        """How numba asks what a call goes to."""
        return self.results[tuple(signatures.normalize_signature(signature)[0])][0]

    def translate(self, arguments: tuple[Any, ...]) -> Any:
        """Make or read the LLVM code for these types; the signature."""
        if arguments not in self.results:
            with global_compiler_lock:
                result = self.cache and self.cache.load_overload(arguments, self.context)
                if result is None:
                    with without_detours():
                        result = self.compiler.compile(arguments, None)
                    if self.cache:
                        self.cache.save_overload(arguments, result)
                key = object()
                self.context.insert_user_function(key, result.fndesc, [result.library])
                self.results[arguments] = key, result
        return self.results[arguments][1].signature

    def is_kept(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the LLVM code for these types is on disk."""
        key = self.cache and self.cache._index_key(arguments, self.context.codegen())
        return bool(key) and key in self.cache._cache_file._load_index()
