"""One scene on the graphics card: what of it is drawn in a frame (the same culling and levels of detail as on the
processor, sorted for few calls), its vertices, buffers and textures, and how each part is drawn. What belongs to a
face (material, class, number, slot) is put on its vertices, so a vertex is doubled where faces that differ meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput
from sidestep.render.gl.context import UNITS, Features, Programs
from sidestep.render.light import make_noise
from sidestep.render.mesh import Scene3D
from sidestep.render.packing import check_material, soak_table
from sidestep.render.raster import layout as L
from sidestep.render.raster.frame import cull_casters, cull_chunks, cull_instances, view_planes
from sidestep.render.raster.layout import InstanceArrays, ModelArrays, StaticArrays
from sidestep.types.base import FloatArray, IntArray


class Call(NamedTuple):
    """Instances of one level of detail, drawn together."""

    first_face: int
    faces: int
    first: int  # row of the table
    copies: int


class Crowd(NamedTuple):
    """Instances in the order in which they are drawn."""

    order: IntArray
    calls: tuple[Call, ...]


class Planner:
    """Culls one scene. Working memory is kept from frame to frame."""

    def __init__(self, static: StaticArrays, models: ModelArrays) -> None:
        self._static, self._models = static, models
        self._planes = np.empty((6, 4))
        self._counts = np.zeros(L.COUNT_SIZE, np.int64)
        self._objects = np.empty((len(static.chunks) + 1, L.OBJECT_COLUMNS), np.int32)

    def aim(self, camera: FloatArray, width: int, height: int) -> None:
        """Look from ``camera`` (``pack_camera``)."""
        self._camera = camera
        view_planes(camera, width, height, self._planes)

    def chunks(self) -> IntArray:
        """Static chunks that may be seen, nearest first: what is behind them is then not shaded."""
        self._counts[:] = 0
        cull_chunks(self._planes, self._static, self._objects, self._counts)
        seen: IntArray = self._objects[: self._counts[L.OBJECTS], L.SOURCE]
        boxes, eye = self._static.boxes[seen], self._camera[L.EYE : L.EYE + 3]
        gap = np.maximum(np.maximum(boxes[:, :3] - eye, eye - boxes[:, 3:]), 0.0)
        picked: IntArray = seen[np.argsort((gap * gap).sum(axis=1), kind="stable")]
        return picked

    def instances(self, instances: InstanceArrays) -> Crowd:
        """Instances that may be seen."""
        self._make_room(len(instances.model))
        cull_instances(self._camera, self._planes, self._models, instances, self._objects, self._counts)
        return self._by_level()

    def casters(self, instances: InstanceArrays, shadow_planes: FloatArray) -> Crowd:
        """Instances whose shadow may fall on the map between ``shadow_planes``."""
        self._make_room(len(instances.model))
        cull_casters(shadow_planes, self._models, instances, self._objects, self._counts)
        return self._by_level()

    def _make_room(self, count: int) -> None:
        self._counts[:] = 0
        if len(self._objects) < count:
            self._objects = np.empty((2 * count, L.OBJECT_COLUMNS), np.int32)

    def _by_level(self) -> Crowd:
        found = self._objects[: self._counts[L.OBJECTS]]
        found = found[np.argsort(found[:, L.SOURCE], kind="stable")]
        levels, first, count = np.unique(found[:, L.SOURCE], return_index=True, return_counts=True)
        faces = self._models.levels[levels]
        calls = zip(
            faces[:, L.LEVEL_FACE].tolist(), (faces[:, L.LEVEL_FACE_END] - faces[:, L.LEVEL_FACE]).tolist(),
            first.tolist(), count.tolist(), strict=True,
        )  # fmt: skip
        return Crowd(found[:, L.INSTANCE].copy(), tuple(Call(*call) for call in calls))


STATIC_ROW = np.dtype(
    [("place", "3f4"), ("normal", "3f4"), ("uv", "2f4"), ("finish", "4f4"), ("colour", "3f4"), ("ids", "2i4")]
)
MODEL_ROW = np.dtype(
    [("place", "3f4"), ("normal", "3f4"), ("bones", "2i4"), ("weights", "2f4"), ("ids", "2i4"), ("coat", "2f4")]
)


@dataclass(frozen=True, eq=False)
class StaticGroup:
    """Faces that are drawn in one call: of textures of one size, one- or two-sided."""

    edge: int  # texels of their pictures; 1: plain
    two_sided: bool
    triangles: IntArray  # (F, 3) uint32, chunk by chunk
    starts: IntArray  # (chunks + 1,): where the faces of each chunk begin
    tops: FloatArray  # (F,): z of the highest corner, m


@dataclass(frozen=True, eq=False)
class StaticMesh:
    """Everything that stands still."""

    rows: NDArray[Any]  # STATIC_ROW
    groups: tuple[StaticGroup, ...]
    casters: IntArray  # (F, 3) uint32: faces that cast shadows
    layers: dict[int, list[int]]  # edge → materials, in the order of the layers of their texture array


def make_static(scene: Scene3D, static: StaticArrays, normals: FloatArray) -> StaticMesh:
    """From the mesh in chunks (``pack_static``)."""
    materials = scene.materials
    edges = np.array([len(one.texture) for one in materials] or [1])
    layers = {int(edge): np.flatnonzero(edges == edge).tolist() for edge in np.unique(edges) if edge > 1}
    faces = np.stack([static.material, static.semantic, static.identity], axis=1).astype(np.int64)
    picked, kind, triangles = _split(static.triangles, faces)
    rows = np.zeros(len(picked), STATIC_ROW)
    rows["place"], rows["normal"], rows["ids"] = static.vertices[picked], normals[picked], kind[:, 1:]
    rows["finish"][:, 2] = soak_table()[kind[:, 1]]
    for k, one in enumerate(materials):
        mine = kind[:, 0] == k
        rows["uv"][mine] = static.uv[picked[mine]] / one.size_m
        rows["finish"][mine, 0], rows["finish"][mine, 1] = one.gloss, one.glow
        if edges[k] > 1:
            rows["finish"][mine, 3] = layers[int(edges[k])].index(k)
        else:
            rows["colour"][mine] = one.texture[0, 0]
    chunk = np.repeat(np.arange(len(static.chunks)), np.diff(static.chunks[:, [L.CHUNK_FACE, L.CHUNK_FACE_END]])[:, 0])
    sided = np.array([one.two_sided for one in materials] or [False])
    tops = static.vertices[static.triangles, 2].max(axis=1, initial=-np.inf)
    groups = []
    for edge in np.unique(edges):
        for two_sided in (False, True):
            chosen = (edges[static.material] == edge) & (sided[static.material] == two_sided)
            if chosen.any():
                starts = np.searchsorted(chunk[chosen], np.arange(len(static.chunks) + 1))
                groups.append(StaticGroup(int(edge), two_sided, triangles[chosen], starts, tops[chosen]))
    return StaticMesh(rows, tuple(groups), triangles[static.chunks[chunk, L.CHUNK_CASTS] != 0], layers)


def make_models(models: ModelArrays) -> tuple[NDArray[Any], IntArray]:
    """Rows (MODEL_ROW) of all levels of all models, and their triangles in the order of ``models.triangles``."""
    finishes, finish_of = np.unique(models.finish, axis=0, return_inverse=True)
    faces = np.stack([models.semantic, models.slot, finish_of.reshape(-1)], axis=1).astype(np.int64)
    picked, kind, triangles = _split(models.triangles, faces)
    rows = np.zeros(len(picked), MODEL_ROW)
    rows["place"], rows["normal"], rows["ids"] = models.vertices[picked], models.normals[picked], kind[:, :2]
    rows["coat"] = finishes[kind[:, 2]]
    rows["bones"], rows["weights"] = models.bone_indices[picked], models.weights[picked]
    return rows, triangles


def _split(triangles: IntArray, faces: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices so that all faces of one agree in ``faces`` (F, K): the old vertex of each, its (V, K) values, and the
    triangles of new vertices (F, 3) uint32."""
    if not len(triangles):
        return np.zeros(0, np.int64), np.zeros((0, faces.shape[1]), np.int64), np.zeros((0, 3), np.uint32)
    kinds, kind_of = np.unique(faces, axis=0, return_inverse=True)
    keys = triangles.astype(np.int64) * len(kinds) + kind_of.reshape(-1, 1)
    unique, corner = np.unique(keys, return_inverse=True)
    return unique // len(kinds), kinds[unique % len(kinds)], corner.reshape(-1, 3).astype(np.uint32)


