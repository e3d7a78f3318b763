"""People: bodies made by code, clothes and sizes by a hash, poses by a kernel from speed and metres walked.

* ``body`` – models, one per outfit, three levels of detail; ``skeleton`` – their bones
* ``wardrobe`` – who wears what: :func:`dress_people`
* ``gait`` – phase of the gait over a record or live: :func:`track_gait`, :class:`PeopleAnimator`
* ``gestures`` – names and angles; ``pose`` – everything above as bone matrices: :func:`pose_people`
"""

from sidestep.render.people.animation import GaitTrack, Gestures, PeopleAnimator, poses_for, track_gait
from sidestep.render.people.body import find_outfit, make_person_model, person_joints, person_models
from sidestep.render.people.pose import PackedBones, PeopleState, pose_people
from sidestep.render.people.skeleton import BONES, GESTURES, gesture_code
from sidestep.render.people.wardrobe import OUTFIT_NAMES, OUTFITS, SLOTS, Looks, Outfit, dress_people

__all__ = [
    "BONES",
    "GESTURES",
    "OUTFITS",
    "OUTFIT_NAMES",
    "SLOTS",
    "GaitTrack",
    "Gestures",
    "Looks",
    "Outfit",
    "PackedBones",
    "PeopleAnimator",
    "PeopleState",
    "dress_people",
    "find_outfit",
    "gesture_code",
    "make_person_model",
    "person_joints",
    "person_models",
    "pose_people",
    "poses_for",
    "track_gait",
]
