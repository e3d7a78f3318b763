in vec3 in_place;
in vec3 in_normal;
in vec2 in_uv;       // in pictures, not metres
in vec4 in_finish;   // gloss, glow, soak, layer of the texture array
in vec3 in_colour;   // of plain materials
in ivec2 in_ids;     // semantic, instance
out vec2 lit;        // share of sun and sky
#ifdef TEXTURED
out vec2 uv;
#endif
flat out vec4 finish;
flat out vec3 plain;
flat out ivec2 ids;

void main() {
    vec3 place = in_place - eye.xyz;
    gl_Position = project(place);
    lit = vec2(dot(in_normal, sun.xyz), 0.5 + 0.5 * in_normal.z);
#ifdef TEXTURED
    uv = in_uv;
#endif
    finish = in_finish;
    plain = in_colour;
    ids = in_ids;
}
