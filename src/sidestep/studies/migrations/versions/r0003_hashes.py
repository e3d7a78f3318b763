"""Links as hashes, sessions, exports, and how runs went.

Links of before keep working: their hashes take their place. Experimenters log in again.
"""

from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_MOMENT = sa.DateTime(timezone=True)


def _of_study() -> sa.Column[int]:
    return sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    """Hash the links, drop the secrets that signed cookies, add tables and columns."""
    people = sa.table("participants", sa.column("id", sa.Integer), sa.column("token", sa.String))
    connection = op.get_bind()
    for number, token in connection.execute(sa.select(people.c.id, people.c.token)).all():
        hashed = sha256(token.encode("utf-8", "replace")).hexdigest()
        connection.execute(people.update().where(people.c.id == number).values(token=hashed))
    # no batch: it would make the tables anew, and dropping the old ones would delete what refers to them
    op.execute("ALTER TABLE participants RENAME COLUMN token TO token_hash")
    op.execute("ALTER TABLE studies DROP COLUMN secret")
    op.add_column("trials", sa.Column("device", sa.String(20)))
    op.add_column("trials", sa.Column("played_s", sa.Double))
    op.add_column("episodes", sa.Column("manner", sa.JSON))
    op.add_column("episodes", sa.Column("flag", sa.String(40)))
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, primary_key=True),
        _of_study(),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", _MOMENT, nullable=False),
        sa.Column("expires", _MOMENT, nullable=False),
    )
    op.create_table(
        "exports",
        sa.Column("id", sa.Integer, primary_key=True),
        _of_study(),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.Column("created", _MOMENT, nullable=False),
    )