REPEAT_FILTER = "LINEAR_MIPMAP_NEAREST"


class InstanceTable:
    """Bones, colours and numbers of instances as a texture: a row each (see ``shaders/skin.glsl``)."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._texture: Any = None
        self._most = int(context.info["GL_MAX_TEXTURE_SIZE"])

    def fill(self, instances: InstanceArrays, order: IntArray, eye: FloatArray) -> None:
        """The instances ``order``, in that order, relative to ``eye``."""
        count, bones, slots = len(order), instances.bones.shape[1], instances.colours.shape[1]
        width = 3 * bones + slots + 1
        if width > self._most or count > self._most:
            raise BadInput(f"instances: this OpenGL driver draws {self._most} at once; use the renderer cpu")
        rows = np.zeros((count, width, 4), np.float32)
        picked = instances.bones[order].astype(np.float64)
        picked[:, :, :, 3] -= eye
        rows[:, : 3 * bones] = picked.reshape(count, 3 * bones, 4)
        rows[:, 3 * bones : 3 * bones + slots, :3] = instances.colours[order]
        rows[:, -1, 0] = instances.ids[order].view(np.float32)
        if self._texture is None or self._texture.width != width or self._texture.height < count:
            self._texture = self._context.texture((width, count + count // 4 + 1), 4, dtype="f4")
            self._texture.filter = _filter("NEAREST", "NEAREST")
        self._texture.write(rows, viewport=(0, 0, width, count))
        self.bones = bones

    def use(self) -> None:
        """Bind it."""
        if self._texture is not None:
            self._texture.use(UNITS["table"])


class GlScene:
    """Buffers of one scene."""

    def __init__(
        self, context: Any, programs: Programs, scene: Scene3D, static: StaticArrays, normals: FloatArray,
        models: ModelArrays,
    ) -> None:  # fmt: skip
        self._context, self._programs = context, programs
        for material in scene.materials:
            check_material(material)
        mesh = make_static(scene, static, normals)
        self._groups = mesh.groups
        self._pictures = {edge: self._texture_array(scene, edge, layers) for edge, layers in mesh.layers.items()}
        self._vertices = context.buffer(mesh.rows.tobytes() or b"\0" * 4)
        self._indices = context.buffer(reserve=max(4, 12 * len(static.triangles)), dynamic=True)
        self._casters = context.buffer(mesh.casters.tobytes() or b"\0" * 12)
        self._caster_corners = mesh.casters.size
        rows, triangles = make_models(models)
        self._model_vertices = context.buffer(rows.tobytes() or b"\0" * 4)
        self._model_indices = context.buffer(triangles.tobytes() or b"\0" * 12)
        self._noise = context.texture((256, 256), 1, make_noise(), dtype="f4")
        self._noise.filter = _filter("LINEAR", "LINEAR")
        self._arrays: dict[tuple[str, int], Any] = {}

    def _texture_array(self, scene: Scene3D, edge: int, layers: list[int]) -> Any:
        """Square roots of linear colour in 8 bits, as on the processor, so that dark ones keep their steps."""
        texels = np.full((len(layers), edge, edge, 4), 255, np.uint8)
        for k, material in enumerate(layers):
            texels[k, :, :, :3] = np.sqrt(np.clip(scene.materials[material].texture, 0.0, 1.0)) * 255.0 + 0.5
        array = self._context.texture_array((edge, edge, len(layers)), 4, texels)
        array.build_mipmaps()
        array.filter = _filter(REPEAT_FILTER, "LINEAR")
        return array

    def _vertex_array(self, program: Any, source: str, buffer: Any, row: np.dtype[Any], indices: Any) -> Any:
        key = (source, program.glo)
        if key not in self._arrays:
            self._arrays[key] = self._context.vertex_array(
                program, [_present(program, buffer, row)], indices, skip_errors=True
            )
        return self._arrays[key]

    def draw_static(
        self, chunks: IntArray, features: Features, pictures: tuple[str, ...], lowest: float | None = None
    ) -> None:
        """The chunks, in this order, in one call for each kind of surface; without faces wholly below ``lowest``."""
        self._noise.use(UNITS["noise"])
        picked = [_pick(group, chunks, lowest) for group in self._groups]
        faces = np.concatenate([_NO_FACES, *picked])
        if not len(faces):
            return
        self._indices.orphan()
        self._indices.write(faces)
        first = 0
        for group, part in zip(self._groups, picked, strict=True):
            textured = group.edge > 1
            program = self._programs.get("static", ("TEXTURED", *features) if textured else features, pictures)
            array = self._vertex_array(program, "static", self._vertices, STATIC_ROW, self._indices)
            if textured:
                self._pictures[group.edge].use(UNITS["pictures"])
                if "edge" in program:
                    program["edge"].value = float(group.edge)
            cull_faces(self._context, not group.two_sided)
            if len(part):
                array.render(vertices=part.size, first=first)
            first += part.size

    def draw_models(self, crowd: Crowd, table: InstanceTable, features: Features, pictures: tuple[str, ...]) -> None:
        """The instances of ``crowd``, whose rows ``table`` holds."""
        self._noise.use(UNITS["noise"])
        self._draw_crowd(self._programs.get("model", features, pictures), crowd, table)

    def cast_static(self) -> None:
        """What stands still, onto the shadow map: lower than it is, so that it does not shade itself."""
        program = self._programs.get("shadow_static")
        array = self._vertex_array(program, "casters", self._vertices, STATIC_ROW, self._casters)
        if not self._caster_corners:
            return
        for side, lower, slope in (("back", 1.0, 2.0), ("front", 1.0, 1.0)):
            self._context.cull_face, self._context.polygon_offset = side, (slope, slope)
            program["lower"].value = lower
            array.render(vertices=self._caster_corners)
        self._context.cull_face, self._context.polygon_offset = "back", (0.0, 0.0)

    def cast_models(self, crowd: Crowd, table: InstanceTable) -> None:
        """Instances onto the shadow map: the faces that look away from the sun, whose shadow is the same."""
        self._context.cull_face = "front"
        self._draw_crowd(self._programs.get("shadow_model"), crowd, table)
        self._context.cull_face = "back"

    def _draw_crowd(self, program: Any, crowd: Crowd, table: InstanceTable) -> None:
        if not crowd.calls:
            return
        array = self._vertex_array(program, "models", self._model_vertices, MODEL_ROW, self._model_indices)
        table.use()
        cull_faces(self._context, True)
        if "bones" in program:
            program["bones"].value = table.bones
        for call in crowd.calls:
            program["first"].value = call.first
            array.render(vertices=3 * call.faces, first=3 * call.first_face, instances=call.copies)

    def draw_sky(self, features: Features, pictures: tuple[str, ...]) -> None:
        """Wherever nothing has been drawn."""
        program = self._programs.get("sky", features, pictures)
        key = ("sky", program.glo)
        if key not in self._arrays:
            self._arrays[key] = self._context.vertex_array(program, [])
        self._noise.use(UNITS["noise"])
        cull_faces(self._context, False)
        self._arrays[key].render(vertices=3)


_NO_FACES = np.zeros((0, 3), np.uint32)


def _pick(group: StaticGroup, chunks: IntArray, lowest: float | None) -> IntArray:
    """The faces of ``chunks``, in their order."""
    parts = [slice(group.starts[c], group.starts[c + 1]) for c in chunks]
    faces: IntArray = np.concatenate([_NO_FACES, *(group.triangles[part] for part in parts)])
    if lowest is None or not len(faces):
        return faces
    high: IntArray = faces[np.concatenate([group.tops[part] for part in parts]) >= lowest]
    return high


def _present(program: Any, buffer: Any, row: np.dtype[Any]) -> tuple[Any, ...]:
    """The vertex layout of ``row``, with padding in place of what the program does not use."""
    kinds, names = [], []
    for name in row.names or ():
        kind, (count,) = row[name].base.str[1:], row[name].shape
        if f"in_{name}" in program:
            kinds.append(f"{count}{kind}")
            names.append(f"in_{name}")
        else:
            kinds.append(f"{4 * count}x1")
    return (buffer, " ".join(kinds), *names)


def cull_faces(context: Any, wanted: bool) -> None:
    """Whether faces that look away are left out from now on."""
    import moderngl

    (context.enable if wanted else context.disable)(moderngl.CULL_FACE)


def _filter(smaller: str, larger: str) -> tuple[int, int]:
    import moderngl

    return getattr(moderngl, smaller), getattr(moderngl, larger)
