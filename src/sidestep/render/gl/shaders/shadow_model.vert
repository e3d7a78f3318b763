void main() {
    vec3 spot = on_shadow_map(vec4(in_place, 1.0) * blended(first + gl_InstanceID));
    gl_Position = vec4(2.0 * spot - 1.0, 1.0);
}
