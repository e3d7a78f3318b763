"""Messages of ROS 2 bags, one after the other: MCAP files and the sqlite3 files of rosbag2, without ROS.

MCAP holds the definitions of its messages, and so do sqlite3 bags since ROS 2 Iron; for others the definitions in
``ros_messages.yaml`` serve. The CDR decoder is that of ``mcap_ros2`` (extra ``export``). Only the topics that are asked
for are decoded, and nothing of a bag is kept in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sidestep._util.reading import is_file, is_folder, read_mapping
from sidestep.errors import BadInput, MissingExtra
from sidestep.records.exports.mcap_file import fields as exported_fields
from sidestep.records.logs.mcap_chunks import check_chunks

DATA = Path(__file__).parent / "ros_messages.yaml"
MCAP_MAGIC = b"\x89MCAP0\r\n"
SQLITE_MAGIC = b"SQLite format 3\0"
LARGEST_MESSAGE = 1 << 28
"""Bytes; an occupancy grid of 16,000 × 16,000 cells."""
TYPE_SEPARATOR = "/msg/"


class Logged(NamedTuple):
    """One message of a bag."""

    topic: str
    kind: str
    """Type of the message, such as ``nav_msgs/Odometry``."""
    log_time_s: float
    message: Any


class Bag(Protocol):
    """A file of messages."""

    topics: dict[str, str]
    """Topic → kind of its messages."""

    def messages(self, topics: Collection[str]) -> Iterator[Logged]:
        """The messages of some topics."""


@cache
def definitions() -> dict[str, str]:
    """Message → its fields, one on each line: those that the exporter writes and those of this package."""
    return exported_fields() | {name: str(text).rstrip() for name, text in read_mapping(DATA).items()}


def definition(kind: str) -> str | None:
    """The fields of a message and of every message within it, in the ``ros2msg`` encoding; None: not known here."""
    known = definitions()
    if kind not in known:
        return None
    wanted = [kind]
    for each in wanted:
        types = (line.split()[0].partition("[")[0] for line in known[each].splitlines())
        wanted += [name for name in types if name in known and name not in wanted]
    parts = [known[kind], *(f"MSG: {each}\n{known[each]}" for each in wanted[1:])]
    return f"\n{'=' * 80}\n".join(parts) + "\n"


def short_kind(name: str) -> str:
    """``nav_msgs/msg/Odometry`` → ``nav_msgs/Odometry``."""
    return name.replace(TYPE_SEPARATOR, "/")


def bag_files(path: Path) -> list[Path]:
    """The MCAP or sqlite3 files of a bag: the file itself, or those of a folder, by ``metadata.yaml`` where it lists
    them, else by name."""
    if is_file(path):
        return [path]
    if not is_folder(path):
        return []
    found = sorted(each for each in path.iterdir() if each.suffix in (".mcap", ".db3"))
    listed = path / "metadata.yaml"
    if is_file(listed):
        about = read_mapping(listed, "description of a bag").get("rosbag2_bagfile_information")
        names = about.get("relative_file_paths") if isinstance(about, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            ordered = [path / Path(name).name for name in names]
            missing = next((each for each in ordered if not is_file(each)), None)
            if missing is not None:
                raise BadInput(
                    f"{path}: metadata.yaml lists {missing.name!r:.200}, and it is not there; copy the whole folder"
                )
            return ordered
    return found


def open_bag(path: Path) -> Bag:
    """The bag in a file, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(MCAP_MAGIC):
        return McapBag(path)
    if head.startswith(SQLITE_MAGIC):
        return SqliteBag(path)
    raise BadInput(f"{path}: neither an MCAP file nor a sqlite3 bag; is it compressed as a whole? unpack it first")


