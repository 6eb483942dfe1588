"""Where a hypothesis lives: how it scores a row and how it absorbs one."""
