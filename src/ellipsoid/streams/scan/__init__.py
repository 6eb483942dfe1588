"""From bytes to arrays: the compiled bodies of the readers, which never allocate and never fail, but say where."""
