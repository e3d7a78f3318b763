"""Recordings that the project knows: which file, its SHA-256, its clock, its licence and where it is to be had.

Nothing recorded is stored here, only facts about the files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sidestep import reading

BIWI_CITATION = "Pellegrini, Ess, Schindler, van Gool: You'll Never Walk Alone, ICCV 2009"
UCY_CITATION = "Lerner, Chrysanthou, Lischinski: Crowds by Example, Computer Graphics Forum 26(3), 2007"
SOCNAV_CITATION = "Biswas, Wang, Silvera, Steinfeld, Admoni: SocNavBench, ACM THRI 2022"
BIWI_LICENCE = "no licence stated; cite Pellegrini et al. 2009"
UCY_LICENCE = "free for use with credit to the authors (Lerner et al. 2007)"
OPENTRAJ = "https://raw.githubusercontent.com/crowdbotp/OpenTraj/master/datasets"
ZARA_SCALE = (
    "positions are about 17 % too large along the street (mean speed 1.40 and 1.36 m/s against 1.20 and 1.18): rows "
    "and columns of the image were exchanged before the homography; ucy-zara01 and ucy-zara02 have the right scale"
)
MOST_BYTES = 200_000_000
NO_ADDRESS = "no public address is known to the project"


@dataclass(frozen=True)
class Dataset:
    """One recording: one file, and what goes with it."""

    name: str
    summary: str
    file: str
    """Path below a folder of ``SIDESTEP_DATA``."""
    sha256: str
    format: str
    fps: float
    """How many of the file's frame numbers pass in a second."""
    people: int
    licence: str
    citation: str
    companions: tuple[tuple[str, str], ...] = ()
    """Files beside it that belong to it: name and SHA-256."""
    address: str = ""
    """Where the file can be fetched; companions lie beside it. Empty: see :data:`NO_ADDRESS`."""
    notes: tuple[str, ...] = ()
    """What one should know before using it."""
    warnings: tuple[str, ...] = ()
    """What is wrong with the file itself."""

    @property
    def source(self) -> str:
        """Name and citation, as tracks carry them."""
        return f"{self.name}: {self.citation}"


