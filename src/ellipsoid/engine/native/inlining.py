"""Compiling a function that only other compiled functions call: ready to be inlined, and no more than that.

numba gives every function two doors, one for Python and one for C, and makes machine code of all three, whoever will
call it. A loop here is put together from dozens of bodies that are inlined into it and never called; to leave out their
doors, their own machine code and most of their own optimisation saves half of the compiler's time. What the loop is
compiled to stays the same.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Unexecuted(JITCodeLibrary):
    """Code for other libraries to link, of which no machine code is made.

    It is not optimised either, beyond what numba does to each function by itself: the loop is optimised as a whole when
    all of it is there. To do so at every level, bodies within bodies, took a third of the compiler's time.
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
        flags = state.flags
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        super().run_pass(state)
        flags.no_compile = False
        lowered = state["cr"]
        # Callers find the code by what would have been called: any builtin that equals no other.
        nobody: list[Any] = []
        key = nobody.append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=key)
        return True


class InlinedCompiler(CompilerBase):
    """numba's compiler, for functions that are called by compiled code alone."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(_InlinedLowering if step is NativeLowering else step, why) for step, why in pipeline.passes]
        pipeline.finalize()
        return [pipeline]
