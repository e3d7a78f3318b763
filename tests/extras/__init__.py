"""Everything that Sidestep lists runs with exactly the extras that it names, and says which one is missing without."""
