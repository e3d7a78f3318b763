in vec3 in_normal;
in ivec2 in_ids;     // semantic, slot
in vec2 in_coat;     // gloss, glow
out vec2 lit;
flat out vec4 finish;
flat out vec3 plain;
flat out ivec2 ids;

void main() {
    int row = first + gl_InstanceID;
    mat3x4 turn = blended(row);
    vec3 place = vec4(in_place, 1.0) * turn;
    gl_Position = project(place);
    vec3 normal = vec4(in_normal, 0.0) * turn;
    lit = vec2(dot(normal, sun.xyz), 0.5 + 0.5 * normal.z);
    finish = vec4(in_coat, 0.0, 0.0);
    plain = texelFetch(table, ivec2(3 * bones + in_ids.y, row), 0).rgb;
    ids = ivec2(in_ids.x, floatBitsToInt(texelFetch(table, ivec2(textureSize(table, 0).x - 1, row), 0).r));
}