def _decoders() -> Any:
    try:
        from mcap_ros2.decoder import DecoderFactory
    except ImportError:
        raise MissingExtra("reading ROS 2 bags", "export") from None
    return DecoderFactory()


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the parser of definitions from printing what it cannot parse: it may be anything."""
    with redirect_stdout(None), redirect_stderr(None):
        yield


def damaged(path: Path, error: BaseException) -> BadInput:
    """What to say of a bag whose parser failed."""
    text = (str(error) or type(error).__name__).splitlines()[0][:160]
    return BadInput(f"{path}: truncated or damaged ({text}); copy it again, or repair it (`mcap recover`)")


class McapBag:
    """An MCAP file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._factory = _decoders()
        check_chunks(path, LARGEST_MESSAGE)
        try:
            with path.open("rb") as file:
                summary = self._reader(file).get_summary()
            if summary is None or not summary.channels:
                summary = None
            self.topics = self._scan() if summary is None else self._listed(summary)
        except BadInput:
            raise
        except Exception as error:  # whatever its parsers make of damaged contents
            raise damaged(path, error) from error

    def _reader(self, file: Any) -> Any:
        from mcap.reader import SeekingReader

        return SeekingReader(file, decoder_factories=[self._factory], record_size_limit=LARGEST_MESSAGE)

    def _listed(self, summary: Any) -> dict[str, str]:
        return {
            channel.topic: short_kind(summary.schemas[channel.schema_id].name)
            for channel in summary.channels.values()
            if channel.schema_id in summary.schemas
        }

    def _scan(self) -> dict[str, str]:
        """Topics and types of a file without a summary."""
        with self._path.open("rb") as file:
            found = {}
            for schema, channel, _ in self._reader(file).iter_messages(log_time_order=False):
                found[channel.topic] = short_kind(schema.name) if schema is not None else ""
            return found

    def messages(self, topics: Collection[str]) -> Iterator[Logged]:
        """The messages of some topics, in the order of the file."""
        with self._path.open("rb") as file:
            found = self._reader(file).iter_decoded_messages(topics=list(topics), log_time_order=False)
            while True:
                try:
                    with _silent():
                        schema, channel, message, decoded = next(found)
                except StopIteration:
                    return
                except Exception as error:
                    raise damaged(self._path, error) from error
                yield Logged(channel.topic, short_kind(schema.name), message.log_time / 1e9, decoded)


class SqliteBag:
    """A sqlite3 file of rosbag2."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._factory = _decoders()
        try:
            with closing(self._connect()) as connection:
                rows = connection.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
                self._texts = self._stored_definitions(connection)
        except sqlite3.Error as error:
            raise damaged(path, error) from error
        other = next((form for _, _, _, form in rows if form != "cdr"), None)
        if other is not None:
            raise BadInput(f"{path}: messages are serialised as {other!r:.40}, not as cdr; convert the bag to MCAP")
        self._numbers = {str(name): int(number) for number, name, _, _ in rows}
        self.topics = {str(name): short_kind(str(kind)) for _, name, kind, _ in rows}

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)

    def _stored_definitions(self, connection: sqlite3.Connection) -> dict[str, str]:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "message_definitions" not in tables:
            return {}
        rows = connection.execute("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
        return {short_kind(kind): text for kind, encoding, text in rows if encoding == "ros2msg" and text}

    def messages(self, topics: Collection[str]) -> Iterator[Logged]:
        """The messages of some topics, in the order of their log times."""
        names = {self._numbers[topic]: topic for topic in topics}
        decode = {number: self._decoder(number, self.topics[topic]) for number, topic in names.items()}
        marks = ",".join("?" * len(names))
        query = f"SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({marks}) ORDER BY timestamp, id"
        try:
            with closing(self._connect()) as connection:
                for number, stamp, data in connection.execute(query, list(names)):
                    topic = names[number]
                    yield Logged(topic, self.topics[topic], stamp / 1e9, self._decoded(decode[number], data, topic))
        except sqlite3.Error as error:
            raise damaged(self._path, error) from error

    def _decoder(self, number: int, kind: str) -> Any:
        from mcap.records import Schema

        text = self._texts.get(kind) or definition(kind)
        if text is None:
            raise BadInput(
                f"{self._path}: the bag does not hold the definition of {kind}, and it is not known here; convert the "
                "bag to MCAP where the message is installed (`ros2 bag convert`)"
            )
        schema = Schema(number, text.encode(), "ros2msg", kind.replace("/", TYPE_SEPARATOR))
        try:
            with _silent():
                return self._factory.decoder_for("cdr", schema)
        except Exception as error:
            raise damaged(self._path, error) from error

    def _decoded(self, decoder: Any, data: bytes, topic: str) -> Any:
        try:
            return decoder(data)
        except Exception as error:
            raise BadInput(
                f"{self._path}: a message of {topic} does not fit the definition of {self.topics[topic]} "
                f"({type(error).__name__}); it is damaged or of another ROS version: convert the bag to MCAP"
            ) from error
