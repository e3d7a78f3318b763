"""Ratings of robots by people: questionnaires as data, the table of answers, and its statistics.

``questionnaire`` reads instruments from YAML files (``data/``), ``table`` holds one row per answer and reads and writes
CSV, Parquet and JSON, ``rating_file`` reads a file whose questionnaire is not known, ``published`` has printed averages
(``reference/``). ``summary`` makes averages, ``reliability`` and ``agreement`` measure how far ratings agree,
``comparison`` compares policies in pairs, ``mixed_model`` all of them at once, ``precision`` estimates the number of
runs that a study needs, ``metric_model`` relates ratings to metrics, ``simulated`` makes answers for rehearsals
(``raters/``). ``analysis`` runs all of it; ``figures`` and ``page`` show it. Nothing here simulates episodes or serves
pages.
"""

from sidestep.studies.ratings.analysis import analyse
from sidestep.studies.ratings.questionnaire import Questionnaire, load_questionnaire
from sidestep.studies.ratings.table import Ratings, make_ratings, read_ratings, write_ratings

__all__ = [
    "Questionnaire",
    "Ratings",
    "analyse",
    "load_questionnaire",
    "make_ratings",
    "read_ratings",
    "write_ratings",
]
