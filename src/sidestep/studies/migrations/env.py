"""What Alembic runs: migrations over the connection that it is given."""

from alembic import context

from sidestep.studies.database import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
