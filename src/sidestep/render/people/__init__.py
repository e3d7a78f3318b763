"""People: bodies made by code, clothes and sizes by a hash, poses by a kernel from speed and metres walked.

* ``body``: models, one per outfit, three levels of detail; ``skeleton``: their bones and their gestures
* ``wardrobe``: who wears what, :func:`dress_people`
* ``animation``: the gait and the gestures over a record, :func:`track_gait`, or live, :class:`PeopleAnimator`
* ``pose``: all of this as bone matrices, :func:`pose_people`
"""
