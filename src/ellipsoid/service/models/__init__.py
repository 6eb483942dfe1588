"""Models of a service: learners on their way along the journal, their snapshots and the copies that predict."""
