// Four programs: meshes, capsules (limbs, posts), painted planes (ground, roofs), and flat decals on the ground.
// A soft light from above and one sun; `shadow` > 0 flattens a shape onto the ground along the sun's rays.

const SUN = unit3([-0.42, -0.5, 1.0]);

const LIGHT = `
uniform float shadow;
uniform float night;
vec3 flattened(vec3 p) { vec3 sun = vec3(${SUN.map((v) => v.toFixed(4)).join(",")}); return shadow > 0.0 ? vec3(p.xy - sun.xy * (p.z / sun.z), 0.0) : p; }
vec3 lit(vec3 colour, vec3 normal, float z) {
  vec3 sun = vec3(${SUN.map((v) => v.toFixed(4)).join(",")});
  float direct = max(dot(normal, sun), 0.0), sky = 0.5 + 0.5 * normal.z, foot = 0.8 + 0.2 * smoothstep(0.0, 0.7, z);
  return colour * foot * (1.0 + 0.4 * night) * (0.52 + 0.24 * sky + mix(0.34, 0.26, night) * direct);
}`;

const SHADE = `
in vec3 tint; in vec3 facing; in float level;
out vec4 pixel;
void main() { pixel = shadow > 0.0 ? vec4(0.05, 0.07, 0.12, shadow) : vec4(lit(tint, normalize(facing), level), 1.0); }`;

// `open`: the side from which a wall is seen; from behind it is left out, as in a doll's house. Zero: always seen.
const MESH_SHADER = [`${LIGHT}
in vec3 position; in vec3 normal; in vec3 colour; in vec2 open;
uniform mat4 camera; uniform mat4 model; uniform vec3 eye;
out vec3 tint; out vec3 facing; out float level;
void main() {
  vec3 world = (model * vec4(position, 1.0)).xyz;
  tint = colour; facing = mat3(model) * normal; level = world.z;
  gl_Position = camera * vec4(flattened(world), 1.0);
  if (dot(open, open) > 0.0 && dot(open, eye.xy - world.xy) < 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`, LIGHT + SHADE];

const CAPSULE_SHADER = [`${LIGHT}
in vec3 way; in float end;
in vec3 from; in vec3 to; in float radius; in vec3 colour;
uniform mat4 camera;
out vec3 tint; out vec3 facing; out float level;
void main() {
  vec3 along = to - from;
  vec3 axis = length(along) > 1e-5 ? normalize(along) : vec3(0.0, 0.0, 1.0);
  vec3 side = normalize(cross(axis, abs(axis.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0)));
  vec3 out_ = way.x * side + way.y * cross(axis, side) + way.z * axis;
  vec3 world = mix(from, to, end) + radius * out_;
  tint = colour; facing = out_; level = world.z;
  gl_Position = camera * vec4(flattened(world), 1.0);
}`, LIGHT + SHADE];

// `edge`: how much of the plane, from its rim, melts into the sky.
const PLANE_SHADER = [`
in vec3 position; in vec2 place;
uniform mat4 camera;
out vec2 spot;
void main() { spot = place; gl_Position = camera * vec4(position, 1.0); }`, `
in vec2 spot;
uniform sampler2D picture; uniform vec3 sky; uniform float bright;
out vec4 pixel;
void main() {
  vec4 paint = texture(picture, spot);
  if (paint.a < 0.5) discard;
  float rim = min(min(spot.x, 1.0 - spot.x), min(spot.y, 1.0 - spot.y));
  pixel = vec4(mix(sky, paint.rgb / paint.a * bright, smoothstep(0.0, 0.1, rim)), 1.0);
}`];

const DECAL_SHADER = [`
in vec3 position; in vec4 colour;
uniform mat4 camera;
out vec4 tint;
void main() { tint = colour; gl_Position = camera * vec4(position, 1.0); }`, `
in vec4 tint;
out vec4 pixel;
void main() { pixel = vec4(tint.rgb * tint.a, tint.a); }`];
