"""Compiling functions that are only inlined into other compiled functions, in half the time.

numba gives every function two wrappers, one for Python and one for C, and compiles all three to machine code. A loop
here consists of dozens of bodies that are inlined into it and never called; leaving out their wrappers, machine code
and most of their optimisation saves half of the compiler's time. The machine code of the loop stays the same.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Unexecuted(JITCodeLibrary):
    """Code for other libraries to link, which is not compiled to machine code.

    Nor is it optimised, beyond what numba does to each function by itself: the loop is optimised as a whole. Doing so
    at every level, bodies within bodies, took a third of the compiler's time.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(NativeLowering):
    """numba's lowering without wrappers and without machine code."""

    _name = "inlined_lowering"

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = _Unexecuted(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        counting = state.targetctx
        if not _makes_references(state):
            state.targetctx = counting.subtarget(enable_nrt=False)
        flags = state.flags
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        super().run_pass(state)
        flags.no_compile = False
        state.targetctx = counting
        lowered = state["cr"]
        # Callers find the code by the address of the wrapper. There is none: any object that equals no other will do.
        unique: list[Any] = []
        key = unique.append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        # Older versions of numba have none.
        state.reload_init.extend(getattr(state.library, "_reload_init", ()))
        state["cr"] = lowered._replace(cfunc=key)
        return True


def _makes_references(state: Any) -> bool:
    """Does the function return an array, or call something that does? Otherwise all its arrays belong to its caller,
    which keeps them alive, and need no reference counts.
    """

    def counted(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    calls = (found for block in state.func_ir.blocks.values() for found in block.find_exprs(op="call"))
    return counted(state.return_type) or any(counted(state.calltypes[call].return_type) for call in calls)


class InlinedCompiler(CompilerBase):
    """numba's compiler, for functions that are called by compiled code alone."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(_InlinedLowering if step is NativeLowering else step, why) for step, why in pipeline.passes]
        pipeline.finalize()
        return [pipeline]