def _socnavbench(
    site: str,
    people: int,
    sha256: str,
    fps: float,
    licence: str,
    origin: str,
    *,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Dataset:
    return Dataset(
        name=f"socnavbench-{site}",
        summary=f"SocNavBench's replay file of {site}, at every video frame",
        file=f"socnavbench_peds/{site}_world_coordinate_inter.csv",
        sha256=sha256,
        format="socnavbench",
        fps=fps,
        people=people,
        licence=licence,
        citation=f"{SOCNAV_CITATION}; recorded by {origin}",
        notes=notes,
        warnings=warnings,
    )


def _obsmat(
    name: str,
    summary: str,
    folder: str,
    sha256: str,
    fps: float,
    people: int,
    groups: str,
    *,
    ucy: bool,
    notes: tuple[str, ...] = (),
) -> Dataset:
    at = folder.replace("eth_biwi/", "ETH/").replace("ucy/", "UCY/")
    return Dataset(
        name=name,
        summary=summary,
        file=f"{folder}/obsmat.txt",
        sha256=sha256,
        format="biwi",
        fps=fps,
        people=people,
        licence=UCY_LICENCE if ucy else BIWI_LICENCE,
        citation=UCY_CITATION if ucy else BIWI_CITATION,
        companions=(("groups.txt", groups),),
        address=f"{OPENTRAJ}/{at}/obsmat.txt",
        notes=notes,
    )


def _splines(site: str, people: int, sha256: str, homography: str, groups: str) -> Dataset:
    return Dataset(
        name=f"ucy-{site}",
        summary=f"UCY {site}: the original pixel splines, on the ground by H.txt",
        file=f"ucy/{site}/annotation.vsp",
        sha256=sha256,
        format="ucy_vsp",
        fps=25.0,
        people=people,
        licence=UCY_LICENCE,
        citation=UCY_CITATION,
        companions=(("H.txt", homography), ("groups.txt", groups)),
        address=f"{OPENTRAJ}/UCY/{site}/annotation.vsp",
    )


_ZARA_H = "2172a470ff902891063c6fb914cc86257d61fbe44711359bf33361263581b8be"
_STUDENTS_H = "4efaab962b9acd3d318d9370e8e34eb7703e544edd1d720686f45bd85676012e"
_GROUPS = {
    "eth": "adc0347d1c6d969cd41b429cabca1bf462c0b240357d155ec3a5140a2d674893",
    "hotel": "96adeafaf0a4e4e86ed446f5865b990d67554059d5c47a4add4bbaa83cbd801a",
    "zara01": "13e43c938e01cd8c3dca4e3144aa0acaf6adfe75c4374bc41bbfbfbc199b3a89",
    "zara02": "8ae568fe9e62bf5be886bce898abda4ce82dd52bf4b09d4d89a4d6b105f1b1f5",
    "students03": "93f1c1d59e089de38ca9d3a81d1592f8add87fac92130abdedcc3a8267177e02",
}
_ETH_CLOCK = ("annotations are 6 frames apart at 15 frames/s; read at 25 frames/s everybody walks 1.67 times too fast",)
_SHIPPED = ("SocNavBench's shipped configuration replays it at 15 frames/s, 0.6 times the recorded speed",)
_ONE_PERSON_LESS = ("389 of the 390 people: one who was annotated only once is left out",)
_OTHER_FRAME = "the origin differs from that of the splines by (−1.298, −15.653) m"
_OTHER_VIEW = "428 of the 434 people, and another homography than H.txt: not in the frame of ucy-students03"

_DATASETS = (
    _socnavbench(
        "eth", 360, "ad47436d67078e5ab3e7b80ccd27add511287fdc5362c7a12db06b3eed697262", 15.0, BIWI_LICENCE,
        "Pellegrini et al. 2009",
        notes=("recorded at 15 frames/s; before September 2021 SocNavBench replayed it at 25, 1.67 times too fast",),
    ),
    _socnavbench(
        "hotel", 389, "fa6bf60f179c90ed103d4f514413306db912558fd9982f76a7cf6a7caab87af6", 25.0, BIWI_LICENCE,
        "Pellegrini et al. 2009", notes=_SHIPPED + _ONE_PERSON_LESS,
    ),
    _socnavbench(
        "univ", 434, "e5a92962714302e8699d0836b28456299db28f73a1d54e1d85b75b5944f58427", 25.0, UCY_LICENCE,
        "Lerner et al. 2007", notes=_SHIPPED,
    ),
    _socnavbench(
        "zara01", 148, "060153b2e4ddd203c35ef4a798ad4436a68916701f5b40fe696017eed37bb9a2", 25.0, UCY_LICENCE,
        "Lerner et al. 2007", warnings=(ZARA_SCALE,),
    ),
    _socnavbench(
        "zara02", 204, "d93c52ea217faed540646c5df4a916feb8ef03e46d2be9ba3b3db882afb70732", 25.0, UCY_LICENCE,
        "Lerner et al. 2007", warnings=(ZARA_SCALE,),
    ),
    _obsmat(
        "eth-biwi", "BIWI Walking Pedestrians, ETH main building", "eth_biwi/seq_eth",
        "d452ae2185ecb1164c2fdf31e75f6236f4c2ffc02c751a6b2ae921740cbc60d1", 15.0, 360, _GROUPS["eth"],
        ucy=False, notes=_ETH_CLOCK,
    ),
    _obsmat(
        "hotel-biwi", "BIWI Walking Pedestrians, in front of a hotel", "eth_biwi/seq_hotel",
        "2b8577595204a6b780b80258fd50da35adb7293e3e06ad6f8e1b60965e7dde6e", 25.0, 390, _GROUPS["hotel"], ucy=False,
    ),
    _splines(
        "zara01", 148, "20ddd7a32b249315cdb9420dee07ed61ff2068f7032406dbf9fdf5725c2dc739", _ZARA_H, _GROUPS["zara01"]
    ),
    _splines(
        "zara02", 204, "e8498fa91f3d83785ff3a767800b868a6abde82a49711a6a35c516890f281861", _ZARA_H, _GROUPS["zara02"]
    ),
    _splines(
        "students03", 434, "4bdb5ce1bbeccc66c74aa35e2fbd0e1ecc0bdc650d7f5382e704cc07cbb47838", _STUDENTS_H,
        _GROUPS["students03"],
    ),
    _obsmat(
        "ucy-zara01-biwi", "UCY zara01 as obsmat, 2.5 annotations/s", "ucy/zara01",
        "bd999ebcfbc506821fa5032a10b9101e150defcff85f1ef037d09ce7c6a8c2aa", 25.0, 148, _GROUPS["zara01"], ucy=True,
    ),
    _obsmat(
        "ucy-zara02-biwi", "UCY zara02 as obsmat, 2.5 annotations/s", "ucy/zara02",
        "0b29bdacd54b971299b741f291d9b0eac0ce9aeec9901e75576c529a39523e9b", 25.0, 204, _GROUPS["zara02"], ucy=True,
        notes=(_OTHER_FRAME,),
    ),
    _obsmat(
        "ucy-students03-biwi", "UCY students03 as obsmat, 2.5 annotations/s", "ucy/students03",
        "d9fd7048eab7d3d9550d7ac4f59b19d97a87612310e8c8e48cf3aaf59764ff80", 25.0, 428, _GROUPS["students03"], ucy=True,
        notes=(_OTHER_VIEW,),
    ),
    Dataset(
        name="ucy-students03-plain",
        summary="UCY students03 as frame id x y, 2.5 annotations/s",
        file="ucy/students03/students003.txt",
        sha256="e25798b660634330aa89f8bb259425de720e84d0873902726c1d1f4ccff21d6c",
        format="plain",
        fps=25.0,
        people=434,
        licence=UCY_LICENCE,
        citation=UCY_CITATION,
    ),
)  # fmt: skip

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _DATASETS}


@cache
def by_sha256() -> dict[str, Dataset]:
    """SHA-256 of a file → the recording it is."""
    return {dataset.sha256: dataset for dataset in _DATASETS}


def read_bytes(path: Path) -> bytes:
    """The whole file, or an error that says why not."""
    return reading.read_bytes(path, "file with recorded tracks", MOST_BYTES)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def known_file(path: Path) -> Dataset | None:
    """The recording that this file is, byte for byte."""
    return by_sha256().get(sha256_of(path))
