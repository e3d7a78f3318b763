"""A section of reports about the suite: one table."""

from sidestep.report.papers import ReportSection, SectionContent
from sidestep.report.summary import summarise_episodes


class ExampleSection(ReportSection):
    """Steps of every policy."""

    def make(self, episodes, colours, options):
        """One table."""
        summary = summarise_episodes([item.scores for item in episodes])
        table = summary.table([column for column in summary.columns if column.name == "example_steps"], colours)
        return SectionContent("example", "Example", "As in the example", "Steps.", (table,), table_prefix="example-")


SECTION = ExampleSection(suites=("example_empty",))
