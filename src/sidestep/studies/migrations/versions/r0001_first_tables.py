"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_MOMENT = sa.DateTime(timezone=True)


def _belongs_to(table: str, column: str) -> sa.Column[int]:
    return sa.Column(column, sa.Integer, sa.ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(60), nullable=False, unique=True),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("questionnaire", sa.JSON, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("created", _MOMENT, nullable=False),
        sa.Column("closed", _MOMENT),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, primary_key=True),
        _belongs_to("studies", "study_id"),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("token", sa.String(64), nullable=False, unique=True),
        sa.Column("created", _MOMENT, nullable=False),
        sa.Column("expires", _MOMENT, nullable=False),
        sa.Column("consented", _MOMENT),
        sa.Column("details", sa.JSON),
        sa.Column("deleted", _MOMENT),
        sa.UniqueConstraint("study_id", "number"),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.Integer, primary_key=True),
        _belongs_to("participants", "participant_id"),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("set", sa.Integer, nullable=False),
        sa.Column("run", sa.Integer, nullable=False),
        sa.Column("policy", sa.String(60), nullable=False),
        sa.Column("scenario", sa.String(120), nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("experienced", _MOMENT),
        sa.Column("done", _MOMENT),
        sa.Column("comment", sa.Text),
        sa.UniqueConstraint("participant_id", "position"),
    )
    op.create_table(
        "answers",
        sa.Column("id", sa.Integer, primary_key=True),
        _belongs_to("trials", "trial_id"),
        sa.Column("item", sa.String(80), nullable=False),
        sa.Column("rating", sa.Integer, nullable=False),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("given", _MOMENT, nullable=False),
    )
    op.create_index("answers_of_trial", "answers", ["trial_id"])
    op.create_table(
        "episodes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("trial_id", sa.Integer, sa.ForeignKey("trials.id", ondelete="CASCADE"), nullable=False, unique=True),
        sa.Column("outcome", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.Column("finished", _MOMENT, nullable=False),
    )
