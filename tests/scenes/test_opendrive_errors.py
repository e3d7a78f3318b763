"""What a person reads when an OpenDRIVE file cannot be used: the file, the road and the remedy."""

from __future__ import annotations

import pytest

from sidestep.errors import BadInput

from .roads_xml import CROSSROADS, LINE, file, lane, road, scene_of, section

ROAD = road(section(lane(1), lane(-1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<OpenDRIVE>", r"some\.xodr: line 1, column \d+: not valid XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><OpenDRIVE/>', "document type or entities"),
        ("<osm/>", "outermost element is <osm>, not <OpenDRIVE>"),
        ("<OpenDRIVE/>", "has no <header>"),
        (file(ROAD).replace('revMajor="1"', 'revMajor="2"'), r"header: OpenDRIVE 2 is not read; export version 1\.4"),
        (file(), "has no <road>"),
        (file(ROAD, ROAD), "road '1': two roads have this id"),
        (file(road(section(), about='rule="LHT"')), r"road '1': rule is 'LHT': only right-hand traffic"),
        (file(ROAD).replace('length="20" >', 'length="2o" >'), r"road '1': length is '2o', which is not a number"),
        (file(ROAD).replace('length="20" >', 'length="nan" >'), r"road '1': length is nan; it must be within"),
        (file(ROAD).replace('x="0"', 'x="1e9"'), r"road '1': planView: geometry '0': x is 1e\+09; it must be within"),
        (file(ROAD).replace('hdg="0" ', ""), r"road '1': planView: geometry '0': has no hdg; add the attribute"),
        (file(ROAD).replace("<line/>", ""), "geometry '0': has none of line, arc, spiral"),
        (file(ROAD).replace("<line/>", '<arc curvature="5"/>'), r"geometry '0': turns by more than 12\.6 rad"),
        (
            file(ROAD).replace("<line/>", '<paramPoly3 bU="1" pRange="arclength"/>'),
            r"paramPoly3: pRange is 'arclength'; did you mean 'arcLength'",
        ),
        (file(ROAD).replace("<line/>", '<paramPoly3 cU="1"/>'), "road '1': planView: .*has no direction"),
        (
            file(road(section(), LINE.replace('length="20"', 'length="5"'))),
            r"road '1': planView: goes from s = 0 to 5, the road from 0 to 20",
        ),
        (
            file(road(section(), LINE + LINE.replace('s="0" x="0"', 's="20" x="23"'), length=40)),
            r"road '1': planView: the geometry at s = 0 is 20 m long and ends 3\.00 m from the next.*close the gap",
        ),
        (file(road("")), r"road '1': lanes: has no laneSection at s = 0"),
        (file(road(section() + section(s=20))), r"laneSection '20': ends at s = 20, less than 1 mm after"),
        (file(road(section(right=lane(-2)))), r"laneSection '0': has no lane -1, but lanes beyond it"),
        (file(road(section(right=lane(1)))), r"lane '1': stands under <right>"),
        (file(road(section(right=lane(-1) + lane(-1)))), r"lane '-1': .*is there twice"),
        (file(road(section(right='<lane id="-1"/>'))), r"lane '-1': has no <width>; add one"),
        (
            file(road(section(right='<lane id="-1"><border a="3"/></lane>'))),
            r"lane '-1': has no <width>; lanes given by <border> are not read; export widths",
        ),
        (
            file(road(section(right=lane(-1, width='sOffset="0" a="3"|sOffset="9" a="2"|sOffset="5" a="3"')))),
            r"lane '-1': width: the records are not in the order of s",
        ),
        (file(road(section(right=lane(-1, "drivin")))), r"road '1': lane -1: unknown type of lane 'drivin'.*'driving'"),
        (
            file(road(section(right=lane(-1, inside='<roadMark type="dotted"/>')))),
            r"road '1': lane -1: unknown type of roadMark 'dotted'",
        ),
        (
            file(road(section(right=lane(-1).replace('id="-1"', 'id="-1" direction="reversed"')))),
            "only standard is read",
        ),
        (file(ROAD).replace('x="0"', 'x="99990"'), r"road '1': reaches farther than 100 km from the origin"),
        (
            file(road(section(), inside='<objects><object id="7" type="crosswalk" s="3" t="0"/></objects>')),
            r"road '1': object '7': the crosswalk has no area; give it an outline",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, message):
    with pytest.raises(BadInput, match=message) as error:
        scene_of(text, tmp_path)
    assert str(error.value).startswith(str(tmp_path / "some.xodr"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'elementType="junction" elementId="100"/>',
            'elementType="junction" elementId="101"/>',
            r"road '1': link: unknown junction '101'; did you mean '100'",
        ),
        ('connectingRoad="12"', 'connectingRoad="120"', r"road '1': link to junction '100': unknown road '120'"),
        (
            '<laneLink from="1" to="-1"/>',
            '<laneLink from="1" to="-3"/>',
            "road '1': lane 1: goes on to lane -3 of road '12', which is not there",
        ),
        (
            'connectingRoad="12" contactPoint="start"',
            'connectingRoad="12" contactPoint="end"',
            "road '1': lane 1: goes on to lane -1 of road '12', which leads the other way; correct contactPoint",
        ),
        (
            '<successor elementType="road" elementId="2" contactPoint="start"/>',
            '<successor elementType="road" elementId="2" contactPoint="stop"/>',
            r"road '12': link/successor: contactPoint is 'stop'; known: end, start",
        ),
        (
            '<successor elementType="road" elementId="2" contactPoint="start"/>',
            '<successor elementType="road" elementId="1" contactPoint="start"/>',
            r"road '12': lane -1: 'road 1 lane -1' follows on it and begins \d+\.\d m from its end; check contactPoint",
        ),
        ('<junction name="" id="100">', '<junction name="" id="100" type="direct">', "type is 'direct': only default"),
        ('id="72" type="crosswalk"', 'id="71" type="crosswalk"', "two crossings have the name 'crossing 71'"),
        ('orientation="+"', 'orientation="up"', r"signal '53': orientation is 'up'"),
        ('fromLane="-1"', 'fromLane="0.5"', r"validity: fromLane is 0\.5; it must be a whole number"),
    ],
)
def test_junctions_that_cannot_be_used(tmp_path, old, new, message):
    text = CROSSROADS.read_text()
    assert old in text
    with pytest.raises(BadInput, match=message) as error:
        scene_of(text.replace(old, new, 1), tmp_path)
    assert str(error.value).startswith(str(tmp_path / "some.xodr"))


def test_too_much_to_read(tmp_path):
    long = LINE.replace('length="20"', 'length="20000"')
    roads = [road(section(lane(1), lane(-1)), long, 20_000, str(k)) for k in range(9)]
    with pytest.raises(BadInput, match=r"about 7\d\d,\d{3} points of lanes, at most 500,000 are read; cut out a part"):
        scene_of(file(*roads), tmp_path)
    with pytest.raises(BadInput, match="more than 32 MB"):
        scene_of(" " * 33_000_000, tmp_path)
