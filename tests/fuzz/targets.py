"""The table of readers: for each a name, valid inputs, how they are damaged, and the call that reads the bytes.

A case passes if the call returns or raises one of the declared errors, soon and in bounded memory. Anything else is a
defect of the reader.
"""

from __future__ import annotations

from functools import partial

from sidestep.errors import SidestepError
from sidestep.runs.remote.wire import WireError
from tests.datasets.conftest import FILES
from tests.fuzz import archives, binary, log_readers, readers, result_readers, seeds
from tests.fuzz.damage import damage
from tests.fuzz.target import Target, from_bytes, from_file, from_text
from tests.fuzz.trees import cell_damage, lines_damage, tree_damage, write_json, write_msgpack, write_yaml, xml_damage

JSON, YAML, MSGPACK = tree_damage(write_json), tree_damage(write_yaml), tree_damage(write_msgpack)
PROTOCOL = (SidestepError, WireError)
"""Errors of a message: the other side is told, and the connection closed."""


TARGETS: dict[str, Target] = {
    "suite": Target(from_file(seeds.SCENARIO, "suite.yaml", readers.suite_file), YAML),
    "worlds": Target(from_file(seeds.SCENARIO, "suite.yaml", readers.worlds), YAML),
    "scene": Target(from_file(seeds.SCENE, "hall.yaml", readers.scene), YAML),
    "street": Target(from_file(seeds.STREET, "street.yaml", readers.scene), YAML),
    "intersection": Target(from_file(readers.intersection, "crossing.yaml", readers.scene), YAML),
    "geojson": Target(from_file(seeds.GEOJSON, "yard.geojson", readers.scene), JSON),
    "ros_map": Target(from_file(seeds.MAP, "map.yaml", readers.scene, map__pgm=seeds.PGM), YAML),
    "pgm": Target(from_file((seeds.PGM, seeds.PLAIN_PGM), "map.pgm", readers.image, map__yaml=seeds.MAP)),
    "osm": Target(from_file(seeds.OSM, "part.osm", readers.scene), xml_damage),
    "opendrive": Target(from_file(readers.crossroads, "some.xodr", readers.scene), xml_damage),
    "glb": Target(from_file(seeds.glb, "mesh.glb", readers.triangles), binary.glb_damage(JSON)),
    "scene_name": Target(
        from_text((b"street:zebra-65", b"intersection:intersectnav_1", b"hall", b"hall.yaml"), readers.scene_name)
    ),
    "robot": Target(from_file(seeds.ROBOT, "cart.yaml", readers.robot), YAML),
    "urdf": Target(
        from_file((seeds.URDF, seeds.MESH_URDF), "cart.urdf", readers.robot, part__stl=seeds.STL), xml_damage
    ),
    "stl": Target(from_file((seeds.STL, seeds.BINARY_STL), "part.stl", readers.mesh)),
    "obj": Target(from_file(seeds.OBJ, "part.obj", readers.mesh)),
    **{f"tracks_{name}": Target(partial(readers.recording, name), cell_damage) for name in FILES},
    "tracks_trajnet": Target(partial(readers.recording, "trajnet"), lines_damage),
    "tracks_sidestep": Target(from_file(seeds.tracks, "t.parquet", lambda path: readers.tracks(path, "sidestep"))),
    "dataset": Target(readers.installed_dataset, JSON),
    "record": Target(from_file(seeds.record, "e.parquet", readers.record)),
    "record_sealed": Target(from_file(seeds.record, "e.parquet", readers.record), binary.record_damage(JSON)),
    "run": Target(from_file(seeds.run_file, "run.json", readers.run), JSON),
    "interactions": Target(from_file(seeds.interactions, "i.h5", readers.interactions)),
    "interactions_fields": Target(
        from_file(seeds.interactions, "i.h5", readers.interactions), binary.hdf5_damage(sealed=True)
    ),
    "interactions_foreign": Target(
        from_file(result_readers.foreign_interactions, "i.h5", readers.interactions), binary.header_damage
    ),
    "vci_dut": Target(partial(readers.recorded_interactions, "a_traj_veh_filtered.csv"), cell_damage),
    "ind_tracks": Target(partial(readers.recorded_interactions, "07_tracks.csv"), cell_damage),
    "ind_meta": Target(partial(readers.recorded_interactions, "07_tracksMeta.csv"), cell_damage),
    "demonstrations": Target(from_file(seeds.demonstrations, "d.h5", readers.demonstrations), binary.header_damage),
    "demonstrations_fields": Target(
        from_file(seeds.demonstrations, "d.h5", readers.demonstrations), binary.hdf5_damage(sealed=False)
    ),
    "lerobot_info": Target(readers.lerobot_info, JSON),
    "lerobot_episodes": Target(
        from_file(binary.lerobot_episodes, "meta/episodes/chunk-000/file-000.parquet", readers.lerobot_episodes)
    ),
    "setting": Target(from_text(seeds.SETTING, readers.setting)),
    "visual_spec": Target(from_file(seeds.VISUAL, "model.yaml", readers.visual_spec), YAML),
    "cadrl_weights": Target(
        from_file(lambda folder: seeds.cadrl_weights(), "w.npz", readers.weights), binary.zip_damage(damage)
    ),
    "predictor": Target(from_file(seeds.network, "n.onnx", readers.predictor), binary.onnx_damage(JSON)),
    "other_networks": Target(from_file(seeds.network, "n.onnx", readers.other_networks)),
    "saved_model": Target(from_file(binary.saved_model, "m.zip", readers.saved_model), binary.zip_damage(JSON)),
    "message": Target(from_bytes((seeds.ACT, seeds.PLANS), readers.unchecked_message), MSGPACK, PROTOCOL),
    "command": Target(from_bytes((seeds.ACT, seeds.VELOCITY), readers.command), MSGPACK, PROTOCOL),
    "introduction": Target(from_bytes(seeds.HELLO, readers.introduction), MSGPACK, PROTOCOL),
    "plans": Target(from_bytes(seeds.PLANS, readers.plans), MSGPACK, PROTOCOL),
    "address": Target(
        from_text((b"127.0.0.1:5577", b"unix:socket", b"[::1]:80"), readers.address), errors=(ValueError,)
    ),
    "joystick": Target(from_text(seeds.JOYSTICK, readers.joystick), JSON),
    "drive_page": Target(from_text(seeds.DRIVE_PAGE, readers.drive_page), JSON),
    "walk_page": Target(from_text(seeds.WALK_PAGE, readers.walk_page), JSON),
    "answer": Target(from_bytes(seeds.ANSWER, readers.answer), JSON),
    "form": Target(from_bytes(seeds.FORM, readers.form)),
    "study": Target(from_text(seeds.STUDY, readers.study), YAML),
    "questionnaire": Target(from_file(seeds.QUESTIONNAIRE, "tiny.yaml", readers.questionnaire), YAML),
    "translation": Target(
        from_file(seeds.TRANSLATION, "tiny.de.yaml", readers.questionnaire, tiny__yaml=seeds.QUESTIONNAIRE), YAML
    ),
    "ratings_csv": Target(from_file((seeds.RATINGS_CSV, seeds.RATINGS_WIDE), "r.csv", readers.ratings), cell_damage),
    "ratings_json": Target(from_file(partial(seeds.ratings, suffix=".json"), "r.json", readers.ratings), JSON),
    "ratings_parquet": Target(from_file(partial(seeds.ratings, suffix=".parquet"), "r.parquet", readers.ratings)),
    "raters": Target(from_file(readers.rater_mapping, "raters.yaml", readers.raters), YAML),
    "forecasts": Target(from_file(result_readers.forecast_file, "f.h5", result_readers.forecast), binary.header_damage),
    "forecasts_fields": Target(
        from_file(result_readers.forecast_file, "f.h5", result_readers.forecast), binary.hdf5_damage(sealed=False)
    ),
    "results": Target(from_file(result_readers.results_file, "results.parquet", result_readers.results)),
    "results_columns": Target(
        from_file(result_readers.results_file, "results.parquet", result_readers.results), archives.table_damage
    ),
    "list_of_keys": Target(from_file(result_readers.LIST_OF_KEYS, "keys", result_readers.list_of_keys), lines_damage),
    "ledger": Target(from_file(result_readers.ledger_file, "ledger.jsonl", result_readers.ledger), lines_damage),
    "owner": Target(from_file(result_readers.OWNER, "running.json", result_readers.owner), JSON),
    "pack": Target(from_file(result_readers.pack_file, "p.pack", result_readers.pack), archives.pack_damage(JSON)),
    "signature": Target(result_readers.signature_seed, JSON),
    "private_key": Target(partial(result_readers.keys, private=True)),
    "public_key": Target(partial(result_readers.keys, private=False)),
    "commitment": Target(from_file(result_readers.COMMITMENT, "c.json", result_readers.commitment), JSON),
    "secret": Target(from_file(result_readers.SECRET, "secret", result_readers.secret)),
    "protocol": Target(
        from_file(result_readers.PROTOCOL, "lab.yaml", result_readers.protocol, asked__yaml=seeds.QUESTIONNAIRE), YAML
    ),
    "protocol_file": Target(
        from_file(result_readers.PROTOCOL, "lab.yaml", result_readers.protocol_file, asked__yaml=seeds.QUESTIONNAIRE),
        YAML,
    ),
    "driving_place": Target(from_file(readers.intersection, "crossing.yaml", result_readers.driving_place), YAML),
    "csv_log": Target(
        from_file(log_readers.CSV_LOG, "a.csv", partial(log_readers.log, format_name="csv")), cell_damage
    ),
    "column_map": Target(from_file(log_readers.COLUMN_MAP, "map.yaml", log_readers.column_map), YAML),
    "trajnet_log": Target(
        from_file(log_readers.trajnet_log, "a.ndjson", partial(log_readers.log, format_name="trajnet")),
        lines_damage,
    ),
    "lerobot_log_info": Target(partial(log_readers.lerobot_log, name="meta/info.json"), JSON),
    "lerobot_log_frames": Target(
        partial(log_readers.lerobot_log, name="data/chunk-000/file-000.parquet"), archives.table_damage
    ),
    "mcap": Target(from_file(log_readers.mcap, "a.mcap", partial(log_readers.log, format_name="rosbag"))),
    "db3": Target(partial(log_readers.db3_bag, name="bag_0.db3")),
    "bag_metadata": Target(partial(log_readers.db3_bag, name="metadata.yaml"), YAML),
    "model_notes": Target(from_file(result_readers.NOTES, "m.json", result_readers.notes), JSON),
    "breakpoint": Target(from_file(b"3 0 1 2 17", "b.txt", result_readers.breakpoint_file)),
    "begin": Target(from_file(b"0 1 2 3\n", "begin.txt", result_readers.begin)),
    "password": Target(from_file(b"correct horse battery staple\n", "p.txt", result_readers.password)),
    "groups": Target(from_file(b"3\n1 2 3\n4 5\n5 6\n", "groups.txt", result_readers.groups)),
    "homography": Target(from_file(b"0.02 0 -8\n0 0.02 6.5\n0 1e-4 1\n", "H.txt", result_readers.homography)),
    "detected": Target(
        from_file((b"1 2 3.5 4\n", b"time;who\n1,2;x\n"), "a.txt", result_readers.detected), cell_damage
    ),
    "detected_log": Target(
        from_file((log_readers.CSV_LOG, b"1 2 3.5 4\n"), "a.csv", log_readers.detected_log), cell_damage
    ),
    "mcap_without_summary": Target(
        from_file(partial(log_readers.mcap, summary=False), "a.mcap", partial(log_readers.log, format_name="rosbag"))
    ),
    "record_1": Target(from_file(result_readers.OLD_RECORD, "e.parquet", readers.record), binary.record_damage(JSON)),
    "visual_network": Target(from_file(seeds.network, "n.onnx", result_readers.visual_network)),
    "scanned_mesh": Target(from_file((seeds.OBJ, seeds.STL, result_readers.PLY), "m.obj", result_readers.scanned_mesh)),
    "study_file": Target(from_file(seeds.STUDY, "study.yaml", result_readers.study_file), YAML),
    "film": Target(from_file(partial(log_readers.films, width=64, height=64), "f.mp4", log_readers.film)),
    "film_gif": Target(from_file(log_readers.gif, "f.gif", log_readers.film_text)),
    "demonstration_film": Target(
        from_file(partial(log_readers.films, width=200, height=88), "f.mp4", log_readers.demonstration_film)
    ),
}
