// Ray of this pixel, per metre of depth, in the world.
vec3 ray() {
    return forward.xyz + left.xyz * ((lens.z - gl_FragCoord.x) / lens.x) + up.xyz * ((lens.w - gl_FragCoord.y) / lens.y);
}

// Fog, exposure, film curve (Narkowicz's fit of ACES), sRGB. Pictures to be read again keep roots of the light instead.
vec4 filmed(vec3 light, float depth) {
    float x = depth * fog_rgb.w;
    light = fog_rgb.rgb + (light - fog_rgb.rgb) / (1.0 + x * (1.0 + 0.5 * x));
#ifdef MIRRORED
    return vec4(sqrt(clamp(light, 0.0, 4.0) / 4.0), 1.0);
#else
    light = clamp(light, 0.0, 4.0) * cloud_rgb.w;
    vec3 film = clamp(light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14), 0.0, 1.0);
    vec3 root2 = sqrt(film), root4 = sqrt(root2), root8 = sqrt(root4); // sRGB within a quarter of a step of 8 bits, without a power
    vec3 curve = 0.662002687 * root2 + 0.684122060 * root4 - 0.323583601 * root8 - 0.0225411470 * film;
    return vec4(mix(curve, 12.92 * film, lessThanEqual(film, vec3(0.0031308))), 1.0);
#endif
}
