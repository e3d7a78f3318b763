// What is the same for a whole frame; filled by uniforms.py. Lengths in metres, light as in sidestep.render.light.
// The camera's frame is x forward, y left, z up. Places are relative to the eye, so that float32 is fine enough.
const int MOST_LAMPS = 64;
layout(std140) uniform Frame {
    vec4 forward;      // xyz: axis in the world; w: near
    vec4 left;         // w: far
    vec4 up;           // w: height of the plane that wet ground mirrors in
    vec4 eye;          // w: how many lamps
    vec4 lens;         // fx, fy, cx, cy, pixels
    vec4 size;         // width and height, pixels; zw: where the map of shelter begins, relative
    vec4 shadow_x;     // relative place -> 0 ... 1 across the shadow map
    vec4 shadow_y;
    vec4 shadow_depth; // 0 nearest the sun ... 1
    vec4 shadow_size;  // x: texels; y: share of the sun that a shadow takes away; z: bias of faces toward the sun; w: of half a texel
    vec4 sun;          // xyz: toward it; w: brightness of its disc
    vec4 sun_rgb;      // w: factor of materials' own light
    vec4 sky_rgb;      // w: contact
    vec4 bounce_rgb;   // w: wetness
    vec4 zenith_rgb;   // w: share of clouds
    vec4 horizon_rgb;
    vec4 fog_rgb;      // w: fog per metre
    vec4 cloud_rgb;    // w: exposure
    vec4 lamps[3 * MOST_LAMPS]; // place, reach; direction, cosine of the cone; colour
};

// Rows of the picture run down and so do the rows of the buffer that is read: no flip after reading.
vec4 project(vec3 place) {
    float x = dot(forward.xyz, place), y = dot(left.xyz, place), z = dot(up.xyz, place);
    float near = forward.w, far = left.w;
    return vec4(
        x * (2.0 * lens.z / size.x - 1.0) - 2.0 * lens.x / size.x * y,
        x * (2.0 * lens.w / size.y - 1.0) - 2.0 * lens.y / size.y * z,
        (x * (far + near) - 2.0 * far * near) / (far - near),
        x);
}

vec3 on_shadow_map(vec3 place) {
    vec4 p = vec4(place, 1.0);
    return vec3(dot(shadow_x, p), dot(shadow_y, p), dot(shadow_depth, p));
}
