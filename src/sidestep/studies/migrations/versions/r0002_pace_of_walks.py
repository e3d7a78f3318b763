"""How smoothly walks went."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; walks of before have no value."""
    op.add_column("episodes", sa.Column("slowest_hz", sa.Double))
