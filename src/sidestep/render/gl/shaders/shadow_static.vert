in vec3 in_place;
uniform float lower; // 1: what faces the sun is drawn a little lower, so that it does not shade itself

void main() {
    vec3 spot = on_shadow_map(in_place - eye.xyz);
    gl_Position = vec4(2.0 * spot + vec3(-1.0, -1.0, -1.0 + 2.0 * lower * shadow_size.z), 1.0);
}
